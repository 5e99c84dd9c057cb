// SPDX-License-Identifier: GPL-2.0-or-later
//! Sees what NICs write to the DUT's RAM (DMA), for the [memory model](super::caches).
//!
//! QEMU gives each PCI device a view of memory of its own, a region that is called "bus master container" and lies below the device in the
//! object tree. A region of ours on top of it gets all accesses to RAM, of at most eight bytes each, and does what QEMU would have done.

use std::ffi::{CString, c_int, c_uint, c_void};

use super::api::api;
use super::layout::{DEVICE_LITTLE_ENDIAN, ImplementedSizes, MemoryRegionOps, ValidSizes};
use super::memory::opaque;
use super::{caches, machine};

/// RAM lies below this, and devices' registers and interrupt messages do not.
const RAM_END: u64 = 0x8000_0000;
/// QEMU hands accesses over in pieces of at most so many bytes.
const LARGEST_BYTES: c_uint = 8;
/// More than QEMU's own, which is 0.
const ON_TOP: c_int = 1;

/// Watches this many devices, which were given on QEMU's command line without an ID. An error if one of them is not a PCI device.
pub fn watch(devices: usize) -> Result<(), String> {
    let ops: &'static MemoryRegionOps = Box::leak(Box::new(MemoryRegionOps {
        read,
        write,
        read_with_attrs: std::ptr::null(),
        write_with_attrs: std::ptr::null(),
        endianness: DEVICE_LITTLE_ENDIAN,
        valid: ValidSizes {
            min: 1,
            max: LARGEST_BYTES,
            unaligned: true,
            accepts: std::ptr::null(),
        },
        implemented: ImplementedSizes {
            min: 1,
            max: LARGEST_BYTES,
            unaligned: true,
        },
        rest: [0; 8],
    }));
    let api = api();
    for device in 0..devices {
        let path = format!("/machine/peripheral-anon/device[{device}]/bus master container[0]");
        let path = CString::new(path).map_err(|why| why.to_string())?;
        // SAFETY: QEMU's lock is held; a null pointer for "ambiguous" is allowed. A MemoryRegion fits into the buffer, which is never
        // freed, as is `ops`.
        unsafe {
            let container = (api.object_resolve_path)(path.as_ptr(), std::ptr::null_mut());
            if container.is_null() {
                return Err("the memory model cannot see what this NIC writes: it is no PCI device; use hardware without \"dma\"".into());
            }
            let region = opaque();
            let (owner, name) = (std::ptr::null_mut(), c"irqlab-dma".as_ptr());
            (api.memory_region_init_io)(region, owner, ops, std::ptr::null_mut(), name, RAM_END);
            (api.memory_region_add_subregion_overlap)(container, 0, region, ON_TOP);
        }
    }
    Ok(())
}

unsafe extern "C" fn read(_opaque: *mut c_void, address: u64, bytes: c_uint) -> u64 {
    let word = machine::word(address);
    if bytes < LARGEST_BYTES {
        word & ((1 << (8 * bytes)) - 1)
    } else {
        word
    }
}

unsafe extern "C" fn write(_opaque: *mut c_void, address: u64, value: u64, bytes: c_uint) {
    caches::device_wrote(address, bytes.into());
    machine::write(
        address,
        &value.to_le_bytes()[..bytes.min(LARGEST_BYTES) as usize],
    );
}
