// SPDX-License-Identifier: GPL-2.0-or-later
//! The receiving half of a TCP connection: reassembles the stream and schedules acknowledgements (RFC 9293; RFC 5681, 4.2).

use std::collections::{BTreeMap, VecDeque};

/// How long the acknowledgement of a single segment is delayed, in ns; Linux's minimum.
const DELAY_NS: u64 = 40_000_000;
/// A segment has room for this many SACK blocks if it has no other options.
const SACK_BLOCKS: usize = 3;

/// The receiving half. Stream positions are 64-bit numbers; the SYN is at 0.
#[derive(Debug)]
pub struct Receiver {
    next: u64,
    buffer: VecDeque<u8>,
    capacity: usize,
    beyond: BTreeMap<u64, Vec<u8>>,
    latest: u64,
    fin: Option<u64>,
    unacknowledged: u32,
    acknowledge_at_ns: Option<u64>,
}

impl Receiver {
    /// A receiver that has received only the SYN, with a buffer of `capacity` bytes.
    pub fn new(capacity: usize) -> Self {
        Receiver {
            next: 1,
            buffer: VecDeque::new(),
            capacity,
            beyond: BTreeMap::new(),
            latest: 0,
            fin: None,
            unacknowledged: 0,
            acknowledge_at_ns: None,
        }
    }

    /// The next position expected: the acknowledgement number.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Free bytes of the buffer.
    pub fn window(&self) -> u64 {
        self.capacity.saturating_sub(self.buffer.len()) as u64
    }

    /// Whether the whole stream, including its end, has been received.
    pub fn is_done(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Bytes that can be read.
    pub fn available(&self) -> usize {
        self.buffer.len()
    }

    /// Reads up to `most` bytes.
    pub fn read(&mut self, most: usize) -> Vec<u8> {
        let count = most.min(self.buffer.len());
        self.buffer.drain(..count).collect()
    }

    /// Discards up to `most` bytes; returns how many.
    pub fn discard(&mut self, most: usize) -> usize {
        let count = most.min(self.buffer.len());
        self.buffer.drain(..count);
        count
    }

    /// A segment was received.
    pub fn on_segment(&mut self, now_ns: u64, begin: i64, payload: &[u8], fin: bool) {
        let end = begin + payload.len() as i64;
        if payload.is_empty() && !fin {
            if begin != self.next as i64 {
                self.acknowledge_at_ns = Some(now_ns); // a keep-alive or window probe, or outside the window
            }
            return;
        }
        let limit = (self.next + self.window()) as i64;
        let whole = end <= limit;
        if fin && whole {
            self.fin = Some(end as u64);
        }
        let from = begin.max(self.next as i64);
        let to = end.min(limit);
        let orderly = begin == self.next as i64 && self.beyond.is_empty() && whole;
        if from < to {
            let piece = &payload[(from - begin) as usize..(to - begin) as usize];
            if from == self.next as i64 {
                self.buffer.extend(piece);
                self.next = to as u64;
                self.join();
            } else {
                let slot = self.beyond.entry(from as u64).or_default();
                if slot.len() < piece.len() {
                    *slot = piece.to_vec();
                }
                self.latest = from as u64;
            }
        }
        if self.fin == Some(self.next) {
            self.next += 1;
            self.acknowledge_at_ns = Some(now_ns);
            return;
        }
        self.unacknowledged += 1;
        if orderly && self.unacknowledged < 2 {
            self.acknowledge_at_ns.get_or_insert(now_ns + DELAY_NS);
        } else {
            self.acknowledge_at_ns = Some(now_ns);
        }
    }

    fn join(&mut self) {
        while let Some(entry) = self.beyond.first_entry() {
            let begin = *entry.key();
            if begin > self.next {
                break;
            }
            let piece = entry.remove();
            let known = (self.next - begin) as usize;
            if known < piece.len() {
                self.buffer.extend(&piece[known..]);
                self.next = begin + piece.len() as u64;
            }
        }
    }

    /// When an acknowledgement must be sent even without data, in ns.
    pub fn acknowledge_at_ns(&self) -> Option<u64> {
        self.acknowledge_at_ns
    }

    /// An acknowledgement is being sent.
    pub fn acknowledged(&mut self) {
        self.unacknowledged = 0;
        self.acknowledge_at_ns = None;
    }

    /// The ranges received after a hole, the most recent first (RFC 2018, section 4).
    pub fn blocks(&self) -> Vec<(u64, u64)> {
        let mut blocks: Vec<(u64, u64)> = Vec::new();
        for (begin, piece) in &self.beyond {
            let end = begin + piece.len() as u64;
            match blocks.last_mut() {
                Some(last) if last.1 >= *begin => last.1 = last.1.max(end),
                _ => blocks.push((*begin, end)),
            }
        }
        blocks.sort_by_key(|block| !(block.0..block.1).contains(&self.latest));
        blocks.truncate(SACK_BLOCKS);
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_segment_is_acknowledged_at_once() {
        let mut receiver = Receiver::new(10_000);
        receiver.on_segment(5, 1, &[7; 100], false);
        assert_eq!(receiver.acknowledge_at_ns(), Some(5 + DELAY_NS));
        receiver.on_segment(9, 101, &[8; 100], false);
        assert_eq!(receiver.acknowledge_at_ns(), Some(9));
        assert_eq!((receiver.next(), receiver.window()), (201, 9_800));
        receiver.acknowledged();
        assert_eq!(receiver.read(1_000).len(), 200);
    }

    #[test]
    fn what_comes_before_a_hole_is_acknowledged_at_once() {
        let mut receiver = Receiver::new(10_000);
        receiver.on_segment(5, 301, &[7; 100], false);
        receiver.acknowledged();
        receiver.on_segment(9, 1, &[8; 100], false);
        assert_eq!(receiver.acknowledge_at_ns(), Some(9));
        assert_eq!((receiver.available(), receiver.read(30).len()), (100, 30));
        assert_eq!((receiver.available(), receiver.discard(1_000)), (70, 70));
    }

    #[test]
    fn what_begins_at_the_windows_end_is_not_kept() {
        let mut receiver = Receiver::new(100);
        receiver.on_segment(0, 101, &[7; 10], false);
        assert_eq!((receiver.next(), receiver.blocks()), (1, vec![]));
    }

    #[test]
    fn holes_are_named_and_filled() {
        let mut receiver = Receiver::new(10_000);
        receiver.on_segment(0, 101, &[2; 100], false);
        receiver.on_segment(0, 301, &[4; 100], true);
        assert_eq!(receiver.blocks(), [(301, 401), (101, 201)]);
        receiver.on_segment(0, 1, &[1; 100], false);
        assert_eq!(receiver.next(), 201);
        receiver.on_segment(0, 151, &[3; 150], false);
        assert_eq!(receiver.next(), 402, "the end counts one");
        assert!(receiver.is_done() && receiver.blocks().is_empty());
        let bytes = receiver.read(1_000);
        assert_eq!((bytes.len(), bytes[199], bytes[200]), (400, 2, 3));
    }

    #[test]
    fn what_there_is_no_room_for_is_not_taken() {
        let mut receiver = Receiver::new(150);
        receiver.on_segment(0, 1, &[1; 200], true);
        assert_eq!((receiver.next(), receiver.window()), (151, 0));
        assert!(!receiver.is_done());
        receiver.discard(150);
        receiver.on_segment(0, 1, &[1; 200], true);
        assert!(receiver.is_done());
    }
}
