# SPDX-License-Identifier: GPL-2.0-or-later
"""The report: each kernel's throughput and round trip, then the conditions."""

from __future__ import annotations

from collections.abc import Iterable

from irqlab.present.parts import Group, Plot, Section
from irqlab.reproduce import page
from irqlab.reproduce.hybrid import conditions, schemes, softirqs
from irqlab.reproduce.hybrid.measure import ConditionRow, Tables, ThroughputRow
from irqlab.reproduce.table import Table

OF_CLIFF = "Load, times the cliff"
OF_ECHO = "Load, times the echo's cliff"


def picture(tables: Tables) -> Group:
    """What the application receives, a plot for each kernel."""
    return Group(
        legend=page.legend(schemes.SERIES),
        plots=[_received(f"Linux {kernel}: received", rows) for kernel, rows in tables.throughput.by(lambda r: r.kernel).items()],
        note="What a receiving application gets over the load offered, in multiples of each kernel's cliff.",
    )


def sections(tables: Tables) -> list[Section]:
    """Tables and plots."""
    cliff = page.listing("cliff", "The cliffs", "The cliffs", "With disable-enable.", tables.cliff)
    return [_kernels(tables), _round_trip(tables), *_environment(tables), *cliff]


def _received(title: str, rows: Iterable[ThroughputRow] | Iterable[ConditionRow]) -> Plot:
    every: list[ThroughputRow | ConditionRow] = list(rows)
    lines = page.lines(every, schemes.SERIES, lambda r: r.scheme, lambda r: r.load_of_cliff, lambda r: r.application_pps / 1e3)
    return page.over(title, lines, "kpps", OF_CLIFF)


def _kernels(tables: Tables) -> Section:
    groups = []
    for kernel, data in tables.throughput.parts(lambda r: r.kernel).items():
        shown = page.grid(
            data, "load_of_cliff", "scheme", ("application_pps",), schemes.SERIES, caption=f"Linux {kernel}: received"
        )
        groups.append(Group(heading=f"Linux {kernel}", tables=[shown]))
    groups.append(Group(tables=[page.table(tables.throughput, folded=True)]))
    intro = (
        "Frames per second that the application receives. Paced: above the cliff RX stays masked, and a timer starts each poll; "
        "below it hybrid is disable-enable in both forms."
    )
    return Section("kernels", "Improved hybrid", "Kernels", intro, groups)


def _round_trip(tables: Tables) -> Section:
    drawn = []
    for kernel, rows in tables.latency.by(lambda r: r.kernel).items():
        lines = page.lines(
            rows,
            schemes.SERIES,
            lambda r: r.scheme,
            lambda r: r.load_of_echo_cliff,
            lambda r: None if r.p50_ns is None else r.p50_ns / 1e3,
        )
        drawn.append(page.over(f"Linux {kernel}: median round trip", lines, "µs", OF_ECHO))
    group = Group(legend=page.legend(schemes.SERIES), plots=drawn, tables=[page.table(tables.latency, folded=True)])
    return Section("latency", "The round trip", "Round trip", "Below the cliff of an application that echoes.", [group])


def _conditions(data: Table[ConditionRow]) -> list[Group]:
    groups = []
    for name, part in data.parts(lambda r: r.condition).items():
        title, options = f"{name}: received", part.rows[0].options
        heading = f"{name} ({options})" if options else name
        shown = page.grid(
            part,
            *("load_of_cliff", "scheme", ("application_pps",)),
            tuple(part.by(lambda r: r.scheme)),
            caption=title,
        )
        groups.append(Group(heading=heading, legend=page.legend(schemes.SERIES), plots=[_received(title, part)], tables=[shown]))
    return [*groups, Group(tables=[page.table(data, folded=True)])]


def _environment(tables: Tables) -> list[Section]:
    intro = (
        f"Linux {conditions.OLD}, or the kernel asked for, unless the options, those of irqlab application, say otherwise. "
        "Loads are multiples of "
        "the cliff that each kernel has without the condition. Bursts: 1 ms on at twice the mean, 1 ms off."
    )
    found = [Section("conditions", "The paper's environment", "Conditions", intro, _conditions(tables.conditions))]
    if tables.softirqs is not None:
        intro = (
            f"Linux {softirqs.SERIES} with {softirqs.PATCH}. softirq_rounds_only: a run of softirqs ends after ten rounds, and "
            "only then. softirq_spares_users: a process that receives runs no softirqs."
        )
        found.append(Section("softirqs", "The softirqs of Linux 2.6.15", "Softirqs", intro, _conditions(tables.softirqs)))
    return found
