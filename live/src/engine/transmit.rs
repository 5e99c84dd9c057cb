// SPDX-License-Identifier: GPL-2.0-or-later
//! The sending thread, which executes the lab's commands.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use irqlab_tester::backend::Backend;
use irqlab_tester::control;
use irqlab_tester::mac::Mac;
use irqlab_tester::tester::Answer;
use irqlab_tester::traffic::latency::Latency;
use serde_json::{Value, json};

use super::outlet::Outlet;
use super::{Event, IDLE, Shared, locked};
use crate::arp;
use crate::clock::now_ns;
use crate::health::{self, Account, Gaps};
use crate::interface::{Counters, Interface};
use crate::port::Sending;

/// A stream's frame that is so late is not sent: after a stall there is no burst.
const PATIENCE_NS: u64 = 250_000;
/// The same for a thread that sleeps, which the host may wake late.
const SLEEPER_PATIENCE_NS: u64 = 20_000_000;
/// Threads that sleep in trials look around at least this often, in ns.
const NAP_NS: u64 = 1_000_000;
/// Frames may be ours only so many ns after they came (`packet::RETIRE_MS`).
const DELIVERY_NS: u64 = 3_000_000;
/// At the end of a trial the sending thread waits for the receiving thread, but not for ever.
const CATCH_UP_NS: u64 = 5_000_000_000;
const ARP_TRIES: u32 = 10;
const ARP_WAIT_NS: u64 = 100_000_000;

/// The sending thread.
pub struct Transmit {
    shared: Arc<Shared>,
    interfaces: Vec<Interface>,
    outlet: Outlet,
    events: Receiver<Event>,
    answer: Box<dyn FnMut(&str)>,
    /// End of the trial that runs, in ns.
    trial_end_ns: Option<u64>,
    /// The lab waits for it.
    awaited: bool,
    before: (Account, Vec<Option<Counters>>),
    gaps: Gaps,
    report: Value,
}

impl Transmit {
    /// With the sending halves of the ports; `answer` writes a line to the lab.
    pub fn new(
        shared: Arc<Shared>,
        interfaces: Vec<Interface>,
        ports: Vec<Box<dyn Sending>>,
        events: Receiver<Event>,
        answer: Box<dyn FnMut(&str)>,
    ) -> Self {
        let patience_ns = if shared.threads.sleep {
            SLEEPER_PATIENCE_NS
        } else {
            PATIENCE_NS
        };
        Transmit {
            shared,
            interfaces,
            outlet: Outlet {
                ports,
                lateness: Latency::default(),
                handover: Latency::default(),
                patience_ns,
                pending: false,
                fault: None,
            },
            events,
            answer,
            trial_end_ns: None,
            awaited: false,
            before: (Account::default(), Vec::new()),
            gaps: Gaps::default(),
            report: Value::Null,
        }
    }

    fn cpu(&self) -> Option<usize> {
        self.shared.threads.cpus.map(|[cpu, _]| cpu)
    }

    /// Sends and obeys until the lab is gone.
    pub fn run(&mut self) -> Result<(), String> {
        if let Some(cpu) = self.cpu() {
            health::pin(cpu)?;
        }
        health::prefer();
        loop {
            let event = match (self.trial_end_ns, self.shared.threads.sleep) {
                (None, _) => self.wait(now_ns() + IDLE.as_nanos() as u64),
                (Some(_), true) => {
                    let event = self.wait(now_ns() + NAP_NS);
                    self.gaps.slept(now_ns());
                    event
                }
                (Some(_), false) => match self.events.try_recv() {
                    Ok(event) => Some(event),
                    Err(TryRecvError::Empty) => None,
                    Err(TryRecvError::Disconnected) => Some(Event::End),
                },
            };
            match event {
                Some(Event::End) => return Ok(()),
                Some(Event::Line(line)) if !self.obey(&line) => return Ok(()),
                _ => {}
            }
            self.step();
        }
    }

    /// Waits for an event until the tester's deadline, or `latest_ns`.
    fn wait(&self, latest_ns: u64) -> Option<Event> {
        if self.outlet.pending {
            return self.events.try_recv().ok();
        }
        let until_ns = self
            .shared
            .deadline_ns
            .load(Ordering::Acquire)
            .min(latest_ns);
        let rest = Duration::from_nanos(until_ns.saturating_sub(now_ns()));
        match self.events.recv_timeout(rest) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Event::End),
        }
    }

    /// Does what is due.
    fn step(&mut self) {
        let now_ns = now_ns();
        if let Some(end_ns) = self.trial_end_ns {
            self.gaps.look(now_ns);
            // Every frame that came before the end is counted before the trial ends.
            let known_ns = self.shared.emptied_ns.load(Ordering::Acquire);
            if now_ns >= end_ns && known_ns < end_ns + DELIVERY_NS && now_ns < end_ns + CATCH_UP_NS
            {
                std::thread::yield_now();
                return;
            }
        }
        if now_ns < self.shared.deadline_ns.load(Ordering::Acquire) && !self.outlet.pending {
            std::hint::spin_loop();
            return;
        }
        let measuring = {
            let mut tester = self.shared.tester();
            tester.advance(&mut self.outlet);
            self.shared.note_deadline(&tester);
            tester.is_measuring()
        };
        self.outlet.flush();
        if self.trial_end_ns.is_some() && (!measuring || self.outlet.fault.is_some()) {
            self.end_trial();
        }
    }

    fn say(&mut self, value: &Result<Value, String>) {
        (self.answer)(&control::answer(
            &value.as_ref().map_err(|why| why.as_str().into()),
        ));
    }

    /// Executes a command; false: it was the last.
    fn obey(&mut self, line: &str) -> bool {
        let command: Value = serde_json::from_str(line).unwrap_or_default();
        let answer = match command["op"].as_str() {
            Some("quit") => {
                self.say(&Ok(json!({})));
                return false;
            }
            Some("finish") => {
                self.awaited = true;
                if self.trial_end_ns.is_none() {
                    self.tell_end();
                }
                return true;
            }
            Some("resolve") => self.resolve(&command),
            Some("start" | "trial") => {
                self.start(line);
                return true;
            }
            _ => {
                let answer = {
                    let mut tester = self.shared.tester();
                    let answer = tester.command(line, &mut self.outlet);
                    self.shared.note_deadline(&tester);
                    answer
                };
                self.pass_on(answer);
                return true;
            }
        };
        self.say(&answer);
        true
    }

    fn pass_on(&mut self, answer: Answer) {
        match answer {
            Answer::Reply(line) => (self.answer)(&line),
            Answer::Quit => {}
            // All others are about QEMU.
            _ => {
                self.say(&Err("there is no machine behind real ports".into()));
            }
        }
    }

    /// Arms a trial once both threads are awake.
    fn start(&mut self, line: &str) {
        if let Some(why) = self.outlet.fault.take() {
            return self.say(&Err(why));
        }
        for interface in &self.interfaces {
            if let Err(why) = interface.check() {
                return self.say(&Err(why));
            }
        }
        self.shared.emptied_ns.store(0, Ordering::Release);
        self.shared.busy.store(true, Ordering::Release);
        self.shared.wake_receiver();
        while !self.shared.attentive.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let counters = self.interfaces.iter().map(Interface::counters).collect();
        self.before = (Account::now(self.cpu()), counters);
        self.outlet.lateness = Latency::default();
        self.outlet.handover = Latency::default();
        self.gaps = Gaps::begin(now_ns());
        let answer = {
            let mut tester = self.shared.tester();
            let answer = tester.command(line, &mut self.outlet);
            self.shared.note_deadline(&tester);
            answer
        };
        self.awaited = matches!(answer, Answer::Finish { .. });
        let armed = match &answer {
            Answer::Reply(text) => {
                serde_json::from_str(text).is_ok_and(|reply: Value| reply.get("ok").is_some())
            }
            _ => self.awaited,
        };
        self.trial_end_ns = armed.then(|| self.shared.tester().trial_end_ns());
        if !armed {
            self.rest();
        }
        if !self.awaited {
            self.pass_on(answer);
        }
    }

    /// The receiving thread sleeps again.
    fn rest(&mut self) {
        self.shared.busy.store(false, Ordering::Release);
        while self.shared.attentive.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }

    fn end_trial(&mut self) {
        let account = Account::now(self.cpu());
        self.rest();
        let received = locked(&self.shared.received).clone();
        let ports = self.interfaces.iter().zip(&self.before.1).enumerate();
        let ports: Vec<Value> = ports
            .map(|(number, (interface, before))| {
                json!({
                    "dropped": received["dropped"][number],
                    "time_stamps": received["time_stamps"][number],
                    "interface": difference(before.as_ref(), interface.counters().as_ref()),
                })
            })
            .collect();
        self.report = json!({
            "ports": ports,
            "sending": account.report(&self.before.0, &self.gaps),
            "receiving": received["health"],
            "lateness": self.outlet.lateness.report(false),
            "handover": self.outlet.handover.report(false),
            "stuck": self.outlet.pending,
        });
        self.trial_end_ns = None;
        if self.awaited {
            self.tell_end();
        }
    }

    fn tell_end(&mut self) {
        self.awaited = false;
        let ending = self.outlet.fault.clone().map_or(Ok(()), Err);
        let result = ending.and_then(|()| self.result());
        self.say(&result);
    }

    /// The trial's result, with what the tester says about itself.
    fn result(&mut self) -> Result<Value, String> {
        let result = self.shared.tester().result(&mut self.outlet);
        let result = result.map_err(|refusal| refusal.text)?;
        let mut result = serde_json::to_value(result).map_err(|error| error.to_string())?;
        result["live"] = self.report.clone();
        Ok(result)
    }

    /// Asks for the Ethernet address of `to`.
    fn resolve(&mut self, command: &Value) -> Result<Value, String> {
        let text = |name: &str| command[name].as_str().unwrap_or_default();
        let port = command["port"].as_u64().unwrap_or(u64::MAX) as usize;
        let mac = Mac::parse(text("mac")).ok_or("resolve: mac is not an Ethernet address")?;
        let address = |name: &str| text(name).parse::<Ipv4Addr>();
        let (ip, to) = (address("ip"), address("to"));
        let (Ok(ip), Ok(to)) = (ip, to) else {
            return Err("resolve: ip and to are IPv4 addresses".into());
        };
        if port >= self.outlet.ports.len() || self.trial_end_ns.is_some() {
            return Err("resolve: there is no such port, or a trial runs".into());
        }
        for _ in 0..ARP_TRIES {
            if self.outlet.has_room(port) {
                self.outlet.send(port, &arp::request(mac, ip, to));
            }
            let until_ns = now_ns() + ARP_WAIT_NS;
            while now_ns() < until_ns {
                self.outlet.flush();
                if let Some(why) = self.outlet.fault.take() {
                    return Err(why);
                }
                if let Some(found) = locked(&self.shared.neighbours).get(&(port, to)) {
                    let octets: Vec<String> =
                        found.0.iter().map(|octet| format!("{octet:02x}")).collect();
                    return Ok(json!({"mac": octets.join(":")}));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(json!({"mac": null}))
    }
}

fn difference(before: Option<&Counters>, after: Option<&Counters>) -> Value {
    let (Some(before), Some(after)) = (before, after) else {
        return json!({});
    };
    let pairs = before.iter().zip(after);
    let named =
        pairs.map(|((name, old), (_, new))| (name.to_string(), json!(new.wrapping_sub(*old))));
    Value::Object(named.collect())
}
