# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions of the paper's environment: each is an option of `irqlab application`, off in the first row and on in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from irqlab.config.costs import Costs
from irqlab.config.traffic import Arrivals, Load
from irqlab.config.workload import Workload
from irqlab.methods import receiving
from irqlab.reproduce.hybrid import schemes, softirqs
from irqlab.reproduce.salah2009.rows import Row
from irqlab.reproduce.trial_rows import Asked
from irqlab.trials.application import ApplicationTrial

PAPER_END = 2.35
"""Of the cliff: where the paper's loads end."""
OVERLOADS = (2.0, PAPER_END)
"""Of the cliff: the paper's loads that are measured and at which frames are lost."""
LOADS = (1.5, *OVERLOADS, 3.0, 4.0)
"""Of the cliff: the paper's ksoftirqd would be woken at 3."""
PATCHED_LOADS = (1.0, 1.25, *LOADS)
"""Of the patched kernel: also where ksoftirqd begins to run."""
QUICK_LOADS = (2.0, 4.0)
IRQ_NS = 5000.0
"""About what this DUT takes for an interrupt, once more (`cliff_costs` of salah2009)."""
OLD, NEW = "6.1", "6.12"
"""Kernels with "let ksoftirqd do its job" and without."""
ROUNDS_ONLY, SPARES_USERS = ("kernel.softirq_rounds_only", "1"), ("kernel.softirq_spares_users", "1")


@dataclass(frozen=True)
class Condition:
    """What differs from the first row."""

    name: str
    options: str
    """Those of `irqlab application` that make it; empty: none."""
    kernel: str | None = None
    """None: the one that is asked for, or OLD."""
    sysctls: tuple[tuple[str, str], ...] = ()
    ksoftirqd_nice: int | None = None
    arrivals: Arrivals = "constant"
    costs: Costs | None = None
    sign: str = "cpu"
    """The sign of the cliff that loads are multiples of, and at which hybrid changes."""
    tx: str | None = None
    """The transmit scheme; None: the driver's default."""
    interfaces: int = 1
    """How many interfaces receive the load, in equal shares."""


BASE = Condition("none", "")
NICE = Condition("ksoftirqd at nice 19", "--ksoftirqd-nice 19", ksoftirqd_nice=19)
RULE = Condition("ksoftirqd does not hold softirqs back", f"--kernel {NEW}", kernel=NEW)
BOTH = Condition("both", f"--kernel {NEW} --ksoftirqd-nice 19", kernel=NEW, ksoftirqd_nice=19)
POISSON = Condition("Poisson arrivals", "--arrivals poisson", arrivals="poisson")
BURSTS = Condition("bursts", "--arrivals bursts", arrivals="bursts")
"""1 ms at twice the mean, and 1 ms nothing: hybrid's window of 8 ms sees the mean."""
COST = Condition("an interrupt costs 5 µs more", "--cost irq=5000", costs=Costs(irq=IRQ_NS))
SIGN = Condition("the cliff by throughput", "--cliff-sign throughput", sign="throughput")
SOFTIRQ_TX = Condition("completions in the softirq", "--tx poll", tx="poll")
TWO = Condition("two interfaces", "--interfaces 2", interfaces=2)
CONDITIONS = (BASE, NICE, RULE, BOTH, POISSON, BURSTS, COST, SIGN, SOFTIRQ_TX, TWO)
QUICK_CONDITIONS = (BASE, NICE, RULE, BOTH)
"""The conditions of which something is expected."""


def _patched(name: str, *sysctls: tuple[str, str], nice: int | None = None) -> Condition:
    options = [f"--sysctl {name}={value}" for name, value in sysctls]
    options += [f"--ksoftirqd-nice {nice}"] if nice is not None else []
    return Condition(name, " ".join(options), sysctls=sysctls, ksoftirqd_nice=nice)


ROUNDS = _patched("softirqs end after 10 rounds only", ROUNDS_ONLY)
SPARES = _patched("a process that receives runs no softirqs", SPARES_USERS)
OLD_SOFTIRQS = _patched("softirqs as in Linux 2.6.15", ROUNDS_ONLY, SPARES_USERS)
OLD_KERNEL = _patched("as in Linux 2.6.15, and ksoftirqd at nice 19", ROUNDS_ONLY, SPARES_USERS, nice=19)
PATCHED_ONLY = (ROUNDS, SPARES, OLD_SOFTIRQS, OLD_KERNEL)
PATCHED = (BASE, NICE, *PATCHED_ONLY)


def conditions(kernel: str | None, quick: bool = False) -> tuple[Condition, ...]:
    """The conditions that are measured, each with its kernel. `kernel`: the one asked for, if any."""
    every = QUICK_CONDITIONS if quick else CONDITIONS
    chosen = every if kernel is None else tuple(one for one in every if one.kernel is None)
    return tuple(replace(one, kernel=one.kernel or kernel or OLD) for one in chosen)


def patched() -> tuple[Condition, ...]:
    """The conditions of the patched kernel."""
    return tuple(replace(one, kernel=softirqs.NAME) for one in PATCHED)


def trial(condition: Condition, row: Row, rate_pps: float, workload: Workload) -> ApplicationTrial:
    """A row under a condition, with a mean load of `rate_pps` frames/s."""
    wanted = replace(row.tuning.schemes, tx=condition.tx or row.tuning.schemes.tx)
    tuning = replace(row.tuning, schemes=wanted, ksoftirqd_nice=condition.ksoftirqd_nice)
    offered = replace(workload, arrivals=condition.arrivals, costs=condition.costs)
    spec = receiving.spec_of(offered, rate_pps, tuning, interfaces=condition.interfaces)
    if condition.arrivals == "bursts":
        return replace(spec, load=Load(2 * rate_pps, arrivals="bursts"))
    return spec


def asked(condition: Condition, cliff_pps: float, loads: Sequence[float], workload: Workload) -> list[Asked]:
    """All rows under a condition."""
    columns = {"condition": condition.name, "options": condition.options, "kernel": str(condition.kernel)}
    return [
        ({**columns, "scheme": row.name, "load_of_cliff": load}, trial(condition, row, load * cliff_pps, workload))
        for row in schemes.under_conditions(cliff_pps)
        for load in loads
    ]
