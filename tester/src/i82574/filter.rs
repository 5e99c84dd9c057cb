// SPDX-License-Identifier: GPL-2.0-or-later
//! Which frames the chip takes (data sheet, sections 10.2.5.1 and 10.2.5.21 to 10.2.5.23), and into which queue (MRQC, RETA, RSSRK).

use serde::{Deserialize, Serialize};

use super::Chip;
use super::registers::{csr, mrqc, rctl};
use crate::offload::{self, TCP};

/// Addresses in RAL and RAH.
pub const ADDRESSES: usize = 16;
const BROADCAST: [u8; 6] = [0xff; 6];
/// The bit of a multicast address that the index into MTA begins with, by RCTL.MO (10.2.5.1).
const OFFSETS: [u32; 4] = [4, 3, 2, 0];
const KEY_BYTES: u64 = 40;
const RETA_ENTRIES: u32 = 128;

/// The hash of RSS: the key's windows of 32 bits at which the input has ones.
pub fn toeplitz(key: &[u8], input: &[u8]) -> u32 {
    let bit =
        |bytes: &[u8], at: usize| bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    let mut window = (0..32).fold(0_u32, |window, at| window << 1 | u32::from(bit(key, at)));
    let mut hash = 0;
    for at in 0..8 * input.len() {
        if bit(input, at) != 0 {
            hash ^= window;
        }
        window = window << 1 | u32::from(bit(key, at + 32));
    }
    hash
}

/// What RSS makes of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// The hash; 0 if there is none.
    pub hash: u32,
    /// What was hashed, as descriptors have it.
    pub kind: u32,
    /// The queue.
    pub queue: usize,
}

impl Chip {
    /// Whether a frame is for this card.
    pub fn takes(&self, frame: &[u8]) -> bool {
        let Some(destination) = frame.get(..6) else {
            return false;
        };
        let control = self.register(csr::RCTL);
        if control & rctl::VFE != 0 && !self.takes_vlan(frame) {
            return false;
        }
        if self
            .addresses
            .iter()
            .flatten()
            .any(|one| one == destination)
        {
            return true;
        }
        if destination == BROADCAST && control & rctl::BAM != 0 {
            return true;
        }
        if destination[0] & 1 == 0 {
            return control & rctl::UPE != 0;
        }
        control & rctl::MPE != 0 || self.is_in_table(destination, control)
    }

    fn is_in_table(&self, destination: &[u8], control: u32) -> bool {
        let offset = OFFSETS[(control >> rctl::MO_SHIFT & 3) as usize];
        let index = u32::from(destination[5]) << 8 | u32::from(destination[4]);
        let index = index >> offset & 0xfff;
        let word = self.register(csr::MTA + u64::from(index >> 5) * 4);
        word >> (index & 31) & 1 != 0
    }

    fn takes_vlan(&self, frame: &[u8]) -> bool {
        let Some(tag) = self.tag_of(frame) else {
            return true;
        };
        let word = self.register(csr::VFTA + u64::from(tag >> 5 & 0x7f) * 4);
        word >> (tag & 31) & 1 != 0
    }

    /// The control information of a frame's VLAN tag, if its type is that in VET.
    pub fn tag_of(&self, frame: &[u8]) -> Option<u16> {
        let tagged = frame.len() >= offload::ADDRESSES_BYTES + 4
            && u32::from(offload::word(frame, offload::ADDRESSES_BYTES)) == self.register(csr::VET);
        tagged.then(|| offload::word(frame, offload::ADDRESSES_BYTES + 2))
    }

    /// The queue of a frame, and its hash.
    pub fn spread(&self, frame: &[u8]) -> Spread {
        let control = self.register(csr::MRQC);
        if control & mrqc::ENABLE != mrqc::TWO_QUEUES {
            return Spread::default();
        }
        let Some(ip) = offload::find_ip(frame) else {
            return Spread::default();
        };
        let addresses = if ip.v6 {
            &frame[ip.at + 8..ip.at + 40]
        } else {
            &frame[ip.at + 12..ip.at + 20]
        };
        let ports = (ip.protocol == TCP && !ip.fragment && ip.end >= ip.payload + 4)
            .then(|| &frame[ip.payload..ip.payload + 4]);
        // By preference: the type, its bit in MRQC, and what it needs.
        let (with_ports, without) = if ip.v6 {
            ((3, mrqc::TCP_IPV6), (5, mrqc::IPV6))
        } else {
            ((1, mrqc::TCP_IPV4), (2, mrqc::IPV4))
        };
        let (kind, input) = match ports {
            Some(ports) if control & with_ports.1 != 0 => {
                (with_ports.0, [addresses, ports].concat())
            }
            _ if control & without.1 != 0 => (without.0, addresses.to_vec()),
            _ => return Spread::default(),
        };
        let key: Vec<u8> = (0..KEY_BYTES / 4)
            .flat_map(|n| self.register(csr::RSSRK + 4 * n).to_le_bytes())
            .collect();
        let hash = toeplitz(&key, &input);
        let entry = hash % RETA_ENTRIES;
        let word = self.register(csr::RETA + u64::from(entry & !3));
        Spread {
            hash,
            kind,
            queue: (word >> (8 * (entry & 3)) >> 7 & 1) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_published_examples() {
        // "Verifying the RSS Hash Calculation", Microsoft: 66.9.149.187:2794 to 161.142.100.80:1766.
        let key = [
            0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
            0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
            0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
        ];
        let input = [66, 9, 149, 187, 161, 142, 100, 80, 0x0a, 0xea, 0x06, 0xe6];
        assert_eq!(toeplitz(&key, &input[..8]), 0x323e_8fc2);
        assert_eq!(toeplitz(&key, &input), 0x51cc_c178);
    }
}
