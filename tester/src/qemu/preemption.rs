// SPDX-License-Identifier: GPL-2.0-or-later
//! Chooses where one virtual processor gives way to the next.
//!
//! With -icount, QEMU runs its processors in turn, in one thread (`rr_cpu_thread_fn` of accel/tcg/tcg-accel-ops-rr.c). One runs until
//! it halts, pauses (PAUSE, in a spin lock), until the next timer is due, or until it is asked to leave (`cpu_exit`), which it does
//! before its next block. So what the DUT does is the same in every run, and asking at a chosen block of the driver moves the switch there.
//! Switches inside a block are not possible.

use std::collections::BTreeSet;
use std::ffi::{c_uint, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::api::api;
use super::translation::Translation;

/// Virtual addresses of the code in which switches are wanted: begin, end.
static RANGES: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());
/// Numbers of the blocks of that code after which the processor gives way.
static POINTS: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());
/// How many blocks of that code were executed.
static PASSED: AtomicU64 = AtomicU64::new(0);
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// The window is open.
static COUNTING: AtomicBool = AtomicBool::new(false);

/// Has processors give way after these blocks of the code in `ranges`, counted from 0 in the order of their execution in the window. No
/// ranges: ends that.
pub fn arm(ranges: &[(u64, u64)], points: &[u64]) -> Result<(), String> {
    let mut known = RANGES.lock().unwrap_or_else(|e| e.into_inner());
    let anew = !ranges.is_empty() && *known != ranges;
    if !ranges.is_empty() {
        *known = ranges.to_vec();
    }
    *POINTS.lock().unwrap_or_else(|e| e.into_inner()) = points.iter().copied().collect();
    PASSED.store(0, Ordering::Relaxed);
    COUNTING.store(false, Ordering::Relaxed);
    ACTIVE.store(!ranges.is_empty(), Ordering::Relaxed);
    if anew {
        let flush = api().tb_flush.filter(|_| api().cpu_exit.is_some());
        let flush = flush.ok_or("this QEMU does not let the tester choose who runs")?;
        // What was translated does not count.
        // SAFETY: processor 0 exists; QEMU does this when its thread leaves its block.
        unsafe { flush((api().qemu_get_cpu)(0)) };
    }
    Ok(())
}

/// The window opens or closes.
pub fn window(open: bool) {
    COUNTING.store(open && ACTIVE.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// How many blocks of the code were executed in the window.
pub fn passed() -> u64 {
    PASSED.load(Ordering::Relaxed)
}

/// Looks at a block that was translated.
pub fn watch(translation: &Translation) {
    if !ACTIVE.load(Ordering::Relaxed) {
        return;
    }
    let start = translation.start();
    let ranges = RANGES.lock().unwrap_or_else(|e| e.into_inner());
    if ranges
        .iter()
        .any(|(begin, end)| (*begin..*end).contains(&start))
    {
        translation.on_execution(executed, 0);
    }
}

unsafe extern "C" fn executed(processor: c_uint, _: *mut c_void) {
    if !COUNTING.load(Ordering::Relaxed) {
        return;
    }
    let number = PASSED.fetch_add(1, Ordering::Relaxed);
    let chosen = POINTS
        .lock()
        .unwrap_or_else(|e| e.into_inner())
        .contains(&number);
    if let Some(exit) = api().cpu_exit.filter(|_| chosen) {
        // SAFETY: the processor that is executing.
        unsafe { exit((api().qemu_get_cpu)(processor as i32)) };
    }
}
