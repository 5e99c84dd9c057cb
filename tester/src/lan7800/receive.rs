// SPDX-License-Identifier: GPL-2.0-or-later
//! The receive filtering engine: which frames the chip accepts, and what it reports of them to the host in the receive command
//! words A, B and C.

use super::registers::*;
use crate::offload::{ADDRESSES_BYTES, TCP, UDP, find_ip, fold, sum, word};

/// The VLAN table: a bit for each of 4096 tags.
pub const VLAN_WORDS: usize = 128;
/// The address hash after it: a bit for each of 512 values.
pub const HASH_WORDS: usize = 16;
/// Words A, B and C.
pub const COMMAND_BYTES: usize = 10;

const RX_ICE: u32 = 1 << 31;
const RX_TCE: u32 = 1 << 30;
const RX_IPV: u32 = 1 << 29;
const RX_PID_TCP: u32 = 1 << 27;
const RX_PID_UDP: u32 = 2 << 27;
const RX_PID_IP: u32 = 3 << 27;
const RX_PFF: u32 = 1 << 26;
const RX_BAM: u32 = 1 << 25;
const RX_MAM: u32 = 1 << 24;
const RX_FVTG: u32 = 1 << 23;
const RX_ICSM: u32 = 1 << 14;

/// A destination's position in the hash.
pub fn hash(address: &[u8]) -> usize {
    ((!crc32fast::hash(address)).reverse_bits() >> 23) as usize
}

/// Command word A's flags for a frame (without FCS); None if it does not pass the address and VLAN filters.
pub fn filter(registers: &Registers, tables: &[u32], frame: &[u8]) -> Option<u32> {
    let destination = frame.get(..6)?;
    let on = |bit| registers.has(RFE_CTL, bit);
    let hashed = || {
        let place = hash(destination);
        (tables[VLAN_WORDS + place / 32] >> (place % 32)) & 1 != 0
    };
    let perfect = on(RFE_CTL_DA_PERFECT) && is_listed(registers, destination);
    let (kind, passes) = if destination == [0xff; 6] {
        (RX_BAM, on(RFE_CTL_BCAST_EN))
    } else if destination[0] & 1 != 0 {
        let passes = on(RFE_CTL_MCAST_EN) || perfect || (on(RFE_CTL_MCAST_HASH) && hashed());
        (RX_MAM, passes)
    } else {
        let passes = on(RFE_CTL_UCAST_EN) || perfect || (on(RFE_CTL_DA_HASH) && hashed());
        (0, passes)
    };
    let tagged = is_tagged(registers, frame);
    let passes = passes
        && if tagged {
            let tag = usize::from(word(frame, ADDRESSES_BYTES + 2) & 0xfff);
            !on(RFE_CTL_VLAN_FILTER) || (tables[tag / 32] >> (tag % 32)) & 1 != 0
        } else {
            !on(RFE_CTL_DISCARD_UNTAGGED)
        };
    let perfect = if perfect { RX_PFF } else { 0 };
    let tag = if tagged { RX_FVTG } else { 0 };
    passes.then_some(kind | perfect | tag)
}

fn is_tagged(registers: &Registers, frame: &[u8]) -> bool {
    u32::from(word(frame, ADDRESSES_BYTES)) == registers.get(VLAN_TYPE) && frame.len() >= 18
}

/// Whether the address is in the perfect filter.
fn is_listed(registers: &Registers, address: &[u8]) -> bool {
    let low = u32::from_le_bytes([address[0], address[1], address[2], address[3]]);
    let high = u32::from_le_bytes([address[4], address[5], 0, 0]);
    (0..MAF_COUNT).any(|n| {
        let kept = registers.get(MAF_BASE + 8 * n);
        kept & (MAF_HI_VALID | MAF_HI_TYPE_SRC) == MAF_HI_VALID
            && kept & 0xffff == high
            && registers.get(MAF_BASE + 8 * n + 4) == low
    })
}

/// A frame (without FCS) that passed the filter with `flags`, as stored in the FIFO: command words, frame, FCS, and padding
/// to a multiple of 4.
pub fn format(registers: &Registers, flags: u32, frame: &[u8]) -> Vec<u8> {
    let on = |bit| registers.has(RFE_CTL, bit);
    let mut flags = flags;
    let mut tag = 0;
    let mut kept = frame.to_vec();
    if flags & RX_FVTG != 0 {
        tag = word(frame, ADDRESSES_BYTES + 2);
        if on(RFE_CTL_VLAN_STRIP) {
            kept.drain(ADDRESSES_BYTES..ADDRESSES_BYTES + 4);
        }
    }
    let mut checksum = 0;
    match find_ip(&kept) {
        Some(ip) if on(RFE_CTL_IP_COE) || on(RFE_CTL_TCPUDP_COE) => {
            flags |= if ip.v6 { RX_IPV } else { 0 };
            flags |= match ip.protocol {
                TCP => RX_PID_TCP,
                UDP => RX_PID_UDP,
                _ => RX_PID_IP,
            };
            if on(RFE_CTL_IP_COE) && !ip.header_is_right(&kept) {
                flags |= RX_ICE;
            }
            if on(RFE_CTL_TCPUDP_COE) && !ip.payload_is_right(&kept) {
                flags |= RX_TCE;
            }
            checksum = fold(sum(&kept[ADDRESSES_BYTES + 2..]));
        }
        _ => flags |= RX_ICSM,
    }
    if !registers.has(MAC_RX, MAC_RX_FCS_STRIP) {
        let fcs = crc32fast::hash(&kept);
        kept.extend(fcs.to_le_bytes());
    }
    let mut whole = Vec::with_capacity(COMMAND_BYTES + kept.len() + 3);
    whole.extend((flags | kept.len() as u32).to_le_bytes());
    whole.extend(((u32::from(checksum) << 16) | u32::from(tag)).to_le_bytes());
    whole.extend([0, 0]);
    whole.extend(&kept);
    whole.resize(whole.len().next_multiple_of(4), 0);
    whole
}

/// The bits of WUCSR that a frame sets, if the wake-up logic is set up to wake the host for it.
pub fn wakes(registers: &Registers, flags: u32, frame: &[u8]) -> u32 {
    let on = |bit| registers.has(WUCSR, bit);
    let mut found = 0;
    if on(WUCSR_RFE_WAKE_EN) {
        found |= WUCSR_RFE_WAKE_FR;
    }
    if on(WUCSR_PFDA_EN) && flags & RX_PFF != 0 {
        found |= WUCSR_PFDA_FR;
    }
    if on(WUCSR_BCST_EN) && flags & RX_BAM != 0 {
        found |= WUCSR_BCST_FR;
    }
    if on(WUCSR_MPEN) && is_magic(registers, frame) {
        found |= WUCSR_MPR;
    }
    found
}

/// A magic packet: six 0xff, then our address 16 times.
fn is_magic(registers: &Registers, frame: &[u8]) -> bool {
    let mut address = registers.get(RX_ADDRL).to_le_bytes().to_vec();
    address.extend(&registers.get(RX_ADDRH).to_le_bytes()[..2]);
    let pattern = [vec![0xff; 6], address.repeat(16)].concat();
    let body = frame.get(ADDRESSES_BYTES + 2..).unwrap_or_default();
    body.windows(pattern.len()).any(|window| window == pattern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::tests::ipv4;

    const MAC: [u8; 6] = [0x52, 0x54, 0, 0, 0, 1];

    fn chip() -> (Registers, Vec<u32>) {
        let mut registers = Registers::new(MAC);
        registers.set(MAF_BASE + 4, registers.get(RX_ADDRL));
        registers.set(MAF_BASE, registers.get(RX_ADDRH) | MAF_HI_VALID);
        registers.set(RFE_CTL, RFE_CTL_BCAST_EN | RFE_CTL_DA_PERFECT);
        (registers, vec![0; VLAN_WORDS + HASH_WORDS])
    }

    fn to(destination: [u8; 6]) -> Vec<u8> {
        let mut frame = ipv4(UDP, &[0; 26]);
        frame[..6].copy_from_slice(&destination);
        frame
    }

    fn tagged(tag: u16) -> Vec<u8> {
        let mut frame = to(MAC);
        let tag = [0x81, 0, (tag >> 8) as u8, tag as u8];
        frame.splice(12..12, tag);
        frame
    }

    fn words(bytes: &[u8]) -> (u32, u32) {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        (word(0), word(4))
    }

    #[test]
    fn addresses() {
        let (mut registers, mut tables) = chip();
        let other = [0x52, 0x54, 0, 0, 0, 2];
        let group = [0x01, 0x00, 0x5e, 0, 0, 1];
        assert_eq!(filter(&registers, &tables, &to(MAC)), Some(RX_PFF));
        assert_eq!(filter(&registers, &tables, &to([0xff; 6])), Some(RX_BAM));
        assert_eq!(filter(&registers, &tables, &to(other)), None);
        assert_eq!(filter(&registers, &tables, &to(group)), None);
        registers.raise(RFE_CTL, RFE_CTL_MCAST_HASH);
        let place = hash(&group);
        tables[VLAN_WORDS + place / 32] |= 1 << (place % 32);
        assert_eq!(filter(&registers, &tables, &to(group)), Some(RX_MAM));
        registers.raise(RFE_CTL, RFE_CTL_UCAST_EN);
        assert_eq!(filter(&registers, &tables, &to(other)), Some(0));
        registers.set(RFE_CTL, 0);
        assert_eq!(filter(&registers, &tables, &to([0xff; 6])), None);
    }

    #[test]
    fn the_hash_is_linux_s() {
        // ether_crc(6, 01:00:5e:00:00:01) >> 23 & 0x1ff, computed with the kernel's definition bit by bit.
        let mut crc = u32::MAX;
        for byte in [0x01_u8, 0x00, 0x5e, 0x00, 0x00, 0x01] {
            for bit in 0..8 {
                let odd = (crc ^ u32::from(byte >> bit)) & 1 != 0;
                crc = (crc >> 1) ^ if odd { 0xedb8_8320 } else { 0 };
            }
        }
        let expected = crc.reverse_bits() >> 23;
        assert_eq!(
            hash(&[0x01, 0x00, 0x5e, 0x00, 0x00, 0x01]),
            expected as usize
        );
    }

    #[test]
    fn vlans_are_filtered_and_stripped() {
        let (mut registers, mut tables) = chip();
        registers.raise(RFE_CTL, RFE_CTL_VLAN_FILTER | RFE_CTL_IP_COE);
        assert_eq!(filter(&registers, &tables, &tagged(0x2064)), None);
        tables[100 / 32] |= 1 << (100 % 32);
        let flags = filter(&registers, &tables, &tagged(0x2064)).unwrap();
        assert_eq!(flags, RX_PFF | RX_FVTG);
        let (a, b) = words(&format(&registers, flags, &tagged(0x2064)));
        assert_eq!((a & 0x3fff, b & 0xffff), (64 + 4, 0x2064), "left in");
        registers.raise(RFE_CTL, RFE_CTL_VLAN_STRIP);
        let whole = format(&registers, flags, &tagged(0x2064));
        assert_eq!(words(&whole).0 & 0x3fff, 60 + 4);
        assert_eq!(&whole[COMMAND_BYTES..COMMAND_BYTES + 60], &to(MAC)[..]);
        registers.raise(RFE_CTL, RFE_CTL_DISCARD_UNTAGGED);
        assert_eq!(filter(&registers, &tables, &to(MAC)), None);
    }

    #[test]
    fn frames_are_padded_and_carry_their_fcs() {
        let (registers, _) = chip();
        for bytes in 60..70 {
            let mut frame = to(MAC);
            frame.resize(bytes, 7);
            let whole = format(&registers, 0, &frame);
            assert_eq!(whole.len() % 4, 0);
            let size = (words(&whole).0 & 0x3fff) as usize;
            assert_eq!(size, bytes + 4);
            // The driver's own rule (align_count in lan78xx_rx).
            assert_eq!(whole.len(), COMMAND_BYTES + size + (4 - (size + 2) % 4) % 4);
            let fcs = &whole[COMMAND_BYTES + bytes..COMMAND_BYTES + bytes + 4];
            assert_eq!(fcs, crc32fast::hash(&frame).to_le_bytes());
        }
    }

    #[test]
    fn checksums_are_summed_and_judged() {
        let (mut registers, _) = chip();
        let mut frame = ipv4(UDP, &[1; 26]);
        let ip = find_ip(&frame).unwrap();
        ip.fill_header(&mut frame);
        ip.fill_payload(&mut frame);
        assert_ne!(
            words(&format(&registers, 0, &frame)).0 & RX_ICSM,
            0,
            "switched off"
        );
        registers.raise(RFE_CTL, RFE_CTL_IP_COE | RFE_CTL_TCPUDP_COE);
        let (a, b) = words(&format(&registers, 0, &frame));
        assert_eq!(a & (RX_ICE | RX_TCE | RX_ICSM | RX_PID_IP), RX_PID_UDP);
        assert_eq!((b >> 16) as u16, fold(sum(&frame[14..])));
        frame[45] ^= 1;
        assert_ne!(words(&format(&registers, 0, &frame)).0 & RX_TCE, 0);
        frame[15] ^= 1;
        assert_ne!(words(&format(&registers, 0, &frame)).0 & RX_ICE, 0);
    }

    #[test]
    fn magic_packets_wake() {
        let (mut registers, _) = chip();
        let mut frame = to([0xff; 6]);
        frame.extend([[0xff; 6]].concat());
        frame.extend(MAC.repeat(16));
        assert_eq!(wakes(&registers, RX_BAM, &frame), 0);
        registers.set(WUCSR, WUCSR_MPEN);
        assert_eq!(wakes(&registers, RX_BAM, &frame), WUCSR_MPR);
        assert_eq!(wakes(&registers, RX_BAM, &to([0xff; 6])), 0);
    }
}
