# SPDX-License-Identifier: GPL-2.0-or-later
"""What papers say: the CSV files of irqlab/data/reference. Lines that begin with # say where the figures are from."""

from __future__ import annotations

import csv
from importlib import resources

Record = dict[str, str]


def lines(name: str) -> list[str]:
    """A file's lines. `name` without .csv."""
    return resources.files("irqlab.data").joinpath("reference", f"{name}.csv").read_text(encoding="utf-8").splitlines()


def source(name: str) -> str:
    """Where the figures are from, in one line."""
    return " ".join(line.lstrip("# ") for line in lines(name) if line.startswith("#"))


def records(name: str) -> list[Record]:
    """The rows, by column."""
    return list(csv.DictReader(line for line in lines(name) if line and not line.startswith("#")))


def by(name: str, key: str) -> dict[str, Record]:
    """The rows by the value of one column."""
    return {record[key]: record for record in records(name)}


def number(text: str | None) -> float | None:
    """A cell as a number; None if it is empty or missing."""
    return float(text) if text else None
