# SPDX-License-Identifier: GPL-2.0-or-later
"""What a reproduction leaves: one JSON document, a CSV file per table, one HTML report (docs/use/results.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irqlab.config.ensemble import Ensemble
from irqlab.files import write_atomically
from irqlab.present.parts import Page
from irqlab.report import render
from irqlab.reproduce import members, page
from irqlab.reproduce.claims import Finding
from irqlab.reproduce.paper import Paper
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table, tables_of
from irqlab.results import document as results

SCHEMA = "irqlab-reproduction/2"


@dataclass(frozen=True)
class Reproduction:
    """A paper, measured again."""

    paper: Paper[Any]
    tables: Any
    """The paper's set of tables."""
    findings: Sequence[Finding]
    content: dict[str, Any]
    """The JSON document; `measured` depends on nothing but the inputs."""
    members: Sequence[Any] = ()
    """The sets of tables of an ensemble's members, of which `tables` has the medians; none: there is no ensemble."""

    @classmethod
    def measure(cls, paper: Paper[Any], session: Session, command: list[str]) -> Reproduction:
        """Measures. Raises IrqlabError."""
        measured = [paper.measure(session) for _ in session.members()]
        tables = members.medians(measured)
        several = measured if len(measured) > 1 else []
        findings = members.findings(paper.findings, tables, several)
        content = results.document(command, session.environment(), session.results, complete=True)
        content = {
            **content,
            "schema": SCHEMA,
            "paper": {"name": paper.name, "source": paper.source},
            "measured": {
                "findings": [finding.to_json() for finding in findings],
                "tables": {name: table.to_json() for name, table in tables_of(tables).items()},
                **({"ensemble": _ensemble(session.ensemble, tables, several)} if several else {}),
                **content["measured"],
            },
        }
        return cls(paper, tables, findings, content, several)

    def page(self) -> Page:
        """The report."""
        return page.made(self.paper, self.tables, self.findings, self.content, self.members)

    def write(self, out: Path) -> list[Path]:
        """Writes everything to the directory `out`; returns the files, the report first. Raises IrqlabError."""
        report, json_file = out / f"{self.paper.name}.html", out / f"{self.paper.name}.json"
        results.write(json_file, self.content)
        write_atomically(report, render(self.page()).encode())
        files = [report, json_file]
        for name, table in tables_of(self.tables).items():
            files.append(out / f"{name}.csv")
            write_atomically(files[-1], table.to_csv(_ranges(name, table, self.members)).encode())
        return files


def _ranges(name: str, table: Table[Any], several: Sequence[Any]) -> dict[str, list[list[float | None]]]:
    """The ranges of a table, by column."""
    same = [tables_of(one).get(name) for one in several]
    found = [one for one in same if one is not None]
    return members.ranges(table, found) if found and len(found) == len(several) else {}


def _ensemble(cast: Ensemble, tables: Any, several: Sequence[Any]) -> dict[str, Any]:
    """What the document says about an ensemble: its members, and for each table the ranges by column."""
    return {
        "members": cast.members,
        "seed": cast.seed,
        "perturb": list(cast.perturb),
        "ranges": {name: found for name, table in tables_of(tables).items() if (found := _ranges(name, table, several))},
    }
