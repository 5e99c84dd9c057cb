// SPDX-License-Identifier: GPL-2.0-or-later
//! The chip's 47 counters, in the order in which it reports them (struct lan78xx_statstage of Linux's driver).

use serde::{Deserialize, Serialize};

/// A counter's place.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    RxFcsErrors = 0,
    RxFragments = 2,
    RxUndersize = 4,
    RxOversize = 5,
    RxDropped = 6,
    RxUnicastBytes = 7,
    RxUnicast = 10,
    RxPause = 13,
    RxSizes = 14,
    TxCarrierErrors = 25,
    TxUnicastBytes = 31,
    TxUnicast = 34,
    TxPause = 37,
    TxSizes = 38,
}

/// How many there are.
pub const COUNTERS: usize = 47;
/// The counters of 32 bits; the others have 20.
const WIDE: [usize; 10] = [7, 8, 9, 21, 22, 31, 32, 33, 45, 46];

/// The counters. They wrap, and reading does not clear them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Statistics(Vec<u32>);

impl Default for Statistics {
    fn default() -> Self {
        Statistics(vec![0; COUNTERS])
    }
}

impl Statistics {
    /// Adds to the counter that is `offset` places after `counter`.
    fn add(&mut self, counter: Counter, offset: usize, count: u32) {
        let place = counter as usize + offset;
        let mask = if WIDE.contains(&place) {
            u32::MAX
        } else {
            0xf_ffff
        };
        self.0[place] = self.0[place].wrapping_add(count) & mask;
    }

    /// Counts one.
    pub fn count(&mut self, counter: Counter) {
        self.add(counter, 0, 1);
    }

    /// A counter's value.
    #[cfg(test)]
    pub fn get(&self, counter: Counter) -> u32 {
        self.0[counter as usize]
    }

    /// A good frame (without FCS, at least 60 bytes) was received.
    pub fn received(&mut self, frame: &[u8]) {
        self.good(
            frame,
            Counter::RxUnicastBytes,
            Counter::RxUnicast,
            Counter::RxSizes,
        );
    }

    /// A frame (without FCS, padded) was transmitted.
    pub fn transmitted(&mut self, frame: &[u8]) {
        self.good(
            frame,
            Counter::TxUnicastBytes,
            Counter::TxUnicast,
            Counter::TxSizes,
        );
    }

    fn good(&mut self, frame: &[u8], bytes: Counter, frames: Counter, sizes: Counter) {
        let kind = match frame {
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, ..] => 1,
            [first, ..] if first & 1 != 0 => 2,
            _ => 0,
        };
        let size = frame.len() + 4;
        self.add(bytes, kind, size as u32);
        self.add(frames, kind, 1);
        let class = [64, 127, 255, 511, 1023, 1518]
            .iter()
            .take_while(|limit| size > **limit)
            .count();
        self.add(sizes, class, 1);
    }

    /// What the vendor request gives.
    pub fn bytes(&self) -> Vec<u8> {
        self.0
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_by_kind_and_size() {
        let mut statistics = Statistics::default();
        let mut frame = vec![0; 60];
        statistics.received(&frame);
        frame[..6].fill(0xff);
        frame.resize(1514, 0);
        statistics.received(&frame);
        frame[0] = 0x01;
        frame.resize(1518, 0);
        statistics.transmitted(&frame);
        let read = statistics.bytes();
        let word = |n: usize| u32::from_le_bytes(read[n * 4..n * 4 + 4].try_into().unwrap());
        assert_eq!(read.len(), 188);
        assert_eq!((word(7), word(8), word(10), word(11)), (64, 1518, 1, 1));
        assert_eq!((word(14), word(19)), (1, 1), "64 bytes, 1024 to 1518");
        assert_eq!(
            (word(33), word(36), word(44)),
            (1522, 1, 1),
            "sent: multicast, above 1518"
        );
    }

    #[test]
    fn narrow_counters_wrap_at_20_bits() {
        let mut statistics = Statistics::default();
        statistics.add(Counter::RxDropped, 0, 0xf_ffff);
        statistics.count(Counter::RxDropped);
        assert_eq!(statistics.get(Counter::RxDropped), 0);
        statistics.add(Counter::TxUnicastBytes, 0, 0x10_0000);
        assert_eq!(statistics.get(Counter::TxUnicastBytes), 0x10_0000);
    }
}
