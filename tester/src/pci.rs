// SPDX-License-Identifier: GPL-2.0-or-later
//! PCI cards of our own, without QEMU: what a card is to its [`Host`], the [`bus`] that cards share, and parts that several
//! cards have: an EEPROM behind [`microwire`], a [`phy`], a FIFO and the wire behind it ([`transmit`]). [`posted`] has the writes that are
//! on their way to a card.
//!
//! A card has no clock: its owner calls [`Card::advance`] at [`Card::deadline_ns`]. Whatever a card does to the host takes the time that
//! the bus needs; the card itself keeps track of it.

#[cfg(test)]
pub mod board;
pub mod bus;
pub mod fault_injection;
pub mod link;
pub mod microwire;
pub mod phy;
pub mod posted;
pub mod transmit;

use serde::{Deserialize, Serialize};

use bus::Access;

/// What a card is plugged into.
pub trait Host {
    /// Reads memory, now. The time that it takes is a matter of [`Host::claim`].
    fn read(&mut self, address: u64, bytes: &mut [u8]);
    /// Writes memory, now.
    fn write(&mut self, address: u64, bytes: &[u8]);
    /// Occupies the bus for a transfer of so many bytes that the card is ready for at `from_ns`, which may be past. When it is over, in ns.
    fn claim(&mut self, from_ns: u64, access: Access, bytes: usize) -> u64;
    /// How long such a transfer takes on an idle bus, in ns.
    fn takes_ns(&self, access: Access, bytes: usize) -> u64;
    /// Sets the interrupt line; level-triggered.
    fn interrupt(&mut self, asserted: bool);
    /// How the machine wants to be interrupted. Cards without [`Capabilities`] for messages need not ask.
    fn signalling(&self) -> Signalling {
        Signalling::Pin
    }
    /// Sends the message of a vector; 0 with MSI.
    fn message(&mut self, _vector: usize) {}
    /// The transmission of a frame (without FCS) begins.
    fn transmit(&mut self, frame: &[u8]);
}

/// How a card interrupts, as the machine has set it up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signalling {
    /// By the interrupt line.
    #[default]
    Pin,
    /// By one message (MSI).
    Message,
    /// By a message for each vector (MSI-X).
    Vectors,
}

/// A card's identity in its configuration space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The vendor.
    pub vendor: u16,
    /// The device.
    pub device: u16,
    /// The revision.
    pub revision: u8,
    /// The subsystem's vendor and device.
    pub subsystem: (u16, u16),
    /// MIN_GNT and MAX_LAT, in units of 250 ns.
    pub latency: [u8; 2],
    /// The power management capability; None: there is none.
    pub power: Option<PowerManagement>,
}

/// The power management capability (PCI Bus Power Management Interface Specification 1.1, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerManagement {
    /// Where it lies.
    pub offset: u8,
    /// PMC: what the card can do.
    pub capabilities: u16,
}

/// Known defects of chips, which can be switched on. A card has those of its chip; it ignores the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errata {
    /// RTL8139C+: a TPPoll that comes while the chip transmits is lost.
    pub lost_poll: bool,
    /// RTL8139C+: asleep with PME disabled, the PHY has no power, and forgets its settings.
    pub phy_off: bool,
    /// 8255x: at 10 Mbit/s, the command unit hangs at a resume that no NOP command precedes.
    pub resume_hang: bool,
    /// 8255x: the receive unit runs out of resources without a cause RNR.
    pub lost_rnr: bool,
    /// 8255x: some commands are accepted late.
    pub slow_scb: bool,
}

impl Errata {
    /// Switches one on by its name; None: there is no such erratum.
    pub fn with(mut self, name: &str) -> Option<Self> {
        let erratum = match name {
            "lost-poll" => &mut self.lost_poll,
            "phy-off" => &mut self.phy_off,
            "resume-hang" => &mut self.resume_hang,
            "lost-rnr" => &mut self.lost_rnr,
            "slow-scb" => &mut self.slow_scb,
            _ => return None,
        };
        *erratum = true;
        Some(self)
    }
}

/// MSI-X (PCI Local Bus Specification 3.0, 6.8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MsiX {
    /// Where the capability lies.
    pub offset: u8,
    /// How many messages there are.
    pub vectors: usize,
    /// The window that the tables lie in.
    pub window: usize,
    /// Where the table of messages is in it.
    pub table: u32,
    /// Where the pending bits are in it.
    pub pending: u32,
}

/// Capabilities that only some cards have, by where they lie in the configuration space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// PCI Express; the card is an endpoint at a [`link`] of its own.
    pub express: Option<u8>,
    /// MSI: one message, with 64 bits of address.
    pub msi: Option<u8>,
    /// MSI-X.
    pub msix: Option<MsiX>,
}

impl Capabilities {
    /// A conventional card.
    pub const NONE: Capabilities = Capabilities {
        express: None,
        msi: None,
        msix: None,
    };
}

/// A base address register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The size, a power of two, in bytes.
    pub bytes: u64,
    /// Of I/O ports; otherwise of memory.
    pub ports: bool,
}

/// How much of a card works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// All of it (D0).
    On,
    /// What may wake the machine: asleep (D1 to D3), with PME enabled.
    Listening,
    /// Nothing: asleep, with PME disabled.
    Off,
}

/// A card.
pub trait Card: Send {
    /// The processor reads `bytes` (1, 2 or 4) bytes of a window at an offset.
    fn read(&mut self, now_ns: u64, window: usize, offset: u64, bytes: usize) -> u32;
    /// Called after each [`Card::read`], and when the machine has changed how it wants to be interrupted: brings the interrupt line up to
    /// date.
    fn settle(&mut self, _now_ns: u64, _host: &mut dyn Host) {}
    /// The processor writes.
    fn write(
        &mut self,
        now_ns: u64,
        window: usize,
        offset: u64,
        bytes: usize,
        value: u32,
        host: &mut dyn Host,
    );
    /// The last bit of a frame (without FCS) arrives from the line. False: it is lost, since the card has no room or does not listen.
    fn receive(&mut self, now_ns: u64, frame: &[u8], host: &mut dyn Host) -> bool;
    /// The last bit of a frame with a wrong FCS (which `frame` is without) arrives.
    fn receive_damaged(&mut self, now_ns: u64, frame: &[u8], host: &mut dyn Host);
    /// The cable is pulled or put in.
    fn plug_cable(&mut self, now_ns: u64, plugged: bool, host: &mut dyn Host);
    /// Interrupts for another cause than frames, which changes nothing: the link was lost and came back before anybody could look.
    /// Called only if the card interrupts by messages.
    fn interrupt_otherwise(&mut self, _now_ns: u64, _host: &mut dyn Host) {}
    /// When [`Card::advance`] must be called, in ns; it may have passed already.
    fn deadline_ns(&self) -> Option<u64>;
    /// Does everything that is due.
    fn advance(&mut self, now_ns: u64, host: &mut dyn Host);
    /// When [`Card::advance`] must be called at the latest, in ns, if only the driver sees what the card does: what is due before then
    /// shows neither in descriptors nor by interrupts nor on the line, and [`Card::catch_up`] comes before every other call.
    fn shows_ns(&self) -> Option<u64> {
        self.deadline_ns()
    }
    /// Does what was due before and could wait (see [`Card::shows_ns`]), as if in time.
    fn catch_up(&mut self, _now_ns: u64, _host: &mut dyn Host) {}
    /// How many transmit descriptors the card holds: handed over by the driver, and not given back. 0: unknown.
    fn transmit_fill(&self, _host: &mut dyn Host) -> u32 {
        0
    }
    /// The bus was reset.
    fn reset(&mut self, now_ns: u64);
    /// The card was put to sleep (D1 to D3), or woken up.
    fn power_changed(&mut self, now_ns: u64, power: Power);
    /// The card's state, to be restored later, or why it cannot be written down.
    fn state(&self) -> Result<String, String>;
    /// Takes on a state, or says why it cannot.
    fn restore(&mut self, state: &str) -> Result<(), String>;
}
