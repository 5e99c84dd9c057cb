// SPDX-License-Identifier: GPL-2.0-or-later
//! Trials that cannot be done: the answer says what is wrong and what is allowed.

use serde_json::{Value, json};

use crate::laboratory::{Laboratory, stream, trial, with};
use crate::protocol::refuses;

fn refuses_trial(trial: Value, words: &[&str]) {
    let mut lab = Laboratory::new();
    refuses(
        &mut lab,
        &json!({"op": "start", "trial": trial}).to_string(),
        words,
    );
    assert_eq!(lab.tester.deadline_ns(), None, "nothing is armed");
}

fn refuses_stream(fields: Value, words: &[&str]) {
    refuses_trial(
        trial(&[stream(1_000.0), with(stream(1_000.0), fields)]),
        words,
    );
}

#[test]
fn trials() {
    refuses_trial(json!({}), &["missing field `id`"]);
    refuses_trial(json!(null), &["invalid type: null"]);
    refuses_trial(
        with(trial(&[]), json!({"ids": 1})),
        &["unknown field `ids`", "histogram"],
    );
    refuses_trial(with(trial(&[]), json!({"id": 65_536})), &["65536"]);
    refuses_trial(with(trial(&[]), json!({"seed": -1})), &["-1"]);
    refuses_trial(
        with(trial(&[]), json!({"duration_ns": 0})),
        &["duration_ns is 0"],
    );
    refuses_trial(with(trial(&[]), json!({"duration_ns": 1.5})), &["1.5"]);
    for field in ["warmup_ns", "duration_ns", "drain_ns"] {
        refuses_trial(
            with(trial(&[]), json!({field: u64::MAX})),
            &["a day", "86400000000000"],
        );
    }
    refuses_trial(
        with(trial(&[]), json!({"bucket_ns": 1})),
        &["bucket_ns is 1", "100000 buckets", "at least 100"],
    );
    refuses_trial(
        trial(&vec![stream(1.0); 257]),
        &["257 streams", "at most 256"],
    );
}

#[test]
fn streams() {
    refuses_stream(
        json!({"from": 2}),
        &["streams[1]", "from is 2", "ports 0 to 1"],
    );
    refuses_stream(json!({"to": 2}), &["streams[1]", "to is 2", "ports 0 to 1"]);
    refuses_stream(json!({"from": -1}), &["-1"]);
    refuses_stream(json!({"vlan": 1}), &["unknown field `vlan`", "phase_ns"]);
    refuses_stream(json!({"dst_mac": null}), &["invalid type: null"]);
    refuses_stream(json!({"dst_mac": "x"}), &["`x` is not an Ethernet address"]);
    refuses_stream(
        json!({"src_mac": "ff:ff:ff:ff:ff:ff"}),
        &["streams[1]", "src_mac", "station"],
    );
    refuses_stream(json!({"src_ip": "::1"}), &["invalid IPv4 address"]);
    refuses_stream(json!({"src_port": 65_536}), &["65536"]);
    refuses_stream(json!({"ttl": 0}), &["streams[1]", "ttl is 0", "1 to 255"]);
    refuses_stream(json!({"ttl": 256}), &["256"]);
    refuses_stream(
        json!({"begin_ns": 10_000_000}),
        &["streams[1]", "begin_ns is 10000000", "below 10000000"],
    );
    refuses_stream(
        json!({"end_ns": 10_000_001}),
        &["streams[1]", "end_ns is 10000001", "at most duration_ns"],
    );
    refuses_stream(
        json!({"end_ns": 0}),
        &["streams[1]", "end_ns is 0", "above begin_ns"],
    );
    refuses_stream(
        json!({"begin_ns": 500, "end_ns": 500}),
        &["end_ns is 500", "above begin_ns (500)"],
    );
    refuses_stream(
        json!({"phase_ns": u64::MAX}),
        &["streams[1]", "phase_ns", "at most"],
    );
    refuses_stream(json!({"count": -1}), &["-1"]);
}

#[test]
fn arrivals() {
    let wrong =
        |arrivals: Value, words: &[&str]| refuses_stream(json!({"arrivals": arrivals}), words);
    for kind in ["constant", "poisson"] {
        for rate in [0.0, -1.0, 0.000_4, 1e9, -1e300] {
            wrong(
                json!({"kind": kind, "rate_pps": rate}),
                &["streams[1]", "rate_pps is", "0.001 to 100000000"],
            );
        }
        wrong(json!({"kind": kind, "rate_pps": null}), &["null"]);
        wrong(json!({"kind": kind, "rate_pps": "NaN"}), &["NaN"]);
        wrong(json!({"kind": kind}), &["missing field `rate_pps`"]);
        wrong(
            json!({"kind": kind, "rate_pps": 1.0, "on_ns": 1}),
            &["unknown field `on_ns`"],
        );
    }
    wrong(
        json!({"kind": "fractal", "rate_pps": 1.0}),
        &["unknown variant `fractal`", "constant", "poisson", "bursts"],
    );
    wrong(json!({"rate_pps": 1.0}), &["missing field `kind`"]);
    wrong(
        json!({"kind": "bursts", "rate_pps": 1.0}),
        &["missing field `on_ns`"],
    );
    wrong(
        json!({"kind": "bursts", "rate_pps": 1.0, "on_ns": 0, "off_ns": 1}),
        &["on_ns is 0"],
    );
    wrong(
        json!({"kind": "bursts", "rate_pps": 0, "on_ns": 1, "off_ns": 1}),
        &["rate_pps is 0"],
    );
    wrong(
        json!({"kind": "bursts", "rate_pps": 1.0, "on_ns": 1, "off_ns": u64::MAX}),
        &["off_ns", "at most"],
    );
    let mut lab = Laboratory::new();
    let line = json!({"op": "start", "trial": trial(&[stream(1.5)])}).to_string();
    for number in ["1e999", "NaN", "Infinity", "-Infinity", "0x10", "1.", "--1"] {
        assert!(!lab.error(&line.replace("1.5", number)).is_empty());
    }
}

#[test]
fn sizes() {
    let wrong = |size: Value, words: &[&str]| refuses_stream(json!({"size": size}), words);
    for bytes in [0, 1, 63, 1519, 9_000, 4_294_967_360_u64] {
        wrong(
            json!({"kind": "fixed", "frame_bytes": bytes}),
            &["streams[1]", &bytes.to_string(), "64 to 1518"],
        );
        wrong(
            json!({"kind": "imix", "mix": [[64, 1], [bytes, 1]]}),
            &["streams[1]", &bytes.to_string(), "64 to 1518"],
        );
    }
    wrong(json!({"kind": "fixed", "frame_bytes": -64}), &["-64"]);
    wrong(json!({"kind": "fixed", "frame_bytes": 64.5}), &["64.5"]);
    wrong(
        json!({"kind": "fixed", "frame_bytes": 64, "mix": []}),
        &["unknown field `mix`"],
    );
    wrong(
        json!({"kind": "imix", "mix": []}),
        &["a mix of 0 sizes", "1 to 64"],
    );
    wrong(
        json!({"kind": "imix", "mix": vec![[64, 1]; 65]}),
        &["a mix of 65 sizes"],
    );
    wrong(
        json!({"kind": "imix", "mix": [[64, 0], [65, 0]]}),
        &["every weight"],
    );
    wrong(json!({"kind": "imix", "mix": [[64, -1]]}), &["-1"]);
    wrong(
        json!({"kind": "imix", "mix": [[64]]}),
        &["invalid length 1"],
    );
    wrong(
        json!({"kind": "imix", "mix": [[64, 1, 1]]}),
        &["invalid length 3"],
    );
    wrong(
        json!({"kind": "jumbo"}),
        &["unknown variant `jumbo`", "fixed", "imix"],
    );
}

#[test]
fn too_many_frames_for_the_sequence_number() {
    let day = |arrivals: Value, fields: Value| {
        let plan = with(stream(1.0), json!({"arrivals": arrivals}));
        let trial = with(
            with(trial(&[plan]), json!({"duration_ns": 60_000_000_000_u64})),
            fields,
        );
        refuses_trial(trial, &["streams[0]", "frames: at most 4294967295"]);
    };
    day(json!({"kind": "constant", "rate_pps": 1e8}), json!({}));
    day(json!({"kind": "poisson", "rate_pps": 1e8}), json!({}));
    day(
        json!({"kind": "bursts", "rate_pps": 1.0, "on_ns": 1, "off_ns": 0}),
        json!({}),
    );
    day(
        json!({"kind": "constant", "rate_pps": 1e8}),
        json!({"duration_ns": 1_000, "warmup_ns": 60_000_000_000_u64}),
    );
}
