// SPDX-License-Identifier: GPL-2.0-or-later
//! The transmitter (data sheet, sections 7.2 and 7.3): descriptors, segmentation, checksums, write-back, delays; pause frames.
//!
//! Reads of data overlap: the chip asks for the next frame's while those before it are under way, up to [`REQUESTS`], as long as the FIFO
//! has room for them. A frame begins to leave when all of it is in the FIFO.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::receive::Used;
use super::registers::{cause, csr, ctrl, tctl, txd};
use super::ring::{Ring, Timers};
use super::statistics::Counter;
use super::{Chip, QUEUES, WRITE_BACK_NS};
use crate::offload;
use crate::pause;
use crate::pci::Host;
use crate::pci::bus::Access;
use crate::pci::transmit::{MIN_BYTES, Queued};

/// Frames whose data the chip asks for at a time: an assumption.
const REQUESTS: usize = 4;
/// TXDCTL after a reset (10.2.6.10).
pub const TXDCTL: u32 = 1 << 22;
const TXDCTL_LEGACY_THRESHOLD: usize = 1;
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
struct Context {
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
struct Packet {
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
    /// The segments' headers.
    header: Vec<u8>,
}

/// A descriptor that was used.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Done {
    address: u64,
    reports: bool,
    delays: bool,
}

/// A frame whose data was asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Fetch {
    queue: usize,
    /// Payload of a segment, or everything.
    pieces: Vec<(u64, usize)>,
    wanted: Wanted,
    context: Context,
    tag: Option<u16>,
    /// The segment's place: bytes of payload before it, whether it is the first, and the last.
    at: usize,
    first: bool,
    last: bool,
    /// Of the frame, in the FIFO.
    bytes: usize,
    done: Vec<Done>,
    ready_ns: u64,
}

/// A queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Queue {
    pub ring: Ring,
    context: Context,
    packet: Packet,
    used: Vec<Used>,
    /// Headers of the packet whose segments' data arrives.
    header: Vec<u8>,
}

/// The transmitter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sender {
    pub queues: Vec<Queue>,
    fetches: VecDeque<Fetch>,
    /// Those of TIDV and TADV.
    pub timers: Timers,
}

impl Sender {
    /// An idle transmitter.
    pub fn new() -> Self {
        let queue = Queue {
            ring: Ring::new(TXDCTL),
            context: Context::default(),
            packet: Packet::default(),
            used: Vec::new(),
            header: Vec::new(),
        };
        Sender {
            queues: vec![queue; QUEUES],
            fetches: VecDeque::new(),
            timers: Timers::default(),
        }
    }

    /// When the next frame's data has arrived, in ns.
    pub fn next_fetched_ns(&self) -> Option<u64> {
        self.fetches.front().map(|fetch| fetch.ready_ns)
    }

    /// Whether there is anything to do if the FIFO had room.
    pub fn waits(&self) -> bool {
        self.fetches.len() < REQUESTS
            && self
                .queues
                .iter()
                .any(|queue| queue.packet.complete || !queue.ring.is_empty())
    }

    /// How many descriptors the driver has not got back.
    pub fn fill(&self) -> u32 {
        let of_queue = |queue: &Queue| queue.ring.owned() + queue.used.len() as u32;
        self.queues.iter().map(of_queue).sum()
    }

    /// Whether a read is under way.
    pub fn is_busy(&self) -> bool {
        !self.fetches.is_empty()
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

impl Chip {
    /// The tail of a ring was written, or something else made it worth while: asks for data as far as possible.
    pub fn send(&mut self, now_ns: u64, host: &mut dyn Host) {
        if self.register(csr::TCTL) & tctl::EN == 0 {
            return;
        }
        for number in 0..QUEUES {
            while self.sender.fetches.len() < REQUESTS && self.send_next(now_ns, number, host) {}
        }
    }

    /// Asks for the next frame's data of a queue. False: there is nothing to do, or no room.
    fn send_next(&mut self, now_ns: u64, number: usize, host: &mut dyn Host) -> bool {
        let queue = &mut self.sender.queues[number];
        let mut from_ns = now_ns;
        while !queue.packet.complete && !queue.ring.is_empty() {
            match queue.ring.fetch(1) {
                0 => {}
                bytes => from_ns = host.claim(from_ns, Access::Read, bytes),
            }
            let address = queue.ring.take(1)[0];
            let mut descriptor = [0; txd::BYTES];
            host.read(address, &mut descriptor);
            queue.gather(address, &descriptor, self.vlan_mode);
        }
        if !queue.packet.complete {
            return false;
        }
        let packet = &mut queue.packet;
        let wanted = packet.wanted.unwrap_or_default();
        let context = packet.context;
        let header = if wanted.segments && context.mss > 0 {
            context.header_bytes.min(packet.bytes)
        } else {
            0
        };
        let first = packet.taken == 0;
        let payload = packet.bytes - header;
        let share = if header > 0 {
            context.mss.min(payload - packet.taken)
        } else {
            packet.bytes.min(MAX_BYTES)
        };
        let tag_bytes = if packet.tag.is_some() { 4 } else { 0 };
        let bytes = (header + share + tag_bytes).max(MIN_BYTES);
        let reserved: usize = self.sender.fetches.iter().map(|fetch| fetch.bytes).sum();
        // A frame that is larger than the FIFO is taken alone.
        let fits = reserved == 0 || bytes + reserved <= fifo_bytes(self.register(csr::PBA));
        if !fits
            || !self
                .transmitter
                .has_room(now_ns, bytes + reserved, usize::MAX)
        {
            return false;
        }
        let queue = &mut self.sender.queues[number];
        let packet = &mut queue.packet;
        let (at, taken) = (packet.taken, if first { header + share } else { share });
        let from = if first { 0 } else { header + at };
        let pieces = cut(&packet.pieces, from, taken);
        packet.taken += share;
        let last = header == 0 || packet.taken >= payload;
        let done = if last {
            std::mem::take(&mut packet.done)
        } else {
            Vec::new()
        };
        let tag = packet.tag;
        if last {
            *packet = Packet::default();
        }
        if first && header > 0 {
            self.statistics.count(Counter::SegmentationContexts);
        }
        let ready_ns = pieces.iter().fold(from_ns, |at_ns, (_, bytes)| {
            host.claim(from_ns, Access::Read, *bytes).max(at_ns)
        });
        let ahead = queue.ring.prefetch();
        host.claim(from_ns, Access::Read, ahead);
        self.sender.fetches.push_back(Fetch {
            queue: number,
            pieces,
            wanted: Wanted {
                segments: header > 0,
                ..wanted
            },
            context,
            tag,
            at,
            first,
            last,
            bytes,
            done,
            ready_ns,
        });
        true
    }

    /// Does what is due.
    pub fn send_advance(&mut self, now_ns: u64, host: &mut dyn Host) {
        while self
            .sender
            .fetches
            .front()
            .is_some_and(|fetch| fetch.ready_ns <= now_ns)
        {
            let Some(fetch) = self.sender.fetches.pop_front() else {
                return;
            };
            self.fetched(now_ns, fetch, host);
            self.send(now_ns, host);
        }
        if let Some(absolute) = self.sender.timers.expire(now_ns) {
            self.statistics.count(if absolute {
                Counter::TransmitAbsoluteTimer
            } else {
                Counter::TransmitPacketTimer
            });
            self.send_flush(now_ns, cause::TXDW, host);
        }
    }

    /// When it shows that a delay timer expires, in ns: when the descriptors are in memory, or at once if there are none.
    pub fn send_timers_show_ns(&self) -> Option<u64> {
        let at_ns = self.sender.timers.deadline_ns()?;
        let writes = !self.sender.queues[0].used.is_empty();
        Some(at_ns + if writes { WRITE_BACK_NS } else { 0 })
    }

    /// A frame's data is there.
    fn fetched(&mut self, now_ns: u64, fetch: Fetch, host: &mut dyn Host) {
        let mut data = vec![0; fetch.pieces.iter().map(|(_, bytes)| bytes).sum()];
        let mut rest = data.as_mut_slice();
        for &(address, bytes) in &fetch.pieces {
            let (now, later) = rest.split_at_mut(bytes);
            host.read(address, now);
            rest = later;
        }
        let queue = &mut self.sender.queues[fetch.queue];
        let context = fetch.context;
        let mut frame = if fetch.wanted.segments {
            if fetch.first {
                let at = context.header_bytes.min(data.len());
                queue.header = data.drain(..at).collect();
            }
            let mut frame = [queue.header.as_slice(), &data].concat();
            segment(&mut frame, &context, &fetch);
            frame
        } else {
            data
        };
        if fetch.wanted.ip_sum {
            insert_sum(
                &mut frame,
                context.ip_start,
                context.ip_end,
                context.ip_offset,
                false,
            );
        }
        if fetch.wanted.sum {
            // What the field holds belongs to the sum: the pseudo header's.
            insert_sum(
                &mut frame,
                context.start,
                context.end,
                context.offset,
                !context.tcp,
            );
        }
        if let Some((start, offset)) = fetch.wanted.legacy {
            insert_sum(&mut frame, start, 0, offset, false);
        }
        if let Some(tag) = fetch.tag {
            offload::insert_tag(&mut frame, tag.to_be_bytes());
        }
        if frame.len() < MIN_BYTES && self.register(csr::TCTL) & tctl::PSP != 0 {
            frame.resize(MIN_BYTES, 0);
        }
        if frame.len() > offload::ADDRESSES_BYTES {
            self.transmitter.push(Queued {
                frame,
                spoilt: false,
                ready_ns: now_ns,
                complete_ns: now_ns,
            });
        }
        if fetch.last {
            self.finished(now_ns, fetch.queue, &fetch.done, host);
        }
    }

    /// Descriptors were used: writes them back (7.2.4.2), and starts the timers (10.2.6.9, 10.2.6.11).
    fn finished(&mut self, now_ns: u64, number: usize, done: &[Done], host: &mut dyn Host) {
        let queue = &mut self.sender.queues[number];
        queue.ring.give_back(done.len() as u32);
        let reports = done.iter().filter(|one| one.reports);
        queue.used.extend(reports.map(|one| Used {
            address: one.address + txd::STATUS_AT,
            bytes: vec![txd::DD],
        }));
        if !queue.used.is_empty() {
            let delay = self.register(csr::TIDV);
            let delays = done.iter().any(|one| one.delays) && delay & 0xffff != 0;
            let threshold = self.sender.queues[number].ring.write_back_threshold();
            let full = self.sender.queues[number].used.len() >= threshold.max(1);
            if delays {
                self.sender
                    .timers
                    .start(now_ns, delay, self.register(csr::TADV));
            }
            if full || threshold <= TXDCTL_LEGACY_THRESHOLD || !delays {
                let causes = if delays { 0 } else { cause::TXDW };
                self.write_back_sent(now_ns, number, causes, host);
            }
        }
        if self.sender.queues[number].ring.is_empty() {
            self.statistics.count(Counter::TransmitQueueEmpty);
            self.interrupts.raise(cause::TXQE);
        }
    }

    /// Writes back what was used, in both queues, and sets causes when that is done.
    pub fn send_flush(&mut self, now_ns: u64, causes: u32, host: &mut dyn Host) {
        self.write_back_sent(now_ns, 0, causes, host);
        self.write_back_sent(now_ns, 1, 0, host);
    }

    fn write_back_sent(&mut self, now_ns: u64, number: usize, causes: u32, host: &mut dyn Host) {
        let used = std::mem::take(&mut self.sender.queues[number].used);
        if used.is_empty() {
            self.interrupts.raise(causes);
            return;
        }
        let at_ns = host.claim(now_ns, Access::Write, txd::BYTES * used.len());
        let vector = [cause::TXQ0, cause::TXQ1][number];
        self.write_back(at_ns, used, causes | vector);
    }

    /// Sends a pause frame ahead of all others.
    pub fn send_pause(&mut self, now_ns: u64, quanta: u16) {
        self.transmitter.push_ahead(Queued {
            frame: pause::frame(self.addresses[0].unwrap_or_default(), quanta),
            spoilt: false,
            ready_ns: now_ns,
            complete_ns: now_ns,
        });
    }

    /// Whether a frame is a MAC control frame: by the address and type of FCAL, FCAH and FCT, or the broadcast of annex 31B.
    pub fn is_pause(&self, frame: &[u8]) -> bool {
        pause::is_control(frame)
    }

    /// A pause frame was received: nothing begins to leave for so long.
    pub fn pause(&mut self, now_ns: u64, frame: &[u8]) {
        let listens = self.register(csr::CTRL) & ctrl::RFCE != 0;
        let Some(quanta) = pause::quanta(frame).filter(|_| listens) else {
            self.statistics.count(Counter::UnsupportedControl);
            return;
        };
        self.statistics.count(if quanta == 0 {
            Counter::XonReceived
        } else {
            Counter::XoffReceived
        });
        self.transmitter
            .pause(now_ns + pause::ns(quanta, self.bps()));
    }
}

impl Queue {
    /// Takes in a descriptor.
    fn gather(&mut self, address: u64, descriptor: &[u8; txd::BYTES], tags: bool) {
        let (command, upper) = (double(descriptor, 8), double(descriptor, 12));
        let extended = command & txd::DEXT != 0;
        self.packet.done.push(Done {
            address,
            reports: command & txd::RS != 0,
            delays: command & txd::IDE != 0,
        });
        if extended && command >> txd::TYPE_SHIFT & 0xf == txd::TYPE_CONTEXT {
            self.context = Context::new(descriptor);
            return;
        }
        let [_, options, ..] = upper.to_le_bytes();
        let legacy_offset = (command >> 16 & 0xff) as usize;
        let packet = &mut self.packet;
        packet.context = self.context;
        packet.wanted.get_or_insert(Wanted {
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
        let bytes = bytes.min(MAX_SEGMENTED_BYTES - packet.bytes);
        packet.pieces.push((
            u64::from_le_bytes(descriptor[..8].try_into().unwrap_or_default()),
            bytes,
        ));
        packet.bytes += bytes;
        // No packet needs more descriptors than a ring can have.
        if command & txd::EOP != 0 || packet.done.len() >= MAX_DESCRIPTORS {
            let tagged = tags && command & txd::VLE != 0;
            packet.tag = tagged.then_some((upper >> 16) as u16);
            packet.complete = true;
        }
    }

    /// Stops and forgets everything but the registers.
    pub fn clear(&mut self) {
        (self.packet, self.header) = (Packet::default(), Vec::new());
        self.used.clear();
    }
}

/// Fits the headers to a segment (7.3.4 to 7.3.6): lengths, identification, sequence number, flags, and the length in the pseudo header.
fn segment(frame: &mut [u8], context: &Context, fetch: &Fetch) {
    let (ip, tcp) = (context.ip_start, context.start);
    let number = fetch.at.checked_div(context.mss).unwrap_or(0);
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
            let sequence = sequence.wrapping_add(fetch.at as u32);
            field.copy_from_slice(&sequence.to_be_bytes());
        }
        if let Some(flags) = frame.get_mut(tcp + TCP_FLAGS_AT).filter(|_| !fetch.last) {
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

/// The room for frames that are to be sent (10.2.2, PBA), in bytes.
pub fn fifo_bytes(pba: u32) -> usize {
    (pba >> 16 & 0x3f) as usize * 1_024
}
