// SPDX-License-Identifier: GPL-2.0-or-later
//! The plugin's arguments.

use std::os::fd::RawFd;

use crate::lan7800::usb::Speed;

/// What the lab tells the plugin.
pub struct Args {
    /// The socket to the lab. None: the tester checks that it works in this QEMU, and ends it.
    pub fd: Option<RawFd>,
    /// How many NICs the device under test has.
    pub ports: usize,
    /// How long an instruction takes.
    pub ns_per_instruction: u64,
    /// Instructions can be counted.
    pub profile: bool,
    /// The machine has no instruction clock (`-icount`), and may have several processors: nothing is measured.
    pub functional: bool,
    /// The NICs are LAN7800s of our own, at this speed.
    pub lan7800: Option<Speed>,
}

/// Reads `key=value`.
pub fn parse(args: &[String]) -> Result<Args, String> {
    let (mut fd, mut ports, mut shift, mut profile, mut lan7800) = (None, 2, 0, false, None);
    let (mut selfcheck, mut functional) = (false, false);
    for arg in args {
        let (key, value) = arg.split_once('=').unwrap_or((arg, ""));
        let number = || {
            value
                .parse::<u32>()
                .map_err(|_| format!("{key}: {value:?} is not a number"))
        };
        match key {
            "fd" => fd = Some(number()? as RawFd),
            "ports" => ports = number()? as usize,
            "shift" => shift = number()?.min(10),
            "profile" => profile = number()? != 0,
            "selfcheck" => selfcheck = number()? != 0,
            "functional" => functional = number()? != 0,
            "lan7800" if value == "high" => lan7800 = Some(Speed::High),
            "lan7800" if value == "super" => lan7800 = Some(Speed::Super),
            _ => {
                return Err(format!(
                    "unknown argument {arg:?}; there are fd=N, ports=N, shift=N, profile=0|1, functional=0|1, lan7800=high|super, selfcheck=0|1"
                ));
            }
        }
    }
    if fd.is_some() == selfcheck {
        return Err("one of fd=N (a UNIX stream socket) and selfcheck=1 is needed".into());
    }
    Ok(Args {
        fd,
        ports,
        ns_per_instruction: 1 << shift,
        profile,
        functional,
        lan7800,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selfcheck_needs_no_lab() {
        let args = parse(&["selfcheck=1".into()]);
        assert!(args.is_ok_and(|args| args.fd.is_none()));
    }

    #[test]
    fn unknown_arguments_are_refused() {
        let read = |text: &str| parse(&text.split(',').map(String::from).collect::<Vec<_>>());
        let args = read("fd=3,shift=2,lan7800=super").ok();
        let found = args.map(|args| (args.fd, args.ns_per_instruction, args.lan7800));
        assert_eq!(found, Some((Some(3), 4, Some(Speed::Super))));
        for (text, word) in [
            ("ports=2", "fd=N"),
            ("fd=3,selfcheck=1", "fd=N"),
            ("fd=x", "not a number"),
            ("fd=3,lan7800=low", "lan7800=high|super"),
        ] {
            assert!(read(text).is_err_and(|why| why.contains(word)), "{text}");
        }
    }
}
