// SPDX-License-Identifier: GPL-2.0-or-later
//! iperf3's client: one test, TCP or UDP, to the server or (reverse) from it.

use serde_json::{Value, json};

use super::app::App;
use super::flow::{Carrier, Flow, StreamConfig};
use super::iperf::{Control, UDP_HELLO, results, state};
use super::net::{Handle, Message, Net};
use super::plan::ClientPlan;
use super::tcp::State;

/// The first local port.
const LOCAL_PORT: u16 = 49_152;
const RETRY_NS: u64 = 100_000_000;
/// How often a refused connection is tried again.
const TRIES: u32 = 50;
const VERSION: &str = "3.12";

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    Connecting,
    Negotiating,
    /// UDP: the stream of this number waits for the server's answer to its first datagram.
    Greeting(usize),
    Running,
    Ending,
    Over,
}

/// The client.
pub struct Client {
    plan: ClientPlan,
    origin_ns: u64,
    phase: Phase,
    control: Option<Control>,
    tries: u32,
    try_at_ns: u64,
    end_ns: u64,
    next_port: u16,
    results_asked: bool,
    flows: Vec<Flow>,
    peer: Value,
    error: Option<String>,
}

impl Client {
    /// Begins now.
    pub fn new(plan: &ClientPlan, net: &mut Net, now_ns: u64) -> Self {
        net.introduce(plan.to, plan.to_mac);
        Client {
            plan: plan.clone(),
            origin_ns: now_ns,
            phase: Phase::Connecting,
            control: None,
            tries: 0,
            try_at_ns: now_ns,
            end_ns: u64::MAX,
            next_port: LOCAL_PORT.wrapping_add(plan.port.wrapping_mul(64) % 8_192),
            results_asked: false,
            flows: Vec::new(),
            peer: Value::Null,
            error: None,
        }
    }

    fn port(&mut self) -> u16 {
        self.next_port += 1;
        self.next_port
    }

    /// The cookie: 36 characters, always the same.
    fn cookie() -> impl Iterator<Item = u8> {
        b"irqlabirqlabirqlabirqlabirqlabirqlab\0".iter().copied()
    }

    fn connect(&mut self, now_ns: u64, net: &mut Net) -> Handle {
        let local = self.port();
        let remote = (self.plan.to, self.plan.port);
        let handle = net.connect(local, remote, self.plan.window_bytes, now_ns);
        net.tcp(handle).sender.write(Self::cookie());
        handle
    }

    fn knock(&mut self, now_ns: u64, net: &mut Net) {
        match &self.control {
            Some(control) => match net.look(control.handle).state() {
                State::Open => self.phase = Phase::Negotiating,
                State::Opening => {}
                State::Broken if self.tries == TRIES => {
                    self.fail("the server refuses", now_ns, net)
                }
                State::Broken => {
                    self.control = None;
                    self.try_at_ns = now_ns + RETRY_NS;
                }
            },
            None if self.try_at_ns <= now_ns => {
                self.tries += 1;
                self.control = Some(Control::new(self.connect(now_ns, net)));
            }
            None => {}
        }
    }

    fn config(&self) -> StreamConfig {
        StreamConfig {
            sends: !self.plan.reverse,
            rate_bps: self.plan.rate_bps,
            datagram_bytes: self.plan.datagram_bytes,
            wide_numbers: false,
            dscp: 0,
            window_bytes: self.plan.window_bytes,
            bucket_ns: self.plan.bucket_ns,
            origin_ns: self.origin_ns,
        }
    }

    fn parameters(&self) -> Value {
        let plan = &self.plan;
        let mut document = json!({
            "omit": 0, "time": plan.duration_ns.div_ceil(1_000_000_000), "num": 0, "blockcount": 0,
            "parallel": plan.parallel, "bandwidth": plan.rate_bps, "pacing_timer": 1000,
            "len": if plan.udp { plan.datagram_bytes } else { 131_072 },
            "client_version": VERSION,
        });
        document[if plan.udp { "udp" } else { "tcp" }] = true.into();
        if plan.reverse {
            document["reverse"] = true.into();
        }
        document
    }

    fn add_flow(&mut self, carrier: Carrier) {
        let config = self.config();
        self.flows
            .push(Flow::new(self.flows.len(), carrier, config));
    }

    /// UDP: the next stream's first datagram.
    fn greet(&mut self, net: &mut Net) {
        let local = self.port();
        let remote = (self.plan.to, self.plan.port);
        self.phase = Phase::Greeting(self.flows.len());
        self.add_flow(Carrier::Udp { local, remote });
        let hello = net.datagram(local, remote, 0, &UDP_HELLO.to_le_bytes());
        net.send_urgently(hello);
    }

    fn on_state(&mut self, now_ns: u64, net: &mut Net, said: i8) {
        let Some(control) = &self.control else { return };
        match said {
            state::PARAM_EXCHANGE => control.tell(net, &self.parameters()),
            state::CREATE_STREAMS if self.plan.udp => self.greet(net),
            state::CREATE_STREAMS => {
                for _ in 0..self.plan.parallel {
                    let handle = self.connect(now_ns, net);
                    self.add_flow(Carrier::Tcp(handle));
                }
            }
            state::TEST_START => {}
            state::TEST_RUNNING => {
                self.phase = Phase::Running;
                self.end_ns = now_ns + self.plan.duration_ns;
                for flow in &mut self.flows {
                    flow.begin(now_ns, net);
                }
            }
            state::EXCHANGE_RESULTS => {
                let sends_tcp = !self.plan.reverse && !self.plan.udp;
                control.tell(net, &results(&self.flows, sends_tcp, net));
            }
            state::DISPLAY_RESULTS => {
                control.say(net, state::IPERF_DONE);
                control.close(net);
                self.phase = Phase::Over;
            }
            state::ACCESS_DENIED => self.fail("the server is busy", now_ns, net),
            state::SERVER_ERROR | state::SERVER_TERMINATE => {
                self.fail("the server cannot", now_ns, net);
            }
            other => self.fail(&format!("the server said {other}"), now_ns, net),
        }
    }

    fn fail(&mut self, why: &str, now_ns: u64, net: &mut Net) {
        self.error = Some(why.into());
        self.phase = Phase::Over;
        for flow in &mut self.flows {
            flow.end(now_ns, net);
        }
        if let Some(control) = &self.control {
            control.close(net);
        }
    }

    /// Handles the server's messages.
    fn listen(&mut self, now_ns: u64, net: &mut Net) {
        while self.phase != Phase::Over {
            let Some(control) = &mut self.control else {
                return;
            };
            let gone = control.fill(net);
            // The server's results come between two states.
            if self.results_asked && self.peer.is_null() {
                let Some(control) = &mut self.control else {
                    return;
                };
                match control.json() {
                    Some(Ok(document)) => self.peer = document,
                    Some(Err(why)) => return self.fail(&why, now_ns, net),
                    None if gone => return self.fail("the server went away", now_ns, net),
                    None => return,
                }
                continue;
            }
            let Some(control) = &mut self.control else {
                return;
            };
            match control.state() {
                Some(said) => {
                    if said == state::EXCHANGE_RESULTS {
                        self.results_asked = true;
                    }
                    self.on_state(now_ns, net, said);
                }
                None if gone => return self.fail("the server went away", now_ns, net),
                None => return,
            }
        }
    }
}

impl App for Client {
    fn step(&mut self, now_ns: u64, net: &mut Net) {
        if self.phase == Phase::Connecting {
            self.knock(now_ns, net);
        }
        for flow in &mut self.flows {
            flow.move_bytes(now_ns, net);
        }
        if self.phase == Phase::Running && self.end_ns <= now_ns {
            for flow in &mut self.flows {
                flow.end(now_ns, net);
            }
            if let Some(control) = &self.control {
                control.say(net, state::TEST_END);
            }
            self.phase = Phase::Ending;
        }
        if !matches!(self.phase, Phase::Connecting | Phase::Over) {
            self.listen(now_ns, net);
        }
    }

    fn take(&mut self, now_ns: u64, _: u64, message: &Message, net: &mut Net) -> bool {
        let Message::Datagram {
            to, dscp, payload, ..
        } = message
        else {
            return false;
        };
        let ours =
            |flow: &Flow| matches!(flow.carrier(), Carrier::Udp { local, .. } if local == to);
        let Some(place) = self.flows.iter().position(ours) else {
            return false;
        };
        if self.phase == Phase::Greeting(place) {
            if self.flows.len() < self.plan.parallel {
                self.greet(net);
            } else {
                self.phase = Phase::Negotiating;
            }
        } else {
            self.flows[place].received(now_ns, *dscp, payload);
        }
        true
    }

    fn transmit(&mut self, now_ns: u64, net: &mut Net) -> Option<Vec<u8>> {
        self.flows
            .iter_mut()
            .find_map(|flow| flow.datagram(now_ns, net))
    }

    fn next_ns(&self) -> Option<u64> {
        match self.phase {
            Phase::Connecting if self.control.is_none() => Some(self.try_at_ns),
            Phase::Running => {
                let flows = self.flows.iter().filter_map(Flow::next_ns);
                flows.chain([self.end_ns]).min()
            }
            _ => None,
        }
    }

    fn report(&self, now_ns: u64, net: &Net) -> Value {
        let flows: Vec<Value> = self
            .flows
            .iter()
            .map(|flow| flow.report(now_ns, net))
            .collect();
        json!({"kind": "iperf3_client", "tests": [{
            "done": self.phase == Phase::Over && self.error.is_none(),
            "error": self.error,
            "udp": self.plan.udp,
            "streams": flows,
            "peer": self.peer,
        }]})
    }
}
