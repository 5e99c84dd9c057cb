// SPDX-License-Identifier: GPL-2.0-or-later
//! Lets QEMU's main loop sleep while the guest runs.
//!
//! QEMU wakes its main loop (it writes to an eventfd) whenever a virtual timer expires, idle time is skipped, a bottom half is
//! scheduled or a NIC flushes its queue (`qemu_clock_notify`, `aio_notify`). That is several times a frame, and each time two threads
//! compete for QEMU's global lock. The main loop has nothing to do then: a trial's devices work in the virtual processor's thread,
//! and that thread [skips idle time](super::idling) itself.
//!
//! So an event source of ours ([`sleep`]) sleeps inside the main loop, without the global lock. While the main loop dispatches a
//! source, nobody notifies it (`notify_me` is set in `aio_ctx_prepare` and reset in `aio_ctx_check`, util/async.c). After [`SLEEP`]
//! of host time, or when it is [called](call_soon), it runs once, for the monitor, signals and all else.
//!
//! The source is GLib's idle source. A bottom half does not work: GLib skips `aio_ctx_check` while one is pending.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::api::{Api, Callback, api};

/// The longest that the monitor or a signal waits, in host time.
const SLEEP: Duration = Duration::from_millis(10);
/// How often it is seen whether the processor has stopped for a debugger, in host time.
const LOOK: Duration = Duration::from_micros(50);
/// The longest that the virtual processor waits for a main loop that is awake, in host time.
const PATIENCE: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The source is not installed.
    Normal,
    /// The source is installed, and the main loop wants the global lock until it sleeps.
    Awake,
    Asleep,
}

struct State {
    phase: Phase,
    /// The main loop is to wake up.
    wanted: bool,
    calls: Vec<Callback>,
}

static STATE: Mutex<State> = Mutex::new(State {
    phase: Phase::Normal,
    wanted: false,
    calls: Vec::new(),
});
static WAKE: Condvar = Condvar::new();
static CHANGE: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Verifies that this QEMU has a global lock by a name that we know.
pub fn check(api: &Api) -> Result<(), String> {
    let new = api.bql_lock_impl.is_some() && api.bql_unlock.is_some();
    let old =
        api.qemu_mutex_lock_iothread_impl.is_some() && api.qemu_mutex_unlock_iothread.is_some();
    if new || old {
        return Ok(());
    }
    Err("this QEMU exports neither bql_lock_impl and bql_unlock nor qemu_mutex_lock_iothread_impl and \
         qemu_mutex_unlock_iothread; the tester needs a QEMU that is built like Debian's"
        .into())
}

/// Does `work` without the global lock.
///
/// # Safety
/// The calling thread holds the lock, once, at a place where QEMU may let go of it.
unsafe fn unlocked(work: impl FnOnce()) {
    let api = api();
    // SAFETY: the caller's promise; the name is NUL-terminated.
    unsafe {
        if let Some(unlock) = api.bql_unlock.or(api.qemu_mutex_unlock_iothread) {
            unlock();
        }
        work();
        if let Some(lock) = api.bql_lock_impl.or(api.qemu_mutex_lock_iothread_impl) {
            lock(c"irqlab".as_ptr(), 0);
        }
    }
}

/// Has the main loop sleep from now on, until the machine stops.
pub fn put_to_sleep() {
    let mut state = state();
    if state.phase == Phase::Normal {
        state.phase = Phase::Awake;
        // SAFETY: any thread may add a source, and the function stays.
        unsafe { (api().g_idle_add)(sleep, null_mut()) };
    }
}

/// Has the main loop run once, if it sleeps.
pub fn wake() {
    state().wanted = true;
    WAKE.notify_one();
}

/// Whether the main loop is awake and wants the global lock until it sleeps again.
pub fn is_awake() -> bool {
    state().phase == Phase::Awake
}

/// Leaves the global lock to the main loop until it sleeps again.
///
/// The virtual processor's thread lets go of the lock for moments only, and takes it back before another thread is awake. Without
/// this, the main loop would be woken again and again, in vain.
///
/// # Safety
/// Only in work queued for the processor, with more work queued: otherwise the main loop would find the processor idle.
pub unsafe fn lend_lock() {
    // SAFETY: the caller holds the lock once; QEMU itself lets go of it in queued work that is exclusive.
    unsafe {
        unlocked(|| {
            drop(CHANGE.wait_timeout_while(state(), PATIENCE, |state| state.phase == Phase::Awake));
        });
    }
}

/// Has the main loop call `callback`, before any more idle time is skipped.
///
/// Nobody may arm a timer meanwhile: QEMU skips idle time when a timer is armed.
pub fn call_soon(callback: Callback) {
    let api = api();
    state().calls.push(callback);
    // The main loop may be about to skip idle time. It runs bottom halves first.
    // SAFETY: the main loop's context exists, and the name is NUL-terminated.
    unsafe {
        (api.aio_bh_schedule_oneshot_full)(
            (api.qemu_get_aio_context)(),
            run_calls,
            null_mut(),
            c"irqlab".as_ptr(),
        );
    }
    wake();
}

/// Keeps the main loop here, mostly without the global lock, until `look` says that it may go on. Only from a [call](call_soon).
///
/// For a debugger. At a breakpoint or after a step, QEMU's processor has stopped but the machine runs until the main loop has paused it.
/// On the way there the main loop takes the stopped processor for an idle one, skips time to the next timer, and runs that.
pub fn stay(mut look: impl FnMut() -> bool) {
    let before = std::mem::replace(&mut state().phase, Phase::Asleep);
    loop {
        // SAFETY: this is the main loop, with the global lock held once.
        unsafe { run_calls(null_mut()) };
        if look() {
            break;
        }
        // SAFETY: as above; QEMU's own calls let go of the lock, too.
        unsafe {
            unlocked(|| {
                let (mut state, _) = WAKE
                    .wait_timeout_while(state(), LOOK, |state| !state.wanted)
                    .unwrap_or_else(PoisonError::into_inner);
                state.wanted = false;
            });
        }
    }
    state().phase = before;
}

/// Whether there are calls that the main loop has not made yet.
pub fn has_calls() -> bool {
    !state().calls.is_empty()
}

unsafe extern "C" fn run_calls(_: *mut c_void) {
    loop {
        let next = state().calls.pop();
        let Some(callback) = next else { return };
        // SAFETY: this is the main loop, with the global lock held.
        unsafe { callback(null_mut()) };
    }
}

/// The event source. It goes when the machine stops.
unsafe extern "C" fn sleep(_: *mut c_void) -> c_int {
    // SAFETY: the function has no preconditions.
    if !unsafe { (api().runstate_is_running)() } {
        state().phase = Phase::Normal;
        CHANGE.notify_one();
        return 0;
    }
    // SAFETY: the main loop holds the lock once while it dispatches sources, which may let go of it, as run_on_cpu() does.
    unsafe {
        unlocked(|| {
            let mut state = state();
            state.phase = Phase::Asleep;
            CHANGE.notify_one();
            let (mut state, _) = WAKE
                .wait_timeout_while(state, SLEEP, |state| !state.wanted)
                .unwrap_or_else(PoisonError::into_inner);
            state.phase = Phase::Awake;
            state.wanted = false;
        });
        run_calls(null_mut());
    }
    1
}
