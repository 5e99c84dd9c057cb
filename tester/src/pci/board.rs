// SPDX-License-Identifier: GPL-2.0-or-later
//! A host for register scripts: a memory, a bus and a wire, without QEMU.

use super::bus::{Access, Bus, Parameters};
use super::{Card, Host};

/// The memory, in bytes; addresses wrap.
pub const MEMORY_BYTES: usize = 1 << 20;

/// The host.
pub struct Board {
    /// The time.
    pub now_ns: u64,
    /// The memory.
    pub memory: Vec<u8>,
    /// The bus.
    pub bus: Bus,
    /// The interrupt line.
    pub line: bool,
    /// When the interrupt line rose.
    pub interrupts: Vec<u64>,
    /// When frames left, and the frames.
    pub sent: Vec<(u64, Vec<u8>)>,
}

impl Default for Board {
    /// At time 0, with empty memory.
    fn default() -> Self {
        Board {
            now_ns: 0,
            memory: vec![0; MEMORY_BYTES],
            bus: Bus::new(Parameters::PCI_33),
            line: false,
            interrupts: Vec::new(),
            sent: Vec::new(),
        }
    }
}

impl Board {
    /// Time passes, and the card is called whenever it asks for it.
    pub fn run(&mut self, card: &mut dyn Card, ns: u64) {
        let end_ns = self.now_ns + ns;
        while let Some(at_ns) = card.deadline_ns().filter(|at_ns| *at_ns <= end_ns) {
            self.now_ns = self.now_ns.max(at_ns);
            card.advance(self.now_ns, self);
        }
        self.now_ns = end_ns;
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
        self.bus.claim(from_ns, access, bytes)
    }
    fn takes_ns(&self, access: Access, bytes: usize) -> u64 {
        self.bus.takes_ns(access, bytes)
    }
    fn interrupt(&mut self, asserted: bool) {
        assert_ne!(asserted, self.line, "only changes");
        self.line = asserted;
        if asserted {
            self.interrupts.push(self.now_ns);
        }
    }
    fn transmit(&mut self, frame: &[u8]) {
        self.sent.push((self.now_ns, frame.to_vec()));
    }
}
