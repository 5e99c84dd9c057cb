// SPDX-License-Identifier: GPL-2.0-or-later
//! An Intel 82557, 82558, 82559 or 82551, a Fast Ethernet card, in virtual time.
//!
//! [`Chip`] needs no QEMU: it is a [`Card`] in a [`Host`]. Sections in comments are those of Intel's "8255x 10/100 Mbps Ethernet Controller
//! Family Open Source Software Developer Manual", revision 1.3, "the manual". docs/inside/i82559-model.md says what is modelled and what is not.

mod command;
mod configuration;
mod eeprom;
mod mdi;
mod receive;
mod registers;
mod statistics;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use self::command::CommandUnit;
use self::configuration::{Configuration, Loopback};
use self::mdi::Mdi;
use self::receive::ReceiveUnit;
use self::registers::{cause, csr, mask, port, scb};
use self::statistics::{Counter, Statistics};
use crate::pci::bus::Access;
use crate::pci::microwire::Microwire;
use crate::pci::transmit::{Timing, Transmitter};
use crate::pci::{Card, Errata, Host, Identity, Power, PowerManagement, Window};

const INTEL: u16 = 0x8086;
const PRO_100: u16 = 0x1229;
/// Memory, ports, the flash memory (4.1.8 to 4.1.10).
pub const WINDOWS: [Window; 3] = [
    Window {
        bytes: 4096,
        ports: false,
    },
    Window {
        bytes: 64,
        ports: true,
    },
    Window {
        bytes: 128 << 10,
        ports: false,
    },
];
const FLASH: usize = 2;
/// The transmit FIFO (82559 data sheet), in bytes. Byte 7 of the configuration limits it to two frames.
const FIFO_BYTES: usize = 3 << 10;
/// What a self-test writes: a signature other than 0, and no failure (6.3.3.2).
const SELF_TEST: [u32; 2] = [0x0000_a5a5, 0];
/// The erratum of the slow SCB: every so many commands one is accepted late, and how much later, in ns. Longer than drivers may wait with
/// interrupts disabled; e100 waits for 100 ms at most, irqmod_i8255x for 0.2 ms.
const SLOW_EVERY: u32 = 3;
const SLOW_NS: u64 = 2_000_000;
/// The rate at which the chip runs without a link, in bit/s.
const NO_LINK_BPS: u64 = 100_000_000;

/// A chip of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Revision {
    /// An 82557 (B stepping): no masks but M, no extended blocks.
    I82557,
    /// An 82558 (B stepping): masks, extended blocks, CNA delay.
    I82558,
    /// An 82559 (C stepping).
    I82559,
    /// An 82551 (E stepping).
    I82551,
}

impl Revision {
    /// By its name without the i.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "82557" => Some(Revision::I82557),
            "82558" => Some(Revision::I82558),
            "82559" => Some(Revision::I82559),
            "82551" => Some(Revision::I82551),
            _ => None,
        }
    }

    /// The configuration space (4.1). Drivers tell the chips by the revision.
    pub fn identity(self) -> Identity {
        Identity {
            vendor: INTEL,
            device: PRO_100,
            revision: match self {
                Revision::I82557 => 0x01,
                Revision::I82558 => 0x05,
                Revision::I82559 => 0x08,
                Revision::I82551 => 0x0e,
            },
            subsystem: (INTEL, 0x000c),
            latency: [0x08, 0x38],
            // Version, DSI, D1, D2, the states that it can wake from (4.1.18).
            power: match self {
                Revision::I82557 => None,
                Revision::I82558 => Some(0x7e21),
                Revision::I82559 | Revision::I82551 => Some(0xfe22),
            }
            .map(|capabilities| PowerManagement {
                offset: 0xdc,
                capabilities,
            }),
        }
    }
}

/// What is written to memory later.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Posted {
    at_ns: u64,
    address: u32,
    bytes: Vec<u8>,
}

/// A command of SCB that has not been accepted yet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Pending {
    at_ns: u64,
    command: u8,
    pointer: u32,
}

/// The chip.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Chip {
    revision: Revision,
    errata: Errata,
    eeprom: Microwire,
    mdi: Mdi,
    /// The PHY is switched off.
    phy_off: bool,
    configuration: Configuration,
    statistics: Statistics,
    /// The individual address.
    address: [u8; 6],
    /// The multicast table.
    multicasts: u64,
    /// Registers that are nothing but memory.
    registers: Vec<u8>,
    causes: u8,
    mask: u8,
    /// The interrupt line, as the host knows it.
    asserted: bool,
    dump_address: u32,
    /// The last command was a NOP.
    after_nop: bool,
    /// How many commands were given, with the erratum of the slow SCB.
    commands: u32,
    pending: Option<Pending>,
    cu: CommandUnit,
    ru: ReceiveUnit,
    transmitter: Transmitter,
    posted: Vec<Posted>,
    /// Frames in loopback: when the last bit arrives, in ns.
    looped: Vec<(u64, Vec<u8>)>,
}

impl Chip {
    /// A chip that was powered up at `now_ns`, with this address in its EEPROM.
    pub fn new(now_ns: u64, revision: Revision, mac: [u8; 6], errata: Errata) -> Self {
        Chip {
            revision,
            errata,
            eeprom: eeprom::new(mac),
            mdi: Mdi::new(now_ns),
            phy_off: false,
            configuration: Configuration::default(),
            statistics: Statistics::default(),
            address: mac,
            multicasts: 0,
            registers: vec![0; csr::BYTES],
            causes: 0,
            mask: 0,
            asserted: false,
            dump_address: 0,
            after_nop: false,
            commands: 0,
            pending: None,
            cu: CommandUnit::default(),
            ru: ReceiveUnit::default(),
            transmitter: Transmitter::new(FIFO_BYTES),
            posted: Vec::new(),
            looped: Vec::new(),
        }
    }

    /// A software reset (6.3.3.1): everything but EEPROM and PHY.
    fn software_reset(&mut self) {
        self.selective_reset();
        self.transmitter.pause(0);
        self.configuration = Configuration::default();
        self.statistics = Statistics::default();
        self.multicasts = 0;
        self.registers = vec![0; csr::BYTES];
        (self.causes, self.mask, self.dump_address) = (0, 0, 0);
        (self.cu.base, self.ru.base) = (0, 0);
    }

    /// A selective reset (6.3.3.3): both units are idle, the configuration stays.
    fn selective_reset(&mut self) {
        self.cu.clear();
        self.ru.clear();
        self.pending = None;
        self.transmitter.clear();
        self.posted.clear();
        self.looped.clear();
    }

    fn has_specific_masks(&self) -> bool {
        self.revision != Revision::I82557
    }

    /// The causes that would interrupt if M were 0.
    fn unmasked(&self) -> u8 {
        self.causes & !(self.mask & mask::IN_PLACE)
    }

    /// Sets the interrupt line to what causes and masks say.
    fn update_interrupt(&mut self, host: &mut dyn Host) {
        let asserted = self.unmasked() != 0 && self.mask & mask::ALL == 0;
        if asserted != self.asserted {
            self.asserted = asserted;
            host.interrupt(asserted);
        }
    }

    fn register(&self, offset: u64) -> u8 {
        let byte_of = |word: u32, first: u64| (word >> (8 * (offset - first))) as u8;
        match offset {
            csr::STATUS => (self.cu.state as u8) << 6 | (self.ru.state as u8) << 2,
            csr::ACK => self.causes,
            csr::COMMAND => self.pending.map_or(0, |pending| pending.command),
            csr::MASK => self.mask,
            csr::EEPROM => eeprom::read(&self.eeprom),
            csr::MDI..0x14 => byte_of(self.mdi.control(), csr::MDI),
            csr::GENERAL_STATUS if self.revision != Revision::I82557 => {
                match self.mdi.link_bps() {
                    Some(NO_LINK_BPS) => 0b111, // full duplex, 100 Mbit/s, link
                    Some(_) => 0b101,
                    None => 0,
                }
            }
            _ => self.registers.get(offset as usize).copied().unwrap_or(0),
        }
    }

    fn u32_register(&self, offset: u64) -> u32 {
        let at = offset as usize;
        let bytes = &self.registers[at..at + 4];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// Bytes were written to `registers`: does what they ask for.
    fn written(&mut self, now_ns: u64, from: u64, bytes: u64, host: &mut dyn Host) {
        let value = |chip: &Chip, offset: u64| {
            (from..from + bytes)
                .contains(&offset)
                .then(|| chip.registers[offset as usize])
        };
        if let Some(acknowledged) = value(self, csr::ACK) {
            self.causes &= !acknowledged;
        }
        if let Some(mask) = value(self, csr::MASK) {
            if mask & mask::SI != 0 {
                self.causes |= cause::SWI;
            }
            let specific = if self.has_specific_masks() {
                mask::SPECIFIC
            } else {
                0
            };
            self.mask = mask & (specific | mask::ALL);
        }
        if let Some(command) = value(self, csr::COMMAND) {
            self.ask(now_ns, command, host);
        }
        if value(self, csr::PORT + 3).is_some() {
            self.port(now_ns, self.u32_register(csr::PORT), host);
        }
        if let Some(pins) = value(self, csr::EEPROM) {
            eeprom::write(&mut self.eeprom, pins);
        }
        if value(self, csr::MDI + 3).is_some() {
            self.mdi.set_control(now_ns, self.u32_register(csr::MDI));
        }
    }

    /// A command is written. It is lost while the one before has not been accepted: the software has to wait until the register is 0.
    fn ask(&mut self, now_ns: u64, command: u8, host: &mut dyn Host) {
        if self.pending.is_some() {
            return;
        }
        let pointer = self.u32_register(csr::POINTER);
        if self.errata.slow_scb && command != 0 {
            self.commands = self.commands.wrapping_add(1);
            if self.commands % SLOW_EVERY == 0 {
                self.pending = Some(Pending {
                    at_ns: now_ns + SLOW_NS,
                    command,
                    pointer,
                });
                return;
            }
        }
        self.command(now_ns, command, pointer, host);
    }

    /// A command of SCB is accepted (6.3.2.2). Both units' commands may come together.
    fn command(&mut self, now_ns: u64, command: u8, pointer: u32, host: &mut dyn Host) {
        let after_nop = std::mem::replace(&mut self.after_nop, command == 0);
        match command >> scb::CU_SHIFT {
            scb::CU_START => self.cu_start(now_ns, pointer, host),
            scb::CU_RESUME | scb::CU_STATIC_RESUME => self.cu_resume(now_ns, after_nop, host),
            scb::CU_LOAD_DUMP_ADDRESS => self.dump_address = pointer,
            scb::CU_LOAD_BASE => self.cu.base = pointer,
            kind @ (scb::CU_DUMP | scb::CU_DUMP_AND_RESET) => {
                let words = self.configuration.counters(self.revision);
                let reset = kind == scb::CU_DUMP_AND_RESET;
                let bytes = self.statistics.dump(words, reset);
                self.post(now_ns, self.dump_address, bytes, host);
            }
            _ => {}
        }
        match command & scb::RU_MASK {
            scb::RU_START => self.ru_start(now_ns, pointer),
            scb::RU_RESUME => self.ru_resume(now_ns),
            scb::RU_ABORT => self.ru_abort(),
            scb::RU_LOAD_BASE => self.ru.base = pointer,
            scb::RU_LOAD_HEADER_SIZE => {} // for header and data in different places, which no driver uses
            _ => {}
        }
    }

    /// PORT (6.3.3).
    fn port(&mut self, now_ns: u64, value: u32, host: &mut dyn Host) {
        let address = value & !port::MASK;
        match value & port::MASK {
            port::RESET => self.software_reset(),
            port::SELECTIVE_RESET => self.selective_reset(),
            port::SELF_TEST => {
                self.software_reset();
                let bytes = SELF_TEST
                    .iter()
                    .flat_map(|word| word.to_le_bytes())
                    .collect();
                self.post(now_ns, address, bytes, host);
            }
            port::DUMP => {
                let bytes = self.dump();
                self.post(now_ns, address, bytes, host);
            }
            _ => {}
        }
    }

    /// Writes to memory as soon as the bus permits.
    fn post(&mut self, now_ns: u64, address: u32, bytes: Vec<u8>, host: &mut dyn Host) {
        let at_ns = host.claim(now_ns, Access::Write, bytes.len());
        self.posted.push(Posted {
            at_ns,
            address,
            bytes,
        });
    }

    fn timing(&self) -> Timing {
        Timing {
            bps: self.mdi.link_bps().unwrap_or(NO_LINK_BPS),
            preamble_bytes: self.configuration.preamble_bytes(),
            gap_bits: self.configuration.gap_bits(),
        }
    }

    /// How long a byte takes on the wire, in ns.
    fn byte_ns(&self) -> u64 {
        8_000_000_000 / self.mdi.link_bps().unwrap_or(NO_LINK_BPS)
    }

    fn loops(&self) -> bool {
        self.configuration.loopback() != Loopback::None || self.mdi.loops()
    }

    /// The next instant at which anything is due, in ns.
    fn next_ns(&self) -> Option<u64> {
        let room = self.transmitter.next_room_ns().filter(|_| self.cu.waits());
        [
            self.cu.deadline_ns(),
            self.ru.deadline_ns(),
            self.transmitter.deadline_ns(),
            self.mdi.deadline_ns(),
            self.pending.map(|pending| pending.at_ns),
            room,
        ]
        .into_iter()
        .flatten()
        .chain(self.posted.iter().map(|posted| posted.at_ns))
        .chain(self.looped.iter().map(|(at_ns, _)| *at_ns))
        .min()
    }

    /// Does what is due at an instant.
    fn step(&mut self, at_ns: u64, host: &mut dyn Host) {
        if self.mdi.advance(at_ns) {
            self.causes |= cause::MDI;
        }
        let is_due = |pending: &mut Pending| pending.at_ns <= at_ns;
        if let Some(accepted) = self.pending.take_if(is_due) {
            self.command(at_ns, accepted.command, accepted.pointer, host);
        }
        while let Some(place) = self.posted.iter().position(|posted| posted.at_ns <= at_ns) {
            let posted = self.posted.remove(place);
            host.write(posted.address.into(), &posted.bytes);
        }
        self.cu_advance(at_ns, host);
        if self.cu.waits() {
            self.cu_load(at_ns, host);
        }
        if self
            .ru
            .deadline_ns()
            .is_some_and(|done_ns| done_ns <= at_ns)
        {
            self.ru_finish(at_ns, self.byte_ns(), host);
        }
        while let Some(departure) = self.transmitter.depart(at_ns, self.timing()) {
            if departure.underrun {
                self.statistics.count(Counter::TransmitUnderruns);
                self.cu.underrun = true;
            }
            let queued = departure.queued;
            if self.loops() {
                self.statistics.count(Counter::TransmitGood);
                self.looped.push((departure.end_ns, queued.frame));
            } else if self.mdi.link_bps().is_none() {
                self.statistics.count(Counter::TransmitLostCarrier);
            } else {
                self.statistics.count(Counter::TransmitGood);
                if !queued.spoilt {
                    host.transmit(&queued.frame);
                }
            }
        }
        while let Some(place) = self.looped.iter().position(|(end_ns, _)| *end_ns <= at_ns) {
            let (_, frame) = self.looped.remove(place);
            self.arrive(at_ns, &frame, true, self.byte_ns(), host);
        }
    }
}

impl Card for Chip {
    fn read(&mut self, _now_ns: u64, window: usize, offset: u64, bytes: usize) -> u32 {
        if window == FLASH {
            return u32::MAX; // erased
        }
        let byte = |place: u64| u32::from(self.register(offset + place)) << (8 * place);
        (0..bytes as u64).fold(0, |value, place| value | byte(place))
    }

    fn write(
        &mut self,
        now_ns: u64,
        window: usize,
        offset: u64,
        bytes: usize,
        value: u32,
        host: &mut dyn Host,
    ) {
        let Some(place) = self
            .registers
            .get_mut(offset as usize..offset as usize + bytes)
        else {
            return;
        };
        if window == FLASH {
            return;
        }
        place.copy_from_slice(&value.to_le_bytes()[..bytes]);
        self.written(now_ns, offset, bytes as u64, host);
        self.update_interrupt(host);
    }

    fn receive(&mut self, now_ns: u64, frame: &[u8], host: &mut dyn Host) -> bool {
        if self.mdi.link_bps().is_none() || self.loops() {
            return false;
        }
        let taken = self.arrive(now_ns, frame, true, self.byte_ns(), host);
        self.update_interrupt(host);
        taken
    }

    fn receive_damaged(&mut self, now_ns: u64, frame: &[u8], host: &mut dyn Host) {
        if self.mdi.link_bps().is_some() && !self.loops() {
            self.arrive(now_ns, frame, false, self.byte_ns(), host);
            self.update_interrupt(host);
        }
    }

    fn plug_cable(&mut self, now_ns: u64, plugged: bool, _host: &mut dyn Host) {
        self.mdi.plug_cable(now_ns, plugged);
    }

    fn deadline_ns(&self) -> Option<u64> {
        self.next_ns()
    }

    fn advance(&mut self, now_ns: u64, host: &mut dyn Host) {
        // An instant at a time, each with the time at which it is due: a clock with coarse steps delays nothing that follows.
        while let Some(at_ns) = self.next_ns().filter(|at_ns| *at_ns <= now_ns) {
            self.step(at_ns, host);
        }
        self.update_interrupt(host);
    }

    fn transmit_fill(&self, host: &mut dyn Host) -> u32 {
        self.cu.fill(host)
    }

    fn reset(&mut self, now_ns: u64) {
        self.software_reset();
        self.mdi = self.mdi.again(now_ns);
        self.phy_off = false;
        self.asserted = false;
    }

    /// As a software reset. An 82559 that sleeps with PME disabled switches its PHY off (A.7.4.2); otherwise the PHY keeps its link.
    fn power_changed(&mut self, now_ns: u64, power: Power) {
        self.software_reset();
        self.asserted = false;
        if power == Power::On && self.phy_off {
            self.mdi = self.mdi.again(now_ns);
        }
        self.phy_off =
            power == Power::Off && matches!(self.revision, Revision::I82559 | Revision::I82551);
    }

    fn state(&self) -> Result<String, String> {
        serde_json::to_string(self).map_err(|why| why.to_string())
    }

    fn restore(&mut self, state: &str) -> Result<(), String> {
        *self = serde_json::from_str(state).map_err(|why| why.to_string())?;
        Ok(())
    }
}
