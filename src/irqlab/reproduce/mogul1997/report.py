# SPDX-License-Identifier: GPL-2.0-or-later
"""The report: the paper's figures beside the lab's, in the paper's order, in shares of the unmodified kernel's peak."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from irqlab.present.parts import Group, Legend, Plot, Section
from irqlab.present.series import Line
from irqlab.reproduce import page
from irqlab.reproduce.mogul1997 import published
from irqlab.reproduce.mogul1997.configurations import (
    DIM,
    FEEDBACK_QUOTA,
    IFPOLL,
    LIMITS,
    NAPI,
    NAPI_POLL,
    NO_FEEDBACK,
    NO_QUOTA,
    QUOTAS,
    SERIES,
    SHRINK,
    UNMODIFIED,
    quota_name,
)
from irqlab.reproduce.mogul1997.measure import LOWEST, ForwardRow, Tables

PUBLISHED = ("published", "the paper")
X, Y = "Offered, times the peak", "output, times the peak"
ALL_QUOTAS = tuple(map(quota_name, (*QUOTAS, 0)))
NOTE = (
    "Rates are multiples of the peak of the unmodified kernel without screend: measured of the lab's, published "
    f"of the paper's, {published.peak_pps():,.0f} packets/s."
)
SCREEND = ("without screend", "with screend")
NORMAL_NUMBER = len(LIMITS)
"""The style of the process of normal priority in figure 7-1."""


def picture(tables: Tables) -> Group:
    """Figures 6-3 and 6-4, measured and published."""
    first, second = (UNMODIFIED, quota_name(5), NO_QUOTA), (UNMODIFIED, quota_name(FEEDBACK_QUOTA), NO_FEEDBACK)
    return Group(
        legend=_legend((*first, second[1], NO_FEEDBACK)) + page.legend((), PUBLISHED),
        plots=[*_pair("Figure 6-3", tables, False, first), *_pair("Figure 6-4, with screend", tables, True, second)],
        note=f"Forwarding over the load offered. {NOTE} With screend, quota {FEEDBACK_QUOTA} has feedback from the queue.",
    )


def sections(tables: Tables) -> list[Section]:
    """Tables and plots."""
    return [
        _unmodified(tables),
        _polling(tables),
        _screend(tables),
        _cpu(tables),
        *page.listing(
            "causes",
            "Why curves differ",
            "Causes",
            "Where curves differ from the paper's: experiments that turn one cause on and off.",
            tables.causes,
        ),
    ]


def _legend(names: Iterable[str]) -> list[Legend]:
    """Of these names, with the styles of their places in SERIES."""
    return [one for one in page.legend(SERIES) if one.text in set(names)]


def _configuration(row: ForwardRow) -> str:
    return row.configuration


def _measured(rows: Iterable[ForwardRow], screend: bool, names: Sequence[str]) -> list[Line]:
    chosen = [row for row in rows if row.screend == screend]
    return page.lines(chosen, SERIES, _configuration, lambda r: r.offered_to_peak, lambda r: r.output_to_peak, names)


def _published(screend: bool, names: Sequence[str]) -> list[Line]:
    return [
        page.published(SERIES.index(name), name, list(points)) for name in names if (points := published.curve(screend, name))
    ]


def _right(lines: Sequence[Line]) -> float:
    return max((x for line in lines for x, _ in line.points), default=1.0)


def _to(lines: Sequence[Line], right: float) -> list[Line]:
    """The lines in a plot that goes that far."""
    return [replace(line, points=[*line.points, (right, None)]) for line in lines]


def _twice(title: str, measured: Sequence[Line], paper: Sequence[Line], y_label: str = Y, top: float | None = None) -> list[Plot]:
    """Two plots with the same scales, measured and published. `top`: None: a tenth above the lines."""
    both = [*measured, *paper]
    high = top or 1.1 * max((y for line in both for _, y in line.points if y is not None), default=1.0)
    return [
        page.over(f"{title}: {whose}", _to(lines, _right(both)), y_label, X, high)
        for whose, lines in (("measured", measured), ("the paper", paper))
    ]


def _pair(title: str, tables: Tables, screend: bool, names: Sequence[str]) -> list[Plot]:
    return _twice(title, _measured(tables.forwarding, screend, names), _published(screend, names))


def _unmodified(tables: Tables) -> Section:
    lines, paper = [], []
    for number, name in enumerate(SCREEND):
        (measured,) = _measured(tables.forwarding, bool(number), (UNMODIFIED,))
        lines.append(page.line(number, name, measured.points))
        paper.append(page.published(number, name, list(published.curve(bool(number), UNMODIFIED))))
    group = Group(legend=page.legend(SCREEND, PUBLISHED))
    group.plots = _twice("Figure 6-1", lines, paper)
    group.tables = [page.table(tables.curves)]
    group.note = (
        f"{NOTE} Loss-free up to: the highest load of the sweep up to which {100 * published.LOSSLESS:g} % of every load come "
        f"out. The mean from {published.OVERLOAD:g} on is that of all loads from {published.OVERLOAD:g} times the peak."
    )
    intro = "Figure 6-1: receive livelock in an unmodified kernel, and each curve of figures 6-1 to 6-6 in three figures."
    return Section("unmodified", "The unmodified kernel", "Unmodified", intro, [group])


def _polling(tables: Tables) -> Section:
    first, second = (UNMODIFIED, quota_name(5), NO_QUOTA, NAPI, IFPOLL, SHRINK, NAPI_POLL, DIM), ALL_QUOTAS
    group = Group(legend=_legend((*first, *second)) + page.legend((), PUBLISHED))
    group.plots = [*_pair("Figure 6-3", tables, False, first), *_pair("Figure 6-5", tables, False, second)]
    rows = tables.forwarding.only(lambda row: not row.screend)
    group.tables = [page.table(rows, folded=True)]
    group.note = (
        f'{NOTE} The paper\'s "no polling" is its modified kernel told to act as the unmodified one. Here both are one driver, '
        f"whose schemes are exchanged at run time. {NAPI}: our driver as it is used on Linux. "
        f"{IFPOLL}: polling from a clock as DragonFly BSD does, with half of the CPU for processes. "
        f"{SHRINK}: OpenBSD's receive ring, which gets shorter while the machine is livelocked; after each "
        f"pass RX stays masked for 125 µs. {NAPI_POLL}: completions are taken in the poll. {DIM}: NAPI that keeps RX masked "
        "for as long as the kernel's net_dim says."
    )
    intro = "Figures 6-3 and 6-5: polling, with and without a quota of frames for each poll."
    return Section("polling", "Polling and quotas, without screend", "Quotas", intro, [group])


def _screend(tables: Tables) -> Section:
    first = (UNMODIFIED, NO_FEEDBACK, quota_name(FEEDBACK_QUOTA), NAPI, IFPOLL, SHRINK, NAPI_POLL, DIM)
    group = Group(legend=_legend((*first, *ALL_QUOTAS)) + page.legend((), PUBLISHED))
    group.plots = [*_pair("Figure 6-4", tables, True, first), *_pair("Figure 6-6", tables, True, ALL_QUOTAS)]
    rows = tables.forwarding.only(lambda row: row.screend)
    group.tables = [page.table(rows, folded=True)]
    group.note = (
        f'{NOTE} All quotas have feedback from the queue to screend, except "{NO_FEEDBACK}" (quota {FEEDBACK_QUOTA}). Here '
        "screend is a process that reads every packet from a tun device and writes it back."
    )
    intro = "Figures 6-4 and 6-6: a user process that decides on every packet, and feedback from its queue."
    return Section("screend", "A process on the path", "screend", intro, [group])


def _cpu(tables: Tables) -> Section:
    names = [f"threshold {percent} %" for percent in LIMITS]
    lines = []
    for (percent, process), rows in tables.cpu.by(lambda row: (row.threshold_percent, row.process)).items():
        number = LIMITS.index(percent) if process == LOWEST else NORMAL_NUMBER
        points = sorted((row.offered_to_peak, row.cpu_percent) for row in rows)
        lines.append(page.line(number, names[LIMITS.index(percent)], list(points)))
    paper = [page.published(n, names[n], list(published.cpu_curve(percent))) for n, percent in enumerate(LIMITS)]
    normal = f"threshold {LIMITS[-1]} %, process of normal priority"
    group = Group(legend=page.legend((*names, normal), PUBLISHED))
    group.plots = _twice("Figure 7-1", lines, paper, "% of the CPU left", 104)
    group.tables = [page.table(tables.cpu, folded=True)]
    group.note = f"{NOTE} The process goes behind ksoftirqd, as the paper's behind the polling thread, unless it says otherwise."
    intro = "Figure 7-1: what a limit on the CPU time of polling leaves for a process that always computes."
    return Section("cpu", "Progress of user processes", "Processes", intro, [group])
