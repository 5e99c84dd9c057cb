# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON Schema (2020-12) of result documents."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def load() -> dict[str, Any]:
    """The schema of `irqlab-result/1`."""
    schema: dict[str, Any] = json.loads(resources.files("irqlab.schema").joinpath("result.json").read_text(encoding="utf-8"))
    return schema
