// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's plugin API, as far as it tells of blocks that are translated and has them instrumented.
//!
//! The API of QEMU 7.2 to 10.x (include/qemu/qemu-plugin.h), found by name.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use libloading::os::unix::Library;

use crate::qemu::instrument;
use crate::qemu::workarounds::{cmpxchg_flags, halt_race};

/// `QEMU_PLUGIN_CB_NO_REGS`.
const NO_REGS: c_int = 0;
/// `QEMU_PLUGIN_MEM_RW`.
const READ_AND_WRITE: c_int = 3;
/// `QEMU_PLUGIN_INLINE_ADD_U64`.
const ADD_U64: c_int = 0;
/// No instruction is longer (Intel SDM, volume 2, 2.3.11).
const MAX_INSTRUCTION_BYTES: usize = 15;

/// `qemu_plugin_u64` of API version 2.
#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    scoreboard: *mut c_void,
    offset: usize,
}

type Translated = unsafe extern "C" fn(u64, *mut c_void);
type Register = unsafe extern "C" fn(u64, Translated);
/// Called when a block or an instruction is about to be executed: (processor, what was registered with it).
pub type Executed = unsafe extern "C" fn(c_uint, *mut c_void);
/// Called when an instruction has accessed memory: (processor, what QEMU knows of it, virtual address, null).
pub type Accessed = unsafe extern "C" fn(c_uint, u32, u64, *mut c_void);
type OnExecution = unsafe extern "C" fn(*mut c_void, Executed, c_int, *mut c_void);

/// How the counter is added to, by the API's version.
#[derive(Clone, Copy)]
enum Inline {
    /// Versions 1: at an address.
    Address(unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, u64)),
    /// From 2 on: in a scoreboard with a place for each processor.
    Scoreboard {
        add: unsafe extern "C" fn(*mut c_void, c_int, Entry, u64),
        find: unsafe extern "C" fn(*mut c_void, c_uint) -> *mut c_void,
        entry: Entry,
    },
}

/// How an instruction's bytes are read, by the API's version.
#[derive(Clone, Copy)]
enum Bytes {
    /// Versions 1 and 2.
    InPlace(unsafe extern "C" fn(*const c_void) -> *const u8),
    /// From 3 on.
    Copied(unsafe extern "C" fn(*const c_void, *mut c_void, usize) -> usize),
}

struct Api {
    n_insns: unsafe extern "C" fn(*const c_void) -> usize,
    get_insn: unsafe extern "C" fn(*const c_void, usize) -> *mut c_void,
    insn_vaddr: unsafe extern "C" fn(*const c_void) -> u64,
    insn_size: unsafe extern "C" fn(*const c_void) -> usize,
    on_block: OnExecution,
    on_instruction: OnExecution,
    on_memory: unsafe extern "C" fn(*mut c_void, Accessed, c_int, c_int, *mut c_void),
    is_store: unsafe extern "C" fn(u32) -> bool,
    hwaddr: unsafe extern "C" fn(u32, u64) -> *const c_void,
    is_io: unsafe extern "C" fn(*const c_void) -> bool,
    physical: unsafe extern "C" fn(*const c_void) -> u64,
    inline: Inline,
    bytes: Bytes,
    /// Blocks are counted and told apart, not only watched for idling.
    profiled: bool,
}

// SAFETY: the scoreboard is QEMU's, and lives as long as QEMU does; there is one virtual processor.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

static API: OnceLock<Api> = OnceLock::new();
/// The counter, where the API wants it at an address.
static OWN_COUNTER: AtomicU64 = AtomicU64::new(0);

/// Watches everything that will be translated, in a plugin of number `id` under an API of `version`; `profiled`: counts it, too.
pub fn install(id: u64, version: c_int, profiled: bool) -> Result<(), String> {
    let (api, register) = resolve(version, profiled)
        .map_err(|name| format!("this QEMU does not export {name} of its plugin API"))?;
    let _ = API.set(api);
    // SAFETY: the signature is the API's.
    unsafe { register(id, translated) };
    Ok(())
}

fn resolve(version: c_int, profiled: bool) -> Result<(Api, Register), &'static str> {
    let this = Library::this();
    macro_rules! find {
        ($name:literal) => {
            // SAFETY: the type is that of the API's function of this name in this version.
            *unsafe { this.get(concat!($name, "\0").as_bytes()) }.map_err(|_| $name)?
        };
    }
    let inline = if version >= 2 {
        let new: unsafe extern "C" fn(usize) -> *mut c_void = find!("qemu_plugin_scoreboard_new");
        Inline::Scoreboard {
            add: find!("qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu"),
            find: find!("qemu_plugin_scoreboard_find"),
            entry: Entry {
                // SAFETY: as above.
                scoreboard: unsafe { new(size_of::<u64>()) },
                offset: 0,
            },
        }
    } else {
        Inline::Address(find!("qemu_plugin_register_vcpu_insn_exec_inline"))
    };
    let bytes = if version >= 3 {
        Bytes::Copied(find!("qemu_plugin_insn_data"))
    } else {
        Bytes::InPlace(find!("qemu_plugin_insn_data"))
    };
    let api = Api {
        n_insns: find!("qemu_plugin_tb_n_insns"),
        get_insn: find!("qemu_plugin_tb_get_insn"),
        insn_vaddr: find!("qemu_plugin_insn_vaddr"),
        insn_size: find!("qemu_plugin_insn_size"),
        on_block: find!("qemu_plugin_register_vcpu_tb_exec_cb"),
        on_instruction: find!("qemu_plugin_register_vcpu_insn_exec_cb"),
        on_memory: find!("qemu_plugin_register_vcpu_mem_cb"),
        is_store: find!("qemu_plugin_mem_is_store"),
        hwaddr: find!("qemu_plugin_get_hwaddr"),
        is_io: find!("qemu_plugin_hwaddr_is_io"),
        physical: find!("qemu_plugin_hwaddr_phys_addr"),
        inline,
        bytes,
        profiled,
    };
    Ok((api, find!("qemu_plugin_register_vcpu_tb_trans_cb")))
}

/// A block that QEMU has just translated. It has an instruction.
pub struct Translation<'a> {
    api: &'a Api,
    block: *mut c_void,
    count: usize,
}

impl Translation<'_> {
    fn instruction(&self, index: usize) -> *mut c_void {
        // SAFETY: the block is valid during the callback, and the index smaller than its count.
        unsafe { (self.api.get_insn)(self.block, index) }
    }

    /// How many instructions it has.
    pub fn instructions(&self) -> usize {
        self.count
    }

    /// The first instruction's virtual address.
    pub fn start(&self) -> u64 {
        // SAFETY: see `instruction`.
        unsafe { (self.api.insn_vaddr)(self.instruction(0)) }
    }

    /// Gives `work` the last instruction's virtual address and its bytes.
    pub fn last<T>(&self, work: impl FnOnce(u64, &[u8]) -> T) -> T {
        self.at(self.count - 1, work)
    }

    /// Gives `work` an instruction's virtual address and its bytes.
    pub fn at<T>(&self, index: usize, work: impl FnOnce(u64, &[u8]) -> T) -> T {
        let instruction = self.instruction(index);
        let mut code = [0; MAX_INSTRUCTION_BYTES];
        // SAFETY: see `instruction`; QEMU hands out `size` bytes.
        unsafe {
            let size = (self.api.insn_size)(instruction).min(MAX_INSTRUCTION_BYTES);
            match self.api.bytes {
                Bytes::InPlace(data) => {
                    code[..size]
                        .copy_from_slice(std::slice::from_raw_parts(data(instruction), size));
                }
                Bytes::Copied(data) => {
                    data(instruction, code.as_mut_ptr().cast(), size);
                }
            }
            work((self.api.insn_vaddr)(instruction), &code[..size])
        }
    }

    /// Has every instruction add one to the [counter].
    pub fn count(&self) {
        for index in 0..self.count {
            let instruction = self.instruction(index);
            // SAFETY: see `instruction`; the counter lives as long as QEMU.
            unsafe {
                match self.api.inline {
                    Inline::Address(add) => {
                        add(instruction, ADD_U64, OWN_COUNTER.as_ptr().cast(), 1)
                    }
                    Inline::Scoreboard { add, entry, .. } => add(instruction, ADD_U64, entry, 1),
                }
            }
        }
    }

    /// Has `callback` called with `number` whenever the block is about to be executed.
    pub fn on_execution(&self, callback: Executed, number: usize) {
        // SAFETY: see `instruction`; the pointer is a number in disguise, and never followed.
        unsafe { (self.api.on_block)(self.block, callback, NO_REGS, number as *mut c_void) };
    }

    /// Has `callback` called whenever the last instruction is about to be executed.
    pub fn before_last(&self, callback: Executed) {
        self.before(self.count - 1, callback, 0);
    }

    /// Has `callback` called with `number` whenever an instruction is about to be executed.
    pub fn before(&self, index: usize, callback: Executed, number: usize) {
        let instruction = self.instruction(index);
        // SAFETY: see `instruction`; the pointer is a number in disguise, and never followed.
        unsafe {
            (self.api.on_instruction)(instruction, callback, NO_REGS, number as *mut c_void);
        }
    }

    /// Has `callback` called whenever an instruction has accessed memory.
    pub fn on_memory(&self, index: usize, callback: Accessed) {
        let (instruction, nothing) = (self.instruction(index), std::ptr::null_mut());
        // SAFETY: see `instruction`.
        unsafe { (self.api.on_memory)(instruction, callback, NO_REGS, READ_AND_WRITE, nothing) };
    }
}

/// An access that an instruction has just made; of use in an [Accessed] callback only.
pub struct MemoryAccess {
    /// What QEMU knows of it (`qemu_plugin_meminfo_t`).
    pub info: u32,
    /// Virtual.
    pub address: u64,
}

impl MemoryAccess {
    /// Its physical address and whether it wrote, if it went to a device.
    pub fn device(&self) -> Option<(u64, bool)> {
        let api = API.get()?;
        // SAFETY: QEMU's functions, in the callback they are meant for; what `hwaddr` returns is valid in it.
        unsafe {
            let place = (api.hwaddr)(self.info, self.address);
            let to_device = !place.is_null() && (api.is_io)(place);
            to_device.then(|| ((api.physical)(place), (api.is_store)(self.info)))
        }
    }
}

/// How often a [counted](Translation::count) instruction was executed.
pub fn counter() -> u64 {
    match API.get().map(|api| api.inline) {
        // SAFETY: processor 0 exists, and only its thread adds; others look only while it stands still.
        Some(Inline::Scoreboard { find, entry, .. }) => unsafe {
            find(entry.scoreboard, 0).cast::<u64>().read_volatile()
        },
        _ => OWN_COUNTER.load(Ordering::Relaxed),
    }
}

unsafe extern "C" fn translated(_id: u64, block: *mut c_void) {
    let Some(api) = API.get() else { return };
    // SAFETY: QEMU hands us a block it has just translated.
    let count = unsafe { (api.n_insns)(block) };
    let translation = Translation { api, block, count };
    if count == 0 || translation.instruction(0).is_null() {
        return;
    }
    halt_race::watch(&translation);
    cmpxchg_flags::watch(&translation);
    if api.profiled {
        instrument::translated(&translation);
    }
}

/// The beginning of `qemu_info_t`.
#[repr(C)]
struct Info {
    target_name: *const c_char,
    min_version: c_int,
    version: c_int,
}

/// The API's version, from what QEMU tells a plugin at its installation.
///
/// # Safety
/// `info` is QEMU's `qemu_info_t`.
pub unsafe fn api_version(info: *const c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { (*info.cast::<Info>()).version }
}
