// SPDX-License-Identifier: GPL-2.0-or-later
//! The statistical counters and their dump (manual, section 6.3.2.2.1).

use serde::{Deserialize, Serialize};

/// Double words in the longest dump, without the last one that says that it is complete.
const COUNTERS: usize = 20;
/// The last double word of a dump, and of one that resets the counters.
pub const DUMPED: u32 = 0xa005;
pub const DUMPED_AND_RESET: u32 = 0xa007;

/// A counter that can be other than 0 here, by its place in the dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Frames transmitted.
    TransmitGood = 0,
    /// Frames sent again, since the bus was too slow.
    TransmitUnderruns = 3,
    /// Frames sent without a link.
    TransmitLostCarrier = 4,
    /// Frames received.
    ReceiveGood = 9,
    /// Frames with a wrong FCS.
    ReceiveCrcErrors = 10,
    /// Frames without a descriptor.
    ReceiveResource = 12,
    /// Frames without room in the FIFO.
    ReceiveOverrun = 13,
    /// Frames below 64 bytes.
    ReceiveShort = 15,
    /// Pause frames received.
    ReceivePause = 17,
}

/// The counters.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Statistics {
    counters: [u32; COUNTERS],
}

impl Statistics {
    /// Counts one.
    pub fn count(&mut self, counter: Counter) {
        let counter = &mut self.counters[counter as usize];
        *counter = counter.wrapping_add(1);
    }

    /// The value of a counter.
    #[cfg(test)]
    pub fn get(&self, counter: Counter) -> u32 {
        self.counters[counter as usize]
    }

    /// The dump of the first `words` double words, and the one that says that it is complete.
    pub fn dump(&mut self, words: usize, reset: bool) -> Vec<u8> {
        let last = if reset { DUMPED_AND_RESET } else { DUMPED };
        let dumped = self.counters.iter().take(words).chain([&last]);
        let bytes = dumped.flat_map(|word| word.to_le_bytes()).collect();
        if reset {
            *self = Statistics::default();
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_ends_with_its_mark_and_may_reset() {
        let mut statistics = Statistics::default();
        statistics.count(Counter::ReceiveGood);
        let word = |dump: &[u8], at: usize| {
            u32::from_le_bytes(dump[4 * at..4 * at + 4].try_into().unwrap_or_default())
        };
        let dump = statistics.dump(16, false);
        assert_eq!(
            (word(&dump, 9), word(&dump, 16), dump.len()),
            (1, DUMPED, 68)
        );
        let dump = statistics.dump(20, true);
        assert_eq!((word(&dump, 9), word(&dump, 20)), (1, DUMPED_AND_RESET));
        assert_eq!(statistics.get(Counter::ReceiveGood), 0);
    }
}
