// SPDX-License-Identifier: GPL-2.0-or-later
//! Skips idle time in the virtual processor's own thread.
//!
//! QEMU leaves this to its main loop: a processor that halts wakes the main loop, which advances the clock to the next timer
//! (`icount_start_warp_timer`) and wakes the processor's thread, which runs the timer. The processor's thread can do the same by
//! itself, with the same functions in the same order, until a timer raises an interrupt. That saves two thread switches a timer.

use std::ffi::c_int;

use super::api::api;
use super::layout::CLOCK_VIRTUAL;
use super::main_loop;

/// All but `QEMU_TIMER_ATTR_EXTERNAL` of include/qemu/timer.h, as in `icount_start_warp_timer`.
pub const NOT_EXTERNAL: c_int = !1;

/// Skips idle time up to the next timer and runs that, unless the processor has something to do, or the main loop has.
///
/// `stay_busy` queues more work for the processor. It is called before the timer runs, because a processor with queued work is not
/// idle: while it idles, QEMU skips idle time whenever a timer is armed (`timerlist_rearm`), at once, up to the earliest timer that
/// is armed by then. A NIC that moderates its interrupts arms a timer while it receives a frame. Time would jump to that timer, past
/// the next frame's, which is not armed yet, and the interrupt would come late.
///
/// # Safety
/// Only in work queued for the processor: in its thread, with the global lock held, after its instructions were booked.
pub unsafe fn skip(stay_busy: impl FnOnce()) {
    let api = api();
    main_loop::put_to_sleep();
    // SAFETY: the functions want the global lock only; the caller holds it.
    unsafe {
        if !(api.all_cpu_threads_idle)() {
            return;
        }
        let deadline_ns = (api.qemu_clock_deadline_ns_all)(CLOCK_VIRTUAL, NOT_EXTERNAL);
        if main_loop::has_calls() || deadline_ns < 0 {
            main_loop::wake();
            return;
        }
        (api.icount_start_warp_timer)();
        stay_busy();
        (api.qemu_clock_run_timers)(CLOCK_VIRTUAL);
    }
}
