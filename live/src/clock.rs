// SPDX-License-Identifier: GPL-2.0-or-later
//! The tester's clock on real ports: `CLOCK_MONOTONIC_RAW`, which nobody steps or slews, read without a system call.

/// Now, in ns since some instant of the past.
pub fn now_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC_RAW)
}

/// A clock, in ns.
pub fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel, or its vdso, writes to `time`.
    unsafe { libc::clock_gettime(clock, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000) + time.tv_nsec as u64
}

/// Converts another clock's times. They drift apart, so it is made anew for every batch of frames.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    offset_ns: u64,
}

impl Conversion {
    /// From `clock`, as it is now. Of three readings the fastest counts, since the thread may lose its processor in between.
    pub fn from(clock: libc::clockid_t) -> Self {
        let reading = || {
            let before_ns = now_ns();
            let other_ns = read_ns(clock);
            let took_ns = now_ns().wrapping_sub(before_ns);
            let middle_ns = before_ns.wrapping_add(took_ns / 2);
            (took_ns, middle_ns.wrapping_sub(other_ns))
        };
        let (_, offset_ns) = [reading(), reading(), reading()]
            .into_iter()
            .min()
            .unwrap_or_default();
        Conversion { offset_ns }
    }

    /// A time of the other clock as a time of ours, in ns.
    pub fn ours_ns(self, theirs_ns: u64) -> u64 {
        theirs_ns.wrapping_add(self.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_other_clocks_become_ours() {
        for clock in [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC] {
            let before_ns = now_ns();
            let conversion = Conversion::from(clock);
            let theirs_ns = read_ns(clock);
            let after_ns = now_ns();
            let converted_ns = conversion.ours_ns(theirs_ns);
            let slack_ns = after_ns - before_ns; // the thread may have lost its processor
            assert!(converted_ns + slack_ns + 1_000 >= before_ns, "{clock}");
            assert!(converted_ns <= after_ns + slack_ns + 1_000, "{clock}");
        }
    }
}
