// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps QEMU 7 from making rubbish of the DUT's flags.
//!
//! The helpers of CMPXCHG16B and CMPXCHG8B compute the flags from `env->cc_op`, which the translator has not brought up to date
//! (target/i386/tcg/translate.c, case 0x1c7: no `gen_update_cc_op`; later versions have no such helpers). If the operation there is of a
//! kind whose flags are the source operand itself, or'ed with something (`helper_cc_compute_all`), any 64-bit number may become
//! flags. Nobody looks at more than ZF, which is right, before they are computed anew; but if a timer interrupts just then, they go
//! onto the stack as RFLAGS: with TF, AC or whatever set, and the DUT's kernel warns, or dies. Linux' slab allocator uses
//! CMPXCHG16B for every object, and it happened in one trial of a few thousand.
//!
//! So before such an instruction the stale operation is replaced by one whose flags are flags. What is lost are CF, PF, AF, SF and OF,
//! which the instruction should have left alone and QEMU has lost already. Where it is the first of its block, nothing is stale.
//!
//! QEMU exports no way to its processor's state. It is found in the processor's object by what is known of it whenever a block is
//! translated: the address of the next instruction, and what stands around it in `CPUX86State`.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use libloading::os::unix::Library;

use crate::qemu::api::peek;
use crate::qemu::plugin;
use crate::qemu::translation::Translation;

/// Of `CCOp` in target/i386/cpu.h, QEMU 7.2.
const CC_OP_LOGICQ: u32 = 25;
const CC_OP_NB: u32 = 51;
/// The processor's object is searched so far; it is larger.
const OBJECT_BYTES: usize = 32 << 10;
/// So many blocks at different addresses must agree where the state is.
const WITNESSES: u32 = 16;
/// After so many without a result there is none.
const PATIENCE: u32 = 10_000;
/// Linux' half of the address space. There the address of an instruction is that in the register.
const KERNEL: u64 = 0xffff_8000_0000_0000;

/// From `eip` on, a part of `CPUX86State`.
#[repr(C)]
#[derive(Clone, Copy)]
struct State {
    eip: u64,
    eflags: u64,
    cc_dst: u64,
    cc_src: u64,
    cc_src2: u64,
    cc_op: u32,
    df: i32,
}

/// Whether flags of this operation are `cc_src` unfiltered: CC_OP_EFLAGS, INC, DEC, ADCX, ADOX and ADCOX.
fn trusts_its_source(cc_op: u32) -> bool {
    matches!(cc_op, 1 | 26..=33 | 46..=48)
}

impl State {
    /// It may be the state of a processor that is about to execute what is at `address`.
    fn fits(&self, address: u64) -> bool {
        // The flags that are kept elsewhere are 0 (CF, PF, AF, ZF, SF, OF, DF), the one that is always 1 is, and so are no others
        // than there are (Intel SDM, volume 1, 3.4.3).
        self.eip == address
            && self.eflags & 0xffff_ffff_ffc0_8cff == 2
            && self.cc_op < CC_OP_NB
            && self.df.abs() == 1
    }
}

#[derive(Default)]
struct Search {
    object: usize,
    candidates: Option<Vec<usize>>,
    last: u64,
    seen: u32,
    asked: u32,
}

static SEARCH: Mutex<Option<Search>> = Mutex::new(None);
/// Where `cc_op` is; 0: not found yet, or nothing is to be mended.
static CC_OP: AtomicUsize = AtomicUsize::new(0);

/// Finds out whether this QEMU needs it.
pub fn install() -> Result<(), String> {
    /// `VersionInfo` of qapi/control.json, and what it points to.
    #[repr(C)]
    struct Version {
        triple: *const [i64; 3],
        package: *const c_void,
    }
    type Query = unsafe extern "C" fn(*mut *mut c_void) -> *const Version;
    let this = Library::this();
    // SAFETY: the type is that of the function of this name in QEMU 7.2 to 10.x; it ignores its Error** argument.
    let major = unsafe {
        let query: Query = *this
            .get(b"qmp_query_version\0")
            .map_err(|_| "this QEMU does not export qmp_query_version")?;
        (*(*query(std::ptr::null_mut())).triple)[0]
    };
    if major < 8 {
        *SEARCH.lock().unwrap_or_else(|e| e.into_inner()) = Some(Search::default());
    }
    Ok(())
}

/// Looks at a block that was translated, and is about to be executed.
pub fn watch(translation: &Translation) {
    let mut guard = SEARCH.lock().unwrap_or_else(|e| e.into_inner());
    let Some(search) = guard.as_mut() else { return };
    if CC_OP.load(Ordering::Relaxed) == 0 {
        search.look(translation.start());
    }
    for index in 1..translation.instructions() {
        if translation.at(index, |_, code| compares_and_exchanges(code)) {
            translation.before(index, exchanging, 0);
        }
    }
}

impl Search {
    fn look(&mut self, address: u64) {
        if address < KERNEL || address == self.last {
            return;
        }
        self.last = address;
        self.object = if self.object == 0 {
            processor()
        } else {
            self.object
        };
        self.asked += 1;
        let all = || (0..OBJECT_BYTES / 8).map(|word| word * 8).collect();
        let known = self.candidates.take().unwrap_or_else(all);
        let object = self.object;
        let fits = |at: &usize| peek::<State>(object + at).is_some_and(|state| state.fits(address));
        let left: Vec<usize> = known.iter().copied().filter(fits).collect();
        match left[..] {
            // A block may be translated ahead of its execution.
            [] if self.asked < PATIENCE => self.candidates = (self.seen > 0).then_some(known),
            [] => plugin::die(
                "QEMU's processor is not laid out as in QEMU 7.2: its CMPXCHG16B would make rubbish of the DUT's flags",
            ),
            [only] if self.seen >= WITNESSES => {
                CC_OP.store(
                    object + only + std::mem::offset_of!(State, cc_op),
                    Ordering::Relaxed,
                );
            }
            _ => {
                self.seen += 1;
                self.candidates = Some(left);
            }
        }
    }
}

fn processor() -> usize {
    type Get = unsafe extern "C" fn(c_int) -> *mut c_void;
    // SAFETY: the type is that of the function of this name in QEMU 7.2.
    unsafe { Library::this().get::<Get>(b"qemu_get_cpu\0") }
        .map_or(0, |get| unsafe { get(0) } as usize)
}

/// CMPXCHG8B and CMPXCHG16B (Intel SDM, volume 2A): 0F C7 /1 with a memory operand.
fn compares_and_exchanges(code: &[u8]) -> bool {
    let prefix = |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
    let begin = code.iter().take_while(|byte| prefix(byte)).count();
    matches!(code[begin..], [0x0f, 0xc7, modrm, ..] if modrm >> 3 & 7 == 1 && modrm >> 6 != 3)
}

unsafe extern "C" fn exchanging(_processor: c_uint, _: *mut c_void) {
    let place = CC_OP.load(Ordering::Relaxed) as *mut u32;
    // SAFETY: `look` has seen that it is there; the processor's own thread is in this callback.
    unsafe {
        if !place.is_null() && trusts_its_source(*place) {
            *place = CC_OP_LOGICQ;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instruction_is_told_by_its_bytes() {
        for code in [
            &[0x65, 0x48, 0x0f, 0xc7, 0x0f][..], // cmpxchg16b %gs:(%rdi), as in the slab allocator
            &[0xf0, 0x49, 0x0f, 0xc7, 0x4c, 0x24, 0x20],
            &[0x0f, 0xc7, 0x0e],
        ] {
            assert!(compares_and_exchanges(code), "{code:x?}");
        }
        for code in [
            &[0x0f, 0xc7, 0xf0][..], // rdrand %eax
            &[0x0f, 0xc7, 0x27],     // xsavec (%rdi)
            &[0xf0, 0x0f, 0xb1, 0x0f],
            &[0x48],
        ] {
            assert!(!compares_and_exchanges(code), "{code:x?}");
        }
    }

    #[test]
    fn a_state_is_told_by_what_it_must_be() {
        let state = State {
            eip: KERNEL + 7,
            eflags: 0x202,
            cc_dst: 0,
            cc_src: u64::MAX,
            cc_src2: 0,
            cc_op: 17,
            df: 1,
        };
        assert!(state.fits(KERNEL + 7));
        for wrong in [
            State {
                eip: KERNEL,
                ..state
            },
            State {
                eflags: 0x246,
                ..state
            },
            State {
                eflags: 0x200,
                ..state
            },
            State {
                eflags: 1 << 22 | 2,
                ..state
            },
            State {
                cc_op: CC_OP_NB,
                ..state
            },
            State { df: 0, ..state },
        ] {
            assert!(!wrong.fits(KERNEL + 7));
        }
    }

    #[test]
    fn what_it_is_replaced_by_is_safe() {
        assert!(!trusts_its_source(CC_OP_LOGICQ));
        assert!(trusts_its_source(1));
    }
}
