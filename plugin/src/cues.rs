// SPDX-License-Identifier: GPL-2.0-or-later
//! Has the second event of a round happen before a chosen instruction of some code.
//!
//! An instant hits another instruction if the kernel took another way before it: an allocator that fetches a page, say. The number of an
//! instruction among those of the driver that were executed does not depend on that. So these are counted, block by block. When the
//! block with the chosen one begins, the event is set to its instant, and the processor leaves the block. QEMU then ends the next one at
//! that instant: that is how it runs timers with -icount. The block has been booked as executed, so the round takes that much longer.

use std::collections::VecDeque;
use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::api::api;
use super::translation::Translation;
use super::{clock, plugin};
use irqlab_tester::backend::{Cued, Cues, Path};
use irqlab_tester::refusal::Refusal;

/// No more different paths are kept.
const MAX_PATHS: usize = 256;
/// So many instructions make a place: what was executed longer ago does not matter.
const PLACE: usize = 64;

/// Instructions are counted.
static ACTIVE: AtomicBool = AtomicBool::new(false);
static STATE: Mutex<State> = Mutex::new(State::new());

struct State {
    cues: Cues,
    ns_per_instruction: u64,
    /// The code's blocks: their instructions' addresses.
    blocks: Vec<Vec<u64>>,
    /// When the window began, in ns; None: it is not open.
    begin_ns: Option<u64>,
    /// The round that is under way.
    round: usize,
    /// Its path.
    trail: Trail,
    /// Its path's places, if they are recorded.
    steps: Vec<(u64, u64)>,
    rounds: Vec<Cued>,
    paths: Vec<Path>,
}

/// An event that is to happen.
#[derive(Debug, PartialEq, Eq)]
struct Due {
    at_ns: u64,
    /// What would happen before this instant.
    until_ns: u64,
}

impl State {
    const fn new() -> Self {
        State {
            cues: Cues::NONE,
            ns_per_instruction: 1,
            blocks: Vec::new(),
            begin_ns: None,
            round: usize::MAX,
            trail: Trail::new(),
            steps: Vec::new(),
            rounds: Vec::new(),
            paths: Vec::new(),
        }
    }

    /// Forgets what was, and begins with these cues. Whether their code is other code, whose blocks are not known.
    ///
    /// QEMU keeps translated blocks from trial to trial. So without cues the code stays known, and is watched: another trial may
    /// translate blocks that the next one with cues executes.
    fn begin(&mut self, cues: &Cues, ns_per_instruction: u64) -> bool {
        let known = std::mem::replace(self, State::new());
        let anew = !cues.ranges.is_empty() && known.cues.ranges != cues.ranges;
        self.cues = cues.clone();
        self.ns_per_instruction = ns_per_instruction;
        self.rounds = vec![Cued::default(); cues.points.len()];
        if !anew {
            (self.blocks, self.cues.ranges) = (known.blocks, known.cues.ranges);
        }
        anew
    }

    /// Whether the code contains this address.
    fn watches(&self, address: u64) -> bool {
        let mut ranges = self.cues.ranges.iter();
        ranges.any(|(begin, end)| (*begin..*end).contains(&address))
    }

    /// A block of the code begins at `now_ns`. Some: it is to be left, and begins again.
    fn enters(&mut self, now_ns: u64, block: usize) -> Option<Due> {
        let since_ns = now_ns.checked_sub(self.begin_ns? + self.cues.first_ns)?;
        let round = (since_ns / self.cues.every_ns.max(1)) as usize;
        if round != self.round {
            self.end_round();
            self.round = round;
        }
        let here = self.rounds.get_mut(round)?;
        let into_ns = since_ns % self.cues.every_ns.max(1);
        if here.at_ns.is_some() || into_ns >= self.cues.until_ns {
            return None;
        }
        let point = self.cues.points.get(round).copied().flatten();
        let addresses = self.blocks.get(block)?;
        let length = addresses.len() as u64;
        let ahead = point
            .and_then(|point| point.checked_sub(here.executed))
            .filter(|ahead| *ahead < length);
        let until = ahead.map_or(addresses.len(), |ahead| ahead as usize + 1);
        for address in &addresses[..until] {
            self.trail.step(*address);
            if point.is_none() {
                self.steps.push((*address, self.trail.place()));
            }
        }
        (here.path, here.place) = (self.trail.path(), self.trail.place());
        let Some(ahead) = ahead else {
            here.executed += length;
            return None;
        };
        here.executed += ahead;
        here.address = addresses[ahead as usize];
        // The block is booked, and then executed up to the chosen instruction.
        here.booked_ns = length * self.ns_per_instruction;
        let at_ns = now_ns + here.booked_ns + ahead * self.ns_per_instruction;
        here.at_ns = Some(at_ns);
        Some(Due {
            at_ns,
            until_ns: now_ns - into_ns + self.cues.every_ns,
        })
    }

    /// Keeps the path of the round that has ended.
    fn end_round(&mut self) {
        let steps = std::mem::take(&mut self.steps);
        let path = std::mem::replace(&mut self.trail, Trail::new()).path();
        if steps.is_empty() {
            return;
        }
        if self.paths.len() < MAX_PATHS && self.paths.iter().all(|known| known.path != path) {
            self.paths.push(Path { path, steps });
        }
    }
}

/// The addresses of executed instructions, hashed. Hashes have 52 bits, so that every JSON reader takes them.
struct Trail {
    last: VecDeque<u64>,
    path: u64,
    place: u64,
}

impl Trail {
    /// Odd, so that no bit is lost.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    const BITS_LOST: u32 = 12;

    const fn new() -> Self {
        Trail {
            last: VecDeque::new(),
            path: 0,
            place: 0,
        }
    }

    fn step(&mut self, address: u64) {
        let mixed = address.wrapping_mul(Self::FACTOR);
        let mixed = mixed ^ mixed >> 29;
        let longer = |hash: u64| hash.wrapping_mul(Self::FACTOR).wrapping_add(mixed);
        self.path = longer(self.path);
        self.place = longer(self.place);
        self.last.push_back(mixed);
        if self.last.len() > PLACE {
            let oldest = self.last.pop_front().unwrap_or_default();
            let factor = Self::FACTOR.wrapping_pow(PLACE as u32);
            self.place = self.place.wrapping_sub(oldest.wrapping_mul(factor));
        }
    }

    /// The hash of all.
    fn path(&self) -> u64 {
        self.path >> Self::BITS_LOST
    }

    /// The hash of the last ones.
    fn place(&self) -> u64 {
        self.place >> Self::BITS_LOST
    }
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has events happen on cue in the next window. No ranges: ends that.
pub fn arm(cues: &Cues, ns_per_instruction: u64) -> Result<(), Refusal> {
    let anew = state().begin(cues, ns_per_instruction);
    ACTIVE.store(!cues.ranges.is_empty(), Ordering::Relaxed);
    if cues.ranges.is_empty() {
        return Ok(());
    }
    let needed = (api().cpu_loop_exit, api().icount_update, api().timers_state);
    let flush = api()
        .tb_flush
        .filter(|_| matches!(needed, (Some(_), Some(_), Some(_))));
    let flush = flush.ok_or_else(|| {
        Refusal::unsupported("this QEMU does not let the tester stop before an instruction")
    })?;
    if anew {
        // What was translated does not know the code.
        // SAFETY: processor 0 exists; QEMU does this when its thread leaves its block.
        unsafe { flush((api().qemu_get_cpu)(0)) };
    }
    Ok(())
}

/// The window opens or closes.
pub fn window(open: bool) {
    let mut state = state();
    let active = ACTIVE.load(Ordering::Relaxed);
    state.end_round();
    state.begin_ns = (open && active).then(clock::now_ns);
}

/// What came of the cues, and the paths of rounds without one.
pub fn found() -> (Vec<Cued>, Vec<Path>) {
    let state = state();
    (state.rounds.clone(), state.paths.clone())
}

/// Looks at a block that was translated.
pub fn watch(translation: &Translation) {
    let mut state = state();
    if state.watches(translation.start()) {
        let all = 0..translation.instructions();
        let addresses = all.map(|index| translation.at(index, |address, _| address));
        state.blocks.push(addresses.collect());
        translation.on_execution(executed, state.blocks.len() - 1);
    }
}

unsafe extern "C" fn executed(processor: c_uint, block: *mut c_void) {
    if !ACTIVE.load(Ordering::Relaxed) {
        return;
    }
    let block = block as usize;
    let mut state = state();
    if state.begin_ns.is_none() {
        return;
    }
    let length = state.blocks.get(block).map_or(0, Vec::len) as u64;
    let now_ns = clock::in_block(processor, length, state.ns_per_instruction);
    let due = now_ns.and_then(|now_ns| state.enters(now_ns, block));
    let what = state.cues.what;
    drop(state);
    if let (Some(due), Some(leave)) = (due, api().cpu_loop_exit) {
        plugin::cue(what, due.at_ns, due.until_ns);
        // SAFETY: the processor's state is complete at the beginning of a block. QEMU goes on there; no destructor is skipped.
        unsafe { leave((api().qemu_get_cpu)(processor as i32)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqlab_tester::backend::Cue;

    /// Three blocks of 10, 4 and 6 instructions of 4 ns.
    fn state(points: &[Option<u64>]) -> State {
        let block = |begin: u64, count: u64| (0..count).map(|n| begin + n).collect();
        State {
            cues: Cues {
                ranges: vec![(0, 1_000)],
                first_ns: 100,
                every_ns: 1_000,
                until_ns: 500,
                points: points.to_vec(),
                what: Cue::Stream(1),
            },
            ns_per_instruction: 4,
            blocks: vec![block(0, 10), block(100, 4), block(200, 6)],
            begin_ns: Some(0),
            rounds: vec![Cued::default(); points.len()],
            ..State::new()
        }
    }

    #[test]
    fn an_event_is_set_to_an_instruction_inside_a_block() {
        let mut state = state(&[Some(12)]);
        assert_eq!(state.enters(120, 0), None);
        let due = state.enters(160, 1);
        // 4 instructions are booked in vain, 2 more are executed.
        assert_eq!(
            due,
            Some(Due {
                at_ns: 184,
                until_ns: 1_100
            })
        );
        assert_eq!(state.enters(176, 1), None, "the block begins again");
        let [found] = state.rounds[..] else { panic!() };
        assert_eq!(
            (found.executed, found.at_ns, found.booked_ns, found.address),
            (12, Some(184), 16, 102)
        );
    }

    #[test]
    fn a_point_that_is_not_reached_moves_nothing() {
        let mut state = state(&[Some(16), Some(0)]);
        assert_eq!(state.enters(120, 0), None);
        assert_eq!(state.enters(160, 2), None);
        assert_eq!(state.enters(610, 0), None, "too late in the round");
        assert_eq!(
            (state.rounds[0].executed, state.rounds[0].at_ns),
            (16, None)
        );
        let due = state.enters(1_140, 1);
        assert_eq!(due.map(|due| due.at_ns), Some(1_156));
    }

    #[test]
    fn a_cue_has_the_hash_of_its_place_on_the_path() {
        let mut state = state(&[None, Some(11), None, None]);
        for round in 0..4 {
            let blocks: &[usize] = if round == 3 { &[0, 2] } else { &[0, 1] };
            for block in blocks {
                let _ = state.enters(120 + 1_000 * round, *block);
            }
        }
        state.end_round();
        let [one, other] = &state.paths[..] else {
            panic!("two paths: one is taken twice")
        };
        assert_eq!((one.steps.len(), other.steps.len()), (14, 16));
        assert_eq!(one.path, state.rounds[0].path);
        assert_eq!(state.rounds[0].path, state.rounds[2].path);
        assert_eq!(one.steps[11], (101, state.rounds[1].place));
        assert_ne!(one.steps[10].1, other.steps[10].1);
    }

    #[test]
    fn code_is_watched_in_trials_without_cues_too() {
        let mut armed = state(&[Some(12)]);
        let (cues, blocks) = (armed.cues.clone(), armed.blocks.clone());
        assert!(!armed.begin(&Cues::NONE, 4));
        assert!(armed.watches(999) && !armed.watches(1_000));
        assert!(armed.rounds.is_empty() && armed.begin_ns.is_none());
        assert!(!armed.begin(&cues, 4), "the code is known");
        assert_eq!((&armed.blocks, armed.rounds.len()), (&blocks, 1));
        let other = Cues {
            ranges: vec![(2_000, 3_000)],
            ..cues
        };
        assert!(armed.begin(&other, 4));
        assert!(armed.blocks.is_empty() && armed.watches(2_000) && !armed.watches(0));
    }

    #[test]
    fn a_place_forgets_what_was_long_ago() {
        let trail = |first: u64, then: usize| {
            let mut trail = Trail::new();
            trail.step(first);
            (0..then as u64).for_each(|address| trail.step(address));
            trail
        };
        assert_ne!(trail(1, PLACE - 1).place(), trail(2, PLACE - 1).place());
        assert_eq!(trail(1, PLACE).place(), trail(2, PLACE).place());
        assert_ne!(trail(1, PLACE).path(), trail(2, PLACE).path());
    }
}
