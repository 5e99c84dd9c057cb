// SPDX-License-Identifier: GPL-2.0-or-later
//! The receiver (data sheet, section 7.1): the FIFO, frames on their way into memory, write-back, and delays.
//!
//! [`receive_descriptor`](super::receive_descriptor) has what is put into memory then.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::filter::Spread;
use super::receive_descriptor::header_bytes;
use super::registers::{cause, csr, ctrl, dctl, offload as csum, rctl};
use super::ring::{Ring, Timers, Used};
use super::statistics::{Counter, FCS_BYTES};
use super::{Chip, QUEUES, WRITE_BACK_NS};
use crate::offload::{self, TCP};
use crate::pci::Host;
use crate::pci::bus::Access;

/// Without FCS.
const MIN_BYTES: usize = 60;
/// The longest frame without RCTL.LPE, tagged or not, without FCS: 1,522 bytes with it, as of the other chips of the family
/// (RCTL.LPE and RLEC in the "PCI/PCI-X Family of Gigabit Ethernet Controllers Software Developer's Manual", QEMU's e1000e).
const MAX_BYTES: usize = 1_518;
/// The longest frame with RCTL.LPE, without FCS (10.2.5.1: 16,384 bytes with FCS).
const MAX_LONG_BYTES: usize = 16_380;
/// RXDCTL after a reset (10.2.5.11): write back each.
pub const RXDCTL: u32 = 1 << dctl::WRITE_BACK_SHIFT;
/// Frames whose data is on its way at a time: an assumption. The link carries them one after the other.
const WRITES: usize = 4;
const TCP_ACK: u8 = 0x10;

/// A frame in the FIFO.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Arrived {
    frame: Vec<u8>,
    spread: Spread,
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

    /// Whether the partner is to pause (true) or to go on, by how much is in the FIFO. It is told once; a threshold of 0 is none.
    pub fn crossed(&mut self, high_bytes: usize, low_bytes: usize) -> Option<bool> {
        let crossed = if self.paused {
            self.used <= low_bytes
        } else {
            high_bytes != 0 && self.used >= high_bytes
        };
        self.paused ^= crossed;
        crossed.then_some(self.paused)
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
        let longest = if control & rctl::LPE != 0 {
            MAX_LONG_BYTES
        } else {
            MAX_BYTES
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
        let spread = self.spread(frame);
        self.receiver.fifo.push_back(Arrived {
            frame: frame.to_vec(),
            spread,
            stuck: false,
        });
        self.receive_next(now_ns, host);
        self.control_flow(now_ns);
        true
    }

    /// A frame with a wrong FCS arrives. It counts if it is long enough and for us (10.2.7.1).
    pub fn count_damaged(&mut self, frame: &[u8]) {
        if self.register(csr::RCTL) & rctl::EN == 0 {
            return;
        }
        self.statistics.seen(frame);
        if frame.len() >= MIN_BYTES && self.takes(frame) {
            self.statistics.count(Counter::CrcErrors);
        }
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
        let bytes = self.stored_bytes(&first.frame);
        let count = bytes.div_ceil(room.max(1)) as u32 * units;
        let queue = &mut self.receiver.queues[first.spread.queue];
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
            let queue = &self.receiver.queues[store.arrived.spread.queue];
            let gathered = &mut used[store.arrived.spread.queue];
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
        let Arrived { frame, spread, .. } = store.arrived;
        self.receiver.used -= frame.len() + FCS_BYTES;
        self.detect(&frame);
        let (units, _) = self.descriptor();
        let ring = &mut self.receiver.queues[spread.queue].ring;
        ring.give_back(units * store.descriptors.len() as u32);
        let used = self.place(frame, spread, &store.descriptors, host);
        self.used(now_ns, spread.queue, used, host);
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
