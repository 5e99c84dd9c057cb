// SPDX-License-Identifier: GPL-2.0-or-later
//! The hosts' applications: our iperf3 client against our server, over a wire that may lose frames, without QEMU.

use std::collections::BTreeMap;

use irqlab_tester::backend::{Backend, Outcome};
use irqlab_tester::rng::mix;
use irqlab_tester::tester::{Answer, Tester};
use serde_json::{Value, json};

const MACS: [&str; 2] = ["52:54:00:00:01:01", "52:54:00:00:01:02"];
const IPS: [&str; 2] = ["198.18.0.2", "198.18.0.3"];
const SECOND: u64 = 1_000_000_000;
const TCP: u8 = 6;
/// Ethernet's, IPv4's and TCP's, the latter with its longest options here.
const HEADERS: usize = 14 + 20 + 20 + 40;
const IDENT: usize = 14 + 4;
const TCP_FLAGS: usize = 14 + 20 + 13;
const PSH: u8 = 0x08;

/// A cable between the two ports: what departs from one comes in at the other after `delay_ns`.
struct Cable {
    now_ns: u64,
    order: u64,
    sent: u64,
    /// Segments with payload, and those of them that say PSH.
    segments: [u64; 2],
    /// Their identifications.
    idents: Vec<u16>,
    delay_ns: u64,
    loss_ppm: u64,
    /// Nothing is lost before.
    lossy_from_ns: u64,
    under_way: BTreeMap<(u64, u64), (usize, Vec<u8>)>,
}

impl Backend for Cable {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }
    fn instructions(&self) -> u64 {
        0
    }
    fn send(&mut self, port: usize, frame: &[u8]) -> Outcome {
        self.sent += 1;
        if frame[23] == TCP && frame.len() > HEADERS {
            self.segments[0] += 1;
            self.segments[1] += u64::from(frame[TCP_FLAGS] & PSH != 0);
            self.idents
                .push(u16::from_be_bytes([frame[IDENT], frame[IDENT + 1]]));
        }
        let lossy = self.now_ns >= self.lossy_from_ns;
        if !lossy || mix(self.sent) % 1_000_000 >= self.loss_ppm {
            let key = (self.now_ns + self.delay_ns, self.order);
            self.order += 1;
            self.under_way.insert(key, (1 - port, frame.to_vec()));
        }
        Outcome::Sent
    }
}

struct Pair {
    tester: Tester,
    cable: Cable,
}

impl Pair {
    fn new(wire_bps: u64, loss_ppm: u64) -> Self {
        let cable = Cable {
            now_ns: 0,
            order: 0,
            sent: 0,
            segments: [0; 2],
            idents: vec![],
            delay_ns: 100_000,
            loss_ppm,
            lossy_from_ns: 0,
            under_way: BTreeMap::new(),
        };
        let mut pair = Pair {
            tester: Tester::new(2, 4),
            cable,
        };
        let hosts: Vec<Value> = (0..2)
            .map(|p| json!({"mac": MACS[p], "ip": IPS[p], "prefix": 24, "wire_bps": wire_bps}))
            .collect();
        pair.say(json!({"op": "ports", "ports": hosts})).unwrap();
        pair
    }

    fn say(&mut self, command: Value) -> Result<Value, String> {
        let Answer::Reply(reply) = self.tester.command(&command.to_string(), &mut self.cable)
        else {
            panic!("{command}");
        };
        let mut reply: Value = serde_json::from_str(&reply).unwrap();
        match reply["error"].as_str() {
            Some(why) => Err(why.into()),
            None => Ok(reply["ok"].take()),
        }
    }

    fn run(&mut self, until_ns: u64) {
        let mut rounds = 0_u64;
        loop {
            let arrival = self.cable.under_way.keys().next().map(|key| key.0);
            let next = arrival.into_iter().chain(self.tester.deadline_ns()).min();
            let Some(next_ns) = next.filter(|next_ns| *next_ns <= until_ns) else {
                break;
            };
            rounds += 1;
            assert!(rounds < 3_000_000, "the tester does not come to rest");
            self.cable.now_ns = self.cable.now_ns.max(next_ns);
            while let Some(entry) = self.cable.under_way.first_entry() {
                if entry.key().0 > self.cable.now_ns {
                    break;
                }
                let (port, frame) = entry.remove();
                self.tester.receive(port, self.cable.now_ns, &frame);
            }
            self.tester.advance(&mut self.cable);
        }
        self.cable.now_ns = until_ns;
    }

    /// One test of the client's at port 0 with the server at port 1; both reports.
    fn test(&mut self, more: Value) -> (Value, Value) {
        let mut client = json!({
            "kind": "iperf3_client", "to": IPS[1], "to_mac": MACS[1], "duration_ns": SECOND,
        });
        let fields = more.as_object().unwrap().clone();
        client.as_object_mut().unwrap().extend(fields);
        let server = json!({"kind": "iperf3_server", "bucket_ns": 100_000_000});
        self.say(json!({"op": "apps", "port": 1, "apps": [server]}))
            .unwrap();
        self.say(json!({"op": "apps", "port": 0, "apps": [client]}))
            .unwrap();
        self.run(4 * SECOND);
        let mut report = |port| {
            let whole = self
                .say(json!({"op": "app_results", "port": port}))
                .unwrap();
            let test = whole["apps"][0]["tests"][0].clone();
            assert_eq!(
                (&test["done"], &test["error"]),
                (&json!(true), &Value::Null),
                "{whole}"
            );
            test
        };
        (report(0), report(1))
    }
}

fn mbps(stream: &Value) -> f64 {
    stream["bytes"].as_f64().unwrap() * 8e-6 / stream["seconds"].as_f64().unwrap()
}

#[test]
fn tcp_fills_a_clean_wire_in_both_directions() {
    // 1,460 of every 1,538 bytes: 94.93 Mbit/s; the other direction's acknowledgements take nothing away.
    for reverse in [false, true] {
        let (client, server) = Pair::new(100_000_000, 0).test(json!({"reverse": reverse}));
        let (sender, receiver) = if reverse {
            (server, client)
        } else {
            (client, server)
        };
        for stream in [&sender["streams"][0], &receiver["streams"][0]] {
            let mbps = mbps(stream);
            assert!((93.0..95.0).contains(&mbps), "{reverse}: {mbps}");
        }
        assert_eq!(sender["streams"][0]["retransmits"], 0, "{sender}");
        assert_eq!(receiver["streams"][0]["retransmits"], Value::Null);
    }
}

#[test]
fn segments_are_pushed_where_a_write_ends() {
    let mut pair = Pair::new(100_000_000, 0);
    let (client, _) = pair.test(json!({}));
    let blocks = client["streams"][0]["bytes"].as_u64().unwrap() >> 17;
    let [segments, pushed] = pair.cable.segments;
    assert!(segments > 8_000, "{segments}");
    // Iperf3's blocks of 128 KiB; and its few messages.
    assert!((blocks..blocks + 10).contains(&pushed), "{pushed} {blocks}");
}

#[test]
fn packets_of_a_connection_are_counted() {
    let mut pair = Pair::new(100_000_000, 0);
    pair.test(json!({}));
    let idents = &pair.cable.idents;
    let next = idents.windows(2).filter(|w| w[1] == w[0].wrapping_add(1));
    // The few messages between them are another connection's.
    assert!(next.count() > idents.len() - 20, "{}", idents.len());
}

#[test]
fn a_server_tells_the_client_what_it_counted_and_by_when() {
    let (client, server) = Pair::new(100_000_000, 0).test(json!({}));
    let (ours, theirs) = (&server["streams"][0], &client["peer"]["streams"][0]);
    assert_eq!(ours["bytes"], theirs["bytes"]);
    let series: Vec<u64> = ours["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_u64().unwrap())
        .collect();
    assert_eq!(series.iter().sum::<u64>(), ours["bytes"].as_u64().unwrap());
    assert!((10..=11).contains(&series.len()), "{series:?}");
}

#[test]
fn only_senders_over_tcp_tell_of_retransmissions() {
    for (plan, client_sends, server_sends) in [
        (json!({}), 1, -1),
        (json!({"reverse": true}), -1, 1),
        (json!({"udp": true, "rate_bps": 1_000_000}), -1, -1),
        (
            json!({"udp": true, "rate_bps": 1_000_000, "reverse": true}),
            -1,
            -1,
        ),
    ] {
        let mut plan = plan;
        plan["duration_ns"] = 50_000_000.into();
        let (client, server) = Pair::new(100_000_000, 0).test(plan);
        let told = |of: &Value| of["peer"]["sender_has_retransmits"].as_i64();
        assert_eq!(
            (told(&server), told(&client)),
            (Some(client_sends), Some(server_sends))
        );
    }
}

#[test]
fn parallel_streams_share_the_wire() {
    let (_, server) = Pair::new(100_000_000, 0).test(json!({"parallel": 4, "reverse": true}));
    let rates: Vec<f64> = server["streams"]
        .as_array()
        .unwrap()
        .iter()
        .map(mbps)
        .collect();
    assert_eq!(rates.len(), 4);
    assert!((93.0..95.0).contains(&rates.iter().sum()), "{rates:?}");
    assert!(
        rates.iter().all(|mbps| (22.0..26.0).contains(mbps)),
        "{rates:?}"
    );
}

#[test]
fn tcp_repairs_what_the_wire_loses() {
    for (loss_ppm, least_mbps) in [(1_000, 60.0), (10_000, 20.0)] {
        let mut pair = Pair::new(100_000_000, loss_ppm);
        let (client, server) = pair.test(json!({}));
        let (sent, got) = (&client["streams"][0], &server["streams"][0]);
        let segments = got["bytes"].as_f64().unwrap() / 1460.0;
        let again = sent["retransmits"].as_f64().unwrap();
        let lost = segments * loss_ppm as f64 / 1e6;
        assert!(
            again > 0.5 * lost && again < 2.0 * lost + 10.0,
            "{again} of {lost}: {sent}"
        );
        assert!(mbps(got) > least_mbps, "{loss_ppm}: {got}");
        assert!(mbps(got) < 94.93, "more than the wire carries: {got}");
    }
}

#[test]
fn the_same_again_is_the_same() {
    let run = || Pair::new(100_000_000, 5_000).test(json!({"parallel": 3}));
    assert_eq!(run(), run());
}

#[test]
fn udp_counts_what_is_lost() {
    for reverse in [false, true] {
        let mut pair = Pair::new(100_000_000, 0);
        let plan = json!({"udp": true, "rate_bps": 10_000_000, "datagram_bytes": 1000, "reverse": reverse});
        let (client, server) = pair.test(plan.clone());
        let (sender, receiver) = if reverse {
            (server, client)
        } else {
            (client, server)
        };
        let (sent, got) = (&sender["streams"][0], &receiver["streams"][0]);
        assert!(
            (1_249..=1_251).contains(&sent["datagrams"].as_u64().unwrap()),
            "{sent}"
        );
        assert_eq!((&got["lost"], &got["reordered"]), (&json!(0), &json!(0)));
        assert!(got["jitter_ns"].as_u64().unwrap() < 2_000, "{got}"); // time stamps are whole us

        let mut pair = Pair::new(100_000_000, 100_000);
        pair.cable.lossy_from_ns = SECOND / 2;
        let (client, server) = pair.test(plan);
        let (sender, receiver) = if reverse {
            (server, client)
        } else {
            (client, server)
        };
        let (sent, got) = (&sender["streams"][0], &receiver["streams"][0]);
        let (lost, bytes) = (
            got["lost"].as_u64().unwrap(),
            got["bytes"].as_u64().unwrap(),
        );
        assert!((40..90).contains(&lost), "a tenth of 625: {got}");
        assert_eq!(lost + bytes / 1000, got["datagrams"].as_u64().unwrap());
        let unseen = sent["datagrams"].as_u64().unwrap() - got["datagrams"].as_u64().unwrap();
        assert!(unseen < 3, "{sent} {got}"); // the very last ones are nobody's loss
    }
}

#[test]
fn udp_as_fast_as_the_wire() {
    let (_, server) = Pair::new(100_000_000, 0).test(json!({"udp": true, "datagram_bytes": 1472}));
    let mbps = mbps(&server["streams"][0]); // 1,472 of 1,538
    assert!((95.0..95.8).contains(&mbps), "{mbps}");
}

#[test]
fn a_rate_is_kept() {
    for reverse in [false, true] {
        let (_, server) =
            Pair::new(100_000_000, 0).test(json!({"rate_bps": 5_000_000, "reverse": reverse}));
        let mbps = mbps(&server["streams"][0]);
        assert!((4.8..5.05).contains(&mbps), "{reverse}: {mbps}");
    }
}

#[test]
fn nobody_at_the_port() {
    let mut pair = Pair::new(100_000_000, 0);
    let client =
        json!({"kind": "iperf3_client", "to": IPS[1], "to_mac": MACS[1], "duration_ns": SECOND});
    let other = json!({"kind": "iperf3_server", "port": 7});
    pair.say(json!({"op": "apps", "port": 1, "apps": [other]}))
        .unwrap();
    pair.say(json!({"op": "apps", "port": 0, "apps": [client]}))
        .unwrap();
    // It tries 50 times, every 100 ms.
    for (until_ns, error) in [
        (4_800_000_000, Value::Null),
        (20 * SECOND, json!("the server refuses")),
    ] {
        pair.run(until_ns);
        let report = pair.say(json!({"op": "app_results", "port": 0})).unwrap();
        assert_eq!(report["apps"][0]["tests"][0]["error"], error);
    }
}

#[test]
fn probes_find_nobody_who_sends_back() {
    let mut pair = Pair::new(100_000_000, 0);
    let ping = json!({"kind": "probe", "to": IPS[1], "to_mac": MACS[1], "interval_ns": 1_000_000,
        "duration_ns": 10_000_000});
    let mut udp = ping.clone();
    udp["udp_port"] = 7.into();
    pair.say(json!({"op": "apps", "port": 0, "apps": [ping, udp]}))
        .unwrap();
    pair.run(SECOND);
    let report = pair.say(json!({"op": "app_results", "port": 0})).unwrap();
    let probes = |app: usize| report["apps"][app]["probes"].as_array().unwrap().clone();
    assert_eq!((probes(0).len(), probes(1).len()), (10, 10));
    // The other host answers pings, and swallows the rest. 102 bytes take 9,760 ns each way, and each way 100 us.
    assert_eq!(probes(0)[5], json!([5_000_000, 200_000 + 3 * 9_760, 0]));
    assert!(probes(1).iter().all(|probe| probe[1].is_null()));
}

#[test]
fn wrong_applications_are_refused() {
    let mut pair = Pair::new(0, 0);
    let probe = |interval_ns: u64| {
        json!({"kind": "probe", "to": IPS[1], "to_mac": MACS[1],
        "interval_ns": interval_ns, "duration_ns": SECOND})
    };
    for (apps, why) in [
        (json!([probe(1)]), "apps[0]: interval_ns is 1"),
        (
            json!([{"kind": "iperf3_server", "bucket_ns": 7}]),
            "bucket_ns is 7",
        ),
        (
            json!([{"kind": "iperf3_client", "to": IPS[1], "to_mac": MACS[1], "duration_ns": 1, "udp": true}]),
            "rate_bps must be given",
        ),
        (
            json!([{"kind": "iperf3_server", "speed": 7}]),
            "unknown field",
        ),
    ] {
        let said = pair
            .say(json!({"op": "apps", "port": 0, "apps": apps}))
            .unwrap_err();
        assert!(said.contains(why), "{said}");
    }
    let said = pair
        .say(json!({"op": "app_results", "port": 0}))
        .unwrap_err();
    assert!(said.contains("no applications"), "{said}");
}
