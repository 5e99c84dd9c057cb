// SPDX-License-Identifier: GPL-2.0-or-later
//! A network interface of the host: facts and counters. Everything is asked through sockets, so it is right in any network namespace.

use std::ffi::CString;
use std::io;

use serde_json::{Value, json};

/// An interface.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
}

const NO_CARRIER: &str = "has no carrier";
const CARRIER_TRIES: u32 = 50;
const CARRIER_STEP: std::time::Duration = std::time::Duration::from_millis(100);

/// Counters of an interface, in the kernel's 32 bits: only differences mean anything.
pub type Counters = [(&'static str, u32); 10];

impl Interface {
    /// The interface of this name. The error says what is wrong, and what to do.
    pub fn open(name: &str) -> Result<Self, String> {
        let text = CString::new(name).map_err(|_| format!("port {name:?}: not a name"))?;
        // SAFETY: `text` is a string with a 0 at its end.
        let index = unsafe { libc::if_nametoindex(text.as_ptr()) };
        if index == 0 || name.len() >= libc::IFNAMSIZ {
            return Err(format!(
                "port {name}: there is no such interface; `ip link` lists those there are"
            ));
        }
        Ok(Interface {
            name: name.into(),
            index,
        })
    }

    /// An ioctl on the interface; `fill` sets its argument.
    pub fn ask(
        &self,
        request: libc::c_ulong,
        fill: impl FnOnce(&mut libc::ifreq),
    ) -> io::Result<libc::ifreq> {
        // SAFETY: an ifreq of zeros is valid.
        let mut asked: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in asked.ifr_name.iter_mut().zip(self.name.bytes()) {
            *to = from as libc::c_char;
        }
        fill(&mut asked);
        // SAFETY: plain system calls; `asked` lives until they return.
        unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            if socket < 0 {
                return Err(io::Error::last_os_error());
            }
            let done = libc::ioctl(socket, request as _, &mut asked);
            let error = io::Error::last_os_error();
            libc::close(socket);
            if done < 0 { Err(error) } else { Ok(asked) }
        }
    }

    /// An ethtool command (linux/ethtool.h), whose answer has the same form; None: the driver does not have it.
    pub fn ethtool<T: Copy>(&self, mut asked: T) -> Option<T> {
        let data = (&raw mut asked).cast::<libc::c_char>();
        self.ask(SIOCETHTOOL, |request| request.ifr_ifru.ifru_data = data)
            .ok()?;
        Some(asked)
    }

    /// Up and running, or what is wrong and what to do.
    pub fn check(&self) -> Result<(), String> {
        let name = &self.name;
        let flags = self
            .ask(libc::SIOCGIFFLAGS, |_| {})
            .map_err(|error| format!("port {name}: {error}"))?;
        // SAFETY: SIOCGIFFLAGS fills this field.
        let flags = i32::from(unsafe { flags.ifr_ifru.ifru_flags });
        if flags & libc::IFF_LOOPBACK != 0 {
            return Err(format!(
                "port {name}: this is the loopback interface; name an Ethernet interface"
            ));
        }
        if flags & libc::IFF_UP == 0 {
            return Err(format!(
                "port {name} is down: `ip link set {name} up`, or `irqlab live prepare`"
            ));
        }
        if flags & libc::IFF_RUNNING == 0 {
            return Err(format!(
                "port {name} {NO_CARRIER}: check the cable, and whether the other end is up"
            ));
        }
        let mtu = self.mtu();
        if mtu < 1500 {
            return Err(format!(
                "port {name}: its MTU is {mtu}, and frames of 1518 bytes need 1500: `ip link set {name} mtu 1500`"
            ));
        }
        Ok(())
    }

    /// As [`Interface::check`], but waits for the carrier, which comes some seconds after an interface was set up or a driver was reset.
    pub fn wait(&self) -> Result<(), String> {
        for _ in 0..CARRIER_TRIES {
            match self.check() {
                Err(why) if why.contains(NO_CARRIER) => {}
                other => return other,
            }
            std::thread::sleep(CARRIER_STEP);
        }
        self.check()
    }

    /// The longest packet, in bytes.
    pub fn mtu(&self) -> i32 {
        self.ask(libc::SIOCGIFMTU, |_| {})
            // SAFETY: SIOCGIFMTU fills this field.
            .map_or(0, |found| unsafe { found.ifr_ifru.ifru_mtu })
    }

    /// The Ethernet address, written `52:54:00:00:00:01`.
    pub fn mac(&self) -> Result<String, String> {
        let found = self
            .ask(libc::SIOCGIFHWADDR, |_| {})
            .map_err(|error| format!("port {}: {error}", self.name))?;
        // SAFETY: SIOCGIFHWADDR fills this field.
        let address = unsafe { found.ifr_ifru.ifru_hwaddr };
        if address.sa_family != libc::ARPHRD_ETHER {
            return Err(format!("port {}: not an Ethernet interface", self.name));
        }
        let octets = address.sa_data[..6].iter();
        let octets: Vec<String> = octets
            .map(|octet| format!("{:02x}", *octet as u8))
            .collect();
        Ok(octets.join(":"))
    }

    /// The driver's name; empty if unknown.
    pub fn driver(&self) -> String {
        let asked = DriverInfo {
            command: ETHTOOL_GDRVINFO,
            driver: [0; 32],
            rest: [0; 160],
        };
        let driver = self.ethtool(asked).map_or([0; 32], |found| found.driver);
        let end = driver.iter().position(|byte| *byte == 0).unwrap_or(32);
        String::from_utf8_lossy(&driver[..end]).into_owned()
    }

    /// The line rate in bit/s; 0 if unknown.
    pub fn line_rate_bps(&self) -> u64 {
        let mut asked = [0_u32; 11]; // struct ethtool_cmd
        asked[0] = ETHTOOL_GSET;
        let Some(found) = self.ethtool(asked) else {
            return 0;
        };
        // Bytes 12 and 13 hold the low, bytes 28 and 29 the high half of the speed in Mbit/s.
        let megabits = (found[3] & 0xffff) | ((found[7] & 0xffff) << 16);
        if megabits == u32::MAX || megabits == 0xffff {
            0
        } else {
            u64::from(megabits) * 1_000_000
        }
    }

    /// How many queues receive.
    pub fn receive_queues(&self) -> u32 {
        let mut asked = [0_u32; 9]; // struct ethtool_channels: command, 4 maxima, then rx, tx, other, combined
        asked[0] = ETHTOOL_GCHANNELS;
        self.ethtool(asked)
            .map_or(1, |found| (found[5] + found[8]).max(1))
    }

    /// The counters, from the kernel's answer to getifaddrs(3).
    pub fn counters(&self) -> Option<Counters> {
        let mut list = std::ptr::null_mut();
        // SAFETY: `list` is freed below, and nothing of it is kept.
        if unsafe { libc::getifaddrs(&mut list) } != 0 {
            return None;
        }
        let mut found = None;
        let mut next = list;
        while !next.is_null() {
            // SAFETY: an entry of the list; for AF_PACKET its data is a struct rtnl_link_stats of 32-bit numbers.
            unsafe {
                let entry = &*next;
                next = entry.ifa_next;
                let family = entry
                    .ifa_addr
                    .as_ref()
                    .map(|addr| i32::from(addr.sa_family));
                let name = std::ffi::CStr::from_ptr(entry.ifa_name);
                if family != Some(libc::AF_PACKET)
                    || name.to_bytes() != self.name.as_bytes()
                    || entry.ifa_data.is_null()
                {
                    continue;
                }
                let numbers = std::slice::from_raw_parts(entry.ifa_data.cast::<u32>(), 21);
                found = Some(PLACES.map(|(name, place)| (name, numbers[place])));
            }
        }
        // SAFETY: from getifaddrs.
        unsafe { libc::freeifaddrs(list) };
        found
    }

    /// For the lab.
    pub fn describe(&self) -> Result<Value, String> {
        Ok(json!({
            "name": self.name, "driver": self.driver(), "mac": self.mac()?, "mtu": self.mtu(),
            "line_rate_bps": self.line_rate_bps(), "receive_queues": self.receive_queues(),
        }))
    }
}

/// Names and places in struct rtnl_link_stats.
const PLACES: [(&str, usize); 10] = [
    ("rx_packets", 0),
    ("tx_packets", 1),
    ("rx_errors", 4),
    ("tx_errors", 5),
    ("rx_dropped", 6),
    ("tx_dropped", 7),
    ("rx_over_errors", 11),
    ("rx_fifo_errors", 14),
    ("rx_missed_errors", 15),
    ("tx_fifo_errors", 18),
];

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GSET: u32 = 1;
const ETHTOOL_GDRVINFO: u32 = 3;
const ETHTOOL_GCHANNELS: u32 = 0x3c;

#[derive(Clone, Copy)]
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_port_is_refused() {
        assert!(
            Interface::open("nope0")
                .unwrap_err()
                .contains("no such interface")
        );
        assert!(
            Interface::open("a-name-that-is-too-long")
                .unwrap_err()
                .contains("no such")
        );
        let loopback = Interface::open("lo").unwrap();
        assert!(loopback.check().unwrap_err().contains("loopback"));
        assert!(loopback.mac().unwrap_err().contains("not an Ethernet"));
    }

    #[test]
    fn counters_have_names() {
        let counters = Interface::open("lo").unwrap().counters().unwrap();
        assert_eq!(counters[0].0, "rx_packets");
    }
}
