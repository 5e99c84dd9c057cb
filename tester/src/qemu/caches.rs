// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's side of the [memory model](crate::memory_model): every block reports the lines of its instructions, every access its address.
//!
//! The model begins when the restored (or rewound) DUT first asks for a command, with cold caches: an instant that depends on the DUT
//! only. Until then the word that stalls are charged to is [looked for](super::stall).

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::lines;
use super::stall::{Search, StallClock};
use super::translation::{MemoryAccess, Translation};
use crate::memory_model::{Counts, Hierarchy, Parameters};

const PS_PER_NS: u64 = 1_000;
/// Where Linux maps devices lies beyond this. Kernel and user addresses differ in the bits that are kept.
const ADDRESS_BITS: u32 = 48;
const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;

struct Caches {
    hierarchy: Hierarchy,
    ps_per_instruction: u64,
    phase: Phase,
    /// Known from the first beginning on.
    clock: Option<StallClock>,
}

enum Phase {
    /// Before the first beginning.
    Searching(Search),
    /// Rewound, but not begun again.
    Waiting,
    Running,
}

/// Never freed. Only the processor's thread changes it while the processor executes; others look while the processor stands still.
static CACHES: AtomicPtr<Caches> = AtomicPtr::new(std::ptr::null_mut());

fn caches() -> Option<&'static mut Caches> {
    // SAFETY: null, or what `install` leaked. There is one virtual processor, callbacks are not nested, and see above.
    unsafe { CACHES.load(Ordering::Relaxed).as_mut() }
}

/// Has the model run in everything that will be translated.
pub fn install(parameters: &Parameters, ns_per_instruction: u64) -> Result<(), String> {
    let caches = Caches {
        hierarchy: Hierarchy::new(parameters)?,
        ps_per_instruction: ns_per_instruction * PS_PER_NS,
        phase: Phase::Searching(Search::default()),
        clock: None,
    };
    CACHES.store(Box::into_raw(Box::new(caches)), Ordering::Relaxed);
    Ok(())
}

/// The DUT asks for its first command: the model begins. Does nothing without a model.
pub fn begin() -> Result<(), String> {
    let Some(caches) = caches() else {
        return Ok(());
    };
    if let Phase::Searching(search) = &caches.phase {
        caches.clock = Some(search.found(caches.ps_per_instruction)?);
    }
    if let Some(clock) = &mut caches.clock {
        clock.reset();
    }
    caches.hierarchy.clear();
    caches.phase = Phase::Running;
    Ok(())
}

/// The machine was rewound: the model stops until it [begins](begin) again.
pub fn rewound() {
    if let Some(caches) = caches() {
        caches.phase = Phase::Waiting;
    }
}

/// How many instructions' time was charged for stalls since the beginning.
pub fn charged() -> u64 {
    caches()
        .and_then(|caches| caches.clock.as_ref())
        .map_or(0, StallClock::charged)
}

/// All counters; None without a model.
pub fn counts() -> Option<Counts> {
    caches().map(|caches| Counts {
        stall_ps: charged() * caches.ps_per_instruction,
        caches: caches.hierarchy.levels(),
    })
}

/// A line of instructions and of data has 2 to the power of this bytes, and how many caches are behind each other; None without a model.
pub fn shape() -> Option<(u32, u32, usize)> {
    caches().map(|caches| {
        let hierarchy = &caches.hierarchy;
        let levels = hierarchy.levels().len() - 1;
        (hierarchy.fetch_shift(), hierarchy.data_shift(), levels)
    })
}

/// A block as a pointer's 64 bits, so that its callback needs no memory: where its first line begins (the lowest bits, which are 0,
/// hold the rest: see `Block`).
///
/// From the lowest bit: 10 bits of instructions, 10 bits of lines less one, 44 bits of address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    /// A multiple of 16.
    address: u64,
    lines: u64,
    instructions: u64,
}

const COUNT_BITS: u32 = 10;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
/// Lines have at least 16 bytes.
const ADDRESS_SHIFT: u32 = 4;

impl Block {
    fn pack(self) -> u64 {
        (self.address & ADDRESS_MASK) >> ADDRESS_SHIFT << (2 * COUNT_BITS)
            | self.lines.saturating_sub(1).min(COUNT_MASK) << COUNT_BITS
            | self.instructions.min(COUNT_MASK)
    }

    fn unpack(packed: u64) -> Self {
        Block {
            address: packed >> (2 * COUNT_BITS) << ADDRESS_SHIFT,
            lines: (packed >> COUNT_BITS & COUNT_MASK) + 1,
            instructions: packed & COUNT_MASK,
        }
    }
}

/// A block was translated. Does nothing without a model.
pub fn translated(translation: &Translation) {
    let Some(caches) = caches() else { return };
    let shift = caches.hierarchy.fetch_shift();
    let last = translation.last(|address, code| address + (code.len() as u64 - 1));
    let first = translation.start() >> shift;
    let block = Block {
        address: first << shift,
        lines: (last >> shift).wrapping_sub(first) + 1,
        instructions: translation.instructions() as u64,
    };
    translation.on_execution(executed, block.pack() as usize);
    for index in 0..translation.instructions() {
        translation.on_memory(index, accessed);
    }
}

unsafe extern "C" fn executed(_processor: c_uint, packed: *mut c_void) {
    let Some(caches) = caches() else { return };
    let block = Block::unpack(packed as u64);
    match (&mut caches.phase, &mut caches.clock) {
        (Phase::Running, Some(clock)) => {
            let mut line = block.address;
            let mut stall_ps = 0;
            for _ in 0..block.lines {
                stall_ps += caches.hierarchy.fetch(line);
                lines::fetched(line, caches.hierarchy.used());
                line += 1 << caches.hierarchy.fetch_shift();
            }
            clock.charge(stall_ps);
        }
        (Phase::Searching(search), _) => search.look(block.instructions as u16),
        _ => {}
    }
}

/// Called after a memory access. Registers of devices are not cached.
unsafe extern "C" fn accessed(_processor: c_uint, info: u32, address: u64, _: *mut c_void) {
    let Some(caches) = caches() else { return };
    if let (Phase::Running, Some(clock)) = (&caches.phase, &mut caches.clock) {
        let access = MemoryAccess { info, address };
        let in_ram = || access.device().is_none();
        let stall_ps = caches
            .hierarchy
            .access(address & ADDRESS_MASK, access.bytes(), in_ram);
        lines::accessed(address, || access.writes(), caches.hierarchy.used());
        if stall_ps != 0 {
            clock.charge(stall_ps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_fits_into_a_pointer() {
        let block = |address, lines, instructions| Block {
            address,
            lines,
            instructions,
        };
        for (packed, unpacked) in [
            (block(0x40_0020, 1, 1), block(0x40_0020, 1, 1)),
            (
                block(0xffff_ffff_8100_0ff0, 512, 512),
                block(0xffff_8100_0ff0, 512, 512),
            ),
            (block(0, 1024, 1023), block(0, 1024, 1023)),
        ] {
            assert_eq!(Block::unpack(packed.pack()), unpacked);
        }
    }
}
