// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of the tester's own devices in QEMU's snapshots.
//!
//! It lies in RAM that no processor sees but every snapshot has, so no release's description of states is needed. It is to be written
//! when the machine stops, and read when the machine runs: after a restore that is the state that was saved.

use std::ffi::{CStr, c_char, c_void};

use super::api::{RunState, api};
use super::die::die;
use super::memory::opaque;

/// What a state begins with; its length follows.
const MAGIC: &[u8; 8] = b"irqlab\0\x01";
const HEADER_BYTES: usize = MAGIC.len() + size_of::<u32>();

/// A device's state.
pub struct SavedState {
    bytes: *mut u8,
    length: usize,
}

// SAFETY: a handle that is used only while QEMU's global lock is held.
unsafe impl Send for SavedState {}

impl SavedState {
    /// Room for so many bytes, under a name of their own.
    pub fn new(name: &CStr, length: usize) -> SavedState {
        let (region, api) = (opaque(), api());
        let name: *const c_char = name.as_ptr();
        let (no_owner, no_error) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a MemoryRegion fits into the buffer, which is never freed.
        let bytes = unsafe {
            (api.memory_region_init_ram)(region, no_owner, name, length as u64, no_error);
            (api.memory_region_get_ram_ptr)(region)
        };
        SavedState { bytes, length }
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the RAM is that large and lives as long as QEMU. Only this handle gives access to it.
        unsafe { std::slice::from_raw_parts_mut(self.bytes, self.length) }
    }

    /// Writes a state down.
    pub fn save(&mut self, state: &[u8]) {
        let (header, room) = self.bytes().split_at_mut(HEADER_BYTES);
        if state.len() > room.len() {
            die("a device's state is too large for a snapshot");
        }
        let (magic, length) = header.split_at_mut(MAGIC.len());
        magic.copy_from_slice(MAGIC);
        length.copy_from_slice(&(state.len() as u32).to_le_bytes());
        room[..state.len()].copy_from_slice(state);
    }

    /// The state that was written down; None: the machine has never stopped.
    pub fn saved(&mut self) -> Option<&[u8]> {
        let (header, room) = self.bytes().split_at(HEADER_BYTES);
        let (magic, length) = header.split_at(MAGIC.len());
        if magic != MAGIC {
            return None;
        }
        let length = u32::from_le_bytes(length.try_into().unwrap_or_default());
        Some(room.get(..length as usize).unwrap_or_default())
    }
}

/// Has `callback` called with `token` when the machine stops or begins to run.
pub fn on_run_state(callback: RunState, token: *mut c_void) {
    // SAFETY: the callback lives as long as the process.
    unsafe { (api().qemu_add_vm_change_state_handler)(callback, token) };
}
