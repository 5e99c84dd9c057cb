// SPDX-License-Identifier: GPL-2.0-or-later
//! The caches of a processor, one behind the other, and RAM behind the last.

use serde::Serialize;

use super::cache::{Cache, Geometry};

/// No line begins here, since lines have more than one byte.
const NOWHERE: u64 = u64::MAX;

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

/// All counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// The time that the clock was charged for stalls, in ps.
    pub stall_ps: u64,
    /// The time that the clock was charged for stalls and for instructions that take longer than the clock's own (if they are faster:
    /// negative), in ps.
    #[serde(skip)]
    pub charged_ps: i64,
    /// Each cache's.
    pub caches: Vec<Level>,
}

impl Counts {
    /// What was counted since `before`.
    pub fn since(&self, before: &Counts) -> Counts {
        let caches = self.caches.iter().zip(&before.caches);
        Counts {
            stall_ps: self.stall_ps.saturating_sub(before.stall_ps),
            charged_ps: self.charged_ps - before.charged_ps,
            caches: caches
                .map(|(now, then)| Level {
                    name: now.name,
                    accesses: now.accesses.saturating_sub(then.accesses),
                    misses: now.misses.saturating_sub(then.misses),
                })
                .collect(),
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
    register_ps: u64,
    /// Where the line begins that instructions were last fetched from.
    fetched: u64,
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
        Ok(Hierarchy {
            instructions: cache("l1i", parameters.instructions)?,
            data: cache("l1d", parameters.data)?,
            behind: behind
                .map(|((geometry, stall), name)| Ok((cache(name, *geometry)?, *stall)))
                .collect::<Result<_, String>>()?,
            ram: parameters.ram,
            device_writes: parameters.device_writes,
            register_ps: parameters.register_ps,
            fetched: NOWHERE,
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

    /// Instructions of the line that begins at an address are executed; returns the stall in ps.
    #[inline]
    pub fn fetch(&mut self, line: u64) -> u64 {
        if line == self.fetched {
            self.used = [None; 2];
            return 0;
        }
        self.fetched = line;
        self.used = [Some(0), None];
        if self.instructions.access(line) {
            return 0;
        }
        self.missed(line, 0).fetch_ps
    }

    /// Whether register reads take time.
    pub fn charges_registers(&self) -> bool {
        self.register_ps > 0
    }

    /// A device's register is read; returns the stall in ps.
    pub fn read_register(&self) -> u64 {
        self.register_ps
    }

    /// A device writes to memory, within a line.
    pub fn device_wrote(&mut self, address: u64) {
        if self.device_writes == DeviceWrites::Unseen {
            return;
        }
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

    /// Some bytes (at least one) are read or written; returns the stall in ps. `in_ram` is asked if they are in no cache of the first
    /// level: whether they are memory, and not registers of a device.
    #[inline]
    pub fn access(&mut self, address: u64, bytes: u64, in_ram: impl FnOnce() -> bool) -> u64 {
        let last = address + (bytes - 1);
        let one_line = (address ^ last) >> self.data.line_shift() == 0;
        self.used = [Some(0), None];
        if self.data.hit(address) {
            if one_line {
                return 0;
            }
        } else {
            if !in_ram() {
                self.used = [None; 2];
                return 0;
            }
            self.data.fill(address);
            let stall_ps = self.missed(address, 0).data_ps;
            if one_line {
                return stall_ps;
            }
            return stall_ps + self.second_line(last);
        }
        self.second_line(last)
    }

    /// All caches are empty from now on; the counters go on.
    pub fn clear(&mut self) {
        self.instructions.clear();
        self.data.clear();
        for (cache, _) in &mut self.behind {
            cache.clear();
        }
        self.fetched = NOWHERE;
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

    fn second_line(&mut self, address: u64) -> u64 {
        self.used[1] = Some(0);
        if self.data.access(address) {
            return 0;
        }
        self.missed(address, 1).data_ps
    }

    /// A first-level cache has missed the first or second line of an access: the stall.
    fn missed(&mut self, address: u64, which: usize) -> Stall {
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

    fn misses(hierarchy: &Hierarchy) -> Vec<u64> {
        let levels = hierarchy.levels();
        levels.iter().map(|level| level.misses).collect()
    }

    #[test]
    fn a_line_stalls_for_the_level_that_it_comes_from() {
        let mut two = hierarchy(&[(L2, 10)]);
        assert_eq!(two.fetch(0), 100);
        assert_eq!(two.access(0, 1, || true), 10, "the second level has it");
        assert_eq!(two.access(32, 1, || true), 10, "its lines are longer");
        assert_eq!(two.access(63, 1, || true), 0);
        assert_eq!(misses(&two), [1, 2, 1]);
        let names: Vec<&str> = two.levels().iter().map(|level| level.name).collect();
        assert_eq!(names, ["L1I", "L1D", "L2"]);
        let mut one = hierarchy(&[]);
        assert_eq!((one.fetch(0), one.access(0, 8, || true)), (100, 100));
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
        assert_eq!(caches.access(28, 8, || true), 200);
        assert_eq!(caches.access(28, 8, || true), 0);
        assert_eq!(caches.access(60, 8, || true), 100);
        assert_eq!(caches.access(28, 4, || true), 0);
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
            caches.access(address, 8, || in_ram);
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
            assert_eq!(caches.access(0, 4, || false), 0);
        }
        assert!(caches.levels().iter().all(|level| level.accesses == 0));
        assert_eq!(caches.access(0, 4, || true), 100);
        assert_eq!(caches.access(4, 4, || panic!("not asked")), 0);
    }

    #[test]
    fn data_may_stall_for_less_than_instructions() {
        let stall = |fetch_ps, data_ps| Stall { fetch_ps, data_ps };
        let mut caches = made_of(&Parameters {
            ram: stall(100, 60),
            ..parameters(&[(L2, stall(10, 0))])
        });
        assert_eq!((caches.fetch(0), caches.access(0, 1, || true)), (100, 0));
        assert_eq!((caches.access(64, 1, || true), caches.fetch(64)), (60, 10));
        assert_eq!(caches.read_register(), 7);
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
            caches.access(0, 1, || true);
            caches.fetch(0);
            caches.access(64, 1, || true);
            caches.device_wrote(8);
            let again = [
                caches.access(0, 1, || true),
                caches.fetch(0),
                caches.access(64, 1, || true),
            ];
            assert_eq!(again, stalls, "{device_writes:?}");
        }
    }

    #[test]
    fn cleared_caches_are_cold() {
        let mut caches = hierarchy(&[(L2, 10)]);
        caches.fetch(0);
        caches.access(0, 1, || true);
        caches.clear();
        assert_eq!((caches.fetch(0), caches.access(64, 1, || true)), (100, 100));
    }

    #[test]
    fn counts_are_differences() {
        let level = |accesses, misses| Level {
            name: "L1I",
            accesses,
            misses,
        };
        let counts = |stall_ps: u64, caches| Counts {
            stall_ps,
            charged_ps: -(stall_ps as i64),
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
}
