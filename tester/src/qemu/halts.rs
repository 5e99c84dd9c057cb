// SPDX-License-Identifier: GPL-2.0-or-later
//! When the processor halted, and when it went on.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pairs of halted and awake again, in ns of virtual time; None: not recorded.
static HALTS: Mutex<Option<Vec<[u64; 2]>>> = Mutex::new(None);

fn halts() -> MutexGuard<'static, Option<Vec<[u64; 2]>>> {
    HALTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts to record or stops, and returns what was recorded.
pub fn record(on: bool) -> Vec<[u64; 2]> {
    let mut recorded = halts();
    let new = on.then(Vec::new);
    std::mem::replace(&mut *recorded, new).unwrap_or_default()
}

/// The processor was halted from one instant to the other.
pub fn note(from_ns: u64, to_ns: u64) {
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
    }
}
