// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's log, from /dev/kmsg: each read returns one record.
//!
//! A record is `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,...];TEXT`, followed by lines that begin with a space and hold
//! properties of the message (`SUBSYSTEM=pci`). Characters that are not printable ASCII, including newlines, are `\xNN`.

use crate::commands::Record;
use crate::files::text;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// More than the longest record.
const MAX_RECORD: usize = 16 << 10;

/// A reader of the log, with its position.
pub struct Kmsg<R> {
    source: R,
    /// The next expected sequence number, if known.
    next: Option<u64>,
}

impl Kmsg<File> {
    /// Reads the log from its beginning.
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path);
        let file =
            file.map_err(|error| format!("kmsg: cannot open {}: {error}", path.display()))?;
        Ok(Self {
            source: file,
            next: Some(0),
        })
    }

    /// Reads only what is logged from now on.
    pub fn from_now(path: &Path) -> Result<Self, String> {
        let mut kmsg = Self::open(path)?;
        kmsg.source
            .seek(SeekFrom::End(0))
            .map_err(|error| format!("kmsg: {error}"))?;
        kmsg.next = None;
        Ok(kmsg)
    }
}

impl<R: Read> Kmsg<R> {
    /// The records since the last call. If the kernel has overwritten records before they were read, a record of our own
    /// reports it.
    pub fn news(&mut self) -> Result<Vec<Record>, String> {
        let mut records = Vec::new();
        let mut buffer = [0; MAX_RECORD];
        loop {
            let length = match self.source.read(&mut buffer) {
                Ok(0) => return Ok(records),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(records),
                // EPIPE: the next records were overwritten. The next read continues with the oldest one left.
                Err(error)
                    if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) =>
                {
                    continue;
                }
                Err(error) => return Err(format!("kmsg: {error}")),
            };
            let Some((sequence, record)) = parse(&buffer[..length]) else {
                return Err(format!(
                    "kmsg: not a record: {:?}",
                    String::from_utf8_lossy(&buffer[..length])
                ));
            };
            if let Some(lost) = self
                .next
                .and_then(|next| sequence.checked_sub(next))
                .filter(|&lost| lost > 0)
            {
                let text = format!(
                    "[irqlab-guest: {lost} records were overwritten before they were read]"
                );
                records.push(Record {
                    level: 4,
                    time_us: record.time_us,
                    text,
                });
            }
            self.next = Some(sequence + 1);
            records.push(record);
        }
    }
}

/// A record and its sequence number.
fn parse(bytes: &[u8]) -> Option<(u64, Record)> {
    let semicolon = bytes.iter().position(|&byte| byte == b';')?;
    let head = std::str::from_utf8(&bytes[..semicolon]).ok()?;
    let mut fields = head.split(',');
    let priority: u32 = fields.next()?.parse().ok()?;
    let sequence = fields.next()?.parse().ok()?;
    let time_us = fields.next()?.parse().ok()?;
    let line = bytes[semicolon + 1..]
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    // The upper bits of the priority are syslog's facility.
    Some((
        sequence,
        Record {
            level: (priority & 7) as u8,
            time_us,
            text: text(unescape(line)),
        },
    ))
}

fn unescape(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let [first, tail @ ..] = rest {
        let escaped = match rest {
            [b'\\', b'x', high, low, tail @ ..] => hex(*high)
                .zip(hex(*low))
                .map(|(high, low)| ((high << 4) | low, tail)),
            _ => None,
        };
        let (byte, tail) = escaped.unwrap_or((*first, tail));
        plain.push(byte);
        rest = tail;
    }
    plain
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::io;

    /// A log like /dev/kmsg: each read returns a record or an error.
    struct Log(VecDeque<Result<&'static str, i32>>);

    impl Read for Log {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.pop_front().unwrap_or(Err(libc::EAGAIN)) {
                Ok(record) => io::Write::write(&mut &mut *buffer, record.as_bytes()),
                Err(errno) => Err(io::Error::from_raw_os_error(errno)),
            }
        }
    }

    fn kmsg<const N: usize>(reads: [Result<&'static str, i32>; N]) -> Kmsg<Log> {
        Kmsg {
            source: Log(reads.into()),
            next: Some(0),
        }
    }

    fn record(level: u8, time_us: u64, text: &str) -> Record {
        Record {
            level,
            time_us,
            text: text.into(),
        }
    }

    #[test]
    fn level_time_and_text() {
        let mut log = kmsg([
            Ok("6,0,0,-;Linux version 6.1.0\n"),
            Ok("3,1,140900,-,caller=T1;a;b,c\n"),
            Err(libc::EAGAIN),
            Ok("12,2,2500000,c;from user space\n"),
        ]);
        let boot = [
            record(6, 0, "Linux version 6.1.0"),
            record(3, 140_900, "a;b,c"),
        ];
        assert_eq!(log.news().unwrap(), boot);
        assert_eq!(
            log.news().unwrap(),
            [record(4, 2_500_000, "from user space")]
        );
        assert_eq!(log.news().unwrap(), []);
    }

    #[test]
    fn continuation_lines_are_properties_and_not_text() {
        let mut log = kmsg([Ok(
            "7,0,5,-;pci 0000:00:03.0: found\n SUBSYSTEM=pci\n DEVICE=+pci:0000:00:03.0\n",
        )]);
        assert_eq!(
            log.news().unwrap(),
            [record(7, 5, "pci 0000:00:03.0: found")]
        );
    }

    #[test]
    fn several_lines_and_other_characters_are_unescaped() {
        let mut log = kmsg([Ok("4,0,5,-;one\\x0atwo \\x5cx41 \\xc3\\xa4 \\xzz \\x4\n")]);
        assert_eq!(
            log.news().unwrap(),
            [record(4, 5, "one\ntwo \\x41 ä \\xzz \\x4")]
        );
    }

    #[test]
    fn an_overrun_is_survived_and_told() {
        let mut log = kmsg([
            Ok("6,0,1,-;first\n"),
            Err(libc::EPIPE),
            Ok("6,40,9,-;later\n"),
            Ok("6,41,9,-;next\n"),
        ]);
        let lost = "[irqlab-guest: 39 records were overwritten before they were read]";
        let expected = [
            record(6, 1, "first"),
            record(4, 9, lost),
            record(6, 9, "later"),
            record(6, 9, "next"),
        ];
        assert_eq!(log.news().unwrap(), expected);
    }

    #[test]
    fn what_is_no_record_is_an_error() {
        assert!(
            kmsg([Ok("6,0,1,- no semicolon")])
                .news()
                .unwrap_err()
                .contains("no semicolon")
        );
        assert!(kmsg([Ok("6,x,1,-;text")]).news().is_err());
        assert!(kmsg([Err(libc::EIO)]).news().is_err());
    }
}
