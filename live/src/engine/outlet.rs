// SPDX-License-Identifier: GPL-2.0-or-later
//! What the tester sends through.

use irqlab_tester::backend::{Backend, Outcome};
use irqlab_tester::traffic::latency::Latency;

use crate::clock::now_ns;
use crate::port::Sending;

/// What the tester sends through.
pub(super) struct Outlet {
    pub(super) ports: Vec<Box<dyn Sending>>,
    /// How late frames of streams are, in ns.
    pub(super) lateness: Latency,
    /// How long it takes to hand a batch to the kernel, in ns.
    pub(super) handover: Latency,
    pub(super) patience_ns: u64,
    /// Frames are left in a batch.
    pub(super) pending: bool,
    pub(super) fault: Option<String>,
}

impl Outlet {
    pub(super) fn flush(&mut self) {
        let began_ns = now_ns();
        self.pending = false;
        let mut any = false;
        for port in &mut self.ports {
            match port.flush() {
                Ok(0) => any = true,
                Ok(_) => self.pending = true,
                Err(why) => self.fault = self.fault.take().or(Some(why)),
            }
        }
        if any {
            self.handover.record(now_ns().saturating_sub(began_ns));
        }
    }
}

impl Backend for Outlet {
    fn now_ns(&self) -> u64 {
        now_ns()
    }
    fn instructions(&self) -> u64 {
        0
    }
    fn has_room(&self, port: usize) -> bool {
        self.ports[port].has_room()
    }
    fn patience_ns(&self) -> u64 {
        self.patience_ns
    }
    fn departed(&mut self, planned_ns: u64, now_ns: u64) {
        self.lateness.record(now_ns.saturating_sub(planned_ns));
    }
    fn send(&mut self, port: usize, frame: &[u8]) -> Outcome {
        self.ports[port].push(frame);
        Outcome::Sent
    }
}
