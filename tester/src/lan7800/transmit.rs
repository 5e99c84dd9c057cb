// SPDX-License-Identifier: GPL-2.0-or-later
//! Frames from the host: transmit command words A and B, and the offloads that they request: checksums, VLAN tags, TCP segmentation.

use crate::offload::{ADDRESSES_BYTES, VLAN, find_ip, insert_tag, segment, word};

/// Words A and B.
pub const COMMAND_BYTES: usize = 8;
/// Ethernet's smallest frame, without FCS: shorter ones are padded.
pub const MIN_BYTES: usize = 60;
/// The length of an Ethernet header: the chip cannot make a frame of fewer bytes.
const HEADER_BYTES: usize = 14;

const TX_LSO: u32 = 1 << 27;
const TX_IPE: u32 = 1 << 26;
const TX_TPE: u32 = 1 << 25;
const TX_IVTG: u32 = 1 << 24;
const TX_RVTG: u32 = 1 << 23;
const TX_LENGTH: u32 = 0xf_ffff;

/// A frame's command words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    a: u32,
    b: u32,
}

impl Command {
    /// Reads the words at the beginning of `bytes`; None if there are too few bytes.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        Some(Command {
            a: word(0)?,
            b: word(4)?,
        })
    }

    /// How many bytes of frame follow.
    pub fn frame_bytes(&self) -> usize {
        (self.a & TX_LENGTH) as usize
    }

    /// Whether the chip can make a frame of the bytes that follow, in a FIFO of `fifo` bytes. Segments pass through it one by one.
    pub fn is_sound(&self, fifo: usize) -> bool {
        self.frame_bytes() >= HEADER_BYTES && (self.a & TX_LSO != 0 || self.frame_bytes() <= fifo)
    }

    /// The frames (without FCS, padded) to transmit.
    pub fn frames(&self, frame: &[u8]) -> Vec<Vec<u8>> {
        let mut frame = frame.to_vec();
        if self.a & (TX_IVTG | TX_RVTG) != 0 {
            self.tag(&mut frame);
        }
        let mss = ((self.b >> 16) & 0x3fff) as usize;
        let segments = (self.a & TX_LSO != 0 && mss != 0)
            .then(|| segment(&frame, mss))
            .flatten();
        let mut frames = segments.unwrap_or_else(|| vec![self.checksummed(frame)]);
        for frame in &mut frames {
            frame.resize(frame.len().max(MIN_BYTES), 0);
        }
        frames
    }

    /// The frames as `frames` makes them, each with how many bytes of `frame` it is made of: segments leave while the rest of
    /// the packet is still arriving.
    pub fn pieces(&self, frame: &[u8]) -> Vec<(usize, Vec<u8>)> {
        let frames = self.frames(frame);
        let mss = ((self.b >> 16) & 0x3fff) as usize;
        let headers = find_ip(frame).map_or(0, |ip| {
            ip.payload + usize::from(frame.get(ip.payload + 12).map_or(0, |byte| byte >> 4)) * 4
        });
        let last = frames.len() - 1;
        let bytes = |n: usize| {
            if n == last {
                frame.len()
            } else {
                frame.len().min(headers + (n + 1) * mss)
            }
        };
        frames
            .into_iter()
            .enumerate()
            .map(|(n, made)| (bytes(n), made))
            .collect()
    }

    /// Inserts the VLAN tag, or replaces the frame's own.
    fn tag(&self, frame: &mut Vec<u8>) {
        let tag = (self.b as u16).to_be_bytes();
        if self.a & TX_RVTG != 0 && word(frame, ADDRESSES_BYTES) == VLAN && frame.len() >= 16 {
            frame[ADDRESSES_BYTES + 2..ADDRESSES_BYTES + 4].copy_from_slice(&tag);
        } else {
            insert_tag(frame, tag);
        }
    }

    fn checksummed(&self, mut frame: Vec<u8>) -> Vec<u8> {
        if let Some(ip) = find_ip(&frame) {
            if self.a & TX_IPE != 0 {
                ip.fill_header(&mut frame);
            }
            if self.a & TX_TPE != 0 {
                ip.fill_payload(&mut frame);
            }
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::tests::{ipv4, ipv6};
    use crate::offload::{TCP, TCP_CWR, TCP_FIN, TCP_PSH, UDP};

    fn command(flags: u32, b: u32, frame: &[u8]) -> Command {
        Command {
            a: flags | frame.len() as u32,
            b,
        }
    }

    #[test]
    fn words_are_read() {
        let bytes = [60, 0, 0x40, 0x06, 0x34, 0x12, 0xb4, 0x05];
        let command = Command::read(&bytes).unwrap();
        assert_eq!(command.frame_bytes(), 60);
        assert_eq!((command.a & TX_IPE, command.a & TX_TPE), (TX_IPE, TX_TPE));
        assert_eq!((command.b & 0xffff, command.b >> 16), (0x1234, 1460));
        assert_eq!(Command::read(&bytes[..7]), None);
        assert!(!Command { a: 13, b: 0 }.is_sound(12288));
        assert!(!Command { a: 12289, b: 0 }.is_sound(12288));
        assert!(
            Command {
                a: TX_LSO | 16000,
                b: 0
            }
            .is_sound(12288)
        );
    }

    #[test]
    fn short_frames_are_padded_and_others_left_alone() {
        let frame = ipv4(UDP, &[1; 10]);
        let sent = command(0, 0, &frame).frames(&frame);
        assert_eq!((sent.len(), sent[0].len()), (1, 60));
        assert_eq!(sent[0][..frame.len()], frame[..]);
    }

    #[test]
    fn checksums_are_filled_in() {
        for frame in [ipv4(UDP, &[1; 40]), ipv6(TCP, &[3; 41])] {
            let sent = command(TX_IPE | TX_TPE, 0, &frame).frames(&frame);
            let ip = find_ip(&sent[0]).unwrap();
            assert!(ip.header_is_right(&sent[0]) && ip.payload_is_right(&sent[0]));
            assert_ne!(word(&sent[0], ip.checksum_at().unwrap()), 0);
        }
    }

    #[test]
    fn tags_are_put_in_and_replaced() {
        let frame = ipv4(UDP, &[1; 40]);
        let tagged = command(TX_IVTG, 0x2064, &frame).frames(&frame).remove(0);
        assert_eq!(tagged[12..16], [0x81, 0, 0x20, 0x64]);
        assert_eq!((&tagged[..12], &tagged[16..]), (&frame[..12], &frame[12..]));
        let replaced = command(TX_RVTG, 5, &tagged).frames(&tagged).remove(0);
        assert_eq!(replaced[12..16], [0x81, 0, 0, 5]);
        assert_eq!(replaced.len(), tagged.len());
    }

    #[test]
    fn tcp_is_segmented() {
        let mut payload = vec![0; 32]; // a header with options
        payload[4..8].copy_from_slice(&0xffff_ff00_u32.to_be_bytes());
        payload[12] = 8 << 4;
        payload[13] = 0x10 | TCP_FIN | TCP_PSH | TCP_CWR;
        payload.extend((0..3000_u32).map(|n| n as u8));
        for make in [ipv4, ipv6] {
            let frame = make(TCP, &payload);
            let sent = command(TX_LSO | TX_IPE | TX_TPE, 1448 << 16, &frame).frames(&frame);
            assert_eq!(sent.len(), 3);
            let mut stream: Vec<u8> = Vec::new();
            for (n, segment) in sent.iter().enumerate() {
                let ip = find_ip(segment).unwrap();
                assert!(ip.header_is_right(segment) && ip.payload_is_right(segment));
                let sequence = &segment[ip.payload + 4..ip.payload + 8];
                let expected = 0xffff_ff00_u32.wrapping_add(n as u32 * 1448);
                assert_eq!(sequence, expected.to_be_bytes());
                let flags = segment[ip.payload + 13];
                assert_eq!(flags & (TCP_FIN | TCP_PSH) != 0, n == 2);
                assert_eq!(flags & TCP_CWR != 0, n == 0);
                if !ip.v6 {
                    assert_eq!(word(segment, ip.at + 4), 0x1234 + n as u16);
                }
                stream.extend(&segment[ip.payload + 32..ip.end]);
            }
            assert_eq!(stream, payload[32..]);
        }
    }

    #[test]
    fn a_segment_is_made_of_the_headers_and_its_own_bytes() {
        let mut payload = vec![0; 20];
        payload[12] = 5 << 4;
        payload.extend(vec![7; 3000]);
        let frame = ipv4(TCP, &payload);
        let headers = frame.len() - 3000;
        let lso = command(TX_LSO, 1400 << 16, &frame);
        let pieces = lso.pieces(&frame);
        let bytes: Vec<usize> = pieces.iter().map(|(bytes, _)| *bytes).collect();
        assert_eq!(bytes, [headers + 1400, headers + 2800, frame.len()]);
        let made: Vec<Vec<u8>> = pieces.into_iter().map(|(_, made)| made).collect();
        assert_eq!(made, lso.frames(&frame));
        let plain = ipv4(UDP, &[1; 100]);
        assert_eq!(
            command(0, 0, &plain).pieces(&plain),
            vec![(plain.len(), plain.clone())]
        );
    }

    #[test]
    fn nonsense_to_segment_is_sent_as_it_is() {
        for frame in [ipv4(UDP, &[1; 100]), vec![0; 80], ipv4(TCP, &[0; 40])] {
            assert_eq!(
                command(TX_LSO, 100 << 16, &frame).frames(&frame),
                vec![frame.clone()]
            );
        }
    }
}
