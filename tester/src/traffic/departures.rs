// SPDX-License-Identifier: GPL-2.0-or-later
//! The departure time of each frame of a stream, in a compressed list.
//!
//! The times are needed only for lost frames and only after the trial, so the list is written and read in order. For each frame it
//! holds the change of the gap to the frame before, as a variable-length integer. Constant arrivals take one byte a frame, Poisson
//! arrivals two or three. Eight bytes a frame would be 71 MB for each minute of minimum-size frames at 100 Mbit/s.

/// The list.
#[derive(Clone, Debug, Default)]
pub struct Departures {
    bytes: Vec<u8>,
    last: Step,
}

#[derive(Clone, Copy, Debug, Default)]
struct Step {
    at_ns: u64,
    distance_ns: u64,
}

impl Departures {
    /// Adds the next frame, which departed at `at_ns`. Times must not decrease.
    pub fn push(&mut self, at_ns: u64) {
        let distance_ns = at_ns.wrapping_sub(self.last.at_ns);
        let change = distance_ns.wrapping_sub(self.last.distance_ns) as i64;
        let mut rest = ((change << 1) ^ (change >> 63)) as u64; // zigzag: small numbers of either sign become small
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
        self.last = Step { at_ns, distance_ns };
    }

    /// The departures in ns, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let mut bytes = self.bytes.iter();
        let mut last = Step::default();
        std::iter::from_fn(move || {
            let mut coded = 0;
            for shift in (0..64).step_by(7) {
                let byte = *bytes.next()?;
                coded |= u64::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
            }
            let change = (coded >> 1) ^ (coded & 1).wrapping_neg();
            last.distance_ns = last.distance_ns.wrapping_add(change);
            last.at_ns = last.at_ns.wrapping_add(last.distance_ns);
            Some(last.at_ns)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        let all = [
            0,
            0,
            1,
            1_000,
            1_006,
            50_000,
            u64::MAX >> 1,
            u64::MAX - 1,
            u64::MAX,
            u64::MAX,
        ];
        let mut departures = Departures::default();
        for at_ns in all {
            departures.push(at_ns);
        }
        assert_eq!(departures.iter().collect::<Vec<_>>(), all);
        assert_eq!(Departures::default().iter().next(), None);
    }

    #[test]
    fn constant_arrivals_take_a_byte_a_frame() {
        let mut departures = Departures::default();
        for k in 0..1_000_000_u64 {
            departures.push(5_000_000_000 + k * 1_000_000 / 149);
        }
        assert!(
            departures.bytes.len() < 1_000_020,
            "{}",
            departures.bytes.len()
        );
        assert_eq!(
            departures.iter().last(),
            Some(5_000_000_000 + 999_999 * 1_000_000 / 149)
        );
    }
}
