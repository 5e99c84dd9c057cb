// SPDX-License-Identifier: GPL-2.0-or-later
//! The serial EEPROM, a 93C46 of 64 words, and its contents (manual, sections 5 and 6.3.4).

use serde::{Deserialize, Serialize};

/// Bits of the EEPROM control register (6.3.4).
pub const EESK: u8 = 0x01;
pub const EECS: u8 = 0x02;
pub const EEDI: u8 = 0x04;
pub const EEDO: u8 = 0x08;

const WORDS: usize = 64;
const ADDRESS_BITS: u32 = 6;
/// A start bit, two bits of opcode, an address.
const COMMAND_BITS: u32 = 3 + ADDRESS_BITS;
const DATA_BITS: u32 = 16;
/// All words sum up to this (5.3).
const SUM: u16 = 0xbaba;

const OPCODE_EXTENDED: u32 = 0;
const OPCODE_WRITE: u32 = 1;
const OPCODE_READ: u32 = 2;
/// Opcodes told by the two highest bits of the address.
const EXTENDED_DISABLE: u32 = 0;
const EXTENDED_ENABLE: u32 = 3;

/// The EEPROM.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Eeprom {
    words: Vec<u16>,
    control: u8,
    /// The bits shifted in since the start bit.
    input: u32,
    bits: u32,
    /// The bits still to be shifted out.
    output: Option<(u16, u32)>,
    data_out: bool,
    writable: bool,
}

impl Eeprom {
    /// An EEPROM with this address: a card with an 82555 (or the built-in PHY) at MII address 1, without wake-up.
    pub fn new(mac: [u8; 6]) -> Self {
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
        Eeprom {
            words,
            control: 0,
            input: 0,
            bits: 0,
            output: None,
            data_out: true,
            writable: false,
        }
    }

    /// The control register.
    pub fn read(&self) -> u8 {
        let data = if self.data_out { EEDO } else { 0 };
        (self.control & !EEDO) | data
    }

    /// The processor sets the pins.
    pub fn write(&mut self, control: u8) {
        let rises = control & EESK != 0 && self.control & EESK == 0;
        let selected = control & EECS != 0;
        if !selected {
            (self.input, self.bits, self.output) = (0, 0, None);
            self.data_out = true;
        } else if rises && self.control & EECS != 0 {
            self.clock(control & EEDI != 0);
        }
        self.control = control & (EESK | EECS | EEDI);
    }

    fn clock(&mut self, bit: bool) {
        if let Some((word, left)) = self.output {
            self.data_out = word & 0x8000 != 0;
            self.output = (left > 1).then_some((word << 1, left - 1));
            return;
        }
        if self.bits == 0 && !bit {
            return; // waits for the start bit
        }
        self.input = self.input << 1 | u32::from(bit);
        self.bits += 1;
        if self.bits == COMMAND_BITS {
            self.command();
        } else if self.bits == COMMAND_BITS + DATA_BITS {
            let at = (self.input >> DATA_BITS) as usize % WORDS;
            if self.writable {
                self.words[at] = self.input as u16;
            }
            (self.input, self.bits) = (0, 0);
        }
    }

    fn command(&mut self) {
        let address = self.input as usize % WORDS;
        let extended = address as u32 >> (ADDRESS_BITS - 2);
        match (self.input >> ADDRESS_BITS) & 3 {
            OPCODE_READ => {
                self.data_out = false; // a 0 precedes the data
                self.output = Some((self.words[address], DATA_BITS));
                (self.input, self.bits) = (0, 0);
            }
            OPCODE_WRITE => {}
            OPCODE_EXTENDED if extended == EXTENDED_ENABLE => {
                self.writable = true;
                (self.input, self.bits) = (0, 0);
            }
            OPCODE_EXTENDED if extended == EXTENDED_DISABLE => {
                self.writable = false;
                (self.input, self.bits) = (0, 0);
            }
            _ => (self.input, self.bits) = (0, 0), // erasing is not modelled
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: [u8; 6] = [0x52, 0x54, 0, 0, 0, 1];

    fn shift(eeprom: &mut Eeprom, bits: u32, count: u32) -> u32 {
        (0..count).rev().fold(0, |read, place| {
            let data = if bits >> place & 1 != 0 { EEDI } else { 0 };
            eeprom.write(EECS | data);
            eeprom.write(EECS | data | EESK);
            read << 1 | u32::from(eeprom.read() & EEDO != 0)
        })
    }

    fn word(eeprom: &mut Eeprom, address: u32) -> u16 {
        eeprom.write(EECS | EESK);
        shift(eeprom, 0b110 << 6 | address, 9);
        let read = shift(eeprom, 0, 16) as u16;
        eeprom.write(0);
        read
    }

    #[test]
    fn words_are_read_bit_by_bit() {
        let mut eeprom = Eeprom::new(MAC);
        assert_eq!(
            [0, 1, 2].map(|at| word(&mut eeprom, at)),
            [0x5452, 0, 0x0100]
        );
    }

    #[test]
    fn the_sum_is_that_of_the_manual() {
        let mut eeprom = Eeprom::new(MAC);
        let sum = (0..64).fold(0, |sum: u16, at| sum.wrapping_add(word(&mut eeprom, at)));
        assert_eq!(sum, 0xbaba);
    }

    #[test]
    fn a_zero_after_the_last_address_bit_tells_the_size() {
        let mut eeprom = Eeprom::new(MAC);
        eeprom.write(EECS | EESK);
        shift(&mut eeprom, 0b110, 3);
        let answers: Vec<u32> = (0..8).map(|_| shift(&mut eeprom, 0, 1)).collect();
        assert_eq!(answers[..6], [1, 1, 1, 1, 1, 0]);
    }

    #[test]
    fn words_are_written_only_when_that_is_enabled() {
        let mut eeprom = Eeprom::new(MAC);
        let mut command = |bits, count| {
            eeprom.write(EECS);
            shift(&mut eeprom, bits, count);
            eeprom.write(0);
            word(&mut eeprom, 7)
        };
        let write = (0b101 << 6 | 7) << 16 | 0xcafe;
        assert_eq!(command(write, 25), 0);
        assert_eq!(command(0b1_0011_0000, 9), 0);
        assert_eq!(command(write, 25), 0xcafe);
        assert_eq!(command(0b1_0000_0000, 9), 0xcafe);
        assert_eq!(command(write & !0xffff, 25), 0xcafe);
    }
}
