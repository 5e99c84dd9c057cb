// SPDX-License-Identifier: GPL-2.0-or-later
//! Stalls of fetches and accesses, one after the other; short cuts against the long way.

use proptest::prelude::*;

use super::super::{store_buffer, tlb};
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
