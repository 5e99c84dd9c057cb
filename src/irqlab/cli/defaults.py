# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that need not be typed each time: irqlab.toml in the current directory.

    driver = "build/my.ko"        # options of any command, by their long names
    kernel = "tree:../linux"

    [hunt]                        # options of one command
    instants = 20000

    [profile.board]               # taken with --profile board, over those above
    hardware = "board.json"

An option of the command line counts more than its section, a section more than what stands above, a profile more than both.
"""

from __future__ import annotations

import difflib
import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from irqlab.cli.commands import entries
from irqlab.errors import IrqlabError
from irqlab.setup.say import QUIET

FILE = "irqlab.toml"
PROFILE = "profile"
Table = Mapping[str, Any]


def quiet(asked: bool) -> None:
    """Shows no progress from now on, if so asked."""
    if asked:
        os.environ[QUIET] = "1"


def read(profile: str | None) -> list[Table] | None:
    """The tables of the file, the most general first; None: there is no file, or nothing in it. Raises IrqlabError."""
    file = Path(FILE)
    if not file.is_file():
        if profile is not None:
            raise IrqlabError(f"--profile {profile}: there is no {FILE} in this directory")
        return None
    try:
        content = tomllib.loads(file.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise IrqlabError(f"{FILE}: {error}") from error
    profiles = content.pop(PROFILE, {})
    if not isinstance(profiles, dict) or not all(isinstance(one, dict) for one in profiles.values()):
        raise IrqlabError(f"{FILE}: {PROFILE}: must be tables, such as [{PROFILE}.board]")
    if profile is not None and profile not in profiles:
        raise IrqlabError(f"--profile {profile}: {FILE} has {', '.join(profiles) or 'no profiles'}")
    for name in (name for table in (content, *profiles.values()) for name, value in table.items() if isinstance(value, dict)):
        if name not in entries():
            raise IrqlabError(f"{FILE}: [{name}]: no such command{_meant(name, list(entries()))}")
    return [content, profiles[profile]] if profile is not None else [content]


def of_command(tables: list[Table], name: str, silent: bool) -> dict[str, Any]:
    """The values for a command's parameters, by their names in Python. Raises IrqlabError for what is no option."""
    entry = entries().get(name)
    if entry is None:
        return {}
    parameters = {
        option.removeprefix("--"): one for one in entry.load().params for option in getattr(one, "opts", ()) if option[:2] == "--"
    }
    found: dict[str, Any] = {}
    for table in tables:
        for key, value in table.items():
            if not isinstance(value, dict) and key not in parameters:
                _check_known(key)
            elif not isinstance(value, dict):
                found[key] = value
        for key, value in table.get(name, {}).items():
            if key not in parameters:
                raise IrqlabError(f"{FILE}: [{name}] {key}: no such option{_meant(key, list(parameters))}")
            found[key] = value
    if found and not silent:
        shown = " ".join(f"--{key}" if value is True else f"--{key} {value}" for key, value in found.items())
        print(f"{FILE}: {shown}", file=sys.stderr)
    return {str(parameters[key].name): _listed(key, parameters[key], value) for key, value in found.items()}


_ALLOWED: dict[type, tuple[str, tuple[type, ...]]] = {
    bool: ("true or false", (bool,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float)),
}
"""What a value may be, by the option's type; else text."""


def _types(annotation: Any) -> set[Any]:
    """The types in an annotation such as ``list[int] | None``."""
    inner = get_args(annotation)
    return {one for part in inner for one in _types(part)} if inner else {annotation}


def _listed(key: str, parameter: Any, value: Any) -> Any:
    """A value as the parameter takes it: repeatable options take lists. Raises IrqlabError for a value of another type."""
    known = [_ALLOWED[one] for one in _types(parameter.type_descriptor.annotation) if one in _ALLOWED]
    wanted, types = known[0] if known else ("text, in quotes", (str,))
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, types) or (isinstance(one, bool) and bool not in types):
            raise IrqlabError(f"{FILE}: {key} = {one!r}: must be {wanted}")
    return [value] if getattr(parameter, "multiple", False) and not isinstance(value, list) else value


def _check_known(key: str) -> None:
    """Raises IrqlabError if this is no option that commands share. Such an option may be one that this command does not take."""
    from irqlab.cli.options import option_names

    if key not in option_names():
        hint = _meant(key, sorted(option_names())) or f"; options of one command stand in its section, such as [hunt] {key}"
        raise IrqlabError(f"{FILE}: {key}: no option of several commands{hint}")


def _meant(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""
