// SPDX-License-Identifier: GPL-2.0-or-later
//! Window, warm-up, drain, counts and series.

use irqlab_tester::loopback::Fault;
use serde_json::json;

use crate::laboratory::{Laboratory, stream, trial, with};

#[test]
fn instructions_and_idle_time_are_those_of_the_window() {
    let mut lab = Laboratory::new();
    lab.router.instructions_per_us = 100; // of 250 possible: 60 % idle
    let result = lab
        .run(&with(trial(&[]), json!({"warmup_ns": 3_000_000})))
        .0;
    assert_eq!(result["begin_ns"], 3_001_000);
    assert_eq!(result["window_ns"], 10_000_000);
    assert_eq!(result["instructions"], 1_000_000);
    assert_eq!(result["idle_ns"], 6_000_000);
    assert_eq!(result["streams"], json!([]));
    assert!(result.get("memory").is_none());
}

#[test]
fn a_processor_that_waits_for_memory_does_not_idle() {
    let mut lab = Laboratory::new();
    lab.router.instructions_per_us = 100;
    lab.router.stall_ps_per_us = Some(250_000); // 40 % busy, 25 % stalled
    let result = lab
        .run(&with(trial(&[]), json!({"warmup_ns": 3_000_000})))
        .0;
    assert_eq!(result["instructions"], 1_000_000);
    assert_eq!(result["idle_ns"], 3_500_000);
    assert_eq!(result["memory"]["stall_ps"], 2_500_000_000_u64);
    assert_eq!(result["memory"]["caches"], json!([]));
}

#[test]
fn warm_up_is_sent_but_not_counted() {
    let mut lab = Laboratory::new();
    lab.router.delay_ns = 1_000_000;
    let result = lab.run(&with(
        trial(&[stream(10_000.0)]),
        json!({"warmup_ns": 3_000_000}),
    ));
    result.nothing_but(&[]);
    assert_eq!(
        (
            result.stream(0, "intended"),
            result.stream(0, "sent"),
            result.stream(0, "received")
        ),
        (100, 100, 100)
    );
    assert_eq!(
        (result.port(0, "sent"), result.port(1, "received")),
        (130, 130)
    );
    // The window sees the last 10 of the warm-up, and not the last 10 of its own.
    assert_eq!(result.stream(0, "received_in_window"), 100);
    assert_eq!(result.0["streams"][0]["latency"]["count"], 100);
}

#[test]
fn losses_in_the_warm_up_do_not_count() {
    let mut lab = Laboratory::new();
    lab.router.faults.extend([
        (0, Fault::Drop),
        (1, Fault::Refuse),
        (2, Fault::Duplicate),
        (3, Fault::Hold(150_000)),
        (4, Fault::Flip(58)),
    ]);
    let result = lab.run(&with(
        trial(&[stream(10_000.0)]),
        json!({"warmup_ns": 3_000_000}),
    ));
    result.nothing_but(&["1.corrupted", "0.refused"]);
    assert_eq!(
        (result.port(1, "corrupted"), result.port(0, "refused")),
        (1, 1)
    );
}

#[test]
fn the_window_is_the_same_whatever_the_warm_up() {
    let stream = with(
        stream(20_000.0),
        json!({"arrivals": {"kind": "poisson", "rate_pps": 20_000.0},
            "size": {"kind": "imix", "mix": [[64, 7], [594, 4], [1518, 1]]}}),
    );
    // Offsets and sizes of warm-up and window.
    let departures = |warmup_ns: u64| {
        let mut lab = Laboratory::at(1_000_000_000);
        lab.run(&with(
            trial(std::slice::from_ref(&stream)),
            json!({"warmup_ns": warmup_ns}),
        ));
        let part = |flags: u8, begin_ns: u64| {
            let mine = lab
                .router
                .deliveries
                .iter()
                .filter(|d| d.frame[49] == flags);
            mine.map(|d| (d.at_ns - begin_ns, d.frame.len()))
                .collect::<Vec<_>>()
        };
        (part(1, 1_000), part(0, 1_000 + warmup_ns))
    };
    let (nothing, window) = departures(0);
    assert!(nothing.is_empty() && window.len() > 150);
    assert_eq!(departures(7_654_321).1, window);
    let (warmup, same_window) = departures(10_000_000);
    assert_eq!(same_window, window);
    let sizes = |part: &[(u64, usize)]| {
        part[..50]
            .iter()
            .map(|(_, bytes)| *bytes)
            .collect::<Vec<_>>()
    };
    assert_ne!(warmup[..5], window[..5], "the warm-up is not a rehearsal");
    assert_ne!(sizes(&warmup), sizes(&window));
}

#[test]
fn begin_end_count_and_phase() {
    let streams = [
        with(stream(10_000.0), json!({"begin_ns": 5_000_000})),
        with(
            stream(10_000.0),
            json!({"end_ns": 5_000_000, "phase_ns": 20_000}),
        ),
        with(stream(10_000.0), json!({"count": 7, "phase_ns": 40_000})),
        with(
            stream(10_000.0),
            json!({"begin_ns": 2_000_000, "end_ns": 2_300_001, "phase_ns": 60_000}),
        ),
        with(stream(10_000.0), json!({"phase_ns": 10_000_000})),
    ];
    let mut lab = Laboratory::new();
    let result = lab.run(&with(trial(&streams), json!({"warmup_ns": 1_000_000})));
    for (index, wanted) in [50, 50, 7, 3, 0].into_iter().enumerate() {
        for name in ["intended", "sent", "received"] {
            assert_eq!(result.stream(index, name), wanted, "stream {index}, {name}");
        }
    }
    // Warm-up frames only of those that begin at 0: 10 each, of the last one none (its first would be in the window).
    assert_eq!(result.port(0, "sent"), 110 + 20);
    let firsts = |stream: u8, flags: u8| {
        let frame = lab
            .router
            .deliveries
            .iter()
            .find(|d| d.frame[48] == stream && d.frame[49] == flags);
        frame.map(|d| d.at_ns)
    };
    let begin_ns = 1_001_000;
    assert_eq!(firsts(0, 0), Some(begin_ns + 5_000_000));
    assert_eq!(firsts(0, 1), None);
    assert_eq!(firsts(1, 0), Some(begin_ns + 20_000));
    assert_eq!(firsts(1, 1), Some(1_000 + 20_000));
    assert_eq!(firsts(3, 0), Some(begin_ns + 2_060_000));
}

#[test]
fn a_frame_at_the_windows_end_is_not_sent() {
    let mut lab = Laboratory::at(0);
    let result = lab.run(&trial(&[
        with(stream(1_000.0), json!({"phase_ns": 9_999_999})),
        stream(100.0),
    ]));
    assert_eq!((result.stream(0, "sent"), result.stream(1, "sent")), (1, 1));
    let result = lab.run(&trial(&[with(
        stream(1_000.0),
        json!({"phase_ns": 10_000_000}),
    )]));
    assert_eq!(
        (result.stream(0, "intended"), result.stream(0, "sent")),
        (0, 0)
    );
}

#[test]
fn arrivals_count_up_to_the_end_of_the_drain() {
    let mut lab = Laboratory::new();
    lab.router.delay_ns = 5_100_000 - 1; // the last frame departs at 9.9 ms; the drain ends at 15 ms
    let result = lab.run(&trial(&[stream(10_000.0)]));
    assert_eq!(
        (result.stream(0, "received"), result.stream(0, "lost")),
        (100, 0)
    );
    assert_eq!(result.stream(0, "received_in_window"), 50); // the 50th in the window's last ns
    assert_eq!(result.stream(0, "late"), 41); // from the 60th on: after 10.9 ms
    lab.router.delay_ns += 1;
    let result = lab.run(&with(trial(&[stream(10_000.0)]), json!({"id": 9})));
    assert_eq!(
        (result.stream(0, "received"), result.stream(0, "lost")),
        (99, 1)
    );
    assert_eq!(result.stream(0, "received_in_window"), 49);
}

#[test]
fn series() {
    let mut lab = Laboratory::new();
    lab.router.delay_ns = 2_000_000;
    lab.router
        .faults
        .extend([(15, Fault::Drop), (16, Fault::Drop), (99, Fault::Duplicate)]);
    let result = lab
        .run(&with(
            trial(&[stream(10_000.0)]),
            json!({"bucket_ns": 1_500_000}),
        ))
        .0;
    let wanted = [
        [15, 15],
        [15, 13],
        [15, 15],
        [15, 15],
        [15, 15],
        [15, 15],
        [10, 10],
    ];
    assert_eq!(result["streams"][0]["series"], json!(wanted));
}

#[test]
fn both_directions_and_many_streams() {
    let back = |index: usize| {
        with(
            stream(1_000.0),
            json!({"from": 1, "to": 0, "src_ip": "198.19.0.2", "dst_ip": "198.18.0.2", "phase_ns": index * 1_000}),
        )
    };
    let mut streams = vec![stream(10_000.0)];
    streams.extend((1..256).map(back));
    let mut lab = Laboratory::at(1_000_000_000);
    let result = lab.run(&trial(&streams));
    assert_eq!(result.stream(0, "received"), 100);
    for index in 1..256 {
        assert_eq!(result.stream(index, "received"), 10, "stream {index}");
        assert_eq!(result.0["streams"][index]["from"], 1);
    }
    assert_eq!(
        (
            result.port(1, "sent"),
            result.port(0, "received"),
            result.port(0, "stray")
        ),
        (2550, 2550, 0)
    );
}

/// An echo comes back to the port it left from.
#[test]
fn echo() {
    let mut lab = Laboratory::new();
    let faults = (0..100).map(|number| (number, Fault::Misdeliver(0)));
    lab.router.faults.extend(faults);
    let result = lab.run(&trial(&[with(stream(10_000.0), json!({"to": 0}))]));
    result.nothing_but(&[]);
    assert_eq!(result.stream(0, "received"), 100);
}

#[test]
fn the_same_trial_gives_the_same_result() {
    let stream = with(
        stream(50_000.0),
        json!({"arrivals": {"kind": "poisson", "rate_pps": 50_000.0}}),
    );
    let run = |seed: u64| {
        let trial = with(
            trial(std::slice::from_ref(&stream)),
            json!({"seed": seed, "histogram": true}),
        );
        Laboratory::new().run(&trial).0
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    assert!(
        run(1)["streams"][0]["latency"]["histogram"]
            .as_str()
            .unwrap()
            .len()
            > 20
    );
}

#[test]
fn trials_follow_each_other() {
    let mut lab = Laboratory::new();
    for id in 0..5 {
        let result = lab.run(&with(trial(&[stream(10_000.0)]), json!({"id": id})));
        result.nothing_but(&[]);
        assert_eq!(result.0["id"], id);
        assert_eq!(
            result.0["begin_ns"],
            1_000 + u64::try_from(id).unwrap() * 15_001_000
        );
        assert_eq!(result.stream(0, "received"), 100);
    }
}

#[test]
fn latencies_of_all_frames() {
    let mut lab = Laboratory::new();
    let streams = [
        with(stream(10_000.0), json!({"count": 4, "each": true})),
        with(stream(10_000.0), json!({"count": 2, "phase_ns": 500})),
    ];
    lab.router.faults = [
        (2, Fault::Drop),
        (4, Fault::Hold(150_000)),
        (5, Fault::Duplicate),
    ]
    .into();
    let result = lab.run(&trial(&streams)).0;
    assert_eq!(result["streams"][0]["repeats"], json!([[3, 10_000]]));
    assert!(result["streams"][1].get("repeats").is_none());
    assert_eq!(
        result["streams"][0]["latencies_ns"],
        json!([10_000, null, 160_000, 10_000])
    );
    assert_eq!(result["streams"][0]["pcs"], json!([0, 0, 0, 0]));
    assert!(result["streams"][1].get("latencies_ns").is_none());
    assert!(result["streams"][1].get("pcs").is_none());
}

#[test]
fn halts_are_those_of_the_window() {
    let mut lab = Laboratory::new();
    lab.router.halts = vec![[0, 2_000], [3_000, 5_000], [10_000_500, 10_002_000]];
    let result = lab.run(&with(trial(&[]), json!({"halts": true}))).0;
    assert_eq!(
        result["halts"],
        json!([[0, 1_000], [2_000, 4_000], [9_999_500, 10_000_000]])
    );
    let mut lab = Laboratory::new();
    assert!(lab.run(&trial(&[])).0.get("halts").is_none());
}
