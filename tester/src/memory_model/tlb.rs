// SPDX-License-Identifier: GPL-2.0-or-later
//! Translation lookaside buffers (TLBs): the entries of page tables that a processor remembers.
//!
//! Which pages are large is not read from the page tables, but known from where Linux maps with large pages. The page tables themselves
//! are thought to be one array for each size of pages: an entry of 8 bytes for each page, in order. Entries of neighbouring pages share a
//! line of memory, as they do in page tables. The tables above the last one are always remembered.

use super::cache::Cache;
use super::parameters::Stall;

/// Bytes of a small page, as a power of 2.
const SMALL_SHIFT: u32 = 12;
/// Bytes of an entry of a page table, as a power of 2.
const ENTRY_SHIFT: u32 = 3;
/// Addresses have 48 bits. This one more says that an address is that of an entry for a small or a large page.
const SMALL_TABLE: u64 = 1 << 62;
const LARGE_TABLE: u64 = 1 << 61;
/// Addresses below are user space's.
const USER_END: u64 = 1 << 47;

/// Where Linux uses large pages (Documentation/x86/x86_64/mm.rst, 4-level page tables; addresses of 48 bits): all physical memory; the
/// kernel's array of `struct page`; the kernel's own code and data, up to where modules are. Only the first byte is looked at elsewhere:
/// what differs is not used.
#[inline]
fn is_large(address: u64) -> bool {
    match address >> 40 {
        0xff => (0xffff_8000_0000..0xffff_a000_0000).contains(&address),
        first => (0x88..0xc9).contains(&first) || first == 0xea,
    }
}

/// A TLB's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Entries of small pages; of large ones as well if these have none of their own.
    pub entries: usize,
    /// Entries in a set.
    pub ways: usize,
    /// Entries of large pages, and in a set.
    pub large: Option<(usize, usize)>,
}

impl Shape {
    /// Most entries.
    pub const MOST: usize = 65_536;
}

/// All TLBs of a processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The first level, of instructions.
    pub instructions: Shape,
    /// The first level, of data.
    pub data: Shape,
    /// A second level for both, and the stall if it has the entry.
    pub second: Option<(Shape, Stall)>,
    /// The stall if no TLB has the entry, besides reading the page table.
    pub walk: Stall,
    /// A large page has 2 to the power of this bytes.
    pub large_shift: u32,
    /// Entries survive a switch to another process.
    pub tagged: bool,
}

/// Whose address is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Instructions.
    Fetch,
    /// Data.
    Data,
}

/// What came of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translated {
    /// The first level had the entry.
    First,
    /// The second level had it.
    Second(Stall),
    /// No TLB had it: the stall, besides reading the entry at this address.
    Walk(Stall, u64),
}

#[derive(Clone, Debug)]
struct Tlb {
    small: Cache,
    large: Option<Cache>,
}

impl Tlb {
    fn new(name: &str, shape: Shape) -> Result<Self, String> {
        let cache = |entries: usize, ways: usize| {
            if entries > Shape::MOST {
                return Err(format!(
                    "{name}: {entries} entries: allowed are at most {}",
                    Shape::MOST
                ));
            }
            Cache::of(entries, ways).ok_or_else(|| {
                format!("{name}: {entries} entries in {ways} ways: the number of sets must be a power of two")
            })
        };
        Ok(Tlb {
            small: cache(shape.entries, shape.ways)?,
            large: shape
                .large
                .map(|(entries, ways)| cache(entries, ways))
                .transpose()?,
        })
    }

    #[inline]
    fn of(&mut self, page: u64) -> &mut Cache {
        match &mut self.large {
            Some(entries) if page & LARGE_TABLE != 0 => entries,
            _ => &mut self.small,
        }
    }

    fn caches(&mut self) -> impl Iterator<Item = &mut Cache> {
        std::iter::once(&mut self.small).chain(&mut self.large)
    }

    fn counts(&self) -> (u64, u64) {
        let large = self
            .large
            .as_ref()
            .map_or((0, 0), |l| (l.accesses(), l.misses()));
        (
            self.small.accesses() + large.0,
            self.small.misses() + large.1,
        )
    }
}

/// The TLBs.
#[derive(Clone, Debug)]
pub struct Tlbs {
    instructions: Tlb,
    data: Tlb,
    second: Option<(Tlb, Stall)>,
    walk: Stall,
    large_shift: u32,
    tagged: bool,
    /// The pages that were used last, of instructions and of data.
    last: [u64; 2],
}

impl Tlbs {
    /// Empty TLBs. An error that names the one that is impossible.
    pub fn new(parameters: &Parameters) -> Result<Self, String> {
        if !(SMALL_SHIFT..=40).contains(&parameters.large_shift) {
            return Err(format!(
                "large pages of 2 to the power of {} bytes: allowed are {SMALL_SHIFT} to 40",
                parameters.large_shift
            ));
        }
        let second = parameters.second;
        Ok(Tlbs {
            instructions: Tlb::new("itlb", parameters.instructions)?,
            data: Tlb::new("dtlb", parameters.data)?,
            second: second
                .map(|(shape, stall)| Ok::<_, String>((Tlb::new("tlb2", shape)?, stall)))
                .transpose()?,
            walk: parameters.walk,
            large_shift: parameters.large_shift,
            tagged: parameters.tagged,
            last: [0; 2],
        })
    }

    #[inline]
    fn page(&self, address: u64) -> u64 {
        if is_large(address) {
            LARGE_TABLE | address >> self.large_shift
        } else {
            SMALL_TABLE | address >> SMALL_SHIFT
        }
    }

    fn first(&mut self, side: Side) -> &mut Tlb {
        match side {
            Side::Fetch => &mut self.instructions,
            Side::Data => &mut self.data,
        }
    }

    /// Uses the entry for an address of 48 bits if it is the one of its set that was used last; false if not.
    #[inline]
    pub fn translate_again(&mut self, side: Side, address: u64) -> bool {
        let page = self.page(address);
        if self.last[side as usize] == page {
            return true;
        }
        let entries = self.first(side).of(page);
        if !entries.used_last(page) {
            return false;
        }
        entries.hit_again();
        self.last[side as usize] = page;
        true
    }

    /// Uses the entry for an address of 48 bits, which [`Self::translate_again`] did not.
    pub fn translate_another(&mut self, side: Side, address: u64) -> Translated {
        let page = self.page(address);
        self.last[side as usize] = page;
        let first = self.first(side);
        if first.of(page).access(page) {
            return Translated::First;
        }
        if let Some((second, stall)) = &mut self.second {
            if second.of(page).access(page) {
                return Translated::Second(*stall);
            }
        }
        let table = page & (SMALL_TABLE | LARGE_TABLE);
        Translated::Walk(self.walk, table | (page ^ table) << ENTRY_SHIFT)
    }

    /// Another process's page tables are used from now on.
    pub fn switch(&mut self) {
        if self.tagged {
            return;
        }
        let of_user =
            |page: u64| page & SMALL_TABLE != 0 && (page ^ SMALL_TABLE) << SMALL_SHIFT < USER_END;
        let second = self.second.iter_mut().map(|(second, _)| second);
        for tlb in [&mut self.instructions, &mut self.data]
            .into_iter()
            .chain(second)
        {
            for cache in tlb.caches() {
                cache.remove_all(of_user);
            }
        }
        self.last = [0; 2];
    }

    /// All TLBs are empty from now on; the counters go on.
    pub fn clear(&mut self) {
        let second = self.second.iter_mut().map(|(second, _)| second);
        for tlb in [&mut self.instructions, &mut self.data]
            .into_iter()
            .chain(second)
        {
            tlb.caches().for_each(Cache::clear);
        }
        self.last = [0; 2];
    }

    /// Each TLB's name, how often an entry was used, and how often it was missing. An entry that is used several times running counts
    /// once.
    pub fn counts(&self) -> Vec<(&'static str, u64, u64)> {
        let first = [("ITLB", &self.instructions), ("DTLB", &self.data)];
        let second = self.second.iter().map(|(second, _)| ("TLB2", second));
        first
            .into_iter()
            .chain(second)
            .map(|(name, tlb)| (name, tlb.counts().0, tlb.counts().1))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECT_MAP: u64 = 0x8880_0000_0000;
    const SECOND: Stall = Stall {
        fetch_ps: 7,
        data_ps: 5,
    };
    const WALK: Stall = Stall {
        fetch_ps: 30,
        data_ps: 20,
    };

    fn shape(entries: usize, ways: usize, large: Option<(usize, usize)>) -> Shape {
        Shape {
            entries,
            ways,
            large,
        }
    }

    fn parameters() -> Parameters {
        Parameters {
            instructions: shape(4, 4, None),
            data: shape(4, 2, Some((1, 1))),
            second: None,
            walk: WALK,
            large_shift: 21,
            tagged: false,
        }
    }

    fn made_of(parameters: &Parameters) -> Tlbs {
        Tlbs::new(parameters).unwrap_or_else(|why| panic!("{why}"))
    }

    fn translate(tlbs: &mut Tlbs, side: Side, address: u64) -> Translated {
        if tlbs.translate_again(side, address) {
            return Translated::First;
        }
        tlbs.translate_another(side, address)
    }

    fn walked(found: Translated) -> bool {
        matches!(found, Translated::Walk(..))
    }

    #[test]
    fn an_entry_is_remembered_until_others_take_its_place() {
        let mut tlbs = made_of(&parameters());
        let mut miss = |page: u64| walked(translate(&mut tlbs, Side::Data, page << 12 | 0x123));
        // Two sets of two.
        assert_eq!(
            [0, 0, 2, 0, 4, 2].map(&mut miss),
            [true, false, true, false, true, true]
        );
        assert_eq!([1, 3, 1].map(&mut miss), [true, true, false]);
        assert_eq!(tlbs.counts(), [("ITLB", 0, 0), ("DTLB", 8, 6)]);
    }

    #[test]
    fn large_pages_have_entries_of_their_own() {
        let mut tlbs = made_of(&parameters());
        let mut miss = |address: u64| walked(translate(&mut tlbs, Side::Data, address));
        assert!(miss(DIRECT_MAP) && !miss(DIRECT_MAP + (1 << 21) - 1));
        assert!(miss(0x1000) && miss(0x2000) && miss(0x3000) && !miss(DIRECT_MAP));
        assert!(
            miss(DIRECT_MAP + (1 << 21)) && miss(DIRECT_MAP),
            "there is one entry"
        );
    }

    #[test]
    fn large_pages_without_entries_of_their_own_share() {
        let mut tlbs = made_of(&parameters());
        let mut miss = |address: u64| walked(translate(&mut tlbs, Side::Fetch, address));
        assert!(miss(0xffff_8000_0000) && !miss(0xffff_8010_0000));
        for page in 1..5 {
            assert!(miss(page << 12));
        }
        assert!(miss(0xffff_8000_0000));
    }

    #[test]
    fn pages_that_are_used_in_turn_are_counted_and_replaced_as_all_others() {
        // The same pages with and without the memory of the last two.
        let pages = [1, 2, 1, 2, 3, 1, 3, 5, 3, 5, 1, 7, 5, 7, 1, 2, 1, 3, 1, 3];
        let mut tlbs = made_of(&parameters());
        let mut slow = Cache::of(4, 2).unwrap_or_else(|| panic!("4 of 2"));
        for (number, page) in pages.into_iter().enumerate() {
            let hit = slow.access(SMALL_TABLE | page);
            assert_eq!(
                walked(translate(&mut tlbs, Side::Data, page << 12)),
                !hit,
                "{number}: {page}"
            );
        }
        assert_eq!(tlbs.counts()[1], ("DTLB", slow.accesses(), slow.misses()));
    }

    #[test]
    fn a_second_level_saves_the_walk() {
        let mut tlbs = made_of(&Parameters {
            second: Some((shape(8, 8, None), SECOND)),
            ..parameters()
        });
        let mut found = |side, page: u64| translate(&mut tlbs, side, page << 12);
        assert!(walked(found(Side::Data, 8)));
        assert_eq!(found(Side::Fetch, 8), Translated::Second(SECOND));
        assert_eq!(found(Side::Fetch, 8), Translated::First);
    }

    #[test]
    fn a_walk_reads_the_entry_of_the_page() {
        let mut tlbs = made_of(&parameters());
        let mut entry = |address: u64| match translate(&mut tlbs, Side::Data, address) {
            Translated::Walk(stall, entry) => (stall, entry),
            other => panic!("{other:?}"),
        };
        let (stall, first) = entry(0x5000);
        assert_eq!(stall, WALK);
        assert_eq!(entry(0x6fff).1, first + 8);
        let large = entry(DIRECT_MAP).1;
        assert_eq!(entry(DIRECT_MAP + (1 << 21)).1, large + 8);
        assert!(large.abs_diff(first) > 1 << 48);
    }

    #[test]
    fn another_process_has_other_pages_and_the_same_kernel() {
        for tagged in [false, true] {
            let mut tlbs = made_of(&Parameters {
                tagged,
                ..parameters()
            });
            for address in [0x1000, 0xc900_0000_2000, DIRECT_MAP] {
                translate(&mut tlbs, Side::Data, address);
            }
            tlbs.switch();
            let missed = [0x1000, 0xc900_0000_2000, DIRECT_MAP]
                .map(|address| walked(translate(&mut tlbs, Side::Data, address)));
            assert_eq!(missed, [!tagged, false, false]);
        }
    }

    #[test]
    fn cleared_tlbs_are_cold_and_still_count() {
        let mut tlbs = made_of(&parameters());
        translate(&mut tlbs, Side::Fetch, 0x1000);
        tlbs.clear();
        assert!(walked(translate(&mut tlbs, Side::Fetch, 0x1000)));
        assert_eq!(tlbs.counts()[0], ("ITLB", 2, 2));
    }

    #[test]
    fn an_error_names_the_tlb() {
        let (bad, many) = (shape(3, 1, None), shape(1 << 20, 1, None));
        for (parameters, word) in [
            (
                Parameters {
                    instructions: bad,
                    ..parameters()
                },
                "itlb: 3 entries in 1 ways",
            ),
            (
                Parameters {
                    data: many,
                    ..parameters()
                },
                "dtlb: 1048576 entries: allowed",
            ),
            (
                Parameters {
                    data: shape(4, 4, Some((1, 0))),
                    ..parameters()
                },
                "dtlb: 1 entries in 0 ways",
            ),
            (
                Parameters {
                    second: Some((bad, SECOND)),
                    ..parameters()
                },
                "tlb2: ",
            ),
            (
                Parameters {
                    large_shift: 8,
                    ..parameters()
                },
                "large pages",
            ),
        ] {
            let why = Tlbs::new(&parameters).err().unwrap_or_default();
            assert!(why.contains(word), "{why}");
        }
    }
}
