// SPDX-License-Identifier: GPL-2.0-or-later
//! A made-up machine executes made-up blocks: contexts, stacks and sums, without QEMU.

use super::access::{Access, Space};
use super::map::{Addresses, KERNEL_BASE};
use super::tree::{Context, IoRow, Row};
use super::{Block, Ending, Profile, Profiler};

const SIZE: u64 = 0x100;

const NAMES: [&str; 14] = [
    "stub", "common", "timer", "fault", "softirq", "idle", "switch", "schedule", "poll", "rx",
    "tx", "handler", "syscall", "cold",
];

fn address(name: &str) -> u64 {
    if name == "user" {
        return 0;
    }
    let at = NAMES.iter().position(|known| *known == name);
    KERNEL_BASE + SIZE * (1 + at.expect("a function's name") as u64)
}

/// Executes blocks of ten instructions.
struct Machine {
    profiler: Profiler,
    counter: u64,
}

impl Machine {
    fn new() -> Self {
        let addresses = Addresses {
            functions: NAMES.iter().map(|name| address(name)).collect(),
            vectors: vec![address("stub")],
            interrupt: vec![address("common"), address("timer")],
            exception: vec![address("fault")],
            softirq: vec![address("softirq")],
            idle: vec![address("idle")],
            switch: vec![address("switch")],
        };
        let mut profiler = Profiler::new(&addresses, 1, 0).expect("addresses are in order");
        profiler.window(true, 0);
        Machine {
            profiler,
            counter: 0,
        }
    }

    /// Executes a block of `name` at `offset` that ends so; `executed` of its ten instructions are begun.
    fn cut(&mut self, name: &str, offset: u64, ending: Ending, executed: u64) -> &mut Self {
        let start = address(name) + offset;
        let mut block = Block {
            start,
            after: start + 0x10,
            instructions: 10,
            ending,
            function: 0,
            first: false,
        };
        block.place(self.profiler.map());
        self.profiler.enter(0, &block, self.counter);
        self.counter += executed;
        self
    }

    fn run(&mut self, name: &str, offset: u64, ending: Ending) -> &mut Self {
        self.cut(name, offset, ending, 10)
    }

    fn result(&mut self) -> Profile {
        self.profiler.window(false, self.counter);
        let profile = self.profiler.result();
        let sum: u64 = profile.nodes.iter().map(|row| row.3).sum();
        assert_eq!(sum, profile.instructions);
        profile
    }

    /// Every stack with its context, its instructions and its entries.
    fn stacks(&mut self) -> Vec<(String, Context, u64, u64)> {
        let mut names: Vec<String> = Vec::new();
        let mut stacks = Vec::new();
        for Row(parent, start, context, instructions, entries) in self.result().nodes {
            let own = if start == 0 {
                "user"
            } else {
                NAMES[((start - KERNEL_BASE) / SIZE - 1) as usize]
            };
            let name = if parent < 0 {
                own.to_string()
            } else {
                format!("{} {own}", names[parent as usize])
            };
            names.push(name.clone());
            stacks.push((name, context, instructions, entries));
        }
        stacks
    }

    #[track_caller]
    fn expect(&mut self, expected: &[(&str, Context, u64, u64)]) {
        let found = self.stacks();
        let expected: Vec<_> = expected
            .iter()
            .map(|(name, context, instructions, entries)| {
                (name.to_string(), *context, *instructions, *entries)
            })
            .collect();
        assert_eq!(found, expected);
    }
}

use Context::{HardIrq, Idle, Process, Softirq};
use Ending::{Call, InterruptReturn, Other, Return};

#[test]
fn calls_nest_and_returns_go_back() {
    let mut machine = Machine::new();
    machine
        .run("poll", 0, Call)
        .run("rx", 0, Call)
        .run("tx", 0, Return)
        .run("rx", 0x10, Return)
        .run("poll", 0x10, Call)
        .run("tx", 0, Return)
        .run("poll", 0x20, Other);
    machine.expect(&[
        ("poll", Process, 30, 1),
        ("poll rx", Process, 20, 1),
        ("poll rx tx", Process, 10, 1),
        ("poll tx", Process, 10, 1),
    ]);
    assert_eq!(machine.result().lost, 0);
}

#[test]
fn a_jump_takes_the_callers_place_and_returns_where_it_would_have() {
    let mut machine = Machine::new();
    machine
        .run("poll", 0, Call)
        .run("rx", 0, Other)
        .run("tx", 0, Return)
        .run("poll", 0x10, Call)
        .run("rx", 0, Other)
        .run("cold", 0x20, Other)
        .run("rx", 0x10, Return)
        .run("poll", 0x20, Other);
    machine.expect(&[
        ("poll", Process, 30, 1),
        ("poll rx", Process, 30, 2),
        ("poll tx", Process, 10, 1),
        ("poll cold", Process, 10, 0),
    ]);
}

#[test]
fn a_loop_back_to_a_functions_first_block_does_not_enter_it_again() {
    let mut machine = Machine::new();
    machine
        .run("poll", 0, Call)
        .run("rx", 0, Other)
        .run("rx", 0, Return)
        .run("poll", 0x10, Other);
    machine.expect(&[("poll", Process, 20, 1), ("poll rx", Process, 20, 1)]);
}

#[test]
fn an_interrupt_is_a_stack_of_its_own_and_leaves_none_behind() {
    let mut machine = Machine::new();
    machine
        .run("poll", 0, Call) // interrupted between call and callee
        .run("stub", 0x18, Other)
        .run("common", 0, Call)
        .run("handler", 0, Return)
        .run("common", 0x10, InterruptReturn)
        .run("rx", 0, Return) // interrupted between return and caller
        .run("stub", 0x20, Other)
        .run("common", 0, Call)
        .run("handler", 0, Return)
        .run("common", 0x10, InterruptReturn)
        .run("poll", 0x10, Other);
    machine.expect(&[
        ("stub", HardIrq, 20, 2),
        ("stub common", HardIrq, 40, 0),
        ("stub common handler", HardIrq, 20, 2),
        ("poll", Process, 20, 1),
        ("poll rx", Process, 10, 1),
    ]);
    assert_eq!(machine.result().lost, 0);
}

#[test]
fn entry_code_that_has_called_something_is_not_entered_again() {
    let mut machine = Machine::new();
    machine
        .run("poll", 0, Other)
        .run("timer", 0, Call)
        .run("tx", 0, Return)
        .run("timer", 0x10, Call)
        .run("handler", 0, Return)
        .run("timer", 0x20, InterruptReturn)
        .run("poll", 0x10, Other);
    machine.expect(&[
        ("timer", HardIrq, 30, 1),
        ("timer tx", HardIrq, 10, 1),
        ("timer handler", HardIrq, 10, 1),
        ("poll", Process, 20, 1),
    ]);
}

#[test]
fn softirqs_on_the_way_out_of_an_interrupt_are_interrupted_themselves() {
    let mut machine = Machine::new();
    machine
        .run("poll", 0, Other)
        .run("stub", 0, Other)
        .run("common", 0, Call)
        .run("softirq", 0, Call)
        .run("rx", 0, Other)
        .run("stub", 0, Other) // a second interrupt
        .run("common", 0, Call)
        .run("handler", 0, Return)
        .run("common", 0x10, InterruptReturn)
        .run("rx", 0x10, Return)
        .run("softirq", 0x10, Return)
        .run("common", 0x10, InterruptReturn)
        .run("poll", 0x10, Other);
    machine.expect(&[
        ("stub", HardIrq, 20, 2),
        ("stub common", HardIrq, 40, 0),
        ("stub common softirq", Softirq, 20, 1),
        ("stub common softirq rx", Softirq, 20, 1),
        ("stub common handler", HardIrq, 10, 1),
        ("poll", Process, 20, 1),
    ]);
}

#[test]
fn an_instruction_at_fault_counts_once() {
    let mut machine = Machine::new();
    machine
        .cut("rx", 0, Return, 4) // the fourth faults
        .run("fault", 0, Call)
        .run("handler", 0, Return)
        .run("fault", 0x10, InterruptReturn)
        .cut("rx", 0x3, Return, 7)
        .run("rx", 0x20, Other);
    machine.expect(&[
        ("rx", Process, 3 + 7 + 10, 1),
        ("rx fault", Process, 20, 1),
        ("rx fault handler", Process, 10, 1),
    ]);
}

#[test]
fn a_block_cut_short_by_a_device_goes_on_where_it_was() {
    let mut machine = Machine::new();
    machine
        .run("poll", 0, Call)
        .cut("rx", 0, Return, 3) // a device was accessed; the return is yet to come
        .run("rx", 0x8, Return)
        .run("poll", 0x10, Other);
    machine.expect(&[("poll", Process, 20, 1), ("poll rx", Process, 13, 1)]);
    assert_eq!(machine.result().lost, 0);
}

#[test]
fn a_switch_begins_anew_and_the_idle_task_is_known() {
    let mut machine = Machine::new();
    machine
        .run("poll", 0, Call)
        .run("schedule", 0, Call)
        .run("switch", 0, Return)
        .run("schedule", 0x10, Return) // in the idle task
        .run("idle", 0x40, Other)
        .run("stub", 0, Other)
        .run("common", 0, InterruptReturn)
        .run("idle", 0x50, Call)
        .run("schedule", 0, Call)
        .run("switch", 0, Return)
        .run("schedule", 0x10, Return) // in a task that is not known
        .run("poll", 0x10, Other);
    machine.expect(&[
        ("stub", HardIrq, 10, 1),
        ("stub common", HardIrq, 10, 0),
        ("idle", Idle, 20, 0),
        ("idle schedule", Idle, 10, 1),
        ("switch", Process, 20, 2),
        ("schedule", Process, 20, 0),
        ("poll", Process, 20, 1),
        ("poll schedule", Process, 10, 1),
    ]);
    assert_eq!(machine.result().lost, 0);
}

#[test]
fn user_space_is_one_function_and_the_kernel_is_entered_from_it() {
    let mut machine = Machine::new();
    machine
        .run("user", 0x40_0000, Call)
        .run("user", 0x50_0000, Other)
        .run("syscall", 0, Call)
        .run("tx", 0, Return)
        .run("syscall", 0x10, Other)
        .run("user", 0x50_0010, Other)
        .run("timer", 0, InterruptReturn)
        .run("user", 0x50_0020, Return);
    machine.expect(&[
        ("user", Process, 40, 0),
        ("timer", HardIrq, 10, 1),
        ("syscall", Process, 20, 1),
        ("syscall tx", Process, 10, 1),
    ]);
}

#[test]
fn a_return_to_nowhere_is_noted_and_the_context_kept() {
    let mut machine = Machine::new();
    machine
        .run("softirq", 0, Call)
        .run("rx", 0, Call)
        .run("tx", 0, Return)
        .run("poll", 0x30, Return)
        .run("softirq", 0x10, Other);
    machine.expect(&[
        ("softirq", Softirq, 20, 1),
        ("softirq poll", Softirq, 10, 0),
        ("softirq rx", Softirq, 10, 1),
        ("softirq rx tx", Softirq, 10, 1),
    ]);
    assert_eq!(machine.result().lost, 1);
}

#[test]
fn endless_calls_do_not_fill_the_memory() {
    let mut machine = Machine::new();
    for _ in 0..10_000 {
        machine.run("rx", 0, Call);
    }
    let profile = machine.result();
    assert_eq!(profile.instructions, 100_000);
    assert!(profile.nodes.len() < 250);
    assert!(profile.lost > 0);
}

#[test]
fn only_the_window_counts_and_the_next_one_begins_from_nothing() {
    let mut machine = Machine::new();
    machine.run("poll", 0, Other);
    let counter = machine.counter;
    machine.profiler.window(false, counter);
    machine.run("rx", 0, Other).run("tx", 0, Other);
    // In the middle of a block.
    let counter = machine.counter - 4;
    machine.profiler.window(true, counter);
    machine.run("poll", 0x10, Other);
    machine.expect(&[("poll", Process, 10, 0), ("tx", Process, 4, 0)]);
}

#[test]
fn an_empty_window_has_no_nodes() {
    let mut machine = Machine::new();
    assert_eq!(machine.result().nodes, []);
}

#[test]
fn accesses_to_devices_are_those_of_the_function_and_of_the_window() {
    let register = |write| Access {
        space: Space::Mmio,
        address: 0xfebf_003e,
        write,
    };
    let port = Access {
        space: Space::Port,
        address: 0,
        write: true,
    };
    let mut machine = Machine::new();
    machine.run("poll", 0, Call);
    machine.profiler.accessed(register(false));
    machine.run("rx", 0, Return);
    for access in [register(false), register(true), register(false), port] {
        machine.profiler.accessed(access);
    }
    let profile = machine.result();
    let place = |name| {
        let found = profile.nodes.iter().position(|row| row.1 == address(name));
        found.expect("a node") as i64
    };
    assert_eq!(
        profile.io,
        [
            IoRow(place("poll"), Space::Mmio, 0xfebf_003e, 1, 0),
            IoRow(place("rx"), Space::Mmio, 0xfebf_003e, 2, 1),
            IoRow(place("rx"), Space::Port, 0, 0, 1),
        ]
    );
    // Outside the window nothing counts, and the next one begins from nothing.
    machine.profiler.accessed(port);
    let counter = machine.counter;
    machine.profiler.window(true, counter);
    assert_eq!(machine.result().io, []);
}

#[test]
fn what_several_processors_execute_is_told_apart() -> Result<(), String> {
    let addresses = Addresses {
        functions: NAMES.iter().map(|name| address(name)).collect(),
        vectors: vec![address("stub")],
        interrupt: vec![address("common")],
        exception: vec![address("fault")],
        softirq: vec![address("softirq")],
        idle: vec![address("idle")],
        switch: vec![address("switch")],
    };
    let mut profiler = Profiler::new(&addresses, 2, 0)?;
    profiler.window(true, 0);
    let mut counter = 0;
    // The second one calls; the first one's block in between does not matter to that, nor that it is cut short there.
    for (processor, name, ending, executed) in [
        (0, "poll", Ending::Other, 4),
        (1, "rx", Ending::Call, 10),
        (0, "poll", Ending::Other, 6),
        (1, "tx", Ending::Other, 10),
    ] {
        let start = address(name);
        let mut block = Block {
            start,
            after: start + 0x10,
            instructions: executed,
            ending,
            function: 0,
            first: false,
        };
        block.place(profiler.map());
        profiler.enter(processor, &block, counter);
        counter += executed;
    }
    profiler.window(false, counter);
    let found = profiler.result();
    let process = Context::Process;
    let expected = [
        Row(-1, 1, process, 0, 0),
        Row(0, address("poll"), process, 10, 1),
        Row(-1, 2, process, 0, 0),
        Row(2, address("rx"), process, 10, 1),
        Row(3, address("tx"), process, 10, 1),
    ];
    assert_eq!(found.nodes, expected);
    assert_eq!(found.instructions, 30);
    Ok(())
}
