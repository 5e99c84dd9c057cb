// SPDX-License-Identifier: GPL-2.0-or-later
//! irqlab's traffic tester on two real ports.
//!
//! The lab starts it, sends it commands on standard input, one JSON object a line (docs/inside/protocol.md, link 1), and reads the answers from
//! standard output. The tester itself is the one that QEMU loads; this is a clock and two ports for it. It sends nothing to an interface
//! that was not named.

mod arp;
mod clock;
mod engine;
mod health;
mod interface;
mod packet;
mod permission;
mod port;
mod program;
mod sockopt;
mod stamps;
mod xdp;

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};

use clap::{Parser, Subcommand, ValueEnum};
use irqlab_tester::control;
use serde_json::json;

use crate::engine::{Event, Receive, Shared, Threads, Transmit};
use crate::interface::Interface;

/// The version of the commands (docs/inside/protocol.md, link 1).
const PROTOCOL: u32 = 2;

/// irqlab's traffic tester on two real ports. Commands come on standard input.
#[derive(Parser)]
#[command(name = "irqlab-live", version, arg_required_else_help = true)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Arguments {
    #[command(subcommand)]
    other: Option<Other>,
    /// An interface; give two, port 0 and port 1
    #[arg(long = "port", required = true)]
    ports: Vec<String>,
    /// How frames are sent and received
    #[arg(long, value_enum, default_value = "af-packet")]
    kind: Kind,
    /// The processors for sending and for receiving, such as 2,3; default: the last two of those allowed
    #[arg(long, value_delimiter = ',')]
    cpus: Vec<usize>,
    /// Let the threads sleep when there is nothing to do, instead of using two processors; pacing is worse
    #[arg(long)]
    sleep: bool,
}

#[derive(Subcommand)]
enum Other {
    /// Print as JSON whether an interface can stamp the frames that arrive, or change that first
    Stamps {
        /// The interface
        interface: String,
        /// What is stamped: sent frames (0: none) and received ones (0: none, 1: all)
        #[arg(long)]
        set: Option<String>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    AfPacket,
    AfXdp,
}

fn threads(arguments: &Arguments) -> Result<Threads, String> {
    let allowed = health::allowed();
    let cpus = match arguments.cpus[..] {
        [] if arguments.sleep => None,
        [] if allowed.len() < 2 => {
            return Err(
                "the tester needs two processors, and this process may use only one; for tests, --sleep works with one".into(),
            );
        }
        [] => Some([allowed[allowed.len() - 2], allowed[allowed.len() - 1]]),
        [sending, receiving] if sending != receiving || arguments.sleep => {
            Some([sending, receiving])
        }
        _ => return Err("--cpus: two different processors, such as --cpus 2,3".into()),
    };
    if let Some(cpu) = cpus.iter().flatten().find(|cpu| !allowed.contains(cpu)) {
        return Err(format!(
            "--cpus: this process may not use processor {cpu}; allowed are {allowed:?}"
        ));
    }
    Ok(Threads {
        cpus,
        sleep: arguments.sleep,
    })
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let threads = threads(arguments)?;
    if arguments.ports.len() != 2 || arguments.ports[0] == arguments.ports[1] {
        return Err(format!(
            "ports {}: name two different interfaces",
            arguments.ports.join(" and ")
        ));
    }
    let mut interfaces = Vec::new();
    for name in &arguments.ports {
        interfaces.push(Interface::open(name)?);
    }
    let (mut sending, mut receiving, mut described) = (Vec::new(), Vec::new(), Vec::new());
    for interface in &interfaces {
        interface.wait()?;
        let port = match arguments.kind {
            Kind::AfPacket => packet::open(interface)?,
            Kind::AfXdp => xdp::open(interface)?,
        };
        let mut about = interface.describe()?;
        about["opened"] = port.details;
        described.push(about);
        sending.push(port.sending);
        receiving.push(port.receiving);
    }
    for interface in &interfaces {
        interface.wait()?;
    }
    // SAFETY: changes only how exactly this process's sleeps end.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let shared = Shared::new(interfaces.len(), threads);
    let (events, received) = mpsc::channel();
    let receiver = Receive {
        shared: Arc::clone(&shared),
        ports: receiving,
        events: events.clone(),
    };
    let receiver = std::thread::spawn(move || receiver.run());
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if events.send(Event::Line(line)).is_err() {
                return;
            }
        }
        let _ = events.send(Event::End);
    });
    let answer = |line: &str| {
        let mut output = std::io::stdout().lock();
        // If nobody reads, standard input ends, too.
        let _ = writeln!(output, "{line}").and_then(|()| output.flush());
    };
    let hello = json!({"ok": {"protocol": PROTOCOL, "ports": described, "cpus": threads.cpus, "sleep": threads.sleep}});
    answer(&hello.to_string());
    let mut transmitter = Transmit::new(
        Arc::clone(&shared),
        interfaces,
        sending,
        received,
        Box::new(answer),
    );
    let ending = transmitter.run();
    shared.end();
    let other = receiver
        .join()
        .unwrap_or_else(|_| Err("the receiving thread panicked".into()));
    ending.and(other)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ending = match &arguments.other {
        Some(Other::Stamps { interface, set }) => {
            stamps::run(interface, set.as_deref()).map(|found| println!("{found}"))
        }
        None => run(&arguments),
    };
    match ending {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("{}", control::answer::<()>(&Err(why.into())));
            ExitCode::from(2)
        }
    }
}
