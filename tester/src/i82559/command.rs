// SPDX-License-Identifier: GPL-2.0-or-later
//! The command unit (manual, section 6.4.2): a list of command blocks, executed one after the other.
//!
//! A block is read when the unit comes to it. What it does has an effect when all its transfers are over; then its status is written, and
//! the interrupt follows. A transmit block is complete when the frame is in the FIFO (6.4.2.5).
//!
//! The S bit counts as it was read, unless a resume was given meanwhile: then it is read again, as it is when a suspended unit is
//! resumed. If the bit is still set, the unit is suspended. So a resume that comes when the unit has already gone on by itself
//! has no effect, and a driver can give one for each block that it adds, as e100 and others do.

use serde::{Deserialize, Serialize};

use super::receive::multicast_bit;
use super::registers::{cause, cb};
use super::{Chip, Configuration, Revision};
use crate::pci::Host;
use crate::pci::bus::Access;
use crate::pci::transmit::{FCS_BYTES, MIN_BYTES, Queued};

/// The unit of the CNA interrupt delay, in ns.
const CNA_DELAY_NS: u64 = 8_000;
/// What a dump command writes, in bytes.
const DUMP_BYTES: usize = 596;
/// Where a dump has the individual address.
const DUMP_ADDRESS_AT: usize = 39;
/// The microcode of a load command, in bytes: 134 double words on 82558 and later, 64 before.
const MICROCODE_BYTES: [usize; 2] = [256, 536];
/// More buffer descriptors than a frame can have.
const MAX_TBDS: u8 = 64;
/// More blocks than a ring has.
const MAX_BLOCKS: u32 = 4_096;
/// More bytes than a frame can have; what goes beyond is not sent.
const MAX_FRAME_BYTES: usize = 2_600;

/// The unit's state, as SCB status has it in bits 7:6 (6.3.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    #[default]
    Idle = 0,
    Suspended = 1,
    Active = 2,
}

/// What a block does when its transfers are over.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Effect {
    Nothing,
    Address([u8; 6]),
    Configure(Vec<u8>),
    Multicasts(u64),
    Dump(u32),
}

/// A block in execution.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Work {
    command: u16,
    link: u32,
    effect: Effect,
    /// A frame that waits for room in the FIFO.
    frame: Option<Frame>,
    /// When all is done, in ns; None: not before there is room.
    done_ns: Option<u64>,
}

/// A frame to transmit.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Frame {
    bytes: Vec<u8>,
    spoilt: bool,
    threshold: usize,
    /// When the block was read, in ns.
    from_ns: u64,
}

/// The command unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CommandUnit {
    pub state: State,
    pub base: u32,
    /// The block in execution, or the last one.
    block: u32,
    link: u32,
    work: Option<Work>,
    /// An erratum has struck: only a reset or a start helps.
    hung: bool,
    /// A resume was given while the unit was active.
    resumed: bool,
    /// When CNA is due, in ns.
    cna_at_ns: Option<u64>,
    /// There was an underrun since the last transmit block.
    pub underrun: bool,
}

impl CommandUnit {
    /// When something is due, in ns; whether a frame waits for room besides.
    pub fn deadline_ns(&self) -> Option<u64> {
        let done = self.work.as_ref().and_then(|work| work.done_ns);
        done.into_iter().chain(self.cna_at_ns).min()
    }

    /// A frame waits for room in the FIFO.
    pub fn waits(&self) -> bool {
        self.work
            .as_ref()
            .is_some_and(|work| work.done_ns.is_none())
    }

    /// How many blocks, from the one in execution on, are not complete.
    pub fn fill(&self, host: &mut dyn Host) -> u32 {
        if self.work.is_none() {
            return 0;
        }
        let (mut block, mut count) = (self.block, 1);
        while count < MAX_BLOCKS {
            let mut header = [0; 8];
            host.read(block.into(), &mut header);
            let command = u16::from_le_bytes([header[2], header[3]]);
            if command & (cb::S | cb::EL) != 0 {
                break;
            }
            block = self.base.wrapping_add(u32_at(&header, 4));
            count += 1;
        }
        count
    }

    /// Stops at once.
    pub fn clear(&mut self) {
        self.state = State::Idle;
        self.work = None;
        self.hung = false;
        self.resumed = false;
        self.cna_at_ns = None;
    }
}

impl Chip {
    /// CU start: executes the list at an address.
    pub fn cu_start(&mut self, at_ns: u64, block: u32, host: &mut dyn Host) {
        if self.cu.state != State::Active {
            self.cu.block = self.cu.base.wrapping_add(block);
            self.cu_begin(at_ns, host);
        }
    }

    /// CU resume.
    pub fn cu_resume(&mut self, at_ns: u64, after_nop: bool, host: &mut dyn Host) {
        // Drivers know it as that of 10 Mbit/s; e100's remedy is a NOP, and fxp's.
        let slow = self.mdi.link_bps() == Some(10_000_000);
        if self.errata.resume_hang && slow && !after_nop && self.cu.state == State::Suspended {
            self.cu.hung = true;
        }
        match self.cu.state {
            _ if self.cu.hung => {}
            State::Idle => {}
            State::Active => self.cu.resumed = true,
            State::Suspended => {
                if !self.still_suspended(host) {
                    self.cu_next(at_ns, host);
                }
            }
        }
    }

    /// Whether the last block's S bit is set in memory.
    fn still_suspended(&self, host: &mut dyn Host) -> bool {
        let mut command = [0; 2];
        host.read(self.cu.block.wrapping_add(2).into(), &mut command);
        u16::from_le_bytes(command) & cb::S != 0
    }

    fn cu_next(&mut self, at_ns: u64, host: &mut dyn Host) {
        self.cu.block = self.cu.base.wrapping_add(self.cu.link);
        self.cu_begin(at_ns, host);
    }

    fn cu_begin(&mut self, at_ns: u64, host: &mut dyn Host) {
        self.cu.state = State::Active;
        self.cu.hung = false;
        self.cu.cna_at_ns = None;
        self.cu.resumed = false;
        let mut header = [0; cb::HEADER_BYTES];
        host.read(self.cu.block.into(), &mut header);
        let command = u16::from_le_bytes([header[2], header[3]]);
        let link = u32_at(&header, 4);
        self.cu.link = link;
        let mut work = Work {
            command,
            link,
            effect: Effect::Nothing,
            frame: None,
            done_ns: None,
        };
        let mut read_bytes = cb::HEADER_BYTES;
        let parameters = self.cu.block.wrapping_add(cb::PARAMETERS);
        match command & cb::COMMAND_MASK {
            cb::ADDRESS => {
                let mut address = [0; 6];
                address.copy_from_slice(&header[8..14]);
                work.effect = Effect::Address(address);
            }
            cb::CONFIGURE => {
                let mut bytes = vec![0; Configuration::length(header[8])];
                host.read(parameters.into(), &mut bytes);
                read_bytes = cb::PARAMETERS as usize + bytes.len();
                work.effect = Effect::Configure(bytes);
            }
            cb::MULTICAST => {
                let count = u16::from_le_bytes([header[8], header[9]]) & cb::COUNT_MASK;
                let mut list = vec![0; usize::from(count)];
                host.read(parameters.wrapping_add(2).into(), &mut list);
                read_bytes = cb::PARAMETERS as usize + 2 + list.len();
                let table = list
                    .chunks_exact(6)
                    .fold(0, |table, a| table | multicast_bit(a));
                work.effect = Effect::Multicasts(table);
            }
            cb::MICROCODE => {
                let later = self.revision != Revision::I82557;
                read_bytes = cb::PARAMETERS as usize + MICROCODE_BYTES[usize::from(later)];
            }
            cb::DUMP => work.effect = Effect::Dump(u32_at(&header, 8)),
            cb::TRANSMIT => {
                work.frame = Some(self.gather(at_ns, command, &header, host));
                self.cu.work = Some(work);
                self.cu_load(at_ns, host);
                return;
            }
            _ => {} // NOP; diagnose finds no fault
        }
        let mut end_ns = host.claim(at_ns, Access::Read, read_bytes);
        if let Effect::Dump(_) = work.effect {
            end_ns = host.claim(end_ns, Access::Write, DUMP_BYTES);
        }
        work.done_ns = Some(host.claim(end_ns, Access::Write, 2));
        self.cu.work = Some(work);
    }

    /// Collects a frame from its block and buffers.
    fn gather(
        &mut self,
        at_ns: u64,
        command: u16,
        header: &[u8; cb::HEADER_BYTES],
        host: &mut dyn Host,
    ) -> Frame {
        let count = usize::from(u16::from_le_bytes([header[12], header[13]]) & cb::COUNT_MASK);
        let (threshold, tbds) = (usize::from(header[14]) * 8, header[15].min(MAX_TBDS));
        let array = u32_at(header, 8);
        let inside = self.cu.block.wrapping_add(cb::TCB_BYTES);
        let mut bytes = Vec::new();
        let mut take = |host: &mut dyn Host, address: u32, count: usize| {
            let count = count.min(MAX_FRAME_BYTES - bytes.len());
            let at = bytes.len();
            bytes.resize(at + count, 0);
            host.read(address.into(), &mut bytes[at..]);
        };
        let flexible = command & cb::SF != 0;
        let extended = flexible && self.configuration.extended_blocks(self.revision);
        let mut from_ns = at_ns;
        if extended {
            // The two buffer descriptors inside come with the block.
            let inside_bytes = usize::from(cb::TBDS_INSIDE) * cb::TBD_BYTES;
            from_ns = host.claim(from_ns, Access::Read, cb::HEADER_BYTES + inside_bytes);
        } else {
            from_ns = host.claim(from_ns, Access::Read, cb::HEADER_BYTES);
            take(host, inside, count);
        }
        for number in 0..if flexible && array != cb::NO_TBDS {
            tbds
        } else {
            0
        } {
            let place = u32::from(number) * cb::TBD_BYTES as u32;
            let address = if extended && number < cb::TBDS_INSIDE {
                inside.wrapping_add(place)
            } else {
                // An extended block's array begins with the third descriptor.
                let skipped = if extended { cb::TBDS_INSIDE } else { 0 };
                from_ns = host.claim(from_ns, Access::Read, cb::TBD_BYTES);
                array.wrapping_add(place - u32::from(skipped) * cb::TBD_BYTES as u32)
            };
            let mut tbd = [0; cb::TBD_BYTES];
            host.read(address.into(), &mut tbd);
            let size = u16::from_le_bytes([tbd[4], tbd[5]]) & cb::COUNT_MASK;
            take(host, u32_at(&tbd, 0), usize::from(size));
            if tbd[6] & 1 != 0 {
                break; // the list's end
            }
        }
        let mut spoilt = false;
        if command & cb::NC != 0 {
            let fcs = bytes.split_off(bytes.len().saturating_sub(FCS_BYTES));
            spoilt = crc32fast::hash(&bytes).to_le_bytes() != fcs[..];
        } else if self.configuration.pads() && bytes.len() < MIN_BYTES {
            // An 82557 pads with 7e, later chips with 0.
            let filler = if self.revision == Revision::I82557 {
                0x7e
            } else {
                0
            };
            bytes.resize(MIN_BYTES, filler);
        }
        if !self.configuration.keeps_source_address() && bytes.len() >= 12 {
            bytes[6..12].copy_from_slice(&self.address);
        }
        Frame {
            bytes,
            spoilt,
            threshold,
            from_ns,
        }
    }

    /// Moves the frame that waits into the FIFO, if there is room.
    pub fn cu_load(&mut self, at_ns: u64, host: &mut dyn Host) {
        let frames = if self.configuration.two_frames_in_fifo() {
            2
        } else {
            usize::MAX
        };
        let Some(work) = &mut self.cu.work else {
            return;
        };
        let Some(frame) = work
            .frame
            .take_if(|frame| self.transmitter.has_room(at_ns, frame.bytes.len(), frames))
        else {
            return;
        };
        let first = frame.bytes.len().min(frame.threshold);
        let ready_ns = host.claim(frame.from_ns.max(at_ns), Access::Read, first);
        let complete_ns = host.claim(ready_ns, Access::Read, frame.bytes.len() - first);
        work.done_ns = Some(host.claim(complete_ns, Access::Write, 2));
        self.transmitter.push(Queued {
            frame: frame.bytes,
            spoilt: frame.spoilt,
            ready_ns,
            complete_ns,
        });
    }

    /// Does what is due.
    pub fn cu_advance(&mut self, at_ns: u64, host: &mut dyn Host) {
        let is_due = |due: &mut u64| *due <= at_ns;
        if self.cu.cna_at_ns.take_if(is_due).is_some() {
            self.causes |= cause::CNA;
        }
        let done = |work: &mut Work| work.done_ns.is_some_and(|done_ns| done_ns <= at_ns);
        if let Some(work) = self.cu.work.take_if(done) {
            self.cu_finish(at_ns, work, host);
        }
    }

    fn cu_finish(&mut self, at_ns: u64, work: Work, host: &mut dyn Host) {
        let mut status = cb::STATUS_C | cb::STATUS_OK;
        match work.effect {
            Effect::Nothing => {}
            Effect::Address(address) => self.address = address,
            Effect::Configure(bytes) => self.configuration.set(&bytes),
            Effect::Multicasts(table) => self.multicasts = table,
            Effect::Dump(address) => host.write(address.into(), &self.dump()),
        }
        if work.command & cb::COMMAND_MASK == cb::TRANSMIT && std::mem::take(&mut self.cu.underrun)
        {
            status |= cb::STATUS_U;
        }
        host.write(self.cu.block.into(), &status.to_le_bytes());
        if work.command & cb::I != 0 {
            self.causes |= cause::CX;
        }
        let suspends = work.command & cb::S != 0
            && (!std::mem::take(&mut self.cu.resumed) || self.still_suspended(host));
        if work.command & cb::EL != 0 {
            self.cu.state = State::Idle;
            self.cu_left(at_ns, work.command);
        } else if suspends {
            self.cu.state = State::Suspended;
            if !self.configuration.only_idle_interrupts() {
                self.cu_left(at_ns, work.command);
            }
        } else {
            self.cu.link = work.link;
            self.cu_next(at_ns, host);
        }
    }

    /// The unit has left the active state: CNA, after the delay that the last block asks for.
    fn cu_left(&mut self, at_ns: u64, command: u16) {
        let delay = u64::from(command >> cb::CID_SHIFT & cb::CID_MASK);
        if self.revision == Revision::I82557 || delay == 0 {
            self.causes |= cause::CNA;
        } else {
            self.cu.cna_at_ns = Some(at_ns + delay * CNA_DELAY_NS);
        }
    }

    /// What a dump command writes: configuration and address in their places, and zeros.
    pub fn dump(&self) -> Vec<u8> {
        let mut bytes = vec![0; DUMP_BYTES];
        let configuration = self.configuration.bytes();
        bytes[..configuration.len()].copy_from_slice(configuration);
        bytes[DUMP_ADDRESS_AT..DUMP_ADDRESS_AT + 6].copy_from_slice(&self.address);
        bytes
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
