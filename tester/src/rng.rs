// SPDX-License-Identifier: GPL-2.0-or-later
//! Seeded random numbers, the same on any host.

use rand_pcg::Pcg64;

/// What random numbers are for. Each purpose has a sequence of its own, so that none affects another.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// The gaps of a stream's Poisson arrivals.
    Arrivals,
    /// The frame sizes of a stream's mix.
    Sizes,
    /// The losses of a wire.
    Loss,
    /// Which answers of a NIC get faults.
    Damage,
}

/// The generator for `purpose` of the stream or port `index`; `part` tells a stream's warm-up from its window.
pub fn seeded(seed: u64, purpose: Purpose, index: usize, part: u8) -> Pcg64 {
    let lane = ((index as u64) << 16) | ((purpose as u64) << 8) | u64::from(part);
    // PCG sequences that differ only in their increment are correlated: derive the state from both, too.
    let (high, low) = (mix(seed), mix(mix(seed) ^ lane));
    Pcg64::new(
        (u128::from(high) << 64) | u128::from(low),
        u128::from(mix(low)),
    )
}

/// SplitMix64 (Steele, Lea, Flood 2014): every bit of the input affects every bit of the output.
pub fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A uniform number in (0, 1], from 53 bits, the precision of a double.
pub fn unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// A uniform number in 0..`bound`, by Lemire's multiplication (bias below 2^-32 for bounds below 2^32).
pub fn below(bits: u64, bound: u64) -> u64 {
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::RngCore;

    #[test]
    fn sequences_differ_by_seed_purpose_index_and_part() {
        let first = |seed, purpose, index, part| seeded(seed, purpose, index, part).next_u64();
        let all = [
            first(1, Purpose::Arrivals, 0, 0),
            first(2, Purpose::Arrivals, 0, 0),
            first(1, Purpose::Sizes, 0, 0),
            first(1, Purpose::Arrivals, 1, 0),
            first(1, Purpose::Arrivals, 0, 1),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(!all[..i].contains(a));
        }
        assert_eq!(all[0], first(1, Purpose::Arrivals, 0, 0));
    }

    #[test]
    fn ranges() {
        assert!(unit(0) > 0.0);
        assert_eq!(unit(u64::MAX), 1.0);
        assert_eq!(below(u64::MAX, 10), 9);
        assert_eq!(below(0, 10), 0);
    }
}
