// SPDX-License-Identifier: GPL-2.0-or-later
//! What the lab can ask the agent for, and what it gets: the JSON of docs/protocol.md, "Link 2".

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A command.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// Run a program to its end.
    Exec(Exec),
    /// Start a program and leave it running.
    Spawn(Spawn),
    /// Wait for a started program, and take its output.
    Reap(Reap),
    /// Write a file.
    Write(Write),
    /// Read files.
    Read(Read),
    /// Load a kernel module.
    Insmod(Insmod),
    /// Unload a kernel module.
    Rmmod(Rmmod),
    /// Let time pass.
    Sleep(Sleep),
    /// What the kernel has logged since the last such command.
    Kmsg(Nothing),
    /// End.
    Poweroff(Nothing),
}

/// `exec`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exec {
    /// The program, looked for in PATH, and its arguments.
    pub argv: Vec<String>,
    /// What it can read from its standard input; without it, nothing.
    #[serde(default)]
    pub stdin: Option<String>,
}

/// `spawn`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spawn {
    /// The program, looked for in PATH, and its arguments.
    pub argv: Vec<String>,
}

/// `reap`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reap {
    /// What `spawn` answered.
    pub pid: u32,
    /// A signal to send first.
    #[serde(default)]
    pub signal: Option<i32>,
}

/// `write`: either a text or base64.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// The file; it is created if it is not there, and emptied if it is.
    pub path: String,
    /// The new content.
    #[serde(default)]
    pub text: Option<String>,
    /// The new content, in base64.
    #[serde(default)]
    pub base64: Option<String>,
    /// Its permissions from now on.
    #[serde(default)]
    pub mode: Option<u32>,
}

/// `read`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The files; a path that ends in `/*` means everything in that directory.
    pub paths: Vec<String>,
}

/// `insmod`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Insmod {
    /// Its name, for messages.
    pub name: String,
    /// The object file, in base64.
    pub base64: String,
    /// Module parameters.
    #[serde(default)]
    pub params: String,
}

/// `rmmod`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rmmod {
    /// Its name.
    pub name: String,
}

/// `sleep`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sleep {
    /// How long, in ns.
    pub ns: u64,
}

/// The arguments of a command that has none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// An answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Done.
    Ok(Done),
    /// Not done, and why.
    Error(String),
}

/// What came of a command.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Done {
    /// Nothing to tell.
    Nothing {},
    /// `exec` and `reap`
    Ended(Ended),
    /// `spawn`
    Started {
        /// The new process.
        pid: u32,
    },
    /// `read`
    Files {
        /// Content by path; none where there is nothing that can be read.
        files: BTreeMap<String, Option<String>>,
    },
    /// `kmsg`
    Records {
        /// In the order the kernel logged them.
        records: Vec<Record>,
    },
}

/// How a process ended.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// Its exit code, or 128 + N when signal N killed it.
    pub code: i32,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

/// One message of the kernel.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// 0 (emergency) to 7 (debug).
    pub level: u8,
    /// Since power-on, in the kernel's own clock.
    pub time_us: u64,
    /// May be several lines.
    pub text: String,
}
