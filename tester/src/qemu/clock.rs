// SPDX-License-Identifier: GPL-2.0-or-later
//! Virtual time, and the instructions that it is made of.

use super::api::api;
use super::layout::CLOCK_VIRTUAL;

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
