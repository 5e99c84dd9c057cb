// SPDX-License-Identifier: GPL-2.0-or-later
//! The chip's registers: addresses and bits, named as in Linux's drivers/net/usb/lan78xx.h, and their values.
//!
//! The effects of reads and writes are in [`super::control`].

use serde::{Deserialize, Serialize};

macro_rules! constants {
    ($($name:ident = $value:expr;)*) => { $(#[allow(missing_docs)] pub const $name: u32 = $value;)* };
}

constants! {
    ID_REV = 0x000;
    INT_STS = 0x00c;
    HW_CFG = 0x010;
    PMT_CTL = 0x014;
    DP_SEL = 0x024;
    DP_CMD = 0x028;
    DP_ADDR = 0x02c;
    DP_DATA = 0x030;
    E2P_CMD = 0x040;
    E2P_DATA = 0x044;
    USB_CFG0 = 0x080;
    BURST_CAP = 0x090;
    BULK_IN_DLY = 0x094;
    INT_EP_CTL = 0x098;
    RFE_CTL = 0x0b0;
    VLAN_TYPE = 0x0b4;
    FCT_RX_CTL = 0x0c0;
    FCT_TX_CTL = 0x0c4;
    FCT_RX_FIFO_END = 0x0c8;
    FCT_TX_FIFO_END = 0x0cc;
    FCT_FLOW = 0x0d0;
    MAC_CR = 0x100;
    MAC_RX = 0x104;
    MAC_TX = 0x108;
    FLOW = 0x10c;
    RX_ADDRH = 0x118;
    RX_ADDRL = 0x11c;
    MII_ACC = 0x120;
    MII_DATA = 0x124;
    WUCSR = 0x140;
    WK_SRC = 0x144;
    MAF_BASE = 0x400;
    OTP_PWR_DN = 0x1000;
    OTP_RD_DATA = 0x1018;
    OTP_CMD_GO = 0x1028;
    OTP_STATUS = 0x1030;

    INT_RDFO = 1 << 22;
    INT_TXE = 1 << 21;
    INT_PHY = 1 << 17;
    HW_CFG_MEF = 1 << 4;
    HW_CFG_LRST = 1 << 1;
    HW_CFG_SRST = 1;
    PMT_CTL_READY = 1 << 7;
    PMT_CTL_PHY_RST = 1 << 4;
    PMT_CTL_MAC_SRST = 1 << 11;
    PMT_CTL_WUPS = 3;
    PMT_CTL_WUPS_MAC = 2;
    DP_SEL_DPRDY = 1 << 31;
    DP_SEL_RSEL = 0xf;
    DP_SEL_VLAN_DA = 1;
    DP_CMD_WRITE = 1;
    E2P_CMD_BUSY = 1 << 31;
    E2P_CMD_TIMEOUT = 1 << 10;
    E2P_CMD_ADDR = 0x1ff;
    USB_CFG_BCE = 1 << 5;
    USB_CFG_STALL_BO_DIS = 1;
    RFE_CTL_TCPUDP_COE = 1 << 12;
    RFE_CTL_IP_COE = 1 << 11;
    RFE_CTL_BCAST_EN = 1 << 10;
    RFE_CTL_MCAST_EN = 1 << 9;
    RFE_CTL_UCAST_EN = 1 << 8;
    RFE_CTL_VLAN_STRIP = 1 << 7;
    RFE_CTL_DISCARD_UNTAGGED = 1 << 6;
    RFE_CTL_VLAN_FILTER = 1 << 5;
    RFE_CTL_MCAST_HASH = 1 << 3;
    RFE_CTL_DA_HASH = 1 << 2;
    RFE_CTL_DA_PERFECT = 1 << 1;
    RFE_CTL_RST = 1;
    FCT_EN = 1 << 31;
    FCT_RST = 1 << 30;
    FCT_RX_OVFL = 1 << 24;
    FCT_NOT_EMPTY = 1 << 22;
    FCT_EMPTY = 1 << 21;
    FCT_DIS = 1 << 20;
    FCT_USED = 0xffff;
    FLOW_TX_FCEN = 1 << 30;
    FLOW_RX_FCEN = 1 << 29;
    FLOW_FPF = 1 << 28;
    FLOW_TIME = 0xffff;
    MAC_CR_RST = 1;
    MAC_RX_MAX_SIZE_SHIFT = 16;
    MAC_RX_FCS_STRIP = 1 << 4;
    MAC_RX_VLAN_FSE = 1 << 2;
    MAC_RX_RXD = 1 << 1;
    MAC_RX_RXEN = 1;
    MAC_TX_TXD = 1 << 1;
    MAC_TX_TXEN = 1;
    MII_ACC_BUSY = 1;
    MII_ACC_WRITE = 1 << 1;
    WUCSR_RFE_WAKE_EN = 1 << 14;
    WUCSR_EEE_WAKES = (1 << 13) | (1 << 11);
    WUCSR_RFE_WAKE_FR = 1 << 9;
    WUCSR_FRAMES = 0xf << 4;
    WUCSR_MPR = 1 << 5;
    WUCSR_PFDA_FR = 1 << 7;
    WUCSR_BCST_FR = 1 << 4;
    WUCSR_PFDA_EN = 1 << 3;
    WUCSR_MPEN = 1 << 1;
    WUCSR_BCST_EN = 1;
    MAF_HI_VALID = 1 << 31;
    MAF_HI_TYPE_SRC = 1 << 30;
}

/// Perfect address filters.
pub const MAF_COUNT: u32 = 33;
/// One unit of BULK_IN_DLY is 1/60 us.
pub const BULK_IN_DELAY_PER_US: u64 = 60;
/// The chip, and its revision.
const LAN7800_REVISION: u32 = 0x7800_0002;
/// The highest register that is kept.
const LAST: u32 = 0x10f0;

/// The registers' values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Registers(Vec<u32>);

impl Registers {
    /// The values after a reset. The MAC address is set, as if loaded from an EEPROM.
    pub fn new(mac: [u8; 6]) -> Self {
        let mut registers = Registers(vec![0; LAST as usize / 4 + 1]);
        let (low, high) = mac.split_at(4);
        let word = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(0, |word, byte| (word << 8) | u32::from(*byte))
        };
        for (address, value) in [
            (ID_REV, LAN7800_REVISION),
            (PMT_CTL, PMT_CTL_READY),
            (DP_SEL, DP_SEL_DPRDY),
            (VLAN_TYPE, 0x8100),
            (BULK_IN_DLY, 0x0800),
            (FCT_RX_FIFO_END, 12 * 1024 / 512 - 1),
            (FCT_TX_FIFO_END, 12 * 1024 / 512 - 1),
            (MAC_RX, 1518 << MAC_RX_MAX_SIZE_SHIFT),
            (OTP_PWR_DN, 1),
            (RX_ADDRL, word(low)),
            (RX_ADDRH, word(high)),
        ] {
            registers.set(address, value);
        }
        registers
    }

    /// A register's value; 0 if there is no such register.
    pub fn get(&self, address: u32) -> u32 {
        self.0.get(address as usize / 4).copied().unwrap_or(0)
    }

    /// Sets a register's value; does nothing if there is no such register.
    pub fn set(&mut self, address: u32, value: u32) {
        if let Some(register) = self.0.get_mut(address as usize / 4) {
            *register = value;
        }
    }

    /// Sets bits.
    pub fn raise(&mut self, address: u32, bits: u32) {
        self.set(address, self.get(address) | bits);
    }

    /// Clears bits.
    pub fn clear(&mut self, address: u32, bits: u32) {
        self.set(address, self.get(address) & !bits);
    }

    /// One of the bits is set.
    pub fn has(&self, address: u32, bits: u32) -> bool {
        self.get(address) & bits != 0
    }

    /// How full the receive FIFO is when the chip asks for a pause, and when it ends it, in bytes.
    pub fn pause_levels(&self) -> (usize, usize) {
        let bytes = |shift: u32| (self.get(FCT_FLOW) >> shift & 0x7f) as usize * 512;
        (bytes(0), bytes(8))
    }

    /// A FIFO's size in bytes, from the register of its end.
    pub fn fifo_bytes(&self, end: u32) -> usize {
        (self.get(end) as usize + 1) * 512
    }
}
