// SPDX-License-Identifier: GPL-2.0-or-later
//! What must hold for all frames, TCP segments and USB requests, tried with random ones.

use std::net::Ipv4Addr;

use irqlab_tester::host::receiver::Receiver;
use irqlab_tester::host::sender::{Chunk, Sender};
use irqlab_tester::host::tcp::{State, Tcp};
use irqlab_tester::lan7800::usb::{Endpoint, Reply, Setup, Speed};
use irqlab_tester::lan7800::{Answer, Board, Lan7800};
use irqlab_tester::mac::Mac;
use irqlab_tester::traffic::frame::{Headers, Protocol, Reading, Template, is_ours, read};
use proptest::collection::vec;
use proptest::prelude::*;
use smoltcp::wire::{TcpControl, TcpRepr, TcpSeqNumber};

/// Instants are kept in 48 bits.
const INSTANTS: u64 = 1 << 48;

prop_compose! {
    fn headers()(
        src_mac: [u8; 6], dst_mac: [u8; 6], src_ip: u32, dst_ip: u32, src_port: u16, dst_port: u16, ttl in 1_u8..,
        icmp: bool, trial: u16, stream: u8,
    ) -> Headers {
        Headers {
            src_mac: Mac(src_mac),
            dst_mac: Mac(dst_mac),
            src_ip: Ipv4Addr::from(src_ip),
            dst_ip: Ipv4Addr::from(dst_ip),
            src_port,
            dst_port,
            ttl,
            protocol: if icmp { Protocol::Icmp } else { Protocol::Udp },
            trial,
            stream,
        }
    }
}

proptest! {
    #[test]
    fn a_frame_reads_as_it_was_stamped(
        headers in headers(), bytes in 64_usize..=1518, warmup: bool, sequence: u32, at_ns in 0..INSTANTS, age_ns in 0..INSTANTS,
    ) {
        let mut template = Template::new(&headers, bytes);
        let frame = template.stamp(warmup, sequence, at_ns);
        prop_assert_eq!(frame.len(), bytes - 4);
        prop_assert!(is_ours(frame));
        let Reading::Intact(tag) = read(frame) else {
            return Err(TestCaseError::fail("not intact"));
        };
        prop_assert_eq!((tag.trial, tag.stream), (headers.trial, headers.stream));
        prop_assert_eq!((tag.warmup, tag.sequence), (warmup, sequence));
        prop_assert_eq!(tag.age_ns(at_ns + age_ns), age_ns);
    }

    #[test]
    fn no_flipped_bit_behind_the_ethernet_header_goes_unnoticed(
        headers in headers(), bytes in 64_usize..=1518, sequence: u32, at: prop::sample::Index, bit in 0..8,
    ) {
        let mut template = Template::new(&headers, bytes);
        let mut frame = template.stamp(false, sequence, 1_000).to_vec();
        let at = 14 + at.index(frame.len() - 14);
        frame[at] ^= 1_u8 << bit;
        prop_assert!(!matches!(read(&frame), Reading::Intact(_)), "byte {}", at);
    }

    #[test]
    fn any_bytes_can_be_read(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(!matches!(read(&bytes), Reading::Intact(_)));
    }
}

/// The two halves of a connection, joined by a line that loses and reorders.
fn transfer(written: &[u8], write_bytes: usize, window: usize, fates: &[u8]) -> (Vec<u8>, Sender) {
    let (mut sender, mut receiver) = (Sender::new(), Receiver::new(window));
    sender.meet(1460, window as u64);
    let (mut now_ns, mut got, mut sent) = (0, Vec::new(), 0);
    let mut fates = fates.iter().copied();
    for part in written.chunks(write_bytes) {
        sender.write(part.iter().copied());
    }
    sender.finish();
    while !sender.is_done() && sent < 10_000 {
        let mut line: Vec<Chunk> = std::iter::from_fn(|| sender.transmit(now_ns)).collect();
        sent += line.len() + 1;
        let line_was_empty = line.is_empty();
        line.retain(|_| fates.next().is_none_or(|fate| fate % 4 != 0));
        if fates.next().is_some_and(|fate| fate % 2 == 0) {
            line.reverse();
        }
        now_ns += 10_000_000;
        for chunk in line {
            receiver.on_segment(now_ns, chunk.begin as i64, &chunk.payload, chunk.fin);
            got.extend(receiver.read(usize::MAX));
            if fates.next().is_none_or(|fate| fate % 4 != 0) {
                sender.on_ack(
                    now_ns,
                    receiver.next(),
                    receiver.window(),
                    &receiver.blocks(),
                );
            }
        }
        if line_was_empty {
            now_ns = now_ns.max(sender.timer_ns().unwrap_or(now_ns));
        }
        sender.on_time(now_ns);
    }
    (got, sender)
}

proptest! {
    #[test]
    fn tcp_delivers_everything_once_and_in_order(
        written in vec(any::<u8>(), 0..40_000), write_bytes in 1_usize..20_000, window in 2_920_usize..100_000,
        fates in vec(any::<u8>(), 0..200),
    ) {
        let (got, sender) = transfer(&written, write_bytes, window, &fates);
        prop_assert!(sender.is_done(), "{:?}", sender);
        prop_assert!(got == written, "{} bytes of {}", got.len(), written.len());
    }

    #[test]
    fn without_losses_nothing_is_sent_again(written in vec(any::<u8>(), 0..40_000)) {
        let (got, sender) = transfer(&written, 8_192, 100_000, &[1; 100]);
        prop_assert!(got == written);
        prop_assert_eq!((sender.retransmits(), sender.timeouts()), (0, 0));
    }

    #[test]
    fn any_segments_can_come(
        segments in vec(
            (0_usize..5, any::<i32>(), any::<Option<i32>>(), any::<u16>(), any::<[Option<(u32, u32)>; 3]>(), vec(any::<u8>(), 0..20)),
            0..20,
        ),
        near: bool,
    ) {
        let peer = (Ipv4Addr::new(198, 18, 0, 1), 5201);
        let isn = 1_000;
        let mut tcp = Tcp::connect(40_000, peer, isn, 65_536, 0);
        for (turn, (kind, seq, ack, window_len, sacks, payload)) in segments.iter().enumerate() {
            let now_ns = turn as u64 * 1_000_000;
            let close = |number: i32, to: i32| if near { to + number % 100 } else { number };
            let control = [TcpControl::None, TcpControl::Psh, TcpControl::Syn, TcpControl::Fin, TcpControl::Rst][*kind];
            tcp.on_segment(now_ns, &TcpRepr {
                src_port: 5201,
                dst_port: 40_000,
                control,
                seq_number: TcpSeqNumber(close(*seq, 0)),
                ack_number: ack.map(|ack| TcpSeqNumber(close(ack, isn as i32 + 1))),
                window_len: *window_len,
                window_scale: None,
                max_seg_size: None,
                sack_permitted: true,
                sack_ranges: *sacks,
                timestamp: None,
                payload,
            });
            tcp.on_time(now_ns);
            while tcp.transmit(now_ns, |_, _| ()).is_some() {}
            prop_assert!(tcp.state() != State::Broken || tcp.timer_ns().is_none());
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Control(Setup, Vec<u8>),
    BulkIn(usize),
    BulkOut(Vec<u8>),
    Interrupt,
    Receive(Vec<u8>),
    Stopped(usize),
    Wait(u64),
    Reset,
}

fn step() -> impl Strategy<Value = Step> {
    let setup = (
        any::<u8>(),
        any::<u8>(),
        any::<u16>(),
        any::<u16>(),
        0_u16..=64,
    );
    // Requests that the chip knows: read and write a register, and the standard ones.
    let known = (
        prop::sample::select(vec![
            (0x40, 0xa0),
            (0xc0, 0xa1),
            (0x80, 6),
            (0x00, 9),
            (0x02, 3),
            (0x02, 1),
            (0x00, 3),
        ]),
        any::<u16>(),
        0_u16..0x1200,
        0_u16..=64,
    );
    let setup = prop_oneof![
        setup.prop_map(|(kind, request, value, index, length)| Setup {
            kind,
            request,
            value,
            index,
            length
        }),
        known.prop_map(|((kind, request), value, index, length)| Setup {
            kind,
            request,
            value,
            index,
            length
        }),
    ];
    prop_oneof![
        4 => (setup, vec(any::<u8>(), 64)).prop_map(|(setup, data)| Step::Control(setup, data)),
        2 => (1_usize..20_000).prop_map(Step::BulkIn),
        2 => vec(any::<u8>(), 0..2_000).prop_map(Step::BulkOut),
        1 => Just(Step::Interrupt),
        2 => vec(any::<u8>(), 14..1_514).prop_map(Step::Receive),
        1 => (0_usize..3).prop_map(Step::Stopped),
        2 => (0_u64..10_000_000).prop_map(Step::Wait),
        1 => Just(Step::Reset),
    ]
}

#[derive(Default)]
struct Host {
    transmitted: Vec<usize>,
}

impl Board for Host {
    fn wake(&mut self, _endpoint: Endpoint) {}
    fn resume(&mut self) {}
    fn transmit(&mut self, frame: &[u8]) {
        self.transmitted.push(frame.len());
    }
}

proptest! {
    #[test]
    fn the_lan7800_withstands_any_requests(steps in vec(step(), 0..40), high: bool) {
        let speed = if high { Speed::High } else { Speed::Super };
        let (mut now_ns, mut host) = (0, Host::default());
        let mut chip = Lan7800::new(now_ns, speed, [2, 0, 0, 0, 0, 1]);
        for step in steps {
            match step {
                Step::Control(setup, data) => {
                    let sends = setup.kind & 0x80 != 0;
                    let sent = if sends { &[][..] } else { &data[..usize::from(setup.length)] };
                    if let (Reply::Done(bytes), true) = (chip.control(now_ns, setup, sent), sends) {
                        prop_assert!(bytes.len() <= usize::from(setup.length), "{:?}", setup);
                    }
                }
                Step::BulkIn(bytes) => {
                    if let Answer::Ack(data) = chip.bulk_in(now_ns, bytes) {
                        prop_assert!(data.len() <= bytes);
                    }
                }
                Step::BulkOut(data) => {
                    chip.bulk_out(now_ns, || data);
                }
                Step::Interrupt => {
                    chip.interrupt();
                }
                Step::Receive(frame) => {
                    chip.receive(now_ns, &frame);
                }
                Step::Stopped(endpoint) => chip.stopped(Endpoint::ALL[endpoint]),
                Step::Wait(ns) => now_ns += ns,
                Step::Reset => chip.reset(),
            }
            // Everything that is due gets done: the chip does not ask for the same instant for ever.
            for _ in 0..10_000 {
                let Some(at_ns) = chip.deadline_ns().filter(|at_ns| *at_ns <= now_ns) else { break };
                chip.advance(at_ns.max(now_ns), &mut host);
            }
            prop_assert!(chip.deadline_ns().is_none_or(|at_ns| at_ns > now_ns));
        }
    }
}
