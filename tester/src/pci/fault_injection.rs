// SPDX-License-Identifier: GPL-2.0-or-later
//! Fault injection into a PCI card, to test the host's driver: registers that read wrong or as if the card were gone, descriptors that are
//! written wrong or not at all, and interrupts without a cause. The same seed gives the same faults.
//!
//! It lies between card and host, so it is the same for all cards. Frames, and what the card reads, are left alone: a card that follows
//! wild pointers of its own destroys memory, which no driver can prevent.

use rand_core::RngCore;
use rand_pcg::Pcg64;

use crate::faults::{Damage, FaultPlan, Kind};
use crate::rng::{Purpose, below, seeded};

/// Writes of at most so many bytes are those of status, counts and the like in descriptors.
const DESCRIPTOR_BYTES: usize = 16;
/// The least time from one spurious interrupt to the next, and the longest that one lasts, in ns.
const SPURIOUS_NS: u64 = 1_000_000;
const LASTS_NS: u64 = 50_000;
/// The longest that a card seems to be gone, in ns.
const GONE_NS: u64 = 2_000_000;

/// Damages what passes between a card and its host.
#[derive(Clone, Debug)]
pub struct FaultInjector {
    rng: Pcg64,
    permille: u32,
    only: Option<Kind>,
    damage: Damage,
    /// Until when all registers read as ones, in ns.
    gone_until_ns: u64,
    /// When the next spurious interrupt begins, in ns.
    spurious_ns: u64,
    /// When the one under way ends, in ns.
    asserted_until_ns: Option<u64>,
}

impl FaultInjector {
    /// For the card at `port`, from `now_ns` on.
    pub fn new(plan: FaultPlan, port: usize, now_ns: u64) -> Self {
        FaultInjector {
            rng: seeded(plan.seed, Purpose::Damage, port, 0),
            permille: plan.permille,
            only: plan.only,
            damage: Damage::default(),
            gone_until_ns: 0,
            spurious_ns: now_ns + SPURIOUS_NS,
            asserted_until_ns: None,
        }
    }

    /// What was damaged so far.
    pub fn damage(&self) -> Damage {
        self.damage
    }

    fn strikes_at(&self, kind: Kind) -> bool {
        self.permille > 0 && self.only.is_none_or(|only| only == kind)
    }

    fn strikes(&mut self, kind: Kind) -> bool {
        self.strikes_at(kind) && below(self.rng.next_u64(), 1_000) < u64::from(self.permille)
    }

    fn pick(&mut self, count: u64) -> u64 {
        below(self.rng.next_u64(), count)
    }

    /// What the processor reads of a register of so many bytes.
    pub fn register(&mut self, now_ns: u64, correct: u32, bytes: usize) -> u32 {
        let ones = u32::MAX >> (32 - 8 * bytes.clamp(1, 4));
        if now_ns < self.gone_until_ns {
            return ones; // counted when it went
        }
        let value = if self.strikes(Kind::Registers) {
            match self.pick(8) {
                0 => {
                    // A driver may read often meanwhile.
                    self.gone_until_ns = now_ns + self.pick(GONE_NS);
                    ones
                }
                1 | 2 => ones,
                3 => 0,
                4 => self.rng.next_u32() & ones,
                _ => correct ^ 1 << self.pick(8 * bytes as u64),
            }
        } else {
            correct
        };
        self.damage.registers += u64::from(value != correct);
        value
    }

    /// What the card writes to memory; None: nothing.
    pub fn written(&mut self, correct: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = correct.to_vec();
        if bytes.is_empty() || bytes.len() > DESCRIPTOR_BYTES || !self.strikes(Kind::Descriptors) {
            return Some(bytes);
        }
        let written = match self.pick(8) {
            0 => None, // the owner does not change
            1 => {
                self.rng.fill_bytes(&mut bytes);
                Some(bytes)
            }
            2 => Some(vec![0; bytes.len()]),
            3 => Some(vec![u8::MAX; bytes.len()]),
            4 | 5 => {
                // The lowest bits of a word: a length, in most descriptors.
                let length = (self.rng.next_u32() as u16).to_le_bytes();
                for (byte, random) in bytes.iter_mut().zip(length) {
                    *byte = random;
                }
                Some(bytes)
            }
            _ => {
                for _ in 0..=self.pick(4) {
                    let at = self.pick(bytes.len() as u64) as usize;
                    bytes[at] ^= 1 << self.pick(8);
                }
                Some(bytes)
            }
        };
        self.damage.descriptors += u64::from(written.as_deref() != Some(correct));
        written
    }

    /// When [`FaultInjector::advance`] must be called, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        let next_ns = self
            .strikes_at(Kind::Interrupts)
            .then_some(self.spurious_ns);
        self.asserted_until_ns.or(next_ns)
    }

    /// Does what is due; returns whether it asserts the interrupt line.
    pub fn advance(&mut self, now_ns: u64) -> bool {
        let is_due = |due_ns: &mut u64| *due_ns <= now_ns;
        if self.asserted_until_ns.take_if(is_due).is_some() {
            return false;
        }
        if self.asserted_until_ns.is_none()
            && self.deadline_ns().is_some_and(|at_ns| at_ns <= now_ns)
        {
            let steps = 1 + self.pick(u64::from(2_000 / self.permille.max(1)).max(1));
            self.spurious_ns = now_ns + SPURIOUS_NS * steps;
            self.asserted_until_ns = Some(now_ns + 1 + self.pick(LASTS_NS));
            self.damage.interrupts += 1;
        }
        self.asserted_until_ns.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injector(permille: u32, only: Option<Kind>) -> FaultInjector {
        let plan = FaultPlan {
            seed: 1,
            permille,
            only,
            trailing_fragments: false,
        };
        FaultInjector::new(plan, 0, 0)
    }

    #[test]
    fn as_often_as_asked_and_the_same_again() {
        let run = |permille| {
            let mut faults = injector(permille, None);
            let written: Vec<_> = (0..2_000).map(|_| faults.written(&[1, 2, 3, 4])).collect();
            (written, faults.damage().descriptors)
        };
        assert_eq!(run(0).1, 0);
        assert!((150..250).contains(&run(100).1));
        assert_eq!(run(100), run(100));
        let (written, _) = run(1_000);
        for expected in [None, Some(vec![0; 4]), Some(vec![u8::MAX; 4])] {
            assert!(written.contains(&expected));
        }
    }

    #[test]
    fn frames_are_left_alone() {
        let mut faults = injector(1_000, None);
        assert!((0..100).all(|_| faults.written(&[7; 60]) == Some(vec![7; 60])));
        assert_eq!(faults.damage(), Damage::default());
    }

    #[test]
    fn a_card_that_seems_to_be_gone_stays_away_for_a_while() {
        let mut faults = injector(1_000, Some(Kind::Registers));
        while faults.gone_until_ns == 0 {
            faults.register(1, 0, 2);
        }
        let until_ns = faults.gone_until_ns;
        assert_eq!(faults.register(until_ns - 1, 0, 2), 0xffff);
        assert_eq!(faults.register(until_ns - 1, 0, 4), u32::MAX);
        assert_eq!(faults.written(&[1; 4]), Some(vec![1; 4]), "one kind alone");
    }

    #[test]
    fn a_spurious_interrupt_begins_and_ends() {
        let mut faults = injector(500, Some(Kind::Interrupts));
        assert_eq!(faults.deadline_ns(), Some(SPURIOUS_NS));
        assert!(faults.advance(SPURIOUS_NS));
        let end_ns = faults.deadline_ns().unwrap_or_default();
        assert!((SPURIOUS_NS..=SPURIOUS_NS + LASTS_NS).contains(&end_ns));
        assert!(faults.advance(end_ns - 1) && !faults.advance(end_ns));
        assert!(faults.deadline_ns() >= Some(2 * SPURIOUS_NS));
        assert_eq!(faults.damage().interrupts, 1);
    }
}
