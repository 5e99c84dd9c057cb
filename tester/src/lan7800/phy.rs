// SPDX-License-Identifier: GPL-2.0-or-later
//! The PHY inside the chip, modelled by its registers ([`mii`], and Linux's include/linux/microchipphy.h).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::mii::{
    self, ANAR, ANLPAR, BMCR, BMSR, CTRL1000, ESTATUS, FORCED_NS, ID1, ID2, NEGOTIATION_NS,
    STAT1000, bmcr,
};

/// Where it answers on the MII bus.
pub const ADDRESS: u8 = 1;
const MMD_CTRL: u8 = 13;
const MMD_DATA: u8 = 14;
const TR_CR: u8 = 16;
const INT_MASK: u8 = 25;
const INT_STS: u8 = 26;
const INT_ACTIVE: u16 = 0x8000;
const INT_LINK_CHANGE: u16 = 0x2000;
const INT_AUTONEG_DONE: u16 = 0x0400;
const PAGE: u8 = 31;

/// The PHY.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phy {
    /// Registers 0 to 15.
    basic: Vec<u16>,
    /// Registers 16 to 30 of any page, by page and number, that were written.
    paged: BTreeMap<u32, u16>,
    /// MMD registers that were written, by device and address.
    mmd: BTreeMap<u32, u16>,
    mmd_address: u16,
    page: u16,
    interrupts: u16,
    link: mii::Link,
}

impl Phy {
    /// A PHY that was powered on at `now_ns` and begins to negotiate.
    pub fn new(now_ns: u64) -> Self {
        let mut basic = vec![0; 16];
        basic[BMCR as usize] = bmcr::ANENABLE | bmcr::SPEED1000 | bmcr::FULL_DUPLEX;
        basic[ID1 as usize] = 0x0007;
        basic[ID2 as usize] = 0xc132;
        basic[ANAR as usize] = 0x01e1;
        basic[CTRL1000 as usize] = mii::CTRL1000_FULL;
        basic[ESTATUS as usize] = mii::ABLE_1000;
        Phy {
            basic,
            paged: BTreeMap::new(),
            mmd: BTreeMap::new(),
            mmd_address: 0,
            page: 0,
            interrupts: 0,
            link: mii::Link::until(Some(now_ns.saturating_add(NEGOTIATION_NS))),
        }
    }

    /// The link's speed in bit/s; None without a link.
    pub fn link_bps(&self) -> Option<u64> {
        self.link.is_up().then(|| self.resolved()).flatten()
    }

    /// When the link changes by itself.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.link.deadline_ns()
    }

    /// It wants the MAC's attention.
    pub fn interrupts(&self) -> bool {
        let mask = self.paged_get(INT_MASK);
        mask & INT_ACTIVE != 0 && self.interrupts & mask & !INT_ACTIVE != 0
    }

    /// Brings the link up if that is due.
    pub fn advance(&mut self, now_ns: u64) {
        if self.link.advance(now_ns) {
            self.interrupts |= INT_LINK_CHANGE;
            if self.negotiates() {
                self.interrupts |= INT_AUTONEG_DONE;
            }
        }
    }

    /// Reads a register.
    pub fn read(&mut self, register: u8) -> u16 {
        let negotiated = self.link.is_up() && self.negotiates();
        let if_negotiated = |value| if negotiated { value } else { 0 };
        match register {
            BMSR => self.link.status(mii::ABILITIES_1000, negotiated),
            ANLPAR => if_negotiated(mii::PARTNER),
            STAT1000 => if_negotiated(mii::PARTNER_1000),
            MMD_DATA => {
                let control = self.basic[MMD_CTRL as usize];
                if control >> 14 == 0 {
                    return self.mmd_address;
                }
                self.mmd.get(&self.mmd_key()).copied().unwrap_or(0)
            }
            _ if register < 16 => self.basic[register as usize],
            INT_STS => {
                let pending = std::mem::take(&mut self.interrupts);
                pending | if pending != 0 { INT_ACTIVE } else { 0 }
            }
            // A write through the token ring page completes at once.
            TR_CR => self.paged_get(TR_CR) | 0x8000,
            PAGE => self.page,
            _ => self.paged_get(register),
        }
    }

    /// Writes a register at `now_ns`.
    pub fn write(&mut self, register: u8, value: u16, now_ns: u64) {
        match register {
            BMCR => self.control(value, now_ns),
            BMSR | ID1 | ID2 | ANLPAR | STAT1000 | ESTATUS => {}
            MMD_DATA if self.basic[MMD_CTRL as usize] >> 14 == 0 => self.mmd_address = value,
            MMD_DATA => {
                self.mmd.insert(self.mmd_key(), value);
            }
            _ if register < 16 => self.basic[register as usize] = value,
            INT_STS => {}
            PAGE => self.page = value,
            _ => {
                self.paged.insert(self.page_key(register), value);
            }
        }
    }

    fn negotiates(&self) -> bool {
        self.basic[BMCR as usize] & bmcr::ANENABLE != 0
    }

    fn control(&mut self, value: u16, now_ns: u64) {
        if value & bmcr::RESET != 0 {
            *self = Phy::new(now_ns);
            return;
        }
        let silent = bmcr::PDOWN | bmcr::ISOLATE | bmcr::LOOPBACK;
        let before = std::mem::replace(&mut self.basic[BMCR as usize], value & !bmcr::ANRESTART);
        if value & silent != 0 {
            self.fall(None);
        } else if value & bmcr::ANENABLE == 0 {
            if before != value {
                self.fall(Some(now_ns.saturating_add(FORCED_NS)));
            }
        } else if value & bmcr::ANRESTART != 0
            || before & bmcr::ANENABLE == 0
            || before & silent != 0
        {
            self.fall(Some(now_ns.saturating_add(NEGOTIATION_NS)));
        }
        if self.deadline_ns().is_some() && self.resolved().is_none() {
            self.link.down(None);
        }
    }

    /// The link is lost; when it comes back, in ns.
    fn fall(&mut self, up_at_ns: Option<u64>) {
        if self.link.is_up() {
            self.interrupts |= INT_LINK_CHANGE;
        }
        self.link.down(up_at_ns);
    }

    /// The highest speed that both ends support, if any, in bit/s.
    fn resolved(&self) -> Option<u64> {
        let control = self.basic[BMCR as usize];
        if !self.negotiates() {
            return Some(match control & (bmcr::SPEED100 | bmcr::SPEED1000) {
                0 => 10_000_000,
                bmcr::SPEED100 => 100_000_000,
                _ => 1_000_000_000,
            });
        }
        let common = self.basic[ANAR as usize] & mii::PARTNER;
        if self.basic[CTRL1000 as usize] & mii::CTRL1000_FULL != 0 {
            Some(1_000_000_000)
        } else if common & mii::ANAR_100 != 0 {
            Some(100_000_000)
        } else if common & mii::ANAR_10 != 0 {
            Some(10_000_000)
        } else {
            None
        }
    }

    fn mmd_key(&self) -> u32 {
        (u32::from(self.basic[MMD_CTRL as usize] & 0x1f) << 16) | u32::from(self.mmd_address)
    }

    /// The interrupt registers are the same on every page.
    fn page_key(&self, register: u8) -> u32 {
        let page = if matches!(register, INT_MASK | INT_STS) {
            0
        } else {
            u32::from(self.page)
        };
        (page << 8) | u32::from(register)
    }

    fn paged_get(&self, register: u8) -> u16 {
        self.paged
            .get(&self.page_key(register))
            .copied()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negotiates_a_gigabit_and_says_so_once() {
        let mut phy = Phy::new(0);
        assert_eq!((phy.read(2), phy.read(3)), (0x0007, 0xc132));
        phy.write(INT_MASK, INT_ACTIVE | INT_LINK_CHANGE, 0);
        assert_eq!(phy.read(BMSR), 0x7949);
        phy.advance(NEGOTIATION_NS - 1);
        assert_eq!(phy.link_bps(), None);
        assert!(!phy.interrupts());
        phy.advance(NEGOTIATION_NS);
        assert_eq!(phy.link_bps(), Some(1_000_000_000));
        assert!(phy.interrupts());
        assert_ne!(phy.read(INT_STS) & INT_LINK_CHANGE, 0);
        assert!(!phy.interrupts(), "read and gone");
        assert_eq!(phy.read(INT_STS), 0);
        phy.read(BMSR);
        assert_eq!(phy.read(BMSR), 0x796d);
        assert_eq!(phy.read(ANLPAR), mii::PARTNER);
    }

    #[test]
    fn a_restarted_negotiation_drops_the_link() {
        let mut phy = Phy::new(0);
        phy.advance(NEGOTIATION_NS);
        phy.read(BMSR);
        assert_eq!(phy.read(BMSR), 0x796d);
        phy.write(BMCR, bmcr::ANENABLE | bmcr::ANRESTART, NEGOTIATION_NS);
        phy.advance(2 * NEGOTIATION_NS);
        assert_eq!(phy.read(BMSR), 0x7969, "it was down");
        assert_eq!(phy.read(BMSR), 0x796d);
    }

    #[test]
    fn power_down_and_forced_speeds() {
        let mut phy = Phy::new(0);
        phy.write(BMCR, bmcr::PDOWN | bmcr::ANENABLE, 5);
        assert_eq!(phy.deadline_ns(), None);
        phy.write(BMCR, bmcr::SPEED100 | bmcr::FULL_DUPLEX, 10);
        phy.advance(10 + FORCED_NS);
        assert_eq!(phy.link_bps(), Some(100_000_000));
        phy.write(CTRL1000, 0, 0);
        phy.write(ANAR, 0x0061, 0);
        phy.write(BMCR, bmcr::ANENABLE | bmcr::ANRESTART, 0);
        phy.advance(NEGOTIATION_NS);
        assert_eq!(phy.link_bps(), Some(10_000_000));
    }

    #[test]
    fn pages_and_mmd_keep_what_is_written() {
        let mut phy = Phy::new(0);
        phy.write(PAGE, 1, 0);
        phy.write(19, 0x000c, 0);
        phy.write(PAGE, 0, 0);
        assert_eq!(phy.read(19), 0);
        phy.write(PAGE, 1, 0);
        assert_eq!(phy.read(19), 0x000c);
        phy.write(MMD_CTRL, 3, 0);
        phy.write(MMD_DATA, 0x806a, 0);
        phy.write(MMD_CTRL, 0x4003, 0);
        phy.write(MMD_DATA, 0x2000, 0);
        assert_eq!(phy.read(MMD_DATA), 0x2000);
        phy.write(PAGE, 0x52b5, 0);
        phy.write(TR_CR, 0x8f82, 0);
        assert_ne!(phy.read(TR_CR) & 0x8000, 0);
    }
}
