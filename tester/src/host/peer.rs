// SPDX-License-Identifier: GPL-2.0-or-later
//! What a host does beside answering ARP and ping: applications over TCP, UDP and ICMP, on virtual time.
//!
//! The device under test's NIC hands frames over at once; here they take their time on the wire, in the order in which
//! they came. In the other direction the line's queue is kept short, so that what waits, waits with its sender.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use serde_json::Value;

use super::net::{Message, Net};
use super::plan::AppPlan;
use crate::mac::Mac;
use crate::traffic::frame::{FCS_BYTES, MIN_FRAME_BYTES};
use crate::traffic::line::Line;
use crate::traffic::wire::BACKLOG_NS;

/// So many frames wait for the line at most: one that is being sent, and the next.
pub const LINE_QUEUE: usize = 2;

/// An application.
pub trait App: Send {
    /// Does what can be done: `net` has news, or the time has come.
    fn step(&mut self, now_ns: u64, net: &mut Net);
    /// Whether a message was for it; it has waited so long for the wire to be free.
    fn take(&mut self, now_ns: u64, waited_ns: u64, message: &Message, net: &mut Net) -> bool;
    /// The next datagram of a test that is due.
    fn transmit(&mut self, now_ns: u64, net: &mut Net) -> Option<Vec<u8>>;
    /// When the next step is wanted.
    fn next_ns(&self) -> Option<u64>;
    /// What came of it so far.
    fn report(&self, now_ns: u64, net: &Net) -> Value;
}

/// A frame on its way over the wire.
struct Arrival {
    at_ns: u64,
    waited_ns: u64,
    frame: Vec<u8>,
}

/// A host's applications and its network.
pub struct Peer {
    net: Net,
    apps: Vec<Box<dyn App>>,
    line_in: Line,
    arriving: VecDeque<Arrival>,
    dropped: u64,
    origin_ns: u64,
    next_ns: Option<u64>,
    turn: usize,
}

impl Peer {
    /// Applications that begin now. `line_in` is the wire from the device under test.
    pub fn new(mac: Mac, ip: Ipv4Addr, line_in: Line, plans: &[AppPlan], now_ns: u64) -> Self {
        let mut net = Net::new(mac, ip, line_in.serialisation_ns(MIN_FRAME_BYTES) > 0);
        let started = plans.iter().enumerate();
        let apps = started
            .map(|(place, plan)| plan.start(place, &mut net, now_ns))
            .collect();
        Peer {
            net,
            apps,
            line_in,
            arriving: VecDeque::new(),
            dropped: 0,
            origin_ns: now_ns,
            next_ns: Some(now_ns),
            turn: 0,
        }
    }

    /// Whether a frame is for an application.
    pub fn concerns(&self, frame: &[u8]) -> bool {
        self.net.concerns(frame)
    }

    /// A frame (without FCS) that concerns us begins to come in at `now_ns`.
    pub fn receive(&mut self, now_ns: u64, frame: &[u8]) {
        if self.line_in.backlog_ns(now_ns) > BACKLOG_NS {
            self.dropped += 1;
            return;
        }
        let bytes = (frame.len() + FCS_BYTES).max(MIN_FRAME_BYTES);
        let alone_ns = now_ns.saturating_add(self.line_in.serialisation_ns(bytes));
        let at_ns = alone_ns.max(self.line_in.earliest_ns(bytes));
        self.line_in.occupy(bytes, at_ns, at_ns);
        self.arriving.push_back(Arrival {
            at_ns,
            waited_ns: at_ns - alone_ns,
            frame: frame.to_vec(),
        });
    }

    /// When [`Peer::poll`] is wanted.
    pub fn due_ns(&self) -> Option<u64> {
        let arrival = self.arriving.front().map(|arrival| arrival.at_ns);
        arrival.into_iter().chain(self.next_ns).min()
    }

    /// Does what is due, and returns the frames to send: as many as the line has room for.
    pub fn poll(&mut self, now_ns: u64, room: usize) -> Vec<Vec<u8>> {
        while self
            .arriving
            .front()
            .is_some_and(|arrival| arrival.at_ns <= now_ns)
        {
            let Some(arrival) = self.arriving.pop_front() else {
                break;
            };
            if let Some(message) = self.net.receive(now_ns, &arrival.frame) {
                let Peer { net, apps, .. } = self;
                let waited_ns = arrival.waited_ns;
                let mut taken = false;
                for app in apps {
                    taken = taken || app.take(now_ns, waited_ns, &message, net);
                }
            }
        }
        self.net.on_time(now_ns);
        self.step(now_ns);
        let mut frames = Vec::new();
        while frames.len() < room {
            let Some(frame) = self.transmit(now_ns) else {
                break;
            };
            frames.push(frame);
            self.step(now_ns);
        }
        let apps = self.apps.iter().filter_map(|app| app.next_ns());
        let next_ns = apps.chain(self.net.timer_ns()).min();
        // What is due and was not done waits for the line, and the tester comes again when it has room.
        self.next_ns = match next_ns {
            Some(at_ns) if at_ns <= now_ns => self.later_ns(now_ns),
            other => other,
        };
        frames
    }

    fn later_ns(&self, now_ns: u64) -> Option<u64> {
        let apps = self.apps.iter().filter_map(|app| app.next_ns());
        let all = apps.chain(self.net.timers_ns());
        all.filter(|at_ns| *at_ns > now_ns).min()
    }

    fn step(&mut self, now_ns: u64) {
        for app in &mut self.apps {
            app.step(now_ns, &mut self.net);
        }
    }

    /// Connections and applications take turns.
    fn transmit(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        for _ in 0..=self.apps.len() {
            self.turn = (self.turn + 1) % (self.apps.len() + 1);
            let frame = match self.apps.get_mut(self.turn) {
                Some(app) => app.transmit(now_ns, &mut self.net),
                None => self.net.transmit(now_ns),
            };
            if frame.is_some() {
                return frame;
            }
        }
        None
    }

    /// What came of the applications so far.
    pub fn report(&self, now_ns: u64) -> Value {
        let apps: Vec<Value> = self
            .apps
            .iter()
            .map(|app| app.report(now_ns, &self.net))
            .collect();
        serde_json::json!({
            "origin_ns": self.origin_ns, "now_ns": now_ns, "dropped_on_wire": self.dropped, "apps": apps,
        })
    }
}
