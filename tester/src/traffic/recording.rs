// SPDX-License-Identifier: GPL-2.0-or-later
//! What is recorded in a trial besides frames: instructions, the memory model's counters, watched counters, halts, calls of probed
//! functions, and where processors gave way.

use crate::backend::{Cued, Entry, Path, Switched};
use crate::memory_model::Counts;
use crate::traffic::analysis::{StreamResult, Window};
use crate::traffic::plan::TrialPlan;
use crate::traffic::result::{PortCount, TrialResult};

/// A recording. It is told when the window begins, when it ends, and when the drain is over.
#[derive(Debug)]
pub struct Recording {
    begin_ns: u64,
    end_ns: u64,
    /// When the drain is over.
    drained_ns: u64,
    instructions_at_begin: Option<u64>,
    instructions_at_end: Option<u64>,
    /// Instructions and idle time of each processor when the window began, and when it ended; empty: not known.
    processors: [Vec<[u64; 2]>; 2],
    /// The memory model's counters when the window began, and when it ended.
    memory: [Option<Counts>; 2],
    watch: Vec<u64>,
    /// The watched counters when the window began, and when it ended.
    watched: [Vec<u64>; 2],
    /// When the processor halted in the window and went on, in ns; None: not recorded.
    halts: Option<Vec<[u64; 2]>>,
    /// When probed functions were entered; None: nothing was probed.
    entries: Option<Vec<Entry>>,
    /// What came of cues, by round; None: there are none.
    cued: Option<Vec<Cued>>,
    /// The paths of rounds without a cue.
    paths: Vec<Path>,
    /// Instructions executed, by round, of the code in which processors may give way; None: they may not.
    passed: Option<Vec<u64>>,
    /// Where they did.
    switched: Vec<Switched>,
    ended: bool,
}

impl Recording {
    /// What the plan asks for, in this window; the drain is over at `drained_ns`.
    pub fn new(plan: &TrialPlan, window: &Window, drained_ns: u64) -> Self {
        Recording {
            begin_ns: window.begin_ns,
            end_ns: window.end_ns,
            drained_ns,
            instructions_at_begin: None,
            instructions_at_end: None,
            processors: [Vec::new(), Vec::new()],
            memory: [None, None],
            watch: plan.watch.clone(),
            watched: [Vec::new(), Vec::new()],
            halts: plan.halts.then(Vec::new),
            entries: (!plan.probes.is_empty()).then(Vec::new),
            cued: (!plan.cues.ranges.is_empty()).then(Vec::new),
            paths: Vec::new(),
            passed: (!plan.preempt.ranges.is_empty()).then(Vec::new),
            switched: Vec::new(),
            ended: false,
        }
    }

    /// Whether the drain is over.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// When [`Recording::mark`] is wanted next, in ns.
    pub fn next_mark_ns(&self) -> Option<u64> {
        if self.ended {
            None
        } else if self.instructions_at_begin.is_none() {
            Some(self.begin_ns)
        } else if self.instructions_at_end.is_none() {
            Some(self.end_ns)
        } else {
            Some(self.drained_ns)
        }
    }

    /// Addresses of the counters to read at every mark.
    pub fn watch(&self) -> &[u64] {
        &self.watch
    }

    /// The window begins or ends, or the drain ends. The device under test has executed so many instructions; these are instructions and
    /// idle time of each processor, the counters of the memory model, if there is one, and the watched counters.
    pub fn mark(
        &mut self,
        instructions: u64,
        processors: Vec<[u64; 2]>,
        memory: Option<Counts>,
        watched: Vec<u64>,
    ) {
        if self.instructions_at_begin.is_none() {
            self.instructions_at_begin = Some(instructions);
            self.processors[0] = processors;
            self.memory[0] = memory;
            self.watched[0] = watched;
        } else if self.instructions_at_end.is_none() {
            self.instructions_at_end = Some(instructions);
            self.processors[1] = processors;
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

    /// Whether something happens on cue.
    pub fn has_cues(&self) -> bool {
        self.cued.is_some()
    }

    /// What came of cues, and the paths of rounds without one.
    pub fn cued(&mut self, (mut rounds, paths): (Vec<Cued>, Vec<Path>)) {
        for at_ns in rounds.iter_mut().filter_map(|round| round.at_ns.as_mut()) {
            *at_ns = at_ns.saturating_sub(self.begin_ns);
        }
        (self.cued, self.paths) = (Some(rounds), paths);
    }

    /// Whether the window is open: it has begun, and not ended.
    pub fn is_measuring(&self) -> bool {
        self.instructions_at_begin.is_some() && self.instructions_at_end.is_none()
    }

    /// The parts of halts that lie in the window, in ns from its beginning.
    fn in_window(&self, halts: &[[u64; 2]]) -> Vec<[u64; 2]> {
        let (begin_ns, end_ns) = (self.begin_ns, self.end_ns);
        let clamped = |at_ns: &u64| at_ns.clamp(&begin_ns, &end_ns) - begin_ns;
        let inside = halts.iter().map(|halt| halt.each_ref().map(clamped));
        inside.filter(|[from_ns, to_ns]| from_ns < to_ns).collect()
    }

    /// Entries from the beginning of the window on: function, ns from there, argument, whether it was made to fail.
    fn entries_from_window_on(&self, entries: &[Entry]) -> Vec<(usize, u64, u64, bool)> {
        let begin_ns = self.begin_ns;
        let later = entries.iter().filter(|entry| entry.at_ns >= begin_ns);
        later
            .map(|entry| {
                let at_ns = entry.at_ns - begin_ns;
                (entry.function, at_ns, entry.argument, entry.failed)
            })
            .collect()
    }

    /// The result of the ended trial, with these of streams and ports; an instruction of the device under test takes so many ns.
    pub fn report(
        &self,
        id: u16,
        ns_per_instruction: u64,
        streams: Vec<StreamResult>,
        ports: Vec<PortCount>,
    ) -> TrialResult {
        let instructions_at = |mark: Option<u64>| mark.unwrap_or_default();
        let instructions = instructions_at(self.instructions_at_end)
            .saturating_sub(instructions_at(self.instructions_at_begin));
        let window_ns = self.end_ns - self.begin_ns;
        let [before, after] = self.memory.each_ref().map(Option::as_ref);
        let memory = before.zip(after).map(|(before, after)| after.since(before));
        let charged_ns = memory
            .as_ref()
            .map_or(0, |counts| counts.charged_ps / 1_000);
        let busy_ns = instructions
            .saturating_mul(ns_per_instruction)
            .saturating_add_signed(charged_ns);
        let [begin, end] = &self.processors;
        let processors: Vec<[u64; 2]> = begin
            .iter()
            .zip(end)
            .map(|(begin, end)| [0, 1].map(|what| end[what].saturating_sub(begin[what])))
            .collect();
        let idle_ns = match processors.len() as u64 {
            0 => window_ns.saturating_sub(busy_ns),
            count => processors.iter().map(|one| one[1]).sum::<u64>() / count,
        };
        TrialResult {
            id,
            begin_ns: self.begin_ns,
            window_ns,
            instructions,
            idle_ns,
            processors,
            memory,
            watched: self.watched[0]
                .iter()
                .zip(&self.watched[1])
                .map(|(begin, end)| [*begin, *end])
                .collect(),
            halts: self.halts.as_ref().map(|all| self.in_window(all)),
            cued: self.cued.clone(),
            paths: self.paths.clone(),
            passed: self.passed.clone(),
            switched: self.switched.clone(),
            probes: self
                .entries
                .as_ref()
                .map(|all| self.entries_from_window_on(all)),
            streams,
            ports,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recording whose window begins at 2,010 ns and ends at 2,110 ns, with more in its plan.
    fn recording_with(more: serde_json::Value) -> Recording {
        let mut plan = serde_json::json!({"id": 1, "seed": 1, "warmup_ns": 10, "duration_ns": 100, "drain_ns": 20, "late_ns": 0,
            "bucket_ns": 0, "histogram": false, "streams": []});
        if let (Some(plan), serde_json::Value::Object(more)) = (plan.as_object_mut(), more) {
            plan.extend(more);
        }
        let plan: TrialPlan = serde_json::from_value(plan).unwrap_or_else(|why| panic!("{why}"));
        let window = Window {
            begin_ns: 2_010,
            end_ns: 2_110,
            late_ns: 0,
            bucket_ns: 0,
        };
        Recording::new(&plan, &window, 2_130)
    }

    fn recording() -> Recording {
        recording_with(serde_json::json!({"halts": true, "watch": [16, 24]}))
    }

    fn report(recording: &Recording) -> TrialResult {
        recording.report(1, 4, Vec::new(), Vec::new())
    }

    #[test]
    fn it_measures_from_the_first_mark_to_the_second() {
        let mut recording = recording();
        assert_eq!(recording.watch(), [16, 24]);
        let measuring = [0, 1, 2].map(|mark| {
            let before = recording.is_measuring();
            recording.mark(mark, Vec::new(), None, Vec::new());
            before
        });
        assert_eq!(measuring, [false, true, false]);
        assert!(!recording.is_measuring());
    }

    #[test]
    fn idle_time_is_the_mean_of_the_processors_if_there_are_several() {
        let mut recording = recording();
        recording.mark(10, vec![[4, 100], [6, 40]], None, Vec::new());
        recording.mark(35, vec![[14, 160], [21, 80]], None, Vec::new());
        let report = report(&recording);
        assert_eq!(report.processors, [[10, 60], [15, 40]]);
        assert_eq!((report.instructions, report.idle_ns), (25, 50));
    }

    #[test]
    fn halts_count_as_far_as_they_lie_in_the_window() {
        let recording = recording();
        let (begin, end) = (recording.begin_ns, recording.end_ns);
        assert_eq!(end - begin, 100);
        let halts = [
            [begin - 9, begin],
            [begin - 5, begin + 3],
            [begin + 7, begin + 7],
            [begin + 8, begin + 9],
            [end - 1, end + 5],
            [end, end + 9],
        ];
        assert_eq!(recording.in_window(&halts), [[0, 3], [8, 9], [99, 100]]);
    }

    #[test]
    fn entries_of_probed_functions_count_from_the_window_on() {
        let mut recording = recording_with(serde_json::json!({"probes": [16, 24]}));
        assert!(recording.records_entries() && !recording.records_halts());
        let entry = |at_ns, failed| Entry {
            function: 1,
            at_ns,
            argument: 7,
            failed,
        };
        recording.entered(vec![entry(2_009, false), entry(2_010, true)]);
        recording.entered(vec![entry(2_030, false)]);
        let report = report(&recording);
        assert_eq!(
            report.probes,
            Some(vec![(1, 0, 7, true), (1, 20, 7, false)])
        );
        assert_eq!((report.halts, report.passed), (None, None));
    }

    #[test]
    fn it_records_only_what_it_was_asked_for() {
        let mut recording = recording();
        assert!(recording.records_halts() && !recording.records_entries());
        recording.passed(vec![5], Vec::new());
        assert_eq!(
            (report(&recording).probes, report(&recording).passed),
            (None, None)
        );
        let mut recording = recording_with(
            serde_json::json!({"preempt": {"ranges": [[16, 24]], "first_ns": 0, "every_ns": 1, "points": []}}),
        );
        let switched = Switched {
            round: 0,
            processor: 1,
            address: 20,
        };
        recording.passed(vec![5], vec![switched]);
        let report = report(&recording);
        assert_eq!(
            (report.passed, report.switched),
            (Some(vec![5]), vec![switched])
        );
    }
}
