// SPDX-License-Identifier: GPL-2.0-or-later
//! When frames depart: never faster than the line, never later than asked without need.

use serde_json::json;

use crate::hosts::arp_request;
use crate::laboratory::{Laboratory, ROUTER_MACS, stream, trial, with};

/// Asserts the distance of all frames on each port, and returns how many there were on port 0.
fn keeps_the_line(lab: &Laboratory, ns_per_byte: u64, jitter_ns: u64) -> u64 {
    for port in [0, 1] {
        let mut last_ns = None;
        for delivery in lab.router.deliveries.iter().filter(|d| d.port == port) {
            let least_ns = (delivery.frame.len() as u64 + 4 + 20) * ns_per_byte;
            if let Some(last_ns) = last_ns {
                let distance_ns = delivery.at_ns - last_ns;
                assert!(
                    distance_ns + jitter_ns >= least_ns,
                    "{distance_ns} at {}",
                    delivery.at_ns
                );
            }
            last_ns = Some(delivery.at_ns);
        }
    }
    lab.router.deliveries.iter().filter(|d| d.port == 0).count() as u64
}

#[test]
fn line_rate_is_reached_and_not_exceeded() {
    let mut lab = Laboratory::new();
    let result = lab.run(&trial(&[stream(1e9 / 6_720.0)]));
    result.nothing_but(&[]);
    assert_eq!(result.stream(0, "sent"), 1_489); // every 6,720 ns from 0 on
    assert_eq!(keeps_the_line(&lab, 80, 0), 1_489);
}

#[test]
fn more_than_the_line_takes_is_intended_but_not_sent() {
    let mut lab = Laboratory::new();
    let result = lab.run(&with(
        trial(&[stream(300_000.0)]),
        json!({"warmup_ns": 2_000_000}),
    ));
    result.nothing_but(&[]);
    assert_eq!(
        (result.stream(0, "intended"), result.stream(0, "sent")),
        (3_000, 1_488)
    );
    assert_eq!(result.stream(0, "received"), 1_488);
    keeps_the_line(&lab, 80, 0);
    let last = lab.router.deliveries.iter().map(|d| d.at_ns).max().unwrap();
    assert!(last < 12_001_000);
}

/// The 1,001st frame would depart at the very end of the window.
#[test]
fn what_the_line_delays_up_to_the_end_is_not_sent() {
    for (duration_ns, sent) in [(6_720_000, 1_000), (6_720_001, 1_001)] {
        let trial = with(
            trial(&[stream(200_000.0)]),
            json!({"duration_ns": duration_ns}),
        );
        assert_eq!(Laboratory::new().run(&trial).stream(0, "sent"), sent);
    }
}

#[test]
fn overload_is_counted_for_every_kind_of_arrivals() {
    for arrivals in [
        json!({"kind": "poisson", "rate_pps": 300_000.0}),
        json!({"kind": "bursts", "rate_pps": 300_000.0, "on_ns": 100_000, "off_ns": 0}),
    ] {
        let mut lab = Laboratory::new();
        let result = lab.run(&trial(&[with(stream(1.0), json!({"arrivals": arrivals}))]));
        let intended = result.stream(0, "intended");
        assert!((2_780..3_220).contains(&intended), "{arrivals}: {intended}"); // Poisson: four deviations of 55
        // Poisson: the line idles until the queue has built up.
        assert!(
            (1_480..=1_489).contains(&result.stream(0, "sent")),
            "{arrivals}: {}",
            result.stream(0, "sent")
        );
        keeps_the_line(&lab, 80, 0);
        let mut free = Laboratory::at(0);
        let result = free.run(&trial(&[with(stream(1.0), json!({"arrivals": arrivals}))]));
        assert_eq!(
            result.stream(0, "intended"),
            intended,
            "the line does not change what is intended"
        );
        assert_eq!(result.stream(0, "sent"), intended);
    }
}

#[test]
fn streams_and_hosts_share_a_line() {
    let imix = json!({"kind": "imix", "mix": [[64, 7], [594, 4], [1518, 1]]});
    let streams = [
        with(
            stream(1.0),
            json!({"arrivals": {"kind": "poisson", "rate_pps": 60_000.0}}),
        ),
        with(stream(20_000.0), json!({"size": imix})),
        with(
            stream(1.0),
            json!({"arrivals": {"kind": "bursts", "rate_pps": 100_000.0, "on_ns": 50_000, "off_ns": 200_000}, "size": imix}),
        ),
    ];
    let mut lab = Laboratory::new();
    for k in 0..200 {
        lab.router.transmit(
            0,
            500_000 + k * 10_007,
            arp_request(ROUTER_MACS[0], "198.18.0.1", "198.18.0.2"),
        );
    }
    let result = lab.run(&trial(&streams));
    let sent: u64 = (0..3).map(|index| result.stream(index, "sent")).sum();
    let intended: u64 = (0..3).map(|index| result.stream(index, "intended")).sum();
    assert!(sent < intended, "there is to be competition");
    assert_eq!(result.port(0, "host"), 200);
    assert_eq!(keeps_the_line(&lab, 80, 0), sent + 200);
    // Whoever waits longest goes first: all streams fall behind alike, and the line is never idle meanwhile.
    let line_ns: u64 = lab
        .router
        .deliveries
        .iter()
        .map(|d| (d.frame.len() as u64 + 24) * 80)
        .sum();
    assert!(line_ns > 9_800_000, "{line_ns}");
}

#[test]
fn the_earliest_intended_goes_first() {
    let large = json!({"size": {"kind": "fixed", "frame_bytes": 1518}, "count": 1});
    let streams = [
        with(with(stream(1.0), large), json!({"phase_ns": 1_000})),
        with(stream(1.0), json!({"phase_ns": 500, "count": 1})),
        with(stream(1.0), json!({"phase_ns": 1_001, "count": 1})),
    ];
    let mut lab = Laboratory::new();
    lab.run(&trial(&streams));
    let order: Vec<_> = lab
        .router
        .deliveries
        .iter()
        .map(|d| (d.frame[48], d.at_ns))
        .collect();
    assert_eq!(
        order,
        [
            (1, 1_500),
            (0, 1_500 + 123_040),
            (2, 1_500 + 123_040 + 6_720)
        ]
    );
}

#[test]
fn a_coarse_clock_tags_the_truth_and_does_not_drift() {
    for grain_ns in [4, 8] {
        let mut lab = Laboratory::new();
        lab.router.grain_ns = grain_ns;
        lab.router.delay_ns = 10_000;
        let result = lab.run(&trial(&[stream(77_777.0)]));
        result.nothing_but(&[]);
        assert_eq!(result.stream(0, "sent"), 778);
        for (k, delivery) in lab.router.deliveries.iter().enumerate() {
            let exact = 1_000 + k as u64 * 1_000_000_000 / 77_777;
            assert_eq!(
                delivery.at_ns,
                exact.next_multiple_of(grain_ns),
                "frame {k}"
            );
        }
        assert_eq!(result.0["streams"][0]["latency"]["max_ns"], 10_000);
        keeps_the_line(&lab, 80, 8);
    }
}

#[test]
fn line_rate_on_a_coarse_clock() {
    let mut lab = Laboratory::new();
    lab.router.grain_ns = 8;
    let trial = with(
        trial(&[with(stream(200_000.0), json!({"phase_ns": 3}))]),
        json!({"duration_ns": 100_000_000}),
    );
    let result = lab.run(&trial);
    assert_eq!(result.stream(0, "sent"), 14_881); // 6,720 ns apart on average, whatever the clock
    keeps_the_line(&lab, 80, 8);
}

/// A caller that comes far too late gets the frames out at line rate, not all at once.
#[test]
fn a_late_caller_does_not_break_the_line() {
    let mut lab = Laboratory::new();
    let armed = lab.ok(json!({"op": "start", "trial": trial(&[stream(100_000.0)])}));
    lab.router.sleep_until(3_000_000);
    lab.tester.advance(&mut lab.router);
    lab.router
        .run(&mut lab.tester, armed["end_ns"].as_u64().unwrap());
    keeps_the_line(&lab, 80, 8);
    assert_eq!(
        lab.ok(json!({"op": "result"}))["streams"][0]["intended"],
        1_000
    );
}

#[test]
fn bursts_leave_back_to_back() {
    let arrivals =
        json!({"kind": "bursts", "rate_pps": 1_000_000.0, "on_ns": 20_000, "off_ns": 980_000});
    let mut lab = Laboratory::new();
    let result = lab.run(&trial(&[with(stream(1.0), json!({"arrivals": arrivals}))]));
    result.nothing_but(&[]);
    assert_eq!(
        (result.stream(0, "intended"), result.stream(0, "sent")),
        (200, 200)
    );
    for (k, delivery) in lab.router.deliveries.iter().enumerate() {
        let (burst, place) = (k as u64 / 20, k as u64 % 20);
        assert_eq!(delivery.at_ns, 1_000 + burst * 1_000_000 + place * 6_720);
    }
}

#[test]
fn a_slow_line_carries_nothing_it_cannot() {
    let mut lab = Laboratory::at(100_000); // a minimal frame takes 6.72 ms
    let result = lab.run(&trial(&[stream(1_000.0)]));
    assert_eq!(
        (result.stream(0, "intended"), result.stream(0, "sent")),
        (10, 2)
    );
}
