// SPDX-License-Identifier: GPL-2.0-or-later
//! One stream of an iperf3 test.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::net::{Handle, Net};

/// At most this many written bytes of a TCP sender are unacknowledged.
const AHEAD: usize = 1 << 22;
/// How much iperf3 writes to a TCP socket at once, in bytes.
const BLOCK: u64 = 128 << 10;
/// Bytes of a datagram's header: seconds, microseconds, and a 32-bit sequence number.
const HEADER_32: usize = 12;
const HEADER_64: usize = 16;

/// The transport of a stream.
#[derive(Debug)]
pub enum Carrier {
    /// A TCP connection.
    Tcp(Handle),
    /// UDP between a local and a remote port.
    Udp {
        /// The local port.
        local: u16,
        /// The remote address and port.
        remote: (Ipv4Addr, u16),
    },
}

/// The settings of a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamConfig {
    /// The host sends.
    pub sends: bool,
    /// At most this many bits of payload a second; 0: as fast as possible.
    pub rate_bps: u64,
    /// Payload of a datagram, in bytes.
    pub datagram_bytes: usize,
    /// Datagrams have 64-bit sequence numbers.
    pub wide_numbers: bool,
    /// The mark of the packets that are sent (RFC 2474).
    pub dscp: u8,
    /// How much a TCP sender keeps unacknowledged, in bytes.
    pub window_bytes: usize,
    /// Length of the series' buckets in ns; 0: no series.
    pub bucket_ns: u64,
    /// When the first bucket begins.
    pub origin_ns: u64,
}

/// A stream.
#[derive(Debug)]
pub struct Flow {
    id: u32,
    carrier: Carrier,
    config: StreamConfig,
    begin_ns: Option<u64>,
    end_ns: Option<u64>,
    /// Payload received here or acknowledged by the other end; for UDP, sent.
    bytes: u64,
    omitted_bytes: u64,
    acknowledged: u64,
    written: u64,
    retransmits_before: u64,
    datagrams: u64,
    lost: i64,
    omitted: (u64, i64),
    reordered: u64,
    jitter_s: f64,
    transit_s: Option<f64>,
    series: Vec<u64>,
    /// UDP: how many datagrams were received, by their marks.
    heard: BTreeMap<u8, u64>,
}

impl Flow {
    /// A stream; `place` is its number in the test, from 0.
    pub fn new(place: usize, carrier: Carrier, config: StreamConfig) -> Self {
        Flow {
            id: if place == 0 { 1 } else { place as u32 + 2 }, // iperf3 numbers them 1, 3, 4, …
            carrier,
            config,
            begin_ns: None,
            end_ns: None,
            bytes: 0,
            omitted_bytes: 0,
            acknowledged: 0,
            written: 0,
            retransmits_before: 0,
            datagrams: 0,
            lost: 0,
            omitted: (0, 0),
            reordered: 0,
            jitter_s: 0.0,
            transit_s: None,
            series: Vec::new(),
            heard: BTreeMap::new(),
        }
    }

    /// Its transport.
    pub fn carrier(&self) -> &Carrier {
        &self.carrier
    }

    /// The test begins now.
    pub fn begin(&mut self, now_ns: u64, net: &Net) {
        self.begin_ns = Some(now_ns);
        if let Carrier::Tcp(handle) = self.carrier {
            let sender = &net.look(handle).sender;
            self.acknowledged = sender.una() + sender.queued() as u64; // the cookie does not count
            self.retransmits_before = sender.retransmits();
        }
    }

    /// Packets are marked from now on, as iperf3 does once a connection is open.
    pub fn mark(&self, net: &mut Net) {
        if let Carrier::Tcp(handle) = self.carrier {
            net.tcp(handle).dscp = self.config.dscp;
        }
    }

    /// Resets the counters, for iperf3's --omit.
    pub fn omit(&mut self, now_ns: u64, net: &Net) {
        self.begin_ns = Some(now_ns);
        self.omitted_bytes = self.bytes;
        self.omitted = (self.datagrams, self.lost);
        if let Carrier::Tcp(handle) = self.carrier {
            self.retransmits_before = net.look(handle).sender.retransmits();
        }
    }

    /// The test is over.
    pub fn end(&mut self, now_ns: u64, net: &mut Net) {
        if self.end_ns.is_some() {
            return;
        }
        self.move_bytes(now_ns, net);
        self.end_ns = Some(now_ns);
        if let Carrier::Tcp(handle) = self.carrier {
            net.tcp(handle).sender.cut();
            net.tcp(handle).sender.finish();
        }
    }

    fn count(&mut self, now_ns: u64, bytes: u64) {
        self.bytes += bytes;
        if bytes > 0 && self.config.bucket_ns > 0 {
            let bucket =
                (now_ns.saturating_sub(self.config.origin_ns) / self.config.bucket_ns) as usize;
            if self.series.len() <= bucket {
                self.series.resize(bucket + 1, 0);
            }
            self.series[bucket] += bytes;
        }
    }

    /// How many bytes the rate allows by now.
    fn allowance(&self, now_ns: u64) -> u64 {
        let Some(begin_ns) = self.begin_ns.filter(|_| self.end_ns.is_none()) else {
            return 0;
        };
        if self.config.rate_bps == 0 {
            return u64::MAX;
        }
        let bits = u128::from(self.config.rate_bps) * u128::from(now_ns.saturating_sub(begin_ns))
            / 1_000_000_000;
        (bits / 8) as u64
    }

    /// TCP: reads what was received, or writes what can be sent.
    pub fn move_bytes(&mut self, now_ns: u64, net: &mut Net) {
        let Carrier::Tcp(handle) = self.carrier else {
            return;
        };
        if self.begin_ns.is_none() {
            return;
        }
        let running = self.end_ns.is_none();
        let tcp = net.tcp(handle);
        if self.config.sends {
            let una = tcp.sender.una();
            let advanced = una.saturating_sub(self.acknowledged);
            self.acknowledged = self.acknowledged.max(una);
            if running {
                let wanted = self.config.window_bytes.min(AHEAD);
                let room = wanted.saturating_sub(tcp.sender.queued()) as u64;
                let allowed = self.allowance(now_ns).saturating_sub(self.written);
                let mut count = room.min(allowed);
                while count > 0 {
                    let block_left = BLOCK - self.written % BLOCK;
                    let part = count.min(block_left);
                    let zeros = std::iter::repeat_n(0, part as usize);
                    if part == block_left {
                        tcp.sender.write(zeros);
                    } else {
                        tcp.sender.write_part(zeros);
                    }
                    self.written += part;
                    count -= part;
                }
                self.count(now_ns, advanced);
            }
        } else {
            let taken = tcp.receiver.discard(usize::MAX) as u64;
            if running {
                self.count(now_ns, taken);
            }
        }
    }

    /// UDP: the next datagram, if one is due.
    pub fn datagram(&mut self, now_ns: u64, net: &Net) -> Option<Vec<u8>> {
        let Carrier::Udp { local, remote } = self.carrier else {
            return None;
        };
        let length = self.config.datagram_bytes as u64;
        if !self.config.sends || self.next_ns()? > now_ns {
            return None;
        }
        self.datagrams += 1;
        self.written += length;
        self.count(now_ns, length);
        let mut payload = vec![0; self.config.datagram_bytes];
        payload[..4].copy_from_slice(&((now_ns / 1_000_000_000) as u32).to_be_bytes());
        payload[4..8].copy_from_slice(&((now_ns % 1_000_000_000 / 1_000) as u32).to_be_bytes());
        if self.config.wide_numbers {
            payload[8..16].copy_from_slice(&self.datagrams.to_be_bytes());
        } else {
            payload[8..12].copy_from_slice(&(self.datagrams as u32).to_be_bytes());
        }
        net.datagram(local, remote, self.config.dscp, &payload)
    }

    /// When the rate allows the next bytes, if the stream waits for that.
    pub fn next_ns(&self) -> Option<u64> {
        let begin_ns = self.begin_ns.filter(|_| self.end_ns.is_none())?;
        if !self.config.sends {
            return None;
        }
        let at = match self.carrier {
            Carrier::Udp { .. } => self.written,
            // A TCP sender writes a segment at a time.
            Carrier::Tcp(_) if self.config.rate_bps == 0 => return None,
            Carrier::Tcp(_) => self.written + super::sender::MSS,
        };
        if self.config.rate_bps == 0 {
            return Some(begin_ns);
        }
        let ns = u128::from(at) * 8_000_000_000;
        Some(begin_ns + ns.div_ceil(u128::from(self.config.rate_bps)) as u64)
    }

    /// UDP: a datagram of this stream was received. Counted as in iperf3 (iperf_udp_recv).
    pub fn received(&mut self, now_ns: u64, dscp: u8, payload: &[u8]) {
        let (wide, running) = (self.config.wide_numbers, self.end_ns.is_none());
        let header = if wide { HEADER_64 } else { HEADER_32 };
        if self.config.sends || self.begin_ns.is_none() || !running || payload.len() < header {
            return;
        }
        let word =
            |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().unwrap_or_default());
        let mut number = u64::from(word(8));
        if wide {
            number = number << 32 | u64::from(word(12));
        }
        self.count(now_ns, payload.len() as u64);
        *self.heard.entry(dscp).or_default() += 1;
        if number > self.datagrams {
            self.lost += (number - 1 - self.datagrams) as i64;
            self.datagrams = number;
        } else {
            self.reordered += 1;
            self.lost = (self.lost - 1).max(0);
        }
        let sent_s = f64::from(word(0)) + f64::from(word(4)) / 1e6;
        let transit_s = now_ns as f64 / 1e9 - sent_s;
        let change_s = (transit_s - self.transit_s.unwrap_or(transit_s)).abs();
        self.transit_s = Some(transit_s);
        self.jitter_s += (change_s - self.jitter_s) / 16.0; // RFC 3550, 6.4.1
    }

    fn retransmits(&self, net: &Net) -> Option<u64> {
        match self.carrier {
            Carrier::Tcp(handle) if self.config.sends => {
                Some(net.look(handle).sender.retransmits() - self.retransmits_before)
            }
            _ => None,
        }
    }

    fn seconds(&self, now_ns: u64) -> f64 {
        let end_ns = self.end_ns.unwrap_or(now_ns);
        self.begin_ns
            .map_or(0.0, |begin_ns| (end_ns - begin_ns) as f64 / 1e9)
    }

    /// The results of a stream that iperf3 sends to the other end.
    pub fn exchanged(&self, net: &Net) -> Value {
        json!({
            "id": self.id,
            "bytes": self.bytes - self.omitted_bytes,
            "retransmits": self.retransmits(net).map_or(-1, |count| count as i64),
            "jitter": self.jitter_s,
            "errors": self.lost,
            "omitted_errors": self.omitted.1,
            "packets": self.datagrams,
            "omitted_packets": self.omitted.0,
            "start_time": 0,
            "end_time": self.seconds(0),
        })
    }

    /// The results for the lab.
    pub fn report(&self, now_ns: u64, net: &Net) -> Value {
        let sender = match self.carrier {
            Carrier::Tcp(handle) if self.config.sends => Some(&net.look(handle).sender),
            _ => None,
        };
        let heard = match self.carrier {
            Carrier::Tcp(handle) => &net.look(handle).heard,
            Carrier::Udp { .. } => &self.heard,
        };
        json!({
            "sends": self.config.sends,
            "seconds": self.seconds(now_ns),
            "bytes": self.bytes - self.omitted_bytes,
            "retransmits": self.retransmits(net),
            "timeouts": sender.map(|sender| sender.timeouts()),
            "congestion_window_bytes": sender.map(|sender| sender.congestion_window()),
            "srtt_ns": sender.and_then(|sender| sender.srtt_ns()),
            "datagrams": self.datagrams - self.omitted.0,
            "lost": self.lost - self.omitted.1,
            "reordered": self.reordered,
            "jitter_ns": (self.jitter_s * 1e9).round() as u64,
            "series": self.series,
            "received_by_dscp": heard,
        })
    }
}

#[cfg(test)]
mod tests;
