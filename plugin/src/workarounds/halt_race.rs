// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps QEMU from skipping idle time from the wrong instant.
//!
//! The virtual processor's thread marks itself halted *before* it books the instructions that it has executed since the clock was last
//! brought up to date (`do_hlt`, then `icount_process_data` in accel/tcg/tcg-accel-ops-rr.c). If QEMU's main loop runs in between
//! (every timer that expires wakes it), it sees an idle machine with a late clock and skips idle time from there. The instructions are
//! added afterwards, so the timer expires some microseconds late, depending on the host. Seen in one trial of 40 on a loaded host.
//!
//! A processor with queued work is not idle. So the tester queues work before each HLT. The processor's thread takes it off the
//! queue once the instructions are booked, and then [skips idle time](idling) itself.

use std::ffi::{c_uint, c_void};

use crate::api::api;
use crate::clock;
use crate::die::die;
use crate::halts;
use crate::idling;
use crate::main_loop;
use crate::translation::Translation;

/// HLT (Intel SDM, volume 2A).
const HLT: u8 = 0xf4;
/// Passed with the work, to verify that QEMU passes it on.
const TOKEN: u64 = 0x6972_716c_6162_0001;

/// Looks at a block that was translated. HLT is always the last instruction of its block.
pub fn watch(translation: &Translation) {
    if translation.last(|_, code| code == [HLT]) {
        translation.before_last(before_halt);
    }
}

unsafe extern "C" fn before_halt(_processor: c_uint, _: *mut c_void) {
    queue();
}

fn queue() {
    let api = api();
    // SAFETY: processor 0 exists: it is executing. Queueing takes no lock but the queue's own.
    unsafe { (api.async_run_on_cpu)((api.qemu_get_cpu)(0), halted, TOKEN) };
}

unsafe extern "C" fn halted(_processor: *mut c_void, token: u64) {
    if token != TOKEN {
        die("this QEMU does not queue work for its processor as the tested releases do");
    }
    // SAFETY: this is queued work; before the lock is lent, more is queued.
    unsafe {
        if !(api().runstate_is_running)() {
            // The main loop waits for the processor to stop, which it does with no more work.
        } else if main_loop::is_awake() {
            queue();
            main_loop::lend_lock();
        } else {
            let from_ns = clock::now_ns();
            idling::skip(queue);
            halts::note(from_ns, clock::now_ns());
        }
    }
}
