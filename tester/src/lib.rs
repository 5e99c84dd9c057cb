// SPDX-License-Identifier: GPL-2.0-or-later
//! irqlab's traffic tester: streams, hosts and wires on the ports of a device under test, in virtual time.
//!
//! [`tester::Tester`] needs no QEMU but a [`backend::Backend`]: in the plugin that is QEMU's clock and NICs, in the tests a [`loopback`].
//! docs/inside/protocol.md specifies the link to the lab.

#![forbid(unsafe_code)]

pub mod backend;
pub mod control;
mod fast_hash;
pub mod faults;
pub mod host;
pub mod i82559;
pub mod i82574;
pub mod lan7800;
pub mod loopback;
pub mod mac;
pub mod memory_model;
pub mod offload;
pub mod parallel;
pub mod pause;
pub mod pci;
pub mod profile;
pub mod refusal;
pub mod rng;
pub mod rtl8139;
pub mod tester;
pub mod traffic;
pub mod x86;
