// SPDX-License-Identifier: GPL-2.0-or-later
//! The line rate of a port: how soon a frame may follow the one before.

/// What a frame occupies on the wire beside itself: preamble and start delimiter (8 bytes), inter-frame gap (12 bytes);
/// IEEE 802.3 clause 4.4.2.
pub const OVERHEAD_BYTES: u64 = 20;

/// One direction of one port. A frame's instant is the one at which its last bit arrives, so a frame may follow the one
/// before it by no less than its own serialisation time, (size + 20) * 8 / wire_bps.
///
/// Times are kept in units of 2^-32 ns, so that a wire whose byte time is not a whole number of ns (10 Gbit/s) is
/// neither exceeded nor underused.
#[derive(Clone, Debug)]
pub struct Line {
    byte_time: u128,
    last: Option<u128>,
    slack_ns: u64,
}

impl Line {
    /// A line of `wire_bps` bits per second; 0: unlimited. A frame that leaves at most `slack_ns` late, since the clock has no finer
    /// steps, does not delay the frames after it.
    pub fn new(wire_bps: u64, slack_ns: u64) -> Self {
        let byte_time = match wire_bps {
            0 => 0,
            bps => (8_000_000_000_u128 << 32).div_ceil(u128::from(bps)),
        };
        Line {
            byte_time,
            last: None,
            slack_ns,
        }
    }

    fn duration(&self, frame_bytes: usize) -> u128 {
        (frame_bytes as u128 + u128::from(OVERHEAD_BYTES)) * self.byte_time
    }

    /// How long a frame of `frame_bytes` (with FCS) occupies the wire, in ns, rounded up.
    pub fn serialisation_ns(&self, frame_bytes: usize) -> u64 {
        ceil_ns(self.duration(frame_bytes))
    }

    /// The first instant, in ns, at which the last bit of a frame of `frame_bytes` (with FCS) can have arrived.
    pub fn earliest_ns(&self, frame_bytes: usize) -> u64 {
        self.last
            .map_or(0, |last| ceil_ns(last + self.duration(frame_bytes)))
    }

    /// Notes that a frame of `frame_bytes` was planned for `planned_ns` (not before [`Line::earliest_ns`]) and left at
    /// `now_ns`.
    pub fn occupy(&mut self, frame_bytes: usize, planned_ns: u64, now_ns: u64) {
        // If the frame waited for the line, the exact instant lies within the ns before the rounded one.
        let across = match self.last {
            Some(last) if self.earliest_ns(frame_bytes) >= planned_ns => {
                last + self.duration(frame_bytes)
            }
            _ => u128::from(planned_ns) << 32,
        };
        let late = u128::from(now_ns.saturating_sub(self.slack_ns)) << 32;
        self.last = Some(across.max(late));
    }

    /// How long a frame that wants the line at `now_ns` waits for the frames before it, in ns.
    pub fn backlog_ns(&self, now_ns: u64) -> u64 {
        self.last
            .map_or(0, |last| ceil_ns(last).saturating_sub(now_ns))
    }
}

fn ceil_ns(fixed: u128) -> u64 {
    u64::try_from((fixed + u128::from(u32::MAX)) >> 32).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_ethernet_takes_148809_frames_of_64_bytes_a_second() {
        let mut line = Line::new(100_000_000, 8);
        assert_eq!(
            line.earliest_ns(64),
            0,
            "an idle line takes a frame at once"
        );
        let mut at = 1_000;
        let mut frames = 0;
        while at < 1_000_001_000 {
            line.occupy(64, at, at);
            frames += 1;
            let next = line.earliest_ns(64);
            assert_eq!(next - at, 6_720);
            at = next;
        }
        assert_eq!(frames, 148_810); // one at the very beginning, 148,809.5 after it
    }

    #[test]
    fn the_later_frames_size_sets_the_distance() {
        let mut line = Line::new(100_000_000, 8);
        line.occupy(1518, 500_000, 500_000);
        assert_eq!(line.earliest_ns(64), 506_720);
        line.occupy(64, 506_720, 506_720);
        assert_eq!(line.earliest_ns(1518), 506_720 + 123_040);
    }

    #[test]
    fn fractions_of_a_nanosecond_are_neither_lost_nor_stolen() {
        let mut line = Line::new(10_000_000_000, 8); // 67.2 ns a frame
        line.occupy(64, 100, 100);
        for k in 1..=1_000_000_u64 {
            let at = line.earliest_ns(64);
            let exact = 100 + (k * 672).div_ceil(10);
            assert!(
                at == exact || at == exact + 1,
                "frame {k}: {at}, not {exact}"
            );
            line.occupy(64, at, at);
        }
    }

    #[test]
    fn a_coarse_clock_moves_nothing_but_a_late_caller_does() {
        let mut line = Line::new(100_000_000, 8);
        line.occupy(64, 1_000, 1_007);
        assert_eq!(line.earliest_ns(64), 1_000 + 6_720);
        line.occupy(64, 7_720, 20_000);
        assert_eq!(line.earliest_ns(64), 20_000 - 8 + 6_720);
    }

    #[test]
    fn no_ceiling() {
        let mut line = Line::new(0, 8);
        line.occupy(1518, 10, 10);
        assert_eq!(line.earliest_ns(1518), 10);
        assert_eq!(line.serialisation_ns(1518), 0);
    }

    #[test]
    fn an_absurdly_slow_line_does_not_overflow() {
        let mut line = Line::new(1, 8);
        assert_eq!(line.serialisation_ns(1518), 1538 * 8_000_000_000);
        line.occupy(1518, u64::MAX, u64::MAX);
        assert_eq!(line.earliest_ns(1518), u64::MAX);
    }
}
