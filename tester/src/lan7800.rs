// SPDX-License-Identifier: GPL-2.0-or-later
//! A Microchip LAN7800, a USB network card: what Linux's lan78xx driver needs of it, in virtual time.
//!
//! [`Lan7800`] needs no QEMU. It handles a host's requests (control requests, transfers on its endpoints) and frames from the line, and
//! acts on a [`Board`]. It has no clock: its owner calls [`Lan7800::advance`] at [`Lan7800::deadline_ns`]. docs/inside/lan7800-model.md says what
//! is modelled and what is not.

mod bulk_in;
mod bulk_out;
mod control;
pub mod fault_injection;
mod phy;
mod receive;
mod registers;
mod statistics;
mod transmit;
pub mod usb;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use self::bulk_in::{BulkIn, Rules};
use self::bulk_out::{BulkOut, Offer, SLACK_NS};
use self::fault_injection::FaultInjector;
use self::phy::Phy;
use self::registers::*;
use self::statistics::{Counter, Statistics};
use self::usb::{Endpoint, Function, Reply, Setup, Speed};
use crate::faults::Damage;
use crate::pause;

pub use self::phy::NEGOTIATION_NS;

/// What the chip is soldered to.
pub trait Board {
    /// An endpoint that answered [`Answer::Nak`] has an answer now: the host must ask again.
    fn wake(&mut self, endpoint: Endpoint);
    /// Wakes a suspended host.
    fn resume(&mut self);
    /// The transmission of a frame (without FCS) begins.
    fn transmit(&mut self, frame: &[u8]);
}

/// What an endpoint answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<T> {
    /// Not yet: the owner must ask again after [`Board::wake`].
    Nak,
    /// There you are.
    Ack(T),
    /// The endpoint is halted.
    Stall,
}

/// The two bulk directions, which compete for the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Direction {
    Up,
    Down,
}

/// A transaction on the bus.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Transaction {
    direction: Direction,
    bytes: usize,
    end_ns: u64,
}

/// The chip.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lan7800 {
    function: Function,
    registers: Registers,
    /// The VLAN table and, behind it, the address hash.
    tables: Vec<u32>,
    eeprom: Vec<u8>,
    phy: Phy,
    statistics: Statistics,
    bulk_in: BulkIn,
    bulk_out: BulkOut,
    /// Transactions on the bus; at high speed at most one.
    bus: Vec<Transaction>,
    /// Which direction had the bus last, and until when, in ns.
    last: Direction,
    bus_free_ns: u64,
    /// The host waits for an interrupt.
    interrupt_wanted: bool,
    /// A suspended host must be woken up.
    resume: bool,
    /// The partner was asked to pause.
    #[serde(default)]
    pausing: bool,
    /// Snapshots know no ill will.
    #[serde(skip)]
    faults: Option<FaultInjector>,
}

impl Lan7800 {
    /// A chip with this address, plugged in at `now_ns`.
    pub fn new(now_ns: u64, speed: Speed, mac: [u8; 6]) -> Self {
        let serial = mac.map(|byte| format!("{byte:02x}")).concat();
        Lan7800 {
            function: Function::new(speed, serial),
            registers: Registers::new(mac),
            tables: control::empty_tables(),
            eeprom: control::blank_eeprom(),
            phy: Phy::new(now_ns),
            statistics: Statistics::default(),
            bulk_in: BulkIn::default(),
            bulk_out: BulkOut::default(),
            bus: Vec::new(),
            last: Direction::Down,
            bus_free_ns: 0,
            interrupt_wanted: false,
            resume: false,
            pausing: false,
            faults: None,
        }
    }

    /// A new chip in its place, plugged in at `now_ns`, with the same fault injection.
    pub fn successor(&mut self, now_ns: u64, mac: [u8; 6]) -> Self {
        let mut new = Lan7800::new(now_ns, self.speed(), mac);
        new.faults = self.faults.take();
        new.phy = self.phy.again(now_ns);
        new
    }

    /// Starts or ends fault injection; returns what was damaged before.
    pub fn set_fault_injector(&mut self, faults: Option<FaultInjector>) -> Damage {
        let before = std::mem::replace(&mut self.faults, faults);
        before.map_or(Damage::default(), |faults| faults.damage())
    }

    /// Whether the link partner advertises pause frames, when it negotiates next.
    pub fn set_partner(&mut self, pauses: bool) {
        self.phy.set_partner(pauses);
    }

    /// The cable is pulled or put in.
    pub fn plug_cable(&mut self, now_ns: u64, plugged: bool) {
        self.phy.plug_cable(now_ns, plugged);
    }

    /// The last bit of a frame with a wrong FCS (which `frame` is without) arrives. What would store it is not modelled.
    pub fn receive_damaged(&mut self, _now_ns: u64, frame: &[u8]) {
        let listens = self.registers.has(MAC_RX, MAC_RX_RXEN) && self.phy.link_bps().is_some();
        if listens {
            self.statistics.count(if frame.len() < transmit::MIN_BYTES {
                Counter::RxFragments
            } else {
                Counter::RxFcsErrors
            });
        }
    }

    /// Its USB speed.
    pub fn speed(&self) -> Speed {
        self.function.speed
    }

    /// Whether the host allows the chip to wake it up.
    pub fn may_wake(&self) -> bool {
        self.function.remote_wakeup
    }

    /// The bus was reset.
    pub fn reset(&mut self) {
        self.function.reset();
        for endpoint in Endpoint::ALL {
            self.stopped(endpoint);
        }
    }

    /// A control request; `data` is the host's data.
    pub fn control(&mut self, now_ns: u64, setup: Setup, data: &[u8]) -> Reply {
        let reply = if setup.kind & 0x60 == 0 {
            self.function.request(setup)
        } else {
            self.vendor(now_ns, setup, data)
        };
        self.schedule(now_ns);
        let room = usize::from(setup.length);
        let reply = match reply {
            Reply::Done(mut bytes) => {
                bytes.truncate(room);
                Reply::Done(bytes)
            }
            Reply::Stall => Reply::Stall,
        };
        match &mut self.faults {
            Some(faults) => faults.reply(reply, room),
            None => reply,
        }
    }

    /// The host asks for received frames, at most `bytes`.
    pub fn bulk_in(&mut self, now_ns: u64, bytes: usize) -> Answer<Vec<u8>> {
        if self.function.is_halted(Endpoint::BulkIn) {
            return Answer::Stall;
        }
        let answer = match (self.bulk_in.ask(bytes), &mut self.faults) {
            (Some(transfer), Some(faults)) => faults.transfer(transfer, bytes),
            (Some(transfer), None) => Answer::Ack(transfer),
            (None, _) => Answer::Nak,
        };
        if answer == Answer::Stall {
            self.function.halt(Endpoint::BulkIn, true);
        }
        self.schedule(now_ns);
        answer
    }

    /// The host offers frames to transmit.
    pub fn bulk_out(&mut self, now_ns: u64, data: impl FnOnce() -> Vec<u8>) -> Answer<()> {
        if self.function.is_halted(Endpoint::BulkOut) {
            return Answer::Stall;
        }
        let answer = match self.bulk_out.offer(data) {
            Offer::Taken => Answer::Ack(()),
            Offer::Wait => Answer::Nak,
        };
        if let (Answer::Ack(()), Some(faults)) = (&answer, &mut self.faults) {
            if let Some(endpoint) = faults.refuses() {
                self.function.halt(endpoint, true);
                return Answer::Stall;
            }
        }
        self.schedule(now_ns);
        answer
    }

    /// The host asks for the interrupt status.
    pub fn interrupt(&mut self) -> Answer<Vec<u8>> {
        if self.function.is_halted(Endpoint::Interrupt) {
            return Answer::Stall;
        }
        let status = self.interrupt_status();
        let honest = match status {
            0 => Answer::Nak,
            _ => Answer::Ack(status.to_le_bytes().to_vec()),
        };
        let answer = match &mut self.faults {
            Some(faults) => faults.status(honest),
            None => honest,
        };
        self.interrupt_wanted = answer == Answer::Nak;
        if answer == Answer::Stall {
            self.function.halt(Endpoint::Interrupt, true);
        }
        answer
    }

    /// The host no longer waits for an endpoint.
    pub fn stopped(&mut self, endpoint: Endpoint) {
        let direction = match endpoint {
            Endpoint::BulkIn => Direction::Up,
            Endpoint::BulkOut => Direction::Down,
            Endpoint::Interrupt => {
                self.interrupt_wanted = false;
                return;
            }
        };
        match direction {
            Direction::Up => self.bulk_in.withdraw(),
            Direction::Down => self.bulk_out.withdraw(),
        }
        self.bus.retain(|moving| moving.direction != direction);
    }

    /// The last bit of a frame (without FCS) arrives from the line. False: the chip has no room for it, or its receiver is off.
    pub fn receive(&mut self, now_ns: u64, frame: &[u8]) -> bool {
        let listens = self.registers.has(MAC_RX, MAC_RX_RXEN) && self.phy.link_bps().is_some();
        if !listens {
            return false;
        }
        if frame.len() < transmit::MIN_BYTES {
            self.statistics.count(Counter::RxUndersize);
            return true;
        }
        let longest = ((self.registers.get(MAC_RX) >> MAC_RX_MAX_SIZE_SHIFT) & 0x3fff) as usize;
        let tag = usize::from(self.registers.has(MAC_RX, MAC_RX_VLAN_FSE)) * 4;
        if frame.len() + 4 > longest + tag {
            self.statistics.count(Counter::RxOversize);
            return true;
        }
        let asked = pause::quanta(frame).filter(|_| self.registers.has(FLOW, FLOW_RX_FCEN));
        if let Some(quanta) = asked {
            self.statistics.count(Counter::RxPause);
            let pause_ns = pause::ns(quanta, self.phy.link_bps().unwrap_or(u64::MAX));
            self.bulk_out.pause(now_ns + pause_ns);
            if !self.registers.has(FLOW, FLOW_FPF) {
                return true;
            }
        }
        let Some(flags) = receive::filter(&self.registers, &self.tables, frame) else {
            return true;
        };
        self.statistics.received(frame);
        let wakes = receive::wakes(&self.registers, flags, frame);
        if wakes != 0 {
            self.registers.raise(WUCSR, wakes);
            self.registers.raise(PMT_CTL, PMT_CTL_WUPS_MAC);
            self.resume = true;
        }
        let kept = self.registers.has(FCT_RX_CTL, FCT_EN) && {
            let whole = receive::format(&self.registers, flags, frame);
            let capacity = self.registers.fifo_bytes(FCT_RX_FIFO_END);
            self.bulk_in.push(whole, capacity)
        };
        if !kept {
            self.statistics.count(Counter::RxDropped);
            self.registers.raise(FCT_RX_CTL, FCT_RX_OVFL);
            self.registers.raise(INT_STS, INT_RDFO);
        }
        self.control_flow();
        self.schedule(now_ns);
        kept
    }

    /// Asks the partner to pause, or to go on, by how full the receive FIFO is.
    fn control_flow(&mut self) {
        let (on, off) = self.registers.pause_levels();
        let used = self.bulk_in.used();
        let asks = if self.pausing {
            used > off
        } else {
            on != 0 && used >= on
        };
        if !self.registers.has(FLOW, FLOW_TX_FCEN) || asks == self.pausing {
            return;
        }
        self.pausing = asks;
        let quanta = if asks {
            (self.registers.get(FLOW) & FLOW_TIME) as u16
        } else {
            0
        };
        let [low, high] = [RX_ADDRL, RX_ADDRH].map(|at| self.registers.get(at).to_le_bytes());
        let source = [low[0], low[1], low[2], low[3], high[0], high[1]];
        self.bulk_out.push_control(pause::frame(source, quanta));
    }

    /// When [`Lan7800::advance`] must be called, in ns; it may have passed already.
    pub fn deadline_ns(&self) -> Option<u64> {
        let at_once = self.resume || (self.interrupt_wanted && self.interrupt_status() != 0);
        let rest = self
            .is_free(Direction::Up)
            .then(|| self.bulk_in.deadline_ns(self.rules()));
        [
            at_once.then_some(0),
            self.phy.deadline_ns(),
            rest.flatten(),
            self.faults.as_ref().and_then(FaultInjector::deadline_ns),
            self.bulk_out.deadline_ns().filter(|_| self.transmits()),
        ]
        .into_iter()
        .flatten()
        .chain(self.bus.iter().map(|moving| moving.end_ns))
        .min()
    }

    /// Does everything that is due.
    pub fn advance(&mut self, now_ns: u64, board: &mut dyn Board) {
        self.phy.advance(now_ns);
        if std::mem::take(&mut self.resume) {
            board.resume();
        }
        while let Some(place) = self.bus.iter().position(|moving| moving.end_ns <= now_ns) {
            let over = self.bus.remove(place);
            if let Some(endpoint) = self.moved(over) {
                board.wake(endpoint);
            }
            self.control_flow();
            self.schedule(now_ns);
        }
        if self.transmits() {
            let wire_bps = self.phy.link_bps();
            while let Some(frame) = self.bulk_out.next_frame(now_ns, wire_bps.unwrap_or(0)) {
                if wire_bps.is_some() {
                    if pause::quanta(&frame).is_some() {
                        self.statistics.count(Counter::TxPause);
                    }
                    self.statistics.transmitted(&frame);
                    board.transmit(&frame);
                } else {
                    self.statistics.count(Counter::TxCarrierErrors);
                }
            }
        }
        let alarm = (self.faults.as_mut()).is_some_and(|faults| faults.advance(now_ns));
        if self.interrupt_wanted && (alarm || self.interrupt_status() != 0) {
            self.interrupt_wanted = false;
            board.wake(Endpoint::Interrupt);
        }
        self.schedule(now_ns);
    }

    fn interrupt_status(&self) -> u32 {
        self.read(INT_STS) & self.registers.get(INT_EP_CTL) & 0x7fff_ffff
    }

    /// The MAC takes frames from the FIFO.
    fn transmits(&self) -> bool {
        self.registers.has(MAC_TX, MAC_TX_TXEN) && self.registers.has(FCT_TX_CTL, FCT_EN)
    }

    fn rules(&self) -> Rules {
        let packet_bytes = self.function.speed.packet_bytes();
        let capped = self.registers.has(USB_CFG0, USB_CFG_BCE);
        let cap = (self.registers.get(BURST_CAP) & 0xff) as usize * packet_bytes;
        let delay = u64::from(self.registers.get(BULK_IN_DLY) & 0xffff);
        Rules {
            packet_bytes,
            burst_bytes: if capped { cap } else { usize::MAX },
            several: self.registers.has(HW_CFG, HW_CFG_MEF),
            delay_ns: delay * 1_000 / BULK_IN_DELAY_PER_US,
        }
    }

    fn is_free(&self, direction: Direction) -> bool {
        let shared = self.function.speed.is_half_duplex();
        !self
            .bus
            .iter()
            .any(|moving| shared || moving.direction == direction)
    }

    /// Ends the transactions that are due; returns the endpoint that now has an answer for the host.
    fn moved(&mut self, over: Transaction) -> Option<Endpoint> {
        self.bus_free_ns = over.end_ns;
        match over.direction {
            Direction::Up => {
                let rules = self.rules();
                self.bulk_in
                    .moved(rules, over.bytes)
                    .then_some(Endpoint::BulkIn)
            }
            Direction::Down => {
                let capacity = self.registers.fifo_bytes(FCT_TX_FIFO_END);
                match self.bulk_out.moved(over.bytes, capacity) {
                    Ok(complete) => complete.then_some(Endpoint::BulkOut),
                    Err(()) => {
                        self.registers.raise(INT_STS, INT_TXE);
                        if !self.registers.has(USB_CFG0, USB_CFG_STALL_BO_DIS) {
                            self.function.halt(Endpoint::BulkOut, true);
                        }
                        Some(Endpoint::BulkOut)
                    }
                }
            }
        }
    }

    /// Starts the transactions that are ready; if both directions are, the one that did not have the bus last is first.
    fn schedule(&mut self, now_ns: u64) {
        let order = match self.last {
            Direction::Up => [Direction::Down, Direction::Up],
            Direction::Down => [Direction::Up, Direction::Down],
        };
        for direction in order {
            if !self.is_free(direction) {
                continue;
            }
            let ready = match direction {
                Direction::Up => {
                    let rules = self.rules();
                    self.bulk_in.ready(rules, now_ns)
                }
                Direction::Down => {
                    let capacity = self.registers.fifo_bytes(FCT_TX_FIFO_END);
                    let packet_bytes = self.function.speed.packet_bytes();
                    self.bulk_out.ready(packet_bytes, capacity)
                }
            };
            let Some(bytes) = ready else { continue };
            let late = now_ns.wrapping_sub(self.bus_free_ns) <= SLACK_NS;
            let begin_ns = if late { self.bus_free_ns } else { now_ns };
            self.bus.push(Transaction {
                direction,
                bytes,
                end_ns: begin_ns + self.function.speed.transaction_ns(bytes),
            });
            self.last = direction;
        }
    }
}
