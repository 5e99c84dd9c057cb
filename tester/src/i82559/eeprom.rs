// SPDX-License-Identifier: GPL-2.0-or-later
//! The EEPROM's contents, and the register that drives its pins (manual, sections 5 and 6.3.4).

use crate::pci::microwire::{Microwire, Pins};

/// Bits of the EEPROM control register (6.3.4).
const EESK: u8 = 0x01;
const EECS: u8 = 0x02;
const EEDI: u8 = 0x04;
const EEDO: u8 = 0x08;

const WORDS: usize = 64;
/// All words sum up to this (5.3).
const SUM: u16 = 0xbaba;

/// An EEPROM with this address: a card with an 82555 (or the built-in PHY) at MII address 1, without wake-up.
pub fn new(mac: [u8; 6]) -> Microwire {
    let mut words = vec![0; WORDS];
    for (word, pair) in words.iter_mut().zip(mac.chunks(2)) {
        *word = u16::from_le_bytes([pair[0], pair[1]]);
    }
    words[0x03] = 0x0203; // compatibility: works at 10 and 100 Mbit/s
    words[0x05] = 0x0201; // connector RJ-45, controller 2
    words[0x06] = 0x4701; // the PHY: an 82555 at address 1
    words[0x0a] = 0x4000; // the identification: valid, no wake-up, no modem
    let sum = words
        .iter()
        .fold(0, |sum: u16, word| sum.wrapping_add(*word));
    words[WORDS - 1] = SUM.wrapping_sub(sum);
    Microwire::new(&words)
}

/// The control register.
pub fn read(eeprom: &Microwire) -> u8 {
    let pins = eeprom.pins();
    [
        (pins.clock, EESK),
        (pins.select, EECS),
        (pins.data, EEDI),
        (eeprom.data_out(), EEDO),
    ]
    .into_iter()
    .filter_map(|(is_high, bit)| is_high.then_some(bit))
    .sum()
}

/// The processor writes the control register.
pub fn write(eeprom: &mut Microwire, control: u8) {
    eeprom.set(Pins {
        select: control & EECS != 0,
        clock: control & EESK != 0,
        data: control & EEDI != 0,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_manual() {
        let eeprom = new([0x52, 0x54, 0, 0, 0, 1]);
        assert_eq!(eeprom.words()[..3], [0x5452, 0, 0x0100]);
        let sum = (eeprom.words().iter()).fold(0, |sum: u16, word| sum.wrapping_add(*word));
        assert_eq!(sum, 0xbaba);
    }

    #[test]
    fn the_registers_bits_are_the_pins() {
        let mut eeprom = new([0; 6]);
        for control in [0, EECS, EECS | EESK, EECS | EEDI, EECS | EEDI | EESK] {
            write(&mut eeprom, control);
            assert_eq!(read(&eeprom) & !EEDO, control);
        }
    }
}
