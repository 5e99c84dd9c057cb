# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured: the article's table, frames per poll, the timer's period, each measure alone, and where instructions go."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from irqlab.config.workload import Workload
from irqlab.methods import profile as profiling
from irqlab.methods import throughput
from irqlab.reproduce import reference
from irqlab.reproduce.paper import Data, Tables
from irqlab.reproduce.rtl8139cp.configurations import MEASURES, NAMES, SLOW_PERIOD_US, ablated, testbed, timer
from irqlab.reproduce.session import Session
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import Job
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial

FCS_BYTES = 4
SIZES = (60, 128, 256, 512, 1024, 1440)
"""The article's, without the FCS."""
QUICK_SIZES = (60, 512)
RUN_FRAMES = 1_000_000
"""The article's run is of more than this many; what is counted in a shorter one is scaled to it."""
PERIODS_US = (100, 400, 1000, 2000, 4000)
QUICK_PERIODS_US = (100, 1000, 4000)
GENTLE_PPS = 5_000.0
"""Carried by every period but the longest: a ring of 64 in 10 ms holds 6,400 frames/s."""
POLLS = ("cp_rx_poll", "irqmod_napi_poll")
TIMER_POLL = "rx_timer_poll"
"""Functions that are one poll each: of the kernel's driver, of ours."""
RATES = {"low": 1_000.0, "high": 40_000.0}
PAPER_NAMES = {"before": "rtl8139cp_napi_before", "after": "rtl8139cp_napi_after"}


def measure(session: Session) -> Tables:
    """The tables by the name of their CSV file."""
    sizes = QUICK_SIZES if session.quick else SIZES
    periods = QUICK_PERIODS_US if session.quick else PERIODS_US
    return {
        "receive": _receive(session, sizes),
        "capability": _capability(session, sizes),
        "polls": _polls(session),
        "period": _period(session, periods),
        "ablation": _ablation(session),
        "profile": _profile(session),
    }


def _counted(runner: TrialRunner, workload: Workload, rate_pps: float) -> dict[str, Any]:
    """A profiled trial: frames, receive interrupts, polls, polls that emptied the ring; of the measured window."""
    row = profiling.run(runner, workload, rate_pps=rate_pps)
    trial = row.trials[0]
    entries: dict[str, int] = {}
    for point in row.samples:
        entries[point.function] = entries.get(point.function, 0) + point.entries
    counted, share = trial.counters.driver.get("eth0", {}), _window_share(trial)
    # Polls are counted in the window: a timer goes on polling when nothing comes. It polls both interfaces; frames come to one.
    polls = sum(entries.get(name, 0) for name in POLLS) + entries.get(TIMER_POLL, 0) / 2
    if "rx_polls" in counted:
        done = max(0.0, polls - (counted["rx_polls"] - counted["rx_polls_done"]) * share)
        interrupts = counted["rx_interrupts"] * share
    else:
        done = entries.get("napi_complete_done", 0)
        interrupts = trial.counters.interrupts.get("eth0", 0) * share
    return {
        "sent": trial.total("sent"),
        "received": trial.total("received_in_window"),
        "pps": trial.forwarded_pps,
        "polls": polls,
        "polls_done": done,
        "rx_interrupts": interrupts,
        "instructions_per_frame": trial.instructions_per_frame,
        "owners": {name: count / row.summary.frames for name, count in row.summary.by_owner.items()},
        "contexts": {name: count / row.summary.frames for name, count in row.summary.by_context.items()},
    }


def _window_share(trial: ForwardingResult) -> float:
    """The measured window's share of the time in which frames are offered: counters are read before and after it."""
    return trial.spec.duration_ns / (trial.spec.duration_ns + trial.spec.warmup_ns)


def _receive(session: Session, sizes: tuple[int, ...]) -> Data:
    """The article's table: the wire's full rate is offered."""
    data = Data(
        "The article's tables: the wire's full rate offered, per run of 1,000,000 frames offered",
        (
            "frame_bytes", "configuration", "received_pps", "article_ipps", "frames_per_run", "article_tput",
            "rx_interrupts_per_run", "article_rxint", "polls_done_per_run", "article_done", "frames_per_poll", "wire_pps",
        ),
    )  # fmt: skip
    jobs = {}
    for size in sizes:
        workload = Workload(size=size + FCS_BYTES)
        for name in NAMES:
            at_once = partial(_at_wire_rate, workload=workload)
            jobs[size, name] = Job(f"{NAMES[name]} {size} bytes", testbed(session, name), at_once)
    for (size, name), found in session.all("the article's tables", jobs).items():
        said = reference.by(PAPER_NAMES[name], "frame_bytes")[str(size)] if name in PAPER_NAMES else {}
        scale = RUN_FRAMES / found["sent"]
        data.add(
            frame_bytes=size,
            configuration=name,
            received_pps=round(found["pps"], 1),
            article_ipps=reference.number(said.get("ipps")),
            frames_per_run=round(found["received"] * scale),
            article_tput=reference.number(said.get("tput")),
            rx_interrupts_per_run=round(found["rx_interrupts"] * scale),
            article_rxint=reference.number(said.get("rxint")),
            polls_done_per_run=round(found["polls_done"] * scale),
            article_done=reference.number(said.get("done")),
            frames_per_poll=_ratio(found["received"], found["polls"]),
            wire_pps=round(found["wire_pps"], 1),
        )
    return data


def _at_wire_rate(runner: TrialRunner, workload: Workload) -> dict[str, Any]:
    wire_pps = runner.wire_pps(workload)
    return {**_counted(runner, workload, wire_pps), "wire_pps": wire_pps}


def _ratio(a: float, b: float) -> float | None:
    return round(a / b, 3) if b else None


def _capability(session: Session, sizes: tuple[int, ...]) -> Data:
    """Receive capability against NAPI: throughput without loss."""
    data = Data(
        "Throughput without loss, frames/s, and what the timer gains over NAPI",
        ("frame_bytes", "before_pps", "after_pps", "napi_pps", "gain_percent", "gain_over_own_napi_percent", "article_percent",
         "capped"),
    )  # fmt: skip
    jobs = {
        (size, name): Job(
            f"{NAMES[name]} {size} bytes",
            testbed(session, name),
            partial(throughput.run, workload=Workload(size=size + FCS_BYTES)),
        )
        for size in sizes
        for name in NAMES
    }
    found = session.all("throughput", jobs)
    before, after = (reference.by(PAPER_NAMES[name], "frame_bytes") for name in ("before", "after"))
    for size in sizes:
        pps = {name: found[size, name].total_throughput_pps or 0.0 for name in NAMES}
        said = float(after[str(size)]["ipps"]) / float(before[str(size)]["ipps"])
        data.add(
            frame_bytes=size,
            before_pps=round(pps["before"], 1),
            after_pps=round(pps["after"], 1),
            napi_pps=round(pps["napi"], 1),
            gain_percent=round(100 * (pps["after"] / pps["before"] - 1), 2),
            gain_over_own_napi_percent=round(100 * (pps["after"] / pps["napi"] - 1), 2),
            article_percent=round(100 * (said - 1), 2),
            capped=all(found[size, name].line_rate_limited for name in NAMES),
        )
    return data


def _polls(session: Session) -> Data:
    """Frames per poll at a low and a high rate."""
    data = Data(
        "Frames per poll and receive interrupts per frame, 60 bytes",
        ("configuration", "rate", "offered_pps", "received_pps", "frames_per_poll", "rx_interrupts_per_frame"),
    )
    jobs = {
        (name, rate): Job(
            f"{NAMES[name]} {rate} rate", testbed(session, name), partial(_counted, workload=Workload(size=64), rate_pps=pps)
        )
        for name in NAMES
        for rate, pps in RATES.items()
    }
    for (name, rate), found in session.all("frames per poll", jobs).items():
        data.add(
            configuration=name,
            rate=rate,
            offered_pps=RATES[rate],
            received_pps=round(found["pps"], 1),
            frames_per_poll=_ratio(found["received"], found["polls"]),
            rx_interrupts_per_frame=_ratio(found["rx_interrupts"], found["received"]),
        )
    return data


def _loaded(runner: TrialRunner, rate_pps: float | None) -> ForwardingResult:
    """A trial of short frames at a rate; None: the wire's."""
    workload = Workload(size=64)
    trial = runner.trial(runner.spec(workload, runner.wire_pps(workload) if rate_pps is None else rate_pps))
    runner.progress(f"{trial.forwarded_pps / 1e3:.1f} kpps forwarded")
    return trial


def _latency(trial: ForwardingResult) -> dict[str, float | None]:
    """In µs; and the frames that the DUT holds at a time: arrivals times the time in it (Little's law)."""
    latency = trial.streams[0]["latency"]
    if not latency["count"]:
        return {}
    figures = {f"latency_{key}_us": latency[f"{key}_ns"] / 1e3 for key in ("p50", "p99", "max")}
    received_pps = trial.total("received") / trial.window_s
    return {**figures, "held_frames": round(received_pps * latency["mean_ns"] / 1e9, 3)}


def _period(session: Session, periods: tuple[int, ...]) -> Data:
    """What the timer's period costs and allows."""
    data = Data(
        "The timer's period: latency and frames held at 5,000 frames/s, and what is forwarded of the wire's full rate",
        ("configuration", "period_us", "latency_p50_us", "latency_p99_us", "latency_max_us", "held_frames", "loss_ratio",
         "full_rate_forwarded_pps", "ring_limit_pps"),
    )  # fmt: skip
    testbeds = {("before", 0): testbed(session, "before"), ("napi", 0): testbed(session, "napi")}
    testbeds |= {("after", period): timer(session, period) for period in periods}
    jobs = {
        (*key, rate): Job(f"{NAMES[key[0]]} {key[1]} µs" if key[1] else NAMES[key[0]], of, partial(_loaded, rate_pps=rate))
        for key, of in testbeds.items()
        for rate in (GENTLE_PPS, None)
    }
    found = session.all("the timer's period", jobs)
    for name, period in testbeds:
        gentle, full = found[name, period, GENTLE_PPS], found[name, period, None]
        ring = testbeds[name, period].describe()["dut"]["ring_rx"]
        data.add(
            configuration=name,
            period_us=period or None,
            **_latency(gentle),
            loss_ratio=gentle.loss_ratio,
            full_rate_forwarded_pps=round(full.forwarded_pps, 1),
            ring_limit_pps=round(ring * 1e6 / period, 1) if period and ring else None,
        )
    return data


class _Patient(TrialRunner):
    """Frames may come out later than usual by the longest period: with a timer of 10 ms none comes out within 2 ms."""

    def spec(self, workload: Workload, rate_pps: float) -> ForwardingTrial:
        usual = super().spec(workload, rate_pps)
        return replace(usual, late_ns=usual.late_ns + SLOW_PERIOD_US * 1000)


def _search(runner: TrialRunner) -> MethodResult:
    return throughput.run(runner, Workload(size=64))


def _search_slow(runner: TrialRunner) -> MethodResult:
    return _search(_Patient(runner.testbed, runner.slots, runner.progress))


def _ablation(session: Session) -> Data:
    """Each measure left out alone."""
    data = Data(
        "Each measure left out alone: what it earns",
        ("without", "what", "throughput_pps", "earns_percent", "full_rate_forwarded_pps", "full_rate_instructions_per_frame",
         "latency_p50_us", "latency_max_us", "held_frames"),
    )  # fmt: skip
    testbeds = {name: ablated(session, name) for name in MEASURES}
    searched = session.all(
        "each measure alone: throughput",
        {name: Job(MEASURES[name], of, _search_slow if name == "period" else _search) for name, of in testbeds.items()},
    )
    jobs = {
        (name, rate): Job(MEASURES[name], of, partial(_loaded, rate_pps=rate))
        for name, of in testbeds.items()
        for rate in (GENTLE_PPS, None)
    }
    trials = session.all("each measure alone: latency and overload", jobs)
    whole = searched["all"].total_throughput_pps or 0.0
    for name in MEASURES:
        pps, full = searched[name].total_throughput_pps or 0.0, trials[name, None]
        figures = _latency(trials[name, GENTLE_PPS])
        figures.pop("latency_p99_us", None)
        data.add(
            without=name,
            what=MEASURES[name],
            throughput_pps=round(pps, 1),
            earns_percent=None if name == "all" or not pps else round(100 * (whole / pps - 1), 2),
            full_rate_forwarded_pps=round(full.forwarded_pps, 1),
            full_rate_instructions_per_frame=_rounded(full.instructions_per_frame),
            **figures,
        )
    return data


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _profile(session: Session) -> Data:
    """Where the instructions of a frame go when the wire's full rate is offered."""
    data = Data(
        "Instructions a frame by owner and by context, 60 bytes, the wire's full rate offered",
        ("configuration", "by", "name", "instructions_per_frame"),
    )
    workload = Workload(size=64)
    jobs = {name: Job(NAMES[name], testbed(session, name), partial(_at_wire_rate, workload=workload)) for name in NAMES}
    for name, found in session.all("where instructions go", jobs).items():
        for by in ("owners", "contexts"):
            for what, instructions in found[by].items():
                data.add(configuration=name, by=by.removesuffix("s"), name=what, instructions_per_frame=round(instructions, 2))
    return data
