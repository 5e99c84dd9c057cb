// SPDX-License-Identifier: GPL-2.0-or-later
//! The command port's other side: what the guest's agent is asked, word by word, and what it answers.

use crate::clock::{self, ClockCheck};
use crate::die::die;
use irqlab_tester::control;
use irqlab_tester::refusal::{Kind, Refusal};

/// How much longer than a trial the agent sleeps, in ns.
const MARGIN_NS: u64 = 100_000;

/// A command of the lab that the agent is executing.
struct Request {
    expires_ns: u64,
    limit_ns: u64,
}

/// The lab waits for the result of a trial, and the agent is to sleep until then.
struct Awaited {
    /// How much longer than asked for it may sleep, in ns.
    patience_ns: u64,
    /// It has slept already.
    slept: bool,
}

impl Awaited {
    /// How long the agent is to sleep now, in ns, for a trial that ends at `end_ns`. None: the trial is over.
    ///
    /// The DUT's clock may run fast by a millionth, which is more than the margin if the trial takes minutes: then it sleeps again.
    fn sleep_ns(&self, end_ns: u64, now_ns: u64) -> Option<u64> {
        match end_ns.checked_sub(now_ns) {
            None if self.slept => None,
            left_ns => Some(left_ns.unwrap_or(0) + MARGIN_NS),
        }
    }
}

/// What comes of the agent's sleep until a trial's end.
pub enum Sleep {
    /// It is to sleep: a command of so many bytes.
    Begins { bytes: u32 },
    /// The trial is over.
    Over,
}

/// What an answer of the agent is to the lab.
pub enum Said {
    Answer(String),
    Refusal(Refusal),
    /// Nobody waits for it.
    Nothing,
}

#[derive(Default)]
pub struct Agent {
    request: Option<Request>,
    awaited: Option<Awaited>,
    /// The command that it is reading, and how much of it has been read, in bytes.
    command: Vec<u8>,
    command_at: usize,
    /// Verifies the clock while it reads its first command: it executes instructions, and does not idle.
    clock_check: Option<ClockCheck>,
    answer: Vec<u8>,
}

impl Agent {
    pub fn new(clock_check: Option<ClockCheck>) -> Self {
        Agent {
            clock_check,
            ..Agent::default()
        }
    }

    /// Has it execute a command, which may take so long; returns the command's length.
    pub fn ask(&mut self, command: String, limit_ns: u64) -> u32 {
        let expires_ns = clock::now_ns().saturating_add(limit_ns);
        self.request = Some(Request {
            expires_ns,
            limit_ns,
        });
        self.command = command.into_bytes();
        self.command_at = 0;
        self.command.len() as u32
    }

    /// It is to sleep until the end of a trial, for whose result the lab waits.
    pub fn awaits(&mut self, patience_ns: u64) {
        self.awaited = Some(Awaited {
            patience_ns,
            slept: false,
        });
    }

    /// Has it sleep until the end of the trial that the lab waits for. None: there is none.
    pub fn sleep_to(&mut self, end_ns: u64) -> Option<Sleep> {
        let awaited = self.awaited.as_mut()?;
        let Some(sleep_ns) = awaited.sleep_ns(end_ns, clock::now_ns()) else {
            self.awaited = None;
            return Some(Sleep::Over);
        };
        awaited.slept = true;
        let limit_ns = sleep_ns.saturating_add(awaited.patience_ns);
        let bytes = self.ask(format!(r#"{{"sleep":{{"ns":{sleep_ns}}}}}"#), limit_ns);
        Some(Sleep::Begins { bytes })
    }

    /// The next four bytes of the command.
    pub fn next_word(&mut self) -> u32 {
        if let Some(check) = &mut self.clock_check {
            if let Err(why) = check.step(true, clock::now_ns(), clock::instructions()) {
                die(&why);
            }
        }
        let mut word = [0; 4];
        let rest = self.command.get(self.command_at..).unwrap_or_default();
        let n = rest.len().min(4);
        word[..n].copy_from_slice(&rest[..n]);
        self.command_at += 4;
        u32::from_le_bytes(word)
    }

    /// It writes four bytes of its answer.
    pub fn says(&mut self, word: u32) {
        self.answer.extend_from_slice(&word.to_le_bytes());
    }

    /// It has written its answer, of so many bytes.
    pub fn answered(&mut self, bytes: usize) -> Said {
        self.clock_check = None;
        let mut answer = std::mem::take(&mut self.answer);
        answer.truncate(bytes);
        // After a restore the agent ends a request that another tester sent: nobody waits for it here.
        if self.request.take().is_none() {
            return Said::Nothing;
        }
        let line = String::from_utf8_lossy(&answer).replace('\n', " ");
        match control::refusal_of_agent(&line) {
            Some(refusal) => {
                self.awaited = None;
                Said::Refusal(refusal)
            }
            None if self.awaited.is_some() => Said::Nothing, // it slept
            None => Said::Answer(line),
        }
    }

    /// Whether it has a command to answer.
    pub fn is_at_work(&self) -> bool {
        self.request.is_some()
    }

    /// When it has to have answered.
    pub fn deadline_ns(&self) -> Option<u64> {
        self.request.as_ref().map(|request| request.expires_ns)
    }

    /// The refusal of a command that it has not answered in time.
    pub fn silent(&mut self, now_ns: u64) -> Option<Refusal> {
        let request = self
            .request
            .take_if(|request| now_ns >= request.expires_ns)?;
        self.awaited = None;
        let limit_ms = request.limit_ns / 1_000_000;
        Some(Refusal {
            text: format!("the DUT's agent gave no answer within {limit_ms} ms of virtual time"),
            kind: Kind::Silent,
        })
    }

    /// Forgets what it was asked. The clock has been verified, or is not.
    pub fn begin_again(&mut self) {
        *self = Agent::new(self.clock_check.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn awaited(slept: bool) -> Awaited {
        Awaited {
            patience_ns: 0,
            slept,
        }
    }

    #[test]
    fn the_agent_sleeps_at_least_once_and_until_the_trial_is_over() {
        assert_eq!(awaited(false).sleep_ns(500, 100), Some(400 + MARGIN_NS));
        assert_eq!(awaited(false).sleep_ns(100, 500), Some(MARGIN_NS));
        assert_eq!(awaited(true).sleep_ns(500, 501), None);
        // It woke early, or at the last instant.
        assert_eq!(awaited(true).sleep_ns(500, 490), Some(10 + MARGIN_NS));
        assert_eq!(awaited(true).sleep_ns(500, 500), Some(MARGIN_NS));
    }
}
