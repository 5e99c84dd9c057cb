// SPDX-License-Identifier: GPL-2.0-or-later
//! The result of a trial, as the lab gets it (docs/inside/protocol.md).

use serde::Serialize;

use crate::backend::{Cued, Path, Switched};
use crate::memory_model::Counts;
use crate::traffic::analysis::StreamResult;

/// A port's counters, from the trial's start to the end of its drain.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PortCount {
    /// Frames delivered, whoever sent them.
    pub sent: u64,
    /// Of these: the NIC had no room.
    pub refused: u64,
    /// Frames the device under test transmitted.
    pub received: u64,
    /// Of these: another trial's, another stream's, or not meant for this port.
    pub stray: u64,
    /// Of these: for the host stack.
    pub host: u64,
    /// Of these: with our signature, but damaged.
    pub corrupted: u64,
}

/// RESULT of docs/inside/protocol.md.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct TrialResult {
    pub id: u16,
    pub begin_ns: u64,
    pub window_ns: u64,
    pub instructions: u64,
    pub idle_ns: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Counts>,
    pub watched: Vec<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halts: Option<Vec<[u64; 2]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<Vec<(usize, u64, u64, bool)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cued: Option<Vec<Cued>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switched: Vec<Switched>,
    pub streams: Vec<StreamResult>,
    pub ports: Vec<PortCount>,
}
