# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab docs`: the documents, in the terminal."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from irqlab.errors import IrqlabError
from irqlab.project import project_dir

PLACES = ("docs/use", "docs/papers", "docs/drivers", "drivers")


def command(
    page: Annotated[str | None, typer.Argument(help="Such as check, hunting, spanos2008; none: lists them.")] = None,
) -> None:
    """Shows a page, through a pager if the output is a terminal."""
    pages = _pages()
    console = Console(highlight=False)
    if page is None:
        table = Table(box=None, show_header=False, pad_edge=False)
        for name, path in pages.items():
            table.add_row(name, _title(path))
        console.print(table)
        return
    if page not in pages:
        near = difflib.get_close_matches(page, pages, 1)
        raise IrqlabError(f"no page {page}{f'; did you mean {near[0]}?' if near else ''} (irqlab docs lists them)")
    text = re.sub(r"<!--.*?-->", "", pages[page].read_text(), flags=re.DOTALL)
    if console.is_terminal:
        with console.pager(styles=True):
            console.print(Markdown(text))
    else:
        print(text)


def _pages() -> dict[str, Path]:
    """The pages by name."""
    found = {"readme": project_dir() / "README.md"}
    for place in PLACES:
        for path in sorted((project_dir() / place).glob("*.md")):
            found[path.stem if path.stem != "README" else Path(place).name] = path
    return found


def _title(path: Path) -> str:
    return next((line.lstrip("# ") for line in path.read_text().splitlines() if line.startswith("# ")), "")
