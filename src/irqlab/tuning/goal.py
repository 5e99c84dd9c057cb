# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wanted: goals, what has to be kept, and the figures by which a setting is judged."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from irqlab import units
from irqlab.config.values import Count, Rate, Ratio
from irqlab.errors import IrqlabError

WAKE_S = 10e-6
"""How much longer a processor is awake for each interrupt: what Linux has a Skylake need at most to leave the idle state C1E
(exit_latency in skl_cstates of drivers/idle/intel_idle.c)."""
MORE_LOSS = 0.001
"""A setting may lose this share of the frames more than the defaults, unless --keep says what may be lost."""


@dataclass(frozen=True)
class Figures:
    """What a setting does at one load, or at several: means of rates and shares, geometric means of times."""

    passed: Rate
    """Forwarded, or received by the application: frames/s; of iperf bit/s."""
    loss: Ratio
    p50_ns: Count | None
    """None: not measured, or nothing came through."""
    p99_ns: Count | None
    cpu: Ratio | None
    """Share of the time that the processors work; None: not known."""
    awake: Ratio | None
    """The same with WAKE_S for each interrupt."""
    each: tuple[Figures, ...] = ()
    """At each of several loads; empty: there is one."""

    @classmethod
    def of(cls, found: Sequence[Figures]) -> Figures:
        """Of several loads."""

        def mean(values: Sequence[float | None]) -> float | None:
            known = [value for value in values if value is not None]
            return sum(known) / len(known) if len(known) == len(values) else None

        def typical(values: Sequence[int | None]) -> int | None:
            known = [value for value in values if value]
            return round(math.exp(sum(map(math.log, known)) / len(known))) if len(known) == len(values) else None

        if len(found) == 1:
            return found[0]
        return cls(
            passed=mean([one.passed for one in found]) or 0.0,
            loss=mean([one.loss for one in found]) or 0.0,
            p50_ns=typical([one.p50_ns for one in found]),
            p99_ns=typical([one.p99_ns for one in found]),
            cpu=mean([one.cpu for one in found]),
            awake=mean([one.awake for one in found]),
            each=tuple(found),
        )


def awake(busy: float, interrupts_per_s: float, processors: int) -> float:
    """The share of the time that processors are awake, if every interrupt wakes one from C1E. `interrupts_per_s`: of all."""
    return min(1.0, busy + interrupts_per_s / processors * WAKE_S)


@dataclass(frozen=True)
class Metric:
    """A figure by the name that users give it."""

    name: str
    words: str
    of: Callable[[Figures], float | None]
    write: Callable[[float], str]
    more: bool = False
    """More is better."""

    def cost(self, figures: Figures) -> float:
        """Less is better; infinite: not known."""
        value = self.of(figures)
        return math.inf if value is None else -value if self.more else value


METRICS: dict[str, Metric] = {
    one.name: one
    for one in (
        Metric("throughput", "throughput", lambda f: f.passed, lambda v: f"{units.kpps(v)}{units.NARROW}kpps", more=True),
        Metric("p99", "p99", lambda f: f.p99_ns, units.duration),
        Metric("p50", "p50", lambda f: f.p50_ns, units.duration),
        Metric("cpu", "CPU", lambda f: f.cpu, units.percent),
        Metric("awake", "CPU awake", lambda f: f.awake, units.percent),
        Metric("loss", "loss", lambda f: f.loss, units.percent),
    )
}
GOALS = ("throughput", "p99", "p50", "cpu", "awake")
BITS = Metric("throughput", "throughput", lambda f: f.passed, lambda v: f"{units.mbps(v / 1e6)}{units.NARROW}Mbit/s", more=True)
"""The throughput of iperf."""


def goals(text: str) -> tuple[Metric, ...]:
    """The goals, comma-separated. Raises IrqlabError."""
    names = list(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        if name not in GOALS:
            raise IrqlabError(f"--goal {name!r}: allowed are {', '.join(GOALS)}; several, comma-separated: their product")
    return tuple(METRICS[name] for name in names)


_UNITS: dict[str, dict[str, float]] = {
    "throughput": {"kpps": 1e3, "pps": 1.0, "Mbit/s": 1e6, "Gbit/s": 1e9, "": 1.0},
    "p99": {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9},
    "p50": {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9},
    "cpu": {"%": 0.01},
    "awake": {"%": 0.01},
    "loss": {"%": 0.01, "": 1.0},
}
_LIMIT = re.compile(r"(\w+)\s*(<=|>=|<|>|=)\s*([\d.]+)\s*([^\d\s]*)")


@dataclass(frozen=True)
class Limit:
    """What has to be kept: a figure at most, or at least, a value."""

    metric: Metric
    value: float
    least: bool
    """The figure is to be at least the value."""
    text: str

    def violation(self, figures: Figures) -> float:
        """By which share it is missed, at the worst load; 0 or less: it is kept. Infinite: the figure is not known."""
        if figures.each:
            return max(self.violation(one) for one in figures.each)
        found = self.metric.of(figures)
        if found is None:
            return math.inf
        gap = self.value - found if self.least else found - self.value
        return gap / (self.value or 1.0)


def limits(text: str | None) -> tuple[Limit, ...]:
    """The words of --keep, such as p99 < 200 us, loss = 0. Raises IrqlabError."""
    return tuple(_limit(part.strip()) for part in text.split(",")) if text is not None else ()


def _limit(text: str) -> Limit:
    found = _LIMIT.fullmatch(text)
    if not found or found[1] not in METRICS or found[4] not in _UNITS[found[1]]:
        raise IrqlabError(
            f"--keep {text!r}: must be a figure ({', '.join(METRICS)}), <, > or =, and a value with its unit, such as "
            "'p99 < 200 us', 'loss = 0', 'cpu < 50 %', 'throughput > 40 kpps'"
        )
    name, sign, number, unit = found.groups()
    metric = METRICS[name]
    try:
        value = float(number) * _UNITS[name][unit]
    except ValueError:
        raise IrqlabError(f"--keep {text!r}: {number} is no number") from None
    if sign == "=" and metric.more:
        raise IrqlabError(f"--keep {text!r}: a throughput can be kept with > only")
    return Limit(metric, value, sign in (">", ">="), text)


@dataclass(frozen=True)
class Wanted:
    """Goals and limits, judged against the figures of the defaults."""

    goals: tuple[Metric, ...]
    limits: tuple[Limit, ...] = ()

    @property
    def times(self) -> bool:
        """Whether latencies matter."""
        return any(one.name in ("p99", "p50") for one in (*self.goals, *(limit.metric for limit in self.limits)))

    def violations(self, figures: Figures, defaults: Figures) -> tuple[float, ...]:
        """By which shares limits are missed: more than 0 is too much."""
        found = [limit.violation(figures) for limit in self.limits]
        if not any(limit.metric.name == "loss" for limit in self.limits) and self.goals[0].name != "throughput":
            found.append(figures.loss - defaults.loss - MORE_LOSS)
        return tuple(found)

    def cost(self, figures: Figures, defaults: Figures) -> float:
        """Of one goal its cost; of several the product of their ratios to the defaults. Less is better."""
        if len(self.goals) == 1:
            return self.goals[0].cost(figures)
        product = 1.0
        for goal in self.goals:
            now, usual = goal.of(figures), goal.of(defaults)
            if now is None or not usual or (goal.more and not now):
                return math.inf
            product *= usual / now if goal.more else now / usual
        return product

    def kept(self, figures: Figures, defaults: Figures) -> bool:
        """Whether all limits are kept, and the goals are known."""
        return all(one <= 0 for one in self.violations(figures, defaults)) and math.isfinite(self.cost(figures, defaults))

    def gain(self, figures: Figures, defaults: Figures) -> float:
        """By which share the cost is less than that of the defaults; of throughput by which it is more."""
        now, usual = self.cost(figures, defaults), self.cost(defaults, defaults)
        if not (math.isfinite(now) and math.isfinite(usual)) or usual == 0:
            return 0.0
        return (usual - now) / abs(usual)


Settings = Mapping[str, str]
"""Values of settings by their names: those that are not the defaults."""
