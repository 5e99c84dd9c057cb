// SPDX-License-Identifier: GPL-2.0-or-later
//! The applications that the lab asks for (docs/inside/protocol.md, APP).

use std::net::Ipv4Addr;

use serde::Deserialize;

use super::iperf::{MAX_DATAGRAM_BYTES, MAX_STREAMS};
use crate::mac::Mac;
use crate::traffic::plan::MAX_TRIAL_NS;

const MAX_WINDOW: usize = 1 << 24;
const MAX_DSCP: u8 = 63;
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
    /// When the first probe is sent, in ns from the start.
    #[serde(default)]
    pub phase_ns: u64,
    /// How long the test lasts, in ns.
    pub duration_ns: u64,
    /// Payload of a probe, in bytes.
    #[serde(default = "default_payload")]
    pub payload_bytes: usize,
    /// The probes' mark (RFC 2474).
    #[serde(default)]
    pub dscp: u8,
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
                in_range("phase_ns", plan.phase_ns, 0, plan.interval_ns)?;
                in_range("duration_ns", plan.duration_ns, 1, MAX_TRIAL_NS)?;
                in_range("payload_bytes", plan.payload_bytes, 4, MAX_DATAGRAM_BYTES)?;
                in_range("dscp", plan.dscp, 0, MAX_DSCP)?;
                in_range("probes", plan.duration_ns / plan.interval_ns, 0, MAX_POINTS)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn allowed(mut app: Value, name: &str, value: Value) -> bool {
        app[name] = value;
        let plan: AppPlan = serde_json::from_value(app).unwrap_or_else(|why| panic!("{why}"));
        check(&[plan], 0).is_ok()
    }

    /// `least` and `most` are allowed, and nothing beyond them.
    fn limits(app: &Value, name: &str, least: u64, most: u64) {
        let inside = [least, most].map(|value| allowed(app.clone(), name, json!(value)));
        let outside = [least - 1, most + 1].map(|value| allowed(app.clone(), name, json!(value)));
        assert_eq!((inside, outside), ([true; 2], [false; 2]), "{name}");
    }

    #[test]
    fn every_limit_is_allowed_and_nothing_beyond_it() {
        let there = json!({"to": "198.18.0.1", "to_mac": "52:54:00:00:00:00"});
        let of = |kind: &str, fields: Value| {
            let mut app = there.clone();
            for (name, value) in fields.as_object().into_iter().flatten() {
                app[name] = value.clone();
            }
            app["kind"] = kind.into();
            app
        };
        let server = json!({"kind": "iperf3_server"});
        let client = of("iperf3_client", json!({"duration_ns": 1}));
        let probe = of(
            "probe",
            json!({"duration_ns": 1, "interval_ns": MAX_TRIAL_NS}),
        );
        for app in [&server, &client] {
            limits(app, "window_bytes", 2_920, 1 << 24);
            limits(app, "bucket_ns", 1_000_000, MAX_TRIAL_NS);
            assert!(allowed(app.clone(), "bucket_ns", json!(0)), "no series");
        }
        limits(&client, "duration_ns", 1, MAX_TRIAL_NS);
        limits(&client, "parallel", 1, 128);
        limits(&client, "datagram_bytes", 16, 1_472);
        limits(&probe, "duration_ns", 1, MAX_TRIAL_NS);
        limits(&probe, "interval_ns", 1_000, MAX_TRIAL_NS);
        assert!(allowed(probe.clone(), "phase_ns", json!(MAX_TRIAL_NS)));
        let early = of("probe", json!({"duration_ns": 1, "interval_ns": 1_000}));
        assert!(!allowed(early, "phase_ns", json!(1_001)));
        limits(&probe, "payload_bytes", 4, 1_472);
        assert!(allowed(probe.clone(), "dscp", json!(63)));
        assert!(!allowed(probe.clone(), "dscp", json!(64)));
        let many = of("probe", json!({"interval_ns": 1_000, "duration_ns": 0}));
        limits(&many, "duration_ns", 1, MAX_POINTS * 1_000 + 999);
    }

    #[test]
    fn udp_needs_a_rate_of_its_own_or_of_the_line() {
        let client = |udp: bool, rate_bps: u64| {
            let app = json!({"kind": "iperf3_client", "to": "198.18.0.1", "to_mac": "52:54:00:00:00:00",
                "duration_ns": 1, "udp": udp, "rate_bps": rate_bps});
            serde_json::from_value::<AppPlan>(app).unwrap_or_else(|why| panic!("{why}"))
        };
        for (udp, rate_bps, wire_bps, well) in [
            (true, 0, 0, false),
            (true, 1, 0, true),
            (true, 0, 1, true),
            (false, 0, 0, true),
        ] {
            assert_eq!(check(&[client(udp, rate_bps)], wire_bps).is_ok(), well);
        }
        assert!(check(&vec![client(false, 0); MAX_APPS], 0).is_ok());
        assert!(check(&vec![client(false, 0); MAX_APPS + 1], 0).is_err());
    }
}
