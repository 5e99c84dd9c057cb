// SPDX-License-Identifier: GPL-2.0-or-later
//! The machine as a whole: its memory, its run state.

use std::ffi::c_int;

use super::api::{RunState, api};

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
