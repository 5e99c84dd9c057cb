// SPDX-License-Identifier: GPL-2.0-or-later
//! irqlab's traffic tester: streams, hosts and wires on the ports of a device under test, in virtual time.
//!
//! [`tester::Tester`] needs no QEMU: it stands on a [`backend::Backend`], which is QEMU's clock and NICs in the plugin and a
//! [`loopback`] in the tests. docs/protocol.md is the contract with the lab.

pub mod backend;
pub mod control;
pub mod host;
pub mod lan7800;
pub mod loopback;
pub mod mac;
pub mod profile;
pub mod qemu;
pub mod rng;
pub mod tester;
pub mod traffic;
