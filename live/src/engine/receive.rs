// SPDX-License-Identifier: GPL-2.0-or-later
//! The receiving thread.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use serde_json::json;

use super::{Event, IDLE, Shared, locked};
use crate::arp;
use crate::clock::now_ns;
use crate::health::{self, Account, Gaps};
use crate::port::Receiving;

/// The receiving thread passes on so many frames before it lets the sending thread have the tester.
const AT_ONCE: usize = 16;

/// The receiving thread.
pub struct Receive {
    /// What it shares with the other one.
    pub shared: Arc<Shared>,
    /// The ports.
    pub ports: Vec<Box<dyn Receiving>>,
    /// To the sending thread.
    pub events: Sender<Event>,
}

impl Receive {
    /// Receives until the end.
    pub fn run(mut self) -> Result<(), String> {
        let cpu = self.shared.threads.cpus.map(|[_, cpu]| cpu);
        if let Some(cpu) = cpu {
            health::pin(cpu)?;
        }
        health::prefer();
        while !self.shared.ended.load(Ordering::Acquire) {
            if self.shared.busy.load(Ordering::Acquire) {
                self.trial(cpu);
            } else {
                self.round();
                self.sleep(IDLE.as_millis() as i32);
            }
        }
        Ok(())
    }

    fn trial(&mut self, cpu: Option<usize>) {
        let shared = Arc::clone(&self.shared);
        while self.round() > 0 {} // what came between trials
        let _ = self.dropped();
        let before = Account::now(cpu);
        let mut gaps = Gaps::begin(now_ns());
        shared.attentive.store(true, Ordering::Release);
        while shared.busy.load(Ordering::Acquire) {
            let looked_ns = now_ns();
            gaps.look(looked_ns);
            if self.round() > 0 {
                continue;
            }
            shared.emptied_ns.store(looked_ns, Ordering::Release);
            if shared.threads.sleep {
                self.sleep(1);
                gaps.slept(now_ns());
            } else {
                std::hint::spin_loop();
            }
        }
        let health = Account::now(cpu).report(&before, &gaps);
        let stamps: Vec<&str> = self
            .ports
            .iter_mut()
            .map(|port| port.time_stamps())
            .collect();
        let dropped = self.dropped();
        *locked(&shared.received) =
            json!({"health": health, "dropped": dropped, "time_stamps": stamps});
        shared.attentive.store(false, Ordering::Release);
    }

    fn dropped(&mut self) -> Vec<u64> {
        self.ports.iter_mut().map(|port| port.dropped()).collect()
    }

    /// Takes a batch from every port; returns how many frames there were.
    fn round(&mut self) -> usize {
        let shared = &self.shared;
        let mut count = 0;
        for (number, port) in self.ports.iter_mut().enumerate() {
            let mut tester = None;
            let mut taken = 0;
            count += port.receive(&mut |at_ns, frame| {
                if let Some((ip, mac)) = arp::reply(frame) {
                    locked(&shared.neighbours).insert((number, ip), mac);
                }
                let tester_ = tester.get_or_insert_with(|| shared.tester());
                tester_.receive(number, at_ns, frame);
                taken += 1;
                if taken % AT_ONCE == 0 {
                    shared.note_deadline(tester_);
                    tester = None;
                }
            });
            if let Some(tester) = tester {
                shared.note_deadline(&tester);
            }
        }
        if count > 0 && !shared.busy.load(Ordering::Acquire) {
            let _ = self.events.send(Event::Frame);
        }
        count
    }

    fn sleep(&self, limit_ms: i32) {
        let polled = |fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        let ports = self.ports.iter().map(|port| polled(port.descriptor()));
        let mut all: Vec<libc::pollfd> = ports
            .chain([polled(self.shared.wake.as_raw_fd())])
            .collect();
        let mut number = 0_u64;
        // SAFETY: as many entries as are said; eight bytes of an eventfd.
        unsafe {
            libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, limit_ms);
            libc::read(self.shared.wake.as_raw_fd(), (&raw mut number).cast(), 8);
        }
    }
}
