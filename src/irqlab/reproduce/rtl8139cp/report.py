# SPDX-License-Identifier: GPL-2.0-or-later
"""The report: the article's figures beside the lab's, in the article's order."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab.present import plots
from irqlab.present.parts import Group, Plot, Section
from irqlab.present.series import Line, Point
from irqlab.reproduce import page
from irqlab.reproduce.rtl8139cp.configurations import NAMES
from irqlab.reproduce.rtl8139cp.measure import RUN_FRAMES, ReceiveRow, Tables
from irqlab.reproduce.rtl8139cp.periods import AT_ONCE, CHIPS, DEFERRED, KERNELS, NAPI, TIMER
from irqlab.reproduce.rtl8139cp.trials import GENTLE_PPS
from irqlab.reproduce.table import Table

PUBLISHED = ("published", "the article")
BYTES = "Frame size, bytes (without FCS)"


def picture(tables: Tables) -> Group:
    """The timer against NAPI, by frame size: relative, since the article's rates cannot be compared, and absolute."""
    return Group(
        legend=page.legend(tuple(NAMES.values()), PUBLISHED),
        plots=[_relative(tables.receive), _absolute(tables.receive)],
        note="Solid: measured here. Dashed: the article. The first plot shows the frames received with the timer (and with our "
        "driver's NAPI) as a multiple of those with 8139cp, the second the frames themselves, at the wire's full rate. The "
        "article's rates are beyond what a 100 Mbit/s wire carries.",
    )


def _by_size(rows: Sequence[ReceiveRow], base: dict[int, ReceiveRow] | None) -> tuple[list[Point], list[Point]]:
    """Measured and published, in kpps or as multiples of a base."""
    measured: list[Point] = []
    published: list[Point] = []
    for row in rows:
        under = base[row.frame_bytes] if base else None
        measured.append((row.frame_bytes, row.received_pps / (under.received_pps if under else 1e3)))
        if row.article_ipps is not None and (under is None or under.article_ipps is not None):
            published.append((row.frame_bytes, row.article_ipps / ((under and under.article_ipps) or 1e3)))
    return measured, published


def _lines(receive: Table[ReceiveRow], relative: bool) -> list[Line]:
    by = receive.by(lambda r: r.configuration)
    base = {row.frame_bytes: row for row in by["before"]} if relative else None
    lines = []
    for number, (name, title) in enumerate(NAMES.items()):
        measured, published = _by_size(by.get(name, ()), base)
        if published:
            lines.append(page.published(number, title, published, "the article"))
        lines.append(page.line(number, title, measured))
    return lines


def _relative(receive: Table[ReceiveRow]) -> Plot:
    drawn = plots.throughput_by_size(_lines(receive, True), (), "times 8139cp", x_label=BYTES)
    return page.plot("Received, relative to 8139cp with NAPI", drawn)


def _absolute(receive: Table[ReceiveRow]) -> Plot:
    rows = receive.where(lambda r: r.configuration == "before")
    wire = [(float(row.frame_bytes), row.wire_pps / 1e3) for row in rows]
    lines = _lines(receive, False)
    most = max((y for line in lines for _, y in line.points if y is not None), default=1.0)
    return page.plot("Received", plots.throughput_by_size(lines, (wire,), "kpps", 1.1 * most, x_label=BYTES))


def sections(tables: Tables) -> list[Section]:
    """Tables and plots."""
    return [
        _receive(tables),
        _period(tables),
        _range(tables),
        _ablation(tables),
        *page.listing(
            "costs", "Where the instructions go", "Instructions", "Short frames at the wire's full rate.", tables.profile
        ),
        *page.listing(
            "provenance",
            "Where the article's table is from",
            "Provenance",
            "The article quotes the kernel's NAPI_HOWTO.txt, which has a table of a gigabit NIC (e1000).",
            tables.provenance,
        ),
    ]


def _receive(tables: Tables) -> Section:
    capability = tables.capability
    lines = [
        page.line(number, title, [(r.frame_bytes, getattr(r, f"{name}_pps") / 1e3) for r in capability])
        for number, (name, title) in enumerate(NAMES.items())
    ]
    group = Group(legend=page.legend(tuple(NAMES.values())))
    group.plots = [page.plot("Throughput without loss", plots.throughput_by_size(lines, (), x_label=BYTES))]
    group.tables = [page.table(tables.receive), page.table(capability), page.table(tables.polls)]
    group.note = (
        f"Frame sizes are the article's, without the FCS. A run is of {RUN_FRAMES:,} frames offered at the wire's full rate, "
        "scaled from a shorter trial: there is no noise."
    )
    return Section("receive", "Receiving", "Receiving", "The article's two tables, and the gain it claims.", [group])


def _period(tables: Tables) -> Section:
    data = tables.period
    us = [r for r in data if r.period_us is not None]
    p50s: list[Point] = [((r.period_us or 0) / 1e3, r.latency_p50_us) for r in us]
    p99s: list[Point] = [((r.period_us or 0) / 1e3, r.latency_p99_us) for r in us]
    latency = [page.line(0, "p50", p50s), page.line(1, "p99", p99s)]
    group = Group(tables=[page.table(data)])
    if us:
        drawn = plots.over_load(latency, "µs", "Latency over the period", None, x_label="Period, ms")
        group.plots = [page.plot(f"Latency at {GENTLE_PPS:,.0f} frames/s: median (circles) and p99 (squares)", drawn)]
    group.note = (
        "Frames held: the mean number of frames in the DUT, by Little's law (rate times mean latency). That is the memory the "
        "timer needs besides the ring. The ring's limit: descriptors per period."
    )
    return Section("period", "The timer's period", "Period", "What a longer period costs.", [group])


RANGED = (KERNELS, NAPI, f"timer, refill {DEFERRED}", f"timer, refill {AT_ONCE}")


def _range(tables: Tables) -> Section:
    data = tables.chips
    group = Group(legend=page.legend(RANGED), tables=[page.table(data)])
    for chip in CHIPS:
        timers = [[r for r in data if (r.chip, r.configuration, r.refill) == (chip, TIMER, of)] for of in (DEFERRED, AT_ONCE)]
        others = [[r for r in data if (r.chip, r.configuration) == (chip, of)] for of in (KERNELS, NAPI)]
        periods = sorted({r.period_us or 0 for rows in timers for r in rows})
        points: list[list[Point]] = [[(us / 1e3, r.throughput_pps / 1e3) for r in rows for us in periods] for rows in others]
        points += [[((r.period_us or 0) / 1e3, r.throughput_pps / 1e3) for r in rows] for rows in timers]
        if periods:
            lines = [page.line(n, name, found) for n, (name, found) in enumerate(zip(RANGED, points, strict=True))]
            drawn = plots.over_load(lines, "kpps", "Throughput without loss over the period", None, x_label="Period, ms")
            group.plots.append(page.plot(chip, drawn))
    groups = [group, Group("Refill rules", tables=[page.table(tables.rules)])]
    if tables.cards:
        groups.append(Group("On two models of the chip", tables=[page.table(tables.cards)]))
    if tables.hardware:
        groups.append(Group("On stated hardware", tables=[page.table(tables.hardware)]))
    intro = "Throughput without loss with every period, on two chips: where the timer wins, and where it loses."
    return Section("range", "Where the timer wins", "Where it wins", intro, groups)


def _ablation(tables: Tables) -> Section:
    data = tables.ablation
    shown = (
        "what", "throughput_pps", "earns_percent", "full_rate_forwarded_pps", "full_rate_instructions_per_frame",
        "latency_p50_us", "latency_max_us", "held_frames",
    )  # fmt: skip
    group = Group(tables=[page.table(data, *shown)])
    return Section("ablation", "What each measure earns", "Measures", "Each of the article's measures left out alone.", [group])
