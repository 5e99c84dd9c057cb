// SPDX-License-Identifier: GPL-2.0-or-later
//! The machine as a whole: its memory, its run state.

use std::ffi::{c_int, c_void};

use super::api::{RunState, api};
use super::idling;
use super::layout::{CLOCK_VIRTUAL, REGISTER_RIP, RUN_STATE_DEBUG};
use super::main_loop;

/// A little-endian 64-bit number of the guest's memory, at a physical address. Where there is no memory, whatever QEMU reads there.
pub fn word(address: u64) -> u64 {
    let api = api();
    let (no_attributes, no_result) = (0, std::ptr::null_mut());
    // SAFETY: the address space is QEMU's own, and a null result is allowed.
    unsafe {
        (api.address_space_ldq_le)(api.address_space_memory, address, no_attributes, no_result)
    }
}

/// The guest's memory at a virtual address, as the processor sees it now; None if not all of it is mapped.
pub fn read(address: u64, bytes: usize) -> Option<Vec<u8>> {
    let api = api();
    let read = api.cpu_memory_rw_debug?;
    let mut found = vec![0; bytes];
    // SAFETY: processor 0 exists, and the buffer has room for the bytes.
    let failed = unsafe {
        read(
            (api.qemu_get_cpu)(0),
            address,
            found.as_mut_ptr().cast(),
            bytes,
            false,
        )
    };
    (failed == 0).then_some(found)
}

/// Writes to the guest's RAM at a physical address, as a device does.
pub fn write(address: u64, bytes: &[u8]) {
    let (api, no_attributes) = (api(), 0);
    // SAFETY: the address space is QEMU's own, and it copies as many bytes as there are. Outside RAM and ROM it writes nothing.
    unsafe {
        (api.address_space_write_rom)(
            api.address_space_memory,
            address,
            no_attributes,
            bytes.as_ptr(),
            bytes.len() as u64,
        );
    }
}

/// Pauses the machine. Not to be called from a timer: QEMU waits until no timer's callback runs. In the virtual processor's thread this
/// is a request: the processor stops after the instruction that it executes, then the main loop pauses the machine.
pub fn stop() {
    // SAFETY: qmp_stop ignores its Error** argument.
    unsafe { (api().qmp_stop)(std::ptr::null_mut()) }
}

/// Pauses the machine out of a timer's callback, before the processor executes anything more.
pub fn stop_now() {
    unsafe extern "C" fn stop_in_main_loop(_: *mut c_void) {
        stop();
    }
    // SAFETY: the function has no preconditions.
    if unsafe { (api().qemu_in_vcpu_thread)() } {
        stop();
        main_loop::wake();
    } else {
        main_loop::call_soon(stop_in_main_loop); // the processor idles, and no idle time is skipped before that
    }
}

/// Completes a stop that the processor has made for QEMU's GDB stub, at a breakpoint or after a step.
pub fn stop_for_debugger() {
    // SAFETY: plain call, in the main loop.
    unsafe {
        (api().vm_stop)(RUN_STATE_DEBUG);
    }
}

/// What the processor does, as seen from the main loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// It executes, or is about to.
    Runs,
    /// It waits for an interrupt, and all its instructions are booked.
    Idles,
    /// It has stopped, and the machine will be paused.
    Stopped,
}

/// What the processor does.
pub fn processor() -> Processor {
    let api = api();
    // SAFETY: processor 0 exists; the caller holds the global lock.
    unsafe {
        if (api.cpu_is_stopped)((api.qemu_get_cpu)(0)) {
            Processor::Stopped
        } else if (api.all_cpu_threads_idle)() {
            Processor::Idles
        } else {
            Processor::Runs
        }
    }
}

/// Skips idle time to the next timer and runs it, in the main loop; false: there is none. Only if the processor idles.
pub fn skip_idle_time() -> bool {
    let api = api();
    // SAFETY: the functions want the global lock only.
    unsafe {
        if (api.qemu_clock_deadline_ns_all)(CLOCK_VIRTUAL, idling::NOT_EXTERNAL) < 0 {
            return false;
        }
        (api.icount_start_warp_timer)();
        (api.qemu_clock_run_timers)(CLOCK_VIRTUAL);
    }
    true
}

/// Whether the machine runs.
pub fn is_running() -> bool {
    // SAFETY: the function has no preconditions.
    unsafe { (api().runstate_is_running)() }
}

/// The address of the instruction that the processor executes next; 0: this QEMU does not tell. Not while it executes.
pub fn pc() -> u64 {
    let api = api();
    let (Some(read), Some(new), Some(unref)) = (
        api.x86_cpu_gdb_read_register,
        api.g_byte_array_new,
        api.g_byte_array_unref,
    ) else {
        return 0;
    };
    // SAFETY: processor 0 exists; GLib's array has as many bytes as its length says.
    unsafe {
        let array = new();
        let appended = read((api.qemu_get_cpu)(0), array, REGISTER_RIP);
        let known = appended == 8 && (*array).bytes == 8;
        let address = if known {
            (*array).data.cast::<u64>().read_unaligned()
        } else {
            0
        };
        unref(array);
        address
    }
}

/// Lets the paused machine run. To be called in the main loop.
pub fn start() {
    // SAFETY: plain call, with QEMU's lock held.
    unsafe { (api().vm_start)() }
}

/// Has `callback` called before anything else is done about the machine's beginning to run, and when everything is done about its pause.
pub fn on_run_state(callback: RunState) {
    /// Handlers of lower priority are called earlier when the machine begins to run, and later when it is paused. Devices have 0 and more.
    const PRIORITY: c_int = -1_000_000;
    // SAFETY: the handler ignores its pointer.
    unsafe {
        (api().qemu_add_vm_change_state_handler_prio)(callback, std::ptr::null_mut(), PRIORITY);
    }
}
