// SPDX-License-Identifier: GPL-2.0-or-later
//! The caches of a processor, one behind the other, and RAM behind the last; before them TLBs and a store buffer.

use serde::Serialize;

use super::cache::{Cache, Geometry};
use super::store_buffer::{self, StoreBuffer};
use super::tlb::{self, Side, Tlbs, Translated};

/// No line and no page begins here, since they have more than one byte.
const NOWHERE: u64 = u64::MAX;
/// No access has more bytes.
const WIDEST_ACCESS: u64 = 16;
/// Bytes of the smallest page, as a power of 2.
const PAGE_SHIFT: u32 = 12;
/// Bytes of a page that has all addresses (they have 48 bits), as a power of 2.
const ALL_SHIFT: u32 = 63;

/// How much later the processor goes on than if its first-level cache had hit, in ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// For a line of instructions.
    pub fetch_ps: u64,
    /// For a line of data; less if the processor executes other instructions meanwhile.
    pub data_ps: u64,
}

/// What becomes of the lines that a device writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceWrites {
    /// They stay in the caches as they are.
    #[default]
    Unseen,
    /// No cache has them any longer.
    Invalidate,
    /// Only the last level has them.
    LastLevel,
}

/// What the model is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The first-level cache of instructions.
    pub instructions: Geometry,
    /// The first-level cache of data.
    pub data: Geometry,
    /// Caches of both behind them, the nearest first, and the stall if a line comes from there.
    pub behind: Vec<(Geometry, Stall)>,
    /// The stall if a line comes from RAM.
    pub ram: Stall,
    /// What a device's write does.
    pub device_writes: DeviceWrites,
    /// The stall of a read of a device's register, in ps.
    pub register_ps: u64,
    /// TLBs; None: translating an address takes no time.
    pub tlbs: Option<tlb::Parameters>,
    /// The store buffer; None: a store that misses stalls as a load does.
    pub store_buffer: Option<store_buffer::Shape>,
    /// What entering an interrupt and returning from it take beyond their instructions, in ps.
    pub interrupt_ps: u64,
    /// The time of an instruction, in ps; None: that of the instruction clock.
    pub instruction_ps: Option<u64>,
}

/// The counters of one cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Level {
    /// Its name: L1I, L1D, L2, L3.
    pub name: &'static str,
    /// How often a line was used. Instructions that follow each other in one line use it once.
    pub accesses: u64,
    /// How often it was missing, and was taken in (line fills).
    pub misses: u64,
}

/// How long the processor stalled for what, in ps. A part of it may not be charged to the clock yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stalls {
    /// Lines of instructions.
    pub fetch: u64,
    /// Lines of data that were read.
    pub load: u64,
    /// Lines of data that were written; with a store buffer: that it was full.
    pub store: u64,
    /// Translating addresses.
    pub translation: u64,
    /// Reading devices' registers.
    pub register: u64,
    /// Entering interrupts and returning from them.
    pub interrupt: u64,
}

impl Stalls {
    /// What was added since `before`.
    fn since(self, before: Stalls) -> Stalls {
        Stalls {
            fetch: self.fetch.saturating_sub(before.fetch),
            load: self.load.saturating_sub(before.load),
            store: self.store.saturating_sub(before.store),
            translation: self.translation.saturating_sub(before.translation),
            register: self.register.saturating_sub(before.register),
            interrupt: self.interrupt.saturating_sub(before.interrupt),
        }
    }
}

fn levels_since(now: &[Level], then: &[Level]) -> Vec<Level> {
    let pairs = now.iter().zip(then);
    pairs
        .map(|(now, then)| Level {
            name: now.name,
            accesses: now.accesses.saturating_sub(then.accesses),
            misses: now.misses.saturating_sub(then.misses),
        })
        .collect()
}

/// All counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// The time that the clock was charged for stalls, in ps.
    pub stall_ps: u64,
    /// The time that the clock was charged for stalls and for instructions that take longer than the clock's own (if they are faster:
    /// negative), in ps.
    #[serde(skip)]
    pub charged_ps: i64,
    /// What the processor stalled for.
    pub stalls_ps: Stalls,
    /// Each cache's.
    pub caches: Vec<Level>,
    /// Each TLB's: uses of entries, and misses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tlbs: Vec<Level>,
}

impl Counts {
    /// What was counted since `before`.
    pub fn since(&self, before: &Counts) -> Counts {
        Counts {
            stall_ps: self.stall_ps.saturating_sub(before.stall_ps),
            charged_ps: self.charged_ps - before.charged_ps,
            stalls_ps: self.stalls_ps.since(before.stalls_ps),
            caches: levels_since(&self.caches, &before.caches),
            tlbs: levels_since(&self.tlbs, &before.tlbs),
        }
    }
}

/// The caches.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    instructions: Cache,
    data: Cache,
    behind: Vec<(Cache, Stall)>,
    ram: Stall,
    device_writes: DeviceWrites,
    /// The line that a device has written to last, in the shortest lines of all caches; NOWHERE if a cache has taken a line in since.
    device_wrote: u64,
    /// These lines have 2 to the power of this bytes.
    shortest_shift: u32,
    register_ps: u64,
    interrupt_ps: u64,
    tlbs: Option<Tlbs>,
    store_buffer: Option<StoreBuffer>,
    /// When the last store leaves the store buffer.
    stores_until_ps: u64,
    /// Bytes of a line of data, less one.
    data_mask: u64,
    /// The processor's time: executing and stalling, not idling.
    now_ps: u64,
    stalls_ps: Stalls,
    /// Where the line begins that instructions were last fetched from.
    fetched: u64,
    /// The pages of 4 KB that were used last, of instructions and of data: that they are used again changes no TLB.
    pages: [u64; 2],
    /// An address without its last so many bits is a page.
    page_shift: u32,
    used: Used,
}

/// For each line that a fetch or an access used, the number of caches, one behind the other, that it missed; None: it used no line.
pub type Used = [Option<u8>; 2];

impl Hierarchy {
    /// Empty caches. An error that names the cache if one is impossible.
    pub fn new(parameters: &Parameters) -> Result<Self, String> {
        let cache = |name: &str, geometry: Geometry| {
            Cache::new(geometry).map_err(|why| format!("{name}: {why}"))
        };
        if parameters.behind.len() > BEHIND.len() {
            return Err("there are at most three levels of caches".into());
        }
        let behind = parameters.behind.iter().zip(BEHIND);
        let geometries = [parameters.instructions, parameters.data].into_iter();
        let geometries = geometries.chain(parameters.behind.iter().map(|(geometry, _)| *geometry));
        let shifts = geometries.map(|geometry| geometry.line_bytes.trailing_zeros());
        Ok(Hierarchy {
            instructions: cache("l1i", parameters.instructions)?,
            data: cache("l1d", parameters.data)?,
            behind: behind
                .map(|((geometry, stall), name)| Ok((cache(name, *geometry)?, *stall)))
                .collect::<Result<_, String>>()?,
            ram: parameters.ram,
            device_writes: parameters.device_writes,
            device_wrote: NOWHERE,
            shortest_shift: shifts.min().unwrap_or(0),
            register_ps: parameters.register_ps,
            interrupt_ps: parameters.interrupt_ps,
            tlbs: parameters.tlbs.as_ref().map(Tlbs::new).transpose()?,
            store_buffer: parameters.store_buffer.map(StoreBuffer::new).transpose()?,
            stores_until_ps: 0,
            data_mask: parameters.data.line_bytes - 1,
            now_ps: 0,
            stalls_ps: Stalls::default(),
            fetched: NOWHERE,
            pages: [NOWHERE; 2],
            page_shift: parameters.tlbs.as_ref().map_or(ALL_SHIFT, |_| PAGE_SHIFT),
            used: [None; 2],
        })
    }

    /// The lines that the last fetch or access used, in order.
    #[inline]
    pub fn used(&self) -> Used {
        self.used
    }

    /// A line of data has 2 to the power of this bytes.
    pub fn data_shift(&self) -> u32 {
        self.data.line_shift()
    }

    /// A line of instructions has 2 to the power of this bytes.
    pub fn fetch_shift(&self) -> u32 {
        self.instructions.line_shift()
    }

    /// The processor executes for so long.
    #[inline]
    pub fn execute(&mut self, ps: u64) {
        self.now_ps += ps;
    }

    /// Instructions of the line that begins at an address are executed; returns the stall in ps.
    #[inline]
    pub fn fetch(&mut self, line: u64) -> u64 {
        if line == self.fetched {
            self.used = [None; 2];
            return 0;
        }
        self.fetched = line;
        let page = line >> self.page_shift;
        if self.instructions.used_last(line) && self.pages[Side::Fetch as usize] == page {
            self.instructions.hit_again();
            self.used = [Some(0), None];
            return 0;
        }
        self.fetch_another(line)
    }

    /// Not the line of its set that was used last, or of another page.
    #[inline(never)]
    fn fetch_another(&mut self, line: u64) -> u64 {
        let stall_ps = self.translate(Side::Fetch, line);
        self.used = [Some(0), None];
        if self.instructions.access(line) {
            return stall_ps;
        }
        let fetch_ps = self.missed(line, 0).fetch_ps;
        self.stalls_ps.fetch += fetch_ps;
        self.now_ps += fetch_ps;
        stall_ps + fetch_ps
    }

    /// Whether register reads take time.
    pub fn charges_registers(&self) -> bool {
        self.register_ps > 0
    }

    /// A device's register is read; returns the stall in ps.
    pub fn read_register(&mut self) -> u64 {
        self.stalls_ps.register += self.register_ps;
        self.now_ps += self.register_ps;
        self.register_ps
    }

    /// An interrupt is entered; returns the stall in ps, which is that of the return from it, too.
    pub fn interrupt(&mut self) -> u64 {
        self.stalls_ps.interrupt += self.interrupt_ps;
        self.now_ps += self.interrupt_ps;
        self.interrupt_ps
    }

    /// Another process's page tables are used from now on.
    pub fn switch(&mut self) {
        if let Some(tlbs) = &mut self.tlbs {
            tlbs.switch();
        }
        self.pages = [NOWHERE; 2];
    }

    /// A device writes to memory, within a line.
    pub fn device_wrote(&mut self, address: u64) {
        if self.device_writes == DeviceWrites::Unseen {
            return;
        }
        // Devices write a few bytes at a time. A line that has just been treated would be treated in vain.
        let shortest = address >> self.shortest_shift;
        if shortest == self.device_wrote {
            return;
        }
        self.device_wrote = shortest;
        self.instructions.remove(address);
        self.data.remove(address);
        for (cache, _) in &mut self.behind {
            cache.remove(address);
        }
        if self.fetched == address >> self.fetch_shift() << self.fetch_shift() {
            self.fetched = NOWHERE;
        }
        if let (DeviceWrites::LastLevel, Some((last, _))) =
            (self.device_writes, self.behind.last_mut())
        {
            last.place(address);
        }
    }

    /// Some bytes (at least one, at most 16) are read or written, if the simplest that can be holds: they are in one line, which is the one
    /// of its set that was used last, and in the page that was used last, and no store waits. False if not, or if it takes longer to say:
    /// then it is a matter of [`Self::access_again`].
    #[inline]
    pub fn access_simply(&mut self, address: u64) -> bool {
        let simple = self.data.used_last(address)
            && address & self.data_mask <= self.data_mask - (WIDEST_ACCESS - 1)
            && self.pages[Side::Data as usize] == address >> self.page_shift
            && self.stores_until_ps <= self.now_ps;
        if simple {
            self.data.hit_again();
            self.used = [Some(0), None];
        }
        simple
    }

    /// Some bytes are read, or written (`store`), if nothing stalls and only what was used last is used. False if not: then it is a matter of
    /// [`Self::access_another`].
    #[inline]
    pub fn access_again(&mut self, address: u64, bytes: u64, store: bool) -> bool {
        let one_line = (address & self.data_mask) + (bytes - 1) <= self.data_mask;
        let quick = one_line
            && self.data.used_last(address)
            && !(store && self.stores_until_ps > self.now_ps);
        if !quick || !self.translated_again(Side::Data, address) {
            return false;
        }
        self.data.hit_again();
        self.used = [Some(0), None];
        true
    }

    /// Some bytes are read or written; returns the stall in ps. `in_ram` is asked if they are in no cache of the first level: whether they
    /// are memory, and not registers of a device.
    pub fn access_another(
        &mut self,
        address: u64,
        bytes: u64,
        store: bool,
        in_ram: impl FnOnce() -> bool,
    ) -> u64 {
        let last = address + (bytes - 1);
        let one_line = (address & self.data_mask) + (bytes - 1) <= self.data_mask;
        let hit = self.data.hit(address);
        if !hit && !in_ram() {
            self.used = [None; 2];
            return 0;
        }
        let mut stall_ps = self.translate(Side::Data, address);
        self.used = [Some(0), None];
        if !hit {
            self.data.fill(address);
        }
        stall_ps += self.wait_for_line(hit, address, 0, store);
        if !one_line {
            stall_ps += self.translate(Side::Data, last);
            self.used[1] = Some(0);
            let hit = self.data.access(last);
            stall_ps += self.wait_for_line(hit, last, 1, store);
        }
        stall_ps
    }

    /// The stall for the first or second line of an access, which has hit in the first level, or not.
    #[inline]
    fn wait_for_line(&mut self, hit: bool, address: u64, which: usize, store: bool) -> u64 {
        let mut ps = 0;
        if !hit {
            ps = self.missed(address, which).data_ps;
        }
        if let (true, Some(buffer)) = (store, &mut self.store_buffer) {
            if ps != 0 || self.stores_until_ps > self.now_ps {
                ps = buffer.store(self.now_ps, ps);
                self.stores_until_ps = buffer.empty_at();
            }
        }
        if ps != 0 {
            let kind = if store {
                &mut self.stalls_ps.store
            } else {
                &mut self.stalls_ps.load
            };
            *kind += ps;
            self.now_ps += ps;
        }
        ps
    }

    /// Translates an address if it is in one of the pages that were used last, or if that takes no time; false if not.
    #[inline]
    fn translated_again(&mut self, side: Side, address: u64) -> bool {
        let page = address >> self.page_shift;
        if self.pages[side as usize] == page {
            return true;
        }
        let again = match &mut self.tlbs {
            Some(tlbs) => tlbs.translate_again(side, address),
            None => true,
        };
        if again {
            self.pages[side as usize] = page;
        }
        again
    }

    /// Translates an address: the stall. It uses lines of data if it has to read a page table.
    #[inline]
    fn translate(&mut self, side: Side, address: u64) -> u64 {
        if self.translated_again(side, address) {
            return 0;
        }
        self.translate_another(side, address)
    }

    /// Not a page that was used last.
    #[inline(never)]
    fn translate_another(&mut self, side: Side, address: u64) -> u64 {
        let Some(tlbs) = &mut self.tlbs else { return 0 };
        self.pages[side as usize] = address >> self.page_shift;
        match tlbs.translate_another(side, address) {
            Translated::First => 0,
            Translated::Second(stall) => self.translated_late(side, stall, None),
            Translated::Walk(stall, entry) => self.translated_late(side, stall, Some(entry)),
        }
    }

    /// The first level of TLBs had no entry; no level had it if it is to be read at an address.
    #[inline(never)]
    fn translated_late(&mut self, side: Side, stall: Stall, entry: Option<u64>) -> u64 {
        let mut ps = match side {
            Side::Fetch => stall.fetch_ps,
            Side::Data => stall.data_ps,
        };
        if let Some(entry) = entry {
            if !self.data.access(entry) {
                let stall = self.missed(entry, 0);
                ps += match side {
                    Side::Fetch => stall.fetch_ps,
                    Side::Data => stall.data_ps,
                };
            }
        }
        self.stalls_ps.translation += ps;
        self.now_ps += ps;
        ps
    }

    /// Caches, TLBs and store buffer are empty from now on; the counters go on.
    pub fn clear(&mut self) {
        self.instructions.clear();
        self.data.clear();
        for (cache, _) in &mut self.behind {
            cache.clear();
        }
        if let Some(tlbs) = &mut self.tlbs {
            tlbs.clear();
        }
        if let Some(buffer) = &mut self.store_buffer {
            buffer.clear();
        }
        self.stores_until_ps = 0;
        self.now_ps = 0;
        self.fetched = NOWHERE;
        self.pages = [NOWHERE; 2];
        self.device_wrote = NOWHERE;
    }

    /// What the processor stalled for since the beginning.
    pub fn stalls(&self) -> Stalls {
        self.stalls_ps
    }

    /// Each TLB's counters since the beginning.
    pub fn tlb_counts(&self) -> Vec<Level> {
        let counts = self.tlbs.iter().flat_map(Tlbs::counts);
        counts
            .map(|(name, accesses, misses)| Level {
                name,
                accesses,
                misses,
            })
            .collect()
    }

    /// Each cache's counters since the beginning.
    pub fn levels(&self) -> Vec<Level> {
        let first = [("L1I", &self.instructions), ("L1D", &self.data)];
        let behind = self.behind.iter().map(|(cache, _)| cache);
        let names = BEHIND_COUNTED.into_iter().zip(behind);
        first
            .into_iter()
            .chain(names)
            .map(|(name, cache)| Level {
                name,
                accesses: cache.accesses(),
                misses: cache.misses(),
            })
            .collect()
    }

    /// A first-level cache has missed the first or second line of an access: the stall.
    #[inline(never)]
    fn missed(&mut self, address: u64, which: usize) -> Stall {
        self.device_wrote = NOWHERE;
        let mut missed = 1;
        for (cache, stall) in &mut self.behind {
            if cache.access(address) {
                self.used[which] = Some(missed);
                return *stall;
            }
            missed += 1;
        }
        self.used[which] = Some(missed);
        self.ram
    }
}

/// The names of the caches behind the first level, as arguments and as counters.
const BEHIND: [&str; 2] = ["l2", "l3"];
const BEHIND_COUNTED: [&str; 2] = ["L2", "L3"];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const L1: Geometry = Geometry {
        bytes: 128,
        ways: 2,
        line_bytes: 32,
    };
    const L2: Geometry = Geometry {
        bytes: 1024,
        ways: 4,
        line_bytes: 64,
    };

    fn both(ps: u64) -> Stall {
        Stall {
            fetch_ps: ps,
            data_ps: ps,
        }
    }

    fn parameters(behind: &[(Geometry, Stall)]) -> Parameters {
        Parameters {
            instructions: L1,
            data: L1,
            behind: behind.to_vec(),
            ram: both(100),
            device_writes: DeviceWrites::Unseen,
            register_ps: 7,
            tlbs: None,
            store_buffer: None,
            interrupt_ps: 9,
            instruction_ps: None,
        }
    }

    fn made_of(parameters: &Parameters) -> Hierarchy {
        Hierarchy::new(parameters).unwrap_or_else(|why| panic!("{why}"))
    }

    fn hierarchy(behind: &[(Geometry, u64)]) -> Hierarchy {
        let behind: Vec<_> = behind
            .iter()
            .map(|(geometry, ps)| (*geometry, both(*ps)))
            .collect();
        made_of(&parameters(&behind))
    }

    impl Hierarchy {
        fn access(
            &mut self,
            address: u64,
            bytes: u64,
            store: bool,
            in_ram: impl FnOnce() -> bool,
        ) -> u64 {
            if bytes <= WIDEST_ACCESS && self.access_simply(address)
                || self.access_again(address, bytes, store)
            {
                return 0;
            }
            self.access_another(address, bytes, store, in_ram)
        }
    }

    fn misses(hierarchy: &Hierarchy) -> Vec<u64> {
        let levels = hierarchy.levels();
        levels.iter().map(|level| level.misses).collect()
    }

    #[test]
    fn a_line_stalls_for_the_level_that_it_comes_from() {
        let mut two = hierarchy(&[(L2, 10)]);
        assert_eq!(two.fetch(0), 100);
        assert_eq!(
            two.access(0, 1, false, || true),
            10,
            "the second level has it"
        );
        assert_eq!(
            two.access(32, 1, false, || true),
            10,
            "its lines are longer"
        );
        assert_eq!(two.access(63, 1, false, || true), 0);
        assert_eq!(misses(&two), [1, 2, 1]);
        let names: Vec<&str> = two.levels().iter().map(|level| level.name).collect();
        assert_eq!(names, ["L1I", "L1D", "L2"]);
        let mut one = hierarchy(&[]);
        assert_eq!((one.fetch(0), one.access(0, 8, false, || true)), (100, 100));
    }

    #[test]
    fn instructions_of_one_line_use_it_once() {
        let mut caches = hierarchy(&[]);
        let stalls: Vec<u64> = [0, 0, 32, 32, 0].map(|line| caches.fetch(line)).into();
        assert_eq!(stalls, [100, 0, 100, 0, 0]);
        assert_eq!(caches.levels()[0].accesses, 3);
    }

    #[test]
    fn an_access_may_touch_two_lines() {
        let mut caches = hierarchy(&[]);
        assert_eq!(caches.access(28, 8, false, || true), 200);
        assert_eq!(caches.access(28, 8, false, || true), 0);
        assert_eq!(caches.access(60, 8, false, || true), 100);
        assert_eq!(caches.access(28, 4, false, || true), 0);
        assert_eq!(
            (caches.levels()[1].accesses, caches.levels()[1].misses),
            (7, 3)
        );
    }

    #[test]
    fn each_line_says_how_many_caches_it_missed() {
        let mut caches = hierarchy(&[(L2, 10)]);
        let mut fetched = |line| {
            caches.fetch(line);
            caches.used()
        };
        assert_eq!(
            [0, 0, 32].map(&mut fetched),
            [[Some(2), None], [None; 2], [Some(1), None]]
        );
        let mut accessed = |address, in_ram| {
            caches.access(address, 8, false, || in_ram);
            caches.used()
        };
        assert_eq!(accessed(60, true), [Some(1), Some(2)]);
        assert_eq!(accessed(28, true), [Some(1), Some(0)]);
        assert_eq!(accessed(0, true), [Some(0), None]);
        assert_eq!(accessed(4096, false), [None; 2]);
    }

    #[test]
    fn registers_of_devices_are_not_cached() {
        let mut caches = hierarchy(&[(L2, 10)]);
        for _ in 0..2 {
            assert_eq!(caches.access(0, 4, false, || false), 0);
        }
        assert!(caches.levels().iter().all(|level| level.accesses == 0));
        assert_eq!(caches.access(0, 4, false, || true), 100);
        assert_eq!(caches.access(4, 4, false, || panic!("not asked")), 0);
    }

    #[test]
    fn data_may_stall_for_less_than_instructions() {
        let stall = |fetch_ps, data_ps| Stall { fetch_ps, data_ps };
        let mut caches = made_of(&Parameters {
            ram: stall(100, 60),
            ..parameters(&[(L2, stall(10, 0))])
        });
        assert_eq!(
            (caches.fetch(0), caches.access(0, 1, false, || true)),
            (100, 0)
        );
        assert_eq!(
            (caches.access(64, 1, false, || true), caches.fetch(64)),
            (60, 10)
        );
        assert!(caches.charges_registers());
        for times in [1, 2] {
            assert_eq!((caches.read_register(), caches.interrupt()), (7, 9));
            let stalls = caches.stalls();
            assert_eq!((stalls.register, stalls.interrupt), (7 * times, 9 * times));
        }
        assert_eq!(caches.stalls().fetch, 110);
        let free = made_of(&Parameters {
            register_ps: 0,
            ..parameters(&[])
        });
        assert!(!free.charges_registers());
    }

    #[test]
    fn lines_of_instructions_and_of_data_have_their_own_sizes() {
        let caches = made_of(&Parameters {
            data: L2,
            ..parameters(&[])
        });
        assert_eq!((caches.fetch_shift(), caches.data_shift()), (5, 6));
    }

    #[test]
    fn stores_wait_in_the_buffer_and_loads_do_not() {
        let buffer = store_buffer::Shape {
            entries: 2,
            fills: 1,
        };
        let mut caches = made_of(&Parameters {
            store_buffer: Some(buffer),
            ..parameters(&[])
        });
        let mut store = |line: u64| caches.access(line * 32, 8, true, || true);
        assert_eq!([0, 1, 2].map(&mut store), [0, 0, 100]);
        assert_eq!(caches.access(512, 8, false, || true), 100);
        caches.execute(50);
        assert_eq!(caches.access(0, 8, true, || true), 0, "one has left");
        let stalls = caches.stalls();
        assert_eq!((stalls.load, stalls.store), (100, 100));
    }

    #[test]
    fn the_store_buffer_empties_while_the_processor_executes_or_stalls() {
        let buffer = store_buffer::Shape {
            entries: 1,
            fills: 1,
        };
        type Other = fn(&mut Hierarchy) -> u64;
        let others: [(Other, u64); 4] = [
            (
                |caches| {
                    caches.execute(30);
                    30
                },
                0,
            ),
            (|caches| caches.fetch(0x1000), 100),
            (Hierarchy::read_register, 7),
            (Hierarchy::interrupt, 9),
        ];
        for (other, stall_ps) in others {
            let mut caches = made_of(&Parameters {
                store_buffer: Some(buffer),
                ..parameters(&[])
            });
            caches.execute(1);
            assert_eq!(caches.access(0, 8, true, || true), 0);
            let passed_ps = other(&mut caches);
            assert_eq!(caches.access(32, 8, true, || true), 100 - passed_ps);
            let stalls = caches.stalls();
            assert_eq!(stalls.fetch + stalls.register + stalls.interrupt, stall_ps);
        }
    }

    #[test]
    fn a_store_to_the_last_line_waits_for_those_before_it() {
        let buffer = store_buffer::Shape {
            entries: 1,
            fills: 1,
        };
        let mut caches = made_of(&Parameters {
            store_buffer: Some(buffer),
            ..parameters(&[])
        });
        let mut store = || caches.access(0, 8, true, || true);
        assert_eq!([store(), store(), store()], [0, 100, 0]);
    }

    fn with_tlbs() -> Hierarchy {
        let shape = tlb::Shape {
            entries: 2,
            ways: 2,
            large: None,
        };
        let walk = Stall {
            fetch_ps: 3,
            data_ps: 2,
        };
        made_of(&Parameters {
            tlbs: Some(tlb::Parameters {
                instructions: shape,
                data: shape,
                second: None,
                walk,
                large_shift: 21,
                tagged: false,
            }),
            ..parameters(&[(L2, both(10))])
        })
    }

    #[test]
    fn translations_stall_and_read_page_tables_through_the_caches() {
        let mut caches = with_tlbs();
        assert_eq!(caches.access(0x1000, 8, false, || true), 2 + 100 + 100);
        assert_eq!(
            caches.access(0x1040, 8, false, || true),
            100,
            "the same page"
        );
        // Its entry is in the same line as the other's, which the second level still has.
        assert_eq!(caches.access(0x2000, 8, false, || true), 2 + 10 + 100);
        assert_eq!(caches.fetch(0x1000), 3 + 10, "the second level has both");
        let last = caches.access(0x2ffc, 8, false, || true);
        assert_eq!(last, 100 + 2 + 100, "an access to two pages");
        assert_eq!(
            caches.access(0x9000, 4, false, || false),
            0,
            "of a device: not translated"
        );
        let names: Vec<_> = caches
            .tlb_counts()
            .iter()
            .map(|tlb| (tlb.name, tlb.misses))
            .collect();
        assert_eq!(names, [("ITLB", 1), ("DTLB", 3)]);
        assert_eq!(caches.stalls().translation, 102 + 12 + 3 + 2);
        caches.switch();
        assert!(
            caches.access(0x1000, 8, false, || true) > 0,
            "of user space"
        );
    }

    #[test]
    fn a_line_that_was_used_last_may_be_in_a_page_that_was_not() {
        let mut caches = with_tlbs();
        let mut fetch = |line| caches.fetch(line);
        let stalls = [0x1000, 0x2020, 0x3020, 0x1000, 0x1000].map(&mut fetch);
        let walk = 3;
        assert_eq!(stalls, [walk + 200, walk + 100, walk + 100, walk, 0]);
    }

    #[test]
    fn a_line_that_was_used_last_may_have_gone() {
        for gone in [
            |caches: &mut Hierarchy| caches.device_wrote(0),
            |caches: &mut Hierarchy| caches.clear(),
        ] {
            let mut caches = made_of(&Parameters {
                device_writes: DeviceWrites::Invalidate,
                ..parameters(&[])
            });
            caches.access(0, 8, false, || true);
            gone(&mut caches);
            assert_eq!(caches.access(0, 8, false, || true), 100);
        }
        let mut caches = made_of(&Parameters {
            device_writes: DeviceWrites::Invalidate,
            ..parameters(&[])
        });
        caches.fetch(32);
        caches.device_wrote(40);
        assert_eq!(caches.fetch(32), 100, "the line that was fetched last, too");
    }

    #[test]
    fn what_a_device_wrote_comes_from_ram_or_the_last_level() {
        for (device_writes, stalls) in [
            (DeviceWrites::Unseen, [0, 0, 0]),
            (DeviceWrites::Invalidate, [100, 10, 0]),
            (DeviceWrites::LastLevel, [10, 10, 0]),
        ] {
            let mut caches = made_of(&Parameters {
                device_writes,
                ..parameters(&[(L2, both(10))])
            });
            caches.access(0, 1, false, || true);
            caches.fetch(0);
            caches.access(64, 1, false, || true);
            caches.device_wrote(8);
            let again = [
                caches.access(0, 1, false, || true),
                caches.fetch(0),
                caches.access(64, 1, false, || true),
            ];
            assert_eq!(again, stalls, "{device_writes:?}");
        }
    }

    #[test]
    fn cleared_caches_are_cold() {
        let mut caches = hierarchy(&[(L2, 10)]);
        caches.fetch(0);
        caches.access(0, 1, false, || true);
        caches.clear();
        assert_eq!(
            (caches.fetch(0), caches.access(64, 1, false, || true)),
            (100, 100)
        );
    }

    #[test]
    fn counts_are_differences() {
        let level = |accesses, misses| Level {
            name: "L1I",
            accesses,
            misses,
        };
        let counts = |stall_ps: u64, caches: Vec<Level>| Counts {
            stall_ps,
            charged_ps: -(stall_ps as i64),
            stalls_ps: Stalls {
                load: stall_ps,
                interrupt: 2 * stall_ps,
                ..Stalls::default()
            },
            tlbs: caches.clone(),
            caches,
        };
        let (before, after) = (
            counts(5, vec![level(10, 1)]),
            counts(50, vec![level(30, 4)]),
        );
        assert_eq!(after.since(&before), counts(45, vec![level(20, 3)]));
    }

    #[test]
    fn an_error_names_the_cache() {
        let bad = Geometry { ways: 0, ..L1 };
        for (instructions, data, behind, name) in [
            (bad, L1, vec![], "l1i: "),
            (L1, bad, vec![], "l1d: "),
            (L1, L1, vec![(L1, 1), (bad, 1)], "l3: "),
            (L1, L1, vec![(L1, 1); 3], "at most three levels"),
        ] {
            let behind = behind
                .into_iter()
                .map(|(geometry, ps)| (geometry, both(ps)));
            let parameters = Parameters {
                instructions,
                data,
                behind: behind.collect(),
                ..parameters(&[])
            };
            let why = Hierarchy::new(&parameters).err().unwrap_or_default();
            assert!(why.contains(name), "{why}");
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Fetch(u64),
        Access(u64, u64, bool),
        DeviceWrote(u64),
        Switch,
        Execute(u64),
    }

    /// A few lines of a few pages: of user space, and of physical memory, which has large pages.
    fn address() -> impl Strategy<Value = u64> {
        let page = prop_oneof![0x1000..0x1003_u64, 0x8_8800_0000..0x8_8800_0003_u64];
        (page, 0..256_u64).prop_map(|(page, offset)| page << 12 | offset)
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => address().prop_map(|address| Step::Fetch(address & !31)),
            8 => (address(), 0..5_u32, any::<bool>())
                .prop_map(|(address, bytes, store)| Step::Access(address, 1 << bytes, store)),
            2 => address().prop_map(Step::DeviceWrote),
            1 => Just(Step::Switch),
            2 => (0..300_u64).prop_map(Step::Execute),
        ]
    }

    proptest! {
        #[test]
        fn what_is_quickly_said_is_what_is_slowly_said(
            steps in prop::collection::vec(step(), 1..300), buffered: bool, translated: bool, last_level: bool
        ) {
            let shape = |entries, large| tlb::Shape { entries, ways: 2, large };
            let tlbs = tlb::Parameters {
                instructions: shape(2, None),
                data: shape(2, Some((2, 1))),
                second: Some((shape(4, None), both(7))),
                walk: both(30),
                large_shift: 13,
                tagged: false,
            };
            let parameters = Parameters {
                tlbs: translated.then_some(tlbs),
                store_buffer: buffered.then_some(store_buffer::Shape { entries: 2, fills: 1 }),
                device_writes: if last_level { DeviceWrites::LastLevel } else { DeviceWrites::Invalidate },
                ..parameters(&[(L2, both(10))])
            };
            let (mut quick, mut slow) = (made_of(&parameters), made_of(&parameters));
            for step in steps {
                // Nothing is remembered, and no access is said to be simple.
                (slow.pages, slow.device_wrote) = ([NOWHERE; 2], NOWHERE);
                let stalls = match step {
                    Step::Fetch(line) => (quick.fetch(line), slow.fetch(line)),
                    Step::Access(address, bytes, store) => (
                        quick.access(address, bytes, store, || true),
                        slow.access_another(address, bytes, store, || true),
                    ),
                    Step::DeviceWrote(address) => {
                        quick.device_wrote(address);
                        slow.device_wrote(address);
                        (0, 0)
                    }
                    Step::Switch => {
                        quick.switch();
                        slow.switch();
                        (0, 0)
                    }
                    Step::Execute(ps) => {
                        quick.execute(ps);
                        slow.execute(ps);
                        (0, 0)
                    }
                };
                prop_assert_eq!(stalls.0, stalls.1, "{:?}", step);
                prop_assert_eq!(quick.used(), slow.used());
            }
            prop_assert_eq!(quick.levels(), slow.levels());
            prop_assert_eq!(quick.tlb_counts(), slow.tlb_counts());
            prop_assert_eq!(quick.stalls(), slow.stalls());
        }
    }
}
