// SPDX-License-Identifier: GPL-2.0-or-later
//! Every limit is allowed, and nothing beyond it.
use serde_json::{Value, json};

use super::*;

const DAY_NS: u64 = MAX_TRIAL_NS;

fn stream() -> Value {
    json!({"from": 0, "to": 1, "dst_mac": "52:54:00:00:00:00", "src_ip": "198.18.0.2", "dst_ip": "198.19.0.2",
        "arrivals": {"kind": "constant", "rate_pps": 1.0}, "size": {"kind": "fixed", "frame_bytes": 64}})
}

fn trial(streams: &[Value]) -> Value {
    json!({"id": 1, "seed": 1, "warmup_ns": 0, "duration_ns": 1_000_000, "drain_ns": 0, "late_ns": 0, "bucket_ns": 0,
        "histogram": false, "streams": streams})
}

fn with(mut value: Value, fields: Value) -> Value {
    let (Some(value_), Value::Object(fields)) = (value.as_object_mut(), fields) else {
        panic!("objects")
    };
    value_.extend(fields);
    value
}

/// Whether a tester of two ports allows it.
fn allowed(trial: Value) -> bool {
    let plan: TrialPlan = serde_json::from_value(trial).unwrap_or_else(|why| panic!("{why}"));
    plan.check(2).is_ok()
}

fn allowed_trial(fields: Value) -> bool {
    allowed(with(trial(&[stream()]), fields))
}

fn allowed_stream(fields: Value) -> bool {
    allowed(trial(&[with(stream(), fields)]))
}

#[test]
fn a_trial_lasts_a_nanosecond_to_a_day() {
    assert!(!allowed_trial(json!({"duration_ns": 0})));
    assert!(allowed_trial(json!({"duration_ns": 1})));
    let whole = json!({"warmup_ns": 1, "duration_ns": DAY_NS - 3, "drain_ns": 2});
    assert!(allowed_trial(whole.clone()));
    for more in [
        json!({"warmup_ns": 2}),
        json!({"drain_ns": 3}),
        json!({"duration_ns": u64::MAX}),
    ] {
        assert!(!allowed_trial(with(whole.clone(), more)));
    }
}

#[test]
fn a_trial_has_so_many_buckets_counters_and_streams() {
    let second = json!({"duration_ns": 1_000_000_000});
    assert!(allowed_trial(with(
        second.clone(),
        json!({"bucket_ns": 10_000})
    )));
    assert!(!allowed_trial(with(second, json!({"bucket_ns": 9_999}))));
    assert!(allowed_trial(json!({"watch": vec![0; MAX_WATCHED]})));
    assert!(!allowed_trial(json!({"watch": vec![0; MAX_WATCHED + 1]})));
    assert!(allowed(trial(&vec![stream(); MAX_STREAMS])));
    assert!(!allowed(trial(&vec![stream(); MAX_STREAMS + 1])));
}

#[test]
fn a_stream_lies_in_the_window() {
    for (begin_ns, end_ns, well) in [
        (0, 1_000_000, true),
        (0, 1_000_001, false),
        (999_999, 1_000_000, true),
        (1_000_000, 1_000_000, false),
        (500, 501, true),
        (500, 500, false),
        (500, 499, false),
    ] {
        let fields = json!({"begin_ns": begin_ns, "end_ns": end_ns});
        assert_eq!(allowed_stream(fields), well, "{begin_ns} to {end_ns}");
    }
    assert!(allowed_stream(json!({"phase_ns": DAY_NS})));
    assert!(!allowed_stream(json!({"phase_ns": DAY_NS + 1})));
    assert!(allowed_stream(json!({"ttl": 1})) && !allowed_stream(json!({"ttl": 0})));
}

#[test]
fn arrivals_and_bursts_have_limits() {
    let bursts = |rate_pps: f64, on_ns: u64, off_ns: u64| {
        allowed_stream(json!({"arrivals":
            {"kind": "bursts", "rate_pps": rate_pps, "on_ns": on_ns, "off_ns": off_ns}}))
    };
    assert!(bursts(1.0, 1, 0) && !bursts(1.0, 0, 1));
    assert!(bursts(1.0, DAY_NS, DAY_NS));
    assert!(!bursts(1.0, DAY_NS + 1, 1) && !bursts(1.0, 1, DAY_NS + 1));
    assert!(bursts(0.001, 1, 1) && !bursts(0.000_9, 1, 1));
    assert!(bursts(MAX_RATE_PPS, 1, 1) && !bursts(MAX_RATE_PPS + 1.0, 1, 1));
}

#[test]
fn sequence_numbers_have_32_bits() {
    // At a constant rate of a frame a ns/10, 2^32 - 1 frames take 42.9 s.
    let of = |duration_ns: u64, kind: &str| {
        let arrivals = json!({"kind": kind, "rate_pps": MAX_RATE_PPS});
        let plan = trial(&[with(stream(), json!({"arrivals": arrivals}))]);
        allowed(with(plan, json!({"duration_ns": duration_ns})))
    };
    let most = u64::from(u32::MAX);
    assert!(of(most * 10, "poisson") && !of(most * 10 + 10, "poisson"));
    assert!(of(most * 10 - 10, "constant") && !of(most * 10 + 20, "constant"));
    // So they have in the warm-up, for streams that take part in it.
    let arrivals = json!({"kind": "poisson", "rate_pps": MAX_RATE_PPS});
    for (begin_ns, well) in [(0, false), (1, true)] {
        let one = with(
            stream(),
            json!({"arrivals": arrivals, "begin_ns": begin_ns}),
        );
        let long = json!({"warmup_ns": most * 10 + 10});
        assert_eq!(allowed(with(trial(&[one]), long)), well);
    }
}

#[test]
fn a_recording_has_distances_and_sizes() {
    let gaps =
        |gaps: Vec<u64>| allowed_stream(json!({"arrivals": {"kind": "recorded", "gaps_ns": gaps}}));
    assert!(gaps(vec![10; MAX_RECORDED]) && !gaps(vec![10; MAX_RECORDED + 1]));
    assert!(!gaps(vec![]) && !gaps(vec![0, 0]) && gaps(vec![0, 20]) && !gaps(vec![0, 19]));
    assert!(gaps(vec![DAY_NS]) && !gaps(vec![DAY_NS, 1]));
    let sizes = |sizes: Vec<u64>| {
        allowed_stream(json!({"size": {"kind": "recorded", "frame_bytes": sizes}}))
    };
    assert!(sizes(vec![64; MAX_RECORDED]) && !sizes(vec![64; MAX_RECORDED + 1]));
    assert!(!sizes(vec![]) && sizes(vec![64, 1_518]) && !sizes(vec![63]) && !sizes(vec![1_519]));
}

#[test]
fn recorded_sizes_come_in_their_order() {
    let plan = SizePlan::Recorded {
        frame_bytes: vec![594, 64, 594, 1_518],
    };
    let mut sizes = plan.generator(1, 0, 0);
    let bytes = plan.frame_bytes();
    let found: Vec<usize> = (0..6).map(|_| bytes[sizes.next_index()]).collect();
    assert_eq!(found, [594, 64, 594, 1_518, 594, 64]);
}

#[test]
fn a_mix_has_sizes_and_weights() {
    let mix = |mix: Vec<(u64, u32)>| allowed_stream(json!({"size": {"kind": "imix", "mix": mix}}));
    assert!(mix(vec![(64, 1); MAX_MIX]));
    assert!(!mix(vec![(64, 1); MAX_MIX + 1]));
    assert!(!mix(vec![]) && !mix(vec![(64, 0), (128, 0)]) && mix(vec![(64, 0), (128, 1)]));
    assert!(mix(vec![
        (MIN_FRAME_BYTES as u64, 1),
        (MAX_FRAME_BYTES as u64, 1)
    ]));
    assert!(
        !mix(vec![(MIN_FRAME_BYTES as u64 - 1, 1)]) && !mix(vec![(MAX_FRAME_BYTES as u64 + 1, 1)])
    );
}

#[test]
fn ports_are_numbered_from_0() {
    assert!(check_port("to", 1, 2).is_ok());
    assert!(check_port("to", 2, 2).is_err_and(|why| why.ends_with("ports 0 to 1")));
    assert!(check_port("to", 0, 0).is_err_and(|why| why.ends_with("no ports")));
}
