// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqmod_tx_full()` against `irqmod_tx_wake()` (drivers/irqmod/reclaim.c): a queue is not left stopped with room in the ring.

use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{AtomicBool, AtomicU32, fence};
use loom::thread;

const RING: u32 = 8;
const RESERVE: u32 = 2;

struct Queue {
    stopped: AtomicBool,
    /// Descriptors that have been reclaimed; the ring was full before.
    done: AtomicU32,
}

impl Queue {
    fn room(&self) -> u32 {
        self.done.load(Acquire)
    }

    /// `irqmod_tx_full()`.
    fn full(&self, barrier: bool) {
        self.stopped.store(true, Relaxed);
        if barrier {
            fence(SeqCst);
        }
        if self.room() >= RESERVE {
            self.stopped.store(false, Relaxed);
        }
    }

    /// A reclaim of the whole ring, and `irqmod_tx_wake()`.
    fn reclaim(&self, barrier: bool) {
        self.done.store(RING, Release);
        if barrier {
            fence(SeqCst);
        }
        if self.stopped.load(Relaxed) && self.room() >= RING / 4 {
            self.stopped.store(false, Relaxed);
        }
    }
}

fn explore(barrier_in_full: bool, barrier_in_wake: bool) {
    loom::model(move || {
        let queue = Arc::new(Queue {
            stopped: AtomicBool::new(false),
            done: AtomicU32::new(0),
        });
        let other = Arc::clone(&queue);
        let reclaim = thread::spawn(move || other.reclaim(barrier_in_wake));
        queue.full(barrier_in_full);
        reclaim.join().unwrap();
        assert!(
            !queue.stopped.load(Relaxed),
            "stopped with room in the ring"
        );
    });
}

#[test]
fn the_queue_is_awake() {
    explore(true, true);
}

#[test]
#[should_panic(expected = "stopped with room in the ring")]
fn needs_the_barrier_in_full() {
    explore(false, true);
}

#[test]
#[should_panic(expected = "stopped with room in the ring")]
fn needs_the_barrier_in_wake() {
    explore(true, false);
}
