// SPDX-License-Identifier: GPL-2.0-or-later
//! A set-associative cache that replaces the least recently used line.

/// Not a line's number: an address has at most 64 bits, a line at least [`Geometry::MIN_LINE_BYTES`].
const EMPTY: u64 = u64::MAX;

/// A cache's size and shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Capacity in bytes.
    pub bytes: u64,
    /// Lines in a set.
    pub ways: usize,
    /// Size of a line in bytes.
    pub line_bytes: u64,
}

impl Geometry {
    /// The shortest lines.
    pub const MIN_LINE_BYTES: u64 = 16;
    /// The longest lines.
    pub const MAX_LINE_BYTES: u64 = 4096;
    /// Most bytes.
    pub const MAX_BYTES: u64 = 1 << 30;

    /// The number of sets. An error if there is no such cache.
    pub fn sets(self) -> Result<u64, String> {
        let lines = Self::MIN_LINE_BYTES..=Self::MAX_LINE_BYTES;
        if !self.line_bytes.is_power_of_two() || !lines.contains(&self.line_bytes) {
            return Err(format!(
                "a line of {} bytes: allowed are powers of two from {} to {}",
                self.line_bytes,
                Self::MIN_LINE_BYTES,
                Self::MAX_LINE_BYTES
            ));
        }
        if self.bytes > Self::MAX_BYTES {
            return Err(format!(
                "{} bytes: allowed are at most {}",
                self.bytes,
                Self::MAX_BYTES
            ));
        }
        let set_bytes = self.line_bytes.checked_mul(self.ways as u64);
        set_bytes
            .filter(|set_bytes| *set_bytes != 0 && self.bytes % set_bytes == 0)
            .map(|set_bytes| self.bytes / set_bytes)
            .filter(|sets| sets.is_power_of_two())
            .ok_or_else(|| {
                format!(
                    "{} bytes in {} ways of {}-byte lines: the number of sets must be a power of two",
                    self.bytes, self.ways, self.line_bytes
                )
            })
    }
}

/// The cache. It holds lines' numbers only, not their data.
#[derive(Clone, Debug)]
pub struct Cache {
    ways: usize,
    line_shift: u32,
    set_mask: u64,
    /// Set by set, each set's lines in order of their last use, the most recent first.
    lines: Vec<u64>,
    /// The first line of each set once more, side by side: most uses are of these.
    recent: Vec<u64>,
    hits: u64,
    misses: u64,
}

impl Cache {
    /// An empty cache. An error if there is no cache of this geometry.
    pub fn new(geometry: Geometry) -> Result<Self, String> {
        let sets = geometry.sets()?;
        Ok(Cache {
            ways: geometry.ways,
            line_shift: geometry.line_bytes.trailing_zeros(),
            set_mask: sets - 1,
            lines: vec![EMPTY; sets as usize * geometry.ways],
            recent: vec![EMPTY; sets as usize],
            hits: 0,
            misses: 0,
        })
    }

    /// An empty cache of entries that are found by number: lines of one byte. None if the number of sets is no power of two.
    pub fn of(entries: usize, ways: usize) -> Option<Self> {
        let sets = entries.checked_div(ways)?;
        (sets * ways == entries && sets.is_power_of_two()).then(|| Cache {
            ways,
            line_shift: 0,
            set_mask: sets as u64 - 1,
            lines: vec![EMPTY; entries],
            recent: vec![EMPTY; sets],
            hits: 0,
            misses: 0,
        })
    }

    /// A line has 2 to the power of this bytes.
    pub fn line_shift(&self) -> u32 {
        self.line_shift
    }

    /// Whether the line of an address is the one of its set that was used last: that it is used again changes nothing.
    #[inline]
    pub fn used_last(&self, address: u64) -> bool {
        let line = address >> self.line_shift;
        self.recent[(line & self.set_mask) as usize] == line
    }

    /// A line that was [used last](Self::used_last) is used again.
    #[inline]
    pub fn hit_again(&mut self) {
        self.hits += 1;
    }

    /// Uses the line of an address if it is in the cache; false if not.
    #[inline]
    pub fn hit(&mut self, address: u64) -> bool {
        let line = address >> self.line_shift;
        if !self.used_last(address) {
            let set = self.set(line);
            let Some(way) = set.iter().position(|present| *present == line) else {
                return false;
            };
            to_front(&mut set[..=way], line);
            self.now_recent(line, line);
        }
        self.hits += 1;
        true
    }

    /// Takes the line of an address in, which is not in the cache, in place of the least recently used one of its set.
    pub fn fill(&mut self, address: u64) {
        let line = address >> self.line_shift;
        to_front(self.set(line), line);
        self.now_recent(line, line);
        self.misses += 1;
    }

    /// Whether the line of an address is in the cache.
    #[inline]
    pub fn has(&self, address: u64) -> bool {
        let line = address >> self.line_shift;
        let first = (line & self.set_mask) as usize * self.ways;
        self.used_last(address) || self.lines[first..first + self.ways].contains(&line)
    }

    /// The line of an address is no longer in the cache. Returns whether it was.
    pub fn remove(&mut self, address: u64) -> bool {
        let line = address >> self.line_shift;
        let set = self.set(line);
        let Some(way) = set.iter().position(|present| *present == line) else {
            return false;
        };
        set[way..].rotate_left(1);
        set[set.len() - 1] = EMPTY;
        let first = set[0];
        self.now_recent(line, first);
        true
    }

    /// Puts the line of an address into the cache for somebody else than the processor: that is no use of it, and no miss.
    pub fn place(&mut self, address: u64) {
        self.remove(address);
        let line = address >> self.line_shift;
        to_front(self.set(line), line);
        self.now_recent(line, line);
    }

    /// Uses the line of an address, and takes it in if it is not in the cache: then false.
    #[inline]
    pub fn access(&mut self, address: u64) -> bool {
        let hit = self.hit(address);
        if !hit {
            self.fill(address);
        }
        hit
    }

    /// How often a line was used.
    pub fn accesses(&self) -> u64 {
        self.hits + self.misses
    }

    /// How often it had to be taken in.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    /// Forgets the lines with such numbers.
    pub fn remove_all(&mut self, such: impl Fn(u64) -> bool) {
        for set in self.lines.chunks_exact_mut(self.ways) {
            set.iter_mut()
                .filter(|line| such(**line))
                .for_each(|line| *line = EMPTY);
            set.sort_by_key(|line| *line == EMPTY); // keeps the others' order
        }
        for (recent, set) in self
            .recent
            .iter_mut()
            .zip(self.lines.chunks_exact(self.ways))
        {
            *recent = set[0];
        }
    }

    /// Forgets all lines; the counters go on.
    pub fn clear(&mut self) {
        self.lines.fill(EMPTY);
        self.recent.fill(EMPTY);
    }

    /// The first line of the set that a line belongs to is another one.
    #[inline]
    fn now_recent(&mut self, line: u64, first: u64) {
        self.recent[(line & self.set_mask) as usize] = first;
    }

    #[inline]
    fn set(&mut self, line: u64) -> &mut [u64] {
        let first = (line & self.set_mask) as usize * self.ways;
        &mut self.lines[first..first + self.ways]
    }
}

/// Moves each line one place back and puts this one in front. The last one is lost. (A loop: sets are short.)
#[inline]
fn to_front(set: &mut [u64], line: u64) {
    let mut moved = line;
    for place in set {
        moved = std::mem::replace(place, moved);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cache(bytes: u64, ways: usize, line_bytes: u64) -> Cache {
        let geometry = Geometry {
            bytes,
            ways,
            line_bytes,
        };
        Cache::new(geometry).unwrap_or_else(|why| panic!("{why}"))
    }

    /// A cache as slow and simple as it gets: when each line was last used.
    struct Naive {
        sets: u64,
        ways: usize,
        line_bytes: u64,
        used: Vec<(u64, usize)>,
    }

    impl Naive {
        fn access(&mut self, address: u64, now: usize) -> bool {
            let line = address / self.line_bytes;
            if let Some(entry) = self.used.iter_mut().find(|entry| entry.0 == line) {
                entry.1 = now;
                return true;
            }
            let sets = self.sets;
            let same = |entry: &&(u64, usize)| entry.0 % sets == line % sets;
            if self.used.iter().filter(same).count() == self.ways {
                let oldest = *self
                    .used
                    .iter()
                    .filter(same)
                    .min_by_key(|e| e.1)
                    .unwrap_or(&(0, 0));
                self.used.retain(|entry| *entry != oldest);
            }
            self.used.push((line, now));
            false
        }
    }

    proptest! {
        #[test]
        fn it_hits_and_misses_like_a_naive_one(
            sets in 0..4_u32, ways in 1..6_usize, addresses in prop::collection::vec(0..2_048_u64, 1..400)
        ) {
            let sets = 1 << sets;
            let mut fast = cache(sets * ways as u64 * 16, ways, 16);
            let mut naive = Naive { sets, ways, line_bytes: 16, used: Vec::new() };
            let mut misses = 0;
            for (now, address) in addresses.iter().enumerate() {
                let hit = naive.access(*address, now);
                misses += u64::from(!hit);
                prop_assert_eq!(fast.access(*address), hit);
            }
            prop_assert_eq!((fast.accesses(), fast.misses()), (addresses.len() as u64, misses));
        }
    }

    #[test]
    fn the_least_recently_used_line_of_a_set_goes() {
        let mut cache = cache(16 * 1024, 4, 32);
        let same_set = |n: u64| n * 4096;
        for n in 0..4 {
            assert!(!cache.access(same_set(n)));
        }
        assert!(cache.access(same_set(0) + 31), "of the same line");
        assert!(!cache.access(same_set(4)), "takes the place of 1");
        assert!(cache.access(same_set(0)));
        assert!(!cache.access(same_set(1)));
        assert_eq!((cache.accesses(), cache.misses()), (8, 6));
    }

    #[test]
    fn other_sets_are_left_alone() {
        let mut cache = cache(16 * 1024, 4, 32);
        cache.access(32);
        for n in 0..100 {
            cache.access(n * 4096);
        }
        assert!(cache.access(32));
    }

    #[test]
    fn a_removed_line_leaves_room_for_another() {
        let mut cache = cache(16 * 1024, 4, 32);
        let same_set = |n: u64| n * 4096;
        for n in 0..4 {
            cache.access(same_set(n));
        }
        cache.remove(same_set(2) + 31);
        cache.remove(same_set(9));
        assert!(!cache.access(same_set(4)));
        assert!([0, 1, 3].iter().all(|n| cache.access(same_set(*n))));
        assert!(!cache.access(same_set(2)));
        assert_eq!((cache.accesses(), cache.misses()), (9, 6));
    }

    #[test]
    fn a_placed_line_is_the_most_recent_and_not_counted() {
        let mut cache = cache(16 * 1024, 2, 32);
        let same_set = |n: u64| n * 8192;
        for n in [0, 1] {
            cache.access(same_set(n));
        }
        cache.place(same_set(0));
        cache.place(same_set(2));
        assert_eq!((cache.accesses(), cache.misses()), (2, 2));
        assert!(cache.access(same_set(2)) && cache.access(same_set(0)));
        assert!(!cache.access(same_set(1)));
    }

    #[test]
    fn a_cleared_cache_is_cold_and_still_counts() {
        let mut cache = cache(1024, 2, 32);
        cache.access(0);
        cache.clear();
        assert!(!cache.access(0));
        assert_eq!((cache.accesses(), cache.misses()), (2, 2));
    }

    #[test]
    fn several_lines_are_removed_and_the_others_keep_their_order() {
        let mut cache = Cache::of(4, 4).unwrap_or_else(|| panic!("4 of 4"));
        for line in [1, 10, 2, 20] {
            cache.access(line);
        }
        cache.remove_all(|line| line >= 10);
        assert!(!cache.access(3) && !cache.access(4));
        assert!(!cache.access(5), "takes the place of 1");
        assert!(cache.access(2) && !cache.access(1));
    }

    #[test]
    fn entries_are_in_sets() {
        assert!(Cache::of(8, 4).is_some_and(|cache| cache.set_mask == 1));
        for (entries, ways) in [(8, 0), (0, 4), (6, 4), (12, 4), (3, 1)] {
            assert!(Cache::of(entries, ways).is_none(), "{entries} in {ways}");
        }
    }

    #[test]
    fn impossible_caches_are_refused() {
        for (bytes, ways, line_bytes, word) in [
            (16_384, 4, 24, "a line of 24 bytes"),
            (16_384, 4, 8, "a line of 8 bytes"),
            (16_384, 0, 32, "0 ways"),
            (16_384, 3, 32, "power of two"),
            (0, 4, 32, "power of two"),
            (1_000, 4, 32, "power of two"),
            (1 << 40, 4, 32, "at most"),
        ] {
            let geometry = Geometry {
                bytes,
                ways,
                line_bytes,
            };
            let why = Cache::new(geometry).err().unwrap_or_default();
            assert!(why.contains(word), "{geometry:?}: {why}");
        }
    }
}
