// SPDX-License-Identifier: GPL-2.0-or-later
//! What the tester stands on: a clock and ports.

use crate::lan7800::fault_injection::{Damage, FaultPlan};
use crate::profile::Profile;
use crate::profile::map::Addresses;

/// What became of a frame that was delivered to the device under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The NIC took it.
    Sent,
    /// The NIC had no room for it. As on a wire, the frame is gone.
    Refused,
}

/// A clock and ports. In QEMU: the virtual clock and the NICs; in tests: a [loop-back](crate::loopback).
pub trait Backend {
    /// Virtual time, in nanoseconds.
    fn now_ns(&self) -> u64;
    /// Instructions the device under test has executed since power-on.
    fn instructions(&self) -> u64;
    /// A little-endian 64-bit number in the memory of the device under test, at a physical address.
    fn word(&self, _address: u64) -> u64 {
        0
    }
    /// Delivers a frame (without FCS) to the NIC behind `port`, now.
    fn send(&mut self, port: usize, frame: &[u8]) -> Outcome;
    /// Profiles every measured window from now on.
    fn profile(&mut self, _addresses: &Addresses) -> Result<(), String> {
        Err("there is no profiler here".into())
    }
    /// What the profiler counted in the last window.
    fn profile_result(&self) -> Result<Profile, String> {
        Err("there is no profiler here".into())
    }
    /// Pulls the plug of the NIC behind `port`, or puts it in again.
    fn plug(&mut self, _port: usize, _plugged: bool) -> Result<(), String> {
        Err("the NICs cannot be unplugged".into())
    }
    /// The NIC behind `port` means ill from now on, or well again; returns what it has damaged before.
    fn inject_faults(&mut self, _port: usize, _plan: Option<FaultPlan>) -> Result<Damage, String> {
        Err("the NICs know no ill will".into())
    }
    /// The measured window of a trial opens or closes.
    fn window(&mut self, _open: bool) {}
}
