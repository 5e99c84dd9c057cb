// SPDX-License-Identifier: GPL-2.0-or-later
//! Fault injection: what the lab asks for, and what was damaged. The [USB NIC](crate::lan7800::fault_injection) and the
//! [PCI cards](crate::pci::fault_injection) have an injector each.

use serde::{Deserialize, Serialize};

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// USB: bulk IN.
    Transfers,
    /// USB: answers to control requests.
    Replies,
    /// USB: of the interrupt endpoint.
    Statuses,
    /// USB: bulk OUT that is refused.
    Refusals,
    /// PCI: reads of registers.
    Registers,
    /// PCI: what the card writes into descriptors.
    Descriptors,
    /// PCI: the interrupt line.
    Interrupts,
}

/// The faults that the lab asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultPlan {
    /// Decides what is damaged, and how.
    pub seed: u64,
    /// How many of a thousand are damaged.
    pub permille: u32,
    /// Only this kind; None: all that the NIC has.
    pub only: Option<Kind>,
    /// USB: transfers may end in the beginning of one more frame.
    pub trailing_fragments: bool,
}

/// What was damaged, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Bulk IN transfers.
    pub transfers: u64,
    /// Answers to control requests.
    pub replies: u64,
    /// Answers of the interrupt endpoint.
    pub statuses: u64,
    /// Bulk OUT transfers that were refused.
    pub refusals: u64,
    /// Reads of registers.
    pub registers: u64,
    /// Writes into descriptors.
    pub descriptors: u64,
    /// Spurious interrupts.
    pub interrupts: u64,
}

impl Damage {
    /// All of them.
    pub fn total(&self) -> u64 {
        let usb = self.transfers + self.replies + self.statuses + self.refusals;
        usb + self.registers + self.descriptors + self.interrupts
    }
}
