// SPDX-License-Identifier: GPL-2.0-or-later
//! A device under test without QEMU: a router that can be made to fail in every way that the tester must notice.

use std::collections::BTreeMap;

use crate::backend::{Backend, Outcome};
use crate::memory_model::Counts;
use crate::tester::Tester;
use crate::traffic::frame::is_ours;

/// What happens to one stream frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is lost inside.
    Drop,
    /// The NIC has no room for it.
    Refuse,
    /// It is forwarded twice.
    Duplicate,
    /// It takes so many ns longer.
    Hold(u64),
    /// The lowest bit of the byte at this offset changes, after forwarding.
    Flip(usize),
    /// The 16-bit words at this (even) offset and after it are swapped, which no Internet checksum notices.
    Swap(usize),
    /// Only so many bytes are left of it.
    Truncate(usize),
    /// It comes out of this port.
    Misdeliver(usize),
}

/// A frame that the tester delivered.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// When, in ns.
    pub at_ns: u64,
    /// Where.
    pub port: usize,
    /// The frame without FCS.
    pub frame: Vec<u8>,
}

/// The router. It forwards stream frames from each port to the next port, the last to the first.
#[derive(Debug)]
pub struct Router {
    ports: usize,
    now_ns: u64,
    order: u64,
    forwarded: u64,
    in_flight: BTreeMap<(u64, u64), (usize, Vec<u8>)>,
    /// How long a frame takes through the router, in ns.
    pub delay_ns: u64,
    /// The clock moves in steps of so many ns.
    pub grain_ns: u64,
    /// Instructions executed in 1,000 ns.
    pub instructions_per_us: u64,
    /// Stalls for memory in 1,000 ns; None: there is no memory model.
    pub stall_ps_per_us: Option<u64>,
    /// When the processor is said to have halted and gone on, in ns.
    pub halts: Vec<[u64; 2]>,
    /// What happens to the n-th stream frame, counted from 0.
    pub faults: BTreeMap<u64, Fault>,
    /// Whether `deliveries` is kept.
    pub log: bool,
    /// What the tester delivered, stream frames and others.
    pub deliveries: Vec<Delivery>,
}

impl Router {
    /// A faultless router of so many ports, with a delay of 10,000 ns.
    pub fn new(ports: usize) -> Self {
        Router {
            ports,
            now_ns: 0,
            order: 0,
            forwarded: 0,
            in_flight: BTreeMap::new(),
            delay_ns: 10_000,
            grain_ns: 1,
            instructions_per_us: 250,
            stall_ps_per_us: None,
            halts: Vec::new(),
            faults: BTreeMap::new(),
            log: true,
            deliveries: Vec::new(),
        }
    }

    /// The router will transmit this frame (without FCS) on `port` at `at_ns`.
    pub fn transmit(&mut self, port: usize, at_ns: u64, frame: Vec<u8>) {
        self.in_flight.insert((at_ns, self.order), (port, frame));
        self.order += 1;
    }

    /// Lets time pass until `until_ns`, and calls the tester at each of its deadlines.
    pub fn run(&mut self, tester: &mut Tester, until_ns: u64) {
        loop {
            let transmission = self.in_flight.keys().next().map(|(at_ns, _)| *at_ns);
            let next_ns = transmission.into_iter().chain(tester.deadline_ns()).min();
            let Some(next_ns) = next_ns.filter(|next_ns| *next_ns <= until_ns) else {
                break;
            };
            self.now_ns = self.now_ns.max(next_ns.next_multiple_of(self.grain_ns));
            while let Some(entry) = self.in_flight.first_entry() {
                if entry.key().0 > self.now_ns {
                    break;
                }
                let (port, frame) = entry.remove();
                tester.receive(port, self.now_ns, &frame);
            }
            tester.advance(self);
        }
        self.now_ns = self.now_ns.max(until_ns);
    }

    /// Moves the clock without telling the tester.
    pub fn sleep_until(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    fn forward(&mut self, port: usize, frame: &[u8]) -> Outcome {
        let fault = self.faults.get(&self.forwarded).copied();
        self.forwarded += 1;
        let mut frame = frame.to_vec();
        route(&mut frame);
        let mut to = (port + 1) % self.ports;
        let mut at_ns = self.now_ns + self.delay_ns;
        match fault {
            None => {}
            Some(Fault::Drop) => return Outcome::Sent,
            Some(Fault::Refuse) => return Outcome::Refused,
            Some(Fault::Duplicate) => self.transmit(to, at_ns, frame.clone()),
            Some(Fault::Hold(longer_ns)) => at_ns += longer_ns,
            Some(Fault::Flip(at)) => frame[at] ^= 1,
            Some(Fault::Swap(at)) => {
                frame.swap(at, at + 2);
                frame.swap(at + 1, at + 3);
            }
            Some(Fault::Truncate(length)) => frame.truncate(length),
            Some(Fault::Misdeliver(port)) => to = port,
        }
        self.transmit(to, at_ns, frame);
        Outcome::Sent
    }
}

impl Backend for Router {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn instructions(&self) -> u64 {
        self.now_ns * self.instructions_per_us / 1_000
    }

    fn memory(&self) -> Option<Counts> {
        self.stall_ps_per_us.map(|stall_ps| Counts {
            stall_ps: self.now_ns * stall_ps / 1_000,
            charged_ps: (self.now_ns * stall_ps / 1_000) as i64,
            ..Counts::default()
        })
    }

    fn halts(&mut self, record: bool) -> Vec<[u64; 2]> {
        if record {
            Vec::new()
        } else {
            std::mem::take(&mut self.halts)
        }
    }

    fn send(&mut self, port: usize, frame: &[u8]) -> Outcome {
        if self.log {
            self.deliveries.push(Delivery {
                at_ns: self.now_ns,
                port,
                frame: frame.to_vec(),
            });
        }
        if is_ours(frame) {
            self.forward(port, frame)
        } else {
            Outcome::Sent
        }
    }
}

/// Changes a frame as RFC 1812 requires of a router: new Ethernet addresses, time to live less one, the checksum updated (RFC
/// 1624, equation 3).
fn route(frame: &mut [u8]) {
    let (destination, source) = frame[..12].split_at_mut(6);
    destination.swap_with_slice(source);
    let word = |at: usize| u32::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
    let (checksum, before) = (word(24), word(22));
    frame[22] = frame[22].wrapping_sub(1);
    let after = u32::from(u16::from_be_bytes([frame[22], frame[23]]));
    let mut sum = (!checksum & 0xffff) + (!before & 0xffff) + after;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    frame[24..26].copy_from_slice(&(!sum as u16).to_be_bytes());
}
