# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates the table of methods and their fields in docs/use/results.md: `python -m irqlab.methods.documentation`."""

from __future__ import annotations

import textwrap

from irqlab.methods import catalogue
from irqlab.methods.fields import texts_of
from irqlab.methods.method import Method, NoSummary
from irqlab.project import project_dir

FILE = project_dir() / "docs/use/results.md"
BEGIN = "<!-- Made from the methods' declarations: python -m irqlab.methods.documentation -->"
END = "<!-- End of what is made. -->"
WIDTH = 100


def methods() -> str:
    """A line for each method with its fields; below the table, what some methods have to say besides. Markdown."""
    every = catalogue.methods().values()
    lines = ["| method | what it does | a sample has | the summary has |", "|---|---|---|---|", *map(_line, every)]
    details = [_wrapped(f"**`{method.name}`**: {method.details}") for method in every if method.details]
    return "\n\n".join(["\n".join(lines), *details]) + "\n"


def written(text: str) -> str:
    """The page, with the generated text between its markers updated."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{methods()}\n{END}{tail}"


def _line(method: Method) -> str:
    summary = "" if method.summary is NoSummary else _fields(method.summary)
    return f"| `{method.name}` | {method.help} | {_fields(method.sample)} | {summary} |"


def _fields(kind: type) -> str:
    return ", ".join(f"`{name}`" for name in texts_of(kind))


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    FILE.write_text(written(FILE.read_text()))
