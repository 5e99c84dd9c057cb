// SPDX-License-Identifier: GPL-2.0-or-later
//! The chip with a host that sets it up as Linux's driver does, and a wire.

use super::*;
use crate::offload::UDP;
use crate::offload::tests::ipv4;

const MAC: [u8; 6] = [0x52, 0x54, 0, 0, 0, 1];
const REQUEST_BYTES: usize = 16384;
/// What a frame of 64 bytes takes in a transfer.
const SMALL_BYTES: usize = 76;
/// The driver's bulk-in delay: 0x2000 units.
const DELAY_NS: u64 = 136_533;

/// Keeps what the chip does, with the instant.
#[derive(Default)]
struct Log {
    now_ns: u64,
    wakes: Vec<(u64, Endpoint)>,
    resumes: usize,
    frames: Vec<(u64, Vec<u8>)>,
}

impl Board for Log {
    fn wake(&mut self, endpoint: Endpoint) {
        self.wakes.push((self.now_ns, endpoint));
    }
    fn resume(&mut self) {
        self.resumes += 1;
    }
    fn transmit(&mut self, frame: &[u8]) {
        self.frames.push((self.now_ns, frame.to_vec()));
    }
}

struct Backend {
    chip: Lan7800,
    log: Log,
}

impl Backend {
    /// Set up, link up.
    fn new(speed: Speed) -> Self {
        let chip = Lan7800::new(0, speed, MAC);
        let mut backend = Backend {
            chip,
            log: Log::default(),
        };
        for (register, value) in [
            (MAF_BASE + 4, backend.chip.read(RX_ADDRL)),
            (MAF_BASE, backend.chip.read(RX_ADDRH) | MAF_HI_VALID),
            (USB_CFG0, USB_CFG_BCE | (1 << 6)),
            (BURST_CAP, (REQUEST_BYTES / speed.packet_bytes()) as u32),
            (BULK_IN_DLY, 0x2000),
            (HW_CFG, HW_CFG_MEF),
            (RFE_CTL, RFE_CTL_BCAST_EN | RFE_CTL_DA_PERFECT),
            (MAC_RX, (1522 << MAC_RX_MAX_SIZE_SHIFT) | MAC_RX_RXEN),
            (MAC_TX, MAC_TX_TXEN),
            (FCT_RX_CTL, FCT_EN),
            (FCT_TX_CTL, FCT_EN),
        ] {
            backend.write(register, value);
        }
        backend.run(NEGOTIATION_NS);
        backend
    }

    fn vendor(&mut self, kind: u8, request: u8, index: u32, data: &[u8]) -> Reply {
        let setup = Setup {
            kind,
            request,
            value: 0,
            index: index as u16,
            length: 188,
        };
        self.chip.control(self.log.now_ns, setup, data)
    }

    fn write(&mut self, register: u32, value: u32) {
        let reply = self.vendor(0x40, 0xa0, register, &value.to_le_bytes());
        assert_eq!(reply, Reply::Done(vec![]));
    }

    fn read(&mut self, register: u32) -> u32 {
        match self.vendor(0xc0, 0xa1, register, &[]) {
            Reply::Done(bytes) => u32::from_le_bytes(bytes[..4].try_into().unwrap()),
            Reply::Stall => panic!("stall"),
        }
    }

    /// Lets time pass until `until_ns`, to the exact instants at which the chip wants something.
    fn run(&mut self, until_ns: u64) {
        let mut idle = 0;
        while let Some(at_ns) = self.chip.deadline_ns().filter(|at_ns| *at_ns <= until_ns) {
            idle = if at_ns > self.log.now_ns { 0 } else { idle + 1 };
            assert!(idle < 10, "the chip goes round in circles");
            self.log.now_ns = self.log.now_ns.max(at_ns);
            self.chip.advance(self.log.now_ns, &mut self.log);
        }
        self.log.now_ns = until_ns;
    }

    /// Like `run`, with a host that asks and offers again as soon as it is answered; the bytes that moved (up, down).
    fn stream(&mut self, until_ns: u64, data: &[u8]) -> (usize, usize) {
        let (mut up, mut down) = (0, 0);
        loop {
            while let Answer::Ack(transfer) = self.ask() {
                up += transfer.len();
            }
            while !data.is_empty() && self.offer(data) == Answer::Ack(()) {
                down += data.len();
            }
            let due_ns = self.chip.deadline_ns().filter(|at_ns| *at_ns <= until_ns);
            self.run(due_ns.unwrap_or(until_ns).max(self.log.now_ns));
            if due_ns.is_none() {
                return (up, down);
            }
        }
    }

    fn ask(&mut self) -> Answer<Vec<u8>> {
        self.chip.bulk_in(self.log.now_ns, REQUEST_BYTES)
    }

    fn offer(&mut self, data: &[u8]) -> Answer<()> {
        self.chip.bulk_out(self.log.now_ns, || data.to_vec())
    }

    fn receive(&mut self, bytes: usize) -> bool {
        let mut frame = ipv4(UDP, &vec![0; bytes - 34]);
        frame[..6].copy_from_slice(&MAC);
        self.chip.receive(self.log.now_ns, &frame)
    }
}

/// A transfer of frames.
fn transfer(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut data = Vec::new();
    for frame in frames {
        data.resize(data.len().next_multiple_of(4), 0);
        data.extend((frame.len() as u32 | (1 << 22)).to_le_bytes());
        data.extend([0; 4]);
        data.extend(frame);
    }
    data
}

#[test]
fn a_frame_takes_the_bus_and_the_delay() {
    let mut backend = Backend::new(Speed::High);
    assert_eq!(backend.ask(), Answer::Nak);
    let begin_ns = backend.log.now_ns;
    assert!(backend.receive(60));
    backend.run(begin_ns + 1_000_000);
    let bus_ns = Speed::High.transaction_ns(SMALL_BYTES);
    assert_eq!(
        backend.log.wakes,
        [(begin_ns + DELAY_NS + bus_ns, Endpoint::BulkIn)]
    );
    let Answer::Ack(bytes) = backend.ask() else {
        panic!()
    };
    assert_eq!(bytes.len(), SMALL_BYTES);
    assert_eq!(backend.ask(), Answer::Nak);
}

#[test]
fn a_busy_wire_fills_transfers() {
    let mut backend = Backend::new(Speed::High);
    backend.ask();
    for _ in 0..300 {
        assert!(backend.receive(60));
        backend.run(backend.log.now_ns + 10_000);
    }
    let (at_ns, endpoint) = backend.log.wakes[0];
    assert_eq!(endpoint, Endpoint::BulkIn);
    let frames = (at_ns - NEGOTIATION_NS) / 10_000;
    assert!(
        (215..220).contains(&frames),
        "16 KiB are 215 frames: {frames}"
    );
}

#[test]
fn a_full_fifo_asks_for_a_pause_and_an_empty_one_ends_it() {
    let mut backend = Backend::new(Speed::High);
    backend.write(FCT_FLOW, 2 << 8 | 17);
    backend.write(FLOW, FLOW_TX_FCEN | 0xffff);
    let mut received = 0;
    while backend.log.frames.is_empty() && received < 100 {
        assert!(backend.receive(1514));
        received += 1;
        backend.run(backend.log.now_ns + 12_304);
    }
    assert_eq!(received, 6, "6 of 1528 bytes exceed 8704");
    assert_eq!(pause::quanta(&backend.log.frames[0].1), Some(0xffff));
    assert_eq!(backend.log.frames[0].1[6..12], MAC);
    assert!(backend.receive(1514));
    backend.stream(backend.log.now_ns + 1_000_000, &[]);
    let sent: Vec<_> = backend.log.frames.iter().map(|(_, frame)| frame).collect();
    assert_eq!((sent.len(), pause::quanta(sent[1])), (2, Some(0)));
    assert_eq!(backend.chip.statistics.get(Counter::TxPause), 2);
    assert_eq!(backend.chip.statistics.get(Counter::RxDropped), 0);
}

#[test]
fn a_pause_that_was_asked_for_holds_frames_up_for_that_long() {
    let mut backend = Backend::new(Speed::High);
    let begin_ns = backend.log.now_ns;
    let asks = pause::frame([2, 0, 0, 0, 0, 9], 1_000);
    let data = transfer(&[vec![1; 60]]);
    let delay = |backend: &mut Backend| {
        let from_ns = backend.log.now_ns;
        let before = backend.log.frames.len();
        backend.offer(&data);
        while backend.log.frames.len() == before {
            let due_ns = backend.chip.deadline_ns().unwrap().max(backend.log.now_ns);
            backend.run(due_ns);
        }
        assert_eq!(backend.offer(&data), Answer::Ack(()));
        backend.log.now_ns - from_ns
    };
    assert!(backend.chip.receive(begin_ns, &asks));
    assert!(delay(&mut backend) < 10_000, "not obeyed");
    backend.write(FLOW, FLOW_RX_FCEN);
    assert!(backend.chip.receive(backend.log.now_ns, &asks));
    assert_eq!(
        delay(&mut backend),
        512_000,
        "1000 times 512 bits at 1 Gbit/s"
    );
    assert!(backend.chip.receive(backend.log.now_ns, &asks));
    let ends = pause::frame([2, 0, 0, 0, 0, 9], 0);
    assert!(backend.chip.receive(backend.log.now_ns, &ends));
    assert!(delay(&mut backend) < 10_000, "ended");
    assert_eq!(backend.chip.statistics.get(Counter::RxPause), 3);
}

#[test]
fn high_speed_carries_53_megabytes_a_second_and_loses_the_rest() {
    let mut backend = Backend::new(Speed::High);
    let mut bytes = 0;
    let mut refused = 0;
    let end_ns = backend.log.now_ns + 100_000_000;
    while backend.log.now_ns < end_ns {
        refused += u32::from(!backend.receive(1514));
        bytes += backend.stream(backend.log.now_ns + 12_304, &[]).0; // a gigabit
    }
    let rate = bytes as f64 / 0.1;
    assert!((52.0e6..53.3e6).contains(&rate), "{rate}");
    let counted = backend.chip.statistics.get(Counter::RxDropped);
    assert!(refused > 4000 && counted == refused, "{refused}, {counted}");
    assert!(backend.read(FCT_RX_CTL) & FCT_RX_OVFL != 0 && backend.read(INT_STS) & INT_RDFO != 0);
}

#[test]
fn superspeed_carries_a_gigabit() {
    let mut backend = Backend::new(Speed::Super);
    for _ in 0..5_000 {
        assert!(backend.receive(1514));
        backend.stream(backend.log.now_ns + 12_304, &[]);
    }
}

#[test]
fn frames_out_take_the_bus_and_the_wire() {
    let mut backend = Backend::new(Speed::High);
    let begin_ns = backend.log.now_ns;
    let frames: Vec<Vec<u8>> = (0..4).map(|n| ipv4(UDP, &[n; 26])).collect();
    let data = transfer(&frames);
    assert_eq!(backend.offer(&data), Answer::Nak);
    backend.run(begin_ns + 1_000_000);
    let across_ns = begin_ns + Speed::High.transaction_ns(data.len());
    assert_eq!(backend.log.wakes, [(across_ns, Endpoint::BulkOut)]);
    assert_eq!(backend.offer(&[]), Answer::Ack(()));
    let instants: Vec<u64> = backend
        .log
        .frames
        .iter()
        .map(|(at_ns, _)| at_ns - across_ns)
        .collect();
    assert_eq!(instants, [0, 672, 1_344, 2_016]);
    assert!(
        backend
            .log
            .frames
            .iter()
            .map(|(_, frame)| frame)
            .eq(&frames)
    );
}

#[test]
fn both_directions_share_high_speed_evenly_and_superspeed_not_at_all() {
    for (speed, expected) in [(Speed::High, 0.5), (Speed::Super, 1.0)] {
        let mut backend = Backend::new(speed);
        let data = transfer(&vec![vec![1; 1514]; 10]);
        let mut moved = [0, 0];
        let begin_ns = backend.log.now_ns;
        while backend.log.now_ns < begin_ns + 20_000_000 {
            while backend.receive(1514) {}
            let (up, down) = backend.stream(backend.log.now_ns + 2_000, &data);
            moved = [moved[0] + up, moved[1] + down];
        }
        let alone = speed.packet_bytes() as f64 / speed.transaction_ns(speed.packet_bytes()) as f64;
        let share = moved[0] as f64 / 20e6 / alone;
        assert!(
            (share - expected).abs() < 0.1,
            "{speed:?}: {share} {moved:?}"
        );
        if speed == Speed::High {
            assert!(moved[0].abs_diff(moved[1]) < 60_000, "{moved:?}");
        }
    }
}

#[test]
fn nonsense_halts_the_endpoint_until_it_is_cleared() {
    let mut backend = Backend::new(Speed::High);
    assert_eq!(backend.offer(&[1, 2, 3]), Answer::Nak);
    backend.run(backend.log.now_ns + 10_000);
    assert_eq!(backend.log.wakes.len(), 1);
    assert_eq!(backend.offer(&[1, 2, 3]), Answer::Stall);
    assert_ne!(backend.read(INT_STS) & INT_TXE, 0);
    let clear = Setup {
        kind: 0x02,
        request: 1,
        value: 0,
        index: 0x02,
        length: 0,
    };
    assert_eq!(backend.chip.control(0, clear, &[]), Reply::Done(vec![]));
    assert_eq!(backend.offer(&transfer(&[vec![0; 60]])), Answer::Nak);
    backend.run(backend.log.now_ns + 10_000);
    assert_eq!(backend.log.frames.len(), 1);
}

#[test]
fn the_link_is_an_interrupt() {
    let chip = Lan7800::new(0, Speed::High, MAC);
    let mut backend = Backend {
        chip,
        log: Log::default(),
    };
    let mii = |backend: &mut Backend, register: u32, value: Option<u32>| {
        if let Some(value) = value {
            backend.write(MII_DATA, value);
        }
        let write = if value.is_some() { MII_ACC_WRITE } else { 0 };
        backend.write(MII_ACC, (1 << 11) | (register << 6) | write | MII_ACC_BUSY);
        assert_eq!(backend.read(MII_ACC) & MII_ACC_BUSY, 0);
        backend.read(MII_DATA)
    };
    backend.write(INT_EP_CTL, INT_PHY);
    mii(&mut backend, 25, Some(0xa000));
    assert_eq!(backend.chip.interrupt(), Answer::Nak);
    backend.run(2 * NEGOTIATION_NS);
    assert_eq!(backend.log.wakes, [(NEGOTIATION_NS, Endpoint::Interrupt)]);
    assert_eq!(
        backend.chip.interrupt(),
        Answer::Ack(INT_PHY.to_le_bytes().to_vec())
    );
    assert_ne!(mii(&mut backend, 26, None) & 0x2000, 0);
    assert_eq!(backend.chip.interrupt(), Answer::Nak);
    backend.write(MII_ACC, (2 << 11) | (2 << 6) | MII_ACC_BUSY);
    assert_eq!(backend.read(MII_DATA), 0xffff, "nobody at address 2");
}

#[test]
fn bits_that_clear_themselves() {
    let mut backend = Backend::new(Speed::High);
    for (register, bits) in [
        (HW_CFG, HW_CFG_LRST),
        (PMT_CTL, PMT_CTL_PHY_RST),
        (MAC_CR, MAC_CR_RST),
        (FCT_RX_CTL, FCT_RST),
        (FCT_TX_CTL, FCT_RST),
        (RFE_CTL, RFE_CTL_RST),
        (E2P_CMD, E2P_CMD_BUSY),
    ] {
        backend.write(register, bits);
        assert_eq!(backend.read(register) & bits, 0, "{register:#x}");
    }
    assert_ne!(backend.read(PMT_CTL) & PMT_CTL_READY, 0);
    assert_ne!(backend.read(DP_SEL) & DP_SEL_DPRDY, 0);
    assert_eq!(backend.read(E2P_DATA), 0xff, "blank");
    assert_eq!(backend.read(ID_REV) >> 16, 0x7800);
    assert_eq!(backend.read(RX_ADDRL), 0x0000_5452, "the address survives");
    backend.write(MAC_RX, 0);
    assert_ne!(backend.read(MAC_RX) & MAC_RX_RXD, 0);
    backend.write(FCT_RX_CTL, 0);
    assert_ne!(backend.read(FCT_RX_CTL) & FCT_DIS, 0);
    assert!(!backend.receive(60), "switched off");
}

#[test]
fn the_data_port_reaches_the_tables() {
    let mut backend = Backend::new(Speed::High);
    backend.write(DP_SEL, DP_SEL_VLAN_DA);
    for (address, value) in [(3, 0x10), (128, 0x8000_0000), (9_999, 1)] {
        backend.write(DP_ADDR, address);
        backend.write(DP_DATA, value);
        backend.write(DP_CMD, DP_CMD_WRITE);
    }
    assert_eq!(
        (backend.chip.tables[3], backend.chip.tables[128]),
        (0x10, 0x8000_0000)
    );
    backend.write(DP_ADDR, 128);
    backend.write(DP_CMD, 0);
    assert_eq!(backend.read(DP_DATA), 0x8000_0000);
}

#[test]
fn a_sleeping_host_is_woken() {
    let mut backend = Backend::new(Speed::High);
    backend.write(WUCSR, WUCSR_RFE_WAKE_EN);
    assert!(backend.receive(60));
    backend.run(backend.log.now_ns);
    assert_eq!(backend.log.resumes, 1);
    assert_eq!(backend.read(WUCSR), WUCSR_RFE_WAKE_EN | WUCSR_RFE_WAKE_FR);
    backend.write(WUCSR, WUCSR_RFE_WAKE_FR);
    assert_eq!(backend.read(WUCSR), 0);
}

#[test]
fn its_state_can_be_kept_at_any_instant() {
    let mut backend = Backend::new(Speed::High);
    backend.ask();
    backend.offer(&transfer(&vec![vec![1; 1514]; 5]));
    for _ in 0..10 {
        backend.receive(1000);
    }
    backend.run(backend.log.now_ns + 50_000);
    let kept = serde_json::to_vec(&backend.chip).unwrap();
    let mut other = Backend {
        chip: serde_json::from_slice(&kept).unwrap(),
        log: Log {
            now_ns: backend.log.now_ns,
            ..Log::default()
        },
    };
    backend.log.frames.clear();
    backend.log.wakes.clear();
    for backend in [&mut backend, &mut other] {
        backend.run(backend.log.now_ns + 1_000_000);
    }
    assert_eq!(backend.log.frames, other.log.frames);
    assert_eq!(backend.log.wakes, other.log.wakes);
    assert_eq!(backend.ask(), other.ask());
    assert!(
        !backend.log.wakes.is_empty() && kept.len() < 100_000,
        "{}",
        kept.len()
    );
}

#[test]
fn withdrawn_transfers_leave_nothing_behind() {
    let mut backend = Backend::new(Speed::High);
    backend.ask();
    backend.offer(&transfer(&vec![vec![1; 1514]; 5]));
    backend.receive(1000);
    backend.chip.reset();
    backend.run(backend.log.now_ns + 1_000_000);
    assert!(backend.log.wakes.is_empty() && backend.log.frames.is_empty());
    assert_eq!(backend.chip.deadline_ns(), None);
}

#[test]
fn bad_frames_count_and_a_pulled_cable_interrupts() {
    let mut backend = Backend::new(Speed::High);
    let now_ns = backend.log.now_ns;
    backend.chip.receive_damaged(now_ns, &[7; 60]);
    backend.chip.receive_damaged(now_ns, &[7; 20]);
    assert!(backend.chip.receive(now_ns, &[7; 20]));
    for counter in [
        Counter::RxFcsErrors,
        Counter::RxFragments,
        Counter::RxUndersize,
    ] {
        assert_eq!(backend.chip.statistics.get(counter), 1);
    }
    for plugged in [false, true] {
        backend.chip.plug_cable(backend.log.now_ns, plugged);
        backend.run(backend.log.now_ns + NEGOTIATION_NS);
        assert_eq!(backend.receive(60), plugged);
    }
}
