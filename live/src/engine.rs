// SPDX-License-Identifier: GPL-2.0-or-later
//! Two threads around the tester: one sends and executes the lab's commands, one receives. During a trial both spin on their
//! processors; between trials they sleep.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use irqlab_tester::backend::{Backend, Outcome};
use irqlab_tester::mac::Mac;
use irqlab_tester::tester::{Answer, Tester};
use irqlab_tester::traffic::latency::Latency;
use serde_json::{Value, json};

use crate::arp;
use crate::clock::now_ns;
use crate::health::{self, Account, Gaps};
use crate::interface::{Counters, Interface};
use crate::port::{Receiving, Sending};

/// A stream's frame that is so late is not sent: after a stall there is no burst.
pub const PATIENCE_NS: u64 = 250_000;
/// The same for a thread that sleeps, which the host may wake late.
pub const SLEEPER_PATIENCE_NS: u64 = 20_000_000;
/// The receiving thread passes on so many frames before it lets the sending thread have the tester.
const AT_ONCE: usize = 16;
/// Between trials the threads look around at least this often.
const IDLE: Duration = Duration::from_millis(100);
/// Threads that sleep in trials look around at least this often, in ns.
const NAP_NS: u64 = 1_000_000;
/// Frames may be ours only so many ns after they came (`packet::RETIRE_MS`).
const DELIVERY_NS: u64 = 3_000_000;
/// At the end of a trial the sending thread waits for the receiving thread, but not for ever.
const CATCH_UP_NS: u64 = 5_000_000_000;
const ARP_TRIES: u32 = 10;
const ARP_WAIT_NS: u64 = 100_000_000;

/// What wakes the sending thread.
pub enum Event {
    /// A command of the lab.
    Line(String),
    /// A frame for a host has come.
    Frame,
    /// The lab is gone.
    End,
}

/// How the threads run.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    /// Processors for sending and for receiving; None: any.
    pub cpus: Option<[usize; 2]>,
    /// They sleep in trials, too, whenever there is nothing to do.
    pub sleep: bool,
}

/// What both threads use.
pub struct Shared {
    tester: Mutex<Tester>,
    /// When the tester wants to be called, in ns; u64::MAX: not at all.
    deadline_ns: AtomicU64,
    /// A trial runs.
    busy: AtomicBool,
    /// The receiving thread has noticed that.
    attentive: AtomicBool,
    /// When the receiving thread last found nothing, in ns.
    emptied_ns: AtomicU64,
    ended: AtomicBool,
    neighbours: Mutex<BTreeMap<(usize, Ipv4Addr), Mac>>,
    /// What the receiving thread says of the last trial.
    received: Mutex<Value>,
    /// Wakes the receiving thread.
    wake: OwnedFd,
    threads: Threads,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// For so many ports.
    pub fn new(ports: usize, threads: Threads) -> Arc<Self> {
        // SAFETY: a plain system call; the descriptor is owned from here on.
        let wake = unsafe {
            OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))
        };
        Arc::new(Shared {
            tester: Mutex::new(Tester::new(ports, 1)),
            deadline_ns: AtomicU64::new(u64::MAX),
            busy: AtomicBool::new(false),
            attentive: AtomicBool::new(false),
            emptied_ns: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            neighbours: Mutex::default(),
            received: Mutex::new(Value::Null),
            wake,
            threads,
        })
    }

    /// The tester. In a trial a thread spins for it: the other one has it for some µs.
    fn tester(&self) -> MutexGuard<'_, Tester> {
        if !self.threads.sleep {
            for _ in 0..100_000 {
                if let Ok(tester) = self.tester.try_lock() {
                    return tester;
                }
                std::hint::spin_loop();
            }
        }
        locked(&self.tester)
    }

    fn note_deadline(&self, tester: &Tester) {
        let deadline_ns = tester.deadline_ns().unwrap_or(u64::MAX);
        self.deadline_ns.store(deadline_ns, Ordering::Release);
    }

    fn wake_receiver(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes for an eventfd.
        unsafe { libc::write(self.wake.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Ends the receiving thread.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.wake_receiver();
    }
}

/// The receiving thread.
pub struct Receive {
    /// What it shares with the other one.
    pub shared: Arc<Shared>,
    /// The ports.
    pub ports: Vec<Box<dyn Receiving>>,
    /// To the sending thread.
    pub events: Sender<Event>,
}

impl Receive {
    /// Receives until the end.
    pub fn run(mut self) -> Result<(), String> {
        let cpu = self.shared.threads.cpus.map(|[_, cpu]| cpu);
        if let Some(cpu) = cpu {
            health::pin(cpu)?;
        }
        health::prefer();
        while !self.shared.ended.load(Ordering::Acquire) {
            if self.shared.busy.load(Ordering::Acquire) {
                self.trial(cpu);
            } else {
                self.round();
                self.sleep(IDLE.as_millis() as i32);
            }
        }
        Ok(())
    }

    fn trial(&mut self, cpu: Option<usize>) {
        let shared = Arc::clone(&self.shared);
        while self.round() > 0 {} // what came between trials
        let _ = self.dropped();
        let before = Account::now(cpu);
        let mut gaps = Gaps::begin(now_ns());
        shared.attentive.store(true, Ordering::Release);
        while shared.busy.load(Ordering::Acquire) {
            let looked_ns = now_ns();
            gaps.look(looked_ns);
            if self.round() > 0 {
                continue;
            }
            shared.emptied_ns.store(looked_ns, Ordering::Release);
            if shared.threads.sleep {
                self.sleep(1);
                gaps.slept(now_ns());
            } else {
                std::hint::spin_loop();
            }
        }
        let health = Account::now(cpu).report(&before, &gaps);
        let stamps: Vec<&str> = self.ports.iter().map(|port| port.time_stamps()).collect();
        let dropped = self.dropped();
        *locked(&shared.received) =
            json!({"health": health, "dropped": dropped, "time_stamps": stamps});
        shared.attentive.store(false, Ordering::Release);
    }

    fn dropped(&mut self) -> Vec<u64> {
        self.ports.iter_mut().map(|port| port.dropped()).collect()
    }

    /// Takes a batch from every port; returns how many frames there were.
    fn round(&mut self) -> usize {
        let shared = &self.shared;
        let mut count = 0;
        for (number, port) in self.ports.iter_mut().enumerate() {
            let mut tester = None;
            let mut taken = 0;
            count += port.receive(&mut |at_ns, frame| {
                if let Some((ip, mac)) = arp::reply(frame) {
                    locked(&shared.neighbours).insert((number, ip), mac);
                }
                let tester_ = tester.get_or_insert_with(|| shared.tester());
                tester_.receive(number, at_ns, frame);
                taken += 1;
                if taken % AT_ONCE == 0 {
                    shared.note_deadline(tester_);
                    tester = None;
                }
            });
            if let Some(tester) = tester {
                shared.note_deadline(&tester);
            }
        }
        if count > 0 && !shared.busy.load(Ordering::Acquire) {
            let _ = self.events.send(Event::Frame);
        }
        count
    }

    fn sleep(&self, limit_ms: i32) {
        let polled = |fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        let ports = self.ports.iter().map(|port| polled(port.descriptor()));
        let mut all: Vec<libc::pollfd> = ports
            .chain([polled(self.shared.wake.as_raw_fd())])
            .collect();
        let mut number = 0_u64;
        // SAFETY: as many entries as are said; eight bytes of an eventfd.
        unsafe {
            libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, limit_ms);
            libc::read(self.shared.wake.as_raw_fd(), (&raw mut number).cast(), 8);
        }
    }
}

/// What the tester sends through.
struct Outlet {
    ports: Vec<Box<dyn Sending>>,
    /// How late frames of streams are, in ns.
    lateness: Latency,
    /// How long it takes to hand a batch to the kernel, in ns.
    handover: Latency,
    patience_ns: u64,
    /// Frames are left in a batch.
    pending: bool,
    fault: Option<String>,
}

impl Outlet {
    fn flush(&mut self) {
        let began_ns = now_ns();
        self.pending = false;
        let mut any = false;
        for port in &mut self.ports {
            match port.flush() {
                Ok(0) => any = true,
                Ok(_) => self.pending = true,
                Err(why) => self.fault = self.fault.take().or(Some(why)),
            }
        }
        if any {
            self.handover.record(now_ns().saturating_sub(began_ns));
        }
    }
}

impl Backend for Outlet {
    fn now_ns(&self) -> u64 {
        now_ns()
    }
    fn instructions(&self) -> u64 {
        0
    }
    fn has_room(&self, port: usize) -> bool {
        self.ports[port].has_room()
    }
    fn patience_ns(&self) -> u64 {
        self.patience_ns
    }
    fn departed(&mut self, planned_ns: u64, now_ns: u64) {
        self.lateness.record(now_ns.saturating_sub(planned_ns));
    }
    fn send(&mut self, port: usize, frame: &[u8]) -> Outcome {
        self.ports[port].push(frame);
        Outcome::Sent
    }
}

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
        let line = match value {
            Ok(value) => json!({"ok": value}),
            Err(why) => json!({"error": why}),
        };
        (self.answer)(&line.to_string());
    }

    /// Executes a command; false: it was the last.
    fn obey(&mut self, line: &str) -> bool {
        let command: Value = serde_json::from_str(line).unwrap_or_default();
        let answer = match command["op"].as_str() {
            Some("quit") => {
                self.say(&Ok(json!({})));
                return false;
            }
            Some("wait") => {
                self.awaited = true;
                if self.trial_end_ns.is_none() {
                    self.tell_end();
                }
                return true;
            }
            Some("live") => Ok(self.report.clone()),
            Some("resolve") => self.resolve(&command),
            Some("start") => {
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
        let Answer::Reply(text) = &answer else { return };
        let armed: Value = serde_json::from_str(text).unwrap_or_default();
        self.trial_end_ns = armed["ok"]["end_ns"].as_u64();
        if self.trial_end_ns.is_none() {
            self.rest();
        }
        self.pass_on(answer);
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
        let ending = self.outlet.fault.clone().map_or(Ok(json!({})), Err);
        self.say(&ending);
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
