# SPDX-License-Identifier: GPL-2.0-or-later
"""A bisection's files: what was measured so far, the result, and the report."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from markupsafe import Markup

from irqlab import files, units
from irqlab.methods import metrics as costs
from irqlab.present import plots, series, swatches, tables
from irqlab.present import svg as svgs
from irqlab.present.columns import Col
from irqlab.present.parts import Group, Numbers, Page, Section
from irqlab.report import render, view
from irqlab.results.document import host
from irqlab.versions.bisect import SKIPPED, Answer, Question, subject, worse_by

SCHEMA = "irqlab-bisect/1"
TOP = 12
"""Functions shown."""

Metrics = dict[str, float | None]


@dataclass
class State:
    """What was measured so far, by commit; kept in OUT/bisect-state.json, so that a bisection can be resumed."""

    key: str
    rates: dict[str, float] = field(default_factory=dict)
    """Throughput per direction, in frames/s."""
    metrics: dict[str, Metrics] = field(default_factory=dict)

    @classmethod
    def read(cls, out: Path, key: str) -> State:
        """The state of the same bisection, else an empty one."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            kept = cls(**json.loads((out / "bisect-state.json").read_text()))
            if kept.key == key:
                return kept
        return cls(key)

    def write(self, out: Path) -> None:
        """Writes the state atomically."""
        files.write_atomically(out / "bisect-state.json", json.dumps(asdict(self), indent=1).encode())


@dataclass(frozen=True)
class Tried:
    """A commit in the table."""

    place: Annotated[str, Col("Place", title="among the commits, oldest first")]
    commit: Annotated[str, Col("Commit")]
    value: Annotated[str, Col("Value")]
    change: Annotated[str, Col("Against good")]
    verdict: Annotated[str, Col("Verdict")]
    subject: Annotated[str, Col("Subject")]


@dataclass(frozen=True)
class Gained:
    """A function in the table."""

    function: Annotated[str, Col("Function")]
    before: Annotated[float, Col("Before", format=units.per_frame)]
    after: Annotated[float, Col("After", format=units.per_frame)]
    change: Annotated[float, Col("Change", format=lambda value: f"{value:+.1f}")]


@dataclass(frozen=True)
class Report:
    """The result of a bisection. `commits`: after the good end, oldest first; `ends`: the metrics of good and bad."""

    question: Question
    commits: Sequence[str]
    ends: tuple[Metrics, Metrics]
    answer: Answer
    gained: list[dict[str, Any]]
    command: list[str]
    environment: list[dict[str, Any]]

    def write(self, out: Path) -> None:
        """Writes bisect.json and bisect.html."""
        content = {
            "schema": SCHEMA,
            "command": self.command,
            "environment": {**host(), "duts": self.environment},
            "tree": str(self.question.tree),
            "good": self.question.good,
            "bad": self.question.bad,
            "metric": self.question.metric.name,
            "above": self.question.above,
            "commits": len(self.commits),
            "ends": list(self.ends),
            **self.answer.to_json(),
            "functions": self.gained,
        }
        files.write_atomically(out / "bisect.json", (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())
        files.write_atomically(out / "bisect.html", render(self.page(content)).encode())

    def conclusion(self) -> str:
        """The answer as a sentence."""
        if self.answer.first_bad is None:
            left = ", ".join(commit[:12] for commit in self.answer.candidates)
            return f"Not found: one of these commits is the first bad one, and those between could not be measured: {left}."
        what = self.question.metric.text[0].lower() + self.question.metric.text[1:]
        name = subject(self.question.tree, self.answer.first_bad)
        return f"{self.answer.first_bad[:12]} ({name}) is the first commit with worse {what}."

    def tables(self) -> list[tables.Table]:
        """The commits that were tried, and the functions that gained or lost."""
        found = [tables.of_lines(Tried, self._tried(), f"{self.question.metric.text} by commit")]
        if self.gained:
            lines = [Gained(g["function"], g["before"], g["after"], g["after"] - g["before"]) for g in self.gained[:TOP]]
            found.append(tables.of_lines(Gained, lines, "Instructions per frame that the commit changed, by function"))
        return found

    def page(self, content: dict[str, Any]) -> Page:
        """The report."""
        number = Numbers()
        metric = self.question.metric
        places = self._places()
        scale = 1e3 if metric.unit else 1.0
        points = sorted((place, value / scale) for place, value in places if value is not None)
        line = series.Line("tried", metric.text, series.style(0), points, ring=self._first_bad_point(points))
        y_label = ", ".join(part for part in (metric.text, metric.unit) if part)
        picture = plots.over_time([line], "Commit, oldest first", y_label, f"{metric.text} over commits", from_zero=False)
        symbols = Markup(svgs.symbol(swatches.swatch(series.style(0)), "key-0"))
        shown = self.tables()
        commits = Section("commits", "The commits that were tried", "Commits", "", [Group(tables=shown[:1])])
        functions = Section("functions", "What the commit changed", "Functions", "", [Group(tables=shown[1:])])
        document = {"command": self.command, "complete": True, "environment": content["environment"], "measured": {"results": []}}
        return Page(
            title=f"irqlab bisect: {self.question.common.driver}",
            lead=f"{len(self.commits)} commits of {self.question.tree.name}, {len(self.answer.steps)} of them tried.",
            symbols=symbols,
            answer=[self.conclusion()],
            verdicts=[],
            notices=[],
            summary=None,
            sections=[commits, functions] if self.gained else [commits],
            origins=[view.origin(document)],
            duts=view.duts([document]),
            picture=Group(plots=[number.plot(f"{metric.text} over commits", picture, wide=True)]),
        )

    def _places(self) -> list[tuple[int, float | None]]:
        """Place in history (0: the good end) and value of each commit that was measured."""
        name = self.question.metric.name
        order = {commit: n + 1 for n, commit in enumerate(self.commits)}
        tried = [(order.get(step.commit, 0), step.metrics.get(name)) for step in self.answer.steps if step.metrics]
        return [(0, self.ends[0].get(name)), (len(self.commits), self.ends[1].get(name)), *tried]

    def _first_bad_point(self, points: Sequence[tuple[int, float]]) -> tuple[float, float] | None:
        if self.answer.first_bad is None:
            return None
        place = list(self.commits).index(self.answer.first_bad) + 1
        return next(((x, y) for x, y in points if x == place), None)

    def _tried(self) -> list[Tried]:
        order = {commit: n + 1 for n, commit in enumerate(self.commits)}
        lines = [
            (0, self._line(0, self.question.good, self.ends[0], "good end")),
            (len(self.commits), self._line(len(self.commits), self.question.bad, self.ends[1], "bad end")),
        ]
        for step in self.answer.steps:
            place = order.get(step.commit, 0)
            lines.append((place, self._line(place, step.commit, step.metrics, step.verdict, step.subject)))
        return [line for _, line in sorted(lines, key=lambda pair: pair[0])]

    def _line(self, place: int, commit: str, found: Metrics | None, verdict: str, name: str = "") -> Tried:
        metric = self.question.metric
        value = costs.text(metric, found.get(metric.name)) if found else units.NONE
        change = f"{worse_by(metric, self.ends[0], found):+.2%}" if found and verdict != SKIPPED else ""
        name = name or subject(self.question.tree, commit)
        first = "first bad" if commit == self.answer.first_bad else verdict
        return Tried(f"{place}", commit[:12], value, change, first, name)
