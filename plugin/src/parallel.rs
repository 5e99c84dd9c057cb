// SPDX-License-Identifier: GPL-2.0-or-later
//! Several virtual processors at the same virtual time ([`irqlab_tester::parallel`]), in QEMU's loop that runs them in turn.
//!
//! With -icount, `rr_cpu_thread_fn` (accel/tcg/tcg-accel-ops-rr.c) runs the processors in one thread, and the clock counts the
//! instructions of all. It calls four functions, which are replaced here: their first bytes are overwritten with a jump. What QEMU's
//! own do is done here, too. Before a processor's turn the clock is set to that processor's time, by the clock's bias; after the turn it
//! is set back to the time of the processor that is furthest behind.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::api::api;
use super::die::die;
use super::layout::CLOCK_VIRTUAL;
use irqlab_tester::parallel::Processors;
use layout::{Functions, Layout};

mod layout;

/// `QEMU_TIMER_ATTR_ALL` of include/qemu/timer.h.
const ALL_TIMERS: c_int = -1;
/// What translated code counts down is a 16-bit number.
const MAX_LOW: i64 = 0xffff;
/// The longest turn, in instructions, as in QEMU's `icount_get_limit`.
const MAX_BUDGET: i64 = c_int::MAX as i64;

/// What was asked for.
struct Wanted {
    processors: usize,
    quantum_ns: u64,
    ns_per_instruction: u64,
}

/// The processors of the machine that runs.
struct Parallel {
    processors: Processors,
    /// Their objects.
    objects: Vec<usize>,
    layout: Layout,
    /// QEMU's `tcg_handle_interrupt`.
    interrupt: Interrupt,
    ns_per_instruction: i64,
    /// The object of the processor that executes, and the instructions that QEMU had counted when its turn began.
    executing: Option<(usize, i64)>,
    turns: u64,
    /// A processor that is to stop: which, when, and for how long at most, in ns.
    stop: Option<(usize, i64, u64)>,
}

type Interrupt = unsafe extern "C" fn(*mut c_void, c_int);

static WANTED: Mutex<Option<Wanted>> = Mutex::new(None);
/// No processor has this number.
const NOT_IN_ROUNDS: u32 = u32::MAX;
/// The number of the processor that executes.
static EXECUTING: AtomicU32 = AtomicU32::new(NOT_IN_ROUNDS);
static RUNNING: Mutex<Option<Parallel>> = Mutex::new(None);

fn running() -> MutexGuard<'static, Option<Parallel>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the machine's processors run in rounds of so many ns.
pub fn install(processors: u32, quantum_ns: u64, ns_per_instruction: u64) {
    *WANTED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Wanted {
        processors: processors as usize,
        quantum_ns,
        ns_per_instruction,
    });
}

/// The machine is about to run for the first time. Finds what is relied on, verifies it, and replaces QEMU's functions. To be called with
/// QEMU's global lock held, before a processor executes anything.
pub fn begin() -> Result<(), String> {
    let mut wanted = WANTED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(wanted) = wanted.take() else {
        return Ok(());
    };
    let functions = Functions::find()?;
    let all = 0..wanted.processors;
    // SAFETY: plain calls; None of them is null, which is verified.
    let objects: Vec<usize> = all
        .map(|one| unsafe { (api().qemu_get_cpu)(one as c_int) } as usize)
        .collect();
    if objects.contains(&0) {
        return Err(format!(
            "the machine has not got {} processors",
            wanted.processors
        ));
    }
    let ns_per_instruction = wanted.ns_per_instruction as i64;
    let layout = Layout::find(objects[0], &functions, ns_per_instruction)?;
    let now_ns = layout.now_ns(ns_per_instruction);
    *running() = Some(Parallel {
        processors: Processors::new(objects.len(), wanted.quantum_ns, now_ns as u64),
        objects,
        layout,
        interrupt: functions.interrupt(),
        ns_per_instruction,
        executing: None,
        turns: 0,
        stop: None,
    });
    functions.replace([
        handle_deadline as *const () as usize,
        can_run as *const () as usize,
        prepare_for_run as *const () as usize,
        process_data as *const () as usize,
        handle_interrupt as *const () as usize,
    ])
}

/// Whether processors run in rounds.
pub fn runs() -> bool {
    EXECUTING.load(Ordering::Relaxed) != NOT_IN_ROUNDS
}

/// The processor that executes. `told`: what a callback was told, which from QEMU 9.1 on may be the one that was executing when the block was
/// translated: without CF_PARALLEL, `gen_cpu_index` of accel/tcg/plugin-gen.c takes its number for a constant.
#[inline]
pub fn executing(told: c_uint) -> c_uint {
    match EXECUTING.load(Ordering::Relaxed) {
        NOT_IN_ROUNDS => told,
        processor => processor,
    }
}

/// Has the processor that executes stop after so many instructions, for so long at most. It is at the beginning of a block of `undone`
/// instructions, which were booked as executed and are not: the caller leaves the block, and it begins again.
pub fn stop(after: u64, for_ns: u64, undone: u64) {
    let mut guard = running();
    let Some(parallel) = guard.as_mut() else {
        return;
    };
    if let Some((object, _)) = parallel.executing {
        let unbooked = parallel.layout.unbooked(object) - undone as i64 + after as i64;
        let at_ns = parallel.now_ns() + unbooked * parallel.ns_per_instruction;
        parallel.layout.limit(object, after as i64, undone as i64);
        parallel.stop = Some((parallel.index(object), at_ns, for_ns));
    }
}

/// The machine was put back to where it first ran.
pub fn reset() {
    if let Some(parallel) = running().as_mut() {
        let now_ns = parallel.now_ns();
        parallel.processors.reset(now_ns as u64);
        parallel.stop = None;
    }
}

/// For a self-check: rounds were wanted, and QEMU has given processors turns through the functions here.
pub fn check() -> Result<(), String> {
    match running().as_ref() {
        Some(parallel) if parallel.turns == 0 => {
            Err("this QEMU does not run its processors as the tested releases do".into())
        }
        _ => Ok(()),
    }
}

/// Instructions that each processor has executed and the time for which it was halted, in ns, since the machine first ran; empty if they
/// do not run in rounds. Exact in a timer's callback.
pub fn spent(now_ns: u64) -> Vec<[u64; 2]> {
    let guard = running();
    let Some(parallel) = guard.as_ref() else {
        return Vec::new();
    };
    let ns = parallel.ns_per_instruction as u64;
    let all = parallel.processors.spent(now_ns);
    all.iter()
        .map(|spent| [spent.busy_ns / ns, spent.idle_ns])
        .collect()
}

impl Parallel {
    fn index(&self, object: usize) -> usize {
        let found = self.objects.iter().position(|one| *one == object);
        found.unwrap_or_else(|| {
            die("QEMU runs a processor that it had not when the machine first ran")
        })
    }

    fn now_ns(&self) -> i64 {
        self.layout.now_ns(self.ns_per_instruction)
    }

    fn set_clock(&self, to_ns: i64) {
        self.layout.advance(to_ns - self.now_ns());
    }

    /// Looks which of the halted processors have been given something to do, at the latest at `at_ns`.
    fn wake(&mut self, at_ns: u64) {
        for one in 0..self.objects.len() {
            if !self.processors.is_halted(one) {
                continue;
            }
            if self.layout.is_halted(self.objects[one]) {
                self.processors.sleeps(one);
            } else {
                self.processors.wakes(one, at_ns);
            }
        }
    }

    /// When the next timer is due, in ns. None: no timer is armed.
    fn next_timer_ns(&self, now_ns: i64) -> Option<u64> {
        // SAFETY: plain call.
        let left_ns = unsafe { (api().qemu_clock_deadline_ns_all)(CLOCK_VIRTUAL, ALL_TIMERS) };
        (left_ns >= 0).then_some((now_ns + left_ns) as u64)
    }
}

/// Instead of QEMU's `icount_handle_deadline`: at the beginning of each pass over the processors, with the global lock held.
unsafe extern "C" fn handle_deadline() {
    // While the machine stands still its clock may be put back.
    // SAFETY: plain call.
    if !unsafe { (api().runstate_is_running)() } {
        return;
    }
    let mut guard = running();
    if let Some(parallel) = guard.as_mut() {
        let now_ns = parallel.now_ns();
        parallel.wake(now_ns as u64);
        let now_ns = parallel.processors.begin(now_ns as u64);
        parallel.set_clock(now_ns as i64);
    }
    drop(guard); // timers may ask how long processors executed
    let api = api();
    // SAFETY: the processors' thread, with the global lock held, as QEMU's own.
    unsafe {
        if (api.qemu_clock_deadline_ns_all)(CLOCK_VIRTUAL, ALL_TIMERS) == 0 {
            if let Some(notify) = api.qemu_clock_notify {
                notify(CLOCK_VIRTUAL);
            }
            (api.qemu_clock_run_timers)(CLOCK_VIRTUAL);
        }
    }
}

/// Instead of QEMU's `cpu_can_run`: before a turn, with the global lock held. If not, QEMU goes on to the next processor.
unsafe extern "C" fn can_run(processor: *mut c_void) -> bool {
    let mut guard = running();
    let Some(parallel) = guard.as_mut() else {
        return false;
    };
    // SAFETY: a processor of QEMU's.
    if parallel.layout.is_stopping(processor as usize)
        || unsafe { (api().cpu_is_stopped)(processor) }
    {
        return false;
    }
    let now_ns = parallel.now_ns();
    parallel.wake(now_ns as u64);
    let one = parallel.index(processor as usize);
    let timer_ns = parallel.next_timer_ns(now_ns);
    match parallel.processors.choose(timer_ns) {
        Some(turn) if turn.processor == one => {
            parallel.set_clock(turn.from_ns as i64);
            true
        }
        _ => false,
    }
}

/// Instead of QEMU's `icount_prepare_for_run`: says how many instructions the turn has.
unsafe extern "C" fn prepare_for_run(processor: *mut c_void) {
    let mut guard = running();
    let Some(parallel) = guard.as_mut() else {
        return;
    };
    let object = processor as usize;
    let ns = parallel.ns_per_instruction;
    let budget = parallel.processors.turn().map_or(0, |turn| {
        let stops = parallel.stop.filter(|(one, ..)| *one == turn.processor);
        let stops_ns = stops.map(|(_, at_ns, _)| at_ns as u64);
        let until_ns = [turn.until_ns, stops_ns].into_iter().flatten().min();
        // So many instructions take at least so long, as in QEMU's `icount_round`.
        let instructions =
            |until_ns: u64| (until_ns.saturating_sub(turn.from_ns) as i64 + ns - 1) / ns;
        until_ns.map_or(MAX_BUDGET, instructions).min(MAX_BUDGET)
    });
    parallel.executing = Some((object, parallel.layout.counted()));
    EXECUTING.store(parallel.index(object) as u32, Ordering::Relaxed);
    parallel.layout.set_budget(object, budget);
}

/// Instead of QEMU's `icount_process_data`: books what was executed in the turn.
unsafe extern "C" fn process_data(processor: *mut c_void) {
    let mut guard = running();
    let Some(parallel) = guard.as_mut() else {
        return;
    };
    let object = processor as usize;
    let unbooked_ns = parallel.layout.unbooked(object) * parallel.ns_per_instruction;
    let at_ns = parallel.now_ns() + unbooked_ns;
    // The main loop must not see the later time: others may not have reached it.
    parallel.layout.advance(-unbooked_ns);
    if let Some(update) = api().icount_update {
        // SAFETY: the processor's own thread.
        unsafe { update(processor) };
    }
    let turn = parallel.processors.turn().zip(parallel.executing.take());
    let counted = parallel.layout.counted();
    let ns = parallel.ns_per_instruction;
    parallel.layout.clear_budget(object);
    if turn.is_none_or(|(turn, (of, before))| {
        of != object || at_ns - turn.from_ns as i64 != (counted - before) * ns
    }) {
        die("in this QEMU a turn of a processor does not take the time of its instructions");
    }
    parallel.turns += 1;
    let halted = parallel.layout.is_halted(object);
    let clock_ns = parallel.processors.ran(at_ns as u64, halted);
    let one = parallel.index(object);
    let due = |(who, when_ns, _): &mut (usize, i64, u64)| *who == one && at_ns >= *when_ns;
    if let Some((_, _, for_ns)) = parallel.stop.take_if(due) {
        parallel.processors.stop(one, for_ns);
    }
    parallel.wake(at_ns as u64);
    parallel.set_clock(clock_ns as i64);
}

/// Instead of QEMU's `icount_handle_interrupt`: an interrupt for a processor, from a device, a timer or another processor.
unsafe extern "C" fn handle_interrupt(processor: *mut c_void, mask: c_int) {
    let mut guard = running();
    let Some(parallel) = guard.as_mut() else {
        return;
    };
    let executing = parallel.executing.map(|(object, _)| object);
    let unbooked = executing.map_or(0, |object| parallel.layout.unbooked(object));
    let now_ns = parallel.now_ns() + unbooked * parallel.ns_per_instruction;
    let one = parallel.index(processor as usize);
    let called = parallel.processors.call(one, now_ns as u64);
    let handle = parallel.interrupt;
    drop(guard);
    // SAFETY: objects of processors, with the global lock held, as in QEMU's own.
    unsafe {
        if let Some(object) = executing.filter(|_| called) {
            (api().cpu_exit)(object as *mut c_void);
        }
        handle(processor, mask);
    }
}
