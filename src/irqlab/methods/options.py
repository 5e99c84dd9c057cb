# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks shared by several methods' own options. IrqlabError says what was wrong, and what is allowed."""

from __future__ import annotations

import typer

from irqlab.errors import IrqlabError

MAX_LOAD = 100.0
"""Highest load, as a multiple of a throughput or of a cliff."""
MAX_RATE_PPS = 1e8
_KILO = ("k", 1e3)


def _value(text: str, unit: str, counts: float) -> float:
    """Raises ValueError."""
    text = text.strip()
    return float(text.removesuffix(unit)) * (counts if text.endswith(unit) else 1.0)


def pps(text: str | float) -> float:
    """Frames/s of a text such as 40000 or 40k. Raises typer.BadParameter."""
    try:
        return _value(str(text), *_KILO)  # a default is a number
    except ValueError:
        raise typer.BadParameter(f"{text}: allowed are frames/s, such as 40000 or 40k") from None


def numbers(option: str, text: str, most: float, unit: tuple[str, float] = ("x", 1.0)) -> list[float]:
    """Parses comma-separated positive numbers, each perhaps with a unit, which counts so much; returns them sorted.

    Raises IrqlabError.
    """
    found = []
    for part in text.split(","):
        try:
            number = _value(part, *unit)
        except ValueError:
            number = -1.0
        if not 0 < number <= most:
            raise IrqlabError(f"{option} {part.strip() or text}: allowed are numbers above 0 up to {most:g}, separated by commas")
        found.append(number)
    return sorted(set(found))


def rates(text: str | None) -> tuple[float, ...] | None:
    """The frame rates of --rate; None: it was not given. Raises IrqlabError."""
    return None if text is None else tuple(numbers("--rate", text, MAX_RATE_PPS, _KILO))


def check_rate(rate_pps: float | None) -> None:
    """Raises IrqlabError for a rate out of range; None is none."""
    if rate_pps is not None and not 1 <= rate_pps <= MAX_RATE_PPS:
        raise IrqlabError(f"--rate {rate_pps:g}: allowed are 1 to {MAX_RATE_PPS:.0f} frames/s")


def either(option: str, given: object, other: str, other_given: object) -> None:
    """Raises IrqlabError if both options were given."""
    if given is not None and other_given is not None:
        raise IrqlabError(f"{option} and {other}: give only one of them")
