# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports: one or more result documents as one self-contained HTML page (docs/use/results.md)."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from irqlab import files
from irqlab.errors import IrqlabError
from irqlab.present.parts import Page
from irqlab.present.svg import clean
from irqlab.report import view


def _finalize(value: object) -> object:
    """Sanitises text for the page."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def html(documents: list[dict[str, Any]]) -> str:
    """The report as HTML. It loads no other files, runs no scripts, and depends only on the documents.

    Raises IrqlabError if a document is invalid. Any other exception is a defect.
    """
    if not documents:
        raise IrqlabError("a report needs at least one result file")
    return render(view.build(documents))


def render(page: Page) -> str:
    """A page as HTML."""
    environment = Environment(
        loader=PackageLoader("irqlab.report", ""),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = resources.files("irqlab.report").joinpath("style.css").read_text(encoding="utf-8")
    return environment.get_template("page.html.j2").render(page=page, style=Markup(style))


def write_html(documents: list[dict[str, Any]], path: Path) -> None:
    """Writes the report to `path` atomically. Raises IrqlabError."""
    files.write_atomically(path, html(documents).encode())
