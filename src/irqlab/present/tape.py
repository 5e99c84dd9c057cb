# SPDX-License-Identifier: GPL-2.0-or-later
"""Plots of ensembles: the calls that draw are noted down for each member, then drawn once with what all members noted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any

Tape = list[tuple[str, tuple[Any, ...]]]
"""The plots of one member: what was called, with which arguments, in order."""
_recording: ContextVar[Tape | None] = ContextVar("recording", default=None)
_playing: ContextVar[tuple[Sequence[Tape], Iterator[int]] | None] = ContextVar("playing", default=None)


@contextmanager
def recording() -> Iterator[Tape]:
    """Context manager: plots are not drawn, but noted down."""
    tape: Tape = []
    token = _recording.set(tape)
    try:
        yield tape
    finally:
        _recording.reset(token)


@contextmanager
def over(tapes: Sequence[Tape]) -> Iterator[None]:
    """Context manager: `played` gives the same plots on these tapes; without tapes plots are as they are."""
    token = _playing.set((tapes, count()) if tapes else None)
    try:
        yield
    finally:
        _playing.reset(token)


def noted(name: str, arguments: tuple[Any, ...]) -> bool:
    """Whether this plot was noted down and need not be drawn."""
    tape = _recording.get()
    if tape is not None:
        tape.append((name, arguments))
    return tape is not None


def played(name: str, arguments: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The arguments of the next plot of every member; empty if there is no ensemble, or a member has another plot here."""
    playing = _playing.get()
    if playing is None:
        return []
    tapes, numbers = playing
    number = next(numbers)
    calls = [tape[number] for tape in tapes if number < len(tape)]
    alike = len(calls) == len(tapes) and all(call == name and len(given) == len(arguments) for call, given in calls)
    return [given for _, given in calls] if alike else []
