// SPDX-License-Identifier: GPL-2.0-or-later
//! Packets that are sent (data sheet, sections 7.2.10, 7.2.11 and 7.3): what their descriptors say, and the frames that they become, by
//! segmentation, checksums and VLAN tags.

use serde::{Deserialize, Serialize};

use super::registers::txd;
use crate::offload;
use crate::pci::transmit::MIN_BYTES;

/// The longest packet without segmentation (10.2.5.1): what exceeds it is cut off.
const MAX_BYTES: usize = 16_288;
/// The longest packet to be segmented (the features name 64 KB), with room for several descriptors.
const MAX_SEGMENTED_BYTES: usize = 256 << 10;
/// A ring's (10.2.6.6).
const MAX_DESCRIPTORS: usize = 4_096;
const TCP_FIN: u8 = 0x01;
const TCP_PSH: u8 = 0x08;
const TCP_FLAGS_AT: usize = 13;
const TCP_SEQUENCE_AT: usize = 4;
const IPV4_LENGTH_AT: usize = 2;
const IPV4_IDENTIFICATION_AT: usize = 4;
const IPV6_LENGTH_AT: usize = 4;
const IPV6_HEADER_BYTES: usize = 40;

/// A context descriptor's contents (7.2.11.1): where checksums are, and how to segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    ip_start: usize,
    ip_offset: usize,
    /// The last byte; 0: the frame's.
    ip_end: usize,
    start: usize,
    offset: usize,
    end: usize,
    tcp: bool,
    ipv4: bool,
    header_bytes: usize,
    mss: usize,
}

impl Context {
    fn new(descriptor: &[u8; txd::BYTES]) -> Self {
        let word =
            |at: usize| usize::from(u16::from_le_bytes([descriptor[at], descriptor[at + 1]]));
        let command = double(descriptor, 8);
        Context {
            ip_start: descriptor[0].into(),
            ip_offset: descriptor[1].into(),
            ip_end: word(2),
            start: descriptor[4].into(),
            offset: descriptor[5].into(),
            end: word(6),
            tcp: command & txd::TCP != 0,
            ipv4: command & txd::IPV4 != 0,
            header_bytes: descriptor[13].into(),
            mss: word(14),
        }
    }
}

/// What the first descriptor of a packet asks for.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Wanted {
    segments: bool,
    ip_sum: bool,
    sum: bool,
    /// A legacy descriptor's checksum: where it begins, and where it goes.
    legacy: Option<(usize, usize)>,
}

/// A packet, descriptor by descriptor.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Packet {
    wanted: Option<Wanted>,
    context: Context,
    /// Where its data is: addresses and sizes.
    pieces: Vec<(u64, usize)>,
    bytes: usize,
    tag: Option<u16>,
    done: Vec<Done>,
    /// All descriptors are there.
    complete: bool,
    /// How much of the payload the segments before have taken.
    taken: usize,
}

/// A descriptor that was used.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Done {
    pub address: u64,
    /// The driver wants to know.
    pub reports: bool,
    /// It can wait.
    pub delays: bool,
}

/// What a frame is made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Payload of a segment, or everything.
    pieces: Vec<(u64, usize)>,
    wanted: Wanted,
    context: Context,
    tag: Option<u16>,
    /// The segment's place: bytes of payload before it, whether it is the first, and the last.
    at: usize,
    first: bool,
    last: bool,
}

impl Packet {
    /// Takes in a descriptor; `context` is that of the queue, `tags`: VLAN tags are inserted.
    pub fn gather(
        &mut self,
        address: u64,
        descriptor: &[u8; txd::BYTES],
        context: &mut Context,
        tags: bool,
    ) {
        let (command, upper) = (double(descriptor, 8), double(descriptor, 12));
        let extended = command & txd::DEXT != 0;
        self.done.push(Done {
            address,
            reports: command & txd::RS != 0,
            delays: command & txd::IDE != 0,
        });
        if extended && command >> txd::TYPE_SHIFT & 0xf == txd::TYPE_CONTEXT {
            *context = Context::new(descriptor);
            return;
        }
        let [_, options, ..] = upper.to_le_bytes();
        let legacy_offset = (command >> 16 & 0xff) as usize;
        self.context = *context;
        self.wanted.get_or_insert(Wanted {
            segments: extended && command & txd::TSE != 0,
            ip_sum: extended && options & txd::IXSM != 0,
            sum: extended && options & txd::TXSM != 0,
            legacy: (!extended && command & txd::IC != 0)
                .then_some((options as usize, legacy_offset)),
        });
        let bytes = if extended {
            (command & txd::LENGTH) as usize
        } else {
            (command & 0xffff) as usize
        };
        let bytes = bytes.min(MAX_SEGMENTED_BYTES - self.bytes);
        self.pieces.push((
            u64::from_le_bytes(descriptor[..8].try_into().unwrap_or_default()),
            bytes,
        ));
        self.bytes += bytes;
        // No packet needs more descriptors than a ring can have.
        if command & txd::EOP != 0 || self.done.len() >= MAX_DESCRIPTORS {
            let tagged = tags && command & txd::VLE != 0;
            self.tag = tagged.then_some((upper >> 16) as u16);
            self.complete = true;
        }
    }

    /// Whether all its descriptors are there.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Bytes of the headers that each segment has, 0 without segmentation; and bytes of the next frame besides.
    fn next_share(&self) -> (usize, usize) {
        let wanted = self.wanted.unwrap_or_default();
        let header = if wanted.segments && self.context.mss > 0 {
            self.context.header_bytes.min(self.bytes)
        } else {
            0
        };
        let payload = self.bytes - header;
        let share = if header > 0 {
            self.context.mss.min(payload - self.taken)
        } else {
            self.bytes.min(MAX_BYTES)
        };
        (header, share)
    }

    /// How long the next frame will be in the FIFO.
    pub fn next_bytes(&self) -> usize {
        let (header, share) = self.next_share();
        let tag_bytes = if self.tag.is_some() { 4 } else { 0 };
        (header + share + tag_bytes).max(MIN_BYTES)
    }

    /// Takes the next frame of a packet that is complete; with the last one its descriptors, and it is empty then.
    pub fn take_part(&mut self) -> (Part, Vec<Done>) {
        let (header, share) = self.next_share();
        let at = self.taken;
        let first = at == 0;
        let (from, count) = if first {
            (0, header + share)
        } else {
            (header + at, share)
        };
        self.taken += share;
        let last = header == 0 || self.taken >= self.bytes - header;
        let part = Part {
            pieces: cut(&self.pieces, from, count),
            wanted: Wanted {
                segments: header > 0,
                ..self.wanted.unwrap_or_default()
            },
            context: self.context,
            tag: self.tag,
            at,
            first,
            last,
        };
        let done = if last {
            std::mem::take(self).done
        } else {
            Vec::new()
        };
        (part, done)
    }
}

impl Part {
    /// Where its data is: addresses and sizes.
    pub fn pieces(&self) -> &[(u64, usize)] {
        &self.pieces
    }

    /// How much data that is.
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Whether it is the first segment of a packet.
    pub fn begins_segmentation(&self) -> bool {
        self.first && self.wanted.segments
    }

    /// Whether it is the last of its packet.
    pub fn is_last(&self) -> bool {
        self.last
    }

    /// The frame that its data becomes. `header` has the headers of the packet from its first segment on.
    pub fn frame(&self, mut data: Vec<u8>, header: &mut Vec<u8>) -> Vec<u8> {
        let context = &self.context;
        let mut frame = if self.wanted.segments {
            if self.first {
                let at = context.header_bytes.min(data.len());
                *header = data.drain(..at).collect();
            }
            let mut frame = [header.as_slice(), &data].concat();
            segment(&mut frame, self);
            frame
        } else {
            data
        };
        if self.wanted.ip_sum {
            insert_sum(
                &mut frame,
                context.ip_start,
                context.ip_end,
                context.ip_offset,
                false,
            );
        }
        if self.wanted.sum {
            // What the field holds belongs to the sum: the pseudo header's.
            insert_sum(
                &mut frame,
                context.start,
                context.end,
                context.offset,
                !context.tcp,
            );
        }
        if let Some((start, offset)) = self.wanted.legacy {
            insert_sum(&mut frame, start, 0, offset, false);
        }
        if let Some(tag) = self.tag {
            offload::insert_tag(&mut frame, tag.to_be_bytes());
        }
        frame
    }
}

fn double(bytes: &[u8], at: usize) -> u32 {
    let part = bytes.get(at..at + 4).and_then(|part| part.try_into().ok());
    u32::from_le_bytes(part.unwrap_or_default())
}

/// `count` bytes of pieces from an offset.
fn cut(pieces: &[(u64, usize)], mut from: usize, mut count: usize) -> Vec<(u64, usize)> {
    let mut parts = Vec::new();
    for &(address, bytes) in pieces {
        let skipped = from.min(bytes);
        from -= skipped;
        let taken = (bytes - skipped).min(count);
        count -= taken;
        if taken > 0 {
            parts.push((address + skipped as u64, taken));
        }
    }
    parts
}

/// Puts the checksum of `frame[start..=end]` (0: to the end) at an offset.
fn insert_sum(frame: &mut [u8], start: usize, end: usize, offset: usize, never_zero: bool) {
    let end = if end == 0 {
        frame.len()
    } else {
        (end + 1).min(frame.len())
    };
    if start < end {
        let sum = match !offload::fold(offload::sum(&frame[start..end])) {
            0 if never_zero => u16::MAX,
            sum => sum,
        };
        offload::set_word(frame, offset, sum);
    }
}

/// Fits the headers to a segment (7.3.4 to 7.3.6): lengths, identification, sequence number, flags, and the length in the pseudo header.
fn segment(frame: &mut [u8], part: &Part) {
    let context = &part.context;
    let (ip, tcp) = (context.ip_start, context.start);
    let number = part.at.checked_div(context.mss).unwrap_or(0);
    let bytes = frame.len();
    if context.ipv4 {
        offload::set_word(frame, ip + IPV4_LENGTH_AT, bytes.saturating_sub(ip) as u16);
        let identification = offload::word(frame, ip + IPV4_IDENTIFICATION_AT);
        offload::set_word(
            frame,
            ip + IPV4_IDENTIFICATION_AT,
            identification.wrapping_add(number as u16),
        );
    } else {
        let length = bytes.saturating_sub(ip + IPV6_HEADER_BYTES);
        offload::set_word(frame, ip + IPV6_LENGTH_AT, length as u16);
    }
    if context.tcp {
        let at = tcp + TCP_SEQUENCE_AT;
        if let Some(field) = frame.get_mut(at..at + 4) {
            let sequence = u32::from_be_bytes(field.try_into().unwrap_or_default());
            let sequence = sequence.wrapping_add(part.at as u32);
            field.copy_from_slice(&sequence.to_be_bytes());
        }
        if let Some(flags) = frame.get_mut(tcp + TCP_FLAGS_AT).filter(|_| !part.last) {
            *flags &= !(TCP_FIN | TCP_PSH);
        }
    } else {
        offload::set_word(frame, tcp + 4, (bytes.saturating_sub(tcp)) as u16);
    }
    // The driver's sum of the pseudo header is without the length.
    let seed = offload::word(frame, context.offset);
    let length = bytes.saturating_sub(tcp) as u32;
    offload::set_word(
        frame,
        context.offset,
        offload::fold(u32::from(seed) + length),
    );
}
