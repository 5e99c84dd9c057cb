// SPDX-License-Identifier: GPL-2.0-or-later
//! Charges time to the instruction clock while the processor executes: time passes as if it had executed so many more instructions.
//!
//! With -icount, each block of translated code subtracts the number of its instructions from a 16-bit word in the CPU object
//! (`icount_decr.u16.low` of include/hw/core/cpu.h), and the clock is what was subtracted. When too little is left, QEMU runs the timers
//! that are due and fills the word up again. So what is subtracted besides passes as time, and no timer is late. What does not fit, since
//! a timer is due before the stall is over, is owed, and is subtracted afterwards. A processor whose instructions are faster than the
//! clock's has some of them added again.
//!
//! Where the word lies depends on QEMU's version and build. It is found as the word of the first processor that falls by each block's
//! instructions, and then proven: what is subtracted from it must advance the clock by as much.

use super::api::api;
use super::memory::read_bytes;
use super::{clock, release};

/// After so many blocks the word is known.
const ENOUGH_BLOCKS: u32 = 500;
/// With fewer it is not.
const FEWEST_BLOCKS: u32 = 100;
/// How often, of a hundred blocks, the word must have fallen by the block's instructions. It does not where a block was left early, nor
/// where the word was filled up.
const AGREEING: u32 = 85;
/// How often, of a hundred blocks, any other word may have done so.
const OTHERS: u32 = 50;
const PS_PER_NS: u64 = 1_000;
/// What is looked at of a CPU object, in bytes.
const SEARCHED: std::ops::RangeInclusive<usize> = 4096..=4 << 20;

/// Words watched while blocks are executed.
#[derive(Debug, Default)]
struct Votes {
    words: Vec<u16>,
    agreeing: Vec<u32>,
    blocks: u32,
}

impl Votes {
    /// The words as a block of so many instructions begins.
    fn look(&mut self, words: Vec<u16>, instructions: u16) {
        if self.words.len() == words.len() {
            for ((then, now), agreeing) in self.words.iter().zip(&words).zip(&mut self.agreeing) {
                *agreeing += u32::from(then.wrapping_sub(*now) == instructions);
            }
            self.blocks += 1;
        } else {
            self.agreeing = vec![0; words.len()];
        }
        self.words = words;
    }

    /// The index of the word, or why it is not known.
    fn winner(&self) -> Result<usize, String> {
        if self.blocks < FEWEST_BLOCKS {
            return Err(format!("only {} blocks were executed", self.blocks));
        }
        let share = |votes: u32| votes * 100 / self.blocks;
        let ranked = |except: Option<usize>| {
            let others = self.agreeing.iter().copied().enumerate();
            others
                .filter(|(index, _)| Some(*index) != except)
                .max_by_key(|(_, votes)| *votes)
        };
        let (best, votes) = ranked(None).ok_or("the CPU object is empty")?;
        let second = ranked(Some(best)).map_or(0, |(_, votes)| votes);
        if share(votes) < AGREEING || share(second) > OTHERS {
            return Err(format!(
                "in {} blocks, the word that agrees most often did so {votes} times, and the second {second} times",
                self.blocks
            ));
        }
        Ok(best)
    }
}

/// Looks for the word.
#[derive(Debug, Default)]
pub struct Search {
    votes: Votes,
}

impl Search {
    /// A block of so many instructions begins.
    pub fn look(&mut self, instructions: u16) {
        if self.votes.blocks < ENOUGH_BLOCKS {
            let (object, bytes) = cpu_object(0);
            let found = read_bytes(object, bytes).unwrap_or_default();
            let words = found
                .chunks_exact(2)
                .map(|word| u16::from_ne_bytes([word[0], word[1]]));
            self.votes.look(words.collect(), instructions);
        }
    }

    /// The clock of each of so many processors, once enough blocks were executed. An instruction takes 2 to the power of `shift` ns. Only
    /// where the clock is exact: in a device's callback, of the processor `running`.
    pub fn found(
        &self,
        processors: usize,
        running: usize,
        shift: u32,
    ) -> Result<Vec<StallClock>, String> {
        let found = self.votes.winner().and_then(|index| {
            let clocks: Vec<StallClock> = (0..processors)
                .map(|one| StallClock::new((cpu_object(one).0 + 2 * index) as *mut u16, shift))
                .collect();
            let proven = clocks.get(running).map_or(Ok(()), StallClock::prove);
            proven.map(|()| clocks)
        });
        found.map_err(|why| {
            let [major, minor, micro] = release::version(api());
            format!(
                "the memory model cannot charge time in QEMU {major}.{minor}.{micro}: its countdown of instructions was not found \
                 ({why}); use QEMU 7.2, or hardware without a memory model"
            )
        })
    }
}

/// Where QEMU's object of a processor lies, and its size in bytes; no bytes if that is not known.
fn cpu_object(processor: usize) -> (usize, usize) {
    // SAFETY: QEMU's object of a processor that the machine has, which it has allocated.
    unsafe {
        let object = (api().qemu_get_cpu)(processor as i32);
        let bytes = libc::malloc_usable_size(object);
        (
            object as usize,
            if SEARCHED.contains(&bytes) { bytes } else { 0 },
        )
    }
}

/// The clock, and what it is charged.
#[derive(Debug)]
pub struct StallClock {
    word: *mut u16,
    /// An instruction takes 2 to the power of this ns.
    shift: u32,
    owed_ps: i64,
    /// In instructions.
    charged: i64,
}

impl StallClock {
    fn new(word: *mut u16, shift: u32) -> Self {
        StallClock {
            word,
            shift,
            owed_ps: 0,
            charged: 0,
        }
    }

    /// The processor takes so much longer. To be called while it executes.
    #[inline]
    pub fn charge(&mut self, ps: i64) {
        self.owed_ps += ps;
        // This is done for each block, and most owe less than an instruction.
        if self.owed_ps.unsigned_abs() >= PS_PER_NS << self.shift {
            self.pay();
        }
    }

    /// Takes from the countdown what is owed.
    #[inline(never)]
    fn pay(&mut self) {
        let owed = self.owed_ps / (PS_PER_NS << self.shift) as i64;
        // SAFETY: the word was proven to be the countdown, which only the processor's thread changes while it executes.
        let left = unsafe { self.word.read_volatile() };
        let room = i64::from(left) - i64::from(u16::MAX);
        let paid = owed.clamp(room, left.into());
        // SAFETY: as above.
        unsafe { self.word.write_volatile((i64::from(left) - paid) as u16) };
        self.owed_ps -= (paid << self.shift) * PS_PER_NS as i64;
        self.charged += paid;
    }

    /// How many instructions' time was charged so far.
    pub fn charged(&self) -> i64 {
        self.charged
    }

    /// Forgets what is owed and what was charged.
    pub fn reset(&mut self) {
        (self.owed_ps, self.charged) = (0, 0);
    }

    /// Changes the word, looks whether the clock follows, and undoes it.
    fn prove(&self) -> Result<(), String> {
        let before = clock::instructions();
        // SAFETY: the word lies in the processor's object, which was read just now. Nothing but the clock looks at it while the processor
        // accesses a device, or the proof fails; the value is restored at once.
        unsafe {
            let left = self.word.read_volatile();
            for value in [left / 2, 0, left.saturating_add(1_000)] {
                self.word.write_volatile(value);
                let moved = clock::instructions().wrapping_sub(before) as i64;
                self.word.write_volatile(left);
                if moved != i64::from(left) - i64::from(value) || clock::instructions() != before {
                    return Err(format!(
                        "{value} in place of {left} moved the clock by {moved} instructions"
                    ));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Votes over blocks of changing lengths: word 1 counts down, the others do something else.
    fn votes(blocks: u32, honest: impl Fn(u32) -> bool) -> Votes {
        let (mut votes, mut left) = (Votes::default(), 60_000_u16);
        for block in 0..=blocks {
            let instructions = 3 + (block % 7) as u16;
            if honest(block) {
                left = left.wrapping_sub(instructions);
            }
            votes.look(vec![7, left, block as u16, !left], instructions);
        }
        votes
    }

    #[test]
    fn the_word_that_falls_by_each_blocks_instructions_is_found() {
        assert_eq!(votes(300, |_| true).winner(), Ok(1));
        assert_eq!(votes(300, |block| block % 10 != 0).winner(), Ok(1));
    }

    #[test]
    fn a_word_that_agrees_too_seldom_is_not_taken() {
        for (votes, word) in [
            (votes(99, |_| true), "only 99 blocks"),
            (
                votes(300, |block| block % 5 != 0),
                "the word that agrees most",
            ),
            (votes(300, |_| false), "the word that agrees most"),
        ] {
            let why = votes.winner().err().unwrap_or_default();
            assert!(why.contains(word), "{why}");
        }
    }

    #[test]
    fn two_words_that_agree_are_one_too_many() {
        let (mut votes, mut left) = (Votes::default(), 60_000_u16);
        for _ in 0..200 {
            left -= 5;
            votes.look(vec![left, left], 5);
        }
        assert!(votes.winner().is_err_and(|why| why.contains("second")));
    }

    #[test]
    fn what_does_not_fit_is_owed() {
        let mut word = 10_u16;
        let mut clock = StallClock::new(&raw mut word, 2);
        clock.charge(3_999);
        assert_eq!((word, clock.charged()), (10, 0));
        clock.charge(1);
        assert_eq!((word, clock.charged()), (9, 1));
        clock.charge(50_000);
        assert_eq!((word, clock.charged(), clock.owed_ps), (0, 10, 14_000));
        word = 100;
        clock.charge(0);
        assert_eq!((word, clock.charged(), clock.owed_ps), (97, 13, 2_000));
        clock.reset();
        assert_eq!((clock.charged(), clock.owed_ps), (0, 0));
    }

    #[test]
    fn what_is_faster_than_the_clock_is_given_back() {
        let mut word = 100_u16;
        let mut clock = StallClock::new(&raw mut word, 0);
        clock.charge(-999);
        assert_eq!((word, clock.charged()), (100, 0));
        clock.charge(-4_501);
        assert_eq!((word, clock.charged(), clock.owed_ps), (105, -5, -500));
        clock.charge(2_500);
        assert_eq!((word, clock.charged(), clock.owed_ps), (103, -3, 0));
        word = u16::MAX - 1;
        clock.charge(-3_000);
        assert_eq!(
            (word, clock.charged(), clock.owed_ps),
            (u16::MAX, -4, -2_000)
        );
    }
}
