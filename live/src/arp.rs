// SPDX-License-Identifier: GPL-2.0-or-later
//! ARP (RFC 826), as far as a tester needs it to find its device under test.

use std::net::Ipv4Addr;

use irqlab_tester::mac::Mac;

const REQUEST: u8 = 1;
const REPLY: u8 = 2;

/// A request: who has `to`? Without FCS.
pub fn request(mac: Mac, ip: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[0..6].fill(0xff);
    frame[6..12].copy_from_slice(&mac.0);
    frame[12..22].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, REQUEST]);
    frame[22..28].copy_from_slice(&mac.0);
    frame[28..32].copy_from_slice(&ip.octets());
    frame[38..42].copy_from_slice(&to.octets());
    frame
}

/// Who answers with this frame: the addresses; None: it is no answer.
pub fn reply(frame: &[u8]) -> Option<(Ipv4Addr, Mac)> {
    if frame.get(12..22)? != [8, 6, 0, 1, 8, 0, 6, 4, 0, REPLY] {
        return None;
    }
    let mac = frame.get(22..28)?.try_into().ok()?;
    let ip: [u8; 4] = frame.get(28..32)?.try_into().ok()?;
    Some((ip.into(), Mac(mac)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_who_has_the_address() {
        let (us, them) = (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2]));
        let (here, there) = (Ipv4Addr::new(198, 18, 0, 2), Ipv4Addr::new(198, 18, 0, 1));
        let mut frame = request(us, here, there);
        assert_eq!(frame.len(), 60);
        assert_eq!(reply(&frame), None);
        frame = request(them, there, here);
        frame[21] = REPLY;
        assert_eq!(reply(&frame), Some((there, them)));
        assert_eq!(reply(&frame[..30]), None);
        assert_eq!(reply(&[]), None);
    }
}
