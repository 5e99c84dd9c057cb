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
/// Timers that are run before others may have QEMU's global lock.
const TIMERS_AT_ONCE: u32 = 1_000;

/// Skips idle time until the processor has something to do, or the main loop has.
///
/// False: the processor still idles, and this is to be called again after others had the lock.
///
/// # Safety
/// Only in work queued for the processor: in its thread, with the global lock held, after its instructions were booked.
pub unsafe fn skip() -> bool {
    let api = api();
    main_loop::put_to_sleep();
    for _ in 0..TIMERS_AT_ONCE {
        // SAFETY: the functions want the global lock only; the caller holds it.
        unsafe {
            if !(api.runstate_is_running)() || !(api.all_cpu_threads_idle)() {
                return true;
            }
            let deadline_ns = (api.qemu_clock_deadline_ns_all)(CLOCK_VIRTUAL, NOT_EXTERNAL);
            if main_loop::has_calls() || deadline_ns < 0 {
                main_loop::wake();
                return true;
            }
            (api.icount_start_warp_timer)();
            (api.qemu_clock_run_timers)(CLOCK_VIRTUAL);
        }
    }
    false
}
