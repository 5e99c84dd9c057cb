// SPDX-License-Identifier: GPL-2.0-or-later
//! What the tester needs: a clock and ports.

use serde::{Deserialize, Serialize};

use crate::faults::{Damage, FaultPlan};
use crate::memory_model::Counts;
use crate::profile::Profile;
use crate::profile::map::Addresses;
use crate::refusal::Refusal;

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

/// Where the second event of a round happens: before an instruction of some code, instead of at its own instant. In the measured window
/// rounds are counted, and in each round the instructions executed of the code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cues {
    /// Virtual addresses of the code: begin, end.
    pub ranges: Vec<(u64, u64)>,
    /// When the first round begins, after the start of the window.
    pub first_ns: u64,
    /// How long a round lasts.
    pub every_ns: u64,
    /// How long after its beginning instructions are counted in a round.
    pub until_ns: u64,
    /// For each round, the number of an instruction; none: nothing is moved in it, and its path is recorded.
    pub points: Vec<Option<u64>>,
    /// What happens then.
    pub what: Cue,
}

impl Cues {
    /// Everything happens at its own instant.
    pub const NONE: Cues = Cues {
        ranges: Vec::new(),
        first_ns: 0,
        every_ns: 0,
        until_ns: 0,
        points: Vec::new(),
        what: Cue::Stream(0),
    };
}

/// What happens on cue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cue {
    /// The frames of a stream that would depart in this round.
    Stream(usize),
    /// An event that would happen in this round.
    Event(usize),
}

impl Default for Cue {
    fn default() -> Self {
        Cue::Stream(0)
    }
}

/// What was executed in a round, before its cue or in the time in which instructions are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cued {
    /// Instructions of the code.
    pub executed: u64,
    /// A hash of the addresses of these instructions, in the order of their execution, and of the next one if there was a cue.
    pub path: u64,
    /// The same of the last ones only: 64 with the next one.
    pub place: u64,
    /// When the cue came, in ns; the window begins at 0. None: the instruction was not reached.
    pub at_ns: Option<u64>,
    /// So much earlier it would have come without the machinery of cues.
    pub booked_ns: u64,
    /// The virtual address of the instruction that was next at the cue; 0: there was none.
    pub address: u64,
}

/// A way through the code that a round without a cue took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Path {
    /// The hash of the whole ([`Cued::path`]).
    pub path: u64,
    /// For each instruction: its virtual address, and the hash of the last ones up to it ([`Cued::place`] of a cue before it).
    pub steps: Vec<(u64, u64)>,
}

/// A clock and ports. In QEMU these are the virtual clock and the NICs, on real ports the host's clock and
/// sockets, in tests a [loopback](crate::loopback).
pub trait Backend {
    /// Virtual time, in nanoseconds.
    fn now_ns(&self) -> u64;
    /// Instructions the device under test has executed since power-on.
    fn instructions(&self) -> u64;
    /// Instructions that each processor has executed, and the time for which it was halted, in ns; empty: it is not known.
    fn processors(&self) -> Vec<[u64; 2]> {
        Vec::new()
    }
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
    /// Delivers a frame with a wrong FCS (which `frame` is without) to the NIC behind `port`, now.
    fn send_damaged(&mut self, _port: usize, _frame: &[u8]) {}
    /// Whether [`Backend::send_damaged`] works.
    fn can_damage(&self) -> bool {
        false
    }
    /// Profiles every measured window from now on.
    fn profile(&mut self, _addresses: &Addresses) -> Result<(), Refusal> {
        Err(Refusal::unsupported("there is no profiler here"))
    }
    /// Profiles the lines of memory, too; `keep`: memory, by virtual address and bytes, to be copied when the window closes.
    fn profile_lines(&mut self, _keep: &[(u64, u64)]) -> Result<(), Refusal> {
        Err(Refusal::unsupported("there is no profiler here"))
    }
    /// Memory of the device under test, by virtual address and bytes, in base64. Copied memory is that of the window's end.
    fn read_memory(&self, _ranges: &[(u64, u64)]) -> Result<Vec<Option<String>>, Refusal> {
        Err(Refusal::unsupported("there is no memory here"))
    }
    /// The profile of the last window.
    fn profile_result(&self) -> Result<Profile, Refusal> {
        Err(Refusal::unsupported("there is no profiler here"))
    }
    /// Unplugs the NIC behind `port`, or plugs it in.
    fn plug(&mut self, _port: usize, _plugged: bool) -> Result<(), Refusal> {
        Err(Refusal::unsupported("these NICs cannot be unplugged"))
    }
    /// Pulls the cable out of the NIC behind `port`, or puts it in.
    fn plug_cable(&mut self, _port: usize, _plugged: bool) -> Result<(), Refusal> {
        Err(Refusal::unsupported("the cable of these NICs stays"))
    }
    /// Sets whether the link partner of the NIC behind `port` offers pause frames, when they negotiate next.
    fn set_partner(&mut self, _port: usize, _pauses: bool) -> Result<(), Refusal> {
        Err(Refusal::unsupported(
            "the link partner of these NICs offers no pause frames",
        ))
    }
    /// Injects faults into the answers of the NIC behind `port`; None: ends that. Returns what was damaged since the last call.
    fn inject_faults(&mut self, _port: usize, _plan: Option<FaultPlan>) -> Result<Damage, Refusal> {
        Err(Refusal::unsupported(
            "no faults can be injected into these NICs",
        ))
    }
    /// From now on, records how many transmit descriptors the NICs hold, or stops that. Returns what was recorded, by port: pairs of a time
    /// in ns and the number from then on.
    fn rings(&mut self, _record: bool) -> Result<Vec<Vec<[u64; 2]>>, Refusal> {
        Err(Refusal::unsupported(
            "the transmit rings of these NICs are not seen",
        ))
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
    fn probe(&mut self, functions: &[u64]) -> Result<(), Refusal> {
        if functions.is_empty() {
            return Ok(());
        }
        Err(Refusal::unsupported("there are no probes here"))
    }
    /// The entries since the last [`Backend::probe`].
    fn entries(&mut self) -> Vec<Entry> {
        Vec::new()
    }
    /// A call of a probed function returns at once with a value, after so many further calls.
    fn fail(&mut self, _function: usize, _after: u64, _value: u64) {}
    /// Processors give way to the next one there, in the next window. Without code: nowhere.
    fn preempt(&mut self, switches: &Switches) -> Result<(), Refusal> {
        if switches.ranges.is_empty() {
            return Ok(());
        }
        Err(Refusal::unsupported("there are no processors here"))
    }
    /// In the next window something happens before chosen instructions. Without code: nothing does.
    fn cue(&mut self, cues: &Cues) -> Result<(), Refusal> {
        if cues.ranges.is_empty() {
            return Ok(());
        }
        Err(Refusal::unsupported("there are no instructions here"))
    }
    /// What came of the cues, by round, and the paths of rounds without one.
    fn cued(&self) -> (Vec<Cued>, Vec<Path>) {
        (Vec::new(), Vec::new())
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
    fn delay_interrupts(&mut self, by_ns: u64) -> Result<(), Refusal> {
        if by_ns == 0 {
            return Ok(());
        }
        Err(Refusal::unsupported(
            "interrupts of these NICs cannot be delayed",
        ))
    }
    /// Writes to registers of the NICs arrive so many ns late from now on.
    fn delay_writes(&mut self, by_ns: u64) -> Result<(), Refusal> {
        if by_ns == 0 {
            return Ok(());
        }
        Err(Refusal::unsupported(
            "writes to registers of these NICs cannot be delayed",
        ))
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
