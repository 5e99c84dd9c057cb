// SPDX-License-Identifier: GPL-2.0-or-later
//! Flow control (IEEE 802.3, annex 31B; data sheet, sections 10.2.5.2 and 10.2.5.3): pause frames, sent and received.

use super::Chip;
use super::registers::{csr, ctrl};
use super::statistics::Counter;
use crate::pause;
use crate::pci::transmit::Queued;

impl Chip {
    /// Asks the partner to pause, or to go on, by what is in the FIFO (10.2.5.2, 10.2.5.3).
    pub fn control_flow(&mut self, now_ns: u64) {
        if self.register(csr::CTRL) & ctrl::TFCE == 0 {
            return;
        }
        let (high, low) = (self.register(csr::FCRTH), self.register(csr::FCRTL));
        let (high_bytes, low_bytes) = ((high & 0xfff8) as usize, (low & 0xfff8) as usize);
        match self.receiver.crossed(high_bytes, low_bytes) {
            Some(true) => {
                self.statistics.count(Counter::XoffSent);
                self.send_pause(now_ns, self.register(csr::FCTTV) as u16);
            }
            Some(false) if low & 1 << 31 != 0 => {
                self.statistics.count(Counter::XonSent);
                self.send_pause(now_ns, 0);
            }
            _ => {}
        }
    }

    /// Sends a pause frame ahead of all others.
    fn send_pause(&mut self, now_ns: u64, quanta: u16) {
        self.transmitter.push_ahead(Queued {
            frame: pause::frame(self.addresses[0].unwrap_or_default(), quanta),
            spoilt: false,
            ready_ns: now_ns,
            complete_ns: now_ns,
        });
    }

    /// Whether a frame is a MAC control frame: by the address and type of FCAL, FCAH and FCT, or the broadcast of annex 31B.
    pub fn is_pause(&self, frame: &[u8]) -> bool {
        pause::is_control(frame)
    }

    /// A pause frame was received: nothing begins to leave for so long.
    pub fn pause(&mut self, now_ns: u64, frame: &[u8]) {
        let listens = self.register(csr::CTRL) & ctrl::RFCE != 0;
        let Some(quanta) = pause::quanta(frame).filter(|_| listens) else {
            self.statistics.count(Counter::UnsupportedControl);
            return;
        };
        self.statistics.count(if quanta == 0 {
            Counter::XonReceived
        } else {
            Counter::XoffReceived
        });
        self.transmitter
            .pause(now_ns + pause::ns(quanta, self.bps()));
    }
}
