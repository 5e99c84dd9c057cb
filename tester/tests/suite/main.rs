// SPDX-License-Identifier: GPL-2.0-or-later
//! The whole tester against a [loop-back](irqlab_tester::loopback): everything but QEMU.

mod capture;
mod counting;
mod damage;
mod departures;
mod hosts;
mod laboratory;
mod peers;
mod properties;
mod protocol;
mod refusals;
mod schema;
mod speed;
mod wires;
