// SPDX-License-Identifier: GPL-2.0-or-later
//! The end of QEMU when the tester cannot go on.

/// Prints why, and ends QEMU with exit code 1.
pub fn die(why: &str) -> ! {
    eprintln!("irqlab-tester: {why}");
    exit(1)
}

/// Ends QEMU at once, without its exit handlers, which would wait for locks that the caller may hold.
pub fn exit(code: i32) -> ! {
    // SAFETY: `_exit` ends the process and touches no memory; there is nothing to save.
    unsafe { libc::_exit(code) }
}
