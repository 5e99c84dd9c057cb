// SPDX-License-Identifier: GPL-2.0-or-later
//! The receiver (data sheet, section 7.1): FIFO, descriptors in their three forms, write-back, delays, and flow control.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::filter::Spread;
use super::registers::{cause, csr, ctrl, dctl, offload as csum, rctl, rxd};
use super::ring::{Ring, Timers};
use super::statistics::{Counter, FCS_BYTES};
use super::{Chip, QUEUES, WRITE_BACK_NS};
use crate::offload::{self, Ip, TCP, UDP};
use crate::pci::Host;
use crate::pci::bus::Access;

/// Without FCS.
const MIN_BYTES: usize = 60;
/// Without FCS and VLAN tag.
const MAX_BYTES: usize = 1_514;
/// The longest frame with RCTL.LPE, without FCS (10.2.5.1: 16,384 bytes with FCS).
const MAX_LONG_BYTES: usize = 16_380;
/// A legacy or extended descriptor.
const UNIT_BYTES: usize = 16;
/// RXDCTL after a reset (10.2.5.11): write back each.
pub const RXDCTL: u32 = 1 << dctl::WRITE_BACK_SHIFT;
/// A header of a packet that is split is at most this long.
const MAX_HEADER_BYTES: usize = 1_023;
/// Parts that a packet is split into.
const PARTS: usize = 4;
/// Frames whose data is on its way at a time: an assumption. The link carries them one after the other.
const WRITES: usize = 4;
const TCP_ACK: u8 = 0x10;

/// A frame in the FIFO.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Arrived {
    frame: Vec<u8>,
    queue: usize,
    hash: u32,
    kind: u32,
    /// It has been found to lack a descriptor.
    stuck: bool,
}

/// A frame on its way into memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Store {
    arrived: Arrived,
    /// Addresses of its descriptors.
    descriptors: Vec<u64>,
    done_ns: u64,
}

/// A used descriptor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Used {
    pub address: u64,
    pub bytes: Vec<u8>,
}

/// A queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Queue {
    pub ring: Ring,
    used: Vec<Used>,
}

/// The receiver.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Receiver {
    pub queues: Vec<Queue>,
    fifo: VecDeque<Arrived>,
    /// Bytes in the FIFO.
    used: usize,
    stores: VecDeque<Store>,
    /// Those of RDTR and RADV.
    pub timers: Timers,
    /// The partner was told to pause.
    paused: bool,
}

impl Receiver {
    /// An idle receiver.
    pub fn new() -> Self {
        let queue = Queue {
            ring: Ring::new(RXDCTL),
            used: Vec::new(),
        };
        Receiver {
            queues: vec![queue; QUEUES],
            fifo: VecDeque::new(),
            used: 0,
            stores: VecDeque::new(),
            timers: Timers::default(),
            paused: false,
        }
    }

    /// When something is due, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        let store = self.stores.front().map(|store| store.done_ns);
        store.into_iter().chain(self.timers.deadline_ns()).min()
    }

    /// Forgets all frames.
    pub fn clear(&mut self) {
        self.fifo.clear();
        self.used = 0;
        self.stores.clear();
        self.timers.stop();
        self.paused = false;
    }
}

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
    fn fifo_bytes(&self) -> usize {
        (self.register(csr::PBA) & 0x3f) as usize * 1_024
    }

    /// The last bit of a frame arrives. False: it is lost.
    pub fn arrive(&mut self, now_ns: u64, frame: &[u8], host: &mut dyn Host) -> bool {
        let control = self.register(csr::RCTL);
        if control & rctl::EN == 0 {
            return false;
        }
        self.statistics.seen(frame);
        if frame.len() < MIN_BYTES {
            self.statistics.count(Counter::Undersized);
            return true;
        }
        let tag_bytes = if self.tag_of(frame).is_some() { 4 } else { 0 };
        let longest = if control & rctl::LPE != 0 {
            MAX_LONG_BYTES
        } else {
            MAX_BYTES + tag_bytes
        };
        if frame.len() > longest {
            self.statistics.count(Counter::Oversized);
            return true;
        }
        if self.is_pause(frame) {
            self.pause(now_ns, frame);
            if control & rctl::PMCF == 0 {
                return true;
            }
        } else if !self.takes(frame) {
            return true;
        }
        if self.receiver.used + frame.len() + FCS_BYTES > self.fifo_bytes() {
            self.statistics.count(Counter::Missed);
            self.statistics.count(Counter::Overruns);
            self.interrupts.raise(cause::RXO);
            return false;
        }
        self.statistics.received(frame);
        self.receiver.used += frame.len() + FCS_BYTES;
        let Spread { hash, kind, queue } = self.spread(frame);
        self.receiver.fifo.push_back(Arrived {
            frame: frame.to_vec(),
            queue,
            hash,
            kind,
            stuck: false,
        });
        self.receive_next(now_ns, host);
        self.control_flow(now_ns);
        true
    }

    /// Asks the partner to pause, or to go on, by what is in the FIFO (10.2.5.2, 10.2.5.3).
    fn control_flow(&mut self, now_ns: u64) {
        if self.register(csr::CTRL) & ctrl::TFCE == 0 {
            return;
        }
        let (high, low) = (self.register(csr::FCRTH), self.register(csr::FCRTL));
        let used = self.receiver.used;
        let (high_bytes, low_bytes) = ((high & 0xfff8) as usize, (low & 0xfff8) as usize);
        if !self.receiver.paused && high_bytes != 0 && used >= high_bytes {
            self.receiver.paused = true;
            self.statistics.count(Counter::XoffSent);
            self.send_pause(now_ns, self.register(csr::FCTTV) as u16);
        } else if self.receiver.paused && used <= low_bytes {
            self.receiver.paused = false;
            if low & 1 << 31 != 0 {
                self.statistics.count(Counter::XonSent);
                self.send_pause(now_ns, 0);
            }
        }
    }

    /// How many units of 16 bytes a descriptor has, and how many bytes of a frame.
    fn descriptor(&self) -> (u32, usize) {
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

    /// Begins to move frames from the FIFO into memory, as long as their queues have descriptors.
    pub fn receive_next(&mut self, from_ns: u64, host: &mut dyn Host) {
        while self.receiver.stores.len() < WRITES && self.receive_one(from_ns, host) {}
    }

    /// Begins to move the oldest frame. False: there is none, or no descriptor.
    fn receive_one(&mut self, from_ns: u64, host: &mut dyn Host) -> bool {
        let Some(first) = self.receiver.fifo.front() else {
            return false;
        };
        let (units, room) = self.descriptor();
        let mut bytes = first.frame.len();
        bytes += if self.strips_fcs() { 0 } else { FCS_BYTES };
        if self.strips_tags() && self.tag_of(&first.frame).is_some() {
            bytes -= 4;
        }
        let count = bytes.div_ceil(room.max(1)) as u32 * units;
        let queue = &mut self.receiver.queues[first.queue];
        if room == 0 || queue.ring.available() < count {
            self.lacks_descriptors();
            return false;
        }
        let fetched_ns = match queue.ring.fetch(count) {
            0 => from_ns,
            bytes => host.claim(from_ns, Access::Read, bytes),
        };
        let descriptors = queue.ring.take(count);
        let descriptors = descriptors.into_iter().step_by(units as usize).collect();
        let done_ns = host.claim(fetched_ns, Access::Write, bytes);
        let ahead = queue.ring.prefetch();
        host.claim(from_ns, Access::Read, ahead);
        if let Some(arrived) = self.receiver.fifo.pop_front() {
            self.receiver.stores.push_back(Store {
                arrived,
                descriptors,
                done_ns,
            });
        }
        true
    }

    /// The oldest frame must wait. It counts once.
    fn lacks_descriptors(&mut self) {
        if let Some(first) = self.receiver.fifo.front_mut() {
            if !std::mem::replace(&mut first.stuck, true) {
                self.statistics.count(Counter::NoBuffers);
            }
        }
    }

    /// Does what is due.
    pub fn receive_advance(&mut self, now_ns: u64, host: &mut dyn Host) {
        while self
            .receiver
            .stores
            .front()
            .is_some_and(|store| store.done_ns <= now_ns)
        {
            let Some(store) = self.receiver.stores.pop_front() else {
                return;
            };
            self.stored(now_ns, store, host);
            self.receive_next(now_ns, host);
            self.control_flow(now_ns);
        }
        if let Some(absolute) = self.receiver.timers.expire(now_ns) {
            self.statistics.count(if absolute {
                Counter::ReceiveAbsoluteTimer
            } else {
                Counter::ReceivePacketTimer
            });
            self.receive_flush(now_ns, cause::RXT0, host);
        }
    }

    /// When it shows that frames are stored and delay timers expire, in ns. While descriptors gather, a frame in memory shows only to
    /// one that looks for it.
    pub fn receive_shows_ns(&self) -> Option<u64> {
        let exact_ns = self.receiver.deadline_ns()?;
        if !self.receiver.stores.is_empty() && !self.stores_quietly() {
            return Some(exact_ns);
        }
        let (delay, absolute) = (self.register(csr::RDTR), self.register(csr::RADV));
        let mut timers = self.receiver.timers;
        let mut used = [0, 1].map(|number| self.receiver.queues[number].used.len());
        for store in &self.receiver.stores {
            if timers
                .deadline_ns()
                .is_some_and(|at_ns| at_ns < store.done_ns)
            {
                break;
            }
            let queue = &self.receiver.queues[store.arrived.queue];
            let gathered = &mut used[store.arrived.queue];
            *gathered += store.descriptors.len();
            if *gathered >= queue.ring.write_back_threshold() {
                return Some(store.done_ns);
            }
            timers.start(store.done_ns, delay, absolute);
        }
        let write_ns = if used[0] > 0 { WRITE_BACK_NS } else { 0 };
        timers.deadline_ns().map(|at_ns| at_ns + write_ns)
    }

    /// Whether storing frames raises no causes and moves no others.
    fn stores_quietly(&self) -> bool {
        let control = self.register(csr::RCTL) >> rctl::RDMTS_SHIFT & 3;
        let has_enough =
            |queue: &Queue| queue.ring.available() >= queue.ring.units() >> (control + 1);
        self.register(csr::RDTR) & 0xffff != 0
            && self.register(csr::RSRPD) & 0xfff == 0
            && self.register(csr::RFCTL) & csum::ACK_DISABLE != 0
            && self.register(csr::CTRL) & ctrl::TFCE == 0
            && self.receiver.fifo.is_empty()
            && self.receiver.queues.iter().all(has_enough)
    }

    /// A frame is in memory.
    fn stored(&mut self, now_ns: u64, store: Store, host: &mut dyn Host) {
        let mut arrived = store.arrived;
        self.receiver.used -= arrived.frame.len() + FCS_BYTES;
        self.detect(&arrived.frame);
        let ip = offload::find_ip(&arrived.frame);
        let mut status = checked(&arrived.frame, ip.as_ref(), self.register(csr::RXCSUM));
        let header = ip.as_ref().and_then(|ip| header_bytes(&arrived.frame, ip));
        let (identification, sum) = self.fragment_sum(&arrived.frame, ip.as_ref());
        let exact = arrived.frame.get(..6).is_some_and(|destination| {
            self.addresses
                .iter()
                .flatten()
                .any(|one| one == destination)
        });
        if !exact && arrived.frame[0] & 1 != 0 && arrived.frame[..6] != [0xff; 6] {
            status |= rxd::PIF;
        }
        let tag = self.tag_of(&arrived.frame).filter(|_| self.strips_tags());
        let mut header = header;
        if tag.is_some() {
            status |= rxd::VP;
            let at = offload::ADDRESSES_BYTES;
            arrived.frame.drain(at..at + 4);
            header = header.map(|bytes| bytes - 4);
        }
        if !self.strips_fcs() {
            let fcs = crc32fast::hash(&arrived.frame).to_le_bytes();
            arrived.frame.extend_from_slice(&fcs);
        }
        let hashed = self.register(csr::RXCSUM) & csum::PCSD != 0;
        let form = Form {
            status,
            tag: tag.unwrap_or(0),
            multiqueue: arrived.kind | (arrived.queue as u32) << 8,
            word: if hashed {
                arrived.hash
            } else {
                u32::from(sum) << 16 | u32::from(identification)
            },
            sum,
        };
        let (units, _) = self.descriptor();
        let ring = &mut self.receiver.queues[arrived.queue].ring;
        ring.give_back(units * store.descriptors.len() as u32);
        let used = if self.is_split() {
            self.store_split(&arrived.frame, &store.descriptors, header, form, host)
        } else {
            self.store_plain(&arrived.frame, &store.descriptors, form, host)
        };
        self.used(now_ns, arrived.queue, used, host);
    }

    /// Causes that depend on a frame's contents (RSRPD, RFCTL).
    fn detect(&mut self, frame: &[u8]) {
        if frame.len() + FCS_BYTES <= (self.register(csr::RSRPD) & 0xfff) as usize {
            self.interrupts.raise(cause::SRPD);
        }
        if self.register(csr::RFCTL) & csum::ACK_DISABLE == 0 {
            let acknowledges = offload::find_ip(frame).is_some_and(|ip| {
                let data = header_bytes(frame, &ip);
                ip.protocol == TCP && data == Some(ip.end) && frame[ip.payload + 13] & TCP_ACK != 0
            });
            if acknowledges {
                self.interrupts.raise(cause::ACK);
            }
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

    /// Descriptors were used: writes them back when the thresholds say so (7.1.7, 10.2.5.11), and starts the timers (10.2.5.10, 10.2.5.12).
    fn used(&mut self, now_ns: u64, number: usize, used: Vec<Used>, host: &mut dyn Host) {
        let delay = self.register(csr::RDTR);
        let queue = &mut self.receiver.queues[number];
        queue.used.extend(used);
        let units = queue.ring.units();
        let left = queue.ring.available();
        let limit = units >> ((self.register(csr::RCTL) >> rctl::RDMTS_SHIFT & 3) + 1);
        let queue = &mut self.receiver.queues[number];
        let full = queue.used.len() >= queue.ring.write_back_threshold();
        let mut causes = 0;
        if units != 0 && left < limit {
            self.statistics.count(Counter::DescriptorsLow);
            causes |= cause::RXDMT0 | [cause::RXQ0, cause::RXQ1][number];
        }
        if delay & 0xffff == 0 {
            self.write_back_received(now_ns, number, causes | cause::RXT0, host);
            return;
        }
        self.interrupts.raise(causes);
        self.receiver
            .timers
            .start(now_ns, delay, self.register(csr::RADV));
        if full {
            self.write_back_received(now_ns, number, 0, host);
        }
    }

    /// Writes back what was used, in both queues, and sets causes when that is done.
    pub fn receive_flush(&mut self, now_ns: u64, causes: u32, host: &mut dyn Host) {
        self.write_back_received(now_ns, 0, causes, host);
        self.write_back_received(now_ns, 1, 0, host);
    }

    fn write_back_received(
        &mut self,
        now_ns: u64,
        number: usize,
        causes: u32,
        host: &mut dyn Host,
    ) {
        let queue = &mut self.receiver.queues[number];
        let used = std::mem::take(&mut queue.used);
        if used.is_empty() {
            self.interrupts.raise(causes);
            return;
        }
        let bytes = used.iter().map(|one| one.bytes.len()).sum();
        let at_ns = host.claim(now_ns, Access::Write, bytes);
        let vector = [cause::RXQ0, cause::RXQ1][number];
        self.write_back(at_ns, used, causes | vector);
    }
}

/// Where the headers of a TCP or UDP packet end; None: it is none.
fn header_bytes(frame: &[u8], ip: &Ip) -> Option<usize> {
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
