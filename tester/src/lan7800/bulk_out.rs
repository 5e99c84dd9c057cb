// SPDX-License-Identifier: GPL-2.0-or-later
//! Frames from the host on their way to the line: bulk OUT transfers, the TX FIFO, and the MAC that empties it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::transmit::{COMMAND_BYTES, Command};

/// FCS, preamble, start delimiter and inter-frame gap, which a frame occupies on the line beside itself, in bytes.
const OVERHEAD_BYTES: u64 = 4 + 20;
/// The virtual clock may be this late, in ns. An event that waited for an instant is taken to have happened then.
pub const SLACK_NS: u64 = 16;

/// A transfer from the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Transfer {
    data: Vec<u8>,
    /// How many bytes have been received, and how many of them have become frames.
    across: usize,
    parsed: usize,
    complete: bool,
    /// Of the packet that is arriving: frames that are not whole, with where in the transfer each ends.
    #[serde(default)]
    pieces: VecDeque<(usize, Vec<u8>)>,
    /// Where the packet behind that begins.
    #[serde(default)]
    next: usize,
}

/// How a transfer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It is not across yet.
    Wait,
    /// It is.
    Taken,
}

/// The path down.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BulkOut {
    transfer: Option<Transfer>,
    /// Whole frames in the FIFO.
    frames: VecDeque<Vec<u8>>,
    used: usize,
    /// The frame on the line: its size, and when the line is free again, in ns.
    leaving: Option<usize>,
    wire_free_ns: u64,
    /// The MAC's own frames, which a pause does not hold up. They are not in the FIFO.
    #[serde(default)]
    control: VecDeque<Vec<u8>>,
    /// Until when the partner wants no others, in ns.
    #[serde(default)]
    paused_until_ns: u64,
}

impl BulkOut {
    /// Bytes in the FIFO.
    pub fn used(&self) -> usize {
        self.used
    }

    /// The host offers a transfer. QEMU repeats it until it is taken.
    pub fn offer(&mut self, data: impl FnOnce() -> Vec<u8>) -> Offer {
        match &self.transfer {
            Some(transfer) if transfer.complete => {
                self.transfer = None;
                return Offer::Taken;
            }
            Some(_) => return Offer::Wait,
            None => {}
        }
        let data = data();
        if data.is_empty() {
            return Offer::Taken; // the empty packet that ends a transfer of full packets
        }
        self.transfer = Some(Transfer {
            data,
            across: 0,
            parsed: 0,
            complete: false,
            pieces: VecDeque::new(),
            next: 0,
        });
        Offer::Wait
    }

    /// The host withdraws its transfer: frames that are complete are transmitted, the rest is lost.
    pub fn withdraw(&mut self) {
        self.transfer = None;
    }

    /// Empties the FIFO.
    pub fn flush(&mut self) {
        self.frames.clear();
        self.control.clear();
        self.used = self.leaving.unwrap_or(0);
    }

    /// The size of the packet that is ready for the bus, and fits into a FIFO of `capacity` bytes. An empty FIFO accepts
    /// any packet: frames longer than the FIFO pass through it.
    pub fn ready(&self, packet_bytes: usize, capacity: usize) -> Option<usize> {
        let transfer = self.transfer.as_ref().filter(|t| !t.complete)?;
        let bytes = (transfer.data.len() - transfer.across).min(packet_bytes);
        let part = transfer.across.saturating_sub(transfer.parsed);
        (self.used == 0 || self.used + part + bytes <= capacity).then_some(bytes)
    }

    /// A packet of `bytes` was received: complete frames go into the FIFO. Ok: whether the transfer is complete; Err: it makes
    /// no sense, and is over.
    pub fn moved(&mut self, bytes: usize, capacity: usize) -> Result<bool, ()> {
        let Some(transfer) = self.transfer.as_mut() else {
            return Ok(false);
        };
        transfer.across = (transfer.across + bytes).min(transfer.data.len());
        loop {
            if transfer.pieces.is_empty() {
                let across = &transfer.data[..transfer.across];
                let Some(command) =
                    Command::read(across.get(transfer.parsed..).unwrap_or_default())
                else {
                    break;
                };
                let begin = transfer.parsed + COMMAND_BYTES;
                let end = begin + command.frame_bytes();
                if !command.is_sound(capacity) || end > transfer.data.len() {
                    self.transfer = None;
                    return Err(());
                }
                // A frame is made of its own bytes and the headers alone, so it can be made before the rest is across.
                let pieces = command.pieces(&transfer.data[begin..end]).into_iter();
                transfer.pieces = pieces.map(|(bytes, made)| (begin + bytes, made)).collect();
                transfer.next = end.next_multiple_of(4);
            }
            let across = transfer.across;
            let whole = transfer.pieces.iter().take_while(|(end, _)| *end <= across);
            let count = whole.count();
            for (end, made) in transfer.pieces.drain(..count) {
                self.used += made.len();
                self.frames.push_back(made);
                transfer.parsed = end;
            }
            if !transfer.pieces.is_empty() {
                break; // not whole yet
            }
            transfer.parsed = transfer.next;
        }
        transfer.complete = transfer.across == transfer.data.len();
        if transfer.complete && transfer.parsed < transfer.data.len() {
            self.transfer = None; // an incomplete command
            return Err(());
        }
        Ok(transfer.complete)
    }

    /// A frame of the MAC's own, which leaves before all others.
    pub fn push_control(&mut self, frame: Vec<u8>) {
        self.control.push_back(frame);
    }

    /// No frame from the FIFO begins to leave before `until_ns`.
    pub fn pause(&mut self, until_ns: u64) {
        self.paused_until_ns = until_ns;
    }

    /// The frame whose transmission begins at `now_ns`, if any. `wire_bps` 0: there is no link, and the frame is lost at once.
    pub fn next_frame(&mut self, now_ns: u64, wire_bps: u64) -> Option<Vec<u8>> {
        if now_ns < self.wire_free_ns {
            return None;
        }
        self.used -= self.leaving.take().unwrap_or(0);
        let control = self.control.pop_front();
        let own = control.is_some();
        let frame = match control {
            Some(frame) => frame,
            None if now_ns < self.paused_until_ns => return None,
            None => self.frames.pop_front()?,
        };
        let begin_ns = if now_ns - self.wire_free_ns <= SLACK_NS {
            self.wire_free_ns
        } else {
            now_ns
        };
        let bits = (frame.len() as u64 + OVERHEAD_BYTES) * 8;
        if let Some(ns) = (bits * 1_000_000_000).checked_div(wire_bps) {
            self.wire_free_ns = begin_ns + ns;
        }
        self.leaving = Some(if own { 0 } else { frame.len() });
        Some(frame)
    }

    /// When the line is free for the next frame, or the FIFO has room for the next packet, in ns.
    pub fn deadline_ns(&self) -> Option<u64> {
        if self.leaving.is_some() || !self.control.is_empty() {
            return Some(self.wire_free_ns);
        }
        let next_ns = self.wire_free_ns.max(self.paused_until_ns);
        (!self.frames.is_empty()).then_some(next_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::TCP;
    use crate::offload::tests::ipv4;

    const GIGABIT: u64 = 1_000_000_000;

    /// A transfer of frames of these sizes.
    fn transfer(sizes: &[usize]) -> Vec<u8> {
        let mut data = Vec::new();
        for (n, size) in sizes.iter().enumerate() {
            data.resize(data.len().next_multiple_of(4), 0);
            data.extend((*size as u32).to_le_bytes());
            data.extend([0; 4]);
            data.extend(vec![n as u8 + 1; *size]);
        }
        data
    }

    fn move_all(bulk_out: &mut BulkOut, capacity: usize) -> Result<usize, ()> {
        let mut packets = 0;
        while let Some(bytes) = bulk_out.ready(512, capacity) {
            bulk_out.moved(bytes, capacity)?;
            packets += 1;
        }
        Ok(packets)
    }

    #[test]
    fn frames_leave_as_they_become_whole_one_behind_the_other() {
        let mut bulk_out = BulkOut::default();
        let data = transfer(&[61, 1514, 60]);
        assert_eq!(bulk_out.offer(|| data.clone()), Offer::Wait);
        assert_eq!(bulk_out.ready(512, 12288), Some(512));
        assert_eq!(bulk_out.moved(512, 12288), Ok(false));
        assert_eq!(bulk_out.next_frame(1_000, GIGABIT), Some(vec![1; 61]));
        assert_eq!(bulk_out.next_frame(1_000, GIGABIT), None);
        assert_eq!(bulk_out.deadline_ns(), Some(1_000 + 85 * 8));
        assert_eq!(bulk_out.offer(|| unreachable!()), Offer::Wait);
        assert_eq!(move_all(&mut bulk_out, 12288), Ok(3));
        assert_eq!(bulk_out.offer(|| unreachable!()), Offer::Taken);
        assert_eq!(bulk_out.next_frame(1_679, GIGABIT), None);
        assert_eq!(
            bulk_out.next_frame(1_684, GIGABIT).map(|f| f.len()),
            Some(1514)
        );
        assert_eq!(
            bulk_out.deadline_ns(),
            Some(1_680 + 1538 * 8),
            "from the planned instant"
        );
        assert_eq!(
            bulk_out.next_frame(20_000, GIGABIT).map(|f| f.len()),
            Some(60)
        );
        assert_eq!(bulk_out.used(), 60);
        assert_eq!(bulk_out.next_frame(21_000, GIGABIT), None);
        assert_eq!((bulk_out.used(), bulk_out.deadline_ns()), (0, None));
    }

    #[test]
    fn a_full_fifo_holds_the_bus_up() {
        let mut bulk_out = BulkOut::default();
        bulk_out.offer(|| transfer(&[1514; 9]));
        assert_eq!(move_all(&mut bulk_out, 4096), Ok(8));
        assert_eq!(
            bulk_out.used(),
            2 * 1514,
            "two frames, and a part of the next"
        );
        assert_eq!(bulk_out.ready(512, 4096), None);
        bulk_out.next_frame(0, GIGABIT);
        assert_eq!(bulk_out.ready(512, 4096), None, "it is leaving");
        bulk_out.next_frame(20_000, GIGABIT);
        assert_eq!(bulk_out.ready(512, 4096), Some(512));
    }

    #[test]
    fn segments_leave_while_their_packet_arrives() {
        let mut payload = vec![0; 20];
        payload[12] = 5 << 4;
        payload.extend(vec![7; 30_000]);
        let packet = ipv4(TCP, &payload);
        let mut data = (packet.len() as u32 | 1 << 27).to_le_bytes().to_vec();
        data.extend((1460_u32 << 16).to_le_bytes());
        data.extend(&packet);
        let mut bulk_out = BulkOut::default();
        bulk_out.offer(|| data.clone());
        for _ in 0..4 {
            assert_eq!(bulk_out.moved(512, 12288), Ok(false));
        }
        assert_eq!(bulk_out.used(), 1514, "the first segment");
        assert_eq!(move_all(&mut bulk_out, 12288), Ok(19));
        assert_eq!(
            (bulk_out.used(), bulk_out.ready(512, 12288)),
            (8 * 1514, None),
            "the FIFO is full"
        );
        let mut now_ns = 0;
        let mut sent = Vec::new();
        while let Some(frame) = bulk_out.next_frame(now_ns, GIGABIT) {
            sent.push(frame.len());
            move_all(&mut bulk_out, 12288).unwrap();
            now_ns += 1538 * 8;
        }
        assert_eq!(sent.len(), 30_000_usize.div_ceil(1460));
        assert_eq!(sent.iter().sum::<usize>(), 30_000 + 21 * 54);
        assert_eq!(bulk_out.offer(|| unreachable!()), Offer::Taken);
    }

    #[test]
    fn nonsense_is_refused() {
        for data in [
            transfer(&[13]),
            transfer(&[60])[..40].to_vec(),
            [transfer(&[60]), vec![1, 2, 3]].concat(),
            transfer(&[12289]),
            vec![0; 8],
        ] {
            let mut bulk_out = BulkOut::default();
            bulk_out.offer(|| data.clone());
            assert_eq!(
                move_all(&mut bulk_out, 12288),
                Err(()),
                "{} bytes",
                data.len()
            );
            assert_eq!(
                bulk_out.offer(|| transfer(&[60])),
                Offer::Wait,
                "the next one is new"
            );
        }
    }

    #[test]
    fn an_empty_packet_and_a_withdrawal() {
        let mut bulk_out = BulkOut::default();
        assert_eq!(bulk_out.offer(Vec::new), Offer::Taken);
        bulk_out.offer(|| transfer(&[600, 600]));
        bulk_out.moved(512, 12288).unwrap();
        bulk_out.moved(512, 12288).unwrap();
        bulk_out.withdraw();
        assert_eq!(bulk_out.ready(512, 12288), None);
        assert_eq!(bulk_out.next_frame(0, GIGABIT).map(|f| f.len()), Some(600));
        assert_eq!(bulk_out.next_frame(1_000_000, GIGABIT), None);
    }

    #[test]
    fn without_a_wire_frames_are_gone_at_once() {
        let mut bulk_out = BulkOut::default();
        bulk_out.offer(|| transfer(&[60, 60]));
        move_all(&mut bulk_out, 12288).unwrap();
        assert!(bulk_out.next_frame(5, 0).is_some());
        assert!(bulk_out.next_frame(5, 0).is_some());
        assert!(bulk_out.next_frame(5, 0).is_none());
    }
}
