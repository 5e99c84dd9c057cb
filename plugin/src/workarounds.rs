// SPDX-License-Identifier: GPL-2.0-or-later
//! Defects of QEMU's that would change a trial's results, each mended in a file of its own.

pub mod cmpxchg_flags;
pub mod halt_race;
pub mod ioapic_throttle;
