# SPDX-License-Identifier: GPL-2.0-or-later
"""What a race hunt says about its findings: how to see one again, what the driver executed; and which instants were tried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from irqlab.config.testbed import TestbedConfig
from irqlab.debug.trace import Event, Step, listing, trace
from irqlab.profile import coverage
from irqlab.results.records import Count
from irqlab.trials.hunt import SETTLE_NS, HuntResult, HuntTrial
from irqlab.trials.testbed import Testbed

AFTER_NS = 50_000
"""How long a trace goes on after the second event, besides what a frame takes that comes alone."""
SECOND = "the second frame arrives"


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


def trace_of(testbed: Testbed, replay: Replay, alone_ns: int) -> tuple[Step, ...]:
    """What the driver executes, from the first event to the miss. `alone_ns`: how long a frame takes that comes alone.

    Raises IrqlabError.
    """
    trial = msgspec.convert(replay.trial, HuntTrial)
    events = [Event(replay.first_ns, "the first frame arrives"), Event(replay.second_ns, SECOND)]
    return tuple(trace(testbed, trial, events, replay.second_ns + alone_ns + AFTER_NS))


def coverage_of(testbed: Testbed, tried: Iterable[HuntResult]) -> tuple[coverage.Function, ...]:
    """The instructions of the driver at which a second arrival was tried. Raises IrqlabError."""
    return tuple(coverage.coverage(listing(testbed), {pc for one in tried for pc in one.second.pcs[:: one.spec.frames or 1]}))


def config_of(testbed: Testbed) -> dict[str, Any]:
    """How the DUT was set up, for `TestbedConfig`."""
    found: dict[str, Any] = msgspec.to_builtins(asdict(testbed.config))
    return found


def testbed_of(config: dict[str, Any]) -> Testbed:
    """The testbed that `config_of` described. Raises IrqlabError."""
    return Testbed.resolve(msgspec.convert(config, TestbedConfig))
