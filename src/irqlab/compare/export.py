# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports results: JUnit (test reports of CI servers), Markdown (comments, step summaries), CSV (spreadsheets)."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from irqlab import units
from irqlab.compare import tables, verdict
from irqlab.compare.verdict import Line
from irqlab.errors import IrqlabError

Row = Mapping[str, Any]
Case = tuple[str, str, list[Line]]
"""Names of the two sides (equal if there is only one), frame size and direction, metrics."""


def cases(rows: Sequence[Row], fail_above: float | None = None, judged: Sequence[str] = ()) -> Iterator[Case]:
    """The figures of method `metrics`, compared with the first configuration that was offered the same load, if any was."""
    first: dict[tuple[Any, ...], Row] = {}
    complete = [row for row in rows if row["method"] == "metrics" and row["complete"]]
    if not complete:
        raise IrqlabError("nothing to export: give files written by irqlab compare or irqlab matrix with --json")
    counts = Counter(_offered(row) for row in complete)
    for row in complete:
        key = _offered(row)
        size = units.bytes_of(row["frame_bytes"])
        offered = f"{size}{'' if size == 'IMIX' else ' bytes'}, {units.direction(row['bidirectional'])}"
        base = first.setdefault(key, row)
        if base is row and counts[key] > 1:
            continue
        name = units.driver_of(row) if base is row else f"{units.driver_of(base)} to {units.driver_of(row)}"
        yield name, offered, verdict.lines(base, row, fail_above if base is not row else None, judged)


def junit(found: Sequence[Case]) -> str:
    """JUnit: a test suite per comparison, a test case per metric; worse than allowed is a failure."""
    root = ElementTree.Element("testsuites", name="irqlab")
    for name, offered, lines in found:
        failures = sum(line.failed for line in lines)
        attributes = {"name": f"{name}, {offered}", "tests": str(len(lines)), "failures": str(failures), "errors": "0"}
        suite = ElementTree.SubElement(root, "testsuite", attributes)
        for line in lines:
            case = ElementTree.SubElement(suite, "testcase", classname=f"irqlab.{line.metric.name}", name=line.metric.text)
            if line.failed:
                message = f"worse by {line.worse_by:.2%}, allowed are {line.fail_above:.2%}"
                ElementTree.SubElement(case, "failure", message=message, type="regression").text = _sentence(line)
            else:
                ElementTree.SubElement(case, "system-out").text = _sentence(line)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def markdown(found: Sequence[Case]) -> str:
    """A table per comparison."""
    parts = []
    for name, offered, lines in found:
        parts.append(f"### {_escaped(name)}, {offered}\n")
        ensembles = any(line.spread for line in lines)
        noise = (" Noise |", "--:|") if ensembles else ("", "")
        parts += [f"| Figure | Before | After | Change |{noise[0]} Verdict |", f"|---|--:|--:|--:|{noise[1]}---|"]
        for line in lines:
            unit = f" ({line.metric.unit})" if line.metric.unit else ""
            cells = [
                f"{line.metric.text}{unit}",
                tables.value(line.metric, line.before),
                tables.value(line.metric, line.after),
                tables.change(line),
                *([tables.noise(line)] if ensembles else []),
                f"**{line.verdict}**" if line.failed else line.verdict,
            ]
            parts.append("| " + " | ".join(units.plain(cell) for cell in cells) + " |")
        parts.append("")
    return "\n".join(parts)


def comma_separated(found: Sequence[Case]) -> str:
    """CSV: one line per metric (RFC 4180, but line feeds); numbers in the units of the JSON."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    ensembles = any(line.spread for _, _, lines in found for line in lines)
    ranges = [f"{side}_{end}" for side in ("before", "after", "null") for end in ("min", "max")] if ensembles else []
    writer.writerow(["comparison", "offered", "figure", "before", "after", "change", "verdict", *ranges])
    for name, offered, lines in found:
        for ln in lines:
            spans = [ln.spread.before, ln.spread.after, ln.spread.null] if ln.spread else []
            ends = [end for span in spans for end in span] if spans else [""] * len(ranges)
            writer.writerow([name, offered, ln.metric.name, ln.before, ln.after, ln.change, ln.verdict, *ends])
    return text.getvalue()


def _offered(row: Row) -> tuple[Any, ...]:
    """Key for comparisons: only rows with the same offered load can be compared."""
    return row["frame_bytes"], row["bidirectional"], row["summary"]["base_pps"]


FORMATS: dict[str, Callable[[Sequence[Case]], str]] = {"junit": junit, "markdown": markdown, "csv": comma_separated}


def _sentence(line: Line) -> str:
    unit = f" {line.metric.unit}" if line.metric.unit else ""
    before, after = (units.plain(tables.value(line.metric, value)) for value in (line.before, line.after))
    return f"{before}{unit} before, {after}{unit} after ({units.plain(tables.change(line))})"


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|" else c for c in text)
