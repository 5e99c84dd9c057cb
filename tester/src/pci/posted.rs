// SPDX-License-Identifier: GPL-2.0-or-later
//! Posted writes: writes to registers that are still on their way to a card.
//!
//! A bridge takes a write to memory from the processor, which goes on at once. The write reaches the card later, in order. What the
//! processor reads from the card comes after all its writes, and so do accesses to ports and to the configuration space, which are not
//! posted (PCI Local Bus Specification 3.0, 3.2.5 and appendix E).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Card, Host};

/// A write to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// The window.
    pub window: usize,
    /// Where in it.
    pub offset: u64,
    /// How many bytes.
    pub bytes: usize,
    /// The value.
    pub value: u32,
}

impl Write {
    /// The card gets it.
    pub fn reach(self, now_ns: u64, card: &mut dyn Card, host: &mut dyn Host) {
        let Write {
            window,
            offset,
            bytes,
            value,
        } = self;
        card.write(now_ns, window, offset, bytes, value, host);
    }
}

/// The writes to one card that are under way, the oldest first, each with the time of its arrival, in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostedWrites(VecDeque<(u64, Write)>);

impl PostedWrites {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A write that arrives at `at_ns`, but not before those that are under way.
    pub fn post(&mut self, at_ns: u64, write: Write) {
        let last_ns = self.0.back().map_or(0, |(last_ns, _)| *last_ns);
        self.0.push_back((at_ns.max(last_ns), write));
    }

    /// When the next one arrives, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.0.front().map(|(at_ns, _)| *at_ns)
    }

    /// Takes out those that have arrived.
    pub fn arrived(&mut self, now_ns: u64) -> PostedWrites {
        let count = self.0.partition_point(|(at_ns, _)| *at_ns <= now_ns);
        PostedWrites(self.0.drain(..count).collect())
    }

    /// The card gets them, each at its time and after what the card does until then.
    pub fn deliver(self, card: &mut dyn Card, host: &mut dyn Host) {
        for (at_ns, write) in self.0 {
            card.advance(at_ns, host);
            write.reach(at_ns, card, host);
        }
    }

    /// The card gets them now, whenever they would have arrived.
    pub fn flush(self, now_ns: u64, card: &mut dyn Card, host: &mut dyn Host) {
        for (_, write) in self.0 {
            write.reach(now_ns, card, host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pci::Power;
    use crate::pci::board::Board;

    /// What happened to a card, in order.
    #[derive(Debug, PartialEq, Eq)]
    enum Event {
        Advanced(u64),
        Written(u64, u32),
    }
    use Event::{Advanced, Written};

    #[derive(Default)]
    struct Recorder(Vec<Event>);

    impl Card for Recorder {
        fn read(&mut self, _: u64, _: usize, _: u64, _: usize) -> u32 {
            0
        }
        fn write(
            &mut self,
            now_ns: u64,
            window: usize,
            offset: u64,
            bytes: usize,
            value: u32,
            _: &mut dyn Host,
        ) {
            assert_eq!((window, offset, bytes), (1, 8, 2));
            self.0.push(Written(now_ns, value));
        }
        fn receive_damaged(&mut self, _: u64, _: &[u8], _: &mut dyn Host) {}
        fn plug_cable(&mut self, _: u64, _: bool, _: &mut dyn Host) {}
        fn receive(&mut self, _: u64, _: &[u8], _: &mut dyn Host) -> bool {
            false
        }
        fn deadline_ns(&self) -> Option<u64> {
            None
        }
        fn advance(&mut self, now_ns: u64, _: &mut dyn Host) {
            self.0.push(Advanced(now_ns));
        }
        fn reset(&mut self, _: u64) {}
        fn power_changed(&mut self, _: u64, _: Power) {}
        fn state(&self) -> Result<String, String> {
            Ok(String::new())
        }
        fn restore(&mut self, _: &str) -> Result<(), String> {
            Ok(())
        }
    }

    fn write(value: u32) -> Write {
        Write {
            window: 1,
            offset: 8,
            bytes: 2,
            value,
        }
    }

    /// Writes that arrive at these times; their values are 0, 1, 2, ...
    fn posted(times_ns: &[u64]) -> PostedWrites {
        let mut posted = PostedWrites::default();
        for (value, at_ns) in (0..).zip(times_ns) {
            posted.post(*at_ns, write(value));
        }
        posted
    }

    fn delivered(arrived: PostedWrites) -> Vec<Event> {
        let mut card = Recorder::default();
        arrived.deliver(&mut card, &mut Board::default());
        card.0
    }

    #[test]
    fn nothing_is_under_way_at_first() {
        let mut none = PostedWrites::default();
        assert!(none.is_empty());
        assert_eq!(none.deadline_ns(), None);
        assert!(none.arrived(u64::MAX).is_empty());
    }

    #[test]
    fn the_next_write_sets_the_deadline() {
        let mut posted = posted(&[10, 30]);
        assert!(!posted.is_empty());
        assert_eq!(posted.deadline_ns(), Some(10));
        posted.arrived(10);
        assert_eq!(posted.deadline_ns(), Some(30));
        posted.arrived(30);
        assert_eq!(posted.deadline_ns(), None);
    }

    #[test]
    fn a_write_arrives_at_its_time_and_no_earlier() {
        let mut posted = posted(&[10, 30]);
        assert!(posted.arrived(9).is_empty());
        assert_eq!(
            delivered(posted.arrived(29)),
            [Advanced(10), Written(10, 0)]
        );
        assert_eq!(
            delivered(posted.arrived(35)),
            [Advanced(30), Written(30, 1)]
        );
        assert!(posted.is_empty());
    }

    #[test]
    fn each_write_comes_after_what_the_card_does_until_then() {
        assert_eq!(
            delivered(posted(&[10, 30]).arrived(40)),
            [Advanced(10), Written(10, 0), Advanced(30), Written(30, 1)]
        );
    }

    #[test]
    fn no_write_overtakes_another() {
        let mut posted = posted(&[30, 20, 40]);
        assert_eq!(
            delivered(posted.arrived(30)),
            [Advanced(30), Written(30, 0), Advanced(30), Written(30, 1)]
        );
        assert_eq!(posted.deadline_ns(), Some(40));
    }

    #[test]
    fn all_writes_are_flushed_at_once_and_in_order() {
        let mut card = Recorder::default();
        posted(&[10, 30]).flush(5, &mut card, &mut Board::default());
        assert_eq!(card.0, [Written(5, 0), Written(5, 1)]);
    }

    #[test]
    fn a_snapshot_has_the_writes() {
        let before = posted(&[10, 30]);
        let text = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<PostedWrites>(&text).unwrap(), before);
    }
}
