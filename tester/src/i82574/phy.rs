// SPDX-License-Identifier: GPL-2.0-or-later
//! The PHY behind MDIC, by its registers ([`mii`]; data sheet, section 10.2.8).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::mii::{
    self, ANAR, ANER, ANLPAR, BMCR, BMSR, CTRL1000, ESTATUS, FORCED_NS, ID1, ID2, NEGOTIATION_NS,
    STAT1000, bmcr,
};
use crate::pci::mdi;

/// Linux calls this one BME1000, revision 2.
const ID: [u16; 2] = [0x0141, 0x0cb1];
const ALL_SPEEDS: u16 = 0x0de1;
/// ANER: both can negotiate, and a page was received.
const NEGOTIATED: u16 = 0x0003;
/// Copper specific status 1: speed, full duplex, resolved, link (real time).
const COPPER_STATUS: u8 = 17;
const COPPER_SPEED_SHIFT: u32 = 14;
const COPPER_FULL_DUPLEX: u16 = 0x2000;
const COPPER_RESOLVED: u16 = 0x0800;
const COPPER_LINK: u16 = 0x0400;
/// The page of registers 16 to 21 and 23 to 30.
const PAGE: u8 = 22;
/// Registers 0 to 15 are the same on all pages.
const ANY_PAGE: u8 = 16;

/// The PHY.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phy {
    /// What was written, by page and number.
    registers: BTreeMap<u32, u16>,
    link: mii::Link,
}

/// A register's place in [`Phy::registers`].
fn key(page: u16, number: u8) -> u32 {
    u32::from(page) << 5 | u32::from(number)
}

impl Phy {
    /// A PHY that was powered up at `now_ns`.
    pub fn new(now_ns: u64) -> Self {
        let mut phy = Phy {
            registers: BTreeMap::new(),
            link: mii::Link::until(None),
        };
        phy.reset(now_ns);
        phy
    }

    /// A hardware reset: back to the defaults, and negotiates.
    pub fn reset(&mut self, now_ns: u64) {
        self.registers.clear();
        for (number, value) in [
            (BMCR, bmcr::ANENABLE | bmcr::SPEED1000 | bmcr::FULL_DUPLEX),
            (ANAR, ALL_SPEEDS),
            (CTRL1000, mii::CTRL1000_FULL),
        ] {
            self.set(0, number, value);
        }
        self.link.down(Some(now_ns + NEGOTIATION_NS));
    }

    fn get(&self, page: u16, number: u8) -> u16 {
        let value = self.registers.get(&key(page, number));
        value.copied().unwrap_or(0)
    }

    fn set(&mut self, page: u16, number: u8, value: u16) {
        self.registers.insert(key(page, number), value);
    }

    /// The page that a register is on now.
    fn page_of(&self, number: u8) -> u16 {
        if number < ANY_PAGE || number == PAGE {
            0
        } else {
            self.get(0, PAGE)
        }
    }

    fn negotiates(&self) -> bool {
        self.get(0, BMCR) & bmcr::ANENABLE != 0
    }

    /// The speed of the link, in bit/s; None: there is none.
    pub fn link_bps(&self) -> Option<u64> {
        let (gigabit, fast) = if self.negotiates() {
            (
                self.get(0, CTRL1000) & mii::CTRL1000_FULL != 0,
                self.get(0, ANAR) & mii::ANAR_100 != 0,
            )
        } else {
            let control = self.get(0, BMCR);
            (
                control & bmcr::SPEED1000 != 0,
                control & bmcr::SPEED100 != 0,
            )
        };
        let bps = match (gigabit, fast) {
            (true, _) => 1_000_000_000,
            (false, true) => 100_000_000,
            (false, false) => 10_000_000,
        };
        self.link.is_up().then_some(bps)
    }

    /// Whether frames come back from the PHY, in loopback.
    pub fn loops(&self) -> bool {
        self.get(0, BMCR) & bmcr::LOOPBACK != 0
    }

    fn set_control(&mut self, now_ns: u64, value: u16) {
        let before = self.get(0, BMCR);
        let now = value & !(bmcr::RESET | bmcr::ANRESTART);
        self.set(0, BMCR, now);
        if now & bmcr::LOOPBACK != 0 {
            // The PHY reports a link in loopback.
            self.link.up();
        } else if now & (bmcr::PDOWN | bmcr::ISOLATE) != 0 {
            self.link.down(None);
        } else if value & (bmcr::RESET | bmcr::ANRESTART) != 0 || now != before {
            let takes_ns = if now & bmcr::ANENABLE != 0 {
                NEGOTIATION_NS
            } else {
                FORCED_NS
            };
            self.link.down(Some(now_ns + takes_ns));
        }
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
        let if_negotiated = |value| if negotiated { value } else { 0 };
        match (self.page_of(number), number) {
            (0, BMSR) => self.link.status(mii::ABILITIES_1000, negotiated),
            (0, ID1) => ID[0],
            (0, ID2) => ID[1],
            (0, ANLPAR) => if_negotiated(mii::PARTNER),
            (0, ANER) => if_negotiated(NEGOTIATED),
            (0, STAT1000) => if_negotiated(mii::PARTNER_1000),
            (0, ESTATUS) => mii::ABLE_1000,
            (0, COPPER_STATUS) => {
                let speed = match self.link_bps() {
                    Some(1_000_000_000) => 2,
                    Some(100_000_000) => 1,
                    _ => 0,
                };
                let up = COPPER_FULL_DUPLEX | COPPER_RESOLVED | COPPER_LINK;
                speed << COPPER_SPEED_SHIFT | if self.link.is_up() { up } else { 0 }
            }
            (page, number) => self.get(page, number),
        }
    }

    fn write(&mut self, now_ns: u64, number: u8, value: u16) {
        match (self.page_of(number), number) {
            (0, BMCR) => self.set_control(now_ns, value),
            (0, BMSR | ID1 | ID2 | ANLPAR | ANER | STAT1000 | ESTATUS | COPPER_STATUS) => {}
            (page, number) => self.set(page, number, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::mdi::Phy as _;
    use super::*;

    #[test]
    fn the_link_comes_up_after_the_negotiation() {
        let mut phy = Phy::new(0);
        phy.advance(NEGOTIATION_NS - 1);
        assert_eq!(phy.link_bps(), None);
        phy.advance(NEGOTIATION_NS);
        assert_eq!(phy.link_bps(), Some(1_000_000_000));
        let status = [0, 1].map(|_| phy.read(BMSR) & 0x24);
        assert_eq!(status, [0x20, 0x24], "the link's loss is latched");
        assert_eq!(phy.read(COPPER_STATUS), 0xac00);
    }

    #[test]
    fn what_is_advertised_decides_the_speed() {
        for (control, advertised, bps) in [
            (0x0200, 0x0de1, 1_000_000_000),
            (0, 0x0de1, 100_000_000),
            (0, 0x0061, 10_000_000),
        ] {
            let mut phy = Phy::new(0);
            phy.write(0, CTRL1000, control);
            phy.write(0, ANAR, advertised);
            phy.write(0, BMCR, bmcr::ANENABLE | bmcr::ANRESTART);
            phy.advance(2 * NEGOTIATION_NS);
            assert_eq!(phy.link_bps(), Some(bps));
        }
    }

    #[test]
    fn higher_registers_have_pages() {
        let mut phy = Phy::new(0);
        for (page, value) in [(0, 0x1111), (2, 0x2222)] {
            phy.write(0, PAGE, page);
            phy.write(0, 21, value);
        }
        assert_eq!(phy.read(21), 0x2222);
        assert_eq!(phy.read(ID1), 0x0141);
        phy.write(0, PAGE, 0);
        assert_eq!(phy.read(21), 0x1111);
    }

    #[test]
    fn loopback_has_a_link_at_once() {
        let mut phy = Phy::new(0);
        phy.write(0, BMCR, bmcr::LOOPBACK | bmcr::SPEED100);
        assert!(phy.loops());
        assert_eq!(phy.link_bps(), Some(100_000_000));
        phy.write(0, BMCR, bmcr::PDOWN);
        assert_eq!((phy.link_bps(), phy.deadline_ns()), (None, None));
    }
}
