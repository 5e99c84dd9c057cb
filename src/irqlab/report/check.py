# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a check: its answer, what failed with the evidence, and the checklist."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from irqlab import files
from irqlab.check import answer
from irqlab.check.row import FAIL
from irqlab.check.session import Checked
from irqlab.present.parts import Group, Notice, Origin, Page, Section
from irqlab.present.tables import Cell, Column, Table
from irqlab.report import render


def write_html(checked: Checked, command: Sequence[str], path: Path) -> None:
    """Writes the report to `path` atomically. Raises IrqlabError."""
    files.write_atomically(path, render(page(checked, command)).encode())


def page(checked: Checked, command: Sequence[str]) -> Page:
    """The page."""
    found = answer.evidence(checked)
    wrong = [
        Group(
            heading=f"{one.row.title}: {one.row.name}",
            notices=[Notice("bad", one.outcome.said)],
            tables=[
                Table(
                    "Evidence",
                    [Column("", number=False)],
                    [[Cell(line, code=True)] for line in (*one.outcome.evidence, f"replay: {replay}")],
                )
            ],
        )
        for one, replay in found
    ]
    checklist = [Group(tables=[table]) for table in answer.tables(checked)]
    testbed = checked.testbed
    return Page(
        title=f"irqlab check: {testbed.label}",
        lead=f"Whether the driver is correct, on {testbed.where}, with a budget of {checked.budget_s:.0f} s of host time.",
        symbols=Markup(""),
        verdicts=[],
        notices=[Notice("bad" if checked.of(FAIL) else "good", answer.sentence(checked))],
        summary=None,
        sections=[
            *([Section("failed", "What failed", "Failed", "", wrong)] if wrong else []),
            Section("checklist", "Checklist", "Checklist", "", checklist),
        ],
        origins=[Origin(shlex.join(command), not checked.interrupted, [])],
        duts=[],
    )
