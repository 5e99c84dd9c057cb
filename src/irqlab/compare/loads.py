# SPDX-License-Identifier: GPL-2.0-or-later
"""What is measured of each side of a comparison, and of each member."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from msgspec import UNSET

from irqlab.compare import verdict
from irqlab.config.traffic import FrameSize
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import metrics as costs
from irqlab.methods import throughput
from irqlab.qemu.cancellation import CancelledError
from irqlab.results.document import MethodResult
from irqlab.runner.measure import Method
from irqlab.runner.runner import TrialRunner

BOOTS = 2
"""Boots and driver loads of a side: one that is not perturbed, and one that is. Each costs as much time as several trials."""
MET_WITHIN_S = 24 * 3600.0
MEMBERS, FEWEST = 6, 5
"""Members of each side, and the fewest allowed: with five, a figure is called worse by chance once in 252 comparisons."""


class _Meeting:
    """Lets the first members of the sides tell their throughputs, per direction, to all members."""

    def __init__(self, sides: int) -> None:
        self._sides = sides
        self._rates: dict[Any, list[float]] = {}
        self._failed = False
        self._changed = threading.Condition()

    def tell(self, side: Any, mine_pps: float) -> None:
        """The throughput of a side. Two sides with the same configuration are equal, and so are their throughputs."""
        with self._changed:
            self._rates.setdefault(side, []).append(mine_pps)
            self._changed.notify_all()

    def of(self, side: Any) -> float:
        """Waits for the throughput of a side. Raises IrqlabError if it could not be measured."""
        self._wait(lambda: side in self._rates)
        return self._rates[side][0]

    def lowest_pps(self) -> float:
        """Waits for the throughputs of all sides. Raises IrqlabError if one could not be measured."""
        self._wait(lambda: sum(map(len, self._rates.values())) == self._sides)
        return min(rate for rates in self._rates.values() for rate in rates)

    def abort(self) -> None:
        """Releases all who wait."""
        with self._changed:
            self._failed = True
            self._changed.notify_all()

    def _wait(self, known: Callable[[], bool]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._failed or known(), MET_WITHIN_S)
            if self._failed or not known():
                raise CancelledError("the other side could not be measured")


def method(
    count: int,
    sizes: Sequence[FrameSize],
    kept: Sequence[verdict.Row] = (),
    alone: bool = False,
    memory: bool = False,
    profiled: bool = True,
    rate_pps: float | None = None,
) -> Method:
    """The method run for each member of each side and frame size: the throughput search, then the same loads on both sides.

    `count`: of sides that are measured. `kept`: rows of a side that is known already. `alone`: there is no other side yet, so
    the loads for a slower one are offered, too. `profiled`, `memory`: as in irqlab.methods.metrics. `rate_pps`: the load of
    latencies in each direction, instead of one below the lowest throughput.
    """
    meetings = {size: _Meeting(count) for size in sizes}

    def bases(workload: Workload) -> tuple[float, ...]:
        if rate_pps is not None:
            return (known_base(kept, workload, costs.base_at(rate_pps)) if kept else costs.base_at(rate_pps),)
        found = costs.base_rates(meetings[workload.size].lowest_pps())
        return found if alone else (known_base(kept, workload, found[0]) if kept else found[0],)

    def run(runner: TrialRunner, workload: Workload) -> list[MethodResult]:
        meeting, member = meetings[workload.size], runner.bench.config.member
        first, side = member is None or not member.number, replace(runner.bench.config, member=None)
        try:
            if first:
                known = throughput.run(runner, workload)
                meeting.tell(side, throughput.rate_per_direction(known))
            else:
                known = throughput.run(runner, throughput.near(workload, meeting.of(side)))
            found = [costs.run(runner, workload, known, base, profiled, memory=memory) for base in bases(workload)]
        except BaseException:
            meeting.abort()
            raise
        if not first:
            for row in found:
                row.summary = _without_stacks(row.summary)
        return [known, *found]

    return run


def _without_stacks(summary: costs.Summary) -> costs.Summary:
    """A summary with instructions by function alone, which is what the profiles of further members are for."""
    if summary.profile is None:
        return summary
    return replace(summary, profile=replace(summary.profile, stacks=[], io=UNSET, memory=UNSET))


def known_base(kept: Sequence[verdict.Row], workload: Workload, base_pps: float) -> float:
    """The highest base rate of a side that is known, up to that of the other. Raises IrqlabError if it has none."""
    same = [row for row in kept if (row["frame_bytes"], row["bidirectional"]) == (workload.size, workload.bidirectional)]
    if not same:
        raise IrqlabError(f"the file has no result for frame size {workload.size} with the same --bidirectional setting")
    rates = [row["summary"]["base_pps"] for row in same]
    if not (fitting := [rate for rate in rates if rate <= base_pps]):
        raise IrqlabError(
            f"this side forwards too little for the loads in the file (shares of {min(rates):.0f} frames/s or more; of this "
            f"side {base_pps:.0f}): measure both sides in one command"
        )
    return float(max(fitting))
