// SPDX-License-Identifier: GPL-2.0-or-later
//! What the host did to us: whether the threads had their processors all the time.

use serde_json::{Value, json};

/// A thread that spins and did not look at the clock for so long did not run, or waited in the kernel: a stall.
pub const STALL_NS: u64 = 1_000_000;

/// Distances between two looks at the clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps {
    last_ns: u64,
    /// The longest, in ns.
    pub longest_ns: u64,
    /// How many were longer than [`STALL_NS`].
    pub stalls: u64,
    /// Their sum, in ns.
    pub stalled_ns: u64,
}

impl Gaps {
    /// From `now_ns` on.
    pub fn begin(now_ns: u64) -> Self {
        Gaps {
            last_ns: now_ns,
            ..Self::default()
        }
    }

    /// The thread looks at the clock.
    pub fn look(&mut self, now_ns: u64) {
        let gap_ns = now_ns.saturating_sub(self.last_ns);
        self.last_ns = now_ns;
        self.longest_ns = self.longest_ns.max(gap_ns);
        if gap_ns > STALL_NS {
            self.stalls += 1;
            self.stalled_ns += gap_ns;
        }
    }

    /// The thread sleeps on purpose until now.
    pub fn slept(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
    }
}

/// What the kernel counts for the present thread, and for its processor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    switches: i64,
    waited_ns: u64,
    steal_ticks: u64,
}

impl Account {
    /// The present thread, on this processor.
    pub fn now(cpu: Option<usize>) -> Self {
        // SAFETY: getrusage fills the structure.
        let switches = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage.ru_nivcsw
        };
        let waited = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let waited_ns = waited.split_whitespace().nth(1);
        let stat = cpu.map(|_| std::fs::read_to_string("/proc/stat").unwrap_or_default());
        Account {
            switches,
            waited_ns: waited_ns
                .and_then(|text| text.parse().ok())
                .unwrap_or_default(),
            steal_ticks: stat.zip(cpu).map_or(0, |(stat, cpu)| steal(&stat, cpu)),
        }
    }

    /// How much has happened since.
    pub fn report(&self, before: &Account, gaps: &Gaps) -> Value {
        json!({
            "involuntary_switches": self.switches - before.switches,
            "waited_for_cpu_ns": self.waited_ns.saturating_sub(before.waited_ns),
            "steal_ticks": self.steal_ticks.saturating_sub(before.steal_ticks),
            "longest_gap_ns": gaps.longest_ns,
            "stalls": gaps.stalls,
            "stalled_ns": gaps.stalled_ns,
        })
    }
}

/// The ticks that other machines of the physical host had of a processor (/proc/stat).
fn steal(stat: &str, cpu: usize) -> u64 {
    let name = format!("cpu{cpu} ");
    let line = stat.lines().find(|line| line.starts_with(&name));
    line.and_then(|line| line.split_whitespace().nth(8))
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

/// Binds the present thread to a processor.
pub fn pin(cpu: usize) -> Result<(), String> {
    // SAFETY: the set is initialised; the kernel reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        if libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) != 0 {
            let error = std::io::Error::last_os_error();
            return Err(format!(
                "processor {cpu}: {error}; --cpus takes two of those that this process may use"
            ));
        }
    }
    Ok(())
}

/// Asks the scheduler to prefer the present thread, if it may (CAP_SYS_NICE).
pub fn prefer() {
    // SAFETY: a plain system call about the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
    // Kernels that group tasks by session weigh the groups first (sched(7)); others do not have the file. The session of a shell
    // or of a test would keep the weight, so only one that this process leads is changed.
    // SAFETY: plain system calls about the calling process.
    if unsafe { libc::getsid(0) == libc::getpid() } {
        let _ = std::fs::write("/proc/self/autogroup", "-20");
    }
}

/// The processors that this process may use.
pub fn allowed() -> Vec<usize> {
    // SAFETY: the kernel fills the set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        (0..libc::CPU_SETSIZE as usize)
            .filter(|cpu| libc::CPU_ISSET(*cpu, &set))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_gaps_are_stalls() {
        let mut gaps = Gaps::begin(0);
        for at_ns in [500_000, 1_500_000, 3_000_000, 3_000_100] {
            gaps.look(at_ns);
        }
        assert_eq!(
            (gaps.stalls, gaps.stalled_ns, gaps.longest_ns),
            (1, 1_500_000, 1_500_000)
        );
        gaps.slept(9_000_000);
        gaps.look(9_000_001);
        assert_eq!(gaps.stalls, 1);
    }

    #[test]
    fn steal_is_the_eighth_number() {
        let stat =
            "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 80 9 10\ncpu1 1 2 3 4 5 6 7 81 9 10\n";
        assert_eq!(
            (steal(stat, 0), steal(stat, 1), steal(stat, 10)),
            (80, 81, 0)
        );
    }
}
