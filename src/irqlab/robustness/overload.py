# SPDX-License-Identifier: GPL-2.0-or-later
"""Overload: determines a driver's capacity with each combination of schemes, and offers loads beyond it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, ClassVar

from irqlab.config import engine
from irqlab.config.addresses import INTERFACES, dut_ip, stream
from irqlab.config.schemes import Combination
from irqlab.config.traffic import Load, wire_rate_pps
from irqlab.dut.router import Dut
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.testbed import Testbed
from irqlab.trials.trial import Conditions, Trial

GENTLE_PPS = 10_000.0
BUSIER = 1.25
"""Factor by which a busy DUT may forward more than its cost at low load suggests, as it does not enter the idle loop."""
FRAME_BYTES = 64
CALM_PPS = 10_000.0
"""A load that every driver takes without loss."""
UNMEASURED_PPS = 2_000.0
UNMEASURED_LEAST_PPS = 100.0
UNMEASURED_CALM_PPS = 50.0
"""Capacity, least overload and calm load of a DUT without the instruction clock, where nothing can be measured: a debug kernel is
slow."""
DRAIN_NS = 100_000_000
UNMEASURED_DRAIN_NS = 1_000_000_000


def choose(dut: Dut, combination: Combination, first: str = INTERFACES[0]) -> None:
    """Sets the schemes of both interfaces, starting with the receive scheme of `first`.

    A receive scheme that does not mask RX comes after the transmit scheme: the present one may not go with it.
    """
    before = "rx" if any(scheme.name == combination.rx and scheme.masks for scheme in engine.all_schemes("rx")) else "tx"
    settings = [
        (interface, direction, name)
        for interface in INTERFACES
        for direction, name in (("rx", combination.rx), ("tx", combination.tx))
    ]
    for interface, direction, name in sorted(settings, key=lambda s: (s[0] != first, s[1] != before)):
        dut.write(f"/sys/class/net/{interface}/irqmod/{direction}_scheme", name)


@dataclass(frozen=True)
class Forwarded:
    """What a driver forwards with a combination of schemes."""

    spec: SchemesTrial
    forwarded_pps: float
    instructions_per_frame: float | None


@dataclass(frozen=True)
class SchemesTrial(Trial[Forwarded]):
    """A load of short frames in one direction, with these schemes. None: a driver without schemes."""

    combination: Combination | None
    rate_pps: float
    result_type: ClassVar[type] = Forwarded

    def measure(self, dut: Dut, conditions: Conditions) -> Forwarded:
        """Runs the trial on a restored DUT. Raises IrqlabError."""
        if self.combination is not None:
            choose(dut, self.combination)
        trial = ForwardingTrial(loads=(Load(rate_pps=self.rate_pps, size=FRAME_BYTES),))
        found = trial.measure_again(dut, conditions)
        return Forwarded(self, found.forwarded_pps, found.instructions_per_frame)


class Overload:
    """A driver's capacities, each measured once, and loads beyond them."""

    def __init__(self, testbed: Testbed) -> None:
        self.testbed = testbed
        self._known: dict[Combination | None, float] = {}
        self._lock = threading.Lock()

    def capacity_pps(self, combination: Combination | None) -> float:
        """The maximum forwarding rate of a combination: measured at line rate, or estimated from its cost per frame at low load.

        The first applies to schemes that do not collapse, the second to those that do: their cost hardly falls with the load.
        None stands for a driver without schemes. Without the instruction clock: UNMEASURED_PPS.
        """
        if self.testbed.config.functional:
            return UNMEASURED_PPS
        with self._lock:
            if combination not in self._known:
                full = self._trial(combination, wire_rate_pps(FRAME_BYTES, self.testbed.nic.line_rate_bps))
                gentle = self._trial(combination, GENTLE_PPS)
                at_least = self.testbed.machine.mips * 1e6 / (gentle.instructions_per_frame or float("inf"))
                more = self._trial(combination, at_least * BUSIER) if at_least > full.forwarded_pps else full
                self._known[combination] = max(full.forwarded_pps, at_least, more.forwarded_pps)
            return self._known[combination]

    @property
    def calm_pps(self) -> float:
        """A load that the DUT takes without loss."""
        return UNMEASURED_CALM_PPS if self.testbed.config.functional else CALM_PPS

    def next_pps(self, rate_pps: float, last: dict[str, Any], duration_ns: int) -> float:
        """The load of the next step, after a step of `duration_ns` with the stream's result `last` at `rate_pps`.

        Without the instruction clock a DUT forwards what the host has time for. The load follows: it is twice what was forwarded,
        within limits, so that there is an overload but the DUT's other processors are not starved for minutes.
        """
        if not self.testbed.config.functional:
            return rate_pps
        forwarded_pps: float = last["received"] * 1e9 / duration_ns
        return min(max(2 * forwarded_pps, UNMEASURED_LEAST_PPS), 2 * UNMEASURED_PPS)

    def _trial(self, combination: Combination | None, rate_pps: float) -> Forwarded:
        return self.testbed.run(SchemesTrial(combination, rate_pps))

    def offer(self, dut: Dut, rate_pps: float, duration_ns: int, everywhere: bool = False) -> dict[str, Any]:
        """Offers a load in one direction and waits for its end; returns the stream's result.

        `everywhere`: the same load in the other direction, too, and to the DUT itself.
        """
        drain_ns = DRAIN_NS if rate_pps <= GENTLE_PPS else 1000
        if self.testbed.config.functional and rate_pps <= self.calm_pps:
            drain_ns = UNMEASURED_DRAIN_NS
        streams = [one_way(rate_pps), *([_the_other_way(rate_pps), _to_the_dut(rate_pps)] if everywhere else [])]
        result = dut.run_trial({"warmup_ns": 0, "duration_ns": duration_ns, "drain_ns": drain_ns}, streams)
        found: dict[str, Any] = result["streams"][0]
        return found


def one_way(rate_pps: float) -> dict[str, Any]:
    """A stream of short frames from port 0 to port 1, as JSON."""
    return _of(0, 1, rate_pps)


def _of(source: int, sink: int, rate_pps: float) -> dict[str, Any]:
    return stream(source, sink, {"kind": "constant", "rate_pps": rate_pps}, {"kind": "fixed", "frame_bytes": FRAME_BYTES})


def _the_other_way(rate_pps: float) -> dict[str, Any]:
    return _of(1, 0, rate_pps)


def _to_the_dut(rate_pps: float) -> dict[str, Any]:
    return _of(0, 0, rate_pps) | {"dst_ip": dut_ip(0)}
