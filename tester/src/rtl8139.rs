// SPDX-License-Identifier: GPL-2.0-or-later
//! A Realtek RTL8139C+, a Fast Ethernet card, in its C+ mode, in virtual time.
//!
//! [`Chip`] needs no QEMU: it is a [`Card`] in a [`Host`]. Registers are named as in Realtek's "RTL8139C+ data sheet", revision 1.6.
//! docs/inside/rtl8139-model.md says what is modelled and what is not, and what each part rests on.

mod eeprom;
mod receive;
mod registers;
mod statistics;
mod transmit;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use self::receive::Receiver;
use self::registers::{cause, cpcr, cr, cr9346, dtccr, msr, rcr, reg, tcr, tppoll};
use self::statistics::{DUMP_BYTES, Tally};
use self::transmit::{HIGH, NORMAL, Sender};
use crate::pci::bus::Access;
use crate::pci::microwire::Microwire;
use crate::pci::phy::{ANAR, ANER, ANLPAR, BMCR, BMSR, Phy};
use crate::pci::{Card, Errata, Host, Identity, Power, PowerManagement, Window};

/// Ports and memory.
pub const WINDOWS: [Window; 2] = [
    Window {
        bytes: reg::BYTES as u64,
        ports: true,
    },
    Window {
        bytes: reg::BYTES as u64,
        ports: false,
    },
];
/// The configuration space. Drivers tell the C+ from older chips by the revision.
pub const IDENTITY: Identity = Identity {
    vendor: 0x10ec,
    device: 0x8139,
    revision: REVISION,
    subsystem: (0x10ec, 0x8139),
    latency: [0x20, 0x40],
    // Version 2, D1, D2, wakes from all of D1 to D3, 375 mA.
    power: Some(PowerManagement {
        offset: 0x50,
        capabilities: 0xf7c2,
    }),
};
const REVISION: u8 = 0x20;
/// The built-in PHY shows no identifiers.
const PHY_ID: [u16; 2] = [0; 2];
/// The rate at which the chip runs without a link, in bit/s.
const NO_LINK_BPS: u64 = 100_000_000;
/// TCTR counts the clocks of a bus of 33 MHz, in ns. (On a faster one the chip would count faster.)
const CLOCK_NS: u64 = 30;
/// CSCR: link pulses, heart beat, jabber and forced link as after a reset; bit 3: the link.
const CSCR: u16 = 0x03c0;
const CSCR_LINK: u16 = 0x0008;

/// Bits of the configuration registers that can be written.
const CONFIG1_WRITABLE: u8 = 0xf3;
const CONFIG3_WRITABLE: u8 = 0x70;
const CONFIG4_WRITABLE: u8 = 0xf5;
const CONFIG5_WRITABLE: u8 = 0x7f;

/// A dump of the tally counters on its way into memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Dump {
    at_ns: u64,
    address: u64,
}

/// The chip.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Chip {
    errata: Errata,
    eeprom: Microwire,
    phy: Phy,
    /// The PHY is without power.
    phy_off: bool,
    /// 9346CR's mode.
    mode: u8,
    /// CONFIG1, 3, 4, 5.
    config: [u8; 4],
    /// IDR, MAR.
    address: [u8; 6],
    multicasts: [u8; 8],
    /// Registers that are nothing but memory.
    registers: Vec<u8>,
    /// CR.
    command: u8,
    cpcr: u16,
    tcr: u32,
    rcr: u32,
    /// ISR, IMR.
    causes: u16,
    mask: u16,
    /// The interrupt line, as the host knows it.
    asserted: bool,
    missed: u32,
    early_threshold: u8,
    /// When TCTR was 0, in ns.
    timer_from_ns: u64,
    timer_interrupt: u32,
    /// When TCTR reaches TimerInt, in ns.
    timer_due_ns: Option<u64>,
    rx_ring: u64,
    receiver: Receiver,
    sender: Sender,
    tally: Tally,
    dump: Option<Dump>,
    /// Frames in loopback: when the last bit arrives, in ns.
    looped: Vec<(u64, Vec<u8>)>,
}

impl Chip {
    /// A chip that was powered up at `now_ns`, with this address in its EEPROM.
    pub fn new(now_ns: u64, mac: [u8; 6], errata: Errata) -> Self {
        let mut chip = Chip {
            errata,
            eeprom: eeprom::new(mac),
            phy: Phy::new(now_ns, PHY_ID),
            phy_off: false,
            mode: 0,
            config: [0; 4],
            address: mac,
            multicasts: [0; 8],
            registers: vec![0; reg::BYTES],
            command: 0,
            cpcr: 0,
            tcr: tcr::VERSION,
            rcr: 0,
            causes: 0,
            mask: 0,
            asserted: false,
            missed: 0,
            early_threshold: 0,
            timer_from_ns: now_ns,
            timer_interrupt: 0,
            timer_due_ns: None,
            rx_ring: 0,
            receiver: Receiver::default(),
            sender: Sender::new(),
            tally: Tally::default(),
            dump: None,
            looped: Vec::new(),
        };
        chip.load_eeprom();
        chip
    }

    /// What the chip takes from its EEPROM.
    fn load_eeprom(&mut self) {
        self.address = eeprom::address(&self.eeprom);
        self.config = [eeprom::CONFIGS as u8, 0, 0, 0];
    }

    /// CR.RST: transmitter and receiver stop, and the FIFOs are emptied. IDR, MAR and the configuration registers keep their values.
    fn software_reset(&mut self) {
        self.stop();
        (self.command, self.cpcr) = (0, 0);
        (self.tcr, self.rcr) = (tcr::VERSION, 0);
        (self.causes, self.mask, self.missed) = (0, 0, 0);
        (self.timer_interrupt, self.timer_due_ns) = (0, None);
        self.early_threshold = 0;
        self.tally = Tally::default();
        self.dump = None;
    }

    fn stop(&mut self) {
        self.receiver = Receiver::default();
        self.sender.restart();
        self.looped.clear();
    }

    /// Sets the interrupt line to what ISR and IMR say.
    fn update_interrupt(&mut self, host: &mut dyn Host) {
        let asserted = self.causes & self.mask != 0;
        if asserted != self.asserted {
            self.asserted = asserted;
            host.interrupt(asserted);
        }
    }

    /// How long a byte takes on the wire, in ns.
    fn byte_ns(&self) -> u64 {
        8_000_000_000 / self.phy.link_bps().unwrap_or(NO_LINK_BPS)
    }

    fn loops(&self) -> bool {
        self.tcr & tcr::LOOPBACK == tcr::LOOPBACK || self.phy.loops()
    }

    /// TCTR.
    fn timer(&self, now_ns: u64) -> u32 {
        (now_ns.saturating_sub(self.timer_from_ns) / CLOCK_NS) as u32
    }

    /// TCTR or TimerInt was written: finds out when they are equal next.
    fn arm_timer(&mut self, now_ns: u64) {
        let wait = self.timer_interrupt.wrapping_sub(self.timer(now_ns));
        let set = self.timer_interrupt != 0;
        self.timer_due_ns = set.then_some(now_ns + u64::from(wait) * CLOCK_NS);
    }

    /// A PHY register by its place among the chip's.
    fn phy_register(offset: u64) -> Option<usize> {
        match offset {
            reg::BMCR => Some(BMCR),
            reg::BMSR => Some(BMSR),
            reg::ANAR => Some(ANAR),
            reg::ANLPAR => Some(ANLPAR),
            reg::ANER => Some(ANER),
            _ => None,
        }
    }

    /// The registers at an even offset.
    fn word(&mut self, now_ns: u64, offset: u64) -> u16 {
        if let Some(number) = Chip::phy_register(offset) {
            return self.phy.read(number);
        }
        match offset {
            reg::IMR => self.mask,
            reg::ISR => self.causes,
            reg::CPCR => self.cpcr,
            reg::CSCR => {
                CSCR | if self.phy.link_bps().is_some() {
                    CSCR_LINK
                } else {
                    0
                }
            }
            _ => u16::from_le_bytes([self.byte(now_ns, offset), self.byte(now_ns, offset + 1)]),
        }
    }

    fn byte(&self, now_ns: u64, offset: u64) -> u8 {
        let byte_of = |value: u64, first: u64| (value >> (8 * (offset - first))) as u8;
        match offset {
            reg::IDR..0x06 => self.address[offset as usize],
            reg::MAR..reg::DTCCR => self.multicasts[(offset - reg::MAR) as usize],
            reg::CR => self.command | cr::BUFE,
            reg::TCR..reg::RCR => byte_of(self.tcr.into(), reg::TCR),
            reg::RCR..reg::TCTR => byte_of(self.rcr.into(), reg::RCR),
            reg::TCTR..reg::MPC => byte_of(self.timer(now_ns).into(), reg::TCTR),
            reg::MPC..reg::CR9346 => byte_of(self.missed.into(), reg::MPC),
            reg::CR9346 => self.mode | eeprom::read(&self.eeprom),
            reg::CONFIG0 => 0,
            reg::CONFIG1 => self.config[0],
            reg::TIMER_INT..reg::MSR => byte_of(self.timer_interrupt.into(), reg::TIMER_INT),
            reg::MSR => match self.phy.link_bps() {
                Some(NO_LINK_BPS) => 0,
                Some(_) => msr::SPEED_10,
                None => msr::NO_LINK,
            },
            reg::CONFIG3 => self.config[1],
            reg::CONFIG4 => self.config[2],
            reg::RERID => REVISION,
            reg::CONFIG5 => self.config[3],
            reg::TPPOLL => {
                let bit = |ring: usize, bit| {
                    if self.sender.rings[ring].polled {
                        bit
                    } else {
                        0
                    }
                };
                bit(NORMAL, tppoll::NORMAL) | bit(HIGH, tppoll::HIGH)
            }
            reg::ETTHR => self.early_threshold,
            _ => self.registers.get(offset as usize).copied().unwrap_or(0),
        }
    }

    fn u32_register(&self, offset: u64) -> u32 {
        let at = offset as usize;
        let bytes = &self.registers[at..at + 4];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    fn u64_register(&self, offset: u64) -> u64 {
        u64::from(self.u32_register(offset + 4)) << 32 | u64::from(self.u32_register(offset))
    }

    /// Bytes were written to `registers`: does what they ask for.
    fn written(&mut self, now_ns: u64, from: u64, bytes: u64, host: &mut dyn Host) {
        let touches = |offset: u64, length: u64| from < offset + length && offset < from + bytes;
        let whole = bytes == 4;
        let unlocked = self.mode == cr9346::CONFIG_WRITE;
        let byte =
            |chip: &Chip, offset: u64| touches(offset, 1).then(|| chip.registers[offset as usize]);
        // Of 16 bits, the half that was not written is as it was read.
        for offset in [reg::IMR, reg::ISR, reg::CPCR] {
            if touches(offset, 2) {
                let value = self.u32_register(offset) as u16;
                match offset {
                    reg::IMR => self.mask = value & cause::ALL,
                    reg::ISR => self.causes &= !value,
                    _ => self.cpcr = value & cpcr::WRITABLE,
                }
                self.registers[offset as usize..offset as usize + 2].fill(0);
                self.sync(offset);
            }
        }
        if touches(reg::IDR, 6) && whole && unlocked {
            for at in (from..from + bytes).filter(|at| *at < 6) {
                self.address[at as usize] = self.registers[at as usize];
            }
        }
        if touches(reg::MAR, 8) && whole {
            for at in from..from + bytes {
                self.multicasts[(at - reg::MAR) as usize] = self.registers[at as usize];
            }
        }
        if touches(reg::DTCCR, 4) {
            self.begin_dump(now_ns, host);
        }
        for (offset, ring) in [(reg::TNPDS, NORMAL), (reg::THPDS, HIGH)] {
            if touches(offset, 8) {
                // Aligned to 256 bytes.
                let base = self.u64_register(offset) & !0xff;
                self.sender.set_base(ring, base);
            }
        }
        if touches(reg::RDSAR, 8) {
            self.rx_ring = self.u64_register(reg::RDSAR) & !0xff;
            self.receiver = Receiver::default();
        }
        if let Some(command) = byte(self, reg::CR) {
            self.set_command(command);
        }
        if touches(reg::TCR, 4) && self.command & cr::TE != 0 {
            let value = self.u32_register(reg::TCR);
            self.tcr = tcr::VERSION | value & tcr::WRITABLE;
        }
        if touches(reg::RCR, 4) {
            self.rcr = self.u32_register(reg::RCR) & rcr::WRITABLE;
        }
        if touches(reg::TCTR, 4) {
            self.timer_from_ns = now_ns;
            self.arm_timer(now_ns);
        }
        if touches(reg::MPC, 4) {
            self.missed = 0;
        }
        if let Some(value) = byte(self, reg::CR9346) {
            self.set_mode(value);
        }
        if touches(reg::TIMER_INT, 4) {
            self.timer_interrupt = self.u32_register(reg::TIMER_INT);
            self.arm_timer(now_ns);
        }
        for (place, offset, writable) in [
            (0, reg::CONFIG1, CONFIG1_WRITABLE),
            (1, reg::CONFIG3, CONFIG3_WRITABLE),
            (2, reg::CONFIG4, CONFIG4_WRITABLE),
            (3, reg::CONFIG5, CONFIG5_WRITABLE),
        ] {
            // CONFIG5 is not locked.
            if let Some(value) = byte(self, offset).filter(|_| unlocked || place == 3) {
                self.config[place] = self.config[place] & !writable | value & writable;
            }
        }
        for offset in [reg::BMCR, reg::ANAR] {
            if touches(offset, 2) && (unlocked || offset != reg::BMCR) {
                let value = self.u32_register(offset) as u16;
                let had_link = self.phy.link_bps().is_some();
                if let Some(number) = Chip::phy_register(offset) {
                    self.phy.write(now_ns, number, value);
                }
                if had_link && self.phy.link_bps().is_none() {
                    self.causes |= cause::LINK_CHANGE;
                }
            }
        }
        if let Some(threshold) = byte(self, reg::ETTHR) {
            self.early_threshold = threshold;
        }
        if let Some(polls) = byte(self, reg::TPPOLL) {
            if polls & tppoll::SOFTWARE != 0 {
                self.causes |= cause::SWINT;
            }
            for (bit, ring) in [(tppoll::HIGH, HIGH), (tppoll::NORMAL, NORMAL)] {
                if polls & bit != 0 {
                    self.tx_poll(now_ns, ring, host);
                }
            }
        }
    }

    /// `registers` holds what a register of 16 bits reads as, so that a byte of it can be written.
    fn sync(&mut self, offset: u64) {
        let value = match offset {
            reg::IMR => self.mask,
            reg::CPCR => self.cpcr,
            _ => 0, // ISR: writing 0 does nothing
        };
        let at = offset as usize;
        self.registers[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    /// CR.
    fn set_command(&mut self, command: u8) {
        if command & cr::RST != 0 {
            self.software_reset();
            self.sync(reg::IMR);
            self.sync(reg::CPCR);
            return;
        }
        let changed = (self.command ^ command) & (cr::RE | cr::TE);
        self.command = command & (cr::RE | cr::TE);
        if changed & cr::RE != 0 {
            self.receiver = Receiver::default();
        }
        if changed & cr::TE != 0 {
            self.sender.restart();
            self.looped.clear();
        }
    }

    /// 9346CR.
    fn set_mode(&mut self, value: u8) {
        self.mode = value & cr9346::MODE;
        match self.mode {
            cr9346::PROGRAMMING => eeprom::write(&mut self.eeprom, value),
            cr9346::AUTOLOAD => {
                self.load_eeprom();
                self.mode = 0;
            }
            _ => eeprom::write(&mut self.eeprom, 0),
        }
    }

    /// DTCCR.
    fn begin_dump(&mut self, now_ns: u64, host: &mut dyn Host) {
        let value = self.u32_register(reg::DTCCR);
        if value & dtccr::COMMAND != 0 && self.dump.is_none() {
            let high = u64::from(self.u32_register(reg::DTCCR + 4));
            self.dump = Some(Dump {
                at_ns: host.claim(now_ns, Access::Write, DUMP_BYTES),
                address: high << 32 | u64::from(value & dtccr::ADDRESS),
            });
        }
    }

    fn finish_dump(&mut self, at_ns: u64, host: &mut dyn Host) {
        let is_done = |dump: &mut Dump| dump.at_ns <= at_ns;
        if let Some(dump) = self.dump.take_if(is_done) {
            host.write(dump.address, &self.tally.dump());
            self.registers[reg::DTCCR as usize] &= !(dtccr::COMMAND as u8);
        }
    }

    /// The next instant at which anything is due, in ns.
    fn next_ns(&self) -> Option<u64> {
        [
            self.sender.deadline_ns(),
            self.receiver.deadline_ns(),
            self.phy.deadline_ns(),
            self.timer_due_ns,
            self.dump.as_ref().map(|dump| dump.at_ns),
            self.looped.first().map(|(at_ns, _)| *at_ns),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Does what is due at an instant.
    fn step(&mut self, at_ns: u64, host: &mut dyn Host) {
        if self.phy.advance(at_ns) {
            self.causes |= cause::LINK_CHANGE;
        }
        if self
            .timer_due_ns
            .take_if(|due_ns| *due_ns <= at_ns)
            .is_some()
        {
            self.causes |= cause::TIMEOUT;
            // Again when the counter has wrapped.
            self.timer_due_ns = Some(at_ns + (1 << 32) * CLOCK_NS);
        }
        self.finish_dump(at_ns, host);
        self.rx_advance(at_ns, host);
        self.tx_advance(at_ns, host);
        while let Some((end_ns, _)) = self.looped.first() {
            if *end_ns > at_ns {
                break;
            }
            let (_, frame) = self.looped.remove(0);
            self.arrive(at_ns, &frame, true, host);
        }
    }
}

impl Card for Chip {
    fn read(&mut self, now_ns: u64, _window: usize, offset: u64, bytes: usize) -> u32 {
        let words = u32::from(self.word(now_ns, offset & !1))
            | match bytes {
                4 => u32::from(self.word(now_ns, (offset & !1) + 2)) << 16,
                _ => 0,
            };
        match bytes {
            1 => words >> (8 * (offset & 1)) & 0xff,
            _ => words,
        }
    }

    fn write(
        &mut self,
        now_ns: u64,
        _window: usize,
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
        place.copy_from_slice(&value.to_le_bytes()[..bytes]);
        self.written(now_ns, offset, bytes as u64, host);
        self.update_interrupt(host);
    }

    fn receive(&mut self, now_ns: u64, frame: &[u8], host: &mut dyn Host) -> bool {
        if self.phy.link_bps().is_none() || self.loops() {
            return false;
        }
        let taken = self.arrive(now_ns, frame, true, host);
        self.update_interrupt(host);
        taken
    }

    fn receive_damaged(&mut self, now_ns: u64, frame: &[u8], host: &mut dyn Host) {
        if self.phy.link_bps().is_some() && !self.loops() {
            self.arrive(now_ns, frame, false, host);
            self.update_interrupt(host);
        }
    }

    fn plug_cable(&mut self, now_ns: u64, plugged: bool, host: &mut dyn Host) {
        let had_link = self.phy.link_bps().is_some();
        self.phy.plug_cable(now_ns, plugged);
        if had_link && self.phy.link_bps().is_none() {
            self.causes |= cause::LINK_CHANGE;
        }
        self.update_interrupt(host);
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
        self.sender.fill(host)
    }

    fn reset(&mut self, now_ns: u64) {
        self.software_reset();
        self.load_eeprom();
        self.mode = 0;
        self.registers = vec![0; reg::BYTES];
        self.phy = self.phy.again(now_ns);
        self.phy_off = false;
        self.asserted = false;
    }

    /// As a software reset, and the registers that drivers set are lost; the PHY keeps its link, but with the erratum of its power.
    fn power_changed(&mut self, now_ns: u64, power: Power) {
        self.software_reset();
        self.registers = vec![0; reg::BYTES];
        self.asserted = false;
        if power == Power::On && self.phy_off {
            self.phy = self.phy.again(now_ns);
        }
        self.phy_off = power == Power::Off && self.errata.phy_off;
    }

    fn state(&self) -> Result<String, String> {
        serde_json::to_string(self).map_err(|why| why.to_string())
    }

    fn restore(&mut self, state: &str) -> Result<(), String> {
        *self = serde_json::from_str(state).map_err(|why| why.to_string())?;
        Ok(())
    }
}
