# SPDX-License-Identifier: GPL-2.0-or-later
"""What a reproduction leaves: one JSON document, a CSV file per table, one HTML report (docs/results.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irqlab.files import write_atomically
from irqlab.reproduce import page
from irqlab.reproduce.claims import Finding
from irqlab.reproduce.paper import Paper
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import tables_of
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

    @classmethod
    def measure(cls, paper: Paper[Any], session: Session, command: list[str]) -> Reproduction:
        """Measures. Raises IrqlabError."""
        tables = paper.measure(session)
        findings = paper.findings(tables)
        content = results.document(command, session.environment(), session.results, complete=True)
        content = {
            **content,
            "schema": SCHEMA,
            "paper": {"name": paper.name, "source": paper.source},
            "measured": {
                "findings": [finding.to_json() for finding in findings],
                "tables": {name: table.to_json() for name, table in tables_of(tables).items()},
                **content["measured"],
            },
        }
        return cls(paper, tables, findings, content)

    def write(self, out: Path) -> list[Path]:
        """Writes everything to the directory `out`; returns the files, the report first. Raises IrqlabError."""
        report, json_file = out / f"{self.paper.name}.html", out / f"{self.paper.name}.json"
        text = page.html(self.paper, self.tables, self.findings, self.content)
        results.write(json_file, self.content)
        write_atomically(report, text.encode())
        files = [report, json_file]
        for name, table in tables_of(self.tables).items():
            files.append(out / f"{name}.csv")
            write_atomically(files[-1], table.to_csv().encode())
        return files


def schema(tables: object) -> dict[str, Any]:
    """JSON Schema of a document with these tables; columns and types are those of the row types."""
    named = {name: table.schema() for name, table in tables_of(tables).items()}
    text = {"type": "string"}
    finding = {"source": text, "claim": text, "agrees": {"type": "boolean"}, "found": text, "verdict": text}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["schema", "command", "complete", "environment", "paper", "measured"],
        "properties": {
            "schema": {"const": SCHEMA},
            "paper": {"type": "object", "required": ["name", "source"], "properties": {"name": text, "source": text}},
            "measured": {
                "type": "object",
                "required": ["findings", "tables", "results"],
                "properties": {
                    "findings": {"type": "array", "items": {"type": "object", "required": list(finding), "properties": finding}},
                    "tables": {"type": "object", "required": list(named), "properties": named, "additionalProperties": False},
                    "results": {"type": "array"},
                },
            },
        },
    }
