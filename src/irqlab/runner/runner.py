# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a method's trials on a bench, with a limit on concurrent trials, and progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from irqlab.config.traffic import Load, mean_frame_bytes, wire_rate_pps
from irqlab.config.workload import Workload
from irqlab.dut.agent import DutError
from irqlab.dut.kernel_log import KernelProblemError
from irqlab.errors import IrqlabError
from irqlab.qemu.cancellation import CancelledError, cancelled_or_failed, workers
from irqlab.qemu.failure import MachineError
from irqlab.results.document import MethodResult
from irqlab.runner.progress import Remaining
from irqlab.trials.bench import Bench
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial
from irqlab.trials.initial import LineProfile
from irqlab.trials.trial import Trial

R = TypeVar("R")

Progress = Callable[[str], None]
"""Called after each trial with a short text on the method's state."""


@dataclass
class TrialRunner:
    """Runs trials on a bench; `slots` limits the number of concurrent trials."""

    bench: Bench
    slots: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(1))
    progress: Progress = lambda _: None
    done: list[ForwardingResult] = field(default_factory=list)
    """Finished forwarding trials, in the order in which they ended; kept if the method is interrupted."""
    draft: Callable[[], MethodResult | None] = lambda: None
    """If the method is interrupted: its result as far as it is measured; None: there is none yet."""

    def trial(self, trial: Trial[R]) -> R:
        """Runs a trial as soon as a slot is free."""
        with self.slots, cancelled_or_failed():
            result = self.bench.run(trial)
        self._remember(result)
        return result

    def profile(self, trial: Trial[R], addresses: dict[str, Any], lines: LineProfile | None = None) -> tuple[R, dict[str, Any]]:
        """As `trial`, and the profile of its window (docs/inside/protocol.md, `profile`)."""
        with self.slots:
            result, profile = self.bench.profile(trial, addresses, lines)
        self._remember(result)
        return result, profile

    def profiles(self, trials: Sequence[Trial[R]], addresses: dict[str, Any]) -> list[tuple[R, dict[str, Any]]]:
        """As `profile`, of each of these trials, in parallel if slots are free."""
        with workers(len(trials)) as pool:
            return list(pool.map(lambda trial: self.profile(trial, addresses), trials))

    def trials(
        self,
        trials: Sequence[Trial[R]],
        say: Callable[[R], str],
        drafted: Callable[[Mapping[int, R]], MethodResult] | None = None,
    ) -> list[R]:
        """Runs independent trials, in parallel if slots are free; returns results in the order of `trials`.

        `drafted`: makes the method's result of the trials that have ended, by their places, if it is interrupted.
        """
        ended: dict[int, R] = {}
        if drafted is not None:
            self.draft = lambda: drafted(dict(sorted(ended.items()))) if ended else None

        def one(place: int, trial: Trial[R]) -> R:
            ended[place] = self.trial(trial)
            self.progress(say(ended[place]))
            return ended[place]

        with workers(len(trials)) as pool:
            return list(pool.map(one, range(len(trials)), trials))

    def attempts(self, trials: Sequence[Trial[R]], what: str) -> list[R | IrqlabError]:
        """As `trials`, but a trial in which the DUT fails, or that the user interrupts, has its error as its result.

        `what` is told with the number of trials that are done, and how long the others may take.
        """
        left = Remaining(len(trials))

        def one(trial: Trial[R]) -> R | IrqlabError:
            try:
                result = self.attempt(trial)
            except CancelledError as error:
                return error
            if text := left.one_done():
                self.progress(f"{what}: {text}")
            return result

        with workers(len(trials)) as pool:
            return list(pool.map(one, trials))

    def attempt(self, trial: Trial[R], cached: bool = True) -> R | IrqlabError:
        """As `trial`; if the DUT fails in it: the error. Not `cached`: it runs even if its result is known."""
        try:
            if cached:
                return self.trial(trial)
            with cancelled_or_failed():
                return self.bench.run(trial, cached=False)
        except (KernelProblemError, MachineError, DutError) as error:
            return error

    def _remember(self, result: object) -> None:
        if isinstance(result, ForwardingResult):
            self.done.append(result)

    def spec(self, workload: Workload, rate_pps: float) -> ForwardingTrial:
        """A trial that offers `rate_pps` in each direction."""
        return ForwardingTrial(
            loads=(Load(rate_pps=rate_pps, size=workload.size, arrivals=workload.arrivals),),
            bidirectional=workload.bidirectional,
            duration_ns=workload.duration_ns,
            warmup_ns=workload.warmup_ns,
            above_line_rate=workload.above_line_rate,
            seed=workload.seed,
            histogram=workload.histogram,
            capture=workload.capture,
            costs=workload.costs,
        )

    def overload_spec(self, workload: Workload, rate_pps: float) -> ForwardingTrial:
        """A trial at `rate_pps`; the line-rate limit is lifted only if the rate exceeds it."""
        beyond = rate_pps > self.wire_pps(workload)
        return replace(self.spec(workload, rate_pps), above_line_rate=workload.above_line_rate or beyond)

    @property
    def counts_instructions(self) -> bool:
        """Whether the DUT's instructions can be counted and profiled: not on real ports."""
        return self.bench.config.mips > 0

    def wire_pps(self, workload: Workload) -> float:
        """Line rate in one direction, in frames/s."""
        return wire_rate_pps(mean_frame_bytes(workload.size), self.bench.nic.line_rate_bps)

    def ceiling_pps(self, workload: Workload) -> float:
        """The highest rate of one direction that the tester can offer, in frames/s; infinite in the lab."""
        return self.bench.ceiling_pps(workload.size, workload.bidirectional)

    def most_pps(self, workload: Workload) -> float:
        """The highest rate of one direction that is worth a trial, in frames/s; infinite in the lab."""
        return self.bench.most_pps(workload.size, workload.bidirectional)

    def result(self, method: str, workload: Workload) -> MethodResult:
        """An empty result row of a method on this runner's bench."""
        names = self.bench.scheme_names()
        return MethodResult(
            method=method,
            driver=self.bench.driver,
            nic=self.bench.nic.model,
            frame_bytes=workload.size,
            bidirectional=workload.bidirectional,
            mips=self.bench.config.mips,
            rx_scheme=names["rx_scheme"],
            tx_scheme=names["tx_scheme"],
            variant=names["variant"],
        )
