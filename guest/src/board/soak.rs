// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU soakers of a real device: one on each processor. Their progress, compared with their progress without load, measures the CPU
//! time that nobody else used.

use crate::Ending;
use crate::counters::Counters;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::hint::black_box;
use std::io;
use std::path::PathBuf;

/// What the soakers are told.
#[derive(clap::Args)]
pub struct Options {
    /// The file to count in; "irqlab-board counters" prints it
    #[arg(long, default_value = "/run/soak")]
    file: PathBuf,
    /// Compete with other processes, as threads of normal priority
    #[arg(long)]
    normal: bool,
}

/// Steps of a turn, the unit of counting: about a microsecond.
const TURN: u32 = 1000;

/// Runs until it is killed. The counters are named after the processors: `cpu0`, `cpu1`, ...
pub fn run(options: &Options) -> Ending {
    let allowed = sched_getaffinity(Pid::from_raw(0)).map_err(|error| error.to_string())?;
    let cpus: Vec<usize> = (0..CpuSet::count())
        .filter(|cpu| allowed.is_set(*cpu).unwrap_or(false))
        .collect();
    let names: Vec<&'static str> = cpus
        .iter()
        .map(|cpu| &*format!("cpu{cpu}").leak())
        .collect();
    let counters = Counters::create(&options.file, names.leak())
        .map_err(|error| format!("{}: {error}", options.file.display()))?;
    let counters = &counters;
    std::thread::scope(|scope| {
        let soakers: Vec<_> = cpus
            .iter()
            .enumerate()
            .map(|(index, cpu)| scope.spawn(move || soak(counters, index, *cpu, options.normal)))
            .collect();
        soakers
            .into_iter()
            .try_for_each(|soaker| soaker.join().unwrap_or(Ok(())))
    })
}

/// Gives this thread idle priority. It is the kernel's own call, since musl's function of that name only fails.
fn become_idle() -> bool {
    let priority: libc::c_int = 0;
    // SAFETY: `priority` is a valid struct sched_param; 0 is this thread.
    unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_IDLE,
            &raw const priority,
        ) == 0
    }
}

/// Counts turns on a processor for ever, unless that is refused.
fn soak(counters: &Counters, index: usize, cpu: usize, normal: bool) -> Ending {
    let mut only = CpuSet::new();
    only.set(cpu)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &only))
        .map_err(|error| format!("processor {cpu}: {error}"))?;
    if !normal && !become_idle() {
        let error = io::Error::last_os_error();
        return Err(format!("cannot become SCHED_IDLE: {error}"));
    }
    loop {
        for step in 0..TURN {
            black_box(step);
        }
        counters.add(index, 1);
    }
}
