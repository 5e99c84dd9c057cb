// SPDX-License-Identifier: GPL-2.0-or-later
//! A host's applications over TCP, UDP and ICMP, and the line between them and the device under test.
//!
//! The device under test's NIC delivers frames at once. Here each takes its time on the line, in order of arrival. In the other
//! direction the line's queue is kept short, so that data waits in the sender and not in the queue.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use serde_json::Value;

use super::app::App;
use super::client::Client;
use super::net::Net;
use super::plan::AppPlan;
use super::probe::Probe;
use super::server::Server;
use crate::mac::Mac;
use crate::traffic::frame::{FCS_BYTES, MIN_FRAME_BYTES};
use crate::traffic::line::Line;
use crate::traffic::wire::BACKLOG_NS;

/// At most this many frames are queued for the line: the one that is being sent, and the next.
pub const LINE_QUEUE: usize = 2;

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
    /// Starts applications now. `line_in` is the line from the device under test.
    pub fn new(mac: Mac, ip: Ipv4Addr, line_in: Line, plans: &[AppPlan], now_ns: u64) -> Self {
        let mut net = Net::new(mac, ip, line_in.serialisation_ns(MIN_FRAME_BYTES) > 0);
        let started = plans.iter().enumerate();
        let apps = started
            .map(|(place, plan)| start(plan, place as u16, &mut net, now_ns))
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

    /// Does what is due, and returns the frames to send, at most `room`.
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
        // Anything that is due but not done waits for the line. The tester calls again when the line has room.
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

    /// The applications' results so far.
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

/// Starts an application. Each of a host's applications has a `place` of its own.
fn start(plan: &AppPlan, place: u16, net: &mut Net, now_ns: u64) -> Box<dyn App> {
    match plan {
        AppPlan::Server(plan) => Box::new(Server::new(plan, net, now_ns)),
        AppPlan::Client(plan) => Box::new(Client::new(plan, net, now_ns)),
        AppPlan::Probe(plan) => Box::new(Probe::new(plan, place, net, now_ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_far_behind_drops_frames() {
        let ip = Ipv4Addr::new(198, 18, 0, 2);
        let mut peer = Peer::new(Mac([2; 6]), ip, Line::new(1_000_000, 0), &[], 0);
        assert!(peer.net.is_bounded());
        for _ in 0..20 {
            peer.receive(0, &[0; 1514]);
        }
        // A frame takes 12.304 ms. Before the ninth, 98.4 ms wait, before the tenth more than 100.
        let waited: Vec<u64> = peer
            .arriving
            .iter()
            .map(|arrival| arrival.waited_ns)
            .collect();
        let expected: Vec<u64> = (0..9).map(|number| number * 12_304_000).collect();
        assert_eq!(waited, expected);
        assert_eq!(peer.report(0)["dropped_on_wire"], 11);
        assert_eq!(peer.due_ns(), Some(0), "it has not been polled");
        peer.poll(0, 1);
        assert_eq!(peer.due_ns(), Some(12_304_000));
    }
}
