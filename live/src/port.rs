// SPDX-License-Identifier: GPL-2.0-or-later
//! What every kind of port can do. A port has two halves, since it is used by two threads.

use serde_json::Value;

/// The sending half.
pub trait Sending: Send {
    /// Whether [`Sending::push`] is possible now.
    fn has_room(&self) -> bool;
    /// Adds a frame (without FCS) to the batch. Nothing is sent yet.
    fn push(&mut self, frame: &[u8]);
    /// Hands the batch to the kernel; returns how many frames are left, which it does not take now. An error: the port does not work
    /// any more.
    fn flush(&mut self) -> Result<usize, String>;
}

/// The receiving half.
pub trait Receiving: Send {
    /// Passes on the frames (without FCS) that have come, each with its arrival in ns of our clock; at most a batch. Returns how many.
    fn receive(&mut self, take: &mut dyn FnMut(u64, &[u8])) -> usize;
    /// A descriptor to poll for reading.
    fn descriptor(&self) -> libc::c_int;
    /// Frames that came to the port, but not to us, since the last call.
    fn dropped(&mut self) -> u64;
    /// Where the times of arrival since the last call come from: `hardware` (the NIC), `kernel`, or `program` if ours has read the
    /// clock.
    fn time_stamps(&mut self) -> &'static str;
}

/// An open port.
pub struct Port {
    /// Its sending half.
    pub sending: Box<dyn Sending>,
    /// Its receiving half.
    pub receiving: Box<dyn Receiving>,
    /// How it works, for the result.
    pub details: Value,
}
