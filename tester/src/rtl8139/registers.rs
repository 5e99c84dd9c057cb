// SPDX-License-Identifier: GPL-2.0-or-later
//! Registers and descriptors, as section 6 ("Register Descriptions") and section 9 ("C+ mode operation") of Realtek's "RTL8139C+ data
//! sheet", revision 1.6, name them. docs/inside/rtl8139-model.md says what each rests on.

/// Offsets in either window (6).
pub mod reg {
    /// IDR0 to 5: the address; written by double words.
    pub const IDR: u64 = 0x00;
    /// MAR0 to 7: the multicast hash; written by double words.
    pub const MAR: u64 = 0x08;
    /// DTCCR: dumps the tally counters, 64 bits.
    pub const DTCCR: u64 = 0x10;
    /// TNPDS and THPDS: the transmit rings of normal and high priority, 64 bits each.
    pub const TNPDS: u64 = 0x20;
    pub const THPDS: u64 = 0x28;
    /// CR, 8 bits.
    pub const CR: u64 = 0x37;
    /// IMR and ISR, 16 bits each.
    pub const IMR: u64 = 0x3c;
    pub const ISR: u64 = 0x3e;
    /// TCR and RCR.
    pub const TCR: u64 = 0x40;
    pub const RCR: u64 = 0x44;
    /// TCTR: counts the bus's clocks.
    pub const TCTR: u64 = 0x48;
    /// MPC: missed packets, 24 bits.
    pub const MPC: u64 = 0x4c;
    /// 9346CR, 8 bits.
    pub const CR9346: u64 = 0x50;
    pub const CONFIG0: u64 = 0x51;
    pub const CONFIG1: u64 = 0x52;
    /// TimerInt: interrupts when TCTR gets there.
    pub const TIMER_INT: u64 = 0x54;
    /// MSR: the link, 8 bits.
    pub const MSR: u64 = 0x58;
    pub const CONFIG3: u64 = 0x59;
    pub const CONFIG4: u64 = 0x5a;
    /// RERID: the PCI revision.
    pub const RERID: u64 = 0x5e;
    /// The PHY's registers, 16 bits each.
    pub const BMCR: u64 = 0x62;
    pub const BMSR: u64 = 0x64;
    pub const ANAR: u64 = 0x66;
    pub const ANLPAR: u64 = 0x68;
    pub const ANER: u64 = 0x6a;
    /// CSCR, 16 bits.
    pub const CSCR: u64 = 0x74;
    pub const CONFIG5: u64 = 0xd8;
    /// TPPoll: the doorbells, 8 bits.
    pub const TPPOLL: u64 = 0xd9;
    /// C+CR, 16 bits (6.33).
    pub const CPCR: u64 = 0xe0;
    /// RDSAR: the receive ring, 64 bits.
    pub const RDSAR: u64 = 0xe4;
    /// ETThR: the early transmit threshold, 8 bits.
    pub const ETTHR: u64 = 0xec;
    /// How many bytes of registers there are.
    pub const BYTES: usize = 0x100;
}

/// CR.
pub mod cr {
    pub const RST: u8 = 0x10;
    pub const RE: u8 = 0x08;
    pub const TE: u8 = 0x04;
    /// BUFE: the buffer of the C mode is empty.
    pub const BUFE: u8 = 0x01;
}

/// ISR and IMR.
pub mod cause {
    pub const TIMEOUT: u16 = 0x4000;
    /// SWInt: the software asked for it.
    pub const SWINT: u16 = 0x0100;
    /// TDU: no transmit descriptor is available.
    pub const TDU: u16 = 0x0080;
    /// FOVW: the receive FIFO overflowed.
    pub const FOVW: u16 = 0x0040;
    /// PUN/LinkChg: a packet underrun, or the link changed.
    pub const LINK_CHANGE: u16 = 0x0020;
    /// RDU: no receive descriptor is available.
    pub const RDU: u16 = 0x0010;
    pub const TER: u16 = 0x0008;
    pub const TOK: u16 = 0x0004;
    pub const RER: u16 = 0x0002;
    pub const ROK: u16 = 0x0001;
    /// The bits that exist.
    pub const ALL: u16 = 0xe1ff;
}

/// TCR.
pub mod tcr {
    /// The version: an RTL8139C+.
    pub const VERSION: u32 = 0x7480_0000;
    /// IFG: the gap, in bits 25:24.
    pub const IFG_SHIFT: u32 = 24;
    /// LBK: loopback.
    pub const LOOPBACK: u32 = 3 << 17;
    /// Bits that the software can write: IFG, LBK, CRC, MXDMA, TXRR.
    pub const WRITABLE: u32 = 0x0307_07f0;
}

/// RCR.
pub mod rcr {
    /// AAP: any physical address.
    pub const ALL_PHYSICAL: u32 = 0x01;
    /// APM: the card's address.
    pub const PHYSICAL: u32 = 0x02;
    /// AM: multicast that the hash lets pass.
    pub const MULTICAST: u32 = 0x04;
    /// AB: broadcast.
    pub const BROADCAST: u32 = 0x08;
    /// AER: packets with errors.
    pub const ERROR: u32 = 0x20;
    /// AR: packets below 64 bytes.
    pub const RUNT: u32 = 0x10;
    /// MXDMA, RXFTH: exponents of 2, of 16 bytes.
    pub const MXDMA_SHIFT: u32 = 8;
    pub const THRESHOLD_SHIFT: u32 = 13;
    pub const FIELD: u32 = 7;
    /// Bits that exist.
    pub const WRITABLE: u32 = 0x0f03_ffbf;
}

/// 9346CR: the mode in bits 7:6, and the EEPROM's pins.
pub mod cr9346 {
    pub const MODE: u8 = 0xc0;
    pub const AUTOLOAD: u8 = 0x40;
    pub const PROGRAMMING: u8 = 0x80;
    pub const CONFIG_WRITE: u8 = 0xc0;
    pub const EECS: u8 = 0x08;
    pub const EESK: u8 = 0x04;
    pub const EEDI: u8 = 0x02;
    pub const EEDO: u8 = 0x01;
}

/// MSR.
pub mod msr {
    pub const NO_LINK: u8 = 0x04;
    pub const SPEED_10: u8 = 0x08;
}

/// TPPoll.
pub mod tppoll {
    /// HPQ: packets of high priority.
    pub const HIGH: u8 = 0x80;
    /// NPQ: packets of normal priority.
    pub const NORMAL: u8 = 0x40;
    /// FSWInt: a software interrupt.
    pub const SOFTWARE: u8 = 0x01;
}

/// C+CR (6.33).
pub mod cpcr {
    pub const RX_VLAN: u16 = 0x40;
    pub const RX_CHECKSUM: u16 = 0x20;
    pub const RX: u16 = 0x02;
    pub const TX: u16 = 0x01;
    /// Bits that exist.
    pub const WRITABLE: u16 = 0x007b;
}

/// DTCCR, low double word.
pub mod dtccr {
    pub const COMMAND: u32 = 0x08;
    pub const ADDRESS: u32 = !0x3f;
}

/// Descriptors (9): two double words of options, an address of 64 bits.
pub mod descriptor {
    pub const BYTES: usize = 16;
    /// The chip wraps after so many, whatever EOR says.
    pub const MOST: u32 = 64;
    pub const OWN: u32 = 1 << 31;
    pub const EOR: u32 = 1 << 30;
    pub const FS: u32 = 1 << 29;
    pub const LS: u32 = 1 << 28;
    /// The offset of opts2.
    pub const OPTS2: u64 = 4;
}

/// Transmit descriptors. opts1 bits 15:0 are the length.
pub mod tx {
    /// LGSEN: large send, with the MSS in bits 26:16.
    pub const LARGE_SEND: u32 = 1 << 27;
    pub const MSS_SHIFT: u32 = 16;
    pub const MSS_MASK: u32 = 0x7ff;
    pub const IP_CHECKSUM: u32 = 1 << 18;
    pub const UDP_CHECKSUM: u32 = 1 << 17;
    pub const TCP_CHECKSUM: u32 = 1 << 16;
    pub const LENGTH: u32 = 0xffff;
    /// opts2: TAGC, insert the tag in bits 15:0.
    pub const TAG: u32 = 1 << 17;
    /// Status: UNF, TES, LNKF.
    pub const UNDERRUN: u32 = 1 << 25;
    pub const ERROR: u32 = 1 << 23;
    pub const LINK_FAILURE: u32 = 1 << 21;
    /// What of a command remains in the status.
    pub const KEPT: u32 =
        super::descriptor::EOR | super::descriptor::FS | super::descriptor::LS | LENGTH;
}

/// Receive descriptors.
pub mod rx {
    /// The buffer's size, a multiple of 8.
    pub const SIZE: u32 = 0x1ff8;
    /// Status: the length, with FCS.
    pub const LENGTH: u32 = 0x1fff;
    pub const MULTICAST: u32 = 1 << 26;
    pub const PHYSICAL: u32 = 1 << 25;
    pub const BROADCAST: u32 = 1 << 24;
    pub const ERROR: u32 = 1 << 20;
    pub const RUNT: u32 = 1 << 19;
    pub const CRC: u32 = 1 << 18;
    /// PID: the protocol.
    pub const PID_TCP: u32 = 1 << 16;
    pub const PID_UDP: u32 = 2 << 16;
    pub const PID_IP: u32 = 3 << 16;
    pub const IP_FAILED: u32 = 1 << 15;
    pub const UDP_FAILED: u32 = 1 << 14;
    pub const TCP_FAILED: u32 = 1 << 13;
    /// opts2: TAVA, a tag was taken off, which bits 15:0 hold.
    pub const TAG: u32 = 1 << 16;
}
