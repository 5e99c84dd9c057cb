// SPDX-License-Identifier: GPL-2.0-or-later
//! Virtual time, and the instructions that it is made of.

use std::ffi::c_uint;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::api::api;
use super::layout::CLOCK_VIRTUAL;
use super::memory::read;

/// Virtual time, in ns. Exact in a timer's or a device's callback.
pub fn now_ns() -> u64 {
    // SAFETY: the function has no preconditions once QEMU's clocks exist, which is before it loads plugins.
    unsafe { (api().qemu_clock_get_ns)(CLOCK_VIRTUAL) as u64 }
}

/// Instructions that the DUT has executed since power-on. Exact in a timer's or a device's callback.
pub fn instructions() -> u64 {
    // SAFETY: as above.
    unsafe { (api().icount_get_raw)() as u64 }
}

/// How many words of `timers_state` are searched.
const TIMERS_STATE_WORDS: usize = 16;
/// How often two words must have been right.
const WITNESSES: u32 = 8;

/// Where QEMU keeps the count of instructions (`qemu_icount`) and the time spent idle (`qemu_icount_bias`): offsets in `timers_state`
/// (softmmu/timers-state.h) that have been right so far.
struct Search {
    counts: Vec<usize>,
    biases: Vec<usize>,
    witnesses: u32,
}

static SEARCH: Mutex<Option<Search>> = Mutex::new(None);
static COUNT: AtomicUsize = AtomicUsize::new(0);
static BIAS: AtomicUsize = AtomicUsize::new(0);

/// Looks for what [`in_block`] needs. Only where the clock is exact.
pub fn watch(ns_per_instruction: u64) {
    let Some(state) = api().timers_state else {
        return;
    };
    if COUNT.load(Ordering::Relaxed) != 0 {
        return;
    }
    let (now_ns, executed) = (now_ns(), instructions());
    let bias = now_ns.wrapping_sub(executed.wrapping_mul(ns_per_instruction));
    let mut guard = SEARCH.lock().unwrap_or_else(|e| e.into_inner());
    let all = || {
        (0..TIMERS_STATE_WORDS)
            .map(|word| state as usize + word * 8)
            .collect()
    };
    let search = guard.get_or_insert_with(|| Search {
        counts: all(),
        biases: all(),
        witnesses: 0,
    });
    search
        .counts
        .retain(|at| read::<u64>(*at) == Some(executed));
    search.biases.retain(|at| read::<u64>(*at) == Some(bias));
    search.witnesses += 1;
    if let (true, [count], [idle]) = (
        search.witnesses >= WITNESSES,
        &search.counts[..],
        &search.biases[..],
    ) {
        BIAS.store(*idle, Ordering::Relaxed);
        COUNT.store(*count, Ordering::Relaxed);
    }
}

/// Virtual time when a processor begins to execute a block of so many instructions, in ns. None: it cannot be known in this QEMU.
pub fn in_block(processor: c_uint, block: u64, ns_per_instruction: u64) -> Option<u64> {
    let (count, bias) = (COUNT.load(Ordering::Relaxed), BIAS.load(Ordering::Relaxed));
    let update = api().icount_update.filter(|_| count != 0)?;
    // SAFETY: `watch` has found the words, and this is the processor's own thread. QEMU counts a block's instructions when it begins.
    let (executed, idle) = unsafe {
        update((api().qemu_get_cpu)(processor as i32));
        (
            (count as *const u64).read_volatile(),
            (bias as *const u64).read_volatile(),
        )
    };
    let begun = executed.wrapping_sub(block);
    Some(begun.wrapping_mul(ns_per_instruction).wrapping_add(idle))
}

/// Verifies what the two functions mean: each instruction takes a fixed time, and idle time comes on top.
pub struct ClockCheck {
    ns_per_instruction: u64,
    last: Option<(u64, u64)>,
}

impl ClockCheck {
    /// A check for a machine whose instructions take so many ns.
    pub fn new(ns_per_instruction: u64) -> Self {
        ClockCheck {
            ns_per_instruction,
            last: None,
        }
    }

    /// Compares with the last call. `busy`: the DUT did not idle since then.
    pub fn step(&mut self, busy: bool, now_ns: u64, instructions: u64) -> Result<(), String> {
        let Some((then_ns, then)) = self.last.replace((now_ns, instructions)) else {
            return Ok(());
        };
        let (passed_ns, executed) = (now_ns.checked_sub(then_ns), instructions.checked_sub(then));
        let right = passed_ns
            .zip(executed)
            .is_some_and(|(passed_ns, executed)| {
                let busy_ns = executed.saturating_mul(self.ns_per_instruction);
                executed > 0 && (passed_ns == busy_ns || (passed_ns > busy_ns && !busy))
            });
        if right {
            return Ok(());
        }
        Err(format!(
            "this QEMU's clock went from {then_ns} to {now_ns} ns while its count of instructions went from {then} to \
             {instructions}; at {} ns an instruction that cannot be: start it with -icount and the tester with the same shift=N",
            self.ns_per_instruction
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(busy: bool, now_ns: u64, instructions: u64) -> Result<(), String> {
        let mut check = ClockCheck::new(4);
        assert_eq!(
            check.step(busy, 1_000, 100),
            Ok(()),
            "nothing to compare with"
        );
        check.step(busy, now_ns, instructions)
    }

    #[test]
    fn a_busy_guest_takes_exactly_the_time_of_its_instructions() {
        assert_eq!(check(true, 1_040, 110), Ok(()));
        for (now_ns, instructions) in [
            (1_041, 110),
            (1_039, 110),
            (1_000, 100),
            (960, 90),
            (1_040, 90),
        ] {
            assert!(check(true, now_ns, instructions).is_err());
        }
    }

    #[test]
    fn idle_time_comes_on_top() {
        assert_eq!(check(false, 1_040, 110), Ok(()));
        assert_eq!(check(false, 9_040, 110), Ok(()));
        assert!(check(false, 1_039, 110).is_err());
        assert!(check(false, 1_040, 100).is_err(), "nothing was executed");
    }

    #[test]
    fn each_step_is_compared_with_the_one_before_it() {
        let mut check = ClockCheck::new(1);
        for (now_ns, instructions) in [(10, 10), (20, 20), (25, 25)] {
            assert_eq!(check.step(true, now_ns, instructions), Ok(()));
        }
        assert!(
            check
                .step(true, 36, 35)
                .is_err_and(|why| why.contains("from 25 to 36 ns"))
        );
    }
}
