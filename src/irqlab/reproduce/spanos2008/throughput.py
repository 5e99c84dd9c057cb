# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables 1 and 2: zero-loss throughput, both directions at once, and what each variant gains over ORIGINAL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from irqlab.config.schemes import VARIANTS
from irqlab.config.traffic import WIRE_OVERHEAD_BYTES
from irqlab.methods import throughput
from irqlab.reproduce import reference
from irqlab.reproduce.paper import Data
from irqlab.reproduce.spanos2008.run import Run
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import Job
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult

SIZES = (64, 128, 256, 512, 896, 1024, 1280, 1518)
QUICK_SIZES = (64, 256, 1518)
COMPARABLE = (64, 128, 256, 512)
"""Sizes at which the paper's fastest variant is below the wire's rate, so that all six can be compared (section 4.1)."""

Results = dict[tuple[int, str], MethodResult]


@dataclass(frozen=True)
class Searched:
    """What was found, by frame bytes and variant."""

    wire: Results
    """No more offered than the wire carries: the paper's test."""
    free: Results
    """Without the wire's ceiling: the driver's own limit. Where that is below the wire's rate it is the same result."""


def search(run: Run, sizes: Sequence[int]) -> Searched:
    """The throughput of every variant at every size."""
    jobs = {v: Job(v, run.testbed(v), partial(_sizes, run=run, sizes=sizes)) for v in VARIANTS}
    found = run.session.all(f"throughput{run.label}", jobs)
    cells = [(size, variant) for size in sizes for variant in VARIANTS]
    wire, free = ({(size, v): found[v][n][size] for size, v in cells} for n in (0, 1))
    run.session.results += [*wire.values(), *(free[c] for c in cells if free[c] is not wire[c])]
    return Searched(wire, free)


def _sizes(runner: TrialRunner, run: Run, sizes: Sequence[int]) -> tuple[dict[int, MethodResult], dict[int, MethodResult]]:
    """One variant, size after size: the time per frame of the sizes before says where to search."""
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


def paper_mbps() -> dict[tuple[int, str], float]:
    """Table 1 of the paper: Mbit/s per interface by frame bytes and variant."""
    return {
        (int(row["frame_bytes"]), variant): float(row[variant])
        for row in reference.records("spanos2008_table1_throughput")
        for variant in VARIANTS
    }


def table1(found: Searched, title: str = "Table 1: zero-loss throughput per interface, Mbit/s") -> Data:
    """Throughput beside the paper's. `capped`: the wire, not the DUT, was the limit; `paper_capped`: in the paper.

    `free_mbps` and `us_per_frame`, which is 1/rate, are without the wire's ceiling.
    """
    data = Data(
        title,
        ("frame_bytes", "variant", "throughput_mbps", "paper_mbps", "ratio", "throughput_pps", "capped", "paper_capped",
         "free_mbps", "us_per_frame"),
    )  # fmt: skip
    paper = paper_mbps()
    for (size, variant), result in found.wire.items():
        free = found.free[size, variant]
        mbps, pps, said = result.per_interface_throughput_mbps or 0.0, result.total_throughput_pps or 0.0, paper[size, variant]
        data.add(
            frame_bytes=size,
            variant=variant,
            throughput_mbps=round(mbps, 4),
            paper_mbps=said,
            ratio=round(mbps / said, 4),
            throughput_pps=round(pps, 2),
            capped=result.line_rate_limited,
            paper_capped=said >= 100,
            free_mbps=round(free.per_interface_throughput_mbps or 0.0, 4),
            us_per_frame=round(us_per_frame(free), 5),
        )
    return data


def table2(first: Data) -> Data:
    """What each variant gains over ORIGINAL; the paper's gain is taken from its table 1, whose columns are in order."""
    data = Data(
        "Table 2: improvement over ORIGINAL, %", ("frame_bytes", "variant", "improvement_percent", "paper_percent", "capped")
    )
    for row in first.records():
        if row["variant"] == "ORIGINAL":
            continue
        base = first.one(frame_bytes=row["frame_bytes"], variant="ORIGINAL")
        data.add(
            frame_bytes=row["frame_bytes"],
            variant=row["variant"],
            improvement_percent=round(100 * (row["throughput_mbps"] / base["throughput_mbps"] - 1), 2),
            paper_percent=round(100 * (row["paper_mbps"] / base["paper_mbps"] - 1), 2),
            capped=row["capped"] or base["capped"],
        )
    return data


def order_differs(first: Data) -> list[tuple[int, str, str]]:
    """Where the order of the variants is not the paper's: frame bytes, and the two that stand the other way round.

    Only cells in which both are below the wire's rate in the paper have an order; here the wire's ceiling is lifted.
    """
    found = []
    for size in dict.fromkeys(row["frame_bytes"] for row in first.records()):
        rows = [r for r in first.records(frame_bytes=size) if not r["paper_capped"]]
        rows.sort(key=lambda r: r["paper_mbps"])
        for n, slow in enumerate(rows):
            found += [
                (size, slow["variant"], fast["variant"])
                for fast in rows[n + 1 :]
                if fast["paper_mbps"] > slow["paper_mbps"] and fast["free_mbps"] <= slow["free_mbps"]
            ]
    return found


def mbps_of(pps_both: float, frame_bytes: float) -> float:
    """Frames/s of both directions together as Mbit/s per interface, preamble and gap counted."""
    return pps_both / 2 * (frame_bytes + WIRE_OVERHEAD_BYTES) * 8 / 1e6


def ratios(first: Data, size: int) -> Mapping[str, float]:
    """Throughput relative to ORIGINAL at one size."""
    base = first.one(frame_bytes=size, variant="ORIGINAL")["throughput_mbps"]
    return {row["variant"]: row["throughput_mbps"] / base for row in first.records(frame_bytes=size)}
