// SPDX-License-Identifier: GPL-2.0-or-later
//! Makes idling exact: QEMU may otherwise skip idle time from the wrong instant.
//!
//! The virtual processor's thread says that it is halted *before* it books the instructions that it has executed since the last
//! settlement (`do_hlt`, then `icount_process_data` in accel/tcg/tcg-accel-ops-rr.c). If QEMU's main loop comes by just then (every
//! timer that expires wakes it), it finds an idle machine whose clock is behind, skips to the next timer from there, and the
//! instructions come on top: the timer expires late, by some microseconds, in a moment of the host's choosing. Seen in one trial of
//! 40 on a loaded host.
//!
//! A processor with work queued is not idle. So before each HLT we queue work that does nothing: the thread takes it off when the
//! instructions are booked.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::OnceLock;

use libloading::os::unix::Library;

use crate::qemu::translation::Translation;

/// HLT (Intel SDM, volume 2A).
const HLT: u8 = 0xf4;

type Work = unsafe extern "C" fn(*mut c_void, u64);

/// hw/core/cpu.h; `run_on_cpu_data` is a union of eight bytes.
struct Api {
    get_cpu: unsafe extern "C" fn(c_int) -> *mut c_void,
    async_run_on_cpu: unsafe extern "C" fn(*mut c_void, Work, u64),
}

static API: OnceLock<Api> = OnceLock::new();

/// Finds what is needed of QEMU.
pub fn install() -> Result<(), String> {
    let this = Library::this();
    // SAFETY: the types are those of the functions of these names in QEMU 7.2 to 10.x.
    let api = unsafe {
        Api {
            get_cpu: *this
                .get(b"qemu_get_cpu\0")
                .map_err(|_| "this QEMU does not export qemu_get_cpu")?,
            async_run_on_cpu: *this
                .get(b"async_run_on_cpu\0")
                .map_err(|_| "this QEMU does not export async_run_on_cpu")?,
        }
    };
    let _ = API.set(api);
    Ok(())
}

/// Looks at a block that was translated: HLT ends the one it is in.
pub fn watch(translation: &Translation) {
    if translation.last(|_, code| code == [HLT]) {
        translation.before_last(halting);
    }
}

unsafe extern "C" fn halting(_processor: c_uint, _: *mut c_void) {
    if let Some(api) = API.get() {
        // SAFETY: processor 0 exists: it is the one that executes. Queueing takes the queue's own lock only.
        unsafe { (api.async_run_on_cpu)((api.get_cpu)(0), nothing, 0) };
    }
}

unsafe extern "C" fn nothing(_cpu: *mut c_void, _data: u64) {}
