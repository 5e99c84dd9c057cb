// SPDX-License-Identifier: GPL-2.0-or-later
//! How many instructions a virtual processor may execute until QEMU takes it off.
//!
//! With -icount, `icount_prepare_for_run` (accel/tcg/tcg-accel-ops-icount.c) gives a processor a budget. What is left of it is in two
//! parts: a 16-bit number that translated code counts down, block by block (`icount_decr.u16.low`), and the rest (`icount_extra`).
//! `icount_budget` less what is left was executed; `icount_update` books that, and lowers the budget by it. So after `icount_update`
//! the budget is what is left, and where the three are in a processor's object is found by that. All processors' objects are alike.

use std::ffi::c_uint;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::api::api;
use super::memory::read_bytes;

/// How much of the processor's object is searched. The object is larger.
const OBJECT_BYTES: usize = 32 << 10;
/// How many blocks must agree.
const WITNESSES: u32 = 64;
/// What translated code counts down.
const MAX_LOW: i64 = 0xffff;
/// Where a processor's budget is not known.
const UNKNOWN: usize = 0;

/// Offsets in a processor's object; `EXTRA` follows the budget.
static BUDGET: AtomicUsize = AtomicUsize::new(UNKNOWN);
static LOW: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// Where a budget may be: offsets of the budget and the low part, and the low part when it was last looked at.
type Candidate = (usize, usize, u16);

#[derive(Default)]
struct Search {
    /// What has been right so far; empty: nothing, so all are candidates.
    candidates: Vec<Candidate>,
    witnesses: u32,
}

static SEARCH: Mutex<Option<Search>> = Mutex::new(None);

/// A processor's budget.
pub struct Budget {
    budget: *mut i64,
    extra: *mut i64,
    low: *mut u16,
}

impl Budget {
    /// The budget of a processor; None: it is not known yet where it is.
    ///
    /// # Safety
    /// Only at the beginning of a block of that processor, in its own thread.
    pub unsafe fn of(processor: c_uint) -> Option<Self> {
        // SAFETY: it executes, so it exists.
        let object = unsafe { (api().qemu_get_cpu)(processor as i32) };
        let at = LOW.load(Ordering::Relaxed);
        if at == UNKNOWN {
            let mut search = SEARCH.lock().unwrap_or_else(|e| e.into_inner());
            if let Some(update) = api().icount_update {
                // SAFETY: the processor's own thread.
                unsafe { update(object) };
                search.get_or_insert_default().look(object as usize);
            }
            return None;
        }
        let budget = BUDGET.load(Ordering::Relaxed);
        // SAFETY: the offsets were found in an object of this kind.
        unsafe {
            let bytes = object.cast::<u8>();
            Some(Budget {
                budget: bytes.add(budget).cast(),
                extra: bytes.add(budget + 8).cast(),
                low: bytes.add(at).cast(),
            })
        }
    }

    /// How many instructions the processor may execute after this block.
    pub fn left(&self) -> i64 {
        // SAFETY: aligned fields of an object that QEMU never frees; only the processor's own thread writes to them.
        unsafe { self.extra.read_volatile() + i64::from(self.low.read_volatile()) }
    }

    /// Has the processor execute so many instructions after this block. `undone`: so many of this block's are not executed after all.
    pub fn set(&mut self, left: i64, undone: i64) {
        let low = left.min(MAX_LOW);
        let fewer = self.left() + undone - left;
        // SAFETY: as above.
        unsafe {
            self.budget
                .write_volatile(self.budget.read_volatile() - fewer);
            self.low.write_volatile(low as u16);
            self.extra.write_volatile(left - low);
        }
    }
}

impl Search {
    /// A processor's budget was just updated, at the beginning of a block. Each block lowers the low part.
    fn look(&mut self, object: usize) {
        let Some(bytes) = read_bytes(object, OBJECT_BYTES) else {
            return;
        };
        let long = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            i64::from_le_bytes(word)
        };
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        // A budget that fits into the low part looks like many other numbers.
        let may_be = |budget: usize| {
            let (all, extra) = (long(budget), long(budget + 8));
            (extra > 0 && extra < all && all - extra <= MAX_LOW).then_some(all - extra)
        };
        let fits = |budget: usize, low: usize| {
            may_be(budget).is_some_and(|left| left == i64::from(short(low)))
        };
        if self.candidates.is_empty() {
            self.witnesses = 0;
            let words = (0..OBJECT_BYTES - 16).step_by(8);
            let budgets = words.filter(|budget| may_be(*budget).is_some());
            let lows = |budget| {
                (0..OBJECT_BYTES)
                    .step_by(4)
                    .map(move |low| (budget, low, short(low)))
            };
            let fitting = |(budget, low, _): &Candidate| fits(*budget, *low);
            self.candidates = budgets.flat_map(lows).filter(fitting).collect();
            return;
        }
        let true_one = self.candidates.iter().filter(|c| may_be(c.0).is_some());
        if true_one.count() == 0 {
            return;
        }
        self.candidates
            .retain(|(budget, low, last)| fits(*budget, *low) && short(*low) != *last);
        for (_, low, last) in &mut self.candidates {
            *last = short(*low);
        }
        self.witnesses += 1;
        if let (true, [(budget, low, _)]) = (self.witnesses >= WITNESSES, &self.candidates[..]) {
            BUDGET.store(*budget, Ordering::Relaxed);
            LOW.store(*low, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A processor's object with a budget, and numbers that look like one for a while.
    fn object(low: u16, extra: i64) -> Vec<u8> {
        let mut bytes = vec![0; OBJECT_BYTES];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(800, &(extra + i64::from(low)).to_le_bytes());
        put(808, &extra.to_le_bytes());
        put(9_004, &low.to_le_bytes());
        put(1_600, &1_100_i64.to_le_bytes());
        put(1_608, &1_000_i64.to_le_bytes());
        put(12_000, &100_u16.to_le_bytes());
        bytes
    }

    #[test]
    fn a_budget_is_found_by_what_is_left_of_it() {
        let mut search = Search::default();
        for n in 0..=WITNESSES {
            assert_eq!(LOW.load(Ordering::Relaxed), UNKNOWN);
            let bytes = object(100 + n as u16, 900_000 - i64::from(n));
            search.look(bytes.as_ptr() as usize);
        }
        assert_eq!(
            search.candidates,
            [(800, 9_004, 100 + WITNESSES as u16)],
            "of an object with two that fit at first"
        );
    }
}
