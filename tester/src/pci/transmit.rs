// SPDX-License-Identifier: GPL-2.0-or-later
//! A card's transmit FIFO and the wire behind it.
//!
//! A frame begins to leave when as much of it is in the FIFO as the card's threshold asks for, and the wire is free; it takes up its room
//! until its last bit has left.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Of the FCS, which the chip appends.
pub const FCS_BYTES: usize = 4;
/// Without the FCS.
pub const MIN_BYTES: usize = 60;

/// A frame in the FIFO, or on its way there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Queued {
    /// Without FCS.
    pub frame: Vec<u8>,
    /// What is wrong with it: it never gets to its destination.
    pub spoilt: bool,
    /// When as much of it as the threshold asks for is in the FIFO, in ns.
    pub ready_ns: u64,
    /// When all of it is, in ns.
    pub complete_ns: u64,
}

/// How frames go onto the wire.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The wire's rate, in bit/s.
    pub bps: u64,
    /// Preamble and start delimiter, in bytes.
    pub preamble_bytes: u64,
    /// Between two frames, in bit times.
    pub gap_bits: u64,
}

impl Timing {
    fn bits_ns(self, bits: u64) -> u64 {
        (bits * 1_000_000_000).div_ceil(self.bps)
    }

    /// How long a frame (without FCS) takes, in ns, without the gap.
    pub fn frame_ns(self, bytes: usize) -> u64 {
        self.bits_ns((self.preamble_bytes + (bytes + FCS_BYTES) as u64) * 8)
    }
}

/// A frame that begins to leave.
#[derive(Debug)]
pub struct Departure {
    /// The frame.
    pub queued: Queued,
    /// When its last bit leaves, in ns.
    pub end_ns: u64,
    /// The bus was too slow: it was broken off, and is sent again.
    pub underrun: bool,
}

/// The FIFO and the wire.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transmitter {
    fifo_bytes: usize,
    waiting: VecDeque<Queued>,
    /// Frames on the wire: when the last bit leaves, in ns, and how much room it takes up.
    leaving: VecDeque<(u64, usize)>,
    used: usize,
    /// When the next frame may begin, in ns.
    wire_free_ns: u64,
    /// Until when the partner wants none, in ns.
    paused_until_ns: u64,
}

impl Transmitter {
    /// An empty FIFO of so many bytes.
    pub fn new(fifo_bytes: usize) -> Self {
        Transmitter {
            fifo_bytes,
            waiting: VecDeque::new(),
            leaving: VecDeque::new(),
            used: 0,
            wire_free_ns: 0,
            paused_until_ns: 0,
        }
    }

    /// Frees what has left by `at_ns`.
    pub fn settle(&mut self, at_ns: u64) {
        while let Some((_, bytes)) = self.leaving.front().filter(|(end_ns, _)| *end_ns <= at_ns) {
            self.used -= bytes;
            self.leaving.pop_front();
        }
    }

    /// Whether a frame of so many bytes fits at `at_ns`, where at most so many frames may be in the FIFO.
    pub fn has_room(&mut self, at_ns: u64, bytes: usize, frames: usize) -> bool {
        self.settle(at_ns);
        let held = self.waiting.len() + self.leaving.len();
        held == 0 || (self.used + bytes <= self.fifo_bytes && held < frames)
    }

    /// When the next frame that is on the wire has left it, in ns.
    pub fn next_room_ns(&self) -> Option<u64> {
        self.leaving.front().map(|(end_ns, _)| *end_ns)
    }

    /// Takes a frame in; [`Transmitter::has_room`] was asked.
    pub fn push(&mut self, queued: Queued) {
        self.used += queued.frame.len();
        self.waiting.push_back(queued);
    }

    /// Takes a frame in that leaves before all others, whether there is room or not.
    pub fn push_ahead(&mut self, queued: Queued) {
        self.used += queued.frame.len();
        self.waiting.push_front(queued);
    }

    /// Whether all frames have left.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.leaving.is_empty()
    }

    /// The FIFO's size changes, in bytes.
    pub fn resize(&mut self, fifo_bytes: usize) {
        self.fifo_bytes = fifo_bytes;
    }

    /// No frame begins to leave before `until_ns`.
    pub fn pause(&mut self, until_ns: u64) {
        self.paused_until_ns = until_ns;
    }

    /// When the next frame begins to leave, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        let next = self.waiting.front()?;
        let wire_ns = self.wire_free_ns.max(self.paused_until_ns);
        Some(next.ready_ns.max(wire_ns))
    }

    /// The frame that begins to leave by `now_ns`, if there is one.
    pub fn depart(&mut self, now_ns: u64, timing: Timing) -> Option<Departure> {
        let due_ns = self.deadline_ns().filter(|at_ns| *at_ns <= now_ns)?;
        let queued = self.waiting.pop_front()?;
        let bytes = queued.frame.len();
        let frame_ns = timing.frame_ns(bytes);
        let underrun = queued.complete_ns > due_ns + frame_ns;
        let begin_ns = if underrun { queued.complete_ns } else { due_ns };
        let end_ns = begin_ns + frame_ns;
        self.wire_free_ns = end_ns + timing.bits_ns(timing.gap_bits);
        self.leaving.push_back((end_ns, bytes));
        Some(Departure {
            queued,
            end_ns,
            underrun,
        })
    }

    /// Forgets all frames.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.leaving.clear();
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        bps: 100_000_000,
        preamble_bytes: 8,
        gap_bits: 96,
    };

    fn queued(bytes: usize, ready_ns: u64, complete_ns: u64) -> Queued {
        Queued {
            frame: vec![0; bytes],
            spoilt: false,
            ready_ns,
            complete_ns,
        }
    }

    #[test]
    fn frames_leave_at_the_wires_rate() {
        let mut transmitter = Transmitter::new(3 << 10);
        for _ in 0..3 {
            transmitter.push(queued(60, 1_000, 1_000));
        }
        let mut begins = Vec::new();
        while let Some(at_ns) = transmitter.deadline_ns() {
            assert!(transmitter.depart(at_ns - 1, TIMING).is_none());
            assert!(transmitter.depart(at_ns, TIMING).is_some());
            begins.push(at_ns);
        }
        assert_eq!(begins, [1_000, 1_000 + 6_720, 1_000 + 2 * 6_720]);
    }

    #[test]
    fn a_frame_takes_up_its_room_until_it_has_left() {
        let mut transmitter = Transmitter::new(3 << 10);
        transmitter.push(queued(1_514, 0, 0));
        transmitter.push(queued(1_514, 0, 0));
        assert!(!transmitter.has_room(0, 60, 99));
        let end_ns = transmitter
            .depart(0, TIMING)
            .map(|departure| departure.end_ns);
        assert_eq!(end_ns, Some((8 + 1_518) * 80));
        assert_eq!(transmitter.next_room_ns(), end_ns);
        assert!(!transmitter.has_room(122_079, 1_514, 99));
        assert!(transmitter.has_room(122_080, 1_514, 99));
        assert!(
            !transmitter.has_room(122_080, 60, 1),
            "no more than one frame"
        );
    }

    #[test]
    fn a_frame_that_the_bus_delays_is_sent_again() {
        let mut transmitter = Transmitter::new(3 << 10);
        transmitter.push(queued(1_514, 0, 122_081));
        let departure = transmitter.depart(0, TIMING);
        let found = departure.map(|departure| (departure.underrun, departure.end_ns));
        assert_eq!(found, Some((true, 122_081 + 122_080)));
    }
}
