# SPDX-License-Identifier: GPL-2.0-or-later
"""Throughput by frame size."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab import units
from irqlab.config.traffic import MAX_FRAME_BYTES, MIN_FRAME_BYTES, wire_rate_pps
from irqlab.present import plots, tables
from irqlab.present.parts import Group, Numbers, Section
from irqlab.present.plots import Bar
from irqlab.present.rows import bar_of, by_test, kpps_text, legend_of, line_of, listed, place_of, wire_pps_of
from irqlab.present.variants import Row, Variant

MAX_SUMMARY = 16
"""Rows; of more, only those of the smallest frames stand at the top."""


def section(best: Sequence[Row], searched: Sequence[Row], number: Numbers) -> Section | None:
    """By frame size, and how the search went."""
    if not best:
        return None
    groups = []
    for bidirectional in (False, True):
        rows = [row for row in best if row.bidirectional == bidirectional]
        if rows:
            groups.append(_throughput_group(rows, number))
    if len(best) > MAX_SUMMARY:
        groups.append(Group(tables=[tables.summary(best, folded=True)]))
    if searched:
        ordered = sorted(searched, key=lambda row: (place_of(row), row.variant.number))
        groups.append(Group(tables=[tables.search(ordered)]))
    return Section(
        "throughput",
        "Throughput by frame size",
        "Throughput",
        "The highest offered rate at which no frame is lost (RFC 2544, 26.1), all directions together.",
        groups,
    )


def _throughput_group(rows: Sequence[Row], number: Numbers) -> Group:
    sized = [row for row in rows if row.frame_bytes != "imix"]
    sizes = sorted({int(row.frame_bytes) for row in sized})
    speeds = sorted({row.variant.line_rate_bps for row in rows if row.variant.line_rate_bps})
    group = Group()
    if len(sizes) > 1:
        group.heading = units.direction(rows[0].bidirectional).capitalize()
        lines: dict[Variant, list[Row]] = {}
        for row in sized:
            lines.setdefault(row.variant, []).append(row)
        drawn = [
            line_of(of[0], sorted((float(r.frame_bytes), r.data["total_throughput_pps"] / 1e3) for r in of))
            for of in lines.values()
        ]
        steps = [MIN_FRAME_BYTES * (MAX_FRAME_BYTES / MIN_FRAME_BYTES) ** (n / 60) for n in range(61)]
        wires = [[(s, wire_rate_pps(s, bps) * rows[0].directions / 1e3) for s in steps if s >= sizes[0] * 0.9] for bps in speeds]
        group.plots.append(number.plot("By frame size", plots.throughput_by_size(drawn, wires)))
        group.legend = legend_of(sized, *(("grey", f"what a wire of {units.bit_rate(bps)} carries") for bps in speeds))
        rest = [row for row in rows if row.frame_bytes == "imix"]
    else:
        rest = list(rows)
    for heading, same in by_test(rest):
        top = max(row.data["total_throughput_pps"] for row in same)
        entries = [bar_of(row, row.data["total_throughput_pps"], kpps_text(row.data["total_throughput_pps"])) for row in same]
        wires_pps = sorted(
            {(row.variant.line_rate_bps, pps) for row in same if row.variant.line_rate_bps and (pps := wire_pps_of(row))}
        )
        entries += [
            Bar(f"wire-{n}", f"what a wire of {units.bit_rate(bps)} carries", plots.rank_style(0), pps, kpps_text(pps), grey=True)
            for n, (bps, pps) in enumerate(wires_pps)
            if pps <= 4 * top
        ]
        group.plots.append(number.plot(heading, plots.bars(entries, f"Throughput, {heading}")))
    return group


def rows_with_throughput(rows: Sequence[Row]) -> list[Row]:
    """For each test the row that says the throughput: the throughput test's own where there is one.

    Not a profile's: what it says of a frame's cost is of another load. Nor that of `costs`, for the same reason.
    """
    rows = [row for row in rows if row.data["method"] not in ("profile", "metrics")]
    found: dict[tuple[Variant, bool, int | str], Row] = {}
    for row in sorted(
        (r for r in rows if r.data["total_throughput_pps"] is not None), key=lambda r: r.data["method"] != "throughput"
    ):
        found.setdefault((row.variant, row.bidirectional, row.frame_bytes), row)
    return sorted(found.values(), key=lambda row: (place_of(row), row.variant.number))


def verdicts(best: Sequence[Row]) -> list[str]:
    """The smallest frames of each direction in a sentence: there a driver shows what it costs."""
    found = []
    for bidirectional in (False, True):
        rows = [row for row in best if row.bidirectional == bidirectional and row.frame_bytes != "imix"]
        if not rows:
            continue
        size = min(int(row.frame_bytes) for row in rows)
        found.append(_verdict([row for row in rows if row.frame_bytes == size]))
    return found


def _verdict(rows: Sequence[Row]) -> str:
    ordered = sorted(rows, key=lambda row: -row.data["total_throughput_pps"])
    first, last = ordered[0], ordered[-1]
    direction = units.direction(first.bidirectional)
    what = f"{kpps_text(first.data['total_throughput_pps'])} of {first.frame_bytes}-byte frames without loss, {direction}"
    if first.data["line_rate_limited"]:
        full = [row.variant.label for row in ordered if row.data["line_rate_limited"]]
        return f"{listed(full)} {'fill' if len(full) > 1 else 'fills'} the wire: {what}."
    if len(ordered) == 1:
        cost = first.data["instructions_per_frame"]
        return f"{first.variant.label} forwards {what}" + (f", at {units.whole(cost)} instructions each." if cost else ".")
    gain = (
        first.data["total_throughput_pps"] / last.data["total_throughput_pps"] - 1 if last.data["total_throughput_pps"] else None
    )
    more = f"{units.percent(gain)} more than" if gain is not None else "against"
    return f"{first.variant.label} forwards most: {what}; {more} {last.variant.label} ({kpps_text(last.data['total_throughput_pps'])})."
