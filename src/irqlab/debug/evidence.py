# SPDX-License-Identifier: GPL-2.0-or-later
"""What a race hunt says about its findings: how to see one again, what the driver executed; and which instants were tried."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from irqlab.config.testbed import TestbedConfig
from irqlab.config.values import Count
from irqlab.debug.trace import Event, Step, listing, named, trace
from irqlab.profile import coverage
from irqlab.profile.kallsyms import symbols
from irqlab.trials.hunt import SETTLE_NS, HuntTrial
from irqlab.trials.testbed import Testbed
from irqlab.typed import typed

AFTER_NS = 50_000
"""How long a trace goes on after the second event, besides what a frame takes that comes alone."""
LONGEST_NS = 2_000_000
"""A frame that comes out later than that after the second event is not waited for: the DUT mostly idles."""


@dataclass(frozen=True)
class Replay:
    """The trial in which a finding is seen again, in its last pair. Times are in ns from the start of its window."""

    trial: dict[str, Any]
    first_ns: Count
    second_ns: Count


def replay_of(trial: HuntTrial) -> Replay:
    """How the last pair of a trial is seen again."""
    first_ns = SETTLE_NS + (trial.pairs - 1) * trial.period_ns
    return Replay(msgspec.to_builtins(trial), first_ns, first_ns + trial.gaps_ns[-1])


def traceable(replay: Replay) -> bool:
    """Whether a trace shows what happens: from one frame to another, or an interrupt. A change may execute too much."""
    trial = typed(replay.trial, HuntTrial)
    return not trial.steps and trial.failing is None


def trace_of(testbed: Testbed, replay: Replay, alone_ns: int, worst_ns: int | None) -> tuple[Step, ...]:
    """What the driver executes, from the first event to the miss, or until the late frame comes out.

    `alone_ns`: how long a frame takes that comes alone; `worst_ns`: how long the late one took. Raises IrqlabError.
    """
    trial = typed(replay.trial, HuntTrial)
    other = "an interrupt without a frame comes"
    second = "the second frame arrives" if trial.frames else other
    events = [Event(replay.first_ns, "the first frame arrives"), Event(replay.second_ns, second)]
    if trial.interrupt and trial.frames:
        events.append(Event(replay.second_ns + trial.interrupt_after_ns, other))
    before_ns = replay.second_ns - trial.period_ns - trial.step_ns
    if trial.pairs > 1 and replay.first_ns - before_ns <= alone_ns + AFTER_NS:
        events.append(Event(before_ns, f"in the pair before, {second}"))  # the driver still works on it
    end_ns = replay.second_ns + max(alone_ns + AFTER_NS, min(worst_ns or 0, LONGEST_NS))
    return tuple(trace(testbed, trial, events, end_ns, replay.first_ns))


def coverage_of(testbed: Testbed, tried: Collection[int]) -> tuple[coverage.Function, ...]:
    """The functions of the driver, and which instructions were tried; `tried`: addresses. Raises IrqlabError."""
    return tuple(coverage.coverage(listing(testbed), tried))


def places_of(testbed: Testbed, addresses: Collection[int]) -> dict[int, str]:
    """What the processor is about to execute at addresses: function+offset (file:line). Raises IrqlabError."""
    code, known = listing(testbed), symbols(testbed)
    found = {}
    for address in addresses:
        one = code.at(address)
        found[address] = named(code, known, address) + (f" ({Path(one.line).name})" if one is not None and one.line else "")
    return found


def config_of(config: TestbedConfig) -> dict[str, Any]:
    """How the DUT was set up, as JSON data."""
    found: dict[str, Any] = msgspec.to_builtins(asdict(config))
    return found


def testbed_of(config: dict[str, Any]) -> Testbed:
    """The testbed that `config_of` described. Raises IrqlabError."""
    return Testbed.resolve(typed(config, TestbedConfig))
