// SPDX-License-Identifier: GPL-2.0-or-later
//! The EEPROM's contents, and 9346CR (data sheet, "9346CR" and the section on the contents of the 93C46).

use super::registers::cr9346::{EECS, EEDI, EEDO, EESK};
use crate::pci::microwire::{Microwire, Pins};

/// An EEPROM with this address.
pub fn new(mac: [u8; 6]) -> Microwire {
    let word = |at: usize| u16::from_le_bytes([mac[at], mac[at + 1]]);
    Microwire::new(&[
        0x8129, // the identification
        0x10ec, // vendor and device
        0x8139,
        0x10ec, // the subsystem's
        0x8139,
        0x4020, // MAX_LAT and MIN_GNT
        0xe110, // MSR, CONFIG3
        word(0),
        word(2),
        word(4),
        CONFIGS << 8, // CONFIG0, CONFIG1
        0xf7c2,       // PMC
    ])
}

/// CONFIG1 after a reset: windows of memory and ports, power management.
pub const CONFIGS: u16 = 0x0d;

/// The address that the EEPROM holds.
pub fn address(eeprom: &Microwire) -> [u8; 6] {
    let mut address = [0; 6];
    for (pair, word) in address.chunks_mut(2).zip(&eeprom.words()[7..10]) {
        pair.copy_from_slice(&word.to_le_bytes());
    }
    address
}

/// The pins as 9346CR shows them.
pub fn read(eeprom: &Microwire) -> u8 {
    let pins = eeprom.pins();
    [
        (pins.select, EECS),
        (pins.clock, EESK),
        (pins.data, EEDI),
        (eeprom.data_out(), EEDO),
    ]
    .into_iter()
    .filter_map(|(is_high, bit)| is_high.then_some(bit))
    .sum()
}

/// The processor writes the pins.
pub fn write(eeprom: &mut Microwire, pins: u8) {
    eeprom.set(Pins {
        select: pins & EECS != 0,
        clock: pins & EESK != 0,
        data: pins & EEDI != 0,
    });
}
