# SPDX-License-Identifier: GPL-2.0-or-later
"""Shares drawn plots between tests: matplotlib takes most of the time of those that make a report."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import pytest

from irqlab.present import plots, tape


def _remembered(draw: Callable[..., str], known: dict[str, str]) -> Callable[..., str]:
    @wraps(draw)
    def drawn(*args: Any, **kwargs: Any) -> str:
        if tape._recording.get() is not None or tape._playing.get() is not None:
            return draw(*args, **kwargs)
        asked = repr((draw.__name__, args, kwargs))
        if asked not in known:
            known[asked] = draw(*args, **kwargs)
        return known[asked]

    return drawn


@pytest.fixture(scope="session", autouse=True)
def drawings() -> Iterator[dict[str, str]]:
    """Each plot is drawn once: it depends on nothing but the arguments, except within ensembles.

    A test that clears what is yielded draws anew.
    """
    known: dict[str, str] = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, draw in list(vars(plots).items()):
            if inspect.isfunction(draw) and hasattr(draw, "__wrapped__") and not name.startswith("_"):
                patch.setattr(plots, name, _remembered(draw, known))
        yield known
