# SPDX-License-Identifier: GPL-2.0-or-later
"""What a reproduction leaves: one JSON document, a CSV file per table, one HTML report (docs/results.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from irqlab.files import write_atomically
from irqlab.reproduce.paper import Paper, Tables
from irqlab.reproduce.session import Session
from irqlab.results import document as results

SCHEMA = "irqlab-reproduction/1"


def document(paper: Paper, session: Session, tables: Tables, command: list[str]) -> dict[str, Any]:
    """The JSON document; `measured` depends on nothing but the inputs."""
    content = results.document(command, session.environment(), session.results, complete=True)
    return {
        **content,
        "schema": SCHEMA,
        "paper": {"name": paper.name, "source": paper.source},
        "measured": {
            "findings": list(paper.findings(tables)),
            "tables": {name: data.to_json() for name, data in tables.items()},
            **content["measured"],
        },
    }


def write(paper: Paper, content: dict[str, Any], tables: Tables, out: Path) -> list[Path]:
    """Writes everything to the directory `out`; returns the files, the report first. Raises IrqlabError."""
    from irqlab.reproduce import page  # imports matplotlib, which takes a second

    report, json_file = out / f"{paper.name}.html", out / f"{paper.name}.json"
    text = page.html(paper, content)
    results.write(json_file, content)
    write_atomically(report, text.encode())
    files = [report, json_file]
    for name, data in tables.items():
        files.append(out / f"{name}.csv")
        write_atomically(files[-1], data.to_csv().encode())
    return files
