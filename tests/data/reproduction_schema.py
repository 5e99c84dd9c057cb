# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON Schema of a reproduction's document (docs/use/results.md), from the types of its rows."""

from __future__ import annotations

import types
from typing import Any

from irqlab.present.columns import columns_of
from irqlab.reproduce.document import SCHEMA
from irqlab.reproduce.table import tables_of

JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}


def _table(row_type: type) -> dict[str, Any]:
    """Of a table with such rows."""
    columns = columns_of(row_type)
    values = [{"type": [JSON_TYPES[t] for t in column.types]} for column in columns]
    return {
        "type": "object",
        "required": ["title", "columns", "rows"],
        "properties": {
            "columns": {"const": [column.name for column in columns]},
            "rows": {
                "type": "array",
                "items": {"type": "array", "prefixItems": values, "items": False, "minItems": len(columns)},
            },
        },
    }


def schema(tables: object) -> dict[str, Any]:
    """JSON Schema of a document with these tables; columns and types are those of the row types."""
    named = {name: _table(table.row) for name, table in tables_of(tables).items()}
    text = {"type": "string"}
    finding = {"source": text, "claim": text, "agrees": {"type": ["boolean", "null"]}, "found": text, "verdict": text}
    counts = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
    figure = {"type": ["number", "null"]}
    pairs = {"type": "array", "items": {"type": "array", "items": figure, "minItems": 2, "maxItems": 2}}
    ensemble = {
        "members": {"type": "integer"},
        "seed": {"type": "integer"},
        "perturb": {"type": "array", "items": text},
        "ranges": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": pairs}},
    }
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
                    "findings": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": list(finding),
                            "properties": {**finding, "counts_as": text, "instead": text, "members": counts},
                        },
                    },
                    "ensemble": {"type": "object", "required": list(ensemble), "properties": ensemble},
                    "tables": {"type": "object", "required": list(named), "properties": named, "additionalProperties": False},
                    "results": {"type": "array"},
                },
            },
        },
    }
