// SPDX-License-Identifier: GPL-2.0-or-later
//! Register scripts: the chip with a memory, a bus and a wire, driven as Linux's drivers drive it.

use rand_core::RngCore;

use super::receive::RETRY_NS;
use super::registers::{descriptor, rx, tx};
use super::*;
use crate::offload::find_ip;
use crate::offload::tests::ipv4;
use crate::pci::board::Board;
use crate::pci::phy::NEGOTIATION_NS;
use crate::rng::{Purpose, below, seeded};

const MAC: [u8; 6] = [0x52, 0x54, 0, 0, 0, 1];
/// Where the rings and buffers lie.
const RX_RING: u32 = 0x1000;
const TX_RING: u32 = 0x2000;
const HIGH_RING: u32 = 0x3000;
const DUMP: u32 = 0x4000;
const RX_BUFFERS: u32 = 0x1_0000;
const TX_BUFFERS: u32 = 0x4_0000;
const BUFFER_BYTES: u32 = 2048;
/// On the wire with preamble and gap: a frame of 64 bytes.
const SLOT_NS: u64 = 6_720;
const ALL: u32 = cause::ALL as u32;

struct Rig {
    chip: Chip,
    board: Board,
}

impl Rig {
    /// Set up as 8139cp does it: link up, rings in place, nothing in them, no cause masked.
    fn new() -> Self {
        Rig::with(Errata::default())
    }

    fn with(errata: Errata) -> Self {
        let mut rig = Rig {
            chip: Chip::new(0, MAC, errata),
            board: Board::default(),
        };
        rig.run(NEGOTIATION_NS);
        rig.set_up();
        rig
    }

    fn set_up(&mut self) {
        self.write(reg::CR, 1, cr::RST.into());
        assert_eq!(self.read(reg::CR, 1) & u32::from(cr::RST), 0);
        self.write(
            reg::CPCR,
            2,
            (cpcr::RX | cpcr::TX | cpcr::RX_CHECKSUM).into(),
        );
        self.write(reg::THPDS, 4, HIGH_RING);
        self.write(reg::RDSAR, 4, RX_RING);
        self.write(reg::TNPDS, 4, TX_RING);
        self.write(reg::CR, 1, (cr::RE | cr::TE).into());
        self.write(reg::ETTHR, 1, 6);
        self.write(reg::TCR, 4, 0x0300_0600);
        self.write(reg::RCR, 4, 0xa40e);
        self.write(reg::IMR, 2, ALL);
    }

    fn write(&mut self, offset: u64, bytes: usize, value: u32) {
        let now_ns = self.board.now_ns;
        self.chip
            .write(now_ns, 1, offset, bytes, value, &mut self.board);
    }

    fn read(&mut self, offset: u64, bytes: usize) -> u32 {
        self.chip.read(self.board.now_ns, 1, offset, bytes)
    }

    fn run(&mut self, ns: u64) {
        self.board.run(&mut self.chip, ns);
    }

    fn put(&mut self, address: u32, bytes: &[u8]) {
        self.board.write(address.into(), bytes);
    }

    fn descriptor(&mut self, ring: u32, index: u32, opts1: u32, opts2: u32, buffer: u32) {
        let words = [opts1, opts2, buffer, 0].map(u32::to_le_bytes).concat();
        self.put(ring + index * descriptor::BYTES as u32, &words);
    }

    fn opts1(&mut self, ring: u32, index: u32) -> u32 {
        self.board.u32(ring + index * descriptor::BYTES as u32)
    }

    /// A packet in one buffer.
    fn give(&mut self, index: u32, bytes: u32) {
        let buffer = TX_BUFFERS + index * BUFFER_BYTES;
        self.put(buffer, &vec![index as u8; bytes as usize]);
        let whole = descriptor::OWN | descriptor::FS | descriptor::LS | bytes;
        self.descriptor(TX_RING, index, whole, 0, buffer);
    }

    /// A packet with this content and these bits.
    fn give_frame(&mut self, index: u32, frame: &[u8], bits: u32, opts2: u32) {
        let buffer = TX_BUFFERS + index * BUFFER_BYTES;
        self.put(buffer, frame);
        let whole = descriptor::OWN | descriptor::FS | descriptor::LS | frame.len() as u32;
        self.descriptor(TX_RING, index, whole | bits, opts2, buffer);
    }

    fn poll(&mut self) {
        self.write(reg::TPPOLL, 1, tppoll::NORMAL.into());
    }

    fn done(&mut self, index: u32) -> bool {
        self.opts1(TX_RING, index) & descriptor::OWN == 0
    }

    /// Buffers for `count` packets, the last one with EOR.
    fn listen(&mut self, count: u32, size: u32) {
        for index in 0..count {
            let last = if index + 1 == count {
                descriptor::EOR
            } else {
                0
            };
            let buffer = RX_BUFFERS + index * BUFFER_BYTES;
            self.descriptor(RX_RING, index, descriptor::OWN | last | size, 0, buffer);
        }
    }

    fn arrive(&mut self, bytes: usize) -> bool {
        let mut frame = vec![7; bytes];
        frame[..6].copy_from_slice(&MAC);
        self.arrive_frame(&frame)
    }

    fn arrive_frame(&mut self, frame: &[u8]) -> bool {
        self.chip.receive(self.board.now_ns, frame, &mut self.board)
    }

    fn causes(&mut self) -> u16 {
        self.read(reg::ISR, 2) as u16
    }
}

#[test]
fn a_descriptor_is_given_back_when_its_frame_is_out() {
    let mut rig = Rig::new();
    rig.give(0, 60);
    let start_ns = rig.board.now_ns;
    rig.poll();
    assert_eq!(rig.read(reg::TPPOLL, 1), u32::from(tppoll::NORMAL));
    // The descriptor; the frame; preamble and frame on the wire; the status.
    let in_fifo_ns = (16 + 12 + 15) * 30;
    let end_ns = in_fifo_ns + (8 + 64) * 80;
    rig.run(end_ns + 7 * 30 - 1);
    assert_eq!(rig.board.sent.len(), 1);
    assert_eq!(rig.board.sent[0].0, start_ns + in_fifo_ns);
    assert!(!rig.done(0));
    rig.run(1);
    assert!(rig.done(0));
    assert_eq!(rig.board.interrupts, [start_ns + end_ns + 7 * 30]);
    assert_eq!(rig.causes(), cause::TOK | cause::TDU);
    assert_eq!(rig.read(reg::TPPOLL, 1), 0);
}

#[test]
fn a_poll_of_an_empty_ring_ends_at_once() {
    let mut rig = Rig::new();
    rig.poll();
    assert_eq!(rig.causes(), cause::TDU);
    assert_eq!(rig.read(reg::TPPOLL, 1), 0);
}

#[test]
fn the_fifo_holds_2_kb_and_the_ring_waits_for_the_wire() {
    let mut rig = Rig::new();
    for index in 0..64 {
        rig.give(index, 60);
    }
    rig.poll();
    rig.run(100_000);
    // 14 have left; 34 frames of 60 bytes fit.
    let done = (0..64).filter(|index| rig.done(*index)).count();
    assert_eq!((rig.board.sent.len(), done), (15, 14));
    assert_eq!(rig.chip.transmit_fill(&mut rig.board), 64 - 14);
    rig.run(64 * SLOT_NS);
    let begins: Vec<u64> = rig.board.sent.iter().map(|(at_ns, _)| *at_ns).collect();
    assert!(begins.windows(2).all(|pair| pair[1] - pair[0] == SLOT_NS));
    assert_eq!((begins.len(), rig.chip.tally.tx_ok), (64, 64));
}

#[test]
fn the_ring_ends_at_eor_and_after_64() {
    let mut rig = Rig::new();
    for round in 0..3 {
        for index in 0..5 {
            rig.give(index, 60);
        }
        let last = rig.opts1(TX_RING, 4) | descriptor::EOR;
        rig.put(TX_RING + 4 * 16, &last.to_le_bytes());
        rig.poll();
        rig.run(10 * SLOT_NS);
        assert_eq!(rig.board.sent.len(), 5 * (round + 1));
        assert_ne!(rig.opts1(TX_RING, 4) & descriptor::EOR, 0, "kept");
    }
    let mut rig = Rig::new();
    for _ in 0..2 {
        (0..64).for_each(|index| rig.give(index, 60));
        rig.poll();
        rig.run(80 * SLOT_NS);
    }
    assert_eq!(rig.board.sent.len(), 128);
}

#[test]
fn a_poll_while_transmitting_is_heeded_unless_the_chip_has_the_erratum() {
    for lost_poll in [false, true] {
        let mut rig = Rig::with(Errata {
            lost_poll,
            ..Errata::default()
        });
        rig.give(0, 60);
        rig.poll();
        rig.run(SLOT_NS / 2);
        rig.give(1, 60);
        rig.poll();
        rig.run(10 * SLOT_NS);
        assert_eq!(rig.done(1), !lost_poll);
        rig.poll();
        rig.run(10 * SLOT_NS);
        assert!(rig.done(1));
    }
}

#[test]
fn a_phy_without_power_forgets_its_settings() {
    for (phy_off, power, kept) in [
        (false, Power::Off, true),
        (true, Power::Listening, true),
        (true, Power::Off, false),
    ] {
        let mut rig = Rig::with(Errata {
            phy_off,
            ..Errata::default()
        });
        rig.write(reg::ANAR, 2, 0x0061);
        rig.chip.power_changed(rig.board.now_ns, power);
        rig.chip.power_changed(rig.board.now_ns, Power::On);
        assert_eq!(rig.read(reg::ANAR, 2) == 0x0061, kept);
    }
}

#[test]
fn high_priority_goes_first() {
    let mut rig = Rig::new();
    (0..60).for_each(|index| rig.give(index, 60));
    rig.poll();
    rig.run(100_000);
    rig.put(TX_BUFFERS + 63 * BUFFER_BYTES, &[0xaa; 60]);
    let whole = descriptor::OWN | descriptor::FS | descriptor::LS | 60;
    rig.descriptor(HIGH_RING, 0, whole, 0, TX_BUFFERS + 63 * BUFFER_BYTES);
    rig.write(reg::TPPOLL, 1, tppoll::HIGH.into());
    rig.run(80 * SLOT_NS);
    let place = rig
        .board
        .sent
        .iter()
        .position(|(_, frame)| frame[0] == 0xaa);
    // Behind what has left, what is in the FIFO, and the packet that waits for room there.
    assert_eq!(place, Some(14 + 34 + 1));
    assert_eq!(rig.board.sent.len(), 61);
}

#[test]
fn segments_of_a_packet_are_one_frame() {
    let mut rig = Rig::new();
    let buffer = |n: u32| TX_BUFFERS + n * BUFFER_BYTES;
    for n in 0..3 {
        rig.put(buffer(n), &[n as u8 + 1; 100]);
    }
    rig.descriptor(
        TX_RING,
        0,
        descriptor::OWN | descriptor::FS | 30,
        0,
        buffer(0),
    );
    rig.descriptor(TX_RING, 1, descriptor::OWN | 40, 0, buffer(1));
    rig.poll();
    rig.run(10 * SLOT_NS);
    assert_eq!((rig.board.sent.len(), rig.done(0)), (0, false), "not whole");
    rig.descriptor(
        TX_RING,
        2,
        descriptor::OWN | descriptor::LS | 50,
        0,
        buffer(2),
    );
    rig.poll();
    rig.run(10 * SLOT_NS);
    let whole = [vec![1; 30], vec![2; 40], vec![3; 50]].concat();
    assert_eq!(rig.board.sent[0].1, whole);
    assert!((0..3).all(|index| rig.done(index)));
}

#[test]
fn checksums_and_tags_are_filled_in_and_short_frames_padded() {
    let mut rig = Rig::new();
    let frame = ipv4(crate::offload::UDP, &[9; 8]);
    let bits = tx::IP_CHECKSUM | tx::UDP_CHECKSUM;
    rig.give_frame(0, &frame, bits, 0);
    rig.give_frame(1, &frame, 0, tx::TAG | 0x3412);
    rig.poll();
    rig.run(10 * SLOT_NS);
    let sent: Vec<_> = rig.board.sent.iter().map(|(_, frame)| frame).collect();
    let ip = find_ip(sent[0]);
    assert!(ip.is_some_and(|ip| ip.header_is_right(sent[0]) && ip.payload_is_right(sent[0])));
    assert_eq!(sent[0].len(), 60);
    assert_eq!(sent[1][12..18], [0x81, 0x00, 0x12, 0x34, 0x08, 0x00]);
}

#[test]
fn a_large_send_becomes_segments_and_one_completion() {
    let mut rig = Rig::new();
    let mut payload = vec![0; 20];
    payload[12] = 5 << 4;
    payload.extend((0..1_900).map(|n| n as u8));
    let frame = ipv4(crate::offload::TCP, &payload);
    rig.give_frame(0, &frame, tx::LARGE_SEND | 700 << tx::MSS_SHIFT, 0);
    rig.poll();
    rig.run(100_000);
    assert!(!rig.done(0), "the last segment is on its way");
    rig.run(100_000);
    let sizes: Vec<usize> = rig
        .board
        .sent
        .iter()
        .map(|(_, frame)| frame.len())
        .collect();
    assert_eq!(sizes, [754, 754, 554]);
    assert!(rig.done(0));
}

#[test]
fn a_received_frame_lies_in_its_buffer_with_its_status() {
    let mut rig = Rig::new();
    rig.listen(4, 1536);
    assert!(rig.arrive(60));
    let arrived_ns = rig.board.now_ns;
    rig.run(100_000);
    let status = descriptor::FS | descriptor::LS | rx::PHYSICAL | 64;
    assert_eq!(rig.opts1(RX_RING, 0), status);
    assert_eq!(rig.board.u16(RX_BUFFERS), 0x5452);
    assert_eq!(rig.causes(), cause::ROK);
    // The frame is below the threshold of 512 bytes: all of it follows its last bit, and then the status.
    assert_eq!(rig.board.interrupts, [arrived_ns + (6 + 16 + 6 + 2) * 30]);
    let tally = &rig.chip.tally;
    assert_eq!((tally.rx_ok, tally.rx_physical), (1, 1));
}

#[test]
fn without_descriptors_packets_wait_in_the_fifo_until_it_overflows() {
    let mut rig = Rig::new();
    rig.listen(2, 1536);
    let taken = (0..40).filter(|_| {
        let taken = rig.arrive(60);
        rig.run(SLOT_NS);
        taken
    });
    assert_eq!(taken.count(), 2 + 32, "of 64 bytes in 2 KB");
    assert_eq!(rig.causes(), cause::ROK | cause::RDU | cause::FOVW);
    assert_eq!(rig.read(reg::MPC, 4), 6);
    rig.write(reg::MPC, 4, 0);
    assert_eq!(rig.read(reg::MPC, 4), 0);
    let tally = &rig.chip.tally;
    assert_eq!((tally.missed, tally.rx_error, tally.rx_ok), (6, 6, 2));
    // The chip goes on by itself.
    rig.write(reg::ISR, 2, ALL);
    rig.listen(2, 1536);
    rig.run(RETRY_NS + 10_000);
    assert_eq!(rig.causes(), cause::ROK | cause::RDU);
    assert_eq!(rig.chip.tally.rx_ok, 4);
}

#[test]
fn a_frame_that_exceeds_its_buffer_goes_on_in_the_next_one() {
    let mut rig = Rig::new();
    rig.listen(4, 512);
    rig.arrive(1_000);
    rig.run(100_000);
    assert_eq!(rig.opts1(RX_RING, 0), descriptor::FS | 512);
    let last = descriptor::LS | rx::PHYSICAL | 1_004;
    assert_eq!(rig.opts1(RX_RING, 1), last);
    assert_eq!(rig.causes(), cause::ROK);
}

#[test]
fn addresses_are_filtered() {
    let mut rig = Rig::new();
    let group = [0x01, 0, 0x5e, 0, 0, 1];
    let other = [0x52, 0x54, 0, 0, 0, 9];
    let taken = |rig: &mut Rig, destination: [u8; 6]| {
        rig.set_up();
        rig.listen(4, 1536);
        let mut frame = [0; 60];
        frame[..6].copy_from_slice(&destination);
        rig.arrive_frame(&frame);
        rig.run(SLOT_NS);
        rig.causes() & cause::ROK != 0
    };
    for (destination, expected) in [
        (MAC, true),
        ([0xff; 6], true),
        (group, false),
        (other, false),
    ] {
        assert_eq!(taken(&mut rig, destination), expected);
    }
    // Linux: ether_crc() >> 26 of this group is 31.
    let bit = (!crc32fast::hash(&group)).reverse_bits() >> 26;
    rig.write(reg::MAR + u64::from(bit / 32) * 4, 4, 1 << (bit % 32));
    assert!(taken(&mut rig, group));
}

#[test]
fn checksums_are_judged_and_tags_taken_off() {
    let mut rig = Rig::new();
    rig.listen(8, 1536);
    let mut frame = ipv4(crate::offload::UDP, &[9; 30]);
    frame[..6].copy_from_slice(&MAC);
    frame.resize(64, 0);
    if let Some(ip) = find_ip(&frame) {
        ip.fill_header(&mut frame);
        ip.fill_payload(&mut frame);
    }
    rig.arrive_frame(&frame);
    frame[50] ^= 1;
    rig.arrive_frame(&frame);
    frame[22] ^= 1; // TTL
    rig.arrive_frame(&frame);
    rig.run(10 * SLOT_NS);
    let status = rx::PID_UDP | rx::IP_FAILED | rx::UDP_FAILED;
    let found = [0, 1, 2].map(|index| rig.opts1(RX_RING, index) & (rx::PID_IP | status));
    let failed = rx::PID_UDP | rx::UDP_FAILED;
    assert_eq!(found, [rx::PID_UDP, failed, failed | rx::IP_FAILED]);
    rig.write(reg::CPCR, 2, (cpcr::RX | cpcr::TX | cpcr::RX_VLAN).into());
    let mut tagged = frame.clone();
    tagged.splice(12..12, [0x81, 0x00, 0x12, 0x34]);
    rig.arrive_frame(&tagged);
    rig.run(10 * SLOT_NS);
    assert_eq!(rig.board.u32(RX_RING + 3 * 16 + 4), rx::TAG | 0x3412);
    assert_eq!(rig.opts1(RX_RING, 3) & rx::LENGTH, 64 + 4);
    assert_eq!(rig.chip.receiver.deadline_ns(), None, "the FIFO is empty");
}

#[test]
fn the_timer_interrupts_when_the_counter_gets_there() {
    let mut rig = Rig::new();
    rig.write(reg::TIMER_INT, 4, 1_000);
    rig.write(reg::TCTR, 4, 0);
    rig.run(29_999);
    assert_eq!(rig.causes(), 0);
    rig.run(1);
    assert_eq!(rig.causes(), cause::TIMEOUT);
    assert_eq!(rig.read(reg::TCTR, 4), 1_000);
    rig.write(reg::ISR, 2, ALL);
    rig.run(1_000_000);
    assert_eq!(rig.causes(), 0, "once");
}

#[test]
fn interrupts_are_masked_and_acknowledged_by_their_bits() {
    let mut rig = Rig::new();
    rig.write(reg::IMR, 2, 0);
    rig.write(reg::TPPOLL, 1, tppoll::SOFTWARE.into());
    assert_eq!(
        (rig.causes(), rig.board.interrupts.len()),
        (cause::SWINT, 0)
    );
    rig.write(reg::IMR, 2, ALL);
    assert_eq!(rig.board.interrupts.len(), 1);
    rig.write(reg::ISR, 2, u32::from(!cause::SWINT));
    assert_eq!(rig.causes(), cause::SWINT);
    rig.write(reg::ISR + 1, 1, 1);
    assert_eq!(rig.causes(), 0);
}

#[test]
fn the_configuration_is_locked() {
    let mut rig = Rig::new();
    rig.write(reg::CONFIG3, 1, 0x20);
    rig.write(reg::IDR, 4, 0);
    assert_eq!(
        (rig.read(reg::CONFIG3, 1), rig.read(reg::IDR, 4)),
        (0, 0x5452)
    );
    rig.write(reg::CR9346, 1, cr9346::CONFIG_WRITE.into());
    rig.write(reg::CONFIG3, 1, 0xff);
    rig.write(reg::IDR, 4, 0x0302_0102);
    assert_eq!(
        rig.read(reg::CONFIG3, 1),
        0x70,
        "magic packet, link, PARM_En"
    );
    assert_eq!(rig.read(reg::IDR, 4), 0x0302_0102);
    rig.write(reg::CR9346, 1, cr9346::AUTOLOAD.into());
    assert_eq!(rig.read(reg::IDR, 4), 0x5452);
    rig.write(reg::CONFIG5, 1, 0x70);
    assert_eq!(rig.read(reg::CONFIG5, 1), 0x70, "never locked");
}

#[test]
fn the_phy_is_among_the_registers_and_reports_its_link() {
    let mut rig = Rig::new();
    assert_eq!(rig.read(reg::MSR, 1), 0);
    rig.read(reg::BMSR, 2);
    assert_ne!(rig.read(reg::BMSR, 2) & 0x04, 0);
    rig.write(reg::BMCR, 2, 0);
    assert_eq!(rig.read(reg::MSR, 1), 0, "locked");
    rig.write(reg::CR9346, 1, cr9346::CONFIG_WRITE.into());
    rig.write(reg::BMCR, 2, 0x0100); // forced, 10 Mbit/s
    assert_eq!(rig.causes(), cause::LINK_CHANGE);
    rig.write(reg::ISR, 2, ALL);
    assert_eq!(rig.read(reg::MSR, 1), u32::from(msr::NO_LINK));
    rig.give(0, 60);
    rig.poll();
    rig.run(10 * SLOT_NS);
    assert_eq!(rig.causes(), cause::TER | cause::TDU);
    assert_ne!(rig.opts1(TX_RING, 0) & tx::LINK_FAILURE, 0);
    rig.run(1_000_000_000);
    assert_eq!(rig.read(reg::MSR, 1), u32::from(msr::SPEED_10));
}

#[test]
fn the_eeprom_has_6_address_bits() {
    let mut rig = Rig::new();
    let mut read = |address: u32, address_bits: u32| {
        let mut pins = |value: u8| {
            rig.write(reg::CR9346, 1, u32::from(cr9346::PROGRAMMING | value));
            u32::from(rig.read(reg::CR9346, 1) as u8 & cr9346::EEDO)
        };
        pins(0);
        pins(cr9346::EECS);
        let command = 6 << address_bits | address;
        for place in (0..address_bits + 3).rev() {
            let data = if command >> place & 1 != 0 {
                cr9346::EEDI
            } else {
                0
            };
            pins(cr9346::EECS | data);
            pins(cr9346::EECS | data | cr9346::EESK);
        }
        (0..16).fold(0, |word, _| {
            let bit = pins(cr9346::EECS | cr9346::EESK);
            pins(cr9346::EECS);
            word << 1 | bit
        })
    };
    // As 8139cp finds out about the size.
    assert_ne!(read(0, 8), 0x8129);
    assert_eq!(
        read(7, 6) & 0x7fff,
        0x5452 >> 1,
        "clocked once less than 8139cp does"
    );
}

#[test]
fn counters_are_dumped() {
    let mut rig = Rig::new();
    rig.give(0, 60);
    rig.poll();
    rig.run(10 * SLOT_NS);
    rig.write(reg::DTCCR + 4, 4, 0);
    rig.write(reg::DTCCR, 4, DUMP | dtccr::COMMAND);
    assert_ne!(rig.read(reg::DTCCR, 4) & dtccr::COMMAND, 0);
    rig.run(10_000);
    assert_eq!(rig.read(reg::DTCCR, 4), DUMP);
    assert_eq!(rig.board.u32(DUMP), 1);
}

#[test]
fn loopback_receives_what_is_transmitted() {
    let mut rig = Rig::new();
    rig.write(reg::TCR, 4, 0x0300_0600 | tcr::LOOPBACK);
    rig.write(reg::RCR, 4, 0xa40f);
    rig.listen(4, 1536);
    rig.give(0, 100);
    rig.poll();
    rig.run(100_000);
    assert_eq!(rig.board.sent.len(), 0);
    assert_eq!(rig.opts1(RX_RING, 0) & rx::LENGTH, 104);
}

#[test]
fn a_chip_that_was_saved_continues_identically() {
    let script = |saved: bool| {
        let mut rig = Rig::new();
        rig.listen(20, 1536);
        for index in 0..40 {
            rig.give(index, 60 + index * 20);
        }
        rig.write(reg::TIMER_INT, 4, 5_000);
        rig.poll();
        for step in 0..60 {
            rig.arrive(60 + 20 * step);
            rig.run(SLOT_NS / 2 + 13);
            if saved {
                let state = rig.chip.state().unwrap();
                rig.chip = Chip::new(0, [0; 6], Errata::default());
                assert_eq!(rig.chip.restore(&state), Ok(()));
            }
            rig.write(reg::ISR, 2, ALL);
        }
        (rig.board.memory, rig.board.sent, rig.board.interrupts)
    };
    assert!(script(true) == script(false));
}

#[test]
fn wild_rings_and_registers_do_no_harm() {
    let mut generator = seeded(1, Purpose::Damage, 0, 0);
    let mut below = |bound| below(generator.next_u64(), bound);
    for _ in 0..200 {
        let mut rig = Rig::new();
        for _ in 0..400 {
            let at = RX_RING + below(0x2800) as u32;
            rig.put(at, &(below(1 << 32) as u32).to_le_bytes());
        }
        for _ in 0..50 {
            let bytes = [1, 2, 4][below(3) as usize];
            let offset = below(0x100) & !(bytes as u64 - 1);
            rig.write(offset, bytes, below(1 << 32) as u32);
            rig.read(offset, bytes);
            rig.poll();
            rig.arrive(14 + below(1600) as usize);
            rig.run(below(200_000));
        }
    }
}

#[test]
fn a_frame_with_a_wrong_fcs_counts_and_is_stored_if_configured() {
    let mut rig = Rig::new();
    rig.listen(4, 1536);
    let mut bad = vec![7; 60];
    bad[..6].copy_from_slice(&MAC);
    for (rcr, stored) in [(0xa40e, false), (0xa40e | rcr::ERROR, true)] {
        rig.write(reg::RCR, 4, rcr);
        let (now_ns, before) = (rig.board.now_ns, rig.chip.tally.rx_error);
        rig.chip.receive_damaged(now_ns, &bad, &mut rig.board);
        rig.run(1_000_000);
        assert_eq!(rig.chip.tally.rx_error, before + 1);
        let status = rig.opts1(RX_RING, 0);
        assert_eq!(status & descriptor::OWN == 0, stored);
        let errors = rx::CRC | rx::ERROR;
        assert_eq!(status & errors, if stored { errors } else { 0 });
    }
}

#[test]
fn a_cable_that_is_pulled_interrupts_and_one_that_is_back_too() {
    let mut rig = Rig::new();
    for plugged in [false, true] {
        rig.write(reg::ISR, 2, ALL);
        let now_ns = rig.board.now_ns;
        rig.chip.plug_cable(now_ns, plugged, &mut rig.board);
        rig.run(NEGOTIATION_NS);
        assert_ne!(rig.read(reg::ISR, 2) & u32::from(cause::LINK_CHANGE), 0);
        assert_eq!(rig.arrive(60), plugged);
    }
}
