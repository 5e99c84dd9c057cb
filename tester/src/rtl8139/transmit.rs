// SPDX-License-Identifier: GPL-2.0-or-later
//! The transmitter (data sheet, TPPoll, TCR, ETThR and the transmit descriptors): two rings, FIFO, status.
//!
//! A poll makes the chip fetch descriptors of a ring until it finds one that it does not own. It moves packet after packet into the FIFO,
//! those of high priority first. A packet's descriptors are given back when its last bit has left, and TOK follows. TDU, and the end of a
//! poll, follow the last packet.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Chip;
use super::receive::{claim, following, read_descriptor};
use super::registers::{cause, cpcr, cr, descriptor, tcr, tx};
use crate::offload::{TCP, UDP, find_ip, insert_tag, segment};
use crate::pci::Host;
use crate::pci::bus::Access;
use crate::pci::transmit::{MIN_BYTES, Queued, Timing, Transmitter};

/// The FIFO, in bytes (data sheet, "Features"; ETThR goes up to it).
const FIFO_BYTES: usize = 2 << 10;
/// The unit of ETThR, in bytes, and what 0 stands for.
const THRESHOLD_UNIT: usize = 32;
const LEAST_THRESHOLD: usize = 8;
/// More bytes than a packet can have.
const MAX_BYTES: usize = 0x1_0000;
/// What is written of a descriptor.
const STATUS_BYTES: usize = 4;
/// Gaps by TCR's field, in bit times.
const GAPS: [u64; 4] = [84, 88, 92, 96];
const PREAMBLE_BYTES: u64 = 8;

/// The rings, by their index.
pub const NORMAL: usize = 0;
pub const HIGH: usize = 1;

/// A ring.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Ring {
    /// Where it lies.
    pub base: u64,
    /// The descriptor that is fetched next.
    index: u32,
    /// TPPoll: there may be packets.
    pub polled: bool,
}

/// A packet's descriptors, to be given back: their addresses and commands.
type Descriptors = Vec<(u64, u32)>;

/// A packet on its way into the FIFO.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Packet {
    descriptors: Descriptors,
    /// Frames: one, or the segments of a large send.
    frames: VecDeque<Vec<u8>>,
}

/// A frame on the wire.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Leaving {
    /// When its last bit leaves, in ns.
    end_ns: u64,
    /// When its status can be in memory, in ns: on an idle bus.
    earliest_ns: u64,
    /// What is given back then: the packet's descriptors, with its last frame.
    descriptors: Descriptors,
    /// Bits of the status.
    status: u32,
}

/// The transmitter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sender {
    pub rings: [Ring; 2],
    packet: Option<Packet>,
    /// Until when descriptors or a frame are on the bus, in ns.
    busy_until_ns: Option<u64>,
    /// A frame waits for room in the FIFO.
    waits: bool,
    /// The next descriptor is one whose frame has not left yet: the ring is fetched again when a packet is reported.
    wrapped: bool,
    pub fifo: Transmitter,
    /// For each frame in the FIFO, what is given back with it.
    queued: VecDeque<Descriptors>,
    leaving: VecDeque<Leaving>,
    /// Status on its way into memory.
    written: VecDeque<(u64, Leaving)>,
    /// TDU follows the last packet.
    drained: bool,
}

impl Sender {
    /// Nothing to transmit.
    pub fn new() -> Self {
        Sender {
            rings: [Ring::default(); 2],
            packet: None,
            busy_until_ns: None,
            waits: false,
            wrapped: false,
            fifo: Transmitter::new(FIFO_BYTES),
            queued: VecDeque::new(),
            leaving: VecDeque::new(),
            written: VecDeque::new(),
            drained: false,
        }
    }

    /// When something is due, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        let room = self.fifo.next_room_ns().filter(|_| self.waits);
        [
            self.busy_until_ns,
            self.fifo.deadline_ns(),
            self.leaving.front().map(|leaving| leaving.earliest_ns),
            self.written.front().map(|(done_ns, _)| *done_ns),
            room,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Stops at once, and begins with the first descriptors again.
    pub fn restart(&mut self) {
        let bases = self.rings.map(|ring| ring.base);
        *self = Sender::new();
        for (ring, base) in self.rings.iter_mut().zip(bases) {
            ring.base = base;
        }
    }

    /// The descriptors of a ring begin elsewhere, with the first one.
    pub fn set_base(&mut self, ring: usize, base: u64) {
        (self.rings[ring].base, self.rings[ring].index) = (base, 0);
    }

    /// How many descriptors of the ring of normal priority the chip owns.
    pub fn fill(&self, host: &mut dyn Host) -> u32 {
        let ring = self.rings[NORMAL];
        let leaving = self.leaving.iter().map(|leaving| &leaving.descriptors);
        let written = self.written.iter().map(|(_, leaving)| &leaving.descriptors);
        let packet = self.packet.iter().map(|packet| &packet.descriptors);
        let fetched = self
            .queued
            .iter()
            .chain(leaving)
            .chain(written)
            .chain(packet);
        let fetched = fetched.map(Vec::len).sum::<usize>() as u32;
        let mut index = ring.index;
        let mut waiting = 0;
        while fetched + waiting < descriptor::MOST {
            let at = ring.base + u64::from(index) * descriptor::BYTES as u64;
            let (opts1, _, _) = read_descriptor(host, at);
            if opts1 & descriptor::OWN == 0 || self.holds(at) {
                break;
            }
            index = following(index, opts1);
            waiting += 1;
        }
        fetched + waiting
    }

    /// Frames in the FIFO, on the wire, or not reported yet.
    fn is_transmitting(&self) -> bool {
        !(self.queued.is_empty() && self.leaving.is_empty() && self.written.is_empty())
    }

    /// Nothing is being fetched.
    fn is_idle(&self) -> bool {
        self.packet.is_none() && self.busy_until_ns.is_none() && !self.wrapped
    }

    /// Whether a descriptor, which the chip still owns, is that of a frame that has not been reported yet.
    fn holds(&self, descriptor: u64) -> bool {
        let leaving = self.leaving.iter().map(|leaving| &leaving.descriptors);
        let written = self.written.iter().map(|(_, leaving)| &leaving.descriptors);
        let mut held = self.queued.iter().chain(leaving).chain(written).flatten();
        held.any(|(at, _)| *at == descriptor)
    }
}

impl Chip {
    fn transmits(&self) -> bool {
        self.command & cr::TE != 0 && self.cpcr & cpcr::TX != 0
    }

    /// TPPoll is written for a ring.
    pub fn tx_poll(&mut self, now_ns: u64, ring: usize, host: &mut dyn Host) {
        if !self.transmits() {
            return;
        }
        if self.errata.lost_poll && (self.sender.is_transmitting() || !self.sender.is_idle()) {
            return; // an erratum
        }
        self.sender.rings[ring].polled = true;
        if self.sender.is_idle() {
            self.tx_fetch(now_ns, host);
            self.tx_end_poll();
        }
    }

    /// Fetches the next packet's descriptors, if there is one.
    fn tx_fetch(&mut self, at_ns: u64, host: &mut dyn Host) {
        let Some(number) = [HIGH, NORMAL]
            .into_iter()
            .find(|number| self.sender.rings[*number].polled)
        else {
            return;
        };
        let ring = self.sender.rings[number];
        let mut index = ring.index;
        let (mut descriptors, mut bytes) = (Descriptors::new(), Vec::new());
        let (mut first, mut tag) = (0, 0);
        let mut fetched_ns = at_ns;
        let mut whole = false;
        while !whole && descriptors.len() < descriptor::MOST as usize {
            let at = ring.base + u64::from(index) * descriptor::BYTES as u64;
            if self.sender.holds(at) {
                self.sender.wrapped = true;
                return;
            }
            let (opts1, opts2, buffer) = read_descriptor(host, at);
            fetched_ns = host.claim(fetched_ns, Access::Read, descriptor::BYTES);
            if opts1 & descriptor::OWN == 0 {
                break;
            }
            if descriptors.is_empty() {
                (first, tag) = (opts1, opts2);
            }
            descriptors.push((at, opts1));
            let from = bytes.len();
            let count = (opts1 & tx::LENGTH) as usize;
            bytes.resize((from + count).min(MAX_BYTES), 0);
            host.read(buffer, &mut bytes[from..]);
            index = following(index, opts1);
            whole = opts1 & descriptor::LS != 0;
        }
        if !whole {
            // None, or not all of a packet: the ring has to be polled again.
            self.sender.rings[number].polled = false;
            self.sender.drained = true;
            // The other ring may have packets.
            self.tx_fetch(fetched_ns, host);
            return;
        }
        self.sender.rings[number].index = index;
        self.sender.packet = Some(Packet {
            descriptors,
            frames: frames(bytes, first, tag).into(),
        });
        self.tx_load(fetched_ns, host);
    }

    /// The bus is free again: goes on with the packet, or with the next one.
    fn tx_go_on(&mut self, at_ns: u64, host: &mut dyn Host) {
        if self.sender.packet.is_some() {
            self.tx_load(at_ns, host);
        } else {
            self.tx_fetch(at_ns, host);
        }
    }

    /// Moves the next frame into the FIFO, if there is room.
    fn tx_load(&mut self, at_ns: u64, host: &mut dyn Host) {
        let threshold = match usize::from(self.early_threshold & 0x3f) {
            0 => LEAST_THRESHOLD,
            units => units * THRESHOLD_UNIT,
        };
        // MXDMA.
        let burst = 16 << (self.tcr >> 8 & 7);
        let sender = &mut self.sender;
        sender.waits = false;
        let Some(packet) = &mut sender.packet else {
            return;
        };
        let bytes = packet.frames.front().map_or(0, Vec::len);
        if !sender.fifo.has_room(at_ns, bytes, usize::MAX) {
            sender.waits = true;
            return;
        }
        let frame = packet.frames.pop_front().unwrap_or_default();
        let is_last = packet.frames.is_empty();
        let first = bytes.min(threshold);
        let ready_ns = claim(host, at_ns, Access::Read, first, burst);
        let complete_ns = claim(host, ready_ns, Access::Read, bytes - first, burst);
        sender.fifo.push(Queued {
            frame,
            spoilt: false,
            ready_ns,
            complete_ns,
        });
        sender.busy_until_ns = Some(complete_ns);
        let descriptors = if is_last {
            sender.packet.take().map(|packet| packet.descriptors)
        } else {
            None
        };
        sender.queued.push_back(descriptors.unwrap_or_default());
    }

    /// Does what is due.
    pub fn tx_advance(&mut self, at_ns: u64, host: &mut dyn Host) {
        let is_due = |due_ns: &mut u64| *due_ns <= at_ns;
        let is_written = |(done_ns, _): &&(u64, Leaving)| *done_ns <= at_ns;
        while self.sender.written.front().filter(is_written).is_some() {
            if let Some((_, leaving)) = self.sender.written.pop_front() {
                self.tx_reported(at_ns, &leaving, host);
            }
        }
        let has_left = |leaving: &&Leaving| leaving.earliest_ns <= at_ns;
        while self.sender.leaving.front().filter(has_left).is_some() {
            let Some(leaving) = self.sender.leaving.pop_front() else {
                break;
            };
            let mut done_ns = leaving.end_ns;
            for _ in &leaving.descriptors {
                done_ns = host.claim(done_ns, Access::Write, STATUS_BYTES);
            }
            if done_ns > at_ns || !self.sender.written.is_empty() {
                self.sender.written.push_back((done_ns, leaving));
            } else {
                self.tx_reported(at_ns, &leaving, host);
            }
        }
        if self.sender.busy_until_ns.take_if(is_due).is_some() || self.sender.waits {
            self.tx_go_on(at_ns, host);
        }
        while let Some(departure) = self.sender.fifo.depart(at_ns, self.timing()) {
            let descriptors = self.sender.queued.pop_front().unwrap_or_default();
            let mut status = 0;
            if departure.underrun {
                status |= tx::UNDERRUN;
                self.tally.tx_underrun = self.tally.tx_underrun.wrapping_add(1);
            }
            if self.loops() {
                self.looped.push((departure.end_ns, departure.queued.frame));
            } else if self.phy.link_bps().is_none() {
                status |= tx::LINK_FAILURE | tx::ERROR;
            } else {
                host.transmit(&departure.queued.frame);
            }
            let status_ns = host.takes_ns(Access::Write, STATUS_BYTES) * descriptors.len() as u64;
            self.sender.leaving.push_back(Leaving {
                end_ns: departure.end_ns,
                earliest_ns: departure.end_ns + status_ns,
                descriptors,
                status,
            });
        }
        self.tx_end_poll();
    }

    /// A poll ends when nothing is left to fetch, and the last packet was reported.
    fn tx_end_poll(&mut self) {
        if self.sender.drained && self.sender.is_idle() && !self.sender.is_transmitting() {
            self.sender.drained = false;
            self.causes |= cause::TDU;
        }
    }

    /// A packet's status is in memory.
    fn tx_reported(&mut self, at_ns: u64, leaving: &Leaving, host: &mut dyn Host) {
        self.tx_report(leaving, host);
        if std::mem::take(&mut self.sender.wrapped) {
            self.tx_fetch(at_ns, host);
        }
    }

    /// Gives a packet's descriptors back.
    fn tx_report(&mut self, leaving: &Leaving, host: &mut dyn Host) {
        let failed = leaving.status & tx::ERROR != 0;
        for (at, opts1) in &leaving.descriptors {
            let mut status = opts1 & tx::KEPT;
            if opts1 & descriptor::LS != 0 {
                status |= leaving.status;
            }
            host.write(*at, &status.to_le_bytes());
        }
        if !leaving.descriptors.is_empty() {
            self.causes |= if failed { cause::TER } else { cause::TOK };
        }
        if failed {
            self.tally.tx_error += 1;
        } else {
            self.tally.tx_ok += 1;
        }
    }

    fn timing(&self) -> Timing {
        Timing {
            bps: self.phy.link_bps().unwrap_or(super::NO_LINK_BPS),
            preamble_bytes: PREAMBLE_BYTES,
            gap_bits: GAPS[(self.tcr >> tcr::IFG_SHIFT & 3) as usize],
        }
    }
}

/// The frames of a packet, by its first descriptor: its tag, its checksums or segments, padded.
fn frames(mut bytes: Vec<u8>, opts1: u32, opts2: u32) -> Vec<Vec<u8>> {
    if opts2 & tx::TAG != 0 {
        insert_tag(&mut bytes, (opts2 as u16).to_le_bytes());
    }
    let mss = (opts1 >> tx::MSS_SHIFT & tx::MSS_MASK) as usize;
    let large = opts1 & tx::LARGE_SEND != 0 && mss != 0;
    let mut frames = large
        .then(|| segment(&bytes, mss))
        .flatten()
        .unwrap_or_else(|| vec![checksummed(bytes, opts1)]);
    for frame in &mut frames {
        // No frame is longer than the FIFO, in which a whole one must lie.
        frame.truncate(FIFO_BYTES);
        frame.resize(frame.len().max(MIN_BYTES), 0);
    }
    frames
}

/// Fills in the checksums that a descriptor asks for.
fn checksummed(mut bytes: Vec<u8>, opts1: u32) -> Vec<u8> {
    let wanted = opts1 & (tx::IP_CHECKSUM | tx::UDP_CHECKSUM | tx::TCP_CHECKSUM);
    if opts1 & tx::LARGE_SEND != 0 || wanted == 0 {
        return bytes;
    }
    let Some(ip) = find_ip(&bytes).filter(|ip| !ip.v6) else {
        return bytes;
    };
    if wanted & tx::IP_CHECKSUM != 0 {
        ip.fill_header(&mut bytes);
    }
    let payload = match ip.protocol {
        TCP => tx::TCP_CHECKSUM,
        UDP => tx::UDP_CHECKSUM,
        _ => 0,
    };
    if wanted & payload != 0 {
        ip.fill_payload(&mut bytes);
    }
    bytes
}
