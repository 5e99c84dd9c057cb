// SPDX-License-Identifier: GPL-2.0-or-later
//! The [LAN7800](irqlab_tester::lan7800) as a USB device of QEMU's.

mod device;
pub mod nic;
mod packet;
