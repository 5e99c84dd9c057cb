// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's plugin API (include/qemu/qemu-plugin.h): blocks of instructions that QEMU translates, and their instrumentation.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::api::{Accessed, Api, Executed, api};
use super::layout::{
    PLUGIN_ADD_U64, PLUGIN_NO_REGS, PLUGIN_READ_AND_WRITE, PluginCounter, PluginInfo,
};
use irqlab_tester::x86;

/// No instruction is longer (Intel SDM, volume 2, 2.3.11).
const MAX_INSTRUCTION_BYTES: usize = 15;

/// How an inline counter is incremented, by the API's version.
#[derive(Clone, Copy)]
enum Inline {
    /// Version 1: at an address.
    Address(unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, u64)),
    /// From 2 on: in a scoreboard, which has an entry for each processor.
    Scoreboard {
        add: unsafe extern "C" fn(*mut c_void, c_int, PluginCounter, u64),
        find: unsafe extern "C" fn(*mut c_void, c_uint) -> *mut c_void,
        counter: PluginCounter,
    },
    /// The same with several processors: a callback adds. From QEMU 9.1 on, without CF_PARALLEL, `gen_plugin_u64_ptr` of
    /// accel/tcg/plugin-gen.c multiplies the processor's number in place, although it is a constant of the whole block.
    Callback,
}

/// How an instruction's bytes are read, by the API's version.
#[derive(Clone, Copy)]
enum Bytes {
    /// Versions 1 and 2.
    InPlace(unsafe extern "C" fn(*const c_void) -> *const u8),
    /// From 3 on.
    Copied(unsafe extern "C" fn(*const c_void, *mut c_void, usize) -> usize),
}

/// What depends on the API's version, and what is called for each block.
struct Instrumentation {
    inline: Inline,
    bytes: Bytes,
    translated: fn(&Translation),
}

// SAFETY: the scoreboard is QEMU's, and lives as long as QEMU; one thread executes all virtual processors.
unsafe impl Send for Instrumentation {}
// SAFETY: as above.
unsafe impl Sync for Instrumentation {}

static INSTRUMENTATION: OnceLock<Instrumentation> = OnceLock::new();
/// The counter, unless it is in a scoreboard.
static OWN_COUNTER: AtomicU64 = AtomicU64::new(0);

/// Calls `translated` with every block that will be translated for so many processors. `id` is the plugin's number, `version` that of QEMU's
/// plugin API.
pub fn install(
    id: u64,
    version: c_int,
    processors: u32,
    translated: fn(&Translation),
) -> Result<(), String> {
    let api = api();
    let inline = if version >= 2 && processors > 1 {
        Some(Inline::Callback)
    } else if version >= 2 {
        scoreboard(api)
    } else {
        api.qemu_plugin_register_vcpu_insn_exec_inline
            .map(Inline::Address)
    };
    let inline = inline.ok_or("this QEMU's plugin API has no inline counters")?;
    // SAFETY: these are the function's prototypes in these versions.
    let bytes = unsafe {
        if version >= 3 {
            Bytes::Copied(std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(*const c_void, *mut c_void, usize) -> usize,
            >(api.qemu_plugin_insn_data))
        } else {
            Bytes::InPlace(std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(*const c_void) -> *const u8,
            >(api.qemu_plugin_insn_data))
        }
    };
    let _ = INSTRUMENTATION.set(Instrumentation {
        inline,
        bytes,
        translated,
    });
    type Before7 = unsafe extern "C" fn(u64, *mut c_void);
    type From7 = unsafe extern "C" fn(*mut c_void, *mut c_void);
    let register = api.qemu_plugin_register_vcpu_tb_trans_cb;
    // SAFETY: as above. The callbacks live as long as the process.
    unsafe {
        if version >= 7 {
            let register = std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(u64, From7, *mut c_void),
            >(register);
            register(id, block_translated, std::ptr::null_mut());
        } else {
            let register =
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(u64, Before7)>(register);
            register(id, block_translated_before_7);
        }
    }
    Ok(())
}

fn scoreboard(api: &Api) -> Option<Inline> {
    let new = api.qemu_plugin_scoreboard_new?;
    let add = api.qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu?;
    let find = api.qemu_plugin_scoreboard_find?;
    let counter = PluginCounter {
        // SAFETY: the API's function, called from the plugin's installation on.
        scoreboard: unsafe { new(size_of::<u64>()) },
        offset: 0,
    };
    Some(Inline::Scoreboard { add, find, counter })
}

/// A block that QEMU has just translated. It has at least one instruction.
pub struct Translation<'a> {
    api: &'static Api,
    instrumentation: &'a Instrumentation,
    block: *mut c_void,
    count: usize,
}

impl Translation<'_> {
    fn instruction(&self, index: usize) -> *mut c_void {
        // SAFETY: the block is valid during the callback, and the index smaller than its count.
        unsafe { (self.api.qemu_plugin_tb_get_insn)(self.block, index) }
    }

    /// How many instructions it has.
    pub fn instructions(&self) -> usize {
        self.count
    }

    /// The first instruction's virtual address.
    pub fn start(&self) -> u64 {
        // SAFETY: see `instruction`.
        unsafe { (self.api.qemu_plugin_insn_vaddr)(self.instruction(0)) }
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
            let size = (self.api.qemu_plugin_insn_size)(instruction).min(MAX_INSTRUCTION_BYTES);
            match self.instrumentation.bytes {
                Bytes::InPlace(data) => {
                    code[..size]
                        .copy_from_slice(std::slice::from_raw_parts(data(instruction), size));
                }
                Bytes::Copied(data) => {
                    data(instruction, code.as_mut_ptr().cast(), size);
                }
            }
            work(
                (self.api.qemu_plugin_insn_vaddr)(instruction),
                &code[..size],
            )
        }
    }

    /// Has every instruction add one to the [counter].
    pub fn count(&self) {
        for index in 0..self.count {
            let instruction = self.instruction(index);
            // SAFETY: see `instruction`; the counter lives as long as QEMU.
            unsafe {
                match self.instrumentation.inline {
                    Inline::Address(add) => {
                        add(instruction, PLUGIN_ADD_U64, OWN_COUNTER.as_ptr().cast(), 1)
                    }
                    Inline::Scoreboard { add, counter, .. } => {
                        add(instruction, PLUGIN_ADD_U64, counter, 1)
                    }
                    Inline::Callback => self.before(index, counted, 0),
                }
            }
        }
    }

    /// Has `callback` called with `number` whenever the block is about to be executed.
    pub fn on_execution(&self, callback: Executed, number: usize) {
        // SAFETY: see `instruction`; the pointer holds a number and is never dereferenced.
        unsafe {
            (self.api.qemu_plugin_register_vcpu_tb_exec_cb)(
                self.block,
                callback,
                PLUGIN_NO_REGS,
                number as *mut c_void,
            )
        };
    }

    /// Has `callback` called whenever the last instruction is about to be executed.
    pub fn before_last(&self, callback: Executed) {
        self.before(self.count - 1, callback, 0);
    }

    /// Has `callback` called with `number` whenever an instruction is about to be executed.
    pub fn before(&self, index: usize, callback: Executed, number: usize) {
        let instruction = self.instruction(index);
        // SAFETY: see `instruction`; the pointer holds a number and is never dereferenced.
        unsafe {
            (self.api.qemu_plugin_register_vcpu_insn_exec_cb)(
                instruction,
                callback,
                PLUGIN_NO_REGS,
                number as *mut c_void,
            );
        }
    }

    /// Has `callback` called with `number` whenever an instruction has accessed memory.
    pub fn on_memory(&self, index: usize, callback: Accessed, number: usize) {
        let instruction = self.instruction(index);
        // SAFETY: see `instruction`.
        unsafe {
            (self.api.qemu_plugin_register_vcpu_mem_cb)(
                instruction,
                callback,
                PLUGIN_NO_REGS,
                PLUGIN_READ_AND_WRITE,
                number as *mut c_void,
            )
        };
    }
}

/// The bits that a virtual address and its physical address share.
const PAGE_MASK: u64 = 0xfff;

/// Where Linux maps devices: vmalloc's range, which is ioremap's, too, and the fixed mappings, the local APIC among them
/// (Documentation/x86/x86_64/mm.rst, 4-level page tables). Asking QEMU about every access would be too slow.
fn may_be_a_device(virtual_address: u64) -> bool {
    matches!(virtual_address, 0xffff_c900_0000_0000..0xffff_e900_0000_0000 | 0xffff_ffff_ff00_0000..)
}

/// What QEMU's number for a kind of access means. A few numbers occur, so what QEMU has said of them is kept.
#[derive(Debug)]
pub struct Kinds([Kind; Kinds::PLACES]);

#[derive(Clone, Copy, Debug)]
struct Kind {
    info: u32,
    bytes: u8,
    writes: bool,
}

impl Default for Kinds {
    fn default() -> Self {
        let none = Kind {
            info: u32::MAX,
            bytes: 1,
            writes: false,
        };
        Kinds([none; Kinds::PLACES])
    }
}

impl Kinds {
    const PLACES: usize = 64;

    /// How many bytes an access reads or writes, and whether it writes, by `qemu_plugin_meminfo_t`.
    #[inline]
    pub fn of(&mut self, info: u32) -> (u64, bool) {
        let place = (info >> 4 ^ info >> 16 ^ info << 4) as usize % Self::PLACES;
        if self.0[place].info != info {
            self.ask(place, info);
        }
        let kind = &self.0[place];
        (kind.bytes.into(), kind.writes)
    }

    #[cold]
    #[inline(never)]
    fn ask(&mut self, place: usize, info: u32) {
        let access = MemoryAccess { info, address: 0 };
        self.0[place] = Kind {
            info,
            bytes: access.bytes(),
            writes: access.writes(),
        };
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
    /// How many bytes it read or wrote.
    fn bytes(&self) -> u8 {
        // SAFETY: QEMU's function, which takes any number. It returns at most 7.
        1 << unsafe { (api().qemu_plugin_mem_size_shift)(self.info) }
    }

    /// Whether it wrote.
    fn writes(&self) -> bool {
        // SAFETY: as above.
        unsafe { (api().qemu_plugin_mem_is_store)(self.info) }
    }

    /// Its physical address and whether it wrote, if it went to a device.
    pub fn device(&self) -> Option<(u64, bool)> {
        if !may_be_a_device(self.address) {
            return None;
        }
        let api = api();
        // SAFETY: QEMU's functions, in the callback they are meant for; what `hwaddr` returns is valid in it.
        let found = unsafe {
            let place = (api.qemu_plugin_get_hwaddr)(self.info, self.address);
            let to_device = !place.is_null() && (api.qemu_plugin_hwaddr_is_io)(place);
            to_device.then(|| {
                (
                    (api.qemu_plugin_hwaddr_phys_addr)(place),
                    (api.qemu_plugin_mem_is_store)(self.info),
                )
            })
        };
        // If QEMU has dropped the mapping meanwhile, 7.2 returns that of the last access to a device.
        found.filter(|(physical, _)| (physical ^ self.address) & PAGE_MASK == 0)
    }
}

/// How often [counted](Translation::count) instructions were executed.
pub fn counter() -> u64 {
    match INSTRUMENTATION.get().map(|chosen| chosen.inline) {
        // SAFETY: processor 0 exists, and only its thread adds; others look only while it stands still.
        Some(Inline::Scoreboard { find, counter, .. }) => unsafe {
            find(counter.scoreboard, 0).cast::<u64>().read_volatile()
        },
        _ => OWN_COUNTER.load(Ordering::Relaxed),
    }
}

unsafe extern "C" fn counted(_processor: c_uint, _: *mut c_void) {
    OWN_COUNTER.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C" fn block_translated_before_7(_id: u64, block: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { block_translated(block, std::ptr::null_mut()) }
}

unsafe extern "C" fn block_translated(block: *mut c_void, _: *mut c_void) {
    let Some(instrumentation) = INSTRUMENTATION.get() else {
        return;
    };
    let api = api();
    // SAFETY: QEMU passes a block that it has just translated.
    let count = unsafe { (api.qemu_plugin_tb_n_insns)(block) };
    let mut translation = Translation {
        api,
        instrumentation,
        block,
        count,
    };
    if count != 0 && !translation.instruction(0).is_null() {
        if count > 1 && translation.last(is_cut) {
            translation.count -= 1;
        }
        (instrumentation.translated)(&translation);
    }
}

/// Whether an instruction crosses a page: its bytes end with the page or before it, and the instruction is not complete. QEMU 7.2 removes
/// such an instruction from the block that it had begun to translate, but still counts it for plugins. It is the first one of the next
/// block. (16- and 32-bit code of the BIOS may be misread: nothing is measured there.)
fn is_cut(address: u64, code: &[u8]) -> bool {
    address & PAGE_MASK > PAGE_MASK + 1 - MAX_INSTRUCTION_BYTES as u64 && x86::is_incomplete(code)
}

/// The version of QEMU's plugin API, from what QEMU passes to a plugin's installation.
///
/// # Safety
/// `info` is QEMU's `qemu_info_t`.
pub unsafe fn api_version(info: *const c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { (*info.cast::<PluginInfo>()).version }
}

#[cfg(test)]
mod tests {
    use super::is_cut;

    #[test]
    fn an_instruction_that_the_page_cuts_is_seen() {
        let call = [0xe8, 0x10, 0x20, 0x30, 0x40];
        assert!(is_cut(0x1fff, &call[..1]) && is_cut(0x1ffc, &call[..4]));
        assert!(is_cut(0x1ffe, &call[..1]), "QEMU reads the rest at once");
        assert!(!is_cut(0x1ffb, &call), "whole, and the page's last");
        assert!(!is_cut(0x1ff0, &[0x90]), "the block ends before the page");
        let prefixes = [0x66, 0x2e, 0x0f];
        assert!(is_cut(0x1ffd, &prefixes));
        let repeated = [0xf3, 0x48, 0xa5];
        assert!(!is_cut(0x1ffd, &repeated));
    }
}
