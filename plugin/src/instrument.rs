// SPDX-License-Identifier: GPL-2.0-or-later
//! QEMU's side of the [profiler](irqlab_tester::profile): every instruction increments a counter, and every block reports that it begins.
//!
//! The counter is incremented inline, before each instruction, so it is exact where a block ends early: an access to a device ends the
//! block and is then executed again on its own, without instrumentation.

use std::collections::HashMap;
use std::ffi::{c_uint, c_void};
use std::sync::Mutex;

use super::translation::{MemoryAccess, Translation, counter};
use super::{lines, parallel};
use irqlab_tester::profile::access::{Access, Space, port};
use irqlab_tester::profile::map::Addresses;
use irqlab_tester::profile::{Block, Profile, Profiler, ending::ending};
use irqlab_tester::refusal::Refusal;

struct Instrument {
    /// Blocks by number. A block that is translated again keeps its number.
    blocks: Vec<Block>,
    numbers: HashMap<(u64, u64, u64), usize>,
    processors: u32,
    profiler: Option<Profiler>,
}

static INSTRUMENT: Mutex<Option<Instrument>> = Mutex::new(None);

fn with<T>(work: impl FnOnce(&mut Instrument) -> Result<T, Refusal>) -> Result<T, Refusal> {
    let mut guard = INSTRUMENT.lock().unwrap_or_else(|e| e.into_inner());
    guard
        .as_mut()
        .ok_or_else(|| {
            Refusal::unsupported("this QEMU was started without the tester's argument profile=1")
        })
        .and_then(work)
}

/// Instruments everything that will be translated for so many processors.
pub fn install(processors: u32) {
    *INSTRUMENT.lock().unwrap_or_else(|e| e.into_inner()) = Some(Instrument {
        blocks: Vec::new(),
        numbers: HashMap::new(),
        processors,
        profiler: None,
    });
}

/// Profiles every window from now on.
pub fn arm(addresses: &Addresses) -> Result<(), Refusal> {
    with(|instrument| {
        let profiler = Profiler::new(addresses, instrument.processors, counter())?;
        for block in &mut instrument.blocks {
            block.place(profiler.map());
        }
        instrument.profiler = Some(profiler);
        Ok(())
    })
}

/// A window opens or closes. Does nothing without a profiler.
pub fn window(open: bool) {
    let _ = with(|instrument| {
        if let Some(profiler) = &mut instrument.profiler {
            profiler.window(open, counter());
            lines::window(open);
        }
        Ok(())
    });
}

/// The profile of the last window.
pub fn result() -> Result<Profile, Refusal> {
    with(|instrument| {
        let profiler = instrument
            .profiler
            .as_ref()
            .ok_or("nothing was profiled: profile first")?;
        let lines = lines::result(profiler.map());
        Ok(Profile {
            lines,
            ..profiler.result()
        })
    })
}

/// A block was translated.
pub fn translated(translation: &Translation) {
    let _ = with(|instrument| {
        translation.count();
        let mut block = translation.last(|address, code| Block {
            start: translation.start(),
            after: address + code.len() as u64,
            instructions: translation.instructions() as u64,
            ending: ending(code),
            function: 0,
            first: false,
        });
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
        translation.on_execution(executed, number);
        Ok(())
    });
    for index in 0..translation.instructions() {
        if let Some(access) = translation.at(index, |_, code| port(code)) {
            translation.before(index, port_accessed, usize::from(access.write));
        } else {
            translation.on_memory(index, memory_accessed, 0);
        }
    }
}

fn accessed(access: Access) {
    let mut guard = INSTRUMENT.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(Instrument {
        profiler: Some(profiler),
        ..
    }) = guard.as_mut()
    {
        profiler.accessed(access);
    }
}

/// Called after a memory access. An access to a device that QEMU postpones, to execute it again on its own, has not happened yet and is not
/// reported; in the second execution QEMU still instruments memory accesses.
unsafe extern "C" fn memory_accessed(_processor: c_uint, info: u32, address: u64, _: *mut c_void) {
    if let Some((physical, write)) = (MemoryAccess { info, address }).device() {
        accessed(Access {
            space: Space::Mmio,
            address: physical,
            write,
        });
    }
}

unsafe extern "C" fn port_accessed(_processor: c_uint, write: *mut c_void) {
    accessed(Access {
        space: Space::Port,
        address: 0,
        write: !write.is_null(),
    });
}

unsafe extern "C" fn executed(processor: c_uint, number: *mut c_void) {
    let mut guard = INSTRUMENT.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(Instrument {
        profiler: Some(profiler),
        blocks,
        ..
    }) = guard.as_mut()
    {
        profiler.enter(
            parallel::executing(processor) as usize,
            &blocks[number as usize],
            counter(),
        );
        lines::enters(profiler.user());
    }
}
