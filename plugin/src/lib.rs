// SPDX-License-Identifier: GPL-2.0-or-later
//! The tester (`irqlab_tester`) inside QEMU: a plugin. Nothing else in the tester has unsafe code.
//!
//! [`install`] is QEMU's entry point, [`plugin`] is what runs afterwards. [`api`] finds the functions of QEMU, [`layout`] has the
//! structures that are relied on; the other modules wrap them.

mod api;
mod arguments;
mod backend;
mod caches;
mod clock;
mod cpu_state;
mod cues;
mod device_type;
mod device_writes;
mod die;
mod halts;
mod idling;
pub mod install;
mod instrument;
mod interrupts;
mod lab;
mod layout;
mod lines;
mod machine;
mod main_loop;
mod memory;
mod net;
mod parallel;
mod pauses;
mod pci;
mod plugin;
mod port_io;
mod preemption;
mod probes;
mod release;
mod rewind;
mod saved_state;
mod selfcheck;
mod stall;
mod timer;
mod translation;
mod usb;
mod workarounds;
