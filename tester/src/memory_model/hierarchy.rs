// SPDX-License-Identifier: GPL-2.0-or-later
//! The caches of a processor, one behind the other, and RAM behind the last; before them TLBs and a store buffer.

#[cfg(test)]
mod tests;

use super::cache::{Cache, Geometry};
use super::counts::{Level, Stalls};
use super::parameters::{DeviceWrites, Parameters, Stall};
use super::store_buffer::StoreBuffer;
use super::tlb::{Side, Tlbs, Translated};

/// No line and no page begins here, since they have more than one byte.
const NOWHERE: u64 = u64::MAX;
/// No access has more bytes.
const WIDEST_ACCESS: u64 = 16;
/// Bytes of the smallest page, as a power of 2.
const PAGE_SHIFT: u32 = 12;
/// Bytes of a page that has all addresses (they have 48 bits), as a power of 2.
const ALL_SHIFT: u32 = 63;

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

    /// Whether the first level has the line of an address, of data.
    #[inline]
    pub fn has_data(&self, address: u64) -> bool {
        self.data.has(address)
    }

    /// The shared level, which is the last one behind the first, becomes another processor's.
    pub fn exchange_shared(&mut self, other: &mut Hierarchy) {
        if let (Some((own, _)), Some((others, _))) =
            (self.behind.last_mut(), other.behind.last_mut())
        {
            std::mem::swap(own, others);
        }
        // The other one may take lines in that a device has written.
        other.device_wrote = NOWHERE;
    }

    /// Another processor writes a line of data: it is in no cache of this one's own. Returns whether it was.
    pub fn lose(&mut self, address: u64) -> bool {
        let own = self.behind.len().saturating_sub(1);
        let mut had = self.data.remove(address);
        for (cache, _) in &mut self.behind[..own] {
            had |= cache.remove(address);
        }
        had
    }

    /// A device writes to memory while another processor executes.
    pub fn device_took(&mut self, address: u64) {
        if self.device_writes == DeviceWrites::Unseen {
            return;
        }
        self.instructions.remove(address);
        self.lose(address);
        if self.fetched == address >> self.fetch_shift() << self.fetch_shift() {
            self.fetched = NOWHERE;
        }
    }

    /// The processor tells the others that it is about to write a line that it has: the stall, in ps.
    pub fn claim(&mut self) -> u64 {
        let shared = self.behind.last().map_or(self.ram, |(_, stall)| *stall);
        self.wait(shared.data_ps, true)
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
        let ps = if hit {
            0
        } else {
            self.missed(address, which).data_ps
        };
        self.wait(ps, store)
    }

    /// The stall for a line of data that comes after so long.
    #[inline]
    fn wait(&mut self, mut ps: u64, store: bool) -> u64 {
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
