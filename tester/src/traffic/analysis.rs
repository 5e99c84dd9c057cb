// SPDX-License-Identifier: GPL-2.0-or-later
//! The receiving side of one stream: which frames of the window arrived, how often, in which order, and how late.

use serde::Serialize;

use crate::backend::Outcome;
use crate::traffic::departures::Departures;
use crate::traffic::latency::{Ipdv, IpdvResult, Latency, LatencyResult};

/// The measured window, and what is counted in it.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its first ns.
    pub begin_ns: u64,
    /// The first ns after it.
    pub end_ns: u64,
    /// A frame is late if it arrives more than this after its stream's last departure.
    pub late_ns: u64,
    /// Length of the series' buckets in ns; 0: no series.
    pub bucket_ns: u64,
}

impl Window {
    fn contains(&self, now_ns: u64) -> bool {
        (self.begin_ns..self.end_ns).contains(&now_ns)
    }

    /// How many buckets the series has.
    pub fn buckets(&self) -> u64 {
        match self.bucket_ns {
            0 => 0,
            bucket_ns => (self.end_ns - self.begin_ns).div_ceil(bucket_ns),
        }
    }
}

/// The counters of one stream.
#[derive(Clone, Debug)]
pub struct Analysis {
    window: Window,
    sent: u64,
    refused: u64,
    received: u64,
    reordered: u64,
    duplicated: u64,
    corrupted: u64,
    late: u64,
    received_in_window: u64,
    last_departure_ns: u64,
    last_arrival_ns: u64,
    /// One bit per sent frame: has it arrived?
    seen: Vec<u64>,
    next_expected: u64,
    departures: Departures,
    latency: Latency,
    ipdv: Ipdv,
    series: Vec<[u64; 2]>,
    /// How old each frame was when it arrived, in the order of departure; None: not recorded.
    each: Option<Vec<Option<u64>>>,
    /// The address that the processor was about to execute when each of them departed.
    pcs: Vec<u64>,
    /// Frames that arrived once more: their numbers, and how old they were then. Kept if each frame is recorded.
    repeats: Vec<(u32, u64)>,
}

/// What the lab is told of a stream; docs/inside/protocol.md describes the fields.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct StreamResult {
    pub from: usize,
    pub to: usize,
    pub intended: u64,
    pub sent: u64,
    pub refused: u64,
    pub received: u64,
    pub lost: u64,
    pub reordered: u64,
    pub duplicated: u64,
    pub corrupted: u64,
    pub late: u64,
    pub received_in_window: u64,
    pub last_received_after_ns: u64,
    pub first_lost_sent_ns: Option<u64>,
    pub last_lost_sent_ns: Option<u64>,
    pub latency: LatencyResult,
    pub ipdv: IpdvResult,
    pub series: Option<Vec<[u64; 2]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latencies_ns: Option<Vec<Option<u64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcs: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Vec<(u32, u64)>>,
}

impl Analysis {
    /// All counters at 0.
    pub fn new(window: Window) -> Self {
        Analysis {
            window,
            sent: 0,
            refused: 0,
            received: 0,
            reordered: 0,
            duplicated: 0,
            corrupted: 0,
            late: 0,
            received_in_window: 0,
            last_departure_ns: 0,
            last_arrival_ns: 0,
            seen: Vec::new(),
            next_expected: 0,
            departures: Departures::default(),
            latency: Latency::default(),
            ipdv: Ipdv::default(),
            series: vec![[0; 2]; window.buckets() as usize],
            each: None,
            pcs: Vec::new(),
            repeats: Vec::new(),
        }
    }

    /// The same, and it records each frame's latency if asked to.
    pub fn recording(self, each: bool) -> Self {
        Analysis {
            each: each.then(Vec::new),
            ..self
        }
    }

    /// The next window frame departed at `now_ns`. `pc` is asked for if each frame is recorded.
    pub fn departed(&mut self, now_ns: u64, outcome: Outcome, pc: impl FnOnce() -> u64) {
        if self.sent % 64 == 0 {
            self.seen.push(0);
        }
        self.sent += 1;
        self.refused += u64::from(outcome == Outcome::Refused);
        self.departures.push(now_ns);
        if let Some(each) = &mut self.each {
            each.push(None);
            self.pcs.push(pc());
        }
        self.last_departure_ns = now_ns;
        self.late = 0; // all frames so far arrived before this departure, which may be the last
        self.bucket(now_ns, 0);
    }

    /// Any intact frame of the stream, warm-up or window, arrived at `now_ns`.
    pub fn observed(&mut self, now_ns: u64) {
        self.received_in_window += u64::from(self.window.contains(now_ns));
    }

    /// Whether `sequence` has departed in the window.
    pub fn has_sent(&self, sequence: u32) -> bool {
        u64::from(sequence) < self.sent
    }

    /// An intact frame of the window arrived at `now_ns`, `age_ns` after it departed. The caller has checked [`Self::has_sent`].
    pub fn arrived(&mut self, number: u32, now_ns: u64, age_ns: u64) {
        let index = number as usize;
        let sequence = u64::from(number);
        let (word, bit) = ((sequence / 64) as usize, 1 << (sequence % 64));
        if self.seen[word] & bit != 0 {
            self.duplicated += 1;
            if self.each.is_some() {
                self.repeats.push((number, age_ns));
            }
            return;
        }
        self.seen[word] |= bit;
        self.received += 1;
        // RFC 4737, 3.3: reordered if lower than the next expected one.
        if sequence < self.next_expected {
            self.reordered += 1;
        } else {
            self.next_expected = sequence + 1;
        }
        self.late += u64::from(now_ns > self.last_departure_ns.saturating_add(self.window.late_ns));
        self.last_arrival_ns = now_ns;
        if let Some(each) = &mut self.each {
            each[index] = Some(age_ns);
        }
        self.latency.record(age_ns);
        self.ipdv.record(age_ns);
        self.bucket(now_ns.saturating_sub(age_ns), 1);
    }

    /// A damaged frame of the stream arrived.
    pub fn damaged(&mut self) {
        self.corrupted += 1;
    }

    fn bucket(&mut self, departure_ns: u64, column: usize) {
        if let Some(last) = self.series.len().checked_sub(1) {
            let index = departure_ns.saturating_sub(self.window.begin_ns) / self.window.bucket_ns;
            self.series[(index as usize).min(last)][column] += 1;
        }
    }

    /// Sequence numbers of the first and the last lost frame.
    fn lost_range(&self) -> Option<(u64, u64)> {
        let missing = |word: usize| {
            let used = (self.sent - word as u64 * 64).min(64);
            !self.seen[word] & (u64::MAX >> (64 - used))
        };
        let number = |word: usize, bit: u32| word as u64 * 64 + u64::from(bit);
        let first = (0..self.seen.len()).find(|word| missing(*word) != 0)?;
        let last = (0..self.seen.len()).rfind(|word| missing(*word) != 0)?;
        Some((
            number(first, missing(first).trailing_zeros()),
            number(last, 63 - missing(last).leading_zeros()),
        ))
    }

    /// The result of a stream from port `from` to port `to` that intended that many frames.
    pub fn report(&self, from: usize, to: usize, intended: u64, histogram: bool) -> StreamResult {
        let offset_ns = |at_ns: u64| at_ns.saturating_sub(self.window.begin_ns);
        let (mut first_lost_sent_ns, mut last_lost_sent_ns) = (None, None);
        if let Some((first, last)) = self.lost_range() {
            let mut departures = self.departures.iter().map(offset_ns);
            first_lost_sent_ns = departures.nth(first as usize);
            last_lost_sent_ns = match last - first {
                0 => first_lost_sent_ns,
                further => departures.nth(further as usize - 1),
            };
        }
        StreamResult {
            from,
            to,
            intended,
            sent: self.sent,
            refused: self.refused,
            received: self.received,
            lost: self.sent - self.received,
            reordered: self.reordered,
            duplicated: self.duplicated,
            corrupted: self.corrupted,
            late: self.late,
            received_in_window: self.received_in_window,
            last_received_after_ns: self.last_arrival_ns.saturating_sub(self.last_departure_ns),
            first_lost_sent_ns,
            last_lost_sent_ns,
            latency: self.latency.report(histogram),
            ipdv: self.ipdv.report(),
            series: (self.window.bucket_ns != 0).then(|| self.series.clone()),
            latencies_ns: self.each.clone(),
            pcs: self.each.as_ref().map(|_| self.pcs.clone()),
            repeats: self.each.as_ref().map(|_| self.repeats.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
