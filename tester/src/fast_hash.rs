// SPDX-License-Identifier: GPL-2.0-or-later
//! A hash for addresses: a multiplication, since the standard one takes most of the time where lines are counted.

use std::hash::{BuildHasherDefault, Hasher};

/// The state of the hash.
#[derive(Clone, Copy, Debug, Default)]
pub struct Multiplying(u64);

/// What makes it, for a `HashMap`.
pub type Fast = BuildHasherDefault<Multiplying>;

impl Hasher for Multiplying {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }
    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}
