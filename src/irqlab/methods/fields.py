# SPDX-License-Identifier: GPL-2.0-or-later
"""What the fields of a method's samples and summary mean: the docstring below a field in its class, or its column's title."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from irqlab.present.columns import Col


def texts_of(kind: type) -> dict[str, str]:
    """By field, in the order of declaration, also of base classes; a field that has no description has an empty one."""
    hints = {name: hint for base in reversed(kind.__mro__) for name, hint in inspect.get_annotations(base, eval_str=True).items()}
    texts = {name: text for base in reversed(kind.__mro__) for name, text in _docstrings(base).items()}
    return {name: (texts.get(name) or _title(hint)).replace("None", "null") for name, hint in hints.items()}


def _title(hint: Any) -> str:
    found = next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Col)), None)
    return (found.title or "") if found else ""


def _docstrings(kind: type) -> dict[str, str]:
    if kind is object or not kind.__module__.startswith("irqlab."):
        return {}
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            found[field.target.id] = " ".join(str(ast.literal_eval(text.value)).split())
    return found
