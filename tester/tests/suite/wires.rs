// SPDX-License-Identifier: GPL-2.0-or-later
//! Wire mode: what the device under test transmits at one port arrives at another.

use serde_json::{Value, json};

use crate::hosts::arp_request;
use crate::laboratory::{Laboratory, ROUTER_MACS, trial};

fn wire(delay_ns: u64, loss_ppm: u64, seed: u64) -> Value {
    json!({"op": "wire", "a": 0, "b": 1, "delay_ns": delay_ns, "loss_ppm": loss_ppm, "seed": seed})
}

fn frame(number: u8, length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    frame[length - 1] = number;
    frame
}

#[test]
fn frames_cross_in_both_directions_serialised_then_delayed() {
    let mut lab = Laboratory::new();
    assert_eq!(lab.ok(wire(500_000, 0, 1)), json!({}));
    lab.router.transmit(0, 1_000, frame(1, 60));
    lab.router.transmit(0, 1_000, frame(2, 1514));
    lab.router.transmit(1, 2_000, frame(3, 100));
    lab.router.run(&mut lab.tester, 10_000_000);
    let got: Vec<_> = lab
        .router
        .deliveries
        .iter()
        .map(|d| (d.port, d.at_ns, d.frame.clone()))
        .collect();
    let wanted = [
        (1, 1_000 + 6_720 + 500_000, frame(1, 60)),
        (0, 2_000 + 124 * 80 + 500_000, frame(3, 100)),
        (1, 1_000 + 6_720 + 123_040 + 500_000, frame(2, 1514)),
    ];
    assert_eq!(got, wanted);
}

#[test]
fn hosts_fall_silent_and_speak_again() {
    let mut lab = Laboratory::new();
    let request = || arp_request(ROUTER_MACS[0], "198.18.0.1", "198.18.0.2");
    lab.ok(wire(0, 0, 1));
    lab.router.transmit(0, 1_000, request());
    lab.router.run(&mut lab.tester, 1_000_000);
    let [crossed] = &lab.router.deliveries[..] else {
        panic!()
    };
    assert_eq!((crossed.port, crossed.frame.len()), (1, 60)); // padded
    assert_eq!(crossed.frame[..42], request()[..]);
    assert_eq!(lab.ok(json!({"op": "unwire"})), json!({}));
    lab.router.transmit(0, 2_000_000, request());
    lab.router.run(&mut lab.tester, 3_000_000);
    assert_eq!(lab.router.deliveries[1].port, 0);
    assert_eq!(lab.router.deliveries.len(), 2);
}

#[test]
fn the_slower_port_sets_the_pace() {
    let mut lab = Laboratory::bare();
    lab.ok(json!({"op": "ports", "ports": [
        {"mac": "52:54:00:00:01:00", "ip": "198.18.0.2", "prefix": 24, "wire_bps": 1_000_000_000},
        {"mac": "52:54:00:00:01:01", "ip": "198.19.0.2", "prefix": 24, "wire_bps": 10_000_000}]}));
    lab.ok(wire(0, 0, 1));
    for port in [0, 1] {
        for k in 0..10 {
            lab.router.transmit(port, 1_000, frame(k, 60));
        }
    }
    lab.router.run(&mut lab.tester, 10_000_000);
    for port in [0, 1] {
        let at: Vec<u64> = lab
            .router
            .deliveries
            .iter()
            .filter(|d| d.port == port)
            .map(|d| d.at_ns)
            .collect();
        assert_eq!(at, (1..=10).map(|k| 1_000 + k * 67_200).collect::<Vec<_>>());
    }
}

#[test]
fn losses_are_seeded() {
    let survivors = |seed| {
        let mut lab = Laboratory::new();
        lab.ok(wire(1_000, 200_000, seed));
        for k in 0..1_000 {
            lab.router
                .transmit(0, 1_000 + k * 10_000, frame(k as u8, 60));
            lab.router
                .transmit(1, 1_000 + k * 10_000, frame(k as u8, 60));
        }
        lab.router.run(&mut lab.tester, 20_000_000);
        lab.router
            .deliveries
            .iter()
            .map(|d| (d.port, d.at_ns))
            .collect::<Vec<_>>()
    };
    let all = survivors(1);
    for port in [0, 1] {
        let count = all.iter().filter(|(p, _)| *p == port).count(); // 800, standard deviation 13
        assert!((740..860).contains(&count), "{count}");
    }
    let of = |port| {
        all.iter()
            .filter(move |(p, _)| *p == port)
            .map(|(_, at)| at)
    };
    assert!(!of(0).eq(of(1)), "the directions lose apart");
    assert_eq!(all, survivors(1));
    assert_ne!(all, survivors(2));
}

#[test]
fn pulling_the_wire_loses_what_is_on_it() {
    let mut lab = Laboratory::new();
    lab.ok(wire(1_000_000, 0, 1));
    lab.router.transmit(0, 1_000, frame(1, 60));
    lab.router.run(&mut lab.tester, 500_000);
    assert!(lab.tester.deadline_ns().is_some());
    lab.ok(json!({"op": "unwire"}));
    assert_eq!(lab.tester.deadline_ns(), None);
    lab.router.run(&mut lab.tester, 5_000_000);
    assert!(lab.router.deliveries.is_empty());
}

/// A trial without streams measures the device under test while it talks to itself.
#[test]
fn a_trial_over_a_wire_counts_frames_and_instructions() {
    let mut lab = Laboratory::new();
    lab.ok(wire(0, 0, 1));
    for k in 0..50 {
        lab.router.transmit(0, 10_000 + k * 100_000, frame(0, 60));
    }
    let result = lab.run(&trial(&[]));
    assert_eq!(
        (
            result.port(0, "received"),
            result.port(1, "sent"),
            result.port(0, "host")
        ),
        (50, 50, 0)
    );
    assert_eq!(result.0["instructions"], 2_500_000);
}
