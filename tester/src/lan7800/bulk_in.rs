// SPDX-License-Identifier: GPL-2.0-or-later
//! Received frames on their way to the host: the RX FIFO, and the bulk IN transfers that empty it.
//!
//! The FIFO is emptied only while a request of the host waits. A transfer consists of full packets as long as the FIFO has enough bytes.
//! It ends with a short packet when the next frame would exceed the burst cap or the request, or when the remaining bytes have waited for
//! the bulk-in delay. Frames are not split between transfers.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// The registers' settings for transfers.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// A full packet.
    pub packet_bytes: usize,
    /// The most bytes that a transfer carries; a larger frame has a transfer of its own.
    pub burst_bytes: usize,
    /// A transfer may carry several frames.
    pub several: bool,
    /// How long less than a packet waits for further frames, in ns.
    pub delay_ns: u64,
}

/// The FIFO and the transfer in progress.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BulkIn {
    /// Frames in the FIFO that belong to no transfer yet.
    frames: VecDeque<Vec<u8>>,
    /// Bytes in the FIFO, including those of the transfer that are not yet sent.
    used: usize,
    /// Bytes the host has room for.
    request: Option<usize>,
    /// The transfer: the bytes that are sent, and those that are not.
    across: Vec<u8>,
    waiting: VecDeque<u8>,
    /// The transfer takes no more frames.
    closed: bool,
    /// Since when less than a packet waits, in ns.
    rest_since_ns: Option<u64>,
    /// The transfer is complete, and can be given to the host.
    complete: bool,
}

impl BulkIn {
    /// Bytes in the FIFO.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Puts a frame, as [`super::receive::format`] makes it, into a FIFO of `capacity` bytes; false: it does not fit.
    pub fn push(&mut self, frame: Vec<u8>, capacity: usize) -> bool {
        let fits = self.used + frame.len() <= capacity;
        if fits {
            self.used += frame.len();
            self.frames.push_back(frame);
        }
        fits
    }

    /// The host asks for at most `bytes`. None: no transfer is complete yet, and the request waits.
    pub fn ask(&mut self, bytes: usize) -> Option<Vec<u8>> {
        if std::mem::take(&mut self.complete) {
            self.request = None;
            self.closed = false;
            return Some(std::mem::take(&mut self.across));
        }
        // QEMU repeats a waiting request: it is the same one.
        self.request.get_or_insert(bytes);
        None
    }

    /// The host withdraws its request: the bytes that are sent are lost.
    pub fn withdraw(&mut self) {
        self.used -= self.waiting.len();
        let frames = std::mem::take(&mut self.frames);
        let used = self.used;
        *self = BulkIn {
            frames,
            used,
            ..BulkIn::default()
        };
    }

    /// Empties the FIFO; the host's request stays.
    pub fn flush(&mut self) {
        *self = BulkIn {
            request: self.request,
            ..BulkIn::default()
        };
    }

    /// The size of the packet that is ready for the bus at `now_ns`.
    pub fn ready(&mut self, rules: Rules, now_ns: u64) -> Option<usize> {
        let request = self.request.filter(|_| !self.complete)?;
        self.admit(rules, request);
        let packet = rules.packet_bytes.min(request - self.across.len());
        let waiting = self.waiting.len();
        if waiting >= packet {
            return Some(packet);
        }
        if waiting == 0 && self.across.is_empty() {
            self.rest_since_ns = None;
            return None;
        }
        let since_ns = *self.rest_since_ns.get_or_insert(now_ns);
        let ends = self.closed || now_ns >= since_ns.saturating_add(rules.delay_ns);
        ends.then_some(waiting)
    }

    /// When a short packet becomes ready, if nothing else happens, in ns.
    pub fn deadline_ns(&self, rules: Rules) -> Option<u64> {
        self.rest_since_ns
            .filter(|_| self.request.is_some() && !self.complete)
            .map(|since_ns| since_ns.saturating_add(rules.delay_ns))
    }

    /// A packet of `bytes` has been sent; true: the transfer is complete.
    pub fn moved(&mut self, rules: Rules, bytes: usize) -> bool {
        let bytes_now = bytes.min(self.waiting.len());
        self.across.extend(self.waiting.drain(..bytes_now));
        self.used -= bytes_now;
        self.rest_since_ns = None;
        let full = self.request.is_some_and(|room| self.across.len() >= room);
        self.complete = bytes < rules.packet_bytes || full;
        self.complete
    }

    /// Moves frames from the FIFO into the transfer.
    fn admit(&mut self, rules: Rules, request: usize) {
        let limit = rules.burst_bytes.min(request);
        while !self.closed {
            let Some(next) = self.frames.front() else {
                return;
            };
            let begun = self.across.len() + self.waiting.len();
            let fits = rules.several && begun + next.len() <= limit;
            if begun > 0 && !fits {
                self.closed = true;
            } else if let Some(next) = self.frames.pop_front() {
                self.waiting.extend(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        packet_bytes: 512,
        burst_bytes: 16384,
        several: true,
        delay_ns: 136_533,
    };

    /// Moves what is ready until nothing is; returns the packets' sizes.
    fn run(bulk_in: &mut BulkIn, now_ns: u64) -> Vec<usize> {
        let mut packets = Vec::new();
        while let Some(bytes) = bulk_in.ready(RULES, now_ns) {
            packets.push(bytes);
            if bulk_in.moved(RULES, bytes) {
                break;
            }
        }
        packets
    }

    fn fill(bulk_in: &mut BulkIn, frames: usize) {
        for n in 0..frames {
            assert!(bulk_in.push(vec![n as u8; 76], 12288));
        }
    }

    #[test]
    fn a_short_packet_waits_for_the_delay() {
        let mut bulk_in = BulkIn::default();
        assert_eq!(bulk_in.ask(16384), None);
        fill(&mut bulk_in, 2);
        assert_eq!(run(&mut bulk_in, 1_000), [0; 0]);
        assert_eq!(bulk_in.deadline_ns(RULES), Some(137_533));
        fill(&mut bulk_in, 1);
        assert_eq!(run(&mut bulk_in, 100_000), [0; 0], "more does not move it");
        assert_eq!(bulk_in.deadline_ns(RULES), Some(137_533));
        assert_eq!(bulk_in.ask(16384), None, "asked again");
        assert_eq!(run(&mut bulk_in, 137_533), [228]);
        assert_eq!(bulk_in.ask(16384).map(|bytes| bytes.len()), Some(228));
        assert_eq!((bulk_in.used(), bulk_in.ask(16384)), (0, None));
        assert_eq!(bulk_in.deadline_ns(RULES), None);
    }

    #[test]
    fn full_packets_leave_at_once_and_the_rest_waits_anew() {
        let mut bulk_in = BulkIn::default();
        bulk_in.ask(16384);
        fill(&mut bulk_in, 7);
        assert_eq!(run(&mut bulk_in, 5_000), [512]);
        assert_eq!(bulk_in.used(), 20);
        assert_eq!(bulk_in.deadline_ns(RULES), Some(141_533));
    }

    #[test]
    fn a_transfer_ends_at_the_burst_cap_without_splitting_a_frame() {
        let mut bulk_in = BulkIn::default();
        bulk_in.ask(16384);
        let mut total = 0;
        for _ in 0..10 {
            fill(&mut bulk_in, 30);
            total += run(&mut bulk_in, 0).iter().sum::<usize>();
        }
        assert_eq!(total, 215 * 76, "as many frames as 16 KiB hold");
        let transfer = bulk_in.ask(16384).unwrap();
        assert_eq!(transfer.len(), 215 * 76);
        assert_eq!(bulk_in.used(), 85 * 76);
    }

    #[test]
    fn a_transfer_of_exactly_full_packets_ends_with_an_empty_one() {
        let mut bulk_in = BulkIn::default();
        bulk_in.ask(16384);
        assert!(bulk_in.push(vec![1; 512], 12288));
        assert_eq!(run(&mut bulk_in, 0), [512]);
        assert_eq!(run(&mut bulk_in, RULES.delay_ns), [0]);
        assert_eq!(bulk_in.ask(16384).map(|bytes| bytes.len()), Some(512));
    }

    #[test]
    fn it_drains_only_while_a_request_waits_and_overflows() {
        let mut bulk_in = BulkIn::default();
        fill(&mut bulk_in, 161);
        assert!(
            !bulk_in.push(vec![0; 76], 12288),
            "161 of 76 bytes are 12,236"
        );
        assert_eq!(run(&mut bulk_in, 0), [0; 0]);
        bulk_in.ask(16384);
        assert!(!run(&mut bulk_in, 0).is_empty());
        assert!(bulk_in.push(vec![0; 76], 12288));
    }

    #[test]
    fn a_withdrawn_request_takes_its_frames_along() {
        let mut bulk_in = BulkIn::default();
        bulk_in.ask(16384);
        fill(&mut bulk_in, 7);
        run(&mut bulk_in, 0);
        bulk_in.withdraw();
        assert_eq!((bulk_in.used(), bulk_in.deadline_ns(RULES)), (0, None));
        fill(&mut bulk_in, 7);
        assert_eq!(run(&mut bulk_in, 0), [0; 0], "nobody asks");
        bulk_in.ask(16384);
        bulk_in.flush();
        assert_eq!(bulk_in.used(), 0);
        fill(&mut bulk_in, 7);
        assert_eq!(run(&mut bulk_in, 0), [512], "the request is still there");
    }

    #[test]
    fn one_frame_a_transfer_where_several_are_not_allowed() {
        let rules = Rules {
            several: false,
            ..RULES
        };
        let mut bulk_in = BulkIn::default();
        bulk_in.ask(16384);
        fill(&mut bulk_in, 2);
        assert_eq!(
            bulk_in.ready(rules, 0),
            Some(76),
            "the next is there: no need to wait"
        );
        assert!(bulk_in.moved(rules, 76));
        assert_eq!(bulk_in.ask(16384).map(|bytes| bytes.len()), Some(76));
    }
}
