// SPDX-License-Identifier: GPL-2.0-or-later
//! Ill will: some of what the chip says to the host is damaged, to see what the host's driver makes of it. The same seed damages
//! the same things in the same way.

use rand_core::RngCore;
use rand_pcg::Pcg64;

use super::usb::{Endpoint, Reply};
use super::{Answer, receive};
use crate::rng::{Purpose, below, seeded};

/// What the lab asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Decides what is damaged, and how.
    pub seed: u64,
    /// How many of a thousand answers are damaged.
    pub permille: u32,
}

/// A chip's ill will.
#[derive(Clone, Debug)]
pub struct Hostile {
    rng: Pcg64,
    permille: u32,
    damaged: u64,
}

impl Hostile {
    /// For the chip at `port`.
    pub fn new(plan: Plan, port: usize) -> Self {
        Hostile {
            rng: seeded(plan.seed, Purpose::Damage, port, 0),
            permille: plan.permille,
            damaged: 0,
        }
    }

    /// How much was damaged so far.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    fn strikes(&mut self) -> bool {
        let strikes = below(self.rng.next_u64(), 1_000) < u64::from(self.permille);
        self.damaged += u64::from(strikes);
        strikes
    }

    fn pick(&mut self, count: usize) -> usize {
        below(self.rng.next_u64(), count as u64) as usize
    }

    /// Damages bytes: too few, too many, shifted, or wrong ones.
    fn garble(&mut self, bytes: &mut Vec<u8>, most: usize) {
        match self.pick(6) {
            0 => bytes.truncate(self.pick(bytes.len() + 1)),
            1 => {
                let room = self.pick(most + 1);
                bytes.extend((0..room).map(|n| n as u8));
            }
            2 => {
                let at = self.pick(bytes.len() + 1);
                let extra = vec![0xa5; 1 + self.pick(3)];
                bytes.splice(at..at, extra);
            }
            3 if !bytes.is_empty() => {
                for _ in 0..=self.pick(8) {
                    let at = self.pick(bytes.len());
                    bytes[at] ^= 1 << self.pick(8);
                }
            }
            4 => self.rng.fill_bytes(bytes),
            _ => bytes.clear(),
        }
    }

    /// A bulk IN transfer; Stall: the endpoint is to be halted.
    pub fn transfer(&mut self, mut bytes: Vec<u8>, request: usize) -> Answer<Vec<u8>> {
        if !self.strikes() {
            return Answer::Ack(bytes);
        }
        match self.pick(8) {
            0 => return Answer::Stall,
            // More than the host has room for: babble.
            1 => bytes.resize(request + 1 + self.pick(512), 0xbb),
            2..=4 if bytes.len() >= receive::COMMAND_BYTES => {
                // Word A of the first frame: a length, or flags, that are not so.
                let word = self.rng.next_u32().to_le_bytes();
                let length_alone = self.pick(2) == 0;
                bytes[..2].copy_from_slice(&word[..2]);
                if !length_alone {
                    bytes[2..4].copy_from_slice(&word[2..]);
                }
            }
            _ => self.garble(&mut bytes, 512),
        }
        Answer::Ack(bytes)
    }

    /// The interrupt status; Stall: the endpoint is to be halted.
    pub fn status(&mut self, mut bytes: Vec<u8>) -> Answer<Vec<u8>> {
        if self.strikes() {
            match self.pick(4) {
                0 => return Answer::Stall,
                1 => bytes = self.rng.next_u32().to_le_bytes().to_vec(),
                _ => self.garble(&mut bytes, 8),
            }
        }
        Answer::Ack(bytes)
    }

    /// A reply to a control request.
    pub fn reply(&mut self, reply: Reply) -> Reply {
        match reply {
            Reply::Done(mut bytes) if self.strikes() => {
                if self.pick(4) == 0 {
                    return Reply::Stall;
                }
                self.garble(&mut bytes, 8);
                Reply::Done(bytes)
            }
            reply => reply,
        }
    }

    /// A transfer to the chip is refused for no reason.
    pub fn refuses(&mut self) -> Option<Endpoint> {
        (self.strikes() && self.pick(4) == 0).then_some(Endpoint::BulkOut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64, permille: u32) -> (Vec<Answer<Vec<u8>>>, u64) {
        let mut hostile = Hostile::new(Plan { seed, permille }, 0);
        let answers = (0..2_000).map(|n| match n % 2 {
            0 => hostile.transfer(vec![7; 76], 16384),
            _ => hostile.status(vec![1, 2, 3, 4]),
        });
        (answers.collect(), hostile.damaged())
    }

    #[test]
    fn as_often_as_asked_and_the_same_again() {
        assert_eq!(run(1, 0).1, 0);
        assert_eq!(run(1, 1_000).1, 2_000);
        let (answers, damaged) = run(1, 100);
        assert!((150..250).contains(&damaged), "{damaged}");
        assert_eq!(run(1, 100).0, answers);
        assert_ne!(run(2, 100).0, answers);
    }

    #[test]
    fn every_kind_of_damage_occurs() {
        let (answers, _) = run(1, 1_000);
        let bytes = |answer: &Answer<Vec<u8>>| match answer {
            Answer::Ack(bytes) => bytes.len(),
            _ => usize::MAX,
        };
        for found in [
            |bytes: usize| bytes == 0,
            |bytes| bytes > 0 && bytes < 76,
            |bytes| bytes == 76,
            |bytes| (77..=76 + 512).contains(&bytes),
            |bytes| bytes > 16384 && bytes < usize::MAX,
            |bytes| bytes == usize::MAX,
        ] {
            assert!(answers.iter().step_by(2).any(|answer| found(bytes(answer))));
        }
    }
}
