// SPDX-License-Identifier: GPL-2.0-or-later
//! What is put into memory for a received frame (data sheet, section 7.1): its bytes, into buffers, and its descriptors in their three
//! forms, with what the checksum engine says.

use super::Chip;
use super::filter::Spread;
use super::registers::{csr, ctrl, offload as csum, rctl, rxd};
use super::ring::Used;
use super::statistics::FCS_BYTES;
use crate::offload::{self, Ip, TCP, UDP};
use crate::pci::Host;

/// A legacy or extended descriptor.
const UNIT_BYTES: usize = 16;
/// A header of a packet that is split is at most this long.
const MAX_HEADER_BYTES: usize = 1_023;
/// Parts that a packet is split into.
const PARTS: usize = 4;

/// The size of a receive buffer (10.2.5.1), in bytes.
fn buffer_bytes(control: u32) -> usize {
    let flexible = control >> rctl::FLXBUF_SHIFT & 0xf;
    if flexible != 0 {
        return flexible as usize * 1_024;
    }
    let size = 2_048 >> (control >> rctl::BSIZE_SHIFT & 3);
    if control & rctl::BSEX != 0 {
        size * 16
    } else {
        size
    }
}

/// The sizes of the four buffers of a packet split descriptor (10.2.5.4), in bytes.
fn split_bytes(control: u32) -> [usize; PARTS] {
    let field = |shift: u32, mask: u32, unit: usize| (control >> shift & mask) as usize * unit;
    [
        field(0, 0x7f, 128),
        field(8, 0x3f, 1_024),
        field(16, 0x3f, 1_024),
        field(24, 0x3f, 1_024),
    ]
}

/// What the checksum engine says of a frame (7.1.10): bits of status and errors.
fn checked(frame: &[u8], ip: Option<&Ip>, control: u32) -> u32 {
    let Some(ip) = ip else {
        return rxd::IXSM;
    };
    let mut status = 0;
    if control & csum::IPOFL != 0 && !ip.v6 {
        status |= rxd::IPCS;
        if !ip.header_is_right(frame) {
            status |= rxd::IPE;
        }
    }
    if control & csum::TUOFL != 0 && ip.checksum_at().is_some() {
        let absent = ip.protocol == UDP
            && ip
                .checksum_at()
                .is_some_and(|at| offload::word(frame, at) == 0);
        status |= match ip.protocol {
            _ if absent => 0,
            TCP => rxd::TCPCS,
            _ => rxd::TCPCS | rxd::UDPCS,
        };
        if !absent && !ip.payload_is_right(frame) {
            status |= rxd::TCPE;
        }
    }
    if status == 0 { rxd::IXSM } else { status }
}

impl Chip {
    /// How many units of 16 bytes a descriptor has, and how many bytes of a frame.
    pub fn descriptor(&self) -> (u32, usize) {
        if self.is_split() {
            let bytes = split_bytes(self.register(csr::PSRCTL)).iter().sum();
            (2, bytes)
        } else {
            (1, buffer_bytes(self.register(csr::RCTL)))
        }
    }

    fn is_extended(&self) -> bool {
        self.register(csr::RFCTL) & csum::EXTENDED != 0
    }

    fn is_split(&self) -> bool {
        self.is_extended() && self.register(csr::RCTL) & rctl::PACKET_SPLIT != 0
    }

    fn strips_fcs(&self) -> bool {
        self.register(csr::RCTL) & rctl::SECRC != 0
    }

    fn strips_tags(&self) -> bool {
        self.register(csr::CTRL) & ctrl::VME != 0
    }

    /// How many bytes of a frame in the FIFO go into memory.
    pub fn stored_bytes(&self, frame: &[u8]) -> usize {
        let mut bytes = frame.len();
        bytes += if self.strips_fcs() { 0 } else { FCS_BYTES };
        if self.strips_tags() && self.tag_of(frame).is_some() {
            bytes -= 4;
        }
        bytes
    }

    /// Puts a frame into the buffers of its descriptors; returns these as they are to be written back.
    pub fn place(
        &self,
        mut frame: Vec<u8>,
        spread: Spread,
        descriptors: &[u64],
        host: &mut dyn Host,
    ) -> Vec<Used> {
        let ip = offload::find_ip(&frame);
        let mut status = checked(&frame, ip.as_ref(), self.register(csr::RXCSUM));
        let header = ip.as_ref().and_then(|ip| header_bytes(&frame, ip));
        let (identification, sum) = self.fragment_sum(&frame, ip.as_ref());
        let exact = frame.get(..6).is_some_and(|destination| {
            self.addresses
                .iter()
                .flatten()
                .any(|one| one == destination)
        });
        if !exact && frame[0] & 1 != 0 && frame[..6] != [0xff; 6] {
            status |= rxd::PIF;
        }
        let tag = self.tag_of(&frame).filter(|_| self.strips_tags());
        let mut header = header;
        if tag.is_some() {
            status |= rxd::VP;
            let at = offload::ADDRESSES_BYTES;
            frame.drain(at..at + 4);
            header = header.map(|bytes| bytes - 4);
        }
        if !self.strips_fcs() {
            let fcs = crc32fast::hash(&frame).to_le_bytes();
            frame.extend_from_slice(&fcs);
        }
        let hashed = self.register(csr::RXCSUM) & csum::PCSD != 0;
        let form = Form {
            status,
            tag: tag.unwrap_or(0),
            multiqueue: spread.kind | (spread.queue as u32) << 8,
            word: if hashed {
                spread.hash
            } else {
                u32::from(sum) << 16 | u32::from(identification)
            },
            sum,
        };
        if self.is_split() {
            self.store_split(&frame, descriptors, header, form, host)
        } else {
            self.store_plain(&frame, descriptors, form, host)
        }
    }

    /// The IP identification and the packet checksum (7.1.10), if they are asked for.
    fn fragment_sum(&self, frame: &[u8], ip: Option<&Ip>) -> (u16, u16) {
        let control = self.register(csr::RXCSUM);
        if control & csum::PCSD != 0 {
            return (0, 0);
        }
        let identification = ip
            .filter(|ip| !ip.v6)
            .map_or(0, |ip| offload::word(frame, ip.at + 4));
        let from = ((control & csum::PCSS) as usize).min(frame.len());
        (identification, offload::fold(offload::sum(&frame[from..])))
    }

    /// Writes a frame into buffers one after the other, and makes legacy or extended descriptors (7.1.3, 7.1.4).
    fn store_plain(
        &self,
        frame: &[u8],
        descriptors: &[u64],
        form: Form,
        host: &mut dyn Host,
    ) -> Vec<Used> {
        let room = buffer_bytes(self.register(csr::RCTL));
        let parts = frame.chunks(room.max(1)).zip(descriptors);
        let extended = self.is_extended();
        let mut used = Vec::new();
        for (part, &address) in parts {
            let mut descriptor = [0; UNIT_BYTES];
            host.read(address, &mut descriptor);
            let buffer = quad(&descriptor, 0);
            if buffer != 0 {
                host.write(buffer, part); // a null descriptor takes no data (7.1.7.2)
            }
            let last = used.len() + 1 == descriptors.len();
            let bytes = if extended {
                form.extended(part.len(), last)
            } else {
                form.legacy(buffer, part.len(), last)
            };
            used.push(Used { address, bytes });
        }
        used
    }

    /// Writes a frame into the four buffers of each descriptor, the header into the first (7.1.5). What is not split fills one buffer
    /// after the other.
    fn store_split(
        &self,
        frame: &[u8],
        descriptors: &[u64],
        header: Option<usize>,
        form: Form,
        host: &mut dyn Host,
    ) -> Vec<Used> {
        let sizes = split_bytes(self.register(csr::PSRCTL));
        let header = header.filter(|bytes| *bytes <= sizes[0] && *bytes <= MAX_HEADER_BYTES);
        let mut rest = frame;
        let mut used = Vec::new();
        for (number, &address) in descriptors.iter().enumerate() {
            let mut descriptor = [0; 2 * UNIT_BYTES];
            host.read(address, &mut descriptor);
            let mut lengths = [0; PARTS];
            for part in 0..PARTS {
                let limit = match header {
                    Some(bytes) if part == 0 && number == 0 => bytes,
                    Some(_) if part == 0 => 0,
                    _ => sizes[part],
                };
                let (now, later) = rest.split_at(limit.min(rest.len()));
                rest = later;
                lengths[part] = now.len();
                let buffer = quad(&descriptor, 8 * part);
                if buffer != 0 && !now.is_empty() {
                    host.write(buffer, now);
                }
            }
            let last = number + 1 == descriptors.len();
            let split = header.filter(|_| number == 0);
            used.push(Used {
                address,
                bytes: form.split(lengths, split, last),
            });
        }
        used
    }
}

/// Where the headers of a TCP or UDP packet end; None: it is none.
pub fn header_bytes(frame: &[u8], ip: &Ip) -> Option<usize> {
    ip.checksum_at()?;
    let bytes = match ip.protocol {
        TCP => usize::from(frame.get(ip.payload + 12)? >> 4) * 4,
        _ => 8,
    };
    Some(ip.payload + bytes).filter(|end| *end <= ip.end)
}

fn quad(bytes: &[u8], at: usize) -> u64 {
    let part = bytes.get(at..at + 8).and_then(|part| part.try_into().ok());
    u64::from_le_bytes(part.unwrap_or_default())
}

/// What a frame's descriptors say.
#[derive(Clone, Copy, Debug)]
struct Form {
    /// Status, and errors in bits 31:24.
    status: u32,
    tag: u16,
    multiqueue: u32,
    /// The hash, or identification and checksum.
    word: u32,
    sum: u16,
}

impl Form {
    /// Only the last descriptor of a frame has a status besides DD.
    fn status(self, last: bool) -> u32 {
        if last {
            self.status | rxd::DD | rxd::EOP
        } else {
            rxd::DD
        }
    }

    fn legacy(self, buffer: u64, bytes: usize, last: bool) -> Vec<u8> {
        let status = self.status(last);
        let mut descriptor = buffer.to_le_bytes().to_vec();
        descriptor.extend((bytes as u16).to_le_bytes());
        descriptor.extend(self.sum.to_le_bytes());
        descriptor.extend([status as u8, (status >> rxd::ERRORS_SHIFT) as u8]);
        descriptor.extend(self.tag.to_le_bytes());
        descriptor
    }

    fn extended(self, bytes: usize, last: bool) -> Vec<u8> {
        let mut descriptor = self.multiqueue.to_le_bytes().to_vec();
        descriptor.extend(self.word.to_le_bytes());
        descriptor.extend(self.status(last).to_le_bytes());
        descriptor.extend((bytes as u16).to_le_bytes());
        descriptor.extend(self.tag.to_le_bytes());
        descriptor
    }

    fn split(self, lengths: [usize; PARTS], header: Option<usize>, last: bool) -> Vec<u8> {
        let mut descriptor = self.extended(lengths[0], last);
        let header = header.map_or(0, |bytes| rxd::HDRSP | bytes as u16);
        descriptor.extend(header.to_le_bytes());
        for bytes in &lengths[1..] {
            descriptor.extend((*bytes as u16).to_le_bytes());
        }
        descriptor.extend([0; 8]);
        descriptor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_have_the_sizes_of_the_data_sheet() {
        for (control, bytes) in [
            (0, 2_048),
            (3 << 16, 256),
            (1 << 25 | 1 << 16, 16_384),
            (1 << 25 | 3 << 16, 4_096),
            (3 << 27, 3_072),
        ] {
            assert_eq!(buffer_bytes(control), bytes);
        }
        assert_eq!(split_bytes(0x0004_0402), [256, 4_096, 4_096, 0]);
    }
}
