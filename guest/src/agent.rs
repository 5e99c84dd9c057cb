// SPDX-License-Identifier: GPL-2.0-or-later
//! The agent: executes one command after the other and answers it.
//!
//! It has no threads and sets no timers. Between two commands it blocks in the read of the port; during a command it only
//! waits for what the command asks for. It therefore takes no CPU time from the measurement.

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

/// Paths that the agent uses.
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

/// The state kept between commands.
pub struct Agent {
    places: Places,
    processes: Processes,
    kmsg: Result<Kmsg<File>, String>,
}

impl Agent {
    /// A new agent; its first `kmsg` returns all messages since the kernel started.
    pub fn new(places: Places) -> Self {
        let kmsg = Kmsg::open(&places.kmsg);
        Self {
            processes: Processes::new(&places.scratch),
            kmsg,
            places,
        }
    }

    /// Answers commands until "poweroff"; init then powers the machine off.
    pub fn serve(&mut self, port: &mut impl Port) -> Result<(), String> {
        loop {
            let answer = match port.next()? {
                Next::End => return Ok(()),
                Next::TooLong(length) => Answer::Error(format!(
                    "bad command: {length} bytes; at most {MAX_COMMAND} are taken"
                )),
                Next::Command(text) => match serde_json::from_slice(&text) {
                    Ok(Command::Poweroff(_)) => return Ok(()),
                    Ok(command) => self.execute(command).map_or_else(Answer::Error, Answer::Ok),
                    Err(error) => Answer::Error(format!("bad command: {error}")),
                },
            };
            let text = serde_json::to_vec(&answer);
            port.answer(text.map_err(|error| format!("cannot write an answer: {error}"))?)?;
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

/// Sleeps until an absolute time of the monotonic clock, so that a signal does not prolong it.
fn sleep(time: Duration) -> Result<(), String> {
    let clock = ClockId::CLOCK_MONOTONIC;
    let now = clock_gettime(clock).map_err(|error| format!("sleep: {error}"))?;
    let until = TimeSpec::from_duration(Duration::from(now) + time);
    loop {
        match clock_nanosleep(clock, ClockNanosleepFlags::TIMER_ABSTIME, &until) {
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(format!("sleep: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::CommandPort;
    use crate::port::tests::FakeTester;
    use serde_json::{Value, json};
    use std::time::Instant;

    /// The answers of one agent to these commands.
    fn ask(commands: &[Value]) -> Vec<Value> {
        ask_raw(
            commands
                .iter()
                .map(|command| command.to_string().into_bytes())
                .collect(),
        )
    }

    fn ask_raw(commands: Vec<Vec<u8>>) -> Vec<Value> {
        let mut tester = FakeTester::default();
        tester.commands.extend(commands);
        tester.commands.push_back(br#"{"poweroff":{}}"#.to_vec());
        let places = Places {
            kmsg: "/nonesuch/kmsg".into(),
            scratch: std::env::temp_dir(),
        };
        Agent::new(places)
            .serve(&mut CommandPort::new(&mut tester))
            .unwrap();
        assert!(
            tester.commands.is_empty(),
            "poweroff is obeyed last, and not answered"
        );
        tester
            .answers
            .iter()
            .map(|answer| serde_json::from_slice(answer).unwrap())
            .collect()
    }

    fn error(answer: &Value) -> &str {
        answer["error"].as_str().unwrap()
    }

    #[test]
    fn without_a_tester_the_agent_ends_and_says_why() {
        let mut tester = FakeTester::default();
        let ending = Agent::new(Places::default()).serve(&mut CommandPort::new(&mut tester));
        assert_eq!(ending.unwrap_err(), "no tester at I/O port 0xe80");
    }

    #[test]
    fn exec_spawn_and_reap_in_the_words_of_the_contract() {
        let answers = ask(&[
            json!({"exec": {"argv": ["sh", "-c", "cat; echo no >&2; exit 3"], "stdin": "in"}}),
            json!({"exec": {"argv": ["true"], "stdin": null}}),
            json!({"spawn": {"argv": ["sh", "-c", "echo started; exec sleep 60"]}}),
        ]);
        assert_eq!(
            answers[0],
            json!({"ok": {"code": 3, "out": "in", "err": "no\n"}})
        );
        assert_eq!(answers[1], json!({"ok": {"code": 0, "out": "", "err": ""}}));
        let pid = answers[2]["ok"]["pid"].as_i64().unwrap();
        assert_eq!(answers[2], json!({"ok": {"pid": pid}}));
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(pid as i32),
            nix::sys::signal::SIGKILL,
        )
        .unwrap();
    }

    #[test]
    fn files_in_the_words_of_the_contract() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory
            .path()
            .join("a")
            .into_os_string()
            .into_string()
            .unwrap();
        let all = format!("{}/*", directory.path().display());
        let answers = ask(&[
            json!({"write": {"path": path, "text": "Grüße\n"}}),
            json!({"read": {"paths": [path, "/nonesuch"]}}),
            json!({"write": {"path": path, "base64": "AAE=", "mode": 0o755}}),
            json!({"read": {"paths": [all]}}),
        ]);
        assert_eq!(answers[0], json!({"ok": {}}));
        assert_eq!(
            answers[1],
            json!({"ok": {"files": {(path.clone()): "Grüße\n", "/nonesuch": null}}})
        );
        assert_eq!(answers[2], json!({"ok": {}}));
        assert_eq!(
            answers[3],
            json!({"ok": {"files": {(path.clone()): "\u{0}\u{1}"}}})
        );
    }

    #[test]
    fn sleeps_as_long_as_asked() {
        let before = Instant::now();
        assert_eq!(
            ask(&[json!({"sleep": {"ns": 20_000_000}})]),
            [json!({"ok": {}})]
        );
        assert!(before.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn bad_commands_are_answered_and_survived() {
        let answers = ask_raw(vec![
            b"".to_vec(),
            b"{".to_vec(),
            b"\xff\xfe".to_vec(),
            br#"{"fly":{}}"#.to_vec(),
            br#"{"kmsg":{},"sleep":{"ns":1}}"#.to_vec(),
            br#"{"exec":{"argv":["true"],"timeout":1}}"#.to_vec(),
            br#"{"exec":{"argv":[]}}"#.to_vec(),
            br#"{"sleep":{"ns":-1}}"#.to_vec(),
            br#"{"reap":{"pid":1}}"#.to_vec(),
            vec![b' '; MAX_COMMAND + 1],
            br#"{"sleep":{"ns":0}}"#.to_vec(),
        ]);
        for answer in &answers[..6] {
            assert!(error(answer).starts_with("bad command: "), "{answer}");
        }
        assert!(error(&answers[3]).contains("unknown variant `fly`"));
        assert!(error(&answers[5]).contains("unknown field `timeout`"));
        assert!(error(&answers[6]).contains("empty argv"));
        assert!(error(&answers[7]).contains("invalid value"));
        assert!(error(&answers[8]).contains("not a process"));
        assert!(error(&answers[9]).contains("33554433 bytes"));
        assert_eq!(answers[10], json!({"ok": {}}));
    }

    #[test]
    fn modules_and_log_fail_with_a_reason() {
        let answers = ask(&[
            json!({"insmod": {"name": "x", "base64": "AA=="}}),
            json!({"insmod": {"name": "x", "base64": "?"}}),
            json!({"rmmod": {"name": "no-such-module"}}),
            json!({"kmsg": {}}),
        ]);
        assert!(error(&answers[0]).contains("not an ELF object"));
        assert!(error(&answers[1]).contains("bad base64"));
        assert!(error(&answers[2]).starts_with("rmmod no-such-module: "));
        assert!(error(&answers[3]).contains("/nonesuch/kmsg"));
    }
}
