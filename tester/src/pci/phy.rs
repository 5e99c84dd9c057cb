// SPDX-License-Identifier: GPL-2.0-or-later
//! A Fast Ethernet PHY by its registers ([`mii`]).

use serde::{Deserialize, Serialize};

use super::mdi;
use crate::mii::{self, ANAR, ANER, ANLPAR, BMCR, BMSR, FORCED_NS, ID1, ID2, NEGOTIATION_NS, bmcr};

const REGISTERS: usize = 32;
const ALL_SPEEDS: u16 = 0x01e1;

/// The PHY.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phy {
    id: [u16; 2],
    registers: Vec<u16>,
    link: mii::Link,
}

impl Phy {
    /// A PHY with these identifiers (registers 2 and 3) that was powered up at `now_ns`.
    pub fn new(now_ns: u64, id: [u16; 2]) -> Self {
        let mut phy = Phy {
            id,
            registers: Vec::new(),
            link: mii::Link::until(None),
        };
        phy.restart(now_ns);
        phy
    }

    /// Back to the strapped values.
    fn restart(&mut self, now_ns: u64) {
        self.registers = vec![0; REGISTERS];
        self.set(BMCR, bmcr::ANENABLE | bmcr::SPEED100);
        self.set(ANAR, ALL_SPEEDS);
        self.link.down(Some(now_ns + NEGOTIATION_NS));
    }

    fn get(&self, number: u8) -> u16 {
        self.registers
            .get(usize::from(number))
            .copied()
            .unwrap_or(0)
    }

    fn set(&mut self, number: u8, value: u16) {
        if let Some(register) = self.registers.get_mut(usize::from(number)) {
            *register = value;
        }
    }

    /// The speed of the link, in bit/s; None: there is none.
    pub fn link_bps(&self) -> Option<u64> {
        let fast = if self.negotiates() {
            self.get(ANAR) & mii::ANAR_100 != 0
        } else {
            self.get(BMCR) & bmcr::SPEED100 != 0
        };
        let bps = if fast { 100_000_000 } else { 10_000_000 };
        self.link.is_up().then_some(bps)
    }

    /// Whether frames come back from the PHY, in loopback.
    pub fn loops(&self) -> bool {
        self.get(BMCR) & bmcr::LOOPBACK != 0
    }

    fn negotiates(&self) -> bool {
        self.get(BMCR) & bmcr::ANENABLE != 0
    }
}

impl mdi::Phy for Phy {
    fn deadline_ns(&self) -> Option<u64> {
        self.link.deadline_ns()
    }

    fn advance(&mut self, now_ns: u64) -> bool {
        self.link.advance(now_ns)
    }

    fn read(&mut self, number: u8) -> u16 {
        let negotiated = self.link.is_up() && self.negotiates();
        match number {
            BMSR => self.link.status(mii::ABILITIES, negotiated),
            ID1 => self.id[0],
            ID2 => self.id[1],
            ANLPAR if negotiated => mii::PARTNER,
            ANLPAR => 0,
            ANER => u16::from(negotiated), // the partner negotiates
            _ => self.get(number),
        }
    }

    fn write(&mut self, now_ns: u64, number: u8, value: u16) {
        match number {
            BMCR if value & bmcr::RESET != 0 => self.restart(now_ns),
            BMCR => {
                let before = self.get(BMCR);
                self.set(BMCR, value & !bmcr::ANRESTART);
                let silent = bmcr::PDOWN | bmcr::ISOLATE | bmcr::LOOPBACK;
                let decides = bmcr::ANENABLE | bmcr::SPEED100 | bmcr::FULL_DUPLEX | silent;
                if value & bmcr::ANENABLE != 0 {
                    let anew = value & bmcr::ANRESTART != 0
                        || (before ^ value) & (bmcr::ANENABLE | silent) != 0;
                    if anew {
                        let alone = value & silent != 0;
                        self.link.down((!alone).then_some(now_ns + NEGOTIATION_NS));
                    }
                } else if (before ^ value) & decides != 0 {
                    let alone = value & silent != 0;
                    self.link.down((!alone).then_some(now_ns + FORCED_NS));
                }
            }
            ANAR | 8..=31 => self.set(number, value),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::mdi::Phy as _;
    use super::*;

    #[test]
    fn the_link_comes_up_after_negotiation_and_its_loss_is_latched() {
        let mut phy = Phy::new(0, [1, 2]);
        assert_eq!((phy.link_bps(), phy.read(2), phy.read(3)), (None, 1, 2));
        assert!(!phy.advance(NEGOTIATION_NS - 1));
        assert!(phy.advance(NEGOTIATION_NS));
        assert!(!phy.advance(NEGOTIATION_NS), "once");
        assert_eq!(phy.link_bps(), Some(100_000_000));
        assert_eq!(phy.read(BMSR), 0x7829, "latched low since power-up");
        assert_eq!(phy.read(BMSR), 0x782d);
        phy.write(NEGOTIATION_NS, BMCR, 0x2000); // forced, 100 Mbit/s
        assert_eq!(phy.link_bps(), None);
        phy.advance(NEGOTIATION_NS + FORCED_NS);
        assert_eq!(phy.link_bps(), Some(100_000_000));
    }

    #[test]
    fn a_speed_that_is_not_advertised_is_not_chosen() {
        let mut phy = Phy::new(0, [0; 2]);
        phy.write(0, ANAR, 0x0061);
        phy.write(0, BMCR, 0x1200);
        phy.advance(NEGOTIATION_NS);
        assert_eq!(phy.link_bps(), Some(10_000_000));
    }
}
