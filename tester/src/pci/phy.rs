// SPDX-License-Identifier: GPL-2.0-or-later
//! A Fast Ethernet PHY by its registers (IEEE 802.3, clause 22). Its link partner is the tester's line: 10 and 100 Mbit/s, full duplex, no
//! pause frames.

use serde::{Deserialize, Serialize};

/// How long negotiation takes until the link is up, and how long a forced speed takes, in ns; as for the LAN7800.
pub const NEGOTIATION_NS: u64 = 1_500_000_000;
const FORCED_NS: u64 = 100_000_000;

/// Register numbers.
pub const BMCR: usize = 0;
/// As above.
pub const BMSR: usize = 1;
/// As above.
pub const ANAR: usize = 4;
/// As above.
pub const ANLPAR: usize = 5;
/// As above.
pub const ANER: usize = 6;
const REGISTERS: usize = 32;

const BMCR_RESET: u16 = 0x8000;
const BMCR_LOOPBACK: u16 = 0x4000;
const BMCR_SPEED100: u16 = 0x2000;
const BMCR_ANENABLE: u16 = 0x1000;
const BMCR_PDOWN: u16 = 0x0800;
const BMCR_ISOLATE: u16 = 0x0400;
const BMCR_ANRESTART: u16 = 0x0200;
const BMCR_FULL_DUPLEX: u16 = 0x0100;
/// There is no link to the partner.
const BMCR_SILENT: u16 = BMCR_PDOWN | BMCR_ISOLATE | BMCR_LOOPBACK;
/// 10 and 100 Mbit/s in both duplexes, negotiates, extended registers.
const BMSR_ABILITIES: u16 = 0x7809;
const BMSR_COMPLETE: u16 = 0x0020;
const BMSR_LINK: u16 = 0x0004;
const ALL_SPEEDS: u16 = 0x01e1;
const ANY_100: u16 = 0x0180;
/// The partner acknowledges and offers all speeds.
const PARTNER: u16 = 0x41e1;

/// The PHY.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phy {
    id: [u16; 2],
    registers: Vec<u16>,
    /// When the link comes up, in ns; None: never. It is up once this has passed.
    link_at_ns: Option<u64>,
    link: bool,
    /// The link was down since BMSR was read.
    dropped: bool,
    /// The cable was pulled.
    #[serde(default)]
    pulled: bool,
}

impl Phy {
    /// A PHY with these identifiers (registers 2 and 3) that was powered up at `now_ns`.
    pub fn new(now_ns: u64, id: [u16; 2]) -> Self {
        let mut phy = Phy {
            id,
            registers: vec![0; REGISTERS],
            link_at_ns: None,
            link: false,
            dropped: true,
            pulled: false,
        };
        phy.restart(now_ns);
        phy
    }

    /// As a new one, at the same cable.
    pub fn again(&self, now_ns: u64) -> Self {
        let mut phy = Phy::new(now_ns, self.id);
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

    /// The link is lost. It comes up again if there is a cable and the PHY is not silent.
    fn begin(&mut self, now_ns: u64) {
        let alone = self.pulled || self.registers[BMCR] & BMCR_SILENT != 0;
        let takes_ns = if self.negotiates() {
            NEGOTIATION_NS
        } else {
            FORCED_NS
        };
        self.link_down((!alone).then_some(now_ns + takes_ns));
    }

    /// Back to the strapped values.
    fn restart(&mut self, now_ns: u64) {
        self.registers = vec![0; REGISTERS];
        self.registers[BMCR] = BMCR_ANENABLE | BMCR_SPEED100;
        self.registers[ANAR] = ALL_SPEEDS;
        self.begin(now_ns);
    }

    fn link_down(&mut self, until_ns: Option<u64>) {
        (self.link, self.dropped, self.link_at_ns) = (false, true, until_ns);
    }

    /// The speed of the link, in bit/s; None: there is none.
    pub fn link_bps(&self) -> Option<u64> {
        let fast = if self.negotiates() {
            self.registers[ANAR] & ANY_100 != 0
        } else {
            self.registers[BMCR] & BMCR_SPEED100 != 0
        };
        let bps = if fast { 100_000_000 } else { 10_000_000 };
        self.link.then_some(bps)
    }

    /// Whether frames come back from the PHY, in loopback.
    pub fn loops(&self) -> bool {
        self.registers[BMCR] & BMCR_LOOPBACK != 0
    }

    fn negotiates(&self) -> bool {
        self.registers[BMCR] & BMCR_ANENABLE != 0
    }

    /// When the link comes up, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.link_at_ns.filter(|_| !self.link)
    }

    /// Does what is due. True: the link came up.
    pub fn advance(&mut self, now_ns: u64) -> bool {
        let comes = self.deadline_ns().is_some_and(|at_ns| at_ns <= now_ns);
        self.link |= comes;
        comes
    }

    /// Reads a register.
    pub fn read(&mut self, number: usize) -> u16 {
        match number {
            BMSR => {
                let up = self.link && !std::mem::replace(&mut self.dropped, !self.link);
                let complete = self.link && self.negotiates();
                BMSR_ABILITIES
                    | if up { BMSR_LINK } else { 0 }
                    | if complete { BMSR_COMPLETE } else { 0 }
            }
            2 | 3 => self.id[number - 2],
            ANLPAR if self.link && self.negotiates() => PARTNER,
            ANLPAR => 0,
            ANER => u16::from(self.link && self.negotiates()), // the partner negotiates
            _ => self.registers[number],
        }
    }

    /// Writes a register.
    pub fn write(&mut self, now_ns: u64, number: usize, value: u16) {
        match number {
            BMCR if value & BMCR_RESET != 0 => self.restart(now_ns),
            BMCR => {
                let before = self.registers[BMCR];
                self.registers[BMCR] = value & !BMCR_ANRESTART;
                let forced = BMCR_SPEED100 | BMCR_FULL_DUPLEX;
                let (decides, again) = if value & BMCR_ANENABLE != 0 {
                    (BMCR_ANENABLE | BMCR_SILENT, value & BMCR_ANRESTART != 0)
                } else {
                    (BMCR_ANENABLE | forced | BMCR_SILENT, false)
                };
                if again || (before ^ value) & decides != 0 {
                    self.begin(now_ns);
                }
            }
            ANAR | 8..=31 => self.registers[number] = value,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_comes_up_after_negotiation_and_its_loss_is_latched() {
        let mut phy = Phy::new(0, [1, 2]);
        assert_eq!((phy.link_bps(), phy.read(2), phy.read(3)), (None, 1, 2));
        assert!(!phy.advance(NEGOTIATION_NS - 1));
        assert!(phy.advance(NEGOTIATION_NS));
        assert!(!phy.advance(NEGOTIATION_NS), "once");
        assert_eq!(phy.link_bps(), Some(100_000_000));
        assert_eq!(phy.read(BMSR) & BMSR_LINK, 0, "latched low since power-up");
        assert_ne!(phy.read(BMSR) & BMSR_LINK, 0);
        phy.write(NEGOTIATION_NS, BMCR, 0x2000); // forced, 100 Mbit/s
        assert_eq!(phy.link_bps(), None);
        phy.advance(NEGOTIATION_NS + FORCED_NS);
        assert_eq!(phy.link_bps(), Some(100_000_000));
    }

    #[test]
    fn without_a_cable_there_is_no_link() {
        let mut phy = Phy::new(0, [1, 2]);
        phy.advance(NEGOTIATION_NS);
        phy.plug_cable(NEGOTIATION_NS, false);
        assert_eq!((phy.link_bps(), phy.deadline_ns()), (None, None));
        phy.write(NEGOTIATION_NS, BMCR, BMCR_ANENABLE | BMCR_ANRESTART);
        assert_eq!(phy.again(NEGOTIATION_NS).deadline_ns(), None);
        assert_eq!(phy.deadline_ns(), None, "whatever the driver writes");
        phy.plug_cable(2 * NEGOTIATION_NS, true);
        assert!(phy.advance(3 * NEGOTIATION_NS));
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
