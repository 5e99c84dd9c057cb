# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables 1 and 2: zero-loss throughput, both directions at once, and what each variant gains over ORIGINAL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from irqlab.methods import throughput
from irqlab.reproduce import reference
from irqlab.reproduce.paper import Data
from irqlab.reproduce.session import Job
from irqlab.reproduce.spanos2008.run import Run
from irqlab.results import MethodResult
from irqlab.schemes import VARIANTS
from irqlab.trial import WIRE_OVERHEAD_BYTES, TrialResult

SIZES = (64, 128, 256, 512, 896, 1024, 1280, 1518)
QUICK_SIZES = (64, 256, 1518)
COMPARABLE = (64, 128, 256, 512)
"""Sizes at which the paper's fastest variant is below the wire's rate, so that all six can be compared (section 4.1)."""

Results = dict[tuple[int, str], MethodResult]


def search(run: Run, sizes: Sequence[int]) -> Results:
    """The throughput of every variant at every size: frame bytes, variant."""
    jobs = {}
    for size in sizes:
        for variant in VARIANTS:
            work = partial(throughput.run, plan=run.plan(size))
            jobs[size, variant] = Job(f"{variant} {size} bytes", run.bed(variant), work)
    return run.session.all(f"throughput{run.label}", jobs)


def best_trial(found: MethodResult) -> TrialResult:
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


def table1(found: Results, title: str = "Table 1: zero-loss throughput per interface, Mbit/s") -> Data:
    """Throughput beside the paper's. `capped`: the wire, not the DUT, was the limit; `paper_capped`: in the paper."""
    data = Data(
        title,
        ("frame_bytes", "variant", "throughput_mbps", "paper_mbps", "ratio", "throughput_pps", "us_per_frame", "capped",
         "paper_capped"),
    )  # fmt: skip
    paper = paper_mbps()
    for (size, variant), result in found.items():
        mbps, pps, said = result.throughput_mbps or 0.0, result.throughput_pps or 0.0, paper[size, variant]
        data.add(
            frame_bytes=size,
            variant=variant,
            throughput_mbps=round(mbps, 4),
            paper_mbps=said,
            ratio=round(mbps / said, 4),
            throughput_pps=round(pps, 2),
            us_per_frame=round(1e6 / pps, 5),
            capped=result.at_wire_rate,
            paper_capped=said >= 100,
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

    Only cells in which both are below the wire's rate, here and in the paper, have an order.
    """
    found = []
    for size in dict.fromkeys(row["frame_bytes"] for row in first.records()):
        rows = [r for r in first.records(frame_bytes=size) if not r["capped"] and not r["paper_capped"]]
        rows.sort(key=lambda r: r["paper_mbps"])
        for n, slow in enumerate(rows):
            found += [
                (size, slow["variant"], fast["variant"])
                for fast in rows[n + 1 :]
                if fast["paper_mbps"] > slow["paper_mbps"] and fast["throughput_mbps"] <= slow["throughput_mbps"]
            ]
    return found


def mbps_of(pps_both: float, frame_bytes: float) -> float:
    """Frames/s of both directions together as Mbit/s per interface, preamble and gap counted."""
    return pps_both / 2 * (frame_bytes + WIRE_OVERHEAD_BYTES) * 8 / 1e6


def ratios(first: Data, size: int) -> Mapping[str, float]:
    """Throughput relative to ORIGINAL at one size."""
    base = first.one(frame_bytes=size, variant="ORIGINAL")["throughput_mbps"]
    return {row["variant"]: row["throughput_mbps"] / base for row in first.records(frame_bytes=size)}
