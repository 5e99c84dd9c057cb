// SPDX-License-Identifier: GPL-2.0-or-later
//! Pauses for a debugger: at an instant that the lab has asked for, or wherever QEMU's GDB stub stops the machine.

use serde::Serialize;

use super::halts;
use super::timer::Timer;

/// Where the machine was paused; docs/inside/protocol.md describes the fields.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Paused {
    pub paused: Place,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Place {
    pub now_ns: u64,
    pub instructions: u64,
    /// When the last instruction was over: the processor idles since then.
    pub idle_since_ns: u64,
    /// The instant that was asked for is reached.
    pub halted: bool,
}

/// What is known about pauses.
pub struct Pauses {
    timer: Timer,
    /// The lab has asked for a pause: it is told of every one from now on, and may send commands meanwhile.
    pub debugged: bool,
    /// The instant that was asked for has come.
    pub reached: bool,
    last: Option<Place>,
}

impl Pauses {
    /// `timer` pauses the machine.
    pub fn new(timer: Timer) -> Self {
        Pauses {
            timer,
            debugged: false,
            reached: false,
            last: None,
        }
    }

    /// Asks for a pause; at most one instant at a time.
    pub fn halt_at(&mut self, at_ns: u64, now_ns: u64) -> Result<serde_json::Value, String> {
        if at_ns < now_ns {
            return Err(format!(
                "halt: at_ns is {at_ns}, but virtual time is {now_ns} ns already"
            ));
        }
        self.debugged = true;
        self.reached = false;
        self.timer.arm(Some(at_ns));
        Ok(serde_json::json!({}))
    }

    /// The machine was paused.
    pub fn paused(&mut self, now_ns: u64, instructions: u64) -> Paused {
        // A pause ends the tester's own skipping of idle time; QEMU's main loop skips the rest, which is not noted.
        let same = self
            .last
            .as_ref()
            .filter(|last| last.instructions == instructions);
        let place = Place {
            now_ns,
            instructions,
            idle_since_ns: same
                .map_or_else(|| halts::idle_since(now_ns), |last| last.idle_since_ns),
            halted: std::mem::take(&mut self.reached),
        };
        self.last = Some(place.clone());
        Paused { paused: place }
    }

    /// The machine was put back.
    pub fn begin_again(&mut self) {
        self.timer.arm(None);
        self.debugged = false;
        self.reached = false;
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paused(pauses: &mut Pauses, now_ns: u64, instructions: u64) -> (u64, bool) {
        let place = pauses.paused(now_ns, instructions).paused;
        (place.idle_since_ns, place.halted)
    }

    #[test]
    fn a_processor_that_executes_nothing_idles_since_the_pause_before() {
        let mut pauses = Pauses::new(Timer::none());
        // Instants that no other test uses: what is known about idling is QEMU's, and there is one QEMU.
        assert_eq!(paused(&mut pauses, 1_000_100, 7), (1_000_100, false));
        assert_eq!(paused(&mut pauses, 1_000_500, 7), (1_000_100, false));
        assert_eq!(paused(&mut pauses, 1_000_900, 8), (1_000_900, false));
    }

    #[test]
    fn an_instant_is_reached_once() {
        let mut pauses = Pauses::new(Timer::none());
        pauses.reached = true;
        assert!(paused(&mut pauses, 2_000_000, 1).1);
        assert!(!paused(&mut pauses, 2_000_004, 2).1);
    }

    #[test]
    fn an_instant_that_is_over_is_refused() {
        let mut pauses = Pauses::new(Timer::none());
        let why = pauses.halt_at(9, 10).unwrap_err();
        assert_eq!(why, "halt: at_ns is 9, but virtual time is 10 ns already");
        assert!(!pauses.debugged);
    }
}
