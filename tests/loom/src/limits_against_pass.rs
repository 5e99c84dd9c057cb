// SPDX-License-Identifier: GPL-2.0-or-later
//! `tx_limit()` and `tx_poll_start()` against `irqmod_tx_rx_reclaim()` (drivers/irqmod): a pass over the receive ring reclaims
//! without the queue's lock, and completes no more bytes than byte queue limits have counted.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;
use loom::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use loom::thread;

/// Of the packets on the ring.
const BYTES: u32 = 1;

struct Port {
    with_rx: AtomicBool,
    limited: UnsafeCell<bool>,
    /// Bytes that have been counted and not been completed.
    queued: UnsafeCell<u32>,
}

impl Port {
    /// `tx_start()`, with the queue locked.
    fn start(&self, release: Ordering) {
        self.limited.with_mut(|limited| unsafe { *limited = true });
        self.queued.with_mut(|queued| unsafe { *queued = BYTES });
        self.with_rx.store(true, release);
    }

    /// A pass, on another CPU.
    fn pass(&self, acquire: Ordering) {
        if !self.with_rx.load(acquire) {
            return;
        }
        assert!(self.limited.with(|limited| unsafe { *limited }));
        self.queued.with_mut(|queued| unsafe {
            assert!(*queued >= BYTES, "the BUG_ON() of dql_completed()");
            *queued -= BYTES;
        });
    }
}

fn explore(release: Ordering, acquire: Ordering) {
    loom::model(move || {
        let port = Arc::new(Port {
            with_rx: AtomicBool::new(false),
            limited: UnsafeCell::new(false),
            queued: UnsafeCell::new(0),
        });
        let other = Arc::clone(&port);
        let pass = thread::spawn(move || other.pass(acquire));
        port.start(release);
        pass.join().unwrap();
    });
}

#[test]
fn a_pass_sees_what_is_counted() {
    explore(Release, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn needs_the_release() {
    explore(Relaxed, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn needs_the_acquire() {
    explore(Release, Relaxed);
}
