// SPDX-License-Identifier: GPL-2.0-or-later
//! What the model counts: uses and misses of caches and TLBs, and what the processor stalled for.

use serde::Serialize;

/// The counters of one cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Level {
    /// Its name: L1I, L1D, L2, L3.
    pub name: &'static str,
    /// How often a line was used. Instructions that follow each other in one line use it once.
    pub accesses: u64,
    /// How often it was missing, and was taken in (line fills).
    pub misses: u64,
}

/// How long the processor stalled for what, in ps. A part of it may not be charged to the clock yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stalls {
    /// Lines of instructions.
    pub fetch: u64,
    /// Lines of data that were read.
    pub load: u64,
    /// Lines of data that were written; with a store buffer: that it was full.
    pub store: u64,
    /// Translating addresses.
    pub translation: u64,
    /// Reading devices' registers.
    pub register: u64,
    /// Entering interrupts and returning from them.
    pub interrupt: u64,
}

impl std::iter::Sum for Stalls {
    fn sum<I: Iterator<Item = Stalls>>(all: I) -> Stalls {
        all.fold(Stalls::default(), |sum, one| Stalls {
            fetch: sum.fetch + one.fetch,
            load: sum.load + one.load,
            store: sum.store + one.store,
            translation: sum.translation + one.translation,
            register: sum.register + one.register,
            interrupt: sum.interrupt + one.interrupt,
        })
    }
}

impl Stalls {
    /// What was added since `before`.
    fn since(self, before: Stalls) -> Stalls {
        Stalls {
            fetch: self.fetch.saturating_sub(before.fetch),
            load: self.load.saturating_sub(before.load),
            store: self.store.saturating_sub(before.store),
            translation: self.translation.saturating_sub(before.translation),
            register: self.register.saturating_sub(before.register),
            interrupt: self.interrupt.saturating_sub(before.interrupt),
        }
    }
}

fn levels_since(now: &[Level], then: &[Level]) -> Vec<Level> {
    let pairs = now.iter().zip(then);
    pairs
        .map(|(now, then)| Level {
            name: now.name,
            accesses: now.accesses.saturating_sub(then.accesses),
            misses: now.misses.saturating_sub(then.misses),
        })
        .collect()
}

/// All counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// The time that the clock was charged for stalls, in ps.
    pub stall_ps: u64,
    /// The time that the clock was charged for stalls and for instructions that take longer than the clock's own (if they are faster:
    /// negative), in ps.
    #[serde(skip)]
    pub charged_ps: i64,
    /// What the processor stalled for.
    pub stalls_ps: Stalls,
    /// Each cache's.
    pub caches: Vec<Level>,
    /// Each TLB's: uses of entries, and misses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tlbs: Vec<Level>,
}

impl Counts {
    /// What was counted since `before`.
    pub fn since(&self, before: &Counts) -> Counts {
        Counts {
            stall_ps: self.stall_ps.saturating_sub(before.stall_ps),
            charged_ps: self.charged_ps - before.charged_ps,
            stalls_ps: self.stalls_ps.since(before.stalls_ps),
            caches: levels_since(&self.caches, &before.caches),
            tlbs: levels_since(&self.tlbs, &before.tlbs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_differences() {
        let level = |accesses, misses| Level {
            name: "L1I",
            accesses,
            misses,
        };
        let counts = |stall_ps: u64, caches: Vec<Level>| Counts {
            stall_ps,
            charged_ps: -(stall_ps as i64),
            stalls_ps: Stalls {
                load: stall_ps,
                interrupt: 2 * stall_ps,
                ..Stalls::default()
            },
            tlbs: caches.clone(),
            caches,
        };
        let (before, after) = (
            counts(5, vec![level(10, 1)]),
            counts(50, vec![level(30, 4)]),
        );
        assert_eq!(after.since(&before), counts(45, vec![level(20, 3)]));
    }
}
