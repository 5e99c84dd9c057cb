// SPDX-License-Identifier: GPL-2.0-or-later
use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

fn turn(processor: usize, from_ns: u64, until_ns: u64) -> Option<Turn> {
    Some(Turn {
        processor,
        from_ns,
        until_ns: Some(until_ns),
    })
}

/// So many processors that begin at this time.
fn awake(count: usize, at_ns: u64) -> Processors {
    let mut all = Processors::new(count, 1_000, at_ns);
    (0..count).for_each(|one| all.wakes(one, at_ns));
    all.begin(at_ns);
    all
}

#[test]
fn two_processors_run_through_the_same_time() {
    let mut both = Processors::new(2, 1_000, 5_000);
    assert_eq!((both.count(), both.begin(5_000)), (2, 5_000));
    assert_eq!((both.choose(None), both.is_halted(0)), (None, true));
    let mut both = awake(2, 5_000);
    assert_eq!(both.choose(None), turn(0, 5_000, 6_000));
    assert_eq!(both.ran(6_000, false), 5_000, "the other one is behind");
    assert_eq!(both.choose(Some(5_400)), turn(1, 5_000, 5_400));
    assert_eq!(both.ran(5_400, false), 5_400);
    assert_eq!(both.choose(Some(5_400)), None, "a timer is due");
    assert_eq!(both.choose(None), turn(1, 5_400, 6_000));
    assert_eq!(both.ran(6_000, false), 6_000);
    assert_eq!(both.choose(None), None, "the round has ended");
    assert_eq!(both.begin(6_000), 6_000);
    assert_eq!(both.choose(None), turn(0, 6_000, 7_000));
}

#[test]
fn a_turn_that_was_cut_short_goes_on_first() {
    let mut both = awake(2, 0);
    assert_eq!(both.choose(None), turn(0, 0, 1_000));
    both.ran(1_000, false);
    assert_eq!(both.choose(None), turn(1, 0, 1_000));
    both.ran(1_000, false);
    assert_eq!(both.begin(1_000), 1_000);
    both.choose(None);
    both.ran(1_300, false);
    assert_eq!(
        both.choose(None),
        turn(0, 1_300, 2_000),
        "not the other one"
    );
    both.ran(1_400, true);
    assert_eq!(
        both.choose(None),
        Some(Turn {
            processor: 1,
            from_ns: 1_000,
            until_ns: None
        }),
        "it is alone"
    );
}

#[test]
fn a_called_processor_begins_when_it_was_called() {
    let mut both = Processors::new(2, 1_000, 0);
    both.wakes(0, 0);
    both.begin(0);
    assert_eq!(
        both.choose(Some(9_000)),
        turn(0, 0, 9_000),
        "alone, it needs no rounds"
    );
    assert!(both.call(1, 4_700));
    assert!(both.call(1, 4_800), "the first time counts");
    assert_eq!(both.ran(4_900, false), 4_900);
    both.wakes(1, 4_900);
    assert!(!both.call(1, 4_900), "it is awake");
    assert_eq!(both.begin(4_900), 4_700);
    assert_eq!(both.choose(Some(9_000)), turn(0, 4_900, 5_700));
    both.ran(5_700, false);
    assert_eq!(both.choose(Some(9_000)), turn(1, 4_700, 5_700));
    both.ran(5_000, true);
    both.call(1, 5_100);
    both.sleeps(1);
    both.wakes(1, 5_200);
    assert_eq!(
        both.begin(5_700),
        5_200,
        "a call that changed nothing is forgotten"
    );
    let spent = |busy_ns, idle_ns| Spent { busy_ns, idle_ns };
    assert_eq!(both.spent(5_700), [spent(5_700, 0), spent(300, 4_900)]);
}

#[test]
fn a_halted_processor_holds_nobody_up_and_its_idle_time_counts() {
    let mut both = awake(2, 0);
    both.choose(None);
    both.ran(1_000, false);
    both.choose(None);
    assert_eq!(both.ran(100, true), 1_000);
    both.choose(Some(1_500));
    assert_eq!(both.ran(1_200, true), 1_200);
    assert_eq!(both.begin(4_000), 4_000, "idle time was skipped");
    let spent = |busy_ns, idle_ns| Spent { busy_ns, idle_ns };
    assert_eq!(both.spent(4_000), [spent(1_200, 2_800), spent(100, 3_900)]);
}

#[test]
fn a_stopped_processor_goes_on_after_its_time_or_when_the_others_halt() {
    let mut both = awake(2, 0);
    both.choose(None);
    both.ran(300, false);
    both.stop(0, 5_000);
    assert_eq!(both.begin(0), 0);
    assert_eq!(
        both.choose(Some(9_000)),
        turn(1, 0, 5_300),
        "alone, until the other one goes on"
    );
    both.ran(5_300, false);
    assert_eq!(both.begin(5_300), 5_300);
    assert_eq!(both.choose(None), turn(0, 5_300, 6_300));
    both.stop(0, 5_000);
    assert_eq!(both.choose(None).map(|turn| turn.processor), Some(1));
    assert_eq!(both.ran(5_900, true), 5_900);
    assert_eq!(both.choose(None), None);
    assert_eq!(both.begin(5_900), 5_900);
    assert_eq!(both.choose(Some(7_000)), turn(0, 5_900, 7_000));
    both.ran(6_000, true);
    both.stop(0, 5_000);
    let spent = |busy_ns, idle_ns| Spent { busy_ns, idle_ns };
    assert_eq!(both.begin(6_000), 6_000, "who is halted does not stop");
    assert_eq!(both.spent(6_000), [spent(400, 5_600), spent(5_900, 100)]);
}

#[test]
fn when_all_have_halted_the_clock_is_that_of_the_last_one() {
    let mut both = awake(2, 0);
    both.choose(None);
    assert_eq!(both.ran(900, true), 0);
    both.choose(None);
    assert_eq!(both.ran(400, true), 400, "a timer at 500 is not late");
    both.wakes(0, 500);
    assert_eq!(both.begin(500), 900, "but nobody executes a time twice");
    both.reset(7_000);
    assert!(both.is_halted(0) && both.turn().is_none());
    assert_eq!(both.spent(7_000), [Spent::default(); 2]);
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
/// timer at the latest after 10 us. `cuts`: after so much of a turn it is cut short, again and again; 0: as long as it lasts.
fn simulate(
    mut programs: Vec<Program>,
    quantum_ns: u64,
    mut cuts: VecDeque<u64>,
) -> (Vec<(usize, u64)>, Processors, u64) {
    let count = programs.len();
    let mut processors = Processors::new(count, quantum_ns, 0);
    let mut timers: Vec<(u64, usize)> = (0..count).map(|one| (10, one)).collect();
    let mut steps = Vec::new();
    let (mut now_ns, mut passes) = (0, 0);
    loop {
        passes += 1;
        assert!(passes < 100_000, "somebody starves");
        now_ns = processors.begin(now_ns);
        let (due, later): (Vec<_>, Vec<_>) = timers.iter().partition(|timer| timer.0 <= now_ns);
        timers = later;
        due.iter()
            .for_each(|timer| processors.wakes(timer.1, now_ns));
        loop {
            let next_ns = timers.iter().map(|timer| timer.0.max(now_ns)).min();
            let Some(turn) = processors.choose(next_ns) else {
                break;
            };
            let one = turn.processor;
            assert!(
                turn.from_ns >= now_ns,
                "a timer ran before all had reached it"
            );
            let Some((left_ns, then)) = programs[one].pop_front() else {
                now_ns = processors.ran(turn.from_ns, true);
                continue;
            };
            let can_ns = turn
                .until_ns
                .map_or(u64::MAX, |until_ns| until_ns - turn.from_ns);
            let cut_ns = cuts
                .pop_front()
                .filter(|cut_ns| *cut_ns > 0)
                .unwrap_or(can_ns);
            let can_ns = can_ns.min(cut_ns);
            if left_ns > can_ns {
                programs[one].push_front((left_ns - can_ns, then));
                now_ns = processors.ran(turn.from_ns + can_ns, false);
                continue;
            }
            let at_ns = turn.from_ns + left_ns;
            steps.push((one, at_ns));
            let halts = matches!(then, Then::Halts);
            let mut called = None;
            match then {
                Then::Halts => timers.push((at_ns + 10_000, one)),
                Then::Arms(later_ns, whom) => timers.push((at_ns + later_ns, whom % count)),
                Then::Wakes(whom) => {
                    called = processors.call(whom % count, at_ns).then_some(whom % count)
                }
            }
            now_ns = processors.ran(at_ns, halts);
            if let Some(whom) = called {
                processors.wakes(whom, at_ns + 1);
            }
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
        programs in prop::collection::vec(program(), 1..5), quantum_ns in 50..20_000_u64
    ) {
        let all: usize = programs.iter().map(VecDeque::len).sum();
        let executed: Vec<u64> = programs.iter().map(|one| one.iter().map(|step| step.0).sum()).collect();
        let (steps, processors, end_ns) = simulate(programs, quantum_ns, VecDeque::new());
        prop_assert_eq!(steps.len(), all);
        for (one, spent) in processors.spent(end_ns).iter().enumerate() {
            prop_assert_eq!(spent.busy_ns, executed[one]);
            prop_assert!(spent.busy_ns + spent.idle_ns >= end_ns);
            prop_assert!(spent.busy_ns + spent.idle_ns <= end_ns + quantum_ns);
        }
    }

    #[test]
    fn it_does_not_matter_who_cuts_turns_short(
        programs in prop::collection::vec(program(), 1..5),
        quantum_ns in 50..20_000_u64,
        cuts in prop::collection::vec(0..3_000_u64, 0..200)
    ) {
        let (steps, ..) = simulate(programs.clone(), quantum_ns, VecDeque::new());
        let (cut, ..) = simulate(programs, quantum_ns, cuts.into());
        prop_assert_eq!(steps, cut);
    }

    #[test]
    fn one_processor_alone_is_as_without_rounds(program in program(), quantum_ns in 50..20_000_u64) {
        let (steps, ..) = simulate(vec![program.clone()], quantum_ns, VecDeque::new());
        prop_assert_eq!(steps, alone(program));
    }
}
