// SPDX-License-Identifier: GPL-2.0-or-later
//! A PCI Express link: how long transfers of the card at its end take.
//!
//! PCI Express Base Specification 1.1. Each direction carries packets one after the other. A write is cut into packets of the largest
//! payload; it is in memory when the root complex has passed it on. A read is cut into requests; completions come back after the root
//! complex's latency, in packets of the read completion boundary. Reads overlap: only the packets occupy the link. Packets of flow control
//! and acknowledgement are not modelled.

use serde::{Deserialize, Serialize};

use super::bus::Access;

const PS_PER_NS: u64 = 1_000;

/// The link's properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// How long a byte takes, in ps.
    pub byte_ps: u64,
    /// What a packet has besides its payload, in bytes: framing 2, sequence number 2, header 12, LCRC 4 (chapters 2 and 3).
    pub overhead_bytes: u64,
    /// The largest payload of a write, in bytes.
    pub payload_bytes: u64,
    /// The largest read request, in bytes.
    pub request_bytes: u64,
    /// A completion's payload, in bytes.
    pub completion_bytes: u64,
    /// From a request's last byte to the completion's first, in ns.
    pub read_latency_ns: u64,
    /// From a write's last byte until it is in memory, in ns.
    pub write_latency_ns: u64,
}

impl Parameters {
    /// 2.5 GT/s, one lane, 8b/10b: 4 ns per byte. Payload, request size and completion boundary are the defaults after a reset (7.8.4,
    /// 7.8.7). The latencies are assumptions about an ordinary root complex.
    pub const GEN1_X1: Parameters = Parameters {
        byte_ps: 4_000,
        overhead_bytes: 20,
        payload_bytes: 128,
        request_bytes: 512,
        completion_bytes: 64,
        read_latency_ns: 400,
        write_latency_ns: 150,
    };
}

/// A link, and until when each direction is occupied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Link {
    parameters: Parameters,
    /// From the card, in ps.
    up_free_ps: u64,
    /// To the card, in ps.
    down_free_ps: u64,
}

impl Link {
    /// An idle link.
    pub fn new(parameters: Parameters) -> Self {
        Link {
            parameters,
            up_free_ps: 0,
            down_free_ps: 0,
        }
    }

    /// How long a transfer takes on an idle link, in ns.
    pub fn takes_ns(&self, access: Access, bytes: usize) -> u64 {
        Link::new(self.parameters).claim(0, access, bytes)
    }

    /// Carries a transfer that can begin at `from_ns`, after all others in its direction. When it is over, in ns: a write is in memory, or
    /// the last byte that was read has reached the card.
    pub fn claim(&mut self, from_ns: u64, access: Access, bytes: usize) -> u64 {
        let of = self.parameters;
        let bytes = bytes as u64;
        if bytes == 0 {
            return from_ns;
        }
        let begin_ps = self.up_free_ps.max(from_ns.saturating_mul(PS_PER_NS));
        let end_ps = match access {
            Access::Write => {
                let packets = bytes.div_ceil(of.payload_bytes);
                self.up_free_ps = begin_ps + (bytes + packets * of.overhead_bytes) * of.byte_ps;
                self.up_free_ps + of.write_latency_ns * PS_PER_NS
            }
            Access::Read => {
                let requests = bytes.div_ceil(of.request_bytes);
                let completions = bytes.div_ceil(of.completion_bytes);
                self.up_free_ps = begin_ps + requests * of.overhead_bytes * of.byte_ps;
                let back_ps = self.up_free_ps + of.read_latency_ns * PS_PER_NS;
                self.down_free_ps = self.down_free_ps.max(back_ps)
                    + (bytes + completions * of.overhead_bytes) * of.byte_ps;
                self.down_free_ps
            }
        };
        end_ps.div_ceil(PS_PER_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_takes_a_round_trip_and_reads_overlap() {
        let mut link = Link::new(Parameters::GEN1_X1);
        // The request 80 ns, 400 ns in the root complex, a completion of 84 bytes.
        assert_eq!(link.claim(1_000, Access::Read, 64), 1_000 + 80 + 400 + 336);
        // A request right behind it: its completion follows the first one.
        assert_eq!(link.claim(1_000, Access::Read, 64), 1_816 + 336);
        assert_eq!(link.claim(9_000, Access::Read, 0), 9_000);
    }

    #[test]
    fn a_write_is_cut_into_packets_and_waits_for_no_completion() {
        let mut link = Link::new(Parameters::GEN1_X1);
        link.claim(0, Access::Read, 4096);
        // Behind eight requests: two packets.
        assert_eq!(
            link.claim(0, Access::Write, 129),
            8 * 80 + (129 + 40) * 4 + 150
        );
    }

    #[test]
    fn a_long_transfer_comes_near_the_links_bandwidth() {
        for access in [Access::Read, Access::Write] {
            let mut link = Link::new(Parameters::GEN1_X1);
            let ns = link.claim(0, access, 1 << 20);
            let megabytes = f64::from(1 << 20) * 1e3 / ns as f64;
            assert!((180.0..220.0).contains(&megabytes), "{megabytes} MB/s");
        }
    }
}
