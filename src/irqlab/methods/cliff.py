# SPDX-License-Identifier: GPL-2.0-or-later
"""The cliff: the load at which the system has no CPU time left (Salah & Qahtan, section 4.2), determined in two ways.

*External*: the DUT, with a receiving application, is a black box. Three signs are searched for independently: system CPU near
100 %, throughput that no longer follows the load, and loss. The paper calls the first the most precise, so it is the default.
*Internal*: the paper's closed form, with the costs of an interrupt and of a packet from the profiler.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from irqlab import units
from irqlab.config.values import Rate
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import answers, receiving
from irqlab.methods.method import COSTS, RUN, Lines, Method
from irqlab.methods.receiving import Sample
from irqlab.present import plots
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers
from irqlab.present.rows import bar_of, kpps_text, legend_of, line_of
from irqlab.present.variants import Row
from irqlab.profile import tree
from irqlab.profile.addresses import addresses
from irqlab.profile.kallsyms import symbols
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import INTERFACE, ApplicationResult, ApplicationTrial, Tuning

PROBE_PPS = 2000.0
SYSTEM_CPU_FULL = 0.99
FLATTENED = 0.99
"""Throughput follows the load while it is at least this share of it."""
LOSS = 0.001
PRECISION, QUICK_PRECISION = 0.01, 0.05
PARTS = 4
"""Each round splits the interval into this many parts; its trials are independent and run in parallel."""
GRID = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5)
"""Loads of the first sweep, as shares of the rate that would use all CPU time at the per-packet cost measured at PROBE_PPS."""
REAL_GRID = (0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Loads of the first sweep on a real device, as shares of the highest load that is worth a trial: a cost measured at PROBE_PPS is
mostly noise there."""
PROFILED_LOAD = 0.5
"""Profiled load as a share of the external cliff: there, each packet still causes about one interrupt."""
SETTLED_BY_PPS = 1e7

Sign = Callable[[ApplicationResult], bool]
SIGNS: dict[str, Sign] = {
    "cpu": lambda t: t.cpu_used >= SYSTEM_CPU_FULL,
    "throughput": lambda t: t.application_pps < FLATTENED * t.offered_pps,
    "loss": lambda t: t.loss_ratio > LOSS,
}
"""Whether a trial shows each sign."""
CHOSEN = "cpu"
_SHOWS = {
    "cpu": "uses all CPU time",
    "throughput": "is more than the application receives",
    "loss": "is lost in part",
}


@dataclass(frozen=True)
class External:
    """The external cliff: the lowest load, in frames/s, that shows each sign that was asked for; None if no load does."""

    signs_pps: dict[str, float | None]
    curve: tuple[ApplicationResult, ...]
    """All trials, in order of load."""

    @property
    def cliff_pps(self) -> float:
        """The cliff by the chosen sign. Raises IrqlabError if no load shows it."""
        return self.by(CHOSEN)

    def by(self, sign: str) -> float:
        """The cliff by a sign. Raises IrqlabError if no load shows it."""
        found = self.signs_pps[sign]
        if found is None:
            raise IrqlabError(f"no cliff found: no offered load {_SHOWS[sign]}")
        return found


@dataclass(frozen=True)
class Internal:
    """The internal cliff. Times in ns per packet."""

    rate_pps: float
    """The profiled load."""
    interrupt_ns: float
    """1/r: overhead and handling of the interrupt of one packet."""
    kernel_ns: float
    """Softirq time, and kernel time of the receiver's system calls."""
    application_ns: float
    """User time of the receiver."""
    interrupts_per_packet: float

    @property
    def packet_ns(self) -> float:
        """1/mu: processing from the ring until the application has received the packet."""
        return self.kernel_ns + self.application_ns

    @property
    def cliff_pps(self) -> float:
        """r/2 * (sqrt(1 + 4*mu/r) - 1)."""
        return closed_form_pps(self.interrupt_ns, self.packet_ns)


def closed_form_pps(interrupt_ns: float, packet_ns: float) -> float:
    """The paper's formula (section 4.2), in packets/s; times in ns."""
    r, mu = 1e9 / interrupt_ns, 1e9 / packet_ns
    return r / 2 * (math.sqrt(1 + 4 * mu / r) - 1)


def external(
    runner: TrialRunner,
    workload: Workload,
    tuning: Tuning,
    echo: bool = False,
    precision: float = PRECISION,
    names: Sequence[str] = tuple(SIGNS),
) -> External:
    """Sweeps the load, then narrows the signs of these names down to `precision`.

    `echo`: the application echoes every datagram.
    """
    signs = {name: SIGNS[name] for name in names}
    known: dict[float, ApplicationResult] = {}

    def at(*rates_pps: float) -> None:
        new = [rate for rate in rates_pps if rate not in known]
        found = receiving.trials(runner, [receiving.spec_of(workload, rate, tuning, echo) for rate in new])
        known.update(zip(new, found, strict=True))

    most_pps = float(round(min(SETTLED_BY_PPS, runner.most_pps(workload))))
    if runner.counts_instructions:
        guess_pps = _guess_pps(runner, workload, tuning, echo)
        at(*(float(round(share * guess_pps)) for share in GRID))
    else:
        at(*(float(round(share * most_pps)) for share in REAL_GRID))
        if SIGNS[CHOSEN](known[lowest := min(known)]):
            raise IrqlabError(
                f"{runner.bench.driver}: no CPU time is left even at {lowest:.0f} frames/s: the device has something else to "
                "do; end that, or offer less (--line-rate)"
            )
    beyond = max(known)
    while not all(sign(known[beyond]) for sign in signs.values()) and beyond < most_pps:
        beyond = float(round(beyond * 1.25))
        at(beyond)
    while wanted := sorted({rate for sign in signs.values() for rate in _narrower(sign, known, precision)}):
        at(*wanted)
    found = {name: _lowest(sign, known) for name, sign in signs.items()}
    return External(found, tuple(known[rate] for rate in sorted(known)))


def _guess_pps(runner: TrialRunner, workload: Workload, tuning: Tuning, echo: bool) -> float:
    """The rate that would use all CPU time at the per-packet cost measured at PROBE_PPS."""
    base = runner.trial(_silent(workload, tuning))
    probe = runner.trial(receiving.spec_of(workload, PROBE_PPS, tuning, echo))
    cost = (base.cpu_available - probe.cpu_available) / probe.offered_pps
    if cost <= 0:
        raise IrqlabError(f"{runner.bench.driver}: {PROBE_PPS:.0f} frames/s use no measurable CPU time; choose a lower --mips")
    return base.cpu_available / cost


def _silent(workload: Workload, tuning: Tuning) -> ApplicationTrial:
    """A trial with almost no load, to measure the DUT's background work."""
    return receiving.spec_of(workload, 1.0, tuning)


def _lowest(sign: Sign, known: dict[float, ApplicationResult]) -> float | None:
    """The lowest load that shows the sign."""
    return min((rate for rate, result in known.items() if sign(result)), default=None)


def _narrower(sign: Sign, known: dict[float, ApplicationResult], precision: float) -> list[float]:
    """Loads to try next: between the lowest that shows the sign and the highest below. Empty if those are within `precision`."""
    first = _lowest(sign, known)
    below = max((rate for rate in known if first is not None and rate < first), default=None)
    if first is None or below is None or first <= below * (1 + precision):
        return []
    return [float(round(below + (first - below) * part / PARTS)) for part in range(1, PARTS)]


def internal(runner: TrialRunner, workload: Workload, tuning: Tuning, rate_pps: float) -> Internal:
    """Profiles the application at `rate_pps` frames/s, and subtracts the idle DUT's background work (the timer tick)."""
    known = symbols(runner.bench.lab())
    where = addresses(known)
    names = [module.name for module in runner.bench.lab().modules]
    wanted = [receiving.spec_of(workload, rate_pps, tuning), _silent(workload, tuning)]
    (loaded, answer), (silent, nothing) = runner.profiles(wanted, where)
    with_load, without = tree.section(answer, known, names), tree.section(nothing, known, names)
    used, idle = tree.totals(with_load["samples"], "context"), tree.totals(without["samples"], "context")
    packets = loaded.application_pps * workload.duration_ns / 1e9
    per_instruction_ns = 1000 / runner.bench.config.mips
    user = _user(with_load) - _user(without)
    soaked = (loaded.cpu_available - silent.cpu_available) * workload.duration_ns / per_instruction_ns

    def cost(instructions: float) -> float:
        return instructions * per_instruction_ns / packets

    hard = used.get("hardirq", 0) - idle.get("hardirq", 0)
    soft = used.get("softirq", 0) - idle.get("softirq", 0)
    process = used.get("process", 0) - idle.get("process", 0)
    return Internal(
        rate_pps=rate_pps,
        interrupt_ns=cost(hard),
        kernel_ns=cost(soft + process - user),
        application_ns=cost(user - soaked),
        interrupts_per_packet=(with_load["interrupts"] - without["interrupts"]) / packets,
    )


def _user(section: dict[str, object]) -> int:
    points = section["samples"]
    assert isinstance(points, list)
    return sum(int(p["instructions"]) for p in points if p["owner"] == "user space")


def command(cliff_pps: float) -> str:
    """The shell command that sets the cliff of an irqmod driver."""
    return f"echo {round(cliff_pps)} > /sys/class/net/{INTERFACE}/irqmod/rx_cliff_pps"


@dataclass(frozen=True)
class Summary:
    """The cliff, determined both ways. A real device counts no instructions, so it has no internal cliff: null."""

    chosen: str
    """The sign that defines the cliff."""
    signs_pps: dict[str, Rate | None]
    """The lowest load that shows each sign; null if no load does."""
    cliff_pps: Rate
    """The cliff by the chosen sign."""
    internal_pps: Rate | None
    """The cliff by the closed form."""
    profiled_pps: Rate | None
    """The load at which the costs were profiled."""
    interrupt_ns: float | None
    """1/r."""
    packet_ns: float | None
    """1/mu."""
    application_ns: float | None
    """The application's part of `packet_ns`."""
    interrupts_per_packet: float | None
    command: str
    """The shell command that sets the cliff of an irqmod driver."""


@dataclass(frozen=True)
class Line:
    """A table line: one way of determining the cliff."""

    found_by: Annotated[str, Col("Found by")]
    pps: Annotated[float | None, Col("Cliff", "kpps", units.kpps)]
    to_chosen: Annotated[float | None, Col("to the chosen", format=lambda ratio: f"{ratio:.2f}")]

    @classmethod
    def of(cls, row: Row) -> list[Line]:
        """The lines of a result row."""
        found: Summary = row.summary
        signs = [
            cls(f"{sign}{' (chosen)' if sign == found.chosen else ''}", pps, pps and pps / found.cliff_pps)
            for sign, pps in found.signs_pps.items()
        ]
        if found.internal_pps is None:
            return signs
        inside = cls("internal: r/2 (sqrt(1 + 4 mu/r) - 1)", found.internal_pps, found.internal_pps / found.cliff_pps)
        return [*signs, inside]


def run(runner: TrialRunner, workload: Workload, tuning: Tuning) -> MethodResult:
    """Determines the cliff both ways; the samples are the sweep."""
    outside = external(runner, workload, tuning)
    cliff_pps = outside.cliff_pps
    inside = internal(runner, workload, tuning, PROFILED_LOAD * cliff_pps) if runner.counts_instructions else None
    result = runner.result("cliff", workload)
    result.rx_scheme = tuning.schemes.rx or result.rx_scheme
    result.samples = [Sample.of(trial, None) for trial in outside.curve]
    result.summary = Summary(
        chosen=CHOSEN,
        signs_pps=outside.signs_pps,
        cliff_pps=cliff_pps,
        internal_pps=inside.cliff_pps if inside else None,
        profiled_pps=inside.rate_pps if inside else None,
        interrupt_ns=inside.interrupt_ns if inside else None,
        packet_ns=inside.packet_ns if inside else None,
        application_ns=inside.application_ns if inside else None,
        interrupts_per_packet=inside.interrupts_per_packet if inside else None,
        command=command(cliff_pps),
    )
    return result


def costs(found: Summary) -> str:
    """The inputs of the closed form, as text; empty on a real device."""
    if found.interrupt_ns is None or found.packet_ns is None or found.application_ns is None or found.profiled_pps is None:
        return ""
    return (
        f"1/r = {found.interrupt_ns:.0f} ns per interrupt, 1/mu = {found.packet_ns:.0f} ns per packet "
        f"({found.application_ns:.0f} ns of it in the application), profiled at {found.profiled_pps / 1e3:.1f} kpps "
        f"with {found.interrupts_per_packet:.2f} interrupts per packet"
    )


def _told(row: Row, _: Any) -> Iterable[str]:
    if text := costs(row.summary):
        yield text
    if row.data["rx_scheme"] is not None:
        yield f"For a hybrid scheme, on the machine with the driver:\n  {row.summary.command}"


def _plots(rows: Sequence[Row], number: Numbers) -> Group:
    """Plots of the sweep, and of the cliff of each driver."""
    received = [
        line_of(
            row,
            [(s.offered_pps / 1e3, s.application_pps / 1e3) for s in row.samples],
            ring=(row.summary.cliff_pps / 1e3, row.summary.cliff_pps / 1e3),
        )
        for row in rows
    ]
    left = [line_of(row, [(s.offered_pps / 1e3, s.cpu_available * 100) for s in row.samples]) for row in rows]
    bars = [bar_of(row, row.summary.cliff_pps, kpps_text(row.summary.cliff_pps)) for row in rows]
    return Group(
        legend=legend_of(rows, ("grey", "no loss"), ("ring", "the cliff")),
        plots=[
            number.plot("Received by the application", plots.forwarding(received, None, "kpps received")),
            number.plot("CPU left", plots.over_load(left, "% left", "CPU time left", None, 104)),
            *([number.plot("The cliff", plots.bars(bars, "The cliff"))] if len(rows) > 1 else []),
        ],
        note=" ".join(f"{row.variant.label}: {text}." for row in rows if (text := costs(row.summary))),
    )


def _verdicts(rows: Sequence[Row]) -> list[str]:
    """The cliff, and the closed form."""

    def pps(row: Row) -> float:
        return float(row.summary.cliff_pps)

    def said(row: Row) -> str:
        inside = row.summary.internal_pps
        form = f"; by the closed form {kpps_text(inside)}" if inside is not None else ""
        return f"no CPU time is left from {answers.spread(row, pps, kpps_text)} on{form}"

    return answers.by_row(rows, said, "The cliff", pps, kpps_text)


METHOD = Method(
    name="cliff",
    place=85,
    title="The cliff",
    help="Find the load at which no CPU time is left, in two ways, and the command that sets it in a hybrid driver.",
    intro="The load at which no CPU time is left beside a receiving application (Salah & Qahtan 2009, section 4.2). Externally "
    "by three signs: system CPU near 100 %, throughput that no longer follows the load, and loss; internally by a closed form "
    "from the costs of an interrupt and of a packet.",
    sample=Sample,
    summary=Summary,
    lines=Lines("The cliff", Line, Line.of),
    run=lambda runner, workload, _: [run(runner, workload, receiving.usual_tuning(runner, "de"))],
    shared=(*receiving.DUT, "rx", *receiving.TRIAL, *COSTS, *RUN),
    tables=_told,
    plots=_plots,
    lead="The cliff: the load at which no CPU time is left beside a receiving application",
    verdicts=_verdicts,
    sure=lambda rows: answers.searched(PRECISION, rows),
)
