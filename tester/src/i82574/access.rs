// SPDX-License-Identifier: GPL-2.0-or-later
//! What it does to read or write a register: in the memory window, or through the ports (data sheet, section 10.1).

use super::identity::{FLASH, PORTS, TABLES};
use super::registers::{FLUSH, SWSM_SMBI, cause, csr, ctrl, ctrl_ext, nvm as eeprom, rctl, status};
use super::{BUFFER_KB, Chip, QUEUES, transmit};
use crate::pci::Host;

/// The ports: an offset, and what is there (10.1).
pub const IOADDR: u64 = 0;
pub const IODATA: u64 = 4;

/// The register that a byte lies in, and by how many bits it is shifted in it.
fn aligned(offset: u64) -> (u64, u32) {
    (offset & !3, (offset & 3) as u32 * 8)
}

impl Chip {
    /// Reads from a window what begins at an offset.
    pub fn read_window(&mut self, now_ns: u64, window: usize, offset: u64) -> u32 {
        let (register, shift) = match (window, offset) {
            (FLASH, _) => return u32::MAX, // erased
            (TABLES, _) => return 0,
            (PORTS, IOADDR..IODATA) => return self.port_address >> ((offset & 3) * 8),
            (PORTS, _) => (u64::from(self.port_address) & !3, 0),
            _ => aligned(offset),
        };
        self.read_register(now_ns, register) >> shift
    }

    /// Writes a word to a window. What is no register is ignored.
    pub fn write_window(
        &mut self,
        now_ns: u64,
        window: usize,
        offset: u64,
        value: u32,
        host: &mut dyn Host,
    ) {
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
            csr::TIMINCA => self.time.increment(),
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
            csr::SYSTIML => self.time.set_low(now_ns, value),
            csr::SYSTIMH => self.time.set_high(now_ns, value),
            csr::TIMINCA => self.time.set_increment(now_ns, value),
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
}
