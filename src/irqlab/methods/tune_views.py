# SPDX-License-Identifier: GPL-2.0-or-later
"""What `irqlab tune` records and says: the recommendation, what decides it, what it costs elsewhere, and the front."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import le
from pathlib import Path
from typing import Annotated, Literal

from irqlab import files, units
from irqlab.config import change
from irqlab.config.values import Count, Rate, Ratio
from irqlab.present import plots, tables
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Legend, Notice, Numbers, Plot
from irqlab.present.rows import kpps_text, listed
from irqlab.present.variants import Row
from irqlab.spread import Spread
from irqlab.tuning import commands
from irqlab.tuning.goal import BITS, METRICS, Figures, Metric, Settings
from irqlab.tuning.search import SAME, Answer, Tried
from irqlab.tuning.space import BUSY_POLL, PROCESSOR, SUSPEND, WAIT

NOTED = 0.02
"""Costs are told if a figure is worse by more than this share."""
AS_GOOD = 0.005
"""Gains of less than this share are none."""
DEFAULTS = "the defaults"
Place = Literal["search", "whole", "put back", "member", "held back", "elsewhere"]
"""Why a setting was measured: in the search with short windows, else with whole ones."""


@dataclass(frozen=True)
class Sample:
    """A setting, and what it does."""

    place: Place
    settings: dict[str, str]
    """Other than the defaults."""
    rates_pps: list[Rate]
    """Offered; empty: the most without loss, or iperf3."""
    refused: str | None
    """Why the DUT does not take it; null: it does."""
    figures: Figures | None

    @classmethod
    def of(cls, place: Place, settings: Settings, answer: Answer, rates_pps: Sequence[float]) -> Sample:
        """From an answer."""
        refused = answer if isinstance(answer, str) else None
        return cls(place, dict(settings), list(rates_pps), refused, None if isinstance(answer, str) else answer)


@dataclass(frozen=True)
class Made:
    """What is set in the DUT (irqlab.config.change)."""

    kind: change.Kind
    name: str
    value: str


@dataclass(frozen=True)
class Decides:
    """A setting of the recommendation."""

    name: str
    share: Ratio
    """Of the gain, which is lost without it."""


@dataclass(frozen=True)
class Member:
    """The defaults and the recommendation in a member of the ensemble."""

    number: Count
    defaults: Figures
    best: Figures


@dataclass(frozen=True)
class Summary:
    """The recommendation."""

    goals: list[str]
    bits: bool
    """The throughput is iperf's, in bit/s."""
    keep: list[str]
    """What had to be kept, in the user's words."""
    load: str
    application: str | None
    """How the application waits by default; null: the DUT forwards."""
    interfaces: list[str]
    """Of the DUT."""
    varied: list[str]
    """All settings that were varied."""
    tried: Count
    """Combinations that were tried in the search."""
    refused: Count
    settings: dict[str, str]
    """What is recommended, other than the defaults; empty: the defaults."""
    changes: list[Made]
    """The same as it is set, with what was fixed."""
    defaults: dict[str, str]
    """The defaults of these settings."""
    keeps: bool
    """The recommendation keeps what had to be kept."""
    defaults_keep: bool
    gains: list[float]
    """By which share the goal is better, in each member."""
    members: list[Member]
    decides: list[Decides]
    idle: list[str]
    """Settings that make no difference, or that are best as they are."""
    held_back: list[tuple[Rate, Figures, Figures]]
    """Loads that were not searched with, in frames/s: the defaults and the recommendation there."""
    elsewhere: list[tuple[Rate, Figures, Figures]]
    """The same at a quarter and at twice the load."""
    commands: list[str]
    in_application: list[str]
    """What the application has to do, in words."""


@dataclass(frozen=True)
class Line:
    """A line of the table: a setting."""

    settings: Annotated[str, Col("Settings")]
    passed_pps: Annotated[float | None, Col("Passed", "kpps", units.kpps, optional=True)]
    payload_bps: Annotated[float | None, Col("Payload", "Mbit/s", lambda bps: units.mbps(bps / 1e6), optional=True)]
    loss: Annotated[float | None, Col("Loss", format=units.percent)]
    p50_ns: Annotated[int | None, Col("p50", format=units.duration, optional=True)]
    p99_ns: Annotated[int | None, Col("p99", format=units.duration, optional=True)]
    cpu: Annotated[float | None, Col("CPU", format=units.percent)]
    awake: Annotated[float | None, Col("awake", format=units.percent, title="CPU, and 10 µs for each interrupt")]

    @classmethod
    def of(cls, row: Row) -> list[Line]:
        """The defaults, the recommendation, and what was tried without a part of it."""
        summary: Summary = row.summary
        whole = [(s.settings, s.figures) for s in row.samples if s.place in ("whole", "put back") and s.figures]
        known: dict[str, Figures] = {}
        for settings, figures in whole:
            if settings in ({}, summary.settings):
                known.setdefault("recommended" if settings else "defaults", figures)
        for settings, figures in whole:
            missing = [name for name in summary.settings if name not in settings]
            if settings and len(missing) == 1 and all(summary.settings.get(name) == value for name, value in settings.items()):
                known[f"without {missing[0]}"] = figures
        return [cls._one(name, one, summary) for name, one in known.items()]

    @classmethod
    def short(cls, one: Tried, summary: Summary) -> Line:
        """Of a setting that was tried in the search."""
        assert one.figures
        return cls._one(said(one.settings), one.figures, summary)

    @classmethod
    def _one(cls, name: str, one: Figures, summary: Summary) -> Line:
        pps, bps = (None, one.passed) if summary.bits else (one.passed, None)
        return cls(name, pps, bps, one.loss, one.p50_ns, one.p99_ns, one.cpu, one.awake)


def said(settings: Settings) -> str:
    """Settings in a sentence."""
    return ", ".join(f"{name} {value or 'none'}" for name, value in settings.items()) or DEFAULTS


def in_application(whole: Settings) -> list[str]:
    """What the application has to do so that it waits like this."""
    wait = whole.get(WAIT, "block")
    found = {
        "busy-read": [f"in the application: setsockopt(SO_BUSY_POLL, {whole.get(BUSY_POLL, '50')})"],
        "epoll": ["in the application: epoll_wait()"],
        "epoll-busy": [f"in the application: ioctl(EPIOCSPARAMS) with busy_poll_usecs {whole.get(BUSY_POLL, '50')}"],
        "suspend": [
            "in the application: ioctl(EPIOCSPARAMS) with busy_poll_budget 64 and prefer_busy_poll 1",
            "for each NAPI of the interface: ynl --family netdev --do napi-set, defer-hard-irqs "
            f"{_set(whole, 'napi_defer_hard_irqs', '100')}, gro-flush-timeout {_set(whole, 'gro_flush_timeout', '50000')}, "
            f"irq-suspend-timeout {_set(whole, SUSPEND, '20000000')}",
        ],
    }.get(wait, [])
    return [*found, *([f"the application: taskset -c {whole[PROCESSOR]}"] if whole.get(PROCESSOR) else [])]


def _set(whole: Settings, name: str, usual: str) -> str:
    return whole[name] if whole.get(name, "0") != "0" else usual


def metrics_of(summary: Summary) -> list[Metric]:
    """The goals."""
    return [BITS if name == "throughput" and summary.bits else METRICS[name] for name in summary.goals]


def better(summary: Summary) -> bool:
    """Whether the recommendation is better in every member, and by more than nothing; or keeps what the defaults do not."""
    if not summary.settings:
        return False
    if summary.keeps and not summary.defaults_keep:
        return True
    return _gains(summary) and not fragile(summary)


def _gains(summary: Summary) -> bool:
    """Whether the recommendation is better at the load in every member, and by more than nothing."""
    return min(summary.gains) > 0 and Spread.of(summary.gains).median > AS_GOOD


def fragile(summary: Summary) -> bool:
    """Whether the recommendation is worse than the defaults at loads that were held back, on the whole."""
    goals = metrics_of(summary)
    ratios = [
        after / before if not metric.more else before / after
        for _, usual, now in summary.held_back
        for metric in goals
        if (before := metric.of(usual)) and (after := metric.of(now))
    ]
    return bool(ratios) and sum(ratios) / len(ratios) > 1


def verdicts(rows: Sequence[Row]) -> list[str]:
    """The recommendation in a sentence, then what decides, what it costs, and how it does elsewhere."""
    return [text for row in rows for text in _verdicts(row)]


def _verdicts(row: Row) -> Iterator[str]:
    summary: Summary = row.summary
    what = f"an application at {summary.load}" if summary.application else f"forwarding {summary.load}"
    what = summary.load if summary.bits else what
    who = f"{row.variant.label}, {what}"
    member = summary.members[0]
    if not summary.keeps:
        yield f"{who}: none of {summary.tried} settings keeps {listed(summary.keep or ['the loss of the defaults'])}."
        yield f"Nearest is {said(summary.settings)}: {_figures(member.best, summary)}."
        return
    if not better(summary):
        found = _figures(member.defaults, summary)
        if summary.settings and _gains(summary):
            held = "; ".join(_beside(metrics_of(summary), summary.held_back))
            tried = said(summary.settings)
            yield f"{who}: keep the defaults ({found}): {tried} is better at this load only, not near it: {held}."
            return
        yield f"{who}: keep the defaults ({found}): no difference beyond chance in {summary.tried} settings."
        return
    yield f"{who}: {said(summary.settings)} gives {'; '.join(_gained(summary))}."
    if not summary.defaults_keep:
        yield f"The defaults do not keep {listed(summary.keep)}."
    yield from _decided(summary)
    yield from _costs(summary)
    if summary.held_back:
        yield f"At loads that were held back: {'; '.join(_beside(metrics_of(summary), summary.held_back))}."


def _gained(summary: Summary) -> Iterator[str]:
    for goal in metrics_of(summary):
        now, usual = ([value for one in values if (value := goal.of(one)) is not None] for values in _sides(summary))
        if not now or not usual:
            continue
        text = f"{goal.words} {goal.write(Spread.of(now).median)} instead of {goal.write(Spread.of(usual).median)}"
        changes = [(b - a) / a for a, b in zip(usual, now, strict=False) if a]
        yield f"{text} ({_change(changes)})" if changes else text


def _sides(summary: Summary) -> tuple[list[Figures], list[Figures]]:
    return [one.best for one in summary.members], [one.defaults for one in summary.members]


def _change(shares: Sequence[float]) -> str:
    """How much more or less, with the range of the members."""
    whole = Spread.of(list(shares))
    text = _signed(whole.median)
    low, high = _signed(whole.min), _signed(whole.max)
    return text if low == high else f"{text}; {low} to {high}"


def _signed(share: float) -> str:
    return (
        f"{'+' if share > 0 else '-' if share < 0 else ''}{abs(share) * 100:.{0 if abs(share) >= 0.095 else 1}f}{units.NARROW}%"
    )


def _decided(summary: Summary) -> Iterator[str]:
    if len(summary.decides) > 1:
        parts = [f"{one.name} {one.share * 100:.0f}{units.NARROW}%" for one in summary.decides]
        yield f"Share of the gain that is lost without each: {', '.join(parts)}."
    if summary.idle:
        yield f"No gain from: {', '.join(summary.idle)}."


def _costs(summary: Summary) -> Iterator[str]:
    """Figures that get worse, at this load and at others."""
    here = summary.members[0]
    worse = [text for metric in _others(summary) if (text := _worse(metric, here.defaults, here.best))]
    for rate_pps, usual, now in summary.elsewhere:
        found = [text for metric in (*metrics_of(summary), *_others(summary)) if (text := _worse(metric, usual, now))]
        if found:
            worse.append(f"at {kpps_text(rate_pps)} {', '.join(found)}")
    yield (
        f"It costs: {'; '.join(worse)}."
        if worse
        else "It costs nothing that was measured, at a quarter and at twice the load either."
    )


def _others(summary: Summary) -> list[Metric]:
    throughput = BITS if summary.bits else METRICS["throughput"]
    every = [throughput, *(METRICS[name] for name in ("p50", "p99", "cpu", "awake", "loss"))]
    return [one for one in every if one.name not in summary.goals]


def _worse(metric: Metric, usual: Figures, now: Figures) -> str:
    before, after = metric.of(usual), metric.of(now)
    if before is None or after is None:
        return ""
    gap = (before - after if metric.more else after - before) / (abs(before) or 1.0)
    return f"{metric.words} {metric.write(after)} instead of {metric.write(before)}" if gap > NOTED else ""


def _beside(metrics: Sequence[Metric], found: Sequence[tuple[float, Figures, Figures]]) -> Iterator[str]:
    for rate_pps, usual, now in found:
        parts = [
            f"{metric.words} {metric.write(after)} instead of {metric.write(before)}"
            for metric in metrics
            if (before := metric.of(usual)) is not None and (after := metric.of(now)) is not None
        ]
        yield f"{kpps_text(rate_pps)} {', '.join(parts)}"


def _figures(one: Figures, summary: Summary) -> str:
    parts = [(metric, metric.of(one)) for metric in (*metrics_of(summary), *_others(summary))]
    return ", ".join(f"{metric.words} {metric.write(value)}" for metric, value in parts if value is not None)


def sure(rows: Sequence[Row]) -> str:
    """How sure the gain is."""
    members = max((len(row.summary.members) for row in rows), default=1)
    return f"In parentheses: the median and the range of {members} members of an ensemble." if members > 1 else ""


def printed(row: Row, _: object) -> Iterable[str]:
    """The commands."""
    summary: Summary = row.summary
    if not better(summary):
        return
    if summary.commands:
        yield "now:"
        yield from (f"  {line}" for line in summary.commands)
    for line in summary.in_application:
        yield f"  # {line}"
    for path, lines in commands.files(_changes(summary), row.summary.interfaces):
        yield f"after every boot: {path}"
        yield from (f"  {line}" for line in lines)


def _changes(summary: Summary) -> list[change.Chosen]:
    return [change.Chosen(one.kind, one.name, one.value) for one in summary.changes]


def write(rows: Sequence[Row], directory: Path | None) -> None:
    """Writes the script and the files to a directory; of several rows, each to its own."""
    if directory is None:
        return
    for row in rows:
        where = directory if len(rows) == 1 else directory / f"{row.data['driver']}-{row.frame_bytes}"
        where.mkdir(parents=True, exist_ok=True)
        lines = ["#!/bin/sh", *row.summary.commands]
        files.write_atomically(where / commands.SCRIPT_FILE, ("\n".join(lines) + "\n").encode())
        for path, text in commands.files(_changes(row.summary), row.summary.interfaces):
            files.write_atomically(where / Path(path).name, ("\n".join(text) + "\n").encode())


def tried(row: Row) -> list[Tried]:
    """What was tried in the search, with figures."""
    return [Tried(one.settings, one.figures) for one in row.samples if one.place == "search" and one.figures]


def front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those that no other one beats in both; less is better."""
    kept: list[tuple[float, float]] = []
    for x, y in sorted(set(points)):
        if not kept or y < kept[-1][1]:
            kept.append((x, y))
    return kept


_AXES: dict[str, tuple[str, Callable[[Figures], float | None]]] = {
    "throughput": ("Throughput, kpps", lambda one: one.passed / 1e3),
    "p99": ("p99, µs", lambda one: None if one.p99_ns is None else one.p99_ns / 1e3),
    "cpu": ("CPU, %", lambda one: None if one.cpu is None else one.cpu * 100),
}


def plots_of(rows: Sequence[Row], number: Numbers) -> Group:
    """The front of each pair of figures, with the defaults and the recommendation on it."""
    group = Group(
        legend=[Legend("dot", "tried"), Legend("grey", "front"), Legend("ring", DEFAULTS), Legend("cross", "recommended")]
    )
    for row in rows:
        name = f"{row.variant.label}: " if len(rows) > 1 else ""
        goal = metrics_of(row.summary)[0]
        if better(row.summary):
            done = [*row.summary.commands, *(f"# {line}" for line in row.summary.in_application)]
            group.notices.append(Notice("good", f"{name}what to type:" if name else "What to type:", done, commands=True))
        for x, y in itertools.combinations(("cpu", "p99", "throughput"), 2):
            if plot := _front(row, x, y, name, number):
                group.plots.append(plot)
        best_first = sorted(unbeaten(tried(row)), key=lambda one: goal.cost(one.figures) if one.figures else 0.0)
        lines = [Line.short(one, row.summary) for one in best_first]
        group.tables.append(tables.of_lines(Line, lines, f"{name}Settings on the front", "By windows of the search", folded=True))
    return group


def unbeaten(found: Sequence[Tried]) -> list[Tried]:
    """Those that no other one beats: as good in throughput, p99 and CPU, and better in one of them. Of equal ones the first."""
    costs = [tuple(METRICS[name].cost(one.figures) for name in _AXES) for one in found if one.figures]

    def beats(other: int, one: int) -> bool:
        return all(map(le, costs[other], costs[one])) and (costs[other] != costs[one] or other < one)

    return [one for place, one in enumerate(found) if not any(beats(other, place) for other in range(len(found)))]


def _vary(values: Sequence[float]) -> bool:
    """Whether figures differ by more than chance."""
    return bool(values) and max(values) - min(values) > SAME * max(values)


def _front(row: Row, x: str, y: str, name: str, number: Numbers) -> Plot | None:
    summary: Summary = row.summary
    labels = {**{key: label for key, (label, _) in _AXES.items()}, **({"throughput": "Mbit/s"} if summary.bits else {})}
    scale = {"throughput": 1e-3 if summary.bits else 1.0}

    def at(one: Figures | None) -> tuple[float, float] | None:
        if one is None:
            return None
        found = [None if (v := _AXES[key][1](one)) is None else v * scale.get(key, 1.0) for key in (x, y)]
        return None if None in found else (found[0], found[1])  # type: ignore[return-value]

    points = [(point, one.settings) for one in tried(row) if (point := at(one.figures))]
    if not all(_vary([point[place] for point, _ in points]) for place in range(2)):
        return None
    signs = [-1.0 if key == "throughput" else 1.0 for key in (x, y)]
    best = front([(a * signs[0], b * signs[1]) for (a, b), _ in points])
    usual = next((point for point, settings in points if not settings), None)
    chosen = next((point for point, settings in points if settings == summary.settings), None)
    line = [(a * signs[0], b * signs[1]) for a, b in best]
    drawn = plots.cloud([point for point, _ in points], line, usual, chosen, labels[x], labels[y])
    return number.plot(f"{name}{labels[y].partition(',')[0]} over {labels[x].partition(',')[0]}", drawn)
