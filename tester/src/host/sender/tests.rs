// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

const MS: u64 = 1_000_000;
const OPEN: u64 = 1 << 20;

/// A sender whose peer has an open window; it has sent nothing.
fn sender() -> Sender {
    let mut sender = Sender::new();
    sender.meet(MSS, OPEN);
    sender
}

/// A sender that has measured a round trip of 10 ms. It is 10 ms, and one segment is acknowledged.
fn settled() -> Sender {
    let mut sender = sender();
    assert_eq!(send(&mut sender, 0, 1), [1]);
    sender.on_ack(10 * MS, 1 + MSS, OPEN, &[]);
    assert_eq!(sender.srtt_ns(), Some(10 * MS));
    sender
}

/// Where the first segment after [`settled`] begins.
const BASE: u64 = 1 + MSS;

/// Writes so many full segments, and returns where those begin that leave now.
fn send(sender: &mut Sender, now_ns: u64, segments: u64) -> Vec<u64> {
    sender.write(vec![0; (segments * MSS) as usize]);
    leaving(sender, now_ns)
}

fn leaving(sender: &mut Sender, now_ns: u64) -> Vec<u64> {
    std::iter::from_fn(|| sender.transmit(now_ns).map(|chunk| chunk.begin)).collect()
}

/// The stream's bytes of the segments `from` to `to` after [`BASE`].
fn segments(from: u64, to: u64) -> (u64, u64) {
    (BASE + from * MSS, BASE + to * MSS)
}

#[test]
fn a_timeout_sends_everything_again_from_one_segment_on() {
    let mut sender = sender();
    assert_eq!(send(&mut sender, 0, 5).len(), 5);
    assert_eq!(sender.timer_ns(), Some(INITIAL_RTO_NS));
    sender.on_time(INITIAL_RTO_NS - 1);
    assert_eq!((sender.timeouts(), leaving(&mut sender, 1)), (0, vec![]));
    sender.on_time(INITIAL_RTO_NS);
    assert_eq!((sender.timeouts(), sender.congestion_window()), (1, MSS));
    assert_eq!(
        leaving(&mut sender, INITIAL_RTO_NS),
        [1],
        "one segment fits"
    );
    assert_eq!(sender.retransmits(), 1);
    // The acknowledgement opens the window by one segment (slow start), and two more leave.
    sender.on_ack(1_100 * MS, 1 + MSS, OPEN, &[]);
    assert_eq!(sender.congestion_window(), 2 * MSS);
    assert_eq!(leaving(&mut sender, 1_100 * MS), [1 + MSS, 1 + 2 * MSS]);
    sender.on_ack(1_200 * MS, 1 + 5 * MSS, OPEN, &[]);
    assert_eq!((sender.timer_ns(), sender.queued()), (None, 0));
    assert_eq!(
        (sender.congestion_window(), sender.retransmits()),
        (4 * MSS, 3)
    );
}

#[test]
fn the_timeout_doubles_up_to_a_minute_and_an_acknowledgement_resets_it() {
    let mut sender = sender();
    send(&mut sender, 0, 2);
    let mut now_ns = 0;
    for timeout in 0..12 {
        let at_ns = sender.timer_ns().unwrap();
        assert_eq!(at_ns - now_ns, (INITIAL_RTO_NS << timeout).min(MAX_RTO_NS));
        now_ns = at_ns;
        sender.on_time(now_ns);
        assert_eq!(leaving(&mut sender, now_ns), [1]);
    }
    assert_eq!((sender.timeouts(), sender.retransmits()), (12, 12));
    sender.on_ack(now_ns, 1 + MSS, OPEN, &[]);
    assert_eq!(sender.timer_ns(), Some(now_ns + INITIAL_RTO_NS));
}

#[test]
fn after_a_timeout_the_threshold_is_half_of_what_was_in_flight() {
    let mut sender = sender();
    assert_eq!(send(&mut sender, 0, 8).len(), 8);
    sender.on_time(INITIAL_RTO_NS);
    assert_eq!(sender.threshold, 4 * MSS);
    leaving(&mut sender, INITIAL_RTO_NS);
    sender.on_time(3 * INITIAL_RTO_NS);
    assert_eq!(
        (sender.timeouts(), sender.threshold),
        (2, 4 * MSS),
        "once for each loss"
    );
}

#[test]
fn round_trips_are_smoothed() {
    let mut sender = sender();
    send(&mut sender, 0, 1);
    sender.on_ack(100 * MS, 1 + MSS, OPEN, &[]);
    assert_eq!(
        (sender.srtt_ns(), sender.rttvar_ns),
        (Some(100 * MS), 50 * MS)
    );
    send(&mut sender, 200 * MS, 1);
    sender.on_ack(400 * MS, 1 + 2 * MSS, OPEN, &[]);
    assert_eq!(sender.srtt_ns(), Some(112_500_000));
    assert_eq!(sender.rttvar_ns, 62_500_000);
    send(&mut sender, 500 * MS, 1);
    assert_eq!(
        sender.timer_ns(),
        Some(500 * MS + 112_500_000 + 4 * 62_500_000)
    );
}

#[test]
fn a_tail_loss_probe_sends_the_last_segment_again_before_a_timeout() {
    let mut sender = settled();
    assert_eq!(send(&mut sender, 10 * MS, 4).len(), 4);
    sender.on_ack(20 * MS, BASE + MSS, OPEN, &[]);
    let probe_ns = 20 * MS + 2 * 10 * MS + PROBE_NS;
    assert_eq!(sender.timer_ns(), Some(probe_ns));
    sender.on_time(probe_ns);
    assert_eq!(leaving(&mut sender, probe_ns), [BASE + 3 * MSS]);
    assert_eq!((sender.timeouts(), sender.retransmits()), (0, 1));
    assert_eq!(
        sender.congestion_window(),
        INITIAL_WINDOW,
        "a probe is no loss"
    );
    // Without an answer to the probe, the timeout follows.
    let timeout_ns = sender.timer_ns().unwrap();
    assert_eq!(timeout_ns, probe_ns + MIN_RTO_NS);
    sender.on_time(timeout_ns);
    assert_eq!((sender.timeouts(), sender.congestion_window()), (1, MSS));
}

#[test]
fn the_probe_of_a_single_segment_allows_for_a_delayed_acknowledgement() {
    let mut sender = settled();
    // Large round trips, so that the timeout is later than the probe.
    (sender.srtt_ns, sender.rttvar_ns) = (Some(100 * MS), 100 * MS);
    send(&mut sender, 10 * MS, 1);
    assert_eq!(sender.timer_ns(), Some(10 * MS + 200 * MS + MIN_RTO_NS));
}

#[test]
fn a_segment_that_was_sent_again_measures_no_round_trip() {
    let mut sender = settled();
    send(&mut sender, 10 * MS, 1);
    sender.on_time(210 * MS);
    assert_eq!(leaving(&mut sender, 210 * MS), [BASE]);
    sender.on_ack(215 * MS, BASE + MSS, OPEN, &[]);
    assert_eq!(sender.srtt_ns(), Some(10 * MS));
}

#[test]
fn three_segments_acknowledged_beyond_a_hole_make_it_a_loss() {
    let mut sender = settled();
    assert_eq!(send(&mut sender, 10 * MS, 10).len(), 10);
    sender.on_ack(20 * MS, BASE, OPEN, &[segments(1, 3)]);
    assert_eq!(sender.phase, Phase::Open, "two are not enough");
    sender.on_ack(20 * MS, BASE, OPEN, &[segments(1, 4)]);
    assert_eq!(sender.phase, Phase::Recovery(BASE + 10 * MSS));
    assert_eq!(
        sender.congestion_window(),
        5 * MSS,
        "half of what was in flight"
    );
    assert_eq!(
        leaving(&mut sender, 20 * MS),
        [0; 0],
        "six are still in flight"
    );
    sender.on_ack(20 * MS, BASE, OPEN, &[segments(1, 10)]);
    assert_eq!(leaving(&mut sender, 20 * MS), [BASE], "only the hole");
    assert_eq!((sender.retransmits(), sender.timeouts()), (1, 0));
    sender.on_ack(30 * MS, BASE + 10 * MSS, OPEN, &[]);
    assert_eq!(
        (sender.phase, sender.congestion_window()),
        (Phase::Open, 5 * MSS)
    );
}

#[test]
fn the_window_is_halved_once_for_all_losses_of_a_flight() {
    let mut sender = settled();
    send(&mut sender, 10 * MS, 10);
    sender.on_ack(20 * MS, BASE, OPEN, &[segments(1, 4)]);
    sender.on_ack(20 * MS, BASE, OPEN, &[segments(1, 4), segments(5, 10)]);
    assert_eq!(sender.congestion_window(), 5 * MSS);
    assert_eq!(leaving(&mut sender, 20 * MS), [BASE, BASE + 4 * MSS]);
    assert_eq!(sender.phase, Phase::Recovery(BASE + 10 * MSS));
    sender.on_ack(30 * MS, BASE + 4 * MSS, OPEN, &[segments(5, 10)]);
    assert_eq!(
        sender.phase,
        Phase::Recovery(BASE + 10 * MSS),
        "not yet all of it"
    );
    assert_eq!(sender.congestion_window(), 5 * MSS, "no growth in recovery");
}

#[test]
fn a_segment_is_lost_if_one_sent_much_later_is_acknowledged() {
    for (later_ns, lost) in [(2_500_000, false), (2_500_001, true)] {
        let mut sender = settled();
        send(&mut sender, 10 * MS, 1);
        send(&mut sender, 10 * MS + later_ns, 1);
        sender.on_ack(20 * MS + later_ns, BASE, OPEN, &[segments(1, 2)]);
        assert_eq!(
            leaving(&mut sender, 25 * MS),
            if lost { vec![BASE] } else { vec![] }
        );
    }
}

#[test]
fn a_part_of_a_segment_that_is_acknowledged_is_not_sent_again() {
    let mut sender = sender();
    send(&mut sender, 0, 2);
    sender.on_ack(MS, 1 + 100, OPEN, &[]);
    sender.on_time(sender.timer_ns().unwrap());
    let chunk = sender.transmit(INITIAL_RTO_NS).unwrap();
    assert_eq!(
        (chunk.begin, chunk.payload.len()),
        (101, MSS as usize - 100)
    );
}

#[test]
fn acknowledgements_of_what_was_not_sent_are_ignored() {
    let mut sender = settled();
    send(&mut sender, 10 * MS, 2);
    sender.on_ack(20 * MS, BASE + 3 * MSS, OPEN, &[]);
    sender.on_ack(20 * MS, BASE - 1, OPEN, &[]);
    assert_eq!((sender.una(), sender.next()), (BASE, BASE + 2 * MSS));
}

#[test]
fn the_window_grows_by_what_is_acknowledged_in_slow_start_and_by_a_segment_a_round_trip_after_it() {
    let mut sender = sender();
    assert_eq!(send(&mut sender, 0, 20).len(), 10, "the initial window");
    sender.on_ack(10 * MS, 1 + 2 * MSS, OPEN, &[]);
    assert_eq!(sender.congestion_window(), 12 * MSS);
    sender.threshold = 12 * MSS;
    leaving(&mut sender, 10 * MS);
    sender.on_ack(20 * MS, 1 + 14 * MSS, OPEN, &[]);
    assert_eq!(sender.congestion_window(), 13 * MSS);
}

#[test]
fn the_window_does_not_grow_while_it_is_not_used() {
    let mut sender = sender();
    send(&mut sender, 0, 9);
    sender.on_ack(10 * MS, 1 + 9 * MSS, OPEN, &[]);
    assert_eq!(sender.congestion_window(), INITIAL_WINDOW);
}

#[test]
fn a_shut_window_is_asked_for_again_and_again() {
    let mut sender = Sender::new();
    sender.meet(MSS, 0);
    sender.write([7; 100]);
    assert_eq!(sender.transmit(0), None);
    for (now_ns, next_ns) in [(1_000 * MS, 3_000 * MS), (3_000 * MS, 7_000 * MS)] {
        assert_eq!(sender.timer_ns(), Some(now_ns));
        sender.on_time(now_ns);
        let chunk = sender.transmit(now_ns).unwrap();
        assert_eq!((chunk.begin, chunk.payload.len()), (0, 0));
        assert_eq!(
            (sender.transmit(now_ns), sender.timer_ns()),
            (None, Some(next_ns))
        );
    }
    sender.on_ack(4_000 * MS, 1, 60, &[]);
    let chunk = sender.transmit(4_000 * MS).unwrap();
    assert_eq!((chunk.begin, chunk.payload.len()), (1, 60));
    assert_eq!(sender.timeouts(), 0);
}

#[test]
fn a_small_segment_waits_while_others_are_in_flight() {
    let mut sender = Sender::new();
    sender.meet(MSS, 2_000);
    sender.write([0; 4_000]);
    assert_eq!(leaving(&mut sender, 0), [1]);
    sender.on_ack(MS, 1 + MSS, 540, &[]);
    assert_eq!(
        sender.transmit(MS).map(|chunk| chunk.payload.len()),
        Some(540)
    );
    let mut sender = self::sender();
    sender.write([0; 2_000]);
    assert_eq!(
        leaving(&mut sender, 0).len(),
        2,
        "the end of what was written does not wait"
    );
}

#[test]
fn each_write_ends_with_push_and_the_stream_with_fin() {
    let mut sender = sender();
    sender.write([1; 2_000]);
    sender.write_part([2; 10]);
    sender.finish();
    sender.write([3; 10]);
    let chunks: Vec<_> = std::iter::from_fn(|| sender.transmit(0))
        .map(|chunk| (chunk.payload.len(), chunk.push, chunk.fin))
        .collect();
    assert_eq!(chunks, [(1_460, false, false), (550, true, true)]);
    assert_eq!((sender.queued(), sender.unsent()), (2_010, 0));
    sender.on_ack(MS, 2_011, OPEN, &[]);
    assert!(!sender.is_done());
    sender.on_ack(MS, 2_012, OPEN, &[]);
    assert!(sender.is_done());
}

#[test]
fn what_was_not_sent_can_be_taken_back() {
    let mut sender = Sender::new();
    sender.meet(MSS, MSS);
    sender.write([0; 4_000]);
    leaving(&mut sender, 0);
    assert_eq!((sender.queued(), sender.unsent()), (4_000, 2_540));
    sender.cut();
    assert_eq!((sender.queued(), sender.unsent()), (1_460, 0));
}

#[test]
fn the_peers_segment_size_counts() {
    for (mss, length) in [(536, 536), (10_000, 1_460), (1, 64)] {
        let mut sender = Sender::new();
        sender.meet(mss, OPEN);
        sender.write([0; 4_000]);
        assert_eq!(
            sender.transmit(0).map(|chunk| chunk.payload.len()),
            Some(length)
        );
    }
}

#[test]
fn a_full_window_does_not_grow_in_recovery() {
    let mut sender = settled();
    send(&mut sender, 10 * MS, 10);
    sender.on_ack(20 * MS, BASE, OPEN, &[segments(1, 5)]);
    assert_eq!(sender.phase, Phase::Recovery(BASE + 10 * MSS));
    assert_eq!(
        (sender.congestion_window(), sender.in_flight()),
        (5 * MSS, 5 * MSS)
    );
    sender.on_ack(30 * MS, BASE + 5 * MSS, OPEN, &[]);
    assert_eq!(sender.congestion_window(), 5 * MSS);
}

#[test]
fn a_loss_leaves_a_window_of_two_segments_at_least() {
    let mut sender = settled();
    send(&mut sender, 10 * MS, 1);
    send(&mut sender, 20 * MS, 1);
    sender.on_ack(30 * MS, BASE, OPEN, &[segments(1, 2)]);
    assert_eq!(
        (sender.congestion_window(), sender.threshold),
        (2 * MSS, 2 * MSS)
    );
}
