# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions of the paper's environment: each is an option of `irqlab application`, off in the first row and on in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from irqlab.config.costs import Costs
from irqlab.config.traffic import Arrivals, Load
from irqlab.config.workload import Workload
from irqlab.methods import receiving
from irqlab.reproduce.hybrid import schemes
from irqlab.reproduce.salah2009.rows import Row
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import ApplicationResult, ApplicationTrial

LOADS = (1.5, 2.0, 3.0, 4.0)
"""Of the cliff: the paper's end at 2.35, but its ksoftirqd would be woken at 3."""
QUICK_LOADS = (2.0, 4.0)
IRQ_NS = 5000.0
"""About what this DUT takes for an interrupt, once more (`cliff_costs` of salah2009)."""
OLD, NEW = "6.1", "6.12"
"""Kernels with "let ksoftirqd do its job" and without."""


@dataclass(frozen=True)
class Condition:
    """What differs from the first row."""

    name: str
    options: str
    """Those of `irqlab application` that make it; empty: none."""
    kernel: str = OLD
    ksoftirqd_nice: int | None = None
    arrivals: Arrivals = "constant"
    costs: Costs | None = None
    sign: str = "cpu"
    """The sign of the cliff that loads are multiples of, and at which hybrid changes."""


BASE = Condition("none", "")
NICE = Condition("ksoftirqd at nice 19", "--ksoftirqd-nice 19", ksoftirqd_nice=19)
RULE = Condition("ksoftirqd does not hold softirqs back", f"--kernel {NEW}", kernel=NEW)
BOTH = Condition("both", f"--kernel {NEW} --ksoftirqd-nice 19", kernel=NEW, ksoftirqd_nice=19)
POISSON = Condition("Poisson arrivals", "--arrivals poisson", arrivals="poisson")
BURSTS = Condition("bursts", "--arrivals bursts", arrivals="bursts")
"""1 ms at twice the mean, and 1 ms nothing: hybrid's window of 8 ms sees the mean."""
COST = Condition("an interrupt costs 5 µs more", "--cost irq=5000", costs=Costs(irq=IRQ_NS))
SIGN = Condition("the cliff by throughput", "--cliff-sign throughput", sign="throughput")
CONDITIONS = (BASE, NICE, RULE, BOTH, POISSON, BURSTS, COST, SIGN)


def trial(condition: Condition, row: Row, rate_pps: float, workload: Workload) -> ApplicationTrial:
    """A row under a condition, with a mean load of `rate_pps` frames/s."""
    tuning = replace(row.tuning, ksoftirqd_nice=condition.ksoftirqd_nice)
    spec = receiving.spec_of(replace(workload, arrivals=condition.arrivals, costs=condition.costs), rate_pps, tuning)
    if condition.arrivals == "bursts":
        return replace(spec, load=Load(2 * rate_pps, arrivals="bursts"))
    return spec


Found = dict[tuple[str, float], ApplicationResult]
"""By scheme and load."""


def measure(runner: TrialRunner, condition: Condition, cliff_pps: float, loads: Sequence[float], workload: Workload) -> Found:
    """All rows under a condition."""
    keys = [(row, load) for row in schemes.under_conditions(cliff_pps) for load in loads]
    specs = [trial(condition, row, load * cliff_pps, workload) for row, load in keys]
    found = receiving.trials(runner, specs)
    return {(row.name, load): result for (row, load), result in zip(keys, found, strict=True)}
