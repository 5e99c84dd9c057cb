# SPDX-License-Identifier: GPL-2.0-or-later
"""A bench without QEMU: the DUT is a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, TypeVar

import msgspec

from irqlab.config.testbed import TestbedConfig
from irqlab.dut.counters import Counters
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult
from irqlab.trials.record import CacheCounts, Latency, LiveThread, LiveTrial, MemoryCounts, Port, Stalls, Stream
from irqlab.trials.testbed import Testbed
from irqlab.trials.trial import Trial
from tests.data.sample_documents import dut

R = TypeVar("R")

LATENCY = {
    "count": 1,
    "min_ns": 1,
    "mean_ns": 1.0,
    "p50_ns": 1,
    "p90_ns": 1,
    "p99_ns": 1,
    "p999_ns": 1,
    "max_ns": 1,
    "histogram": None,
}


COUNTED = dict.fromkeys(
    ("to", "load", "intended", "sent", "refused", "received", "lost", "reordered", "duplicated", "corrupted", "late",
     "received_in_window", "last_received_after_ns"), 0,
)  # fmt: skip


def stream(told: Mapping[str, Any]) -> Stream:
    """A stream in which nothing was counted but what is told, by the names in JSON."""
    nothing = {"from": 0, **COUNTED, "first_lost_sent_ns": None, "last_lost_sent_ns": None, "latency": LATENCY, "series": None}
    return msgspec.convert({**nothing, "ipdv": {"count": 0, "mean_abs_ns": 0.0, "max_abs_ns": 0}, **told}, Stream)


def latency(**told: float) -> Latency:
    """A latency of one frame, but for what is told."""
    return msgspec.convert({**LATENCY, **told}, Latency)


def answer(streams: Sequence[Mapping[str, Any]] = ({},), ports: Sequence[Port] = (), **told: Any) -> dict[str, Any]:
    """RESULT: the tester's answer, in which nothing was counted but what is told of each stream, the ports, and the rest."""
    counted: list[dict[str, Any]] = [msgspec.to_builtins(stream(one)) for one in streams]
    for one in counted:
        del one["load"]
    nothing = {**dict.fromkeys(("id", "begin_ns", "window_ns", "instructions", "idle_ns"), 0), "watched": []}
    return {**nothing, "streams": counted, "ports": msgspec.to_builtins(list(ports)), **told}


def changed(found: Stream, **told: Any) -> Stream:
    """A stream with other counts."""
    return stream({**msgspec.to_builtins(found), **told})


def port(**told: int) -> Port:
    """A port at which nothing was counted but what is told."""
    return Port(**{**dict.fromkeys(Port.__struct_fields__, 0), **told})


def memory(**fills: int) -> MemoryCounts:
    """A memory model in which nothing was counted but line fills, by cache."""
    caches = [CacheCounts(name, 0, count) for name, count in fills.items()]
    return MemoryCounts(0, Stalls(*[0] * len(Stalls.__struct_fields__)), caches)


def live(**told: Any) -> LiveTrial:
    """What a tester says of itself that had no trouble, but for what is told."""
    thread = LiveThread(*[0] * len(LiveThread.__struct_fields__))
    nothing = {"unreached": "", "doubts": [], "stalls": [], "time_stamps": ["kernel"], "sending": thread, "receiving": thread}
    return LiveTrial(**{**dict.fromkeys(LiveTrial.__struct_fields__, 0), **nothing, **told})


@dataclass
class FakeBench:
    """Forwards `forwards(offered pps)` frames/s in each direction, and counts the trials asked of it.

    Counts that mean different things differ: half a per cent of the frames comes out after the window, and the ports count the
    warm-up, too.
    """

    forwards: Callable[[float], float]
    late: Callable[[float], bool] = lambda _: False
    burst_frames: int = 100
    specs: list[Any] = field(default_factory=list)
    driver: str = "formula"
    label: str = "formula"
    where: str = "paper"
    nic: Any = field(default_factory=lambda: SimpleNamespace(model="paper", line_rate_bps=100_000_000, note=""))
    config: TestbedConfig = field(default_factory=lambda: TestbedConfig("formula"))
    names: dict[str, str | None] = field(
        default_factory=lambda: {"rx_scheme": "napi", "tx_scheme": "off", "variant": "NAPI-TX-OFF"}
    )
    """The schemes."""
    ceiling: float = float("inf")
    """The highest rate that the tester can offer."""
    answer: Callable[[Any], Any] | None = None
    """What a trial's result is, or raises; None: it forwards."""
    profiled: Callable[[Any], dict[str, Any]] = lambda _: {}
    """The profile of a trial."""
    inside: Any = None
    """The lab's testbed; None: the same, with what a test gives it."""

    def ceiling_pps(self, size: Any, bidirectional: bool) -> float:
        return self.ceiling

    def most_pps(self, size: Any, bidirectional: bool) -> float:
        return self.ceiling

    def with_member(self, member: Any) -> Any:
        return Testbed.resolve(replace(self.config, member=member))

    def scheme_names(self) -> dict[str, str | None]:
        return self.names

    def describe(self) -> dict[str, Any]:
        return dut(self.driver, self.nic.model)

    def lab(self) -> Any:
        return self if self.inside is None else self.inside

    def profile(self, trial: Trial[R], addresses: dict[str, Any], lines: Any = None) -> tuple[R, dict[str, Any]]:
        return self.run(trial), self.profiled(trial)

    def run(self, trial: Trial[R], cached: bool = True) -> R:
        self.specs.append(trial)
        found: Any = self.forwarded(trial) if self.answer is None else self.answer(trial)
        return found  # type: ignore[no-any-return]

    def forwarded(self, spec: Any) -> ForwardingResult:
        seconds = spec.duration_ns / 1e9
        streams: list[Stream] = []
        for number, load in enumerate(spec.loads):
            for source in range(2 if spec.bidirectional else 1):
                if load.count is not None:
                    sent, received = load.count, min(load.count, self.burst_frames)
                else:
                    begin, end = load.begin_ns / 1e9, seconds if load.end_ns is None else load.end_ns / 1e9
                    sent = round(load.rate_pps * (end - begin))
                    received = min(sent, round(self.forwards(load.rate_pps) * (end - begin)))
                lost = sent - received
                streams.append(
                    stream({
                        "load": number, "from": source, "to": 1 - source, "sent": sent, "received": received, "lost": lost,
                        "received_in_window": received - received // 200, "late": int(self.late(load.rate_pps)),
                        "first_lost_sent_ns": load.begin_ns + 4_000 if lost else None,
                        "last_lost_sent_ns": load.begin_ns + 5_000 if lost else None,
                        "series": [[sent // 20, received // 20]] * 20 if spec.bucket_ns else [],
                    })
                )  # fmt: skip
        in_window = sum(s.received_in_window for s in streams)
        out = sum(s.received for s in streams) + round(1000 * spec.warmup_ns / 1e9)
        return ForwardingResult(
            spec=spec,
            streams=streams,
            ports=[port(refused=sum(s.lost for s in streams), received=out)],
            instructions=in_window * 4000,
            idle_ns=0,
            counters=Counters(interrupts={"eth0": out}),
            link_wait_ns=0,
            kernel_log=[],
        )


def stand_on(bench: FakeBench) -> TrialRunner:
    """A runner on a fake bench."""
    return TrialRunner(bench)
