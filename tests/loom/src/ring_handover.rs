// SPDX-License-Identifier: GPL-2.0-or-later
//! `cp_start_xmit()` against `cp_tx_reclaim()`, and the same of i8255x: a slot belongs to one of them. `queued` and `done` are
//! their counts; each is written by one side.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use loom::thread;

const RING: u32 = 1;
const PACKETS: u32 = 2;

struct Ring {
    slot: UnsafeCell<u32>,
    queued: AtomicU32,
    done: AtomicU32,
}

/// How the counts are published and read.
#[derive(Clone, Copy)]
struct Orders {
    publish_queued: Ordering,
    read_queued: Ordering,
    publish_done: Ordering,
    read_done: Ordering,
}

const AS_IN_THE_DRIVER: Orders = Orders {
    publish_queued: Release,
    read_queued: Acquire,
    publish_done: Release,
    read_done: Acquire,
};

impl Ring {
    /// Puts a packet into the slot if there is room.
    fn xmit(&self, queued: u32, orders: Orders) -> u32 {
        if queued - self.done.load(orders.read_done) == RING {
            return queued;
        }
        self.slot.with_mut(|slot| unsafe { *slot = queued + 1 });
        self.queued.store(queued + 1, orders.publish_queued);
        queued + 1
    }

    /// Takes the packet out of the slot if there is one.
    fn reclaim(&self, orders: Orders) {
        if self.queued.load(orders.read_queued) == 0 {
            return;
        }
        self.slot.with_mut(|slot| unsafe {
            assert_eq!(*slot, 1);
            *slot = 0;
        });
        self.done.store(1, orders.publish_done);
    }
}

fn explore(orders: Orders) {
    loom::model(move || {
        let ring = Arc::new(Ring {
            slot: UnsafeCell::new(0),
            queued: AtomicU32::new(0),
            done: AtomicU32::new(0),
        });
        let other = Arc::clone(&ring);
        let reclaim = thread::spawn(move || other.reclaim(orders));
        let mut queued = 0;
        for _ in 0..PACKETS {
            queued = ring.xmit(queued, orders);
        }
        reclaim.join().unwrap();
    });
}

#[test]
fn a_slot_has_one_owner() {
    explore(AS_IN_THE_DRIVER);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn needs_the_release_of_queued() {
    explore(Orders {
        publish_queued: Relaxed,
        ..AS_IN_THE_DRIVER
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn needs_the_acquire_of_queued() {
    explore(Orders {
        read_queued: Relaxed,
        ..AS_IN_THE_DRIVER
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn needs_the_release_of_done() {
    explore(Orders {
        publish_done: Relaxed,
        ..AS_IN_THE_DRIVER
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn needs_the_acquire_of_done() {
    explore(Orders {
        read_done: Relaxed,
        ..AS_IN_THE_DRIVER
    });
}
