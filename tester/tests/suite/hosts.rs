// SPDX-License-Identifier: GPL-2.0-or-later
//! The hosts: ARP and ICMP echo, and nothing else.

use std::net::Ipv4Addr;

use serde_json::json;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::*;

use crate::laboratory::{HOST_MACS, Laboratory, ROUTER_MACS, stream, trial};

fn ethernet(src: &str, dst: [u8; 6], ethertype: EthernetProtocol, payload: usize) -> Vec<u8> {
    let octets: Vec<u8> = src
        .split(':')
        .map(|octet| u8::from_str_radix(octet, 16).unwrap())
        .collect();
    let src_addr = EthernetAddress(octets.try_into().unwrap());
    let around = EthernetRepr {
        src_addr,
        dst_addr: EthernetAddress(dst),
        ethertype,
    };
    let mut frame = vec![0; 14 + payload];
    around.emit(&mut EthernetFrame::new_unchecked(&mut frame));
    frame
}

pub fn arp_request(src_mac: &str, src_ip: &str, wanted_ip: &str) -> Vec<u8> {
    let mut frame = ethernet(src_mac, [0xff; 6], EthernetProtocol::Arp, 28);
    let request = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Request,
        source_hardware_addr: EthernetFrame::new_unchecked(&frame).src_addr(),
        source_protocol_addr: src_ip.parse().unwrap(),
        target_hardware_addr: EthernetAddress([0; 6]),
        target_protocol_addr: wanted_ip.parse().unwrap(),
    };
    request.emit(&mut ArpPacket::new_unchecked(&mut frame[14..]));
    frame
}

fn ip(
    src_mac: &str,
    dst_mac: [u8; 6],
    src_ip: &str,
    dst_ip: &str,
    next_header: IpProtocol,
    payload: &[u8],
) -> Vec<u8> {
    let mut frame = ethernet(src_mac, dst_mac, EthernetProtocol::Ipv4, 20 + payload.len());
    let header = Ipv4Repr {
        src_addr: src_ip.parse::<Ipv4Addr>().unwrap(),
        dst_addr: dst_ip.parse::<Ipv4Addr>().unwrap(),
        next_header,
        payload_len: payload.len(),
        hop_limit: 64,
    };
    header.emit(
        &mut Ipv4Packet::new_unchecked(&mut frame[14..]),
        &ChecksumCapabilities::default(),
    );
    frame[34..].copy_from_slice(payload);
    frame
}

fn echo_request(data: &[u8]) -> Vec<u8> {
    let request = Icmpv4Repr::EchoRequest {
        ident: 0x1234,
        seq_no: 7,
        data,
    };
    let mut payload = vec![0; request.buffer_len()];
    request.emit(
        &mut Icmpv4Packet::new_unchecked(&mut payload),
        &ChecksumCapabilities::default(),
    );
    payload
}

fn ping(dst_ip: &str, data: &[u8]) -> Vec<u8> {
    ip(
        ROUTER_MACS[0],
        HOST_MACS[0],
        "198.18.0.1",
        dst_ip,
        IpProtocol::Icmp,
        &echo_request(data),
    )
}

#[test]
fn an_arp_request_is_answered() {
    let mut lab = Laboratory::new();
    lab.router.transmit(
        1,
        5_000,
        arp_request(ROUTER_MACS[1], "198.19.0.1", "198.19.0.2"),
    );
    lab.router.run(&mut lab.tester, 1_000_000);
    let [answer] = &lab.router.deliveries[..] else {
        panic!("{:?}", lab.router.deliveries)
    };
    assert_eq!(
        (answer.port, answer.at_ns, answer.frame.len()),
        (1, 5_000 + 6_720, 60)
    );
    let frame = EthernetFrame::new_checked(&answer.frame[..]).unwrap();
    let ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr,
        source_protocol_addr,
        target_hardware_addr,
        ..
    } = ArpRepr::parse(&ArpPacket::new_checked(frame.payload()).unwrap()).unwrap()
    else {
        panic!()
    };
    assert_eq!(operation, ArpOperation::Reply);
    assert_eq!(source_hardware_addr, EthernetAddress(HOST_MACS[1]));
    assert_eq!(source_protocol_addr, Ipv4Addr::new(198, 19, 0, 2));
    assert_eq!(target_hardware_addr, frame.dst_addr());
    assert_eq!(
        frame.dst_addr().to_string(),
        ROUTER_MACS[1].replace(':', "-")
    );
}

#[test]
fn an_echo_request_is_answered_even_by_a_host_that_knows_nobody() {
    for (at_ns, length) in [(1_000, 0), (1_000, 56), (90_000_000_000, 1472)] {
        let data: Vec<u8> = (0..length).map(|k| k as u8).collect();
        let mut lab = Laboratory::new();
        lab.router.transmit(0, at_ns, ping("198.18.0.2", &data));
        lab.router.run(&mut lab.tester, at_ns + 1_000_000);
        let [answer] = &lab.router.deliveries[..] else {
            panic!("{:?}", lab.router.deliveries)
        };
        let frame = EthernetFrame::new_checked(&answer.frame[..]).unwrap();
        assert_eq!(frame.src_addr(), EthernetAddress(HOST_MACS[0]));
        assert_eq!(
            frame.dst_addr().to_string(),
            ROUTER_MACS[0].replace(':', "-")
        );
        let packet = Ipv4Packet::new_checked(frame.payload()).unwrap();
        assert!(packet.verify_checksum());
        assert_eq!(
            (packet.src_addr().to_string(), packet.dst_addr().to_string()),
            ("198.18.0.2".into(), "198.18.0.1".into())
        );
        let echo = Icmpv4Packet::new_checked(packet.payload()).unwrap();
        let reply = Icmpv4Repr::parse(&echo, &ChecksumCapabilities::default()).unwrap();
        assert_eq!(
            reply,
            Icmpv4Repr::EchoReply {
                ident: 0x1234,
                seq_no: 7,
                data: &data
            }
        );
    }
}

#[test]
fn many_pings_get_many_answers_in_order() {
    let mut lab = Laboratory::new();
    for k in 0..100 {
        lab.router.transmit(0, 1_000, ping("198.18.0.2", &[k; 20]));
    }
    lab.router.run(&mut lab.tester, 100_000_000);
    let order: Vec<u8> = lab.router.deliveries.iter().map(|d| d.frame[42]).collect();
    assert_eq!(order, (0..100).collect::<Vec<u8>>());
    assert_eq!(lab.router.deliveries[99].at_ns, 1_000 + 100 * 86 * 80);
}

#[test]
fn everything_else_is_swallowed() {
    let mut lab = Laboratory::new();
    let udp = [0x13, 0x88, 0x13, 0x89, 0, 12, 0, 0, 1, 2, 3, 4];
    for frame in [
        ping("198.18.0.3", &[0; 8]), // another host's
        arp_request(ROUTER_MACS[0], "198.18.0.1", "198.18.0.3"),
        ip(
            ROUTER_MACS[0],
            HOST_MACS[0],
            "198.18.0.1",
            "198.18.0.2",
            IpProtocol::Udp,
            &udp,
        ),
        ip(
            ROUTER_MACS[0],
            HOST_MACS[0],
            "198.18.0.1",
            "198.18.0.2",
            IpProtocol::Tcp,
            &[0; 20],
        ),
        ip(
            ROUTER_MACS[0],
            HOST_MACS[1],
            "198.18.0.1",
            "198.18.0.2",
            IpProtocol::Icmp,
            &echo_request(&[]),
        ),
        ethernet(ROUTER_MACS[0], [0xff; 6], EthernetProtocol::Ipv6, 46),
        ethernet(ROUTER_MACS[0], HOST_MACS[0], EthernetProtocol::Arp, 3),
        ethernet(ROUTER_MACS[0], HOST_MACS[0], EthernetProtocol::Ipv4, 3),
        vec![],
        vec![0xff; 13],
        vec![0xff; 60],
        vec![0; 9_000],
    ] {
        lab.router.transmit(0, 1_000, frame);
    }
    let mut damaged = ping("198.18.0.2", &[1; 30]);
    damaged[50] ^= 1;
    lab.router.transmit(0, 1_000, damaged);
    lab.router.run(&mut lab.tester, 1_000_000_000);
    assert_eq!(
        lab.router.deliveries.len(),
        0,
        "{:?}",
        lab.router.deliveries
    );
}

/// Every prefix and every flip of a byte of an echo request and an ARP request: never a panic.
#[test]
fn mangled_frames_are_survived() {
    let mut lab = Laboratory::new();
    for whole in [
        ping("198.18.0.2", &[1; 30]),
        arp_request(ROUTER_MACS[0], "198.18.0.1", "198.18.0.2"),
    ] {
        for length in 0..whole.len() {
            lab.router
                .transmit(0, 1_000 + length as u64 * 10_000, whole[..length].to_vec());
            for flip in [0x01, 0x80, 0xff] {
                let mut frame = whole.clone();
                frame[length] ^= flip;
                lab.router
                    .transmit(0, 1_000 + length as u64 * 10_000, frame);
            }
        }
    }
    lab.router.run(&mut lab.tester, 1_000_000_000);
    assert!(lab.router.deliveries.len() > 10);
}

#[test]
fn hosts_answer_during_a_trial_and_are_counted() {
    let mut lab = Laboratory::new();
    for k in 0..50 {
        lab.router
            .transmit(0, 100_000 + k * 100_000, ping("198.18.0.2", &[k as u8; 56]));
    }
    let result = lab.run(&trial(&[stream(100_000.0)]));
    result.nothing_but(&["0.host"]);
    assert_eq!(
        (result.port(0, "host"), result.port(0, "received")),
        (50, 50)
    );
    assert_eq!(
        (result.stream(0, "sent"), result.port(0, "sent")),
        (1_000, 1_050)
    );
}

#[test]
fn without_ports_nobody_answers() {
    let mut lab = Laboratory::bare();
    lab.router.transmit(
        0,
        5_000,
        arp_request(ROUTER_MACS[0], "198.18.0.1", "198.18.0.2"),
    );
    lab.router.run(&mut lab.tester, 1_000_000);
    assert!(lab.router.deliveries.is_empty());
    lab.tester.receive(17, 0, &[0; 60]); // no such port
    assert_eq!(lab.tester.deadline_ns(), None);
}

/// Hosts are polled when there is something to do, at once.
#[test]
fn the_deadline_of_an_answer_is_now() {
    let mut lab = Laboratory::new();
    assert_eq!(lab.tester.deadline_ns(), None);
    lab.tester.receive(
        0,
        12_345,
        &arp_request(ROUTER_MACS[0], "198.18.0.1", "198.18.0.2"),
    );
    assert_eq!(lab.tester.deadline_ns(), Some(12_345));
    assert!(lab.router.deliveries.is_empty());
    lab.router.run(&mut lab.tester, 12_345);
    assert_eq!(lab.tester.deadline_ns(), Some(12_345 + 6_720));
    lab.router.run(&mut lab.tester, 20_000);
    assert_eq!(lab.tester.deadline_ns(), None);
    let clock = lab.ok(json!({"op": "clock"}));
    assert_eq!(clock, json!({"now_ns": 20_000, "instructions": 5_000}));
}
