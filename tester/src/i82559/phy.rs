// SPDX-License-Identifier: GPL-2.0-or-later
//! The MDI interface (manual, section 6.3.5) and the PHY behind it: an 82555, which the 82558 and later chips have built in, by its
//! registers (IEEE 802.3 clause 22). Its link partner is the tester's line: 10 and 100 Mbit/s, full duplex, no pause frames.

use serde::{Deserialize, Serialize};

/// Where the PHY answers.
pub const ADDRESS: u32 = 1;
/// A frame on the MDI takes 64 cycles of a clock of at most 2.5 MHz (IEEE 802.3, 22.2.2.11 and 22.2.4.5), in ns.
pub const CYCLE_NS: u64 = 64 * 400;
/// How long negotiation takes until the link is up, and how long a forced speed takes, in ns; as for the LAN7800.
pub const NEGOTIATION_NS: u64 = 1_500_000_000;
const FORCED_NS: u64 = 100_000_000;

/// The MDI control register.
const MDI_INTERRUPT: u32 = 1 << 29;
const MDI_READY: u32 = 1 << 28;
const MDI_OPCODE_SHIFT: u32 = 26;
const MDI_WRITE: u32 = 1;
const MDI_READ: u32 = 2;
const MDI_PHY_SHIFT: u32 = 21;
const MDI_REGISTER_SHIFT: u32 = 16;
const MDI_FIVE_BITS: u32 = 0x1f;

const BMCR: usize = 0;
const BMCR_RESET: u16 = 0x8000;
const BMCR_LOOPBACK: u16 = 0x4000;
const BMCR_SPEED100: u16 = 0x2000;
const BMCR_ANENABLE: u16 = 0x1000;
const BMCR_PDOWN: u16 = 0x0800;
const BMCR_ISOLATE: u16 = 0x0400;
const BMCR_ANRESTART: u16 = 0x0200;
const BMCR_FULL_DUPLEX: u16 = 0x0100;
const BMSR: usize = 1;
/// 10 and 100 Mbit/s in both duplexes, negotiates, extended registers.
const BMSR_ABILITIES: u16 = 0x7809;
const BMSR_COMPLETE: u16 = 0x0020;
const BMSR_LINK: u16 = 0x0004;
const ID: [u16; 2] = [0x02a8, 0x0154];
const ANAR: usize = 4;
const ANLPAR: usize = 5;
const ALL_SPEEDS: u16 = 0x01e1;
const ANY_100: u16 = 0x0180;
/// The partner acknowledges and offers all speeds.
const PARTNER: u16 = 0x41e1;
/// 82555: status and control. Bit 1: 100 Mbit/s, bit 0: full duplex.
const STATUS: usize = 16;
const REGISTERS: usize = 32;

/// The PHY, and the interface to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phy {
    registers: Vec<u16>,
    /// When the link comes up, in ns; None: never. It is up once this has passed.
    link_at_ns: Option<u64>,
    link: bool,
    /// The link was down since BMSR was read.
    dropped: bool,
    control: u32,
    /// When the access under way is over, in ns.
    busy_until_ns: Option<u64>,
}

impl Phy {
    /// A PHY that was powered up at `now_ns`.
    pub fn new(now_ns: u64) -> Self {
        let mut phy = Phy {
            registers: vec![0; REGISTERS],
            link_at_ns: None,
            link: false,
            dropped: true,
            control: MDI_READY,
            busy_until_ns: None,
        };
        phy.restart(now_ns);
        phy
    }

    /// Back to the strapped values.
    fn restart(&mut self, now_ns: u64) {
        self.registers = vec![0; REGISTERS];
        self.registers[BMCR] = BMCR_ANENABLE | BMCR_SPEED100;
        self.registers[ANAR] = ALL_SPEEDS;
        self.link_down(Some(now_ns + NEGOTIATION_NS));
    }

    fn link_down(&mut self, until_ns: Option<u64>) {
        (self.link, self.dropped, self.link_at_ns) = (false, true, until_ns);
    }

    /// The speed of the link, in bit/s; None: there is none.
    pub fn link_bps(&self) -> Option<u64> {
        let fast = if self.registers[BMCR] & BMCR_ANENABLE != 0 {
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
            return self.control & MDI_INTERRUPT != 0;
        }
        false
    }

    /// The MDI control register.
    pub fn control(&self) -> u32 {
        self.control
    }

    /// The processor writes the MDI control register.
    pub fn set_control(&mut self, now_ns: u64, value: u32) {
        let opcode = value >> MDI_OPCODE_SHIFT & 3;
        if self.busy_until_ns.is_some() {
            return; // "the software must wait for the ready bit"
        }
        self.control = value & !MDI_READY;
        if opcode == MDI_READ || opcode == MDI_WRITE {
            self.busy_until_ns = Some(now_ns + CYCLE_NS);
        } else {
            self.control |= MDI_READY;
        }
    }

    fn finish(&mut self, now_ns: u64) {
        let number = (self.control >> MDI_REGISTER_SHIFT & MDI_FIVE_BITS) as usize;
        let here = self.control >> MDI_PHY_SHIFT & MDI_FIVE_BITS == ADDRESS;
        if self.control >> MDI_OPCODE_SHIFT & 3 == MDI_READ {
            // Nobody drives the data line at other addresses: it is pulled up.
            let value = if here { self.read(number) } else { 0xffff };
            self.control = (self.control & !0xffff) | u32::from(value);
        } else if here {
            self.write(now_ns, number, self.control as u16);
        }
        self.control |= MDI_READY;
    }

    fn read(&mut self, number: usize) -> u16 {
        let negotiates = self.registers[BMCR] & BMCR_ANENABLE != 0;
        match number {
            BMSR => {
                let up = self.link && !std::mem::replace(&mut self.dropped, !self.link);
                let complete = self.link && negotiates;
                BMSR_ABILITIES
                    | if up { BMSR_LINK } else { 0 }
                    | if complete { BMSR_COMPLETE } else { 0 }
            }
            2 | 3 => ID[number - 2],
            ANLPAR if self.link && negotiates => PARTNER,
            ANLPAR => 0,
            6 => u16::from(self.link && negotiates), // the partner negotiates
            STATUS => match self.link_bps() {
                Some(100_000_000) => 0x0003,
                _ => 0x0001,
            },
            _ => self.registers[number],
        }
    }

    fn write(&mut self, now_ns: u64, number: usize, value: u16) {
        match number {
            BMCR if value & BMCR_RESET != 0 => self.restart(now_ns),
            BMCR => {
                let before = self.registers[BMCR];
                self.registers[BMCR] = value & !BMCR_ANRESTART;
                let silent = BMCR_PDOWN | BMCR_ISOLATE | BMCR_LOOPBACK;
                let decides = BMCR_ANENABLE | BMCR_SPEED100 | BMCR_FULL_DUPLEX | silent;
                if value & BMCR_ANENABLE != 0 {
                    let anew = value & BMCR_ANRESTART != 0
                        || (before ^ value) & (BMCR_ANENABLE | silent) != 0;
                    if anew {
                        let alone = value & silent != 0;
                        self.link_down((!alone).then_some(now_ns + NEGOTIATION_NS));
                    }
                } else if (before ^ value) & decides != 0 {
                    let alone = value & silent != 0;
                    self.link_down((!alone).then_some(now_ns + FORCED_NS));
                }
            }
            ANAR | 8..=31 if number != STATUS => self.registers[number] = value,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(phy: &mut Phy, now_ns: u64, command: u32) -> u32 {
        phy.set_control(now_ns, command);
        assert_eq!(phy.control() & MDI_READY, 0);
        assert!(!phy.advance(now_ns + CYCLE_NS - 1));
        assert_eq!(phy.control() & MDI_READY, 0);
        phy.advance(now_ns + CYCLE_NS);
        assert_ne!(phy.control() & MDI_READY, 0);
        phy.control() & 0xffff
    }

    fn read(phy: &mut Phy, now_ns: u64, number: u32) -> u32 {
        access(phy, now_ns, 2 << 26 | ADDRESS << 21 | number << 16)
    }

    #[test]
    fn an_access_takes_64_cycles_and_only_address_1_answers() {
        let mut phy = Phy::new(0);
        assert_eq!(read(&mut phy, 100, 2), 0x02a8);
        assert_eq!(access(&mut phy, 100_000, 2 << 26 | 2 << 21), 0xffff);
        phy.set_control(200_000, 1 << 29 | 2 << 26 | 1 << 21);
        assert!(phy.advance(200_000 + CYCLE_NS), "was to interrupt");
    }

    #[test]
    fn the_link_comes_up_after_negotiation_and_its_loss_is_latched() {
        let mut phy = Phy::new(0);
        assert_eq!(phy.link_bps(), None);
        let now = NEGOTIATION_NS;
        phy.advance(now);
        assert_eq!(phy.link_bps(), Some(100_000_000));
        let link = |phy: &mut Phy, now| read(phy, now, 1) & u32::from(BMSR_LINK);
        assert_eq!(link(&mut phy, now), 0, "latched low since power-up");
        assert_ne!(link(&mut phy, now + 100_000), 0);
        access(&mut phy, now + 200_000, 1 << 26 | 1 << 21 | 0x2000); // forced, 100 Mbit/s
        assert_eq!(phy.link_bps(), None);
        phy.advance(now + 200_000 + CYCLE_NS + FORCED_NS);
        assert_eq!(phy.link_bps(), Some(100_000_000));
    }

    #[test]
    fn a_speed_that_is_not_advertised_is_not_chosen() {
        let mut phy = Phy::new(0);
        access(&mut phy, 0, 1 << 26 | 1 << 21 | 4 << 16 | 0x0061);
        access(&mut phy, 100_000, 1 << 26 | 1 << 21 | 0x1200);
        phy.advance(100_000 + CYCLE_NS + NEGOTIATION_NS);
        assert_eq!(phy.link_bps(), Some(10_000_000));
    }
}
