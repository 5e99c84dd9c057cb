// SPDX-License-Identifier: GPL-2.0-or-later
//! The timers that are armed on QEMU's virtual clock, and their order: of those due at the same instant, the first armed comes first.

use std::ffi::c_void;

use crate::qemu::api::api;
use crate::qemu::layout::{CLOCK_VIRTUAL, QemuTimer};
use crate::qemu::memory::read;
use crate::qemu::timer::Timer;

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

    /// Disarms all.
    pub fn clear(&self) {
        for armed in self.armed() {
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

/// What is to be done about timers that are armed `now`, where `then` are wanted.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Same,
    /// They are the same, but those due at the same instant are in another order.
    Reordered,
    /// They are others.
    Different,
}

/// Compares them. A device may have made a timer anew, which then takes the place of one that is gone.
pub fn compare(now: &[Armed], then: &[Armed]) -> Verdict {
    let has = |all: &[Armed], timer| all.iter().any(|armed| armed.timer == timer);
    let equal = |(a, b): (&Armed, &Armed)| {
        (a.due_ns, a.callback) == (b.due_ns, b.callback)
            && (a.timer == b.timer || !(has(then, a.timer) || has(now, b.timer)))
    };
    if now.len() != then.len() {
        Verdict::Different
    } else if now.iter().zip(then).all(equal) {
        Verdict::Same
    } else if now.iter().all(|armed| then.contains(armed)) {
        Verdict::Reordered
    } else {
        Verdict::Different
    }
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
        let then = [armed(1, 7, 100), armed(2, 7, 100), armed(3, 8, 200)];
        assert_eq!(compare(&then, &then), Verdict::Same);
        let anew = [armed(1, 7, 100), armed(2, 7, 100), armed(4, 8, 200)];
        assert_eq!(compare(&anew, &then), Verdict::Same);
        let reordered = [armed(2, 7, 100), armed(1, 7, 100), armed(3, 8, 200)];
        assert_eq!(compare(&reordered, &then), Verdict::Reordered);
        for different in [
            &then[..2],
            &[armed(1, 7, 100), armed(2, 7, 100), armed(3, 8, 201)],
            &[armed(1, 7, 100), armed(2, 7, 100), armed(4, 9, 200)],
            &[armed(2, 7, 100), armed(1, 7, 100), armed(4, 8, 200)],
        ] {
            assert_eq!(compare(different, &then), Verdict::Different);
        }
    }
}
