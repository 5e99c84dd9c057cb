// SPDX-License-Identifier: GPL-2.0-or-later
//! `i8255x_rx_return()` and `i8255x_rx_take()` (drivers/i8255x/rx.c): who knows the new end of the list does not take the old
//! frame of a descriptor before it.

use loom::sync::Arc;
use loom::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::thread;

struct Ring {
    /// A frame was received into the descriptor: at first the one that has been taken.
    received: AtomicBool,
    /// Index of the end of the list.
    last: AtomicU32,
}

fn explore(acquire: Ordering, release: Ordering) {
    loom::model(move || {
        let ring = Arc::new(Ring {
            received: AtomicBool::new(true),
            last: AtomicU32::new(0),
        });
        let other = Arc::clone(&ring);
        let refill = thread::spawn(move || {
            other.received.store(false, Relaxed);
            other.last.store(1, release);
        });
        let stopped = ring.last.load(acquire) == 0;
        assert!(
            stopped || !ring.received.load(Relaxed),
            "an old frame is taken again"
        );
        refill.join().unwrap();
    });
}

#[test]
fn a_frame_is_taken_once() {
    explore(Acquire, Release);
}

#[test]
#[should_panic(expected = "an old frame is taken again")]
fn needs_the_acquire() {
    explore(Relaxed, Release);
}

#[test]
#[should_panic(expected = "an old frame is taken again")]
fn needs_the_release() {
    explore(Acquire, Relaxed);
}
