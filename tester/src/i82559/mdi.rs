// SPDX-License-Identifier: GPL-2.0-or-later
//! The MDI interface (manual, section 6.3.5) and the PHY behind it: an 82555, which the 82558 and later chips have built in.

use serde::{Deserialize, Serialize};

use crate::pci::phy::Phy;

/// Where the PHY answers.
pub const ADDRESS: u32 = 1;
/// A frame on the MDI takes 64 cycles of a clock of at most 2.5 MHz (IEEE 802.3, 22.2.2.11 and 22.2.4.5), in ns.
pub const CYCLE_NS: u64 = 64 * 400;

/// The MDI control register.
const MDI_INTERRUPT: u32 = 1 << 29;
const MDI_READY: u32 = 1 << 28;
const MDI_OPCODE_SHIFT: u32 = 26;
const MDI_WRITE: u32 = 1;
const MDI_READ: u32 = 2;
const MDI_PHY_SHIFT: u32 = 21;
const MDI_REGISTER_SHIFT: u32 = 16;
const MDI_FIVE_BITS: u32 = 0x1f;

/// An 82555's identifiers.
const ID: [u16; 2] = [0x02a8, 0x0154];
/// 82555: status and control. Bit 1: 100 Mbit/s, bit 0: full duplex.
const STATUS: usize = 16;

/// The interface, and the PHY.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mdi {
    phy: Phy,
    control: u32,
    /// When the access under way is over, in ns.
    busy_until_ns: Option<u64>,
}

impl Mdi {
    /// A PHY that was powered up at `now_ns`.
    pub fn new(now_ns: u64) -> Self {
        Mdi {
            phy: Phy::new(now_ns, ID),
            control: MDI_READY,
            busy_until_ns: None,
        }
    }

    /// As a new one, at the same cable.
    pub fn again(&self, now_ns: u64) -> Self {
        Mdi {
            phy: self.phy.again(now_ns),
            ..Mdi::new(now_ns)
        }
    }

    /// The cable is pulled or put in.
    pub fn plug_cable(&mut self, now_ns: u64, plugged: bool) {
        self.phy.plug_cable(now_ns, plugged);
    }

    /// The speed of the link, in bit/s; None: there is none.
    pub fn link_bps(&self) -> Option<u64> {
        self.phy.link_bps()
    }

    /// Whether frames come back from the PHY, in loopback.
    pub fn loops(&self) -> bool {
        self.phy.loops()
    }

    /// The next instant at which something changes, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        let link = self.phy.deadline_ns();
        link.into_iter().chain(self.busy_until_ns).min()
    }

    /// Does what is due. True: an access is over that was to interrupt.
    pub fn advance(&mut self, now_ns: u64) -> bool {
        self.phy.advance(now_ns);
        if self.busy_until_ns.is_some_and(|at_ns| at_ns <= now_ns) {
            self.busy_until_ns = None;
            self.finish(now_ns);
            return self.control & MDI_INTERRUPT != 0;
        }
        false
    }

    /// The MDI control register.
    pub fn control(&self) -> u32 {
        self.control
    }

    /// The processor writes the MDI control register.
    pub fn set_control(&mut self, now_ns: u64, value: u32) {
        let opcode = value >> MDI_OPCODE_SHIFT & 3;
        if self.busy_until_ns.is_some() {
            return; // "the software must wait for the ready bit"
        }
        self.control = value & !MDI_READY;
        if opcode == MDI_READ || opcode == MDI_WRITE {
            self.busy_until_ns = Some(now_ns + CYCLE_NS);
        } else {
            self.control |= MDI_READY;
        }
    }

    fn finish(&mut self, now_ns: u64) {
        let number = (self.control >> MDI_REGISTER_SHIFT & MDI_FIVE_BITS) as usize;
        let here = self.control >> MDI_PHY_SHIFT & MDI_FIVE_BITS == ADDRESS;
        if self.control >> MDI_OPCODE_SHIFT & 3 == MDI_READ {
            // Nobody drives the data line at other addresses: it is pulled up.
            let value = if here { self.read(number) } else { 0xffff };
            self.control = (self.control & !0xffff) | u32::from(value);
        } else if here {
            self.write(now_ns, number, self.control as u16);
        }
        self.control |= MDI_READY;
    }

    fn read(&mut self, number: usize) -> u16 {
        match number {
            STATUS => match self.link_bps() {
                Some(100_000_000) => 0x0003,
                _ => 0x0001,
            },
            _ => self.phy.read(number),
        }
    }

    fn write(&mut self, now_ns: u64, number: usize, value: u16) {
        if number != STATUS {
            self.phy.write(now_ns, number, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(mdi: &mut Mdi, now_ns: u64, command: u32) -> u32 {
        mdi.set_control(now_ns, command);
        assert_eq!(mdi.control() & MDI_READY, 0);
        assert!(!mdi.advance(now_ns + CYCLE_NS - 1));
        assert_eq!(mdi.control() & MDI_READY, 0);
        mdi.advance(now_ns + CYCLE_NS);
        assert_ne!(mdi.control() & MDI_READY, 0);
        mdi.control() & 0xffff
    }

    #[test]
    fn an_access_takes_64_cycles_and_only_address_1_answers() {
        let mut mdi = Mdi::new(0);
        let read = |number: u32| 2 << 26 | ADDRESS << 21 | number << 16;
        assert_eq!(access(&mut mdi, 100, read(2)), 0x02a8);
        assert_eq!(access(&mut mdi, 100_000, 2 << 26 | 2 << 21), 0xffff);
        mdi.set_control(200_000, 1 << 29 | 2 << 26 | 1 << 21);
        assert!(mdi.advance(200_000 + CYCLE_NS), "was to interrupt");
    }

    #[test]
    fn registers_are_written() {
        let mut mdi = Mdi::new(0);
        access(&mut mdi, 0, 1 << 26 | ADDRESS << 21 | 4 << 16 | 0x0061);
        let advertised = 2 << 26 | ADDRESS << 21 | 4 << 16;
        assert_eq!(access(&mut mdi, 100_000, advertised), 0x0061);
    }
}
