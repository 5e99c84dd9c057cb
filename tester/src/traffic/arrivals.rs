// SPDX-License-Identifier: GPL-2.0-or-later
//! The intended departures of a stream's frames.

use std::sync::Arc;

use rand_core::RngCore;
use rand_pcg::Pcg64;

use crate::rng::unit;

/// Milli-frames per second in one frame per ns: a rate of R mfps means k * 10^12 / R ns for frame k.
const MFPS_NS: u64 = 1_000_000_000_000;

/// The departures of a stream as offsets in ns from its start, in order.
#[derive(Clone, Debug)]
pub enum Arrivals {
    /// Equal distances.
    Constant(Constant),
    /// Exponentially distributed distances.
    Poisson(Poisson),
    /// Equal gaps while on, no frames while off; starts on.
    Bursts(Bursts),
    /// Distances that were recorded.
    Recorded(Recorded),
}

impl Arrivals {
    /// Frame k departs at k * 10^12 / `rate_mfps` ns, rounded down, without accumulating an error. The rate is in
    /// thousandths of a frame per second and must not be 0.
    pub fn constant(rate_mfps: u64) -> Self {
        Arrivals::Constant(Constant::new(rate_mfps))
    }

    /// A Poisson process of mean rate `rate_mfps` (thousandths of a frame per second, not 0).
    pub fn poisson(rate_mfps: u64, rng: Pcg64) -> Self {
        let mean_gap = MFPS_NS as f64 * Poisson::UNITS_PER_NS as f64 / rate_mfps as f64;
        Arrivals::Poisson(Poisson {
            mean_gap,
            at: 0,
            emitted: 0,
            rng,
        })
    }

    /// Constant arrivals of `rate_mfps` for `on_ns` (not 0), a pause of `off_ns`, and again; every burst starts with a
    /// departure.
    pub fn bursts(rate_mfps: u64, on_ns: u64, off_ns: u64) -> Self {
        Arrivals::Bursts(Bursts {
            on_ns,
            cycle_ns: on_ns + off_ns,
            begin_ns: 0,
            inside: Constant::new(rate_mfps),
        })
    }

    /// The first frame departs at once, the next one after the first of these distances (one at least, their sum not 0),
    /// and so on; after the last distance they begin again.
    pub fn recorded(gaps_ns: &[u64]) -> Self {
        let mut cycle_ns = 0_u64;
        let offsets_ns = gaps_ns
            .iter()
            .map(|gap_ns| {
                let at_ns = cycle_ns;
                cycle_ns = cycle_ns.saturating_add(*gap_ns);
                at_ns
            })
            .collect();
        Arrivals::Recorded(Recorded {
            offsets_ns,
            cycle_ns,
            begin_ns: 0,
            next: 0,
        })
    }

    /// The next departure.
    pub fn next_ns(&mut self) -> u64 {
        match self {
            Arrivals::Constant(constant) => constant.next_ns(),
            Arrivals::Poisson(poisson) => poisson.next_ns(),
            Arrivals::Bursts(bursts) => bursts.next_ns(),
            Arrivals::Recorded(recorded) => recorded.next_ns(),
        }
    }

    /// How many departures, counted from the very first, lie before `horizon_ns`; `at_most` is an upper limit. Those
    /// already drawn must lie before it.
    pub fn departures_before(&self, horizon_ns: u64, at_most: u64) -> u64 {
        let all = match self {
            Arrivals::Constant(constant) => constant.departures_before(horizon_ns),
            Arrivals::Poisson(poisson) => poisson.departures_before(horizon_ns, at_most),
            Arrivals::Bursts(bursts) => bursts.departures_before(horizon_ns),
            Arrivals::Recorded(recorded) => recorded.departures_before(horizon_ns),
        };
        all.min(at_most)
    }
}

/// Equal gaps, in integers. The remainder of each division is carried to the next gap.
#[derive(Clone, Debug)]
pub struct Constant {
    rate_mfps: u64,
    at_ns: u64,
    rest: u64,
}

impl Constant {
    fn new(rate_mfps: u64) -> Self {
        Constant {
            rate_mfps,
            at_ns: 0,
            rest: 0,
        }
    }

    fn next_ns(&mut self) -> u64 {
        let at_ns = self.at_ns;
        self.at_ns += MFPS_NS / self.rate_mfps;
        self.rest += MFPS_NS % self.rate_mfps;
        if self.rest >= self.rate_mfps {
            self.rest -= self.rate_mfps;
            self.at_ns += 1;
        }
        at_ns
    }

    fn departures_before(&self, horizon_ns: u64) -> u64 {
        // floor(k * M / R) < h  <=>  k * M < h * R, for whole h
        let count =
            (u128::from(horizon_ns) * u128::from(self.rate_mfps)).div_ceil(u128::from(MFPS_NS));
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

/// A Poisson process; the sum of the gaps is kept in units of 2^-10 ns.
#[derive(Clone, Debug)]
pub struct Poisson {
    mean_gap: f64,
    at: u64,
    emitted: u64,
    rng: Pcg64,
}

impl Poisson {
    const UNITS_PER_NS: u64 = 1024;

    fn next_ns(&mut self) -> u64 {
        // libm's logarithm and not the host's, whose last bit may differ and would move a departure.
        let gap = -libm::log(unit(self.rng.next_u64())) * self.mean_gap;
        self.at = self.at.saturating_add(gap as u64);
        self.emitted += 1;
        self.at / Self::UNITS_PER_NS
    }

    fn departures_before(&self, horizon_ns: u64, at_most: u64) -> u64 {
        let mut ahead = self.clone();
        while ahead.emitted < at_most {
            if ahead.next_ns() >= horizon_ns {
                return ahead.emitted - 1;
            }
        }
        at_most
    }
}

/// Bursts: [`Constant`] inside each.
#[derive(Clone, Debug)]
pub struct Bursts {
    on_ns: u64,
    cycle_ns: u64,
    begin_ns: u64,
    inside: Constant,
}

impl Bursts {
    fn next_ns(&mut self) -> u64 {
        let mut offset = self.inside.next_ns();
        if offset >= self.on_ns {
            self.begin_ns = self.begin_ns.saturating_add(self.cycle_ns);
            self.inside = Constant::new(self.inside.rate_mfps);
            offset = self.inside.next_ns();
        }
        self.begin_ns.saturating_add(offset)
    }

    fn departures_before(&self, horizon_ns: u64) -> u64 {
        let whole = horizon_ns / self.cycle_ns;
        let rest = (horizon_ns % self.cycle_ns).min(self.on_ns);
        let each = self.inside.departures_before(self.on_ns);
        whole
            .saturating_mul(each)
            .saturating_add(self.inside.departures_before(rest))
    }
}

/// Recorded departures, again and again.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// From the begin of a cycle, in order.
    offsets_ns: Arc<[u64]>,
    cycle_ns: u64,
    begin_ns: u64,
    next: usize,
}

impl Recorded {
    fn next_ns(&mut self) -> u64 {
        let at_ns = self.begin_ns.saturating_add(self.offsets_ns[self.next]);
        self.next += 1;
        if self.next == self.offsets_ns.len() {
            self.next = 0;
            self.begin_ns = self.begin_ns.saturating_add(self.cycle_ns);
        }
        at_ns
    }

    fn departures_before(&self, horizon_ns: u64) -> u64 {
        let whole = horizon_ns / self.cycle_ns;
        let rest_ns = horizon_ns % self.cycle_ns;
        let of_rest = self.offsets_ns.partition_point(|at_ns| *at_ns < rest_ns);
        whole
            .saturating_mul(self.offsets_ns.len() as u64)
            .saturating_add(of_rest as u64)
    }
}

#[cfg(test)]
mod tests;
