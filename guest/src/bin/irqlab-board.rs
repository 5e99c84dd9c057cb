// SPDX-License-Identifier: GPL-2.0-or-later
//! The agent and the test applications on a real device under test (docs/use/live.md): irqlab-guest without what needs the lab's machine.
//!
//! It is a program of its own, since another irqlab-guest is another guest image, and another image is another boot.

#![allow(dead_code, unused_imports)] // the modules have parts that only irqlab-guest uses

#[path = "../agent.rs"]
mod agent;
#[path = "../commands.rs"]
mod commands;
#[path = "../counters.rs"]
mod counters;
#[path = "../exec.rs"]
mod exec;
#[path = "../files.rs"]
mod files;
#[path = "../kmsg.rs"]
mod kmsg;
#[path = "../modules.rs"]
mod modules;
#[path = "../netdev_genl.rs"]
mod netdev_genl;
#[path = "../netlink.rs"]
mod netlink;
#[path = "../port.rs"]
mod port;
#[path = "../board/soak.rs"]
mod soak;
#[path = "../udp.rs"]
mod udp;
#[path = "../wait.rs"]
mod wait;
#[path = "../board/watch.rs"]
mod watch;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// The inside of a real device under test: agent and test applications.
#[derive(Parser)]
#[command(name = "irqlab-board", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Take commands from standard input and answer on standard output, one JSON object a line
    Agent {
        /// The only way
        #[arg(long)]
        stdio: bool,
    },
    /// Receive UDP datagrams and count them, until SIGTERM or SIGINT; then print the counters as one JSON line
    UdpReceive(udp::Options),
    /// Use all the CPU time that nobody else wants (SCHED_IDLE), on every processor, and count it
    Soak(soak::Options),
    /// Print the settings of an interface's NAPIs as one JSON line, or change them first
    Napi(netdev_genl::Options),
    /// Print the counters of a running `udp-receive` or `soak` as one JSON line
    Counters {
        /// The file it keeps them in: /run/udp-receive.PORT, /run/soak
        file: PathBuf,
    },
    /// Print the counters in several files and the time of the reading as one JSON line
    Watch(watch::Options),
}

/// The result of a role; the text is printed on standard error.
type Ending = Result<(), String>;

fn main() -> ExitCode {
    let ending = match Arguments::parse().role {
        Role::Agent { .. } => serve(),
        Role::UdpReceive(options) => die_with_the_agent().and_then(|()| udp::run(&options)),
        Role::Soak(options) => die_with_the_agent().and_then(|()| soak::run(&options)),
        Role::Napi(options) => netdev_genl::run(&options),
        Role::Counters { file } => counters::print(&file),
        Role::Watch(options) => watch::run(&options),
    };
    match ending {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("irqlab-board: {text}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Ending {
    let mut lines = port::Lines::new(std::io::stdin().lock(), std::io::stdout());
    agent::Agent::new(agent::Places::default()).serve(&mut lines)
}

/// If the connection breaks, the agent ends, and nothing of ours stays behind.
fn die_with_the_agent() -> Ending {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)
        .map_err(|error| format!("prctl: {error}"))
}
