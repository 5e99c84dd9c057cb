// SPDX-License-Identifier: GPL-2.0-or-later
//! How fast the hot path is: `cargo test --release -p irqlab-tester --test suite -- --ignored --nocapture speed`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Instant;

use irqlab_tester::backend::{Backend, Outcome};
use serde_json::{Value, json};

use crate::laboratory::{Laboratory, stream, trial, with};

/// A device under test that costs nothing: what goes in comes out, a little later.
struct Mirror {
    now_ns: u64,
    frame: Vec<u8>,
    full: bool,
}

impl Backend for Mirror {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }
    fn instructions(&self) -> u64 {
        self.now_ns / 4
    }
    fn send(&mut self, _: usize, frame: &[u8]) -> Outcome {
        self.frame.clear();
        self.frame.extend_from_slice(frame);
        self.full = true;
        Outcome::Sent
    }
}

/// Counts each thread's allocations.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: hands everything to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Starts a trial of `duration_ns` with these streams.
fn start(streams: &[Value], duration_ns: u64) -> (Laboratory, Mirror) {
    let mut lab = Laboratory::at(1_000_000_000);
    let mut mirror = Mirror {
        now_ns: 0,
        frame: Vec::with_capacity(1_600),
        full: false,
    };
    let trial = with(trial(streams), json!({"duration_ns": duration_ns}));
    let line = json!({"op": "start", "trial": trial}).to_string();
    lab.tester.command(&line, &mut mirror);
    (lab, mirror)
}

/// Mirrors every frame until the trial has ended.
fn finish(lab: &mut Laboratory, mirror: &mut Mirror) {
    while let Some(deadline_ns) = lab.tester.deadline_ns() {
        mirror.now_ns = deadline_ns;
        lab.tester.advance(mirror);
        if std::mem::take(&mut mirror.full) {
            lab.tester.receive(1, mirror.now_ns + 50, &mirror.frame);
        }
    }
}

/// Lists grow by doubling, so a hundred times the frames take a few more allocations, not a hundred times as many.
#[test]
fn a_stream_frame_allocates_nothing() {
    let allocations = |duration_ns| {
        let (mut lab, mut mirror) = start(&[stream(100_000.0)], duration_ns);
        let before = ALLOCATIONS.get();
        finish(&mut lab, &mut mirror);
        ALLOCATIONS.get() - before
    };
    let (few, many) = (allocations(10_000_000), allocations(1_000_000_000));
    assert!(
        many < few + 30,
        "1,000 frames: {few}, 100,000 frames: {many}"
    );
}

fn measure(name: &str, streams: &[Value]) {
    let (mut lab, mut mirror) = start(streams, 2_000_000_000);
    let begin = Instant::now();
    finish(&mut lab, &mut mirror);
    let simulated = begin.elapsed();
    let line = r#"{"op":"result"}"#;
    let irqlab_tester::tester::Answer::Reply(reply) = lab.tester.command(line, &mut mirror) else {
        panic!()
    };
    let reporting = begin.elapsed() - simulated;
    let result: Value = serde_json::from_str(&reply).unwrap();
    let received = |s: &Value| s["received"].as_u64().unwrap();
    let frames: u64 = result["ok"]["streams"]
        .as_array()
        .unwrap()
        .iter()
        .map(received)
        .sum();
    assert!(frames > 10_000, "{reply}");
    let rate = frames as f64 / simulated.as_secs_f64();
    println!(
        "{name}: {frames} frames, {rate:.0} frames/s, {:.0} ns a frame; result {reporting:?}",
        1e9 / rate
    );
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let sized = |bytes: u64| json!({"size": {"kind": "fixed", "frame_bytes": bytes}});
    let imix = json!({"size": {"kind": "imix", "mix": [[64, 7], [594, 4], [1518, 1]]}});
    measure("64 bytes, constant", &[stream(1_000_000.0)]);
    measure(
        "1518 bytes, constant",
        &[with(stream(80_000.0), sized(1518))],
    );
    let poisson = json!({"arrivals": {"kind": "poisson", "rate_pps": 200_000.0}});
    measure("IMIX, Poisson", &[with(with(stream(1.0), poisson), imix)]);
    measure("64 bytes, 16 streams", &vec![stream(60_000.0); 16]);
    measure("64 bytes, 256 streams", &vec![stream(4_000.0); 256]);
}
