// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqmod_tx_queued()` against `tx_timer_needed()` (drivers/irqmod): while a packet is on the ring, the timer is armed.

use loom::sync::atomic::Ordering::{Relaxed, SeqCst};
use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::sync::{Arc, Mutex};
use loom::thread;

struct Port {
    /// The lock of the transmit queue.
    queue: Mutex<()>,
    /// Written with the queue locked.
    armed: AtomicBool,
    /// Packets on the ring.
    outstanding: AtomicU32,
    /// The timer will expire once more.
    pending: AtomicBool,
}

impl Port {
    /// `ndo_start_xmit`, with the queue locked: puts a packet on the ring and arms the timer unless it is armed.
    fn xmit(&self) {
        let _locked = self.queue.lock().unwrap();
        self.outstanding.fetch_add(1, SeqCst);
        if !self.armed.load(Relaxed) {
            self.armed.store(true, Relaxed);
            self.pending.store(true, SeqCst); // hrtimer_start()
        }
    }

    /// `tx_timer_needed()`.
    fn needed(&self, lock: bool) -> bool {
        let locked = if lock {
            match self.queue.try_lock() {
                Ok(guard) => Some(guard),
                Err(_) => return true,
            }
        } else {
            None
        };
        let needed = self.outstanding.load(SeqCst) > 0;
        self.armed.store(needed, Relaxed);
        drop(locked);
        needed
    }

    /// `irqmod_tx_timer()`, when there is nothing to reclaim.
    fn expire(&self, lock: bool) {
        if self.needed(lock) {
            self.pending.store(true, SeqCst); // HRTIMER_RESTART
        }
    }
}

fn explore(lock: bool) {
    loom::model(move || {
        let port = Arc::new(Port {
            queue: Mutex::new(()),
            armed: AtomicBool::new(true),
            outstanding: AtomicU32::new(0),
            pending: AtomicBool::new(false), // it is expiring
        });
        let other = Arc::clone(&port);
        let timer = thread::spawn(move || other.expire(lock));
        port.xmit();
        timer.join().unwrap();
        assert!(
            port.pending.load(SeqCst),
            "a packet on the ring, and no timer"
        );
    });
}

#[test]
fn a_packet_has_a_timer() {
    explore(true);
}

#[test]
#[should_panic(expected = "a packet on the ring, and no timer")]
fn needs_the_lock() {
    explore(false);
}
