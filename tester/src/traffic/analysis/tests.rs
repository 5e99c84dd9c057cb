// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

const WINDOW: Window = Window {
    begin_ns: 1_000_000,
    end_ns: 2_000_000,
    late_ns: 500,
    bucket_ns: 0,
};

/// `sent` frames, one per 1,000 ns from the window's begin.
fn sender(window: Window, sent: u64) -> Analysis {
    let mut analysis = Analysis::new(window);
    for k in 0..sent {
        analysis.departed(window.begin_ns + k * 1_000, Outcome::Sent, || 0);
    }
    analysis
}

fn arrive(analysis: &mut Analysis, sequence: u32, age_ns: u64) {
    let now_ns = WINDOW.begin_ns + u64::from(sequence) * 1_000 + age_ns;
    analysis.observed(now_ns);
    analysis.arrived(sequence, now_ns, age_ns);
}

#[test]
fn all_is_well() {
    let mut analysis = sender(WINDOW, 100);
    for sequence in 0..100 {
        arrive(&mut analysis, sequence, 300);
    }
    let report = analysis.report(0, 1, 100, false);
    assert_eq!(
        (
            report.sent,
            report.received,
            report.lost,
            report.received_in_window
        ),
        (100, 100, 0, 100)
    );
    assert_eq!(
        (
            report.reordered,
            report.duplicated,
            report.corrupted,
            report.late,
            report.refused
        ),
        (0, 0, 0, 0, 0)
    );
    assert_eq!(
        (report.first_lost_sent_ns, report.last_lost_sent_ns),
        (None, None)
    );
    assert_eq!(report.last_received_after_ns, 300);
    assert!(report.series.is_none());
}

#[test]
fn first_and_last_lost() {
    for (sent, lost) in [
        (1, vec![0]),
        (64, vec![63]),
        (65, vec![64]),
        (200, vec![0, 199]),
        (1000, vec![63, 64, 127, 128, 640]),
    ] {
        let mut analysis = sender(WINDOW, sent);
        for sequence in (0..sent as u32).filter(|sequence| !lost.contains(sequence)) {
            arrive(&mut analysis, sequence, 10);
        }
        let report = analysis.report(0, 1, sent, false);
        assert_eq!(report.lost, lost.len() as u64);
        assert_eq!(report.first_lost_sent_ns, Some(u64::from(lost[0]) * 1_000));
        assert_eq!(
            report.last_lost_sent_ns,
            Some(u64::from(lost[lost.len() - 1]) * 1_000)
        );
    }
}

/// RFC 4737's example: 1 2 3 7 8 9 10 4 5 6 has three reordered packets.
#[test]
fn reordering_is_counted_as_rfc_4737_does() {
    let mut analysis = sender(WINDOW, 11);
    for sequence in [1, 2, 3, 7, 8, 9, 10, 4, 5, 6] {
        arrive(&mut analysis, sequence, 10);
    }
    let report = analysis.report(0, 1, 11, false);
    assert_eq!((report.reordered, report.received, report.lost), (3, 10, 1));
}

#[test]
fn a_duplicate_is_neither_received_nor_reordered() {
    let mut analysis = sender(WINDOW, 10);
    for sequence in [0, 1, 2, 1, 1, 3] {
        arrive(&mut analysis, sequence, 10);
    }
    let report = analysis.report(0, 1, 10, false);
    assert_eq!(
        (
            report.received,
            report.duplicated,
            report.reordered,
            report.lost
        ),
        (4, 2, 0, 6)
    );
    assert_eq!(report.received_in_window, 6);
}

#[test]
fn late_counts_from_the_last_departure() {
    let mut analysis = sender(WINDOW, 3); // the last one departs at 2,000
    analysis.arrived(0, WINDOW.begin_ns + 2_600, 2_600);
    analysis.departed(WINDOW.begin_ns + 3_000, Outcome::Sent, || 0);
    analysis.arrived(1, WINDOW.begin_ns + 3_500, 2_500);
    analysis.arrived(2, WINDOW.begin_ns + 3_501, 1_501);
    let report = analysis.report(0, 1, 4, false);
    assert_eq!(
        report.late, 1,
        "not the one before the last departure, and not at the limit itself"
    );
    assert_eq!(report.last_received_after_ns, 501);
}

#[test]
fn the_window_has_a_beginning_and_an_end() {
    let mut analysis = sender(WINDOW, 10);
    for now_ns in [999_999, 1_000_000, 1_999_999, 2_000_000] {
        analysis.observed(now_ns);
    }
    assert_eq!(analysis.report(0, 1, 10, false).received_in_window, 2);
}

#[test]
fn the_series_is_by_departure() {
    let window = Window {
        bucket_ns: 300_000,
        ..WINDOW
    };
    let mut analysis = sender(window, 1_000); // 300, 300, 300 and 100
    analysis.arrived(299, window.begin_ns + 900_000, 900_000 - 299_000);
    analysis.arrived(300, window.begin_ns + 900_000, 600_000);
    analysis.arrived(999, window.end_ns + 1_000_000, 1_001_000);
    let series = analysis.report(0, 1, 1_000, false).series.unwrap();
    assert_eq!(series, [[300, 1], [300, 1], [300, 0], [100, 1]]);
}

#[test]
fn a_departure_a_little_after_the_end_is_in_the_last_bucket() {
    let mut analysis = Analysis::new(Window {
        bucket_ns: 500_000,
        ..WINDOW
    });
    analysis.departed(WINDOW.end_ns + 3, Outcome::Refused, || 0);
    let report = analysis.report(0, 1, 1, false);
    assert_eq!(report.series.unwrap(), [[0, 0], [1, 0]]);
    assert_eq!((report.refused, report.lost), (1, 1));
}

#[test]
fn nothing_sent_nothing_received() {
    let report = sender(WINDOW, 0).report(0, 1, 0, true);
    assert_eq!(
        (report.sent, report.lost, report.last_received_after_ns),
        (0, 0, 0)
    );
    assert!(report.latency_histogram().is_some());
}

impl StreamResult {
    fn latency_histogram(&self) -> Option<String> {
        serde_json::to_value(self).unwrap()["latency"]["histogram"]
            .as_str()
            .map(String::from)
    }
}

#[test]
fn only_what_has_departed_has_been_sent() {
    let analysis = sender(WINDOW, 100);
    assert_eq!(
        [99, 100, 101].map(|k| analysis.has_sent(k)),
        [true, false, false]
    );
}
