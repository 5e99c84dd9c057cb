# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares `irqlab tune` with an exhaustive search over a coarse grid, and keeps the figures of docs/use/tune.md.

    python -m tools.tune                 # all cases
    python -m tools.tune "e1000e p99"    # cases whose names contain this

A grid of more than MOST points is sampled; the table says how many were measured. Both are judged by the same whole trials, on
the load that was searched with and on loads that were held back.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from irqlab import units
from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import tune, tune_views
from irqlab.methods.tune_trials import Measurer
from irqlab.runner.runner import TrialRunner
from irqlab.spread import Spread
from irqlab.trials.testbed import Testbed
from irqlab.trials.tuned import SurveyTrial
from irqlab.tuning import goal, load, space
from irqlab.tuning.goal import Figures, Settings
from irqlab.tuning.load import Offer
from tools.pages import RESULTS, read_rows, table, write_figures, write_rows
from tools.pages import Figures as Shown

KEPT = RESULTS / "tune.csv"
COLUMNS = (
    "case", "options", "points", "of", "trials", "default", "grid", "grid_settings", "tune", "tune_settings", "held_default",
    "held_grid", "held_tune", "members", "recommended",
)  # fmt: skip
MOST = 48
SEED = 1
DURATION_NS = 100_000_000
KERNEL: dict[str, tuple[str, ...]] = {
    "gro_flush_timeout": ("0", "20000", "200000"),
    "threaded": ("0", "1"),
    "netdev_budget": ("4", "64", "300"),
    "dev_weight": ("8", "64"),
}
"""The grid of what every driver has; a deferral of 10 polls goes with a timeout."""
DEFERS = "10"


@dataclass(frozen=True)
class Case:
    """A driver, a goal and a load."""

    name: str
    driver: str
    goal: str
    load: str
    application: str | None = None
    mips: int = 250
    grid: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(KERNEL))

    @property
    def options(self) -> str:
        """The command."""
        words = [f"--driver {self.driver} --goal {self.goal} --load {self.load}"]
        words += [f"--application {self.application}"] if self.application else []
        words += [f"--duration {DURATION_NS / 1e9:g}"]
        return " ".join([*words, *([f"--mips {self.mips}"] if self.mips != 250 else [])])

    def settings(self) -> list[dict[str, str]]:
        """The points of the grid."""
        found = [dict(zip(self.grid, values, strict=True)) for values in itertools.product(*self.grid.values())]
        return [one | ({"napi_defer_hard_irqs": DEFERS} if one.get("gro_flush_timeout", "0") != "0" else {}) for one in found]


_E1000E = {"rx-usecs": ("0", "3", "20", "100", "500"), **{name: KERNEL[name] for name in ("gro_flush_timeout", "threaded")}}
_ENGINE = {
    "irqmod/rx_scheme": ("adaptive", "de", "dim", "hybrid", "napi", "interrupt"),
    "irqmod/tx_scheme": ("coalesce", "interrupt", "off", "poll"),
    "gro_flush_timeout": ("0", "20000"),
}
CASES = (
    Case("e1000e p99", "e1000e", "p99", "40k", grid=_E1000E),
    Case("e1000e cpu, application", "e1000e", "cpu", "40k", "block", grid=_E1000E),
    Case("8139cp p99", "8139cp", "p99", "40k"),
    Case("8139cp cpu, application", "8139cp", "cpu", "15k", "block"),
    Case("lan78xx cpu", "lan78xx", "cpu", "30k"),
    Case("lan78xx p99, application", "lan78xx", "p99", "15k", "block"),
    Case("irqmod_i8255x cpu", "irqmod_i8255x", "cpu", "40k", grid=_ENGINE),
    Case("irqmod_i8255x p99, application", "irqmod_i8255x", "p99", "10k", "block", grid=_ENGINE),
    Case("e1000e 40 kpps, application", "e1000e", "p99", "40k", "block", mips=500, grid={}),
    Case("lan78xx 40 kpps, application", "lan78xx", "p99", "40k", "block", mips=500, grid={}),
)
Kept = dict[str, str]


def measured(case: Case) -> Kept:
    """The grid and the search."""
    bed = Testbed.resolve(TestbedConfig(case.driver, mips=case.mips))
    runner = TrialRunner(bed, threading.Semaphore(1), lambda text: print(f"  {text}", file=sys.stderr, flush=True))
    workload = Workload(duration_ns=DURATION_NS)
    settable = runner.trial(SurveyTrial()).settable
    waits = (case.application,) if case.application else ()
    whole = space.chosen(space.parameters(settable, ("eth0", "eth1"), waits), None, None, None)
    wanted = goal.Wanted(goal.goals(case.goal))
    measurer = Measurer(whole, workload, bool(waits), wanted.times)
    asked = load.parse(case.load)
    offers = [asked.offer(0.0, DURATION_NS), asked.held_back(0.0, DURATION_NS)]
    points = _points(case, whole)
    grid = _best(measurer, runner, points, offers[0], wanted)
    members = 1 if case.grid else tune.MEMBERS
    options = tune.Options(goal=case.goal, load=case.load, application=case.application, ensemble=members)
    found = tune.run(runner, workload, options).summary
    row = {
        "case": case.name,
        "options": case.options,
        "points": str(len(points)),
        "of": str(len(case.settings()) if case.grid else 0),
    }
    row |= {"trials": str(found.tried), "grid_settings": json.dumps(grid or {}), "tune_settings": json.dumps(found.settings)}
    for prefix, offer in zip(("", "held_"), offers, strict=True):
        for name, settings in (("default", {}), ("grid", grid), ("tune", found.settings)):
            if settings is None:
                row[prefix + name] = ""
                continue
            figures = measurer.figures(runner, settings, offer)
            row[prefix + name] = f"{wanted.goals[0].of(figures):.6g}"
    if not case.grid:
        row["members"] = json.dumps(
            [[one.defaults.p99_ns, one.best.p99_ns, one.defaults.cpu, one.best.cpu] for one in found.members]
        )
        row["recommended"] = tune_views.said(found.settings) if tune_views.better(found) else "keep the defaults"
    bed.close()
    return row


def _points(case: Case, whole: space.Space) -> Sequence[Settings]:
    if not case.grid:
        return []
    every = list({json.dumps(kept): kept for one in case.settings() if (kept := whole.canonical(one)) or True}.values())
    return every if len(every) <= MOST else random.Random(SEED).sample(every, MOST)


def _best(
    measurer: Measurer, runner: TrialRunner, points: Sequence[Settings], offer: Offer, wanted: goal.Wanted
) -> dict[str, str] | None:
    """The best point of the grid by whole trials; None: there is no grid."""
    if not points:
        return None
    (usual,) = measurer.answers(runner, [{}], offer)
    assert isinstance(usual, Figures)
    answers = [answer for one in points for answer in measurer.answers(runner, [one], offer)]
    good = [(dict(one), answer) for one, answer in zip(points, answers, strict=True) if not isinstance(answer, str)]
    kept = [(one, answer) for one, answer in good if wanted.kept(answer, usual)]
    return min(kept, key=lambda pair: wanted.cost(pair[1], usual))[0] if kept else {}


def keep(row: Kept) -> None:
    """Replaces the row of a case."""
    order = [case.name for case in CASES]
    rows = [one for one in read_rows(KEPT) if one["case"] != row["case"] and one["case"] in order] if KEPT.exists() else []
    write_rows(KEPT, COLUMNS, sorted([*rows, row], key=lambda one: order.index(str(one["case"]))))


def figures() -> Iterator[Shown]:
    """The tables of docs/use/tune.md."""
    rows = read_rows(KEPT) if KEPT.exists() else []
    if not rows:
        return
    lines = [
        [
            f"`{row['options']}`",
            f"{row['points']} of {row['of']}",
            *(_written(row, name) for name in ("default", "grid", "tune")),
            _ratio(row, ""),
            _ratio(row, "held_"),
        ]
        for row in rows
        if row["grid"]
    ]
    heads = ("`irqlab tune`", "grid points", "defaults", "grid", "tune", "tune/grid", "held back")
    yield Shown("tune grid", "python -m tools.tune", table(heads, lines))
    lines = [
        [
            f"`{row['options']}`",
            row["recommended"],
            str(len(json.loads(row["members"]))),
            *(_spread(row, column, units.duration) for column in (0, 1)),
            *(_spread(row, column, units.percent) for column in (2, 3)),
        ]
        for row in rows
        if row["members"]
    ]
    columns = ("`irqlab tune`", "recommended", "members", "p99, defaults", "tuned", "CPU, defaults", "tuned")
    yield Shown("tune recommended", "python -m tools.tune", table(columns, lines, texts=2))


def _spread(row: Kept, column: int, write: Callable[[float], str]) -> str:
    """The median and the range of the members."""
    found = Spread.of([one[column] for one in json.loads(row["members"])])
    median, low, high = (units.plain(write(value)) for value in (found.median, found.min, found.max))
    return median if low == high else f"{median} ({low} to {high})"


def _written(row: Kept, name: str) -> str:
    metric = goal.METRICS[row["options"].partition("--goal ")[2].split()[0]]
    return units.plain(metric.write(float(row[name])))


def _ratio(row: Kept, prefix: str) -> str:
    return f"{float(row[f'{prefix}tune']) / float(row[f'{prefix}grid']):.2f}"


def main(asked: list[str]) -> int:
    """Measures the cases whose names contain a word that was given, or all. Returns the exit code."""
    if asked in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    for case in CASES:
        if not asked or any(word in case.name for word in asked):
            print(case.name, file=sys.stderr, flush=True)
            keep(measured(case))
    write_figures(figures())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except IrqlabError as error:
        sys.exit(f"tune: {error}")
