// SPDX-License-Identifier: GPL-2.0-or-later
//! The screen: a process on the path of forwarded packets, as screend is in Mogul and Ramakrishnan's measurements. The kernel
//! routes packets to a tun device; the process reads each one, looks at it, and writes it back, for the kernel to send it.

use crate::Ending;
use crate::counters::Counters;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// What the screen is told.
#[derive(clap::Args)]
pub struct Options {
    /// The tun device to make
    #[arg(long, default_value = "screen0")]
    interface: String,
    /// The file to count in; "irqlab-guest counters" prints it
    #[arg(long, default_value = "/run/screen")]
    file: PathBuf,
}

/// The counters: packets passed on, packets that are not IPv4, failed reads and writes.
const NAMES: &[&str] = &["packets", "refused", "errors"];
const PACKETS: usize = 0;
const REFUSED: usize = 1;
const ERRORS: usize = 2;
const DEVICE: &str = "/dev/net/tun";
/// More than the packets of an Ethernet.
const LARGEST: usize = 2048;

/// Runs until it is killed. The counter file is created once the device exists.
pub fn run(options: &Options) -> Ending {
    let mut device = open(&options.interface)
        .map_err(|error| format!("{DEVICE}, {}: {error}", options.interface))?;
    let counters = Counters::create(&options.file, NAMES)
        .map_err(|error| format!("{}: {error}", options.file.display()))?;
    loop {
        pass(&mut device, &counters);
    }
}

/// Makes the device of this name, without the header in front of each packet (Documentation/networking/tuntap.rst).
fn open(interface: &str) -> io::Result<File> {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open(Path::new(DEVICE))?;
    // SAFETY: all zeros is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(io::Error::other("the name is too long"));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the kernel reads and writes the request, which outlives the call.
    if unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, &raw mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(device)
}

/// Takes a packet and, if it is acceptable, passes it on. screend looks up a list of rules; here all IPv4 packets pass, as in
/// the paper's measurements all packets did.
fn pass(device: &mut (impl Read + Write), counters: &Counters) {
    let mut packet = [0; LARGEST];
    let Ok(length) = device.read(&mut packet) else {
        counters.add(ERRORS, 1);
        return;
    };
    if length == 0 || packet[0] >> 4 != 4 {
        counters.add(REFUSED, 1);
        return;
    }
    let written = device.write(&packet[..length]).is_ok();
    counters.add(if written { PACKETS } else { ERRORS }, 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    /// A device with one packet to read.
    struct Fake {
        packet: io::Result<Vec<u8>>,
        written: Vec<u8>,
        full: bool,
    }

    impl Read for Fake {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let packet = std::mem::replace(&mut self.packet, Ok(Vec::new()))?;
            buffer[..packet.len()].copy_from_slice(&packet);
            Ok(packet.len())
        }
    }

    impl Write for Fake {
        fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
            if self.full {
                return Err(io::Error::other("full"));
            }
            self.written.extend(buffer);
            Ok(buffer.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is written, and the counters: packets, refused, errors.
    fn passed(packet: io::Result<Vec<u8>>, full: bool) -> (Vec<u8>, [u64; 3]) {
        let directory = tempfile::tempdir().unwrap();
        let counters = Counters::create(&directory.path().join("screen"), NAMES).unwrap();
        let mut device = Fake {
            packet,
            written: Vec::new(),
            full,
        };
        pass(&mut device, &counters);
        let counted =
            [PACKETS, REFUSED, ERRORS].map(|index| counters.get(index).load(Ordering::Relaxed));
        (device.written, counted)
    }

    #[test]
    fn every_ipv4_packet_passes_and_nothing_else() {
        let packet = vec![0x45, 1, 2, 3];
        assert_eq!(
            passed(Ok(packet.clone()), false),
            (packet.clone(), [1, 0, 0])
        );
        assert_eq!(passed(Ok(vec![0x60, 0]), false), (vec![], [0, 1, 0]));
        assert_eq!(passed(Ok(vec![]), false), (vec![], [0, 1, 0]));
        assert_eq!(passed(Ok(packet), true), (vec![], [0, 0, 1]));
        assert_eq!(
            passed(Err(io::Error::other("down")), false),
            (vec![], [0, 0, 1])
        );
    }

    #[test]
    fn a_name_that_is_too_long_is_refused() {
        let error = open("a-name-of-sixteen").unwrap_err().to_string();
        assert!(!error.is_empty());
    }
}
