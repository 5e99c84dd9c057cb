// SPDX-License-Identifier: GPL-2.0-or-later
//! Registers and structures in memory. Sections are those of Intel's "8255x 10/100 Mbps Ethernet Controller Family Open Source Software
//! Developer Manual", revision 1.3.

/// Control and status registers (6.3.1), offsets in windows 0 (memory) and 1 (ports).
pub mod csr {
    /// SCB status: the units' states (6.3.2.1).
    pub const STATUS: u64 = 0x00;
    /// SCB status: the causes; writing 1 acknowledges (6.3.2.1).
    pub const ACK: u64 = 0x01;
    /// SCB command; 0 once it was accepted (6.3.2.2).
    pub const COMMAND: u64 = 0x02;
    /// SCB command: the interrupt mask (6.3.2.2).
    pub const MASK: u64 = 0x03;
    /// The SCB general pointer (6.3.2.3).
    pub const POINTER: u64 = 0x04;
    /// PORT (6.3.3).
    pub const PORT: u64 = 0x08;
    /// EEPROM control (6.3.4).
    pub const EEPROM: u64 = 0x0e;
    /// MDI control (6.3.5).
    pub const MDI: u64 = 0x10;
    /// General status, 82559: link, speed, duplex (6.3.1).
    pub const GENERAL_STATUS: u64 = 0x1d;
    /// How many bytes of registers there are.
    pub const BYTES: usize = 0x40;
}

/// Causes, SCB status bits 15:8 (6.3.2.1).
pub mod cause {
    /// CX: a command with its I bit was executed.
    pub const CX: u8 = 0x80;
    /// FR: a frame was received.
    pub const FR: u8 = 0x40;
    /// CNA: the command unit left the active state.
    pub const CNA: u8 = 0x20;
    /// RNR: the receive unit left the ready state.
    pub const RNR: u8 = 0x10;
    /// MDI: an access to the PHY is over.
    pub const MDI: u8 = 0x08;
    /// SWI: the software asked for it.
    pub const SWI: u8 = 0x04;
}

/// The interrupt mask, SCB command bits 15:8 (6.3.2.2).
pub mod mask {
    /// Masks of CX, FR, CNA, RNR, in the causes' places, and of ER and FCP.
    pub const SPECIFIC: u8 = 0xfc;
    /// Of these, the ones that lie where the causes do.
    pub const IN_PLACE: u8 = 0xf0;
    /// SI: asks for an interrupt; reads as 0.
    pub const SI: u8 = 0x02;
    /// M: no interrupts.
    pub const ALL: u8 = 0x01;
}

/// SCB command bits 7:0 (6.3.2.2).
pub mod scb {
    /// The command unit's, bits 7:4.
    pub const CU_SHIFT: u32 = 4;
    pub const CU_START: u8 = 1;
    pub const CU_RESUME: u8 = 2;
    pub const CU_LOAD_DUMP_ADDRESS: u8 = 4;
    pub const CU_DUMP: u8 = 5;
    pub const CU_LOAD_BASE: u8 = 6;
    pub const CU_DUMP_AND_RESET: u8 = 7;
    pub const CU_STATIC_RESUME: u8 = 10;
    /// The receive unit's, bits 2:0.
    pub const RU_MASK: u8 = 7;
    pub const RU_START: u8 = 1;
    pub const RU_RESUME: u8 = 2;
    pub const RU_ABORT: u8 = 4;
    pub const RU_LOAD_HEADER_SIZE: u8 = 5;
    pub const RU_LOAD_BASE: u8 = 6;
}

/// PORT functions, bits 3:0 (6.3.3).
pub mod port {
    pub const MASK: u32 = 0xf;
    pub const RESET: u32 = 0;
    pub const SELF_TEST: u32 = 1;
    pub const SELECTIVE_RESET: u32 = 2;
    pub const DUMP: u32 = 3;
}

/// Command blocks (6.4.2): a status word, a command word, a link, parameters.
pub mod cb {
    /// Where the parameters begin.
    pub const PARAMETERS: u32 = 8;
    /// What is read of a block at first, in bytes.
    pub const HEADER_BYTES: usize = 16;
    pub const STATUS_C: u16 = 0x8000;
    pub const STATUS_OK: u16 = 0x2000;
    /// Transmit: an underrun (6.4.2.5).
    pub const STATUS_U: u16 = 0x1000;
    pub const EL: u16 = 0x8000;
    pub const S: u16 = 0x4000;
    pub const I: u16 = 0x2000;
    /// CNA interrupt delay, 82558 and later.
    pub const CID_SHIFT: u32 = 8;
    pub const CID_MASK: u16 = 0x1f;
    /// Transmit: the CRC is in memory.
    pub const NC: u16 = 0x10;
    /// Transmit: flexible mode.
    pub const SF: u16 = 0x08;
    pub const COMMAND_MASK: u16 = 7;
    pub const ADDRESS: u16 = 1;
    pub const CONFIGURE: u16 = 2;
    pub const MULTICAST: u16 = 3;
    pub const TRANSMIT: u16 = 4;
    pub const MICROCODE: u16 = 5;
    pub const DUMP: u16 = 6;
    /// Of a transmit block: where a simplified frame, or the first two buffer descriptors of an extended block, begin.
    pub const TCB_BYTES: u32 = 16;
    /// A transmit buffer descriptor, in bytes.
    pub const TBD_BYTES: usize = 8;
    /// How many of them lie in an extended block.
    pub const TBDS_INSIDE: u8 = 2;
    pub const COUNT_MASK: u16 = 0x3fff;
    /// No buffer descriptors.
    pub const NO_TBDS: u32 = 0xffff_ffff;
}

/// Receive frame descriptors (6.4.3): a status word, a command word, a link, a reserved double word, a count, a size; then the frame.
pub mod rfd {
    pub const BYTES: usize = 16;
    pub const COUNT: u32 = 12;
    pub const STATUS_C: u16 = 0x8000;
    pub const STATUS_OK: u16 = 0x2000;
    /// The FCS is wrong.
    pub const STATUS_CRC: u16 = 0x0800;
    /// Shorter than Ethernet allows.
    pub const STATUS_SHORT: u16 = 0x0080;
    /// Out of buffer space.
    pub const STATUS_NO_SPACE: u16 = 0x0200;
    /// The length field is a type.
    pub const STATUS_TYPE: u16 = 0x0020;
    /// Neither the individual address nor broadcast.
    pub const STATUS_NO_MATCH: u16 = 0x0004;
    /// Not the individual address.
    pub const STATUS_NOT_IA: u16 = 0x0002;
    pub const EL: u16 = 0x8000;
    pub const S: u16 = 0x4000;
    pub const COUNT_EOF_F: u16 = 0xc000;
    pub const SIZE_MASK: u16 = 0x3fff;
}
