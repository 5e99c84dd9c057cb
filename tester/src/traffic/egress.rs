// SPDX-License-Identifier: GPL-2.0-or-later
//! The sending side of a port: its line, which streams, the host and a wire share.

use std::collections::VecDeque;

use crate::traffic::frame::{FCS_BYTES, MIN_FRAME_BYTES};
use crate::traffic::line::Line;
use crate::traffic::stream::Pending;

/// A frame of the host or of the wire, queued for the line.
#[derive(Clone, Debug)]
pub struct Queued {
    /// When it is meant to depart, in ns.
    pub intended_ns: u64,
    /// The frame without FCS.
    pub frame: Vec<u8>,
}

/// Who sends next.
#[derive(Clone, Copy, Debug)]
pub enum Sender {
    /// The frame at the head of the queue.
    Queue,
    /// A frame of the stream of this number.
    Stream(usize, Pending),
}

/// What departs next from a port.
#[derive(Clone, Copy, Debug)]
pub struct Next {
    /// When, in ns.
    pub at_ns: u64,
    /// Its size, with FCS.
    pub frame_bytes: usize,
    /// Whose it is.
    pub sender: Sender,
}

/// The sending side of a port.
#[derive(Clone, Debug)]
pub struct Egress {
    /// The line.
    pub line: Line,
    /// Frames of host or wire in the order of their intended departures.
    queue: VecDeque<Queued>,
    /// What departs next.
    pub next: Option<Next>,
}

impl Egress {
    /// An idle port.
    pub fn new(line: Line) -> Self {
        Egress {
            line,
            queue: VecDeque::new(),
            next: None,
        }
    }

    /// Queues a frame (without FCS), padded to the shortest an Ethernet has. It leaves after those that are queued already.
    pub fn push(&mut self, intended_ns: u64, mut frame: Vec<u8>) {
        let intended_ns = self
            .queue
            .back()
            .map_or(intended_ns, |last| last.intended_ns.max(intended_ns));
        if frame.len() < MIN_FRAME_BYTES - FCS_BYTES {
            frame.resize(MIN_FRAME_BYTES - FCS_BYTES, 0);
        }
        self.queue.push_back(Queued { intended_ns, frame });
    }

    /// Takes the frame at the head of the queue.
    pub fn pop(&mut self) -> Option<Queued> {
        self.queue.pop_front()
    }

    /// The frame at the head of the queue: when it is meant to depart, and its size with FCS.
    pub fn head(&self) -> Option<(u64, usize)> {
        self.queue
            .front()
            .map(|queued| (queued.intended_ns, queued.frame.len() + FCS_BYTES))
    }

    /// How many frames are queued.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Forgets what is queued.
    pub fn clear(&mut self) {
        self.queue.clear();
    }
}
