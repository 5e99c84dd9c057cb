# SPDX-License-Identifier: GPL-2.0-or-later
"""DUTs that are formulas, with figures that differ wherever they mean different things, and documents of their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from irqlab.config.schemes import Schemes
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.dut.counters import Counters
from irqlab.methods import catalogue
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.results.records import SCHEMA
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial
from tests.data.sample_documents import COMMAND, dut
from tests.unit.fakes import FakeBench, changed, live, memory

LINE_RATE_BPS = 100_000_000
SLOW_FRAMES = 5
"""Frames of a stream whose latency was measured, for each thousand frames/s offered."""


@dataclass
class Formula(FakeBench):
    """A DUT that forwards by a formula, takes longer the more is offered, and longer in the second direction."""

    driver: str = "sample8139"
    nic: Any = field(default_factory=lambda: SimpleNamespace(model="rtl8139", line_rate_bps=LINE_RATE_BPS, pci_bus=True))
    rx: str | None = None
    """Receive scheme."""
    reaches: float = float("inf")
    """The tester says that it offered less than asked for above so many frames/s."""
    live: bool = False
    """On real ports."""
    others: dict[type, Callable[[Any], Any]] = field(default_factory=dict)
    """Results of trials that forward nothing, by the trial's type."""

    def __post_init__(self) -> None:
        schemes = DutConfig(schemes=Schemes(rx=self.rx))
        self.config = TestbedConfig(self.driver, dut=schemes)

    def scheme_names(self) -> dict[str, str | None]:
        return {"rx_scheme": self.rx, "tx_scheme": "off" if self.rx else None, "variant": None}

    def describe(self) -> dict[str, Any]:
        """As the document states it."""
        schemes = {"variant": None, "rx": self.rx, "tx": "off"} if self.rx else None
        found = dut(self.driver, self.nic.model, schemes=schemes)
        found["nic"]["line_rate_bps"] = self.nic.line_rate_bps
        return found

    def forwarded(self, spec: Any) -> Any:
        if type(spec) in self.others:
            return self.others[type(spec)](spec)
        return self._forwarded(spec)

    def _forwarded(self, spec: ForwardingTrial) -> ForwardingResult:
        found = super().forwarded(spec)
        streams = []
        for stream in found.streams:
            offered = spec.loads[stream.load].rate_pps
            ns = 20_000 + round(offered) + 700 * stream.from_
            latency = {
                "count": round(SLOW_FRAMES * offered / 1e3) if stream.received else 0, "min_ns": ns, "mean_ns": ns + 1500.5,
                "p50_ns": ns + 1000, "p90_ns": 2 * ns, "p99_ns": 3 * ns, "p999_ns": 5 * ns, "max_ns": 9 * ns, "histogram": None,
            }  # fmt: skip
            ipdv = {"count": stream.received, "mean_abs_ns": ns / 8, "max_abs_ns": ns}
            streams.append(changed(stream, latency=latency, ipdv=ipdv))
        sent, lost, out = found.total("sent"), found.total("lost"), found.total("received_in_window")
        return replace(
            found,
            streams=streams,
            instructions=4000 * out + 300 * sent,
            idle_ns=None if self.live else round(spec.duration_ns * out / (out + 2 * sent + 1)),
            counters=Counters(
                interrupts={"eth0": sent, "eth1": sent // 2},
                cpu_ticks={"softirq": 10, "idle": 3},
                interfaces={"eth0": {"rx_missed_errors": lost // 3, "rx_dropped": lost // 5}},
                backlog_drops=lost // 7,
                driver={"eth0": {"rx_interrupts": sent // 3, "tx_interrupts": sent // 4}} if self.rx else {},
            ),
            memory=memory(L1I=30 * out, L1D=20 * out, L2=3 * out) if self.rx else None,
            live=live(unreached="too slow" if max(load.rate_pps for load in spec.loads) > self.reaches else "")
            if self.live
            else None,
        )


def plateau(top: float) -> Callable[[float], float]:
    """Forwards up to `top` frames/s whatever is offered."""
    return lambda offered: min(offered, top)


def falling(top: float, slope: float, least: float = 0.0) -> Callable[[float], float]:
    """Forwards up to `top`; beyond, each frame/s offered costs `slope` forwarded, down to `least`."""
    return lambda offered: offered if offered <= top else max(least, top - slope * (offered - top))


def rows_of(found: list[tuple[Formula, MethodResult]]) -> list[Row]:
    """The rows of a document with these results, without their trials."""
    duts = list({id(bed): bed.describe() for bed, _ in found}.values())
    host = {"system": "Linux", "release": "0.0.0-synthetic", "machine": "x86_64", "python": "3.11.0"}
    document = {
        "schema": SCHEMA,
        "command": COMMAND,
        "complete": True,
        "environment": {"irqlab": "0.0.0", "host": host, "duts": duts},
        "measured": {"results": [replace(result, trials=[]).to_json() for _, result in found]},
    }
    return catalogue.rows([document])
