// SPDX-License-Identifier: GPL-2.0-or-later
//! The receiver (data sheet, RCR, MPC and the receive descriptors): address filter, FIFO, ring.
//!
//! A packet waits in the FIFO for a descriptor. If the chip finds that it does not own the next one, it reports RDU, and looks again when
//! a packet arrives, and every [`RETRY_NS`]. What does not fit into the FIFO meanwhile is lost: FOVW, and MPC counts it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Chip;
use super::registers::{cause, cpcr, cr, descriptor, rcr, rx};
use crate::offload::{ADDRESSES_BYTES, TCP, UDP, VLAN, find_ip, word};
use crate::pci::Host;
use crate::pci::bus::Access;
use crate::pci::transmit::{FCS_BYTES, MIN_BYTES};

/// The FIFO, in bytes (data sheet, "Features").
const FIFO_BYTES: usize = 2 << 10;
/// Preamble and start delimiter, in bytes.
const PREAMBLE_BYTES: u64 = 8;
/// An 802.1Q tag, in bytes.
const TAG_BYTES: usize = 4;
/// How often the chip looks for a descriptor while a packet waits for one, in ns. An assumption: it is not documented that it looks, but
/// the chip has no command to go on.
pub const RETRY_NS: u64 = 16_000;

/// A packet in the FIFO.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Arrived {
    /// With FCS, without a tag that was taken off.
    bytes: Vec<u8>,
    /// What of it is in memory.
    stored: usize,
    /// The status in opts1 and opts2.
    opts: [u32; 2],
    /// When its first and its last bit arrived, in ns.
    begin_ns: u64,
    end_ns: u64,
}

/// A packet, or a part of one, on its way into a buffer.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Store {
    arrived: Arrived,
    descriptor: u64,
    opts1: u32,
    buffer: u64,
    count: usize,
    done_ns: u64,
}

/// The receiver.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Receiver {
    /// The descriptor in use, or the next one.
    index: u32,
    fifo: VecDeque<Arrived>,
    used: usize,
    store: Option<Store>,
    /// When the last packet was in memory, in ns.
    free_ns: u64,
    /// No descriptor was available: when to look again, in ns.
    retry_ns: Option<u64>,
}

impl Receiver {
    /// When something is due, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        let done = self.store.as_ref().map(|store| store.done_ns);
        done.or(self.retry_ns)
    }
}

impl Chip {
    /// The last bit of a frame arrives, with a `right` FCS or a wrong one. False: it is lost.
    pub fn arrive(&mut self, now_ns: u64, frame: &[u8], right: bool, host: &mut dyn Host) -> bool {
        if self.command & cr::RE == 0 || self.cpcr & cpcr::RX == 0 {
            return false;
        }
        if frame.len() < MIN_BYTES && self.rcr & rcr::RUNT == 0 {
            return true;
        }
        let Some(mut status) = self.filter(frame) else {
            return true;
        };
        if !right {
            if self.rcr & rcr::ERROR == 0 {
                self.tally.rx_error = self.tally.rx_error.wrapping_add(1);
                return true;
            }
            status |= rx::CRC | rx::ERROR;
        }
        let bytes = frame.len() + FCS_BYTES;
        if self.receiver.used != 0 && self.receiver.used + bytes > FIFO_BYTES {
            self.causes |= cause::FOVW;
            self.missed = (self.missed + 1) & 0xff_ffff;
            self.tally.missed = self.tally.missed.wrapping_add(1);
            self.tally.rx_error = self.tally.rx_error.wrapping_add(1);
            return false;
        }
        if frame.len() < MIN_BYTES {
            status |= rx::RUNT | rx::ERROR;
        }
        if self.cpcr & cpcr::RX_CHECKSUM != 0 {
            status |= judge(frame);
        }
        let mut whole = frame.to_vec();
        let fcs = crc32fast::hash(frame) ^ if right { 0 } else { u32::MAX };
        whole.extend(fcs.to_le_bytes());
        let mut opts2 = 0;
        if self.cpcr & cpcr::RX_VLAN != 0 && word(frame, ADDRESSES_BYTES) == VLAN {
            // The tag's bytes in their order on the wire.
            opts2 = rx::TAG | u32::from(word(frame, ADDRESSES_BYTES + 2).swap_bytes());
            let end = (ADDRESSES_BYTES + TAG_BYTES).min(frame.len());
            whole.drain(ADDRESSES_BYTES..end);
        }
        let wire_ns = (bytes as u64 + PREAMBLE_BYTES) * self.byte_ns();
        self.receiver.used += bytes;
        self.receiver.fifo.push_back(Arrived {
            bytes: whole,
            stored: 0,
            opts: [status, opts2],
            begin_ns: now_ns.saturating_sub(wire_ns),
            end_ns: now_ns,
        });
        if self.receiver.store.is_none() {
            self.rx_begin(now_ns, host);
        }
        true
    }

    /// What the status of a frame says of its address; None: it is not for us.
    fn filter(&mut self, frame: &[u8]) -> Option<u32> {
        let destination = frame.get(..6)?;
        let accepts = |bit| self.rcr & bit != 0;
        if destination == [0xff; 6] {
            return accepts(rcr::BROADCAST).then_some(rx::BROADCAST);
        }
        if destination[0] & 1 != 0 {
            // The hash is the six highest bits of the address's CRC, most significant bit first.
            let bit = (!crc32fast::hash(destination)).reverse_bits() >> 26;
            let passes = self.multicasts[bit as usize / 8] & 1 << (bit % 8) != 0;
            return (accepts(rcr::MULTICAST) && passes).then_some(rx::MULTICAST);
        }
        if destination == self.address {
            return accepts(rcr::PHYSICAL | rcr::ALL_PHYSICAL).then_some(rx::PHYSICAL);
        }
        accepts(rcr::ALL_PHYSICAL).then_some(0)
    }

    /// Fetches a descriptor for the oldest packet in the FIFO, and moves the packet there.
    ///
    /// The chip begins to move a packet when as much as the threshold asks for is in the FIFO. So most of its time on the bus may lie
    /// before the packet's end, unless descriptor and bus are late.
    fn rx_begin(&mut self, at_ns: u64, host: &mut dyn Host) {
        let Some(arrived) = self.receiver.fifo.front() else {
            return;
        };
        let descriptor = self.rx_ring + u64::from(self.receiver.index) * descriptor::BYTES as u64;
        // A packet that had to wait, or one of which a part is in memory already, is late anyway.
        let late = self.receiver.retry_ns.take().is_some() || arrived.stored != 0;
        let begin_ns = if late { at_ns } else { arrived.begin_ns };
        let begin_ns = begin_ns.max(self.receiver.free_ns);
        let fetched_ns = host.claim(begin_ns, Access::Read, descriptor::BYTES);
        let (opts1, _, buffer) = read_descriptor(host, descriptor);
        if opts1 & descriptor::OWN == 0 {
            self.causes |= cause::RDU;
            self.receiver.retry_ns = Some(fetched_ns.max(at_ns) + RETRY_NS);
            return;
        }
        let Some(arrived) = self.receiver.fifo.pop_front() else {
            return;
        };
        let size = (opts1 & rx::SIZE) as usize;
        let count = (arrived.bytes.len() - arrived.stored).min(size);
        let threshold = match self.rcr >> rcr::THRESHOLD_SHIFT & rcr::FIELD {
            rcr::FIELD => count, // the whole packet
            exponent => 16 << exponent,
        };
        let early = count.saturating_sub(threshold);
        let (burst, byte_ns) = (self.rx_burst(), self.byte_ns());
        let mut write = |from_ns, bytes| claim(host, from_ns, Access::Write, bytes, burst);
        let mut done_ns = fetched_ns;
        if early > 0 {
            let filled = PREAMBLE_BYTES + (arrived.stored + threshold) as u64;
            let filled_ns = arrived.begin_ns + filled * byte_ns;
            done_ns = write(done_ns.max(filled_ns), early);
        }
        done_ns = write(done_ns.max(arrived.end_ns), count - early);
        done_ns = write(done_ns, 8); // the status
        self.receiver.store = Some(Store {
            arrived,
            descriptor,
            opts1,
            buffer,
            count,
            done_ns,
        });
    }

    /// MXDMA, in bytes.
    fn rx_burst(&self) -> usize {
        16 << (self.rcr >> rcr::MXDMA_SHIFT & rcr::FIELD)
    }

    /// Does what is due.
    pub fn rx_advance(&mut self, at_ns: u64, host: &mut dyn Host) {
        let done = |store: &mut Store| store.done_ns <= at_ns;
        if let Some(store) = self.receiver.store.take_if(done) {
            self.rx_finish(at_ns, store, host);
        } else if self
            .receiver
            .retry_ns
            .is_some_and(|retry_ns| retry_ns <= at_ns)
        {
            self.rx_begin(at_ns, host);
        }
    }

    /// A packet, or as much of it as fits into a buffer, is in memory.
    fn rx_finish(&mut self, at_ns: u64, store: Store, host: &mut dyn Host) {
        let mut arrived = store.arrived;
        let (from, to) = (arrived.stored, arrived.stored + store.count);
        let is_last = to == arrived.bytes.len();
        host.write(store.buffer, &arrived.bytes[from..to]);
        let mut opts1 = store.opts1 & descriptor::EOR | to as u32 & rx::LENGTH;
        if from == 0 {
            opts1 |= descriptor::FS;
        }
        if is_last {
            opts1 |= descriptor::LS | arrived.opts[0];
        }
        host.write(
            store.descriptor + descriptor::OPTS2,
            &arrived.opts[1].to_le_bytes(),
        );
        host.write(store.descriptor, &opts1.to_le_bytes());
        self.receiver.index = following(self.receiver.index, store.opts1);
        self.receiver.free_ns = at_ns;
        if is_last {
            let tagged = arrived.opts[1] & rx::TAG != 0;
            self.receiver.used -= arrived.bytes.len() + if tagged { TAG_BYTES } else { 0 };
            self.count_received(arrived.opts[0]);
        } else {
            arrived.stored = to;
            self.receiver.fifo.push_front(arrived);
        }
        self.rx_begin(at_ns, host);
    }

    fn count_received(&mut self, status: u32) {
        if status & rx::ERROR != 0 {
            self.causes |= cause::RER;
            self.tally.rx_error = self.tally.rx_error.wrapping_add(1);
            return;
        }
        self.causes |= cause::ROK;
        self.tally.rx_ok += 1;
        if status & rx::PHYSICAL != 0 {
            self.tally.rx_physical += 1;
        } else if status & rx::BROADCAST != 0 {
            self.tally.rx_broadcast += 1;
        } else if status & rx::MULTICAST != 0 {
            self.tally.rx_multicast = self.tally.rx_multicast.wrapping_add(1);
        }
    }
}

/// What the status of a frame says of its protocol and checksums.
fn judge(frame: &[u8]) -> u32 {
    let Some(ip) = find_ip(frame).filter(|ip| !ip.v6) else {
        return 0;
    };
    let mut status = match ip.protocol {
        TCP if !ip.fragment => rx::PID_TCP,
        UDP if !ip.fragment => rx::PID_UDP,
        _ => rx::PID_IP,
    };
    if !ip.header_is_right(frame) {
        status |= rx::IP_FAILED;
    }
    if !ip.payload_is_right(frame) {
        status |= if ip.protocol == TCP {
            rx::TCP_FAILED
        } else {
            rx::UDP_FAILED
        };
    }
    status
}

/// opts1, opts2 and the address of a descriptor.
pub fn read_descriptor(host: &mut dyn Host, at: u64) -> (u32, u32, u64) {
    let mut bytes = [0; descriptor::BYTES];
    host.read(at, &mut bytes);
    let word = |at: usize| {
        u64::from(u32::from_le_bytes([
            bytes[at],
            bytes[at + 1],
            bytes[at + 2],
            bytes[at + 3],
        ]))
    };
    (word(0) as u32, word(4) as u32, word(12) << 32 | word(8))
}

/// The index of the descriptor after one with this opts1.
pub fn following(index: u32, opts1: u32) -> u32 {
    if opts1 & descriptor::EOR != 0 || index + 1 >= descriptor::MOST {
        0
    } else {
        index + 1
    }
}

/// Occupies the bus for a transfer in bursts of at most `burst` bytes. When it is over, in ns.
pub fn claim(host: &mut dyn Host, from_ns: u64, access: Access, bytes: usize, burst: usize) -> u64 {
    // The bus cuts at its own limit, so long bursts need no loop.
    if bytes <= burst || burst >= 256 {
        return host.claim(from_ns, access, bytes);
    }
    let rest = bytes - burst;
    let next_ns = host.claim(from_ns, access, burst);
    claim(host, next_ns, access, rest, burst)
}
