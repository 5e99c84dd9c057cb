# SPDX-License-Identifier: GPL-2.0-or-later
"""From result documents to what the page shows: sections of notices, legends, plots and tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from irqlab import units
from irqlab.report import costs, hdr, plots, profile, tables
from irqlab.report.plots import Bar, Line
from irqlab.report.tables import PERCENTILES, Table
from irqlab.report.variants import Row, Variant, rows_of
from irqlab.trial import MAX_FRAME_BYTES, MIN_FRAME_BYTES, mean_frame_bytes, wire_rate_pps

Json = dict[str, Any]

NEAR_COLLAPSE = 0.9
"""A driver that forwards less than this share of its maximum at the highest load is said to degrade."""
MAX_HDR_PLOTS = 3
MAX_NAMES = 5
"""In the title."""
MAX_SUMMARY = 16
"""Rows; of more, only those of the smallest frames stand at the top."""
MAX_HDR_POINTS = 160


@dataclass(frozen=True)
class Legend:
    """One entry of a legend."""

    key: str
    """Of the swatch."""
    text: str


@dataclass(frozen=True)
class Plot:
    """A plot with its heading."""

    title: str
    svg: Markup
    note: str = ""
    wide: bool = False
    """As wide as the page."""


@dataclass(frozen=True)
class Notice:
    """A finding to be seen at once; `kind` is good, warn or bad."""

    kind: str
    text: str
    items: Sequence[str] = ()


@dataclass
class Group:
    """What belongs together: one frame size and direction, mostly."""

    heading: str = ""
    notices: list[Notice] = field(default_factory=list)
    legend: list[Legend] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    note: str = ""
    tables: list[Table] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    id: str
    title: str
    short: str
    """For the list of contents."""
    intro: str
    groups: list[Group]


@dataclass(frozen=True)
class Origin:
    """A document: how to get it again."""

    command: str
    complete: bool
    facts: list[tuple[str, str]]


@dataclass(frozen=True)
class Page:
    """The report."""

    title: str
    lead: str
    symbols: Markup
    """The swatches, to be referred to as `#key-KEY`."""
    verdicts: list[str]
    notices: list[Notice]
    summary: Table | None
    sections: list[Section]
    origins: list[Origin]
    duts: list[Table]


class _Numbers:
    """Hands out plots with identifiers of their own."""

    def __init__(self) -> None:
        self.last = 0

    def plot(self, title: str, svg: str, note: str = "", wide: bool = False) -> Plot:
        self.last += 1
        return Plot(title, Markup(plots.numbered(svg, self.last)), note, wide)


def build(documents: Sequence[Json]) -> Page:
    """The page's content. Raises KeyError, TypeError or ValueError for what is not a result document."""
    rows = rows_of(documents)
    number = _Numbers()
    by_method: dict[str, list[Row]] = {}
    for row in rows:
        by_method.setdefault(row.data["method"], []).append(row)
    best = _throughput_rows(rows)
    variants = list(dict.fromkeys(row.variant for row in rows))
    sections = [
        _throughput(best, by_method.get("throughput", []), number),
        _loss(by_method.get("loss", []), number),
        _latency(by_method.get("latency", []), number),
        _cost(best, number),
        _burst(by_method.get("burst", []), number),
        _recovery(by_method.get("recovery", []), number),
        _profile(by_method.get("profile", []), number),
        _side_by_side(by_method.get("costs", []), number),
    ]
    drivers = list(dict.fromkeys(row.data["driver"] for row in rows))
    return Page(
        title=f"irqlab: {_names(drivers) or 'no results'}",
        lead=_lead(drivers),
        symbols=_symbols(variants),
        verdicts=_verdicts(best) + _overload_verdicts(by_method.get("loss", [])),
        notices=_incomplete(documents, rows),
        summary=_summary(best),
        sections=[section for section in sections if section is not None],
        origins=[origin(document) for document in documents],
        duts=duts(documents),
    )


def _lead(drivers: Sequence[str]) -> str:
    one = "the Linux network driver forwards, loses and costs"
    what = one if len(drivers) == 1 else f"{len(drivers) or 'no'} Linux network drivers forward, lose and cost"
    return f"What {what} in a router with one CPU, measured by irqlab in virtual time with the methods of RFC 2544."


def _names(drivers: Sequence[str]) -> str:
    shown = list(drivers) if len(drivers) <= MAX_NAMES else [*drivers[: MAX_NAMES - 1], f"{len(drivers) - MAX_NAMES + 1} more"]
    return ", ".join(shown)


def _symbols(variants: Sequence[Variant]) -> Markup:
    keys = {str(v.number): plots.swatch(plots.style(v.number)) for v in variants}
    keys |= {f"rank-{n}": plots.swatch(plots.rank_style(n)) for n in range(len(PERCENTILES))}
    keys |= {kind: plots.mark(kind) for kind in ("grey", "wire", "ring", "cross")}
    return Markup("\n".join(plots.symbol(svg, f"key-{key}") for key, svg in keys.items()))


def _incomplete(documents: Sequence[Json], rows: Sequence[Row]) -> list[Notice]:
    cut = sum(not document["complete"] for document in documents)
    if not cut:
        return []
    which = "The measurement was" if len(documents) == 1 else f"Of {len(documents)} files {cut} {'was' if cut == 1 else 'were'}"
    short = [
        f"{row.data['method']} of {row.variant.label}, {_heading(row)}" for row in rows if not row.data.get("complete", True)
    ]
    end = "; these tests were cut short:" if short else "."
    return [Notice("warn", f"{which} interrupted: what had been measured until then is here, the rest is missing{end}", short)]


def _summary(best: Sequence[Row]) -> Table | None:
    """All rows, if they are few; else those of the smallest frames, where a driver shows what it costs."""
    if len(best) <= MAX_SUMMARY:
        return tables.summary(best) if best else None
    smallest = {b: min(_place(row) for row in best if row.bidirectional == b) for b in {row.bidirectional for row in best}}
    return tables.summary([row for row in best if _place(row) == smallest[row.bidirectional]])


def _place(row: Row) -> tuple[bool, bool, float]:
    """Sorts by direction and frame size, IMIX last."""
    return row.bidirectional, row.frame_bytes == "imix", mean_frame_bytes(row.frame_bytes)  # type: ignore[arg-type]


def _groups(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Rows with the same frame size and direction, under what they have in common."""
    found: dict[tuple[bool, bool, float], list[Row]] = {}
    for row in rows:
        found.setdefault(_place(row), []).append(row)
    for key in sorted(found):
        yield _heading(found[key][0]), found[key]


def _heading(row: Row) -> str:
    size = "IMIX" if row.frame_bytes == "imix" else f"{row.frame_bytes}-byte frames"
    return f"{size}, {units.direction(row.bidirectional)}"


def _throughput_rows(rows: Sequence[Row]) -> list[Row]:
    """For each test the row that says the throughput: the throughput test's own where there is one.

    Not a profile's: what it says of a frame's cost is of another load. Nor that of `costs`, for the same reason.
    """
    rows = [row for row in rows if row.data["method"] not in ("profile", "costs")]
    found: dict[tuple[Variant, bool, int | str], Row] = {}
    for row in sorted((r for r in rows if r.data["throughput_pps"] is not None), key=lambda r: r.data["method"] != "throughput"):
        found.setdefault((row.variant, row.bidirectional, row.frame_bytes), row)
    return sorted(found.values(), key=lambda row: (_place(row), row.variant.number))


def _series(row: Row) -> str:
    return f"series-{row.variant.number}"


def _line(row: Row, points: Sequence[plots.Point], **marks: Any) -> Line:
    return Line(_series(row), row.variant.label, plots.style(row.variant.number), points, **marks)


def _bar(row: Row, value: float, text: str) -> Bar:
    return Bar(f"bar-{row.variant.number}", row.variant.label, plots.style(row.variant.number), value, text)


def _legend(rows: Sequence[Row], *marks: tuple[str, str]) -> list[Legend]:
    variants = sorted({row.variant for row in rows}, key=lambda variant: variant.number)
    return [Legend(str(v.number), v.label) for v in variants] + [Legend(kind, text) for kind, text in marks]


def _wire_pps(row: Row, size: float | None = None) -> float | None:
    """What the wire carries, all tested directions together."""
    if row.variant.wire_bps is None:
        return None
    bytes_ = mean_frame_bytes(row.frame_bytes) if size is None else size  # type: ignore[arg-type]
    return wire_rate_pps(bytes_, row.variant.wire_bps) * row.directions


def _verdicts(best: Sequence[Row]) -> list[str]:
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
    ordered = sorted(rows, key=lambda row: -row.data["throughput_pps"])
    first, last = ordered[0], ordered[-1]
    direction = units.direction(first.bidirectional)
    what = f"{_kpps(first.data['throughput_pps'])} of {first.frame_bytes}-byte frames without loss, {direction}"
    if first.data["at_wire_rate"]:
        full = [row.variant.label for row in ordered if row.data["at_wire_rate"]]
        return f"{_enumerate(full)} {'fill' if len(full) > 1 else 'fills'} the wire: {what}."
    if len(ordered) == 1:
        cost = first.data["instructions_per_frame"]
        return f"{first.variant.label} forwards {what}" + (f", at {units.whole(cost)} instructions each." if cost else ".")
    gain = first.data["throughput_pps"] / last.data["throughput_pps"] - 1 if last.data["throughput_pps"] else None
    more = f"{units.percent(gain)} more than" if gain is not None else "against"
    return f"{first.variant.label} forwards most: {what}; {more} {last.variant.label} ({_kpps(last.data['throughput_pps'])})."


def _enumerate(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _overload_verdicts(rows: Sequence[Row]) -> list[str]:
    locked = list(dict.fromkeys(row.variant.label for row in rows if row.data["found"].get("collapse_load") is not None))
    if not locked:
        return []
    return [f"Under overload {_enumerate(locked)} {'fall' if len(locked) > 1 else 'falls'} into receive livelock."]


def _throughput(best: Sequence[Row], searched: Sequence[Row], number: _Numbers) -> Section | None:
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
        ordered = sorted(searched, key=lambda row: (_place(row), row.variant.number))
        groups.append(Group(tables=[tables.search(ordered)]))
    return Section(
        "throughput",
        "Throughput by frame size",
        "Throughput",
        "The highest offered rate at which no frame is lost (RFC 2544, 26.1), all directions together.",
        groups,
    )


def _throughput_group(rows: Sequence[Row], number: _Numbers) -> Group:
    sized = [row for row in rows if row.frame_bytes != "imix"]
    sizes = sorted({int(row.frame_bytes) for row in sized})
    speeds = sorted({row.variant.wire_bps for row in rows if row.variant.wire_bps})
    group = Group()
    if len(sizes) > 1:
        group.heading = units.direction(rows[0].bidirectional).capitalize()
        lines: dict[Variant, list[Row]] = {}
        for row in sized:
            lines.setdefault(row.variant, []).append(row)
        drawn = [
            _line(of[0], sorted((float(r.frame_bytes), r.data["throughput_pps"] / 1e3) for r in of)) for of in lines.values()
        ]
        steps = [MIN_FRAME_BYTES * (MAX_FRAME_BYTES / MIN_FRAME_BYTES) ** (n / 60) for n in range(61)]
        wires = [[(s, wire_rate_pps(s, bps) * rows[0].directions / 1e3) for s in steps if s >= sizes[0] * 0.9] for bps in speeds]
        group.plots.append(number.plot("By frame size", plots.throughput_by_size(drawn, wires)))
        group.legend = _legend(sized, *(("grey", f"what a wire of {units.bit_rate(bps)} carries") for bps in speeds))
        rest = [row for row in rows if row.frame_bytes == "imix"]
    else:
        rest = list(rows)
    for heading, same in _groups(rest):
        top = max(row.data["throughput_pps"] for row in same)
        entries = [_bar(row, row.data["throughput_pps"], _kpps(row.data["throughput_pps"])) for row in same]
        wires_pps = sorted({(row.variant.wire_bps, pps) for row in same if row.variant.wire_bps and (pps := _wire_pps(row))})
        entries += [
            Bar(f"wire-{n}", f"what a wire of {units.bit_rate(bps)} carries", plots.rank_style(0), pps, _kpps(pps), grey=True)
            for n, (bps, pps) in enumerate(wires_pps)
            if pps <= 4 * top
        ]
        group.plots.append(number.plot(heading, plots.bars(entries, f"Throughput, {heading}")))
    return group


def _kpps(pps: float) -> str:
    return f"{units.kpps(pps)}{units.NARROW}kpps"


def _loss(rows: Sequence[Row], number: _Numbers) -> Section | None:
    rows = [row for row in rows if row.data["points"]]
    if not rows:
        return None
    return Section(
        "loss",
        "Under load and overload",
        "Overload",
        "Forwarding rate and loss over the offered load (RFC 2544, 26.3; RFC 2285), all directions together. Under overload a "
        "good driver goes on forwarding as much as it can at best; one that spends its time on interrupts for frames it then "
        "loses forwards less and less, until it is in receive livelock.",
        [_loss_group(heading, same, number) for heading, same in _groups(rows)],
    )


def _loss_group(heading: str, rows: Sequence[Row], number: _Numbers) -> Group:
    rows = sorted(rows, key=lambda row: row.variant.number)

    def lines(key: str, scale: float, marks: bool = False) -> list[Line]:
        drawn = []
        for row in rows:
            points = [(p["offered_pps"] / 1e3, None if p[key] is None else p[key] * scale) for p in row.data["points"]]
            ring = row.data["throughput_pps"]
            drawn.append(
                _line(
                    row,
                    points,
                    ring=(ring / 1e3, ring / 1e3) if marks and ring is not None else None,
                    cross=_collapse(row) if marks else None,
                )
            )
        return drawn

    wires = {_wire_pps(row) for row in rows}
    wire = wires.pop() if len(wires) == 1 else None
    wire_kpps = wire / 1e3 if wire is not None else None
    reached = max(p["offered_pps"] for row in rows for p in row.data["points"])
    counted = [p for row in rows for p in row.data["points"] if p["interrupts_per_frame"] is not None]
    interrupts = [p["interrupts_per_frame"] for p in counted]
    top = _top(interrupts, [p["interrupts_per_frame"] for p in counted if p["load"] <= 1])
    marks = [("grey", "nothing lost")]
    if any(row.data["throughput_pps"] is not None for row in rows):
        marks.append(("ring", "throughput"))
    if any(_collapse(row) for row in rows):
        marks.append(("cross", "collapse"))
    if wire is not None and wire < reached:
        marks.append(("wire", "what the wire carries; beyond it the tester's ceiling is lifted"))
    group = Group(heading, legend=_legend(rows, *marks))
    group.notices = _overload_notices(rows)
    group.plots = [
        number.plot("Forwarding rate", plots.forwarding(lines("forwarded_pps", 1e-3, marks=True), wire_kpps)),
        number.plot("Loss", plots.over_load(lines("loss_ratio", 100), "% of frames lost", "Loss", wire_kpps, 104)),
        number.plot(
            "Interrupts per frame forwarded",
            plots.over_load(lines("interrupts_per_frame", 1), "interrupts per frame", "Interrupts per frame", wire_kpps, top),
            f"Cut off at {units.per_frame(top)}; the highest is {units.per_frame(max(interrupts))}." if top else "",
        ),
        number.plot("CPU idle", plots.over_load(lines("idle_ratio", 100), "% idle", "CPU idle time", wire_kpps, 104)),
    ]
    lost = tables.drops(rows)
    group.tables = [*([lost] if lost else []), tables.load_points(rows)]
    return group


def _top(values: Sequence[float], usual: Sequence[float]) -> float | None:
    """Where to cut an axis that a livelock's values would stretch until the rest is flat; None: nowhere."""
    top = 2 * max(usual, default=0.0)
    return top if 0 < top < max(values, default=0.0) / 1.5 else None


def _collapse(row: Row) -> tuple[float, float] | None:
    load = row.data["found"].get("collapse_load")
    if load is None:
        return None
    point = min(row.data["points"], key=lambda p: abs(p["load"] - load))
    return point["offered_pps"] / 1e3, point["forwarded_pps"] / 1e3


def _overload_notices(rows: Sequence[Row]) -> list[Notice]:
    locked, worse = [], []
    for row in rows:
        found, name = row.data["found"], row.variant.label
        ratio, highest = found.get("plateau_ratio"), found.get("max_forwarded_pps")
        last, collapse = row.data["points"][-1], _collapse(row)
        best = "" if highest is None else f", at best {_kpps(highest)}"
        if collapse is not None:
            offered, forwarded = (kilo * 1e3 for kilo in collapse)
            from_ = f"from {units.share_of(found['collapse_load'], 'its throughput')} on ({_kpps(offered)} offered)"
            locked.append(f"{name} forwards {_kpps(forwarded) if forwarded else 'nothing'} {from_}{best}.")
        elif ratio is not None and ratio < NEAR_COLLAPSE:
            worse.append(f"{name} forwards {_kpps(last['forwarded_pps'])} with {_kpps(last['offered_pps'])} offered{best}.")
    notices = []
    if locked:
        notices.append(Notice("bad", "Receive livelock:", locked))
    if worse:
        notices.append(Notice("warn", f"Less than {units.share(NEAR_COLLAPSE)} of its best at the highest load:", worse))
    return notices


def _latency(rows: Sequence[Row], number: _Numbers) -> Section | None:
    rows = [row for row in rows if any(p["latency"] and p["latency"]["count"] for p in row.data["points"])]
    if not rows:
        return None
    return Section(
        "latency",
        "Latency",
        "Latency",
        "From the last bit of a frame into the device to the first bit out of it (RFC 1242, 3.8), at shares of each driver's own "
        "throughput.",
        [group for heading, same in _groups(rows) for group in _latency_groups(heading, same, number)],
    )


def _slower(row: Row) -> dict[float, Json]:
    """By load, the latency of the direction that is slower by p99."""
    found: dict[float, Json] = {}
    for point in row.data["points"]:
        record = point["latency"]
        if record and record["count"] and record["p99_ns"] >= found.get(point["load"], record)["p99_ns"]:
            found[point["load"]] = record
    return dict(sorted(found.items()))


def _latency_groups(heading: str, rows: Sequence[Row], number: _Numbers) -> list[Group]:
    rows = sorted(rows, key=lambda row: row.variant.number)
    slower = {row.variant.number: _slower(row) for row in rows}
    records = [record for by_load in slower.values() for record in by_load.values()]
    bounds = plots.log_bounds(record[key] / 1e3 for record in records for key, _ in PERCENTILES)
    group = Group(heading)
    names = [name for _, name in PERCENTILES]
    if any(len(by_load) > 1 for by_load in slower.values()):
        for row in rows:
            by_load = slower[row.variant.number]
            colour = plots.style(row.variant.number).colour
            lines = [
                Line(f"rank-{n}", name, plots.rank_style(n, colour), [(100 * load, _us(r[key])) for load, r in by_load.items()])
                for n, (key, name) in enumerate(PERCENTILES)
            ]
            group.plots.append(number.plot(row.variant.label, plots.latency_by_load(lines, bounds)))
        group.legend = [Legend(f"rank-{n}", name) for n, name in enumerate(names)]
    else:
        drawn = [
            _line(row, [(n, _us(record[key])) for n, (key, _) in enumerate(PERCENTILES)])
            for row in rows
            for record in slower[row.variant.number].values()
        ]
        load = next(iter(slower[rows[0].variant.number]))
        group.plots.append(number.plot(f"At {units.share_of(load)}", plots.latency_percentiles(drawn, names, bounds)))
        group.legend = _legend(rows)
    if any(row.bidirectional for row in rows):
        group.note = "Of two directions the slower one is drawn."
    distributions = _distributions(rows, slower, number)
    last = Group(f"{heading}: distribution", plots=distributions, legend=_legend(rows)) if distributions else group
    last.tables = [tables.latency(rows)]
    return [group, last] if distributions else [group]


def _us(ns: float) -> float | None:
    """For a logarithmic axis."""
    return ns / 1e3 if ns > 0 else None


def _distributions(rows: Sequence[Row], slower: dict[int, dict[float, Json]], number: _Numbers) -> list[Plot]:
    """Latency by percentile from the histograms, at the lowest, the middle and the highest load."""
    loads: dict[float, list[tuple[Row, hdr.Histogram]]] = {}
    for row in rows:
        for load, record in slower[row.variant.number].items():
            if record.get("histogram"):
                histogram = hdr.decode(record["histogram"])
                if histogram.total:
                    loads.setdefault(load, []).append((row, histogram))
    chosen = sorted(loads)
    if len(chosen) > MAX_HDR_PLOTS:
        chosen = [chosen[0], chosen[len(chosen) // 2], chosen[-1]]
    points = {(load, row.variant.number): _percentiles(h) for load in chosen for row, h in loads[load]}
    bounds = plots.log_bounds(y for line in points.values() for _, y in line)
    return [
        number.plot(
            f"At {units.share_of(load)}",
            plots.hdr_percentiles([_line(row, points[load, row.variant.number]) for row, _ in loads[load]], bounds),
        )
        for load in chosen
    ]


def _percentiles(histogram: hdr.Histogram) -> list[tuple[float, float]]:
    """(1 / (1 - quantile), µs): thinned out so that neighbours can be told apart."""
    points, seen = [], 0
    for value, count in histogram.counts:
        seen += count
        points.append((histogram.total / (histogram.total - seen + 0.5), value / 1e3))
    first = (1.0, points[0][1])
    step = (points[-1][0] / first[0]) ** (1 / MAX_HDR_POINTS)
    kept = [first]
    for point, after in zip(points, [*points[1:], None], strict=True):
        if after is None or point[0] >= kept[-1][0] * step or after[1] > point[1] * 1.1:
            kept.append(point)
    return kept


def _cost(best: Sequence[Row], number: _Numbers) -> Section | None:
    rows = [row for row in best if row.data["interrupts_per_frame"] is not None or row.data["instructions_per_frame"] is not None]
    if not rows:
        return None
    groups = []
    for bidirectional in (False, True):
        mine = [row for row in rows if row.bidirectional == bidirectional]
        if not mine:
            continue
        heading, smallest = next(_groups(mine))
        group = Group(heading)
        for key, title, write in (
            ("interrupts_per_frame", "Interrupts per frame", units.per_frame),
            ("instructions_per_frame", "Instructions per frame", units.whole),
        ):
            entries = [_bar(row, row.data[key], write(row.data[key])) for row in smallest if row.data[key] is not None]
            if entries:
                group.plots.append(number.plot(title, plots.bars(entries, title)))
        if len(mine) > len(smallest):
            group.tables = [tables.cost(mine)]
        groups.append(group)
    return Section(
        "cost",
        "What a frame costs",
        "Cost",
        "Device interrupts and instructions per frame forwarded, at the throughput. Interrupts are those of both interfaces, "
        "receive and transmit; instructions are everything the CPU executed, the kernel's network stack with it.",
        groups,
    )


def _burst(rows: Sequence[Row], number: _Numbers) -> Section | None:
    rows = [row for row in rows if row.data["found"].get("longest_burst_frames") is not None]
    if not rows:
        return None
    groups = []
    for heading, same in _groups(rows):
        same = sorted(same, key=lambda row: row.variant.number)
        drawn = number.plot("Longest burst, frames", *_burst_bars(same))
        groups.append(Group(heading, plots=[drawn], tables=[tables.burst(same)]))
    return Section(
        "burst",
        "Bursts",
        "Bursts",
        "The longest burst of frames, back to back at the wire's rate, of which none is lost (RFC 2544, 26.4): how much the "
        "rings and queues hold.",
        groups,
    )


def _burst_bars(rows: Sequence[Row]) -> tuple[str, str]:
    """The plot, and a note where a bar without a limit is cut so that the others can be seen."""
    found = [(row, row.data["found"]["longest_burst_frames"], row.data["found"].get("limit_frames")) for row in rows]
    limited = [longest for _, longest, limit in found if limit is None or longest < limit]
    cut = 1.4 * max(limited, default=0) or None
    entries = []
    for row, longest, limit in found:
        endless = limit is not None and longest >= limit
        length = min(longest, cut) if endless and cut else longest
        text = f"≥{units.NARROW}{units.whole(longest)}" if endless else units.whole(longest)
        entries.append(_bar(row, length, text))
    shortened = any(entry.value < longest for entry, (_, longest, _) in zip(entries, found, strict=True))
    return plots.bars(entries, "Longest burst"), "Bars marked ≥ are cut: no limit was found." if shortened else ""


def _recovery(rows: Sequence[Row], number: _Numbers) -> Section | None:
    rows = [row for row in rows if row.data["points"]]
    if not rows:
        return None
    groups = []
    for heading, same in _groups(rows):
        same = sorted(same, key=lambda row: row.variant.number)
        overloads = sorted({p["overload"] for row in same for p in row.data["points"]})
        drawn = []
        for overload in overloads:
            entries = [
                _bar(row, p["recovery_ns"], units.duration(p["recovery_ns"]) if p["recovery_ns"] else "at once")
                for row in same
                for p in row.data["points"]
                if p["overload"] == overload
            ]
            drawn.append(number.plot(f"After {units.share_of(overload)}", plots.bars(entries, "Recovery time")))
        groups.append(Group(heading, plots=drawn, tables=[tables.recovery(same)]))
    return Section(
        "recovery",
        "Recovery from overload",
        "Recovery",
        "How long frames are still lost after an overload has ended (RFC 2544, 26.5).",
        groups,
    )


def _profile(rows: Sequence[Row], number: _Numbers) -> Section | None:
    rows = [row for row in rows if row.data["points"]]
    if not rows:
        return None
    groups = []
    for heading, same in _groups(rows):
        for row in sorted(same, key=lambda row: row.variant.number):
            drawn = number.plot("Flame graph", profile.graph(row), wide=True)
            note = profile.describe(row)
            groups.append(Group(f"{row.variant.label}, {heading}", plots=[drawn], note=note, tables=profile.tables(row)))
    return Section("profile", "Where the instructions go", "Profile", profile.INTRO, groups)


def _side_by_side(rows: Sequence[Row], number: _Numbers) -> Section | None:
    rows = [row for row in rows if row.data["complete"]]
    if not rows:
        return None
    group = Group(tables=[costs.table(rows)])
    group.plots = [number.plot(title, svg, wide=True) for title, svg in costs.heat_maps(rows)]
    return Section(
        "side-by-side",
        "Side by side",
        "Side by side",
        "Latency, instructions, interrupts and register accesses are those at 90 % of the throughput (where two were compared, "
        "of the lower one), overload is twice that throughput. The better in its column, the darker.",
        [group],
    )


def duts(documents: Sequence[Json]) -> list[Table]:
    """What documents were measured on."""
    named: list[tuple[str, Json]] = []
    for document in documents:
        for dut in document["on"]["duts"]:
            name = dut["modules"][-1]["name"] if dut["modules"] else dut["nic"]["model"]
            entry = (f"{name} on {dut['nic']['model']}", dut)
            if entry not in named:
                named.append(entry)
    names = [name for name, _ in named]
    unique = [(f"{name} ({n + 1})" if names.count(name) > 1 else name, dut) for n, (name, dut) in enumerate(named)]
    return tables.duts(unique) if named else []


def origin(document: Json) -> Origin:
    """How a document was measured, and how to measure it again."""
    on, host = document["on"], document["on"]["host"]
    facts = [
        ("irqlab", str(on["irqlab"])),
        ("Host", " ".join(str(host[k]) for k in ("system", "release", "machine") if host.get(k))),
        ("Python", str(host.get("python", units.NONE))),
    ]
    if on.get("compiler"):
        facts.append(("Compiler", str(on["compiler"])))
    return Origin(shlex.join(document["command"]), bool(document["complete"]), facts + _trials(document))


def _trials(document: Json) -> list[tuple[str, str]]:
    """How long trials were, and what was offered besides a constant rate."""
    lengths: dict[str, dict[str, None]] = {}
    arrivals: dict[str, None] = {}
    for row in document["measured"]["results"]:
        for trial in row["trials"]:
            spec = trial["spec"]
            if row["method"] != "burst":
                text = f"{units.duration(spec['duration_ns'])} after {units.duration(spec['warmup_ns'])} of warm-up"
                lengths.setdefault(row["method"], {})[text] = None
            arrivals |= {load["arrivals"]: None for load in spec["loads"]}
    tolerances = {row["found"].get("loss_tolerance") for row in document["measured"]["results"]} - {None, 0}
    same: dict[str, list[str]] = {}
    for method, texts in lengths.items():
        same.setdefault(", ".join(texts), []).append(method)
    facts = [(f"Trials ({', '.join(methods)})" if len(same) > 1 else "Trials", text) for text, methods in same.items()]
    if arrivals:
        facts.append(("Arrivals", ", ".join(arrivals)))
    if tolerances:
        facts.append(("Loss tolerated", ", ".join(units.percent(t) for t in sorted(tolerances))))
    return facts
