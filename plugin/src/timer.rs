// SPDX-License-Identifier: GPL-2.0-or-later
//! Timers on QEMU's virtual clock.

use std::ffi::c_void;
use std::sync::Mutex;

use super::api::{Callback, api};
use super::layout::CLOCK_VIRTUAL;
use super::memory::opaque;

/// A timer; it lives as long as QEMU.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Timer(*mut c_void);

// SAFETY: a handle that is used only while QEMU's global lock is held.
unsafe impl Send for Timer {}

/// Timers that are to be armed or disarmed when [`defer_timers`] ends.
struct Deferred {
    depth: u32,
    arms: Vec<(Timer, Option<u64>)>,
}

static DEFERRED: Mutex<Deferred> = Mutex::new(Deferred {
    depth: 0,
    arms: Vec::new(),
});

impl Timer {
    /// A new timer, not armed. `callback` is called with `token`.
    pub fn new(callback: Callback, token: *mut c_void) -> Timer {
        let timer = opaque();
        // SAFETY: a QEMUTimer fits into the buffer. A null list group is the main loop's; scale 1 is ns.
        unsafe {
            (api().timer_init_full)(
                timer,
                std::ptr::null_mut(),
                CLOCK_VIRTUAL,
                1,
                0,
                callback,
                token,
            );
        }
        Timer(timer)
    }

    /// A timer for tests, which is not to be armed.
    #[cfg(test)]
    pub fn none() -> Timer {
        Timer(std::ptr::null_mut())
    }

    /// Where its `QEMUTimer` is.
    pub fn address(self) -> usize {
        self.0 as usize
    }

    /// Arms the timer at `at_ns`, or disarms it. Inside [`defer_timers`] that happens when it ends.
    pub fn arm(self, at_ns: Option<u64>) {
        let mut deferred = DEFERRED.lock().unwrap_or_else(|e| e.into_inner());
        if deferred.depth > 0 {
            deferred.arms.retain(|(other, _)| *other != self);
            deferred.arms.push((self, at_ns));
        } else {
            self.arm_now(at_ns);
        }
    }

    fn arm_now(self, at_ns: Option<u64>) {
        // SAFETY: the timer was initialised by `new`.
        unsafe {
            match at_ns {
                Some(at_ns) => (api().timer_mod_ns)(self.0, at_ns.min(i64::MAX as u64) as i64),
                None => (api().timer_del)(self.0),
            }
        }
    }
}

/// Does `work`, and arms the timers that it arms only when it is done, the earliest first.
///
/// When a timer is armed while the guest idles, QEMU skips idle time at once, up to the earliest timer that is armed by then. So no
/// timer may be armed before everything that happens at this instant is done.
pub fn defer_timers<T>(work: impl FnOnce() -> T) -> T {
    let change_depth = |change: i32| {
        let mut deferred = DEFERRED.lock().unwrap_or_else(|e| e.into_inner());
        deferred.depth = deferred.depth.saturating_add_signed(change);
        if deferred.depth > 0 {
            Vec::new()
        } else {
            std::mem::take(&mut deferred.arms)
        }
    };
    change_depth(1);
    let value = work();
    let mut arms = change_depth(-1);
    arms.sort_by_key(|(_, at_ns)| *at_ns); // None is first: timers are disarmed before others are armed
    for (timer, at_ns) in arms {
        timer.arm_now(at_ns);
    }
    value
}
