// SPDX-License-Identifier: GPL-2.0-or-later
//! A wire between two ports of the device under test, with a delay and a loss.

use rand_core::RngCore;
use rand_pcg::Pcg64;

use crate::rng::{Purpose, below, seeded};
use crate::traffic::frame::{FCS_BYTES, MIN_FRAME_BYTES};
use crate::traffic::line::Line;

/// A frame that would wait longer than this for the wire is dropped. The device under test's NIC delivers frames at once; an unlimited
/// queue would hide from it that the wire is too slow.
pub const BACKLOG_NS: u64 = 100_000_000;

/// What the lab asks for.
#[derive(Clone, Copy, Debug)]
pub struct WirePlan {
    /// How long a bit travels, in ns.
    pub delay_ns: u64,
    /// How many of a million frames get lost.
    pub loss_ppm: u32,
    /// Seeds the losses.
    pub seed: u64,
}

/// One direction of a wire.
#[derive(Clone, Debug)]
pub struct Wire {
    to: usize,
    plan: WirePlan,
    line: Line,
    rng: Pcg64,
}

impl Wire {
    /// The direction from port `from` to port `to`, over a line of the slower port's speed.
    pub fn new(from: usize, to: usize, plan: WirePlan, line: Line) -> Self {
        Wire {
            to,
            plan,
            line,
            rng: seeded(plan.seed, Purpose::Loss, from, 0),
        }
    }

    /// The port at the other end.
    pub fn to(&self) -> usize {
        self.to
    }

    /// The device under test transmits a frame (without FCS) at `now_ns`. Returns when its last bit arrives, in ns, or None if it is lost.
    /// A lost frame occupies the wire, too.
    pub fn carry(&mut self, now_ns: u64, frame: &[u8]) -> Option<u64> {
        if self.line.backlog_ns(now_ns) > BACKLOG_NS {
            return None;
        }
        let bytes = (frame.len() + FCS_BYTES).max(MIN_FRAME_BYTES);
        let across_ns = now_ns
            .saturating_add(self.line.serialisation_ns(bytes))
            .max(self.line.earliest_ns(bytes));
        self.line.occupy(bytes, across_ns, across_ns);
        let lost = below(self.rng.next_u64(), 1_000_000) < u64::from(self.plan.loss_ppm);
        (!lost).then(|| across_ns.saturating_add(self.plan.delay_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(delay_ns: u64, loss_ppm: u32, seed: u64) -> Wire {
        Wire::new(
            0,
            1,
            WirePlan {
                delay_ns,
                loss_ppm,
                seed,
            },
            Line::new(100_000_000, 8),
        )
    }

    #[test]
    fn frames_are_serialised_then_delayed() {
        let mut wire = wire(1_000_000, 0, 1);
        assert_eq!(wire.carry(0, &[0; 60]), Some(6_720 + 1_000_000));
        assert_eq!(
            wire.carry(0, &[0; 42]),
            Some(2 * 6_720 + 1_000_000),
            "padded, and after the one before"
        );
        assert_eq!(
            wire.carry(50_000, &[0; 1514]),
            Some(50_000 + 123_040 + 1_000_000)
        );
    }

    #[test]
    fn loss_is_as_frequent_as_asked_and_repeats() {
        let losses = |ppm, seed| {
            let mut wire = wire(0, ppm, seed);
            (0..100_000)
                .map(|k| wire.carry(k * 1_000_000, &[0; 60]).is_none())
                .collect::<Vec<_>>()
        };
        let count = |losses: Vec<bool>| losses.into_iter().filter(|lost| *lost).count();
        assert_eq!(count(losses(0, 1)), 0);
        assert_eq!(count(losses(1_000_000, 1)), 100_000);
        let tenth = count(losses(100_000, 1)); // 10,000, standard deviation 95
        assert!((9_600..10_400).contains(&tenth), "{tenth}");
        assert_eq!(losses(100_000, 1), losses(100_000, 1));
        assert_ne!(losses(100_000, 1), losses(100_000, 2));
    }

    #[test]
    fn a_queue_has_an_end() {
        let mut wire = wire(0, 0, 1);
        let carried = (0..10_000)
            .filter(|_| wire.carry(0, &[0; 1514]).is_some())
            .count() as u64;
        assert_eq!(carried, BACKLOG_NS / 123_040 + 1);
        assert!(wire.carry(50_000_000, &[0; 60]).is_some());
    }
}
