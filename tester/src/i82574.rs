// SPDX-License-Identifier: GPL-2.0-or-later
//! An Intel 82574L, a gigabit Ethernet card on PCI Express, in virtual time.
//!
//! [`Chip`] needs no QEMU: it is a [`Card`] in a [`Host`]. Sections in comments are those of Intel's "82574 GbE Controller Family
//! Datasheet", revision 3.4, "the data sheet". docs/inside/i82574-model.md says what is modelled and what is not.

mod access;
mod filter;
mod flow_control;
mod identity;
mod interrupts;
mod nvm;
mod packet;
mod phy;
mod receive;
mod receive_descriptor;
mod registers;
mod ring;
mod statistics;
mod system_time;
mod transmit;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::interrupts::Interrupts;
use self::nvm::Nvm;
use self::phy::Phy;
use self::receive::Receiver;
use self::registers::{RAH_VALID, cause, csr, ctrl, nvm as eeprom, rctl, status};
use self::ring::Used;
use self::statistics::{Counter, Statistics};
use self::system_time::SystemTime;
use self::transmit::Sender;
use crate::pci::link::Parameters;
use crate::pci::transmit::{Timing, Transmitter};
use crate::pci::{Card, Host, Power};

pub use self::identity::{CAPABILITIES, IDENTITY, WINDOWS};
pub use self::phy::NEGOTIATION_NS;

const QUEUES: usize = 2;
/// The packet buffer (PBA): 40 KB, half of them for what is received after a reset.
const BUFFER_KB: u32 = 40;
const RECEIVE_KB: u32 = 20;
/// The rate at which the chip runs without a link, in bit/s.
const NO_LINK_BPS: u64 = 1_000_000_000;
/// Preamble and start delimiter in bytes, and the gap between frames in bit times (IEEE 802.3, 4.4.2).
const PREAMBLE_BYTES: u64 = 8;
const GAP_BITS: u64 = 96;
/// A descriptor is in memory no sooner than so many ns after it is ready to be written back.
const WRITE_BACK_NS: u64 = {
    let link = Parameters::GEN1_X1;
    (16 + link.overhead_bytes) * link.byte_ps / 1_000 + link.write_latency_ns
};

/// Descriptors that are written back later.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Posted {
    at_ns: u64,
    used: Vec<Used>,
    causes: u32,
}

/// The chip.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Chip {
    nvm: Nvm,
    phy: Phy,
    /// Registers that are nothing but memory, other than 0, by their offset.
    registers: BTreeMap<u64, u32>,
    /// The addresses in RAL and RAH.
    addresses: Vec<Option<[u8; 6]>>,
    /// CTRL.VME.
    vlan_mode: bool,
    /// The link as STATUS.LU shows it.
    link: bool,
    /// STATUS.PHYRA.
    phy_was_reset: bool,
    interrupts: Interrupts,
    receiver: Receiver,
    sender: Sender,
    transmitter: Transmitter,
    statistics: Statistics,
    time: SystemTime,
    port_address: u32,
    posted: Vec<Posted>,
    /// Frames in loopback: when the last bit arrives, in ns.
    looped: Vec<(u64, Vec<u8>)>,
}

impl Chip {
    /// A chip that was powered up at `now_ns`, with this address in its NVM.
    pub fn new(now_ns: u64, mac: [u8; 6]) -> Self {
        let mut chip = Chip {
            nvm: Nvm::new(mac),
            phy: Phy::new(now_ns),
            registers: BTreeMap::new(),
            addresses: Vec::new(),
            vlan_mode: false,
            link: false,
            phy_was_reset: false,
            interrupts: Interrupts::default(),
            receiver: Receiver::new(),
            sender: Sender::new(),
            transmitter: Transmitter::new(0),
            statistics: Statistics::default(),
            time: SystemTime::default(),
            port_address: 0,
            posted: Vec::new(),
            looped: Vec::new(),
        };
        chip.software_reset();
        chip
    }

    /// CTRL.RST (10.2.2.1): everything but NVM and PHY.
    fn software_reset(&mut self) {
        self.registers = BTreeMap::from([
            (
                csr::CTRL,
                ctrl::FD | ctrl::SLU | ctrl::SPEED_1000 | ctrl::ADVD3WUC,
            ),
            (csr::EEC, eeprom::EEC_PRESENT | eeprom::EEC_AUTO_READ),
            (csr::EEMNGCTL, eeprom::CONFIGURED),
            (csr::PBA, (BUFFER_KB - RECEIVE_KB) << 16 | RECEIVE_KB),
            (
                csr::RXCSUM,
                registers::offload::IPOFL | registers::offload::TUOFL,
            ),
            (csr::VET, 0x8100),
            (csr::TIPG, 0x0060_2008),
        ]);
        self.addresses = vec![None; filter::ADDRESSES];
        self.vlan_mode = false;
        self.set_address(0, self.nvm.address());
        self.interrupts.reset();
        self.receiver = Receiver::new();
        self.sender = Sender::new();
        self.transmitter = Transmitter::new(transmit::fifo_bytes(self.register(csr::PBA)));
        self.statistics = Statistics::default();
        self.time = SystemTime::default();
        self.posted.clear();
        self.looped.clear();
        self.link = self.phy.link_bps().is_some();
    }

    fn set_address(&mut self, number: usize, address: [u8; 6]) {
        let [a, b, c, d, e, f] = address;
        let at = csr::RAL + 8 * number as u64;
        self.set_register(at, u32::from_le_bytes([a, b, c, d]));
        self.set_register(at + 4, RAH_VALID | u32::from(f) << 8 | u32::from(e));
        self.addresses_changed(number);
    }

    /// RAL or RAH was written.
    fn addresses_changed(&mut self, number: usize) {
        let at = csr::RAL + 8 * number as u64;
        let (low, high) = (self.register(at), self.register(at + 4));
        let [a, b, c, d] = low.to_le_bytes();
        let [e, f, ..] = high.to_le_bytes();
        self.addresses[number] = (high & RAH_VALID != 0).then_some([a, b, c, d, e, f]);
    }

    /// A register that is nothing but memory.
    fn register(&self, offset: u64) -> u32 {
        self.registers.get(&offset).copied().unwrap_or(0)
    }

    fn set_register(&mut self, offset: u64, value: u32) {
        if value == 0 {
            self.registers.remove(&offset);
        } else {
            self.registers.insert(offset, value);
        }
    }

    fn bps(&self) -> u64 {
        self.phy.link_bps().unwrap_or(NO_LINK_BPS)
    }

    fn timing(&self) -> Timing {
        Timing {
            bps: self.bps(),
            preamble_bytes: PREAMBLE_BYTES,
            gap_bits: GAP_BITS,
        }
    }

    fn loops(&self) -> bool {
        self.phy.loops() || self.register(csr::RCTL) & rctl::LOOPBACK != 0
    }

    /// Whether frames can leave.
    fn is_linked(&self) -> bool {
        self.link || self.loops()
    }

    fn status(&self) -> u32 {
        let control = self.register(csr::CTRL);
        let speed = match self.phy.link_bps() {
            Some(10_000_000) => 0,
            Some(100_000_000) => 1,
            _ => 2,
        };
        let masters = control & ctrl::MASTER_DISABLE == 0 || self.sender.is_busy();
        let bit = |set: bool, bit: u32| if set { bit } else { 0 };
        status::FD
            | status::INIT_DONE
            | speed << status::SPEED_SHIFT
            | bit(self.link, status::LU)
            | bit(self.phy_was_reset, status::PHYRA)
            | bit(masters, status::MASTER)
    }

    /// The link may have changed.
    fn update_link(&mut self) {
        let link = self.phy.link_bps().is_some() && self.register(csr::CTRL) & ctrl::SLU != 0;
        if link != self.link {
            self.link = link;
            self.interrupts.raise(cause::LSC);
        }
    }

    fn send_if_linked(&mut self, now_ns: u64, host: &mut dyn Host) {
        if self.is_linked() {
            self.send(now_ns, host);
        }
    }

    /// Writes back descriptors when the link has carried them, and sets causes then.
    fn write_back(&mut self, at_ns: u64, used: Vec<Used>, causes: u32) {
        self.posted.push(Posted {
            at_ns,
            used,
            causes,
        });
    }

    fn update_interrupts(&mut self, now_ns: u64, host: &mut dyn Host) {
        self.interrupts.use_signalling(host.signalling());
        self.interrupts.update(now_ns, host);
        let count = self.interrupts.take_count();
        self.statistics.add(Counter::Interrupts, count);
    }

    /// The next instant at which anything is due, in ns.
    fn next_ns(&self) -> Option<u64> {
        let times = [
            self.prompt_ns(),
            self.receiver.deadline_ns(),
            self.sender.timers.deadline_ns(),
        ];
        times.into_iter().flatten().min()
    }

    /// The next instant at which anything is due that shows at once, in ns.
    fn prompt_ns(&self) -> Option<u64> {
        let linked = self.is_linked();
        let departure = self.transmitter.deadline_ns().filter(|_| linked);
        let room = self
            .transmitter
            .next_room_ns()
            .filter(|_| linked && self.sender.waits());
        [
            departure,
            room,
            self.sender.next_fetched_ns(),
            self.phy.deadline_ns(),
            self.nvm.deadline_ns(),
            self.interrupts.deadline_ns(),
        ]
        .into_iter()
        .flatten()
        .chain(self.posted.iter().map(|posted| posted.at_ns))
        .chain(self.looped.iter().map(|(at_ns, _)| *at_ns))
        .min()
    }

    /// Does what is due at an instant.
    fn step(&mut self, at_ns: u64, host: &mut dyn Host) {
        if self.phy.advance(at_ns) {
            self.interrupts.raise(cause::MDAC);
        }
        self.nvm.advance(at_ns);
        let was_linked = self.link;
        self.update_link();
        if self.link && !was_linked {
            self.send_if_linked(at_ns, host);
        }
        while let Some(place) = self.posted.iter().position(|posted| posted.at_ns <= at_ns) {
            let posted = self.posted.remove(place);
            for used in &posted.used {
                host.write(used.address, &used.bytes);
            }
            self.interrupts.raise(posted.causes);
        }
        self.transmitter.settle(at_ns);
        self.receive_advance(at_ns, host);
        self.send_advance(at_ns, host);
        if self.is_linked() {
            self.depart(at_ns, host);
            if self.sender.waits() {
                self.send(at_ns, host);
            }
        }
        while let Some(place) = self.looped.iter().position(|(end_ns, _)| *end_ns <= at_ns) {
            let (_, frame) = self.looped.remove(place);
            self.arrive(at_ns, &frame, host);
        }
        self.update_interrupts(at_ns, host);
    }

    fn depart(&mut self, at_ns: u64, host: &mut dyn Host) {
        let loops = self.loops();
        while let Some(departure) = self.transmitter.depart(at_ns, self.timing()) {
            let frame = departure.queued.frame;
            self.statistics.sent(&frame);
            if loops {
                self.looped.push((departure.end_ns, frame));
            } else {
                host.transmit(&frame);
            }
        }
    }
}

impl Card for Chip {
    fn read(&mut self, now_ns: u64, window: usize, offset: u64, _bytes: usize) -> u32 {
        self.read_window(now_ns, window, offset)
    }

    fn settle(&mut self, now_ns: u64, host: &mut dyn Host) {
        self.update_interrupts(now_ns, host);
    }

    /// Registers are written as words; what is smaller is ignored (10.1: registers are 32 bits wide).
    fn write(
        &mut self,
        now_ns: u64,
        window: usize,
        offset: u64,
        bytes: usize,
        value: u32,
        host: &mut dyn Host,
    ) {
        if bytes == 4 {
            self.write_window(now_ns, window, offset, value, host);
        }
    }

    fn receive(&mut self, now_ns: u64, frame: &[u8], host: &mut dyn Host) -> bool {
        if !self.link || self.loops() {
            return false;
        }
        let taken = self.arrive(now_ns, frame, host);
        self.update_interrupts(now_ns, host);
        taken
    }

    /// What RCTL.SBP would do is not modelled: a bad frame counts, and is gone.
    fn receive_damaged(&mut self, _now_ns: u64, frame: &[u8], _host: &mut dyn Host) {
        if self.link && !self.loops() {
            self.count_damaged(frame);
        }
    }

    fn plug_cable(&mut self, now_ns: u64, plugged: bool, host: &mut dyn Host) {
        self.phy.plug_cable(now_ns, plugged);
        self.update_link();
        self.update_interrupts(now_ns, host);
    }

    fn interrupt_otherwise(&mut self, now_ns: u64, host: &mut dyn Host) {
        self.interrupts.raise(cause::LSC);
        self.update_interrupts(now_ns, host);
    }

    fn deadline_ns(&self) -> Option<u64> {
        self.next_ns()
    }

    fn advance(&mut self, now_ns: u64, host: &mut dyn Host) {
        // An instant at a time, each with the time at which it is due: a clock with coarse steps delays nothing that follows.
        while let Some(at_ns) = self.next_ns().filter(|at_ns| *at_ns <= now_ns) {
            self.step(at_ns, host);
        }
    }

    fn shows_ns(&self) -> Option<u64> {
        let times = [
            self.prompt_ns(),
            self.receive_shows_ns(),
            self.send_timers_show_ns(),
        ];
        times.into_iter().flatten().min()
    }

    fn catch_up(&mut self, now_ns: u64, host: &mut dyn Host) {
        if self.receiver.deadline_ns().is_none() && self.sender.timers.deadline_ns().is_none() {
            return; // only these could wait
        }
        while let Some(at_ns) = self.next_ns().filter(|at_ns| *at_ns < now_ns) {
            if self.shows_ns().is_some_and(|shows_ns| shows_ns <= at_ns) {
                return;
            }
            self.step(at_ns, host);
        }
    }

    fn transmit_fill(&self, _host: &mut dyn Host) -> u32 {
        self.sender.fill()
    }

    fn reset(&mut self, now_ns: u64) {
        self.phy = self.phy.again(now_ns);
        self.software_reset();
        self.interrupts.release();
    }

    /// As a software reset; the PHY keeps its link.
    fn power_changed(&mut self, _now_ns: u64, _power: Power) {
        self.software_reset();
        self.interrupts.release();
    }

    fn state(&self) -> Result<String, String> {
        serde_json::to_string(self).map_err(|why| why.to_string())
    }

    fn restore(&mut self, state: &str) -> Result<(), String> {
        *self = serde_json::from_str(state).map_err(|why| why.to_string())?;
        Ok(())
    }
}
