// SPDX-License-Identifier: GPL-2.0-or-later
//! Offsets and bits of registers and descriptors. Sections are those of the 82574 data sheet.

/// Registers, by their offset in the memory window (10.2).
pub mod csr {
    pub const BYTES: u64 = 128 << 10;
    // General (10.2.2).
    pub const CTRL: u64 = 0x0000;
    pub const CTRL_ALIAS: u64 = 0x0004;
    pub const STATUS: u64 = 0x0008;
    pub const EEC: u64 = 0x0010;
    pub const EERD: u64 = 0x0014;
    pub const CTRL_EXT: u64 = 0x0018;
    pub const MDIC: u64 = 0x0020;
    pub const FCAH: u64 = 0x002c;
    pub const FCT: u64 = 0x0030;
    pub const VET: u64 = 0x0038;
    pub const FCTTV: u64 = 0x0170;
    pub const TXCW: u64 = 0x0178;
    pub const PBA: u64 = 0x1000;
    pub const EEMNGCTL: u64 = 0x1010;
    pub const EEWR: u64 = 0x102c;
    pub const SWSM: u64 = 0x5b50;
    // Interrupts (10.2.4).
    pub const ICR: u64 = 0x00c0;
    pub const ITR: u64 = 0x00c4;
    pub const ICS: u64 = 0x00c8;
    pub const IMS: u64 = 0x00d0;
    pub const IMC: u64 = 0x00d8;
    pub const EIAC: u64 = 0x00dc;
    pub const IAM: u64 = 0x00e0;
    pub const IVAR: u64 = 0x00e4;
    pub const EITR: u64 = 0x00e8;
    pub const EITR_LAST: u64 = 0x00f8;
    // Receive (10.2.5).
    pub const RCTL: u64 = 0x0100;
    pub const FCRTL: u64 = 0x2160;
    pub const FCRTH: u64 = 0x2168;
    pub const PSRCTL: u64 = 0x2170;
    pub const RX_QUEUES: u64 = 0x2800;
    pub const RDTR: u64 = 0x2820;
    pub const RADV: u64 = 0x282c;
    pub const RSRPD: u64 = 0x2c00;
    pub const RXCSUM: u64 = 0x5000;
    pub const RFCTL: u64 = 0x5008;
    pub const MTA: u64 = 0x5200;
    pub const RAL: u64 = 0x5400;
    pub const RAH_LAST: u64 = 0x547c;
    pub const VFTA: u64 = 0x5600;
    pub const MRQC: u64 = 0x5818;
    pub const RETA: u64 = 0x5c00;
    pub const RSSRK: u64 = 0x5c80;
    // Transmit (10.2.6).
    pub const TCTL: u64 = 0x0400;
    pub const TIPG: u64 = 0x0410;
    pub const TX_QUEUES: u64 = 0x3800;
    pub const TIDV: u64 = 0x3820;
    pub const TADV: u64 = 0x382c;
    // Within a queue's registers, which are 0x100 apart from those of the next.
    pub const QUEUE_BYTES: u64 = 0x100;
    pub const BASE_LOW: u64 = 0x00;
    pub const BASE_HIGH: u64 = 0x04;
    pub const LENGTH: u64 = 0x08;
    pub const HEAD: u64 = 0x10;
    pub const TAIL: u64 = 0x18;
    pub const DESCRIPTOR_CONTROL: u64 = 0x28;
    // Statistics (10.2.7).
    pub const STATISTICS: u64 = 0x4000;
    pub const STATISTICS_LAST: u64 = 0x4124;
    // Time (10.2).
    pub const SYSTIML: u64 = 0xb600;
    pub const SYSTIMH: u64 = 0xb604;
    pub const TIMINCA: u64 = 0xb608;
    pub const TSYNCTXCTL: u64 = 0xb614;
    pub const TSYNCRXCTL: u64 = 0xb620;
}

/// CTRL (10.2.2.1).
pub mod ctrl {
    pub const FD: u32 = 1 << 0;
    pub const MASTER_DISABLE: u32 = 1 << 2;
    pub const SLU: u32 = 1 << 6;
    pub const SPEED_1000: u32 = 2 << 8;
    pub const ADVD3WUC: u32 = 1 << 20;
    pub const RST: u32 = 1 << 26;
    pub const RFCE: u32 = 1 << 27;
    pub const TFCE: u32 = 1 << 28;
    pub const VME: u32 = 1 << 30;
    pub const PHY_RST: u32 = 1 << 31;
}

/// STATUS (10.2.2.2).
pub mod status {
    pub const FD: u32 = 1 << 0;
    pub const LU: u32 = 1 << 1;
    pub const SPEED_SHIFT: u32 = 6;
    pub const INIT_DONE: u32 = 1 << 9;
    pub const PHYRA: u32 = 1 << 10;
    pub const MASTER: u32 = 1 << 19;
}

/// EEC (10.2.2.3), EERD (10.2.2.4) and EEWR (10.2.2).
pub mod nvm {
    pub const EEC_REQUEST: u32 = 1 << 6;
    pub const EEC_GRANT: u32 = 1 << 7;
    pub const EEC_PRESENT: u32 = 1 << 8;
    pub const EEC_AUTO_READ: u32 = 1 << 9;
    pub const START: u32 = 1 << 0;
    pub const DONE: u32 = 1 << 1;
    pub const ADDRESS_SHIFT: u32 = 2;
    pub const ADDRESS_MASK: u32 = 0x3fff;
    pub const DATA_SHIFT: u32 = 16;
    /// EEMNGCTL: the PHY's configuration was loaded.
    pub const CONFIGURED: u32 = 1 << 18;
}

/// CTRL_EXT (10.2.2.5).
pub mod ctrl_ext {
    pub const EE_RST: u32 = 1 << 13;
    pub const EIAME: u32 = 1 << 24;
    pub const IAME: u32 = 1 << 27;
    pub const PBA_CLEAR: u32 = 1 << 31;
}

/// SWSM (10.2.2): the semaphore that is taken by reading it.
pub const SWSM_SMBI: u32 = 1;

/// Causes, in ICR (10.2.4.1), ICS, IMS and IMC.
pub mod cause {
    pub const TXDW: u32 = 1 << 0;
    pub const TXQE: u32 = 1 << 1;
    pub const LSC: u32 = 1 << 2;
    pub const RXDMT0: u32 = 1 << 4;
    pub const RXO: u32 = 1 << 6;
    pub const RXT0: u32 = 1 << 7;
    pub const MDAC: u32 = 1 << 9;
    pub const SRPD: u32 = 1 << 16;
    pub const ACK: u32 = 1 << 17;
    pub const MNG: u32 = 1 << 18;
    pub const RXQ0: u32 = 1 << 20;
    pub const RXQ1: u32 = 1 << 21;
    pub const TXQ0: u32 = 1 << 22;
    pub const TXQ1: u32 = 1 << 23;
    pub const OTHER: u32 = 1 << 24;
    pub const ASSERTED: u32 = 1 << 31;
    /// Those that the vector of "other causes" stands for (7.4.2).
    pub const OTHERS: u32 = LSC | RXO | MDAC | SRPD | ACK | MNG;
    /// Those with a vector, by their place in IVAR (10.2.4.9).
    pub const OF_VECTORS: [u32; 5] = [RXQ0, RXQ1, TXQ0, TXQ1, OTHER];
}

/// IVAR (10.2.4.9).
pub mod ivar {
    pub const ENTRY_BITS: u32 = 4;
    pub const VECTOR: u32 = 7;
    pub const VALID: u32 = 8;
}

/// RCTL (10.2.5.1).
pub mod rctl {
    pub const EN: u32 = 1 << 1;
    pub const UPE: u32 = 1 << 3;
    pub const MPE: u32 = 1 << 4;
    pub const LPE: u32 = 1 << 5;
    pub const LOOPBACK: u32 = 3 << 6;
    pub const RDMTS_SHIFT: u32 = 8;
    pub const PACKET_SPLIT: u32 = 1 << 10;
    pub const MO_SHIFT: u32 = 12;
    pub const BAM: u32 = 1 << 15;
    pub const BSIZE_SHIFT: u32 = 16;
    pub const VFE: u32 = 1 << 18;
    pub const PMCF: u32 = 1 << 23;
    pub const BSEX: u32 = 1 << 25;
    pub const SECRC: u32 = 1 << 26;
    pub const FLXBUF_SHIFT: u32 = 27;
}

/// Thresholds in RXDCTL (10.2.5.11) and TXDCTL (10.2.6.10).
pub mod dctl {
    pub const PREFETCH: u32 = 0x3f;
    pub const HOST_SHIFT: u32 = 8;
    pub const WRITE_BACK_SHIFT: u32 = 16;
    pub const SIX_BITS: u32 = 0x3f;
    pub const GRANULARITY: u32 = 1 << 24;
}

/// RDTR (10.2.5.10) and TIDV (10.2.6.9): what is written flushes descriptors.
pub const FLUSH: u32 = 1 << 31;

/// RXCSUM and RFCTL (10.2.5).
pub mod offload {
    pub const PCSS: u32 = 0xff;
    pub const IPOFL: u32 = 1 << 8;
    pub const TUOFL: u32 = 1 << 9;
    pub const PCSD: u32 = 1 << 13;
    pub const ACK_DISABLE: u32 = 1 << 12;
    pub const EXTENDED: u32 = 1 << 15;
}

/// RAH (10.2.5.23).
pub const RAH_VALID: u32 = 1 << 31;

/// MRQC (10.2.5).
pub mod mrqc {
    pub const ENABLE: u32 = 3;
    pub const TWO_QUEUES: u32 = 1;
    pub const TCP_IPV4: u32 = 1 << 16;
    pub const IPV4: u32 = 1 << 17;
    pub const IPV6: u32 = 1 << 20;
    pub const TCP_IPV6: u32 = 1 << 21;
}

/// Status and errors of a receive descriptor (7.1.3, 7.1.4).
pub mod rxd {
    pub const DD: u32 = 1 << 0;
    pub const EOP: u32 = 1 << 1;
    pub const IXSM: u32 = 1 << 2;
    pub const VP: u32 = 1 << 3;
    pub const UDPCS: u32 = 1 << 4;
    pub const TCPCS: u32 = 1 << 5;
    pub const IPCS: u32 = 1 << 6;
    pub const PIF: u32 = 1 << 7;
    /// In extended descriptors.
    pub const TCPE: u32 = 1 << 29;
    pub const IPE: u32 = 1 << 30;
    /// Errors are in bits 31:24 of an extended descriptor's status, and in a byte of their own otherwise.
    pub const ERRORS_SHIFT: u32 = 24;
    /// Of the header's status in a packet split descriptor (7.1.5).
    pub const HDRSP: u16 = 1 << 15;
}

/// TCTL (10.2.6.1).
pub mod tctl {
    pub const EN: u32 = 1 << 1;
    pub const PSP: u32 = 1 << 3;
}

/// Transmit descriptors (7.2.10.1, 7.2.11): bits of the second quadword's lower half.
pub mod txd {
    pub const BYTES: usize = 16;
    pub const LENGTH: u32 = 0x000f_ffff;
    pub const TYPE_SHIFT: u32 = 20;
    pub const TYPE_CONTEXT: u32 = 0;
    pub const EOP: u32 = 1 << 24;
    /// Of a legacy descriptor: insert a checksum. Of a data descriptor: TSE. Of a context descriptor: TSE.
    pub const IC: u32 = 1 << 26;
    pub const TSE: u32 = 1 << 26;
    pub const RS: u32 = 1 << 27;
    pub const DEXT: u32 = 1 << 29;
    pub const VLE: u32 = 1 << 30;
    pub const IDE: u32 = 1 << 31;
    /// Of a context descriptor.
    pub const TCP: u32 = 1 << 24;
    pub const IPV4: u32 = 1 << 25;
    /// In the status byte.
    pub const DD: u8 = 1;
    pub const STATUS_AT: u64 = 12;
    /// POPTS.
    pub const IXSM: u8 = 1;
    pub const TXSM: u8 = 2;
}
