// SPDX-License-Identifier: GPL-2.0-or-later
//! The CPU soaker: its progress is the CPU time that nobody else wanted.

use crate::Ending;
use crate::counters::Counters;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

/// What the soaker is told.
#[derive(clap::Args)]
pub struct Options {
    /// The file to count in; "irqlab-guest counters" prints it
    #[arg(long, default_value = "/run/soak")]
    file: PathBuf,
}

/// Its one counter: how often it executed 1,000 instructions.
const NAMES: &[&str] = &["kilo_instructions"];

/// Soaks until it is killed.
pub fn run(options: &Options) -> Ending {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` is valid; 0 is this process.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) } != 0 {
        return Err(format!(
            "cannot become SCHED_IDLE: {}",
            io::Error::last_os_error()
        ));
    }
    let counters = Counters::create(&options.file, NAMES)
        .map_err(|error| format!("{}: {error}", options.file.display()))?;
    soak(counters.get(0), u64::MAX);
    Ok(())
}

/// Counts `times` times; exactly 1,000 instructions each, so that the count says something about the machine and not
/// about the compiler: 1 + 2 * 498 + 3.
fn soak(counter: &AtomicU64, times: u64) {
    if times == 0 {
        return;
    }
    // SAFETY: only adds to the counter, which is valid and which nobody else changes; an aligned 8-byte store is seen
    // whole by others.
    unsafe {
        std::arch::asm!(
            "2:",
            "mov {inner:e}, 498",
            "3:",
            "dec {inner:e}",
            "jnz 3b",
            "add qword ptr [{counter}], 1",
            "dec {times}",
            "jnz 2b",
            inner = out(reg) _,
            counter = in(reg) counter.as_ptr(),
            times = inout(reg) times => _,
            options(nostack),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn counts_as_often_as_told() {
        let counter = AtomicU64::new(5);
        for (times, sum) in [(0, 5), (1, 6), (1000, 1006)] {
            soak(&counter, times);
            assert_eq!(counter.load(Ordering::Relaxed), sum);
        }
    }
}
