// SPDX-License-Identifier: GPL-2.0-or-later
//! When the processor halted, and when it went on.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pairs of halted and awake again, in ns of virtual time; None: not recorded.
static HALTS: Mutex<Option<Vec<[u64; 2]>>> = Mutex::new(None);

fn halts() -> MutexGuard<'static, Option<Vec<[u64; 2]>>> {
    HALTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The last one, recorded or not.
static LAST: Mutex<[u64; 2]> = Mutex::new([0; 2]);

/// Since when the processor has executed nothing, if it does so at `now_ns`; otherwise `now_ns`.
pub fn idle_since(now_ns: u64) -> u64 {
    let [from_ns, to_ns] = *LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if to_ns == now_ns { from_ns } else { now_ns }
}

/// Starts to record or stops, and returns what was recorded.
pub fn record(on: bool) -> Vec<[u64; 2]> {
    let mut recorded = halts();
    let new = on.then(Vec::new);
    std::mem::replace(&mut *recorded, new).unwrap_or_default()
}

/// The processor was halted from one instant to the other.
pub fn note(from_ns: u64, to_ns: u64) {
    if from_ns < to_ns {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let begun_ns = if last[1] == from_ns { last[0] } else { from_ns };
        *last = [begun_ns, to_ns];
    }
    let mut recorded = halts();
    let Some(all) = recorded.as_mut().filter(|_| from_ns < to_ns) else {
        return;
    };
    match all.last_mut() {
        // Idle time may be skipped in several steps.
        Some(last) if last[1] == from_ns => last[1] = to_ns,
        _ => all.push([from_ns, to_ns]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_joined_and_nothing_is_recorded_unasked() {
        note(1, 2);
        assert!(record(true).is_empty());
        for (from_ns, to_ns) in [(10, 20), (20, 30), (30, 30), (40, 50)] {
            note(from_ns, to_ns);
        }
        assert_eq!(record(false), [[10, 30], [40, 50]]);
        note(60, 70);
        assert!(record(false).is_empty());
        // Recorded or not, the last one is known.
        note(70, 90);
        assert_eq!((idle_since(90), idle_since(91)), (60, 91));
    }
}
