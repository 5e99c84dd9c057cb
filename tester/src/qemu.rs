// SPDX-License-Identifier: GPL-2.0-or-later
//! The tester inside QEMU: the plugin, the functions of QEMU's that it calls, its devices, and work-arounds for QEMU's defects.

pub mod api;
mod arguments;
pub mod instrument;
pub mod plugin;
pub mod translation;
mod usb;
pub mod workarounds;
