# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates docs/use/results.md's lists of fields of every method's samples and summary: `python -m irqlab.methods.documentation`.

A field's description is the docstring below it in its class, or its column's title.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from irqlab.methods import catalogue
from irqlab.methods.method import Method, NoSummary
from irqlab.present.columns import Col

FILE = Path(__file__).parents[3] / "docs/use/results.md"
BEGIN = "<!-- Made from the methods' declarations: python -m irqlab.methods.documentation -->"
END = "<!-- End of what is made. -->"
WIDTH = 100


def methods() -> str:
    """Every method with its fields, as Markdown."""
    described: dict[Any, str] = {}
    return "\n".join(_method(method, described) for method in catalogue.methods().values())


def written(text: str) -> str:
    """The page, with the generated text between its markers updated."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{methods()}\n{END}{tail}"


def _method(method: Method, described: dict[Any, str]) -> str:
    if (same := described.setdefault(method.sample, method.name)) != method.name:
        sample = f"Samples are as for `{same}`."
    else:
        sample = f"A sample has {'; '.join(_fields(method.sample))}."
    parts = [f"### `{method.name}`\n", _wrapped(f"{method.help} {sample}")]
    if method.summary is not NoSummary:
        parts.append("\n" + _wrapped(f"The summary has {'; '.join(_fields(method.summary))}."))
    if method.details:
        parts.append("\n" + _wrapped(method.details))
    return "\n".join(parts) + "\n"


def _fields(kind: type) -> Iterator[str]:
    hints = {name: hint for base in reversed(kind.__mro__) for name, hint in inspect.get_annotations(base, eval_str=True).items()}
    texts = {name: text for base in reversed(kind.__mro__) for name, text in _texts(base).items()}
    for name, hint in hints.items():
        text = texts.get(name) or _of_column(hint)
        names = "".join(f" `{{{', '.join(inner)}}}`" for part in _parts(hint) if (inner := _names(part)))
        yield f"`{name}`{names}{f': {_plain(text)}' if text else ''}"


def _plain(text: str) -> str:
    """A description within a sentence: starts in lower case, no full stop, null for None."""
    text = text.replace("None", "null").removesuffix(".")
    return text[0].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def _names(part: Any) -> tuple[str, ...]:
    """The fields of a type hint's part, if it is a record."""
    if not inspect.isclass(part):
        return ()
    if issubclass(part, msgspec.Struct):
        return part.__struct_encode_fields__
    return tuple(field.name for field in dataclasses.fields(part)) if dataclasses.is_dataclass(part) else ()


def _parts(hint: Any) -> list[Any]:
    """A type hint and its nested parts."""
    return [hint, *(part for inner in typing.get_args(hint) for part in _parts(inner))]


def _of_column(hint: Any) -> str:
    marks = getattr(hint, "__metadata__", ())
    found = next((mark for mark in marks if isinstance(mark, Col)), None)
    return (found.title or "") if found else ""


def _texts(kind: type) -> dict[str, str]:
    """The docstrings below the fields of a class."""
    if kind is object or not kind.__module__.startswith("irqlab."):
        return {}
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            value = ast.literal_eval(text.value)
            found[field.target.id] = " ".join(str(value).split())
    return found


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    FILE.write_text(written(FILE.read_text()))
