// SPDX-License-Identifier: GPL-2.0-or-later
//! The PHY inside the chip, modelled by its registers (IEEE 802.3 clause 22, and Linux's include/linux/microchipphy.h), and
//! its link partner: the tester's line, which offers 10, 100 and 1000 Mbit/s, full duplex, and pause frames if it is told to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where it answers on the MII bus.
pub const ADDRESS: u8 = 1;
/// How long negotiation takes until the link is up, in ns.
pub const NEGOTIATION_NS: u64 = 1_500_000_000;
/// How long the link takes to come up at a forced speed, in ns.
const FORCED_NS: u64 = 100_000_000;

const BMCR: u8 = 0;
const BMCR_RESET: u16 = 0x8000;
const BMCR_ANENABLE: u16 = 0x1000;
const BMCR_PDOWN: u16 = 0x0800;
const BMCR_ISOLATE: u16 = 0x0400;
const BMCR_ANRESTART: u16 = 0x0200;
const BMCR_SPEED100: u16 = 0x2000;
const BMCR_SPEED1000: u16 = 0x0040;
/// There is no link to the partner.
const BMCR_SILENT: u16 = BMCR_PDOWN | BMCR_ISOLATE | BMCR_LOOPBACK;
const BMCR_FULLDPLX: u16 = 0x0100;
const BMCR_LOOPBACK: u16 = 0x4000;
const BMSR: u8 = 1;
/// 10 and 100 Mbit/s both duplexes, extended status, negotiates, extended registers.
const BMSR_ABILITIES: u16 = 0x7949;
const BMSR_ANEGCOMPLETE: u16 = 0x0020;
const BMSR_LSTATUS: u16 = 0x0004;
const ANAR: u8 = 4;
const ANLPAR: u8 = 5;
/// The partner: acknowledges, 10 and 100 Mbit/s.
const PARTNER: u16 = 0x41e1;
/// The partner: symmetric pause.
const PARTNER_PAUSE: u16 = 0x0400;
const CTRL1000: u8 = 9;
const CTRL1000_FULL: u16 = 0x0200;
const STAT1000: u8 = 10;
/// The partner: 1000 Mbit/s full duplex, both receivers in order.
const PARTNER_1000: u16 = 0x3800;
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
    link: bool,
    /// The link was down since the status was last read.
    was_down: bool,
    /// When the link comes up.
    up_at_ns: Option<u64>,
    /// The partner advertises pause frames.
    #[serde(default)]
    partner_pauses: bool,
    /// The cable was pulled.
    #[serde(default)]
    pulled: bool,
}

impl Phy {
    /// A PHY that was powered on at `now_ns` and begins to negotiate.
    pub fn new(now_ns: u64) -> Self {
        let mut basic = vec![0; 16];
        basic[BMCR as usize] = BMCR_ANENABLE | BMCR_SPEED1000 | BMCR_FULLDPLX;
        basic[2] = 0x0007;
        basic[3] = 0xc132;
        basic[ANAR as usize] = 0x01e1;
        basic[CTRL1000 as usize] = CTRL1000_FULL;
        basic[15] = 0x2000;
        Phy {
            basic,
            paged: BTreeMap::new(),
            mmd: BTreeMap::new(),
            mmd_address: 0,
            page: 0,
            interrupts: 0,
            link: false,
            was_down: true,
            up_at_ns: Some(now_ns.saturating_add(NEGOTIATION_NS)),
            partner_pauses: false,
            pulled: false,
        }
    }

    /// Power or a reset begins everything anew, but not the partner.
    pub fn restart(&mut self, now_ns: u64) {
        *self = self.again(now_ns);
    }

    /// As a new one, with the same partner, at the same cable.
    pub fn again(&self, now_ns: u64) -> Self {
        let mut phy = Phy {
            partner_pauses: self.partner_pauses,
            ..Phy::new(now_ns)
        };
        phy.plug_cable(now_ns, !self.pulled);
        phy
    }

    /// The cable is pulled or put in.
    pub fn plug_cable(&mut self, now_ns: u64, plugged: bool) {
        if self.pulled != plugged {
            return;
        }
        self.pulled = !plugged;
        self.fall();
        self.begin(now_ns);
    }

    /// The link comes up if there is a cable, and both ends have a speed in common.
    fn begin(&mut self, now_ns: u64) {
        let control = self.basic[BMCR as usize];
        let alone = self.pulled || control & BMCR_SILENT != 0 || self.resolved().is_none();
        let takes_ns = if control & BMCR_ANENABLE != 0 {
            NEGOTIATION_NS
        } else {
            FORCED_NS
        };
        self.up_at_ns = (!alone).then(|| now_ns.saturating_add(takes_ns));
    }

    /// Sets that.
    pub fn set_partner(&mut self, pauses: bool) {
        self.partner_pauses = pauses;
    }

    /// The link's speed in bit/s; None without a link.
    pub fn link_bps(&self) -> Option<u64> {
        self.link.then(|| self.resolved()).flatten()
    }

    /// When the link changes by itself.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.up_at_ns
    }

    /// It wants the MAC's attention.
    pub fn interrupts(&self) -> bool {
        let mask = self.paged_get(INT_MASK);
        mask & INT_ACTIVE != 0 && self.interrupts & mask & !INT_ACTIVE != 0
    }

    /// Brings the link up if that is due.
    pub fn advance(&mut self, now_ns: u64) {
        if self.up_at_ns.is_some_and(|at_ns| at_ns <= now_ns) {
            self.up_at_ns = None;
            self.link = true;
            self.interrupts |= INT_LINK_CHANGE;
            if self.basic[BMCR as usize] & BMCR_ANENABLE != 0 {
                self.interrupts |= INT_AUTONEG_DONE;
            }
        }
    }

    /// Reads a register.
    pub fn read(&mut self, register: u8) -> u16 {
        let complete = self.link && self.basic[BMCR as usize] & BMCR_ANENABLE != 0;
        match register {
            BMSR => {
                let up = self.link && !std::mem::replace(&mut self.was_down, !self.link);
                let status = if complete { BMSR_ANEGCOMPLETE } else { 0 };
                BMSR_ABILITIES | status | if up { BMSR_LSTATUS } else { 0 }
            }
            ANLPAR => {
                if complete {
                    PARTNER
                        | if self.partner_pauses {
                            PARTNER_PAUSE
                        } else {
                            0
                        }
                } else {
                    0
                }
            }
            STAT1000 => {
                if complete {
                    PARTNER_1000
                } else {
                    0
                }
            }
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
            BMSR | 2 | 3 | ANLPAR | STAT1000 | 15 => {}
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

    fn control(&mut self, value: u16, now_ns: u64) {
        if value & BMCR_RESET != 0 {
            self.restart(now_ns);
            return;
        }
        let before = std::mem::replace(&mut self.basic[BMCR as usize], value & !BMCR_ANRESTART);
        let anew = if value & BMCR_ANENABLE == 0 {
            before != value
        } else {
            value & BMCR_ANRESTART != 0 || before & BMCR_ANENABLE == 0 || before & BMCR_SILENT != 0
        };
        if anew || value & BMCR_SILENT != 0 {
            self.fall();
            self.begin(now_ns);
        } else if self.resolved().is_none() {
            self.up_at_ns = None;
        }
    }

    fn fall(&mut self) {
        if std::mem::take(&mut self.link) {
            self.interrupts |= INT_LINK_CHANGE;
        }
        self.was_down = true;
    }

    /// The highest speed that both ends support, if any.
    fn resolved(&self) -> Option<u64> {
        let control = self.basic[BMCR as usize];
        if control & BMCR_ANENABLE == 0 {
            return Some(match control & (BMCR_SPEED100 | BMCR_SPEED1000) {
                0 => 10_000_000,
                BMCR_SPEED100 => 100_000_000,
                _ => 1_000_000_000,
            });
        }
        let common = self.basic[ANAR as usize] & PARTNER;
        if self.basic[CTRL1000 as usize] & CTRL1000_FULL != 0 {
            Some(1_000_000_000)
        } else if common & 0x0180 != 0 {
            Some(100_000_000)
        } else if common & 0x0060 != 0 {
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
        assert_eq!(phy.read(BMSR) & BMSR_LSTATUS, 0);
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
        assert_ne!(phy.read(BMSR) & BMSR_LSTATUS, 0);
        assert_eq!(phy.read(ANLPAR), PARTNER);
    }

    #[test]
    fn link_status_latches_low() {
        let mut phy = Phy::new(0);
        phy.advance(NEGOTIATION_NS);
        phy.read(BMSR);
        assert_ne!(phy.read(BMSR) & BMSR_LSTATUS, 0);
        phy.write(BMCR, BMCR_ANENABLE | BMCR_ANRESTART, NEGOTIATION_NS);
        phy.advance(2 * NEGOTIATION_NS);
        assert_eq!(phy.read(BMSR) & BMSR_LSTATUS, 0, "it was down");
        assert_ne!(phy.read(BMSR) & BMSR_LSTATUS, 0);
    }

    #[test]
    fn power_down_and_forced_speeds() {
        let mut phy = Phy::new(0);
        phy.write(BMCR, BMCR_PDOWN | BMCR_ANENABLE, 5);
        assert_eq!(phy.deadline_ns(), None);
        phy.write(BMCR, BMCR_SPEED100 | BMCR_FULLDPLX, 10);
        phy.advance(10 + FORCED_NS);
        assert_eq!(phy.link_bps(), Some(100_000_000));
        phy.write(CTRL1000, 0, 0);
        phy.write(ANAR, 0x0061, 0);
        phy.write(BMCR, BMCR_ANENABLE | BMCR_ANRESTART, 0);
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
