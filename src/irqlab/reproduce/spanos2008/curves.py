# SPDX-License-Identifier: GPL-2.0-or-later
"""Figure 5: forwarded over offered load, and where forwarding collapses. No more is offered than the wire carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from irqlab.config.workload import Workload
from irqlab.methods import loss
from irqlab.present.columns import Col, figures
from irqlab.reproduce import reference
from irqlab.reproduce.spanos2008.run import Run
from irqlab.reproduce.spanos2008.throughput import Results, best_trial
from irqlab.reproduce.table import Table
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner

SIZES = (64, 256)
POINTS = 10
"""Loads, evenly spaced up to the wire's rate."""
QUICK_POINTS = 4
COLLAPSED = loss.COLLAPSED
"""Below this share of its maximum a variant has collapsed."""
PRECISION, QUICK_PRECISION = 0.01, 0.03
"""The collapse is found to this share of the load."""

Point = tuple[float, float]
"""Offered and forwarded, frames/s of both directions."""


@dataclass(frozen=True)
class LoadRow:
    """A point of figure 5. Rates are of both directions together."""

    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    variant: Annotated[str, Col("Variant")]
    offered_pps: Annotated[float, Col("Offered", "frames/s")]
    forwarded_pps: Annotated[float, Col("Forwarded", "frames/s")]
    loss_ratio: Annotated[float, Col("Lost", "share")]
    idle_ratio: Annotated[float, Col("CPU idle", "share")]


_DIGITS = figures(4)


@dataclass(frozen=True)
class CollapseRow:
    """Where a curve of figure 5 collapses. Rates are of both directions together, in frames/s."""

    frame_bytes: Annotated[int, Col("Frame", "bytes")]
    variant: Annotated[str, Col("Variant")]
    loss_free_pps: Annotated[float, Col("Loss-free", "frames/s", _DIGITS)]
    paper_loss_free_pps: Annotated[float | None, Col("paper", "", _DIGITS)]
    max_forwarded_pps: Annotated[float, Col("Most forwarded", "frames/s", _DIGITS)]
    collapse_pps: Annotated[float | None, Col("Collapse at", "frames/s", _DIGITS)]
    """None: there is none up to the wire's rate."""
    paper_collapse_pps: Annotated[float | None, Col("paper", "", _DIGITS)]
    collapse_ratio: Annotated[float | None, Col("Collapse / loss-free", "", _DIGITS)]
    paper_collapse_ratio: Annotated[float | None, Col("paper", "", _DIGITS)]
    plateau_ratio: Annotated[float, Col("At the wire's rate / most", "", _DIGITS)]
    """Forwarded at the wire's rate, as a share of the maximum."""


@dataclass(frozen=True)
class Collapse:
    """Where forwarding falls below COLLAPSED of its maximum, not to come back at any higher load looked at."""

    at_pps: float | None
    """The lowest such load; None: there is none up to the wire's rate."""
    above_pps: float | None
    """The highest load looked at at which it had not."""
    most_pps: float
    """The maximum forwarded."""


@dataclass(frozen=True)
class Curve:
    """A variant's curve."""

    result: MethodResult
    """Of method `loss`; its trials are in the order of their loads."""
    collapse: Collapse

    @property
    def loss_free_pps(self) -> float:
        """The throughput."""
        return self.result.total_throughput_pps or 0.0

    @property
    def ratio(self) -> float | None:
        """Collapse by throughput; None: there is none."""
        at_pps = self.collapse.at_pps
        return round(at_pps / self.loss_free_pps, 4) if at_pps and self.loss_free_pps else None


def find_collapse(points: Sequence[Point], forward: Callable[[float], Point], precision: float = PRECISION) -> Collapse:
    """Bisects between the last load of the curve that did not collapse and the next. `forward` measures at one load.

    The maximum is that of the curve: a point found on the way down does not raise it.
    """
    curve = sorted(points)
    most = max(forwarded for _, forwarded in curve)
    fallen = [forwarded < COLLAPSED * most for _, forwarded in curve]
    if not fallen[-1]:
        return Collapse(None, curve[-1][0], most)
    first = len(fallen) - next((n for n, down in enumerate(reversed(fallen)) if not down), len(fallen))
    low, high = (curve[first - 1][0] if first else 0.0), curve[first][0]
    while (high - low) / high > precision:
        offered, forwarded = forward((low + high) / 2)
        low, high = (low, offered) if forwarded < COLLAPSED * most else (offered, high)
    return Collapse(high, low, most)


@dataclass(frozen=True)
class Summary(loss.Summary):
    """What a curve says as a whole, and between which loads it collapses."""

    collapse_pps: float | None
    """The lowest load at which it has collapsed; None: none."""
    no_collapse_pps: float | None
    """The highest load below that at which it has not."""


def curve(runner: TrialRunner, workload: Workload, points: int, precision: float, known: MethodResult) -> Curve:
    """A variant's curve with its collapse; loads are what both directions offer together."""
    wire_pps = 2 * runner.wire_pps(workload)
    made = {}

    def at(offered_pps: float) -> Point:
        trial = made[offered_pps] = runner.trial(runner.spec(workload, offered_pps / 2))
        return trial.offered_pps, trial.forwarded_pps

    grid = [wire_pps * n / points for n in range(1, points + 1)]
    specs = [runner.spec(workload, load / 2) for load in grid]
    trials = runner.trials(specs, lambda t: f"{t.offered_pps / 1e3:.0f} kpps")
    if not known.line_rate_limited:
        trials.append(best_trial(known))
    collapse = find_collapse([(t.offered_pps, t.forwarded_pps) for t in trials], at, precision)
    every = sorted([*trials, *made.values()], key=lambda t: t.offered_pps)
    base = known.total_throughput_pps or 0.0
    result = replace(
        runner.result("loss", workload),
        total_throughput_pps=known.total_throughput_pps,
        line_rate_limited=known.line_rate_limited,
    )
    result.per_interface_throughput_mbps = known.per_interface_throughput_mbps
    result.samples = [loss.Sample.of(t.offered_pps / base, t) for t in every]
    result.trials = every
    result.summary = Summary(
        max_forwarded_pps=collapse.most_pps,
        plateau_ratio=every[-1].forwarded_pps / collapse.most_pps,
        collapse_load=collapse.at_pps / base if collapse.at_pps else None,
        collapse_pps=collapse.at_pps,
        no_collapse_pps=collapse.above_pps,
    )
    result.copy_per_frame_metrics(every[-1])
    return Curve(result, collapse)


def measure(run: Run, throughputs: Results) -> dict[tuple[int, str], Curve]:
    """The curves of every variant; their throughputs are known."""
    points, precision = (QUICK_POINTS, QUICK_PRECISION) if run.quick else (POINTS, PRECISION)
    found = run.variants(
        "load curves",
        SIZES[:1] if run.quick else SIZES,
        lambda size, v: partial(
            curve, workload=run.workload(size), points=points, precision=precision, known=throughputs[size, v]
        ),
    )
    run.session.results += [curve.result for curve in found.values()]
    return found


def figure5(found: Mapping[tuple[int, str], Curve]) -> Table[LoadRow]:
    """The curves."""
    rows = [
        LoadRow(size, variant, t.offered_pps, t.forwarded_pps, t.loss_ratio, t.idle_ratio or 0.0)
        for (size, variant), curve in found.items()
        for t in curve.result.trials
    ]
    return Table("Figure 5: forwarded over offered load, both directions together", LoadRow, tuple(rows))


def livelock(found: Mapping[tuple[int, str], Curve]) -> Table[CollapseRow]:
    """Highest loss-free rate and collapse."""
    rows = []
    for (size, variant), curve in found.items():
        said = paper_collapse(variant) if size == SIZES[0] else PaperCollapse(None, None)
        row = CollapseRow(
            frame_bytes=size,
            variant=variant,
            loss_free_pps=curve.loss_free_pps,
            paper_loss_free_pps=said.loss_free_pps,
            max_forwarded_pps=curve.collapse.most_pps,
            collapse_pps=curve.collapse.at_pps,
            paper_collapse_pps=said.at_pps,
            collapse_ratio=curve.ratio,
            paper_collapse_ratio=said.ratio,
            plateau_ratio=round(curve.result.trials[-1].forwarded_pps / curve.collapse.most_pps, 5),
        )
        rows.append(row)
    title = "Figure 5: maximum loss-free rate and collapse, both directions together, frames/s"
    return Table(title, CollapseRow, tuple(rows))


@dataclass(frozen=True)
class PaperCollapse:
    """What the paper says of a variant with 64-byte frames, in frames/s; None: nothing."""

    loss_free_pps: float | None
    at_pps: float | None

    @property
    def ratio(self) -> float | None:
        """Collapse by loss-free rate."""
        return round(self.at_pps / self.loss_free_pps, 4) if self.at_pps and self.loss_free_pps else None


def paper_collapse(variant: str) -> PaperCollapse:
    """Section 4.2.2 and figure 5 of the paper."""
    said = reference.by("spanos2008_collapse", "driver").get(variant, {})
    free, at = (reference.number(said.get(name)) for name in ("max_loss_free_kpps", "collapse_at_kpps"))
    return PaperCollapse(free and free * 1e3, at and at * 1e3)
