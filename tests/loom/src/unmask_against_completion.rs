// SPDX-License-Identifier: GPL-2.0-or-later
//! `lan78xx_unmask()` against `lan78xx_rx_complete()` (drivers/lan78xx/rx.c): a completed URB is noticed by one of them.

use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Relaxed, SeqCst};
use loom::sync::atomic::{AtomicBool, fence};
use loom::thread;

struct Rx {
    masked: AtomicBool,
    /// The list of completed URBs is not empty.
    done: AtomicBool,
    /// The receive scheme was told.
    told: AtomicBool,
}

impl Rx {
    /// `lan78xx_rx_complete()`.
    fn complete(&self, barrier: bool) {
        self.done.store(true, Relaxed);
        if barrier {
            fence(SeqCst);
        }
        if !self.masked.load(Relaxed) {
            self.told.store(true, Relaxed);
        }
    }

    /// `lan78xx_unmask()`.
    fn unmask(&self, barrier: bool) {
        self.masked.store(false, Relaxed);
        if barrier {
            fence(SeqCst);
        }
        if self.done.load(Relaxed) {
            self.told.store(true, Relaxed);
        }
    }
}

fn explore(barrier_in_completion: bool, barrier_in_unmask: bool) {
    loom::model(move || {
        let rx = Arc::new(Rx {
            masked: AtomicBool::new(true),
            done: AtomicBool::new(false),
            told: AtomicBool::new(false),
        });
        let other = Arc::clone(&rx);
        let completion = thread::spawn(move || other.complete(barrier_in_completion));
        rx.unmask(barrier_in_unmask);
        completion.join().unwrap();
        assert!(rx.told.load(Relaxed), "a URB that nobody noticed");
    });
}

#[test]
fn a_urb_is_noticed() {
    explore(true, true);
}

#[test]
#[should_panic(expected = "a URB that nobody noticed")]
fn needs_the_barrier_in_the_completion() {
    explore(false, true);
}

#[test]
#[should_panic(expected = "a URB that nobody noticed")]
fn needs_the_barrier_in_unmask() {
    explore(true, false);
}
