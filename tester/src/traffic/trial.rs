// SPDX-License-Identifier: GPL-2.0-or-later
//! A trial, from the lab's command to the end of the drain (RFC 2544, section 23).

use serde::Serialize;

use crate::backend::{Backend, Entry, Outcome, Switched};
use crate::mac::Mac;
use crate::memory_model::Counts;
use crate::traffic::analysis::{Analysis, StreamResult, Window};
use crate::traffic::events::Events;
use crate::traffic::frame::{
    FCS_BYTES, Headers, MAX_FILLER_BYTES, Reading, Template, fill, filler_of, read,
};
use crate::traffic::plan::{StreamPlan, TrialPlan};
use crate::traffic::stream::{Phase, Stream};

/// Time from the answer to "start" to the warm-up.
pub const ORIGIN_AFTER_NS: u64 = 1_000;

/// A port's counters, from the trial's start to the end of its drain.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PortCount {
    /// Frames delivered, whoever sent them.
    pub sent: u64,
    /// Of these: the NIC had no room.
    pub refused: u64,
    /// Frames the device under test transmitted.
    pub received: u64,
    /// Of these: another trial's, another stream's, or not meant for this port.
    pub stray: u64,
    /// Of these: for the host stack.
    pub host: u64,
    /// Of these: with our signature, but damaged.
    pub corrupted: u64,
}

/// RESULT of docs/protocol.md.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct TrialResult {
    pub id: u16,
    pub begin_ns: u64,
    pub window_ns: u64,
    pub instructions: u64,
    pub idle_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Counts>,
    pub watched: Vec<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halts: Option<Vec<[u64; 2]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<Vec<(usize, u64, u64, bool)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switched: Vec<Switched>,
    pub streams: Vec<StreamResult>,
    pub ports: Vec<PortCount>,
}

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
    window: Window,
    end_ns: u64,
    histogram: bool,
    streams: Vec<Stream>,
    sinks: Vec<Sink>,
    /// The streams that leave from each port.
    leaving: Vec<Vec<usize>>,
    from: Vec<usize>,
    counts: Vec<PortCount>,
    instructions_at_begin: Option<u64>,
    instructions_at_end: Option<u64>,
    /// The memory model's counters when the window began, and when it ended.
    memory: [Option<Counts>; 2],
    watch: Vec<u64>,
    /// The watched counters when the window began, and when it ended.
    watched: [Vec<u64>; 2],
    /// When the processor halted in the window and went on, in ns; None: not recorded.
    halts: Option<Vec<[u64; 2]>>,
    /// When probed functions were entered; None: nothing was probed.
    entries: Option<Vec<Entry>>,
    /// Instructions executed, by round, of the code in which processors may give way; None: they may not.
    passed: Option<Vec<u64>>,
    /// Where they did.
    switched: Vec<Switched>,
    events: Events,
    ended: bool,
}

impl Trial {
    /// Arms a trial at `now_ns`, on `ports` ports; `src_macs` has each stream's source address. The plan is
    /// [checked](TrialPlan::check).
    pub fn new(plan: &TrialPlan, src_macs: &[Mac], ports: usize, now_ns: u64) -> Self {
        let origin_ns = now_ns.saturating_add(ORIGIN_AFTER_NS);
        let begin_ns = origin_ns.saturating_add(plan.warmup_ns);
        let end_ns = begin_ns.saturating_add(plan.duration_ns);
        let window = Window {
            begin_ns,
            end_ns,
            late_ns: plan.late_ns,
            bucket_ns: plan.bucket_ns,
        };
        let mut leaving = vec![Vec::new(); ports];
        for (index, stream) in plan.streams.iter().enumerate() {
            leaving[stream.from].push(index);
        }
        let streams = plan.streams.iter().zip(src_macs).enumerate();
        Trial {
            id: plan.id,
            origin_ns,
            window,
            end_ns: end_ns.saturating_add(plan.drain_ns),
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
            instructions_at_begin: None,
            instructions_at_end: None,
            memory: [None, None],
            watch: plan.watch.clone(),
            watched: [Vec::new(), Vec::new()],
            halts: plan.halts.then(Vec::new),
            entries: (!plan.probes.is_empty()).then(Vec::new),
            passed: (!plan.preempt.ranges.is_empty()).then(Vec::new),
            switched: Vec::new(),
            events: Events::new(&plan.events, begin_ns),
            ended: false,
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
        self.ended
    }

    /// Whether frames at `now_ns` are still counted.
    pub fn counts_at(&self, now_ns: u64) -> bool {
        !self.ended && now_ns < self.end_ns
    }

    /// The counters of a port.
    pub fn count(&mut self, port: usize) -> &mut PortCount {
        &mut self.counts[port]
    }

    /// When [`Trial::mark`] is wanted next, in ns.
    pub fn next_mark_ns(&self) -> Option<u64> {
        if self.ended {
            None
        } else if self.instructions_at_begin.is_none() {
            Some(self.window.begin_ns)
        } else if self.instructions_at_end.is_none() {
            Some(self.window.end_ns)
        } else {
            Some(self.end_ns)
        }
    }

    /// Addresses of the counters to read at every mark.
    pub fn watch(&self) -> &[u64] {
        &self.watch
    }

    /// The window begins or ends, or the drain ends. The device under test has executed so many instructions; these are the counters of
    /// the memory model, if there is one, and the watched counters.
    pub fn mark(&mut self, instructions: u64, memory: Option<Counts>, watched: Vec<u64>) {
        if self.instructions_at_begin.is_none() {
            self.instructions_at_begin = Some(instructions);
            self.memory[0] = memory;
            self.watched[0] = watched;
        } else if self.instructions_at_end.is_none() {
            self.instructions_at_end = Some(instructions);
            self.memory[1] = memory;
            self.watched[1] = watched;
        } else {
            self.ended = true;
        }
    }

    /// Whether it wants to be told of halts.
    pub fn records_halts(&self) -> bool {
        self.halts.is_some()
    }

    /// The processor was halted, in ns.
    pub fn halted(&mut self, halts: Vec<[u64; 2]>) {
        if let Some(all) = &mut self.halts {
            all.extend(halts);
        }
    }

    /// When something happens besides traffic, in ns.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.events.next_ns().filter(|_| !self.ended)
    }

    /// Does what is due besides traffic.
    pub fn happen(&mut self, now_ns: u64, backend: &mut dyn Backend) {
        self.events.advance(now_ns, backend);
    }

    /// Whether it wants to be told of probed functions.
    pub fn records_entries(&self) -> bool {
        self.entries.is_some()
    }

    /// Probed functions were entered.
    pub fn entered(&mut self, entries: Vec<Entry>) {
        if let Some(all) = &mut self.entries {
            all.extend(entries);
        }
    }

    /// So many instructions were executed in each round of the code in which processors may give way, which they did there.
    pub fn passed(&mut self, instructions: Vec<u64>, switched: Vec<Switched>) {
        if let Some(passed) = &mut self.passed {
            (*passed, self.switched) = (instructions, switched);
        }
    }

    /// Whether the window is open: it has begun, and not ended.
    pub fn is_measuring(&self) -> bool {
        self.instructions_at_begin.is_some() && self.instructions_at_end.is_none()
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

    /// The parts of halts that lie in the window, in ns from its beginning.
    fn in_window(&self, halts: &[[u64; 2]]) -> Vec<[u64; 2]> {
        let Window {
            begin_ns, end_ns, ..
        } = self.window;
        let clamped = |at_ns: &u64| at_ns.clamp(&begin_ns, &end_ns) - begin_ns;
        let inside = halts.iter().map(|halt| halt.each_ref().map(clamped));
        inside.filter(|[from_ns, to_ns]| from_ns < to_ns).collect()
    }

    /// Entries from the beginning of the window on: function, ns from there, argument, whether it was made to fail.
    fn entries_from_window_on(&self, entries: &[Entry]) -> Vec<(usize, u64, u64, bool)> {
        let begin_ns = self.window.begin_ns;
        let later = entries.iter().filter(|entry| entry.at_ns >= begin_ns);
        later
            .map(|entry| {
                let at_ns = entry.at_ns - begin_ns;
                (entry.function, at_ns, entry.argument, entry.failed)
            })
            .collect()
    }

    /// The result of the ended trial; an instruction of the device under test takes so many ns.
    pub fn report(&self, ns_per_instruction: u64) -> TrialResult {
        let instructions_at = |mark: Option<u64>| mark.unwrap_or_default();
        let instructions = instructions_at(self.instructions_at_end)
            .saturating_sub(instructions_at(self.instructions_at_begin));
        let window_ns = self.window.end_ns - self.window.begin_ns;
        let [before, after] = self.memory.each_ref().map(Option::as_ref);
        let memory = before.zip(after).map(|(before, after)| after.since(before));
        let charged_ns = memory
            .as_ref()
            .map_or(0, |counts| counts.charged_ps / 1_000);
        let busy_ns = instructions
            .saturating_mul(ns_per_instruction)
            .saturating_add_signed(charged_ns);
        let streams = self.streams.iter().zip(&self.sinks).zip(&self.from);
        TrialResult {
            id: self.id,
            begin_ns: self.window.begin_ns,
            window_ns,
            instructions,
            idle_ns: window_ns.saturating_sub(busy_ns),
            memory,
            watched: self.watched[0]
                .iter()
                .zip(&self.watched[1])
                .map(|(begin, end)| [*begin, *end])
                .collect(),
            halts: self.halts.as_ref().map(|all| self.in_window(all)),
            passed: self.passed.clone(),
            switched: self.switched.clone(),
            probes: self
                .entries
                .as_ref()
                .map(|all| self.entries_from_window_on(all)),
            streams: streams
                .map(|((stream, sink), from)| {
                    sink.analysis
                        .report(*from, sink.to, stream.intended(), self.histogram)
                })
                .collect(),
            ports: self.counts.clone(),
        }
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

    fn trial() -> Trial {
        trial_with(serde_json::json!({"halts": true, "watch": [16, 24]}))
    }

    #[test]
    fn it_measures_from_the_first_mark_to_the_second() {
        let mut trial = trial();
        assert_eq!(trial.watch(), [16, 24]);
        let measuring = [0, 1, 2].map(|mark| {
            let before = trial.is_measuring();
            trial.mark(mark, None, Vec::new());
            before
        });
        assert_eq!(measuring, [false, true, false]);
        assert!(!trial.is_measuring());
    }

    #[test]
    fn halts_count_as_far_as_they_lie_in_the_window() {
        let trial = trial();
        let (begin, end) = (trial.window.begin_ns, trial.window.end_ns);
        assert_eq!(end - begin, 100);
        let halts = [
            [begin - 9, begin],
            [begin - 5, begin + 3],
            [begin + 7, begin + 7],
            [begin + 8, begin + 9],
            [end - 1, end + 5],
            [end, end + 9],
        ];
        assert_eq!(trial.in_window(&halts), [[0, 3], [8, 9], [99, 100]]);
    }
    #[test]
    fn entries_of_probed_functions_count_from_the_window_on() {
        let mut trial = trial_with(serde_json::json!({"probes": [16, 24]}));
        assert!(trial.records_entries() && !trial.records_halts());
        let entry = |at_ns, failed| Entry {
            function: 1,
            at_ns,
            argument: 7,
            failed,
        };
        trial.entered(vec![entry(2_009, false), entry(2_010, true)]);
        trial.entered(vec![entry(2_030, false)]);
        let report = trial.report(4);
        assert_eq!(
            report.probes,
            Some(vec![(1, 0, 7, true), (1, 20, 7, false)])
        );
        assert_eq!((report.halts, report.passed), (None, None));
    }

    #[test]
    fn a_trial_records_only_what_it_was_asked_for() {
        let mut trial = trial();
        assert!(trial.records_halts() && !trial.records_entries());
        trial.passed(vec![5], Vec::new());
        assert_eq!(
            (trial.report(4).probes, trial.report(4).passed),
            (None, None)
        );
        let mut trial = trial_with(
            serde_json::json!({"preempt": {"ranges": [[16, 24]], "first_ns": 0, "every_ns": 1, "points": []}}),
        );
        let switched = Switched {
            round: 0,
            processor: 1,
            address: 20,
        };
        trial.passed(vec![5], vec![switched]);
        let report = trial.report(4);
        assert_eq!(
            (report.passed, report.switched),
            (Some(vec![5]), vec![switched])
        );
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
            trial.mark(mark, None, Vec::new());
        }
        assert_eq!(trial.next_event_ns(), None);
    }
}
