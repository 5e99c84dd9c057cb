// SPDX-License-Identifier: GPL-2.0-or-later
//! The time that SYSTIM shows (data sheet, section 10.2), by what TIMINCA says.

use serde::{Deserialize, Serialize};

/// SYSTIM counts in steps of a clock of 25 MHz (by Linux's e1000e).
const CLOCK_NS: u64 = 40;

/// The time that SYSTIM shows.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct SystemTime {
    value: u64,
    since_ns: u64,
    increment: u32,
}

impl SystemTime {
    /// Its value.
    pub fn at(&self, now_ns: u64) -> u64 {
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

    /// SYSTIML was written.
    pub fn set_low(&mut self, now_ns: u64, value: u32) {
        let high = self.at(now_ns) & !0xffff_ffff;
        self.set(now_ns, high | u64::from(value));
    }

    /// SYSTIMH was written.
    pub fn set_high(&mut self, now_ns: u64, value: u32) {
        let low = self.at(now_ns) & 0xffff_ffff;
        self.set(now_ns, u64::from(value) << 32 | low);
    }

    /// TIMINCA.
    pub fn increment(&self) -> u32 {
        self.increment
    }

    /// TIMINCA was written: time goes on from what it is.
    pub fn set_increment(&mut self, now_ns: u64, value: u32) {
        self.set(now_ns, self.at(now_ns));
        self.increment = value;
    }
}
