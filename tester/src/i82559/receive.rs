// SPDX-License-Identifier: GPL-2.0-or-later
//! The receive unit (manual, section 6.4.3): address filter, FIFO, descriptors, states.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Chip;
use super::registers::{cause, rfd};
use super::statistics::Counter;
use crate::pause;
use crate::pci::Host;
use crate::pci::bus::Access;
use crate::pci::transmit::FCS_BYTES;

/// The FIFO, in bytes (82559 data sheet).
const FIFO_BYTES: usize = 3 << 10;
/// Preamble and start delimiter, in bytes.
const PREAMBLE_BYTES: u64 = 8;
/// Without FCS.
const MIN_BYTES: usize = 60;
const MAX_BYTES: usize = 1_514;

/// The unit's state, as SCB status has it in bits 5:2 (6.3.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    #[default]
    Idle = 0,
    Suspended = 1,
    NoResources = 2,
    Ready = 4,
}

/// A frame in the FIFO.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Arrived {
    frame: Vec<u8>,
    status: u16,
    /// When its first and its last bit arrived, in ns.
    begin_ns: u64,
    end_ns: u64,
}

/// A frame on its way into memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Store {
    arrived: Arrived,
    command: u16,
    link: u32,
    size: usize,
    done_ns: u64,
}

/// The receive unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReceiveUnit {
    pub state: State,
    pub base: u32,
    /// The descriptor in use, or the next one.
    descriptor: u32,
    /// The link of the last descriptor.
    link: u32,
    fifo: VecDeque<Arrived>,
    used: usize,
    store: Option<Store>,
    /// When the last frame was in memory, in ns.
    free_ns: u64,
}

impl ReceiveUnit {
    /// When a frame is in memory, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.store.as_ref().map(|store| store.done_ns)
    }

    /// Stops at once and forgets all frames.
    pub fn clear(&mut self) {
        self.state = State::Idle;
        self.fifo.clear();
        self.used = 0;
        self.store = None;
    }
}

/// The bit of the multicast table that an address has (6.4.2.4): bits 7:2 of its CRC.
pub fn multicast_bit(address: &[u8]) -> u64 {
    let mut crc = u32::MAX;
    for byte in address {
        for bit in 0..8 {
            let carry = crc >> 31 ^ u32::from(byte >> bit & 1);
            crc = crc << 1 ^ if carry != 0 { 0x04c1_1db7 } else { 0 };
        }
    }
    1 << (crc >> 2 & 0x3f)
}

impl Chip {
    /// RU start: receives into the descriptor at an address.
    pub fn ru_start(&mut self, at_ns: u64, descriptor: u32) {
        self.ru.descriptor = self.ru.base.wrapping_add(descriptor);
        self.ru_ready(at_ns);
    }

    /// RU resume: receives into the descriptor after the one at which the unit was suspended.
    pub fn ru_resume(&mut self, at_ns: u64) {
        if self.ru.state == State::Suspended {
            self.ru.descriptor = self.ru.base.wrapping_add(self.ru.link);
            self.ru_ready(at_ns);
        }
    }

    fn ru_ready(&mut self, at_ns: u64) {
        self.ru.store = None;
        self.ru.fifo.clear();
        self.ru.used = 0;
        self.ru.state = State::Ready;
        self.ru.free_ns = at_ns;
    }

    /// RU abort: the unit is idle.
    pub fn ru_abort(&mut self) {
        if self.ru.state == State::Ready {
            self.causes |= cause::RNR;
        }
        self.ru.clear();
    }

    /// The last bit of a frame arrives. False: it is lost.
    pub fn arrive(
        &mut self,
        now_ns: u64,
        frame: &[u8],
        right: bool,
        byte_ns: u64,
        host: &mut dyn Host,
    ) -> bool {
        if let Some(quanta) = self.pause_quanta(frame).filter(|_| right) {
            // Whatever the unit's state (6.6.2.3.1).
            self.statistics.count(Counter::ReceivePause);
            let bps = 8_000_000_000 / byte_ns;
            self.transmitter.pause(now_ns + pause::ns(quanta, bps));
            if self.configuration.rejects_pauses() {
                return true;
            }
        }
        if self.ru.state == State::Idle {
            return false;
        }
        if frame.len() < MIN_BYTES && self.configuration.drops_short_frames() {
            self.statistics.count(Counter::ReceiveShort);
            return true;
        }
        if frame.len() > MAX_BYTES && !self.configuration.takes_long_frames() {
            return true;
        }
        let Some(mut status) = self.filter(frame) else {
            return true;
        };
        if !right {
            self.statistics.count(Counter::ReceiveCrcErrors);
            if !self.configuration.saves_bad_frames() {
                return true;
            }
            status |= rfd::STATUS_CRC;
        }
        if frame.len() < MIN_BYTES {
            status |= rfd::STATUS_SHORT;
        }
        if self.ru.state != State::Ready {
            self.statistics.count(Counter::ReceiveResource);
            return false;
        }
        let bytes = frame.len() + FCS_BYTES;
        if self.ru.used + bytes > FIFO_BYTES {
            self.statistics.count(Counter::ReceiveOverrun);
            return false;
        }
        let wire_ns = (bytes as u64 + PREAMBLE_BYTES) * byte_ns;
        self.ru.used += bytes;
        self.ru.fifo.push_back(Arrived {
            frame: frame.to_vec(),
            status,
            begin_ns: now_ns.saturating_sub(wire_ns),
            end_ns: now_ns,
        });
        if self.ru.store.is_none() {
            self.ru_begin(byte_ns, host);
        }
        true
    }

    /// How long a frame asks to pause, if the chip is to obey.
    fn pause_quanta(&self, frame: &[u8]) -> Option<u16> {
        let obeys = self.configuration.obeys_pauses(self.revision);
        pause::quanta(frame).filter(|_| obeys)
    }

    /// What the status of a frame says of its address and type; None: it is not for us.
    fn filter(&self, frame: &[u8]) -> Option<u16> {
        let destination = frame.get(..6)?;
        let to_us = destination == self.address;
        let broadcast = destination == [0xff; 6];
        let taken = to_us
            || self.configuration.is_promiscuous()
            || (broadcast && !self.configuration.ignores_broadcasts())
            || (!broadcast
                && destination[0] & 1 != 0
                && (self.configuration.takes_all_multicasts()
                    || self.multicasts & multicast_bit(destination) != 0));
        let is_type = frame.len() >= 14 && u16::from_be_bytes([frame[12], frame[13]]) > 1_500;
        let mut status = if is_type { rfd::STATUS_TYPE } else { 0 };
        if !to_us {
            status |= rfd::STATUS_NOT_IA;
        }
        if !to_us && !broadcast {
            status |= rfd::STATUS_NO_MATCH;
        }
        taken.then_some(status)
    }

    /// Fetches a descriptor for the oldest frame in the FIFO, and moves the frame there.
    ///
    /// The chip moves what is above its threshold while the frame still arrives. So that part's time on the bus begins before the frame's
    /// end, unless descriptor and bus are late.
    fn ru_begin(&mut self, byte_ns: u64, host: &mut dyn Host) {
        let Some(arrived) = self.ru.fifo.pop_front() else {
            return;
        };
        let mut header = [0; rfd::BYTES];
        host.read(self.ru.descriptor.into(), &mut header);
        let word = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let command = word(2);
        let link = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        let size = usize::from(word(14) & rfd::SIZE_MASK);
        let begin_ns = arrived.begin_ns.max(self.ru.free_ns);
        let fetched_ns = host.claim(begin_ns, Access::Read, rfd::BYTES);
        self.ru.link = link;
        if size == 0 && command & rfd::EL != 0 {
            self.statistics.count(Counter::ReceiveResource);
            self.ru_leave(State::NoResources);
            return;
        }
        let fcs = if self.configuration.transfers_fcs() {
            FCS_BYTES
        } else {
            0
        };
        let bytes = (arrived.frame.len() + fcs).min(size);
        let threshold = self.configuration.receive_threshold().max(8);
        let early = bytes.saturating_sub(threshold);
        let filled_ns = arrived.begin_ns + (PREAMBLE_BYTES + threshold as u64) * byte_ns;
        let mut at_ns = host.claim(fetched_ns.max(filled_ns), Access::Write, early);
        at_ns = host.claim(at_ns.max(arrived.end_ns), Access::Write, bytes - early);
        at_ns = host.claim(at_ns, Access::Write, 4); // the count
        at_ns = host.claim(at_ns, Access::Write, 2); // the status
        self.ru.store = Some(Store {
            arrived,
            command,
            link,
            size,
            done_ns: at_ns,
        });
    }

    /// A frame is in memory.
    pub fn ru_finish(&mut self, at_ns: u64, byte_ns: u64, host: &mut dyn Host) {
        let Some(store) = self.ru.store.take() else {
            return;
        };
        let mut frame = store.arrived.frame;
        self.ru.used -= frame.len() + FCS_BYTES;
        if self.configuration.transfers_fcs() {
            let fcs = crc32fast::hash(&frame).to_le_bytes();
            frame.extend_from_slice(&fcs);
        }
        let fits = frame.len() <= store.size;
        frame.truncate(store.size);
        let descriptor = self.ru.descriptor;
        let count = frame.len() as u16 | rfd::COUNT_EOF_F;
        let good = fits && store.arrived.status & (rfd::STATUS_CRC | rfd::STATUS_SHORT) == 0;
        let outcome = match (good, fits) {
            (true, _) => rfd::STATUS_OK,
            (false, true) => 0,
            (false, false) => rfd::STATUS_NO_SPACE,
        };
        let status = rfd::STATUS_C | outcome | store.arrived.status;
        host.write(u64::from(descriptor) + rfd::BYTES as u64, &frame);
        host.write(
            descriptor.wrapping_add(rfd::COUNT).into(),
            &count.to_le_bytes(),
        );
        host.write(descriptor.into(), &status.to_le_bytes());
        if good {
            self.statistics.count(Counter::ReceiveGood);
        }
        self.causes |= cause::FR;
        self.ru.free_ns = at_ns;
        if store.command & rfd::EL != 0 {
            self.ru_leave(State::NoResources);
        } else if store.command & rfd::S != 0 {
            self.ru_leave(State::Suspended);
        } else {
            self.ru.descriptor = self.ru.base.wrapping_add(store.link);
            self.ru_begin(byte_ns, host);
        }
    }

    /// Leaves the ready state. What is in the FIFO has no descriptor.
    fn ru_leave(&mut self, state: State) {
        for _ in 0..self.ru.fifo.len() {
            self.statistics.count(Counter::ReceiveResource);
        }
        self.ru.clear();
        self.ru.state = state;
        if !self.errata.lost_rnr {
            self.causes |= cause::RNR;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multicast_addresses_are_hashed_by_their_crc() {
        // The CRC of an address, most significant bit first, by another way of computing it.
        let address = [0x01, 0x00, 0x5e, 0x00, 0x00, 0x01];
        let crc = !crc32fast::hash(&address);
        let expected = crc.reverse_bits() >> 2 & 0x3f;
        assert_eq!(multicast_bit(&address), 1 << expected);
    }
}
