// SPDX-License-Identifier: GPL-2.0-or-later
//! Frames as the chips' offload engines see them: VLAN tags, IPv4 and IPv6, TCP and UDP, their checksums, and segments of TCP.

/// Destination and source address.
pub const ADDRESSES_BYTES: usize = 12;
/// The ethertype of an 802.1Q tag.
pub const VLAN: u16 = 0x8100;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// TCP's protocol number.
pub const TCP: u8 = 6;
/// UDP's protocol number.
pub const UDP: u8 = 17;
/// Flags of TCP.
pub const TCP_FIN: u8 = 0x01;
/// As above.
pub const TCP_PSH: u8 = 0x08;
/// As above.
pub const TCP_CWR: u8 = 0x80;

/// Two bytes, big-endian; 0 beyond the end.
pub fn word(bytes: &[u8], at: usize) -> u16 {
    match bytes.get(at..at + 2) {
        Some(pair) => u16::from_be_bytes([pair[0], pair[1]]),
        None => 0,
    }
}

/// Writes two bytes, big-endian.
pub fn set_word(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(pair) = bytes.get_mut(at..at + 2) {
        pair.copy_from_slice(&value.to_be_bytes());
    }
}

/// The one's complement sum of big-endian words; an odd last byte is padded with zero (RFC 1071).
pub fn sum(bytes: &[u8]) -> u32 {
    let words = bytes
        .chunks(2)
        .map(|pair| (u32::from(pair[0]) << 8) | u32::from(pair.get(1).copied().unwrap_or(0)));
    words.fold(0, |total, word| u32::from(fold(total + word)))
}

/// Carries added in.
pub fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

/// Offsets of an IP packet's headers in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Where the IP header begins.
    pub at: usize,
    /// It is IPv6.
    pub v6: bool,
    /// What the packet carries.
    pub protocol: u8,
    /// It is a fragment: its payload has no checksum of its own.
    pub fragment: bool,
    /// Where that begins.
    pub payload: usize,
    /// Where the packet ends; padding may follow.
    pub end: usize,
}

/// Finds the IP packet in a frame (without FCS), after at most one VLAN tag; None if there is none or it is incomplete.
pub fn find_ip(frame: &[u8]) -> Option<Ip> {
    let tagged = word(frame, ADDRESSES_BYTES) == VLAN;
    let at = ADDRESSES_BYTES + if tagged { 6 } else { 2 };
    match word(frame, at - 2) {
        IPV4 => {
            let first = *frame.get(at)?;
            let header = usize::from(first & 0xf) * 4;
            let total = usize::from(word(frame, at + 2));
            let fits =
                first >> 4 == 4 && header >= 20 && total >= header && at + total <= frame.len();
            fits.then(|| Ip {
                at,
                v6: false,
                protocol: frame[at + 9],
                fragment: word(frame, at + 6) & 0x3fff != 0,
                payload: at + header,
                end: at + total,
            })
        }
        IPV6 => {
            let end = at + 40 + usize::from(word(frame, at + 4));
            let fits = frame.get(at)? >> 4 == 6 && end <= frame.len();
            fits.then(|| Ip {
                at,
                v6: true,
                protocol: frame[at + 6], // extension headers are not followed
                fragment: false,
                payload: at + 40,
                end,
            })
        }
        _ => None,
    }
}

impl Ip {
    /// The sum of the pseudo header for `bytes` of payload.
    fn pseudo(&self, frame: &[u8], bytes: usize) -> u32 {
        let (from, to) = if self.v6 { (8, 40) } else { (12, 20) };
        sum(&frame[self.at + from..self.at + to]) + u32::from(self.protocol) + bytes as u32
    }

    /// Offset of the checksum of TCP or UDP, if the packet carries one of them and the header is complete.
    pub fn checksum_at(&self) -> Option<usize> {
        let (offset, header) = match self.protocol {
            _ if self.fragment => return None,
            TCP => (16, 20),
            UDP => (6, 8),
            _ => return None,
        };
        (self.end >= self.payload + header).then_some(self.payload + offset)
    }

    /// Whether the IPv4 header's checksum is right; IPv6 has none.
    pub fn header_is_right(&self, frame: &[u8]) -> bool {
        self.v6 || fold(sum(&frame[self.at..self.payload])) == 0xffff
    }

    /// Whether the checksum of TCP or UDP is right or absent.
    pub fn payload_is_right(&self, frame: &[u8]) -> bool {
        let Some(at) = self.checksum_at() else {
            return true;
        };
        if self.protocol == UDP && !self.v6 && word(frame, at) == 0 {
            return true;
        }
        let payload = &frame[self.payload..self.end];
        fold(self.pseudo(frame, payload.len()) + sum(payload)) == 0xffff
    }

    /// Fills in the IPv4 header's checksum.
    pub fn fill_header(&self, frame: &mut [u8]) {
        if !self.v6 {
            set_word(frame, self.at + 10, 0);
            let checksum = !fold(sum(&frame[self.at..self.payload]));
            set_word(frame, self.at + 10, checksum);
        }
    }

    /// Fills in the checksum of TCP or UDP.
    pub fn fill_payload(&self, frame: &mut [u8]) {
        let Some(at) = self.checksum_at() else { return };
        set_word(frame, at, 0);
        let payload = &frame[self.payload..self.end];
        let checksum = match !fold(self.pseudo(frame, payload.len()) + sum(payload)) {
            0 if self.protocol == UDP => 0xffff, // 0 stands for no checksum
            checksum => checksum,
        };
        set_word(frame, at, checksum);
    }
}

/// Inserts an 802.1Q tag with this control information behind the addresses of a frame that has some.
pub fn insert_tag(frame: &mut Vec<u8>, control: [u8; 2]) {
    if frame.len() >= ADDRESSES_BYTES {
        let [high, low] = VLAN.to_be_bytes();
        frame.splice(
            ADDRESSES_BYTES..ADDRESSES_BYTES,
            [high, low, control[0], control[1]],
        );
    }
}

/// Cuts a TCP packet into segments of at most `mss` bytes of data, each with headers and checksums of its own; None if it is no
/// such packet.
pub fn segment(frame: &[u8], mss: usize) -> Option<Vec<Vec<u8>>> {
    let ip = find_ip(frame).filter(|ip| ip.protocol == TCP && ip.checksum_at().is_some())?;
    let data = ip.payload + usize::from(frame[ip.payload + 12] >> 4) * 4;
    if data < ip.payload + 20 || data >= ip.end {
        return None;
    }
    let (headers, data) = (&frame[..data], &frame[data..ip.end]);
    let count = data.chunks(mss).len();
    let sequence_at = ip.payload + 4;
    let sequence = u32::from_be_bytes(headers[sequence_at..sequence_at + 4].try_into().ok()?);
    let segments = data.chunks(mss).enumerate().map(|(n, part)| {
        let mut whole = [headers, part].concat();
        let bytes = whole.len() - ip.at;
        if ip.v6 {
            set_word(&mut whole, ip.at + 4, (bytes - 40) as u16);
        } else {
            set_word(&mut whole, ip.at + 2, bytes as u16);
            set_word(
                &mut whole,
                ip.at + 4,
                word(headers, ip.at + 4).wrapping_add(n as u16),
            );
        }
        let sequence = sequence.wrapping_add((n * mss) as u32);
        whole[sequence_at..sequence_at + 4].copy_from_slice(&sequence.to_be_bytes());
        let flags = &mut whole[ip.payload + 13];
        if n + 1 < count {
            *flags &= !(TCP_FIN | TCP_PSH);
        }
        if n > 0 {
            *flags &= !TCP_CWR;
        }
        let ip = Ip {
            end: whole.len(),
            ..ip
        };
        ip.fill_header(&mut whole);
        ip.fill_payload(&mut whole);
        whole
    });
    Some(segments.collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An IPv4 packet in a frame, checksums zero.
    pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0x52, 0x54, 0, 0, 0, 1, 0x52, 0x54, 0, 0, 1, 1, 0x08, 0x00];
        frame.extend([0x45, 0]);
        frame.extend((20 + payload.len() as u16).to_be_bytes());
        frame.extend([
            0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 198, 18, 0, 2, 198, 19, 0, 2,
        ]);
        frame.extend(payload);
        frame
    }

    /// An IPv6 packet in a frame.
    pub fn ipv6(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0x52, 0x54, 0, 0, 0, 1, 0x52, 0x54, 0, 0, 1, 1, 0x86, 0xdd];
        frame.extend([0x60, 0, 0, 0]);
        frame.extend((payload.len() as u16).to_be_bytes());
        frame.extend([protocol, 64]);
        frame.extend((0..32).map(|n| n * 7 + 1));
        frame.extend(payload);
        frame
    }

    #[test]
    fn checksums_put_in_are_right_and_others_are_not() {
        for make in [ipv4, ipv6] {
            for (protocol, bytes) in [(TCP, 61), (UDP, 40), (1, 30)] {
                let mut frame = make(protocol, &vec![0x5a; bytes]);
                frame.resize(frame.len() + 7, 0); // padding
                let ip = find_ip(&frame).unwrap();
                assert_eq!(ip.end - ip.payload, bytes);
                ip.fill_header(&mut frame);
                ip.fill_payload(&mut frame);
                assert!(ip.header_is_right(&frame) && ip.payload_is_right(&frame));
                frame[ip.payload + 25] ^= 1;
                assert_eq!(ip.payload_is_right(&frame), protocol == 1);
                frame[ip.at + 1] ^= 1;
                assert_eq!(ip.header_is_right(&frame), ip.v6);
            }
        }
    }

    #[test]
    fn what_is_not_whole_is_no_packet() {
        let frame = ipv4(UDP, &[0; 20]);
        for bytes in 0..frame.len() {
            assert_eq!(find_ip(&frame[..bytes]), None);
        }
        let mut arp = frame.clone();
        arp[13] = 0x06;
        assert_eq!(find_ip(&arp), None);
    }

    #[test]
    fn a_known_sum() {
        // RFC 1071, section 3.
        assert_eq!(
            fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])),
            0xddf2
        );
        assert_eq!(sum(&[0xab]), 0xab00);
    }
}
