// SPDX-License-Identifier: GPL-2.0-or-later
//! An Intel 82574L, a gigabit Ethernet card on PCI Express, in virtual time.
//!
//! [`Chip`] needs no QEMU: it is a [`Card`] in a [`Host`]. Sections in comments are those of Intel's "82574 GbE Controller Family
//! Datasheet", revision 3.4, "the data sheet". docs/i82574-model.md says what is modelled and what is not.

mod filter;
mod interrupts;
mod nvm;
mod phy;
mod receive;
mod registers;
mod ring;
mod statistics;
mod transmit;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::interrupts::Interrupts;
use self::nvm::Nvm;
use self::phy::Phy;
use self::receive::{Receiver, Used};
use self::registers::{
    FLUSH, RAH_VALID, SWSM_SMBI, cause, csr, ctrl, ctrl_ext, nvm as eeprom, rctl, status,
};
use self::statistics::{Counter, Statistics};
use self::transmit::Sender;
use crate::pci::link::Parameters;
use crate::pci::transmit::{Timing, Transmitter};
use crate::pci::{Capabilities, Card, Host, Identity, MsiX, Power, PowerManagement, Window};

pub use self::phy::NEGOTIATION_NS;

const INTEL: u16 = 0x8086;
const DEVICE: u16 = 0x10d3;
const QUEUES: usize = 2;
/// Registers, the flash memory, ports, the tables of MSI-X (chapter 9).
pub const WINDOWS: [Window; 4] = [
    Window {
        bytes: csr::BYTES,
        ports: false,
    },
    Window {
        bytes: 128 << 10,
        ports: false,
    },
    Window {
        bytes: 32,
        ports: true,
    },
    Window {
        bytes: 16 << 10,
        ports: false,
    },
];
const FLASH: usize = 1;
const PORTS: usize = 2;
const TABLES: usize = 3;
/// The ports: an offset, and what is there (10.1).
const IOADDR: u64 = 0;
const IODATA: u64 = 4;
/// The packet buffer (PBA): 40 KB, half of them for what is received after a reset.
const BUFFER_KB: u32 = 40;
const RECEIVE_KB: u32 = 20;
/// The rate at which the chip runs without a link, in bit/s.
const NO_LINK_BPS: u64 = 1_000_000_000;
/// Preamble and start delimiter in bytes, and the gap between frames in bit times (IEEE 802.3, 4.4.2).
const PREAMBLE_BYTES: u64 = 8;
const GAP_BITS: u64 = 96;
/// SYSTIM counts in steps of a clock of 25 MHz (by Linux's e1000e).
const CLOCK_NS: u64 = 40;

/// The configuration space (chapter 9).
pub const IDENTITY: Identity = Identity {
    vendor: INTEL,
    device: DEVICE,
    revision: 0,
    subsystem: (INTEL, 0),
    latency: [0, 0],
    // Version 2, DSI, PME from D0 and D3.
    power: Some(PowerManagement {
        offset: 0xc8,
        capabilities: 0xc822,
    }),
};

/// Its further capabilities (chapter 9).
pub const CAPABILITIES: Capabilities = Capabilities {
    express: Some(0xe0),
    msi: Some(0xd0),
    msix: Some(MsiX {
        offset: 0xa0,
        vectors: interrupts::VECTORS,
        window: TABLES,
        table: 0,
        pending: 0x2000,
    }),
};

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

/// The time that SYSTIM shows.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct SystemTime {
    value: u64,
    since_ns: u64,
    increment: u32,
}

impl SystemTime {
    fn at(&self, now_ns: u64) -> u64 {
        let (step, period) = (self.increment & 0xff_ffff, self.increment >> 24);
        let steps = now_ns
            .saturating_sub(self.since_ns)
            .checked_div(CLOCK_NS * u64::from(period))
            .unwrap_or(0);
        self.value.wrapping_add(steps.wrapping_mul(step.into()))
    }
    fn set(&mut self, now_ns: u64, value: u64) {
        (self.value, self.since_ns) = (value, now_ns);
    }
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

    /// The queue's registers that an offset lies in: its number and the offset in them.
    fn queue_register(offset: u64, first: u64) -> Option<(usize, u64)> {
        let at = offset.checked_sub(first)?;
        let number = (at / csr::QUEUE_BYTES) as usize;
        (number < QUEUES).then_some((number, at % csr::QUEUE_BYTES))
    }

    fn read_register(&mut self, now_ns: u64, offset: u64) -> u32 {
        if let Some((number, at)) = Chip::queue_register(offset, csr::RX_QUEUES) {
            if let Some(value) = self.receiver.queues[number].ring.read(at) {
                return value;
            }
        }
        if let Some((number, at)) = Chip::queue_register(offset, csr::TX_QUEUES) {
            if let Some(value) = self.sender.queues[number].ring.read(at) {
                return value;
            }
        }
        match offset {
            csr::CTRL_ALIAS => self.register(csr::CTRL),
            csr::STATUS => self.status(),
            csr::EERD => self.nvm.read_register(),
            csr::EEWR => self.nvm.write_register(),
            csr::MDIC => self.phy.control(),
            csr::ICR => self.interrupts.read_causes(),
            csr::ICS => self.interrupts.peek_causes(),
            csr::ITR => self.interrupts.throttle(),
            csr::IMS => self.interrupts.mask(),
            csr::IMC => 0, // write only
            csr::EIAC => self.interrupts.auto_clear(),
            csr::IAM => self.interrupts.auto_mask(),
            csr::IVAR => self.interrupts.ivar(),
            csr::EITR..=csr::EITR_LAST => self
                .interrupts
                .vector_throttle(((offset - csr::EITR) / 4) as usize),
            csr::STATISTICS..=csr::STATISTICS_LAST => self.statistics.read(offset),
            csr::SWSM => {
                let value = self.register(csr::SWSM);
                self.set_register(csr::SWSM, value | SWSM_SMBI);
                value
            }
            csr::SYSTIML => self.time.at(now_ns) as u32,
            csr::SYSTIMH => (self.time.at(now_ns) >> 32) as u32,
            csr::TIMINCA => self.time.increment,
            _ => self.register(offset),
        }
    }

    fn write_register(&mut self, now_ns: u64, offset: u64, value: u32, host: &mut dyn Host) {
        if let Some((number, at)) = Chip::queue_register(offset, csr::RX_QUEUES) {
            if self.receiver.queues[number].ring.write(at, value) {
                if at == csr::TAIL {
                    self.receive_next(now_ns, host);
                }
                return;
            }
        }
        if let Some((number, at)) = Chip::queue_register(offset, csr::TX_QUEUES) {
            if self.sender.queues[number].ring.write(at, value) {
                match at {
                    csr::TAIL => self.send_if_linked(now_ns, host),
                    csr::HEAD => self.sender.queues[number].clear(),
                    _ => {}
                }
                return;
            }
        }
        match offset {
            csr::CTRL | csr::CTRL_ALIAS => self.set_control(now_ns, value),
            csr::STATUS => self.phy_was_reset &= value & status::PHYRA != 0,
            csr::EEC => {
                let granted = value & eeprom::EEC_REQUEST != 0;
                let fixed = eeprom::EEC_PRESENT | eeprom::EEC_AUTO_READ;
                let grant = if granted { eeprom::EEC_GRANT } else { 0 };
                self.set_register(offset, value & !eeprom::EEC_GRANT | fixed | grant);
            }
            csr::EERD => self.nvm.set_read(now_ns, value),
            csr::EEWR => self.nvm.set_write(now_ns, value),
            csr::CTRL_EXT => {
                self.set_register(offset, value & !(ctrl_ext::EE_RST | ctrl_ext::PBA_CLEAR));
                self.interrupts.set_control(value);
            }
            csr::MDIC => self.phy.set_control(now_ns, value),
            csr::EEMNGCTL => {}
            csr::ICR => self.interrupts.write_causes(value),
            csr::ICS => self.interrupts.raise(value),
            csr::ITR => self.interrupts.set_throttle(value),
            csr::IMS => self.interrupts.set_mask(value),
            csr::IMC => self.interrupts.clear_mask(value),
            csr::EIAC => self.interrupts.set_auto_clear(value),
            csr::IAM => self.interrupts.set_auto_mask(value),
            csr::IVAR => self.interrupts.set_ivar(value),
            csr::EITR..=csr::EITR_LAST => self
                .interrupts
                .set_vector_throttle(((offset - csr::EITR) / 4) as usize, value),
            csr::STATISTICS..=csr::STATISTICS_LAST => {} // read only
            csr::PBA => {
                let receive = (value & 0x3f).min(BUFFER_KB);
                self.set_register(offset, (BUFFER_KB - receive) << 16 | receive);
                self.transmitter
                    .resize(transmit::fifo_bytes(self.register(csr::PBA)));
            }
            csr::RDTR | csr::TIDV => {
                self.set_register(offset, value & 0xffff);
                if value & FLUSH != 0 && offset == csr::RDTR {
                    self.receiver.timers.stop();
                    self.receive_flush(now_ns, cause::RXT0, host);
                } else if value & FLUSH != 0 {
                    self.sender.timers.stop();
                    self.send_flush(now_ns, cause::TXDW, host);
                }
            }
            csr::RADV | csr::TADV | csr::FCTTV | csr::VET | csr::FCT | csr::FCAH => {
                self.set_register(offset, value & 0xffff)
            }
            csr::FCRTH => self.set_register(offset, value & 0xfff8),
            csr::FCRTL => self.set_register(offset, value & 0x8000_fff8),
            csr::TXCW => self.set_register(offset, value & 0xc000_ffff),
            csr::TCTL => {
                self.set_register(offset, value);
                self.send_if_linked(now_ns, host);
            }
            csr::RCTL => {
                let enabled = self.register(csr::RCTL) & rctl::EN;
                self.set_register(offset, value);
                if enabled != 0 && value & rctl::EN == 0 {
                    self.receiver.clear();
                }
                self.receive_next(now_ns, host);
            }
            csr::RAL..=csr::RAH_LAST => {
                let high = offset & 4 != 0;
                self.set_register(offset, if high { value & 0x8003_ffff } else { value });
                self.addresses_changed(((offset - csr::RAL) / 8) as usize);
            }
            csr::SYSTIML => {
                let high = self.time.at(now_ns) & !0xffff_ffff;
                self.time.set(now_ns, high | u64::from(value));
            }
            csr::SYSTIMH => {
                let low = self.time.at(now_ns) & 0xffff_ffff;
                self.time.set(now_ns, u64::from(value) << 32 | low);
            }
            csr::TIMINCA => {
                let value_now = self.time.at(now_ns);
                self.time.set(now_ns, value_now);
                self.time.increment = value;
            }
            csr::TSYNCTXCTL | csr::TSYNCRXCTL => self.set_register(offset, value & !1),
            _ => self.set_register(offset, value),
        }
    }

    fn set_control(&mut self, now_ns: u64, value: u32) {
        if value & ctrl::RST != 0 {
            self.software_reset();
            return;
        }
        if value & ctrl::PHY_RST != 0 {
            self.phy.reset(now_ns);
            self.phy_was_reset = true;
        }
        self.set_register(csr::CTRL, value & !ctrl::PHY_RST);
        self.vlan_mode = value & ctrl::VME != 0;
        self.update_link();
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

/// The register that a byte lies in, and by how many bits it is shifted in it.
fn aligned(offset: u64) -> (u64, u32) {
    (offset & !3, (offset & 3) as u32 * 8)
}

impl Card for Chip {
    fn read(&mut self, now_ns: u64, window: usize, offset: u64, _bytes: usize) -> u32 {
        let (register, shift) = match (window, offset) {
            (FLASH, _) => return u32::MAX, // erased
            (TABLES, _) => return 0,
            (PORTS, IOADDR..IODATA) => return self.port_address >> ((offset & 3) * 8),
            (PORTS, _) => (u64::from(self.port_address) & !3, 0),
            _ => aligned(offset),
        };
        self.read_register(now_ns, register) >> shift
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
        if bytes != 4 {
            return;
        }
        let register = match (window, offset) {
            (FLASH | TABLES, _) => return,
            (PORTS, IOADDR) => {
                self.port_address = value;
                return;
            }
            (PORTS, _) => u64::from(self.port_address),
            _ => offset,
        };
        if register & 3 == 0 && register < csr::BYTES {
            self.write_register(now_ns, register, value, host);
            self.update_interrupts(now_ns, host);
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
        self.phy = Phy::new(now_ns);
        self.software_reset();
        self.interrupts.release();
    }

    /// As a software reset; the PHY keeps its link.
    fn power_changed(&mut self, _now_ns: u64, _power: Power) {
        self.software_reset();
        self.interrupts.release();
    }

    fn state(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn restore(&mut self, state: &str) -> Result<(), String> {
        *self = serde_json::from_str(state).map_err(|why| why.to_string())?;
        Ok(())
    }
}
