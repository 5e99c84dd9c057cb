# SPDX-License-Identifier: GPL-2.0-or-later
"""How throughputs are shown: tables, plots over frame size, bars, costs per frame, and the sentence that sums them up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from irqlab import units
from irqlab.config.traffic import MAX_FRAME_BYTES, MIN_FRAME_BYTES, wire_rate_pps
from irqlab.methods import answers
from irqlab.methods.method import Lines, Picture
from irqlab.present import plots, series
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Legend, Numbers, Plot, Section
from irqlab.present.rows import bar_of, by_test, heading_of, kpps_text, legend_of, line_of, listed, place_of, wire_pps_of
from irqlab.present.series import Bar
from irqlab.present.tables import Table
from irqlab.present.variants import Row, Variant
from irqlab.results.records import TrialRecord

WIRE = "the wire"
TESTER = "the tester"
CPU = "the DUT's CPU"
IDLE = 0.05
"""A CPU that idles for less of the time is what limits the throughput."""
MAX_SUMMARY = 16
"""Maximum rows of a report's first table; if there are more, it shows only the smallest frame size."""


@dataclass(frozen=True)
class Line:
    """A table line: the throughput of a driver."""

    nic: Annotated[str, Col("NIC", title="QEMU's model")]
    total_throughput_pps: Annotated[
        float | None,
        Col(
            "Throughput",
            "kpps",
            units.kpps,
            title="the highest rate without loss, all directions together",
            mark=lambda _: "strong",
        ),
    ]
    per_interface_throughput_mbps: Annotated[
        float | None, Col("Interface", "Mbit/s", units.mbps, title="including preamble and inter-frame gap")
    ]
    instructions_per_frame: Annotated[float | None, Col("Instructions", "/frame", units.whole)]
    l1i_fills_per_frame: Annotated[float | None, Col("L1I fills", "/frame", units.whole, True, "lines of instructions fetched")]
    l1d_fills_per_frame: Annotated[float | None, Col("L1D fills", "/frame", units.whole, True, "lines of data fetched")]
    l2_fills_per_frame: Annotated[
        float | None, Col("L2 fills", "/frame", units.per_frame, True, "lines fetched past the second level")
    ]
    interrupts_per_frame: Annotated[float | None, Col("Interrupts", "/frame", units.per_frame)]
    rx_interrupts_per_frame: Annotated[
        float | None, Col("RX", "/frame", units.per_frame, True, "receive interrupts, counted by the driver")
    ]
    tx_interrupts_per_frame: Annotated[
        float | None,
        Col(
            "TX",
            "/frame",
            units.per_frame,
            True,
            "transmit interrupts, counted by the driver; one interrupt may have both causes",
        ),
    ]
    limit: Annotated[
        str | None,
        Col("Limited by", title="what limits the throughput", mark=lambda by: "good" if by == WIRE else ""),
    ]

    @classmethod
    def of(cls, row: Row) -> list[Line]:
        """The line of a result row."""
        found = row.result
        return [
            cls(
                found.nic,
                found.total_throughput_pps,
                found.per_interface_throughput_mbps,
                found.instructions_per_frame,
                found.l1i_fills_per_frame,
                found.l1d_fills_per_frame,
                found.l2_fills_per_frame,
                found.interrupts_per_frame,
                found.rx_interrupts_per_frame,
                found.tx_interrupts_per_frame,
                _limit(row),
            )
        ]


def _limit(row: Row) -> str | None:
    """What limits the throughput of a result row."""
    found = row.result
    if found.line_rate_limited is None:
        return None
    if found.line_rate_limited or found.tester_limited:
        return WIRE if found.line_rate_limited else TESTER
    measured = (row.members or (row,))[0].result
    idle = [_least_idle(trial) for trial in measured.trials if trial.offered_pps == measured.total_throughput_pps]
    return CPU if idle and idle[0] is not None and idle[0] < IDLE else "the device"


def _least_idle(trial: TrialRecord) -> float | None:
    """The idle ratio of the busiest processor."""
    processors = trial.processors or []
    return min((one.idle_ratio for one in processors), default=trial.idle_ratio)


@dataclass(frozen=True)
class FirstLine:
    """A line of the report's first table, which has to fit on a laptop's screen."""

    total_throughput_pps: Annotated[
        float | None, Col("Throughput", "kpps", units.kpps, title="the highest rate without loss", mark=lambda _: "strong")
    ]
    instructions_per_frame: Annotated[float | None, Col("Instructions", "/frame", units.whole)]
    interrupts_per_frame: Annotated[float | None, Col("Interrupts", "/frame", units.per_frame)]
    limit: Annotated[
        str | None,
        Col("Limited by", title="what limits the throughput", mark=lambda by: "good" if by == WIRE else ""),
    ]

    @classmethod
    def of(cls, row: Row) -> list[FirstLine]:
        """The line of a result row."""
        (line,) = Line.of(row)
        return [cls(line.total_throughput_pps, line.instructions_per_frame, line.interrupts_per_frame, line.limit)]


@dataclass(frozen=True)
class CostLine:
    """Cost per frame at the throughput."""

    instructions_per_frame: Annotated[float | None, Col("Instructions", "/frame", units.whole)]
    l1i_fills_per_frame: Annotated[float | None, Col("L1I fills", "/frame", units.whole, True, "lines of instructions fetched")]
    l1d_fills_per_frame: Annotated[float | None, Col("L1D fills", "/frame", units.whole, True, "lines of data fetched")]
    l2_fills_per_frame: Annotated[
        float | None, Col("L2 fills", "/frame", units.per_frame, True, "lines fetched past the second level")
    ]
    interrupts_per_frame: Annotated[float | None, Col("Interrupts", "/frame", units.per_frame)]

    @classmethod
    def of(cls, row: Row) -> list[CostLine]:
        """The line of a result row."""
        found = row.result
        return [
            cls(
                found.instructions_per_frame,
                found.l1i_fills_per_frame,
                found.l1d_fills_per_frame,
                found.l2_fills_per_frame,
                found.interrupts_per_frame,
            )
        ]


LINES = Lines(
    "Throughput", Line, Line.of, note="kpps: all directions together; Mbit/s: per interface, including preamble and gap"
)


def by_direction(rows: Sequence[Row], number: Numbers) -> list[Group]:
    """For each direction, plots of the throughputs; then a table of all."""
    groups = []
    for bidirectional in (False, True):
        same = [row for row in rows if row.bidirectional == bidirectional]
        if same:
            groups.append(Group(_direction_heading(same), plots=_plots(same, number), legend=_legend(same)))
    groups.append(Group(tables=[Lines("All figures", Line, Line.of, LINES.note, folded=True).table(rows)]))
    return groups


def _sizes(rows: Sequence[Row]) -> list[int]:
    return sorted({int(row.frame_bytes) for row in rows if row.frame_bytes != "imix"})


def _direction_heading(rows: Sequence[Row]) -> str:
    return units.direction(rows[0].bidirectional).capitalize() if len(_sizes(rows)) > 1 else ""


def _speeds(rows: Sequence[Row]) -> list[float]:
    return sorted({row.variant.line_rate_bps for row in rows if row.variant.line_rate_bps})


def _legend(rows: Sequence[Row]) -> list[Legend]:
    """Legend of the lines over frame size; bars are labelled."""
    if len(_sizes(rows)) < 2:
        return []
    wires = (("grey", f"line rate at {units.bit_rate(bps)}") for bps in _speeds(rows))
    return legend_of([row for row in rows if row.frame_bytes != "imix"], *wires)


def _plots(rows: Sequence[Row], number: Numbers) -> list[Plot]:
    """For one direction: lines over frame size if there are several sizes, else bars."""
    if len(_sizes(rows)) < 2:
        return [_bars(heading, same, number) for heading, same in by_test(rows)]
    imix = [row for row in rows if row.frame_bytes == "imix"]
    return [_by_size(rows, number), *(_bars(heading, same, number) for heading, same in by_test(imix))]


def _by_size(rows: Sequence[Row], number: Numbers) -> Plot:
    lines: dict[Variant, list[Row]] = {}
    for row in rows:
        if row.frame_bytes != "imix":
            lines.setdefault(row.variant, []).append(row)
    drawn = [
        line_of(of[0], sorted((float(row.frame_bytes), row.result.total_throughput_pps / 1e3) for row in of))
        for of in lines.values()
    ]
    steps = [MIN_FRAME_BYTES * (MAX_FRAME_BYTES / MIN_FRAME_BYTES) ** (n / 60) for n in range(61)]
    steps = [step for step in steps if step >= _sizes(rows)[0] * 0.9]
    wires = [[(step, wire_rate_pps(step, bps) * rows[0].directions / 1e3) for step in steps] for bps in _speeds(rows)]
    return number.plot("By frame size", plots.throughput_by_size(drawn, wires))


def _bars(heading: str, rows: Sequence[Row], number: Numbers) -> Plot:
    top = max(row.result.total_throughput_pps for row in rows)
    entries = [bar_of(row, row.result.total_throughput_pps, kpps_text(row.result.total_throughput_pps)) for row in rows]
    wires = {(row.variant.line_rate_bps, pps) for row in rows if row.variant.line_rate_bps and (pps := wire_pps_of(row))}
    entries += [
        Bar(f"wire-{n}", f"line rate at {units.bit_rate(bps)}", series.rank_style(0), pps, kpps_text(pps), grey=True)
        for n, (bps, pps) in enumerate(sorted(wires))
        if pps <= 4 * top
    ]
    return number.plot(heading, plots.bars(entries, f"Throughput, {heading}"))


def picture(rows: Sequence[Row], number: Numbers) -> Picture:
    """The first plot of the first direction."""
    first = [row for row in rows if row.bidirectional == rows[0].bidirectional]
    if len(_sizes(first)) > 1:
        plot = _by_size(first, number)
        return Picture(replace(plot, title=f"Throughput, {units.direction(first[0].bidirectional)}"), _legend(first))
    heading, same = next(by_test(first))
    return Picture(replace(_bars(heading, same, number), title=f"Throughput, {heading}"))


def cost(rows: Sequence[Row], number: Numbers) -> list[Section]:
    """The section on what a frame costs: a bar per variant for the smallest frames; a table for all sizes."""
    rows = [row for row in rows if row.result.interrupts_per_frame is not None or row.result.instructions_per_frame is not None]
    groups = []
    for bidirectional in (False, True):
        mine = [row for row in rows if row.bidirectional == bidirectional]
        if not mine:
            continue
        heading, smallest = next(by_test(mine))
        group = Group(heading)
        for key, title, write in (
            ("interrupts_per_frame", "Interrupts per frame", units.per_frame),
            ("instructions_per_frame", "Instructions per frame", units.whole),
        ):
            counted = [(row, value) for row in smallest if (value := getattr(row.result, key)) is not None]
            entries = [bar_of(row, value, write(value)) for row, value in counted]
            if entries:
                group.plots.append(number.plot(title, plots.bars(entries, title)))
        if len(mine) > len(smallest):
            group.tables = [Lines("Every frame size", CostLine, CostLine.of, folded=True).table(mine)]
        groups.append(group)
    intro = (
        "Device interrupts and instructions per frame forwarded, at the throughput. Interrupts are those of both interfaces, "
        "receive and transmit; instructions are everything the CPU executed, including the kernel's network stack."
    )
    return [Section("cost", "What a frame costs", "Cost", intro, groups)] if groups else []


def verdicts(rows: Sequence[Row]) -> list[str]:
    """One sentence per direction on the smallest frames, where per-frame costs matter most."""
    return [_verdict(same) for _, same in answers.smallest([row for row in rows if _pps(row) is not None])]


def _pps(row: Row) -> float | None:
    total: float | None = row.result.total_throughput_pps
    return total


def _alike(first: Row, other: Row) -> bool:
    """Whether throughputs do not differ: ensembles overlap; else they are as close as the search's bounds."""
    ranges = [[_pps(one) or 0.0 for one in row.members or (row,)] for row in (first, other)]
    if all(len(found) > 1 for found in ranges):
        return max(map(min, ranges)) <= min(map(max, ranges))
    width: float = max(row.summary.relative_width for row in (first, other))
    return min(map(max, ranges)) >= max(map(max, ranges)) * (1 - width)


def sure(rows: Sequence[Row]) -> str:
    """The search's width, and how far figures can be trusted."""
    return answers.searched(max(row.summary.relative_width for row in rows), rows)


def _verdict(rows: Sequence[Row]) -> str:
    ranked = sorted(rows, key=lambda row: -row.result.total_throughput_pps)
    first, last = ranked[0].result, ranked[-1].result
    what = f"{answers.spread(ranked[0], _pps, kpps_text)} without loss ({heading_of(ranked[0])})"
    label = ranked[0].variant.label
    if first.line_rate_limited:
        full = [row.variant.label for row in ranked if row.result.line_rate_limited]
        return f"{listed(full)} {'reach' if len(full) > 1 else 'reaches'} line rate: {what}."
    if len(ranked) == 1:
        cost = answers.spread(ranked[0], lambda row: row.result.instructions_per_frame, units.whole)
        at = f", at {cost} instructions per frame" if first.instructions_per_frame else ""
        return f"{label} forwards {what}{at}; limited by {_limit(ranked[0])}."
    best = [row.variant.label for row in ranked if _alike(ranked[0], row)]
    lowest = answers.spread(ranked[-1], _pps, kpps_text)
    if len(best) == len(ranked):
        highest = answers.spread(ranked[0], _pps, kpps_text)
        return f"No difference between {listed(best)}: {what}" + (f"; lowest: {lowest}." if lowest != highest else ".")
    gain = first.total_throughput_pps / last.total_throughput_pps - 1 if last.total_throughput_pps else None
    more = f"{units.percent(gain)} more than" if gain is not None else "against"
    most = "forwards most" if len(best) == 1 else "forward most, without a difference"
    return f"{listed(best)} {most}: {what}; {more} {ranked[-1].variant.label} ({lowest})."


def first_table(rows: Sequence[Row]) -> Table | None:
    """The report's first table: all rows with a throughput, or, if they are many, only those of the smallest frames."""
    if not rows:
        return None
    if len(rows) > MAX_SUMMARY:
        smallest = {b: min(place_of(row) for row in rows if row.bidirectional == b) for b in {row.bidirectional for row in rows}}
        rows = [row for row in rows if place_of(row) == smallest[row.bidirectional]]
    return Lines("Throughput", FirstLine, FirstLine.of, "Of all directions together").table(rows)
