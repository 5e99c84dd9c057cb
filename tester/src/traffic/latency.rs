// SPDX-License-Identifier: GPL-2.0-or-later
//! Latency and its variation.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde::Serialize;

/// Latencies of a stream in ns: percentiles to three significant digits, minimum, maximum and mean exactly.
#[derive(Clone, Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

/// What the lab is told of [`Latency`]; all 0 without frames.
#[derive(Debug, Serialize)]
pub struct LatencyResult {
    count: u64,
    min_ns: u64,
    mean_ns: f64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
    histogram: Option<String>,
}

impl Default for Latency {
    fn default() -> Self {
        let mut histogram = Histogram::new_with_bounds(1, 1_000_000, 3).expect("constant bounds");
        histogram.auto(true);
        Latency {
            histogram,
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }
}

impl Latency {
    /// Adds a frame that took `latency_ns`.
    pub fn record(&mut self, latency_ns: u64) {
        self.histogram
            .record(latency_ns)
            .expect("the histogram grows");
        self.count += 1;
        self.sum_ns += u128::from(latency_ns);
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// The summary; if wanted with the whole histogram (HdrHistogram V2, deflated, base64).
    pub fn report(&self, with_histogram: bool) -> LatencyResult {
        // The histogram returns the upper end of a bucket, which may exceed all values in it.
        let percentile = |share| match self.count {
            0 => 0,
            _ => self
                .histogram
                .value_at_quantile(share)
                .clamp(self.min_ns, self.max_ns),
        };
        LatencyResult {
            count: self.count,
            min_ns: if self.count == 0 { 0 } else { self.min_ns },
            mean_ns: mean(self.sum_ns, self.count),
            p50_ns: percentile(0.5),
            p90_ns: percentile(0.9),
            p99_ns: percentile(0.99),
            p999_ns: percentile(0.999),
            max_ns: self.max_ns,
            histogram: with_histogram.then(|| self.encode()),
        }
    }

    fn encode(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.histogram, &mut bytes)
            .expect("a Vec takes all");
        STANDARD.encode(bytes)
    }
}

/// Packet delay variation between consecutive received frames (RFC 3393), in ns.
#[derive(Clone, Debug, Default)]
pub struct Ipdv {
    last_ns: Option<u64>,
    count: u64,
    sum_ns: u128,
    max_ns: u64,
}

/// What the lab is told of [`Ipdv`].
#[derive(Debug, Serialize)]
pub struct IpdvResult {
    count: u64,
    mean_abs_ns: f64,
    max_abs_ns: u64,
}

impl Ipdv {
    /// Adds the next received frame, which took `latency_ns`.
    pub fn record(&mut self, latency_ns: u64) {
        if let Some(last_ns) = self.last_ns {
            let difference_ns = latency_ns.abs_diff(last_ns);
            self.count += 1;
            self.sum_ns += u128::from(difference_ns);
            self.max_ns = self.max_ns.max(difference_ns);
        }
        self.last_ns = Some(latency_ns);
    }

    /// The summary.
    pub fn report(&self) -> IpdvResult {
        IpdvResult {
            count: self.count,
            mean_abs_ns: mean(self.sum_ns, self.count),
            max_abs_ns: self.max_ns,
        }
    }
}

fn mean(sum: u128, count: u64) -> f64 {
    if count == 0 {
        0.0
    } else {
        sum as f64 / count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::mix;

    #[test]
    fn nothing_measured() {
        let report = Latency::default().report(false);
        assert_eq!(
            (report.count, report.min_ns, report.p50_ns, report.max_ns),
            (0, 0, 0, 0)
        );
        assert_eq!(report.mean_ns, 0.0);
        assert!(report.histogram.is_none());
    }

    #[test]
    fn percentiles_against_a_sorted_list() {
        let mut latency = Latency::default();
        // from 1 us to 10 s, so that the histogram has to grow
        let mut all: Vec<u64> = (0..100_000)
            .map(|k| (1_000 << (mix(k) % 23)) | (mix(k) >> 54))
            .collect();
        for value in &all {
            latency.record(*value);
        }
        all.sort_unstable();
        let report = latency.report(false);
        let exact = |share: f64| all[(share * all.len() as f64).ceil() as usize - 1];
        for (got, share) in [
            (report.p50_ns, 0.5),
            (report.p90_ns, 0.9),
            (report.p99_ns, 0.99),
            (report.p999_ns, 0.999),
        ] {
            let wanted = exact(share) as f64;
            assert!(
                (got as f64 / wanted - 1.0).abs() <= 0.001,
                "{share}: {got}, not {wanted}"
            );
        }
        assert_eq!(
            (report.count, report.min_ns, report.max_ns),
            (100_000, all[0], all[all.len() - 1])
        );
        let mean = all.iter().map(|v| u128::from(*v)).sum::<u128>() as f64 / 100_000.0;
        assert_eq!(report.mean_ns, mean);
    }

    #[test]
    fn one_value_is_every_percentile_exactly() {
        let mut latency = Latency::default();
        latency.record(1_234_567);
        let report = latency.report(false);
        assert_eq!(
            [report.min_ns, report.p50_ns, report.p999_ns, report.max_ns],
            [1_234_567; 4]
        );
    }

    #[test]
    fn the_whole_range_of_the_tag_is_recorded() {
        let mut latency = Latency::default();
        latency.record(0);
        latency.record((1 << 48) - 1);
        let report = latency.report(false);
        assert_eq!(
            (report.min_ns, report.max_ns, report.count),
            (0, (1 << 48) - 1, 2)
        );
    }

    #[test]
    fn the_histogram_can_be_read_back() {
        let mut latency = Latency::default();
        for value in 0..5_000_000 {
            latency.record(value);
        }
        let bytes = STANDARD
            .decode(latency.report(true).histogram.unwrap())
            .unwrap();
        let histogram: Histogram<u64> = hdrhistogram::serialization::Deserializer::new()
            .deserialize(&mut &bytes[..])
            .unwrap();
        assert_eq!(histogram.len(), 5_000_000);
        assert_eq!(histogram, latency.histogram);
    }

    #[test]
    fn delay_variation_of_consecutive_frames() {
        let mut ipdv = Ipdv::default();
        assert_eq!(ipdv.report().count, 0);
        for latency_ns in [100, 110, 80, 80] {
            ipdv.record(latency_ns);
        }
        let report = ipdv.report();
        assert_eq!((report.count, report.max_abs_ns), (3, 30));
        assert_eq!(report.mean_abs_ns, 40.0 / 3.0);
    }
}
