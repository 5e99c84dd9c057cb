// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's side of the [memory model](crate::memory_model): every block reports the lines of its instructions, every access its address.
//!
//! The model begins when the restored (or rewound) DUT first asks for a command, with cold caches: an instant that depends on the DUT
//! only. Until then the word that stalls are charged to is [looked for](super::stall).
//!
//! If instructions take another time than the clock's, the difference is charged for a whole block when it begins, so that the clock is
//! right where the block ends. An access to a device ends the block: QEMU takes back what follows, and executes the access alone. The
//! block is remembered as one that ends there, and from then on is charged up to there only.

use std::collections::HashMap;
use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::lines;
use super::stall::{Search, StallClock};
use super::translation::{MemoryAccess, Translation};
use crate::memory_model::{Counts, DeviceWrites, Geometry, Hierarchy, Parameters};

const PS_PER_NS: u64 = 1_000;
/// Where Linux maps devices lies beyond this. Kernel and user addresses differ in the bits that are kept.
const ADDRESS_BITS: u32 = 48;
const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;
/// Where Linux maps all physical memory, without address randomisation (Documentation/x86/x86_64/mm.rst, 4-level page tables).
const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;

struct Caches {
    hierarchy: Hierarchy,
    ps_per_instruction: u64,
    /// What an instruction takes longer than `ps_per_instruction`.
    extra_ps: i64,
    /// What was charged of that so far.
    extra_charged_ps: i64,
    device_writes: DeviceWrites,
    phase: Phase,
    /// Known from the first beginning on.
    clock: Option<StallClock>,
    /// Each block's place, by its first address, the one after it, and its number of instructions. They are never freed.
    blocks: HashMap<(u64, u64, usize), *mut Block>,
    /// The block that is being executed; null: none.
    current: *mut Block,
    /// It has ended at an access to a device.
    left: bool,
}

enum Phase {
    /// Before the first beginning.
    Searching(Search),
    /// Rewound, but not begun again.
    Waiting,
    Running,
}

/// A translated block. Blocks of several processes that have the same addresses and the same number of instructions share one.
struct Block {
    /// Where its first line begins.
    first_line: u64,
    lines: u64,
    /// Its instructions' addresses.
    instructions: Vec<u64>,
    /// How many of them are expected to be executed.
    expected: usize,
}

/// Never freed. Only the processor's thread changes it while the processor executes; others look while the processor stands still.
static CACHES: AtomicPtr<Caches> = AtomicPtr::new(std::ptr::null_mut());

fn caches() -> Option<&'static mut Caches> {
    // SAFETY: null, or what `install` leaked. There is one virtual processor, callbacks are not nested, and see above.
    unsafe { CACHES.load(Ordering::Relaxed).as_mut() }
}

/// Has the model run in everything that will be translated.
pub fn install(parameters: &Parameters, ns_per_instruction: u64) -> Result<(), String> {
    let ps_per_instruction = ns_per_instruction * PS_PER_NS;
    let instruction_ps = parameters.instruction_ps.unwrap_or(ps_per_instruction);
    let caches = Caches {
        hierarchy: Hierarchy::new(parameters)?,
        ps_per_instruction,
        extra_ps: instruction_ps as i64 - ps_per_instruction as i64,
        extra_charged_ps: 0,
        device_writes: parameters.device_writes,
        phase: Phase::Searching(Search::default()),
        clock: None,
        blocks: HashMap::new(),
        current: std::ptr::null_mut(),
        left: false,
    };
    CACHES.store(Box::into_raw(Box::new(caches)), Ordering::Relaxed);
    Ok(())
}

/// Whether the model wants to know what [devices write](device_wrote).
pub fn sees_device_writes() -> bool {
    caches().is_some_and(|caches| caches.device_writes != DeviceWrites::Unseen)
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
    for block in caches.blocks.values() {
        // SAFETY: blocks are never freed, and only used in callbacks, which are not nested.
        let block = unsafe { &mut **block };
        block.expected = block.instructions.len();
    }
    caches.extra_charged_ps = 0;
    caches.current = std::ptr::null_mut();
    caches.left = false;
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

/// How many instructions' time was charged since the beginning; negative if instructions are faster than the clock's.
pub fn charged() -> i64 {
    caches()
        .and_then(|caches| caches.clock.as_ref())
        .map_or(0, StallClock::charged)
}

/// All counters; None without a model.
pub fn counts() -> Option<Counts> {
    caches().map(|caches| {
        let charged_ps = charged() * caches.ps_per_instruction as i64;
        Counts {
            stall_ps: (charged_ps - caches.extra_charged_ps).max(0) as u64,
            charged_ps,
            caches: caches.hierarchy.levels(),
        }
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

/// The processor waits besides for the bus of a device that it reads: so many ps. Does nothing without a model that charges for register
/// reads.
pub fn waited_for_bus(ps: u64) {
    let Some(caches) = caches() else { return };
    let charges = matches!(caches.phase, Phase::Running) && caches.hierarchy.charges_registers();
    if let (true, Some(clock)) = (charges, &mut caches.clock) {
        clock.charge(ps as i64);
    }
}

/// A device writes so many bytes to a physical address of the DUT's RAM.
pub fn device_wrote(address: u64, bytes: u64) {
    let Some(caches) = caches() else { return };
    let first = address & !(Geometry::MIN_LINE_BYTES - 1);
    for line in (first..address + bytes).step_by(Geometry::MIN_LINE_BYTES as usize) {
        let mapped = DIRECT_MAP.wrapping_add(line) & ADDRESS_MASK;
        caches.hierarchy.device_wrote(mapped);
    }
}

/// A block was translated. Does nothing without a model.
pub fn translated(translation: &Translation) {
    let Some(caches) = caches() else { return };
    let shift = caches.hierarchy.fetch_shift();
    let after = translation.last(|address, code| address + code.len() as u64);
    let start = translation.start();
    let count = translation.instructions();
    let key = (start, after, count);
    let block = *caches.blocks.entry(key).or_insert_with(|| {
        let instructions = (0..count).map(|index| translation.at(index, |address, _| address));
        Box::into_raw(Box::new(Block {
            first_line: (start & ADDRESS_MASK) >> shift << shift,
            lines: ((after - 1) >> shift).wrapping_sub(start >> shift) + 1,
            instructions: instructions.collect(),
            expected: count,
        }))
    });
    translation.on_execution(executed, block as usize);
    for index in 0..count {
        let address = translation.at(index, |address, _| address);
        translation.on_memory(index, accessed, address as usize);
    }
}

impl Caches {
    /// Charges the difference of so many instructions to the clock's; negative: takes it back.
    #[inline]
    fn charge_instructions(&mut self, instructions: i64) {
        let ps = instructions * self.extra_ps;
        self.extra_charged_ps += ps;
        if let Some(clock) = &mut self.clock {
            clock.charge(ps);
        }
    }

    /// A block begins. If an exception has ended the one before it, that one is charged too many instructions: this is not seen.
    fn begin_block(&mut self, block: *mut Block) {
        // SAFETY: null, or a block, which is never freed; callbacks are not nested.
        let (last, block_now) = unsafe { (self.current.as_ref(), &*block) };
        // The last one did not end where it was expected to, but went on.
        let more = match last {
            Some(last) if !self.left => last.instructions.len() - last.expected,
            _ => 0,
        };
        self.charge_instructions((more + block_now.expected) as i64);
        self.current = block;
        self.left = false;
    }

    /// The instruction at an address has accessed a device: the block ends there.
    fn left_block(&mut self, address: u64) {
        // SAFETY: as above.
        let Some(block) = (unsafe { self.current.as_mut() }) else {
            return;
        };
        let executed = match block
            .instructions
            .iter()
            .position(|other| *other == address)
        {
            Some(index) if !self.left => index + 1,
            _ => return,
        };
        self.left = true;
        let charged = block.expected;
        block.expected = executed;
        self.charge_instructions(executed as i64 - charged as i64);
    }
}

unsafe extern "C" fn executed(_processor: c_uint, block: *mut c_void) {
    let Some(caches) = caches() else { return };
    let block = block.cast::<Block>();
    // SAFETY: `translated` registered it; it is never freed, and callbacks are not nested.
    let (first_line, lines, count) = unsafe {
        (
            (*block).first_line,
            (*block).lines,
            (*block).instructions.len(),
        )
    };
    match &mut caches.phase {
        Phase::Running => {
            if caches.extra_ps != 0 {
                caches.begin_block(block);
            }
            let mut line = first_line;
            let mut stall_ps = 0;
            for _ in 0..lines {
                stall_ps += caches.hierarchy.fetch(line);
                lines::fetched(line, caches.hierarchy.used());
                line += 1 << caches.hierarchy.fetch_shift();
            }
            if let Some(clock) = &mut caches.clock {
                clock.charge(stall_ps as i64);
            }
        }
        Phase::Searching(search) => search.look(count as u16),
        Phase::Waiting => {}
    }
}

/// The local APIC's registers (Intel SDM, volume 3, 10.4.1): the processor does not leave its own chip for them.
const LOCAL_APIC: std::ops::Range<u64> = 0xfee0_0000..0xfef0_0000;

/// Called after a memory access. Registers of devices are not cached.
unsafe extern "C" fn accessed(
    _processor: c_uint,
    info: u32,
    address: u64,
    instruction: *mut c_void,
) {
    let Some(caches) = caches() else { return };
    if !matches!(caches.phase, Phase::Running) {
        return;
    }
    let access = MemoryAccess { info, address };
    let mut device = None;
    let in_ram = || {
        device = access.device();
        device.is_none()
    };
    let mut stall_ps = caches
        .hierarchy
        .access(address & ADDRESS_MASK, access.bytes(), in_ram);
    lines::accessed(address, || access.writes(), caches.hierarchy.used());
    if let Some((register, write)) = device {
        if !write && !LOCAL_APIC.contains(&register) {
            stall_ps += caches.hierarchy.read_register();
        }
        if caches.extra_ps != 0 {
            caches.left_block(instruction as u64);
        }
    }
    if let (Some(clock), 1..) = (&mut caches.clock, stall_ps) {
        clock.charge(stall_ps as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_model::Stall;

    fn caches(extra_ps: i64) -> Caches {
        let cache = Geometry {
            bytes: 1024,
            ways: 2,
            line_bytes: 32,
        };
        let parameters = Parameters {
            instructions: cache,
            data: cache,
            behind: Vec::new(),
            ram: Stall::default(),
            device_writes: DeviceWrites::Unseen,
            register_ps: 0,
            instruction_ps: None,
        };
        Caches {
            hierarchy: Hierarchy::new(&parameters).unwrap_or_else(|why| panic!("{why}")),
            ps_per_instruction: 1_000,
            extra_ps,
            extra_charged_ps: 0,
            device_writes: DeviceWrites::Unseen,
            phase: Phase::Running,
            clock: None,
            blocks: HashMap::new(),
            current: std::ptr::null_mut(),
            left: false,
        }
    }

    fn block(start: u64, instructions: usize) -> Block {
        Block {
            first_line: start,
            lines: 1,
            instructions: (0..instructions as u64).map(|n| start + 4 * n).collect(),
            expected: instructions,
        }
    }

    #[test]
    fn a_block_is_charged_when_it_begins() {
        let (mut caches, mut one, mut other) = (caches(-10), block(0, 5), block(100, 3));
        caches.begin_block(&raw mut one);
        assert_eq!(caches.extra_charged_ps, -50);
        caches.begin_block(&raw mut other);
        caches.begin_block(&raw mut one);
        assert_eq!(caches.extra_charged_ps, -130);
    }

    #[test]
    fn a_block_that_a_device_ends_is_charged_up_to_there() {
        let (mut caches, mut one, mut rest) = (caches(10), block(0, 5), block(8, 3));
        caches.begin_block(&raw mut one);
        caches.left_block(4);
        assert_eq!(caches.extra_charged_ps, 20, "the first time: corrected");
        caches.begin_block(&raw mut rest);
        assert_eq!(caches.extra_charged_ps, 50);
        caches.begin_block(&raw mut one);
        assert_eq!(caches.extra_charged_ps, 70, "then it is known");
        caches.left_block(4);
        caches.begin_block(&raw mut rest);
        assert_eq!(caches.extra_charged_ps, 100);
    }

    #[test]
    fn a_block_that_goes_on_after_all_is_charged_the_rest() {
        let (mut caches, mut one, mut other) = (caches(10), block(0, 5), block(100, 3));
        caches.begin_block(&raw mut one);
        caches.left_block(4);
        caches.begin_block(&raw mut one);
        caches.begin_block(&raw mut other);
        assert_eq!(caches.extra_charged_ps, 20 + 20 + 30 + 30);
    }

    #[test]
    fn accesses_of_other_blocks_change_nothing() {
        let (mut caches, mut one) = (caches(10), block(0, 5));
        caches.left_block(4);
        caches.begin_block(&raw mut one);
        caches.left_block(400);
        caches.left_block(8);
        caches.left_block(4);
        assert_eq!((caches.extra_charged_ps, one.expected), (30, 3));
    }
}
