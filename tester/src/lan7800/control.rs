// SPDX-License-Identifier: GPL-2.0-or-later
//! Vendor requests: register reads and writes, and their effects.

use super::Lan7800;
use super::phy;
use super::receive::{HASH_WORDS, VLAN_WORDS};
use super::registers::*;
use super::usb::{Reply, Setup};

const WRITE_REGISTER: u8 = 0xa0;
const READ_REGISTER: u8 = 0xa1;
const GET_STATISTICS: u8 = 0xa2;
/// An EEPROM without contents.
const BLANK: u8 = 0xff;
/// EEPROM commands: read, write.
const EEPROM_READ: u32 = 0;
const EEPROM_WRITE: u32 = 3;

/// The EEPROM's size in bytes.
pub const EEPROM_BYTES: usize = 512;

/// The contents of a blank EEPROM.
pub fn blank_eeprom() -> Vec<u8> {
    vec![BLANK; EEPROM_BYTES]
}

impl Lan7800 {
    /// A vendor request; `data` is the host's.
    pub(super) fn vendor(&mut self, now_ns: u64, setup: Setup, data: &[u8]) -> Reply {
        let address = u32::from(setup.index);
        match (setup.kind, setup.request) {
            (0xc0, READ_REGISTER) => Reply::Done(self.read(address).to_le_bytes().to_vec()),
            (0x40, WRITE_REGISTER) => match data.first_chunk() {
                Some(bytes) => {
                    self.write(now_ns, address, u32::from_le_bytes(*bytes));
                    Reply::Done(Vec::new())
                }
                None => Reply::Stall,
            },
            (0xc0, GET_STATISTICS) => Reply::Done(self.statistics.bytes()),
            _ => Reply::Stall,
        }
    }

    /// A register as the host reads it.
    pub fn read(&self, address: u32) -> u32 {
        let kept = self.registers.get(address);
        let fifo = |used: usize| {
            let level = if used == 0 { FCT_EMPTY } else { FCT_NOT_EMPTY };
            let enabled = kept & FCT_EN;
            let disabled = if enabled == 0 { FCT_DIS } else { 0 };
            level | enabled | disabled | (kept & FCT_RX_OVFL) | (used as u32 & FCT_USED)
        };
        match address {
            INT_STS => kept | if self.phy.interrupts() { INT_PHY } else { 0 },
            FCT_RX_CTL => fifo(self.bulk_in.used()),
            FCT_TX_CTL => fifo(self.bulk_out.used()),
            // Enabling and "is disabled" are separate bits, and the host waits for the second.
            MAC_RX if kept & MAC_RX_RXEN == 0 => kept | MAC_RX_RXD,
            MAC_TX if kept & MAC_TX_TXEN == 0 => kept | MAC_TX_TXD,
            _ => kept,
        }
    }

    /// The host writes a register.
    pub fn write(&mut self, now_ns: u64, address: u32, value: u32) {
        let registers = &mut self.registers;
        match address {
            ID_REV | OTP_STATUS | OTP_RD_DATA => {}
            INT_STS => registers.clear(INT_STS, value),
            HW_CFG if value & (HW_CFG_LRST | HW_CFG_SRST) != 0 => self.lite_reset(),
            PMT_CTL => {
                if value & PMT_CTL_PHY_RST != 0 {
                    self.phy.restart(now_ns);
                }
                let status = registers.get(PMT_CTL) & PMT_CTL_WUPS & !value;
                let momentary = PMT_CTL_PHY_RST | PMT_CTL_MAC_SRST | PMT_CTL_WUPS;
                registers.set(PMT_CTL, (value & !momentary) | status | PMT_CTL_READY);
            }
            DP_SEL => registers.set(DP_SEL, value | DP_SEL_DPRDY),
            DP_CMD => self.data_port(value),
            E2P_CMD => self.eeprom_command(value),
            E2P_DATA => registers.set(E2P_DATA, value & 0xff),
            RFE_CTL => registers.set(RFE_CTL, value & !RFE_CTL_RST),
            FCT_RX_CTL => {
                if value & FCT_RST != 0 {
                    self.bulk_in.flush();
                }
                let overflow = registers.get(FCT_RX_CTL) & FCT_RX_OVFL & !value;
                registers.set(FCT_RX_CTL, (value & FCT_EN) | overflow);
            }
            FCT_TX_CTL => {
                if value & FCT_RST != 0 {
                    self.bulk_out.flush();
                }
                registers.set(FCT_TX_CTL, value & FCT_EN);
            }
            MAC_CR => registers.set(MAC_CR, value & !MAC_CR_RST),
            MAC_RX => registers.set(MAC_RX, value & !MAC_RX_RXD),
            MAC_TX => registers.set(MAC_TX, value & !MAC_TX_TXD),
            MII_ACC => self.mii(now_ns, value),
            WUCSR => {
                let status = WUCSR_FRAMES | WUCSR_RFE_WAKE_FR | WUCSR_EEE_WAKES;
                let kept = registers.get(WUCSR) & status & !value;
                registers.set(WUCSR, (value & !status) | kept);
            }
            WK_SRC => {}
            OTP_PWR_DN => registers.set(OTP_PWR_DN, value & 1),
            OTP_CMD_GO => registers.set(OTP_RD_DATA, 0), // completes at once; the OTP is empty
            _ => registers.set(address, value),
        }
    }

    /// Resets everything but the PHY and the MAC address.
    fn lite_reset(&mut self) {
        let address = [RX_ADDRL, RX_ADDRH].map(|at| (at, self.registers.get(at)));
        self.registers = Registers::new([0; 6]);
        for (at, value) in address {
            self.registers.set(at, value);
        }
        self.bulk_in.flush();
        self.bulk_out.flush();
        self.bulk_out.pause(0);
        self.pausing = false;
    }

    /// The data port gives access to the VLAN table and the address hash; other memories are not modelled.
    fn data_port(&mut self, command: u32) {
        let select = self.registers.get(DP_SEL) & DP_SEL_RSEL;
        let place = self.registers.get(DP_ADDR) as usize;
        let data = self.registers.get(DP_DATA);
        let word = (select == DP_SEL_VLAN_DA)
            .then(|| self.tables.get_mut(place))
            .flatten();
        if command & DP_CMD_WRITE == 0 {
            let read = word.map_or(0, |word| *word);
            self.registers.set(DP_DATA, read);
        } else if let Some(word) = word {
            *word = data;
        }
    }

    fn eeprom_command(&mut self, command: u32) {
        let place = (command & E2P_CMD_ADDR) as usize;
        match (command >> 28) & 7 {
            _ if command & E2P_CMD_BUSY == 0 => {}
            EEPROM_READ => self.registers.set(E2P_DATA, u32::from(self.eeprom[place])),
            EEPROM_WRITE => self.eeprom[place] = self.registers.get(E2P_DATA) as u8,
            _ => {}
        }
        let over = command & !(E2P_CMD_BUSY | E2P_CMD_TIMEOUT);
        self.registers.set(E2P_CMD, over);
    }

    fn mii(&mut self, now_ns: u64, access: u32) {
        let (address, register) = (((access >> 11) & 0x1f) as u8, ((access >> 6) & 0x1f) as u8);
        let answers = address == phy::ADDRESS;
        if access & MII_ACC_WRITE != 0 {
            if answers {
                let value = self.registers.get(MII_DATA) as u16;
                self.phy.write(register, value, now_ns);
            }
        } else {
            let value = if answers {
                self.phy.read(register)
            } else {
                0xffff
            };
            self.registers.set(MII_DATA, u32::from(value));
        }
        self.registers.set(MII_ACC, access & !MII_ACC_BUSY);
    }
}

/// Tables that let nothing in.
pub fn empty_tables() -> Vec<u32> {
    vec![0; VLAN_WORDS + HASH_WORDS]
}
