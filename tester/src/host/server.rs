// SPDX-License-Identifier: GPL-2.0-or-later
//! iperf3's server: one test after the other, TCP or UDP, from the client or (-R) to it.

use std::net::Ipv4Addr;

use serde::Deserialize;
use serde_json::{Value, json};

use super::app::App;
use super::flow::{Carrier, Flow, StreamConfig};
use super::iperf::{
    COOKIE_BYTES, Control, MAX_DATAGRAM_BYTES, MAX_STREAMS, UDP_ANSWER, results, state,
};
use super::net::{Handle, Message, Net};
use super::plan::ServerPlan;

/// The test that a client asks for, as far as it matters here (iperf_api.c, send_parameters).
#[derive(Debug, Deserialize)]
#[serde(default)]
struct Parameters {
    udp: bool,
    sctp: bool,
    reverse: bool,
    bidirectional: bool,
    parallel: usize,
    omit: u64,
    len: usize,
    bandwidth: u64,
    udp_counters_64bit: u8,
    /// IPv4's TOS byte of the packets of both ends.
    #[serde(rename = "TOS")]
    tos: u8,
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters {
            udp: false,
            sctp: false,
            reverse: false,
            bidirectional: false,
            parallel: 1,
            omit: 0,
            len: MAX_DATAGRAM_BYTES,
            bandwidth: 0,
            udp_counters_64bit: 0,
            tos: 0,
        }
    }
}

impl Parameters {
    fn check(&self, bounded: bool) -> Result<(), String> {
        if self.udp && self.reverse && self.bandwidth == 0 && !bounded {
            return Err("UDP needs a rate if the line has none".into());
        }
        if self.sctp || self.bidirectional {
            return Err("SCTP and --bidir are not supported".into());
        }
        if !(1..=MAX_STREAMS).contains(&self.parallel) {
            return Err(format!("{} streams: 1 to {MAX_STREAMS}", self.parallel));
        }
        if self.tos & 3 != 0 {
            return Err(format!("TOS {}: ECN is not spoken here", self.tos));
        }
        if self.udp && !(16..=MAX_DATAGRAM_BYTES).contains(&self.len) {
            return Err(format!(
                "datagrams of {}: 16 to {MAX_DATAGRAM_BYTES}",
                self.len
            ));
        }
        Ok(())
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    Cookie,
    Parameters,
    Streams,
    Running,
    Results,
    Goodbye,
    Over,
}

struct Test {
    control: Control,
    cookie: Vec<u8>,
    phase: Phase,
    parameters: Parameters,
    flows: Vec<Flow>,
    omit_until_ns: Option<u64>,
    error: Option<String>,
    peer: Value,
}

/// The server.
pub struct Server {
    plan: ServerPlan,
    origin_ns: u64,
    test: Option<Test>,
    /// Connections that have not sent their cookie yet.
    guests: Vec<Control>,
    finished: Vec<Value>,
}

impl Server {
    /// Listens from now on.
    pub fn new(plan: &ServerPlan, net: &mut Net, now_ns: u64) -> Self {
        net.listen(plan.port, plan.window_bytes);
        Server {
            plan: plan.clone(),
            origin_ns: now_ns,
            test: None,
            guests: Vec::new(),
            finished: Vec::new(),
        }
    }

    fn config(&self, parameters: &Parameters) -> StreamConfig {
        StreamConfig {
            sends: parameters.reverse,
            rate_bps: parameters.bandwidth,
            datagram_bytes: parameters.len,
            dscp: parameters.tos >> 2,
            wide_numbers: parameters.udp_counters_64bit != 0,
            window_bytes: self.plan.window_bytes,
            bucket_ns: self.plan.bucket_ns,
            origin_ns: self.origin_ns,
        }
    }

    fn welcome(&mut self, handle: Handle) {
        let control = Control::new(handle);
        if self.test.is_some() {
            self.guests.push(control);
            return;
        }
        self.test = Some(Test {
            control,
            cookie: Vec::new(),
            phase: Phase::Cookie,
            parameters: Parameters::default(),
            flows: Vec::new(),
            omit_until_ns: None,
            error: None,
            peer: Value::Null,
        });
    }

    /// Streams of the running test send its cookie; others are told that the server is busy.
    fn admit(&mut self, net: &mut Net) {
        let Some(test) = &self.test else { return };
        let wanted = test.phase == Phase::Streams && !test.parameters.udp;
        let config = self.config(&test.parameters);
        let Some(test) = &mut self.test else { return };
        let mut waiting = Vec::new();
        for mut guest in self.guests.drain(..) {
            let gone = guest.fill(net);
            match guest.bytes(COOKIE_BYTES) {
                Some(cookie) if wanted && cookie == test.cookie => {
                    let carrier = Carrier::Tcp(guest.handle);
                    let flow = Flow::new(test.flows.len(), carrier, config);
                    flow.mark(net);
                    test.flows.push(flow);
                }
                Some(_) => {
                    guest.say(net, state::ACCESS_DENIED);
                    guest.close(net);
                }
                None if !gone => waiting.push(guest),
                None => {}
            }
        }
        self.guests = waiting;
    }
}

impl Test {
    /// Handles one message of the client; returns whether there may be more.
    fn proceed(&mut self, now_ns: u64, net: &mut Net) -> bool {
        let gone = self.control.fill(net);
        match self.phase {
            Phase::Cookie => {
                if let Some(cookie) = self.control.bytes(COOKIE_BYTES) {
                    self.cookie = cookie;
                    self.enter(Phase::Parameters, state::PARAM_EXCHANGE, net);
                    return true;
                }
            }
            Phase::Parameters => {
                if let Some(document) = self.control.json() {
                    let parsed = document.and_then(|value| {
                        serde_json::from_value::<Parameters>(value).map_err(|e| e.to_string())
                    });
                    let checked =
                        parsed.and_then(|found| found.check(net.is_bounded()).map(|()| found));
                    match checked {
                        Ok(parameters) => {
                            self.parameters = parameters;
                            self.enter(Phase::Streams, state::CREATE_STREAMS, net);
                        }
                        Err(why) => self.refuse(why, net),
                    }
                    return true;
                }
            }
            Phase::Streams => {
                if self.flows.len() == self.parameters.parallel {
                    self.control.say(net, state::TEST_START);
                    self.enter(Phase::Running, state::TEST_RUNNING, net);
                    for flow in &mut self.flows {
                        flow.begin(now_ns, net);
                    }
                    let omit_ns = self.parameters.omit * 1_000_000_000;
                    self.omit_until_ns = (omit_ns > 0).then_some(now_ns + omit_ns);
                    return true;
                }
            }
            Phase::Running => match self.control.state() {
                Some(state::TEST_END) => {
                    self.end_flows(now_ns, net);
                    self.enter(Phase::Results, state::EXCHANGE_RESULTS, net);
                    return true;
                }
                Some(other) => {
                    self.break_off(format!("the client said {other}"), now_ns, net);
                    return true;
                }
                None => {}
            },
            Phase::Results => {
                if let Some(document) = self.control.json() {
                    match document {
                        Ok(document) => self.peer = document,
                        Err(why) => self.error = Some(why),
                    }
                    let sends_tcp = self.parameters.reverse && !self.parameters.udp;
                    self.control
                        .tell(net, &results(&self.flows, sends_tcp, net));
                    self.enter(Phase::Goodbye, state::DISPLAY_RESULTS, net);
                    return true;
                }
            }
            Phase::Goodbye => {
                if self.control.state().is_some() {
                    self.control.close(net);
                    self.phase = Phase::Over;
                }
            }
            Phase::Over => return false,
        }
        if gone && self.phase != Phase::Over {
            self.break_off("the client went away".into(), now_ns, net);
        }
        false
    }

    fn enter(&mut self, phase: Phase, say: i8, net: &mut Net) {
        self.control.say(net, say);
        self.phase = phase;
    }

    /// Refuses a test: the state, iperf3's own error number (IESTREAMLISTEN) and errno (EPROTONOSUPPORT).
    fn refuse(&mut self, why: String, net: &mut Net) {
        self.control.say(net, state::SERVER_ERROR);
        let sender = &mut net.tcp(self.control.handle).sender;
        sender.write([202_u32, 93].into_iter().flat_map(u32::to_be_bytes));
        self.control.close(net);
        self.error = Some(why);
        self.phase = Phase::Over;
    }

    fn break_off(&mut self, why: String, now_ns: u64, net: &mut Net) {
        self.end_flows(now_ns, net);
        self.error = Some(why);
        self.control.close(net);
        self.phase = Phase::Over;
    }

    fn end_flows(&mut self, now_ns: u64, net: &mut Net) {
        for flow in &mut self.flows {
            flow.end(now_ns, net);
        }
    }

    fn report(&self, now_ns: u64, net: &Net) -> Value {
        let flows: Vec<Value> = self
            .flows
            .iter()
            .map(|flow| flow.report(now_ns, net))
            .collect();
        json!({
            "done": self.phase == Phase::Over && self.error.is_none(),
            "error": self.error,
            "udp": self.parameters.udp,
            "streams": flows,
            "peer": self.peer,
        })
    }
}

impl App for Server {
    fn step(&mut self, now_ns: u64, net: &mut Net) {
        for handle in net.accepted(self.plan.port) {
            self.welcome(handle);
        }
        self.admit(net);
        let Some(test) = &mut self.test else { return };
        for flow in &mut test.flows {
            flow.move_bytes(now_ns, net);
        }
        if test
            .omit_until_ns
            .is_some_and(|until_ns| until_ns <= now_ns)
        {
            test.omit_until_ns = None;
            for flow in &mut test.flows {
                flow.omit(now_ns, net);
            }
        }
        while test.proceed(now_ns, net) {}
        if test.phase == Phase::Over {
            self.finished.push(test.report(now_ns, net));
            self.test = None;
        }
    }

    fn take(&mut self, now_ns: u64, _: u64, message: &Message, net: &mut Net) -> bool {
        let Message::Datagram {
            from,
            to,
            dscp,
            payload,
        } = message
        else {
            return false;
        };
        if *to != self.plan.port {
            return false;
        }
        let Some(config) = self.test.as_ref().map(|test| self.config(&test.parameters)) else {
            return true;
        };
        let Some(test) = &mut self.test else {
            return true;
        };
        let remote: (Ipv4Addr, u16) = *from;
        let of = |flow: &&mut Flow| matches!(flow.carrier(), Carrier::Udp { remote: r, .. } if *r == remote);
        if let Some(flow) = test.flows.iter_mut().find(of) {
            flow.received(now_ns, *dscp, payload);
        } else if test.phase == Phase::Streams && test.parameters.udp {
            let carrier = Carrier::Udp { local: *to, remote };
            test.flows
                .push(Flow::new(test.flows.len(), carrier, config));
            let answer = net.datagram(*to, remote, config.dscp, &UDP_ANSWER.to_le_bytes());
            net.send_urgently(answer);
        }
        true
    }

    fn transmit(&mut self, now_ns: u64, net: &mut Net) -> Option<Vec<u8>> {
        let test = self.test.as_mut()?;
        if net.look(test.control.handle).sender.unsent() > 0 {
            return None; // the client ignores datagrams that arrive before it knows that the test runs
        }
        test.flows
            .iter_mut()
            .find_map(|flow| flow.datagram(now_ns, net))
    }

    fn next_ns(&self) -> Option<u64> {
        let test = self.test.as_ref()?;
        let flows = test.flows.iter().filter_map(Flow::next_ns);
        flows.chain(test.omit_until_ns).min()
    }

    fn report(&self, now_ns: u64, net: &Net) -> Value {
        let running = self.test.iter().map(|test| test.report(now_ns, net));
        let tests: Vec<Value> = self.finished.iter().cloned().chain(running).collect();
        json!({"kind": "iperf3_server", "tests": tests})
    }
}

#[cfg(test)]
mod tests;
