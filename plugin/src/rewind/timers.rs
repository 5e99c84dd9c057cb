// SPDX-License-Identifier: GPL-2.0-or-later
//! The timers that are armed on QEMU's virtual clock, and their order: of those due at the same instant, the first armed comes first.

use std::ffi::c_void;

use crate::api::api;
use crate::layout::{CLOCK_VIRTUAL, QemuTimer};
use crate::memory::read;
use crate::timer::Timer;

/// A `QEMUTimerList` is searched so far for the pointer to its first timer.
const LIST_WORDS: usize = 32;
/// More timers than any machine has.
const MANY: usize = 10_000;

/// The armed timers, while the machine is paused.
pub struct Timers {
    /// Where the list has the pointer to its first timer.
    first: usize,
}

/// A timer that is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Armed {
    /// The timer.
    pub timer: usize,
    callback: usize,
    due_ns: i64,
}

impl Timers {
    /// Finds the list, which has `ours` in it.
    pub fn find(ours: Timer) -> Result<Self, String> {
        let list = api().main_loop_tlg as usize + CLOCK_VIRTUAL as usize * size_of::<usize>();
        let list = read::<usize>(list).unwrap_or_default();
        let is_ours = |armed: &Armed| armed.timer == ours.address();
        (0..LIST_WORDS)
            .map(|word| list + word * size_of::<usize>())
            .find(|&first| chain(first, list).is_some_and(|all| all.iter().any(is_ours)))
            .map(|first| Self { first })
            .ok_or_else(|| "QEMU's timers are not laid out as in the tested releases".into())
    }

    /// All that are armed, in their order.
    pub fn armed(&self) -> Vec<Armed> {
        let list = read::<usize>(self.first)
            .and_then(read::<QemuTimer>)
            .map_or(0, |timer| timer.timer_list);
        chain(self.first, list).unwrap_or_default()
    }

    /// Disarms all that are `chosen`.
    pub fn disarm(&self, chosen: impl Fn(&Armed) -> bool) {
        for armed in self.armed().iter().filter(|armed| chosen(armed)) {
            // SAFETY: it is in QEMU's list of armed timers.
            unsafe { (api().timer_del)(armed.timer as *mut c_void) };
        }
    }

    /// Arms timers that exist, in this order.
    pub fn arm(&self, wanted: &[Armed]) {
        for armed in wanted {
            // SAFETY: the caller's promise: it is a timer of a device's, or ours.
            unsafe { (api().timer_mod_ns)(armed.timer as *mut c_void, armed.due_ns) };
        }
    }
}

/// Whether the same is due at the same times, in the same order. A device may have made a timer anew, so that it lies elsewhere.
pub fn same(now: &[Armed], then: &[Armed]) -> bool {
    let equal = |(a, b): (&Armed, &Armed)| (a.due_ns, a.callback) == (b.due_ns, b.callback);
    now.len() == then.len() && now.iter().zip(then).all(equal)
}

/// The timers from the one that `first` points to, if they are all of `list`.
fn chain(first: usize, list: usize) -> Option<Vec<Armed>> {
    let mut all = Vec::new();
    let mut at = read::<usize>(first)?;
    while at != 0 {
        let timer = read::<QemuTimer>(at)?;
        if timer.timer_list != list || all.len() == MANY {
            return None;
        }
        all.push(Armed {
            timer: at,
            callback: timer.callback,
            due_ns: timer.expire_time,
        });
        at = timer.next;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn armed(timer: usize, callback: usize, due_ns: i64) -> Armed {
        Armed {
            timer,
            callback,
            due_ns,
        }
    }

    #[test]
    fn timers_are_the_same_if_each_is_due_in_its_place() {
        let then = [armed(1, 7, 100), armed(2, 8, 100), armed(3, 8, 200)];
        assert!(same(&then, &then));
        let anew = [armed(1, 7, 100), armed(2, 8, 100), armed(4, 8, 200)];
        assert!(same(&anew, &then));
        for different in [
            &then[..2],
            &[armed(1, 7, 100), armed(2, 8, 100), armed(3, 8, 201)],
            &[armed(1, 7, 100), armed(2, 8, 100), armed(3, 9, 200)],
            &[armed(2, 8, 100), armed(1, 7, 100), armed(3, 8, 200)],
        ] {
            assert!(!same(different, &then));
        }
    }
}
