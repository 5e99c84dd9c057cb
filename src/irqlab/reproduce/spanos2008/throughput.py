# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables 1 and 2: zero-loss throughput, both directions at once, and what each variant gains over ORIGINAL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from irqlab.config.schemes import VARIANT_WEIGHT, VARIANTS, Schemes
from irqlab.config.traffic import WIRE_OVERHEAD_BYTES
from irqlab.methods import throughput
from irqlab.present.columns import Col
from irqlab.reproduce import reference
from irqlab.reproduce.spanos2008.run import Run
from irqlab.reproduce.table import Table, table_of
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import Job
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult

WIRE_MBPS = 100.0
SIZES = (64, 128, 256, 512, 896, 1024, 1280, 1518)
QUICK_SIZES = (64, 256, 1518)
BASE = "ORIGINAL"
"""The variant that the others are compared with."""

Results = dict[tuple[int, str], MethodResult]


@dataclass(frozen=True)
class ThroughputRow:
    """A cell of tables 1. Mbit/s are per interface, preamble and gap counted."""

    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    variant: Annotated[str, Col("Variant")]
    throughput_mbps: Annotated[float, Col("", "Mbit/s")]
    paper_mbps: Annotated[float, Col("paper")]
    ratio: Annotated[float, Col("ratio")]
    throughput_pps: Annotated[float, Col("Measured", "frames/s")]
    """Both directions together."""
    capped: Annotated[bool, Col("Wire is the limit")]
    """The wire, not the DUT, was the limit."""
    paper_capped: Annotated[bool, Col("in the paper")]
    free_mbps: Annotated[float, Col("Without the wire's limit", "Mbit/s")]
    us_per_frame: Annotated[float, Col("Time a frame", "µs")]
    """1/rate, without the wire's limit."""


@dataclass(frozen=True)
class GainRow:
    """A cell of table 2."""

    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    variant: Annotated[str, Col("Variant")]
    improvement_percent: Annotated[float, Col("", "%")]
    paper_percent: Annotated[float, Col("paper")]
    """By its table 1."""
    printed_percent: Annotated[float | None, Col("printed")]
    """In its table 2; None: it has no such row."""
    capped: Annotated[bool, Col("Wire is the limit")]


@dataclass(frozen=True)
class Searched:
    """What was found, by frame bytes and variant."""

    wire: Results
    """No more offered than the wire carries: the paper's test."""
    free: Results
    """Without the wire's ceiling: the driver's own limit. Where that is below the wire's rate it is the same result."""


def search(run: Run, sizes: Sequence[int]) -> Searched:
    """The throughput of every variant at every size."""
    jobs = {v: Job(v, run.testbed(v), partial(sizes_of, run=run, sizes=sizes)) for v in VARIANTS}
    found = run.session.all(f"throughput{run.label}", jobs)
    cells = [(size, variant) for size in sizes for variant in VARIANTS]
    wire, free = ({(size, v): found[v][n][size] for size, v in cells} for n in (0, 1))
    run.session.results += [*wire.values(), *(free[c] for c in cells if free[c] is not wire[c])]
    return Searched(wire, free)


def figures_of(wire: MethodResult, free: MethodResult) -> dict[str, Any]:
    """Columns of a search up to the wire's rate, and without this limit."""
    return {
        "throughput_mbps": round(wire.per_interface_throughput_mbps or 0.0, 4),
        "throughput_pps": round(wire.total_throughput_pps or 0.0, 2),
        "capped": bool(wire.line_rate_limited),
        "free_mbps": round(free.per_interface_throughput_mbps or 0.0, 4),
        "us_per_frame": round(us_per_frame(free), 5),
    }


def sizes_of(runner: TrialRunner, run: Run, sizes: Sequence[int]) -> tuple[dict[int, MethodResult], dict[int, MethodResult]]:
    """One driver, size after size: the time per frame of the sizes before says where to search.

    Returns the results by frame bytes: up to the wire's rate, and without this limit.
    """
    wire: dict[int, MethodResult] = {}
    free: dict[int, MethodResult] = {}
    for size in sizes:
        workload = replace(run.search_plan(size), expected_pps=_expected_pps({s: us_per_frame(r) for s, r in free.items()}, size))
        wire[size] = free[size] = throughput.run(runner, workload)
        if wire[size].line_rate_limited:
            free[size] = throughput.run(runner, replace(workload, above_line_rate=True))
    return wire, free


def _expected_pps(known_us: Mapping[int, float], size: int) -> float | None:
    """Frames/s per direction if the time per frame is linear in the size; None if no size is known yet."""
    if not known_us:
        return None
    (first, first_us), (last, last_us) = (list(known_us.items()) * 2)[-2:]
    slope = (last_us - first_us) / (last - first) if last != first else 0.0
    return 1e6 / (last_us + slope * (size - last)) / 2


def us_per_frame(found: MethodResult) -> float:
    """1/rate, both directions together, in µs."""
    return 1e6 / (found.total_throughput_pps or 1.0)


def best_trial(found: MethodResult) -> ForwardingResult:
    """The trial at the throughput, of those that a search made."""
    rate_pps = throughput.rate_per_direction(found)
    return next(trial for trial in found.trials if trial.spec.loads[0].rate_pps == rate_pps)


def paper_cells(table: str) -> dict[tuple[int, str], float]:
    """A table of the paper's, of frame sizes and variants: what is printed there."""
    return {
        (int(row["frame_bytes"]), variant): float(row[variant])
        for row in reference.records(f"spanos2008_{table}")
        for variant in VARIANTS
        if variant in row
    }


def paper_mbps() -> dict[tuple[int, str], float]:
    """Table 1 of the paper: Mbit/s per interface by frame bytes and variant."""
    return paper_cells("table1_throughput")


def table1(found: Searched, title: str = "Table 1: zero-loss throughput per interface, Mbit/s") -> Table[ThroughputRow]:
    """Throughput beside the paper's."""
    paper = paper_mbps()
    rows = (
        {
            **figures_of(result, found.free[size, variant]),
            "frame_bytes": size,
            "variant": variant,
            "paper_mbps": paper[size, variant],
            "ratio": round((result.per_interface_throughput_mbps or 0.0) / paper[size, variant], 4),
            "paper_capped": paper[size, variant] >= WIRE_MBPS,
        }
        for (size, variant), result in found.wire.items()
    )
    return table_of(title, ThroughputRow, rows)


def table2(first: Table[ThroughputRow]) -> Table[GainRow]:
    """What each variant gains over ORIGINAL; beside it what the paper's table 1 gives, and what its table 2 prints."""
    printed = printed_percent()
    rows = []
    for row in first.where(lambda r: r.variant != BASE):
        base = base_of(first, row.frame_bytes)
        gain = GainRow(
            frame_bytes=row.frame_bytes,
            variant=row.variant,
            improvement_percent=round(100 * (row.throughput_mbps / base.throughput_mbps - 1), 2),
            paper_percent=round(100 * (row.paper_mbps / base.paper_mbps - 1), 2),
            printed_percent=printed.get((row.frame_bytes, row.variant)),
            capped=row.capped or base.capped,
        )
        rows.append(gain)
    return Table(f"Table 2: improvement over {BASE}, %", GainRow, tuple(rows))


def printed_percent() -> dict[tuple[int, str], float]:
    """Table 2 of the paper as it is printed, by frame bytes and variant."""
    return paper_cells("table2_improvement")


def base_of(first: Table[ThroughputRow], frame_bytes: int) -> ThroughputRow:
    """ORIGINAL at one size."""
    return first.one(lambda r: (r.frame_bytes, r.variant) == (frame_bytes, BASE))


def ordered(first: Table[ThroughputRow], frame_bytes: int) -> list[ThroughputRow]:
    """The variants that are below the wire's rate in the paper, at one size, in the paper's order; the slowest first."""
    rows = first.where(lambda r: r.frame_bytes == frame_bytes and not r.paper_capped)
    return sorted(rows, key=lambda r: r.paper_mbps)


def order_differs(rows: Sequence[ThroughputRow]) -> list[tuple[ThroughputRow, ThroughputRow]]:
    """Pairs whose order is not the paper's: the one that is slower there, and the faster. `rows`: see `ordered`.

    Here the wire's limit is lifted.
    """
    return [
        (slow, fast)
        for n, slow in enumerate(rows)
        for fast in rows[n + 1 :]
        if fast.paper_mbps > slow.paper_mbps and fast.free_mbps <= slow.free_mbps
    ]


def mbps_of(pps_both: float, frame_bytes: float) -> float:
    """Frames/s of both directions together as Mbit/s per interface, preamble and gap counted."""
    return pps_both / 2 * (frame_bytes + WIRE_OVERHEAD_BYTES) * 8 / 1e6


# Schemes of today, searched like table 1: completions taken in the poll, and moderation by the kernel's net_dim.

SCHEMES = {"NAPI, poll": ("napi", "poll"), "dim, off": ("dim", "off"), "dim, poll": ("dim", "poll")}
"""Receive and transmit scheme. `poll` with NAPI is what nearly all drivers of today do."""


@dataclass(frozen=True)
class TodayRow:
    """A size and a pair of schemes. Mbit/s are per interface, preamble and gap counted."""

    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    schemes: Annotated[str, Col("Schemes")]
    """One of SCHEMES."""
    throughput_mbps: Annotated[float, Col("", "Mbit/s")]
    capped: Annotated[bool, Col("Wire is the limit")]
    free_mbps: Annotated[float, Col("Without the wire's limit", "Mbit/s")]
    free_ratio: Annotated[float, Col(f"times {BASE}")]
    """Of ORIGINAL's, both without the wire's limit."""
    us_per_frame: Annotated[float, Col("Time a frame", "µs")]
    """1/rate, without the wire's limit."""


def today(run: Run, sizes: Sequence[int], first: Table[ThroughputRow]) -> Table[TodayRow]:
    """The throughput with each pair of schemes at every size. `first`: table 1, for ORIGINAL's."""
    beds = {name: run.bed(Schemes(rx=rx, tx=tx, weight=VARIANT_WEIGHT)) for name, (rx, tx) in SCHEMES.items()}
    jobs = {name: Job(name, bed, partial(sizes_of, run=run, sizes=sizes)) for name, bed in beds.items()}
    found = run.session.all(f"schemes of today{run.label}", jobs)
    rows = []
    for size in sizes:
        base = base_of(first, size)
        for name in SCHEMES:
            wire, free = (results[size] for results in found[name])
            run.session.results += [wire] if free is wire else [wire, free]
            ratio = round((free.per_interface_throughput_mbps or 0.0) / base.free_mbps, 4)
            rows.append({**figures_of(wire, free), "frame_bytes": size, "schemes": name, "free_ratio": ratio})
    return table_of("Schemes of today: zero-loss throughput per interface, Mbit/s", TodayRow, rows)
