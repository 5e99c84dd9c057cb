// SPDX-License-Identifier: GPL-2.0-or-later
//! Descriptor rings (data sheet, sections 7.1.8 and 7.2.4): their registers, the chip's own copies of descriptors, and when used ones are
//! written back.

use serde::{Deserialize, Serialize};

use super::registers::{csr, dctl};

/// Descriptors that the chip holds for a ring (7.1.6).
const ON_CHIP: u32 = 64;
/// The unit of a ring's length.
const UNIT: u32 = 16;
const BASE_MASK: u32 = !0xf;
const LENGTH_MASK: u32 = 0x000f_ff80;
const POINTER_MASK: u32 = 0xffff;
/// Descriptors in a line of 64 bytes, the unit of thresholds without granularity.
const PER_LINE: u32 = 4;

/// A used descriptor, as it is to be written back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Used {
    pub address: u64,
    pub bytes: Vec<u8>,
}

/// A ring.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Ring {
    base_low: u32,
    base_high: u32,
    length: u32,
    /// Up to where descriptors were used, written back or not (7.1.8).
    head: u32,
    tail: u32,
    control: u32,
    /// The next one to use.
    next: u32,
    /// How many from there on the chip has read.
    held: u32,
}

impl Ring {
    /// A ring after a reset, with this descriptor control.
    pub fn new(control: u32) -> Self {
        Ring {
            control,
            ..Ring::default()
        }
    }

    /// Reads one of its registers.
    pub fn read(&self, offset: u64) -> Option<u32> {
        Some(match offset {
            csr::BASE_LOW => self.base_low,
            csr::BASE_HIGH => self.base_high,
            csr::LENGTH => self.length,
            csr::HEAD => self.head,
            csr::TAIL => self.tail,
            csr::DESCRIPTOR_CONTROL => self.control,
            _ => return None,
        })
    }

    /// Writes one of its registers. False: it is none.
    pub fn write(&mut self, offset: u64, value: u32) -> bool {
        match offset {
            csr::BASE_LOW => self.base_low = value & BASE_MASK,
            csr::BASE_HIGH => self.base_high = value,
            csr::LENGTH => self.length = value & LENGTH_MASK,
            csr::HEAD => {
                self.head = value & POINTER_MASK;
                (self.next, self.held) = (self.head, 0);
            }
            csr::TAIL => self.tail = value & POINTER_MASK,
            csr::DESCRIPTOR_CONTROL => self.control = value,
            _ => return false,
        }
        true
    }

    /// How many units of 16 bytes it has.
    pub fn units(&self) -> u32 {
        self.length / UNIT
    }

    /// How many units the chip may use.
    pub fn available(&self) -> u32 {
        let units = self.units();
        if units == 0 || self.next >= units || self.tail > units {
            return 0;
        }
        (self.tail + units - self.next) % units
    }

    /// How many units are the chip's, used or not.
    pub fn owned(&self) -> u32 {
        let units = self.units();
        if units == 0 || self.head >= units || self.tail > units {
            return 0;
        }
        (self.tail + units - self.head) % units
    }

    /// How many bytes have to be read before `count` units can be used: 0 if the chip has them. It takes all that it has room for, up to
    /// the end of the ring.
    pub fn fetch(&mut self, count: u32) -> usize {
        if self.held >= count {
            return 0;
        }
        let first = (self.next + self.held) % self.units().max(1);
        let room = ON_CHIP.max(count) - self.held;
        let to_end = (self.units() - first).max(count - self.held);
        let taken = (self.available() - self.held).min(room).min(to_end);
        self.held += taken;
        (taken * UNIT) as usize
    }

    /// How many bytes are worth reading ahead: 0 unless no more than PTHRESH are held and at least HTHRESH are there.
    pub fn prefetch(&mut self) -> usize {
        let threshold = (self.control & dctl::PREFETCH) * self.unit_of_thresholds();
        let host = (self.control >> dctl::HOST_SHIFT & dctl::SIX_BITS) * self.unit_of_thresholds();
        let there = self.available().saturating_sub(self.held);
        if self.held > threshold || there < host.max(1) || self.held >= ON_CHIP {
            return 0;
        }
        self.fetch(self.held + 1)
    }

    /// Uses `count` units that the chip has: their addresses.
    pub fn take(&mut self, count: u32) -> Vec<u64> {
        let base = u64::from(self.base_high) << 32 | u64::from(self.base_low);
        let units = self.units().max(1);
        let addresses = (0..count)
            .map(|n| base + u64::from((self.next + n) % units * UNIT))
            .collect();
        self.next = (self.next + count) % units;
        self.held = self.held.saturating_sub(count);
        addresses
    }

    /// `count` units are done with.
    pub fn give_back(&mut self, count: u32) {
        self.head = (self.head + count) % self.units().max(1);
    }

    /// Whether all descriptors were used.
    pub fn is_empty(&self) -> bool {
        self.available() == 0
    }

    fn unit_of_thresholds(&self) -> u32 {
        if self.control & dctl::GRANULARITY != 0 {
            1
        } else {
            PER_LINE
        }
    }

    /// How many used descriptors are written back at once; 0 and 1: each.
    pub fn write_back_threshold(&self) -> usize {
        let threshold = self.control >> dctl::WRITE_BACK_SHIFT & dctl::SIX_BITS;
        (threshold * self.unit_of_thresholds()) as usize
    }
}

/// The two timers that a used descriptor starts (10.2.5.10, 10.2.5.12, 10.2.6.9, 10.2.6.11): one from the last, one from the first.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Timers {
    packet_ns: Option<u64>,
    absolute_ns: Option<u64>,
}

/// The unit of RDTR, RADV, TIDV and TADV, in ns (10.2.5.10, 10.2.5.12, 10.2.6.9, 10.2.6.11).
pub const DELAY_NS: u64 = 1_024;
const DELAY: u32 = 0xffff;

impl Timers {
    /// A descriptor was used; both delays as in the registers, an absolute one of 0 is none.
    pub fn start(&mut self, now_ns: u64, packet: u32, absolute: u32) {
        let end = |delay: u32| now_ns + u64::from(delay & DELAY) * DELAY_NS;
        self.packet_ns = Some(end(packet));
        if absolute & DELAY != 0 && self.absolute_ns.is_none() {
            self.absolute_ns = Some(end(absolute));
        }
    }

    /// When the next of them expires, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.packet_ns.into_iter().chain(self.absolute_ns).min()
    }

    /// Whether one has expired, and whether that is the absolute one; both are stopped then.
    pub fn expire(&mut self, now_ns: u64) -> Option<bool> {
        let due = |at: Option<u64>| at.is_some_and(|at_ns| at_ns <= now_ns);
        let (packet, absolute) = (due(self.packet_ns), due(self.absolute_ns));
        if packet || absolute {
            *self = Timers::default();
        }
        (packet || absolute).then_some(!packet)
    }

    /// Stops both.
    pub fn stop(&mut self) {
        *self = Timers::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(control: u32, tail: u32) -> Ring {
        let mut ring = Ring::new(control);
        for (offset, value) in [
            (csr::BASE_LOW, 0x1_000f),
            (csr::BASE_HIGH, 2),
            (csr::LENGTH, 128 * 16),
            (csr::HEAD, 0),
            (csr::TAIL, tail),
        ] {
            assert!(ring.write(offset, value));
        }
        ring
    }

    #[test]
    fn descriptors_are_read_in_bursts_and_used_in_order() {
        let mut ring = ring(0, 100);
        assert_eq!(ring.fetch(1), 64 * 16);
        assert_eq!(ring.fetch(64), 0);
        assert_eq!(ring.take(2), [0x2_0001_0000, 0x2_0001_0010]);
        assert_eq!((ring.available(), ring.owned()), (98, 100));
        ring.give_back(2);
        assert_eq!((ring.owned(), ring.read(csr::HEAD)), (98, Some(2)));
        ring.take(62);
        assert_eq!(ring.fetch(1), 36 * 16);
    }

    #[test]
    fn a_burst_ends_with_the_ring() {
        let mut ring = ring(0, 10);
        ring.write(csr::HEAD, 120);
        assert_eq!(ring.available(), 18);
        assert_eq!(ring.fetch(1), 8 * 16);
        ring.take(8);
        assert_eq!(ring.fetch(1), 10 * 16);
        assert_eq!(ring.take(1), [0x2_0001_0000]);
    }

    #[test]
    fn reading_ahead_has_two_thresholds() {
        let mut ring = ring(1 << 24 | 4 << 8 | 2, 5);
        assert_eq!(ring.fetch(1), 5 * 16);
        ring.write(csr::TAIL, 8);
        assert_eq!(ring.prefetch(), 0, "more than two held");
        ring.take(3);
        assert_eq!(ring.prefetch(), 0, "fewer than four there");
        ring.write(csr::TAIL, 9);
        assert_eq!(ring.prefetch(), 4 * 16);
    }

    #[test]
    fn a_ring_set_up_wrongly_is_empty() {
        for (offset, value) in [(csr::LENGTH, 0), (csr::HEAD, 500), (csr::TAIL, 129)] {
            let mut ring = ring(0, 100);
            ring.write(offset, value);
            assert_eq!(ring.available(), 0);
        }
    }

    #[test]
    fn the_absolute_timer_is_not_restarted() {
        let mut timers = Timers::default();
        timers.start(0, 8, 12);
        timers.start(5 * DELAY_NS, 8, 12);
        assert_eq!(timers.deadline_ns(), Some(12 * DELAY_NS));
        assert_eq!(timers.expire(12 * DELAY_NS - 1), None);
        assert_eq!(timers.expire(12 * DELAY_NS), Some(true));
        assert_eq!(timers.deadline_ns(), None);
        timers.start(0, 8, 0);
        assert_eq!(timers.expire(8 * DELAY_NS), Some(false));
    }
}
