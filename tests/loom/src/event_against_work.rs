// SPDX-License-Identifier: GPL-2.0-or-later
//! `lan78xx_event()` against `lan78xx_take()` (drivers/lan78xx/events.c): the work that handles an event sees what the event is
//! about. Otherwise it would clear the event's bit and handle an older state, and a later run would find no bit.

use loom::sync::Arc;
use loom::sync::atomic::Ordering::{AcqRel, Relaxed, SeqCst};
use loom::sync::atomic::{AtomicBool, AtomicU32, fence};
use loom::thread;

struct Device {
    /// What the event is about, such as the multicast filter.
    state: AtomicU32,
    /// What the work has handled.
    handled: AtomicU32,
    /// The event's bit.
    event: AtomicBool,
    /// The work is queued. The kernel's own operations on this are fully ordered; what is used here is less, and enough.
    pending: AtomicBool,
}

impl Device {
    /// `lan78xx_event()`, after a change of the state.
    fn happens(&self, barrier: bool) {
        self.state.store(1, Relaxed);
        if barrier {
            fence(SeqCst);
        }
        self.event.swap(true, Relaxed);
        self.pending.swap(true, AcqRel);
    }

    /// A run of the work. Without the barriers, `lan78xx_take()` would be relaxed.
    fn work(&self, barriers: bool) {
        self.pending.swap(false, AcqRel);
        let taken = self.event.swap(false, Relaxed);
        if barriers {
            fence(SeqCst);
        }
        if taken {
            self.handled.store(self.state.load(Relaxed), Relaxed);
        }
    }
}

/// The work has been queued for another event, and runs while this one happens. If it is queued again, it runs once more.
fn explore(barrier_in_event: bool, barriers_in_take: bool) {
    loom::model(move || {
        let device = Arc::new(Device {
            state: AtomicU32::new(0),
            handled: AtomicU32::new(0),
            event: AtomicBool::new(false),
            pending: AtomicBool::new(true),
        });
        let other = Arc::clone(&device);
        let worker = thread::spawn(move || other.work(barriers_in_take));
        device.happens(barrier_in_event);
        worker.join().unwrap();
        if device.pending.load(Relaxed) {
            device.work(barriers_in_take);
        }
        assert_eq!(device.handled.load(Relaxed), 1, "an event is lost");
    });
}

#[test]
fn no_event_is_lost() {
    explore(true, true);
}

#[test]
#[should_panic(expected = "an event is lost")]
fn needs_the_barrier_in_event() {
    explore(false, true);
}

#[test]
#[should_panic(expected = "an event is lost")]
fn needs_the_barriers_in_take() {
    explore(true, false);
}
