// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads counters of running programs together with the time, so that rates are right even if the reader is kept waiting.

use crate::Ending;
use crate::counters;
use nix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::time::Duration;

/// What is read.
#[derive(clap::Args)]
pub struct Options {
    /// The files of the counters
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Prints `{"at_ns": ..., "FILE": {"NAME": ...}, ...}`; the time is the middle of the reading, by the monotonic clock.
pub fn run(options: &Options) -> Ending {
    let mut found = Map::new();
    let before = now()?;
    for file in &options.files {
        found.insert(file.display().to_string(), counters::read(file)?.into());
    }
    let middle = before + (now()? - before) / 2;
    found.insert(
        "at_ns".into(),
        Value::from(u64::try_from(middle.as_nanos()).unwrap_or(u64::MAX)),
    );
    counters::print_line(&found)
}

fn now() -> Result<Duration, String> {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map(Duration::from)
        .map_err(|error| format!("clock: {error}"))
}
