# SPDX-License-Identifier: GPL-2.0-or-later
"""Hardware as a speed, costs and memory: `--hardware NAME` (package data, data/hardware/) or a file.

`irqlab calibrate` writes files with costs; memory is stated from a data sheet (docs/use/memory-model.md).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from irqlab import files
from irqlab.config.costs import Costs
from irqlab.config.memory import Memory
from irqlab.config.testbed import SHIFT_OF_MIPS
from irqlab.errors import IrqlabError

SCHEMA = "irqlab-hardware/1"
_HOME = resources.files("irqlab") / "data" / "hardware"


@dataclass(frozen=True)
class Hardware:
    """A board: its CPU speed, hardware costs, and memory."""

    name: str
    mips: int
    costs: Costs
    fitted: dict[str, Any] = field(default_factory=dict, hash=False)
    """How the costs were fitted, and how far to trust them (docs/use/costs.md)."""
    memory: Memory | None = None
    """None: the processor never waits for memory."""

    def to_json(self) -> dict[str, Any]:
        """The file's content."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "mips": self.mips,
            "costs_ns": self.costs.nonzero(),
            "fitted": self.fitted,
            **({"memory": self.memory.to_json()} if self.memory else {}),
        }

    def write(self, path: Path) -> None:
        """Writes a file that `--hardware PATH` reads. Raises IrqlabError."""
        files.write_atomically(path, (json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n").encode())


def names() -> list[str]:
    """The names of the hardware files included in irqlab."""
    entries = _HOME.iterdir() if _HOME.is_dir() else ()
    return sorted(entry.name.removesuffix(".json") for entry in entries if entry.name.endswith(".json"))


def load(name_or_path: str) -> Hardware:
    """Hardware by name, or from a file. Raises IrqlabError: what was wrong, and what is allowed."""
    if "/" in name_or_path or name_or_path.endswith(".json"):
        try:
            text = Path(name_or_path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise IrqlabError(f"--hardware {name_or_path}: {getattr(error, 'strerror', None) or 'not a text file'}") from error
    elif name_or_path in names():
        text = (_HOME / f"{name_or_path}.json").read_text()
    else:
        raise IrqlabError(
            f"--hardware {name_or_path}: allowed are {', '.join(names()) or 'none'}; or the path of a file "
            "written by irqlab calibrate (./NAME.json)"
        )
    return parse(text, name_or_path)


def parse(text: str, source: str) -> Hardware:
    """The content of a hardware file. Raises IrqlabError: what was wrong, and what is allowed."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise IrqlabError(f"--hardware {source}: not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise IrqlabError(f"--hardware {source}: not a hardware file ({SCHEMA}) written by irqlab calibrate")
    mips, costs = content.get("mips"), content.get("costs_ns")
    if mips not in SHIFT_OF_MIPS:
        raise IrqlabError(f"--hardware {source}: mips is {mips}; allowed are {', '.join(map(str, sorted(SHIFT_OF_MIPS)))}")
    if not isinstance(costs, dict):
        raise IrqlabError(f"--hardware {source}: costs_ns is missing")
    try:
        found = Costs.parse(",".join(f"{name}={value}" for name, value in costs.items())) if costs else Costs()
        name = str(content.get("name", source))
        memory = Memory.parse(name, content["memory"]) if "memory" in content else None
    except IrqlabError as error:
        raise IrqlabError(f"--hardware {source}: {error}") from None
    return Hardware(name, int(mips), found, content.get("fitted") or {}, memory)


@dataclass(frozen=True)
class Choice:
    """What `--hardware`, `--cost` and `--mips` ask for."""

    mips: int
    costs: Costs | None = None
    """None: no cost model."""
    memory: Memory | None = None
    """None: no memory model."""


def choose(hardware: str | None, cost: str | None, mips: int, default_mips: int = 250) -> Choice:
    """Speed, costs and memory from `--hardware`, `--cost` and `--mips`; `--cost` replaces the hardware's by name."""
    if hardware is None:
        return Choice(mips, Costs.parse(cost) if cost is not None else None)
    board = load(hardware)
    if mips not in (default_mips, board.mips):
        raise IrqlabError(f"--mips {mips}: --hardware {hardware} implies {board.mips}; give only one of them")
    # Hardware that has memory and no costs needs no cost model, whose probes cost instructions.
    own = board.costs if board.costs or not board.memory else None
    return Choice(board.mips, Costs.parse(cost, board.costs) if cost is not None else own, board.memory)
