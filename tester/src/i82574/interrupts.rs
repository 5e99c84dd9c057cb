// SPDX-License-Identifier: GPL-2.0-or-later
//! Interrupts (data sheet, sections 7.4 and 10.2.4): causes, masks, messages, and how far apart they must be.

use serde::{Deserialize, Serialize};

use super::registers::{cause, ctrl_ext, ivar};
use crate::pci::{Host, Signalling};

/// Messages that MSI-X has (7.4.2).
pub const VECTORS: usize = 5;
/// The unit of ITR and EITR (10.2.4.2), in ns.
pub const THROTTLE_NS: u64 = 256;
const INTERVAL: u32 = 0xffff;

/// An interrupt, and how soon it may come again.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Throttle {
    interval: u32,
    /// When it may come again, in ns.
    next_ns: u64,
}

impl Throttle {
    /// The interrupt comes. The counter is loaded with the interval then, so one that is written later counts from the next one on.
    fn restart(&mut self, now_ns: u64) {
        self.next_ns = now_ns + u64::from(self.interval) * THROTTLE_NS;
    }
}

/// Causes, masks and throttles.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interrupts {
    causes: u32,
    mask: u32,
    /// IAM.
    auto_mask: u32,
    /// EIAC.
    auto_clear: u32,
    ivar: u32,
    /// CTRL_EXT.
    control: u32,
    /// ITR.
    throttle: Throttle,
    /// EITR.
    throttles: [Throttle; VECTORS],
    /// Causes whose message was sent and that are pending still.
    signalled: u32,
    /// ICR.INT_ASSERTED.
    asserted: bool,
    /// The interrupt line, as the host knows it.
    line: bool,
    signalling: Signalling,
    /// Interrupts since this was taken last.
    count: u32,
}

impl Interrupts {
    /// Sets causes. With MSI-X, those without a vector of their own set the one for others.
    pub fn raise(&mut self, causes: u32) {
        self.causes |= causes & !cause::ASSERTED;
        if self.signalling == Signalling::Vectors && causes & cause::OTHERS != 0 {
            self.causes |= cause::OTHER;
        }
    }

    /// CTRL_EXT was written.
    pub fn set_control(&mut self, value: u32) {
        self.control = value;
    }

    /// How the host has the card interrupt; to be called before anything else that may interrupt.
    pub fn use_signalling(&mut self, signalling: Signalling) {
        if signalling != self.signalling {
            self.signalling = signalling;
            self.signalled = 0;
        }
    }

    /// How many interrupts there were since this was called last.
    pub fn take_count(&mut self) -> u32 {
        std::mem::take(&mut self.count)
    }

    /// What ICR shows.
    fn shown(&self) -> u32 {
        self.causes | if self.asserted { cause::ASSERTED } else { 0 }
    }

    /// ICR is read (10.2.4.1). It is cleared if nothing is enabled, or if there was an interrupt; then the causes in IAM are masked if
    /// CTRL_EXT.IAME asks for it.
    pub fn read_causes(&mut self) -> u32 {
        let shown = self.shown();
        if self.mask == 0 || self.asserted {
            if self.asserted && self.control & ctrl_ext::IAME != 0 {
                self.mask &= !self.auto_mask;
            }
            self.clear(u32::MAX);
        }
        shown
    }

    /// ICR is written: ones clear causes, and mask as a read does.
    pub fn write_causes(&mut self, value: u32) {
        if self.asserted && self.control & ctrl_ext::IAME != 0 {
            self.mask &= !self.auto_mask;
        }
        self.clear(value);
    }

    fn clear(&mut self, causes: u32) {
        self.causes &= !causes;
        self.settle();
    }

    /// What is not pending any more can be signalled again.
    fn settle(&mut self) {
        self.signalled &= self.pending();
        if self.causes == 0 {
            self.asserted = false;
        }
    }

    fn pending(&self) -> u32 {
        self.causes & self.mask
    }

    /// ICS shows what ICR does, without effect (as silicon does, by QEMU's e1000e).
    pub fn peek_causes(&self) -> u32 {
        self.shown()
    }

    pub fn mask(&self) -> u32 {
        self.mask
    }
    pub fn set_mask(&mut self, bits: u32) {
        self.mask |= bits & !cause::ASSERTED;
    }
    pub fn clear_mask(&mut self, bits: u32) {
        self.mask &= !bits;
        self.settle();
    }
    pub fn auto_mask(&self) -> u32 {
        self.auto_mask
    }
    pub fn set_auto_mask(&mut self, value: u32) {
        self.auto_mask = value;
    }
    pub fn auto_clear(&self) -> u32 {
        self.auto_clear
    }
    /// EIAC (10.2.4.7): only causes with a vector can be in it.
    pub fn set_auto_clear(&mut self, value: u32) {
        self.auto_clear = value & cause::OF_VECTORS.iter().fold(0, |all, one| all | one);
    }
    pub fn ivar(&self) -> u32 {
        self.ivar
    }
    pub fn set_ivar(&mut self, value: u32) {
        self.ivar = value;
    }
    pub fn throttle(&self) -> u32 {
        self.throttle.interval
    }
    pub fn set_throttle(&mut self, value: u32) {
        self.throttle.interval = value & INTERVAL;
    }
    pub fn vector_throttle(&self, vector: usize) -> u32 {
        self.throttles.get(vector).map_or(0, |one| one.interval)
    }
    pub fn set_vector_throttle(&mut self, vector: usize, value: u32) {
        if let Some(throttle) = self.throttles.get_mut(vector) {
            throttle.interval = value & INTERVAL;
        }
    }

    /// The vector of a cause; None: IVAR assigns none.
    fn vector_of(&self, place: usize) -> Option<usize> {
        let entry = self.ivar >> (place as u32 * ivar::ENTRY_BITS);
        let vector = (entry & ivar::VECTOR) as usize;
        (entry & ivar::VALID != 0 && vector < VECTORS).then_some(vector)
    }

    /// Causes that ask for a message of a vector, and were not signalled.
    fn asking(&self, vector: usize) -> u32 {
        let new = self.pending() & !self.signalled;
        let of_vector = |(place, one): (usize, &u32)| {
            (self.vector_of(place) == Some(vector)).then_some(*one & new)
        };
        let causes = cause::OF_VECTORS.iter().enumerate();
        causes.filter_map(of_vector).fold(0, |all, one| all | one)
    }

    /// When an interrupt comes, in ns, if nothing else happens.
    pub fn deadline_ns(&self) -> Option<u64> {
        if self.pending() == 0 {
            return None;
        }
        match self.signalling {
            Signalling::Vectors => (0..VECTORS)
                .filter(|vector| self.asking(*vector) != 0)
                .map(|vector| self.throttles[vector].next_ns)
                .min(),
            Signalling::Message => {
                (self.pending() & !self.signalled != 0).then_some(self.throttle.next_ns)
            }
            Signalling::Pin => (!self.line).then_some(self.throttle.next_ns),
        }
    }

    /// Interrupts if there is a reason and it may be.
    pub fn update(&mut self, now_ns: u64, host: &mut dyn Host) {
        if self.line && (self.pending() == 0 || self.signalling != Signalling::Pin) {
            self.line = false;
            host.interrupt(false);
        }
        match self.signalling {
            Signalling::Vectors => (0..VECTORS).for_each(|one| self.send(one, now_ns, host)),
            _ if self.deadline_ns().is_some_and(|at_ns| at_ns <= now_ns) => {
                self.throttle.restart(now_ns);
                self.asserted = true;
                self.count += 1;
                if self.signalling == Signalling::Pin {
                    self.line = true;
                    host.interrupt(true);
                } else {
                    self.signalled = self.pending();
                    host.message(0);
                }
            }
            _ => {}
        }
    }

    /// Sends a vector's message if there is a reason and it may be sent. Then the causes in EIAC are cleared, and those in IAM are masked
    /// if CTRL_EXT.EIAME asks for it (7.4.5, 10.2.2.5).
    fn send(&mut self, vector: usize, now_ns: u64, host: &mut dyn Host) {
        let causes = self.asking(vector);
        if causes == 0 || self.throttles[vector].next_ns > now_ns {
            return;
        }
        self.throttles[vector].restart(now_ns);
        self.asserted = true;
        self.count += 1;
        self.signalled |= causes;
        if self.control & ctrl_ext::EIAME != 0 {
            self.mask &= !(causes & self.auto_mask);
        }
        self.clear(causes & self.auto_clear);
        host.message(vector);
    }

    /// A software reset. The line falls when [`Interrupts::update`] is called.
    pub fn reset(&mut self) {
        *self = Interrupts {
            line: self.line,
            signalling: self.signalling,
            ..Interrupts::default()
        };
    }

    /// The line is low, since the host has reset it.
    pub fn release(&mut self) {
        self.line = false;
    }
}
