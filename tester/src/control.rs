// SPDX-License-Identifier: GPL-2.0-or-later
//! The lab's commands: one JSON object a line (docs/protocol.md, link 1).

use std::borrow::Cow;
use std::net::Ipv4Addr;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::host::plan::AppPlan;
use crate::lan7800::hostile::{Kind, Plan};
use crate::mac::Mac;
use crate::profile::map::Addresses;
use crate::traffic::plan::TrialPlan;
use crate::traffic::wire::WirePlan;

/// A command.
#[derive(Debug)]
pub enum Command {
    /// What time is it?
    Clock,
    /// The hosts and line rates of all ports.
    Ports(Vec<PortPlan>),
    /// Joins two ports.
    Wire {
        /// One of them.
        a: usize,
        /// The other.
        b: usize,
        /// How.
        plan: WirePlan,
    },
    /// Takes all wires away.
    Unwire,
    /// Pulls the plug of a USB NIC, or puts it in again.
    Plug {
        /// Whose.
        port: usize,
        /// In, or out.
        plugged: bool,
    },
    /// Gives a USB NIC ill will, or takes it away.
    Hostile {
        /// Which one.
        port: usize,
        /// How much of it.
        plan: Option<Plan>,
    },
    /// Captures to a file, or ends that.
    Capture(Option<String>),
    /// The applications of a port's host.
    Apps {
        /// Whose.
        port: usize,
        /// Which.
        apps: Vec<AppPlan>,
    },
    /// What came of them so far.
    AppResults {
        /// Whose.
        port: usize,
    },
    /// Arms a trial.
    Start(Box<TrialPlan>),
    /// The ended trial's result.
    Result,
    /// Profiles every measured window from now on.
    Profile(Box<Addresses>),
    /// What was profiled in the last one.
    ProfileResult,
    /// Pauses QEMU.
    StopAt {
        /// So many ns from now.
        after_ns: u64,
    },
    /// For the agent.
    Guest {
        /// Its command, unread.
        command: String,
        /// How long it may take, in ns.
        limit_ns: u64,
    },
    /// Ends QEMU.
    Quit,
}

/// A port's host and line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortPlan {
    /// The host's Ethernet address.
    pub mac: Mac,
    /// The host's address.
    pub ip: Ipv4Addr,
    /// The length of its network's prefix.
    pub prefix: u8,
    /// The line's rate in bit/s; 0: no ceiling.
    pub wire_bps: u64,
}

const OPS: &str = "clock, ports, wire, unwire, capture, apps, app_results, start, result, profile, profile_result, plug, hostile, \
                   stop_at, guest, quit";

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    op: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bare {
    #[serde(rename = "op")]
    _op: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    addresses: Addresses,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ports {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    ports: Vec<PortPlan>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    a: usize,
    b: usize,
    delay_ns: u64,
    loss_ppm: u32,
    seed: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plug {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    port: usize,
    plugged: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hostile {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    port: usize,
    seed: Option<u64>,
    permille: u32,
    #[serde(default)]
    only: Option<Kind>,
    #[serde(default = "yes")]
    stubs: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Capture {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    path: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Apps {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    port: usize,
    apps: Vec<AppPlan>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfPort {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    port: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    trial: TrialPlan,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StopAt {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    after_ns: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Guest<'a> {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    #[serde(rename = "do", borrow)]
    command: &'a RawValue,
    limit_ns: u64,
}

/// Reads a command, or says what is wrong with the line.
pub fn parse(line: &str) -> Result<Command, String> {
    let head: Head =
        serde_json::from_str(line).map_err(|error| format!("not a command: {error}"))?;
    let op = head.op.as_ref();
    match op {
        "clock" => arguments::<Bare>(op, line).map(|_| Command::Clock),
        "ports" => arguments(op, line).map(|Ports { ports, .. }| Command::Ports(ports)),
        "wire" => arguments(op, line).map(
            |Wire {
                 a,
                 b,
                 delay_ns,
                 loss_ppm,
                 seed,
                 ..
             }| Command::Wire {
                a,
                b,
                plan: WirePlan {
                    delay_ns,
                    loss_ppm,
                    seed,
                },
            },
        ),
        "plug" => {
            arguments(op, line).map(|Plug { port, plugged, .. }| Command::Plug { port, plugged })
        }
        "hostile" => {
            let Hostile {
                port,
                seed,
                permille,
                only,
                stubs,
                ..
            } = arguments(op, line)?;
            if permille > 1_000 {
                return Err(format!("hostile: permille is {permille}: 0 to 1000"));
            }
            let plan = seed.map(|seed| Plan {
                seed,
                permille,
                only,
                stubs,
            });
            Ok(Command::Hostile { port, plan })
        }
        "unwire" => arguments::<Bare>(op, line).map(|_| Command::Unwire),
        "capture" => arguments(op, line).map(|Capture { path, .. }| Command::Capture(path)),
        "apps" => arguments(op, line).map(|Apps { port, apps, .. }| Command::Apps { port, apps }),
        "app_results" => {
            arguments(op, line).map(|OfPort { port, .. }| Command::AppResults { port })
        }
        "start" => arguments(op, line).map(|Start { trial, .. }| Command::Start(Box::new(trial))),
        "result" => arguments::<Bare>(op, line).map(|_| Command::Result),
        "profile" => arguments(op, line)
            .map(|Profile { addresses, .. }| Command::Profile(Box::new(addresses))),
        "profile_result" => arguments::<Bare>(op, line).map(|_| Command::ProfileResult),
        "stop_at" => {
            arguments(op, line).map(|StopAt { after_ns, .. }| Command::StopAt { after_ns })
        }
        "guest" => {
            let Guest {
                command, limit_ns, ..
            } = arguments(op, line)?;
            if !command.get().starts_with('{') {
                return Err(
                    "guest: `do` must be an object, such as {\"sleep\":{\"ns\":1000}}".into(),
                );
            }
            Ok(Command::Guest {
                command: command.get().into(),
                limit_ns,
            })
        }
        "quit" => arguments::<Bare>(op, line).map(|_| Command::Quit),
        _ => Err(format!("unknown op `{op}`: one of {OPS}")),
    }
}

fn arguments<'a, T: Deserialize<'a>>(op: &str, line: &'a str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| format!("{op}: {error}"))
}

/// The answer line (without newline).
pub fn answer<T: Serialize>(value: &Result<T, String>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Line<'a, T> {
        Ok(&'a T),
        Error(&'a str),
    }
    let line = match value {
        Ok(value) => Line::Ok(value),
        Err(text) => Line::Error(text),
    };
    serde_json::to_string(&line)
        .unwrap_or_else(|error| format!("{{\"error\":\"no answer: {error:?}\"}}"))
}
