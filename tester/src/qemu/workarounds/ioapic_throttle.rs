// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps QEMU's I/O APIC from holding interrupts back.
//!
//! A line that is still asserted at 10,000 ends of interrupt in a row is served only 10 ms later: QEMU takes that for a buggy guest
//! (`ioapic_eoi_broadcast` of hw/intc/ioapic.c; the 82093AA does nothing of the kind). A driver in receive livelock looks just so, and
//! would be given 10 ms without an interrupt in every 90 or so, in which it forwards hundreds of frames. So the count is kept low.
//!
//! QEMU exports no function for that. The count is the 24 integers before a pointer to a timer in the I/O APIC's object, and the timer
//! says whose it is: it is taken for what it is only if all of that can be seen.

use std::ffi::{c_char, c_int, c_void};

use libloading::os::unix::Library;

use crate::qemu::api::peek;

/// `IOAPIC_NUM_PINS`.
const PINS: usize = 24;
/// More than any version's `IOAPICCommonState`.
const OBJECT_BYTES: usize = 4096;
/// `SUCCESSIVE_IRQ_MAX_COUNT`.
const HELD_BACK_AT: c_int = 10_000;

/// `QEMUTimer` of include/qemu/timer.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct Timer {
    expire_time: i64,
    timer_list: usize,
    callback: usize,
    opaque: usize,
    next: usize,
    attributes: c_int,
    scale: c_int,
}

/// The I/O APIC's counts of interrupts in a row.
#[derive(Clone, Copy)]
pub struct Ioapic(*mut [c_int; PINS]);

// SAFETY: it is used while QEMU's global lock is held, and the object lives as long as the machine.
unsafe impl Send for Ioapic {}

impl Ioapic {
    /// Finds it in the running machine.
    pub fn find() -> Result<Self, String> {
        type Resolve =
            unsafe extern "C" fn(*const c_char, *const c_char, *mut bool) -> *const c_void;
        let this = Library::this();
        // SAFETY: the type is that of the function of this name in QEMU 7.2 to 10.x.
        let resolve: Resolve = *unsafe { this.get(b"object_resolve_path_type\0") }
            .map_err(|_| "this QEMU does not export object_resolve_path_type")?;
        // SAFETY: the strings are NUL-terminated.
        let object =
            unsafe { resolve(c"".as_ptr(), c"ioapic".as_ptr(), std::ptr::null_mut()) } as usize;
        let words = OBJECT_BYTES / size_of::<usize>();
        let first = PINS * size_of::<c_int>() * 2 / size_of::<usize>();
        (first..words)
            .map(|word| object + word * size_of::<usize>())
            .find(|&place| object != 0 && is_the_timer(object, place))
            .map(|place| Self((place - PINS * size_of::<c_int>()) as *mut _))
            .ok_or_else(|| {
                "the I/O APIC of this QEMU is not laid out as in QEMU 7.2 to 10.x: it would hold interrupts back \
                 under overload"
                    .into()
            })
    }

    /// Starts its counts again: often enough, they never come to anything.
    pub fn calm(self) {
        // SAFETY: `find` has seen that it is these; the caller holds QEMU's lock.
        unsafe { *self.0 = [0; PINS] };
    }
}

/// Whether at `place` in `object` there is a pointer to the object's own idle timer in ns, after the counts and levels of all pins.
fn is_the_timer(object: usize, place: usize) -> bool {
    let Some(timer) = peek::<usize>(place).and_then(peek::<Timer>) else {
        return false;
    };
    let counts = peek::<[c_int; PINS]>(place - PINS * size_of::<c_int>());
    let levels = peek::<[c_int; PINS]>(place - PINS * size_of::<c_int>() * 2);
    timer.opaque == object
        && timer.scale == 1
        && timer.timer_list != 0
        && counts.is_some_and(|counts| counts.iter().all(|count| (0..HELD_BACK_AT).contains(count)))
        && levels.is_some_and(|levels| levels.iter().all(|level| matches!(level, 0 | 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_is_told_by_its_owner_and_its_neighbours() {
        #[repr(C)]
        struct Object {
            levels: [c_int; PINS],
            counts: [c_int; PINS],
            timer: usize,
        }
        let mut object = Box::new(Object {
            levels: [0; PINS],
            counts: [9_999; PINS],
            timer: 0,
        });
        let address = (&raw const *object) as usize;
        let place = (&raw const object.timer) as usize;
        assert!(!is_the_timer(address, place), "no pointer");
        let mut timer = Box::new(Timer {
            expire_time: -1,
            timer_list: 1,
            callback: 0,
            opaque: address,
            next: 0,
            attributes: 0,
            scale: 1,
        });
        object.timer = (&raw const *timer) as usize;
        assert!(is_the_timer(address, place));
        object.counts[23] = 10_000;
        assert!(!is_the_timer(address, place), "no counts");
        object.counts[23] = 0;
        object.levels[0] = 2;
        assert!(!is_the_timer(address, place), "no levels");
        object.levels[0] = 1;
        timer.opaque = 0;
        assert!(!is_the_timer(address, place), "somebody else's");
    }
}
