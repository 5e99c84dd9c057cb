// SPDX-License-Identifier: GPL-2.0-or-later
//! The chip as a USB device: descriptors, standard requests (USB 2.0, chapter 9; USB 3.2, 9.4 and 9.6), and the time that the bus takes.

use serde::{Deserialize, Serialize};

/// The bus it is plugged into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Speed {
    /// USB 2.0: 480 Mbit/s, one direction at a time.
    High,
    /// USB 3.2 Gen 1: 5 Gbit/s, both directions at once.
    Super,
}

impl Speed {
    /// The bytes of a full bulk packet.
    pub fn packet_bytes(self) -> usize {
        match self {
            Speed::High => 512,
            Speed::Super => 1024,
        }
    }

    /// How long a bulk transaction of `bytes` occupies the bus, in ns.
    ///
    /// High speed: 13 transactions of 512 bytes fit into a microframe of 125 us (USB 2.0, table 5-10): 18.78 ns a byte. The
    /// overhead of a transaction (55 bytes, the same table) takes its share, so that short ones take time, too.
    /// SuperSpeed: 2 ns a byte, and 64 bytes of framing, headers and link commands for each packet.
    pub fn transaction_ns(self, bytes: usize) -> u64 {
        let bytes = bytes as u64;
        match self {
            Speed::High => (bytes + 55) * 125_000 / (13 * (512 + 55)),
            Speed::Super => (bytes + 64) * 2,
        }
    }

    /// Both directions share the wire.
    pub fn is_half_duplex(self) -> bool {
        self == Speed::High
    }
}

/// An endpoint other than 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Received frames: 1 IN.
    BulkIn,
    /// Frames to transmit: 2 OUT.
    BulkOut,
    /// The interrupt status: 3 IN.
    Interrupt,
}

impl Endpoint {
    /// All of them.
    pub const ALL: [Endpoint; 3] = [Endpoint::BulkIn, Endpoint::BulkOut, Endpoint::Interrupt];

    /// The endpoint of an address, as in requests and descriptors.
    pub fn by_address(address: u16) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|endpoint| u16::from(endpoint.address()) == address)
    }

    /// Its address; bit 7: IN.
    pub fn address(self) -> u8 {
        match self {
            Endpoint::BulkIn => 0x81,
            Endpoint::BulkOut => 0x02,
            Endpoint::Interrupt => 0x83,
        }
    }
}

/// The eight bytes at the beginning of a control transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// bmRequestType; bit 7: the device sends.
    pub kind: u8,
    /// bRequest.
    pub request: u8,
    /// wValue.
    pub value: u16,
    /// wIndex.
    pub index: u16,
    /// wLength.
    pub length: u16,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Success, with the bytes for the host if it asked for any.
    Done(Vec<u8>),
    /// The request is not supported.
    Stall,
}

const GET_STATUS: u8 = 0;
const CLEAR_FEATURE: u8 = 1;
const SET_FEATURE: u8 = 3;
const SET_ADDRESS: u8 = 5;
const GET_DESCRIPTOR: u8 = 6;
const GET_CONFIGURATION: u8 = 8;
const SET_CONFIGURATION: u8 = 9;
const GET_INTERFACE: u8 = 10;
const SET_INTERFACE: u8 = 11;
const SET_SEL: u8 = 48;
const SET_ISOCH_DELAY: u8 = 49;

const VENDOR: u16 = 0x0424;
const PRODUCT: u16 = 0x7800;
const STRINGS: [&str; 2] = ["Microchip", "LAN7800"];

/// The state of chapter 9.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Function {
    /// The bus.
    pub speed: Speed,
    /// The host allows the device to wake it up.
    pub remote_wakeup: bool,
    serial: String,
    configuration: u8,
    halted: [bool; 3],
}

impl Function {
    /// Not configured.
    pub fn new(speed: Speed, serial: String) -> Self {
        Function {
            speed,
            remote_wakeup: false,
            serial,
            configuration: 0,
            halted: [false; 3],
        }
    }

    /// As after a reset of the bus.
    pub fn reset(&mut self) {
        *self = Function::new(self.speed, std::mem::take(&mut self.serial));
    }

    /// The endpoint answers with STALL.
    pub fn is_halted(&self, endpoint: Endpoint) -> bool {
        self.halted[endpoint as usize]
    }

    /// Sets or clears an endpoint's halt.
    pub fn halt(&mut self, endpoint: Endpoint, halted: bool) {
        self.halted[endpoint as usize] = halted;
    }

    /// A standard request.
    pub fn request(&mut self, setup: Setup) -> Reply {
        let done = Reply::Done(Vec::new());
        match (setup.kind, setup.request) {
            (0x80, GET_DESCRIPTOR) => self.descriptor(setup.value),
            (0x00, SET_ADDRESS | SET_SEL | SET_ISOCH_DELAY) => done,
            (0x80, GET_CONFIGURATION) => Reply::Done(vec![self.configuration]),
            (0x00, SET_CONFIGURATION) if setup.value <= 1 => {
                self.configuration = setup.value as u8;
                self.halted = [false; 3];
                done
            }
            (0x81, GET_INTERFACE) => Reply::Done(vec![0]),
            (0x01, SET_INTERFACE) if setup.value == 0 && setup.index == 0 => {
                self.halted = [false; 3];
                done
            }
            (0x80, GET_STATUS) => Reply::Done(vec![1 | (u8::from(self.remote_wakeup) << 1), 0]),
            (0x81, GET_STATUS) => Reply::Done(vec![0, 0]),
            (0x82, GET_STATUS) => match Endpoint::by_address(setup.index) {
                Some(endpoint) => Reply::Done(vec![u8::from(self.is_halted(endpoint)), 0]),
                None if setup.index & 0x7f == 0 => Reply::Done(vec![0, 0]),
                None => Reply::Stall,
            },
            (0x00, SET_FEATURE | CLEAR_FEATURE) => match setup.value {
                1 => {
                    self.remote_wakeup = setup.request == SET_FEATURE;
                    done
                }
                48..=50 if self.speed == Speed::Super => done, // U1, U2, LTM
                _ => Reply::Stall,
            },
            // Function suspend; its bits 8 and 9 of wIndex: suspended, may wake up.
            (0x01, SET_FEATURE | CLEAR_FEATURE)
                if self.speed == Speed::Super && setup.value == 0 =>
            {
                self.remote_wakeup = setup.request == SET_FEATURE && setup.index & 0x200 != 0;
                done
            }
            (0x02, SET_FEATURE | CLEAR_FEATURE) if setup.value == 0 => {
                match Endpoint::by_address(setup.index) {
                    Some(endpoint) => self.halt(endpoint, setup.request == SET_FEATURE),
                    None if setup.index & 0x7f == 0 => {}
                    None => return Reply::Stall,
                }
                done
            }
            _ => Reply::Stall,
        }
    }

    fn descriptor(&self, value: u16) -> Reply {
        let fast = self.speed == Speed::Super;
        Reply::Done(match value.to_be_bytes() {
            [1, 0] => {
                let (usb, packet) = if fast { (0x0300, 9) } else { (0x0210, 64) };
                let mut bytes = vec![18, 1];
                bytes.extend(u16::to_le_bytes(usb));
                bytes.extend([0xff, 0, 0xff, packet]);
                bytes.extend(
                    [VENDOR, PRODUCT, 0x0300]
                        .iter()
                        .flat_map(|n| n.to_le_bytes()),
                );
                bytes.extend([1, 2, 3, 1]);
                bytes
            }
            [2, 0] => self.configuration_descriptor(),
            [3, 0] => vec![4, 3, 0x09, 0x04],
            [3, n @ 1..=3] => {
                let text = STRINGS.get(usize::from(n) - 1).copied();
                let text = text.unwrap_or(&self.serial).encode_utf16();
                let text: Vec<u8> = text.flat_map(u16::to_le_bytes).collect();
                [&[text.len() as u8 + 2, 3], text.as_slice()].concat()
            }
            // Device qualifier: the same at full speed, which is not used.
            [6, 0] if !fast => vec![10, 6, 0x10, 0x02, 0xff, 0, 0xff, 64, 1, 0],
            // BOS: USB 2.0 extension (LPM), SuperSpeed (all speeds; U1 exit 10 us, U2 exit 2047 us).
            [15, 0] => vec![
                5, 15, 22, 0, 2, 7, 16, 2, 2, 0, 0, 0, 10, 16, 3, 0, 0x0e, 0, 1, 10, 0xff, 0x07,
            ],
            _ => return Reply::Stall,
        })
    }

    fn configuration_descriptor(&self) -> Vec<u8> {
        let fast = self.speed == Speed::Super;
        let mut bytes = vec![9, 4, 0, 0, 3, 0xff, 0, 0xff, 0];
        for endpoint in Endpoint::ALL {
            let (kind, packet, interval) = match endpoint {
                Endpoint::Interrupt => (3, 16, if fast { 6 } else { 4 }),
                _ => (2, self.speed.packet_bytes() as u16, 0),
            };
            bytes.extend([7, 5, endpoint.address(), kind]);
            bytes.extend(packet.to_le_bytes());
            bytes.push(interval);
            if fast {
                let (burst, per_interval) = if kind == 3 { (0, 16) } else { (2, 0) };
                bytes.extend([6, 0x30, burst, 0, per_interval, 0]);
            }
        }
        let total = bytes.len() as u16 + 9;
        let mut whole = vec![9, 2];
        whole.extend(total.to_le_bytes());
        // Self-powered, wakes up.
        whole.extend([1, 1, 0, 0xe0, 1]);
        whole.extend(bytes);
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(speed: Speed) -> Function {
        Function::new(speed, "525400000001".into())
    }

    fn get(function: &mut Function, value: u16) -> Vec<u8> {
        let setup = Setup {
            kind: 0x80,
            request: GET_DESCRIPTOR,
            value,
            index: 0,
            length: 255,
        };
        match function.request(setup) {
            Reply::Done(bytes) => bytes,
            Reply::Stall => panic!("stall"),
        }
    }

    /// Walks a chain of descriptors and returns their types.
    fn types(bytes: &[u8]) -> Vec<u8> {
        let (mut at, mut found) = (0, Vec::new());
        while at < bytes.len() {
            found.push(bytes[at + 1]);
            at += usize::from(bytes[at]);
        }
        assert_eq!(at, bytes.len());
        found
    }

    #[test]
    fn descriptors_are_whole() {
        for (speed, expected) in [
            (Speed::High, vec![2, 4, 5, 5, 5]),
            (Speed::Super, vec![2, 4, 5, 0x30, 5, 0x30, 5, 0x30]),
        ] {
            let mut function = function(speed);
            let device = get(&mut function, 0x0100);
            assert_eq!(
                (device.len(), &device[8..12]),
                (18, &[0x24, 0x04, 0x00, 0x78][..])
            );
            let configuration = get(&mut function, 0x0200);
            assert_eq!(configuration[2] as usize, configuration.len());
            assert_eq!(types(&configuration), expected);
            let bos = get(&mut function, 0x0f00);
            assert_eq!(
                (bos[2] as usize, types(&bos)),
                (bos.len(), vec![15, 16, 16])
            );
            assert_eq!(get(&mut function, 0x0303).len(), 2 + 2 * 12);
        }
    }

    #[test]
    fn halts_are_set_and_cleared() {
        let mut function = function(Speed::High);
        function.halt(Endpoint::BulkOut, true);
        let endpoint = |request, kind| Setup {
            kind,
            request,
            value: 0,
            index: 0x02,
            length: 2,
        };
        assert_eq!(
            function.request(endpoint(GET_STATUS, 0x82)),
            Reply::Done(vec![1, 0])
        );
        assert_eq!(
            function.request(endpoint(CLEAR_FEATURE, 0x02)),
            Reply::Done(vec![])
        );
        assert!(!function.is_halted(Endpoint::BulkOut));
        let unknown = Setup {
            kind: 0x02,
            request: CLEAR_FEATURE,
            value: 0,
            index: 0x84,
            length: 0,
        };
        assert_eq!(function.request(unknown), Reply::Stall);
    }

    #[test]
    fn the_bus_takes_its_time() {
        // 13 full packets a microframe, less what integers cut off.
        assert_eq!(Speed::High.transaction_ns(512), 9_615);
        assert_eq!(Speed::High.transaction_ns(0), 932);
        assert_eq!(Speed::Super.transaction_ns(1024), 2_176);
    }
}
