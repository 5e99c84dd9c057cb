# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes what was found small: the shortest trial that shows it again, and the shortest one in which the DUT fails."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from irqlab.errors import IrqlabError
from irqlab.hunting.pairs import Limits, pairs_of
from irqlab.qemu.cancellation import CancelledError
from irqlab.runner.runner import TrialRunner
from irqlab.trials.hunt import HuntTrial

SAID_LINES = 12
"""Lines of an error that a finding keeps."""


def said(error: IrqlabError) -> str:
    """What a finding keeps of an error: its first lines."""
    return "\n".join(str(error).splitlines()[:SAID_LINES])


def shortest_lead(runner: TrialRunner, led: Callable[[int], HuntTrial], most: int, limits: Limits) -> int | None:
    """How many pairs have to come before one in which something goes wrong: 0, a power of two, or `most`.

    `led`: the trial that ends with it, with so many pairs before it. None: it goes wrong in none of them, or the user interrupts.
    """
    with suppress(CancelledError):
        for lead in sorted({0, most, *(1 << n for n in range(most.bit_length()))}):
            found = runner.attempt(led(lead))
            if isinstance(found, IrqlabError) or list(pairs_of(found, limits))[-1].what:
                return lead
    return None


def shortest_failing(
    runner: TrialRunner, part: Callable[[int, int], HuntTrial], pairs: int, error: IrqlabError
) -> tuple[int, int, IrqlabError]:
    """The DUT failed in a trial with so many pairs: halves it as long as it fails in one of the halves.

    `part`: the trial from a pair on, with so many. Returns the first pair, how many there are, and the error; if the user
    interrupts, what is known then.
    """
    first = 0
    with suppress(CancelledError):
        while pairs > 1:
            runner.progress(f"the DUT failed in {pairs} pairs, looking for fewer")
            half = pairs // 2
            for begin, count in ((first, half), (first + half, pairs - half)):
                found = runner.attempt(part(begin, count))
                if isinstance(found, IrqlabError):
                    first, pairs, error = begin, count, found
                    break
            else:
                break
    return first, pairs, error
