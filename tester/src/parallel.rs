// SPDX-License-Identifier: GPL-2.0-or-later
//! Several processors that run at the same virtual time, although one thread executes them one after the other.
//!
//! Each processor has a time of its own, up to which it has executed. In a round every processor that is not halted is given turns until
//! it has reached the round's end, a quantum after its beginning; one that is alone needs no rounds. The clock, by which timers run, is
//! the time of the processor that is furthest behind. A turn ends at the next timer at the latest, so that no processor passes a timer
//! before all have reached it. This is conservative synchronisation in quanta, as in the Wisconsin Wind Tunnel (Reinhardt et al., 1993).
//!
//! What one processor does to another one is seen up to a quantum early or late. A halted one begins exactly when it is called. A
//! processor whose turn was cut short goes on before another one begins, so that it does not matter who cuts turns short.

/// A processor.
#[derive(Clone, Debug)]
struct Processor {
    /// Up to when it has executed or was halted, in ns.
    local_ns: u64,
    halted: bool,
    /// When it was called while it was halted, in ns.
    called_ns: Option<u64>,
    /// It is stopped until then at the latest, in ns.
    stopped_ns: Option<u64>,
    /// How long it has executed and was halted, in ns: together as much as `local_ns` has grown.
    busy_ns: u64,
    idle_ns: u64,
}

impl Processor {
    fn runs(&self) -> bool {
        !self.halted && self.stopped_ns.is_none()
    }
}

/// A turn of a processor: it executes from its own time on, until then at the latest, in ns. None: no timer is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Turn {
    pub processor: usize,
    pub from_ns: u64,
    pub until_ns: Option<u64>,
}

/// How long a processor executed, and was halted or stopped, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Spent {
    pub busy_ns: u64,
    pub idle_ns: u64,
}

/// The processors of a machine.
#[derive(Clone, Debug)]
pub struct Processors {
    all: Vec<Processor>,
    quantum_ns: u64,
    /// When the round began, in ns.
    round_ns: u64,
    /// The clock, in ns.
    now_ns: u64,
    /// The turn that a processor has, until its end or the processor's halt.
    turn: Option<Turn>,
}

impl Processors {
    /// So many processors, all halted at `now_ns`, and rounds of `quantum_ns`.
    pub fn new(count: usize, quantum_ns: u64, now_ns: u64) -> Self {
        let halted = Processor {
            local_ns: now_ns,
            halted: true,
            called_ns: None,
            stopped_ns: None,
            busy_ns: 0,
            idle_ns: 0,
        };
        Processors {
            all: vec![halted; count],
            quantum_ns: quantum_ns.max(1),
            round_ns: now_ns,
            now_ns,
            turn: None,
        }
    }

    /// All are halted at `now_ns`, as at the beginning.
    pub fn reset(&mut self, now_ns: u64) {
        *self = Self::new(self.all.len(), self.quantum_ns, now_ns);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Whether a processor is halted, as far as is known here.
    pub fn is_halted(&self, processor: usize) -> bool {
        self.all[processor].halted
    }

    /// Somebody calls a processor at `at_ns`: an interrupt, which may end its halt. Returns whether the one that executes is to end its
    /// turn, since the called one has to be looked at (`wakes`, `sleeps`).
    pub fn call(&mut self, processor: usize, at_ns: u64) -> bool {
        let one = &mut self.all[processor];
        if one.halted {
            one.called_ns.get_or_insert(at_ns);
        }
        one.halted
    }

    /// A halted processor has something to do since it was called, or since `at_ns` if nobody has seen it.
    pub fn wakes(&mut self, processor: usize, at_ns: u64) {
        let one = &mut self.all[processor];
        if one.halted {
            let from_ns = one.local_ns.max(one.called_ns.take().unwrap_or(at_ns));
            one.idle_ns += from_ns - one.local_ns;
            one.local_ns = from_ns;
            one.halted = false;
        }
    }

    /// A halted processor has nothing to do, even if it was called.
    pub fn sleeps(&mut self, processor: usize) {
        self.all[processor].called_ns = None;
    }

    /// A processor stops for so long, as if something below the kernel needed it, but at the latest until all others have nothing to do.
    pub fn stop(&mut self, processor: usize, for_ns: u64) {
        let one = &mut self.all[processor];
        if !one.halted {
            one.stopped_ns = Some(one.local_ns + for_ns);
            self.turn = None;
        }
    }

    /// Those that were stopped long enough go on.
    fn go_on(&mut self, now_ns: u64) {
        let others = self.furthest_behind().is_some();
        for one in &mut self.all {
            if one
                .stopped_ns
                .is_some_and(|until_ns| now_ns >= until_ns || !others)
            {
                let from_ns = one.local_ns.max(now_ns);
                one.idle_ns += from_ns - one.local_ns;
                one.local_ns = from_ns;
                one.stopped_ns = None;
            }
        }
    }

    /// The clock at which timers are to run now, in ns. `now_ns`: where the clock stands; if all are halted it has its own way. If all
    /// have reached the end of the round, the next one begins.
    pub fn begin(&mut self, now_ns: u64) -> u64 {
        self.go_on(self.furthest_behind().unwrap_or(now_ns));
        self.now_ns = self.furthest_behind().unwrap_or(now_ns);
        if self.now_ns >= self.round_ns + self.quantum_ns {
            self.round_ns = self.now_ns;
        }
        self.now_ns
    }

    /// The turn that is to be executed now; None: all are halted or have reached the round's end or the next timer, which is due at
    /// `timer_ns`.
    pub fn choose(&mut self, timer_ns: Option<u64>) -> Option<Turn> {
        let round_ns = self.round_ns + self.quantum_ns;
        let round_ns = (self.running().count() > 1).then_some(round_ns);
        let stopped_ns = self.all.iter().filter_map(|one| one.stopped_ns).min();
        let ends = [round_ns, timer_ns, stopped_ns];
        let until_ns = ends.into_iter().flatten().min();
        let can = |one: &usize| {
            let one = &self.all[*one];
            one.runs() && until_ns.is_none_or(|until_ns| one.local_ns < until_ns)
        };
        let current = self.turn.map(|turn| turn.processor);
        let mut all = current.into_iter().chain(0..self.all.len());
        let processor = all.find(can);
        self.turn = processor.map(|processor| Turn {
            processor,
            from_ns: self.all[processor].local_ns,
            until_ns,
        });
        self.turn
    }

    /// The turn that was chosen, if it is not over.
    pub fn turn(&self) -> Option<Turn> {
        self.turn
    }

    /// The turn was executed until `at_ns`, and the processor may be halted now. Returns the clock, in ns.
    pub fn ran(&mut self, at_ns: u64, halted: bool) -> u64 {
        let Some(turn) = self.turn else {
            return self.now_ns;
        };
        let one = &mut self.all[turn.processor];
        one.busy_ns += at_ns.saturating_sub(one.local_ns);
        one.local_ns = at_ns;
        one.halted = halted;
        if halted || turn.until_ns.is_some_and(|until_ns| at_ns >= until_ns) {
            self.turn = None;
        }
        // The last one that halts leaves the clock at its time: others may have halted later, and wait for timers before that.
        self.now_ns = self.furthest_behind().unwrap_or(at_ns).max(self.now_ns);
        self.now_ns
    }

    fn furthest_behind(&self) -> Option<u64> {
        self.running().map(|one| one.local_ns).min()
    }

    fn running(&self) -> impl Iterator<Item = &Processor> {
        self.all.iter().filter(|one| one.runs())
    }

    /// How long each processor executed and was halted until `now_ns`, since they were made.
    pub fn spent(&self, now_ns: u64) -> Vec<Spent> {
        let of = |one: &Processor| Spent {
            busy_ns: one.busy_ns,
            idle_ns: one.idle_ns
                + if one.halted {
                    now_ns.saturating_sub(one.local_ns)
                } else {
                    0
                },
        };
        self.all.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests;
