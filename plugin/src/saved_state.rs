// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of the tester's own devices in QEMU's snapshots.
//!
//! It lies in RAM that no processor sees but every snapshot has, so no release's description of states is needed. It is to be written
//! when the machine stops, and read when the machine runs: after a restore that is the state that was saved.

use std::ffi::{CStr, c_char, c_void};

use serde::Serialize;

use super::api::{RunState, api};
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

    /// Writes a state down, or says why it cannot.
    pub fn save(&mut self, state: &impl Serialize) -> Result<(), String> {
        write_down(state, self.bytes())
    }

    /// The state that was written down; None: the machine has never stopped.
    pub fn saved(&mut self) -> Option<&[u8]> {
        written_in(self.bytes())
    }
}

fn write_down(state: &impl Serialize, room: &mut [u8]) -> Result<(), String> {
    let state = serde_json::to_vec(state).map_err(|why| why.to_string())?;
    let (header, room) = room.split_at_mut(HEADER_BYTES);
    let Some(room) = room.get_mut(..state.len()) else {
        return Err(format!(
            "{} bytes, and there is room for {}",
            state.len(),
            room.len()
        ));
    };
    let (magic, length) = header.split_at_mut(MAGIC.len());
    magic.copy_from_slice(MAGIC);
    length.copy_from_slice(&(state.len() as u32).to_le_bytes());
    room.copy_from_slice(&state);
    Ok(())
}

fn written_in(room: &[u8]) -> Option<&[u8]> {
    let (header, room) = room.split_at(HEADER_BYTES);
    let (magic, length) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return None;
    }
    let length = u32::from_le_bytes(length.try_into().unwrap_or_default());
    Some(room.get(..length as usize).unwrap_or_default())
}

/// Has `callback` called with `token` when the machine stops or begins to run.
pub fn on_run_state(callback: RunState, token: *mut c_void) {
    // SAFETY: the callback lives as long as the process.
    unsafe { (api().qemu_add_vm_change_state_handler)(callback, token) };
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written_down() {
        let mut room = [0; 64];
        assert_eq!(written_in(&room), None);
        assert_eq!(write_down(&[1, 2, 3], &mut room), Ok(()));
        assert_eq!(written_in(&room), Some(&b"[1,2,3]"[..]));
        assert_eq!(write_down(&[4], &mut room), Ok(()));
        assert_eq!(written_in(&room), Some(&b"[4]"[..]));
    }

    /// JSON has no objects whose keys are lists.
    #[test]
    fn a_state_that_cannot_be_written_down_is_an_error_and_changes_nothing() {
        let mut room = [0; 64];
        assert_eq!(write_down(&[1], &mut room), Ok(()));
        let why = write_down(&HashMap::from([([0, 1], 2)]), &mut room);
        assert_eq!(why, Err("key must be a string".to_string()));
        let why = write_down(&vec![7; 40], &mut room);
        assert_eq!(why, Err("81 bytes, and there is room for 52".to_string()));
        assert_eq!(written_in(&room), Some(&b"[1]"[..]));
    }
}
