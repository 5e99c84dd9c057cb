// SPDX-License-Identifier: GPL-2.0-or-later
//! Captures can be read back.

use std::fs::File;

use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::Block;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use serde_json::json;

use crate::hosts::arp_request;
use crate::laboratory::{Laboratory, ROUTER_MACS, stream, trial};

struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Scratch(std::env::temp_dir().join(format!("irqlab-{}-{name}.pcapng", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn every_frame_with_its_nanosecond_port_and_direction() {
    let scratch = Scratch::new("frames");
    let mut lab = Laboratory::new();
    assert_eq!(
        lab.ok(json!({"op": "capture", "path": scratch.0})),
        json!({})
    );
    lab.router.transmit(
        1,
        5_000_123_457,
        arp_request(ROUTER_MACS[1], "198.19.0.1", "198.19.0.2"),
    );
    lab.run(&trial(&[stream(10_000.0)]));
    lab.router.run(&mut lab.tester, 6_000_000_000);
    assert_eq!(lab.ok(json!({"op": "capture", "path": null})), json!({}));
    lab.router.transmit(1, 6_000_000_000, vec![0; 60]); // not captured any more
    lab.router.run(&mut lab.tester, 7_000_000_000);

    let mut reader = PcapNgReader::new(File::open(&scratch.0).unwrap()).unwrap();
    let mut names = Vec::new();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => {
                assert!(
                    interface
                        .options
                        .contains(&InterfaceDescriptionOption::IfTsResol(9))
                );
                let name = interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                    _ => None,
                });
                names.push(name.unwrap());
            }
            Block::EnhancedPacket(packet) => {
                let [EnhancedPacketOption::Flags(direction)] = packet.options[..] else {
                    panic!()
                };
                let at_ns = packet.timestamp.as_nanos() as u64;
                packets.push((
                    at_ns,
                    packet.interface_id as usize,
                    direction,
                    packet.data.to_vec(),
                ));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(names, ["port0", "port1"]);
    assert_eq!(packets.len(), 202);
    assert!(packets.is_sorted_by_key(|packet| packet.0));
    let outbound: Vec<_> = packets.iter().filter(|packet| packet.2 == 2).collect();
    assert_eq!(outbound.len(), lab.router.deliveries.len());
    for (packet, delivery) in outbound.iter().zip(&lab.router.deliveries) {
        assert_eq!(
            (packet.0, packet.1, &packet.3),
            (delivery.at_ns, delivery.port, &delivery.frame)
        );
    }
    let inbound: Vec<_> = packets.iter().filter(|packet| packet.2 == 1).collect();
    assert_eq!(inbound.len(), 101);
    assert_eq!((inbound[0].0, inbound[0].1), (1_000 + 10_000, 1));
    assert_eq!((inbound[100].0, inbound[100].3.len()), (5_000_123_457, 42));
}

/// What has been captured is on file whenever the lab thinks.
#[test]
fn a_command_flushes() {
    let scratch = Scratch::new("flush");
    let mut lab = Laboratory::new();
    lab.ok(json!({"op": "capture", "path": scratch.0}));
    lab.run(&trial(&[stream(10_000.0)]));
    lab.ok(json!({"op": "clock"}));
    let length = std::fs::metadata(&scratch.0).unwrap().len();
    assert!(length > 200 * 60, "{length}");
}

#[test]
fn a_new_capture_ends_the_old_one() {
    let (first, second) = (Scratch::new("first"), Scratch::new("second"));
    let mut lab = Laboratory::new();
    lab.ok(json!({"op": "capture", "path": first.0}));
    lab.ok(json!({"op": "capture", "path": second.0}));
    lab.run(&trial(&[stream(10_000.0)]));
    lab.ok(json!({"op": "capture", "path": null}));
    lab.ok(json!({"op": "capture", "path": null}));
    let length = |scratch: &Scratch| std::fs::metadata(&scratch.0).unwrap().len();
    assert!(length(&first) < 500 && length(&second) > 10_000);
}

#[test]
fn failures_are_told() {
    let mut lab = Laboratory::new();
    let error = lab.error(r#"{"op":"capture","path":"/nonexistent/x.pcapng"}"#);
    assert!(
        error.contains("/nonexistent/x.pcapng") && error.contains("No such file"),
        "{error}"
    );
    if std::path::Path::new("/dev/full").exists() {
        lab.ok(json!({"op": "capture", "path": "/dev/full"}));
        lab.run(&trial(&[stream(10_000.0)]));
        let error = lab.error(r#"{"op":"capture","path":null}"#);
        assert!(error.contains("/dev/full broke off"), "{error}");
        lab.ok(json!({"op": "capture", "path": null}));
    }
}
