// SPDX-License-Identifier: GPL-2.0-or-later
//! Fault injection: some of the chip's answers to the host are damaged, to test the host's driver. The same seed gives the same faults.

use super::usb::{Endpoint, Reply};
use super::{Answer, receive};
use crate::faults::{Damage, FaultPlan, Kind};
use crate::rng::{Purpose, below, seeded};
use rand_core::RngCore;
use rand_pcg::Pcg64;

/// The least time from one spurious interrupt status to the next, in ns.
const SPURIOUS_NS: u64 = 1_000_000;
/// Word A: the frame's length.
const RX_LENGTH: u32 = 0x3fff;
/// Frame lengths that a driver may handle wrongly: shorter than the FCS or the command words, or longer than any transfer.
const FRAGMENT_LENGTHS: [u32; 7] = [0, 1, 3, 4, 13, 18, RX_LENGTH];

/// Damages a chip's answers.
#[derive(Clone, Debug)]
pub struct FaultInjector {
    rng: Pcg64,
    permille: u32,
    only: Option<Kind>,
    trailing_fragments: bool,
    damage: Damage,
    /// When the next spurious status is due, in ns; and whether one waits for the host.
    spurious_ns: u64,
    spurious: bool,
}

impl FaultInjector {
    /// For the chip at `port`, from `now_ns` on.
    pub fn new(plan: FaultPlan, port: usize, now_ns: u64) -> Self {
        FaultInjector {
            rng: seeded(plan.seed, Purpose::Damage, port, 0),
            permille: plan.permille,
            only: plan.only,
            trailing_fragments: plan.trailing_fragments,
            damage: Damage::default(),
            spurious_ns: now_ns + SPURIOUS_NS,
            spurious: false,
        }
    }

    /// When [`FaultInjector::advance`] must be called, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        (self.permille > 0 && self.strikes_at(Kind::Statuses)).then_some(self.spurious_ns)
    }

    /// Raises a spurious status if one is due; returns whether it was.
    pub fn advance(&mut self, now_ns: u64) -> bool {
        let due = self.deadline_ns().is_some_and(|at_ns| at_ns <= now_ns);
        if due {
            let steps = 1 + self.pick(2_000 / self.permille as usize);
            self.spurious_ns = now_ns + SPURIOUS_NS * steps as u64;
            self.spurious = true;
        }
        due
    }

    /// How many answers were damaged so far.
    pub fn damage(&self) -> Damage {
        self.damage
    }

    fn strikes(&mut self, kind: Kind) -> bool {
        self.strikes_at(kind) && below(self.rng.next_u64(), 1_000) < u64::from(self.permille)
    }

    fn strikes_at(&self, kind: Kind) -> bool {
        self.only.is_none_or(|only| only == kind)
    }

    fn pick(&mut self, count: usize) -> usize {
        below(self.rng.next_u64(), count as u64) as usize
    }

    /// Damages bytes: removes, adds, shifts or changes some.
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

    /// A bulk IN transfer, perhaps damaged; Stall: the endpoint must be halted.
    pub fn transfer(&mut self, bytes: Vec<u8>, request: usize) -> Answer<Vec<u8>> {
        let correct = Answer::Ack(bytes.clone());
        let answer = if self.strikes(Kind::Transfers) {
            self.damaged_transfer(bytes, request)
        } else {
            correct.clone()
        };
        self.damage.transfers += u64::from(answer != correct);
        answer
    }

    fn damaged_transfer(&mut self, mut bytes: Vec<u8>, request: usize) -> Answer<Vec<u8>> {
        // Halts and babble (more bytes than the host has room for) are rare, since the host takes long to recover from them.
        match self.pick(40) {
            0 => return Answer::Stall,
            1 => bytes.resize(request + 1 + self.pick(512), 0xbb),
            2..=7 if self.trailing_fragments => self.append_fragment(&mut bytes),
            8..=22 if bytes.len() >= receive::COMMAND_BYTES => {
                // Word A of the first frame: a wrong length, or wrong flags.
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

    /// Adds the beginning of one more frame after the last one, with a length that a driver may handle wrongly and with any flags.
    fn append_fragment(&mut self, bytes: &mut Vec<u8>) {
        let length = FRAGMENT_LENGTHS[self.pick(FRAGMENT_LENGTHS.len())];
        let word = (self.rng.next_u32() & !RX_LENGTH) | length;
        let mut fragment = word.to_le_bytes().to_vec();
        fragment.resize(receive::COMMAND_BYTES + 4, 0);
        fragment.truncate(1 + self.pick(fragment.len()));
        bytes.extend(fragment);
    }

    /// The interrupt status, perhaps damaged or spurious; Stall: the endpoint must be halted.
    pub fn status(&mut self, correct: Answer<Vec<u8>>) -> Answer<Vec<u8>> {
        let strikes = match correct {
            Answer::Ack(_) => self.strikes(Kind::Statuses),
            _ => std::mem::take(&mut self.spurious),
        };
        if !strikes {
            return correct;
        }
        let mut bytes = match &correct {
            Answer::Ack(bytes) => bytes.clone(),
            _ => Vec::new(),
        };
        let answer = match self.pick(24) {
            0 => Answer::Stall,
            1..=6 => {
                self.garble(&mut bytes, 8);
                Answer::Ack(bytes)
            }
            _ => Answer::Ack(self.rng.next_u32().to_le_bytes().to_vec()),
        };
        self.damage.statuses += u64::from(answer != correct);
        answer
    }

    /// A reply to a control request, perhaps damaged; the host has room for `room` bytes.
    pub fn reply(&mut self, reply: Reply, room: usize) -> Reply {
        let Reply::Done(correct) = reply else {
            return reply;
        };
        let mut bytes = correct.clone();
        if self.strikes(Kind::Replies) {
            if self.pick(4) == 0 {
                self.damage.replies += 1;
                return Reply::Stall;
            }
            self.garble(&mut bytes, 8);
            bytes.truncate(room);
        }
        self.damage.replies += u64::from(bytes != correct);
        Reply::Done(bytes)
    }

    /// Whether a transfer to the chip is refused; the endpoint to be halted.
    pub fn refuses(&mut self) -> Option<Endpoint> {
        let refuses = self.strikes(Kind::Refusals) && self.pick(4) == 0;
        self.damage.refusals += u64::from(refuses);
        refuses.then_some(Endpoint::BulkOut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64, permille: u32) -> (Vec<Answer<Vec<u8>>>, Damage) {
        run_only(seed, permille, None)
    }

    fn run_only(seed: u64, permille: u32, only: Option<Kind>) -> (Vec<Answer<Vec<u8>>>, Damage) {
        let plan = FaultPlan {
            seed,
            permille,
            only,
            trailing_fragments: true,
        };
        let mut faults = FaultInjector::new(plan, 0, 0);
        let answers = (0..2_000).map(|n| match n % 2 {
            0 => faults.transfer(vec![7; 76], 16384),
            _ => faults.status(Answer::Ack(vec![1, 2, 3, 4])),
        });
        (answers.collect(), faults.damage())
    }

    #[test]
    fn as_often_as_asked_and_the_same_again() {
        let correct = run(1, 0);
        assert_eq!(correct.1, Damage::default());
        let (answers, damage) = run(1, 100);
        assert!((75..125).contains(&damage.transfers), "{damage:?}");
        let differ = (answers.iter().zip(&correct.0).filter(|(a, b)| a != b)).count();
        assert_eq!(damage.total(), differ as u64);
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

    #[test]
    fn a_reply_the_host_cannot_tell_from_an_correct_one_is_none() {
        let mut faults = FaultInjector::new(
            FaultPlan {
                seed: 1,
                permille: 1_000,
                only: None,
                trailing_fragments: true,
            },
            0,
            0,
        );
        let replies: Vec<_> = (0..400)
            .map(|_| faults.reply(Reply::Done(Vec::new()), 0))
            .collect();
        let stalls = replies
            .iter()
            .filter(|reply| **reply == Reply::Stall)
            .count();
        assert!(stalls > 0);
        assert_eq!(faults.damage().replies, stalls as u64);
    }

    #[test]
    fn one_kind_alone() {
        let (_, damage) = run_only(1, 1_000, Some(Kind::Statuses));
        assert!(damage.statuses > 900);
        assert_eq!(damage.total(), damage.statuses);
    }

    #[test]
    fn a_false_alarm_when_it_is_due() {
        let plan = FaultPlan {
            seed: 1,
            permille: 500,
            only: None,
            trailing_fragments: true,
        };
        let mut faults = FaultInjector::new(plan, 0, 7);
        assert_eq!(faults.status(Answer::Nak), Answer::Nak);
        assert!(!faults.advance(SPURIOUS_NS));
        assert!(faults.advance(SPURIOUS_NS + 7));
        assert_ne!(faults.status(Answer::Nak), Answer::Nak);
        assert_eq!(faults.status(Answer::Nak), Answer::Nak, "once");
        assert!(faults.deadline_ns() > Some(SPURIOUS_NS + 7));
        assert_eq!(faults.damage().statuses, 1);
    }
}
