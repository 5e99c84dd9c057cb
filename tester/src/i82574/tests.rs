// SPDX-License-Identifier: GPL-2.0-or-later
//! Register scripts: the chip with a memory, a PCI Express link and a wire, driven as Linux's e1000e drives it.

use rand_core::RngCore;

use super::access::{IOADDR, IODATA};
use super::identity::PORTS;
use super::registers::{FLUSH, SWSM_SMBI, ctrl_ext, mrqc, rxd, tctl, txd};
use super::statistics::Counter;
use super::*;
use crate::offload as headers;
use crate::pci::Signalling;
use crate::pci::bus::Access;
use crate::pci::link::{Link, Parameters};
use crate::rng::{Purpose, below, seeded};

const MAC: [u8; 6] = [0x52, 0x54, 0, 0, 0, 1];
const MEMORY_BYTES: usize = 1 << 21;
const RX_RING: u32 = 0x1000;
const TX_RING: u32 = 0x3000;
const RING_DESCRIPTORS: u32 = 64;
const RX_BUFFERS: u32 = 0x2_0000;
const BUFFER_BYTES: u32 = 2048;
const TX_BUFFER: u32 = 0x10_0000;
/// A frame of 64 bytes on the wire, with preamble and gap.
const SLOT_NS: u64 = 672;
const RX0: u64 = csr::RX_QUEUES;
const TX0: u64 = csr::TX_QUEUES;
const RX1: u64 = csr::RX_QUEUES + csr::QUEUE_BYTES;

struct Board {
    now_ns: u64,
    memory: Vec<u8>,
    link: Link,
    line: bool,
    signalling: Signalling,
    /// When the interrupt line rose or a message came, and its vector.
    interrupts: Vec<(u64, usize)>,
    sent: Vec<(u64, Vec<u8>)>,
}

impl Host for Board {
    fn read(&mut self, address: u64, bytes: &mut [u8]) {
        let at = address as usize % MEMORY_BYTES;
        let end = (at + bytes.len()).min(MEMORY_BYTES);
        bytes[..end - at].copy_from_slice(&self.memory[at..end]);
    }
    fn write(&mut self, address: u64, bytes: &[u8]) {
        let at = address as usize % MEMORY_BYTES;
        let end = (at + bytes.len()).min(MEMORY_BYTES);
        self.memory[at..end].copy_from_slice(&bytes[..end - at]);
    }
    fn claim(&mut self, from_ns: u64, access: Access, bytes: usize) -> u64 {
        self.link.claim(from_ns, access, bytes)
    }
    fn takes_ns(&self, access: Access, bytes: usize) -> u64 {
        self.link.takes_ns(access, bytes)
    }
    fn interrupt(&mut self, asserted: bool) {
        assert_ne!(asserted, self.line, "only changes");
        self.line = asserted;
        if asserted {
            self.interrupts.push((self.now_ns, 0));
        }
    }
    fn signalling(&self) -> Signalling {
        self.signalling
    }
    fn message(&mut self, vector: usize) {
        self.interrupts.push((self.now_ns, vector));
    }
    fn transmit(&mut self, frame: &[u8]) {
        self.sent.push((self.now_ns, frame.to_vec()));
    }
}

struct Rig {
    chip: Chip,
    board: Board,
    /// The chip is called when something shows, not when it is due.
    late: bool,
    /// How often it was called.
    calls: usize,
}

impl Rig {
    /// Link up, rings set up, 63 receive descriptors with buffers, extended descriptors, no interrupts enabled.
    fn new(signalling: Signalling) -> Self {
        let mut rig = Rig {
            chip: Chip::new(0, MAC),
            board: Board {
                now_ns: 0,
                memory: vec![0; MEMORY_BYTES],
                link: Link::new(Parameters::GEN1_X1),
                line: false,
                signalling,
                interrupts: Vec::new(),
                sent: Vec::new(),
            },
            late: false,
            calls: 0,
        };
        rig.run(NEGOTIATION_NS);
        rig.read(csr::ICR);
        for number in 0..RING_DESCRIPTORS {
            let buffer = u64::from(RX_BUFFERS + number * BUFFER_BYTES);
            rig.board
                .write(u64::from(RX_RING + 16 * number), &buffer.to_le_bytes());
        }
        for (queue, ring) in [(RX0, RX_RING), (TX0, TX_RING)] {
            rig.write(queue + csr::BASE_LOW, ring);
            rig.write(queue + csr::LENGTH, 16 * RING_DESCRIPTORS);
        }
        rig.write(
            csr::RFCTL,
            registers::offload::EXTENDED | registers::offload::ACK_DISABLE,
        );
        rig.write(csr::RCTL, rctl::EN | rctl::BAM | rctl::SECRC);
        rig.write(RX0 + csr::TAIL, RING_DESCRIPTORS - 1);
        rig.write(csr::TCTL, tctl::EN | tctl::PSP);
        rig
    }

    /// Before the processor or the line does something to the chip.
    fn catch_up(&mut self) {
        if self.late {
            self.chip.catch_up(self.board.now_ns, &mut self.board);
        }
    }

    fn write(&mut self, offset: u64, value: u32) {
        self.catch_up();
        let now_ns = self.board.now_ns;
        self.chip
            .write(now_ns, 0, offset, 4, value, &mut self.board);
    }

    fn read(&mut self, offset: u64) -> u32 {
        self.catch_up();
        let value = self.chip.read(self.board.now_ns, 0, offset, 4);
        self.chip.settle(self.board.now_ns, &mut self.board);
        value
    }

    /// Time passes, and the chip is called whenever it asks for it.
    fn run(&mut self, ns: u64) {
        let end_ns = self.board.now_ns + ns;
        loop {
            let due_ns = if self.late {
                self.chip.shows_ns()
            } else {
                self.chip.deadline_ns()
            };
            let Some(at_ns) = due_ns.filter(|at_ns| *at_ns <= end_ns) else {
                break;
            };
            self.board.now_ns = self.board.now_ns.max(at_ns);
            self.chip.advance(self.board.now_ns, &mut self.board);
            self.calls += 1;
        }
        self.board.now_ns = end_ns;
    }

    fn bytes(&mut self, address: u32, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.board.read(address.into(), &mut bytes);
        bytes
    }

    fn u32(&mut self, address: u32) -> u32 {
        u32::from_le_bytes(self.bytes(address, 4).try_into().unwrap_or_default())
    }

    /// Puts a descriptor into the transmit ring.
    fn put(&mut self, number: u32, address: u32, lower: u32, upper: u32) {
        let mut descriptor = u64::from(address).to_le_bytes().to_vec();
        descriptor.extend(lower.to_le_bytes());
        descriptor.extend(upper.to_le_bytes());
        self.board
            .write(u64::from(TX_RING + 16 * number), &descriptor);
    }

    /// Queues `count` legacy frames of `bytes` from descriptor `first` on.
    fn send(&mut self, first: u32, count: u32, bytes: u32, command: u32) {
        for number in first..first + count {
            self.put(
                number % RING_DESCRIPTORS,
                TX_BUFFER,
                command | txd::EOP | bytes,
                0,
            );
        }
        self.write(TX0 + csr::TAIL, (first + count) % RING_DESCRIPTORS);
    }

    fn done(&mut self, number: u32) -> bool {
        self.u32(TX_RING + 16 * number + 12) & 1 != 0
    }

    /// The status of a receive descriptor (extended).
    fn received(&mut self, number: u32) -> u32 {
        self.u32(RX_RING + 16 * number + 8)
    }

    fn arrive(&mut self, frame: &[u8]) -> bool {
        self.catch_up();
        let now_ns = self.board.now_ns;
        self.chip.receive(now_ns, frame, &mut self.board)
    }
}

fn frame(bytes: usize, number: u8) -> Vec<u8> {
    let mut frame = vec![number; bytes];
    frame[..6].copy_from_slice(&MAC);
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame
}

/// With the vectors and masks that e1000e sets up.
fn with_vectors() -> Rig {
    let mut rig = Rig::new(Signalling::Vectors);
    rig.write(csr::IVAR, 1 << 31 | 8 | 9 << 8 | 10 << 16);
    rig.write(csr::CTRL_EXT, ctrl_ext::EIAME);
    rig.write(csr::IAM, u32::MAX);
    rig.write(csr::EIAC, cause::RXQ0 | cause::TXQ0);
    rig.write(
        csr::IMS,
        cause::RXQ0 | cause::TXQ0 | cause::OTHER | cause::OTHERS,
    );
    rig
}

#[test]
fn a_frame_leaves_at_the_wires_rate_and_is_done_when_it_is_in_the_fifo() {
    let mut rig = Rig::new(Signalling::Pin);
    let begin_ns = rig.board.now_ns;
    rig.send(0, 8, 60, txd::RS);
    rig.run(100_000);
    let begins: Vec<u64> = rig.board.sent.iter().map(|(at_ns, _)| *at_ns).collect();
    assert_eq!(begins.len(), 8);
    // Descriptors: a request of 80 ns, 400 ns, and 128 bytes in two completions; then the data: 80, 400, and 80 bytes.
    assert_eq!(
        begins[0] - begin_ns,
        (80 + 400 + 168 * 4) + (80 + 400 + 80 * 4)
    );
    assert!(begins.windows(2).all(|pair| pair[1] - pair[0] == SLOT_NS));
    assert!((0..8).all(|number| rig.done(number)));
    assert_eq!(rig.read(TX0 + csr::HEAD), 8);
    assert_eq!(
        rig.read(csr::ICR) & (cause::TXDW | cause::TXQE),
        cause::TXDW | cause::TXQE
    );
}

#[test]
fn the_transmit_ring_fills_at_the_wires_rate() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.send(0, 63, 1_514, txd::RS);
    rig.run(400_000);
    let done = (0..63).filter(|number| rig.done(*number)).count();
    // What is done is in the FIFO of 20 KB, which takes 13 of them, or has left it. The link is faster than the wire by half.
    let left = rig.board.sent.len();
    let fill = rig.chip.transmit_fill(&mut rig.board) as usize;
    assert_eq!(fill, 63 - done);
    assert!((31..34).contains(&left), "{left}");
    assert!((left + 11..=left + 13).contains(&done), "{done}");
    rig.run(63 * 12_304);
    assert_eq!(rig.board.sent.len(), 63);
}

#[test]
fn without_a_link_nothing_leaves_until_it_is_back() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::CTRL, rig.chip.register(csr::CTRL) | ctrl::PHY_RST);
    rig.run(10);
    assert_eq!(
        rig.read(csr::STATUS) & (status::LU | status::PHYRA),
        status::PHYRA
    );
    assert_eq!(rig.read(csr::ICR) & cause::LSC, cause::LSC);
    rig.send(0, 2, 60, txd::RS);
    rig.run(NEGOTIATION_NS - 1_000_000);
    assert!(rig.board.sent.is_empty() && !rig.arrive(&frame(60, 1)));
    rig.run(2_000_000);
    assert_eq!(rig.board.sent.len(), 2);
    assert_eq!(rig.read(csr::STATUS) & status::LU, status::LU);
}

#[test]
fn a_frame_is_received() {
    let mut rig = Rig::new(Signalling::Pin);
    let sent = frame(100, 7);
    assert!(rig.arrive(&sent));
    // 16 bytes for each of 63 descriptors: 480 ns and 16 completions. The data, and the descriptor.
    let fetched_ns = 160 + 400 + (1_008 + 16 * 20) * 4;
    let stored_ns = fetched_ns + 120 * 4 + 150;
    rig.run(stored_ns + (36 * 4 + 150) - 1);
    assert_eq!(rig.received(0) & rxd::DD, 0);
    rig.run(1);
    assert_eq!(rig.received(0), rxd::DD | rxd::EOP | rxd::IXSM);
    assert_eq!(rig.bytes(RX_BUFFERS, 100), sent);
    assert_eq!(rig.u32(RX_RING + 12), 100);
    assert_eq!(rig.read(RX0 + csr::HEAD), 1);
    assert_eq!(rig.read(csr::ICR) & cause::RXT0, cause::RXT0);
}

#[test]
fn legacy_descriptors_and_the_fcs() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::RFCTL, 0);
    rig.write(csr::RCTL, rctl::EN);
    rig.arrive(&frame(60, 1));
    rig.run(10_000);
    let fcs = crc32fast::hash(&frame(60, 1)).to_le_bytes();
    assert_eq!(rig.bytes(RX_BUFFERS + 60, 4), fcs);
    let descriptor = rig.bytes(RX_RING, 16);
    assert_eq!(descriptor[..4], RX_BUFFERS.to_le_bytes());
    assert_eq!(descriptor[8..10], [64, 0]);
    assert_eq!(
        descriptor[12..],
        [(rxd::DD | rxd::EOP | rxd::IXSM) as u8, 0, 0, 0]
    );
}

#[test]
fn a_long_frame_takes_several_buffers() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::RCTL, rctl::EN | rctl::LPE | rctl::SECRC);
    rig.arrive(&frame(5_000, 3));
    rig.run(100_000);
    let lengths: Vec<u32> = (0..3).map(|n| rig.u32(RX_RING + 16 * n + 12)).collect();
    assert_eq!(lengths, [2_048, 2_048, 904]);
    let ends: Vec<u32> = (0..3).map(|n| rig.received(n) & rxd::EOP).collect();
    assert_eq!(ends, [0, 0, rxd::EOP]);
}

#[test]
fn without_long_frames_1522_bytes_are_the_most() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::RCTL, rctl::EN | rctl::SECRC);
    rig.arrive(&frame(1_518, 1));
    rig.arrive(&frame(1_519, 2));
    rig.run(100_000);
    let taken: Vec<u32> = (0..2).map(|n| rig.received(n) & rxd::DD).collect();
    assert_eq!(taken, [rxd::DD, 0]);
    assert_eq!(rig.read(Counter::Oversized as u64), 1);
}

#[test]
fn a_packet_is_split_into_header_and_data() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::PSRCTL, 2 | 4 << 8 | 4 << 16);
    rig.write(
        csr::RCTL,
        rctl::EN | rctl::LPE | rctl::SECRC | rctl::PACKET_SPLIT | rctl::UPE,
    );
    for (part, address) in [0x4_0000_u64, 0x5_0000, 0x6_0000, 0].iter().enumerate() {
        rig.board
            .write(u64::from(RX_RING) + 8 * part as u64, &address.to_le_bytes());
    }
    let mut payload = vec![0; 20];
    payload[12] = 0x50;
    payload.extend((0..5_000).map(|n| (n % 251) as u8));
    let packet = headers::tests::ipv4(headers::TCP, &payload);
    rig.arrive(&packet);
    rig.run(100_000);
    assert_eq!(rig.bytes(0x4_0000, 54), packet[..54]);
    assert_eq!(rig.bytes(0x5_0000, 4_096), packet[54..4_150]);
    assert_eq!(rig.bytes(0x6_0000, 904), packet[4_150..]);
    let descriptor = rig.bytes(RX_RING, 32);
    assert_eq!(descriptor[12..14], [54, 0]);
    assert_eq!(descriptor[16..18], [54, 0x80]);
    assert_eq!(descriptor[18..22], [0, 0x10, 0x88, 0x03]);
    assert_eq!(rig.read(RX0 + csr::HEAD), 2);
}

#[test]
fn checksums_are_checked() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::RCTL, rctl::EN | rctl::UPE | rctl::SECRC);
    let mut good = headers::tests::ipv4(headers::UDP, &[1; 40]);
    let ip = headers::find_ip(&good).unwrap_or_else(|| unreachable!());
    ip.fill_header(&mut good);
    ip.fill_payload(&mut good);
    let mut bad = good.clone();
    bad[50] ^= 1;
    bad[22] ^= 1; // the time to live
    for packet in [&good, &bad] {
        rig.arrive(packet);
    }
    rig.run(20_000);
    let found = rxd::TCPCS | rxd::UDPCS | rxd::IPCS;
    let done = rxd::DD | rxd::EOP;
    assert_eq!(rig.received(0), done | found);
    assert_eq!(rig.received(1), done | found | rxd::TCPE | rxd::IPE);
}

#[test]
fn tags_are_stripped_and_inserted() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::CTRL, rig.chip.register(csr::CTRL) | ctrl::VME);
    let mut tagged = frame(64, 5);
    tagged[12..16].copy_from_slice(&[0x81, 0, 0x20, 0x64]);
    rig.arrive(&tagged);
    rig.run(10_000);
    assert_eq!(rig.received(0) & rxd::VP, rxd::VP);
    assert_eq!(rig.u32(RX_RING + 12), 0x2064 << 16 | 60);
    rig.board.write(TX_BUFFER.into(), &frame(60, 6));
    rig.put(0, TX_BUFFER, 60 | txd::EOP | txd::VLE, 0x0123 << 16);
    rig.write(TX0 + csr::TAIL, 1);
    rig.run(10_000);
    let (_, sent) = &rig.board.sent[0];
    assert_eq!(
        (sent.len(), &sent[12..18]),
        (64, &[0x81, 0, 0x01, 0x23, 0x88, 0xb5][..])
    );
}

#[test]
fn filters() {
    let mut rig = Rig::new(Signalling::Pin);
    let to = |destination: [u8; 6]| {
        let mut frame = frame(60, 1);
        frame[..6].copy_from_slice(&destination);
        frame
    };
    let group = [0x01, 0, 0x5e, 0, 0, 1];
    let taken = |rig: &mut Rig, destination| {
        let before = rig.chip.statistics.get(Counter::ReceivedGood);
        rig.arrive(&to(destination));
        rig.run(10_000);
        rig.chip.statistics.get(Counter::ReceivedGood) > before
    };
    assert!(taken(&mut rig, MAC) && taken(&mut rig, [0xff; 6]));
    assert!(!taken(&mut rig, group) && !taken(&mut rig, [2; 6]));
    // The upper 12 of the last 16 bits: 0x010.
    rig.write(csr::MTA, 1 << 16);
    assert!(taken(&mut rig, group));
    rig.write(csr::RAL + 8, u32::from_le_bytes([2; 4]));
    rig.write(csr::RAL + 12, RAH_VALID | 0x0202);
    assert!(taken(&mut rig, [2; 6]));
    rig.write(csr::RCTL, rctl::EN | rctl::UPE);
    assert!(taken(&mut rig, [4; 6]) && !taken(&mut rig, [0xff; 6]));
}

#[test]
fn two_queues_share_the_frames() {
    let mut rig = Rig::new(Signalling::Vectors);
    rig.write(RX1 + csr::BASE_LOW, RX_RING + 0x800);
    rig.write(RX1 + csr::LENGTH, 16 * 8);
    rig.write(RX1 + csr::TAIL, 7);
    rig.write(csr::RCTL, rctl::EN | rctl::UPE | rctl::SECRC);
    rig.write(csr::RXCSUM, registers::offload::PCSD);
    rig.write(csr::MRQC, mrqc::TWO_QUEUES | mrqc::IPV4);
    for at in 0..10 {
        rig.write(csr::RSSRK + 4 * at, 0x6d5a_56da ^ at as u32);
    }
    let packet = headers::tests::ipv4(headers::UDP, &[1; 40]);
    rig.arrive(&packet);
    rig.run(10_000);
    let hash = rig.u32(RX_RING + 4);
    assert_eq!((rig.u32(RX_RING) & 0xf, hash != 0), (2, true));
    let entry = csr::RETA + u64::from(hash & 0x7c);
    rig.write(entry, 0x80 << (8 * (hash & 3)));
    rig.arrive(&packet);
    rig.run(10_000);
    assert_eq!(
        (rig.read(RX0 + csr::HEAD), rig.read(RX1 + csr::HEAD)),
        (1, 1)
    );
    assert_eq!(
        rig.read(csr::ICS) & (cause::RXQ0 | cause::RXQ1),
        cause::RXQ0 | cause::RXQ1
    );
}

#[test]
fn frames_wait_for_descriptors_in_the_fifo_until_it_overflows() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::PBA, 2);
    rig.write(RX0 + csr::TAIL, 0);
    let taken = (0..6).filter(|_| rig.arrive(&frame(500, 1))).count();
    assert_eq!(taken, 4, "2,048 / 504");
    assert_eq!(rig.read(csr::ICR) & cause::RXO, cause::RXO);
    assert_eq!(
        (rig.read(0x4010), rig.read(0x40a0), rig.read(0x4124)),
        (2, 1, 2)
    );
    rig.write(RX0 + csr::TAIL, 10);
    rig.run(50_000);
    assert_eq!(rig.read(RX0 + csr::HEAD), 4);
}

#[test]
fn flow_control_pauses_both_ways() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(
        csr::CTRL,
        rig.chip.register(csr::CTRL) | ctrl::RFCE | ctrl::TFCE,
    );
    rig.write(csr::FCRTH, 1_000);
    rig.write(csr::FCRTL, 500 | 1 << 31);
    rig.write(csr::FCTTV, 0x1234);
    rig.write(RX0 + csr::TAIL, 0);
    rig.arrive(&frame(600, 1));
    rig.run(10_000);
    assert!(rig.board.sent.is_empty());
    rig.arrive(&frame(600, 1));
    rig.run(10_000);
    rig.write(RX0 + csr::TAIL, 10);
    rig.run(100_000);
    let quanta: Vec<_> = rig
        .board
        .sent
        .iter()
        .map(|(_, one)| one[12..18].to_vec())
        .collect();
    assert_eq!(
        quanta,
        [[0x88, 0x08, 0, 1, 0x12, 0x34], [0x88, 0x08, 0, 1, 0, 0]]
    );
    // The partner asks for two quanta: 1,024 bit times.
    let mut pause = rig.board.sent[0].1.clone();
    pause[16..18].copy_from_slice(&[0, 2]);
    rig.board.sent.clear();
    let now_ns = rig.board.now_ns;
    rig.arrive(&pause);
    rig.send(0, 1, 60, txd::RS);
    rig.run(100_000);
    assert!(rig.board.sent[0].0 >= now_ns + 1_024);
    assert_eq!([0x4054, 0x404c, 0x4050].map(|at| rig.read(at)), [1, 1, 1]);
    assert_eq!(
        rig.read(RX0 + csr::HEAD),
        2,
        "pause frames are not passed on"
    );
}

#[test]
fn the_delay_timers_gather_descriptors() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(RX0 + csr::DESCRIPTOR_CONTROL, 1 << 24 | 4 << 16);
    rig.write(csr::RDTR, 10);
    rig.write(csr::RADV, 15);
    rig.write(csr::IMS, cause::RXT0);
    rig.arrive(&frame(60, 0));
    rig.run(8_000);
    assert_eq!(rig.received(0) & rxd::DD, 0, "not written back yet");
    rig.arrive(&frame(60, 1));
    rig.run(8_000);
    assert!(
        rig.board.interrupts.is_empty(),
        "the second frame restarts the timer"
    );
    let first_ns = rig.board.now_ns;
    rig.arrive(&frame(60, 2));
    rig.run(10_000);
    let (at_ns, _) = rig.board.interrupts[0];
    // The absolute timer, which the first frame has started.
    assert!((first_ns..first_ns + 8_000).contains(&at_ns), "{at_ns}");
    assert!((0..3).all(|n| rig.received(n) & rxd::DD != 0));
    assert_eq!((rig.read(0x4108), rig.read(0x4104)), (1, 0));
    // Four at once are written back, without an interrupt yet.
    rig.read(csr::ICR);
    rig.board.interrupts.clear();
    for number in 3..7 {
        rig.arrive(&frame(60, number));
    }
    rig.run(5_000);
    assert_eq!(rig.read(RX0 + csr::HEAD), 7);
    assert!(rig.board.interrupts.is_empty());
    rig.run(10_000);
    assert_eq!(rig.board.interrupts.len(), 1);
}

#[test]
fn a_transmit_delay_counts_from_the_last_frame() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::TIDV, 8);
    rig.write(csr::IMS, cause::TXDW);
    rig.send(0, 1, 60, txd::RS | txd::IDE);
    rig.run(5_000);
    rig.send(1, 1, 60, txd::RS | txd::IDE);
    let second_ns = rig.board.now_ns;
    assert!(rig.done(0), "the descriptor itself is not delayed");
    rig.run(20_000);
    let (at_ns, _) = rig.board.interrupts[0];
    assert_eq!(rig.board.interrupts.len(), 1);
    let delay_ns = at_ns - second_ns;
    assert!(
        (8 * 1_024..8 * 1_024 + 2_000).contains(&delay_ns),
        "{delay_ns}"
    );
}

#[test]
fn reading_the_cause_clears_and_masks() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::CTRL_EXT, ctrl_ext::IAME);
    rig.write(csr::IAM, cause::RXT0);
    rig.write(csr::IMS, cause::RXT0 | cause::LSC);
    rig.write(csr::ICS, cause::TXDW);
    assert_eq!(rig.read(csr::ICR), cause::TXDW, "nothing was asserted");
    assert_eq!(rig.read(csr::ICR), cause::TXDW, "so it is not cleared");
    rig.write(csr::ICS, cause::RXT0);
    assert!(rig.board.line);
    assert_eq!(
        rig.read(csr::ICR),
        cause::ASSERTED | cause::RXT0 | cause::TXDW
    );
    assert!(!rig.board.line);
    assert_eq!((rig.read(csr::ICR), rig.read(csr::IMS)), (0, cause::LSC));
    rig.write(csr::ICS, cause::LSC | cause::RXT0);
    rig.write(csr::ICR, cause::LSC);
    assert_eq!(rig.read(csr::ICS) & !cause::ASSERTED, cause::RXT0);
}

#[test]
fn the_line_rises_no_sooner_than_the_interval_allows() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::ITR, 100);
    rig.write(csr::IMS, cause::RXT0);
    let begin_ns = rig.board.now_ns;
    for _ in 0..1_000 {
        rig.write(csr::ICS, cause::RXT0);
        rig.run(100);
        if rig.board.line {
            rig.read(csr::ICR);
        }
    }
    let at: Vec<u64> = rig
        .board
        .interrupts
        .iter()
        .map(|(at_ns, _)| at_ns - begin_ns)
        .collect();
    assert_eq!(at, [0, 25_600, 51_200, 76_800]);
}

#[test]
fn messages_are_cleared_and_masked_by_themselves() {
    let mut rig = with_vectors();
    rig.arrive(&frame(60, 1));
    rig.run(10_000);
    assert_eq!(rig.board.interrupts.len(), 1);
    assert_eq!(rig.board.interrupts[0].1, 0);
    assert_eq!(
        rig.read(csr::IMS) & (cause::RXQ0 | cause::TXQ0),
        cause::TXQ0
    );
    rig.arrive(&frame(60, 2));
    rig.run(10_000);
    assert_eq!(rig.board.interrupts.len(), 1, "masked");
    rig.write(csr::IMS, cause::RXQ0);
    assert_eq!(rig.board.interrupts.len(), 2, "it was pending");
    rig.write(csr::IMS, cause::RXQ0);
    rig.run(10_000);
    assert_eq!(rig.board.interrupts.len(), 2, "and is cleared");
    rig.send(0, 1, 60, txd::RS);
    rig.run(10_000);
    assert_eq!(rig.board.interrupts[2].1, 1);
}

#[test]
fn other_causes_have_a_vector_and_stay_until_they_are_read() {
    let mut rig = with_vectors();
    rig.write(csr::CTRL, rig.chip.register(csr::CTRL) & !ctrl::SLU);
    assert_eq!(
        rig.board.interrupts.last().map(|(_, vector)| *vector),
        Some(2)
    );
    assert_eq!(rig.read(csr::IMS) & cause::OTHER, 0, "masked by itself");
    assert_eq!(
        rig.read(csr::ICR) & (cause::LSC | cause::OTHER),
        cause::LSC | cause::OTHER
    );
    rig.write(csr::IMS, cause::OTHER);
    rig.run(10_000);
    assert_eq!(rig.board.interrupts.len(), 1);
}

#[test]
fn another_cause_takes_that_of_a_frame_with_it_if_the_driver_does_not_set_it_again() {
    let mut rig = with_vectors();
    rig.write(csr::IMC, cause::RXQ0);
    rig.arrive(&frame(60, 1));
    rig.run(10_000);
    assert!(rig.board.interrupts.is_empty(), "masked");
    rig.chip
        .interrupt_otherwise(rig.board.now_ns, &mut rig.board);
    assert_eq!(rig.board.interrupts.last().map(|one| one.1), Some(2));
    let causes = rig.read(csr::ICR);
    assert_ne!(causes & cause::LSC, 0);
    assert_ne!(causes & cause::RXQ0, 0);
    assert_ne!(rig.read(csr::STATUS) & status::LU, 0, "the link is up");
    rig.write(csr::IMS, cause::RXQ0 | cause::OTHER);
    rig.run(10_000);
    assert_eq!(rig.board.interrupts.len(), 1, "the frame waits");
    rig.write(csr::ICS, causes & cause::RXQ0);
    assert_eq!(rig.board.interrupts.last().map(|one| one.1), Some(0));
}

#[test]
fn each_vector_has_an_interval_of_its_own() {
    let mut rig = with_vectors();
    rig.write(csr::EITR, 195); // 20,000 a second
    let begin_ns = rig.board.now_ns;
    for number in 0..2_000 {
        rig.arrive(&frame(60, number as u8));
        rig.run(700);
        rig.write(csr::IMS, cause::RXQ0);
        let head = rig.read(RX0 + csr::HEAD);
        rig.write(
            RX0 + csr::TAIL,
            (head + RING_DESCRIPTORS - 1) % RING_DESCRIPTORS,
        );
    }
    let at: Vec<u64> = rig
        .board
        .interrupts
        .iter()
        .map(|(at_ns, _)| *at_ns)
        .collect();
    assert!(at[0] - begin_ns < 10_000);
    assert_eq!(
        at.len() as u64,
        (rig.board.now_ns - at[0]) / (195 * 256) + 1
    );
    assert!(at.windows(2).all(|pair| pair[1] - pair[0] == 195 * 256));
    // Another vector is not held up by it.
    rig.send(0, 1, 60, txd::RS);
    rig.run(3_000);
    assert_eq!(
        rig.board.interrupts.last().map(|(_, vector)| *vector),
        Some(1)
    );
}

#[test]
fn a_large_packet_is_cut_into_segments() {
    let mut rig = Rig::new(Signalling::Pin);
    let mut payload = vec![0; 20];
    payload[4..8].copy_from_slice(&7_u32.to_be_bytes());
    (payload[12], payload[13]) = (0x50, 0x19); // FIN, PSH, ACK
    payload.extend((0..4_000).map(|n| (n % 253) as u8));
    let mut packet = headers::tests::ipv4(headers::TCP, &payload);
    headers::set_word(&mut packet, 16, 0);
    // As Linux does: the pseudo header without a length, not inverted.
    let pseudo = headers::sum(&packet[26..34]) + u32::from(headers::TCP);
    headers::set_word(&mut packet, 50, headers::fold(pseudo));
    rig.board.write(TX_BUFFER.into(), &packet);
    let context = txd::DEXT | txd::TSE | txd::TCP | txd::IPV4;
    rig.put(0, 0, context | 4_000, 1_448 << 16 | 54 << 8);
    let mut offsets = vec![14, 24, 33, 0, 34, 50, 0, 0];
    offsets.truncate(8);
    rig.board.write(TX_RING.into(), &offsets);
    let data = txd::DEXT | 1 << txd::TYPE_SHIFT | txd::TSE;
    rig.put(1, TX_BUFFER, data | 1_000, 3 << 8);
    rig.put(
        2,
        TX_BUFFER + 1_000,
        data | txd::EOP | txd::RS | 3_054,
        3 << 8,
    );
    rig.write(TX0 + csr::TAIL, 3);
    rig.run(100_000);
    let mut expected = packet.clone();
    headers::set_word(&mut expected, 16, 4_040);
    let expected = headers::segment(&expected, 1_448).unwrap_or_default();
    let sent: Vec<_> = rig
        .board
        .sent
        .iter()
        .map(|(_, frame)| frame.clone())
        .collect();
    assert_eq!(sent.len(), 3);
    assert_eq!(sent, expected);
    assert!(rig.done(2) && !rig.done(1));
    assert_eq!(rig.read(TX0 + csr::HEAD), 3);
    assert_eq!(rig.read(0x40f8), 1);
}

#[test]
fn checksums_are_inserted_where_the_context_says() {
    let mut rig = Rig::new(Signalling::Pin);
    let mut packet = headers::tests::ipv4(headers::UDP, &[9; 30]);
    let ip = headers::find_ip(&packet).unwrap_or_else(|| unreachable!());
    ip.fill_header(&mut packet);
    let pseudo = headers::sum(&packet[26..34]) + u32::from(headers::UDP) + 30;
    headers::set_word(&mut packet, 40, headers::fold(pseudo));
    rig.board.write(TX_BUFFER.into(), &packet);
    rig.put(0, 0, txd::DEXT, 0);
    rig.board.write(TX_RING.into(), &[0, 0, 0, 0, 34, 40, 0, 0]);
    let data = txd::DEXT | 1 << txd::TYPE_SHIFT | txd::EOP | txd::RS;
    rig.put(1, TX_BUFFER, data | packet.len() as u32, 2 << 8);
    rig.write(TX0 + csr::TAIL, 2);
    rig.run(10_000);
    let (_, sent) = &rig.board.sent[0];
    assert!(ip.payload_is_right(sent));
}

#[test]
fn frames_come_back_in_loopback() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::RCTL, rctl::EN | rctl::UPE | rctl::SECRC | 1 << 6);
    rig.board.write(TX_BUFFER.into(), &frame(1_000, 8));
    rig.send(0, 1, 1_000, txd::RS);
    rig.run(30_000);
    assert_eq!(rig.bytes(RX_BUFFERS, 1_000), frame(1_000, 8));
    assert!(rig.board.sent.is_empty());
}

#[test]
fn the_semaphore_is_taken_by_reading_it() {
    let mut rig = Rig::new(Signalling::Pin);
    assert_eq!([0, 1].map(|_| rig.read(csr::SWSM) & SWSM_SMBI), [0, 1]);
    rig.write(csr::SWSM, 0);
    assert_eq!(rig.read(csr::SWSM) & SWSM_SMBI, 0);
}

#[test]
fn time_goes_by_in_steps_of_40_ns() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::TIMINCA, 1 << 24 | 40 << 18);
    rig.write(csr::SYSTIML, 0);
    rig.write(csr::SYSTIMH, 0);
    rig.run(1_000_019);
    let (low, high) = (rig.read(csr::SYSTIML), rig.read(csr::SYSTIMH));
    assert_eq!((u64::from(high) << 32 | u64::from(low)) >> 18, 1_000_000);
}

#[test]
fn a_reset_leaves_phy_and_address() {
    let mut rig = Rig::new(Signalling::Pin);
    rig.write(csr::IMS, cause::RXT0);
    rig.write(csr::ICS, cause::RXT0);
    assert!(rig.board.line);
    rig.write(csr::CTRL, ctrl::RST);
    assert!(!rig.board.line);
    assert_eq!(rig.read(csr::IMS), 0);
    assert_eq!(rig.read(csr::RAL), u32::from_le_bytes([0x52, 0x54, 0, 0]));
    assert_eq!(rig.read(csr::STATUS) & status::LU, status::LU);
}

#[test]
fn registers_can_be_reached_through_ports() {
    let mut rig = Rig::new(Signalling::Pin);
    let Rig { chip, board, .. } = &mut rig;
    chip.write(board.now_ns, PORTS, IOADDR, 4, csr::VET as u32, board);
    assert_eq!(chip.read(board.now_ns, PORTS, IODATA, 4), 0x8100);
    chip.write(board.now_ns, PORTS, IODATA, 4, 0x9100, board);
    assert_eq!(rig.read(csr::VET), 0x9100);
}

#[test]
fn a_restored_chip_goes_on_like_the_other() {
    let mut rig = with_vectors();
    rig.write(csr::RDTR, 20);
    for number in 0..5 {
        rig.arrive(&frame(200, number));
    }
    rig.send(0, 20, 1_000, txd::RS | txd::IDE);
    rig.run(3_000);
    let mut other = Rig::new(Signalling::Vectors);
    other.chip.restore(&rig.chip.state().unwrap()).unwrap();
    other.board.memory.clone_from(&rig.board.memory);
    other.board.link = rig.board.link.clone();
    other.board.now_ns = rig.board.now_ns;
    let (before, sent) = (rig.board.interrupts.len(), rig.board.sent.len());
    other.board.interrupts.clear();
    for rig in [&mut rig, &mut other] {
        rig.run(1_000_000);
    }
    assert_eq!(rig.board.interrupts[before..], other.board.interrupts);
    assert_eq!(rig.board.sent[sent..], other.board.sent);
    assert_eq!(rig.chip.state(), other.chip.state());
}

/// What waits until it shows comes out as if it had been done in time: values of registers, interrupts, frames, memory.
#[test]
fn what_does_not_show_can_wait() {
    let outcomes = [false, true].map(|late| {
        let mut rig = with_vectors();
        rig.late = late;
        rig.write(RX0 + csr::DESCRIPTOR_CONTROL, 1 << 24 | 4 << 16);
        rig.write(TX0 + csr::DESCRIPTOR_CONTROL, 1 << 24 | 5 << 16);
        rig.write(csr::RADV, 32);
        rig.write(csr::TADV, 32);
        let mut rng = seeded(1, Purpose::Damage, 0, 0);
        let (mut queued, mut seen) = (0, Vec::new());
        for step in 0..4_000 {
            let mut pick = |count| below(rng.next_u64(), count);
            match pick(8) {
                0..4 => drop(rig.arrive(&frame(60 + pick(1_400) as usize, step as u8))),
                4 => {
                    let count = pick(4) as u32;
                    rig.send(queued, count, 60 + pick(1_400) as u32, txd::RS | txd::IDE);
                    queued = (queued + count) % RING_DESCRIPTORS;
                }
                5 => {
                    let first = rig.read(RX0 + csr::HEAD) + RING_DESCRIPTORS - 1;
                    rig.write(RX0 + csr::TAIL, first % RING_DESCRIPTORS);
                    rig.write(csr::IMS, cause::RXQ0 | cause::TXQ0 | cause::OTHER);
                }
                6 => {
                    let at = [
                        TX0 + csr::HEAD,
                        csr::ICS,
                        csr::STATISTICS,
                        csr::STATISTICS + 0x74,
                    ];
                    seen.push(rig.read(at[pick(4) as usize]));
                }
                _ if step % 16 == 0 => {
                    rig.write(csr::RDTR, [0, 20, 32, 32 | FLUSH][pick(4) as usize]);
                    rig.write(csr::TIDV, [0, 8, 8, 8 | FLUSH][pick(4) as usize]);
                }
                _ => {}
            }
            rig.run(pick(12_000));
        }
        rig.run(1_000_000);
        let Rig {
            chip, board, calls, ..
        } = rig;
        (
            calls,
            (
                seen,
                board.interrupts,
                board.sent,
                board.memory,
                chip.state(),
            ),
        )
    });
    let [(exact_calls, exact), (late_calls, late)] = outcomes;
    assert!(exact == late, "the outcome differs");
    assert!(
        late_calls * 5 < exact_calls * 4,
        "{late_calls} of {exact_calls}"
    );
}

/// Whatever a driver writes, the chip neither panics nor works for ever.
#[test]
fn survives_a_wild_driver() {
    for seed in 0..12 {
        let mut rng = seeded(seed, Purpose::Damage, 0, 0);
        let signalling = [Signalling::Pin, Signalling::Message, Signalling::Vectors];
        let mut rig = Rig::new(signalling[seed as usize % 3]);
        for _ in 0..300 {
            let mut pick = |count| below(rng.next_u64(), count);
            let offset = match pick(6) {
                0 => csr::RX_QUEUES + 4 * pick(0x80),
                1 => csr::TX_QUEUES + 4 * pick(0x80),
                2 => 4 * pick(0x50),
                3 => csr::RCTL,
                4 => [
                    csr::TIDV,
                    csr::RDTR,
                    csr::PSRCTL,
                    csr::PBA,
                    csr::TCTL,
                    csr::RFCTL,
                ][pick(6) as usize],
                _ => 4 * pick(csr::BYTES / 4),
            };
            let value = match pick(3) {
                0 => pick(128) as u32,
                1 => 1 << pick(32),
                _ => pick(1 << 32) as u32,
            };
            let at = pick(MEMORY_BYTES as u64) as usize;
            rng.fill_bytes(&mut rig.board.memory[at..(at + 256).min(MEMORY_BYTES)]);
            rig.write(offset, value);
            rig.read(offset);
            if below(rng.next_u64(), 2) == 0 {
                let bytes = 60 + below(rng.next_u64(), 9_000) as usize;
                rig.arrive(&frame(bytes, 0xff));
            }
            rig.run(below(rng.next_u64(), 20_000));
        }
    }
}

#[test]
fn a_frame_with_a_wrong_fcs_counts_and_a_pulled_cable_interrupts() {
    let mut rig = Rig::new(Signalling::Pin);
    let (now_ns, bad) = (rig.board.now_ns, frame(60, 1));
    rig.chip.receive_damaged(now_ns, &bad, &mut rig.board);
    rig.chip
        .receive_damaged(now_ns, &frame(59, 1), &mut rig.board);
    rig.run(1_000_000);
    assert_eq!(rig.read(Counter::CrcErrors as u64), 1);
    assert_eq!(rig.received(0) & 1, 0, "it is not stored");
    for plugged in [false, true] {
        rig.read(csr::ICR);
        let now_ns = rig.board.now_ns;
        rig.chip.plug_cable(now_ns, plugged, &mut rig.board);
        rig.run(NEGOTIATION_NS);
        assert_ne!(rig.read(csr::ICR) & cause::LSC, 0);
        assert_eq!(rig.arrive(&frame(60, 2)), plugged);
    }
}
