// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps CMPXCHG16B and CMPXCHG8B of QEMU 7 from corrupting RFLAGS.
//!
//! The helpers of these two instructions compute the flags from `env->cc_op`, which the translator has not brought up to date
//! (target/i386/tcg/translate.c, case 0x1c7: no `gen_update_cc_op`; QEMU 8 and later have no such helpers). For some operations the
//! computed flags are the source operand itself (`helper_cc_compute_all`), so any 64-bit number may become the flags. ZF is right, and
//! the guest looks at nothing else before the flags are computed anew. But if a timer interrupts at this point, they are pushed as
//! RFLAGS: TF, AC or other flags may be set, and the DUT's kernel warns or dies. Linux' slab allocator uses CMPXCHG16B for every
//! object; this happened in one trial of a few thousand.
//!
//! Therefore a stale operation of that kind is replaced before such an instruction, by one whose flags are always valid. That loses CF,
//! PF, AF, SF and OF, which the instruction should leave alone but which QEMU has lost by then. In the first instruction of a block
//! nothing is stale.
//!
//! QEMU exports no function that returns the processor's state. It is searched for in the processor's object: whenever a kernel block is
//! translated, the state must hold the address of the next instruction, with valid values around it.

use std::ffi::{c_uint, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::qemu::api::api;
use crate::qemu::die::die;
use crate::qemu::layout::{CC_OP_LOGICQ, CC_OP_NB, CpuState};
use crate::qemu::memory::read;
use crate::qemu::translation::Translation;

/// How much of the processor's object is searched. The object is larger.
const OBJECT_BYTES: usize = 32 << 10;
/// How many blocks at different addresses must agree where the state is.
const WITNESSES: u32 = 16;
/// How many blocks are looked at before the search fails.
const MAX_BLOCKS: u32 = 10_000;
/// Linux' half of the address space. There an instruction's linear address is the value of RIP.
const KERNEL: u64 = 0xffff_8000_0000_0000;

/// Whether the flags of this operation are `cc_src` unfiltered: CC_OP_EFLAGS, INC, DEC, ADCX, ADOX and ADCOX.
fn takes_flags_from_source(cc_op: u32) -> bool {
    matches!(cc_op, 1 | 26..=33 | 46..=48)
}

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
/// Address of `cc_op`; 0: not found yet, or not needed.
static CC_OP: AtomicUsize = AtomicUsize::new(0);

/// Starts the search if QEMU of this major version needs it.
pub fn install(major: i64) {
    if major < 8 {
        *SEARCH.lock().unwrap_or_else(|e| e.into_inner()) = Some(Search::default());
    }
}

/// Looks at a block that was translated and is about to be executed.
pub fn watch(translation: &Translation) {
    let mut guard = SEARCH.lock().unwrap_or_else(|e| e.into_inner());
    let Some(search) = guard.as_mut() else { return };
    if CC_OP.load(Ordering::Relaxed) == 0 {
        search.look(translation.start());
    }
    for index in 1..translation.instructions() {
        if translation.at(index, |_, code| is_cmpxchg(code)) {
            translation.before(index, before_cmpxchg, 0);
        }
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
        let all = || (0..OBJECT_BYTES / 8).map(|word| word * 8).collect();
        let known = self.candidates.take().unwrap_or_else(all);
        let processor = self.processor;
        let fit = |at: &usize| {
            read::<CpuState>(processor + at).is_some_and(|state| fits(&state, address))
        };
        let left: Vec<usize> = known.iter().copied().filter(fit).collect();
        match left[..] {
            // QEMU may translate a block ahead of its execution: such a block is no witness.
            [] if self.blocks < MAX_BLOCKS => {
                self.candidates = (self.witnesses > 0).then_some(known);
            }
            [] => die(
                "the processor's state was not found in this QEMU; without it, its CMPXCHG16B would corrupt the DUT's flags",
            ),
            [only] if self.witnesses >= WITNESSES => {
                CC_OP.store(
                    processor + only + std::mem::offset_of!(CpuState, cc_op),
                    Ordering::Relaxed,
                );
            }
            _ => {
                self.witnesses += 1;
                self.candidates = Some(left);
            }
        }
    }
}

/// CMPXCHG8B and CMPXCHG16B (Intel SDM, volume 2A): 0F C7 /1 with a memory operand.
fn is_cmpxchg(code: &[u8]) -> bool {
    let prefix = |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
    let begin = code.iter().take_while(|byte| prefix(byte)).count();
    matches!(code[begin..], [0x0f, 0xc7, modrm, ..] if modrm >> 3 & 7 == 1 && modrm >> 6 != 3)
}

unsafe extern "C" fn before_cmpxchg(_processor: c_uint, _: *mut c_void) {
    let cc_op = CC_OP.load(Ordering::Relaxed) as *mut u32;
    // SAFETY: `Search` has found it there, and this is the processor's own thread.
    unsafe {
        if !cc_op.is_null() && takes_flags_from_source(*cc_op) {
            *cc_op = CC_OP_LOGICQ;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instruction_is_recognised_by_its_bytes() {
        for code in [
            &[0x65, 0x48, 0x0f, 0xc7, 0x0f][..], // cmpxchg16b %gs:(%rdi), as in the slab allocator
            &[0xf0, 0x49, 0x0f, 0xc7, 0x4c, 0x24, 0x20],
            &[0x0f, 0xc7, 0x0e],
        ] {
            assert!(is_cmpxchg(code), "{code:x?}");
        }
        for code in [
            &[0x0f, 0xc7, 0xf0][..], // rdrand %eax
            &[0x0f, 0xc7, 0x27],     // xsavec (%rdi)
            &[0xf0, 0x0f, 0xb1, 0x0f],
            &[0x48],
        ] {
            assert!(!is_cmpxchg(code), "{code:x?}");
        }
    }

    #[test]
    fn a_state_is_recognised_by_its_fixed_values() {
        let state = CpuState {
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

    #[test]
    fn the_replacement_does_not_take_flags_from_its_source() {
        assert!(!takes_flags_from_source(CC_OP_LOGICQ));
        assert!(takes_flags_from_source(1));
    }
}
