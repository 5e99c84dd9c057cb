// SPDX-License-Identifier: GPL-2.0-or-later
//! `tx_stop()` (drivers/irqmod/core.c) against a sender that fills the ring, `irqmod_tx_full()`, and the handler and the tasklet of
//! `off`: when the scheme has been stopped, TX is masked, and nothing reclaims for it any more.
//!
//! A handler runs only if TX is unmasked; `synchronize_irq()` waits for it. The tasklet may run long after it was scheduled, in
//! ksoftirqd; `tasklet_kill()` waits for it.

use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;
use loom::sync::atomic::Ordering::SeqCst;
use loom::sync::{Mutex, MutexGuard};
use loom::thread;

/// What the queue's lock protects.
struct Locked {
    /// `tx_switching`.
    switching: bool,
}

struct Queue {
    lock: Mutex<Locked>,
    /// The chip's mask, and whether its handler runs: a handler of a masked cause does not begin.
    unmasked: Mutex<bool>,
    scheduled: AtomicBool,
    /// Held while the tasklet runs.
    runs: Mutex<()>,
    /// The scheme has been stopped, and the next one may reclaim.
    stopped: AtomicBool,
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// Nothing unmasks TX after the masks, and nothing schedules the tasklet after it was killed.
    Right,
    /// TX is masked before the queue says that it is switching.
    MaskFirst,
    /// The tasklet is killed before the last mask.
    KillFirst,
}

impl Queue {
    fn locked(&self) -> MutexGuard<'_, Locked> {
        self.lock.lock().unwrap()
    }

    /// `irqmod_tx_full()`: the ring is full.
    fn full(&self) {
        let queue = self.locked();
        if !queue.switching {
            *self.unmasked.lock().unwrap() = true;
        }
    }

    /// The interrupt of a completion, with `tx_off_irq()`.
    fn interrupt(&self) {
        let mut unmasked = self.unmasked.lock().unwrap();
        if *unmasked {
            *unmasked = false;
            self.scheduled.store(true, SeqCst);
        }
    }

    /// The tasklet, if it has been scheduled.
    fn work(&self) {
        let _runs = self.runs.lock().unwrap();
        if !self.scheduled.swap(false, SeqCst) {
            return;
        }
        let _queue = self.locked();
        assert!(!self.stopped.load(SeqCst), "reclaims after the stop");
    }

    /// `tx_mask()`: the lock of the mask stands for `synchronize_irq()`, too.
    fn mask(&self) {
        *self.unmasked.lock().unwrap() = false;
    }

    fn stop(&self, order: Order) {
        if order == Order::MaskFirst {
            self.mask();
        }
        self.locked().switching = true;
        if order == Order::Right {
            self.mask();
        }
        // tasklet_kill(): waits for the one that is scheduled.
        self.work();
        if order == Order::KillFirst {
            self.mask();
        }
        let _queue = self.locked();
        self.stopped.store(true, SeqCst);
    }
}

fn explore(order: Order) {
    loom::model(move || {
        let queue = Arc::new(Queue {
            lock: Mutex::new(Locked { switching: false }),
            unmasked: Mutex::new(false),
            scheduled: AtomicBool::new(false),
            runs: Mutex::new(()),
            stopped: AtomicBool::new(false),
        });
        let sender = Arc::clone(&queue);
        let device = Arc::clone(&queue);
        let sender = thread::spawn(move || sender.full());
        let device = thread::spawn(move || {
            device.interrupt();
            device.work();
        });
        queue.stop(order);
        sender.join().unwrap();
        device.join().unwrap();
        queue.interrupt();
        queue.work();
    });
}

#[test]
fn nothing_reclaims_after_the_stop() {
    explore(Order::Right);
}

#[test]
#[should_panic(expected = "reclaims after the stop")]
fn the_mask_comes_after_the_switch() {
    explore(Order::MaskFirst);
}

#[test]
#[should_panic(expected = "reclaims after the stop")]
fn the_tasklet_is_killed_after_the_mask() {
    explore(Order::KillFirst);
}
