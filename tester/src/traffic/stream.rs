// SPDX-License-Identifier: GPL-2.0-or-later
//! The sending side of one stream: the next frame and its intended departure.

use crate::traffic::arrivals::Arrivals;
use crate::traffic::frame::Template;
use crate::traffic::sizes::Sizes;

/// One part of a stream's schedule: its warm-up or its window. They share only the pattern, so the window's frames do not depend on
/// the warm-up.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Where the arrivals count from, in ns of virtual time.
    pub base_ns: u64,
    /// From this instant on nothing departs.
    pub stop_ns: u64,
    /// At most that many frames are intended.
    pub limit: u64,
    /// When.
    pub arrivals: Arrivals,
    /// How long.
    pub sizes: Sizes,
    /// Whether its frames are marked as warm-up.
    pub warmup: bool,
}

/// The next frame of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// Its intended departure, in ns of virtual time. The line may be free only later.
    pub intended_ns: u64,
    /// Its size, with FCS.
    pub frame_bytes: usize,
    template: usize,
}

/// A frame that departs.
#[derive(Debug)]
pub struct Departing<'a> {
    /// The frame without FCS.
    pub frame: &'a [u8],
    /// Its sequence number, counted separately for warm-up and window.
    pub sequence: u32,
    /// Whether it is marked as warm-up.
    pub warmup: bool,
}

/// A stream's schedule and templates.
#[derive(Clone, Debug)]
pub struct Stream {
    templates: Vec<Template>,
    phase: Phase,
    window: Option<Phase>,
    drawn: u64,
    sent: u32,
    pending: Option<Pending>,
    intended: u64,
    /// Frames that were to depart before an instant depart so much earlier: (that instant, by how much), in ns.
    cued: (u64, u64),
}

impl Stream {
    /// A stream with one template per size, in the order of its sizes.
    pub fn new(templates: Vec<Template>, warmup: Option<Phase>, window: Phase) -> Self {
        let (phase, window) = match warmup {
            Some(warmup) => (warmup, Some(window)),
            None => (window, None),
        };
        let mut stream = Stream {
            templates,
            phase,
            window,
            drawn: 0,
            sent: 0,
            pending: None,
            intended: 0,
            cued: (0, 0),
        };
        stream.draw();
        stream
    }

    /// The next frame, if there is any.
    pub fn pending(&self) -> Option<Pending> {
        self.pending
    }

    /// From this instant on, in ns, the pending frame may not depart.
    pub fn stop_ns(&self) -> u64 {
        self.phase.stop_ns
    }

    /// How many departures were intended in the window so far; all of them once no frame is pending.
    pub fn intended(&self) -> u64 {
        self.intended
    }

    /// The pending frame, with a tag that says it departs at `now_ns`. [`Stream::advance`] then prepares the next one.
    pub fn stamp(&mut self, pending: Pending, now_ns: u64) -> Departing<'_> {
        let sequence = self.sent;
        self.sent += 1;
        let warmup = self.phase.warmup;
        Departing {
            frame: self.templates[pending.template].stamp(warmup, sequence, now_ns),
            sequence,
            warmup,
        }
    }

    /// Draws the next frame.
    pub fn advance(&mut self) {
        self.draw();
    }

    /// The pending frame, if it would depart between `at_ns` and `until_ns`, departs at `at_ns`, and those that would follow it before
    /// `until_ns` as much earlier.
    pub fn cue(&mut self, at_ns: u64, until_ns: u64) {
        if let Some(pending) = &mut self.pending {
            if (at_ns..until_ns).contains(&pending.intended_ns) {
                self.cued = (until_ns, pending.intended_ns - at_ns);
                pending.intended_ns = at_ns;
            }
        }
    }

    /// Leaves out the frames that should have departed before `now_ns`. They were intended, but are not sent.
    pub fn skip(&mut self, now_ns: u64) {
        while self
            .pending
            .is_some_and(|pending| pending.intended_ns < now_ns)
        {
            self.draw();
        }
    }

    /// Discards the pending frame and the rest of its phase: the line cannot send them in time.
    pub fn cut(&mut self) {
        if !self.phase.warmup {
            let horizon_ns = self.phase.stop_ns.saturating_sub(self.phase.base_ns);
            self.intended = self
                .phase
                .arrivals
                .departures_before(horizon_ns, self.phase.limit);
        }
        if self.enter_window() {
            self.draw()
        } else {
            self.pending = None
        }
    }

    fn draw(&mut self) {
        loop {
            if self.drawn < self.phase.limit {
                let intended_ns = self
                    .phase
                    .base_ns
                    .saturating_add(self.phase.arrivals.next_ns());
                if intended_ns < self.phase.stop_ns {
                    self.drawn += 1;
                    self.intended += u64::from(!self.phase.warmup);
                    let template = self.phase.sizes.next_index();
                    let frame_bytes = self.templates[template].frame_bytes();
                    let (until_ns, earlier_ns) = self.cued;
                    let earlier_ns = if intended_ns < until_ns {
                        earlier_ns
                    } else {
                        0
                    };
                    self.pending = Some(Pending {
                        intended_ns: intended_ns - earlier_ns,
                        frame_bytes,
                        template,
                    });
                    return;
                }
            }
            if !self.enter_window() {
                self.pending = None;
                return;
            }
        }
    }

    fn enter_window(&mut self) -> bool {
        let Some(window) = self.window.take() else {
            return false;
        };
        self.phase = window;
        self.drawn = 0;
        self.sent = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::Mac;
    use crate::traffic::frame::{Headers, Reading, read};
    use std::net::Ipv4Addr;

    fn templates() -> Vec<Template> {
        let headers = Headers {
            src_mac: Mac([2, 0, 0, 0, 0, 1]),
            dst_mac: Mac([2, 0, 0, 0, 0, 2]),
            src_ip: Ipv4Addr::new(10, 0, 0, 1),
            dst_ip: Ipv4Addr::new(10, 0, 1, 1),
            src_port: 1,
            dst_port: 2,
            protocol: crate::traffic::frame::Protocol::Udp,
            ttl: 64,
            trial: 1,
            stream: 0,
        };
        vec![Template::new(&headers, 64)]
    }

    fn phase(warmup: bool, base_ns: u64, stop_ns: u64, limit: u64) -> Phase {
        let arrivals = Arrivals::constant(1_000_000_000); // one per 1,000 ns
        Phase {
            base_ns,
            stop_ns,
            limit,
            arrivals,
            sizes: Sizes::Fixed,
            warmup,
        }
    }

    fn run(mut stream: Stream) -> (Vec<(u64, bool, u32)>, u64) {
        let mut all = Vec::new();
        while let Some(pending) = stream.pending() {
            let departing = stream.stamp(pending, pending.intended_ns);
            let Reading::Intact(tag) = read(departing.frame) else {
                panic!()
            };
            assert_eq!(
                (tag.warmup, tag.sequence),
                (departing.warmup, departing.sequence)
            );
            all.push((pending.intended_ns, departing.warmup, departing.sequence));
            stream.advance();
        }
        (all, stream.intended())
    }

    #[test]
    fn warm_up_and_window_count_apart() {
        let stream = Stream::new(
            templates(),
            Some(phase(true, 100, 2_600, 9)),
            phase(false, 2_600, 4_601, u64::MAX),
        );
        let (all, intended) = run(stream);
        let wanted = [
            (100, true, 0),
            (1_100, true, 1),
            (2_100, true, 2),
            (2_600, false, 0),
            (3_600, false, 1),
            (4_600, false, 2),
        ];
        assert_eq!(all, wanted);
        assert_eq!(intended, 3);
    }

    #[test]
    fn nothing_departs_at_the_stop_itself() {
        let (all, intended) = run(Stream::new(
            templates(),
            None,
            phase(false, 0, 2_000, u64::MAX),
        ));
        assert_eq!(all.len(), 2);
        assert_eq!(intended, 2);
        let (all, intended) = run(Stream::new(templates(), None, phase(false, 5, 5, u64::MAX)));
        assert_eq!((all.len(), intended), (0, 0));
    }

    #[test]
    fn at_most_count() {
        let (all, intended) = run(Stream::new(templates(), None, phase(false, 0, 10_000, 4)));
        assert_eq!((all.len(), intended), (4, 4));
        let (all, intended) = run(Stream::new(templates(), None, phase(false, 0, 10_000, 0)));
        assert_eq!((all.len(), intended), (0, 0));
    }

    #[test]
    fn what_is_cut_was_still_intended() {
        let mut stream = Stream::new(templates(), None, phase(false, 0, 10_000, 7));
        stream.advance();
        assert_eq!(stream.intended(), 2);
        stream.cut();
        assert!(stream.pending().is_none());
        assert_eq!(stream.intended(), 7);
    }

    #[test]
    fn a_cut_warm_up_leaves_the_window_whole() {
        let mut stream = Stream::new(
            templates(),
            Some(phase(true, 0, 10_000, 99)),
            phase(false, 10_000, 20_000, u64::MAX),
        );
        stream.advance();
        stream.cut();
        assert_eq!(stream.pending().unwrap().intended_ns, 10_000);
        assert_eq!(
            run(stream),
            (
                (0..10)
                    .map(|k| (10_000 + k as u64 * 1_000, false, k))
                    .collect(),
                10
            )
        );
    }

    #[test]
    fn what_is_skipped_was_intended_but_has_no_number() {
        let mut stream = Stream::new(
            templates(),
            Some(phase(true, 0, 10_000, 99)),
            phase(false, 10_000, 20_000, u64::MAX),
        );
        stream.skip(12_500); // the rest of the warm-up, and 10,000, 11,000, 12,000
        let pending = stream.pending().unwrap();
        assert_eq!(pending.intended_ns, 13_000);
        assert_eq!(stream.stamp(pending, 13_000).sequence, 0);
        stream.skip(13_000);
        assert_eq!(stream.pending().unwrap().intended_ns, 13_000);
        stream.skip(u64::MAX);
        assert!(stream.pending().is_none());
        assert_eq!(stream.intended(), 10);
    }
}
