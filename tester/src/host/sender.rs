// SPDX-License-Identifier: GPL-2.0-or-later
//! The sending half of a TCP connection: segments in flight, loss detection and congestion control.
//!
//! Reno's congestion window (RFC 5681, initial window of RFC 6928) with selective acknowledgements (RFC 2018) and loss
//! detection by time of sending (RACK and tail-loss probes, RFC 8985); the retransmission timer is RFC 6298's with
//! Linux's minimum. Stream positions are 64-bit numbers; the SYN is at 0.

use std::collections::VecDeque;

/// The longest payload over Ethernet's 1,500 bytes, without options.
pub const MSS: u64 = 1460;
const INITIAL_WINDOW: u64 = 10 * MSS;
const MIN_RTO_NS: u64 = 200_000_000;
const MAX_RTO_NS: u64 = 60_000_000_000;
const INITIAL_RTO_NS: u64 = 1_000_000_000;
/// A tail-loss probe is sent this long after two round trips: two ticks of Debian's 250 Hz, as in Linux.
const PROBE_NS: u64 = 8_000_000;
/// A hole is a loss when this many segments after it are acknowledged.
const DUP_THRESH: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Sent {
    begin: u64,
    end: u64,
    at_ns: u64,
    retransmitted: bool,
    sacked: bool,
    /// Lost, and not retransmitted since.
    lost: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Fast recovery, until this position is acknowledged.
    Recovery(u64),
    /// After a timeout, until this position is acknowledged.
    Loss(u64),
}

/// A segment to send.
#[derive(Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Where it begins.
    pub begin: u64,
    /// Its bytes.
    pub payload: Vec<u8>,
    /// It ends the stream.
    pub fin: bool,
    /// It contains the end of a write.
    pub push: bool,
}

/// The sending half.
#[derive(Debug)]
pub struct Sender {
    una: u64,
    next: u64,
    /// Bytes that the application wrote, from `una` on.
    queue: VecDeque<u8>,
    /// Where writes end, after `una`.
    pushes: VecDeque<u64>,
    fin: Option<u64>,
    peer_window: u64,
    mss: u64,
    flight: VecDeque<Sent>,
    window: u64,
    threshold: u64,
    phase: Phase,
    srtt_ns: Option<u64>,
    rttvar_ns: u64,
    min_rtt_ns: u64,
    backoff: u32,
    timer_ns: Option<u64>,
    probe_is_next: bool,
    forced: bool,
    ask_window: bool,
    newest: (u64, u64),
    retransmits: u64,
    timeouts: u64,
}

impl Default for Sender {
    fn default() -> Self {
        Self::new()
    }
}

impl Sender {
    /// A sender that has sent only its SYN. Written bytes wait for [`Sender::meet`].
    pub fn new() -> Self {
        Sender {
            una: 1,
            next: 1,
            queue: VecDeque::new(),
            pushes: VecDeque::new(),
            fin: None,
            peer_window: 0,
            mss: MSS,
            flight: VecDeque::new(),
            window: INITIAL_WINDOW,
            threshold: u64::MAX,
            phase: Phase::Open,
            srtt_ns: None,
            rttvar_ns: 0,
            min_rtt_ns: u64::MAX,
            backoff: 0,
            timer_ns: None,
            probe_is_next: true,
            forced: false,
            ask_window: false,
            newest: (0, 0),
            retransmits: 0,
            timeouts: 0,
        }
    }

    /// The peer accepts segments of `mss` bytes and, for now, `window` bytes.
    pub fn meet(&mut self, mss: u64, window: u64) {
        self.mss = mss.clamp(64, MSS);
        self.peer_window = window;
    }

    /// The first position that is not acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Where the next new segment begins.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Bytes written but not acknowledged.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Bytes written but not sent.
    pub fn unsent(&self) -> u64 {
        (self.end()).saturating_sub(self.next)
    }

    /// Retransmitted segments, including tail-loss probes.
    pub fn retransmits(&self) -> u64 {
        self.retransmits
    }

    /// How often the retransmission timer expired.
    pub fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// The congestion window in bytes.
    pub fn congestion_window(&self) -> u64 {
        self.window
    }

    /// The smoothed round-trip time in ns.
    pub fn srtt_ns(&self) -> Option<u64> {
        self.srtt_ns
    }

    /// Appends to the stream, as one write of an application. Only the write's last segment has PSH set (RFC 9293, 3.9.1.2). This matters
    /// for a receiver's GRO, which merges segments up to one with PSH.
    pub fn write(&mut self, bytes: impl IntoIterator<Item = u8>) {
        self.write_part(bytes);
        self.pushes.push_back(self.end());
    }

    /// Appends to the stream a part of a write that does not end it.
    pub fn write_part(&mut self, bytes: impl IntoIterator<Item = u8>) {
        if self.fin.is_none() {
            self.queue.extend(bytes);
        }
    }

    /// The position after the last written byte.
    fn end(&self) -> u64 {
        self.una + self.queue.len() as u64
    }

    /// The stream ends here.
    pub fn finish(&mut self) {
        let end = self.end();
        self.fin.get_or_insert(end);
    }

    /// Discards written bytes that have not been sent.
    pub fn cut(&mut self) {
        if self.fin.is_none() {
            self.queue.truncate((self.next - self.una) as usize);
        }
    }

    /// Whether everything, including the end, has been acknowledged.
    pub fn is_done(&self) -> bool {
        self.fin.is_some_and(|fin| self.una > fin)
    }

    /// When [`Sender::on_time`] must be called, in ns.
    pub fn timer_ns(&self) -> Option<u64> {
        self.timer_ns
    }

    /// The peer has received everything before `ack` and the ranges in `sacks`, and accepts `window` more bytes.
    pub fn on_ack(&mut self, now_ns: u64, ack: u64, window: u64, sacks: &[(u64, u64)]) {
        if ack > self.next || ack < self.una {
            return;
        }
        let opened = window > self.peer_window;
        self.peer_window = window;
        let limited = self.in_flight() + self.mss > self.window;
        let advanced = ack - self.una;
        let mut sample_ns = None;
        let mut delivered = |sent: &Sent, newest: &mut (u64, u64), min_rtt_ns: u64| {
            if !sent.retransmitted {
                sample_ns = Some(now_ns.saturating_sub(sent.at_ns));
            }
            // If the acknowledgement of a retransmission comes sooner than any round trip, it is for the original segment.
            if !sent.retransmitted || now_ns.saturating_sub(sent.at_ns) >= min_rtt_ns {
                *newest = (*newest).max((sent.at_ns, sent.end));
            }
        };
        while let Some(first) = self.flight.front_mut() {
            if first.end > ack {
                first.begin = first.begin.max(ack);
                break;
            }
            if !first.sacked {
                delivered(first, &mut self.newest, self.min_rtt_ns);
            }
            self.flight.pop_front();
        }
        for sent in self.flight.iter_mut().filter(|sent| !sent.sacked) {
            if sacks.iter().any(|s| s.0 <= sent.begin && sent.end <= s.1) {
                sent.sacked = true;
                sent.lost = false;
                delivered(sent, &mut self.newest, self.min_rtt_ns);
            }
        }
        if let Some(rtt_ns) = sample_ns {
            self.measure(rtt_ns);
        }
        let data = advanced.min(self.queue.len() as u64) as usize;
        self.queue.drain(..data);
        self.una = ack;
        let pushed = self.pushes.partition_point(|end| *end <= ack);
        self.pushes.drain(..pushed);
        if let Phase::Recovery(until) | Phase::Loss(until) = self.phase {
            if ack >= until {
                self.phase = Phase::Open;
            }
        }
        self.mark_losses();
        if advanced > 0 {
            self.backoff = 0;
            self.probe_is_next = true;
            if limited {
                self.grow(advanced);
            }
        }
        if advanced > 0 || opened || self.flight.is_empty() {
            self.arm(now_ns);
        }
    }

    /// The time of [`Sender::timer_ns`] may have come.
    pub fn on_time(&mut self, now_ns: u64) {
        if self.timer_ns.is_none_or(|at_ns| at_ns > now_ns) {
            return;
        }
        self.timer_ns = None;
        if self.flight.is_empty() {
            self.ask_window = self.waits_for_window();
            self.backoff += 1;
        } else if self.probe_is_due() {
            self.probe_is_next = false;
            if let Some(last) = self.flight.iter_mut().rev().find(|sent| !sent.sacked) {
                last.lost = true;
                self.forced = true;
            }
        } else {
            if !matches!(self.phase, Phase::Loss(_)) {
                self.threshold = (self.in_flight() / 2).max(2 * self.mss);
            }
            self.timeouts += 1;
            self.window = self.mss;
            self.phase = Phase::Loss(self.next);
            self.backoff += 1;
            for sent in self.flight.iter_mut().filter(|sent| !sent.sacked) {
                sent.lost = true;
            }
        }
        self.arm(now_ns);
    }

    /// The next segment, if one may be sent.
    pub fn transmit(&mut self, now_ns: u64) -> Option<Chunk> {
        if std::mem::take(&mut self.ask_window) {
            // A window probe (RFC 9293, 3.8.6.1): it repeats a byte that the peer has, and the peer answers with its window.
            return Some(Chunk {
                begin: self.una - 1,
                payload: Vec::new(),
                fin: false,
                push: false,
            });
        }
        let pipe = self.in_flight();
        let room = pipe == 0 || pipe + self.mss <= self.window || self.forced;
        if !room {
            return None;
        }
        if let Some(at) = self.flight.iter().position(|sent| sent.lost) {
            self.forced = false;
            self.retransmits += 1;
            let sent = &mut self.flight[at];
            (sent.lost, sent.retransmitted, sent.at_ns) = (false, true, now_ns);
            let (begin, end) = (sent.begin, sent.end);
            self.timer_ns.is_none().then(|| self.arm(now_ns));
            return Some(self.chunk(begin, end));
        }
        let end_of_data = self.end();
        let unsent = end_of_data.saturating_sub(self.next);
        let open = (self.una + self.peer_window).saturating_sub(self.next);
        let mut length = unsent.min(open).min(self.mss);
        if length < self.mss && length < unsent && !self.flight.is_empty() {
            return None; // avoid a silly window (RFC 9293, 3.8.6.2.1)
        }
        if self.fin == Some(self.next + length) && length == unsent {
            length += 1;
        }
        if length == 0 {
            if unsent > 0 && self.timer_ns.is_none() {
                self.arm(now_ns); // the peer's window is closed
            }
            return None;
        }
        let (begin, end) = (self.next, self.next + length);
        self.next = end;
        self.flight.push_back(Sent {
            begin,
            end,
            at_ns: now_ns,
            retransmitted: false,
            sacked: false,
            lost: false,
        });
        if self.timer_ns.is_none() {
            self.arm(now_ns);
        }
        Some(self.chunk(begin, end))
    }

    fn chunk(&self, begin: u64, end: u64) -> Chunk {
        let fin = self.fin.is_some_and(|fin| end > fin);
        let data_end = end - u64::from(fin);
        let range = (begin - self.una) as usize..(data_end - self.una) as usize;
        Chunk {
            begin,
            payload: self.queue.range(range).copied().collect(),
            fin,
            push: self.pushes.iter().any(|at| begin < *at && *at <= data_end),
        }
    }

    /// Estimated bytes in flight (the pipe of RFC 6675).
    fn in_flight(&self) -> u64 {
        let moving = self.flight.iter().filter(|sent| !sent.sacked && !sent.lost);
        moving.map(|sent| sent.end - sent.begin).sum()
    }

    fn waits_for_window(&self) -> bool {
        self.peer_window == 0 && self.next < self.end()
    }

    fn mark_losses(&mut self) {
        let sacked = self.flight.iter().filter(|sent| sent.sacked).count();
        let certain = sacked >= DUP_THRESH || self.phase != Phase::Open;
        let reordering_ns = self.srtt_ns.map_or(u64::MAX, |srtt_ns| srtt_ns / 4);
        let mut any = false;
        for sent in self.flight.iter_mut().filter(|s| !s.sacked && !s.lost) {
            let overtaken = (sent.at_ns, sent.end) < self.newest;
            if overtaken && (certain || self.newest.0 - sent.at_ns > reordering_ns) {
                sent.lost = true;
                any = true;
            }
        }
        if any && self.phase == Phase::Open {
            let flight: u64 = self.flight.iter().map(|sent| sent.end - sent.begin).sum();
            self.threshold = (flight / 2).max(2 * self.mss);
            self.window = self.threshold;
            self.phase = Phase::Recovery(self.next);
        }
    }

    fn grow(&mut self, acked: u64) {
        match self.phase {
            Phase::Recovery(_) => {}
            _ if self.window < self.threshold => self.window += acked.min(2 * self.mss),
            _ => self.window += (self.mss * acked / self.window).max(1),
        }
    }

    /// RFC 6298, section 2.
    fn measure(&mut self, rtt_ns: u64) {
        self.min_rtt_ns = self.min_rtt_ns.min(rtt_ns);
        match self.srtt_ns {
            None => {
                self.srtt_ns = Some(rtt_ns);
                self.rttvar_ns = rtt_ns / 2;
            }
            Some(srtt_ns) => {
                self.rttvar_ns = (3 * self.rttvar_ns + srtt_ns.abs_diff(rtt_ns)) / 4;
                self.srtt_ns = Some((7 * srtt_ns + rtt_ns) / 8);
            }
        }
    }

    fn rto_ns(&self) -> u64 {
        let base_ns = self.srtt_ns.map_or(INITIAL_RTO_NS, |srtt_ns| {
            (srtt_ns + 4 * self.rttvar_ns).max(MIN_RTO_NS)
        });
        (base_ns << self.backoff.min(10)).min(MAX_RTO_NS)
    }

    fn probe_is_due(&self) -> bool {
        self.probe_is_next && self.phase == Phase::Open && self.srtt_ns.is_some()
    }

    fn arm(&mut self, now_ns: u64) {
        let wanted = !self.flight.is_empty() || self.waits_for_window();
        let mut wait_ns = self.rto_ns();
        if !self.flight.is_empty() && self.probe_is_due() {
            let extra_ns = if self.flight.len() == 1 {
                MIN_RTO_NS
            } else {
                PROBE_NS
            };
            wait_ns = wait_ns.min(2 * self.srtt_ns.unwrap_or(0) + extra_ns);
        }
        self.timer_ns = wanted.then(|| now_ns.saturating_add(wait_ns));
    }
}

#[cfg(test)]
mod tests;
