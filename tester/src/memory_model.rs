// SPDX-License-Identifier: GPL-2.0-or-later
//! A model of the memory behind a processor: caches, TLBs, a store buffer, and the time that the processor waits for them.
//!
//! It needs no QEMU: [`Hierarchy::fetch`] is called for each line of instructions that is executed, [`Hierarchy::access`] for each access
//! to memory. In the plugin, `qemu/caches.rs` does that. docs/use/memory-model.md says what is modelled and what is not.

pub mod cache;
pub mod coherence;
pub mod counts;
pub mod hierarchy;
pub mod parameters;
pub mod processors;
pub mod store_buffer;
pub mod tlb;

pub use self::cache::{Cache, Geometry};
pub use self::coherence::Write;
pub use self::counts::{Counts, Level, Stalls};
pub use self::hierarchy::{Hierarchy, Used};
pub use self::parameters::{DeviceWrites, Parameters, Stall};
pub use self::processors::Processors;
