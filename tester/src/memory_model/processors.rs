// SPDX-License-Identifier: GPL-2.0-or-later
//! The memory behind several processors: each has its own caches, TLBs and store buffer; the last level behind the first is shared.
//!
//! With one level behind the first (L2), that is shared; with two, L2 is each processor's own and L3 is shared. The shared level is held
//! by the processor that executes; the others have an empty one in its place meanwhile.
//!
//! Data of the kernel is kept [coherent](super::coherence). Addresses are virtual: processes have the same ones for different memory, so
//! what processes share is not.

use std::ops::{Deref, DerefMut};

use super::coherence::{Coherence, Write};
use super::counts::{Level, Stalls};
use super::hierarchy::Hierarchy;
use super::parameters::Parameters;

/// The bit that the kernel's addresses have, of those that are kept.
const KERNEL: u64 = 1 << 47;

/// The memory behind each processor; it is used as that of the one that executes.
#[derive(Clone, Debug)]
pub struct Processors {
    all: Vec<Hierarchy>,
    running: usize,
    /// None: there is one processor.
    coherence: Option<Coherence>,
}

impl Deref for Processors {
    type Target = Hierarchy;
    fn deref(&self) -> &Hierarchy {
        &self.all[self.running]
    }
}

impl DerefMut for Processors {
    fn deref_mut(&mut self) -> &mut Hierarchy {
        &mut self.all[self.running]
    }
}

impl Processors {
    /// Empty caches of so many processors. An error that names the cache if one is impossible.
    pub fn new(parameters: &Parameters, count: usize) -> Result<Self, String> {
        let one = Hierarchy::new(parameters)?;
        let shift = one.data_shift();
        Ok(Processors {
            all: vec![one; count.max(1)],
            running: 0,
            coherence: (count > 1).then(|| Coherence::new(count, shift)),
        })
    }

    /// Whether there are several.
    #[inline]
    pub fn several(&self) -> bool {
        self.coherence.is_some()
    }

    /// Who executes.
    #[inline]
    pub fn running(&self) -> usize {
        self.running
    }

    /// From now on another processor executes.
    pub fn run(&mut self, processor: usize) {
        let (low, high) = (
            self.running.min(processor),
            self.running.max(processor).min(self.all.len() - 1),
        );
        if low != high {
            let (before, after) = self.all.split_at_mut(high);
            before[low].exchange_shared(&mut after[0]);
            self.running = processor;
        }
    }

    /// The processor is about to read, or to write, some bytes of a line. Returns the stall in ps for telling the others, and by which write
    /// it had lost the line, if it had. `always`: the write is noted even if nobody has to be told.
    #[inline]
    pub fn agree(
        &mut self,
        address: u64,
        user: u32,
        store: bool,
        always: bool,
    ) -> (u64, Option<Write>) {
        let Some(coherence) = &mut self.coherence else {
            return (0, None);
        };
        if address & KERNEL == 0 {
            return (0, None);
        }
        let own = self.running;
        if !store {
            let has = self.all[own].has_data(address);
            return (0, (!has).then(|| coherence.read(own, address)).flatten());
        }
        if !always && coherence.is_alone(own, address) {
            return (0, None);
        }
        let all = &mut self.all;
        let remove = |other: usize| all[other].lose(address);
        let (lost, taken) = coherence.write(own, Write { address, user }, remove);
        let had = self.all[own].has_data(address);
        let ps = if taken && had {
            self.all[own].claim()
        } else {
            0
        };
        (ps, lost)
    }

    /// A device writes to memory, within a line.
    pub fn device_wrote(&mut self, address: u64) {
        if let Some(coherence) = &mut self.coherence {
            coherence.forget(address);
        }
        for (number, one) in self.all.iter_mut().enumerate() {
            if number != self.running {
                one.device_took(address);
            }
        }
        self.all[self.running].device_wrote(address);
    }

    /// Everything is empty from now on; the counters go on.
    pub fn clear(&mut self) {
        self.all.iter_mut().for_each(Hierarchy::clear);
        if let Some(coherence) = &mut self.coherence {
            coherence.clear();
        }
    }

    /// What all stalled for since the beginning.
    pub fn stalls(&self) -> Stalls {
        self.all.iter().map(Hierarchy::stalls).sum()
    }

    /// The counters of all caches of a name since the beginning.
    pub fn levels(&self) -> Vec<Level> {
        added(self.all.iter().map(Hierarchy::levels))
    }

    /// The counters of all TLBs of a name since the beginning.
    pub fn tlb_counts(&self) -> Vec<Level> {
        added(self.all.iter().map(Hierarchy::tlb_counts))
    }
}

fn added(all: impl Iterator<Item = Vec<Level>>) -> Vec<Level> {
    let add = |mut sum: Vec<Level>, one: Vec<Level>| {
        for (sum, one) in sum.iter_mut().zip(one) {
            sum.accesses += one.accesses;
            sum.misses += one.misses;
        }
        sum
    };
    all.reduce(add).unwrap_or_default()
}

#[cfg(test)]
mod tests;
