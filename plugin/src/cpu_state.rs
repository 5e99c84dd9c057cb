// SPDX-License-Identifier: GPL-2.0-or-later
//! The state of a virtual processor: its registers.
//!
//! QEMU exports no function that returns it. It is searched for in the processor's object: whenever a kernel block is translated, the
//! state must hold the address of the next instruction, with valid values around it. All processors' objects are laid out alike.

use std::ffi::c_uint;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::api::api;
use super::layout::{CC_OP_NB, CpuState};
use super::memory::read;
use super::translation::Translation;

/// How much of the processor's object is searched. The object is larger.
const OBJECT_BYTES: usize = 32 << 10;
/// How many blocks at different addresses must agree where the state is.
const WITNESSES: u32 = 16;
/// How many blocks are looked at before the search fails.
const MAX_BLOCKS: u32 = 10_000;
/// Linux' half of the address space. There an instruction's linear address is the value of RIP.
const KERNEL: u64 = 0xffff_8000_0000_0000;
/// [`OFFSET`] before the state is found, and after the search has failed.
const UNKNOWN: usize = 0;
const FAILED: usize = usize::MAX;

/// Whether this may be the state of a processor that is about to execute the instruction at `address`.
fn fits(state: &CpuState, address: u64) -> bool {
    // QEMU keeps CF, PF, AF, ZF, SF, OF and DF elsewhere: they are 0 in `eflags`. Bit 1 is always 1, reserved bits are 0 (Intel SDM,
    // volume 1, 3.4.3).
    state.eip == address
        && state.eflags & 0xffff_ffff_ffc0_8cff == 2
        && state.cc_op < CC_OP_NB
        && state.df.abs() == 1
}

#[derive(Default)]
struct Search {
    processor: usize,
    /// Offsets that have fitted all blocks so far; None: all offsets.
    candidates: Option<Vec<usize>>,
    last_address: u64,
    witnesses: u32,
    blocks: u32,
}

static SEARCH: Mutex<Option<Search>> = Mutex::new(None);
/// Where the state is in a processor's object.
static OFFSET: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// Whether the search was in vain.
pub fn failed() -> bool {
    OFFSET.load(Ordering::Relaxed) == FAILED
}

/// The state of a processor; None: it is not known where.
///
/// The registers in it are right when a block begins, and no longer inside it.
pub fn of(processor: c_uint) -> Option<*mut CpuState> {
    match OFFSET.load(Ordering::Relaxed) {
        UNKNOWN | FAILED => None,
        // SAFETY: a processor that exists; its object is larger than the offset.
        offset => unsafe {
            let object = (api().qemu_get_cpu)(processor as i32);
            Some(object.cast::<u8>().add(offset).cast())
        },
    }
}

/// Looks at a block of one processor that was translated and is about to be executed.
pub fn watch(translation: &Translation) {
    if OFFSET.load(Ordering::Relaxed) == UNKNOWN {
        let mut guard = SEARCH.lock().unwrap_or_else(|e| e.into_inner());
        guard.get_or_insert_default().look(translation.start());
    }
}

impl Search {
    fn look(&mut self, address: u64) {
        if address < KERNEL || address == self.last_address {
            return;
        }
        self.last_address = address;
        if self.processor == 0 {
            // SAFETY: processor 0 exists: it executes what was translated.
            self.processor = unsafe { (api().qemu_get_cpu)(0) } as usize;
        }
        self.blocks += 1;
        let first = std::mem::offset_of!(CpuState, eip);
        let all = || {
            (0..(OBJECT_BYTES - first) / 8)
                .map(|word| word * 8)
                .collect()
        };
        let known = self.candidates.take().unwrap_or_else(all);
        let processor = self.processor;
        let fit = |at: &usize| {
            read::<CpuState>(processor + at).is_some_and(|state| fits(&state, address))
        };
        let left: Vec<usize> = known.iter().copied().filter(fit).collect();
        match left[..] {
            // QEMU may translate a block ahead of its execution, or for another processor: such a block is no witness.
            [] if self.blocks < MAX_BLOCKS => {
                self.candidates = (self.witnesses > 0).then_some(known);
            }
            [] => OFFSET.store(FAILED, Ordering::Relaxed),
            [only] if self.witnesses >= WITNESSES => OFFSET.store(only, Ordering::Relaxed),
            _ => {
                self.witnesses += 1;
                self.candidates = Some(left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_recognised_by_its_fixed_values() {
        let state = CpuState {
            regs: [0; 16],
            eip: KERNEL + 7,
            eflags: 0x202,
            cc_dst: 0,
            cc_src: u64::MAX,
            cc_src2: 0,
            cc_op: 17,
            df: 1,
        };
        assert!(fits(&state, KERNEL + 7));
        for wrong in [
            CpuState {
                eip: KERNEL,
                ..state
            },
            CpuState {
                eflags: 0x246,
                ..state
            },
            CpuState {
                eflags: 0x200,
                ..state
            },
            CpuState {
                eflags: 1 << 22 | 2,
                ..state
            },
            CpuState {
                cc_op: CC_OP_NB,
                ..state
            },
            CpuState { df: 0, ..state },
        ] {
            assert!(!fits(&wrong, KERNEL + 7));
        }
    }
}
