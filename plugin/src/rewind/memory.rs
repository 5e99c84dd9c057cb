// SPDX-License-Identifier: GPL-2.0-or-later
//! The DUT's RAM, page by page put back to what a snapshot says.
//!
//! QEMU notes which pages were written to, as it does for a frame buffer (`DIRTY_MEMORY_VGA`); only those are compared. What differs
//! is written through an address space of its own, so that code translated from it is thrown away, and no other.

use std::ffi::{CStr, CString, c_int, c_void};

use crate::api::api;
use crate::layout::DIRTY_MEMORY_VGA;
use crate::memory::opaque;

use super::snapshot::{PAGE_BYTES, Snapshot};

/// Blocks up to this size are compared as a whole: what a NIC of ours lays down in its own goes past QEMU's notes.
const SMALL_PAGES: usize = 256;
/// Within a page, so many bytes are looked at together.
const LINE_BYTES: usize = 64;

struct Block {
    name: String,
    host: *mut u8,
    pages: usize,
    region: *mut c_void,
    space: *mut c_void,
    /// QEMU's notes can be relied on: its pages have been compared once, and nobody writes past them.
    compared: bool,
}

/// All blocks of RAM.
pub struct Memory {
    blocks: Vec<Block>,
}

// SAFETY: used while QEMU's global lock is held; blocks live as long as the machine.
unsafe impl Send for Memory {}

unsafe extern "C" fn note(block: *mut c_void, found: *mut c_void) -> c_int {
    // SAFETY: `find` hands in its vector.
    unsafe { (*found.cast::<Vec<*mut c_void>>()).push(block) };
    0
}

impl Memory {
    /// Finds the blocks, and has QEMU note from now on what is written to.
    pub fn find() -> Result<Self, String> {
        let api = api();
        let mut found: Vec<*mut c_void> = Vec::new();
        // SAFETY: called with QEMU's lock held; the strings are NUL-terminated; the buffers are larger than any version's structures.
        let blocks = unsafe {
            (api.qemu_ram_foreach_block)(note, (&raw mut found).cast());
            let describe = |block: *mut c_void| {
                let name = CStr::from_ptr((api.qemu_ram_get_idstr)(block));
                let host = (api.qemu_ram_get_host_addr)(block);
                let bytes = (api.qemu_ram_get_used_length)(block);
                let mut offset = 0;
                let region = (api.memory_region_from_host)(host, &raw mut offset);
                let name = name.to_string_lossy().into_owned();
                if region.is_null() || offset != 0 {
                    return Err(format!("QEMU's RAM {name} is in no region"));
                }
                let title = CString::new(format!("irqlab.{name}")).unwrap_or_default();
                let (alias, space) = (opaque(), opaque());
                (api.memory_region_init_alias)(
                    alias,
                    std::ptr::null_mut(),
                    title.as_ptr(),
                    region,
                    0,
                    bytes,
                );
                (api.address_space_init)(space, alias, title.as_ptr());
                (api.memory_region_set_log)(region, true, DIRTY_MEMORY_VGA);
                Ok(Block {
                    name,
                    host,
                    pages: bytes as usize / PAGE_BYTES,
                    region,
                    space,
                    compared: false,
                })
            };
            found.into_iter().map(describe).collect::<Result<_, _>>()?
        };
        Ok(Self { blocks })
    }

    /// Puts every page back that differs from the snapshot's.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let api = api();
        for block in &mut self.blocks {
            let bytes = (block.pages * PAGE_BYTES) as u64;
            // SAFETY: called with QEMU's lock held, the machine paused; the block has so many pages.
            unsafe {
                let dirty = (api.memory_region_snapshot_and_clear_dirty)(
                    block.region,
                    0,
                    bytes,
                    DIRTY_MEMORY_VGA,
                );
                for number in 0..block.pages {
                    let at = number * PAGE_BYTES;
                    let (start, length) = (at as u64, PAGE_BYTES as u64);
                    if block.compared
                        && !(api.memory_region_snapshot_get_dirty)(
                            block.region,
                            dirty,
                            start,
                            length,
                        )
                    {
                        continue;
                    }
                    let wanted = snapshot.page(&block.name, number).ok_or_else(|| {
                        format!("page {number} of {} is not in the snapshot", block.name)
                    })?;
                    let found = std::slice::from_raw_parts(block.host.add(at), PAGE_BYTES);
                    let Some((from, to)) = difference(found, wanted) else {
                        continue;
                    };
                    (api.address_space_write_rom)(
                        block.space,
                        start + from as u64,
                        0,
                        wanted[from..].as_ptr(),
                        (to - from) as u64,
                    );
                }
                libc::free(dirty);
                // What was just written is as it should be.
                libc::free((api.memory_region_snapshot_and_clear_dirty)(
                    block.region,
                    0,
                    bytes,
                    DIRTY_MEMORY_VGA,
                ));
            }
            block.compared = block.pages > SMALL_PAGES;
        }
        Ok(())
    }
}

/// The part of a page in which two differ.
fn difference(found: &[u8], wanted: &[u8]) -> Option<(usize, usize)> {
    if found == wanted {
        return None;
    }
    let pairs = || found.chunks(LINE_BYTES).zip(wanted.chunks(LINE_BYTES));
    let first = pairs().position(|(a, b)| a != b)?;
    let last = pairs().rposition(|(a, b)| a != b)?;
    Some((first * LINE_BYTES, (last + 1) * LINE_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told_by_lines() {
        let page = [7; PAGE_BYTES];
        let with = |places: &[usize]| {
            let mut other = page;
            places.iter().for_each(|at| other[*at] = 8);
            difference(&other, &page)
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[0]), Some((0, 64)));
        assert_eq!(with(&[4095]), Some((4032, 4096)));
        assert_eq!(with(&[70, 200]), Some((64, 256)));
    }
}
