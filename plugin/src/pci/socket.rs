// SPDX-License-Identifier: GPL-2.0-or-later
//! What a [card](irqlab_tester::pci::Card) is plugged into in QEMU: memory, the bus or a link, an interrupt line, and faults that are injected
//! between them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::device::{self, Device};
use super::kinds::Model;
use crate::clock::now_ns;
use irqlab_tester::pci::bus::{Access, Bus};
use irqlab_tester::pci::fault_injection::FaultInjector;
use irqlab_tester::pci::link::{self, Link};
use irqlab_tester::pci::posted::{PostedWrites, Write};
use irqlab_tester::pci::{Card, Host, Signalling, Window};

/// How much later interrupts are raised than the cards want it, in ns.
static INTERRUPT_DELAY_NS: AtomicU64 = AtomicU64::new(0);

/// Raises interrupts so many ns late from now on.
pub fn delay_interrupts(by_ns: u64) {
    INTERRUPT_DELAY_NS.store(by_ns, Ordering::Relaxed);
}

/// How long a write to a register takes to the card, in ns.
static WRITE_DELAY_NS: AtomicU64 = AtomicU64::new(0);

/// Writes to registers arrive so many ns late from now on.
pub fn delay_writes(by_ns: u64) {
    WRITE_DELAY_NS.store(by_ns, Ordering::Relaxed);
}

/// What stays when another card is plugged in, besides the bus that all share.
pub struct Socket {
    /// What it is plugged into if it is a PCI Express card.
    pub link: Link,
    /// What the card asked for, of the interrupt line.
    pub asserted: bool,
    /// When the card's interrupt is raised, if it is delayed, in ns.
    pub raise_ns: Option<u64>,
    /// Writes that are on their way to the card; it answers as long as there are any.
    pub writes: PostedWrites,
    /// The machine is stopped, and only a debugger reads registers.
    pub stopped: bool,
    pub faults: Option<FaultInjector>,
}

impl Socket {
    /// A socket without faults.
    pub fn new() -> Self {
        Socket {
            link: Link::new(link::Parameters::GEN1_X1),
            asserted: false,
            raise_ns: None,
            writes: PostedWrites::default(),
            stopped: false,
            faults: None,
        }
    }

    /// The card is gone, or as after power-on: what was under way is lost.
    pub fn forget(&mut self) {
        (self.asserted, self.raise_ns) = (false, None);
        self.writes = PostedWrites::default();
    }

    /// Whether the interrupt line is high.
    pub fn line(&self) -> bool {
        self.asserted && self.raise_ns.is_none()
    }
}

/// What a card is plugged into, while it is at work. Its frames are put off until that is over.
pub struct Plugged<'a> {
    bus: &'a mut Bus,
    /// Whether the socket's link is used instead of the bus.
    express: bool,
    windows: &'static [Window],
    socket: &'a mut Socket,
    device: Device,
    sent: Vec<Vec<u8>>,
}

impl<'a> Plugged<'a> {
    /// A card of this model at work.
    pub fn new(bus: &'a mut Bus, socket: &'a mut Socket, device: Device, model: Model) -> Self {
        Plugged {
            bus,
            express: model.capabilities().express.is_some(),
            windows: model.windows(),
            socket,
            device,
            sent: Vec::new(),
        }
    }

    /// The frames that it sent.
    pub fn into_sent(self) -> Vec<Vec<u8>> {
        self.sent
    }

    /// How long the processor waits until others have left the bus, in ps. On a link, reads overlap with other transfers.
    pub fn wait_ps(&self, now_ns: u64) -> Option<u64> {
        (!self.express).then(|| self.bus.wait_ps(now_ns))
    }

    /// The processor writes to a register of the card.
    pub fn posted(&mut self, now_ns: u64, write: Write, card: &mut dyn Card) {
        if self.windows[write.window].ports {
            self.flush_writes(now_ns, card);
            write.reach(now_ns, card, self);
            return;
        }
        let delay_ns = WRITE_DELAY_NS.load(Ordering::Relaxed);
        if delay_ns == 0 && self.socket.writes.is_empty() {
            write.reach(now_ns, card, self);
        } else {
            self.socket.writes.post(now_ns + delay_ns, write);
        }
    }

    /// The card gets the writes that have arrived, unless it is a debugger that asks.
    pub fn deliver_writes(&mut self, now_ns: u64, card: &mut dyn Card) {
        if self.socket.stopped {
            return;
        }
        self.socket.writes.arrived(now_ns).deliver(card, self);
    }

    /// The card gets all writes that are under way, unless it is a debugger that asks.
    pub fn flush_writes(&mut self, now_ns: u64, card: &mut dyn Card) {
        if self.socket.stopped {
            return;
        }
        let writes = std::mem::take(&mut self.socket.writes);
        writes.flush(now_ns, card, self);
    }

    /// As [`Socket::forget`].
    pub fn forget(&mut self) {
        self.socket.forget();
    }

    /// What the processor gets of a register.
    pub fn answered(&mut self, now_ns: u64, value: u32, bytes: usize) -> u32 {
        match &mut self.socket.faults {
            None => value,
            Some(faults) => faults.register(now_ns, value, bytes),
        }
    }

    pub fn advance_faults(&mut self, now_ns: u64) {
        if let Some(faults) = &mut self.socket.faults {
            let before = faults.damage().interrupts;
            let spurious = faults.advance(now_ns);
            let begins = faults.damage().interrupts != before;
            match self.device.signalling() {
                Signalling::Pin => self.device.interrupt(spurious || self.socket.asserted),
                // Each vector in turn.
                signalling if begins => self.device.message(signalling, before as usize),
                _ => {}
            }
        }
    }
}

impl Host for Plugged<'_> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) {
        if self.device.is_master() {
            device::read_memory(address, bytes);
        } else {
            bytes.fill(u8::MAX);
        }
    }
    fn write(&mut self, address: u64, bytes: &[u8]) {
        if !self.device.is_master() {
            return;
        }
        match &mut self.socket.faults {
            None => device::write_memory(address, bytes),
            Some(faults) => faults
                .written(bytes)
                .iter()
                .for_each(|bytes| device::write_memory(address, bytes)),
        }
    }
    fn claim(&mut self, from_ns: u64, access: Access, bytes: usize) -> u64 {
        if self.express {
            self.socket.link.claim(from_ns, access, bytes)
        } else {
            self.bus.claim(from_ns, access, bytes)
        }
    }
    fn signalling(&self) -> Signalling {
        self.device.signalling()
    }
    fn message(&mut self, vector: usize) {
        self.device.message(self.device.signalling(), vector);
    }
    fn takes_ns(&self, access: Access, bytes: usize) -> u64 {
        if self.express {
            self.socket.link.takes_ns(access, bytes)
        } else {
            self.bus.takes_ns(access, bytes)
        }
    }
    fn interrupt(&mut self, asserted: bool) {
        let delay_ns = INTERRUPT_DELAY_NS.load(Ordering::Relaxed);
        self.socket.asserted = asserted;
        self.socket.raise_ns = (asserted && delay_ns > 0).then(|| now_ns() + delay_ns);
        if self.socket.raise_ns.is_none() {
            self.device.interrupt(asserted);
        }
    }
    fn transmit(&mut self, frame: &[u8]) {
        self.sent.push(frame.to_vec());
    }
}
