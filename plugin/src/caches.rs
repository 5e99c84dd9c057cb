// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's side of the [memory model](irqlab_tester::memory_model): every block reports the lines of its instructions, every access its address,
//! and every block that an interrupt begins with that it is one.
//!
//! The model begins when the restored (or rewound) DUT first asks for a command, with cold caches: an instant that depends on the DUT
//! only. Until then the word that stalls are charged to is [looked for](super::stall).
//!
//! If instructions take another time than the clock's, the difference is charged for a whole block when it begins, so that the clock is
//! right where the block ends. An access to a device ends the block: QEMU takes back what follows, and executes the access alone. The
//! block is remembered as one that ends there, and from then on is charged up to there only.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::{c_uint, c_void};

use iced_x86::{Mnemonic, Register};

use super::stall::{Search, StallClock};
use super::translation::{Kinds, MemoryAccess, Translation};
use super::{interrupts, lines, parallel};
use irqlab_tester::memory_model::{Counts, DeviceWrites, Geometry, Parameters, Processors};
use irqlab_tester::profile::lines::User;
use irqlab_tester::x86;

const PS_PER_NS: u64 = 1_000;
/// Where Linux maps devices lies beyond this. Kernel and user addresses differ in the bits that are kept.
const ADDRESS_BITS: u32 = 48;
const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;
/// Where Linux maps all physical memory, without address randomisation (Documentation/x86/x86_64/mm.rst, 4-level page tables).
const DIRECT_MAP: u64 = 0xffff_8880_0000_0000;

struct Caches {
    hierarchy: Processors,
    shift: u32,
    /// How long an instruction takes.
    instruction_ps: u64,
    /// What that is more than the clock's instruction.
    extra_ps: i64,
    /// What was charged of that so far.
    extra_charged_ps: i64,
    device_writes: DeviceWrites,
    /// Entering an interrupt takes time.
    interrupts: bool,
    phase: Phase,
    /// Each processor's. Known from the first beginning on.
    clocks: Vec<StallClock>,
    /// All blocks that were translated. They are small and side by side, since looking at them takes much of the model's time.
    blocks: Vec<Block>,
    /// The addresses of each block's instructions.
    instructions: Vec<Box<[u64]>>,
    /// Each block's number, by its first address, the one after it, and its number of instructions.
    numbers: HashMap<(u64, u64, usize), usize>,
    /// Where interrupts are entered. Known from each beginning on, if they take time.
    entries: HashSet<u64>,
    /// What each processor executes.
    executing: Vec<Executing>,
    kinds: Kinds,
}

#[derive(Clone, Copy)]
struct Executing {
    /// The block; NONE: none, or it has ended at an access to a device.
    current: usize,
    /// Instructions of it that were not charged, since it was expected to end before them.
    uncharged: i64,
}

impl Executing {
    const NOTHING: Self = Executing {
        current: NONE,
        uncharged: 0,
    };
}

/// No block has this number.
const NONE: usize = usize::MAX;

enum Phase {
    /// Before the first beginning.
    Searching(Search),
    /// Rewound, but not begun again.
    Waiting,
    Running,
}

/// A translated block. Blocks of several processes that have the same addresses and the same number of instructions share one.
#[derive(Clone, Copy)]
struct Block {
    /// Where its first line begins.
    first_line: u64,
    lines: u16,
    /// How many instructions it has.
    count: u16,
    /// How many of them are expected to be executed.
    expected: u16,
    /// An interrupt begins here.
    entry: bool,
}

/// The model, if there is one; it is borrowed while a closure runs.
struct Model(RefCell<Option<Caches>>);

// SAFETY: only the processors' thread uses it while one executes; others do while all stand still. One thread executes all virtual
// processors.
unsafe impl Sync for Model {}

static MODEL: Model = Model(RefCell::new(None));

impl Model {
    /// What `use_it` makes of the model; None without one. Panics if a caller has borrowed it already.
    #[inline]
    fn with<T>(&self, use_it: impl FnOnce(&mut Caches) -> T) -> Option<T> {
        self.0.borrow_mut().as_mut().map(use_it)
    }
}

/// Has the model run in everything that will be translated.
pub fn install(
    parameters: &Parameters,
    processors: u32,
    ns_per_instruction: u64,
) -> Result<(), String> {
    let caches = Caches::new(parameters, processors as usize, ns_per_instruction)?;
    *MODEL.0.borrow_mut() = Some(caches);
    Ok(())
}

/// Whether the model wants to know what [devices write](device_wrote).
pub fn sees_device_writes() -> bool {
    let sees = MODEL.with(|caches| caches.device_writes != DeviceWrites::Unseen);
    sees.unwrap_or(false)
}

/// The DUT asks for its first command: the model begins. Does nothing without a model.
pub fn begin() -> Result<(), String> {
    MODEL.with(Caches::begin).unwrap_or(Ok(()))
}

/// The machine was rewound: the model stops until it [begins](begin) again.
pub fn rewound() {
    MODEL.with(|caches| caches.phase = Phase::Waiting);
}

/// How many instructions' time was charged since the beginning; negative if instructions are faster than the clock's.
pub fn charged() -> i64 {
    MODEL.with(|caches| caches.charged()).unwrap_or(0)
}

/// The same of each processor; empty without a model.
pub fn charged_each() -> Vec<i64> {
    let each = |caches: &mut Caches| caches.clocks.iter().map(StallClock::charged).collect();
    MODEL.with(each).unwrap_or_default()
}

/// All counters; None without a model.
pub fn counts() -> Option<Counts> {
    MODEL.with(|caches| caches.counts())
}

/// A line of instructions and of data has 2 to the power of this bytes, and how many caches are behind each other; None without a model.
pub fn shape() -> Option<(u32, u32, usize)> {
    MODEL.with(|caches| {
        let hierarchy = &caches.hierarchy;
        let levels = hierarchy.levels().len() - 1;
        (hierarchy.fetch_shift(), hierarchy.data_shift(), levels)
    })
}

/// The processor waits besides for the bus of a device that it reads: so many ps. Does nothing without a model that charges for register
/// reads.
pub fn waited_for_bus(ps: u64) {
    MODEL.with(|caches| {
        if caches.runs() && caches.hierarchy.charges_registers() {
            caches.charge(ps as i64);
        }
    });
}

/// A device writes so many bytes to a physical address of the DUT's RAM.
pub fn device_wrote(address: u64, bytes: u64) {
    MODEL.with(|caches| {
        let first = address & !(Geometry::MIN_LINE_BYTES - 1);
        for line in (first..address + bytes).step_by(Geometry::MIN_LINE_BYTES as usize) {
            let mapped = DIRECT_MAP.wrapping_add(line) & ADDRESS_MASK;
            caches.hierarchy.device_wrote(mapped);
        }
    });
}

/// A block was translated. Does nothing without a model.
pub fn translated(translation: &Translation) {
    MODEL.with(|caches| caches.translated(translation));
}

impl Caches {
    fn new(
        parameters: &Parameters,
        processors: usize,
        ns_per_instruction: u64,
    ) -> Result<Self, String> {
        let ps_per_instruction = ns_per_instruction * PS_PER_NS;
        let instruction_ps = parameters.instruction_ps.unwrap_or(ps_per_instruction);
        Ok(Caches {
            hierarchy: Processors::new(parameters, processors)?,
            shift: ns_per_instruction.trailing_zeros(),
            instruction_ps,
            extra_ps: instruction_ps as i64 - ps_per_instruction as i64,
            extra_charged_ps: 0,
            device_writes: parameters.device_writes,
            interrupts: parameters.interrupt_ps != 0,
            phase: Phase::Searching(Search::default()),
            clocks: Vec::new(),
            blocks: Vec::new(),
            instructions: Vec::new(),
            numbers: HashMap::new(),
            entries: HashSet::new(),
            executing: vec![Executing::NOTHING; processors.max(1)],
            kinds: Kinds::default(),
        })
    }

    fn begin(&mut self) -> Result<(), String> {
        if let Phase::Searching(search) = &self.phase {
            self.clocks =
                search.found(self.executing.len(), self.hierarchy.running(), self.shift)?;
        }
        self.clocks.iter_mut().for_each(StallClock::reset);
        if self.interrupts {
            self.entries = interrupts::entries()?;
        }
        for ((start, _, _), number) in &self.numbers {
            let block = &mut self.blocks[*number];
            block.expected = block.count;
            block.entry = self.entries.contains(start);
        }
        self.extra_charged_ps = 0;
        self.executing.fill(Executing::NOTHING);
        self.hierarchy.clear();
        self.phase = Phase::Running;
        Ok(())
    }

    #[inline]
    fn runs(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    fn charged(&self) -> i64 {
        self.clocks.iter().map(StallClock::charged).sum()
    }

    fn counts(&self) -> Counts {
        let charged_ps = self.charged() * self.ps_per_instruction() as i64;
        Counts {
            stall_ps: (charged_ps - self.extra_charged_ps).max(0) as u64,
            charged_ps,
            stalls_ps: self.hierarchy.stalls(),
            caches: self.hierarchy.levels(),
            tlbs: self.hierarchy.tlb_counts(),
        }
    }

    fn translated(&mut self, translation: &Translation) {
        let shift = self.hierarchy.fetch_shift();
        let after = translation.last(|address, code| address + code.len() as u64);
        let start = translation.start();
        let count = translation.instructions();
        let key = (start, after, count);
        let next = self.blocks.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            let addresses = (0..count).map(|index| translation.at(index, |address, _| address));
            self.instructions.push(addresses.collect());
            self.blocks.push(Block {
                first_line: (start & ADDRESS_MASK) >> shift << shift,
                lines: (((after - 1) >> shift).wrapping_sub(start >> shift) + 1) as u16,
                count: count as u16,
                expected: count as u16,
                entry: self.entries.contains(&start),
            });
        }
        translation.on_execution(executed, number);
        for index in 0..count {
            let (address, switches) =
                translation.at(index, |address, code| (address, loads_page_tables(code)));
            translation.on_memory(index, accessed, address as usize);
            if switches {
                translation.before(index, switched, 0);
            }
        }
    }

    fn ps_per_instruction(&self) -> u64 {
        PS_PER_NS << self.shift
    }

    /// So many instructions are executed: what they differ from the clock's, in ps. Negative: they were expected and are not.
    #[inline]
    fn extra(&mut self, instructions: i64) -> i64 {
        let ps = instructions * self.extra_ps;
        self.extra_charged_ps += ps;
        ps
    }

    /// A block begins: what is to be charged for its instructions. If an exception has ended the one before it, that one is charged too many
    /// instructions: this is not seen.
    #[inline]
    fn begin_block(&mut self, number: usize, block: Block) -> i64 {
        // If the last one did not end where it was expected to, but went on, its rest is charged now.
        let executing = &mut self.executing[self.hierarchy.running()];
        let more = executing.uncharged;
        *executing = Executing {
            current: number,
            uncharged: i64::from(block.count) - i64::from(block.expected),
        };
        self.extra(more + i64::from(block.expected))
    }

    /// The instruction at an address has accessed a device: the block ends there. Returns what is to be charged.
    fn left_block(&mut self, address: u64) -> i64 {
        let executing = &mut self.executing[self.hierarchy.running()];
        let Some(addresses) = self.instructions.get(executing.current) else {
            return 0;
        };
        let Some(index) = addresses.iter().position(|other| *other == address) else {
            return 0;
        };
        let executed = index + 1;
        let expected = &mut self.blocks[executing.current].expected;
        let charged = std::mem::replace(expected, executed as u16);
        *executing = Executing::NOTHING;
        self.extra(executed as i64 - i64::from(charged))
    }

    #[inline]
    fn charge(&mut self, ps: i64) {
        if let Some(clock) = self.clocks.get_mut(self.hierarchy.running()) {
            clock.charge(ps);
        }
    }

    /// A processor executes.
    #[inline]
    fn run(&mut self, processor: c_uint) {
        if self.hierarchy.running() != processor as usize {
            self.hierarchy.run(processor as usize);
        }
    }

    /// Tells the other processors of an access; returns the stall in ps.
    #[inline(never)]
    fn agree(&mut self, address: u64, bytes: u64, writes: bool) -> i64 {
        let counting = lines::counting();
        let user = if counting {
            lines::user()
        } else {
            User::NOBODY
        };
        let masked = address & ADDRESS_MASK;
        let last = masked + (bytes - 1);
        let shift = self.hierarchy.data_shift();
        let second = (masked >> shift != last >> shift).then_some(last >> shift << shift);
        let mut ps = 0;
        for line in [Some(masked), second].into_iter().flatten() {
            let (told_ps, lost) = self.hierarchy.agree(line, user.0, writes, counting);
            ps += told_ps as i64;
            if let (true, Some(lost)) = (counting, lost) {
                lines::bounced(line, lost);
            }
        }
        ps
    }

    /// Memory was accessed, or a device.
    #[inline(never)]
    fn accessed(&mut self, info: u32, address: u64, instruction: u64) {
        let (bytes, writes) = self.kinds.of(info);
        let masked = address & ADDRESS_MASK;
        let mut device = None;
        let mut ps = 0;
        if self.hierarchy.several() {
            ps = self.agree(address, bytes, writes);
        }
        if !self.hierarchy.access_again(masked, bytes, writes) {
            let in_ram = || {
                device = MemoryAccess { info, address }.device();
                device.is_none()
            };
            ps += self.hierarchy.access_another(masked, bytes, writes, in_ram) as i64;
        }
        if lines::counting() {
            lines::accessed(address, writes, self.hierarchy.used());
        }
        if let Some((register, write)) = device {
            if !write && !LOCAL_APIC.contains(&register) {
                ps += self.hierarchy.read_register() as i64;
            }
            if self.extra_ps != 0 {
                ps += self.left_block(instruction);
            }
        }
        if ps != 0 {
            self.charge(ps);
        }
    }

    /// Memory was accessed, and the hierarchy knows: it is to be counted as well.
    #[cold]
    fn count(&mut self, info: u32, address: u64) {
        let (_, writes) = self.kinds.of(info);
        lines::accessed(address, writes, self.hierarchy.used());
    }

    /// A block is about to be executed, but the model does not run.
    #[cold]
    fn look(&mut self, number: usize) {
        if let Phase::Searching(search) = &mut self.phase {
            search.look(self.blocks[number].count);
        }
    }

    /// A block is about to be executed.
    #[inline]
    fn execute(&mut self, number: usize) {
        let block = self.blocks[number];
        let mut ps = 0;
        if self.extra_ps != 0 {
            ps = self.begin_block(number, block);
        }
        if block.entry {
            ps += self.hierarchy.interrupt() as i64;
        }
        let counting = lines::counting();
        let line_bytes = 1 << self.hierarchy.fetch_shift();
        let mut line = block.first_line;
        for _ in 0..block.lines {
            ps += self.hierarchy.fetch(line) as i64;
            if counting {
                lines::fetched(line, self.hierarchy.used());
            }
            line += line_bytes;
        }
        self.hierarchy
            .execute(u64::from(block.count) * self.instruction_ps);
        if ps != 0 {
            self.charge(ps);
        }
    }
}

unsafe extern "C" fn executed(processor: c_uint, number: *mut c_void) {
    MODEL.with(|caches| {
        caches.run(parallel::executing(processor));
        if caches.runs() {
            caches.execute(number as usize);
        } else if caches.hierarchy.running() == 0 {
            caches.look(number as usize);
        }
    });
}

/// Whether an instruction is a move to CR3 (Intel SDM, volume 2: MOV to control registers): another process's page tables.
fn loads_page_tables(code: &[u8]) -> bool {
    let instruction = x86::decode(code);
    instruction.mnemonic() == Mnemonic::Mov && instruction.op0_register() == Register::CR3
}

/// The page tables are about to be switched.
unsafe extern "C" fn switched(processor: c_uint, _: *mut c_void) {
    MODEL.with(|caches| {
        caches.run(parallel::executing(processor));
        if caches.runs() {
            caches.hierarchy.switch();
        }
    });
}

/// The local APIC's registers (Intel SDM, volume 3, 10.4.1): the processor does not leave its own chip for them.
const LOCAL_APIC: std::ops::Range<u64> = 0xfee0_0000..0xfef0_0000;

/// Called after a memory access. Registers of devices are not cached.
unsafe extern "C" fn accessed(
    processor: c_uint,
    info: u32,
    address: u64,
    instruction: *mut c_void,
) {
    MODEL.with(|caches| {
        if !caches.runs() {
            return;
        }
        caches.run(parallel::executing(processor));
        if caches.hierarchy.several() || !caches.hierarchy.access_simply(address & ADDRESS_MASK) {
            caches.accessed(info, address, instruction as u64);
        } else if lines::counting() {
            caches.count(info, address);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqlab_tester::memory_model::Stall;

    fn parameters(extra_ps: i64) -> Parameters {
        let cache = Geometry {
            bytes: 1024,
            ways: 2,
            line_bytes: 32,
        };
        Parameters {
            instructions: cache,
            data: cache,
            behind: Vec::new(),
            ram: Stall::default(),
            device_writes: DeviceWrites::Unseen,
            register_ps: 0,
            tlbs: None,
            store_buffer: None,
            interrupt_ps: 9,
            instruction_ps: Some((1_000 + extra_ps) as u64),
        }
    }

    fn caches(extra_ps: i64) -> Caches {
        Caches::new(&parameters(extra_ps), 1, 1).unwrap_or_else(|why| panic!("{why}"))
    }

    /// The only test of what QEMU's side has in common.
    #[test]
    fn what_asks_the_model_borrows_it_once() {
        assert_eq!((counts().is_none(), charged(), shape()), (true, 0, None));
        assert_eq!(install(&parameters(0), 1, 1), Ok(()));
        let counted = counts().unwrap_or_else(|| panic!("there is a model"));
        assert_eq!((counted.charged_ps, counted.stall_ps), (0, 0));
        assert_eq!(shape(), Some((5, 5, 1)));
        assert!(!sees_device_writes());
        device_wrote(0, 64);
        waited_for_bus(1);
        rewound();
    }

    #[test]
    #[should_panic(expected = "already borrowed")]
    fn two_cannot_change_the_model_at_a_time() {
        let model = Model(RefCell::new(Some(caches(0))));
        model.with(|outer| {
            model.with(|inner| inner.begin_block(0, outer.blocks[0]));
        });
    }

    /// Adds a block; its number.
    fn block(caches: &mut Caches, start: u64, instructions: u16) -> usize {
        let addresses = (0..u64::from(instructions)).map(|n| start + 4 * n);
        caches.instructions.push(addresses.collect());
        caches.blocks.push(Block {
            first_line: start,
            lines: 1,
            count: instructions,
            expected: instructions,
            entry: false,
        });
        caches.blocks.len() - 1
    }

    fn begin(caches: &mut Caches, number: usize) {
        caches.begin_block(number, caches.blocks[number]);
    }

    #[test]
    fn a_block_is_charged_when_it_begins() {
        let mut caches = caches(-10);
        let one = block(&mut caches, 0, 5);
        let other = block(&mut caches, 100, 3);
        begin(&mut caches, one);
        assert_eq!(caches.extra_charged_ps, -50);
        begin(&mut caches, other);
        begin(&mut caches, one);
        assert_eq!(caches.extra_charged_ps, -130);
    }

    #[test]
    fn a_block_that_a_device_ends_is_charged_up_to_there() {
        let mut caches = caches(10);
        let one = block(&mut caches, 0, 5);
        let rest = block(&mut caches, 8, 3);
        begin(&mut caches, one);
        caches.left_block(4);
        assert_eq!(caches.extra_charged_ps, 20, "the first time: corrected");
        begin(&mut caches, rest);
        assert_eq!(caches.extra_charged_ps, 50);
        begin(&mut caches, one);
        assert_eq!(caches.extra_charged_ps, 70, "then it is known");
        caches.left_block(4);
        begin(&mut caches, rest);
        assert_eq!(caches.extra_charged_ps, 100);
    }

    #[test]
    fn a_block_that_goes_on_after_all_is_charged_the_rest() {
        let mut caches = caches(10);
        let one = block(&mut caches, 0, 5);
        let other = block(&mut caches, 100, 3);
        begin(&mut caches, one);
        caches.left_block(4);
        begin(&mut caches, one);
        begin(&mut caches, other);
        assert_eq!(caches.extra_charged_ps, 20 + 20 + 30 + 30);
    }

    #[test]
    fn a_block_that_an_interrupt_begins_with_takes_longer() {
        let mut caches = caches(0);
        let one = block(&mut caches, 0, 5);
        let entry = block(&mut caches, 100, 3);
        caches.blocks[entry].entry = true;
        caches.execute(one);
        assert_eq!(caches.hierarchy.stalls().interrupt, 0);
        caches.execute(entry);
        assert_eq!(caches.hierarchy.stalls().interrupt, 9);
    }

    #[test]
    fn a_move_to_cr3_loads_page_tables() {
        assert!(
            loads_page_tables(&[0x0f, 0x22, 0xd8]) && loads_page_tables(&[0x41, 0x0f, 0x22, 0xdb])
        );
        let others: [&[u8]; 4] = [
            &[0x0f, 0x20, 0xd8],
            &[0x0f, 0x22, 0xe0],
            &[0x44, 0x0f, 0x22, 0xd8],
            &[0x90],
        ];
        assert!(!others.into_iter().any(loads_page_tables));
    }

    #[test]
    fn accesses_of_other_blocks_change_nothing() {
        let mut caches = caches(10);
        let one = block(&mut caches, 0, 5);
        caches.left_block(4);
        begin(&mut caches, one);
        caches.left_block(400);
        caches.left_block(8);
        caches.left_block(4);
        assert_eq!(
            (caches.extra_charged_ps, caches.blocks[one].expected),
            (30, 3)
        );
    }
}
