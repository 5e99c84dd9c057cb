# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured: the article's table, frames per poll, the timer's period, each measure alone, and where instructions go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from irqlab.config.workload import Workload
from irqlab.methods import profile as profiling
from irqlab.methods import throughput
from irqlab.present.columns import Col
from irqlab.reproduce import reference
from irqlab.reproduce.rtl8139cp import periods
from irqlab.reproduce.rtl8139cp.configurations import MEASURES, NAMES, ablated, bed_of
from irqlab.reproduce.rtl8139cp.periods import CardRow, ChipRow, HardwareRow, RuleRow
from irqlab.reproduce.rtl8139cp.trials import (
    GENTLE_PPS,
    Loaded,
    gain_percent,
    gained,
    loaded,
    search,
    throughput_pps,
)
from irqlab.reproduce.session import Session, cases, measured, workload_of
from irqlab.reproduce.table import Table, table_of
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import Job
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult

FCS_BYTES = 4
SIZES = (60, 128, 256, 512, 1024, 1440)
"""The article's, without the FCS."""
QUICK_SIZES = (60, 512)
RUN_FRAMES = 1_000_000
"""The article's run is of more than this many; what is counted in a shorter one is scaled to it."""
PERIODS_US = (100, 400, 1000, 2000, 4000)
QUICK_PERIODS_US = (100, 1000, 4000)
POLLS = ("cp_rx_poll", "irqmod_poll")
TIMER_POLL = "rx_timer_poll"
"""Functions that are one poll each: of the kernel's driver, of ours."""
SLOW = ("period", "top_half")
"""Measures that are no part of the quick look: the first takes long, the second makes no difference."""
RATES = {"low": 1_000.0, "high": 40_000.0}
HOWTO = "napi_howto_e1000"
PAPER_NAMES = {"before": "rtl8139cp_napi_before", "after": "rtl8139cp_napi_after"}


def _title(name: str) -> str:
    return NAMES[name]


@dataclass(frozen=True)
class ReceiveRow:
    """A row of the article's tables: the wire's full rate is offered. A run is of RUN_FRAMES frames offered."""

    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    configuration: Annotated[str, Col("", format=_title)]
    received_pps: Annotated[float, Col("received", "frames/s")]
    article_ipps: Annotated[float | None, Col("article")]
    frames_per_run: Annotated[int, Col("frames per run")]
    article_tput: Annotated[float | None, Col("article")]
    rx_interrupts_per_run: Annotated[int, Col("RX interrupts")]
    article_rxint: Annotated[float | None, Col("article")]
    polls_done_per_run: Annotated[int, Col("polls that emptied the ring")]
    article_done: Annotated[float | None, Col("article")]
    frames_per_poll: Annotated[float | None, Col("frames per poll")]
    wire_pps: Annotated[float, Col("the wire carries", "frames/s")]


@dataclass(frozen=True)
class CapabilityRow:
    """Throughput without loss, in frames/s, and what the timer gains over NAPI."""

    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    before_pps: Annotated[float, Col(NAMES["before"])]
    after_pps: Annotated[float, Col(NAMES["after"])]
    napi_pps: Annotated[float, Col(NAMES["napi"])]
    gain_percent: Annotated[float, Col("timer over 8139cp", "%")]
    gain_over_own_napi_percent: Annotated[float, Col("timer over own NAPI", "%")]
    article_percent: Annotated[float, Col("article's table", "%")]
    capped: Annotated[bool, Col("wire is the limit")]


@dataclass(frozen=True)
class PollRow:
    """Frames per poll, 60 bytes."""

    configuration: Annotated[str, Col("", format=_title)]
    rate: Annotated[str, Col("rate")]
    """low or high."""
    offered_pps: Annotated[float, Col("offered", "frames/s")]
    received_pps: Annotated[float, Col("received", "frames/s")]
    frames_per_poll: Annotated[float | None, Col("frames per poll")]
    rx_interrupts_per_frame: Annotated[float | None, Col("RX interrupts a frame")]


@dataclass(frozen=True)
class PeriodRow:
    """The timer's period: latency and frames held at GENTLE_PPS, and what is forwarded of the wire's full rate."""

    configuration: Annotated[str, Col("", format=_title)]
    period_us: Annotated[int | None, Col("period", "µs")]
    """None: no timer."""
    latency_p50_us: Annotated[float | None, Col("p50", "µs")]
    latency_p99_us: Annotated[float | None, Col("p99", "µs")]
    latency_max_us: Annotated[float | None, Col("max", "µs")]
    held_frames: Annotated[float | None, Col("frames held")]
    """The mean number of frames in the DUT."""
    loss_ratio: Annotated[float, Col("loss", "share")]
    full_rate_forwarded_pps: Annotated[float, Col("forwarded at the wire's full rate", "frames/s")]
    ring_limit_pps: Annotated[float | None, Col("ring's limit", "frames/s")]
    """Descriptors per period."""


@dataclass(frozen=True)
class AblationRow:
    """A measure left out alone."""

    without: Annotated[str, Col("")]
    what: Annotated[str, Col("left out")]
    throughput_pps: Annotated[float, Col("throughput", "frames/s")]
    earns_percent: Annotated[float | None, Col("it earns", "%")]
    """What all measures together forward more than without it."""
    full_rate_forwarded_pps: Annotated[float, Col("forwarded at the wire's full rate", "frames/s")]
    full_rate_instructions_per_frame: Annotated[float | None, Col("instructions a frame there")]
    latency_p50_us: Annotated[float | None, Col("p50", "µs")]
    latency_max_us: Annotated[float | None, Col("max", "µs")]
    held_frames: Annotated[float | None, Col("frames held")]


@dataclass(frozen=True)
class ProfileRow:
    """Where the instructions of a frame go."""

    configuration: Annotated[str, Col("", format=_title)]
    by: Annotated[str, Col("by")]
    """owner or context."""
    name: Annotated[str, Col("")]
    instructions_per_frame: Annotated[float, Col("instructions a frame")]


@dataclass(frozen=True)
class ProvenanceRow:
    """A row of the article's first table beside that of a gigabit NIC in the kernel's NAPI_HOWTO.txt."""

    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    article_ipps: Annotated[float, Col("article: Ipps")]
    howto_ipps: Annotated[float, Col("HOWTO, e1000")]
    article_tput: Annotated[float, Col("article: Tput")]
    howto_tput: Annotated[float, Col("HOWTO, e1000")]
    article_rxint: Annotated[float, Col("article: Rxint")]
    howto_rxint: Annotated[float, Col("HOWTO, e1000")]
    second_rxint: Annotated[float, Col("article's second table: Rxint")]
    howto_done: Annotated[float, Col("HOWTO: Done")]
    second_done: Annotated[float, Col("article's second table: Done")]


@dataclass(frozen=True)
class Tables:
    """The tables of the reproduction; their fields' names are those of the CSV files."""

    receive: Table[ReceiveRow]
    capability: Table[CapabilityRow]
    polls: Table[PollRow]
    period: Table[PeriodRow]
    ablation: Table[AblationRow]
    profile: Table[ProfileRow]
    chips: Table[ChipRow]
    rules: Table[RuleRow]
    provenance: Table[ProvenanceRow]
    cards: Table[CardRow] | None = None
    """None: the quick look."""
    hardware: Table[HardwareRow] | None = None
    """None: not asked for (`--hardware`)."""


def measure(session: Session) -> Tables:
    """All tables."""
    sizes = QUICK_SIZES if session.quick else SIZES
    chosen = QUICK_PERIODS_US if session.quick else PERIODS_US
    return Tables(
        receive=receive(session, sizes),
        capability=capability(session, sizes),
        polls=polls(session),
        period=period(session, chosen),
        ablation=ablation(session),
        profile=profile(session),
        chips=periods.chips(session),
        rules=periods.rules(session),
        provenance=provenance(),
        cards=None if session.quick else periods.cards(session),
        hardware=periods.hardware(session, session.hardware) if session.hardware else None,
    )


@dataclass(frozen=True)
class Counted:
    """What a profiled trial counted in its window."""

    sent: int
    received: int
    pps: float
    """Forwarded."""
    polls: float
    polls_done: float
    """Polls that emptied the ring."""
    rx_interrupts: float
    by_owner: Mapping[str, float]
    """Instructions a frame."""
    by_context: Mapping[str, float]
    wire_pps: float


def counted(runner: TrialRunner, workload: Workload, rate_pps: float | None) -> Counted:
    """Profiles a trial. `rate_pps`: None: the wire's."""
    wire_pps = runner.wire_pps(workload)
    row = profiling.run(runner, workload, rate_pps=wire_pps if rate_pps is None else rate_pps)
    trial = row.trials[0]
    entries: dict[str, int] = {}
    for point in row.samples:
        entries[point.function] = entries.get(point.function, 0) + point.entries
    of_driver, share, frames = trial.counters.driver.get("eth0", {}), _window_share(trial), row.summary.frames
    # Polls are counted in the window: a timer goes on polling when nothing comes. It polls both interfaces; frames come to one.
    polled = sum(entries.get(name, 0) for name in POLLS) + entries.get(TIMER_POLL, 0) / 2
    if "rx_polls" in of_driver:
        done = max(0.0, polled - (of_driver["rx_polls"] - of_driver["rx_polls_done"]) * share)
        interrupts = of_driver["rx_interrupts"] * share
    else:
        done = float(entries.get("napi_complete_done", 0))
        interrupts = trial.counters.interrupts.get("eth0", 0) * share
    return Counted(
        sent=trial.total("sent"),
        received=trial.total("received_in_window"),
        pps=trial.forwarded_pps,
        polls=polled,
        polls_done=done,
        rx_interrupts=interrupts,
        by_owner={name: count / frames for name, count in row.summary.by_owner.items()},
        by_context={name: count / frames for name, count in row.summary.by_context.items()},
        wire_pps=wire_pps,
    )


def _window_share(trial: ForwardingResult) -> float:
    """The measured window's share of the time in which frames are offered: counters are read before and after it."""
    return trial.spec.duration_ns / (trial.spec.duration_ns + trial.spec.warmup_ns)


def _counting(
    session: Session, label: str, name: str, frame_bytes: int = SIZES[0], rate_pps: float | None = None
) -> Job[Counted]:
    """Counts of the configuration of that name, at a rate; None: the wire's."""
    work = partial(counted, workload=workload_of(session.quick, frame_bytes + FCS_BYTES), rate_pps=rate_pps)
    return Job(f"{NAMES[name]} {label}".strip(), bed_of(session, name), work)


def receive(session: Session, sizes: tuple[int, ...]) -> Table[ReceiveRow]:
    """The article's tables."""

    def figures(found: Counted, frame_bytes: int, configuration: str) -> dict[str, float | None]:
        said = reference.by(PAPER_NAMES[configuration], "frame_bytes")[str(frame_bytes)] if configuration in PAPER_NAMES else {}
        scale = RUN_FRAMES / found.sent
        return {
            **{f"article_{column}": reference.number(said.get(column)) for column in ("ipps", "tput", "rxint", "done")},
            "received_pps": round(found.pps, 1),
            "frames_per_run": round(found.received * scale),
            "rx_interrupts_per_run": round(found.rx_interrupts * scale),
            "polls_done_per_run": round(found.polls_done * scale),
            "frames_per_poll": _ratio(found.received, found.polls),
            "wire_pps": round(found.wire_pps, 1),
        }

    return measured(
        session,
        "the article's tables",
        cases(frame_bytes=sizes, configuration=NAMES),
        lambda frame_bytes, configuration: _counting(session, f"{frame_bytes} bytes", configuration, frame_bytes),
    ).table(f"The article's tables: the wire's full rate offered, per run of {RUN_FRAMES:,} frames offered", ReceiveRow, figures)


def _ratio(a: float, b: float) -> float | None:
    return round(a / b, 3) if b else None


def provenance() -> Table[ProvenanceRow]:
    """The article's first table beside the one that its text is from."""
    articles = {"article": PAPER_NAMES["before"], "second": PAPER_NAMES["after"], "howto": HOWTO}
    said = {whose: reference.by(name, "frame_bytes") for whose, name in articles.items()}
    rows = [
        {f"{whose}_{column}": float(figure) for whose, by in said.items() for column, figure in by[size].items()}
        | {"frame_bytes": int(size)}
        for size in said["article"]
    ]
    return table_of("The article's first table beside NAPI_HOWTO.txt's, of a gigabit NIC", ProvenanceRow, rows)


def capability(session: Session, sizes: tuple[int, ...]) -> Table[CapabilityRow]:
    """Receive capability against NAPI: throughput without loss."""
    found = measured(
        session,
        "throughput",
        cases(frame_bytes=sizes, name=NAMES),
        lambda frame_bytes, name: Job(
            f"{NAMES[name]} {frame_bytes} bytes",
            bed_of(session, name),
            partial(throughput.run, workload=workload_of(session.quick, frame_bytes + FCS_BYTES)),
        ),
    )

    def figures(size: int) -> dict[str, float]:
        of = {name: found.of(frame_bytes=size, name=name) for name in NAMES}
        gains = gained(of["after"], of["before"], of["napi"])
        rates = {f"{name}_pps": round(throughput_pps(one), 1) for name, one in of.items()}
        limited = all(one.line_rate_limited for one in of.values())
        return {**gains, **rates, "frame_bytes": size, "article_percent": article_percent(size), "capped": limited}

    title = "Throughput without loss, frames/s, and what the timer gains over NAPI"
    return table_of(title, CapabilityRow, map(figures, sizes))


def article_percent(size: int) -> float:
    """What the article's tables gain at a frame size."""
    before, after = (float(reference.by(PAPER_NAMES[name], "frame_bytes")[str(size)]["ipps"]) for name in ("before", "after"))
    return gain_percent(after, before)


def polls(session: Session) -> Table[PollRow]:
    """Frames per poll at a low and a high rate."""
    return measured(
        session,
        "frames per poll",
        cases(configuration=NAMES, rate=RATES),
        lambda configuration, rate: _counting(session, f"{rate} rate", configuration, rate_pps=RATES[rate]),
    ).table(
        "Frames per poll and receive interrupts per frame, 60 bytes",
        PollRow,
        lambda found, rate, **_: {
            "offered_pps": RATES[rate],
            "received_pps": round(found.pps, 1),
            "frames_per_poll": _ratio(found.received, found.polls),
            "rx_interrupts_per_frame": _ratio(found.rx_interrupts, found.received),
        },
    )


def period(session: Session, periods: tuple[int, ...]) -> Table[PeriodRow]:
    """What the timer's period costs and allows."""

    def job(configuration: str, period_us: int | None) -> Job[Loaded]:
        label = f"{NAMES[configuration]} {period_us} µs" if period_us else NAMES[configuration]
        work = partial(loaded, workload=workload_of(session.quick))
        return Job(label, bed_of(session, configuration, period_us), work)

    def figures(found: Loaded, configuration: str, period_us: int | None) -> tuple[Loaded, dict[str, float | None]]:
        ring = bed_of(session, configuration, period_us).describe()["dut"]["ring_rx"]
        return found, {"ring_limit_pps": round(ring * 1e6 / period_us, 1) if period_us and ring else None}

    every = [*cases(configuration=("before", "napi"), period_us=(None,)), *cases(configuration=("after",), period_us=periods)]
    title = f"latency and frames held at {GENTLE_PPS:,.0f} frames/s, and what is forwarded of the wire's full rate"
    return measured(session, "the timer's period", every, job).table(f"The timer's period: {title}", PeriodRow, figures)


def ablation(session: Session) -> Table[AblationRow]:
    """Each measure left out alone, and two together; quick: not those of SLOW."""
    every = cases(without=[name for name in MEASURES if not session.quick or name not in SLOW])
    workload = workload_of(session.quick)
    searched = measured(
        session,
        "each measure alone: throughput",
        every,
        lambda without: Job(
            MEASURES[without], ablated(session, without), partial(search, workload=workload, patient=without == "period")
        ),
    )
    under_load = measured(
        session,
        "each measure alone: latency and overload",
        every,
        lambda without: Job(MEASURES[without], ablated(session, without), partial(loaded, workload=workload)),
    )
    whole_pps = throughput_pps(searched.of(without="all"))

    def figures(found: MethodResult, without: str) -> tuple[object, ...]:
        pps = throughput_pps(found)
        earns = None if without == "all" or not pps else gain_percent(whole_pps, pps)
        return under_load.of(without=without), {
            "what": MEASURES[without],
            "throughput_pps": round(pps, 1),
            "earns_percent": earns,
        }

    return searched.table("Each measure left out alone: what it earns", AblationRow, figures)


def profile(session: Session) -> Table[ProfileRow]:
    """Where the instructions of a frame go when the wire's full rate is offered."""
    found = measured(session, "where instructions go", cases(name=NAMES), lambda name: _counting(session, "", name))
    rows = [
        ProfileRow(case["name"], by, what, round(instructions, 2))
        for case, counts in found
        for by, shares in (("owner", counts.by_owner), ("context", counts.by_context))
        for what, instructions in shares.items()
    ]
    title = "Instructions a frame by owner and by context, 60 bytes, the wire's full rate offered"
    return Table(title, ProfileRow, tuple(rows))
