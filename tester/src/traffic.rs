// SPDX-License-Identifier: GPL-2.0-or-later
//! Streams of frames: what is sent when, what came back, and what that says about the device under test.

pub mod analysis;
pub mod arrivals;
pub mod capture;
pub mod departures;
pub mod egress;
pub mod events;
pub mod frame;
pub mod latency;
pub mod line;
pub mod plan;
pub mod recording;
pub mod result;
pub mod sizes;
pub mod stream;
pub mod trial;
pub mod wire;
