// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's side of the [profiler](crate::profile): every instruction adds one to a counter, every block says that it begins.
//!
//! The plugin API of QEMU 7.2 to 10.x (include/qemu/qemu-plugin.h), found by name. The counter is added to inline, before each
//! instruction, so that it is exact where a block is cut short: an access to a device ends it and is executed again on its
//! own, without instrumentation.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use libloading::os::unix::Library;

use crate::profile::map::Addresses;
use crate::profile::{Block, Profile, Profiler, ending::ending};

/// `QEMU_PLUGIN_CB_NO_REGS`.
const NO_REGS: c_int = 0;
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
type Executed = unsafe extern "C" fn(c_uint, *mut c_void);

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

#[derive(Clone, Copy)]
struct Api {
    n_insns: unsafe extern "C" fn(*const c_void) -> usize,
    get_insn: unsafe extern "C" fn(*const c_void, usize) -> *mut c_void,
    insn_vaddr: unsafe extern "C" fn(*const c_void) -> u64,
    insn_size: unsafe extern "C" fn(*const c_void) -> usize,
    on_execution: unsafe extern "C" fn(*mut c_void, Executed, c_int, *mut c_void),
    inline: Inline,
    bytes: Bytes,
}

// SAFETY: the scoreboard is QEMU's, and lives as long as QEMU does; there is one virtual processor.
unsafe impl Send for Api {}

struct Instrument {
    api: Api,
    /// Blocks by number, and the numbers: a block that is translated again keeps its own.
    blocks: Vec<Block>,
    numbers: HashMap<(u64, u64, u64), usize>,
    profiler: Option<Profiler>,
}

static INSTRUMENT: Mutex<Option<Instrument>> = Mutex::new(None);
/// The counter, where the API wants it at an address.
static OWN_COUNTER: AtomicU64 = AtomicU64::new(0);
/// The counter: only the virtual processor's thread adds to it, and others look only while it stands still.
static COUNTER: AtomicPtr<u64> = AtomicPtr::new(OWN_COUNTER.as_ptr());

fn counter() -> u64 {
    // SAFETY: points to a u64 that lives as long as QEMU; see COUNTER.
    unsafe { COUNTER.load(Ordering::Relaxed).read_volatile() }
}

fn with<T>(work: impl FnOnce(&mut Instrument) -> Result<T, String>) -> Result<T, String> {
    let mut guard = INSTRUMENT.lock().unwrap_or_else(|e| e.into_inner());
    guard
        .as_mut()
        .ok_or("this QEMU was started without the tester's argument profile=1".into())
        .and_then(work)
}

/// Instruments everything that will be translated, in a plugin of number `id` under an API of `version`.
pub fn install(id: u64, version: c_int) -> Result<(), String> {
    let (api, register) =
        resolve(version).map_err(|name| format!("profile=1: this QEMU does not export {name}"))?;
    *INSTRUMENT.lock().unwrap_or_else(|e| e.into_inner()) = Some(Instrument {
        api,
        blocks: Vec::new(),
        numbers: HashMap::new(),
        profiler: None,
    });
    // SAFETY: the signature is the API's.
    unsafe { register(id, translated) };
    Ok(())
}

/// Profiles every window from now on.
pub fn arm(addresses: &Addresses) -> Result<(), String> {
    with(|instrument| {
        let profiler = Profiler::new(addresses, counter())?;
        for block in &mut instrument.blocks {
            block.place(profiler.map());
        }
        instrument.profiler = Some(profiler);
        Ok(())
    })
}

/// A window opens or closes. Nothing, if nothing is profiled.
pub fn window(open: bool) {
    let _ = with(|instrument| {
        if let Some(profiler) = &mut instrument.profiler {
            profiler.window(open, counter());
        }
        Ok(())
    });
}

/// What was counted in the last window.
pub fn result() -> Result<Profile, String> {
    with(|instrument| {
        let profiler = instrument
            .profiler
            .as_ref()
            .ok_or("nothing was profiled: profile first")?;
        Ok(profiler.result())
    })
}

type Register = unsafe extern "C" fn(u64, Translated);

fn resolve(version: c_int) -> Result<(Api, Register), &'static str> {
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
        on_execution: find!("qemu_plugin_register_vcpu_tb_exec_cb"),
        inline,
        bytes,
    };
    Ok((api, find!("qemu_plugin_register_vcpu_tb_trans_cb")))
}

impl Api {
    /// Has every instruction of a block counted, and describes the block.
    ///
    /// # Safety
    /// `tb` is a block that QEMU has just translated.
    unsafe fn instrument(&self, tb: *mut c_void) -> Option<Block> {
        // SAFETY: the calls are those that the API allows here; instructions are asked for by numbers that exist.
        unsafe {
            let count = (self.n_insns)(tb);
            let mut last = (self.get_insn)(tb, 0);
            if count == 0 || last.is_null() {
                return None;
            }
            let start = (self.insn_vaddr)(last);
            for index in 0..count {
                last = (self.get_insn)(tb, index);
                match self.inline {
                    Inline::Address(add) => add(last, ADD_U64, OWN_COUNTER.as_ptr().cast(), 1),
                    Inline::Scoreboard { add, entry, .. } => add(last, ADD_U64, entry, 1),
                }
            }
            let size = (self.insn_size)(last).min(MAX_INSTRUCTION_BYTES);
            let mut code = [0; MAX_INSTRUCTION_BYTES];
            match self.bytes {
                Bytes::InPlace(data) => {
                    code[..size].copy_from_slice(std::slice::from_raw_parts(data(last), size))
                }
                Bytes::Copied(data) => {
                    data(last, code.as_mut_ptr().cast(), size);
                }
            }
            Some(Block {
                start,
                after: (self.insn_vaddr)(last) + size as u64,
                instructions: count as u64,
                ending: ending(&code[..size]),
                function: 0,
                first: false,
            })
        }
    }
}

unsafe extern "C" fn translated(_id: u64, tb: *mut c_void) {
    let _ = with(|instrument| {
        let api = instrument.api;
        if let Inline::Scoreboard { find, entry, .. } = api.inline {
            // SAFETY: processor 0 exists, it is the one that translates.
            COUNTER.store(
                unsafe { find(entry.scoreboard, 0) }.cast(),
                Ordering::Relaxed,
            );
        }
        // SAFETY: QEMU hands us a block it has just translated.
        let Some(mut block) = (unsafe { api.instrument(tb) }) else {
            return Ok(());
        };
        if let Some(profiler) = &instrument.profiler {
            block.place(profiler.map());
        }
        let key = (block.start, block.after, block.instructions);
        let next = instrument.blocks.len();
        let number = *instrument.numbers.entry(key).or_insert(next);
        if number == next {
            instrument.blocks.push(block);
        } else {
            instrument.blocks[number] = block;
        }
        // SAFETY: as above; the pointer is a number in disguise, and never followed.
        unsafe { (api.on_execution)(tb, executed, NO_REGS, number as *mut c_void) };
        Ok(())
    });
}

unsafe extern "C" fn executed(_processor: c_uint, number: *mut c_void) {
    let mut guard = INSTRUMENT.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(Instrument {
        profiler: Some(profiler),
        blocks,
        ..
    }) = guard.as_mut()
    {
        profiler.enter(&blocks[number as usize], counter());
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
