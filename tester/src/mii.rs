// SPDX-License-Identifier: GPL-2.0-or-later
//! What all PHYs have (IEEE 802.3, clauses 22, 28 and 40): the numbers and bits of their registers, and the link to the partner, which is
//! the tester's line: 10, 100 and, to a gigabit PHY, 1000 Mbit/s, full duplex, no pause frames.

use serde::{Deserialize, Serialize};

/// How long negotiation takes until the link is up, and how long a forced speed takes, in ns; an assumption.
pub const NEGOTIATION_NS: u64 = 1_500_000_000;
/// As above.
pub const FORCED_NS: u64 = 100_000_000;

/// Control.
pub const BMCR: u8 = 0;
/// Status.
pub const BMSR: u8 = 1;
/// Identifiers.
pub const ID1: u8 = 2;
/// As above.
pub const ID2: u8 = 3;
/// Advertisement.
pub const ANAR: u8 = 4;
/// The partner's ability.
pub const ANLPAR: u8 = 5;
/// Expansion.
pub const ANER: u8 = 6;
/// 1000BASE-T control.
pub const CTRL1000: u8 = 9;
/// 1000BASE-T status.
pub const STAT1000: u8 = 10;
/// Extended status.
pub const ESTATUS: u8 = 15;

/// Bits of BMCR.
pub mod bmcr {
    /// Resets itself.
    pub const RESET: u16 = 0x8000;
    /// As named.
    pub const LOOPBACK: u16 = 0x4000;
    /// Forced speed; with both, 1000 Mbit/s.
    pub const SPEED100: u16 = 0x2000;
    /// As above.
    pub const SPEED1000: u16 = 0x0040;
    /// Negotiates.
    pub const ANENABLE: u16 = 0x1000;
    /// As named.
    pub const PDOWN: u16 = 0x0800;
    /// As named.
    pub const ISOLATE: u16 = 0x0400;
    /// Resets itself.
    pub const ANRESTART: u16 = 0x0200;
    /// Forced duplex.
    pub const FULL_DUPLEX: u16 = 0x0100;
}

/// Bits of BMSR: 10 and 100 Mbit/s in both duplexes, negotiates, extended registers.
pub const ABILITIES: u16 = 0x7809;
/// The same with extended status, and frames without preamble.
pub const ABILITIES_1000: u16 = 0x7949;
const COMPLETE: u16 = 0x0020;
const LINK: u16 = 0x0004;
/// Bits of ANAR: 100 Mbit/s.
pub const ANAR_100: u16 = 0x0180;
/// As above: 10 Mbit/s.
pub const ANAR_10: u16 = 0x0060;
/// ANLPAR: the partner acknowledges, and offers 10 and 100 Mbit/s.
pub const PARTNER: u16 = 0x41e1;
/// CTRL1000: offers 1000 Mbit/s, full duplex.
pub const CTRL1000_FULL: u16 = 0x0200;
/// STAT1000: the partner offers 1000 Mbit/s, full duplex; both receivers are in order.
pub const PARTNER_1000: u16 = 0x3800;
/// ESTATUS: 1000BASE-T, full duplex.
pub const ABLE_1000: u16 = 0x2000;

/// The link, and what BMSR says of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Link {
    up: bool,
    /// It was down since BMSR was read.
    dropped: bool,
    /// When it comes up, in ns; None: never, or it is up.
    up_at_ns: Option<u64>,
}

impl Link {
    /// A link that comes up then, in ns; None: never.
    pub fn until(up_at_ns: Option<u64>) -> Self {
        Link {
            up: false,
            dropped: true,
            up_at_ns,
        }
    }

    /// The link is lost; when it comes back, in ns.
    pub fn down(&mut self, up_at_ns: Option<u64>) {
        *self = Link::until(up_at_ns);
    }

    /// The link is there at once. That it was down stays latched.
    pub fn up(&mut self) {
        (self.up, self.up_at_ns) = (true, None);
    }

    /// Whether it is there.
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// When it comes up, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.up_at_ns
    }

    /// Does what is due. True: it came up.
    pub fn advance(&mut self, now_ns: u64) -> bool {
        let comes = self.up_at_ns.is_some_and(|at_ns| at_ns <= now_ns);
        if comes {
            self.up();
        }
        comes
    }

    /// BMSR is read, of a PHY with these abilities. A link that was down since the last time reads as down.
    pub fn status(&mut self, abilities: u16, negotiates: bool) -> u16 {
        let up = self.up && !self.dropped;
        self.dropped = !self.up;
        abilities | if up { LINK } else { 0 } | if self.up && negotiates { COMPLETE } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_of_a_link_is_latched() {
        let mut link = Link::until(Some(5));
        assert_eq!((link.deadline_ns(), link.status(1, true)), (Some(5), 1));
        assert!(!link.advance(4) && link.advance(5) && !link.advance(5));
        assert_eq!(link.deadline_ns(), None);
        assert_eq!(link.status(1, true), 1 | COMPLETE);
        assert_eq!(link.status(1, true), 1 | COMPLETE | LINK);
        assert_eq!(link.status(1, false), 1 | LINK);
        link.down(None);
        assert_eq!((link.deadline_ns(), link.is_up()), (None, false));
        link.up();
        assert_eq!(link.status(0, false), 0);
        assert_eq!(link.status(0, false), LINK);
    }
}
