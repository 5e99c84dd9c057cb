// SPDX-License-Identifier: GPL-2.0-or-later
use super::super::cache::Geometry;
use super::super::parameters::{DeviceWrites, Parameters, Stall};
use super::*;

const DATA: u64 = KERNEL + 0x1000;
const USER: u64 = 0x1000;
const L2_PS: u64 = 5_000;
const L3_PS: u64 = 20_000;
const RAM_PS: u64 = 80_000;

/// So many levels behind the first.
fn processors(count: usize, behind: usize) -> Processors {
    let geometry = |bytes| Geometry {
        bytes,
        ways: 2,
        line_bytes: 64,
    };
    let stall = |ps| Stall {
        fetch_ps: ps,
        data_ps: ps,
    };
    let levels = [
        (geometry(8192), stall(L2_PS)),
        (geometry(65_536), stall(L3_PS)),
    ];
    let parameters = Parameters {
        instructions: geometry(1024),
        data: geometry(1024),
        behind: levels[..behind].to_vec(),
        ram: stall(RAM_PS),
        device_writes: DeviceWrites::Invalidate,
        register_ps: 0,
        tlbs: None,
        store_buffer: None,
        interrupt_ps: 0,
        instruction_ps: None,
    };
    Processors::new(&parameters, count).unwrap_or_else(|why| panic!("{why}"))
}

/// A processor uses a line: the stall in ps, and who had taken the line away.
fn uses(all: &mut Processors, processor: usize, address: u64, store: bool) -> (u64, Option<u32>) {
    all.run(processor);
    let (told_ps, lost) = all.agree(address, processor as u32, store, false);
    let ps = if all.access_again(address, 8, store) {
        0
    } else {
        all.access_another(address, 8, store, || true)
    };
    (told_ps + ps, lost.map(|write| write.user))
}

#[test]
fn the_last_level_is_shared() {
    let mut two = processors(2, 2);
    assert_eq!(uses(&mut two, 0, DATA, false), (RAM_PS, None));
    assert_eq!(uses(&mut two, 1, DATA, false), (L3_PS, None));
    let mut two = processors(2, 1);
    uses(&mut two, 0, DATA, false);
    assert_eq!(uses(&mut two, 1, DATA, false), (L2_PS, None));
    let misses: Vec<u64> = two.levels().iter().map(|level| level.misses).collect();
    assert_eq!(misses, [0, 2, 1], "L1I, L1D of both, L2 once");
}

#[test]
fn a_line_that_another_one_wrote_is_a_miss() {
    let mut two = processors(2, 2);
    uses(&mut two, 0, DATA, false);
    uses(&mut two, 1, DATA, false);
    assert_eq!(uses(&mut two, 0, DATA, false), (0, None));
    assert_eq!(
        uses(&mut two, 1, DATA + 8, true),
        (L3_PS, None),
        "the other one is told"
    );
    assert_eq!(uses(&mut two, 1, DATA, true), (0, None));
    assert_eq!(
        uses(&mut two, 0, DATA, false),
        (L3_PS, Some(1)),
        "not from its own L2"
    );
    assert_eq!(uses(&mut two, 0, DATA, false), (0, None));
    assert_eq!(two.stalls().store, L3_PS);
}

#[test]
fn a_line_bounces_between_two_that_write() {
    let mut two = processors(2, 1);
    uses(&mut two, 0, DATA, true);
    for _ in 0..3 {
        uses(&mut two, 1, DATA, true);
        assert_eq!(uses(&mut two, 0, DATA, true), (L2_PS, Some(1)));
    }
}

#[test]
fn lines_of_processes_and_of_a_single_processor_are_not_shared() {
    let mut two = processors(2, 1);
    uses(&mut two, 0, USER, false);
    uses(&mut two, 1, USER, true);
    assert_eq!(uses(&mut two, 0, USER, false), (0, None));
    let mut one = processors(1, 1);
    assert!(!one.several());
    assert_eq!(one.agree(DATA, 0, true, true), (0, None));
    one.run(0);
    assert_eq!(one.running(), 0);
}

#[test]
fn what_a_device_writes_all_miss() {
    let mut two = processors(2, 1);
    uses(&mut two, 0, DATA, false);
    uses(&mut two, 1, DATA, false);
    two.device_wrote(DATA);
    for (processor, ps) in [(0, RAM_PS), (1, L2_PS)] {
        assert_eq!(uses(&mut two, processor, DATA, false), (ps, None));
    }
    two.clear();
    assert_eq!(uses(&mut two, 0, DATA, false), (RAM_PS, None));
}
