// SPDX-License-Identifier: GPL-2.0-or-later
//! A host for register scripts: a memory, a bus or a link, and a wire, without QEMU.

use super::bus::{Access, Bus, Parameters};
use super::link::{self, Link};
use super::{Card, Host, Signalling};

/// The memory, in bytes; addresses wrap.
pub const MEMORY_BYTES: usize = 1 << 21;

/// What the card is plugged into.
#[derive(Clone)]
pub enum Slot {
    /// Conventional PCI.
    Bus(Bus),
    /// PCI Express.
    Link(Link),
}

/// The host.
pub struct Board {
    /// The time.
    pub now_ns: u64,
    /// The memory.
    pub memory: Vec<u8>,
    /// What the card is plugged into.
    pub slot: Slot,
    /// How the card is to interrupt.
    pub signalling: Signalling,
    /// The interrupt line.
    pub line: bool,
    /// When the interrupt line rose or a message came, and its vector.
    pub interrupts: Vec<(u64, usize)>,
    /// When frames left, and the frames.
    pub sent: Vec<(u64, Vec<u8>)>,
}

impl Default for Board {
    /// At time 0, with empty memory, a bus of 33 MHz and an interrupt line.
    fn default() -> Self {
        Board {
            now_ns: 0,
            memory: vec![0; MEMORY_BYTES],
            slot: Slot::Bus(Bus::new(Parameters::PCI_33)),
            signalling: Signalling::Pin,
            line: false,
            interrupts: Vec::new(),
            sent: Vec::new(),
        }
    }
}

impl Board {
    /// The same with a PCI Express link.
    pub fn express(signalling: Signalling) -> Self {
        Board {
            slot: Slot::Link(Link::new(link::Parameters::GEN1_X1)),
            signalling,
            ..Board::default()
        }
    }

    /// Time passes, and the card is called whenever it asks for it.
    pub fn run(&mut self, card: &mut dyn Card, ns: u64) {
        let end_ns = self.now_ns + ns;
        while let Some(at_ns) = card.deadline_ns().filter(|at_ns| *at_ns <= end_ns) {
            self.now_ns = self.now_ns.max(at_ns);
            card.advance(self.now_ns, self);
        }
        self.now_ns = end_ns;
    }

    /// So many bytes of memory.
    pub fn bytes(&mut self, address: u32, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.read(address.into(), &mut bytes);
        bytes
    }

    /// Two bytes of memory, little-endian.
    pub fn u16(&mut self, address: u32) -> u16 {
        let mut bytes = [0; 2];
        self.read(address.into(), &mut bytes);
        u16::from_le_bytes(bytes)
    }

    /// Four bytes of memory, little-endian.
    pub fn u32(&mut self, address: u32) -> u32 {
        let mut bytes = [0; 4];
        self.read(address.into(), &mut bytes);
        u32::from_le_bytes(bytes)
    }
}

impl Host for Board {
    fn read(&mut self, address: u64, bytes: &mut [u8]) {
        let at = address as usize % MEMORY_BYTES;
        let end = (at + bytes.len()).min(MEMORY_BYTES);
        bytes[..end - at].copy_from_slice(&self.memory[at..end]);
    }
    fn write(&mut self, address: u64, bytes: &[u8]) {
        let at = address as usize % MEMORY_BYTES;
        let end = (at + bytes.len()).min(MEMORY_BYTES);
        self.memory[at..end].copy_from_slice(&bytes[..end - at]);
    }
    fn claim(&mut self, from_ns: u64, access: Access, bytes: usize) -> u64 {
        match &mut self.slot {
            Slot::Bus(bus) => bus.claim(from_ns, access, bytes),
            Slot::Link(link) => link.claim(from_ns, access, bytes),
        }
    }
    fn takes_ns(&self, access: Access, bytes: usize) -> u64 {
        match &self.slot {
            Slot::Bus(bus) => bus.takes_ns(access, bytes),
            Slot::Link(link) => link.takes_ns(access, bytes),
        }
    }
    fn interrupt(&mut self, asserted: bool) {
        assert_ne!(asserted, self.line, "only changes");
        self.line = asserted;
        if asserted {
            self.interrupts.push((self.now_ns, 0));
        }
    }
    fn signalling(&self) -> Signalling {
        self.signalling
    }
    fn message(&mut self, vector: usize) {
        self.interrupts.push((self.now_ns, vector));
    }
    fn transmit(&mut self, frame: &[u8]) {
        self.sent.push((self.now_ns, frame.to_vec()));
    }
}
