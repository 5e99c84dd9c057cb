# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON Schema of the tester's answer to a trial, from the lab's types. The tester's tests check its results against it.

After a change of irqlab.trials.record: .venv/bin/python -m tests.data.result_schema
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec.json import schema_components

from irqlab.trials.record import Answer

FILE = Path(__file__).parents[2] / "tester/tests/suite/result.schema.json"


def schema() -> dict[str, Any]:
    """Definitions by name: of the answer, and of what is in it."""
    _, found = schema_components([Answer], ref_template="#/$defs/{name}")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": found}


if __name__ == "__main__":
    FILE.write_text(json.dumps(schema(), indent=1) + "\n")
