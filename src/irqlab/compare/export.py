# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports results: JUnit (test reports of CI servers), Markdown (comments, step summaries), CSV (spreadsheets)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from irqlab import units
from irqlab.compare import verdict
from irqlab.compare.verdict import Line
from irqlab.errors import IrqlabError

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A comparison of two configurations with a load, or the figures of one."""

    before: Row
    after: Row
    """The same row if there is only one."""
    lines: Sequence[Line]

    @property
    def names(self) -> tuple[str, str]:
        """Of the two configurations."""
        return units.driver_of(self.before), units.driver_of(self.after)

    @property
    def name(self) -> str:
        """Of both."""
        return self.names[1] if self.before is self.after else " to ".join(self.names)

    @property
    def offered(self) -> str:
        """Frame size and direction."""
        size = units.bytes_of(self.after["frame_bytes"])
        return f"{size}{'' if size == 'IMIX' else ' bytes'}, {units.direction(self.after['bidirectional'])}"

    @property
    def answer(self) -> str:
        """What came of the comparison, as a sentence; empty: nothing is compared."""
        return "" if self.before is self.after else units.plain(verdict.answer([(self.after, self.lines)], self.names))


def cases(documents: Sequence[Row], fail_above: float | None = None, judged: Sequence[str] = ()) -> Iterator[Case]:
    """The figures of method `metrics`, compared with the first configuration that was offered the same load, if any was.

    Two files are compared at the highest load that both have. Raises IrqlabError if there are no figures.
    """
    rows = [(number, row) for number, document in enumerate(documents) for row in verdict.measured(document)]
    if not rows:
        raise IrqlabError("nothing to export: give files written by irqlab compare or irqlab matrix with --json")
    groups: dict[tuple[Any, ...], list[tuple[int, Row]]] = {}
    for number, row in rows:
        groups.setdefault((row["frame_bytes"], row["bidirectional"], row["summary"]["base_pps"]), []).append((number, row))
    done: set[tuple[Any, ...]] = set()
    for (size, both, _), ((first, base), *others) in sorted(groups.items(), key=lambda item: item[0][2], reverse=True):
        own = (size, both, first, units.driver_of(base))
        for number, row in others:
            pair = (*own, number, units.driver_of(row))
            if pair not in done:
                yield Case(base, row, verdict.lines(base, row, fail_above, judged))
            done |= {pair, own, (size, both, number, units.driver_of(row))}
        if own not in done:
            done.add(own)
            yield Case(base, base, verdict.lines(base, base, None, judged))


def junit(found: Sequence[Case]) -> str:
    """JUnit: a test suite per comparison, a test case per metric; worse than allowed is a failure."""
    root = ElementTree.Element("testsuites", name="irqlab")
    for one in found:
        failures = sum(line.failed for line in one.lines)
        counts = {"tests": str(len(one.lines)), "failures": str(failures), "errors": "0"}
        suite = ElementTree.SubElement(root, "testsuite", {"name": f"{one.name}, {one.offered}", **counts})
        for line in one.lines:
            case = ElementTree.SubElement(suite, "testcase", classname=f"irqlab.{line.metric.name}", name=line.metric.text)
            if line.failed:
                message = f"worse by {line.worse_by:.2%}, allowed are {line.fail_above:.2%}"
                ElementTree.SubElement(case, "failure", message=message, type="regression").text = _sentence(line)
            else:
                ElementTree.SubElement(case, "system-out").text = _sentence(line)
        if one.answer:
            ElementTree.SubElement(suite, "system-out").text = one.answer
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def markdown(found: Sequence[Case]) -> str:
    """A table per comparison, below its answer."""
    parts = []
    for one in found:
        parts.append(f"### {_escaped(one.name)}, {one.offered}\n")
        if one.answer:
            parts.append(f"{_escaped(one.answer)}\n")
        ensembles = any(line.spread for line in one.lines)
        noise = (" Noise |", "--:|") if ensembles else ("", "")
        parts += [f"| Figure | Before | After | Change |{noise[0]} Verdict |", f"|---|--:|--:|--:|{noise[1]}---|"]
        for line in one.lines:
            unit = f" ({line.metric.unit})" if line.metric.unit else ""
            cells = [
                f"{line.metric.text}{unit}",
                verdict.value(line.metric, line.before),
                verdict.value(line.metric, line.after),
                verdict.change_text(line),
                *([verdict.noise(line)] if ensembles else []),
                f"**{line.verdict}**" if line.failed else line.verdict,
            ]
            parts.append("| " + " | ".join(units.plain(cell) for cell in cells) + " |")
        parts.append("")
    return "\n".join(parts)


def comma_separated(found: Sequence[Case]) -> str:
    """CSV: one line per metric (RFC 4180, but line feeds); numbers in the units of the JSON."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    ensembles = any(line.spread for one in found for line in one.lines)
    ranges = [f"{side}_{end}" for side in ("before", "after") for end in ("min", "max")] if ensembles else []
    writer.writerow(["comparison", "offered", "figure", "before", "after", "change", "verdict", *ranges])
    for one in found:
        for ln in one.lines:
            sides = (ln.spread.before, ln.spread.after) if ln.spread else ()
            ends: list[Any] = [end(side) for side in sides for end in (min, max)] or [""] * len(ranges)
            writer.writerow([one.name, one.offered, ln.metric.name, ln.before, ln.after, ln.change, ln.verdict, *ends])
    return text.getvalue()


FORMATS: dict[str, Callable[[Sequence[Case]], str]] = {"junit": junit, "markdown": markdown, "csv": comma_separated}


def _sentence(line: Line) -> str:
    unit = f" {line.metric.unit}" if line.metric.unit else ""
    before, after = (units.plain(verdict.value(line.metric, value)) for value in (line.before, line.after))
    return f"{before}{unit} before, {after}{unit} after ({units.plain(verdict.change_text(line))}): {line.verdict}"


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|" else c for c in text)
