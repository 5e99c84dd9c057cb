// SPDX-License-Identifier: GPL-2.0-or-later
//! The bytes of a configure command (manual, section 6.4.2.3), as far as they have an effect here.

use serde::{Deserialize, Serialize};

use super::Revision;

/// The longest list of bytes.
const BYTES: usize = 32;
/// What a chip has after a reset (6.4.2.3, the default column).
const DEFAULTS: [u8; 22] = [
    0x16, 0x08, 0x00, 0x00, 0x00, 0x00, 0x32, 0x03, 0x01, 0x00, 0x2e, 0x00, 0x60, 0x00, 0xf2, 0x48,
    0x00, 0x40, 0xf2, 0x80, 0x3f, 0x05,
];

/// The configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Configuration {
    bytes: Vec<u8>,
}

/// Where frames go instead of the wire (byte 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loopback {
    /// To the wire.
    None,
    /// To the receiver, inside the chip or behind the PHY.
    Back,
}

impl Default for Configuration {
    fn default() -> Self {
        let mut bytes = DEFAULTS.to_vec();
        bytes.resize(BYTES, 0);
        Configuration { bytes }
    }
}

impl Configuration {
    /// How many bytes a list that begins with this byte has.
    pub fn length(first: u8) -> usize {
        usize::from(first & 0x3f).clamp(1, BYTES)
    }

    /// Takes on new bytes; those that are missing keep their values.
    pub fn set(&mut self, bytes: &[u8]) {
        let count = bytes.len().min(BYTES);
        self.bytes[..count].copy_from_slice(&bytes[..count]);
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn has(&self, byte: usize, bits: u8) -> bool {
        self.bytes[byte] & bits != 0
    }

    /// Bytes in the receive FIFO before the chip asks for the bus: in units of 8 in byte 1, none at 0.
    pub fn receive_threshold(&self) -> usize {
        usize::from(self.bytes[1] & 0x0f) * 8
    }

    /// CI: the cause CNA stands for idle only, and not for suspended as well.
    pub fn only_idle_interrupts(&self) -> bool {
        self.has(6, 0x08)
    }

    /// Which counters are dumped, in double words (6.3.2.2.1).
    pub fn counters(&self, revision: Revision) -> usize {
        let (standard, tco) = (self.has(6, 0x20), self.has(6, 0x04));
        match revision {
            Revision::I82557 => 16,
            Revision::I82558 if standard => 16,
            Revision::I82558 => 19,
            _ if tco => 20,
            _ if standard => 16,
            _ => 19,
        }
    }

    /// Transmit blocks are extended: two buffer descriptors lie inside. 82558 and later.
    pub fn extended_blocks(&self, revision: Revision) -> bool {
        revision != Revision::I82557 && !self.has(6, 0x10)
    }

    /// Frames with errors go to memory, too.
    pub fn saves_bad_frames(&self) -> bool {
        self.has(6, 0x80)
    }

    /// Frames below 64 bytes are dropped.
    pub fn drops_short_frames(&self) -> bool {
        self.has(7, 0x01)
    }

    /// The transmit FIFO holds at most two frames.
    pub fn two_frames_in_fifo(&self) -> bool {
        self.has(7, 0x40)
    }

    /// The chip does not insert its address as the source of what it transmits.
    pub fn keeps_source_address(&self) -> bool {
        self.has(10, 0x08)
    }

    /// The preamble with its start delimiter, in bytes on the wire.
    pub fn preamble_bytes(&self) -> u64 {
        [1, 3, 7, 15][usize::from(self.bytes[10] >> 4 & 3)] + 1
    }

    /// Pause frames are obeyed (byte 19, bit 2: not). 82558 and later.
    pub fn obeys_pauses(&self, revision: Revision) -> bool {
        revision != Revision::I82557 && !self.has(19, 0x04)
    }

    /// Pause frames to everybody do not go to memory.
    pub fn rejects_pauses(&self) -> bool {
        self.has(19, 0x20)
    }

    /// Loopback.
    pub fn loopback(&self) -> Loopback {
        match self.bytes[10] >> 6 {
            0 => Loopback::None,
            _ => Loopback::Back,
        }
    }

    /// The gap between frames, in bit times (byte 12, in units of 16).
    pub fn gap_bits(&self) -> u64 {
        u64::from(self.bytes[12] >> 4) * 16
    }

    /// All frames are received.
    pub fn is_promiscuous(&self) -> bool {
        self.has(15, 0x01)
    }

    /// Broadcasts are not received.
    pub fn ignores_broadcasts(&self) -> bool {
        self.has(15, 0x02)
    }

    /// Short frames are padded.
    pub fn pads(&self) -> bool {
        self.has(18, 0x02)
    }

    /// The FCS goes to memory, too.
    pub fn transfers_fcs(&self) -> bool {
        self.has(18, 0x04)
    }

    /// Frames above 1518 bytes are received.
    pub fn takes_long_frames(&self) -> bool {
        self.has(18, 0x08)
    }

    /// All multicasts are received.
    pub fn takes_all_multicasts(&self) -> bool {
        self.has(21, 0x08)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_list_leaves_the_rest() {
        let mut configuration = Configuration::default();
        configuration.set(&[8, 0x0f]);
        assert_eq!(configuration.receive_threshold(), 120);
        assert_eq!(configuration.bytes()[21], 0x05);
        assert_eq!(
            (Configuration::length(0x16), Configuration::length(0)),
            (22, 1)
        );
    }

    #[test]
    fn the_counters_depend_on_chip_and_configuration() {
        let mut configuration = Configuration::default();
        assert_eq!(configuration.counters(Revision::I82559), 16);
        configuration.set(&[0, 0, 0, 0, 0, 0, 0x36]);
        assert_eq!(configuration.counters(Revision::I82557), 16);
        assert_eq!(configuration.counters(Revision::I82558), 16);
        assert_eq!(configuration.counters(Revision::I82559), 20);
        configuration.set(&[0, 0, 0, 0, 0, 0, 0x12]);
        assert_eq!(configuration.counters(Revision::I82558), 19);
    }

    #[test]
    fn the_default_gap_is_that_of_ethernet() {
        let configuration = Configuration::default();
        assert_eq!(
            (configuration.preamble_bytes(), configuration.gap_bits()),
            (8, 96)
        );
    }
}
