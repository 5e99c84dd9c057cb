// SPDX-License-Identifier: GPL-2.0-or-later
//! Stream frames: built from templates, recognised and verified on reception.
//!
//! Ethernet, IPv4 (RFC 791), UDP (RFC 768) or an ICMP echo (RFC 792), then an 18-byte tag and a filler; the layout is in docs/inside/protocol.md, "What a
//! stream frame carries".

use std::net::Ipv4Addr;

use serde::Deserialize;

use crate::mac::Mac;
use crate::rng::mix;

/// First four bytes of the tag: "IRQ1".
pub const SIGNATURE: u32 = 0x4952_5131;
/// The frame check sequence, which frame sizes count and which the NIC adds (IEEE 802.3).
pub const FCS_BYTES: usize = 4;
/// The shortest frame (IEEE 802.3), with FCS.
pub const MIN_FRAME_BYTES: usize = 64;
/// The longest untagged frame (IEEE 802.3), with FCS.
pub const MAX_FRAME_BYTES: usize = 1518;

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const UDP: usize = 8;
const TAG: usize = 18;
const IPV4_AT: usize = ETHERNET;
const UDP_AT: usize = IPV4_AT + IPV4;
const TAG_AT: usize = UDP_AT + UDP;
const FILLER_AT: usize = TAG_AT + TAG;
const UDP_CHECKSUM_AT: usize = UDP_AT + 6;
/// An ICMP echo header is as long as a UDP header.
const ICMP_CHECKSUM_AT: usize = UDP_AT + 2;
const ICMP_ECHO: u8 = 8;
const ICMP_ECHO_REPLY: u8 = 0;
const FLAGS_AT: usize = TAG_AT + 7;
/// Flags, sequence and departure: the part that differs between frames. It begins at an odd offset of the datagram, so the checksum
/// covers it together with the stream number before it.
const VARYING_AT: usize = TAG_AT + 6;
const FLAG_WARMUP: u8 = 1;
const DEPARTURE_MASK: u64 = (1 << 48) - 1;

/// The protocol that carries the tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// UDP.
    #[default]
    Udp,
    /// An ICMP echo request, identifier and sequence number from the ports; replies are read, too.
    Icmp,
}

impl Protocol {
    /// The number in the IPv4 header.
    fn number(self) -> u8 {
        match self {
            Protocol::Udp => 17,
            Protocol::Icmp => 1,
        }
    }
}

/// The values that all frames of a stream share.
#[derive(Clone, Debug)]
pub struct Headers {
    /// Ethernet source.
    pub src_mac: Mac,
    /// Ethernet destination: the device under test, or a group.
    pub dst_mac: Mac,
    /// IPv4 source.
    pub src_ip: Ipv4Addr,
    /// IPv4 destination.
    pub dst_ip: Ipv4Addr,
    /// UDP source port.
    pub src_port: u16,
    /// UDP destination port.
    pub dst_port: u16,
    /// IPv4 time to live.
    pub ttl: u8,
    /// What follows the IPv4 header.
    pub protocol: Protocol,
    /// The trial's number.
    pub trial: u16,
    /// The stream's number in the trial.
    pub stream: u8,
}

/// What a stream frame says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The trial's number.
    pub trial: u16,
    /// The stream's number in the trial.
    pub stream: u8,
    /// Sent before the measured window.
    pub warmup: bool,
    /// Counted from 0, separately for warm-up and window.
    pub sequence: u32,
    departure: u64,
}

impl Tag {
    /// How long ago the frame departed, in ns; the tag has 48 bits for the instant, 78 hours.
    pub fn age_ns(&self, now_ns: u64) -> u64 {
        now_ns.wrapping_sub(self.departure) & DEPARTURE_MASK
    }
}

/// A frame of one size of a stream, complete but for the part that differs between frames.
#[derive(Clone, Debug)]
pub struct Template {
    buffer: Vec<u8>,
    protocol: Protocol,
    /// One's complement sum of the pseudo header (of UDP) and the datagram, without the differing part and the checksum.
    sum: u64,
}

impl Template {
    /// A template for frames of `frame_bytes` (with FCS, in [`MIN_FRAME_BYTES`]..=[`MAX_FRAME_BYTES`]).
    pub fn new(headers: &Headers, frame_bytes: usize) -> Self {
        let mut buffer = vec![0; frame_bytes - FCS_BYTES];
        let ip_bytes = (buffer.len() - ETHERNET) as u16;
        let udp_bytes = ip_bytes - IPV4 as u16;
        buffer[0..6].copy_from_slice(&headers.dst_mac.0);
        buffer[6..12].copy_from_slice(&headers.src_mac.0);
        buffer[12..14].copy_from_slice(&[0x08, 0x00]);
        let ip = &mut buffer[IPV4_AT..UDP_AT];
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&ip_bytes.to_be_bytes());
        ip[6] = 0x40; // don't fragment, so the identification may be 0 (RFC 6864)
        ip[8] = headers.ttl;
        ip[9] = headers.protocol.number();
        ip[12..16].copy_from_slice(&headers.src_ip.octets());
        ip[16..20].copy_from_slice(&headers.dst_ip.octets());
        let checksum = !fold(sum(ip));
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        let udp = &mut buffer[UDP_AT..];
        match headers.protocol {
            Protocol::Udp => {
                udp[0..2].copy_from_slice(&headers.src_port.to_be_bytes());
                udp[2..4].copy_from_slice(&headers.dst_port.to_be_bytes());
                udp[4..6].copy_from_slice(&udp_bytes.to_be_bytes());
            }
            Protocol::Icmp => {
                udp[0] = ICMP_ECHO;
                udp[4..6].copy_from_slice(&headers.src_port.to_be_bytes());
                udp[6..8].copy_from_slice(&headers.dst_port.to_be_bytes());
            }
        }
        let tag = &mut buffer[TAG_AT..];
        tag[0..4].copy_from_slice(&SIGNATURE.to_be_bytes());
        tag[4..6].copy_from_slice(&headers.trial.to_be_bytes());
        fill(&mut buffer[FILLER_AT..], headers.trial, headers.stream);
        let pseudo = match headers.protocol {
            Protocol::Udp => pseudo_sum(&buffer),
            Protocol::Icmp => 0,
        };
        let sum = pseudo + sum(&buffer[UDP_AT..]);
        buffer[VARYING_AT] = headers.stream;
        Template {
            buffer,
            protocol: headers.protocol,
            sum,
        }
    }

    /// The frame with this sequence and departure time, without FCS.
    pub fn stamp(&mut self, warmup: bool, sequence: u32, departure_ns: u64) -> &[u8] {
        self.buffer[FLAGS_AT] = if warmup { FLAG_WARMUP } else { 0 };
        self.buffer[FLAGS_AT + 1..FLAGS_AT + 5].copy_from_slice(&sequence.to_be_bytes());
        self.buffer[FLAGS_AT + 5..FILLER_AT].copy_from_slice(&departure_ns.to_be_bytes()[2..]);
        let checksum = !fold(self.sum + sum(&self.buffer[VARYING_AT..FILLER_AT]));
        let (at, checksum) = match (self.protocol, checksum) {
            (Protocol::Udp, 0) => (UDP_CHECKSUM_AT, 0xffff), // 0 stands for no checksum
            (Protocol::Udp, checksum) => (UDP_CHECKSUM_AT, checksum),
            (Protocol::Icmp, checksum) => (ICMP_CHECKSUM_AT, checksum),
        };
        self.buffer[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
        &self.buffer
    }

    /// The frame's size, with FCS.
    pub fn frame_bytes(&self) -> usize {
        self.buffer.len() + FCS_BYTES
    }
}

/// What was found in a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Without our signature: not a stream frame.
    Foreign,
    /// With our signature, and with correct headers, checksums and lengths.
    Intact(Tag),
    /// With our signature, but damaged; this is the tag as received.
    Damaged(Tag),
}

/// Whether the frame (without FCS) carries our signature.
pub fn is_ours(frame: &[u8]) -> bool {
    frame.get(TAG_AT..TAG_AT + 4) == Some(&SIGNATURE.to_be_bytes()[..])
}

/// Reads a frame (without FCS). The device under test may be a router: addresses, time to live and the header checksum
/// may have changed, as long as the header checksum is right. The filler beyond the UDP checksum is the caller's to
/// compare ([`filler_of`]).
pub fn read(frame: &[u8]) -> Reading {
    if !is_ours(frame) {
        return Reading::Foreign;
    }
    let mut raw = [0; TAG];
    let there = frame.len().min(FILLER_AT) - TAG_AT;
    raw[..there].copy_from_slice(&frame[TAG_AT..TAG_AT + there]);
    let tag = Tag {
        trial: u16::from_be_bytes([raw[4], raw[5]]),
        stream: raw[6],
        warmup: raw[7] & FLAG_WARMUP != 0,
        sequence: u32::from_be_bytes([raw[8], raw[9], raw[10], raw[11]]),
        departure: u64::from_be_bytes([0, 0, raw[12], raw[13], raw[14], raw[15], raw[16], raw[17]]),
    };
    if is_intact(frame) {
        Reading::Intact(tag)
    } else {
        Reading::Damaged(tag)
    }
}

fn is_intact(frame: &[u8]) -> bool {
    let be16 = |at: usize| usize::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
    frame.len() >= FILLER_AT
        && frame[12..14] == [0x08, 0x00]
        && frame[IPV4_AT] == 0x45
        && be16(IPV4_AT + 6) & 0xbfff == 0 // not a fragment
        && be16(IPV4_AT + 2) == frame.len() - ETHERNET
        && fold(sum(&frame[IPV4_AT..UDP_AT])) == 0xffff
        && match frame[IPV4_AT + 9] {
            17 => {
                be16(UDP_AT + 4) == frame.len() - UDP_AT
                    && be16(UDP_CHECKSUM_AT) != 0
                    && fold(pseudo_sum(frame) + sum(&frame[UDP_AT..])) == 0xffff
            }
            1 => {
                matches!(frame[UDP_AT], ICMP_ECHO | ICMP_ECHO_REPLY)
                    && frame[UDP_AT + 1] == 0
                    && fold(sum(&frame[UDP_AT..])) == 0xffff
            }
            _ => false,
        }
}

/// The filler of a frame (without FCS); empty if the frame is too short to have one.
pub fn filler_of(frame: &[u8]) -> &[u8] {
    frame.get(FILLER_AT..).unwrap_or(&[])
}

/// Writes the filler of a stream's frames. A shorter frame has the first bytes of a longer frame's filler.
pub fn fill(filler: &mut [u8], trial: u16, stream: u8) {
    let key = (u64::from(trial) << 8) | u64::from(stream);
    for (index, chunk) in filler.chunks_mut(8).enumerate() {
        let bytes = mix((key << 16) | index as u64).to_be_bytes();
        chunk.copy_from_slice(&bytes[..chunk.len()]);
    }
}

/// The longest filler a frame can have.
pub const MAX_FILLER_BYTES: usize = MAX_FRAME_BYTES - FCS_BYTES - FILLER_AT;

/// The UDP pseudo header (RFC 768): addresses, protocol, UDP length.
fn pseudo_sum(frame: &[u8]) -> u64 {
    sum(&frame[IPV4_AT + 12..IPV4_AT + 20]) + 17 + (frame.len() - UDP_AT) as u64
}

/// The sum of the 16-bit words; an odd byte at the end counts as a word's high half (RFC 1071).
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(2);
    let odd = words
        .remainder()
        .first()
        .map_or(0, |byte| u32::from(*byte) << 8);
    let total: u32 = words
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum();
    u64::from(total) + u64::from(odd)
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests;
