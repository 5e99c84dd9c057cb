// SPDX-License-Identifier: GPL-2.0-or-later
//! How long a stream's frames are.

use std::sync::Arc;

use rand_core::RngCore;
use rand_pcg::Pcg64;

use crate::rng::below;

/// The sizes of a stream's frames, as indices into the list of its sizes.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// Always the same.
    Fixed,
    /// A mix.
    Mix(Mix),
    /// These, one after another, again and again: the indices, and the place of the next one.
    Recorded(Arc<[u16]>, usize),
}

impl Sizes {
    /// A mix of sizes by weight (RFC 6985): each round of as many frames as the weights' sum holds every size exactly as
    /// often as its weight says, in an order drawn anew for each round. The sum must not be 0.
    pub fn mix(weights: Vec<u32>, rng: Pcg64) -> Self {
        Sizes::Mix(Mix {
            left: vec![0; weights.len()],
            weights,
            total_left: 0,
            rng,
        })
    }

    /// The next frame's size, as an index.
    pub fn next_index(&mut self) -> usize {
        match self {
            Sizes::Fixed => 0,
            Sizes::Mix(mix) => mix.next_index(),
            Sizes::Recorded(indices, next) => {
                let index = indices[*next];
                *next = (*next + 1) % indices.len();
                usize::from(index)
            }
        }
    }
}

/// A mix: an urn without replacement.
#[derive(Clone, Debug)]
pub struct Mix {
    weights: Vec<u32>,
    left: Vec<u32>,
    total_left: u64,
    rng: Pcg64,
}

impl Mix {
    fn next_index(&mut self) -> usize {
        if self.total_left == 0 {
            self.left.copy_from_slice(&self.weights);
            self.total_left = self.weights.iter().map(|weight| u64::from(*weight)).sum();
        }
        let mut drawn = below(self.rng.next_u64(), self.total_left);
        self.total_left -= 1;
        for (index, left) in self.left.iter_mut().enumerate() {
            if drawn < u64::from(*left) {
                *left -= 1;
                return index;
            }
            drawn -= u64::from(*left);
        }
        0 // not reached: drawn < total_left = sum of left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, seeded};

    fn imix(seed: u64) -> Sizes {
        Sizes::mix(vec![7, 4, 1], seeded(seed, Purpose::Sizes, 0, 0))
    }

    #[test]
    fn a_mix_holds_its_weights_in_every_round() {
        let mut sizes = imix(1);
        for _ in 0..1_000 {
            let mut seen = [0; 3];
            for _ in 0..12 {
                seen[sizes.next_index()] += 1;
            }
            assert_eq!(seen, [7, 4, 1]);
        }
    }

    #[test]
    fn the_order_changes_from_round_to_round_and_repeats_for_a_seed() {
        let take = |seed, n| {
            let mut sizes = imix(seed);
            (0..n).map(|_| sizes.next_index()).collect::<Vec<_>>()
        };
        let two = take(1, 24);
        assert_ne!(two[..12], two[12..]);
        assert_eq!(take(1, 1_200), take(1, 1_200));
        assert_ne!(take(1, 1_200), take(2, 1_200));
    }

    #[test]
    fn every_place_in_a_round_sees_every_size() {
        let mut sizes = imix(5);
        let mut large_at = [0; 12];
        for _ in 0..12_000 {
            for count in &mut large_at {
                *count += usize::from(sizes.next_index() == 2);
            }
        }
        // 1,000 each, binomial: standard deviation 30
        assert!(
            large_at.iter().all(|count| (880..1_120).contains(count)),
            "{large_at:?}"
        );
    }

    #[test]
    fn a_size_of_weight_zero_does_not_come() {
        let mut sizes = Sizes::mix(vec![0, u32::MAX], seeded(1, Purpose::Sizes, 0, 0));
        assert!((0..1_000).all(|_| sizes.next_index() == 1));
    }
}
