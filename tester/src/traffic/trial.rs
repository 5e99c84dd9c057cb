// SPDX-License-Identifier: GPL-2.0-or-later
//! A trial, from the lab's command to the end of the drain (RFC 2544, section 23).

use crate::backend::{Backend, Cue, Outcome};
use crate::mac::Mac;
use crate::traffic::analysis::{Analysis, Window};
use crate::traffic::events::Events;
use crate::traffic::frame::{
    FCS_BYTES, Headers, MAX_FILLER_BYTES, Reading, Template, fill, filler_of, read,
};
use crate::traffic::plan::{StreamPlan, TrialPlan};
use crate::traffic::recording::Recording;
use crate::traffic::result::{PortCount, TrialResult};
use crate::traffic::stream::{Phase, Stream};

/// Time from the answer to "start" to the warm-up.
pub const ORIGIN_AFTER_NS: u64 = 1_000;

/// The receiving side of a stream.
#[derive(Debug)]
struct Sink {
    to: usize,
    filler: Vec<u8>,
    frame_bytes: Vec<usize>,
    analysis: Analysis,
}

/// A trial.
#[derive(Debug)]
pub struct Trial {
    id: u16,
    origin_ns: u64,
    end_ns: u64,
    histogram: bool,
    streams: Vec<Stream>,
    sinks: Vec<Sink>,
    /// The streams that leave from each port.
    leaving: Vec<Vec<usize>>,
    from: Vec<usize>,
    counts: Vec<PortCount>,
    /// What is recorded besides frames.
    pub recording: Recording,
    events: Events,
}

impl Trial {
    /// Arms a trial at `now_ns`, on `ports` ports; `src_macs` has each stream's source address. The plan is
    /// [checked](TrialPlan::check).
    pub fn new(plan: &TrialPlan, src_macs: &[Mac], ports: usize, now_ns: u64) -> Self {
        let origin_ns = now_ns.saturating_add(ORIGIN_AFTER_NS);
        let begin_ns = origin_ns.saturating_add(plan.warmup_ns);
        let window = Window {
            begin_ns,
            end_ns: begin_ns.saturating_add(plan.duration_ns),
            late_ns: plan.late_ns,
            bucket_ns: plan.bucket_ns,
        };
        let end_ns = window.end_ns.saturating_add(plan.drain_ns);
        let mut leaving = vec![Vec::new(); ports];
        for (index, stream) in plan.streams.iter().enumerate() {
            leaving[stream.from].push(index);
        }
        let streams = plan.streams.iter().zip(src_macs).enumerate();
        Trial {
            id: plan.id,
            origin_ns,
            end_ns,
            histogram: plan.histogram,
            streams: streams
                .map(|(index, (stream, mac))| source(plan, index, stream, *mac, origin_ns, &window))
                .collect(),
            sinks: plan
                .streams
                .iter()
                .enumerate()
                .map(|(index, stream)| sink(plan, index, stream, window))
                .collect(),
            leaving,
            from: plan.streams.iter().map(|stream| stream.from).collect(),
            counts: vec![PortCount::default(); ports],
            recording: Recording::new(plan, &window, end_ns),
            events: Events::new(&plan.events, begin_ns),
        }
    }

    /// Its number.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// When the warm-up begins, in ns.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// When the drain ends, in ns.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Whether the drain is over.
    pub fn has_ended(&self) -> bool {
        self.recording.has_ended()
    }

    /// Whether frames at `now_ns` are still counted.
    pub fn counts_at(&self, now_ns: u64) -> bool {
        !self.has_ended() && now_ns < self.end_ns
    }

    /// The counters of a port.
    pub fn count(&mut self, port: usize) -> &mut PortCount {
        &mut self.counts[port]
    }

    /// When something happens besides traffic, in ns.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.events.next_ns().filter(|_| !self.has_ended())
    }

    /// Does what is due besides traffic.
    pub fn happen(&mut self, now_ns: u64, backend: &mut dyn Backend) {
        self.events.advance(now_ns, backend);
    }

    /// What would happen before `until_ns` happens at `at_ns`.
    pub fn cue(&mut self, what: Cue, at_ns: u64, until_ns: u64) {
        match what {
            Cue::Stream(index) => {
                if let Some(stream) = self.streams.get_mut(index) {
                    stream.cue(at_ns, until_ns);
                }
            }
            Cue::Event(index) => self.events.cue(index, at_ns, until_ns),
        }
    }

    /// The streams that leave from `port`.
    pub fn leaving(&self, port: usize) -> &[usize] {
        &self.leaving[port]
    }

    /// A stream's sending side.
    pub fn stream(&self, index: usize) -> &Stream {
        &self.streams[index]
    }

    /// A stream's sending side, to send with.
    pub fn stream_mut(&mut self, index: usize) -> &mut Stream {
        &mut self.streams[index]
    }

    /// Notes that a frame of the stream departed at `now_ns`, and prepares the next one. `pc`: what the processor executes next.
    pub fn departed(
        &mut self,
        index: usize,
        warmup: bool,
        now_ns: u64,
        outcome: Outcome,
        pc: impl FnOnce() -> u64,
    ) {
        if !warmup {
            self.sinks[index].analysis.departed(now_ns, outcome, pc);
        }
        self.streams[index].advance();
    }

    /// A frame with our signature came out of the device under test at `port`. The caller has checked [`Trial::counts_at`].
    pub fn received(&mut self, port: usize, now_ns: u64, frame: &[u8]) {
        let (tag, intact) = match read(frame) {
            Reading::Foreign => return,
            Reading::Intact(tag) => (tag, true),
            Reading::Damaged(tag) => (tag, false),
        };
        let sink = match self.sinks.get_mut(usize::from(tag.stream)) {
            Some(sink) if tag.trial == self.id && sink.to == port => sink,
            _ if intact => return self.counts[port].stray += 1,
            _ => return self.counts[port].corrupted += 1,
        };
        if !intact || !sink.is_whole(frame) {
            self.counts[port].corrupted += 1;
            if !tag.warmup {
                sink.analysis.damaged();
            }
            return;
        }
        let age_ns = tag.age_ns(now_ns);
        // A frame that is older than the trial, or was not sent, belongs to an earlier trial of the same number.
        if now_ns.saturating_sub(age_ns) < self.origin_ns
            || !(tag.warmup || sink.analysis.has_sent(tag.sequence))
        {
            self.counts[port].stray += 1;
            return;
        }
        sink.analysis.observed(now_ns);
        if !tag.warmup {
            sink.analysis.arrived(tag.sequence, now_ns, age_ns);
        }
    }

    /// The result of the ended trial; an instruction of the device under test takes so many ns.
    pub fn report(&self, ns_per_instruction: u64) -> TrialResult {
        let streams = self.streams.iter().zip(&self.sinks).zip(&self.from);
        let streams = streams.map(|((stream, sink), from)| {
            sink.analysis
                .report(*from, sink.to, stream.intended(), self.histogram)
        });
        self.recording.report(
            self.id,
            ns_per_instruction,
            streams.collect(),
            self.counts.clone(),
        )
    }
}

impl Sink {
    /// Whether the frame (without FCS) has one of the stream's lengths, and the stream's filler.
    fn is_whole(&self, frame: &[u8]) -> bool {
        let filler = filler_of(frame);
        self.frame_bytes.contains(&(frame.len() + FCS_BYTES))
            && self.filler[..filler.len()] == *filler
    }
}

fn source(
    plan: &TrialPlan,
    index: usize,
    stream: &StreamPlan,
    src_mac: Mac,
    origin_ns: u64,
    window: &Window,
) -> Stream {
    let headers = Headers {
        src_mac,
        dst_mac: stream.dst_mac,
        src_ip: stream.src_ip,
        dst_ip: stream.dst_ip,
        src_port: stream.src_port,
        dst_port: stream.dst_port,
        ttl: stream.ttl,
        protocol: stream.protocol,
        trial: plan.id,
        stream: index as u8,
    };
    let templates = stream
        .size
        .frame_bytes()
        .iter()
        .map(|bytes| Template::new(&headers, *bytes))
        .collect();
    let phase = |warmup: bool, from_ns: u64, stop_ns: u64, limit: u64| Phase {
        base_ns: from_ns.saturating_add(stream.phase_ns),
        stop_ns,
        limit,
        arrivals: stream
            .arrivals
            .generator(plan.seed, index, u8::from(warmup)),
        sizes: stream.size.generator(plan.seed, index, u8::from(warmup)),
        warmup,
    };
    let numbers = u64::from(u32::MAX);
    let warmup = stream.begin_ns == 0 && plan.warmup_ns != 0;
    let warmup = warmup.then(|| phase(true, origin_ns, window.begin_ns, numbers));
    let from_ns = window.begin_ns.saturating_add(stream.begin_ns);
    let stop_ns = stream.end_ns.map_or(window.end_ns, |end_ns| {
        window.begin_ns.saturating_add(end_ns)
    });
    let limit = stream.count.unwrap_or(numbers).min(numbers);
    Stream::new(templates, warmup, phase(false, from_ns, stop_ns, limit))
}

fn sink(plan: &TrialPlan, index: usize, stream: &StreamPlan, window: Window) -> Sink {
    let mut filler = vec![0; MAX_FILLER_BYTES];
    fill(&mut filler, plan.id, index as u8);
    Sink {
        to: stream.to,
        filler,
        frame_bytes: stream.size.frame_bytes(),
        analysis: Analysis::new(window).recording(stream.each),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trial whose window begins at 2,010 ns and ends at 2,110 ns, with more in its plan.
    fn trial_with(more: serde_json::Value) -> Trial {
        let mut plan = serde_json::json!({"id": 1, "seed": 1, "warmup_ns": 10, "duration_ns": 100, "drain_ns": 20, "late_ns": 0,
            "bucket_ns": 0, "histogram": false, "streams": []});
        if let (Some(plan), serde_json::Value::Object(more)) = (plan.as_object_mut(), more) {
            plan.extend(more);
        }
        let plan: TrialPlan = serde_json::from_value(plan).unwrap_or_else(|why| panic!("{why}"));
        Trial::new(&plan, &[], 0, 1_000)
    }

    #[test]
    fn events_happen_until_the_drain_is_over() {
        struct Interrupts(usize);
        impl Backend for Interrupts {
            fn now_ns(&self) -> u64 {
                0
            }
            fn instructions(&self) -> u64 {
                0
            }
            fn send(&mut self, _: usize, _: &[u8]) -> Outcome {
                Outcome::Sent
            }
            fn interrupt(&mut self, _: usize) {
                self.0 += 1;
            }
        }
        let event = serde_json::json!({"do": {"kind": "interrupt", "port": 0}, "first_ns": 5, "every_ns": 10, "count": 3});
        let mut trial = trial_with(serde_json::json!({"events": [event]}));
        let mut interrupts = Interrupts(0);
        assert_eq!(trial.next_event_ns(), Some(2_015));
        trial.happen(2_015, &mut interrupts);
        assert_eq!((interrupts.0, trial.next_event_ns()), (1, Some(2_025)));
        for mark in 0..3 {
            trial.recording.mark(mark, Vec::new(), None, Vec::new());
        }
        assert_eq!(trial.next_event_ns(), None);
    }
}
