// SPDX-License-Identifier: GPL-2.0-or-later
//! Which of several processors have a line of data: one that is written, only the one that wrote it.
//!
//! This is what the MESI protocol does (Papamarcos and Patel, 1984), without telling an unmodified exclusive line from a shared one: to
//! write a line that others may have takes a transaction, and they lose it. A processor that has lost a line misses it the next time.

use std::collections::HashMap;

use crate::fast_hash::Fast;

/// No line: an address has 48 bits.
const NONE: u64 = u64::MAX;
/// Lines that a processor is remembered to have alone, by their last bits.
const REMEMBERED: usize = 4096;

/// A write to a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Write {
    pub address: u64,
    /// Whoever wrote, as a number that the caller knows.
    pub user: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// A bit for each processor that may have it.
    sharers: u8,
    /// A bit for each processor that has lost it and not asked for it since.
    lost: u8,
    last: Write,
}

/// The lines of data that processors share.
#[derive(Clone, Debug)]
pub struct Coherence {
    line_shift: u32,
    lines: HashMap<u64, Line, Fast>,
    /// Of each processor.
    alone: Vec<Vec<u64>>,
}

impl Coherence {
    /// No line was used yet. A line has 2 to the power of this bytes.
    pub fn new(processors: usize, line_shift: u32) -> Self {
        Coherence {
            line_shift,
            lines: HashMap::default(),
            alone: vec![vec![NONE; REMEMBERED]; processors],
        }
    }

    /// Whether a processor may write the line of an address without a word.
    #[inline]
    pub fn is_alone(&self, processor: usize, address: u64) -> bool {
        let line = address >> self.line_shift;
        self.alone[processor][line as usize % REMEMBERED] == line
    }

    /// A processor takes a line in, to read it. Some: it had lost it, by this write.
    pub fn read(&mut self, processor: usize, address: u64) -> Option<Write> {
        let number = address >> self.line_shift;
        let line = self.lines.entry(number).or_default();
        line.sharers |= 1 << processor;
        let lost = line.lost & 1 << processor != 0;
        line.lost &= !(1 << processor);
        let last = line.last;
        for alone in &mut self.alone {
            let place = &mut alone[number as usize % REMEMBERED];
            if *place == number {
                *place = NONE;
            }
        }
        lost.then_some(last)
    }

    /// A processor writes. `remove` takes the line away from another one, and says whether that had it. Returns by which write the
    /// processor had lost the line, if it had, and whether others have lost it now.
    pub fn write(
        &mut self,
        processor: usize,
        write: Write,
        mut remove: impl FnMut(usize) -> bool,
    ) -> (Option<Write>, bool) {
        let number = write.address >> self.line_shift;
        let line = self.lines.entry(number).or_default();
        let own = 1 << processor;
        let lost = (line.lost & own != 0).then_some(line.last);
        let mut taken = 0;
        for (other, alone) in self.alone.iter_mut().enumerate() {
            let bit = 1 << other;
            if bit != own && line.sharers & bit != 0 {
                taken |= if remove(other) { bit } else { 0 };
                let place = &mut alone[number as usize % REMEMBERED];
                if *place == number {
                    *place = NONE;
                }
            }
        }
        *line = Line {
            sharers: own,
            lost: line.lost & !own | taken,
            last: write,
        };
        self.alone[processor][number as usize % REMEMBERED] = number;
        (lost, taken != 0)
    }

    /// No processor has the line any longer: a device has written it, and no other processor.
    pub fn forget(&mut self, address: u64) {
        let number = address >> self.line_shift;
        self.lines.remove(&number);
        for alone in &mut self.alone {
            let place = &mut alone[number as usize % REMEMBERED];
            if *place == number {
                *place = NONE;
            }
        }
    }

    /// No processor has any line.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.alone.iter_mut().for_each(|alone| alone.fill(NONE));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    const SHIFT: u32 = 6;

    fn write(address: u64, user: u32) -> Write {
        Write { address, user }
    }

    #[test]
    fn a_written_line_is_lost_by_the_others_once() {
        let mut lines = Coherence::new(3, SHIFT);
        assert_eq!([lines.read(0, 64), lines.read(1, 70)], [None, None]);
        let mut asked = Vec::new();
        let had = lines.write(2, write(72, 5), |other| {
            asked.push(other);
            other == 1 // the first one has evicted it meanwhile
        });
        assert_eq!((had, asked), ((None, true), vec![0, 1]));
        assert!(lines.is_alone(2, 127) && !lines.is_alone(1, 64));
        assert_eq!(lines.read(0, 64), None);
        assert!(!lines.is_alone(2, 64), "it shares the line again");
        assert_eq!(lines.read(1, 64), Some(write(72, 5)));
        assert_eq!(lines.read(1, 64), None);
    }

    #[test]
    fn a_line_goes_to_and_fro_between_two_that_write() {
        let mut lines = Coherence::new(2, SHIFT);
        lines.write(0, write(0, 1), |_| true);
        let second = lines.write(1, write(8, 2), |_| true);
        assert_eq!(second, (None, true));
        let third = lines.write(0, write(0, 1), |_| true);
        assert_eq!(third, (Some(write(8, 2)), true));
        let again = lines.write(0, write(16, 1), |_| true);
        assert_eq!(again, (None, false), "nobody else has it");
    }

    #[test]
    fn what_a_device_writes_nobody_has() {
        let mut lines = Coherence::new(2, SHIFT);
        lines.write(0, write(0, 1), |_| true);
        lines.forget(63);
        assert!(!lines.is_alone(0, 0));
        assert_eq!(lines.write(1, write(0, 1), |_| true), (None, false));
        lines.clear();
        assert!(!lines.is_alone(1, 0));
    }

    proptest! {
        /// Against sets of who has what, with caches that never evict.
        #[test]
        fn who_is_alone_has_the_line_and_nobody_else(
            uses in prop::collection::vec((0..4_usize, 0..6_u64, any::<bool>()), 1..300)
        ) {
            let mut lines = Coherence::new(4, SHIFT);
            let mut have: HashSet<(usize, u64)> = HashSet::new();
            for (processor, line, writes) in uses {
                // Lines that share a place among the remembered ones, too.
                let line = if line < 3 { line } else { line * REMEMBERED as u64 };
                let address = line << SHIFT;
                if writes {
                    lines.write(processor, write(address, 0), |other| have.remove(&(other, line)));
                } else if !have.contains(&(processor, line)) {
                    lines.read(processor, address);
                }
                have.insert((processor, line));
                let who: Vec<usize> = (0..4).filter(|one| have.contains(&(*one, line))).collect();
                prop_assert!(!writes || who == [processor]);
                for one in 0..4 {
                    prop_assert!(!lines.is_alone(one, address) || who == [one]);
                }
                prop_assert!(!writes || lines.is_alone(processor, address));
            }
        }
    }
}
