// SPDX-License-Identifier: GPL-2.0-or-later
//! MDIC (data sheet, section 10.2.2.7) and the PHY behind it, by its registers (10.2.8, IEEE 802.3 clauses 22, 28 and 40). Its link
//! partner is the tester's line: 10, 100 and 1000 Mbit/s, full duplex, no pause frames.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Where the PHY answers.
const ADDRESS: u32 = 1;
/// A frame on the MDI takes 64 cycles of a clock of at most 2.5 MHz (IEEE 802.3, 22.2.2.11 and 22.2.4.5), in ns.
pub const CYCLE_NS: u64 = 64 * 400;
/// How long negotiation takes until the link is up, and how long a forced speed takes, in ns; as for the LAN7800.
pub const NEGOTIATION_NS: u64 = 1_500_000_000;
const FORCED_NS: u64 = 100_000_000;

/// MDIC.
pub const INTERRUPT: u32 = 1 << 29;
pub const READY: u32 = 1 << 28;
const ERROR: u32 = 1 << 30;
const OPCODE_SHIFT: u32 = 26;
pub const WRITE: u32 = 1;
pub const READ: u32 = 2;
pub const PHY_SHIFT: u32 = 21;
pub const REGISTER_SHIFT: u32 = 16;
const FIVE_BITS: u32 = 0x1f;
const DATA: u32 = 0xffff;

const BMCR: u32 = 0;
const BMCR_RESET: u16 = 0x8000;
const BMCR_LOOPBACK: u16 = 0x4000;
const BMCR_SPEED100: u16 = 0x2000;
const BMCR_ANENABLE: u16 = 0x1000;
const BMCR_PDOWN: u16 = 0x0800;
const BMCR_ISOLATE: u16 = 0x0400;
const BMCR_ANRESTART: u16 = 0x0200;
const BMCR_FULL_DUPLEX: u16 = 0x0100;
const BMCR_SPEED1000: u16 = 0x0040;
const BMSR: u32 = 1;
/// 10 and 100 Mbit/s in both duplexes, extended status, negotiates, extended registers.
const BMSR_ABILITIES: u16 = 0x7949;
const BMSR_COMPLETE: u16 = 0x0020;
const BMSR_LINK: u16 = 0x0004;
/// Linux calls this one BME1000, revision 2.
const ID: [u16; 2] = [0x0141, 0x0cb1];
const ANAR: u32 = 4;
const ANAR_100: u16 = 0x0180;
const ALL_SPEEDS: u16 = 0x0de1;
const ANLPAR: u32 = 5;
/// The partner acknowledges and offers 10 and 100 Mbit/s.
const PARTNER: u16 = 0x41e1;
const EXPANSION: u32 = 6;
/// Both can negotiate, and a page was received.
const NEGOTIATED: u16 = 0x0003;
const CONTROL1000: u32 = 9;
const CONTROL1000_FULL: u16 = 0x0200;
const STATUS1000: u32 = 10;
/// The partner: 1000 Mbit/s full duplex, both receivers in order.
const PARTNER_1000: u16 = 0x3800;
const EXTENDED_STATUS: u32 = 15;
/// 1000BASE-T full duplex.
const ABLE_1000: u16 = 0x2000;
/// Copper specific status 1: speed, full duplex, resolved, link (real time).
const COPPER_STATUS: u32 = 17;
const COPPER_SPEED_SHIFT: u32 = 14;
const COPPER_FULL_DUPLEX: u16 = 0x2000;
const COPPER_RESOLVED: u16 = 0x0800;
const COPPER_LINK: u16 = 0x0400;
/// The page of registers 16 to 21 and 23 to 30.
const PAGE: u32 = 22;
/// Registers 0 to 15 are the same on all pages.
const ANY_PAGE: u32 = 16;

/// The PHY, and the interface to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phy {
    /// What was written, by page and number.
    registers: BTreeMap<u32, u16>,
    /// When the link comes up, in ns; None: never. It is up once this has passed.
    link_at_ns: Option<u64>,
    link: bool,
    /// The link was down since the status was read.
    dropped: bool,
    /// The cable was pulled.
    #[serde(default)]
    pulled: bool,
    control: u32,
    /// When the access under way is over, in ns.
    busy_until_ns: Option<u64>,
}

impl Phy {
    /// A PHY that was powered up at `now_ns`.
    pub fn new(now_ns: u64) -> Self {
        let mut phy = Phy {
            registers: BTreeMap::new(),
            link_at_ns: None,
            link: false,
            dropped: true,
            pulled: false,
            control: READY,
            busy_until_ns: None,
        };
        phy.reset(now_ns);
        phy
    }

    /// A hardware reset: back to the defaults, and negotiates.
    pub fn reset(&mut self, now_ns: u64) {
        self.registers = BTreeMap::from([
            (BMCR, BMCR_ANENABLE | BMCR_SPEED1000 | BMCR_FULL_DUPLEX),
            (ANAR, ALL_SPEEDS),
            (CONTROL1000, CONTROL1000_FULL),
        ]);
        self.begin(now_ns);
    }

    /// As a new one, at the same cable.
    pub fn again(&self, now_ns: u64) -> Self {
        let mut phy = Phy::new(now_ns);
        phy.plug_cable(now_ns, !self.pulled);
        phy
    }

    /// The cable is pulled or put in.
    pub fn plug_cable(&mut self, now_ns: u64, plugged: bool) {
        if self.pulled == plugged {
            self.pulled = !plugged;
            self.begin(now_ns);
        }
    }

    /// The link is lost. It comes up again if there is a cable and the PHY is not silent. In loopback the PHY reports a link.
    fn begin(&mut self, now_ns: u64) {
        let control = self.plain(BMCR);
        if control & BMCR_LOOPBACK != 0 {
            (self.link, self.link_at_ns) = (true, Some(now_ns));
            return;
        }
        let alone = self.pulled || control & (BMCR_PDOWN | BMCR_ISOLATE) != 0;
        let takes_ns = if control & BMCR_ANENABLE != 0 {
            NEGOTIATION_NS
        } else {
            FORCED_NS
        };
        let until_ns = (!alone).then_some(now_ns + takes_ns);
        (self.link, self.dropped, self.link_at_ns) = (false, true, until_ns);
    }

    fn plain(&self, number: u32) -> u16 {
        self.registers.get(&number).copied().unwrap_or(0)
    }

    fn place(&self, number: u32) -> u32 {
        if number < ANY_PAGE || number == PAGE {
            number
        } else {
            u32::from(self.plain(PAGE)) << 5 | number
        }
    }

    /// The speed that the registers lead to, in bit/s.
    fn resolved(&self) -> u64 {
        let control = self.plain(BMCR);
        let (gigabit, fast) = if control & BMCR_ANENABLE != 0 {
            (
                self.plain(CONTROL1000) & CONTROL1000_FULL != 0,
                self.plain(ANAR) & ANAR_100 != 0,
            )
        } else {
            (control & BMCR_SPEED1000 != 0, control & BMCR_SPEED100 != 0)
        };
        match (gigabit, fast) {
            (true, _) => 1_000_000_000,
            (false, true) => 100_000_000,
            (false, false) => 10_000_000,
        }
    }

    /// The speed of the link, in bit/s; None: there is none.
    pub fn link_bps(&self) -> Option<u64> {
        self.link.then(|| self.resolved())
    }

    /// Whether frames come back from the PHY, in loopback.
    pub fn loops(&self) -> bool {
        self.plain(BMCR) & BMCR_LOOPBACK != 0
    }

    /// The next instant at which something changes, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        let link = self.link_at_ns.filter(|_| !self.link);
        link.into_iter().chain(self.busy_until_ns).min()
    }

    /// Does what is due. True: an access is over that was to interrupt.
    pub fn advance(&mut self, now_ns: u64) -> bool {
        if self.link_at_ns.is_some_and(|at_ns| at_ns <= now_ns) && !self.link {
            self.link = true;
        }
        if self.busy_until_ns.is_some_and(|at_ns| at_ns <= now_ns) {
            self.busy_until_ns = None;
            self.finish(now_ns);
            return self.control & INTERRUPT != 0;
        }
        false
    }

    /// MDIC.
    pub fn control(&self) -> u32 {
        self.control
    }

    /// The processor writes MDIC.
    pub fn set_control(&mut self, now_ns: u64, value: u32) {
        let opcode = value >> OPCODE_SHIFT & 3;
        if self.busy_until_ns.is_some() {
            return;
        }
        self.control = value & !(READY | ERROR);
        if opcode == READ || opcode == WRITE {
            self.busy_until_ns = Some(now_ns + CYCLE_NS);
        } else {
            self.control |= READY;
        }
    }

    fn finish(&mut self, now_ns: u64) {
        let number = self.control >> REGISTER_SHIFT & FIVE_BITS;
        let answers = self.control >> PHY_SHIFT & FIVE_BITS == ADDRESS;
        if self.control >> OPCODE_SHIFT & 3 == READ {
            let value = if answers { self.read(number) } else { u16::MAX };
            self.control = self.control & !DATA | u32::from(value);
        } else if answers {
            self.write(now_ns, number, self.control as u16);
        }
        self.control |= READY | if answers { 0 } else { ERROR };
    }

    fn read(&mut self, number: u32) -> u16 {
        let negotiated = self.link && self.plain(BMCR) & BMCR_ANENABLE != 0;
        let if_negotiated = |value| if negotiated { value } else { 0 };
        match self.place(number) {
            BMSR => {
                let link = self.link && !self.dropped;
                self.dropped = !self.link;
                BMSR_ABILITIES | if_negotiated(BMSR_COMPLETE) | if link { BMSR_LINK } else { 0 }
            }
            2 => ID[0],
            3 => ID[1],
            ANLPAR => if_negotiated(PARTNER),
            EXPANSION => if_negotiated(NEGOTIATED),
            STATUS1000 => if_negotiated(PARTNER_1000),
            EXTENDED_STATUS => ABLE_1000,
            COPPER_STATUS => {
                let speed = match self.link_bps() {
                    Some(1_000_000_000) => 2,
                    Some(100_000_000) => 1,
                    _ => 0,
                };
                let up = COPPER_FULL_DUPLEX | COPPER_RESOLVED | COPPER_LINK;
                speed << COPPER_SPEED_SHIFT | if self.link { up } else { 0 }
            }
            place => self.plain(place),
        }
    }

    fn write(&mut self, now_ns: u64, number: u32, value: u16) {
        match self.place(number) {
            BMCR => self.set_bmcr(now_ns, value),
            BMSR | 2 | 3 | ANLPAR | EXPANSION | STATUS1000 | EXTENDED_STATUS | COPPER_STATUS => {}
            place => {
                self.registers.insert(place, value);
            }
        }
    }

    fn set_bmcr(&mut self, now_ns: u64, value: u16) {
        let before = self.plain(BMCR);
        let now = value & !(BMCR_RESET | BMCR_ANRESTART);
        self.registers.insert(BMCR, now);
        let silent = BMCR_LOOPBACK | BMCR_PDOWN | BMCR_ISOLATE;
        if now & silent != 0 || value & (BMCR_RESET | BMCR_ANRESTART) != 0 || now != before {
            self.begin(now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(phy: &mut Phy, now_ns: u64, opcode: u32, number: u32, data: u16) -> u16 {
        phy.set_control(
            now_ns,
            opcode << OPCODE_SHIFT
                | ADDRESS << PHY_SHIFT
                | number << REGISTER_SHIFT
                | u32::from(data),
        );
        assert_eq!(phy.control() & READY, 0);
        phy.advance(now_ns + CYCLE_NS);
        assert_eq!(phy.control() & (READY | ERROR), READY);
        phy.control() as u16
    }

    #[test]
    fn the_link_comes_up_after_the_negotiation() {
        let mut phy = Phy::new(0);
        phy.advance(NEGOTIATION_NS - 1);
        assert_eq!(phy.link_bps(), None);
        phy.advance(NEGOTIATION_NS);
        assert_eq!(phy.link_bps(), Some(1_000_000_000));
        let at_ns = NEGOTIATION_NS;
        let status = [0, 1].map(|_| access(&mut phy, at_ns, READ, BMSR, 0) & 0x24);
        assert_eq!(status, [0x20, 0x24], "the link's loss is latched");
        assert_eq!(access(&mut phy, at_ns, READ, 17, 0), 0xac00);
    }

    #[test]
    fn what_is_advertised_decides_the_speed() {
        for (control, advertised, bps) in [
            (0x0200, 0x0de1, 1_000_000_000),
            (0, 0x0de1, 100_000_000),
            (0, 0x0061, 10_000_000),
        ] {
            let mut phy = Phy::new(0);
            access(&mut phy, 0, WRITE, CONTROL1000, control);
            access(&mut phy, 0, WRITE, ANAR, advertised);
            access(&mut phy, 0, WRITE, BMCR, BMCR_ANENABLE | BMCR_ANRESTART);
            phy.advance(2 * NEGOTIATION_NS);
            assert_eq!(phy.link_bps(), Some(bps));
        }
    }

    #[test]
    fn higher_registers_have_pages() {
        let mut phy = Phy::new(0);
        for (page, value) in [(0, 0x1111), (2, 0x2222)] {
            access(&mut phy, 0, WRITE, PAGE, page);
            access(&mut phy, 0, WRITE, 21, value);
        }
        assert_eq!(access(&mut phy, 0, READ, 21, 0), 0x2222);
        assert_eq!(access(&mut phy, 0, READ, 2, 0), 0x0141);
        access(&mut phy, 0, WRITE, PAGE, 0);
        assert_eq!(access(&mut phy, 0, READ, 21, 0), 0x1111);
    }

    #[test]
    fn only_one_phy_answers() {
        let mut phy = Phy::new(0);
        phy.set_control(0, READ << OPCODE_SHIFT | 2 << PHY_SHIFT);
        phy.advance(CYCLE_NS);
        assert_eq!(phy.control() & (READY | ERROR | DATA), READY | ERROR | DATA);
    }
}
