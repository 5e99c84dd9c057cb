// SPDX-License-Identifier: GPL-2.0-or-later
//! What the chip's configuration space says (data sheet, chapter 9): who it is, its windows, and its capabilities.

use super::interrupts::VECTORS;
use super::registers::csr;
use crate::pci::{Capabilities, Identity, MsiX, PowerManagement, Window};

pub const INTEL: u16 = 0x8086;
pub const DEVICE: u16 = 0x10d3;
/// Registers, the flash memory, ports, the tables of MSI-X (chapter 9).
pub const WINDOWS: [Window; 4] = [
    Window {
        bytes: csr::BYTES,
        ports: false,
    },
    Window {
        bytes: 128 << 10,
        ports: false,
    },
    Window {
        bytes: 32,
        ports: true,
    },
    Window {
        bytes: 16 << 10,
        ports: false,
    },
];
/// Their numbers.
pub const FLASH: usize = 1;
pub const PORTS: usize = 2;
pub const TABLES: usize = 3;

/// The configuration space (chapter 9).
pub const IDENTITY: Identity = Identity {
    vendor: INTEL,
    device: DEVICE,
    revision: 0,
    subsystem: (INTEL, 0),
    latency: [0, 0],
    // Version 2, DSI, PME from D0 and D3.
    power: Some(PowerManagement {
        offset: 0xc8,
        capabilities: 0xc822,
    }),
};

/// Its further capabilities (chapter 9).
pub const CAPABILITIES: Capabilities = Capabilities {
    express: Some(0xe0),
    msi: Some(0xd0),
    msix: Some(MsiX {
        offset: 0xa0,
        vectors: VECTORS,
        window: TABLES,
        table: 0,
        pending: 0x2000,
    }),
};
