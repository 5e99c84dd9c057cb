// SPDX-License-Identifier: GPL-2.0-or-later
//! A tester at a router, and a lab that sends it commands.

use irqlab_tester::loopback::Router;
use irqlab_tester::tester::{Answer, Tester};
use serde_json::{Value, json};

/// The router's Ethernet addresses.
pub const ROUTER_MACS: [&str; 2] = ["52:54:00:00:00:00", "52:54:00:00:00:01"];
/// The hosts' Ethernet addresses.
pub const HOST_MACS: [[u8; 6]; 2] = [[0x52, 0x54, 0, 0, 1, 0], [0x52, 0x54, 0, 0, 1, 1]];

pub struct Laboratory {
    pub tester: Tester,
    pub router: Router,
}

/// What was measured, by name.
pub struct Trial(pub Value);

impl Laboratory {
    /// Two ports without a line rate and without hosts.
    pub fn bare() -> Self {
        Laboratory {
            tester: Tester::new(2, 4),
            router: Router::new(2),
        }
    }

    /// Two ports with hosts, at this line rate.
    pub fn at(wire_bps: u64) -> Self {
        let mut lab = Self::bare();
        lab.ok(json!({"op": "ports", "ports": [
            {"mac": "52:54:00:00:01:00", "ip": "198.18.0.2", "prefix": 24, "wire_bps": wire_bps},
            {"mac": "52:54:00:00:01:01", "ip": "198.19.0.2", "prefix": 24, "wire_bps": wire_bps}]}));
        lab
    }

    /// Fast Ethernet.
    pub fn new() -> Self {
        Self::at(100_000_000)
    }

    pub fn say(&mut self, line: &str) -> Answer {
        self.tester.command(line, &mut self.router)
    }

    fn reply(&mut self, line: &str) -> Value {
        match self.say(line) {
            Answer::Reply(reply) => {
                assert!(!reply.contains('\n'));
                serde_json::from_str(&reply).unwrap()
            }
            other => panic!("{line}: {other:?}"),
        }
    }

    /// The value of a command that succeeds.
    pub fn ok(&mut self, command: Value) -> Value {
        let mut reply = self.reply(&command.to_string());
        assert!(reply.get("error").is_none(), "{command}: {reply}");
        reply["ok"].take()
    }

    /// The text of a line's error.
    pub fn error(&mut self, line: &str) -> String {
        self.refusal(line).0
    }

    /// The text and the kind of a line's error.
    pub fn refusal(&mut self, line: &str) -> (String, String) {
        let reply = self.reply(line);
        assert_eq!(reply.as_object().unwrap().len(), 2, "{reply}");
        match (reply["error"].as_str(), reply["kind"].as_str()) {
            (Some(text), Some(kind)) => (text.into(), kind.into()),
            _ => panic!("{line}: no error but {reply}"),
        }
    }

    /// Runs a trial to its end.
    pub fn run(&mut self, trial: &Value) -> Trial {
        let armed = self.ok(json!({"op": "start", "trial": trial}));
        self.router
            .run(&mut self.tester, armed["end_ns"].as_u64().unwrap());
        Trial(self.ok(json!({"op": "result"})))
    }
}

impl Trial {
    /// A count of the stream.
    pub fn stream(&self, index: usize, name: &str) -> u64 {
        self.0["streams"][index][name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name}: {}", self.0["streams"][index][name]))
    }

    /// A count of the port.
    pub fn port(&self, index: usize, name: &str) -> u64 {
        self.0["ports"][index][name].as_u64().unwrap()
    }

    /// Everything that should not happen to stream and port `to` of a one-stream trial, except for the named.
    pub fn nothing_but(&self, named: &[&str]) {
        for name in [
            "refused",
            "lost",
            "reordered",
            "duplicated",
            "corrupted",
            "late",
        ] {
            assert!(
                named.contains(&name) || self.stream(0, name) == 0,
                "{name}: {}",
                self.0
            );
        }
        for (port, name) in [0, 1]
            .into_iter()
            .flat_map(|p| ["stray", "host", "corrupted", "refused"].map(|n| (p, n)))
        {
            let key = format!("{port}.{name}");
            assert!(
                named.contains(&key.as_str()) || self.port(port, name) == 0,
                "{key}: {}",
                self.0
            );
        }
    }
}

/// A stream from port 0 to port 1, constant, of 64 bytes.
pub fn stream(rate_pps: f64) -> Value {
    json!({"from": 0, "to": 1, "dst_mac": ROUTER_MACS[0], "src_ip": "198.18.0.2", "dst_ip": "198.19.0.2",
        "arrivals": {"kind": "constant", "rate_pps": rate_pps},
        "size": {"kind": "fixed", "frame_bytes": 64}})
}

/// The value with some fields replaced.
pub fn with(mut value: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else {
        panic!()
    };
    value.as_object_mut().unwrap().extend(fields);
    value
}

/// A trial of 10 ms without a warm-up, drained for 5 ms.
pub fn trial(streams: &[Value]) -> Value {
    json!({"id": 7, "seed": 1, "warmup_ns": 0, "duration_ns": 10_000_000, "drain_ns": 5_000_000, "late_ns": 1_000_000,
        "bucket_ns": 0, "histogram": false, "streams": streams})
}
