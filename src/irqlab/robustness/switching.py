# SPDX-License-Identifier: GPL-2.0-or-later
"""Combinations of schemes under overload: what each can take, and the walk that switches from every one to every other."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from irqlab.config.addresses import INTERFACES, stream
from irqlab.config.schemes import RX_SCHEMES, TX_SCHEMES
from irqlab.config.traffic import Load, wire_rate_pps
from irqlab.dut.router import Dut
from irqlab.robustness import pcapng
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.testbed import Testbed

GENTLE_PPS = 10_000.0
BUSIER = 1.25
"""A busy DUT saves the way into idle and back."""
WAIT_NS = 20_000_000
"""From the beginning of the load to the switch."""
INFO = 6
ORDINARY = r"^random: crng init done"
"""What every kernel logs at its time."""
FRAME_BYTES = 64
DRAIN_NS = 100_000_000


@dataclass(frozen=True)
class Combination:
    """A receive and a transmit scheme."""

    rx: str
    tx: str

    def __str__(self) -> str:
        return f"{self.rx}/{self.tx}"


COMBINATIONS = tuple(Combination(rx, tx) for rx in RX_SCHEMES for tx in TX_SCHEMES)


def choose(dut: Dut, combination: Combination, first: str = INTERFACES[0]) -> None:
    """Switches both interfaces; the receive scheme of `first` before anything else."""
    settings = [
        (interface, direction, name)
        for interface in INTERFACES
        for direction, name in (("rx", combination.rx), ("tx", combination.tx))
    ]
    for interface, direction, name in sorted(settings, key=lambda s: s[:2] != (first, "rx")):
        dut.write(f"/sys/class/net/{interface}/irqmod/{direction}_scheme", name)


def walk(nodes: Sequence[Combination]) -> list[Combination]:
    """Goes from every node to every other exactly once (an Eulerian circuit of the complete directed graph)."""
    left = {node: [other for other in reversed(nodes) if other != node] for node in nodes}
    path, circuit = [nodes[0]], []
    while path:
        if left[path[-1]]:
            path.append(left[path[-1]].pop())
        else:
            circuit.append(path.pop())
    return circuit[::-1]


@dataclass(frozen=True)
class Switch:
    """A switch under load."""

    before: Combination
    after: Combination
    offered_pps: float
    took_ns: int
    """From the moment it was commanded until it was done, in the DUT's time; the command itself waits for the CPU."""
    flowing_after_ns: int | None
    """From then until the DUT transmitted a frame; None: none in the whole rest."""
    longest_gap_ns: int
    """After it, the longest time without one."""
    forwarded_pps: float
    """In the rest of the window."""
    kernel_log: tuple[str, ...]
    """Above info."""


class Overload:
    """Offers a driver more than it can take. Capacities are measured once per bed."""

    _known: dict[tuple[int, Combination], float] = {}  # noqa: RUF012
    _lock = threading.Lock()

    def __init__(self, testbed: Testbed) -> None:
        self.testbed = testbed

    def capacity_pps(self, combination: Combination) -> float:
        """What a combination forwards at best: under the wire's full load, or somewhat above what its cost when idle allows.

        The first holds for schemes that do not collapse, the second for those that do: their cost hardly falls with the load.
        """
        key = (id(self.testbed), combination)
        with self._lock:
            if key not in self._known:
                full = self._trial(combination, wire_rate_pps(FRAME_BYTES, self.testbed.nic.line_rate_bps))
                gentle = self._trial(combination, GENTLE_PPS)
                at_least = self.testbed.machine.mips * 1e6 / (gentle.instructions_per_frame or float("inf"))
                more = self._trial(combination, at_least * BUSIER) if at_least > full.forwarded_pps else full
                self._known[key] = max(full.forwarded_pps, at_least, more.forwarded_pps)
            return self._known[key]

    def _trial(self, combination: Combination, rate_pps: float) -> Any:
        with self.testbed.open() as dut:
            choose(dut, combination)
            trial = ForwardingTrial(loads=(Load(rate_pps=rate_pps, size=FRAME_BYTES),))
            return trial.measure(dut, self.testbed.conditions, fresh=False)

    def offer(self, dut: Dut, rate_pps: float, duration_ns: int) -> dict[str, Any]:
        """Offers a load in one direction and waits for its end; returns the stream's result."""
        drain_ns = DRAIN_NS if rate_pps <= GENTLE_PPS else 1000
        result = dut.run_trial({"warmup_ns": 0, "duration_ns": duration_ns, "drain_ns": drain_ns}, [_stream(rate_pps)])
        found: dict[str, Any] = result["streams"][0]
        return found

    def switch(self, dut: Dut, before: Combination, after: Combination, load: float) -> Switch:
        """Switches under `load` times what the weaker of the two can take."""
        rate_pps = load * min(self.capacity_pps(before), self.capacity_pps(after))
        # Disable-enable leaves user space a tick a second, and the switch is commanded from there.
        leaving_de = before.rx in ("de", "adaptive")
        window_ns = WAIT_NS + (1_600_000_000 if leaving_de else 300_000_000)
        problems(dut)
        capture = dut.machine.directory / "switch.pcapng"
        trial = {"warmup_ns": 0, "duration_ns": window_ns, "drain_ns": 1000, "late_ns": 1000, "bucket_ns": 0, "histogram": False}
        armed = dut.rpc.call("start", trial={"id": 60_000, "seed": 1, **trial, "streams": [_stream(rate_pps)]})
        dut.sleep(WAIT_NS)
        dut.rpc.call("capture", path=str(capture))
        began_ns = dut.rpc.call("clock")["now_ns"]
        loaded, other = INTERFACES
        choose(dut, after, first=loaded if leaving_de else other)
        done_ns = int(dut.rpc.call("clock")["now_ns"])
        end_ns = int(armed["origin_ns"]) + window_ns
        dut.sleep(max(0, int(armed["end_ns"]) - done_ns) + 100_000)
        dut.rpc.call("capture", path=None)
        out = [ns for ns in pcapng.departures(capture, port=1) if done_ns <= ns <= end_ns]
        capture.unlink()
        flowing, gap = flow(out, done_ns, end_ns)
        rest_s = max(0, end_ns - done_ns) / 1e9
        pps = len(out) / rest_s if rest_s else 0.0
        return Switch(before, after, rate_pps, done_ns - began_ns, flowing, gap, pps, tuple(problems(dut)))


def flow(moments: Sequence[int], begin_ns: int, end_ns: int) -> tuple[int | None, int]:
    """Time until the first of the moments (None: there is none), and the longest time between begin and end without one."""
    edges = [begin_ns, *moments, end_ns]
    gap = max((b - a for a, b in pairwise(edges)), default=0)
    return (moments[0] - begin_ns if moments else None), max(0, gap)


def problems(dut: Dut) -> list[str]:
    """What the kernel logged above info since the last time."""
    records = dut.rpc.guest("kmsg")["records"]
    return [str(r["text"]) for r in records if r["level"] < INFO and not re.search(ORDINARY, r["text"])]


def _stream(rate_pps: float) -> dict[str, Any]:
    return stream(0, 1, {"kind": "constant", "rate_pps": rate_pps}, {"kind": "fixed", "frame_bytes": FRAME_BYTES})
