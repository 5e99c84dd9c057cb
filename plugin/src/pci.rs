// SPDX-License-Identifier: GPL-2.0-or-later
//! [Cards of our own](irqlab_tester::pci) as PCI devices of QEMU's.

pub mod cards;
mod device;
mod kinds;
mod slot;
pub mod socket;
