// SPDX-License-Identifier: GPL-2.0-or-later
//! `lan78xx_tx_doorbell()` against `lan78xx_tx_complete()` (drivers/lan78xx/tx.c): the open URB is submitted by the sender, or when
//! the last one on the bus completes.

use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Relaxed, SeqCst};
use loom::sync::atomic::{AtomicBool, AtomicU32, fence};
use loom::thread;

struct Tx {
    /// A URB is being filled.
    open: AtomicBool,
    /// URBs on the bus.
    flying: AtomicU32,
    /// The open URB will be submitted.
    submitted: AtomicBool,
}

impl Tx {
    /// `lan78xx_tx_doorbell()`, after a packet has been put into the open URB.
    fn doorbell(&self, barrier: bool) {
        self.open.store(true, Relaxed);
        if barrier {
            fence(SeqCst);
        }
        if self.flying.load(Relaxed) == 0 {
            self.submitted.store(true, Relaxed);
        }
    }

    /// `lan78xx_tx_complete()`: without the barriers, its `atomic_dec_return()` would be the relaxed one.
    fn done(&self, barriers: bool) {
        if barriers {
            fence(SeqCst);
        }
        let flying = self.flying.fetch_sub(1, Relaxed) - 1;
        if barriers {
            fence(SeqCst);
        }
        if flying == 0 && self.open.load(Relaxed) {
            self.submitted.store(true, Relaxed);
        }
    }
}

fn explore(barrier_in_doorbell: bool, barriers_in_done: bool) {
    loom::model(move || {
        let tx = Arc::new(Tx {
            open: AtomicBool::new(false),
            flying: AtomicU32::new(1),
            submitted: AtomicBool::new(false),
        });
        let other = Arc::clone(&tx);
        let completion = thread::spawn(move || other.done(barriers_in_done));
        tx.doorbell(barrier_in_doorbell);
        completion.join().unwrap();
        assert!(
            tx.submitted.load(Relaxed),
            "a packet in a URB that nobody submits"
        );
    });
}

#[test]
fn the_open_urb_is_submitted() {
    explore(true, true);
}

#[test]
#[should_panic(expected = "a packet in a URB that nobody submits")]
fn needs_the_barrier_in_the_doorbell() {
    explore(false, true);
}

#[test]
#[should_panic(expected = "a packet in a URB that nobody submits")]
fn needs_the_full_barrier_of_the_decrement() {
    explore(true, false);
}
