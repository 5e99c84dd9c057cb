// SPDX-License-Identifier: GPL-2.0-or-later
//! The transmitter (data sheet, section 7.2): requests for frames' data, write-back, and delays.
//!
//! Reads of data overlap: the chip asks for the next frame's while those before it are under way, up to [`REQUESTS`], as long as the FIFO
//! has room for them. A frame begins to leave when all of it is in the FIFO. [`packet`](super::packet) has what frames are made of.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::packet::{Context, Done, Packet, Part};
use super::registers::{cause, csr, tctl, txd};
use super::ring::{Ring, Timers, Used};
use super::statistics::Counter;
use super::{Chip, QUEUES, WRITE_BACK_NS};
use crate::offload;
use crate::pci::Host;
use crate::pci::bus::Access;
use crate::pci::transmit::{MIN_BYTES, Queued};

/// Frames whose data the chip asks for at a time: an assumption.
const REQUESTS: usize = 4;
/// TXDCTL after a reset (10.2.6.10).
pub const TXDCTL: u32 = 1 << 22;
const TXDCTL_LEGACY_THRESHOLD: usize = 1;

/// A frame whose data was asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Fetch {
    queue: usize,
    part: Part,
    /// Of the frame, in the FIFO.
    bytes: usize,
    /// The packet's descriptors, with its last frame.
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
                .any(|queue| queue.packet.is_complete() || !queue.ring.is_empty())
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
        while !queue.packet.is_complete() && !queue.ring.is_empty() {
            match queue.ring.fetch(1) {
                0 => {}
                bytes => from_ns = host.claim(from_ns, Access::Read, bytes),
            }
            let address = queue.ring.take(1)[0];
            let mut descriptor = [0; txd::BYTES];
            host.read(address, &mut descriptor);
            queue
                .packet
                .gather(address, &descriptor, &mut queue.context, self.vlan_mode);
        }
        if !queue.packet.is_complete() {
            return false;
        }
        let bytes = queue.packet.next_bytes();
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
        let (part, done) = queue.packet.take_part();
        if part.begins_segmentation() {
            self.statistics.count(Counter::SegmentationContexts);
        }
        let ready_ns = part.pieces().iter().fold(from_ns, |at_ns, (_, bytes)| {
            host.claim(from_ns, Access::Read, *bytes).max(at_ns)
        });
        let ahead = queue.ring.prefetch();
        host.claim(from_ns, Access::Read, ahead);
        self.sender.fetches.push_back(Fetch {
            queue: number,
            part,
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
        let mut data = vec![0; fetch.part.bytes()];
        let mut rest = data.as_mut_slice();
        for &(address, bytes) in fetch.part.pieces() {
            let (now, later) = rest.split_at_mut(bytes);
            host.read(address, now);
            rest = later;
        }
        let header = &mut self.sender.queues[fetch.queue].header;
        let mut frame = fetch.part.frame(data, header);
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
        if fetch.part.is_last() {
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
}

impl Queue {
    /// Stops and forgets everything but the registers.
    pub fn clear(&mut self) {
        (self.packet, self.header) = (Packet::default(), Vec::new());
        self.used.clear();
    }
}

/// The room for frames that are to be sent (10.2.2, PBA), in bytes.
pub fn fifo_bytes(pba: u32) -> usize {
    (pba >> 16 & 0x3f) as usize * 1_024
}
