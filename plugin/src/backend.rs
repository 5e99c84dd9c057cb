// SPDX-License-Identifier: GPL-2.0-or-later
//! What the tester stands on inside QEMU.

use super::net::{self, NetClient};
use super::pci::{cards, socket};
use super::usb::nic;
use super::{caches, clock, cues, halts, instrument, lines, machine, parallel, preemption, probes};
use irqlab_tester::backend::{Backend, Cued, Cues, Entry, Outcome, Path, Switched, Switches};
use irqlab_tester::faults::{Damage, FaultPlan};
use irqlab_tester::memory_model::Counts;
use irqlab_tester::profile::Profile;
use irqlab_tester::profile::map::Addresses;
use irqlab_tester::refusal::Refusal;

/// QEMU's clock and NICs.
pub struct QemuBackend {
    /// One for each port; empty if the NICs are the tester's own.
    pub clients: Vec<NetClient>,
    /// The tester's own NICs are PCI cards, and not USB devices.
    pub cards: bool,
    /// Instructions are counted.
    pub profiled: bool,
    /// How long an instruction takes.
    pub ns_per_instruction: u64,
}

impl Backend for QemuBackend {
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }
    fn instructions(&self) -> u64 {
        clock::instructions().wrapping_sub(caches::charged() as u64)
    }
    fn processors(&self) -> Vec<[u64; 2]> {
        let mut all = parallel::spent(clock::now_ns());
        for ([instructions, _], charged) in all.iter_mut().zip(caches::charged_each()) {
            *instructions = instructions.wrapping_sub(charged as u64);
        }
        all
    }
    fn memory(&self) -> Option<Counts> {
        caches::counts()
    }
    fn word(&self, address: u64) -> u64 {
        machine::word(address)
    }
    fn send(&mut self, port: usize, frame: &[u8]) -> Outcome {
        let taken = match self.clients.get(port) {
            Some(client) => client.send(frame),
            None if self.cards => cards::receive(port, frame),
            None => nic::receive(port, frame),
        };
        if taken {
            Outcome::Sent
        } else {
            Outcome::Refused
        }
    }
    fn send_damaged(&mut self, port: usize, frame: &[u8]) {
        if self.cards {
            cards::receive_damaged(port, frame);
        } else {
            nic::receive_damaged(port, frame);
        }
    }
    fn can_damage(&self) -> bool {
        self.clients.is_empty()
    }
    fn profile(&mut self, addresses: &Addresses) -> Result<(), Refusal> {
        instrument::arm(addresses)
    }
    fn profile_lines(&mut self, keep: &[(u64, u64)]) -> Result<(), Refusal> {
        lines::arm(keep)
    }
    fn read_memory(&self, ranges: &[(u64, u64)]) -> Result<Vec<Option<String>>, Refusal> {
        lines::read(ranges)
    }
    fn profile_result(&self) -> Result<Profile, Refusal> {
        instrument::result()
    }
    fn plug(&mut self, port: usize, plugged: bool) -> Result<(), Refusal> {
        if self.cards {
            cards::plug(port, plugged)
        } else {
            nic::plug(port, plugged)
        }
    }
    fn plug_cable(&mut self, port: usize, plugged: bool) -> Result<(), Refusal> {
        if !self.clients.is_empty() {
            net::plug_cable(port, plugged)
        } else if self.cards {
            cards::plug_cable(port, plugged)
        } else {
            nic::plug_cable(port, plugged)
        }
    }
    fn set_partner(&mut self, port: usize, pauses: bool) -> Result<(), Refusal> {
        nic::set_partner(port, pauses)
    }
    fn inject_faults(&mut self, port: usize, plan: Option<FaultPlan>) -> Result<Damage, Refusal> {
        if self.cards {
            cards::inject_faults(port, plan)
        } else {
            nic::inject_faults(port, plan)
        }
    }
    fn rings(&mut self, record: bool) -> Result<Vec<Vec<[u64; 2]>>, Refusal> {
        if self.cards {
            Ok(cards::rings(record))
        } else {
            Err(Refusal::unsupported(
                "only of the tester's own PCI cards the transmit rings are seen",
            ))
        }
    }
    fn halts(&mut self, record: bool) -> Vec<[u64; 2]> {
        halts::record(record)
    }
    fn pc(&self) -> u64 {
        machine::pc()
    }
    fn probe(&mut self, functions: &[u64]) -> Result<(), Refusal> {
        probes::arm(functions, self.ns_per_instruction)
    }
    fn entries(&mut self) -> Vec<Entry> {
        probes::entries()
    }
    fn fail(&mut self, function: usize, after: u64, value: u64) {
        probes::fail(function, after, value);
    }
    fn preempt(&mut self, switches: &Switches) -> Result<(), Refusal> {
        preemption::arm(switches)
    }
    fn cue(&mut self, cues: &Cues) -> Result<(), Refusal> {
        cues::arm(cues, self.ns_per_instruction)
    }
    fn cued(&self) -> (Vec<Cued>, Vec<Path>) {
        cues::found()
    }
    fn passed(&self) -> Vec<u64> {
        preemption::passed()
    }
    fn switched(&self) -> Vec<Switched> {
        preemption::switched()
    }
    fn delay_interrupts(&mut self, by_ns: u64) -> Result<(), Refusal> {
        if self.cards {
            socket::delay_interrupts(by_ns);
        }
        if self.cards || by_ns == 0 {
            return Ok(());
        }
        Err(Refusal::unsupported(
            "only interrupts of the tester's own cards can be delayed",
        ))
    }
    fn delay_writes(&mut self, by_ns: u64) -> Result<(), Refusal> {
        if self.cards {
            socket::delay_writes(by_ns);
        }
        if self.cards || by_ns == 0 {
            return Ok(());
        }
        Err(Refusal::unsupported(
            "only writes to registers of the tester's own cards can be delayed",
        ))
    }
    fn interrupt(&mut self, port: usize) {
        if self.cards {
            cards::interrupt(port);
        }
    }
    fn can_interrupt(&self) -> bool {
        self.cards
    }
    fn window(&mut self, open: bool) {
        preemption::window(open);
        cues::window(open);
        if self.profiled {
            instrument::window(open);
        }
    }
}
