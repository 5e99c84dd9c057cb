// SPDX-License-Identifier: GPL-2.0-or-later
//! A slot of the bus: the card in it, its timer, and its state in snapshots.

use serde::{Deserialize, Serialize};

use super::device::Device;
use super::kinds::Kind;
use super::socket::Socket;
use crate::caches;
use crate::saved_state::SavedState;
use crate::timer::Timer;
use irqlab_tester::pci::Card;
use irqlab_tester::pci::bus::Bus;
use irqlab_tester::pci::fault_injection::FaultInjector;
use irqlab_tester::pci::link::Link;
use irqlab_tester::pci::posted::PostedWrites;

/// A slot.
pub struct Slot {
    /// None: the card was unplugged.
    pub device: Option<Device>,
    pub kind: Kind,
    pub mac: [u8; 6],
    pub card: Box<dyn Card>,
    pub socket: Socket,
    /// The card answers. It does not after a surprise removal.
    pub present: bool,
    pub timer: Timer,
    /// When the number of transmit descriptors that the card holds changed, in ns, and to what; None: not recorded.
    pub fills: Option<Vec<[u64; 2]>>,
    /// When the timer was last armed for.
    pub armed_ns: Option<u64>,
    pub state: SavedState,
}

/// A snapshot's state of a slot.
#[derive(Serialize, Deserialize)]
struct Saved {
    /// The same in all slots.
    bus: Bus,
    link: Link,
    present: bool,
    asserted: bool,
    raise_ns: Option<u64>,
    writes: PostedWrites,
    card: String,
}

impl Slot {
    /// The device, if the card answers.
    pub fn answers(&self) -> Option<Device> {
        self.device
            .filter(|device| self.present && device.is_awake())
    }

    /// Arms the timer for what is due next.
    pub fn arm(&mut self) {
        let faults = self.socket.faults.as_ref();
        let faults = faults.and_then(FaultInjector::deadline_ns);
        // What does not show yet can wait, unless someone looks.
        let watched =
            self.fills.is_some() || self.socket.faults.is_some() || caches::sees_device_writes();
        let card = if watched {
            self.card.deadline_ns()
        } else {
            self.card.shows_ns()
        };
        let writes = self.socket.writes.deadline_ns();
        let deadlines = [card, faults, self.socket.raise_ns, writes];
        let deadline_ns = deadlines.into_iter().flatten().min();
        let deadline_ns = deadline_ns.filter(|_| self.answers().is_some());
        // Arming a timer costs host time even if nothing changes.
        if self.armed_ns != deadline_ns {
            self.armed_ns = deadline_ns;
            self.timer.arm(deadline_ns);
        }
    }

    /// The machine stops: writes the state down, or says why it cannot.
    pub fn save(&mut self, bus: &Bus) -> Result<(), String> {
        self.socket.stopped = true;
        let saved = Saved {
            bus: bus.clone(),
            link: self.socket.link.clone(),
            present: self.present,
            asserted: self.socket.asserted,
            raise_ns: self.socket.raise_ns,
            writes: self.socket.writes.clone(),
            card: self.card.state()?,
        };
        self.state.save(&saved)
    }

    /// The machine runs: takes on the state that was written down, or says why it cannot.
    pub fn restore(&mut self, bus: &mut Bus) -> Result<(), String> {
        self.socket.stopped = false;
        if let Some(state) = self.state.saved() {
            let saved: Saved = serde_json::from_slice(state).map_err(|why| why.to_string())?;
            *bus = saved.bus;
            self.socket.link = saved.link;
            (self.present, self.socket.asserted) = (saved.present, saved.asserted);
            self.socket.raise_ns = saved.raise_ns;
            self.socket.writes = saved.writes;
            self.card.restore(&saved.card)?;
        }
        // Whatever was armed before is the machine's that ran before.
        self.armed_ns = None;
        self.timer.arm(None);
        self.arm();
        Ok(())
    }
}
