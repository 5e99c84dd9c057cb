// SPDX-License-Identifier: GPL-2.0-or-later
//! Where QEMU keeps what is needed, and the functions that are replaced. Nothing is a constant: places are found by what QEMU's own functions
//! do with them, before the machine runs, or by QEMU's description of a processor's state.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use super::{Interrupt, MAX_BUDGET, MAX_LOW};
use crate::api::api;
use crate::layout::CLOCK_VIRTUAL;
use crate::memory::read_bytes;
use crate::rewind::offset_of;

/// How much of a processor's object is searched. The object is larger.
const OBJECT_BYTES: usize = 32 << 10;
/// How many words of `timers_state` are searched.
const TIMERS_STATE_WORDS: usize = 16;
/// By how much a word is changed to see what it is. Even, for a lock that readers wait for if it is odd.
const STEP: i64 = 1 << 20;
/// The clock is put back by so much to learn where a budget is, so that no timer is near, in ns.
const FAR_NS: i64 = 1 << 40;
/// `endbr64`, and `cmpb $0, offset(%rdi)` less the offset and the zero, with which `cpu_can_run` begins.
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
const COMPARE_BYTE: [u8; 2] = [0x80, 0xbf];
/// `jmp *0(%rip)`; the address follows.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
const PAGE: usize = 4096;
/// How often a budget is looked for.
const TRIES: u32 = 1_000;

/// The functions of QEMU that are replaced, by address.
pub struct Functions {
    handle_deadline: usize,
    can_run: usize,
    prepare_for_run: usize,
    process_data: usize,
    handle_interrupt: usize,
    /// This one is called.
    interrupt: usize,
}

impl Functions {
    /// Finds them in QEMU, or in its module (up to 8.1 TCG is one).
    pub fn find() -> Result<Self, String> {
        let of = |name: &CStr| {
            // SAFETY: the name is NUL-terminated.
            let mut found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            if let (true, Some(module)) = (found.is_null(), module()) {
                // SAFETY: as above; the module stays loaded.
                found = unsafe { libc::dlsym(module, name.as_ptr()) };
            }
            if found.is_null() {
                return Err(format!(
                    "this QEMU does not export {}",
                    name.to_string_lossy()
                ));
            }
            Ok(found as usize)
        };
        Ok(Functions {
            handle_deadline: of(c"icount_handle_deadline")?,
            can_run: of(c"cpu_can_run")?,
            prepare_for_run: of(c"icount_prepare_for_run")?,
            process_data: of(c"icount_process_data")?,
            handle_interrupt: of(c"icount_handle_interrupt")?,
            interrupt: of(c"tcg_handle_interrupt")?,
        })
    }

    /// QEMU's `tcg_handle_interrupt`, which the replaced `icount_handle_interrupt` calls.
    pub fn interrupt(&self) -> Interrupt {
        // SAFETY: a function of this type in all releases (accel/tcg/tcg-accel-ops.h).
        unsafe { std::mem::transmute::<usize, Interrupt>(self.interrupt) }
    }

    /// Has each but the last begin with a jump to another function: in the order above.
    pub fn replace(&self, by: [usize; 5]) -> Result<(), String> {
        let all = [
            self.handle_deadline,
            self.can_run,
            self.prepare_for_run,
            self.process_data,
            self.handle_interrupt,
        ];
        for (function, other) in all.into_iter().zip(by) {
            let mut code = JUMP.to_vec();
            code.extend_from_slice(&other.to_le_bytes());
            let first = function & !(PAGE - 1);
            let bytes = function + code.len() - first;
            let protect = |more| {
                let how = libc::PROT_READ | libc::PROT_EXEC | more;
                // SAFETY: pages of code, which stay mapped and executable.
                unsafe { libc::mprotect(first as *mut c_void, bytes, how) == 0 }
            };
            if !protect(libc::PROT_WRITE) {
                return Err("the host does not let QEMU's code be changed".into());
            }
            // SAFETY: nobody executes the function now, and all are longer than the jump.
            unsafe {
                std::ptr::copy_nonoverlapping(code.as_ptr(), function as *mut u8, code.len())
            };
            protect(0);
        }
        Ok(())
    }
}

/// QEMU's module with TCG, if it has one.
fn module() -> Option<*mut c_void> {
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _: usize,
        found: *mut c_void,
    ) -> c_int {
        // SAFETY: the dynamic linker's own data; `found` is what was passed.
        unsafe {
            let name = CStr::from_ptr((*info).dlpi_name);
            if name.to_string_lossy().ends_with("/accel-tcg-x86_64.so") {
                *found.cast::<Option<CString>>() = Some(name.to_owned());
            }
        }
        0
    }
    let mut name: Option<CString> = None;
    // SAFETY: `look` gets a pointer to `name`; a module that is loaded already is only looked up.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut name).cast());
        let name: *const c_char = name.as_ref()?.as_ptr();
        let module = libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        (!module.is_null()).then_some(module)
    }
}

/// Where things are.
pub struct Layout {
    /// Addresses: QEMU's count of instructions, and the time that comes on top.
    count: usize,
    bias: usize,
    /// Offsets in a processor's object; what is left besides the low part follows the budget.
    budget: usize,
    low: usize,
    halted: usize,
    interrupt_request: usize,
    stop: usize,
}

impl Layout {
    /// Finds everything, with the first processor's object. The machine must not run.
    pub fn find(
        processor: usize,
        functions: &Functions,
        ns_per_instruction: i64,
    ) -> Result<Self, String> {
        let api = api();
        let (Some(state), Some(_), Some(_), Some(_)) = (
            api.timers_state,
            api.icount_update,
            api.qemu_clock_notify,
            api.x86_cpu_pending_interrupt,
        ) else {
            return Err("this QEMU does not let several processors run at the same time".into());
        };
        let (count, bias) = clock_words(state as usize, ns_per_instruction)?;
        let described = |name| {
            offset_of(name).ok_or("QEMU's processor is not described as in the tested releases")
        };
        let mut layout = Layout {
            count,
            bias,
            budget: 0,
            low: 0,
            halted: described(c"halted")?,
            interrupt_request: described(c"interrupt_request")?,
            stop: stop_of(functions.can_run)?,
        };
        // A timer of the host's clock may be near (up to 8.0); then QEMU gives less. Or what was found is not alone.
        let mut tries = (0..TRIES).map(|_| layout.learn_budget(processor, functions));
        let found = tries
            .find_map(Result::transpose)
            .ok_or("a processor's budget was not found")?;
        (layout.budget, layout.low) = found?;
        Ok(layout)
    }

    /// The clock, in ns.
    pub fn now_ns(&self, ns_per_instruction: i64) -> i64 {
        self.counted() * ns_per_instruction + word(self.bias)
    }

    /// The instructions that QEMU has counted.
    pub fn counted(&self) -> i64 {
        word(self.count)
    }

    /// Changes the clock by so many ns.
    pub fn advance(&self, by_ns: i64) {
        if by_ns != 0 {
            set_word(self.bias, word(self.bias) + by_ns);
        }
    }

    /// Whether a processor is halted and has nothing to do.
    pub fn is_halted(&self, processor: usize) -> bool {
        // SAFETY: aligned fields of a processor's object, which QEMU never frees.
        let [halted, request] = unsafe {
            [self.halted, self.interrupt_request]
                .map(|at| ((processor + at) as *const u32).read_volatile())
        };
        // SAFETY: a processor's object.
        let pending = |pending: unsafe extern "C" fn(*mut c_void, c_int) -> c_int| unsafe {
            pending(processor as *mut c_void, request as c_int) != 0
        };
        halted != 0 && (request == 0 || !api().x86_cpu_pending_interrupt.is_some_and(pending))
    }

    /// Whether a processor is to stop.
    pub fn is_stopping(&self, processor: usize) -> bool {
        // SAFETY: as above.
        unsafe { ((processor + self.stop) as *const u8).read_volatile() != 0 }
    }

    /// Gives a processor so many instructions.
    pub fn set_budget(&self, processor: usize, budget: i64) {
        let low = budget.min(MAX_LOW);
        // SAFETY: as above; the processor does not execute now.
        unsafe { ((processor + self.low) as *mut u16).write_volatile(low as u16) };
        set_word(processor + self.budget, budget);
        set_word(processor + self.budget + 8, budget - low);
    }

    /// Has a processor, which executes, execute so many instructions after this, and no more. `undone`: so many were booked as executed and
    /// are not.
    pub fn limit(&self, processor: usize, left: i64, undone: i64) {
        let (budget, extra) = (processor + self.budget, processor + self.budget + 8);
        // SAFETY: as above; the processor's own thread.
        unsafe {
            let low = (processor + self.low) as *mut u16;
            let before = i64::from(low.read_volatile()) + word(extra);
            set_word(budget, word(budget) - (before + undone - left));
            low.write_volatile(left.min(MAX_LOW) as u16);
            set_word(extra, left - left.min(MAX_LOW));
        }
    }

    /// Takes back what is left.
    pub fn clear_budget(&self, processor: usize) {
        self.set_budget(processor, 0);
    }

    /// Instructions that a processor has executed and QEMU has not counted.
    pub fn unbooked(&self, processor: usize) -> i64 {
        // SAFETY: as above.
        let low = unsafe { ((processor + self.low) as *const u16).read_volatile() };
        word(processor + self.budget) - word(processor + self.budget + 8) - i64::from(low)
    }

    /// Whether a processor has no budget at these places.
    fn is_clear(processor: usize, budget: usize, low: usize) -> bool {
        // SAFETY: aligned fields of a processor's object, which QEMU never frees.
        let low = unsafe { ((processor + low) as *const u16).read_volatile() };
        [budget, budget + 8].map(|at| word(processor + at)) == [0, 0] && low == 0
    }

    /// Where a budget and its low part are: what QEMU changes when it gives a processor one. It is taken back at once.
    fn learn_budget(
        &self,
        processor: usize,
        functions: &Functions,
    ) -> Result<Option<(usize, usize)>, String> {
        type Prepare = unsafe extern "C" fn(*mut c_void, i64);
        type Process = unsafe extern "C" fn(*mut c_void);
        let look = || read_bytes(processor, OBJECT_BYTES).ok_or("QEMU's processor cannot be read");
        let before = look()?;
        self.advance(-FAR_NS);
        // SAFETY: QEMU's functions of these types (the second argument is new in 8.1); no processor executes, and no timer is due.
        let after = unsafe {
            std::mem::transmute::<usize, Prepare>(functions.prepare_for_run)(
                processor as *mut c_void,
                MAX_BUDGET,
            );
            let after = look();
            std::mem::transmute::<usize, Process>(functions.process_data)(processor as *mut c_void);
            after
        };
        self.advance(FAR_NS);
        let found = budgets(&before, &after?);
        // Another thread may change other fields meanwhile, such as what it flushes.
        Ok(match found[..] {
            [(budget, low)] if Self::is_clear(processor, budget, low) => Some((budget, low)),
            _ => None,
        })
    }
}

/// Where a budget and its low part may be, in an object that had none before.
fn budgets(before: &[u8], after: &[u8]) -> Vec<(usize, usize)> {
    let long = |bytes: &[u8], at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        i64::from_le_bytes(word)
    };
    let short = |bytes: &[u8], at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let words = (0..after.len() - 16).step_by(8);
    let is_budget = |at: &usize| {
        let left = long(after, *at).wrapping_sub(long(after, at + 8));
        [long(before, *at), long(before, at + 8)] == [0, 0]
            && long(after, at + 8) > 0
            && left == MAX_LOW
    };
    let lows = (0..after.len() - 1).step_by(2);
    let lows: Vec<usize> = lows
        .filter(|at| short(before, *at) == 0 && i64::from(short(after, *at)) == MAX_LOW)
        .collect();
    let outside = |at: usize, low: usize| !(at..at + 16).contains(&low);
    words
        .filter(is_budget)
        .flat_map(|at| {
            lows.iter()
                .filter(move |low| outside(at, **low))
                .map(move |low| (at, *low))
        })
        .collect()
}

/// Addresses of QEMU's count of instructions and of the time that comes on top: what the clock does if they are changed.
fn clock_words(state: usize, ns_per_instruction: i64) -> Result<(usize, usize), String> {
    // SAFETY: plain calls.
    let both = || unsafe {
        [
            (api().qemu_clock_get_ns)(CLOCK_VIRTUAL),
            (api().icount_get_raw)(),
        ]
    };
    let [mut count, mut bias] = [None, None];
    for place in (0..TIMERS_STATE_WORDS).map(|number| state + number * 8) {
        let [then_ns, then] = both();
        let value = word(place);
        set_word(place, value + STEP);
        let [now_ns, now] = both();
        set_word(place, value);
        match [now_ns - then_ns, now - then] {
            [STEP, 0] if bias.is_none() => bias = Some(place),
            [ns, STEP] if count.is_none() && ns == STEP * ns_per_instruction => count = Some(place),
            _ => {} // such as the instruction's time
        }
        if let (Some(count), Some(bias)) = (count, bias) {
            return Ok((count, bias));
        }
    }
    Err("QEMU's clock was not found".into())
}

/// Where a processor's object says that it is to stop: what `cpu_can_run` looks at first.
fn stop_of(can_run: usize) -> Result<usize, String> {
    let code = read_bytes(can_run, 16).unwrap_or_default();
    stop_in(&code).ok_or_else(|| "cpu_can_run is not as in the tested releases".into())
}

fn stop_in(code: &[u8]) -> Option<usize> {
    let code = code
        .strip_prefix(&ENDBR64)
        .unwrap_or(code)
        .strip_prefix(&COMPARE_BYTE)?;
    let (offset, rest) = code.split_at_checked(4)?;
    (rest.first() == Some(&0)).then_some(u32::from_le_bytes(offset.try_into().ok()?) as usize)
}

fn word(at: usize) -> i64 {
    // SAFETY: a word that was found in an object which QEMU never frees.
    unsafe { (at as *const i64).read_volatile() }
}

fn set_word(at: usize, value: i64) {
    // SAFETY: as above.
    unsafe { (at as *mut i64).write_volatile(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_what_appears_when_there_was_none() {
        let before = vec![0_u8; 4096];
        let mut after = before.clone();
        after[800..808].copy_from_slice(&MAX_BUDGET.to_le_bytes());
        after[808..816].copy_from_slice(&(MAX_BUDGET - MAX_LOW).to_le_bytes());
        after[2_004..2_006].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(budgets(&before, &after), [(800, 2_004)]);
        assert!(budgets(&after, &after).is_empty());
    }

    #[test]
    fn where_a_processor_is_told_to_stop_stands_in_the_code() {
        let code = [0x80, 0xbf, 0xca, 0x01, 0, 0, 0, 0x74];
        assert_eq!(stop_in(&code), Some(0x1ca));
        assert_eq!(stop_in(&[&ENDBR64[..], &code].concat()), Some(0x1ca));
        for other in [&code[1..], &[0x80, 0xbf, 1, 0, 0, 0, 7], &code[..5]] {
            assert_eq!(stop_in(other), None);
        }
    }
}
