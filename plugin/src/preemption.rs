// SPDX-License-Identifier: GPL-2.0-or-later
//! Stops one of several virtual processors before chosen instructions of the driver, so that another one runs meanwhile.
//!
//! Processors run at the same virtual time ([`super::parallel`]). One that is stopped goes on when the others have nothing to do, or after
//! [`STOP_NS`]. All that is decided depends on executed instructions only: what the DUT does is the same in every run.

use std::collections::VecDeque;
use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::api::api;
use super::translation::Translation;
use super::{clock, parallel};
use irqlab_tester::backend::{Switched, Switches};
use irqlab_tester::refusal::Refusal;

/// The longest that a processor stops, in ns: longer than what a frame costs, so that the others get far.
const STOP_NS: u64 = 200_000;

/// There are several processors.
static SEVERAL: AtomicBool = AtomicBool::new(false);
static TURNS: Mutex<Turns> = Mutex::new(Turns::new());

struct Turns {
    switches: Switches,
    /// Blocks in which switches are wanted: their instructions' addresses.
    blocks: Vec<Vec<u64>>,
    /// Since when rounds are counted, in ns; None: the window is not open.
    begin_ns: Option<u64>,
    ns_per_instruction: u64,
    /// The round, and the instructions of the code executed in it.
    round: usize,
    executed: u64,
    /// Where processors still give way in this round.
    points: VecDeque<u64>,
    /// Instructions of the code executed in each round.
    passed: Vec<u64>,
    switched: Vec<Switched>,
}

impl Turns {
    const fn new() -> Self {
        Turns {
            switches: Switches::NONE,
            blocks: Vec::new(),
            begin_ns: None,
            ns_per_instruction: 1,
            round: usize::MAX,
            executed: 0,
            points: VecDeque::new(),
            passed: Vec::new(),
            switched: Vec::new(),
        }
    }

    /// A block of the code begins, of so many instructions. Some: the processor is to give way after that many of them.
    fn enters(&mut self, now_ns: u64, instructions: u64) -> Option<u64> {
        let into_ns = now_ns.checked_sub(self.begin_ns? + self.switches.first_ns)?;
        let round = (into_ns / self.switches.every_ns.max(1)) as usize;
        // A processor may be behind another one that has begun the next round.
        if self.round == usize::MAX || round > self.round {
            self.round = round;
            self.executed = 0;
            let points = self.switches.points.get(round);
            self.points = points.into_iter().flatten().copied().collect();
        }
        let passed = self.passed.get_mut(self.round)?;
        if let Some(point) = self.points.front().copied() {
            if point < self.executed + instructions {
                self.points.pop_front();
                return Some(point.saturating_sub(self.executed));
            }
        }
        self.executed += instructions;
        *passed = self.executed;
        None
    }
}

fn turns() -> MutexGuard<'static, Turns> {
    TURNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The machine has several processors, which execute an instruction in so many ns.
pub fn install(ns_per_instruction: u64) {
    turns().ns_per_instruction = ns_per_instruction;
    SEVERAL.store(true, Ordering::Relaxed);
}

/// Has processors give way in the next window. No ranges: ends that.
pub fn arm(switches: &Switches) -> Result<(), Refusal> {
    let mut turns = turns();
    turns.begin_ns = None;
    if switches.ranges.is_empty() {
        turns.switches = Switches::NONE;
        return Ok(());
    }
    if !SEVERAL.load(Ordering::Relaxed) {
        return Err(Refusal::unsupported("the machine has one processor"));
    }
    let anew = turns.switches.ranges != switches.ranges;
    if anew {
        turns.blocks = Vec::new();
    }
    turns.switches = switches.clone();
    turns.passed = vec![0; switches.points.len()];
    turns.switched = Vec::new();
    turns.round = usize::MAX;
    drop(turns);
    let needed = (api().cpu_loop_exit, api().icount_update, api().timers_state);
    let flush = api()
        .tb_flush
        .filter(|_| matches!(needed, (Some(_), Some(_), Some(_))));
    let flush = flush
        .ok_or_else(|| Refusal::unsupported("this QEMU does not let the tester choose who runs"))?;
    if anew {
        // What was translated does not know the code.
        // SAFETY: processor 0 exists; QEMU does this when its thread leaves its block.
        unsafe { flush((api().qemu_get_cpu)(0)) };
    }
    Ok(())
}

/// The window opens or closes.
pub fn window(open: bool) {
    let mut turns = turns();
    turns.begin_ns = (open && !turns.switches.ranges.is_empty()).then(clock::now_ns);
}

/// How many instructions of the code were executed in each round.
pub fn passed() -> Vec<u64> {
    turns().passed.clone()
}

/// Where processors gave way.
pub fn switched() -> Vec<Switched> {
    turns().switched.clone()
}

/// Looks at a block that was translated.
pub fn watch(translation: &Translation) {
    if !SEVERAL.load(Ordering::Relaxed) {
        return;
    }
    let start = translation.start();
    let mut turns = turns();
    let mut ranges = turns.switches.ranges.iter();
    if ranges.any(|(begin, end)| (*begin..*end).contains(&start)) {
        let all = 0..translation.instructions();
        let addresses = all.map(|index| translation.at(index, |address, _| address));
        turns.blocks.push(addresses.collect());
        translation.on_execution(executed, turns.blocks.len() - 1);
    }
}

unsafe extern "C" fn executed(processor: c_uint, number: *mut c_void) {
    let processor = parallel::executing(processor);
    let mut turns = turns();
    let block = number as usize;
    let instructions = turns.blocks.get(block).map_or(0, Vec::len) as u64;
    if turns.begin_ns.is_none() || !parallel::runs() {
        return;
    }
    let Some(now_ns) = clock::in_block(processor, instructions, turns.ns_per_instruction) else {
        return;
    };
    let after = turns.enters(now_ns, instructions);
    if let (Some(after), Some(leave)) = (after, api().cpu_loop_exit) {
        let switched = Switched {
            round: turns.round,
            processor: processor as usize,
            address: turns.blocks[block][after as usize],
        };
        turns.switched.push(switched);
        drop(turns);
        parallel::stop(after, STOP_NS, instructions);
        // SAFETY: the processor's state is complete at the beginning of a block. QEMU goes on there; no destructor is skipped.
        unsafe { leave((api().qemu_get_cpu)(processor as i32)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(points: &[&[u64]]) -> Turns {
        Turns {
            switches: Switches {
                ranges: vec![(0, 1)],
                first_ns: 100,
                every_ns: 1_000,
                points: points.iter().map(|points| points.to_vec()).collect(),
            },
            begin_ns: Some(0),
            passed: vec![0; points.len()],
            ..Turns::new()
        }
    }

    #[test]
    fn a_processor_gives_way_inside_a_block_once() {
        let mut turns = turns(&[&[0, 12]]);
        assert_eq!(
            turns.enters(100, 10),
            Some(0),
            "before the first instruction"
        );
        assert_eq!(turns.enters(100, 10), None, "the block begins again");
        assert_eq!(turns.enters(140, 10), Some(2));
        // The block is cut after two instructions, and goes on in another one.
        assert_eq!(turns.enters(140, 2), None);
        assert_eq!(turns.enters(148, 8), None);
        assert_eq!(turns.passed, [20]);
    }

    #[test]
    fn each_round_is_counted_anew() {
        let mut turns = turns(&[&[], &[3], &[]]);
        assert_eq!(turns.enters(99, 10), None, "before the first round");
        for now_ns in [100, 200, 1_099] {
            assert_eq!(turns.enters(now_ns, 10), None);
        }
        assert_eq!(turns.enters(1_100, 10), Some(3));
        assert_eq!(turns.enters(1_100, 3), None);
        assert_eq!(turns.enters(3_100, 10), None, "after the last round");
        assert_eq!(turns.passed, [30, 3, 0]);
    }

    #[test]
    fn a_round_does_not_begin_again_for_a_processor_that_is_behind() {
        let mut turns = turns(&[&[], &[0]]);
        assert_eq!(turns.enters(1_100, 10), Some(0));
        assert_eq!(turns.enters(1_099, 10), None);
        assert_eq!(turns.enters(1_100, 10), None, "not once more");
        assert_eq!(turns.passed, [0, 20]);
    }

    #[test]
    fn outside_the_window_nobody_gives_way() {
        let mut turns = Turns {
            begin_ns: None,
            ..turns(&[&[0]])
        };
        assert_eq!(turns.enters(100, 10), None);
        assert_eq!(turns.passed, [0]);
    }

    #[test]
    fn two_points_in_one_block_are_two_switches() {
        let mut turns = turns(&[&[4, 6]]);
        assert_eq!(turns.enters(100, 10), Some(4));
        assert_eq!(turns.enters(100, 4), None);
        assert_eq!(turns.enters(116, 6), Some(2));
        assert_eq!(turns.enters(116, 2), None);
        assert_eq!(turns.enters(124, 4), None);
        assert_eq!(turns.passed, [10]);
    }
}
