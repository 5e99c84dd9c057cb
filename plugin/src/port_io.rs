// SPDX-License-Identifier: GPL-2.0-or-later
//! The command port: I/O ports of the guest that the tester answers for.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use super::api::api;
use super::layout::{DEVICE_LITTLE_ENDIAN, ImplementedSizes, MemoryRegionOps, ValidSizes};
use super::memory::opaque;

/// Accesses are of this many bytes, all others are ignored.
const ACCESS_BYTES: c_uint = 4;

/// What answers for the ports.
pub struct Handlers {
    /// Returns what the guest reads at an offset.
    pub read: fn(u64) -> u32,
    /// The guest writes a value at an offset.
    pub write: fn(u64, u32),
}

static HANDLERS: OnceLock<Handlers> = OnceLock::new();
/// Accesses are [`verify`]'s own, and none of the guest's.
static VERIFYING: AtomicBool = AtomicBool::new(false);
/// What QEMU passed to the callbacks meanwhile: offset, value, bytes.
static SEEN: Mutex<Vec<(u64, u64, c_uint)>> = Mutex::new(Vec::new());

/// Answers for `bytes` I/O ports from `base` on. An error if QEMU does not hand accesses over as expected.
pub fn map(base: u32, bytes: u32, handlers: Handlers) -> Result<(), String> {
    let _ = HANDLERS.set(handlers);
    let ops: &'static MemoryRegionOps = Box::leak(Box::new(MemoryRegionOps {
        read: port_read,
        write: port_write,
        read_with_attrs: std::ptr::null(),
        write_with_attrs: std::ptr::null(),
        endianness: DEVICE_LITTLE_ENDIAN,
        valid: ValidSizes {
            min: ACCESS_BYTES,
            max: ACCESS_BYTES,
            unaligned: false,
            accepts: std::ptr::null(),
        },
        implemented: ImplementedSizes {
            min: ACCESS_BYTES,
            max: ACCESS_BYTES,
            unaligned: false,
        },
        rest: [0; 8],
    }));
    let (region, api) = (opaque(), api());
    // SAFETY: a MemoryRegion fits into the buffer, which is never freed, as is `ops`; QEMU's lock is held.
    unsafe {
        (api.memory_region_init_io)(
            region,
            std::ptr::null_mut(),
            ops,
            std::ptr::null_mut(),
            c"irqlab".as_ptr(),
            u64::from(bytes),
        );
        (api.memory_region_add_subregion)((api.get_system_io)(), u64::from(base), region);
    }
    verify(base, bytes)
}

/// Writes to each port and reads it back; the handlers are not called.
fn verify(base: u32, bytes: u32) -> Result<(), String> {
    let api = api();
    VERIFYING.store(true, Ordering::Relaxed);
    let right = (0..bytes).step_by(ACCESS_BYTES as usize).all(|offset| {
        let value = 0x1122_3344 + offset;
        // SAFETY: the ports are ours, and nothing but the callbacks below happens.
        let read = unsafe {
            (api.cpu_outl)(base + offset, value);
            (api.cpu_inl)(base + offset)
        };
        let seen = std::mem::take(&mut *SEEN.lock().unwrap_or_else(|e| e.into_inner()));
        let offset = u64::from(offset);
        let written = (offset, u64::from(value), ACCESS_BYTES);
        seen == [written, (offset, 0, ACCESS_BYTES)] && read == pattern(offset)
    });
    VERIFYING.store(false, Ordering::Relaxed);
    if right {
        Ok(())
    } else {
        Err("this QEMU's I/O ports do not work like those of the tested releases".into())
    }
}

fn pattern(offset: u64) -> u32 {
    0xfeed_0000 | offset as u32
}

fn note(offset: u64, value: u64, bytes: c_uint) {
    let mut seen = SEEN.lock().unwrap_or_else(|e| e.into_inner());
    seen.push((offset, value, bytes));
}

unsafe extern "C" fn port_read(_opaque: *mut c_void, offset: u64, bytes: c_uint) -> u64 {
    if VERIFYING.load(Ordering::Relaxed) {
        note(offset, 0, bytes);
        return u64::from(pattern(offset));
    }
    HANDLERS
        .get()
        .map_or(0, |handlers| u64::from((handlers.read)(offset)))
}

unsafe extern "C" fn port_write(_opaque: *mut c_void, offset: u64, value: u64, bytes: c_uint) {
    if VERIFYING.load(Ordering::Relaxed) {
        note(offset, value, bytes);
    } else if let Some(handlers) = HANDLERS.get() {
        (handlers.write)(offset, value as u32);
    }
}
