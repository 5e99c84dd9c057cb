// SPDX-License-Identifier: GPL-2.0-or-later
//! A card's interface to its PHY, of one register: a command, the PHY's and the register's number, and 16 bits of data. Intel's chips have
//! it, from the 82557 (manual, section 6.3.5) to the 82574 (data sheet, section 10.2.2.7).

use serde::{Deserialize, Serialize};

/// Where the PHY answers.
pub const ADDRESS: u32 = 1;
/// A frame on the MDI takes 64 cycles of a clock of at most 2.5 MHz (IEEE 802.3, 22.2.2.11 and 22.2.4.5), in ns.
pub const CYCLE_NS: u64 = 64 * 400;

/// An access that is over interrupts.
pub const INTERRUPT: u32 = 1 << 29;
/// The access is over.
pub const READY: u32 = 1 << 28;
/// Nobody has answered; only some chips say so.
pub const ERROR: u32 = 1 << 30;
const OPCODE_SHIFT: u32 = 26;
const WRITE: u32 = 1;
const READ: u32 = 2;
const PHY_SHIFT: u32 = 21;
const REGISTER_SHIFT: u32 = 16;
const FIVE_BITS: u32 = 0x1f;
const DATA: u32 = 0xffff;

/// A PHY by its registers.
pub trait Phy {
    /// Reads a register.
    fn read(&mut self, number: u8) -> u16;
    /// Writes a register.
    fn write(&mut self, now_ns: u64, number: u8, value: u16);
    /// When something changes by itself, in ns.
    fn deadline_ns(&self) -> Option<u64>;
    /// Does what is due. True: the link came up.
    fn advance(&mut self, now_ns: u64) -> bool;
}

/// The interface, and the PHY.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mdi<P> {
    /// The PHY.
    pub phy: P,
    control: u32,
    /// [`ERROR`] if the chip has that bit.
    error: u32,
    /// When the access under way is over, in ns.
    busy_until_ns: Option<u64>,
}

impl<P: Phy> Mdi<P> {
    /// An idle interface. `error` is [`ERROR`] if the chip has that bit, 0 otherwise.
    pub fn new(phy: P, error: u32) -> Self {
        Mdi {
            phy,
            control: READY,
            error,
            busy_until_ns: None,
        }
    }

    /// The next instant at which something changes, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        let link = self.phy.deadline_ns();
        link.into_iter().chain(self.busy_until_ns).min()
    }

    /// Does what is due. True: an access is over that was to interrupt.
    pub fn advance(&mut self, now_ns: u64) -> bool {
        self.phy.advance(now_ns);
        if self.busy_until_ns.is_some_and(|at_ns| at_ns <= now_ns) {
            self.busy_until_ns = None;
            self.finish(now_ns);
            return self.control & INTERRUPT != 0;
        }
        false
    }

    /// The register.
    pub fn control(&self) -> u32 {
        self.control
    }

    /// The processor writes the register. It is ignored while an access is under way: software has to wait for [`READY`].
    pub fn set_control(&mut self, now_ns: u64, value: u32) {
        let opcode = value >> OPCODE_SHIFT & 3;
        if self.busy_until_ns.is_some() {
            return;
        }
        self.control = value & !(READY | self.error);
        if opcode == READ || opcode == WRITE {
            self.busy_until_ns = Some(now_ns + CYCLE_NS);
        } else {
            self.control |= READY;
        }
    }

    fn finish(&mut self, now_ns: u64) {
        let number = (self.control >> REGISTER_SHIFT & FIVE_BITS) as u8;
        let answers = self.control >> PHY_SHIFT & FIVE_BITS == ADDRESS;
        if self.control >> OPCODE_SHIFT & 3 == READ {
            // Nobody drives the data line at other addresses: it is pulled up.
            let value = if answers {
                self.phy.read(number)
            } else {
                u16::MAX
            };
            self.control = self.control & !DATA | u32::from(value);
        } else if answers {
            self.phy.write(now_ns, number, self.control as u16);
        }
        self.control |= READY | if answers { 0 } else { self.error };
    }
}

/// Commands, for register scripts.
#[cfg(test)]
pub mod script {
    use super::*;

    /// The command that reads a register.
    pub fn read(number: u8) -> u32 {
        READ << OPCODE_SHIFT | ADDRESS << PHY_SHIFT | u32::from(number) << REGISTER_SHIFT
    }

    /// The command that writes one.
    pub fn write(number: u8, value: u16) -> u32 {
        let place = ADDRESS << PHY_SHIFT | u32::from(number) << REGISTER_SHIFT;
        WRITE << OPCODE_SHIFT | place | u32::from(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mii::ANAR;
    use crate::pci::phy;

    fn mdi(error: u32) -> Mdi<phy::Phy> {
        Mdi::new(phy::Phy::new(0, [0x02a8, 0x0154]), error)
    }

    fn access(mdi: &mut Mdi<phy::Phy>, now_ns: u64, command: u32) -> u32 {
        mdi.set_control(now_ns, command);
        assert_eq!(mdi.control() & READY, 0);
        assert!(!mdi.advance(now_ns + CYCLE_NS - 1));
        assert_eq!(mdi.control() & READY, 0);
        mdi.advance(now_ns + CYCLE_NS);
        assert_ne!(mdi.control() & READY, 0);
        mdi.control() & DATA
    }

    #[test]
    fn an_access_takes_64_cycles_and_only_address_1_answers() {
        let elsewhere = READ << OPCODE_SHIFT | 2 << PHY_SHIFT;
        for error in [0, ERROR] {
            let mut mdi = mdi(error);
            assert_eq!(access(&mut mdi, 100, script::read(2)), 0x02a8);
            assert_eq!(mdi.control() & ERROR, 0);
            assert_eq!(access(&mut mdi, 100_000, elsewhere), 0xffff);
            assert_eq!(mdi.control() & ERROR, error);
            mdi.set_control(200_000, INTERRUPT | elsewhere);
            assert!(mdi.advance(200_000 + CYCLE_NS), "was to interrupt");
        }
    }

    #[test]
    fn registers_are_written() {
        let mut mdi = mdi(0);
        access(&mut mdi, 0, script::write(ANAR, 0x0061));
        assert_eq!(access(&mut mdi, 100_000, script::read(ANAR)), 0x0061);
    }
}
