// SPDX-License-Identifier: GPL-2.0-or-later
//! The statistics registers (data sheet, section 10.2.7): cleared when they are read, and stuck at their maximum.

use serde::{Deserialize, Serialize};

use super::registers::csr;

const COUNTERS: usize = ((csr::STATISTICS_LAST - csr::STATISTICS) / 4 + 1) as usize;
/// On the wire, a frame has four bytes more than in the chip.
pub const FCS_BYTES: usize = 4;

/// A counter that can be other than 0 here, by its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    CrcErrors = 0x4000,
    Missed = 0x4010,
    XonReceived = 0x4048,
    XonSent = 0x404c,
    XoffReceived = 0x4050,
    XoffSent = 0x4054,
    UnsupportedControl = 0x4058,
    /// Followed by those of larger frames.
    ReceivedOf64 = 0x405c,
    ReceivedGood = 0x4074,
    ReceivedBroadcasts = 0x4078,
    ReceivedMulticasts = 0x407c,
    SentGood = 0x4080,
    ReceivedGoodBytes = 0x4088,
    SentGoodBytes = 0x4090,
    NoBuffers = 0x40a0,
    Undersized = 0x40a4,
    Oversized = 0x40ac,
    ReceivedBytes = 0x40c0,
    SentBytes = 0x40c8,
    Received = 0x40d0,
    Sent = 0x40d4,
    /// Followed by those of larger frames.
    SentOf64 = 0x40d8,
    SentMulticasts = 0x40f0,
    SentBroadcasts = 0x40f4,
    SegmentationContexts = 0x40f8,
    Interrupts = 0x4100,
    ReceivePacketTimer = 0x4104,
    ReceiveAbsoluteTimer = 0x4108,
    TransmitPacketTimer = 0x410c,
    TransmitAbsoluteTimer = 0x4110,
    TransmitQueueEmpty = 0x4118,
    DescriptorsLow = 0x4120,
    Overruns = 0x4124,
}

/// The counters of 64 bits: their lower halves.
const WIDE: [u64; 4] = [0x4088, 0x4090, 0x40c0, 0x40c8];
/// Up to how many bytes, FCS included, the frames of each size counter have.
const SIZES: [usize; 5] = [64, 127, 255, 511, 1023];

/// The counters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Statistics {
    counters: Vec<u32>,
}

impl Default for Statistics {
    fn default() -> Self {
        Statistics {
            counters: vec![0; COUNTERS],
        }
    }
}

fn place(offset: u64) -> usize {
    ((offset - csr::STATISTICS) / 4) as usize
}

impl Statistics {
    /// Counts one.
    pub fn count(&mut self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Counts several.
    pub fn add(&mut self, counter: Counter, number: u32) {
        let counter = &mut self.counters[place(counter as u64)];
        *counter = counter.saturating_add(number);
    }

    fn add_bytes(&mut self, counter: Counter, bytes: usize) {
        let low = place(counter as u64);
        let value = u64::from(self.counters[low + 1]) << 32 | u64::from(self.counters[low]);
        let value = value.saturating_add(bytes as u64);
        (self.counters[low], self.counters[low + 1]) = (value as u32, (value >> 32) as u32);
    }

    /// Counts a frame by its size, whose counters begin with `first`.
    fn count_size(&mut self, first: Counter, bytes: usize) {
        let class = SIZES.iter().take_while(|limit| bytes > **limit).count();
        let counter = &mut self.counters[place(first as u64) + class];
        *counter = counter.saturating_add(1);
    }

    /// A frame (without FCS) was on the line to the card.
    pub fn seen(&mut self, frame: &[u8]) {
        self.count(Counter::Received);
        self.add_bytes(Counter::ReceivedBytes, frame.len() + FCS_BYTES);
    }

    /// A frame was received for this card.
    pub fn received(&mut self, frame: &[u8]) {
        let bytes = frame.len() + FCS_BYTES;
        self.count(Counter::ReceivedGood);
        self.add_bytes(Counter::ReceivedGoodBytes, bytes);
        self.count_size(Counter::ReceivedOf64, bytes);
        if frame.starts_with(&[0xff; 6]) {
            self.count(Counter::ReceivedBroadcasts);
        } else if frame.first().is_some_and(|first| first & 1 != 0) {
            self.count(Counter::ReceivedMulticasts);
        }
    }

    /// A frame was sent.
    pub fn sent(&mut self, frame: &[u8]) {
        let bytes = frame.len() + FCS_BYTES;
        self.count(Counter::Sent);
        self.count(Counter::SentGood);
        self.add_bytes(Counter::SentGoodBytes, bytes);
        self.add_bytes(Counter::SentBytes, bytes);
        self.count_size(Counter::SentOf64, bytes);
        if frame.starts_with(&[0xff; 6]) {
            self.count(Counter::SentBroadcasts);
        } else if frame.first().is_some_and(|first| first & 1 != 0) {
            self.count(Counter::SentMulticasts);
        }
    }

    /// Reads a register and clears it. The lower half of a counter of 64 bits is cleared with the upper one.
    pub fn read(&mut self, offset: u64) -> u32 {
        let at = place(offset);
        let Some(value) = self.counters.get(at).copied() else {
            return 0;
        };
        if !WIDE.contains(&offset) {
            self.counters[at] = 0;
        }
        if WIDE.contains(&(offset - 4)) {
            self.counters[at - 1] = 0;
        }
        value
    }

    /// A counter, without clearing it.
    #[cfg(test)]
    pub fn get(&self, counter: Counter) -> u32 {
        self.counters[place(counter as u64)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_cleared_by_reading_it() {
        let mut statistics = Statistics::default();
        statistics.received(&[0xff; 60]);
        statistics.received(&[2; 1_020]);
        for (offset, expected) in [
            (0x4074, 2),
            (0x4078, 1),
            (0x407c, 0),
            (0x405c, 1),
            (0x406c, 0),
            (0x4070, 1),
        ] {
            assert_eq!(statistics.read(offset), expected, "{offset:#x}");
            assert_eq!(statistics.read(offset), 0);
        }
    }

    #[test]
    fn bytes_have_64_bits_and_go_with_the_upper_half() {
        let mut statistics = Statistics::default();
        statistics.sent(&[2; 60]);
        statistics.counters[place(0x4090)] = u32::MAX;
        statistics.sent(&[2; 60]);
        assert_eq!(
            [0x4090, 0x4090, 0x4094].map(|at| statistics.read(at)),
            [63, 63, 1]
        );
        assert_eq!([0x4090, 0x4094].map(|at| statistics.read(at)), [0, 0]);
    }

    #[test]
    fn counters_stick_at_their_maximum() {
        let mut statistics = Statistics::default();
        statistics.add(Counter::Missed, u32::MAX);
        statistics.count(Counter::Missed);
        assert_eq!(statistics.get(Counter::Missed), u32::MAX);
    }
}
