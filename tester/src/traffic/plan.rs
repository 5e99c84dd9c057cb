// SPDX-License-Identifier: GPL-2.0-or-later
//! A trial as the lab asks for it, and the checks whether it is possible.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde::Deserialize;

use crate::backend::{Cue, Cues, Switches};
use crate::mac::Mac;
use crate::rng::{Purpose, seeded};
use crate::traffic::arrivals::Arrivals;
use crate::traffic::events::EventPlan;
use crate::traffic::frame::{MAX_FRAME_BYTES, MIN_FRAME_BYTES, Protocol};
use crate::traffic::sizes::Sizes;

/// Warm-up, window and drain together may not be longer: a day. The tag's departure time wraps after 78 hours.
pub const MAX_TRIAL_NS: u64 = 86_400_000_000_000;
/// The highest rate of a stream, in frames/s.
pub const MAX_RATE_PPS: f64 = 100_000_000.0;
/// The most streams in a trial: the tag has a byte for the number.
pub const MAX_STREAMS: usize = 256;
/// The most sizes in a mix.
pub const MAX_MIX: usize = 64;
/// The most frames of a recording.
pub const MAX_RECORDED: usize = 100_000;
/// The most counters that a trial watches.
pub const MAX_WATCHED: usize = 64;
/// The most buckets in a series.
pub const MAX_BUCKETS: u64 = 100_000;

/// TRIAL of docs/inside/protocol.md.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct TrialPlan {
    pub id: u16,
    pub seed: u64,
    pub warmup_ns: u64,
    pub duration_ns: u64,
    pub drain_ns: u64,
    pub late_ns: u64,
    pub bucket_ns: u64,
    pub histogram: bool,
    /// Whether the result says when the processor was halted.
    #[serde(default)]
    pub halts: bool,
    /// Physical addresses of 64-bit counters in the memory of the device under test.
    #[serde(default)]
    pub watch: Vec<u64>,
    /// Addresses of functions: the result says when they were entered.
    #[serde(default)]
    pub probes: Vec<u64>,
    #[serde(default)]
    pub events: Vec<EventPlan>,
    /// Where processors give way.
    #[serde(default)]
    pub preempt: Switches,
    /// What happens before chosen instructions, instead of at its own instant.
    #[serde(default)]
    pub cues: Cues,
    /// How much later than usual the NICs interrupt.
    #[serde(default)]
    pub interrupt_delay_ns: u64,
    /// How long writes to registers take to the NICs.
    #[serde(default)]
    pub write_delay_ns: u64,
    pub streams: Vec<StreamPlan>,
}

/// One of TRIAL's streams.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct StreamPlan {
    pub from: usize,
    pub to: usize,
    pub src_mac: Option<Mac>,
    pub dst_mac: Mac,
    pub src_ip: Ipv4Addr,
    pub dst_ip: Ipv4Addr,
    /// RFC 2544, appendix C.2.6.4: 0xC020.
    #[serde(default = "default_src_port")]
    pub src_port: u16,
    /// The discard port (RFC 863).
    #[serde(default = "default_dst_port")]
    pub dst_port: u16,
    #[serde(default = "default_ttl")]
    pub ttl: u8,
    #[serde(default)]
    pub protocol: Protocol,
    pub arrivals: ArrivalsPlan,
    pub size: SizePlan,
    #[serde(default)]
    pub begin_ns: u64,
    pub end_ns: Option<u64>,
    pub count: Option<u64>,
    #[serde(default)]
    pub phase_ns: u64,
    /// Whether the result has each frame's latency.
    #[serde(default)]
    pub each: bool,
}

fn default_src_port() -> u16 {
    0xc020
}
fn default_dst_port() -> u16 {
    9
}
fn default_ttl() -> u8 {
    64
}

/// A stream's arrivals.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum ArrivalsPlan {
    Constant {
        rate_pps: f64,
    },
    Poisson {
        rate_pps: f64,
    },
    Bursts {
        rate_pps: f64,
        on_ns: u64,
        off_ns: u64,
    },
    Recorded {
        gaps_ns: Vec<u64>,
    },
}

/// A stream's sizes, with FCS.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum SizePlan {
    Fixed { frame_bytes: u64 },
    Imix { mix: Vec<(u64, u32)> },
    Recorded { frame_bytes: Vec<u64> },
}

impl TrialPlan {
    /// Refuses a trial that is not possible on a tester of so many ports. The error says what is wrong and what is allowed.
    pub fn check(&self, ports: usize) -> Result<(), String> {
        if self.duration_ns == 0 {
            return Err("duration_ns is 0: a trial needs a window of at least 1 ns".into());
        }
        let total = [self.warmup_ns, self.duration_ns, self.drain_ns]
            .into_iter()
            .fold(0, u64::saturating_add);
        if total > MAX_TRIAL_NS {
            return Err(format!(
                "warmup_ns + duration_ns + drain_ns is {total}: at most {MAX_TRIAL_NS}, a day"
            ));
        }
        for (index, event) in self.events.iter().enumerate() {
            event
                .check(ports, self.probes.len())
                .map_err(|why| format!("events[{index}]: {why}"))?;
        }
        self.check_cues().map_err(|why| format!("cues: {why}"))?;
        if self.bucket_ns != 0 && self.duration_ns.div_ceil(self.bucket_ns) > MAX_BUCKETS {
            let least_ns = self.duration_ns.div_ceil(MAX_BUCKETS);
            return Err(format!(
                "bucket_ns is {}: at most {MAX_BUCKETS} buckets, so at least {least_ns}",
                self.bucket_ns
            ));
        }
        if self.watch.len() > MAX_WATCHED {
            return Err(format!(
                "{} counters to watch: at most {MAX_WATCHED}",
                self.watch.len()
            ));
        }
        if self.streams.len() > MAX_STREAMS {
            return Err(format!(
                "{} streams: at most {MAX_STREAMS}",
                self.streams.len()
            ));
        }
        for (index, stream) in self.streams.iter().enumerate() {
            stream
                .check(ports, self.duration_ns)
                .map_err(|why| format!("streams[{index}]: {why}"))?;
            if stream.begin_ns == 0 {
                stream
                    .check_number(self.warmup_ns)
                    .map_err(|why| format!("streams[{index}], warm-up: {why}"))?;
            }
        }
        Ok(())
    }

    fn check_cues(&self) -> Result<(), String> {
        if self.cues.ranges.is_empty() {
            return Ok(());
        }
        if self.cues.every_ns == 0 {
            return Err("every_ns is 0".into());
        }
        match self.cues.what {
            Cue::Stream(index) if index >= self.streams.len() => Err(format!(
                "stream is {index}: there are {}",
                self.streams.len()
            )),
            Cue::Event(index) if index >= self.events.len() => {
                Err(format!("event is {index}: there are {}", self.events.len()))
            }
            _ => Ok(()),
        }
    }
}

impl StreamPlan {
    fn check(&self, ports: usize, duration_ns: u64) -> Result<(), String> {
        for (name, port) in [("from", self.from), ("to", self.to)] {
            check_port(name, port, ports)?;
        }
        if self.src_mac.is_some_and(Mac::is_group) {
            return Err(
                "src_mac is a group's address: it must be a station's (first octet even)".into(),
            );
        }
        if self.ttl == 0 {
            return Err("ttl is 0: 1 to 255".into());
        }
        if self.begin_ns >= duration_ns {
            return Err(format!(
                "begin_ns is {}: it must lie in the window, below {duration_ns}",
                self.begin_ns
            ));
        }
        let end_ns = self.end_ns.unwrap_or(duration_ns);
        if end_ns <= self.begin_ns || end_ns > duration_ns {
            return Err(format!(
                "end_ns is {end_ns}: above begin_ns ({}) and at most duration_ns ({duration_ns})",
                self.begin_ns
            ));
        }
        if self.phase_ns > MAX_TRIAL_NS {
            return Err(format!(
                "phase_ns is {}: at most {MAX_TRIAL_NS}, a day",
                self.phase_ns
            ));
        }
        self.arrivals.check()?;
        self.size.check()?;
        self.check_number(end_ns - self.begin_ns)
    }

    /// Whether a sequence number of 32 bits suffices for `span_ns`.
    fn check_number(&self, span_ns: u64) -> Result<(), String> {
        let frames = match &self.arrivals {
            ArrivalsPlan::Poisson { rate_pps } => *rate_pps * span_ns as f64 / 1e9,
            // The number of departures does not depend on the seed.
            other => other
                .generator(0, 0, 0)
                .departures_before(span_ns, u64::MAX) as f64,
        };
        if frames > f64::from(u32::MAX) {
            return Err(format!("about {frames:.0} frames: at most {}", u32::MAX));
        }
        Ok(())
    }
}

/// Whether `port`, called `name`, is one of `ports`.
pub fn check_port(name: &str, port: usize, ports: usize) -> Result<(), String> {
    match ports {
        0 => Err(format!("{name} is {port}: this tester has no ports")),
        _ if port < ports => Ok(()),
        _ => Err(format!(
            "{name} is {port}: this tester has ports 0 to {}",
            ports - 1
        )),
    }
}

impl ArrivalsPlan {
    fn check(&self) -> Result<(), String> {
        let rate_pps = match self {
            ArrivalsPlan::Constant { rate_pps }
            | ArrivalsPlan::Poisson { rate_pps }
            | ArrivalsPlan::Bursts { rate_pps, .. } => rate_pps,
            ArrivalsPlan::Recorded { gaps_ns } => return check_gaps(gaps_ns),
        };
        if !(0.001..=MAX_RATE_PPS).contains(rate_pps) {
            return Err(format!("rate_pps is {rate_pps}: 0.001 to {MAX_RATE_PPS}"));
        }
        if let ArrivalsPlan::Bursts { on_ns, off_ns, .. } = self {
            if *on_ns == 0 {
                return Err("on_ns is 0: a burst lasts at least 1 ns".into());
            }
            if *on_ns > MAX_TRIAL_NS || *off_ns > MAX_TRIAL_NS {
                return Err(format!(
                    "on_ns is {on_ns}, off_ns is {off_ns}: each at most {MAX_TRIAL_NS}, a day"
                ));
            }
        }
        Ok(())
    }

    /// The generator for stream number `stream`; `part` tells warm-up (1) from window (0).
    pub fn generator(&self, seed: u64, stream: usize, part: u8) -> Arrivals {
        let milli = |rate_pps: f64| (rate_pps * 1e3).round() as u64;
        match self {
            ArrivalsPlan::Constant { rate_pps } => Arrivals::constant(milli(*rate_pps)),
            ArrivalsPlan::Poisson { rate_pps } => Arrivals::poisson(
                milli(*rate_pps),
                seeded(seed, Purpose::Arrivals, stream, part),
            ),
            ArrivalsPlan::Bursts {
                rate_pps,
                on_ns,
                off_ns,
            } => Arrivals::bursts(milli(*rate_pps), *on_ns, *off_ns),
            ArrivalsPlan::Recorded { gaps_ns } => Arrivals::recorded(gaps_ns),
        }
    }
}

/// Whether distances can be played again and again, at no more than [`MAX_RATE_PPS`] on average.
fn check_gaps(gaps_ns: &[u64]) -> Result<(), String> {
    check_recorded("gaps_ns", gaps_ns.len())?;
    let least_ns = (gaps_ns.len() as f64 * 1e9 / MAX_RATE_PPS) as u64;
    let total_ns = gaps_ns
        .iter()
        .fold(0, |total: u64, gap_ns| total.saturating_add(*gap_ns));
    if !(least_ns..=MAX_TRIAL_NS).contains(&total_ns) {
        return Err(format!(
            "gaps_ns are {total_ns} ns together: {least_ns} to {MAX_TRIAL_NS}, a day"
        ));
    }
    Ok(())
}

fn check_recorded(name: &str, frames: usize) -> Result<(), String> {
    match (1..=MAX_RECORDED).contains(&frames) {
        true => Ok(()),
        false => Err(format!("{name} has {frames} frames: 1 to {MAX_RECORDED}")),
    }
}

impl SizePlan {
    fn check(&self) -> Result<(), String> {
        let range = MIN_FRAME_BYTES as u64..=MAX_FRAME_BYTES as u64;
        let check_size = |bytes: &u64| match range.contains(bytes) {
            true => Ok(()),
            false => Err(format!(
                "a frame of {bytes} bytes: {MIN_FRAME_BYTES} to {MAX_FRAME_BYTES}, FCS included"
            )),
        };
        match self {
            SizePlan::Fixed { frame_bytes } => check_size(frame_bytes),
            SizePlan::Imix { mix } => {
                if mix.is_empty() || mix.len() > MAX_MIX {
                    return Err(format!("a mix of {} sizes: 1 to {MAX_MIX}", mix.len()));
                }
                if mix.iter().all(|(_, weight)| *weight == 0) {
                    return Err("every weight in the mix is 0: at least one must not be".into());
                }
                mix.iter().try_for_each(|(bytes, _)| check_size(bytes))
            }
            SizePlan::Recorded { frame_bytes } => {
                check_recorded("frame_bytes", frame_bytes.len())?;
                frame_bytes.iter().try_for_each(check_size)
            }
        }
    }

    /// The frame sizes (with FCS) that the generator's indices refer to.
    pub fn frame_bytes(&self) -> Vec<usize> {
        match self {
            SizePlan::Fixed { frame_bytes } => vec![*frame_bytes as usize],
            SizePlan::Imix { mix } => mix.iter().map(|(bytes, _)| *bytes as usize).collect(),
            SizePlan::Recorded { frame_bytes } => {
                let distinct: BTreeSet<u64> = frame_bytes.iter().copied().collect();
                distinct.into_iter().map(|bytes| bytes as usize).collect()
            }
        }
    }

    /// The generator, as for [`ArrivalsPlan::generator`].
    pub fn generator(&self, seed: u64, stream: usize, part: u8) -> Sizes {
        match self {
            SizePlan::Fixed { .. } => Sizes::Fixed,
            SizePlan::Imix { mix } => {
                let weights = mix.iter().map(|(_, weight)| *weight).collect();
                Sizes::mix(weights, seeded(seed, Purpose::Sizes, stream, part))
            }
            SizePlan::Recorded { frame_bytes } => {
                let distinct = self.frame_bytes();
                let place = |bytes: &u64| distinct.partition_point(|one| (*one as u64) < *bytes);
                let indices = frame_bytes
                    .iter()
                    .map(|bytes| place(bytes) as u16)
                    .collect();
                Sizes::Recorded(indices, 0)
            }
        }
    }
}

#[cfg(test)]
mod tests;
