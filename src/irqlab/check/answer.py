# SPDX-License-Identifier: GPL-2.0-or-later
"""What a check says: its last line, its tables, JSON and JUnit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from irqlab import files
from irqlab.check.row import FAIL, NOT_COVERED, NOT_SUPPORTED, PASS, words
from irqlab.check.session import Checked, Done
from irqlab.present.tables import Cell, Column, Table

SCHEMA = "irqlab-check/1"
MARKS = {PASS: "good", FAIL: "bad", NOT_SUPPORTED: "", NOT_COVERED: "warn"}
NAMED = 4
"""Failed rows that the answer names."""


def sentence(checked: Checked) -> str:
    """The answer."""
    wrong, right = checked.of(FAIL), checked.of(PASS)
    where = f"{checked.testbed.label} on {checked.testbed.nic.model}, Linux {checked.testbed.machine.kernel.release}"
    counts = [f"{len(found)} {status}" for status in (NOT_SUPPORTED, NOT_COVERED) if (found := checked.of(status))]
    others = f"; {' and '.join(counts)}" if counts else ""
    cut = "; interrupted, the same command goes on" if checked.interrupted else ""
    if wrong:
        names = ", ".join(one.row.name for one in wrong[:NAMED]) + (", ..." if len(wrong) > NAMED else "")
        rows = "row" if len(wrong) == 1 else "rows"
        return f"{where} is not correct: {len(wrong)} {rows} failed ({names}), {len(right)} passed{others}{cut}."
    if not right:
        return f"{where}: nothing was found out{others}{cut}."
    passed = f"{len(right)} row{'s' if len(right) > 1 else ''} passed"
    return f"{where}: no fault was found, {passed}{others}{cut}."


def replay_of(checked: Checked, one: Done) -> str:
    """The command that shows a row again."""
    return one.outcome.replay or one.row.command(checked.testbed.config)


def tables(checked: Checked) -> list[Table]:
    """The checklist, a table for each group."""
    groups: dict[str, list[Done]] = {}
    for one in checked.done.values():
        groups.setdefault(one.row.group, []).append(one)
    columns = [Column("Row", number=False), Column("Result", number=False), Column("What was found", number=False, prose=True)]
    return [
        Table(
            group,
            columns,
            [
                [Cell(one.row.title), Cell(one.outcome.status, mark=MARKS[one.outcome.status]), Cell(one.outcome.said)]
                for one in many
            ],
        )
        for group, many in groups.items()
    ]


def evidence(checked: Checked) -> list[tuple[Done, str]]:
    """The rows that failed, each with the command that replays it."""
    return [(one, replay_of(checked, one)) for one in checked.of(FAIL)]


def document(checked: Checked, command: Sequence[str]) -> dict[str, Any]:
    """As JSON data."""
    testbed = checked.testbed
    return {
        "schema": SCHEMA,
        "command": list(command),
        "driver": testbed.driver,
        "nic": testbed.nic.model,
        "kernel": testbed.machine.kernel.release,
        "budget_s": checked.budget_s,
        "complete": not checked.interrupted,
        "answer": sentence(checked),
        "rows": [
            {
                "name": one.row.name,
                "group": one.row.group,
                "title": one.row.title,
                **words(one.outcome),
                "replay": replay_of(checked, one),
                "seconds": round(one.seconds or 0.0, 1),
                "ended_s": None if one.ended_s is None else round(one.ended_s, 1),
            }
            for one in checked.done.values()
        ],
    }


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Writes the document. Raises IrqlabError."""
    files.write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())


def junit(content: dict[str, Any]) -> str:
    """JUnit: a test suite for each group, a test case for each row; what was not tried is skipped."""
    root = ElementTree.Element("testsuites", name="irqlab check")
    suites: dict[str, list[dict[str, Any]]] = {}
    for row in content["rows"]:
        suites.setdefault(row["group"], []).append(row)
    for group, rows in suites.items():
        counts = {"tests": str(len(rows)), "failures": str(sum(row["status"] == FAIL for row in rows)), "errors": "0"}
        skipped = sum(row["status"] in (NOT_SUPPORTED, NOT_COVERED) for row in rows)
        suite = ElementTree.SubElement(root, "testsuite", {"name": group, **counts, "skipped": str(skipped)})
        for row in rows:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=f"irqlab.check.{content['driver']}",
                name=row["name"],
                time=f"{row['seconds']:.1f}",
            )
            if row["status"] == FAIL:
                failure = ElementTree.SubElement(case, "failure", message=row["said"], type=group)
                failure.text = "\n".join([*row["evidence"], f"replay: {row['replay']}"])
            elif row["status"] == PASS:
                ElementTree.SubElement(case, "system-out").text = row["said"]
            else:
                ElementTree.SubElement(case, "skipped", message=f"{row['status']}: {row['said']}")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
