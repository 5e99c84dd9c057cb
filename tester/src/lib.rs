// SPDX-License-Identifier: GPL-2.0-or-later
//! irqlab's traffic tester: streams, hosts and wires on the ports of a device under test, in virtual time.
//!
//! [`tester::Tester`] needs no QEMU: it stands on a [`port::Bench`], which is QEMU's clock and NICs in the plugin and a
//! [`loopback`] in the tests. docs/protocol.md is the contract with the lab.

pub mod analysis;
mod arguments;
pub mod arrivals;
pub mod capture;
pub mod control;
pub mod departures;
pub mod egress;
pub mod flags;
pub mod frame;
pub mod host;
pub mod idle;
pub mod instrument;
pub mod ioapic;
pub mod lan7800;
pub mod latency;
pub mod line;
pub mod loopback;
pub mod mac;
pub mod peer;
pub mod plan;
pub mod plugin;
pub mod port;
pub mod profile;
pub mod qemu;
mod qemu_usb;
pub mod rng;
pub mod sizes;
pub mod stream;
pub mod tester;
pub mod translation;
pub mod trial;
mod usbnic;
pub mod wire;
