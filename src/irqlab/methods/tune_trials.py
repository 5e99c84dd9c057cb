# SPDX-License-Identifier: GPL-2.0-or-later
"""What `irqlab tune` measures of a setting: the trials of other methods on a DUT in which it was made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from irqlab.config.schemes import Schemes
from irqlab.config.traffic import RecordedLoad
from irqlab.config.workload import Workload
from irqlab.dut.agent import DutError
from irqlab.dut.kernel_log import KernelProblemError
from irqlab.errors import IrqlabError
from irqlab.methods import cliff, receiving, throughput, waits
from irqlab.methods.receiving import BLOCK
from irqlab.qemu.cancellation import CancelledError, workers
from irqlab.qemu.failure import MachineError
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import ApplicationResult, Tuning
from irqlab.trials.forwarding import ForwardingResult
from irqlab.trials.iperf import FOUR, IperfResult
from irqlab.trials.tuned import tuned
from irqlab.tuning import goal
from irqlab.tuning.goal import Figures, Settings
from irqlab.tuning.load import LoadSpec, Offer
from irqlab.tuning.search import Answer
from irqlab.tuning.space import BUSY_POLL, PROCESSOR, SUSPEND, WAIT, Space

TESTS = {test.name.lower().replace(" ", "-"): replace(test, soak=True) for test in FOUR}
SHORT = 4
"""In the search, windows are shorter by this factor."""
LEAST_FRAMES = 1000
"""In a window, so that the 99th percentile is one."""
IN_PROCESS = ("block", "busy-read", "epoll", "epoll-busy", "suspend")
"""Ways to wait that are the application's: threads of NAPI are a setting of the interface."""


@dataclass(frozen=True)
class Measurer:
    """Measures settings on the benches of a runner."""

    space: Space
    workload: Workload
    application: bool = False
    times: bool = True
    """Round trips matter, so that those that do not come back are a loss."""

    def answers(self, runner: TrialRunner, given: Sequence[Settings], offer: Offer) -> list[Answer]:
        """What each setting does, measured side by side. A text: why the DUT refuses it."""
        with workers(len(given)) as pool:
            return list(pool.map(lambda settings: self._answer(runner, settings, offer), given))

    def _answer(self, runner: TrialRunner, settings: Settings, offer: Offer) -> Answer:
        try:
            return self.figures(runner, settings, offer)
        except CancelledError:
            raise
        except (KernelProblemError, MachineError, DutError) as error:
            return " ".join(str(error).split())[:300]

    def figures(self, runner: TrialRunner, settings: Settings, offer: Offer) -> Figures:
        """What a setting does, over all loads of the offer. Raises DutError if the DUT refuses it."""
        processor = {**self.space.fixed, **settings}.get(PROCESSOR, "")
        bench = tuned(runner.bench, self.space.changes(settings), int(processor) if processor else None)
        own = TrialRunner(bench, runner.slots)
        if offer.test:
            return _of_iperf(own.trial(replace(TESTS[offer.test], costs=self.workload.costs)), runner.bench.config.cpus)
        if not offer.rates_pps:
            return self._most(own, offer)
        one = self._received if self.application else self._forwarded
        return Figures.of([one(own, settings, each) for each in offer.each])

    def _at(self, rate_pps: float, offer: Offer) -> Workload:
        found = replace(self.workload, seed=self.workload.seed + offer.seed, histogram=True)
        if not offer.short:
            return found
        least_ns = LEAST_FRAMES / rate_pps * 1e9
        return replace(found, duration_ns=min(found.duration_ns, max(found.duration_ns // SHORT, round(least_ns))))

    def _forwarded(self, runner: TrialRunner, _: Settings, offer: Offer) -> Figures:
        (rate_pps,) = offer.rates_pps
        at = self._at(rate_pps, offer)
        if not offer.recordings:
            return _of_forwarding(runner.trial(runner.overload_spec(at, rate_pps)), runner.bench.config.cpus)
        spec = replace(runner.spec(at, rate_pps), loads=(RecordedLoad.of(offer.recordings[0]),))
        return _of_forwarding(runner.trial(spec), runner.bench.config.cpus)

    def _received(self, runner: TrialRunner, settings: Settings, offer: Offer) -> Figures:
        (rate_pps,) = offer.rates_pps
        tuning = tuning_of({**self.space.fixed, **settings})
        spec = receiving.spec_of(self._at(rate_pps, offer), rate_pps, tuning)
        if offer.recordings:
            spec = replace(spec, load=RecordedLoad.of(offer.recordings[0]), above_line_rate=False)
        taken, echoed = receiving.trials(runner, [spec, replace(spec, echo=True, histogram=True)])
        return _of_application(taken, echoed, self.times, runner.bench.config.cpus)

    def _most(self, runner: TrialRunner, offer: Offer) -> Figures:
        found = throughput.run(runner, self._at(1e9, offer))
        at = next(trial for trial in found.trials if trial.offered_pps == found.total_throughput_pps)
        return _of_forwarding(at, runner.bench.config.cpus)


def tuning_of(whole: Settings) -> Tuning:
    """How the application waits."""
    wait = whole.get(WAIT, BLOCK)
    changes: dict[str, int | None] = {}
    if BUSY_POLL in whole and wait in ("busy-read", "epoll-busy"):
        changes["busy_poll_us"] = int(whole[BUSY_POLL])
    if wait == "suspend":
        for name, field in (
            (SUSPEND, "irq_suspend_timeout_ns"),
            ("gro_flush_timeout", "gro_flush_timeout_ns"),
            ("napi_defer_hard_irqs", "defer_hard_irqs"),
        ):
            if int(whole.get(name, "0")):
                changes[field] = int(whole[name])
    return waits.tuning_of(wait, Schemes(), **changes)


def base_pps(runner: TrialRunner, workload: Workload, load: LoadSpec, application: bool, wait: str) -> float:
    """What shares are of: the throughput of the defaults, or the load that uses all CPU time; 0: the load has none."""
    if load.kind != "share":
        return 0.0
    if application:
        return cliff.external(runner, workload, waits.tuning_of(wait, Schemes())).by(cliff.CHOSEN)
    return throughput.rate_per_direction(throughput.run(runner, workload))


def ways(text: str | None) -> tuple[str, ...]:
    """How the application may wait; the first is the default. Raises IrqlabError."""
    if text is None:
        return ()
    names = list(IN_PROCESS) if text.strip() == "any" else waits.chosen(text)
    for name in names:
        if name not in IN_PROCESS:
            raise IrqlabError(f"--application {name}: allowed are {', '.join(IN_PROCESS)} and any; threads are found as settings")
    return tuple(names)


def _of_forwarding(found: ForwardingResult, processors: int) -> Figures:
    times = [stream.latency for stream in found.streams if stream.latency and stream.latency.count]
    whole = len(times) == len(found.streams)
    busy = None if found.idle_ratio is None else 1 - found.idle_ratio
    loaded_s = (found.spec.warmup_ns + found.spec.duration_ns) / 1e9
    return Figures(
        passed=found.forwarded_pps,
        loss=found.loss_ratio,
        p50_ns=max(one.p50_ns for one in times) if whole and times else None,
        p99_ns=max(one.p99_ns for one in times) if whole and times else None,
        cpu=busy,
        awake=None if busy is None else goal.awake(busy, sum(found.counters.interrupts.values()) / loaded_s, processors),
    )


def _of_application(taken: ApplicationResult, echoed: ApplicationResult, times: bool, processors: int) -> Figures:
    latency = echoed.latency if echoed.latency and echoed.latency.count else None
    return Figures(
        passed=min(taken.application_pps, echoed.returned_pps) if times else taken.application_pps,
        loss=max(0.0, taken.loss_ratio, echoed.loss_ratio if times else 0.0),
        p50_ns=latency.p50_ns if latency else None,
        p99_ns=latency.p99_ns if latency else None,
        cpu=taken.cpu_used,
        awake=goal.awake(taken.cpu_used, taken.interrupts_per_s, processors),
    )


def _of_iperf(found: IperfResult, processors: int) -> Figures:
    left = found.soaked_ratio if found.soaked_ratio is not None else found.idle_ratio
    per_s = sum(found.interrupts.values()) * 1e9 / found.counted_ns
    busy = max(0.0, 1 - left)
    return Figures(found.bps, found.loss_ratio or 0.0, None, None, busy, goal.awake(busy, per_s, processors))


Evaluation = Callable[[Sequence[Settings]], Iterable[Answer]]
