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

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use iced_x86::Mnemonic;

use crate::cpu_state;
use crate::die::die;
use crate::layout::CC_OP_LOGICQ;
use crate::translation::Translation;
use irqlab_tester::x86;

/// Whether the flags of this operation are `cc_src` unfiltered: CC_OP_EFLAGS, INC, DEC, ADCX, ADOX and ADCOX.
fn takes_flags_from_source(cc_op: u32) -> bool {
    matches!(cc_op, 1 | 26..=33 | 46..=48)
}

/// Whether this QEMU needs it.
static NEEDED: AtomicBool = AtomicBool::new(false);

/// Mends the instructions if QEMU of this major version needs it.
pub fn install(major: i64) {
    NEEDED.store(major < 8, Ordering::Relaxed);
}

/// Looks at a block that was translated and is about to be executed.
pub fn watch(translation: &Translation) {
    if !NEEDED.load(Ordering::Relaxed) {
        return;
    }
    if cpu_state::failed() {
        die(
            "the processor's state was not found in this QEMU; without it, its CMPXCHG16B would corrupt the DUT's flags",
        );
    }
    for index in 1..translation.instructions() {
        if translation.at(index, |_, code| is_cmpxchg(code)) {
            translation.before(index, before_cmpxchg, 0);
        }
    }
}

/// CMPXCHG8B and CMPXCHG16B.
fn is_cmpxchg(code: &[u8]) -> bool {
    matches!(
        x86::decode(code).mnemonic(),
        Mnemonic::Cmpxchg8b | Mnemonic::Cmpxchg16b
    )
}

unsafe extern "C" fn before_cmpxchg(processor: c_uint, _: *mut c_void) {
    // SAFETY: the state was found there, and this is the processor's own thread.
    unsafe {
        if let Some(state) = cpu_state::of(processor) {
            let cc_op = &raw mut (*state).cc_op;
            if takes_flags_from_source(*cc_op) {
                *cc_op = CC_OP_LOGICQ;
            }
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
    fn the_replacement_does_not_take_flags_from_its_source() {
        assert!(!takes_flags_from_source(CC_OP_LOGICQ));
        assert!(takes_flags_from_source(1));
    }
}
