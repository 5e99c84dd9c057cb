// SPDX-License-Identifier: GPL-2.0-or-later
//! The tester: a discrete-event simulation between the lab and the ports of the device under test.
//!
//! It has no clock and no thread. Its owner calls [`Tester::advance`] at [`Tester::deadline_ns`], and passes on the frames that the device
//! under test transmits and the lab's commands.

mod commands;

use crate::backend::{Backend, Cue, Outcome};
use crate::host::Host;
use crate::host::peer::LINE_QUEUE;
use crate::traffic::capture::{Capture, Direction};
use crate::traffic::egress::{Egress, Next, Sender};
use crate::traffic::frame::{self, FCS_BYTES, MIN_FRAME_BYTES};
use crate::traffic::line::Line;
use crate::traffic::trial::Trial;
use crate::traffic::wire::Wire;

/// The virtual clock's steps are taken to be at least this long, in ns.
const GRANULARITY_NS: u64 = 8;

/// What the owner must do about a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// Send the lab this line (without newline).
    Reply(String),
    /// Have the agent do this.
    Guest {
        /// The agent's command, JSON.
        command: String,
        /// How long it may take, in ns.
        limit_ns: u64,
    },
    /// Have the agent sleep until the trial has ended, then send the lab its [result](Tester::result).
    Finish {
        /// How much longer than asked for the agent may sleep, in ns.
        patience_ns: u64,
    },
    /// Pause QEMU.
    StopAt {
        /// So many ns from now.
        after_ns: u64,
    },
    /// Pause QEMU for a debugger.
    Halt {
        /// At this instant, in ns.
        at_ns: u64,
    },
    /// Pause QEMU now.
    Pause,
    /// Put the machine back to where it was restored.
    Rewind {
        /// The snapshot file.
        path: String,
    },
    /// End QEMU.
    Quit,
}

struct Port {
    wire_bps: u64,
    egress: Egress,
    host: Option<Host>,
    wire: Option<Wire>,
}

/// The tester.
pub struct Tester {
    ports: Vec<Port>,
    trial: Option<Trial>,
    capture: Option<Capture>,
    ns_per_instruction: u64,
}

impl Tester {
    /// A tester of so many ports, without hosts and line rates, for a machine whose instructions take so many ns each.
    pub fn new(ports: usize, ns_per_instruction: u64) -> Self {
        let mut tester = Tester {
            ports: Vec::new(),
            trial: None,
            capture: None,
            ns_per_instruction,
        };
        let egress = Egress::new(tester.line(0));
        tester.ports.extend((0..ports).map(|_| Port {
            wire_bps: 0,
            egress: egress.clone(),
            host: None,
            wire: None,
        }));
        tester
    }

    /// Whether a trial is armed or runs: its drain has not ended.
    pub fn is_measuring(&self) -> bool {
        self.trial.as_ref().is_some_and(|trial| !trial.has_ended())
    }

    /// The next instant at which [`Tester::advance`] must be called, in ns; it may have passed already.
    pub fn deadline_ns(&self) -> Option<u64> {
        let trial = self.trial.as_ref();
        let mark = trial.and_then(|trial| trial.recording.next_mark_ns());
        let event = trial.and_then(Trial::next_event_ns);
        let first = [mark, event].into_iter().flatten().min();
        self.ports.iter().fold(first, |earliest, port| {
            let host = port.host.as_ref().and_then(Host::next_ns);
            let next = port.egress.next.map(|next| next.at_ns);
            [host, next].into_iter().flatten().chain(earliest).min()
        })
    }

    /// Does everything that is due.
    pub fn advance(&mut self, backend: &mut dyn Backend) {
        let now_ns = backend.now_ns();
        if let Some(trial) = &mut self.trial {
            trial.happen(now_ns, backend);
        }
        for port in 0..self.ports.len() {
            self.poll_host(port, now_ns);
            self.poll_peer(port, now_ns, false);
        }
        loop {
            let mark = self
                .trial
                .as_ref()
                .and_then(|trial| trial.recording.next_mark_ns());
            let departures = self
                .ports
                .iter()
                .enumerate()
                .filter_map(|(port, p)| Some((p.egress.next?, port)));
            let departure = departures.min_by_key(|(next, _)| next.at_ns);
            match (mark, departure) {
                // A mark precedes departures at the same instant: a window includes its first ns, but not the ns at which it ends.
                (Some(at_ns), _)
                    if at_ns <= now_ns && departure.is_none_or(|(next, _)| at_ns <= next.at_ns) =>
                {
                    if let Some(Trial { recording, .. }) = &mut self.trial {
                        let watched = recording
                            .watch()
                            .iter()
                            .map(|at| backend.word(*at))
                            .collect();
                        recording.mark(
                            backend.instructions(),
                            backend.processors(),
                            backend.memory(),
                            watched,
                        );
                        backend.window(recording.is_measuring());
                        recording.passed(backend.passed(), backend.switched());
                        if recording.has_cues() && !recording.is_measuring() {
                            recording.cued(backend.cued());
                        }
                        if recording.records_halts() {
                            recording.halted(backend.halts(recording.is_measuring()));
                        }
                        if recording.records_entries() && recording.has_ended() {
                            recording.entered(backend.entries());
                        }
                    }
                }
                (_, Some((next, port))) if next.at_ns <= now_ns => {
                    if self.skipped(port, next, now_ns, backend.patience_ns()) {
                        continue;
                    }
                    if !backend.has_room(port) {
                        return;
                    }
                    self.depart(port, next, now_ns, backend);
                    self.poll_peer(port, now_ns, true);
                }
                _ => return,
            }
        }
    }

    /// What would happen before `until_ns` happens at `at_ns`, which is not earlier than now.
    pub fn cue(&mut self, what: Cue, at_ns: u64, until_ns: u64) {
        if let Some(trial) = &mut self.trial {
            trial.cue(what, at_ns, until_ns);
            self.schedule_all();
        }
    }

    /// The device under test transmitted a frame (without FCS) on `port` at `now_ns`. Answers leave with the next
    /// [`Tester::advance`].
    pub fn receive(&mut self, port: usize, now_ns: u64, frame: &[u8]) {
        let Some(here) = self.ports.get_mut(port) else {
            return;
        };
        if let Some(capture) = &mut self.capture {
            capture.frame(port, now_ns, Direction::Inbound, frame);
        }
        let mut trial = self.trial.as_mut().filter(|trial| trial.counts_at(now_ns));
        if let Some(trial) = &mut trial {
            trial.count(port).received += 1;
        }
        if let Some(wire) = &mut here.wire {
            let to = wire.to();
            if let Some(arrival_ns) = wire.carry(now_ns, frame) {
                self.ports[to].egress.push(arrival_ns, frame.to_vec());
                self.schedule(to);
            }
        } else if frame::is_ours(frame) {
            if let Some(trial) = trial {
                trial.received(port, now_ns, frame);
            }
        } else {
            if let Some(trial) = trial {
                trial.count(port).host += 1;
            }
            if let Some(host) = &mut here.host {
                host.receive(now_ns, frame);
            }
        }
    }

    /// Leaves out the frames of a stream that are overdue by more than `patience_ns`; false: there is none. Sent at once, they would be a
    /// burst that nobody asked for.
    fn skipped(&mut self, port: usize, next: Next, now_ns: u64, patience_ns: u64) -> bool {
        let (Sender::Stream(index, _), Some(trial)) = (next.sender, &mut self.trial) else {
            return false;
        };
        if now_ns.saturating_sub(next.at_ns) <= patience_ns {
            return false;
        }
        trial.stream_mut(index).skip(now_ns);
        self.schedule(port);
        true
    }

    /// A frame departs from `port`; the clock says `now_ns`, which may be a little later than planned.
    fn depart(&mut self, port: usize, next: Next, now_ns: u64, backend: &mut dyn Backend) {
        let send = |backend: &mut dyn Backend, capture: &mut Option<Capture>, frame: &[u8]| {
            if let Some(capture) = capture {
                capture.frame(port, now_ns, Direction::Outbound, frame);
            }
            backend.send(port, frame)
        };
        let mut outcome = Outcome::Sent;
        match next.sender {
            Sender::Queue => {
                if let Some(queued) = self.ports[port].egress.pop() {
                    outcome = send(backend, &mut self.capture, &queued.frame);
                }
            }
            Sender::Stream(index, pending) => {
                if let Some(trial) = &mut self.trial {
                    backend.departed(next.at_ns, now_ns);
                    let departing = trial.stream_mut(index).stamp(pending, now_ns);
                    let warmup = departing.warmup;
                    outcome = send(backend, &mut self.capture, departing.frame);
                    trial.departed(index, warmup, now_ns, outcome, || backend.pc());
                }
            }
        }
        if let Some(trial) = self.trial.as_mut().filter(|trial| trial.counts_at(now_ns)) {
            let count = trial.count(port);
            count.sent += 1;
            count.refused += u64::from(outcome == Outcome::Refused);
        }
        self.ports[port]
            .egress
            .line
            .occupy(next.frame_bytes, next.at_ns, now_ns);
        self.schedule(port);
    }

    /// Finds the frame that departs next from `port`: the one with the earliest intended departure.
    fn schedule(&mut self, port: usize) {
        let egress = &mut self.ports[port].egress;
        egress.next = loop {
            let mut first = egress
                .head()
                .map(|(intended_ns, bytes)| (intended_ns, bytes, Sender::Queue));
            if let Some(trial) = &self.trial {
                for index in trial.leaving(port) {
                    let Some(pending) = trial.stream(*index).pending() else {
                        continue;
                    };
                    if first.is_none_or(|(intended_ns, ..)| pending.intended_ns < intended_ns) {
                        first = Some((
                            pending.intended_ns,
                            pending.frame_bytes,
                            Sender::Stream(*index, pending),
                        ));
                    }
                }
            }
            let Some((intended_ns, frame_bytes, sender)) = first else {
                break None;
            };
            let at_ns = intended_ns.max(egress.line.earliest_ns(frame_bytes));
            if let (Sender::Stream(index, _), Some(trial)) = (sender, &mut self.trial) {
                if at_ns >= trial.stream(index).stop_ns() {
                    trial.stream_mut(index).cut();
                    continue;
                }
            }
            break Some(Next {
                at_ns,
                frame_bytes,
                sender,
            });
        };
    }

    fn schedule_all(&mut self) {
        (0..self.ports.len()).for_each(|port| self.schedule(port));
    }

    /// Lets the host at `port` handle its queued frames.
    fn poll_host(&mut self, port: usize, now_ns: u64) {
        let Port {
            host: Some(host),
            egress,
            ..
        } = &mut self.ports[port]
        else {
            return;
        };
        let Some(due_ns) = host.due_ns() else { return };
        for frame in host.poll(now_ns) {
            let bytes = (frame.len() + FCS_BYTES).max(MIN_FRAME_BYTES);
            egress.push(
                due_ns.saturating_add(egress.line.serialisation_ns(bytes)),
                frame,
            );
        }
        self.schedule(port);
    }

    /// Lets the applications of the host at `port` work, if their time has come or if the line has sent a frame.
    fn poll_peer(&mut self, port: usize, now_ns: u64, line_moved: bool) {
        let Port {
            host: Some(host),
            egress,
            ..
        } = &mut self.ports[port]
        else {
            return;
        };
        let Some(peer) = host.peer() else { return };
        if !line_moved && peer.due_ns().is_none_or(|due_ns| due_ns > now_ns) {
            return;
        }
        let frames = peer.poll(now_ns, LINE_QUEUE.saturating_sub(egress.queued()));
        for frame in frames {
            let bytes = (frame.len() + FCS_BYTES).max(MIN_FRAME_BYTES);
            let across_ns = now_ns.saturating_add(egress.line.serialisation_ns(bytes));
            egress.push(across_ns, frame);
        }
        self.schedule(port);
    }

    fn line(&self, wire_bps: u64) -> Line {
        Line::new(wire_bps, GRANULARITY_NS.max(self.ns_per_instruction))
    }
}
