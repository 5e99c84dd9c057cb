// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

fn headers() -> Headers {
    Headers {
        src_mac: Mac([0x52, 0x54, 0, 0, 1, 0]),
        dst_mac: Mac([0x52, 0x54, 0, 0, 0, 1]),
        src_ip: Ipv4Addr::new(198, 18, 0, 2),
        dst_ip: Ipv4Addr::new(198, 19, 0, 2),
        src_port: 49184,
        dst_port: 9,
        ttl: 64,
        protocol: Protocol::Udp,
        trial: 7,
        stream: 3,
    }
}

fn frame(frame_bytes: usize) -> Vec<u8> {
    Template::new(&headers(), frame_bytes)
        .stamp(false, 0x0102_0304, 0x0506_0708_090a)
        .to_vec()
}

#[test]
fn the_layout_is_the_documented_one() {
    let frame = frame(64);
    assert_eq!(frame.len(), 60);
    assert_eq!(
        frame[..14],
        [0x52, 0x54, 0, 0, 0, 1, 0x52, 0x54, 0, 0, 1, 0, 8, 0]
    );
    assert_eq!(frame[14..24], [0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17]);
    assert_eq!(
        frame[26..38],
        [198, 18, 0, 2, 198, 19, 0, 2, 0xc0, 0x20, 0, 9]
    );
    assert_eq!(frame[38..40], [0, 26]);
    assert_eq!(
        &frame[42..60],
        b"IRQ1\x00\x07\x03\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a"
    );
}

/// The checksums as another implementation has them.
#[test]
fn smoltcp_agrees_with_the_checksums() {
    use smoltcp::wire::{EthernetFrame, Ipv4Packet, UdpPacket};
    for frame_bytes in [64, 65, 128, 999, 1518] {
        let frame = frame(frame_bytes);
        let ethernet = EthernetFrame::new_checked(&frame[..]).unwrap();
        let ip = Ipv4Packet::new_checked(ethernet.payload()).unwrap();
        assert!(ip.verify_checksum());
        assert_eq!(usize::from(ip.total_len()), frame_bytes - 18);
        let udp = UdpPacket::new_checked(ip.payload()).unwrap();
        assert!(udp.verify_checksum(&ip.src_addr().into(), &ip.dst_addr().into()));
        assert_ne!(udp.checksum(), 0);
    }
}

#[test]
fn what_is_stamped_is_read() {
    let mut template = Template::new(&headers(), 594);
    for (warmup, sequence, departure_ns) in [
        (false, 0, 0),
        (true, u32::MAX, (1 << 48) - 1),
        (false, 77, 123_456_789),
    ] {
        match read(template.stamp(warmup, sequence, departure_ns)) {
            Reading::Intact(tag) => {
                assert_eq!(
                    (tag.trial, tag.stream, tag.warmup, tag.sequence),
                    (7, 3, warmup, sequence)
                );
                assert_eq!(tag.age_ns(departure_ns + 5_000), 5_000);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_departure_may_wrap_after_78_hours() {
    let late_ns = (1 << 48) + 1_000;
    let Reading::Intact(tag) = read(Template::new(&headers(), 64).stamp(false, 0, late_ns)) else {
        panic!()
    };
    assert_eq!(tag.age_ns(late_ns + 250), 250);
}

/// The checksum is never 0: 0 says that there is none.
#[test]
fn the_udp_checksum_is_always_set() {
    let mut template = Template::new(&headers(), 64);
    let mut seen_ffff = false;
    for sequence in 0..0x20000 {
        let frame = template.stamp(false, sequence, 0);
        let checksum = u16::from_be_bytes([frame[40], frame[41]]);
        assert_ne!(checksum, 0);
        seen_ffff |= checksum == 0xffff;
        assert!(matches!(read(frame), Reading::Intact(_)));
    }
    assert!(seen_ffff);
}

/// Every bit of every frame that is not an address: no single flip goes unnoticed.
#[test]
fn every_flipped_bit_is_damage_or_a_lost_signature() {
    for frame_bytes in [64, 129] {
        let whole = frame(frame_bytes);
        for at in 12..whole.len() {
            for bit in 0..8 {
                let mut frame = whole.clone();
                frame[at] ^= 1 << bit;
                match read(&frame) {
                    Reading::Foreign => assert!((42..46).contains(&at), "byte {at}"),
                    Reading::Damaged(_) => {}
                    Reading::Intact(tag) => panic!("byte {at} bit {bit}: {tag:?}"),
                }
            }
        }
    }
}

#[test]
fn a_router_may_change_addresses_ttl_and_the_header_checksum() {
    let mut frame = frame(64);
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    frame[22] -= 1;
    assert!(
        matches!(read(&frame), Reading::Damaged(_)),
        "the checksum is not right any more"
    );
    frame[24..26].fill(0);
    let checksum = !fold(sum(&frame[14..34]));
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    assert!(matches!(read(&frame), Reading::Intact(_)));
}

#[test]
fn too_short_and_too_long_frames() {
    let whole = frame(128);
    for length in 0..whole.len() {
        match read(&whole[..length]) {
            Reading::Foreign => assert!(length < 46),
            Reading::Damaged(_) => assert!(length >= 46),
            Reading::Intact(_) => panic!("{length}"),
        }
    }
    let mut longer = whole;
    longer.push(0);
    assert!(matches!(read(&longer), Reading::Damaged(_)));
}

#[test]
fn no_udp_checksum_is_a_wrong_one() {
    let mut template = Template::new(&headers(), 64);
    // The one whose checksum is 0xffff, which sums up like 0.
    let sequence =
        (0..0x20000).find(|sequence| template.stamp(false, *sequence, 0)[40..42] == [0xff, 0xff]);
    let mut frame = template.stamp(false, sequence.unwrap(), 0).to_vec();
    assert!(matches!(read(&frame), Reading::Intact(_)));
    frame[40..42].fill(0);
    assert!(matches!(read(&frame), Reading::Damaged(_)));
}

#[test]
fn fillers_depend_on_trial_and_stream_and_share_their_beginning() {
    let filler = |trial, stream, length| {
        let mut filler = vec![0; length];
        fill(&mut filler, trial, stream);
        filler
    };
    let long = filler(7, 3, MAX_FILLER_BYTES);
    assert_eq!(MAX_FILLER_BYTES, 1454);
    assert_eq!(filler(7, 3, 13), long[..13]);
    assert_ne!(filler(7, 4, 1454), long);
    assert_ne!(filler(8, 3, 1454), long);
    assert_eq!(filler_of(&frame(1518)), long);
    assert!(filler_of(&frame(64)).is_empty());
}

#[test]
fn icmp_echoes_carry_the_same_tag() {
    use smoltcp::wire::{EthernetFrame, Icmpv4Message, Icmpv4Packet, Ipv4Packet};
    let icmp = Headers {
        protocol: Protocol::Icmp,
        ..headers()
    };
    for frame_bytes in [64, 65, 1518] {
        let mut frame = Template::new(&icmp, frame_bytes)
            .stamp(false, 0x0102_0304, 0x0506_0708_090a)
            .to_vec();
        {
            let ethernet = EthernetFrame::new_checked(&frame[..]).unwrap();
            let ip = Ipv4Packet::new_checked(ethernet.payload()).unwrap();
            let packet = Icmpv4Packet::new_checked(ip.payload()).unwrap();
            assert!(packet.verify_checksum());
            assert_eq!(packet.msg_type(), Icmpv4Message::EchoRequest);
            assert_eq!((packet.echo_ident(), packet.echo_seq_no()), (49184, 9));
        }
        let Reading::Intact(request) = read(&frame) else {
            panic!("a request that we made ourselves");
        };
        assert_eq!((request.trial, request.sequence), (7, 0x0102_0304));
        // The reply: type 0 in place of 8 (RFC 1071: the checksum grows by what went).
        frame[34] = 0;
        let checksum = u32::from(u16::from_be_bytes([frame[36], frame[37]])) + 0x0800;
        let folded = (checksum & 0xffff) + (checksum >> 16);
        frame[36..38].copy_from_slice(&(folded as u16).to_be_bytes());
        assert_eq!(read(&frame), Reading::Intact(request));
        frame[45] ^= 1;
        frame[50] ^= 1;
        assert!(!matches!(read(&frame), Reading::Intact(_)));
    }
}
