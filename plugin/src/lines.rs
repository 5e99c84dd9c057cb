// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's side of the [profile of lines](irqlab_tester::profile::lines): told by the [memory model](super::caches) of every line that is used, and
//! by the [profiler](super::instrument) of the function that uses it.
//!
//! When the window closes, the pages that were used are copied, so that the lab can find out afterwards what they were.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::{caches, machine};
use irqlab_tester::memory_model::{Used, Write};
use irqlab_tester::profile::lines::{Lines, Result as Found, User};
use irqlab_tester::profile::map::Map;
use irqlab_tester::refusal::Refusal;

const PAGE_BYTES: u64 = 4096;
/// Most bytes that are copied besides, or read at once.
const MAX_BYTES: u64 = 64 << 20;
/// What addresses of code and data in the model lack.
const ADDRESS_BITS: u32 = 48;

struct State {
    lines: Lines,
    /// What is copied besides: addresses and bytes.
    keep: Vec<(u64, u64)>,
    /// The copied pages.
    kept: HashMap<u64, Vec<u8>>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
/// Lines are counted at present. Looked at first, since most machines never count any.
static COUNTING: AtomicBool = AtomicBool::new(false);
static INTERVAL: AtomicU32 = AtomicU32::new(0);
static USER: AtomicU32 = AtomicU32::new(0);

fn with<T>(work: impl FnOnce(&mut State) -> T) -> Option<T> {
    let mut guard = STATE.lock().unwrap_or_else(|e| e.into_inner());
    guard.as_mut().map(work)
}

/// Profiles the lines of every window from now on. `keep`: memory, by virtual address and bytes, to be copied when it closes.
pub fn arm(keep: &[(u64, u64)]) -> Result<(), Refusal> {
    let (fetch_shift, data_shift, levels) = caches::shape().ok_or_else(|| {
        Refusal::unsupported(
            "lines: this QEMU was started without the tester's arguments l1i, l1d and ram",
        )
    })?;
    check(keep)?;
    *STATE.lock().unwrap_or_else(|e| e.into_inner()) = Some(State {
        lines: Lines::new(fetch_shift, data_shift, levels),
        keep: keep.to_vec(),
        kept: HashMap::new(),
    });
    Ok(())
}

/// The function that is being executed.
pub fn enters(user: User) {
    USER.store(user.0, Ordering::Relaxed);
}

/// The device under test has sent a frame.
pub fn frame_sent() {
    INTERVAL.fetch_add(1, Ordering::Relaxed);
}

/// A window opens or closes.
pub fn window(open: bool) {
    with(|state| {
        state.lines.window(open, INTERVAL.load(Ordering::Relaxed));
        COUNTING.store(open, Ordering::Relaxed);
        if !open {
            state.copy();
        }
    });
}

/// Whether lines are counted at present.
#[inline]
pub fn counting() -> bool {
    COUNTING.load(Ordering::Relaxed)
}

/// An address with what the model has left out: the sign, extended.
fn whole(address: u64) -> u64 {
    ((address << (64 - ADDRESS_BITS)) as i64 >> (64 - ADDRESS_BITS)) as u64
}

/// Instructions of a line are executed, while lines are [counted](counting).
pub fn fetched(line: u64, used: Used) {
    let user = user();
    let interval = INTERVAL.load(Ordering::Relaxed);
    with(|state| {
        state.lines.fetched(user, whole(line), used, interval);
    });
}

/// Bytes at a virtual address were read or written, while lines are [counted](counting).
pub fn accessed(address: u64, write: bool, used: Used) {
    let user = user();
    let interval = INTERVAL.load(Ordering::Relaxed);
    with(|state| state.lines.accessed(user, address, write, used, interval));
}

/// The function that is being executed.
pub fn user() -> User {
    User(USER.load(Ordering::Relaxed))
}

/// A line of the kernel's data was lost to another processor's write, and is used again, while lines are [counted](counting).
pub fn bounced(address: u64, lost: Write) {
    let lost = Write {
        address: whole(lost.address),
        ..lost
    };
    with(|state| state.lines.bounced(user(), whole(address), lost));
}

/// What was counted; None if it was not asked for.
pub fn result(map: &Map) -> Option<Found> {
    with(|state| state.lines.result(map))
}

/// The DUT's memory at virtual addresses, in base64: as it was when the window closed if it was copied, else as it is. None: not mapped.
pub fn read(ranges: &[(u64, u64)]) -> Result<Vec<Option<String>>, Refusal> {
    check(ranges)?;
    let mut guard = STATE.lock().unwrap_or_else(|e| e.into_inner());
    let empty = HashMap::new();
    let kept = guard.as_mut().map_or(&empty, |state| &state.kept);
    let encoded =
        |range: &(u64, u64)| bytes(kept, range.0, range.1).map(|b| BASE64_STANDARD.encode(b));
    Ok(ranges.iter().map(encoded).collect())
}

impl State {
    fn copy(&mut self) {
        let mut pages = self.lines.pages();
        for (address, length) in &self.keep {
            pages.extend(pages_of(*address, *length));
        }
        let copied = |page: u64| Some((page, machine::read(page, PAGE_BYTES as usize)?));
        self.kept = pages.into_iter().filter_map(copied).collect();
    }
}

fn check(ranges: &[(u64, u64)]) -> Result<(), String> {
    let mut sum = 0_u64;
    for (address, bytes) in ranges {
        sum = sum.saturating_add(*bytes);
        if address.checked_add(*bytes).is_none() || sum > MAX_BYTES {
            return Err(format!(
                "memory: {bytes} bytes at {address:#x}: allowed are {MAX_BYTES} in all"
            ));
        }
    }
    Ok(())
}

fn pages_of(address: u64, length: u64) -> impl Iterator<Item = u64> {
    let first = address / PAGE_BYTES * PAGE_BYTES;
    (first..address + length).step_by(PAGE_BYTES as usize)
}

fn bytes(kept: &HashMap<u64, Vec<u8>>, address: u64, length: u64) -> Option<Vec<u8>> {
    let mut found = Vec::with_capacity(length as usize);
    for page in pages_of(address, length) {
        let from = address.max(page);
        let to = (address + length).min(page.saturating_add(PAGE_BYTES));
        match kept.get(&page) {
            Some(copy) => {
                found.extend_from_slice(&copy[(from - page) as usize..(to - page) as usize]);
            }
            None => found.extend(machine::read(from, (to - from) as usize)?),
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_from_the_copied_pages() {
        let pages = [(0x1000, vec![1; 4096]), (0x2000, vec![2; 4096])];
        let kept = HashMap::from(pages);
        assert_eq!(bytes(&kept, 0x1ffe, 4), Some(vec![1, 1, 2, 2]));
        assert_eq!(bytes(&kept, 0x1000, 0), Some(vec![]));
    }

    #[test]
    fn too_much_is_refused() {
        assert!(check(&[(0, 1), (4096, 8192)]).is_ok());
        for bad in [(u64::MAX, 2), (0, MAX_BYTES + 1)] {
            assert!(check(&[bad]).is_err_and(|why| why.contains("allowed are")));
        }
    }
}
