// SPDX-License-Identifier: GPL-2.0-or-later
//! What the tester needs: a clock and ports.

use serde::{Deserialize, Serialize};

use crate::faults::{Damage, FaultPlan};
use crate::memory_model::Counts;
use crate::profile::Profile;
use crate::profile::map::Addresses;

/// What became of a frame that was delivered to the device under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The NIC took it.
    Sent,
    /// The NIC had no room for it. As on a wire, the frame is lost.
    Refused,
}

/// The device under test entered a probed function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its index among the probed ones.
    pub function: usize,
    /// When, in ns.
    pub at_ns: u64,
    /// Its first argument.
    pub argument: u64,
    /// The call was made to fail.
    pub failed: bool,
}

/// Where processors give way to the next one. In the measured window rounds are counted, and in each round the instructions executed of
/// some code: before the instructions with these numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switches {
    /// Virtual addresses of the code: begin, end.
    pub ranges: Vec<(u64, u64)>,
    /// When the first round begins, after the start of the window.
    pub first_ns: u64,
    /// How long a round lasts.
    pub every_ns: u64,
    /// For each round, numbers of instructions, ascending.
    pub points: Vec<Vec<u64>>,
}

impl Switches {
    /// No processor is made to give way.
    pub const NONE: Switches = Switches {
        ranges: Vec::new(),
        first_ns: 0,
        every_ns: 0,
        points: Vec::new(),
    };
}

/// A processor gave way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Switched {
    /// In which round.
    pub round: usize,
    /// Which processor.
    pub processor: usize,
    /// The virtual address of the instruction that it executes next.
    pub address: u64,
}

/// A clock and ports. In QEMU these are the virtual clock and the NICs, on real ports the host's clock and
/// sockets, in tests a [loopback](crate::loopback).
pub trait Backend {
    /// Virtual time, in nanoseconds.
    fn now_ns(&self) -> u64;
    /// Instructions the device under test has executed since power-on.
    fn instructions(&self) -> u64;
    /// The counters of the memory model; None: there is no model, and the device under test never stalls.
    fn memory(&self) -> Option<Counts> {
        None
    }
    /// A little-endian 64-bit number in the memory of the device under test, at a physical address.
    fn word(&self, _address: u64) -> u64 {
        0
    }
    /// Whether `port` takes a frame now. If not, the frame departs later.
    fn has_room(&self, _port: usize) -> bool {
        true
    }
    /// A frame of a stream that is overdue by more than so many ns is not sent at all. Virtual time is never late.
    fn patience_ns(&self) -> u64 {
        u64::MAX
    }
    /// A frame of a stream that was planned for `planned_ns` leaves at `now_ns`.
    fn departed(&mut self, _planned_ns: u64, _now_ns: u64) {}
    /// Delivers a frame (without FCS) to the NIC behind `port`, now.
    fn send(&mut self, port: usize, frame: &[u8]) -> Outcome;
    /// Profiles every measured window from now on.
    fn profile(&mut self, _addresses: &Addresses) -> Result<(), String> {
        Err("there is no profiler here".into())
    }
    /// Profiles the lines of memory, too; `keep`: memory, by virtual address and bytes, to be copied when the window closes.
    fn profile_lines(&mut self, _keep: &[(u64, u64)]) -> Result<(), String> {
        Err("there is no profiler here".into())
    }
    /// Memory of the device under test, by virtual address and bytes, in base64. Copied memory is that of the window's end.
    fn read_memory(&self, _ranges: &[(u64, u64)]) -> Result<Vec<Option<String>>, String> {
        Err("there is no memory here".into())
    }
    /// The profile of the last window.
    fn profile_result(&self) -> Result<Profile, String> {
        Err("there is no profiler here".into())
    }
    /// Unplugs the NIC behind `port`, or plugs it in.
    fn plug(&mut self, _port: usize, _plugged: bool) -> Result<(), String> {
        Err("these NICs cannot be unplugged".into())
    }
    /// Sets whether the link partner of the NIC behind `port` offers pause frames, when they negotiate next.
    fn set_partner(&mut self, _port: usize, _pauses: bool) -> Result<(), String> {
        Err("the link partner of these NICs offers no pause frames".into())
    }
    /// Injects faults into the answers of the NIC behind `port`; None: ends that. Returns what was damaged since the last call.
    fn inject_faults(&mut self, _port: usize, _plan: Option<FaultPlan>) -> Result<Damage, String> {
        Err("no faults can be injected into these NICs".into())
    }
    /// From now on, records how many transmit descriptors the NICs hold, or stops that. Returns what was recorded, by port: pairs of a time
    /// in ns and the number from then on.
    fn rings(&mut self, _record: bool) -> Result<Vec<Vec<[u64; 2]>>, String> {
        Err("the transmit rings of these NICs are not seen".into())
    }
    /// From now on, records when the processor halts and goes on, or stops that. Returns what was recorded, in ns.
    fn halts(&mut self, _record: bool) -> Vec<[u64; 2]> {
        Vec::new()
    }
    /// The address of the instruction that the processor executes next; 0: not known.
    fn pc(&self) -> u64 {
        0
    }
    /// Records from now on when these functions are entered, given by their addresses; none: ends that.
    fn probe(&mut self, functions: &[u64]) -> Result<(), String> {
        if functions.is_empty() {
            return Ok(());
        }
        Err("there are no probes here".into())
    }
    /// The entries since the last [`Backend::probe`].
    fn entries(&mut self) -> Vec<Entry> {
        Vec::new()
    }
    /// A call of a probed function returns at once with a value, after so many further calls.
    fn fail(&mut self, _function: usize, _after: u64, _value: u64) {}
    /// Processors give way to the next one there, in the next window. Without code: nowhere.
    fn preempt(&mut self, switches: &Switches) -> Result<(), String> {
        if switches.ranges.is_empty() {
            return Ok(());
        }
        Err("there are no processors here".into())
    }
    /// How many instructions of that code were executed in each round.
    fn passed(&self) -> Vec<u64> {
        Vec::new()
    }
    /// Where processors gave way.
    fn switched(&self) -> Vec<Switched> {
        Vec::new()
    }
    /// Interrupts of the NICs are raised so many ns late from now on.
    fn delay_interrupts(&mut self, by_ns: u64) -> Result<(), String> {
        if by_ns == 0 {
            return Ok(());
        }
        Err("interrupts of these NICs cannot be delayed".into())
    }
    /// Writes to registers of the NICs arrive so many ns late from now on.
    fn delay_writes(&mut self, by_ns: u64) -> Result<(), String> {
        if by_ns == 0 {
            return Ok(());
        }
        Err("writes to registers of these NICs cannot be delayed".into())
    }
    /// Raises the interrupt of the NIC behind `port` for a moment.
    fn interrupt(&mut self, _port: usize) {}
    /// Whether [`Backend::interrupt`] works.
    fn can_interrupt(&self) -> bool {
        false
    }
    /// The measured window of a trial opens or closes.
    fn window(&mut self, _open: bool) {}
}
