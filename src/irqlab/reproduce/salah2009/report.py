# SPDX-License-Identifier: GPL-2.0-or-later
"""The report: the paper's figures beside the lab's, in the paper's order. Loads are multiples of the cliff, there and here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypeVar

from irqlab import units
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Plot, Section
from irqlab.present.series import Line
from irqlab.reproduce import page
from irqlab.reproduce.salah2009 import rows
from irqlab.reproduce.salah2009.cliffs import RECEIVES
from irqlab.reproduce.salah2009.loads import EchoingRow, ReceivingRow
from irqlab.reproduce.salah2009.measure import Tables
from irqlab.reproduce.salah2009.ping import PingRow
from irqlab.reproduce.salah2009.points import EQUAL, of_cliff, paper
from irqlab.reproduce.salah2009.switching import OverTimeRow
from irqlab.reproduce.table import Table

LOW_KPPS = 2.5
"""Figure 7(d) ends here."""
PUBLISHED = ("cross", "the paper")
COMPARED = (rows.DE, rows.NAPI, rows.NAPI_2, rows.HYBRID, rows.ADAPTIVE)
"""Figure 7's schemes, and ours."""
TODAYS = (rows.NAPI, rows.HYBRID, rows.ADAPTIVE, *rows.TODAYS)
OF_CLIFF = "Load, times the cliff"
ESTIMATED = ("offered", "estimate")
Schemed = TypeVar("Schemed", ReceivingRow, EchoingRow, PingRow)
Crosses = dict[str, tuple[float, float]]
"""What the paper says, by scheme."""


@dataclass(frozen=True)
class BestRow:
    """Which scheme is best at a load."""

    what: Annotated[str, Col("")]
    load: Annotated[float, Col("Load", "of the cliff")]
    best: Annotated[str, Col("Best", title=f"within {100 * EQUAL:g} % of the best")]
    value: Annotated[str, Col("with")]


def picture(tables: Tables) -> Group:
    """Figure 7: what the application receives and the interrupts over the load, with what the paper says of them."""
    ours = _ours(tables.application, tables)
    return Group(
        legend=page.legend(rows.SERIES[: len(COMPARED)], PUBLISHED),
        plots=[_received(ours), _interrupts(ours)],
        note="Figure 7: a receiving application over the load offered, in multiples of the cliff. The paper's cliff is at "
        f"{paper('cliff'):g} kpps. Crosses: what the paper's text says. Interrupts turn at "
        f"{of_cliff('interrupt_rate_turns_at'):g} times the cliff; hybrid's end at "
        f"{of_cliff('hybrid_interrupts_fall_to_zero_at'):g} times.",
    )


def sections(tables: Tables) -> list[Section]:
    """Tables and plots."""
    every = (_cliff, _budget, _figure7, _ping, _switching, _today)
    why = page.listing(
        "why",
        "Why",
        "Why",
        "Where the instructions go under overload, as shares of the window, and what is left of an application over seconds.",
        tables.overload,
        tables.starvation,
    )
    return [*(section(tables) for section in every), *why, *_experiments(tables)]


def _ours(data: Table[Schemed], tables: Tables) -> Table[Schemed]:
    return data.only(lambda row: getattr(row, "driver", tables.driver) == tables.driver)


def _lines(
    data: Iterable[Schemed],
    x: Callable[[Schemed], float | None],
    y: Callable[[Schemed], float | None],
    shown: Sequence[str] = rows.SERIES,
    crosses: Crosses | None = None,
) -> list[Line]:
    """One line per scheme."""
    return page.lines(data, rows.SERIES, lambda row: row.scheme, x, y, shown, crosses)


def _over_cliff(title: str, lines: Sequence[Line], label: str, top: float | None = None) -> Plot:
    return page.over(title, lines, label, OF_CLIFF, top)


def _load(row: ReceivingRow) -> float:
    return row.load_of_cliff


def _kpps(row: EchoingRow | PingRow) -> float:
    return row.offered_pps / 1e3


def _us(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e3


def _cliff_pps(data: Iterable[ReceivingRow]) -> float:
    """The cliff that the loads are multiples of."""
    row = next(iter(data))
    return row.offered_pps / row.load_of_cliff


def _received(ours: Table[ReceivingRow], shown: Sequence[str] = COMPARED, title: str = "Figure 7(a): received") -> Plot:
    base = _cliff_pps(ours)
    lines = _lines(ours, _load, lambda row: row.application_pps / base, shown)
    return _over_cliff(title, lines, "times the cliff")


def _interrupts(ours: Table[ReceivingRow], shown: Sequence[str] = COMPARED, title: str = "Figure 7(e): interrupts") -> Plot:
    base, turn = _cliff_pps(ours), of_cliff("interrupt_rate_turns_at")
    crosses = {rows.NAPI: (turn, turn), rows.HYBRID: (of_cliff("hybrid_interrupts_fall_to_zero_at"), 0.0)}
    lines = _lines(ours, _load, lambda row: row.interrupts_per_s / base, shown, crosses)
    return _over_cliff(title, lines, "a second, times the cliff")


def _cpu_left(ours: Table[ReceivingRow], shown: Sequence[str] = COMPARED, title: str = "Figure 7(f): CPU left") -> Plot:
    crosses = {rows.NAPI: (of_cliff("cpu_availability_reaches_zero_at"), 0.0)}
    lines = _lines(ours, _load, lambda row: 100 * row.cpu_available, shown, crosses)
    return _over_cliff(title, lines, "%", 105)


def _cliff(tables: Tables) -> Section:
    sweep = tables.cliff_sweep.where(lambda r: r.application == RECEIVES)

    received = page.line(0, "received, kpps", [(r.offered_pps / 1e3, r.application_pps / 1e3) for r in sweep])
    used = page.line(1, "CPU used, %", [(r.offered_pps / 1e3, 100 * r.cpu_used) for r in sweep])
    group = Group(
        plots=[
            page.over("The application receives", [received], "kpps"),
            page.over("CPU used", [used], "%", top=105),
        ],
        tables=[page.table(tables.cliff), page.table(tables.cliff_costs), page.table(tables.cliff_sweep, folded=True)],
    )
    intro = (
        "Section 4.2, with disable-enable: from outside by three signs (the CPU's is chosen, as in the paper), each found to 1 "
        "%, and from inside by the costs of an interrupt and of a packet."
    )
    return Section("cliff", "The cliff", "The cliff", intro, [group])


def _budget(tables: Tables) -> Section:
    receiving, echoing = tables.budget, tables.budget_round_trip
    base = _cliff_pps(receiving)
    awake = (of_cliff("ksoftirqd_awakened_at_budget_300"), 0.0)
    schemes = tuple(receiving.by(lambda r: r.scheme))
    received = page.lines(
        receiving, schemes, lambda r: r.scheme, _load, lambda r: r.application_pps / base, crosses={rows.NAPI: awake}
    )
    trips = [
        page.line(number, scheme, [(_kpps(r), _us(r.p50_ns)) for r in echoing if r.scheme == scheme])
        for number, scheme in enumerate(schemes)
    ]
    group = Group(
        plots=[
            _over_cliff("Figure 6(a): received", received, "times the cliff"),
            page.over("Figure 6(b): round trip, median", trips, "µs"),
        ],
        tables=[page.table(receiving), page.table(echoing, folded=True)],
        note="Lines in the order of the table: the smallest budget first. With a budget below 64 the poll's weight is lowered to "
        "it; the last row is the sysctl alone, which today's net_rx_action looks at only between polls. The cross: in the paper "
        f"ksoftirqd is woken from {awake[0]:g} times the cliff on with a budget of 300.",
    )
    return Section("budget", "NAPI's budget (figure 6)", "Budget", "net.core.netdev_budget under the application.", [group])


def _figure7(tables: Tables) -> Section:
    data, trips = _ours(tables.application, tables), _ours(tables.round_trip, tables)
    times = _lines(trips, _kpps, lambda row: _us(row.p50_ns), COMPARED)
    awake = {rows.NAPI: (of_cliff("ksoftirqd_awakened_at_budget_300"), 0.0)}
    group = Group(
        legend=page.legend(rows.SERIES[: len(COMPARED)], PUBLISHED),
        plots=[
            _over_cliff("Figure 7(b): lost", _lines(data, _load, lambda row: 100 * row.loss_ratio, COMPARED), "%", 105),
            page.over("Figure 7(c): round trip, median", times, "µs"),
            page.over("Figure 7(d): at low rates", _cut(times, LOW_KPPS), "µs"),
            _cpu_left(data),
            page.over("Round trip, p99", _lines(trips, _kpps, lambda row: _us(row.p99_ns), COMPARED), "µs"),
            _over_cliff(
                "ksoftirqd's run time", _lines(data, _load, lambda row: 100 * row.ksoftirqd_share, COMPARED, awake), "%", 105
            ),
        ],
        tables=[
            page.table(_best(data, trips), caption="The best scheme at each load"),
            page.table(tables.application, folded=True),
            page.table(tables.round_trip, folded=True),
        ],
        note="Figures 7(a) and (e) are at the top of the page. Crosses: in the paper no CPU is left from there on, and "
        "ksoftirqd is woken there with a budget of 300.",
    )
    return Section("figure7", "The receiving application (figure 7)", "Figure 7", "Hybrid leaves DE at the cliff.", [group])


def _best(data: Table[ReceivingRow], trips: Table[EchoingRow]) -> Table[BestRow]:
    """Who receives most, who is fastest, and who leaves most of the CPU; today's schemes, too."""
    found = []
    for load, every in data.by(lambda r: r.load_of_cliff).items():
        most = max(row.application_pps for row in every)
        near = [row.name for row in every if row.application_pps >= (1 - EQUAL) * most]
        found.append(BestRow("received", load, ", ".join(near), f"{units.kpps(most)} kpps"))
        left = max(row.cpu_available for row in every)
        if left > 0:
            near = [row.name for row in every if row.cpu_available >= (1 - EQUAL) * left]
            found.append(BestRow("CPU left", load, ", ".join(near), units.percent(left)))
    for echo_load, echoes in trips.by(lambda r: r.load_of_echo_cliff).items():
        medians = {row.name: row.p50_ns for row in echoes if row.p50_ns is not None}
        p99s = {row.name: row.p99_ns for row in echoes if row.p99_ns is not None}
        for what, times in (("round trip, median", medians), ("round trip, p99", p99s)):
            if times and echo_load is not None:
                least = min(times.values())
                near = [name for name, ns in times.items() if ns <= (1 + EQUAL) * least]
                found.append(BestRow(what, echo_load, ", ".join(near), units.duration(least)))
    return Table("Best", BestRow, tuple(sorted(found, key=lambda row: (row.what, row.load))))


def _cut(lines: Sequence[Line], most_kpps: float) -> list[Line]:
    return [replace(one, points=[p for p in one.points if p[0] <= most_kpps]) for one in lines]


def _ping(tables: Tables) -> Section:
    lines = _lines(tables.ping, _kpps, lambda row: _us(row.mean_ns))
    group = Group(
        legend=page.legend(rows.SERIES[: len(COMPARED)]),
        plots=[page.over("Figure 8(a)", lines, "µs"), page.over("Figure 8(b)", _cut(lines, LOW_KPPS), "µs")],
        tables=[page.table(tables.ping, folded=True)],
    )
    return Section("ping", "Pings (figure 8)", "Figure 8", "Mean round trip of ICMP echoes, which the kernel answers.", [group])


def _estimates(data: Table[OverTimeRow]) -> list[Plot]:
    """The estimate over time beside what is offered, a plot for each load."""
    drawn = []
    for pattern, every in data.by(lambda r: r.pattern).items():
        offered = page.line(0, ESTIMATED[0], [(r.at_ms, r.offered_pps / 1e3) for r in every])
        estimate = page.line(1, ESTIMATED[1], [(r.at_ms, r.estimate_pps / 1e3) for r in every])
        drawn.append(page.over(f"The estimate: {pattern}", [offered, estimate], "kpps", "ms"))
    return drawn


def _switching(tables: Tables) -> Section:
    group = Group(
        legend=page.legend(ESTIMATED),
        plots=_estimates(tables.over_time),
        tables=[
            page.table(tables.switches),
            page.table(tables.settling),
            page.table(tables.estimator),
            page.table(tables.over_time, folded=True),
        ],
        note="Bursts: 10 ms on at twice the mean, 10 ms off. A burst after a step: the shortest after which hybrid had switched. "
        "Taken: off the ring; missed: what the NIC had no room for. The driver counts both.",
    )
    intro = "At the cliff, after steps, and the estimate of a constant load."
    return Section("switching", "Hybrid's switching", "Switching", intro, [group])


def _today(tables: Tables) -> Section:
    trips = tables.round_trip.by(lambda r: r.driver)
    groups = []
    for driver, data in tables.application.parts(lambda r: r.driver).items():
        group = Group(heading=driver, legend=page.legend(rows.SERIES))
        group.plots = [
            _received(data, TODAYS, "Received"),
            page.over("Round trip, median", _lines(trips.get(driver, ()), _kpps, lambda row: _us(row.p50_ns), TODAYS), "µs"),
            _interrupts(data, TODAYS, "Interrupts"),
            _cpu_left(data, TODAYS, "CPU left"),
        ]
        groups.append(group)
    tail = [page.table(tables.sweep, folded=True), page.table(tables.sweep_round_trip, folded=True)]
    groups.append(Group(heading="Settings swept", tables=tail))
    intro = (
        "Threaded NAPI, napi_defer_hard_irqs with gro_flush_timeout, and busy polling; each with the setting with which the "
        "application receives most in sum at 1, 2 and 4 times the cliff. IRQ suspension came with Linux 6.13 and is in neither "
        "kernel measured here."
    )
    return Section("today", "The schemes of today's kernel", "Today", intro, groups)


def _experiments(tables: Tables) -> list[Section]:
    if tables.experiments is None or tables.cliff_conditions is None:
        return []
    groups = [Group(tables=[page.table(tables.cliff_conditions)])]
    for name, of_name in tables.experiments.parts(lambda r: r.experiment).items():
        groups.append(Group(heading=name, tables=[page.table(of_name, folded=True, caption=name)]))
    intro = (
        "Causes of differences to the paper, switched on and off: arrivals, what an interrupt costs, when descriptors are given "
        "back, the memory of the paper's machine. Then what the paper leaves to the future: forwarding, several interfaces."
    )
    return [Section("experiments", "Experiments", "Experiments", intro, groups)]
