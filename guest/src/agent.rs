// SPDX-License-Identifier: GPL-2.0-or-later
//! The agent: takes one command after the other and answers it.
//!
//! It has no threads and sets no timers: between two commands it hangs in the port's read, within one it waits for just
//! what was asked for. So it takes no CPU time from what is being measured.

use crate::commands::{Answer, Command, Done};
use crate::exec::Processes;
use crate::kmsg::Kmsg;
use crate::port::{MAX_COMMAND, Next, Port};
use crate::{files, modules};
use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

/// Where the agent finds what it needs.
pub struct Places {
    /// The kernel's log.
    pub kmsg: PathBuf,
    /// A directory for the output of running processes.
    pub scratch: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            kmsg: "/dev/kmsg".into(),
            scratch: "/tmp".into(),
        }
    }
}

/// The state that outlives a command.
pub struct Agent {
    places: Places,
    processes: Processes,
    kmsg: Result<Kmsg<File>, String>,
}

impl Agent {
    /// A new agent; its first `kmsg` tells everything since the kernel started.
    pub fn new(places: Places) -> Self {
        let kmsg = Kmsg::open(&places.kmsg);
        Self {
            processes: Processes::new(&places.scratch),
            kmsg,
            places,
        }
    }

    /// Answers commands until one of them says "poweroff" (that the machine is then switched off is init's business), or
    /// until there is nobody left to ask.
    pub fn serve(&mut self, port: &mut impl Port) -> Result<(), String> {
        let trouble = |error| format!("the command port failed: {error}");
        let mut met = false;
        loop {
            let answer = match port.next().map_err(trouble)? {
                Next::Nobody => return port.nobody().filter(|_| !met).map_or(Ok(()), Err),
                Next::TooLong(length) => Answer::Error(format!(
                    "bad command: {length} bytes; at most {MAX_COMMAND} are taken"
                )),
                Next::Command(text) => match serde_json::from_slice(&text) {
                    Ok(Command::Poweroff(_)) => return Ok(()),
                    Ok(command) => self.execute(command).map_or_else(Answer::Error, Answer::Ok),
                    Err(error) => Answer::Error(format!("bad command: {error}")),
                },
            };
            met = true;
            let text = serde_json::to_vec(&answer)
                .map_err(|error| format!("cannot write an answer: {error}"))?;
            port.answer(text).map_err(trouble)?;
        }
    }

    fn execute(&mut self, command: Command) -> Result<Done, String> {
        match command {
            Command::Exec(exec) => self
                .processes
                .exec(&exec.argv, exec.stdin.as_deref())
                .map(Done::Ended),
            Command::Spawn(spawn) => self
                .processes
                .spawn(&spawn.argv)
                .map(|pid| Done::Started { pid }),
            Command::Reap(reap) => self.processes.reap(reap.pid, reap.signal).map(Done::Ended),
            Command::Write(write) => files::write(&write).map(|()| Done::Nothing {}),
            Command::Read(read) => files::read(&read.paths).map(|files| Done::Files { files }),
            Command::Insmod(insmod) => {
                modules::load(&insmod, &self.places.kmsg).map(|()| Done::Nothing {})
            }
            Command::Rmmod(rmmod) => {
                modules::unload(&rmmod.name, &self.places.kmsg).map(|()| Done::Nothing {})
            }
            Command::Sleep(time) => sleep(Duration::from_nanos(time.ns)).map(|()| Done::Nothing {}),
            Command::Kmsg(_) => match &mut self.kmsg {
                Ok(kmsg) => kmsg.news().map(|records| Done::Records { records }),
                Err(error) => Err(error.clone()),
            },
            Command::Poweroff(_) => Err("poweroff is the loop's business".into()),
        }
    }
}

/// Sleeps until an instant of the monotonic clock, so that a signal does not prolong it.
fn sleep(time: Duration) -> Result<(), String> {
    let clock = ClockId::CLOCK_MONOTONIC;
    let until = clock_gettime(clock).map_err(|error| format!("sleep: {error}"))?
        + TimeSpec::from_duration(time);
    loop {
        match clock_nanosleep(clock, ClockNanosleepFlags::TIMER_ABSTIME, &until) {
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(format!("sleep: {error}")),
        }
    }
}
