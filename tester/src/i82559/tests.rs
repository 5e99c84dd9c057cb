// SPDX-License-Identifier: GPL-2.0-or-later
//! Register scripts: the chip with a memory, a bus and a wire, driven as Linux's drivers drive it.

use super::registers::{cb, rfd};
use super::*;
use rand_core::RngCore;

use crate::pci::board::Board;
use crate::pci::phy::NEGOTIATION_NS;
use crate::rng::{Purpose, below, seeded};

const MAC: [u8; 6] = [0x52, 0x54, 0, 0, 0, 1];
/// Where the lists lie.
const BLOCKS: u32 = 0x1000;
const BLOCK_BYTES: u32 = 64;
const DESCRIPTORS: u32 = 0x8000;
const DESCRIPTOR_BYTES: u32 = 2048;
const FRAMES: u32 = 0x4_0000;
const DUMP: u32 = 0xf_0000;
/// On the wire with preamble and gap: a frame of 64 bytes.
const SLOT_NS: u64 = 6_720;

struct Rig {
    chip: Chip,
    board: Board,
}

impl Rig {
    /// Reset, address set up, link up, all causes acknowledged, none masked.
    fn new(revision: Revision) -> Self {
        Rig::with(revision, Errata::default())
    }

    fn with(revision: Revision, errata: Errata) -> Self {
        let mut rig = Rig {
            chip: Chip::new(0, revision, MAC, errata),
            board: Board::default(),
        };
        rig.run(NEGOTIATION_NS);
        rig
    }

    fn write(&mut self, offset: u64, bytes: usize, value: u32) {
        let now_ns = self.board.now_ns;
        self.chip
            .write(now_ns, 0, offset, bytes, value, &mut self.board);
    }

    fn read(&mut self, offset: u64, bytes: usize) -> u32 {
        self.chip.read(self.board.now_ns, 0, offset, bytes)
    }

    fn command(&mut self, command: u8, pointer: u32) {
        assert_eq!(self.read(csr::COMMAND, 1), 0);
        self.write(csr::POINTER, 4, pointer);
        self.write(csr::COMMAND, 1, command.into());
    }

    /// Time passes, and the chip is called whenever it asks for it.
    fn run(&mut self, ns: u64) {
        self.board.run(&mut self.chip, ns);
    }

    fn put(&mut self, address: u32, bytes: &[u8]) {
        self.board.write(address.into(), bytes);
    }

    fn u16(&mut self, address: u32) -> u16 {
        self.board.u16(address)
    }

    fn u32(&mut self, address: u32) -> u32 {
        self.board.u32(address)
    }

    fn block(number: u32) -> u32 {
        BLOCKS + number * BLOCK_BYTES
    }

    /// A block with parameters, linked to the next one.
    fn fill(&mut self, number: u32, command: u16, parameters: &[u8]) {
        let at = Rig::block(number);
        self.put(at, &[0; BLOCK_BYTES as usize]);
        self.put(at + 2, &command.to_le_bytes());
        self.put(at + 4, &Rig::block(number + 1).to_le_bytes());
        self.put(at + cb::PARAMETERS, parameters);
    }

    /// A transmit block with one buffer, as e100 makes it.
    fn transmit(&mut self, number: u32, bits: u16, bytes: u16) {
        let mut frame = vec![number as u8; usize::from(bytes)];
        frame[..6].copy_from_slice(&[2; 6]);
        self.put(FRAMES + number * 2048, &frame);
        let at = Rig::block(number);
        let mut parameters = (at + cb::TCB_BYTES).to_le_bytes().to_vec();
        parameters.extend([0, 0, 0xe0, 1]);
        parameters.extend((FRAMES + number * 2048).to_le_bytes());
        parameters.extend(bytes.to_le_bytes());
        self.fill(number, cb::TRANSMIT | cb::SF | bits, &parameters);
    }

    fn complete(&mut self, number: u32) -> bool {
        self.u16(Rig::block(number)) & cb::STATUS_C != 0
    }

    fn descriptor(number: u32) -> u32 {
        DESCRIPTORS + number * DESCRIPTOR_BYTES
    }

    /// So many descriptors, the last one with these bits and this size, and the unit started.
    fn listen(&mut self, count: u32, last: u16, last_size: u16) {
        for number in 0..count {
            let (bits, size) = if number + 1 == count {
                (last, last_size)
            } else {
                (0, 1536)
            };
            let at = Rig::descriptor(number);
            self.put(at, &[0; rfd::BYTES]);
            self.put(at + 2, &bits.to_le_bytes());
            self.put(at + 4, &Rig::descriptor(number + 1).to_le_bytes());
            self.put(at + 14, &size.to_le_bytes());
        }
        self.command(scb::RU_START, Rig::descriptor(0));
    }

    fn arrive(&mut self, bytes: usize) -> bool {
        let mut frame = vec![7; bytes];
        frame[..6].copy_from_slice(&MAC);
        self.chip
            .receive(self.board.now_ns, &frame, &mut self.board)
    }

    fn states(&mut self) -> (u32, u32) {
        let status = self.read(csr::STATUS, 1);
        (status >> 6, status >> 2 & 0xf)
    }

    fn counter(&self, counter: Counter) -> u32 {
        self.chip.statistics.get(counter)
    }
}

const CU_START: u8 = scb::CU_START << scb::CU_SHIFT;
const CU_RESUME: u8 = scb::CU_RESUME << scb::CU_SHIFT;
const CU_LOAD_BASE: u8 = scb::CU_LOAD_BASE << scb::CU_SHIFT;

#[test]
fn a_frame_is_complete_when_it_is_in_the_fifo_and_leaves_then() {
    let mut rig = Rig::new(Revision::I82559);
    rig.transmit(0, cb::EL | cb::I, 1_514);
    let start_ns = rig.board.now_ns;
    rig.command(CU_START, BLOCKS);
    assert_eq!(rig.states(), (2, 0), "active");
    // The block with its descriptor, the frame in six bursts; then the status.
    let [block, frame, status] = [16, 6 * 12 + 379, 7].map(|clocks| clocks * 30);
    let tbd = 14 * 30;
    let complete_ns = block + tbd + frame;
    rig.run(complete_ns + status - 1);
    assert!(!rig.complete(0));
    rig.run(1);
    assert!(rig.complete(0));
    assert_eq!(rig.board.sent.len(), 1);
    assert_eq!(rig.board.sent[0].0, start_ns + complete_ns);
    assert_eq!(rig.board.interrupts, [start_ns + complete_ns + status]);
    assert_eq!(rig.read(csr::ACK, 1), u32::from(cause::CX | cause::CNA));
    assert_eq!(rig.states(), (0, 0), "idle");
}

#[test]
fn the_fifo_holds_3_kb_and_then_the_ring_waits_for_the_wire() {
    let mut rig = Rig::new(Revision::I82559);
    let count = 100;
    for number in 0..count {
        rig.transmit(number, if number + 1 == count { cb::EL } else { 0 }, 60);
    }
    rig.command(CU_START, BLOCKS);
    rig.run(200_000);
    assert_eq!(rig.chip.transmit_fill(&mut rig.board), 100 - 80);
    let complete = (0..count).filter(|number| rig.complete(*number)).count();
    // 29 have left, and 51 frames of 60 bytes fit.
    assert_eq!((rig.board.sent.len(), complete), (30, 29 + 51));
    rig.run(SLOT_NS * 100);
    let begins: Vec<u64> = rig.board.sent.iter().map(|(at_ns, _)| *at_ns).collect();
    assert!(begins.windows(2).all(|pair| pair[1] - pair[0] == SLOT_NS));
    assert_eq!(rig.counter(Counter::TransmitGood), count);
}

#[test]
fn two_frames_in_the_fifo_if_configured() {
    let mut rig = Rig::new(Revision::I82559);
    let mut bytes = rig.chip.configuration.bytes()[..22].to_vec();
    bytes[7] |= 0x40;
    rig.fill(0, cb::CONFIGURE, &bytes);
    for number in 1..6 {
        rig.transmit(number, if number == 5 { cb::EL } else { 0 }, 1_514);
    }
    rig.command(CU_START, BLOCKS);
    rig.run(100_000);
    let complete: Vec<bool> = (0..6).map(|number| rig.complete(number)).collect();
    assert_eq!(complete, [true, true, true, false, false, false]);
}

#[test]
fn a_suspended_unit_is_resumed_by_clearing_the_bit() {
    let mut rig = Rig::new(Revision::I82559);
    rig.transmit(0, cb::S, 60);
    rig.command(CU_START, BLOCKS);
    rig.run(100_000);
    assert_eq!(rig.states(), (1, 0), "suspended");
    assert_eq!(rig.read(csr::ACK, 1), u32::from(cause::CNA));
    // A resume while the bit is still set has no effect.
    rig.command(CU_RESUME, 0);
    assert_eq!(rig.states(), (1, 0));
    rig.transmit(1, cb::S, 60);
    rig.transmit(0, 0, 60);
    rig.command(CU_RESUME, 0);
    assert_eq!(rig.states(), (2, 0));
    rig.run(100_000);
    assert_eq!((rig.board.sent.len(), rig.states()), (2, (1, 0)));
}

#[test]
fn a_resume_of_an_active_unit_is_not_lost_and_never_executes_an_old_block() {
    for delay_ns in (0..20_000).step_by(50) {
        let mut rig = Rig::new(Revision::I82559);
        rig.transmit(2, cb::NC, 60); // old: must not be sent
        rig.transmit(0, cb::S, 60);
        rig.command(CU_START, BLOCKS);
        rig.run(delay_ns / 2);
        rig.transmit(1, cb::S, 60);
        let command = rig.u16(Rig::block(0) + 2) & !cb::S;
        rig.put(Rig::block(0) + 2, &command.to_le_bytes());
        rig.run(delay_ns / 2);
        rig.command(CU_RESUME, 0);
        rig.run(100_000);
        assert_eq!(rig.board.sent.len(), 2, "after {delay_ns} ns");
        assert_eq!(rig.states(), (1, 0));
    }
}

#[test]
fn the_end_of_the_list_interrupts_later_if_the_block_asks_for_it() {
    for (revision, delay_ns) in [(Revision::I82557, 0), (Revision::I82558, 31 * 8_000)] {
        let mut rig = Rig::new(revision);
        rig.fill(0, cb::S | 31 << 8, &[]);
        let start_ns = rig.board.now_ns;
        rig.command(CU_START, BLOCKS);
        rig.run(1_000_000);
        let done_ns = start_ns + (16 + 7) * 30;
        assert_eq!(rig.board.interrupts, [done_ns + delay_ns]);
    }
}

#[test]
fn only_the_82558_and_later_mask_single_causes() {
    for (revision, readable) in [(Revision::I82557, 0x01), (Revision::I82558, 0xfd)] {
        let mut rig = Rig::new(revision);
        rig.write(csr::MASK, 1, 0xfd);
        assert_eq!(rig.read(csr::MASK, 1), readable);
        rig.write(csr::MASK, 1, u32::from(cause::CX | cause::CNA));
        rig.transmit(0, cb::EL | cb::I, 60);
        rig.command(CU_START, BLOCKS);
        rig.run(100_000);
        assert_eq!(rig.board.line, revision == Revision::I82557);
        rig.write(csr::MASK, 1, 0);
        assert!(rig.board.line, "unmasked causes interrupt at once");
        rig.write(csr::ACK, 1, 0xff);
        assert!(!rig.board.line);
    }
}

#[test]
fn the_software_interrupts() {
    let mut rig = Rig::new(Revision::I82559);
    rig.write(csr::MASK, 1, u32::from(mask::SI | mask::ALL));
    assert_eq!(
        rig.read(csr::MASK, 1),
        u32::from(mask::ALL),
        "SI reads as 0"
    );
    assert!(!rig.board.line);
    rig.write(csr::MASK, 1, 0);
    assert!(rig.board.line);
    assert_eq!(rig.read(csr::ACK, 1), u32::from(cause::SWI));
}

#[test]
fn a_frame_is_received_and_its_status_written_last() {
    let mut rig = Rig::new(Revision::I82559);
    rig.listen(4, rfd::EL, 1536);
    assert_eq!(rig.states(), (0, 4), "ready");
    rig.run(10_000);
    let arrived_ns = rig.board.now_ns;
    assert!(rig.arrive(60));
    rig.run(100_000);
    let at = Rig::descriptor(0);
    let status = rfd::STATUS_C | rfd::STATUS_OK | rfd::STATUS_TYPE;
    assert_eq!(rig.u16(at), status);
    assert_eq!(rig.u16(at + 12), 60 | rfd::COUNT_EOF_F);
    assert_eq!(rig.u16(at + 16), 0x5452);
    assert_eq!(rig.read(csr::ACK, 1), u32::from(cause::FR));
    // The descriptor was fetched while the frame arrived. Data, count, status.
    let ns = (6 + 15) * 30 + 7 * 30 + 7 * 30;
    assert_eq!(rig.board.interrupts, [arrived_ns + ns]);
}

#[test]
fn most_of_a_long_frame_is_in_memory_before_its_end() {
    let mut rig = Rig::new(Revision::I82559);
    rig.listen(4, rfd::EL, 1536);
    rig.run(200_000);
    let arrived_ns = rig.board.now_ns;
    assert!(rig.arrive(1_514));
    rig.run(100_000);
    // What the FIFO's threshold of 64 bytes holds back, count, status.
    assert_eq!(rig.board.interrupts, [arrived_ns + (6 + 16 + 7 + 7) * 30]);
}

#[test]
fn the_command_unit_hangs_at_10_mbits_unless_a_nop_precedes_the_resume() {
    for (resume_hang, nop, expected) in [
        (false, false, true),
        (true, false, false),
        (true, true, true),
    ] {
        let errata = Errata {
            resume_hang,
            ..Errata::default()
        };
        let mut rig = Rig::with(Revision::I82559, errata);
        rig.write(csr::MDI, 4, 1 << 26 | 1 << 21 | 0x0100); // forced, 10 Mbit/s
        rig.run(1_000_000_000);
        rig.transmit(0, cb::S, 60);
        rig.command(CU_START, BLOCKS);
        rig.run(1_000_000);
        rig.transmit(0, 0, 60);
        rig.transmit(1, cb::S, 60);
        if nop {
            rig.command(0, 0);
        }
        rig.command(CU_RESUME, 0);
        rig.run(1_000_000);
        assert_eq!(rig.complete(1), expected);
        rig.command(CU_START, Rig::block(1));
        rig.run(1_000_000);
        assert!(rig.complete(1), "a start helps");
    }
}

#[test]
fn without_the_cause_the_state_tells_that_resources_ran_out() {
    let errata = Errata {
        lost_rnr: true,
        ..Errata::default()
    };
    let mut rig = Rig::with(Revision::I82559, errata);
    rig.listen(1, rfd::EL, 1536);
    rig.arrive(60);
    rig.run(SLOT_NS);
    assert_eq!(rig.states(), (0, 2), "no resources");
    assert_eq!(rig.read(csr::ACK, 1), u32::from(cause::FR));
}

#[test]
fn a_slow_scb_accepts_some_commands_late_and_loses_what_is_written_meanwhile() {
    let errata = Errata {
        slow_scb: true,
        ..Errata::default()
    };
    let mut rig = Rig::with(Revision::I82559, errata);
    for _ in 1..SLOW_EVERY {
        rig.command(CU_LOAD_BASE, 0);
    }
    rig.listen(1, rfd::EL, 1536);
    assert_eq!(rig.read(csr::COMMAND, 1), u32::from(scb::RU_START));
    rig.write(csr::POINTER, 4, BLOCKS);
    rig.write(csr::COMMAND, 1, CU_START.into());
    assert_eq!(rig.states(), (0, 0), "idle");
    rig.run(SLOW_NS - 1);
    assert_eq!(rig.states(), (0, 0), "still idle");
    rig.run(1);
    assert_eq!(rig.states(), (0, 4), "ready, and the other unit is idle");
    assert_eq!(rig.read(csr::COMMAND, 1), 0);
    assert!(rig.arrive(60));
    rig.run(SLOT_NS);
    assert_ne!(
        rig.u16(Rig::descriptor(0)) & rfd::STATUS_C,
        0,
        "the pointer is that of the command"
    );
    for _ in 0..SLOW_EVERY {
        rig.command(CU_LOAD_BASE, 0);
    }
    rig.write(csr::PORT, 4, port::SELECTIVE_RESET);
    assert_eq!(rig.read(csr::COMMAND, 1), 0, "a reset forgets it");
}

#[test]
fn bad_frames_are_stored_without_ok_if_configured() {
    let mut rig = Rig::new(Revision::I82559);
    let mut bad = vec![7; 60];
    bad[..6].copy_from_slice(&MAC);
    for (number, saves) in [false, true].into_iter().enumerate() {
        let mut bytes = [0; 22];
        bytes[0] = 22;
        bytes[6] = if saves { 0x80 } else { 0 };
        rig.chip.configuration.set(&bytes);
        rig.listen(4, rfd::EL, 1536);
        let now_ns = rig.board.now_ns;
        rig.chip.receive_damaged(now_ns, &bad, &mut rig.board);
        rig.arrive(20); // short frames are not discarded here
        rig.run(1_000_000);
        let statuses = [0, 1].map(|at| rig.u16(Rig::descriptor(at)));
        let short = rfd::STATUS_C | rfd::STATUS_SHORT;
        let expected = if saves {
            [rfd::STATUS_C | rfd::STATUS_CRC, short]
        } else {
            [short, 0]
        };
        let errors = rfd::STATUS_OK | rfd::STATUS_CRC | rfd::STATUS_SHORT | rfd::STATUS_C;
        assert_eq!(statuses.map(|status| status & errors), expected);
        assert_eq!(rig.counter(Counter::ReceiveCrcErrors), number as u32 + 1);
        assert_eq!(rig.counter(Counter::ReceiveGood), 0);
        rig.command(scb::RU_ABORT, 0);
    }
}

#[test]
fn without_a_cable_nothing_passes_until_it_is_back() {
    let mut rig = Rig::new(Revision::I82559);
    rig.listen(4, rfd::EL, 1536);
    let now_ns = rig.board.now_ns;
    rig.chip.plug_cable(now_ns, false, &mut rig.board);
    rig.run(2 * NEGOTIATION_NS);
    assert!(!rig.arrive(60));
    let now_ns = rig.board.now_ns;
    rig.chip.plug_cable(now_ns, true, &mut rig.board);
    rig.run(NEGOTIATION_NS);
    assert!(rig.arrive(60));
}

#[test]
fn the_last_descriptor_stops_the_unit() {
    let mut rig = Rig::new(Revision::I82559);
    rig.listen(2, rfd::EL, 1536);
    for _ in 0..3 {
        rig.arrive(60);
        rig.run(SLOT_NS);
    }
    assert_eq!(rig.states(), (0, 2), "no resources");
    assert_eq!(rig.read(csr::ACK, 1), u32::from(cause::FR | cause::RNR));
    assert_eq!(rig.counter(Counter::ReceiveGood), 2);
    assert_eq!(rig.counter(Counter::ReceiveResource), 1);
    rig.command(scb::RU_START, Rig::descriptor(0));
    assert_eq!(rig.states(), (0, 4));
}

#[test]
fn a_last_descriptor_of_size_0_is_not_used() {
    let mut rig = Rig::new(Revision::I82559);
    rig.listen(2, rfd::EL, 0);
    rig.arrive(60);
    rig.run(SLOT_NS);
    assert_eq!(rig.states(), (0, 4));
    rig.arrive(60);
    rig.run(SLOT_NS);
    assert_eq!(rig.states(), (0, 2));
    assert_eq!(rig.u16(Rig::descriptor(1)), 0, "not complete");
}

#[test]
fn a_suspended_receiver_is_resumed_at_the_next_descriptor() {
    let mut rig = Rig::new(Revision::I82559);
    rig.listen(2, rfd::S, 1536);
    for _ in 0..2 {
        rig.arrive(60);
        rig.run(SLOT_NS);
    }
    assert_eq!(rig.states(), (0, 1));
    assert!(!rig.arrive(60));
    rig.put(Rig::descriptor(2) + 14, &1536_u16.to_le_bytes());
    rig.command(scb::RU_RESUME, 0);
    assert!(rig.arrive(60));
    rig.run(SLOT_NS);
    assert_ne!(rig.u16(Rig::descriptor(2)) & rfd::STATUS_C, 0);
}

#[test]
fn the_receive_fifo_overflows_when_the_bus_is_occupied() {
    let mut rig = Rig::new(Revision::I82559);
    rig.listen(100, rfd::EL, 1536);
    // Others have the bus for 2 ms.
    rig.board.claim(rig.board.now_ns, Access::Write, 200_000);
    let taken = (0..100).filter(|_| {
        let taken = rig.arrive(60);
        rig.run(SLOT_NS);
        taken
    });
    assert_eq!(taken.count(), 48, "of 64 bytes in 3 KB");
    assert_eq!(rig.counter(Counter::ReceiveOverrun), 52);
    assert_eq!(rig.states(), (0, 4), "still ready");
}

#[test]
fn addresses_are_filtered() {
    let mut rig = Rig::new(Revision::I82559);
    rig.listen(16, rfd::EL, 1536);
    let group = [0x01, 0, 0x5e, 0, 0, 1];
    let mut taken = |destination: [u8; 6]| {
        let before = rig.counter(Counter::ReceiveGood);
        let mut frame = [0; 60];
        frame[..6].copy_from_slice(&destination);
        rig.chip.receive(rig.board.now_ns, &frame, &mut rig.board);
        rig.run(SLOT_NS);
        rig.counter(Counter::ReceiveGood) != before
    };
    assert!(taken(MAC) && taken([0xff; 6]));
    assert!(!taken([0x52, 0x54, 0, 0, 0, 9]) && !taken(group));
    let mut list = 6_u16.to_le_bytes().to_vec();
    list.extend(group);
    rig.fill(0, cb::MULTICAST, &list);
    rig.fill(1, cb::ADDRESS | cb::EL, &[0x52, 0x54, 0, 0, 0, 9]);
    rig.command(CU_START, BLOCKS);
    rig.run(SLOT_NS);
    let mut taken = |destination: [u8; 6]| {
        let before = rig.counter(Counter::ReceiveGood);
        let mut frame = [0; 60];
        frame[..6].copy_from_slice(&destination);
        rig.chip.receive(rig.board.now_ns, &frame, &mut rig.board);
        rig.run(SLOT_NS);
        rig.counter(Counter::ReceiveGood) != before
    };
    assert!(taken([0x52, 0x54, 0, 0, 0, 9]) && taken(group) && !taken(MAC));
}

#[test]
fn counters_are_dumped_and_reset() {
    let mut rig = Rig::new(Revision::I82559);
    rig.transmit(0, cb::EL, 60);
    rig.command(CU_START, BLOCKS);
    rig.run(100_000);
    rig.command(scb::CU_LOAD_DUMP_ADDRESS << scb::CU_SHIFT, DUMP);
    rig.command(scb::CU_DUMP_AND_RESET << scb::CU_SHIFT, 0);
    assert_eq!(rig.u32(DUMP + 64), 0, "takes its time");
    rig.run(10_000);
    assert_eq!((rig.u32(DUMP), rig.u32(DUMP + 64)), (1, 0xa007));
    assert_eq!(rig.counter(Counter::TransmitGood), 0);
}

#[test]
fn the_self_test_passes_and_resets() {
    let mut rig = Rig::new(Revision::I82559);
    rig.write(csr::MASK, 1, 1);
    rig.put(DUMP + 4, &[0xff; 4]);
    rig.write(csr::PORT, 4, DUMP | port::SELF_TEST);
    rig.run(10_000);
    assert_ne!(rig.u32(DUMP), 0);
    assert_eq!((rig.u32(DUMP + 4), rig.read(csr::MASK, 1)), (0, 0));
}

#[test]
fn other_commands_complete() {
    let mut rig = Rig::new(Revision::I82558);
    rig.fill(0, 0, &[]);
    rig.fill(1, cb::MICROCODE, &[0; 4]);
    rig.fill(2, cb::DUMP, &DUMP.to_le_bytes());
    rig.fill(3, 7 | cb::EL, &[]);
    rig.command(CU_START, BLOCKS);
    rig.run(100_000);
    for number in 0..4 {
        let status = rig.u16(Rig::block(number));
        assert_eq!(status, cb::STATUS_C | cb::STATUS_OK, "block {number}");
    }
    assert_eq!(rig.u32(DUMP + 39), 0x0000_5452);
}

#[test]
fn simplified_and_extended_blocks_transmit_too() {
    let mut rig = Rig::new(Revision::I82559);
    // Simplified: the frame follows the block.
    let mut parameters = cb::NO_TBDS.to_le_bytes().to_vec();
    parameters.extend([20, 0x80, 0xe0, 0]);
    parameters.extend([5; 20]);
    rig.fill(0, cb::TRANSMIT, &parameters);
    // Extended: two descriptors inside, a third in the array.
    let mut bytes = rig.chip.configuration.bytes()[..22].to_vec();
    bytes[6] &= !0x10;
    rig.fill(1, cb::CONFIGURE, &bytes);
    let buffer = |number: u32, bytes: u32| {
        [FRAMES + number * 2048, bytes]
            .map(u32::to_le_bytes)
            .concat()
    };
    for number in 0..3 {
        rig.put(FRAMES + number * 2048, &[number as u8 + 1; 100]);
    }
    let mut parameters = DUMP.to_le_bytes().to_vec();
    parameters.extend([0, 0, 0xe0, 3]);
    parameters.extend(buffer(0, 30));
    parameters.extend(buffer(1, 40));
    rig.fill(2, cb::TRANSMIT | cb::SF | cb::EL, &parameters);
    rig.put(DUMP, &buffer(2, 50));
    rig.command(CU_START, BLOCKS);
    rig.run(100_000);
    let mut padded = vec![5; 20];
    padded.resize(60, 0);
    let whole = [vec![1; 30], vec![2; 40], vec![3; 50]].concat();
    let sent: Vec<&[u8]> = rig.board.sent.iter().map(|(_, frame)| &frame[..]).collect();
    assert_eq!(sent, [&padded[..], &whole[..]]);
}

#[test]
fn a_frame_with_a_wrong_fcs_of_its_own_gets_nowhere() {
    let mut rig = Rig::new(Revision::I82559);
    rig.transmit(0, cb::NC, 64);
    rig.transmit(1, cb::EL, 60);
    rig.command(CU_START, BLOCKS);
    rig.run(100_000);
    assert_eq!(rig.board.sent.len(), 1);
    assert_eq!(rig.counter(Counter::TransmitGood), 2);
}

#[test]
fn loopback_receives_what_is_transmitted() {
    let mut rig = Rig::new(Revision::I82559);
    let mut bytes = rig.chip.configuration.bytes()[..22].to_vec();
    bytes[10] |= 0x40;
    bytes[15] |= 0x01; // promiscuous
    rig.fill(0, cb::CONFIGURE, &bytes);
    rig.transmit(1, cb::EL, 100);
    rig.listen(4, rfd::EL, 1536);
    rig.command(CU_START, BLOCKS);
    rig.run(100_000);
    assert_eq!(rig.board.sent.len(), 0);
    assert_eq!(rig.u16(Rig::descriptor(0) + 12), 100 | rfd::COUNT_EOF_F);
}

#[test]
fn a_pause_that_was_asked_for_holds_frames_up_for_that_long() {
    let departure = |quanta: &[u16], disabled: u8| {
        let mut rig = Rig::new(Revision::I82559);
        let mut bytes = rig.chip.configuration.bytes()[..22].to_vec();
        bytes[19] = bytes[19] & !0x04 | 0x20 | disabled;
        rig.fill(0, cb::CONFIGURE | cb::EL, &bytes);
        rig.command(CU_START, BLOCKS);
        rig.run(100_000);
        rig.transmit(0, cb::EL, 60);
        let begin_ns = rig.board.now_ns;
        for quanta in quanta {
            let frame = crate::pause::frame([2, 0, 0, 0, 0, 9], *quanta);
            rig.chip.receive(begin_ns, &frame, &mut rig.board);
        }
        rig.command(CU_START, BLOCKS);
        rig.run(2_000_000);
        assert_eq!(rig.board.sent.len(), 1);
        let counted = rig.chip.statistics.get(Counter::ReceivePause);
        (rig.board.sent[0].0 - begin_ns, counted)
    };
    let (at_once, _) = departure(&[], 0);
    assert!(at_once < 10_000);
    assert_eq!(departure(&[100], 0), (512_000, 1), "100 times 512 bits");
    assert_eq!(departure(&[100, 0], 0), (at_once, 2), "ended");
    assert_eq!(departure(&[100], 0x04), (at_once, 0), "not obeyed");
}

#[test]
fn an_82559_that_sleeps_without_pme_forgets_its_phy_settings() {
    let slept = |revision: Revision, power: Power| {
        let mut rig = Rig::new(revision);
        rig.write(csr::MDI, 4, 1 << 26 | 1 << 21 | 4 << 16 | 0x0061); // 10 Mbit/s is advertised
        rig.run(30_000);
        rig.write(csr::MDI, 4, 1 << 26 | 1 << 21 | 0x1200);
        rig.run(NEGOTIATION_NS + 30_000);
        assert_eq!(rig.chip.mdi.link_bps(), Some(10_000_000));
        rig.chip.power_changed(rig.board.now_ns, power);
        rig.run(1_000_000_000);
        rig.chip.power_changed(rig.board.now_ns, Power::On);
        let at_once = rig.chip.mdi.link_bps();
        rig.run(NEGOTIATION_NS);
        (at_once, rig.chip.mdi.link_bps())
    };
    let (kept, lost) = (
        (Some(10_000_000), Some(10_000_000)),
        (None, Some(100_000_000)),
    );
    assert_eq!(slept(Revision::I82559, Power::Off), lost);
    assert_eq!(slept(Revision::I82559, Power::Listening), kept);
    assert_eq!(slept(Revision::I82558, Power::Off), kept);
}

#[test]
fn a_chip_that_was_saved_continues_identically() {
    let script = |saved: bool| {
        let mut rig = Rig::new(Revision::I82559);
        rig.listen(50, rfd::EL, 1536);
        for number in 0..100 {
            rig.transmit(number, if number == 99 { cb::EL } else { cb::I }, 60);
        }
        rig.command(CU_START, BLOCKS);
        for step in 0..60 {
            rig.arrive(60 + 20 * step);
            rig.run(SLOT_NS / 2 + 13);
            if saved {
                let state = rig.chip.state().unwrap();
                rig.chip = Chip::new(0, Revision::I82557, [0; 6], Errata::default());
                assert_eq!(rig.chip.restore(&state), Ok(()));
            }
            rig.write(csr::ACK, 1, 0xff);
        }
        (rig.board.memory, rig.board.sent, rig.board.interrupts)
    };
    assert!(script(true) == script(false));
}

#[test]
fn wild_lists_do_no_harm() {
    let mut generator = seeded(1, Purpose::Damage, 0, 0);
    let mut below = |bound| below(generator.next_u64(), bound);
    for _ in 0..300 {
        let mut rig = Rig::new(Revision::I82559);
        for _ in 0..400 {
            let at = below(0x3000) as u32;
            rig.put(at, &(below(1 << 32) as u32).to_le_bytes());
        }
        for _ in 0..50 {
            let offset = below(0x3c) & !3;
            let value = below(1 << 32) as u32;
            let value = if offset == csr::POINTER {
                value & 0x3fff
            } else {
                value
            };
            rig.write(offset, 4, value);
            rig.arrive(14 + below(1600) as usize);
            rig.run(below(200_000));
        }
    }
}
