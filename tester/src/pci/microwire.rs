// SPDX-License-Identifier: GPL-2.0-or-later
//! A 93C46: a serial EEPROM of 64 words behind four pins (National Semiconductor, "NM93C46 1024-Bit Serial EEPROM").

use serde::{Deserialize, Serialize};

const WORDS: usize = 64;
const ADDRESS_BITS: u32 = 6;
/// A start bit, two bits of opcode, an address.
const COMMAND_BITS: u32 = 3 + ADDRESS_BITS;
const DATA_BITS: u32 = 16;

const OPCODE_EXTENDED: u32 = 0;
const OPCODE_WRITE: u32 = 1;
const OPCODE_READ: u32 = 2;
/// Opcodes told by the two highest bits of the address.
const EXTENDED_DISABLE: u32 = 0;
const EXTENDED_ENABLE: u32 = 3;

/// The pins that the host drives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins {
    /// CS.
    pub select: bool,
    /// SK.
    pub clock: bool,
    /// DI.
    pub data: bool,
}

/// The EEPROM.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Microwire {
    words: Vec<u16>,
    pins: Pins,
    /// The bits shifted in since the start bit.
    input: u32,
    bits: u32,
    /// The bits still to be shifted out.
    output: Option<(u16, u32)>,
    data_out: bool,
    writable: bool,
}

impl Microwire {
    /// An EEPROM that begins with these words; the others are 0.
    pub fn new(words: &[u16]) -> Self {
        let mut words = words.to_vec();
        words.resize(WORDS, 0);
        Microwire {
            words,
            pins: Pins::default(),
            input: 0,
            bits: 0,
            output: None,
            data_out: true,
            writable: false,
        }
    }

    /// The contents.
    pub fn words(&self) -> &[u16] {
        &self.words
    }

    /// The pins as they were set last.
    pub fn pins(&self) -> Pins {
        self.pins
    }

    /// DO.
    pub fn data_out(&self) -> bool {
        self.data_out
    }

    /// Sets the pins.
    pub fn set(&mut self, pins: Pins) {
        let rises = pins.clock && !self.pins.clock;
        if !pins.select {
            (self.input, self.bits, self.output) = (0, 0, None);
            self.data_out = true;
        } else if rises && self.pins.select {
            self.shift(pins.data);
        }
        self.pins = pins;
    }

    fn shift(&mut self, bit: bool) {
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

    fn shift(eeprom: &mut Microwire, bits: u32, count: u32) -> u32 {
        (0..count).rev().fold(0, |read, place| {
            let pins = |clock| Pins {
                select: true,
                clock,
                data: bits >> place & 1 != 0,
            };
            eeprom.set(pins(false));
            eeprom.set(pins(true));
            read << 1 | u32::from(eeprom.data_out())
        })
    }

    fn select(eeprom: &mut Microwire) {
        eeprom.set(Pins {
            select: true,
            clock: true,
            data: false,
        });
    }

    fn word(eeprom: &mut Microwire, address: u32) -> u16 {
        select(eeprom);
        shift(eeprom, 0b110 << 6 | address, 9);
        let read = shift(eeprom, 0, 16) as u16;
        eeprom.set(Pins::default());
        read
    }

    #[test]
    fn words_are_read_bit_by_bit() {
        let mut eeprom = Microwire::new(&[0x5452, 0, 0x0100]);
        assert_eq!(
            [0, 1, 2].map(|at| word(&mut eeprom, at)),
            [0x5452, 0, 0x0100]
        );
    }

    #[test]
    fn a_zero_after_the_last_address_bit_tells_the_size() {
        let mut eeprom = Microwire::new(&[1]);
        select(&mut eeprom);
        shift(&mut eeprom, 0b110, 3);
        let answers: Vec<u32> = (0..8).map(|_| shift(&mut eeprom, 0, 1)).collect();
        assert_eq!(answers[..6], [1, 1, 1, 1, 1, 0]);
    }

    #[test]
    fn words_are_written_only_when_that_is_enabled() {
        let mut eeprom = Microwire::new(&[]);
        let mut command = |bits, count| {
            select(&mut eeprom);
            shift(&mut eeprom, bits, count);
            eeprom.set(Pins::default());
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
