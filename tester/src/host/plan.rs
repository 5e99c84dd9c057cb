// SPDX-License-Identifier: GPL-2.0-or-later
//! The applications that the lab asks for (docs/protocol.md, APP).

use std::net::Ipv4Addr;

use serde::Deserialize;

use super::iperf::{MAX_DATAGRAM_BYTES, MAX_STREAMS};
use crate::mac::Mac;
use crate::traffic::plan::MAX_TRIAL_NS;

const MAX_WINDOW: usize = 1 << 24;
const MAX_APPS: usize = 64;
const MAX_POINTS: u64 = 10_000_000;

fn default_port() -> u16 {
    5201
}
fn default_window() -> usize {
    1 << 18
}
fn default_datagram() -> usize {
    1448
}
fn one() -> usize {
    1
}
fn default_payload() -> usize {
    56
}

/// An application.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AppPlan {
    /// iperf3's server.
    #[serde(rename = "iperf3_server")]
    Server(ServerPlan),
    /// iperf3's client.
    #[serde(rename = "iperf3_client")]
    Client(ClientPlan),
    /// Pings, or UDP to an echo port.
    Probe(ProbePlan),
}

/// iperf3's server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPlan {
    /// Its port.
    #[serde(default = "default_port")]
    pub port: u16,
    /// TCP's receive buffer, and the most that a sender keeps unacknowledged.
    #[serde(default = "default_window")]
    pub window_bytes: usize,
    /// Length of the series' buckets in ns; 0: no series.
    #[serde(default)]
    pub bucket_ns: u64,
}

/// iperf3's client.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientPlan {
    /// The server's address.
    pub to: Ipv4Addr,
    /// The Ethernet address of the server or of the router to it.
    pub to_mac: Mac,
    /// Its port.
    #[serde(default = "default_port")]
    pub port: u16,
    /// UDP, not TCP.
    #[serde(default)]
    pub udp: bool,
    /// The server sends.
    #[serde(default)]
    pub reverse: bool,
    /// How long the test lasts, in ns.
    pub duration_ns: u64,
    /// How many streams.
    #[serde(default = "one")]
    pub parallel: usize,
    /// Bits of payload a second in each stream; 0: as fast as possible.
    #[serde(default)]
    pub rate_bps: u64,
    /// Payload of a datagram, in bytes.
    #[serde(default = "default_datagram")]
    pub datagram_bytes: usize,
    /// As in [`ServerPlan`].
    #[serde(default = "default_window")]
    pub window_bytes: usize,
    /// As in [`ServerPlan`].
    #[serde(default)]
    pub bucket_ns: u64,
}

/// A series of probes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbePlan {
    /// The address that answers.
    pub to: Ipv4Addr,
    /// The Ethernet address of the server or of the router to it.
    pub to_mac: Mac,
    /// UDP to this echo port; None: ICMP echo.
    #[serde(default)]
    pub udp_port: Option<u16>,
    /// From one probe to the next, in ns.
    pub interval_ns: u64,
    /// How long the test lasts, in ns.
    pub duration_ns: u64,
    /// Payload of a probe, in bytes.
    #[serde(default = "default_payload")]
    pub payload_bytes: usize,
}

/// Refuses applications that cannot be run. `wire_bps` 0 stands for an unlimited line.
pub fn check(plans: &[AppPlan], wire_bps: u64) -> Result<(), String> {
    if plans.len() > MAX_APPS {
        return Err(format!("{} applications: at most {MAX_APPS}", plans.len()));
    }
    for (index, plan) in plans.iter().enumerate() {
        plan.check(wire_bps)
            .map_err(|why| format!("apps[{index}]: {why}"))?;
    }
    Ok(())
}

fn in_range<T: PartialOrd + std::fmt::Display>(
    name: &str,
    value: T,
    least: T,
    most: T,
) -> Result<(), String> {
    if value < least || value > most {
        return Err(format!("{name} is {value}: {least} to {most}"));
    }
    Ok(())
}

fn check_bucket(bucket_ns: u64) -> Result<(), String> {
    if bucket_ns == 0 {
        return Ok(());
    }
    in_range("bucket_ns", bucket_ns, 1_000_000, MAX_TRIAL_NS)
}

impl AppPlan {
    fn check(&self, wire_bps: u64) -> Result<(), String> {
        match self {
            AppPlan::Server(plan) => {
                check_bucket(plan.bucket_ns)?;
                in_range("window_bytes", plan.window_bytes, 2_920, MAX_WINDOW)
            }
            AppPlan::Client(plan) => {
                check_bucket(plan.bucket_ns)?;
                in_range("window_bytes", plan.window_bytes, 2_920, MAX_WINDOW)?;
                in_range("duration_ns", plan.duration_ns, 1, MAX_TRIAL_NS)?;
                in_range("parallel", plan.parallel, 1, MAX_STREAMS)?;
                in_range(
                    "datagram_bytes",
                    plan.datagram_bytes,
                    16,
                    MAX_DATAGRAM_BYTES,
                )?;
                if plan.udp && plan.rate_bps == 0 && wire_bps == 0 {
                    return Err(
                        "rate_bps must be given for UDP if the line has no rate either".into(),
                    );
                }
                Ok(())
            }
            AppPlan::Probe(plan) => {
                in_range("interval_ns", plan.interval_ns, 1_000, MAX_TRIAL_NS)?;
                in_range("duration_ns", plan.duration_ns, 1, MAX_TRIAL_NS)?;
                in_range("payload_bytes", plan.payload_bytes, 4, MAX_DATAGRAM_BYTES)?;
                in_range("probes", plan.duration_ns / plan.interval_ns, 0, MAX_POINTS)
            }
        }
    }
}
