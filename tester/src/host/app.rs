// SPDX-License-Identifier: GPL-2.0-or-later
//! What all applications of a host have in common.

use serde_json::Value;

use super::net::{Message, Net};

/// An application.
pub trait App: Send {
    /// Does what can be done now. Called when `net` has news, and when the time of [`App::next_ns`] has come.
    fn step(&mut self, now_ns: u64, net: &mut Net);
    /// Takes a message that is for it; false if it is not. The message has waited `waited_ns` for the line.
    fn take(&mut self, now_ns: u64, waited_ns: u64, message: &Message, net: &mut Net) -> bool;
    /// The next datagram of a test that is due.
    fn transmit(&mut self, now_ns: u64, net: &mut Net) -> Option<Vec<u8>>;
    /// When the next step is wanted, in ns.
    fn next_ns(&self) -> Option<u64>;
    /// The results so far.
    fn report(&self, now_ns: u64, net: &Net) -> Value;
}
