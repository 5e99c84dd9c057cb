// SPDX-License-Identifier: GPL-2.0-or-later
//! A conventional PCI bus: how long transfers of cards take, one after the other.
//!
//! PCI Local Bus Specification 2.2. A transfer is cut into bursts. A burst takes the arbitration, an address phase, the target's latency
//! until the first datum, a clock per datum, and a clock of turnaround (3.2, 3.3). A host bridge may take 32 clocks for the first datum
//! of a read (3.5.1.1); what it takes here is a parameter, as are all others.

use serde::{Deserialize, Serialize};

const PS_PER_NS: u64 = 1_000;

/// The direction of a transfer, as the card sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// From memory to the card.
    Read,
    /// From the card to memory.
    Write,
}

/// The bus's properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// The clock's period, in ps.
    pub clock_ps: u64,
    /// The width of the bus, in bytes.
    pub width_bytes: u64,
    /// Clocks from the request to the address phase, on an idle bus.
    pub arbitration_clocks: u64,
    /// Clocks from the address phase to the first datum of a read, and of a write.
    pub read_latency_clocks: u64,
    /// As above.
    pub write_latency_clocks: u64,
    /// The longest burst, in bytes. It ends at the latency timer or where the bridge disconnects.
    pub burst_bytes: u64,
}

impl Parameters {
    /// 33 MHz, 32 bits. Latencies and burst length are assumptions about an ordinary host bridge: 8 clocks for a read that misses its
    /// prefetch buffer, 2 for a write that it posts; bursts of 64 data, the latency timer that Linux sets.
    pub const PCI_33: Parameters = Parameters {
        clock_ps: 30_000,
        width_bytes: 4,
        arbitration_clocks: 2,
        read_latency_clocks: 8,
        write_latency_clocks: 2,
        burst_bytes: 256,
    };
}

/// A bus, and until when it is occupied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bus {
    parameters: Parameters,
    free_ps: u64,
}

impl Bus {
    /// An idle bus.
    pub fn new(parameters: Parameters) -> Self {
        Bus {
            parameters,
            free_ps: 0,
        }
    }

    /// How long a transfer occupies the bus, in ps.
    fn duration_ps(&self, access: Access, bytes: usize) -> u64 {
        let of = &self.parameters;
        let latency = match access {
            Access::Read => of.read_latency_clocks,
            Access::Write => of.write_latency_clocks,
        };
        let (bytes, turnaround, address) = (bytes as u64, 1, 1);
        let bursts = bytes.div_ceil(of.burst_bytes);
        let clocks = bursts * (of.arbitration_clocks + address + latency + turnaround)
            + bytes.div_ceil(of.width_bytes);
        clocks * of.clock_ps
    }

    /// How long a transfer takes on an idle bus, in ns.
    pub fn takes_ns(&self, access: Access, bytes: usize) -> u64 {
        self.duration_ps(access, bytes).div_ceil(PS_PER_NS)
    }

    /// How long the processor, which reads a register of a card at `now_ns`, waits until the bus is its own, in ps: at most for the burst
    /// under way.
    pub fn wait_ps(&self, now_ns: u64) -> u64 {
        let until_free = self
            .free_ps
            .saturating_sub(now_ns.saturating_mul(PS_PER_NS));
        until_free.min(self.duration_ps(Access::Read, self.parameters.burst_bytes as usize))
    }

    /// Occupies the bus for a transfer that can begin at `from_ns`, after all others. When it is over, in ns.
    pub fn claim(&mut self, from_ns: u64, access: Access, bytes: usize) -> u64 {
        let begin_ps = self.free_ps.max(from_ns.saturating_mul(PS_PER_NS));
        self.free_ps = begin_ps + self.duration_ps(access, bytes);
        self.free_ps.div_ceil(PS_PER_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_takes_its_clocks() {
        let mut bus = Bus::new(Parameters::PCI_33);
        // 2 + 1 + 8 + 4 data + 1 clocks of 30 ns
        assert_eq!(bus.claim(1_000, Access::Read, 16), 1_000 + 16 * 30);
        // Behind the read, although wanted earlier: 2 + 1 + 2 + 1 + 1 clocks.
        assert_eq!(bus.claim(0, Access::Write, 3), 1_480 + 7 * 30);
    }

    #[test]
    fn the_processor_waits_for_one_burst_at_most() {
        let mut bus = Bus::new(Parameters::PCI_33);
        assert_eq!(bus.wait_ps(0), 0);
        bus.claim(0, Access::Read, 16);
        assert_eq!((bus.wait_ps(100), bus.wait_ps(480)), (380_000, 0));
        bus.claim(0, Access::Read, 1 << 16);
        assert_eq!(bus.wait_ps(480), (12 + 64) * 30_000);
    }

    #[test]
    fn long_transfers_are_cut_into_bursts() {
        let mut bus = Bus::new(Parameters::PCI_33);
        assert_eq!(bus.claim(0, Access::Write, 257), (2 * 6 + 65) * 30);
        assert_eq!(bus.claim(10_000, Access::Read, 0), 10_000);
    }

    #[test]
    fn a_long_transfer_comes_near_the_buss_bandwidth() {
        let mut bus = Bus::new(Parameters::PCI_33);
        let ns = bus.claim(0, Access::Write, 1 << 20);
        let megabytes = f64::from(1 << 20) * 1e3 / ns as f64;
        assert!((120.0..133.4).contains(&megabytes), "{megabytes} MB/s");
    }
}
