// SPDX-License-Identifier: GPL-2.0-or-later
//! Two threads around the tester: one sends and executes the lab's commands, one receives. During a trial both spin on their
//! processors; between trials they sleep.

mod outlet;
mod receive;
mod transmit;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use irqlab_tester::mac::Mac;
use irqlab_tester::tester::Tester;
use serde_json::Value;

pub use receive::Receive;
pub use transmit::Transmit;

/// Between trials the threads look around at least this often.
const IDLE: Duration = Duration::from_millis(100);

/// What wakes the sending thread.
pub enum Event {
    /// A command of the lab.
    Line(String),
    /// A frame for a host has come.
    Frame,
    /// The lab is gone.
    End,
}

/// How the threads run.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    /// Processors for sending and for receiving; None: any.
    pub cpus: Option<[usize; 2]>,
    /// They sleep in trials, too, whenever there is nothing to do.
    pub sleep: bool,
}

/// What both threads use.
pub struct Shared {
    tester: Mutex<Tester>,
    /// When the tester wants to be called, in ns; u64::MAX: not at all.
    deadline_ns: AtomicU64,
    /// A trial runs.
    busy: AtomicBool,
    /// The receiving thread has noticed that.
    attentive: AtomicBool,
    /// When the receiving thread last found nothing, in ns.
    emptied_ns: AtomicU64,
    ended: AtomicBool,
    neighbours: Mutex<BTreeMap<(usize, Ipv4Addr), Mac>>,
    /// What the receiving thread says of the last trial.
    received: Mutex<Value>,
    /// Wakes the receiving thread.
    wake: OwnedFd,
    threads: Threads,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// For so many ports.
    pub fn new(ports: usize, threads: Threads) -> Arc<Self> {
        // SAFETY: a plain system call; the descriptor is owned from here on.
        let wake = unsafe {
            OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))
        };
        Arc::new(Shared {
            tester: Mutex::new(Tester::new(ports, 1)),
            deadline_ns: AtomicU64::new(u64::MAX),
            busy: AtomicBool::new(false),
            attentive: AtomicBool::new(false),
            emptied_ns: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            neighbours: Mutex::default(),
            received: Mutex::new(Value::Null),
            wake,
            threads,
        })
    }

    /// The tester. In a trial a thread spins for it: the other one has it for some µs.
    fn tester(&self) -> MutexGuard<'_, Tester> {
        if !self.threads.sleep {
            for _ in 0..100_000 {
                if let Ok(tester) = self.tester.try_lock() {
                    return tester;
                }
                std::hint::spin_loop();
            }
        }
        locked(&self.tester)
    }

    fn note_deadline(&self, tester: &Tester) {
        let deadline_ns = tester.deadline_ns().unwrap_or(u64::MAX);
        self.deadline_ns.store(deadline_ns, Ordering::Release);
    }

    fn wake_receiver(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes for an eventfd.
        unsafe { libc::write(self.wake.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Ends the receiving thread.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.wake_receiver();
    }
}
