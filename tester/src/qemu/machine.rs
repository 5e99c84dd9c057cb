// SPDX-License-Identifier: GPL-2.0-or-later
//! The machine as a whole: its memory, its run state.

use super::api::api;

/// A little-endian 64-bit number of the guest's memory, at a physical address. Where there is no memory, whatever QEMU reads there.
pub fn word(address: u64) -> u64 {
    let api = api();
    let (no_attributes, no_result) = (0, std::ptr::null_mut());
    // SAFETY: the address space is QEMU's own, and a null result is allowed.
    unsafe {
        (api.address_space_ldq_le)(api.address_space_memory, address, no_attributes, no_result)
    }
}

/// Pauses the machine. Not to be called from a timer: QEMU waits until no timer's callback runs.
pub fn stop() {
    // SAFETY: qmp_stop ignores its Error** argument.
    unsafe { (api().qmp_stop)(std::ptr::null_mut()) }
}
