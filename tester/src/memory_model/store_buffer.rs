// SPDX-License-Identifier: GPL-2.0-or-later
//! A store buffer: stores wait in it for their lines, in order, while the processor goes on.

use std::collections::VecDeque;

/// A store buffer's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Stores that can wait.
    pub entries: usize,
    /// Lines that can be under way for them at a time.
    pub fills: usize,
}

impl Shape {
    /// Most entries, and most fills.
    pub const MOST: usize = 1024;
}

/// The buffer. All times are the processor's, in ps.
///
/// A store that misses begins to fetch its line as soon as it waits, if not too many lines are under way. It leaves when its line has
/// arrived and the stores before it have left. A store that hits waits for those before it only.
#[derive(Clone, Debug)]
pub struct StoreBuffer {
    entries: usize,
    /// When each waiting store leaves.
    leaves: VecDeque<u64>,
    /// When each place for a line under way is free.
    fills: Vec<u64>,
    /// When the last store leaves.
    last: u64,
}

impl StoreBuffer {
    /// An empty buffer. An error if there is no such buffer.
    pub fn new(shape: Shape) -> Result<Self, String> {
        let allowed = 1..=Shape::MOST;
        if !allowed.contains(&shape.entries) || !allowed.contains(&shape.fills) {
            return Err(format!(
                "{} entries and {} fills at a time: allowed are 1 to {}",
                shape.entries,
                shape.fills,
                Shape::MOST
            ));
        }
        Ok(StoreBuffer {
            entries: shape.entries,
            leaves: VecDeque::with_capacity(shape.entries),
            fills: vec![0; shape.fills],
            last: 0,
        })
    }

    /// From when on no store waits.
    #[inline]
    pub fn empty_at(&self) -> u64 {
        self.last
    }

    /// A store, whose line arrives so long after it was asked for (0: it is there already); returns for how long the processor stalls
    /// because the buffer is full.
    pub fn store(&mut self, now_ps: u64, fill_ps: u64) -> u64 {
        while self.leaves.front().is_some_and(|leaves| *leaves <= now_ps) {
            self.leaves.pop_front();
        }
        let mut begins = now_ps;
        if self.leaves.len() == self.entries {
            begins = self.leaves.pop_front().unwrap_or(now_ps);
        }
        let mut arrives = begins;
        if fill_ps != 0 {
            // The first of those that are free earliest.
            if let Some(free) = self.fills.iter_mut().min() {
                *free = begins.max(*free) + fill_ps;
                arrives = *free;
            }
        }
        self.last = self.last.max(arrives);
        if self.last > begins {
            self.leaves.push_back(self.last);
        }
        begins - now_ps
    }

    /// Empty, at time 0.
    pub fn clear(&mut self) {
        self.leaves.clear();
        self.fills.fill(0);
        self.last = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(entries: usize, fills: usize) -> StoreBuffer {
        StoreBuffer::new(Shape { entries, fills }).unwrap_or_else(|why| panic!("{why}"))
    }

    #[test]
    fn the_processor_goes_on_until_the_buffer_is_full() {
        let mut buffer = buffer(2, 1);
        assert_eq!([buffer.store(0, 100), buffer.store(0, 100)], [0, 0]);
        assert_eq!(buffer.store(0, 100), 100, "until the first one leaves");
        assert_eq!(buffer.store(150, 100), 50, "the second one leaves at 200");
        assert_eq!(buffer.store(400, 100), 0);
        assert_eq!(buffer.empty_at(), 500);
    }

    #[test]
    fn lines_may_be_under_way_side_by_side() {
        let mut buffer = buffer(4, 2);
        for _ in 0..4 {
            assert_eq!(buffer.store(0, 100), 0);
        }
        // Two arrive at 100, two at 200.
        assert_eq!(buffer.store(0, 100), 100);
        assert_eq!(buffer.store(100, 100), 0, "another one has left at 100");
        assert_eq!(buffer.store(100, 100), 100);
    }

    #[test]
    fn a_store_that_hits_waits_for_those_before_it() {
        let mut buffer = buffer(2, 2);
        assert_eq!(buffer.store(0, 0), 0);
        assert_eq!(buffer.empty_at(), 0, "there is nothing to wait for");
        buffer.store(0, 100);
        assert_eq!([buffer.store(10, 0), buffer.store(20, 0)], [0, 80]);
        assert_eq!(buffer.empty_at(), 100);
    }

    #[test]
    fn stores_leave_in_order() {
        let mut buffer = buffer(2, 2);
        buffer.store(0, 100);
        buffer.store(0, 10);
        assert_eq!(buffer.store(50, 0), 50);
    }

    #[test]
    fn a_cleared_buffer_is_empty() {
        let mut buffer = buffer(1, 1);
        buffer.store(1_000, 100);
        buffer.clear();
        assert_eq!(buffer.empty_at(), 0);
        assert_eq!(buffer.store(0, 100), 0);
    }

    #[test]
    fn impossible_buffers_are_refused() {
        for (entries, fills) in [(0, 1), (1, 0), (1025, 1), (1, 1025)] {
            let why = StoreBuffer::new(Shape { entries, fills }).err();
            assert!(why.is_some_and(|why| why.contains("allowed are 1 to 1024")));
        }
    }
}
