# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials with a receiving application, shared by `application`, `cliff` and `budget`, and their samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from irqlab.config.schemes import Schemes
from irqlab.config.traffic import Load
from irqlab.config.values import Count, Rate
from irqlab.config.workload import Workload
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import ApplicationResult, ApplicationTrial, Places, Tuning
from irqlab.trials.record import Latency

DUT = ("driver", "nic", "bus", "kernel", "mips", "ring", "sysctl")
BLOCK = "block"
"""The receiver blocks in its receive call."""
TRIAL = ("size", "duration", "warmup", "arrivals", "seed")


@dataclass(frozen=True)
class Sample:
    """The application at one load."""

    wait: str
    """How it waits for frames: a name of `--wait`."""
    offered_pps: Rate
    application_pps: Rate
    """Datagrams that the application received in the window."""
    loss_ratio: float
    places: Places
    """Fate of all frames of the trial. `sent` is the sum of the next five; `application` counts frames that were not echoed."""
    interrupts_per_s: Rate
    instructions_per_datagram: Rate | None
    """Instructions that the soaker did not get, by received datagram; null if none was received."""
    polled_ratio: Rate | None
    """Share of the frames that the receiver took by polling the device; null if it does not poll."""
    cpu_available: Rate
    """Instructions of a soaker at idle priority, as a share of the window."""
    ksoftirqd_wakeups_per_s: Rate
    ksoftirqd_share: Rate
    time_squeezes: Count
    switches: Count | None
    """Number of times `hybrid` changed its scheme; null if the driver has no such counter."""
    latency: Latency | None
    """Round trip, from a separate trial with echo; null if not measured."""
    echo_offered_pps: Rate | None
    echo_returned_pps: Rate | None
    interfaces: Count = 1
    """Of the DUT that received the load, in equal shares."""

    @classmethod
    def of(cls, receiving: ApplicationResult, echoing: ApplicationResult | None, wait: str = BLOCK) -> Sample:
        """Makes a sample from the trial without echo, and the one with it."""
        sent = max(1, receiving.places.sent)
        return cls(
            wait=wait,
            offered_pps=receiving.offered_pps,
            application_pps=receiving.application_pps,
            loss_ratio=receiving.loss_ratio,
            places=receiving.places,
            interrupts_per_s=receiving.interrupts_per_s,
            instructions_per_datagram=receiving.instructions_per_datagram,
            polled_ratio=receiving.polled / sent if receiving.polled is not None else None,
            cpu_available=receiving.cpu_available,
            ksoftirqd_wakeups_per_s=receiving.ksoftirqd_wakeups_per_s,
            ksoftirqd_share=receiving.ksoftirqd_share,
            time_squeezes=receiving.time_squeezes,
            switches=receiving.switches,
            latency=msgspec.convert(echoing.latency, Latency | None) if echoing else None,
            echo_offered_pps=echoing.offered_pps if echoing else None,
            echo_returned_pps=echoing.returned_pps if echoing else None,
            interfaces=receiving.spec.interfaces,
        )


def trials(
    runner: TrialRunner,
    chosen: Sequence[ApplicationTrial],
    drafted: Callable[[Mapping[int, ApplicationResult]], MethodResult] | None = None,
) -> list[ApplicationResult]:
    """Runs independent trials, in parallel if possible; returns the results in the order of `chosen`."""

    def said(result: ApplicationResult) -> str:
        sent = "echo: " if result.spec.echo else ""
        pps, fate = (result.returned_pps, "forwarded") if result.spec.forwards else (result.application_pps, "received")
        return f"{sent}{result.offered_pps / 1e3:.1f} kpps offered, {pps / 1e3:.1f} {fate}"

    return runner.trials(chosen, said, drafted)


def spec_of(workload: Workload, rate_pps: float, tuning: Tuning, echo: bool = False, interfaces: int = 1) -> ApplicationTrial:
    """A trial at `rate_pps` frames/s, in equal shares to so many interfaces."""
    return ApplicationTrial(
        load=Load(rate_pps=rate_pps, size=workload.size, arrivals=workload.arrivals),
        tuning=tuning,
        echo=echo,
        interfaces=interfaces,
        duration_ns=workload.duration_ns,
        warmup_ns=workload.warmup_ns,
        seed=workload.seed,
        histogram=echo,
        costs=workload.costs,
    )


def sweep(
    runner: TrialRunner,
    workload: Workload,
    rates_pps: Sequence[float],
    tuning: Tuning,
    echo: bool,
    wait: str,
    interfaces: int = 1,
    drafted: Callable[[list[Sample]], MethodResult] | None = None,
) -> list[Sample]:
    """Measures the application at each rate. `wait`: the name of how it waits. `drafted`: see TrialRunner.trials."""
    receiving = [spec_of(workload, rate, tuning, interfaces=interfaces) for rate in rates_pps]
    rates = len(receiving)

    def samples(found: Mapping[int, ApplicationResult]) -> list[Sample]:
        return [Sample.of(found[n], found.get(rates + n), wait) for n in range(rates) if n in found]

    chosen = [*receiving, *(replace(s, echo=True, histogram=True) for s in receiving if echo)]
    return samples(dict(enumerate(trials(runner, chosen, drafted and (lambda found: drafted(samples(found)))))))


def usual_tuning(runner: TrialRunner, scheme: str) -> Tuning:
    """Tuning with this scheme, if the driver has schemes and none was requested."""
    ours = runner.bench.scheme_names()["rx_scheme"] is not None
    return Tuning(schemes=Schemes(rx=scheme)) if ours and runner.bench.config.dut.schemes.rx is None else Tuning()
