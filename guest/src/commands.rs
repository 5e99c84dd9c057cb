// SPDX-License-Identifier: GPL-2.0-or-later
//! The agent's commands and answers: the JSON of docs/inside/protocol.md, "Link 2".

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A command.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// Run a program and wait for its end.
    Exec(Exec),
    /// Start a program in the background.
    Spawn(Spawn),
    /// Wait for a background program and collect its output.
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
    /// The kernel messages since the last such command.
    Kmsg(Nothing),
    /// Stop serving commands.
    Poweroff(Nothing),
}

/// `exec`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exec {
    /// The program, looked for in PATH, and its arguments.
    pub argv: Vec<String>,
    /// Its standard input; default: empty.
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
    /// The process id returned by `spawn`.
    pub pid: u32,
    /// A signal to send first.
    #[serde(default)]
    pub signal: Option<i32>,
}

/// `write`: either text or base64.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// The file; it is created or truncated.
    pub path: String,
    /// The new content.
    #[serde(default)]
    pub text: Option<String>,
    /// The new content, in base64.
    #[serde(default)]
    pub base64: Option<String>,
    /// Its permissions.
    #[serde(default)]
    pub mode: Option<u32>,
}

/// `read`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The files; a path that ends in `/*` means all files of that directory.
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
    /// Success.
    Ok(Done),
    /// Failure, with the reason.
    Error(String),
}

/// The result of a command.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Done {
    /// No data.
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
        /// Content by path; none for unreadable files.
        files: BTreeMap<String, Option<String>>,
    },
    /// `kmsg`
    Records {
        /// In the order in which the kernel logged them.
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

/// A kernel message.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// 0 (emergency) to 7 (debug).
    pub level: u8,
    /// Time since power-on by the kernel's clock.
    pub time_us: u64,
    /// May have several lines.
    pub text: String,
}
