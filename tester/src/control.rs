// SPDX-License-Identifier: GPL-2.0-or-later
//! The lab's commands: one JSON object a line (docs/inside/protocol.md, link 1).

use std::borrow::Cow;
use std::net::Ipv4Addr;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::faults::Kind;
use crate::host::plan::AppPlan;
use crate::mac::Mac;
use crate::profile::map::Addresses;
use crate::refusal::Refusal;
use crate::traffic::plan::TrialPlan;

/// A command. Its name in JSON is its `op`.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// The time, and the instructions executed.
    Clock {},
    /// Sets the hosts and line rates of all ports.
    Ports {
        /// One for each port.
        ports: Vec<PortPlan>,
    },
    /// Joins two ports.
    Wire {
        /// A port.
        a: usize,
        /// The other port.
        b: usize,
        /// In ns.
        delay_ns: u64,
        /// How many of a million frames are lost.
        loss_ppm: u32,
        /// Decides which.
        seed: u64,
    },
    /// Removes all wires.
    Unwire {},
    /// Pulls a NIC's cable, or puts it in.
    Cable {
        /// The port.
        port: usize,
        /// In, or out.
        plugged: bool,
    },
    /// What a NIC's link partner offers when they negotiate next.
    Partner {
        /// The port.
        port: usize,
        /// Pause frames.
        pauses: bool,
    },
    /// Captures to a file, or ends a capture.
    Capture {
        /// The file; None ends the capture.
        path: Option<String>,
    },
    /// Sets the applications of a port's host.
    Apps {
        /// The port.
        port: usize,
        /// The applications.
        apps: Vec<AppPlan>,
    },
    /// The results of a port's applications so far.
    AppResults {
        /// The port.
        port: usize,
    },
    /// Arms a trial.
    Start {
        /// The trial.
        trial: Box<TrialPlan>,
    },
    /// The result of the trial that ended last.
    Result {},
    /// Arms a trial, has the agent sleep until it has ended, and answers with its result.
    Trial {
        /// The trial.
        trial: Box<TrialPlan>,
        /// How much longer than asked for the agent may sleep, in ns.
        patience_ns: u64,
    },
    /// The same with the trial that was armed.
    Finish {
        /// As above.
        patience_ns: u64,
    },
    /// Profiles every measured window from now on.
    Profile {
        /// The DUT's functions.
        addresses: Box<Addresses>,
        /// Lines of memory are profiled, too; memory, by virtual address and bytes, is copied when the window closes.
        #[serde(default)]
        lines: Option<Vec<(u64, u64)>>,
    },
    /// Memory, by virtual address and bytes.
    ReadMemory {
        /// What is read.
        ranges: Vec<(u64, u64)>,
    },
    /// The profile of the last window.
    ProfileResult {},
    /// Unplugs a USB NIC, or plugs it in.
    Plug {
        /// Its port.
        port: usize,
        /// In, or out.
        plugged: bool,
    },
    /// Injects faults into a USB NIC's answers, or ends that.
    Hostile {
        /// Its port.
        port: usize,
        /// Decides which answers are damaged, and how. None: no more faults.
        seed: Option<u64>,
        /// How many of a thousand answers are damaged.
        permille: u32,
        /// Only answers of this kind.
        #[serde(default)]
        only: Option<Kind>,
        /// Transfers may end in a fragment of one more frame.
        #[serde(default = "yes", rename = "stubs")]
        trailing_fragments: bool,
    },
    /// Records how many transmit descriptors the PCI cards of the tester's own hold, or ends that.
    Rings {
        /// From now on, or no more.
        record: bool,
    },
    /// Pauses QEMU.
    StopAt {
        /// So many ns from now.
        after_ns: u64,
    },
    /// Pauses QEMU at an instant, whatever the DUT does, for a debugger.
    Halt {
        /// In ns of virtual time.
        at_ns: u64,
    },
    /// Pauses the DUT that a debugger attends to, now. It has no answer but that of every pause.
    Pause {},
    /// Has the agent execute a command.
    Guest {
        /// The agent's command, exactly as the lab wrote it.
        #[serde(rename = "do")]
        command: AgentCommand,
        /// How long it may take, in ns.
        limit_ns: u64,
    },
    /// Puts the machine back to where it was restored.
    Rewind {
        /// The snapshot file it was restored from.
        path: String,
    },
    /// Ends QEMU.
    Quit {},
}

/// A port's host and line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortPlan {
    /// The host's Ethernet address.
    pub mac: Mac,
    /// The host's IP address.
    pub ip: Ipv4Addr,
    /// Prefix length of the host's network.
    pub prefix: u8,
    /// The line's rate in bit/s; 0: unlimited.
    pub wire_bps: u64,
}

/// JSON that is passed on to the agent.
#[derive(Debug, Default)]
pub struct AgentCommand(pub String);

impl<'de> Deserialize<'de> for AgentCommand {
    /// Skips the JSON: serde's tagged enums do not keep the text. [`parse`] fills it in.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| AgentCommand::default())
    }
}

fn yes() -> bool {
    true
}

/// What is read before the command's own fields.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    op: Cow<'a, str>,
    #[serde(borrow, rename = "do")]
    agent_command: Option<&'a RawValue>,
}

/// Reads a command, or says what is wrong with the line.
pub fn parse(line: &str) -> Result<Command, Refusal> {
    let head: Head =
        serde_json::from_str(line).map_err(|error| format!("not a command: {error}"))?;
    let mut command = serde_json::from_str(line).map_err(|error| {
        let why = format!("{}: {error}", head.op);
        why.replacen(
            &format!("{0}: unknown variant `{0}`", head.op),
            &format!("unknown op `{}`", head.op),
            1,
        )
    })?;
    if let Command::Guest { command, .. } = &mut command {
        let text = head.agent_command.map_or("", RawValue::get);
        if !text.starts_with('{') {
            return Err("guest: `do` must be an object, such as {\"sleep\":{\"ns\":1000}}".into());
        }
        command.0 = text.into();
    }
    Ok(command)
}

/// The answer line (without newline).
pub fn answer<T: Serialize>(value: &Result<T, Refusal>) -> String {
    #[derive(Serialize)]
    struct Success<'a, T> {
        ok: &'a T,
    }
    let line = match value {
        Ok(value) => serde_json::to_string(&Success { ok: value }),
        Err(refusal) => serde_json::to_string(refusal),
    };
    line.unwrap_or_else(|error| {
        format!("{{\"error\":\"no answer: {error:?}\",\"kind\":\"refused\"}}")
    })
}

/// The agent's error, if its answer is one.
pub fn refusal_of_agent(line: &str) -> Option<Refusal> {
    #[derive(Deserialize)]
    struct Failure {
        error: String,
    }
    let failure: Failure = serde_json::from_str(line).ok()?;
    Some(Refusal::of_agent(failure.error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_command_is_passed_on_to_the_byte() {
        let text = r#"{"b": 1,  "a":[2.50, "x\u00e9"]}"#;
        let line = format!(r#"{{"op":"guest","do":{text},"limit_ns":7}}"#);
        match parse(&line) {
            Ok(Command::Guest { command, limit_ns }) => {
                assert_eq!((command.0.as_str(), limit_ns), (text, 7));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_answer_is_a_value_or_an_error_with_its_kind() {
        assert_eq!(answer(&Ok([1, 2])), r#"{"ok":[1,2]}"#);
        let refused = answer::<()>(&Err("no".into()));
        assert_eq!(refused, r#"{"error":"no","kind":"refused"}"#);
        let unsupported = answer::<()>(&Err(Refusal::unsupported("no")));
        assert_eq!(unsupported, r#"{"error":"no","kind":"unsupported"}"#);
    }

    #[test]
    fn the_agents_errors_are_told_from_its_other_answers() {
        let value = r#"{"ok": {"files":{"/a":"{\"error\":1}"}}}"#;
        assert_eq!(refusal_of_agent(value), None);
        let refusal = refusal_of_agent(r#"{"error":"no (os error 95)"}"#);
        assert_eq!(refusal, Some(Refusal::unsupported("no (os error 95)")));
        assert_eq!(refusal_of_agent(r#"{"error":"no"}"#), Some("no".into()));
    }

    #[test]
    fn an_unknown_field_is_refused_in_every_command() {
        for line in [
            r#"{"op":"clock","x":1}"#,
            r#"{"op":"clock","do":{}}"#,
            r#"{"op":"quit","x":1}"#,
            r#"{"op":"stop_at","after_ns":1,"x":1}"#,
            r#"{"op":"guest","do":{},"limit_ns":1,"x":1}"#,
        ] {
            let why = parse(line)
                .map(|command| format!("{command:?}"))
                .unwrap_err();
            assert!(why.text.contains("unknown field"), "{line}: {why}");
        }
    }
}
