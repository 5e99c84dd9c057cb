// SPDX-License-Identifier: GPL-2.0-or-later
//! A machine that has run a trial, put back to where it was restored: the next trial needs no new process.
//!
//! What a new process does in 0.5 s of CPU time is done here in a few ms: RAM is compared with the snapshot file where it was written
//! to, the devices are reset and loaded from the same file, and the timers armed as they were when the new process began to run. What
//! QEMU has translated of the DUT's code is kept, but for code that has changed: with -icount it does not matter to the DUT where
//! blocks of translated code begin and end, since QEMU counts instructions and not blocks, ends a block at each access to a device,
//! and cuts short the one in which a timer expires.
//!
//! The machine must stand still meanwhile. So the virtual processor asks for a stop out of the command port's read; when the machine
//! has stopped, the main loop does the work.

use super::timer::Timer;
use devices::Devices;
pub use devices::offset_of;
use memory::Memory;
use snapshot::Snapshot;
use timers::{Armed, Timers, same};

mod devices;
mod memory;
mod snapshot;
mod timers;

/// A machine's beginning, and how to get back there.
pub struct Rewinder {
    timers: Timers,
    /// The timers armed when the machine first ran.
    armed: Vec<Armed>,
    /// Found when it is first needed.
    rest: Option<Rest>,
}

struct Rest {
    path: String,
    snapshot: Snapshot,
    stream: Vec<u8>,
    memory: Memory,
    devices: Devices,
}

impl Rewinder {
    /// Notes what cannot be found out later, just before a restored machine runs. `timer`: one of ours, which is armed.
    pub fn new(timer: Timer) -> Result<Self, String> {
        let timers = Timers::find(timer)?;
        Ok(Self {
            armed: timers.armed(),
            timers,
            rest: None,
        })
    }

    /// Puts the stopped machine back; it was restored from the snapshot file at `path`. `ours`: the timers that are the tester's own.
    /// From the main loop only.
    pub fn rewind(&mut self, path: &str, ours: &[Timer]) -> Result<(), String> {
        if self.rest.as_ref().is_none_or(|rest| rest.path != path) {
            self.rest = Some(Rest::find(path)?);
        }
        let Some(rest) = &mut self.rest else {
            return Ok(());
        };
        let is_ours = |armed: &Armed| ours.iter().any(|timer| timer.address() == armed.timer);
        self.timers.disarm(|_| true);
        rest.devices.reset();
        rest.memory.restore(&rest.snapshot)?;
        rest.devices.load(&rest.snapshot, &rest.stream)?;
        // A NIC of ours arms its timer while it is reset.
        self.timers.disarm(is_ours);
        let (ours, theirs): (Vec<Armed>, Vec<Armed>) = self.armed.iter().partition(|a| is_ours(a));
        let now = self.timers.armed();
        if !same(&now, &theirs) {
            return Err(format!(
                "other timers are armed than in a new process: {now:?}, not {theirs:?}"
            ));
        }
        self.timers.arm(&ours);
        self.armed = self.timers.armed();
        Ok(())
    }
}

impl Rest {
    fn find(path: &str) -> Result<Self, String> {
        let snapshot = Snapshot::open(path)?;
        Ok(Self {
            path: path.into(),
            stream: snapshot.devices(),
            snapshot,
            memory: Memory::find()?,
            devices: Devices::find()?,
        })
    }
}
