# SPDX-License-Identifier: GPL-2.0-or-later
"""A hash of irqlab's own code that determines a trial's result.

It covers a module and everything it imports from irqlab, directly or indirectly, found by parsing the source. If one of these
files changes, cached snapshots and trials are no longer used.
"""

from __future__ import annotations

import ast
import hashlib
import threading
from functools import cache
from pathlib import Path

PACKAGE = "irqlab"
ROOT = Path(__file__).parents[1]
_PARSES = threading.Lock()
"""ast.parse() of Python 3.11.2 (Debian 12) fails now and then in several threads: github.com/python/cpython/issues/106905."""


@cache
def code_fingerprint(module: str) -> str:
    """SHA-256, in hex, of the source of `module` and of every irqlab module that it imports, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(closure(module)):
        digest.update(name.encode() + b"\0" + _file(name).read_bytes() + b"\0")
    return digest.hexdigest()


def closure(module: str) -> set[str]:
    """`module` and everything it imports from irqlab, including packages. Raises ModuleNotFoundError."""
    found: set[str] = set()
    left = [module]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        left += imports(name)
        if name != PACKAGE:
            left.append(name.rpartition(".")[0])
    # The top-level package is the public API: it imports everything, but does not affect trials.
    return found - {PACKAGE}


@cache
def imports(module: str) -> frozenset[str]:
    """The irqlab modules that a module imports, at the top level or inside functions."""
    if module == PACKAGE:
        return frozenset()
    found = set()
    with _PARSES:
        tree = ast.parse(_file(module).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith(f"{PACKAGE}.")}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module and _ours(node.module):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if _exists(inner) else node.module)
    return frozenset(found)


def _ours(name: str) -> bool:
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


def _path(module: str) -> Path:
    return ROOT.joinpath(*module.split(".")[1:])


def _exists(module: str) -> bool:
    path = _path(module)
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def _file(module: str) -> Path:
    path = _path(module)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        raise ModuleNotFoundError(f"no module {module}")
    return file
