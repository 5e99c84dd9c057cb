// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads QEMU's own memory at addresses that may not be mapped, and makes buffers for QEMU's structures.

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;

/// A type of which any bytes are a valid value: integers, and `repr(C)` structures of integers.
///
/// # Safety
/// Every bit pattern must be a valid value of the type. References, `bool`, enums and function pointers are not allowed.
pub unsafe trait Plain: Copy {}

// SAFETY: integers.
unsafe impl Plain for u32 {}
// SAFETY: integers.
unsafe impl Plain for u64 {}
// SAFETY: integers.
unsafe impl Plain for usize {}
// SAFETY: integers.
unsafe impl<const N: usize> Plain for [c_int; N] {}

/// Reads a value; None if any of it is not mapped.
pub fn read<T: Plain>(address: usize) -> Option<T> {
    let mut value = MaybeUninit::<T>::uninit();
    let read = copy(address, value.as_mut_ptr().cast(), size_of::<T>());
    // SAFETY: all bytes were written, and any bytes are a valid `T`.
    read.then(|| unsafe { value.assume_init() })
}

/// Reads bytes; None if any of them is not mapped.
pub fn read_bytes(address: usize, bytes: usize) -> Option<Vec<u8>> {
    let mut found = vec![0; bytes];
    copy(address, found.as_mut_ptr().cast(), bytes).then_some(found)
}

/// Whether there is this string, with its final NUL.
pub fn is_string(address: usize, text: &CStr) -> bool {
    let expected = text.to_bytes_with_nul();
    read_bytes(address, expected.len()).as_deref() == Some(expected)
}

/// Copies memory of this process; `to` must have room for the bytes. False if not all of it is mapped.
fn copy(from: usize, to: *mut c_void, bytes: usize) -> bool {
    let to = libc::iovec {
        iov_base: to,
        iov_len: bytes,
    };
    let from = libc::iovec {
        iov_base: from as *mut c_void,
        iov_len: bytes,
    };
    // SAFETY: the kernel writes to the caller's buffer only, and fails where it cannot read.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0) };
    read == bytes as isize
}

/// Larger than each of QEMU's structures that the tester provides the memory for (QEMUTimer, MemoryRegion, USBPacket).
#[repr(C, align(64))]
struct Opaque([u8; 4096]);

/// A zeroed buffer for a structure of QEMU's whose layout is not relied on. It is never freed.
pub fn opaque() -> *mut c_void {
    Box::into_raw(Box::new(Opaque([0; 4096]))).cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmapped_memory_reads_as_none() {
        let seven = 7_u64;
        assert_eq!(read::<u64>(0), None);
        assert_eq!(read::<u64>(usize::MAX - 64), None);
        assert_eq!(read::<u64>((&raw const seven) as usize), Some(7));
        assert_eq!(read_bytes(0, 1), None);
    }

    #[test]
    fn a_string_is_compared_with_its_final_nul() {
        let text = c"usb-bus";
        assert!(is_string(text.as_ptr() as usize, c"usb-bus"));
        assert!(!is_string(text.as_ptr() as usize, c"usb"));
        assert!(!is_string(0, c"usb"));
    }
}
