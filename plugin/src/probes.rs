// SPDX-License-Identifier: GPL-2.0-or-later
//! Probes: when the DUT enters chosen functions, and with which first argument; and calls that fail.
//!
//! A function is entered at the beginning of a block, where the processor's [state](cpu_state) has all registers. Probes change nothing
//! in the DUT. A call that is to fail returns at once: the processor goes on after it, with the chosen value as its result.

use std::ffi::{c_uint, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::api::api;
use super::translation::Translation;
use super::{clock, cpu_state, machine, parallel};
use irqlab_tester::backend::Entry;
use irqlab_tester::refusal::Refusal;

/// Registers of [`cpu_state`].
const RAX: usize = 0;
const RSP: usize = 4;
const RDI: usize = 7;
/// No more entries are kept.
const MAX_ENTRIES: usize = 4_000_000;

/// A call that is to fail.
struct Failure {
    function: usize,
    /// How many calls succeed before it.
    after: u64,
    value: u64,
}

#[derive(Default)]
struct Probes {
    functions: Vec<u64>,
    /// (function, instructions of its first block), by the number that the block's callback has.
    blocks: Vec<(usize, u64)>,
    entries: Vec<Entry>,
    failure: Option<Failure>,
    ns_per_instruction: u64,
}

static PROBES: Mutex<Option<Probes>> = Mutex::new(None);
/// There are functions to probe: blocks are instrumented, also those that are translated between trials.
static KNOWN: AtomicBool = AtomicBool::new(false);
/// Entries are recorded, and calls fail.
static ACTIVE: AtomicBool = AtomicBool::new(false);

fn with<T>(work: impl FnOnce(&mut Probes) -> T) -> T {
    let mut guard = PROBES.lock().unwrap_or_else(|e| e.into_inner());
    work(guard.get_or_insert_default())
}

/// Probes these functions from now on, given by their addresses; none: no more.
pub fn arm(functions: &[u64], ns_per_instruction: u64) -> Result<(), Refusal> {
    let anew = with(|probes| {
        probes.entries = Vec::new();
        probes.failure = None;
        probes.ns_per_instruction = ns_per_instruction;
        let anew = !functions.is_empty() && probes.functions != functions;
        if anew {
            probes.functions = functions.to_vec();
            probes.blocks = Vec::new();
        }
        anew
    });
    KNOWN.fetch_or(!functions.is_empty(), Ordering::Relaxed);
    ACTIVE.store(!functions.is_empty(), Ordering::Relaxed);
    if functions.is_empty() {
        return Ok(());
    }
    let here = cpu_state::of(0)
        .and(api().icount_update)
        .and(api().timers_state);
    let flush = api().tb_flush.and_then(|flush| here.map(|_| flush));
    let flush = flush.ok_or_else(|| {
        Refusal::unsupported("this QEMU does not let the tester see where the processor is")
    })?;
    if anew {
        // What was translated has no probes.
        // SAFETY: processor 0 exists; QEMU does this when the processor leaves its block.
        unsafe { flush((api().qemu_get_cpu)(0)) };
    }
    Ok(())
}

/// Lets a call of a probed function fail: after so many further ones, with this result. It replaces one that has not failed yet.
pub fn fail(function: usize, after: u64, value: u64) {
    with(|probes| {
        probes.failure = Some(Failure {
            function,
            after,
            value,
        });
    });
}

/// The entries since [`arm`].
pub fn entries() -> Vec<Entry> {
    with(|probes| std::mem::take(&mut probes.entries))
}

/// Looks at a block that was translated.
pub fn watch(translation: &Translation) {
    if !KNOWN.load(Ordering::Relaxed) {
        return;
    }
    let start = translation.start();
    let number = with(|probes| {
        let function = probes.functions.iter().position(|at| *at == start)?;
        let block = (function, translation.instructions() as u64);
        let known = probes.blocks.iter().position(|other| *other == block);
        Some(known.unwrap_or_else(|| {
            probes.blocks.push(block);
            probes.blocks.len() - 1
        }))
    });
    if let Some(number) = number {
        translation.on_execution(entered, number);
    }
}

unsafe extern "C" fn entered(processor: c_uint, number: *mut c_void) {
    if !ACTIVE.load(Ordering::Relaxed) {
        return;
    }
    let processor = parallel::executing(processor);
    let Some(value) = note(processor, number as usize) else {
        return;
    };
    let Some(leave) = api().cpu_loop_exit else {
        return;
    };
    if force_return(processor, value) {
        // SAFETY: the processor's state is complete at the beginning of a block. QEMU goes on there; no destructor is skipped.
        unsafe { leave((api().qemu_get_cpu)(processor as i32)) };
    }
}

/// Records an entry. Some: the call is to return this value.
fn note(processor: c_uint, number: usize) -> Option<u64> {
    let state = cpu_state::of(processor)?;
    // SAFETY: the state of the processor that is executing, in its own thread.
    let argument = unsafe { (*state).regs[RDI] };
    with(|probes| {
        let (function, block) = *probes.blocks.get(number)?;
        let at_ns =
            clock::in_block(processor, block, probes.ns_per_instruction).unwrap_or_default();
        let waiting = probes
            .failure
            .as_mut()
            .filter(|failure| failure.function == function);
        let due = waiting.is_some_and(|failure| {
            failure.after = failure.after.wrapping_sub(1);
            failure.after == u64::MAX
        });
        let failed = if due { probes.failure.take() } else { None }.map(|failure| failure.value);
        if probes.entries.len() < MAX_ENTRIES {
            probes.entries.push(Entry {
                function,
                at_ns,
                argument,
                failed: failed.is_some(),
            });
        }
        failed
    })
}

/// Has the function that was just entered return a value. False: its stack cannot be read.
fn force_return(processor: c_uint, value: u64) -> bool {
    let Some(state) = cpu_state::of(processor) else {
        return false;
    };
    // SAFETY: as in `note`; nobody else writes to it meanwhile.
    unsafe {
        let Some(caller) = machine::read((*state).regs[RSP], 8) else {
            return false;
        };
        let mut address = [0; 8];
        address.copy_from_slice(&caller);
        (*state).eip = u64::from_le_bytes(address);
        (*state).regs[RSP] = (*state).regs[RSP].wrapping_add(8);
        (*state).regs[RAX] = value;
    }
    true
}
