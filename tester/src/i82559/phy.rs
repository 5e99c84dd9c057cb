// SPDX-License-Identifier: GPL-2.0-or-later
//! The PHY behind the MDI interface (manual, section 6.3.5): an 82555, which the 82558 and later chips have built in.

use serde::{Deserialize, Serialize};

use crate::pci::{mdi, phy};

/// Its identifiers.
const ID: [u16; 2] = [0x02a8, 0x0154];
/// Status and control. Bit 1: 100 Mbit/s, bit 0: full duplex.
const STATUS: u8 = 16;

/// The PHY.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phy(phy::Phy);

impl Phy {
    /// A PHY that was powered up at `now_ns`.
    pub fn new(now_ns: u64) -> Self {
        Phy(phy::Phy::new(now_ns, ID))
    }

    /// The speed of the link, in bit/s; None: there is none.
    pub fn link_bps(&self) -> Option<u64> {
        self.0.link_bps()
    }

    /// Whether frames come back from the PHY, in loopback.
    pub fn loops(&self) -> bool {
        self.0.loops()
    }
}

impl mdi::Phy for Phy {
    fn read(&mut self, number: u8) -> u16 {
        match number {
            STATUS => match self.link_bps() {
                Some(100_000_000) => 0x0003,
                _ => 0x0001,
            },
            _ => self.0.read(number),
        }
    }

    fn write(&mut self, now_ns: u64, number: u8, value: u16) {
        if number != STATUS {
            self.0.write(now_ns, number, value);
        }
    }

    fn deadline_ns(&self) -> Option<u64> {
        self.0.deadline_ns()
    }

    fn advance(&mut self, now_ns: u64) -> bool {
        self.0.advance(now_ns)
    }
}
