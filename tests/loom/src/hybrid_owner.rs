// SPDX-License-Identifier: GPL-2.0-or-later
//! `hybrid_polls()` and `hybrid_give_ring()` (drivers/irqmod/rx_hybrid.c): the receive ring belongs to DE's tasklet or to NAPI's
//! poll, and whoever gets it sees what the other wrote.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;
use loom::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use loom::thread;

struct Hybrid {
    polls: AtomicBool,
    /// The next descriptor.
    next: UnsafeCell<u32>,
}

impl Hybrid {
    /// A run of the tasklet (`me` is false) or of the poll (true): a pass over the ring if it is its own, which is then passed on.
    fn run(&self, me: bool, acquire: Ordering, release: Ordering) {
        if self.polls.load(acquire) == me {
            self.next.with_mut(|next| unsafe { *next += 1 });
            self.polls.store(!me, release);
        }
    }
}

fn explore(acquire: Ordering, release: Ordering) {
    loom::model(move || {
        let hybrid = Arc::new(Hybrid {
            polls: AtomicBool::new(false),
            next: UnsafeCell::new(0),
        });
        let other = Arc::clone(&hybrid);
        let poll = thread::spawn(move || other.run(true, acquire, release));
        hybrid.run(false, acquire, release);
        hybrid.run(false, acquire, release);
        poll.join().unwrap();
    });
}

#[test]
fn the_ring_has_one_owner() {
    explore(Acquire, Release);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn needs_the_acquire() {
    explore(Relaxed, Release);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn needs_the_release() {
    explore(Acquire, Relaxed);
}
