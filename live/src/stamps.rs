// SPDX-License-Identifier: GPL-2.0-or-later
//! Time stamps of a NIC (Documentation/networking/timestamping.rst): whether it has any, whether they are on, and its clock.
//!
//! They are switched on by `irqlab live prepare`, which also puts the setting back; a tester that is killed could not.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use serde_json::{Value, json};

use crate::interface::Interface;

/// What a NIC says of its time stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The number of its clock, /dev/ptpN.
    clock: Option<u32>,
    /// It can stamp every frame that arrives.
    every_frame: bool,
}

/// What the driver was told: struct hwtstamp_config of linux/net_tstamp.h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Setting {
    flags: i32,
    transmitted: i32,
    received: i32,
}

impl Offer {
    /// From the kernel's struct ethtool_ts_info.
    fn new(info: &[u32; 11]) -> Self {
        let wanted = SOF_RX_HARDWARE | SOF_RAW_HARDWARE;
        Offer {
            clock: u32::try_from(info[2] as i32).ok(),
            every_frame: info[1] & wanted == wanted && info[7] & (1 << FILTER_ALL) != 0,
        }
    }

    /// Asks an interface.
    pub fn of(interface: &Interface) -> Self {
        let mut asked = [0_u32; 11];
        asked[0] = ETHTOOL_GET_TS_INFO;
        asked[2] = u32::MAX; // no clock
        interface
            .ethtool(asked)
            .map_or_else(Offer::default, |info| Offer::new(&info))
    }

    /// Its clock, if arrivals can be timed with it.
    fn usable(self) -> Option<u32> {
        self.clock.filter(|_| self.every_frame)
    }
}

impl Setting {
    /// The setting in force; None: the driver has none.
    pub fn of(interface: &Interface) -> Option<Self> {
        Setting::default().pass(interface, SIOCGHWTSTAMP).ok()
    }

    /// Puts the setting in force.
    fn put(self, interface: &Interface) -> Result<(), String> {
        self.pass(interface, SIOCSHWTSTAMP)
            .map(|_| ())
            .map_err(|error| format!("port {}: time stamps: {error}", interface.name))
    }

    fn pass(mut self, interface: &Interface, request: libc::c_ulong) -> io::Result<Self> {
        let data = (&raw mut self).cast::<libc::c_char>();
        interface.ask(request, |asked| asked.ifr_ifru.ifru_data = data)?;
        Ok(self)
    }

    fn parse(text: &str) -> Option<Self> {
        let (transmitted, received) = text.split_once(',')?;
        Some(Setting {
            flags: 0,
            transmitted: transmitted.parse().ok()?,
            received: received.parse().ok()?,
        })
    }
}

/// `irqlab-live stamps PORT [--set TRANSMITTED,RECEIVED]`: for `prepare`.
pub fn run(name: &str, set: Option<&str>) -> Result<Value, String> {
    let interface = Interface::open(name)?;
    if let Some(text) = set {
        let setting = Setting::parse(text).ok_or("--set: two numbers, such as 0,1")?;
        setting.put(&interface)?;
    }
    let setting = Setting::of(&interface);
    Ok(json!({
        "clock": Offer::of(&interface).usable().map(|n| format!("/dev/ptp{n}")),
        "set": setting.map(|now| format!("{},{}", now.transmitted, now.received)),
        "on": setting.is_some_and(|now| now.received == FILTER_ALL),
    }))
}

/// The clock of a NIC that stamps all frames that arrive.
pub struct Clock {
    device: File,
    path: String,
}

impl Clock {
    /// Opens it. The error says why the times of arrival are the kernel's instead.
    pub fn open(interface: &Interface) -> Result<Self, String> {
        let Some(number) = Offer::of(interface).usable() else {
            return Err("the NIC does not stamp frames".into());
        };
        if Setting::of(interface).is_none_or(|now| now.received != FILTER_ALL) {
            return Err(
                "the NIC's time stamps are off: `irqlab live prepare` switches them on".into(),
            );
        }
        let path = format!("/dev/ptp{number}");
        let device = File::open(&path).map_err(|error| format!("{path}: {error}"))?;
        Ok(Clock { device, path })
    }

    /// For clock_gettime (clock_getres(2), "Dynamic clocks").
    pub fn id(&self) -> libc::clockid_t {
        (!self.device.as_raw_fd() << 3) | 3
    }

    /// Its name.
    pub fn path(&self) -> &str {
        &self.path
    }
}

const ETHTOOL_GET_TS_INFO: u32 = 0x41;
const SIOCSHWTSTAMP: libc::c_ulong = 0x89b0;
const SIOCGHWTSTAMP: libc::c_ulong = 0x89b1;
const SOF_RX_HARDWARE: u32 = 1 << 2;
/// The NIC's own time, for SOF_TIMESTAMPING and for PACKET_TIMESTAMP.
pub const SOF_RAW_HARDWARE: u32 = 1 << 6;
/// HWTSTAMP_FILTER_ALL
const FILTER_ALL: i32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn info(flags: u32, clock: i32, filters: u32) -> [u32; 11] {
        [0x41, flags, clock as u32, 0, 0, 0, 0, filters, 0, 0, 0]
    }

    #[test]
    fn only_a_nic_that_stamps_every_frame_and_has_a_clock_is_used() {
        for (flags, clock, filters, usable) in [
            (0x44, 3, 2, Some(3)),
            (0x7f, 0, 3, Some(0)),
            (0x44, -1, 2, None), // as veth
            (0x44, 3, 0x1000, None),
            (0x18, 3, 2, None), // only software
            (0x04, 3, 2, None),
        ] {
            let offer = Offer::new(&info(flags, clock, filters));
            assert_eq!(offer.usable(), usable, "{flags:x} {clock} {filters:x}");
        }
    }

    #[test]
    fn settings_are_two_numbers() {
        let expected = Setting {
            flags: 0,
            transmitted: 0,
            received: 1,
        };
        assert_eq!(Setting::parse("0,1"), Some(expected));
        for text in ["", "1", "a,b", "1,2,3"] {
            assert_eq!(Setting::parse(text), None);
        }
    }

    #[test]
    fn an_interface_without_a_clock_says_so() {
        let loopback = Interface::open("lo").unwrap();
        assert!(
            Clock::open(&loopback)
                .err()
                .unwrap()
                .contains("does not stamp")
        );
        assert_eq!(run("lo", None).unwrap()["clock"], Value::Null);
    }
}
