// SPDX-License-Identifier: GPL-2.0-or-later
//! What the model is made of, and how long the processor waits for each part.

use super::cache::Geometry;
use super::{store_buffer, tlb};

/// How much later the processor goes on than if its first-level cache had hit, in ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// For a line of instructions.
    pub fetch_ps: u64,
    /// For a line of data; less if the processor executes other instructions meanwhile.
    pub data_ps: u64,
}

/// What becomes of the lines that a device writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceWrites {
    /// They stay in the caches as they are.
    #[default]
    Unseen,
    /// No cache has them any longer.
    Invalidate,
    /// Only the last level has them.
    LastLevel,
}

/// What the model is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The first-level cache of instructions.
    pub instructions: Geometry,
    /// The first-level cache of data.
    pub data: Geometry,
    /// Caches of both behind them, the nearest first, and the stall if a line comes from there.
    pub behind: Vec<(Geometry, Stall)>,
    /// The stall if a line comes from RAM.
    pub ram: Stall,
    /// What a device's write does.
    pub device_writes: DeviceWrites,
    /// The stall of a read of a device's register, in ps.
    pub register_ps: u64,
    /// TLBs; None: translating an address takes no time.
    pub tlbs: Option<tlb::Parameters>,
    /// The store buffer; None: a store that misses stalls as a load does.
    pub store_buffer: Option<store_buffer::Shape>,
    /// What entering an interrupt and returning from it take beyond their instructions, in ps.
    pub interrupt_ps: u64,
    /// The time of an instruction, in ps; None: that of the instruction clock.
    pub instruction_ps: Option<u64>,
}
