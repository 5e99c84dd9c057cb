// SPDX-License-Identifier: GPL-2.0-or-later
//! Which lines of memory each function uses, and how often a cache did not have them.
//!
//! The window is divided into intervals: one ends whenever the device under test has sent a frame. A line that is used several times
//! in an interval counts once, for the function and the address that used it first. So the lines of all functions, or of all addresses,
//! add up to the distinct lines of each interval.

use std::collections::HashMap;

use serde::Serialize;

use super::map::Map;
use super::tree::Context;
use crate::fast_hash::Fast;
use crate::memory_model::{Used, Write};

/// Caches behind each other, at most.
const LEVELS: usize = 3;
/// Before the first interval.
const NEVER: u32 = u32::MAX;

/// A function in a context, as one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct User(pub u32);

const CONTEXT_BITS: u32 = 2;
const CONTEXTS: [Context; 4] = [
    Context::Process,
    Context::Softirq,
    Context::HardIrq,
    Context::Idle,
];

impl User {
    /// Not known.
    pub const NOBODY: User = User(u32::MAX);

    /// The function's number in the [`Map`].
    pub fn new(function: u32, context: Context) -> Self {
        let place = CONTEXTS.iter().position(|other| *other == context);
        User(function << CONTEXT_BITS | place.unwrap_or_default() as u32)
    }

    fn function(self) -> u32 {
        self.0 >> CONTEXT_BITS
    }

    fn context(self) -> Context {
        CONTEXTS[(self.0 & ((1 << CONTEXT_BITS) - 1)) as usize]
    }
}

/// What was counted of one user at one address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    loads: u64,
    stores: u64,
    /// How often it was the first to use its line in an interval.
    first: u64,
    /// How often each cache missed.
    misses: [u64; LEVELS],
}

/// Lines of instructions, or of data.
#[derive(Debug, Default)]
struct Side {
    line_shift: u32,
    /// The interval in which each line was used last.
    lines: HashMap<u64, u32, Fast>,
    /// The same for each user, and in how many intervals the user used it.
    used: HashMap<(u64, User), (u32, u64), Fast>,
    counts: HashMap<(u64, User), Count, Fast>,
}

impl Side {
    fn add(&mut self, user: User, address: u64, write: bool, missed: u8, interval: u32) {
        let line = address >> self.line_shift;
        let last = self.lines.insert(line, interval).unwrap_or(NEVER);
        let used = self.used.entry((line, user)).or_insert((NEVER, 0));
        if used.0 != interval {
            *used = (interval, used.1 + 1);
        }
        let count = self.counts.entry((address, user)).or_default();
        count.loads += u64::from(!write);
        count.stores += u64::from(write);
        count.first += u64::from(last != interval);
        for misses in &mut count.misses[..usize::from(missed).min(LEVELS)] {
            *misses += 1;
        }
    }

    fn clear(&mut self) {
        self.lines.clear();
        self.used.clear();
        self.counts.clear();
    }

    /// How many lines each user used, summed over the intervals.
    fn of_users(&self) -> HashMap<User, u64> {
        let mut sums = HashMap::new();
        for ((_, user), (_, count)) in &self.used {
            *sums.entry(*user).or_default() += count;
        }
        sums
    }

    fn rows(&self, users: &[User], levels: usize) -> Vec<Row> {
        let place: HashMap<User, usize> = users.iter().enumerate().map(|(n, u)| (*u, n)).collect();
        let mut rows: Vec<Row> = self
            .counts
            .iter()
            .map(|((address, user), count)| {
                let misses = count.misses[..levels].to_vec();
                Row(
                    place[user],
                    *address,
                    count.loads,
                    count.stores,
                    count.first,
                    misses,
                )
            })
            .collect();
        rows.sort_by_key(|row| (row.0, row.1));
        rows
    }
}

/// The uses of an address by a user: its place in the list of users, the address, loads (or fetches of the line), stores, how often it was
/// the first to use its line in an interval, and the misses of each cache, the nearest first.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Row(pub usize, pub u64, pub u64, pub u64, pub u64, pub Vec<u64>);

/// An access to a line that another processor had written: the user's place in the list, the address, and the same of the last write to
/// the line (place -1: before the window); how often.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Bounce(pub i64, pub u64, pub i64, pub u64, pub u64);

/// Where a user's function begins (0: user space), its context, and how many lines of instructions and data it used, summed over the
/// intervals.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct UserRow(pub u64, pub Context, pub u64, pub u64);

/// LINES of docs/inside/protocol.md.
#[derive(Debug, Serialize)]
pub struct Result {
    /// How often an interval ended in the window.
    pub intervals: u64,
    /// The length of a line of instructions and of data, in bytes.
    pub line_bytes: [u64; 2],
    /// The functions.
    pub users: Vec<UserRow>,
    /// Lines of instructions.
    pub code: Vec<Row>,
    /// Data, by the address at which an access begins (in each line).
    pub data: Vec<Row>,
    /// Of several processors, the accesses to lines that another one had written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounced: Vec<Bounce>,
}

/// The counters.
#[derive(Debug)]
pub struct Lines {
    code: Side,
    data: Side,
    /// Who missed what, since somebody else had written.
    bounced: HashMap<(User, u64, Write), u64, Fast>,
    /// How many caches an access can miss.
    levels: usize,
    counting: bool,
    opened: u32,
    intervals: u64,
}

impl Lines {
    /// Lines of instructions and of data have 2 to the power of this bytes; `levels`: caches behind each other.
    pub fn new(fetch_shift: u32, data_shift: u32, levels: usize) -> Self {
        let side = |line_shift| Side {
            line_shift,
            ..Side::default()
        };
        Lines {
            code: side(fetch_shift),
            data: side(data_shift),
            bounced: HashMap::default(),
            levels: levels.min(LEVELS),
            counting: false,
            opened: 0,
            intervals: 0,
        }
    }

    /// The window opens, which sets all counts to 0, or closes, in this interval.
    pub fn window(&mut self, open: bool, interval: u32) {
        self.counting = open;
        if open {
            self.code.clear();
            self.data.clear();
            self.bounced.clear();
            self.opened = interval;
        } else {
            self.intervals = interval.wrapping_sub(self.opened).into();
        }
    }

    /// Instructions of a line are executed.
    pub fn fetched(&mut self, user: User, line: u64, used: Used, interval: u32) {
        if let (true, Some(missed)) = (self.counting, used[0]) {
            self.code.add(user, line, false, missed, interval);
        }
    }

    /// Some bytes were read or written.
    pub fn accessed(&mut self, user: User, address: u64, write: bool, used: Used, interval: u32) {
        if !self.counting {
            return;
        }
        let next_line = ((address >> self.data.line_shift) + 1) << self.data.line_shift;
        for (missed, address) in used.into_iter().zip([address, next_line]) {
            if let Some(missed) = missed {
                self.data.add(user, address, write, missed, interval);
            }
        }
    }

    /// Some bytes are read or written that another processor had written.
    pub fn bounced(&mut self, user: User, address: u64, lost: Write) {
        if self.counting {
            *self.bounced.entry((user, address, lost)).or_default() += 1;
        }
    }

    /// The pages of 4 KiB of the kernel's data that were used, ascending.
    pub fn pages(&self) -> Vec<u64> {
        let pages = self
            .data
            .lines
            .keys()
            .map(|line| line << self.data.line_shift >> 12 << 12);
        let mut pages: Vec<u64> = pages
            .filter(|page| *page >= super::map::KERNEL_BASE)
            .collect();
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    fn bounces(&self, users: &[User]) -> Vec<Bounce> {
        let place = |user| users.binary_search(&user).map_or(-1, |place| place as i64);
        let row = |((user, address, lost), count): (&(User, u64, Write), &u64)| {
            let writer = place(User(lost.user));
            Bounce(place(*user), *address, writer, lost.address, *count)
        };
        let mut rows: Vec<Bounce> = self.bounced.iter().map(row).collect();
        rows.sort_unstable();
        rows
    }

    /// What was counted in the window.
    pub fn result(&self, map: &Map) -> Result {
        let (code, data) = (self.code.of_users(), self.data.of_users());
        let mut users: Vec<User> = code.keys().chain(data.keys()).copied().collect();
        let writers = self.bounced.keys().map(|(_, _, lost)| User(lost.user));
        users.extend(writers.filter(|user| *user != User::NOBODY));
        users.sort_unstable();
        users.dedup();
        let lines =
            |of: &HashMap<User, u64>, user: &User| of.get(user).copied().unwrap_or_default();
        let row = |user: &User| {
            UserRow(
                map.start_or_zero(user.function()),
                user.context(),
                lines(&code, user),
                lines(&data, user),
            )
        };
        Result {
            intervals: self.intervals,
            line_bytes: [1 << self.code.line_shift, 1 << self.data.line_shift],
            code: self.code.rows(&users, self.levels),
            data: self.data.rows(&users, self.levels),
            bounced: self.bounces(&users),
            users: users.iter().map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::map::{Addresses, KERNEL_BASE};
    use super::*;

    const F: u64 = KERNEL_BASE + 0x100;
    const G: u64 = KERNEL_BASE + 0x200;
    const DATA: u64 = KERNEL_BASE + 0x10_0000;
    const HIT: Used = [Some(0), None];

    fn map() -> Map {
        let addresses = serde_json::from_str::<Addresses>(&format!(r#"{{"functions":[{F},{G}]}}"#));
        Map::new(&addresses.unwrap_or_else(|why| panic!("{why}")))
            .unwrap_or_else(|why| panic!("{why}"))
    }

    fn users() -> [User; 2] {
        let map = map();
        [
            User::new(map.function(F), Context::Softirq),
            User::new(map.function(G), Context::Process),
        ]
    }

    fn open() -> Lines {
        let mut lines = Lines::new(5, 6, 2);
        lines.window(true, 7);
        lines
    }

    #[test]
    fn a_line_counts_once_an_interval_for_who_used_it_first() {
        let ([f, g], mut lines) = (users(), open());
        lines.accessed(f, DATA, false, [Some(2), None], 7);
        lines.accessed(g, DATA + 8, true, HIT, 7);
        lines.accessed(g, DATA + 8, false, HIT, 8);
        lines.accessed(f, DATA, false, [Some(1), None], 8);
        lines.window(false, 9);
        let result = lines.result(&map());
        assert_eq!(result.intervals, 2);
        assert_eq!(result.line_bytes, [32, 64]);
        assert_eq!(
            result.data,
            [
                Row(0, DATA, 2, 0, 1, vec![2, 1]),
                Row(1, DATA + 8, 1, 1, 1, vec![0, 0])
            ]
        );
        assert_eq!(
            result.users,
            [
                UserRow(F, Context::Softirq, 0, 2),
                UserRow(G, Context::Process, 0, 2)
            ]
        );
        assert_eq!(lines.pages(), [DATA]);
    }

    #[test]
    fn an_access_may_use_two_lines_and_a_device_none() {
        let ([f, _], mut lines) = (users(), open());
        lines.accessed(f, DATA + 60, true, [Some(0), Some(1)], 7);
        lines.accessed(f, DATA + 256, true, [None; 2], 7);
        let rows = lines.result(&map()).data;
        assert_eq!(
            rows,
            [
                Row(0, DATA + 60, 0, 1, 1, vec![0, 0]),
                Row(0, DATA + 64, 0, 1, 1, vec![1, 0])
            ]
        );
    }

    #[test]
    fn instructions_are_counted_apart() {
        let ([f, g], mut lines) = (users(), open());
        lines.fetched(f, F, [Some(1), None], 7);
        lines.fetched(g, G, [None; 2], 7);
        lines.fetched(f, F, HIT, 7);
        let result = lines.result(&map());
        assert_eq!(result.code, [Row(0, F, 2, 0, 1, vec![1, 0])]);
        assert!(result.data.is_empty());
    }

    #[test]
    fn a_line_that_another_processor_wrote_is_told_with_the_writer() {
        let ([f, g], mut lines) = (users(), open());
        let lost = Write {
            address: DATA + 8,
            user: g.0,
        };
        lines.accessed(f, DATA, false, [Some(1), None], 7);
        for _ in 0..2 {
            lines.bounced(f, DATA, lost);
        }
        let result = lines.result(&map());
        assert_eq!(result.users.len(), 2, "the writer, too");
        assert_eq!(result.bounced, [Bounce(0, DATA, 1, DATA + 8, 2)]);
        lines.window(true, 8);
        assert!(lines.result(&map()).bounced.is_empty());
    }

    #[test]
    fn only_the_window_counts() {
        let ([f, _], mut lines) = (users(), open());
        lines.accessed(f, DATA, false, HIT, 7);
        lines.window(false, 8);
        lines.accessed(f, DATA, false, HIT, 8);
        assert_eq!(lines.result(&map()).data[0].2, 1);
        lines.window(true, 9);
        assert!(lines.result(&map()).data.is_empty());
    }

    #[test]
    fn a_user_is_a_function_in_a_context() {
        for context in CONTEXTS {
            let user = User::new(12_345, context);
            assert_eq!((user.function(), user.context()), (12_345, context));
        }
        let root = User::new(u32::MAX, Context::Idle);
        assert_eq!(map().start_or_zero(root.function()), 0);
    }
}
