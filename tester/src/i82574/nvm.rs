// SPDX-License-Identifier: GPL-2.0-or-later
//! The NVM (data sheet, chapter 6): 64 words behind EERD and EEWR (10.2.2.4, 10.2.2).

use serde::{Deserialize, Serialize};

use super::identity::{DEVICE, INTEL};
use super::registers::nvm::{ADDRESS_MASK, ADDRESS_SHIFT, DATA_SHIFT, DONE, START};

const WORDS: usize = 64;
/// All words sum up to this (6.1.3).
const SUM: u16 = 0xbaba;
/// How long a word takes to be read from an SPI EEPROM, in ns: an opcode, two bytes of address and two of data at 2 MHz. Writing one takes
/// as long here; what the cells take is not modelled.
pub const ACCESS_NS: u64 = 40 * 500;

/// The NVM, and the access to it under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Nvm {
    words: Vec<u16>,
    read: u32,
    write: u32,
    /// When the access under way is over, in ns, and whether it writes.
    busy: Option<(u64, bool)>,
}

impl Nvm {
    /// An NVM with this address, for a card without manageability that wakes up for nothing.
    pub fn new(mac: [u8; 6]) -> Self {
        let mut words = vec![0; WORDS];
        for (word, pair) in words.iter_mut().zip(mac.chunks(2)) {
            *word = u16::from_le_bytes([pair[0], pair[1]]);
        }
        words[0x04] = 0x0746; // the LEDs
        words[0x05] = 0x2018; // the image's version
        words[0x08] = 0xffff; // the board's number: none
        words[0x09] = 0xffff;
        words[0x0a] = 0x026b; // initialization control 1
        words[0x0b] = 0; // subsystem
        words[0x0c] = INTEL;
        words[0x0d] = DEVICE;
        words[0x0e] = INTEL;
        words[0x0f] = 0x0480; // initialization control 2: an SPI EEPROM, no wake-up by default
        words[0x37] = 0xffff; // no alternate address
        let sum = words
            .iter()
            .fold(0, |sum: u16, word| sum.wrapping_add(*word));
        words[WORDS - 1] = SUM.wrapping_sub(sum);
        Nvm {
            words,
            read: 0,
            write: 0,
            busy: None,
        }
    }

    /// The address in it.
    pub fn address(&self) -> [u8; 6] {
        let mut address = [0; 6];
        for (pair, word) in address.chunks_mut(2).zip(&self.words) {
            pair.copy_from_slice(&word.to_le_bytes());
        }
        address
    }

    /// EERD.
    pub fn read_register(&self) -> u32 {
        self.read
    }
    /// EEWR.
    pub fn write_register(&self) -> u32 {
        self.write
    }

    /// EERD is written: begins to read a word.
    pub fn set_read(&mut self, now_ns: u64, value: u32) {
        self.read = value & !DONE;
        self.begin(now_ns, value, false);
    }
    /// EEWR is written: begins to write a word.
    pub fn set_write(&mut self, now_ns: u64, value: u32) {
        self.write = value & !DONE;
        self.begin(now_ns, value, true);
    }

    fn begin(&mut self, now_ns: u64, value: u32, writes: bool) {
        if value & START != 0 && self.busy.is_none() {
            self.busy = Some((now_ns + ACCESS_NS, writes));
        }
    }

    /// When an access is over, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.busy.map(|(at_ns, _)| at_ns)
    }

    /// Ends the access if that is due.
    pub fn advance(&mut self, now_ns: u64) {
        let Some((_, writes)) = self.busy.take_if(|(at_ns, _)| *at_ns <= now_ns) else {
            return;
        };
        let register = if writes {
            &mut self.write
        } else {
            &mut self.read
        };
        let at = (*register >> ADDRESS_SHIFT & ADDRESS_MASK) as usize % WORDS;
        if writes {
            self.words[at] = (*register >> DATA_SHIFT) as u16;
        } else {
            *register &= (1 << DATA_SHIFT) - 1;
            *register |= u32::from(self.words[at]) << DATA_SHIFT;
        }
        *register = *register & !START | DONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: [u8; 6] = [0x52, 0x54, 0, 0, 0, 1];

    fn word(nvm: &mut Nvm, at: u32) -> u16 {
        nvm.set_read(0, at << ADDRESS_SHIFT | START);
        assert_eq!(nvm.read_register() & DONE, 0);
        nvm.advance(ACCESS_NS - 1);
        assert_eq!(nvm.read_register() & DONE, 0);
        nvm.advance(ACCESS_NS);
        assert_ne!(nvm.read_register() & DONE, 0);
        (nvm.read_register() >> DATA_SHIFT) as u16
    }

    #[test]
    fn the_words_sum_up() {
        let mut nvm = Nvm::new(MAC);
        let sum = (0..64).fold(0, |sum: u16, at| sum.wrapping_add(word(&mut nvm, at)));
        assert_eq!(sum, 0xbaba);
        assert_eq!(nvm.address(), MAC);
    }

    #[test]
    fn a_word_is_written() {
        let mut nvm = Nvm::new(MAC);
        nvm.set_write(0, 0xcafe << DATA_SHIFT | 0x10 << ADDRESS_SHIFT | START);
        nvm.set_read(0, START); // too early
        nvm.advance(ACCESS_NS);
        assert_ne!(nvm.write_register() & DONE, 0);
        assert_eq!(nvm.read_register() & DONE, 0);
        assert_eq!(word(&mut nvm, 0x10), 0xcafe);
    }
}
