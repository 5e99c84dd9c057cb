// SPDX-License-Identifier: GPL-2.0-or-later
//! The tally counters and their dump (data sheet, DTCCR).

use serde::{Deserialize, Serialize};

/// What a dump has, in bytes.
pub const DUMP_BYTES: usize = 64;

/// The tally counters that can be other than 0 here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub tx_ok: u64,
    pub tx_error: u64,
    pub rx_ok: u64,
    /// Packets with an error, and missed ones.
    pub rx_error: u32,
    /// Packets without room in the FIFO.
    pub missed: u16,
    pub rx_physical: u64,
    pub rx_broadcast: u64,
    pub rx_multicast: u32,
    pub tx_underrun: u16,
}

impl Tally {
    /// What a dump writes. Frame alignment errors, collisions and aborts are 0.
    pub fn dump(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(DUMP_BYTES);
        for counter in [self.tx_ok, self.rx_ok, self.tx_error] {
            bytes.extend(counter.to_le_bytes());
        }
        bytes.extend(self.rx_error.to_le_bytes());
        bytes.extend(self.missed.to_le_bytes());
        bytes.extend([0; 10]);
        bytes.extend(self.rx_physical.to_le_bytes());
        bytes.extend(self.rx_broadcast.to_le_bytes());
        bytes.extend(self.rx_multicast.to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend(self.tx_underrun.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_lie_where_the_data_sheet_has_them() {
        let tally = Tally {
            tx_ok: 1,
            tx_error: 2,
            rx_ok: 3,
            rx_error: 4,
            missed: 5,
            rx_physical: 6,
            rx_broadcast: 7,
            rx_multicast: 8,
            tx_underrun: 9,
        };
        let dump = tally.dump();
        assert_eq!(dump.len(), DUMP_BYTES);
        let places = [
            (0, 1),
            (8, 3),
            (16, 2),
            (24, 4),
            (28, 5),
            (40, 6),
            (48, 7),
            (56, 8),
            (62, 9),
        ];
        assert!(places.iter().all(|(at, value)| dump[*at] == *value));
        assert_eq!(dump.iter().filter(|byte| **byte != 0).count(), 9);
    }
}
