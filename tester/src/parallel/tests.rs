// SPDX-License-Identifier: GPL-2.0-or-later
use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

#[test]
fn two_processors_run_through_the_same_time() {
    let mut both = Processors::new(2, 1_000, 5_000);
    assert_eq!((both.count(), both.begin(5_000)), (2, 5_000));
    assert_eq!((both.turn(0), both.is_halted(0)), (None, true));
    both.wakes(0, 5_000);
    both.wakes(1, 5_000);
    let whole = Some(Turn {
        from_ns: 5_000,
        until_ns: 6_000,
    });
    assert_eq!([both.turn(0), both.turn(1)], [whole, whole]);
    assert_eq!(both.ran(0, 6_000, false), 5_000, "the other one is behind");
    assert_eq!([both.turn(0), both.turn(1)], [None, whole]);
    assert_eq!(both.ran(1, 5_400, false), 5_400);
    assert_eq!(both.begin(5_400), 5_400);
    assert_eq!(both.turn(0), None, "the round has not ended");
    assert_eq!(both.ran(1, 6_000, false), 6_000);
    assert_eq!(both.begin(6_000), 6_000);
    assert!(both.turn(0).is_some_and(|turn| turn.until_ns == 7_000));
}

#[test]
fn a_halted_processor_holds_nobody_up_and_its_idle_time_counts() {
    let mut both = Processors::new(2, 1_000, 0);
    both.wakes(0, 0);
    both.begin(0);
    assert_eq!(both.ran(0, 1_000, false), 1_000);
    both.wakes(1, 700);
    both.wakes(1, 900);
    assert_eq!(both.begin(1_000), 700, "it begins when it was woken");
    assert_eq!(both.ran(1, 800, true), 1_000);
    assert_eq!(both.ran(0, 1_000, true), 1_000);
    assert_eq!(both.begin(4_000), 4_000, "idle time was skipped");
    let spent = |busy_ns, idle_ns| Spent { busy_ns, idle_ns };
    assert_eq!(both.spent(4_000), [spent(1_000, 3_000), spent(100, 3_900)]);
}

#[test]
fn when_all_have_halted_the_clock_is_that_of_the_last_one() {
    let mut both = Processors::new(2, 1_000, 0);
    both.wakes(0, 0);
    both.wakes(1, 0);
    both.begin(0);
    assert_eq!(both.ran(0, 900, true), 0);
    assert_eq!(both.ran(1, 400, true), 400, "a timer at 500 is not late");
    both.wakes(0, 500);
    assert_eq!(both.begin(500), 900, "but nobody executes a time twice");
}

/// What a processor does: executes for so long, and then this.
#[derive(Clone, Debug)]
enum Then {
    Halts,
    /// A timer that runs so much later, and wakes a processor.
    Arms(u64, usize),
    Wakes(usize),
}

type Program = VecDeque<(u64, Then)>;

/// Runs programs as QEMU does, and returns when each of their steps was over: (processor, ns). Each halted processor is woken by a
/// timer at the latest after 10 us.
fn simulate(mut programs: Vec<Program>, quantum_ns: u64) -> (Vec<(usize, u64)>, Processors, u64) {
    let count = programs.len();
    let mut processors = Processors::new(count, quantum_ns, 0);
    let mut timers: Vec<(u64, usize)> = (0..count).map(|one| (10, one)).collect();
    let mut steps = Vec::new();
    let (mut now_ns, mut passes) = (0, 0);
    loop {
        passes += 1;
        assert!(passes < 100_000, "somebody starves");
        now_ns = processors.begin(now_ns);
        let behind = |one: usize| {
            processors
                .turn(one)
                .is_some_and(|turn| turn.from_ns < now_ns)
        };
        assert!(
            !(0..count).any(behind),
            "a timer would run before all have reached it"
        );
        let (due, later): (Vec<_>, Vec<_>) = timers.iter().partition(|timer| timer.0 <= now_ns);
        timers = later;
        due.iter()
            .for_each(|timer| processors.wakes(timer.1, now_ns));
        for one in 0..count {
            let Some(turn) = processors.turn(one) else {
                continue;
            };
            let next_ns = timers.iter().map(|timer| timer.0).min();
            let until_ns = next_ns.map_or(turn.until_ns, |next_ns| next_ns.min(turn.until_ns));
            if until_ns <= turn.from_ns {
                continue; // a timer is due that others have not reached
            }
            let Some((left_ns, then)) = programs[one].pop_front() else {
                now_ns = processors.ran(one, turn.from_ns, true);
                continue;
            };
            let can_ns = until_ns - turn.from_ns;
            if left_ns > can_ns {
                programs[one].push_front((left_ns - can_ns, then));
                now_ns = processors.ran(one, until_ns, false);
                continue;
            }
            let at_ns = turn.from_ns + left_ns;
            steps.push((one, at_ns));
            let halts = matches!(then, Then::Halts);
            match then {
                Then::Halts => timers.push((at_ns + 10_000, one)),
                Then::Arms(later_ns, whom) => timers.push((at_ns + later_ns, whom % count)),
                Then::Wakes(whom) => processors.wakes(whom % count, at_ns),
            }
            now_ns = processors.ran(one, at_ns, halts);
        }
        if (0..count).all(|one| processors.is_halted(one)) {
            let Some(next_ns) = timers.iter().map(|timer| timer.0).min() else {
                return (steps, processors, now_ns);
            };
            now_ns = now_ns.max(next_ns);
        }
    }
}

/// One processor without rounds: it executes, and halts until the next timer.
fn alone(program: Program) -> Vec<(usize, u64)> {
    let (mut now_ns, mut timers, mut steps) = (10, Vec::new(), Vec::new());
    for (left_ns, then) in program {
        timers.retain(|at_ns| *at_ns > now_ns);
        now_ns += left_ns;
        steps.push((0, now_ns));
        timers.retain(|at_ns| *at_ns >= now_ns);
        match then {
            Then::Arms(later_ns, _) => timers.push(now_ns + later_ns),
            Then::Halts => {
                timers.push(now_ns + 10_000);
                now_ns = timers.iter().copied().min().unwrap_or(now_ns);
            }
            Then::Wakes(_) => {}
        }
    }
    steps
}

fn program() -> impl Strategy<Value = Program> {
    let then = prop_oneof![
        Just(Then::Halts),
        (0..5_000_u64, 0..4_usize).prop_map(|(later_ns, whom)| Then::Arms(later_ns, whom)),
        (0..4_usize).prop_map(Then::Wakes),
    ];
    prop::collection::vec((0..6_000_u64, then), 0..30).prop_map(VecDeque::from)
}

proptest! {
    #[test]
    fn nobody_passes_a_timer_or_starves_and_times_add_up(
        programs in prop::collection::vec(program(), 1..5), quantum_ns in 1..20_000_u64
    ) {
        let all: usize = programs.iter().map(VecDeque::len).sum();
        let executed: Vec<u64> = programs.iter().map(|one| one.iter().map(|step| step.0).sum()).collect();
        let (steps, processors, end_ns) = simulate(programs.clone(), quantum_ns.max(50));
        prop_assert_eq!(steps.len(), all);
        for (one, spent) in processors.spent(end_ns).iter().enumerate() {
            prop_assert_eq!(spent.busy_ns, executed[one]);
            prop_assert!(spent.busy_ns + spent.idle_ns >= end_ns);
            prop_assert!(spent.busy_ns + spent.idle_ns <= end_ns + quantum_ns.max(50));
        }
        let (again, ..) = simulate(programs, quantum_ns.max(50));
        prop_assert_eq!(steps, again);
    }

    #[test]
    fn one_processor_alone_is_as_without_rounds(program in program(), quantum_ns in 50..20_000_u64) {
        let (steps, ..) = simulate(vec![program.clone()], quantum_ns);
        prop_assert_eq!(steps, alone(program));
    }
}
