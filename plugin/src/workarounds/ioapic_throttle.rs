// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps QEMU's I/O APIC from delaying interrupts.
//!
//! An interrupt line that is still asserted at 10,000 ends of interrupt in a row is served only 10 ms later: QEMU assumes a faulty guest
//! (`ioapic_eoi_broadcast` of hw/intc/ioapic.c; the 82093AA does not do this). A driver in receive livelock looks the same, and would
//! get 10 ms without an interrupt in about every 90 ms, in which it forwards hundreds of frames. So the tester keeps resetting the count.
//!
//! QEMU exports no function for that. The counts are the 24 integers in front of a pointer to a timer in the I/O APIC's object. A place
//! is accepted only if all values that can be checked are right.

use std::ffi::{CStr, c_int};

use crate::api::api;
use crate::layout::{IOAPIC_PINS, IOAPIC_THROTTLED_AT, QemuTimer};
use crate::memory::read;

/// Larger than any release's `IOAPICCommonState`.
const OBJECT_BYTES: usize = 4096;
/// Of an array with an integer for each pin.
const ARRAY_BYTES: usize = IOAPIC_PINS * size_of::<c_int>();

/// The I/O APIC's counts of interrupts in a row, one for each pin.
pub struct Ioapic(*mut [c_int; IOAPIC_PINS]);

// SAFETY: it is used while QEMU's global lock is held, and the object lives as long as the machine.
unsafe impl Send for Ioapic {}

impl Ioapic {
    /// Finds them in the running machine.
    pub fn find() -> Result<Self, String> {
        let (anywhere, kind): (&CStr, &CStr) = (c"", c"ioapic");
        // SAFETY: the strings are NUL-terminated, and the third argument may be null.
        let object = unsafe {
            (api().object_resolve_path_type)(anywhere.as_ptr(), kind.as_ptr(), std::ptr::null_mut())
        } as usize;
        let words = OBJECT_BYTES / size_of::<usize>();
        let first = ARRAY_BYTES * 2 / size_of::<usize>();
        (first..words)
            .map(|word| object + word * size_of::<usize>())
            .find(|&place| object != 0 && is_the_timer(object, place))
            .map(|place| Self((place - ARRAY_BYTES) as *mut _))
            .ok_or_else(|| {
                "the I/O APIC of this QEMU is not laid out as in the tested releases: it would delay interrupts under overload"
                    .into()
            })
    }

    /// Sets the counts to 0. Called at every timer, so that they never reach the limit.
    pub fn reset_counts(&self) {
        // SAFETY: `find` has verified the place, and the caller holds QEMU's lock.
        unsafe { *self.0 = [0; IOAPIC_PINS] };
    }
}

/// Whether at `place` in `object` there is a pointer to a timer in ns that belongs to the object, after two arrays for all pins: the
/// interrupt levels and the counts.
fn is_the_timer(object: usize, place: usize) -> bool {
    let Some(timer) = read::<usize>(place).and_then(read::<QemuTimer>) else {
        return false;
    };
    let counts = read::<[c_int; IOAPIC_PINS]>(place - ARRAY_BYTES);
    let levels = read::<[c_int; IOAPIC_PINS]>(place - ARRAY_BYTES * 2);
    timer.opaque == object
        && timer.scale == 1
        && timer.timer_list != 0
        && counts.is_some_and(|counts| {
            counts
                .iter()
                .all(|count| (0..IOAPIC_THROTTLED_AT).contains(count))
        })
        && levels.is_some_and(|levels| levels.iter().all(|level| matches!(level, 0 | 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_is_recognised_by_its_owner_and_the_arrays_before_it() {
        #[repr(C)]
        struct Object {
            levels: [c_int; IOAPIC_PINS],
            counts: [c_int; IOAPIC_PINS],
            timer: usize,
        }
        let mut object = Box::new(Object {
            levels: [0; IOAPIC_PINS],
            counts: [9_999; IOAPIC_PINS],
            timer: 0,
        });
        let address = (&raw const *object) as usize;
        let place = (&raw const object.timer) as usize;
        assert!(!is_the_timer(address, place), "no pointer");
        let mut timer = Box::new(QemuTimer {
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
        assert!(!is_the_timer(address, place), "another object's");
    }
}
