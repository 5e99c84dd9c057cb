// SPDX-License-Identifier: GPL-2.0-or-later
//! The CPU soaker: its progress measures the CPU time that no other process used.

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
    /// Compete with other processes, as one of normal priority
    #[arg(long)]
    normal: bool,
}

/// Its only counter: executed instructions, in thousands.
const NAMES: &[&str] = &["kilo_instructions"];

/// Runs until it is killed.
pub fn run(options: &Options) -> Ending {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` is valid; 0 is this process.
    if !options.normal && unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) } != 0
    {
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

/// Counts `times` times. Each takes exactly 1,000 instructions (1 + 2 * 498 + 3), so that the count does not depend on the
/// compiler.
fn soak(counter: &AtomicU64, times: u64) {
    if times == 0 {
        return;
    }
    // SAFETY: only adds to the counter, which is valid and has no other writer; an aligned 8-byte store is atomic for
    // readers.
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
