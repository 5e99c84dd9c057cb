// SPDX-License-Identifier: GPL-2.0-or-later
//! Pause frames (IEEE 802.3, annex 31B).

use crate::offload::{ADDRESSES_BYTES, word};

const ADDRESS: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 1];
const TYPE: u16 = 0x8808;
const OPCODE: u16 = 1;
/// The unit of a pause, in bit times.
const QUANTUM_BITS: u64 = 512;
/// Without FCS.
const BYTES: usize = 60;

/// A frame (without FCS) that asks for a pause; 0: that ends one.
pub fn frame(source: [u8; 6], quanta: u16) -> Vec<u8> {
    let mut frame = ADDRESS.to_vec();
    frame.extend(source);
    for word in [TYPE, OPCODE, quanta] {
        frame.extend(word.to_be_bytes());
    }
    frame.resize(BYTES, 0);
    frame
}

/// Whether a frame is one of MAC control to everybody.
pub fn is_control(frame: &[u8]) -> bool {
    frame.starts_with(&ADDRESS) && word(frame, ADDRESSES_BYTES) == TYPE
}

/// How long a frame asks to pause; None: it does not ask.
pub fn quanta(frame: &[u8]) -> Option<u16> {
    let asks = is_control(frame) && word(frame, ADDRESSES_BYTES + 2) == OPCODE;
    asks.then(|| word(frame, ADDRESSES_BYTES + 4))
}

/// How long that is at a rate, in ns.
pub fn ns(quanta: u16, bps: u64) -> u64 {
    (u64::from(quanta) * QUANTUM_BITS * 1_000_000_000).div_ceil(bps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_understood() {
        let asks = frame([2, 0, 0, 0, 0, 1], 0x1234);
        assert_eq!((asks.len(), quanta(&asks)), (60, Some(0x1234)));
        let mut other = asks.clone();
        other[15] = 2;
        assert!(is_control(&other) && quanta(&other).is_none());
        assert!(!is_control(&[0; 60]));
        assert_eq!(ns(2, 100_000_000), 10_240);
        assert_eq!(ns(0xffff, 1_000_000_000), 33_553_920);
    }
}
