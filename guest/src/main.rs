// SPDX-License-Identifier: GPL-2.0-or-later
//! The static binary with all our programs in the device under test.
//!
//! As process 1 it is the `/init` of the initramfs: it mounts the file systems, starts the agent and reaps orphans.
//! Otherwise its first argument selects the agent or one of the test applications.

mod agent;
mod commands;
mod counters;
mod exec;
mod files;
mod frames;
mod init;
mod kmsg;
mod modules;
mod netdev_genl;
mod netlink;
mod port;
mod screen;
mod soak;
mod udp;
mod wait;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// The inside of irqlab's device under test: init, agent and test applications.
#[derive(Parser)]
#[command(name = "irqlab-guest", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    role: Role,
}

#[derive(Subcommand)]
enum Role {
    /// Do what the lab asks for through the tester's command port, until it says "poweroff"
    Agent {
        /// Take commands from standard input and answer on standard output, one JSON object a line, instead
        #[arg(long)]
        stdio: bool,
    },
    /// Receive UDP datagrams and count them, until SIGTERM or SIGINT; then print the counters as one JSON line
    UdpReceive(udp::Options),
    /// Read the packets that are routed to a tun device, and write them back
    Screen(screen::Options),
    /// Use all the CPU time that nobody else wants (SCHED_IDLE), and count it
    Soak(soak::Options),
    /// Send frames from one interface to another, as told on standard input, and print what arrives
    Frames(frames::Options),
    /// Print the settings of an interface's NAPIs as one JSON line, or change them first
    Napi(netdev_genl::Options),
    /// Print the statistics of an interface's queues as one JSON line
    Queues(netdev_genl::QueueOptions),
    /// Print the counters of a running `udp-receive`, `screen` or `soak` as one JSON line
    Counters {
        /// The file it keeps them in: /run/udp-receive.PORT, /run/screen, /run/soak
        file: PathBuf,
        /// Print where they are in physical memory instead (for root): for those who can read that without our help
        #[arg(long = "where")]
        place: bool,
    },
}

fn main() -> ExitCode {
    // The kernel passes unknown words of its command line to process 1: ignore them.
    if std::process::id() == 1 {
        init::run(|| match init::agent_terminal() {
            Some(terminal) => run_agent_at(&terminal),
            None => run_agent(false),
        });
    }
    let ending = match Arguments::parse().role {
        Role::Agent { stdio } => run_agent(stdio),
        Role::UdpReceive(options) => udp::run(&options),
        Role::Screen(options) => screen::run(&options),
        Role::Soak(options) => soak::run(&options),
        Role::Frames(options) => frames::run(&options),
        Role::Napi(options) => netdev_genl::run(&options),
        Role::Queues(options) => netdev_genl::run_queues(&options),
        Role::Counters { file, place: true } => counters::print_places(&file),
        Role::Counters { file, place: false } => counters::print(&file),
    };
    match ending {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            init::say(&text);
            ExitCode::FAILURE
        }
    }
}

/// The result of a role; the text is printed on standard error.
type Ending = Result<(), String>;

/// The agent of a machine that is not the lab's: commands and answers are lines on a terminal, such as a serial port.
fn run_agent_at(terminal: &str) -> Ending {
    let failed = |error| format!("{terminal}: {error}");
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(terminal)
        .map_err(failed)?;
    let mut settings =
        nix::sys::termios::tcgetattr(&file).map_err(|error| format!("{terminal}: {error}"))?;
    nix::sys::termios::cfmakeraw(&mut settings);
    nix::sys::termios::tcsetattr(&file, nix::sys::termios::SetArg::TCSANOW, &settings)
        .map_err(|error| format!("{terminal}: {error}"))?;
    let output = file.try_clone().map_err(failed)?;
    let mut lines = port::Lines::new(std::io::BufReader::new(file), output);
    agent::Agent::new(agent::Places::default()).serve(&mut lines)
}

fn run_agent(stdio: bool) -> Ending {
    let mut agent = agent::Agent::new(agent::Places::default());
    if stdio {
        let mut lines = port::Lines::new(std::io::stdin().lock(), std::io::stdout());
        return agent.serve(&mut lines);
    }
    agent.serve(&mut port::CommandPort::open()?)
}
