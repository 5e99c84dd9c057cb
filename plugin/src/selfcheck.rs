// SPDX-License-Identifier: GPL-2.0-or-later
//! The self-check: without a lab, verifies everything that the tester relies on, and ends QEMU.

use std::ffi::{c_int, c_void};
use std::sync::Mutex;

use super::clock::{self, ClockCheck};
use super::die::{die, exit};
use super::timer::Timer;
use super::{parallel, release};

/// How long the guest runs in a self-check. Its firmware does not idle in the first microseconds.
const SELFCHECK_NS: u64 = 10_000;

/// What the self-check found out, for its last line.
struct Selfcheck {
    version: release::Version,
    plugin_api: c_int,
    clock: ClockCheck,
    timer: Timer,
}

static SELFCHECK: Mutex<Option<Selfcheck>> = Mutex::new(None);

/// The first time: verifies everything. The second time: verifies the clock, says that all is well, and ends QEMU.
unsafe extern "C" fn selfcheck(_opaque: *mut c_void) {
    let mut guard = SELFCHECK.lock().unwrap_or_else(|e| e.into_inner());
    let Some(check) = guard.as_mut() else { return };
    let (now_ns, instructions) = (clock::now_ns(), clock::instructions());
    if let Err(why) = check.clock.step(true, now_ns, instructions) {
        die(&why);
    }
    if now_ns >= SELFCHECK_NS {
        parallel::check().unwrap_or_else(|why| die(&why));
        let [major, minor, micro] = check.version;
        println!(
            "irqlab-tester: works in QEMU {major}.{minor}.{micro} (plugin API {})",
            check.plugin_api
        );
        exit(0);
    }
    check.timer.arm(Some(now_ns + SELFCHECK_NS));
}

/// Begins it, in this version of QEMU.
pub fn begin(version: release::Version, plugin_api: c_int, ns_per_instruction: u64) {
    let timer = Timer::new(selfcheck, std::ptr::null_mut());
    *SELFCHECK.lock().unwrap_or_else(|e| e.into_inner()) = Some(Selfcheck {
        version,
        plugin_api,
        clock: ClockCheck::new(ns_per_instruction),
        timer,
    });
    timer.arm(Some(0));
}
