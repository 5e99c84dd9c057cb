# SPDX-License-Identifier: GPL-2.0-or-later
"""The wheel (`make wheel`): the package, and beside it those parts of the checkout that it needs where there is no checkout."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RELEASE = "target/release/libirqlab_plugin.so"
STATIC = "target/x86_64-unknown-linux-gnu/release"
PROGRAMS = (RELEASE, f"{STATIC}/irqlab-guest", f"{STATIC}/irqlab-live", f"{STATIC}/irqlab-board")
OTHER_BOARDS = "target/*-linux-musl*/release/irqlab-board"
"""Agents for boards that scripts/agents has built."""
SOURCES = ("drivers", "docs/drivers", "docs/papers", "docs/patches", "docs/use", "README.md")
LEFT_OUT = (".o", ".ko", ".mod", ".mod.c", ".cmd")


class Parts(BuildHookInterface):  # type: ignore[type-arg, misc]
    """Adds the parts, under ``irqlab/_project``, and says that they are for Linux on x86-64."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling; `version` is "editable" for ``pip install -e``, which needs none of it."""
        if version == "editable":
            return
        root = Path(self.root)
        if missing := [name for name in PROGRAMS if not (root / name).is_file()]:
            raise FileNotFoundError(f"{', '.join(missing)}: not built (make wheel does it)")
        files = [*PROGRAMS, *(str(path.relative_to(root)) for path in root.glob(OTHER_BOARDS))]
        for name in SOURCES:
            found = (
                [root / name] if (root / name).is_file() else sorted(path for path in (root / name).rglob("*") if path.is_file())
            )
            files += [str(path.relative_to(root)) for path in found if not path.name.endswith(LEFT_OUT)]
        build_data["force_include"] |= {str(root / name): f"irqlab/_project/{name}" for name in files}
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-linux_x86_64"
