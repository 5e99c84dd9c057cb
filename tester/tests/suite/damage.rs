// SPDX-License-Identifier: GPL-2.0-or-later
//! Each kind of damage is counted exactly, and as nothing else.

use irqlab_tester::loopback::Fault;
use irqlab_tester::rng::mix;
use serde_json::json;

use crate::laboratory::{Laboratory, Trial, stream, trial, with};

/// 100 frames of `frame_bytes` at 10,000 frames/s (one per 100 us), with these faults.
fn run(frame_bytes: u64, faults: &[(u64, Fault)]) -> Trial {
    let mut lab = Laboratory::at(1_000_000_000);
    lab.router.faults.extend(faults.iter().copied());
    let stream = with(
        stream(10_000.0),
        json!({"size": {"kind": "fixed", "frame_bytes": frame_bytes}}),
    );
    let result = lab.run(&trial(&[stream]));
    assert_eq!(
        (result.stream(0, "intended"), result.stream(0, "sent")),
        (100, 100)
    );
    assert_eq!(result.stream(0, "received") + result.stream(0, "lost"), 100);
    assert_eq!(result.port(0, "sent"), 100);
    result
}

fn at(numbers: &[u64], fault: Fault) -> Vec<(u64, Fault)> {
    numbers.iter().map(|number| (*number, fault)).collect()
}

#[test]
fn nothing_happens() {
    for frame_bytes in [64, 65, 512, 1518] {
        let result = run(frame_bytes, &[]);
        result.nothing_but(&[]);
        assert_eq!(result.stream(0, "received"), 100);
        assert_eq!(result.stream(0, "received_in_window"), 100);
        assert_eq!(result.port(1, "received"), 100);
        assert_eq!(result.0["streams"][0]["latency"]["min_ns"], 10_000);
        assert_eq!(result.0["streams"][0]["latency"]["max_ns"], 10_000);
        assert_eq!(
            result.0["streams"][0]["ipdv"],
            json!({"count": 99, "mean_abs_ns": 0.0, "max_abs_ns": 0})
        );
    }
}

#[test]
fn dropped() {
    let result = run(64, &at(&[3, 4, 77], Fault::Drop));
    result.nothing_but(&["lost"]);
    assert_eq!(result.stream(0, "lost"), 3);
    assert_eq!(result.stream(0, "first_lost_sent_ns"), 300_000);
    assert_eq!(result.stream(0, "last_lost_sent_ns"), 7_700_000);
}

#[test]
fn refused() {
    let result = run(64, &at(&[0, 99], Fault::Refuse));
    result.nothing_but(&["lost", "refused", "0.refused"]);
    assert_eq!(
        (
            result.stream(0, "refused"),
            result.stream(0, "lost"),
            result.port(0, "refused")
        ),
        (2, 2, 2)
    );
    assert_eq!(result.stream(0, "first_lost_sent_ns"), 0);
    assert_eq!(result.stream(0, "last_lost_sent_ns"), 9_900_000);
}

#[test]
fn reordered() {
    let result = run(64, &at(&[10, 20, 21], Fault::Hold(350_000))); // each is overtaken by three
    result.nothing_but(&["reordered"]);
    assert_eq!(result.stream(0, "reordered"), 3);
    assert_eq!(result.0["streams"][0]["latency"]["max_ns"], 360_000);
    assert_eq!(result.0["streams"][0]["ipdv"]["max_abs_ns"], 350_000);
}

#[test]
fn duplicated() {
    let result = run(64, &at(&[5, 50], Fault::Duplicate));
    result.nothing_but(&["duplicated"]);
    assert_eq!(result.stream(0, "duplicated"), 2);
    assert_eq!(result.port(1, "received"), 102);
    assert_eq!(result.stream(0, "received_in_window"), 102);
    assert_eq!(result.0["streams"][0]["latency"]["count"], 100);
}

#[test]
fn late() {
    // The last departure is at 9.9 ms; 1 ms after it is still in time.
    let faults = [
        (97, Fault::Hold(1_190_001)),
        (98, Fault::Hold(1_090_000)),
        (99, Fault::Hold(1_000_000)),
    ];
    let result = run(64, &faults);
    result.nothing_but(&["late", "reordered"]);
    assert_eq!(result.stream(0, "late"), 2);
    assert_eq!(result.stream(0, "reordered"), 1); // 98, 97|99: 97 and 99 come after 98
    assert_eq!(result.stream(0, "last_received_after_ns"), 1_010_000);
    assert_eq!(result.stream(0, "received_in_window"), 97);
}

#[test]
fn too_late() {
    let result = run(64, &at(&[99], Fault::Hold(60_000_000)));
    result.nothing_but(&["lost"]);
    assert_eq!(
        (result.stream(0, "lost"), result.port(1, "received")),
        (1, 99)
    );
}

/// Payload, tag, UDP header, IP header: corrupted, and therefore lost.
#[test]
fn corrupted() {
    let ip_header = [14, 15, 17, 18, 20, 21, 22, 23, 24, 26, 33];
    let udp_header = [34, 37, 39, 40];
    let identity = [46, 47, 48, 49];
    let rest_of_tag = [50, 52, 53, 54, 59];
    for offset in ip_header
        .into_iter()
        .chain(udp_header)
        .chain(rest_of_tag)
        .chain([60, 400, 507])
    {
        let result = run(512, &at(&[30, 31], Fault::Flip(offset)));
        result.nothing_but(&["lost", "corrupted", "1.corrupted"]);
        let corrupted = (
            result.stream(0, "corrupted"),
            result.port(1, "corrupted"),
            result.stream(0, "lost"),
        );
        assert_eq!(corrupted, (2, 2, 2), "offset {offset}");
        assert_eq!(result.stream(0, "received_in_window"), 98);
    }
    // If trial, stream or flags are damaged, so is what it says it belongs to.
    for offset in identity {
        let result = run(512, &at(&[30, 31], Fault::Flip(offset)));
        result.nothing_but(&["lost", "1.corrupted"]);
        assert_eq!(
            (result.port(1, "corrupted"), result.stream(0, "lost")),
            (2, 2),
            "offset {offset}"
        );
    }
}

/// Without our signature it is any frame.
#[test]
fn signature_lost() {
    for offset in 42..46 {
        let result = run(64, &at(&[0], Fault::Flip(offset)));
        result.nothing_but(&["lost", "1.host"]);
        assert_eq!((result.stream(0, "lost"), result.port(1, "host")), (1, 1));
    }
}

/// Damage that the checksum does not notice, the filler does.
#[test]
fn swapped() {
    let result = run(512, &at(&[7, 8, 9], Fault::Swap(100)));
    result.nothing_but(&["lost", "corrupted", "1.corrupted"]);
    assert_eq!(result.stream(0, "corrupted"), 3);
}

#[test]
fn truncated() {
    for length in [46, 59, 60, 200, 507] {
        let result = run(512, &at(&[1], Fault::Truncate(length)));
        result.nothing_but(&["lost", "corrupted", "1.corrupted"]);
        assert_eq!(
            (result.stream(0, "lost"), result.port(1, "corrupted")),
            (1, 1),
            "{length}"
        );
    }
    for length in [0, 1, 14, 45] {
        let result = run(512, &at(&[1], Fault::Truncate(length)));
        result.nothing_but(&["lost", "1.host"]);
        assert_eq!(result.port(1, "host"), 1, "{length}");
    }
}

#[test]
fn misdelivered() {
    let result = run(64, &at(&[42, 43], Fault::Misdeliver(0)));
    result.nothing_but(&["lost", "0.stray"]);
    assert_eq!(
        (
            result.stream(0, "lost"),
            result.port(0, "stray"),
            result.port(0, "received")
        ),
        (2, 2, 2)
    );
}

#[test]
fn another_trials_frames_are_strays() {
    let mut lab = Laboratory::new();
    lab.router
        .faults
        .extend([(98, Fault::Hold(6_000_000)), (99, Fault::Hold(6_000_000))]);
    let first = lab.run(&trial(&[stream(10_000.0)])); // ends before these two are through
    first.nothing_but(&["lost"]);
    assert_eq!(first.stream(0, "lost"), 2);
    let second = lab.run(&with(trial(&[stream(10_000.0)]), json!({"id": 8})));
    second.nothing_but(&["1.stray"]);
    assert_eq!(
        (
            second.port(1, "stray"),
            second.port(1, "received"),
            second.stream(0, "received")
        ),
        (2, 102, 100)
    );
}

/// Frames that were left in the device under test by a trial of the same number are still another trial's.
#[test]
fn old_frames_of_the_same_number_are_strays() {
    let mut lab = Laboratory::new();
    // 0 comes when the second trial has sent its own 0, 98 when it has not sent its own 98.
    let faults = [(0, Fault::Hold(17_000_000)), (98, Fault::Hold(6_000_000))];
    lab.router.faults.extend(faults);
    lab.run(&trial(&[stream(10_000.0)]));
    let second = lab.run(&trial(&[stream(10_000.0)]));
    second.nothing_but(&["1.stray"]);
    assert_eq!(
        (second.port(1, "stray"), second.stream(0, "received")),
        (2, 100)
    );
}

/// Faults at random, counted by hand.
#[test]
fn storms() {
    for seed in 0..30 {
        let mut lab = Laboratory::at(1_000_000_000);
        let mut expected = [0; 6]; // received, refused, reordered, duplicated, corrupted, stray
        let mut arrivals = Vec::new();
        for number in 0..1_000 {
            let dice = mix((seed << 32) | number);
            let mut at_ns = number * 10_000;
            let fault = match dice % 16 {
                0 => Fault::Drop,
                1 => Fault::Refuse,
                2 => Fault::Duplicate,
                3 => Fault::Flip(50 + (dice >> 32) as usize % 450),
                4 => Fault::Swap(60 + 2 * ((dice >> 32) as usize % 200)),
                5 => Fault::Truncate(50 + (dice >> 32) as usize % 400),
                6 => Fault::Misdeliver(0),
                7 | 8 => Fault::Hold((dice >> 32) % 100_000),
                _ => Fault::Hold(0),
            };
            lab.router.faults.insert(number, fault);
            match fault {
                Fault::Refuse => expected[1] += 1,
                Fault::Duplicate => expected[3] += 1,
                Fault::Flip(_) | Fault::Swap(_) | Fault::Truncate(_) => expected[4] += 1,
                Fault::Misdeliver(_) => expected[5] += 1,
                Fault::Hold(longer_ns) => at_ns += longer_ns,
                Fault::Drop => {}
            }
            if matches!(fault, Fault::Hold(_) | Fault::Duplicate) {
                arrivals.push((at_ns, number));
            }
        }
        arrivals.sort_by_key(|(at_ns, number)| (*at_ns, *number));
        expected[0] = arrivals.len() as u64;
        let overtaken = |i: usize| {
            arrivals[..i]
                .iter()
                .any(|(_, number)| *number > arrivals[i].1)
        };
        expected[2] = (0..arrivals.len()).filter(|i| overtaken(*i)).count() as u64;

        let size = json!({"size": {"kind": "fixed", "frame_bytes": 512}});
        let result = lab.run(&trial(&[with(stream(100_000.0), size)]));
        let counts = [
            "received",
            "refused",
            "reordered",
            "duplicated",
            "corrupted",
        ]
        .map(|name| result.stream(0, name));
        assert_eq!(counts, expected[..5], "seed {seed}");
        assert_eq!(result.port(0, "stray"), expected[5]);
        assert_eq!(result.stream(0, "lost"), 1_000 - expected[0]);
        assert_eq!(result.0["streams"][0]["latency"]["count"], expected[0]);
    }
}

#[test]
fn all_at_once() {
    let faults = [
        (1, Fault::Drop),
        (5, Fault::Refuse),
        (11, Fault::Duplicate),
        (20, Fault::Hold(150_000)),
        (30, Fault::Flip(58)),
        (40, Fault::Truncate(50)),
        (50, Fault::Misdeliver(0)),
        (99, Fault::Hold(2_000_000)),
    ];
    let result = run(64, &faults);
    let counts = [
        "received",
        "lost",
        "refused",
        "reordered",
        "duplicated",
        "corrupted",
        "late",
    ]
    .map(|name| result.stream(0, name));
    assert_eq!(counts, [95, 5, 1, 1, 1, 2, 1]);
    assert_eq!(
        (
            result.port(0, "stray"),
            result.port(1, "corrupted"),
            result.port(1, "received")
        ),
        (1, 2, 98)
    );
}
