# SPDX-License-Identifier: GPL-2.0-or-later
"""How full the transmit ring is: what the NIC holds, over time. Only of the tester's own PCI cards is that seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from irqlab.config.addresses import INTERFACES, stream
from irqlab.dut import counters
from irqlab.dut.router import Dut
from irqlab.trials.iperf import IperfTrial
from irqlab.trials.record import Answer
from irqlab.trials.trial import Conditions, Trial

WARMUP_NS = 50_000_000
FORWARD_NS = 200_000_000
DRAIN_NS = 5_000_000
TCP_SECONDS = 1
TCP_END_NS = 100_000_000
"""Before a TCP flow's last frame: what lies there is left out."""
TCP_NS = 400_000_000
SHOWN_NS = 5_000_000
"""How much of the window the plot shows, from its beginning."""
USUAL_RING = 64
"""Of drivers that cannot tell (8139cp)."""


@dataclass(frozen=True)
class RingTrial(Trial["RingResult"]):
    """64-byte frames in both directions at `rate_pps`, or a TCP flow that the DUT sends (`rate_pps` None)."""

    rate_pps: float | None

    @property
    def name(self) -> str:
        """The test's name."""
        return "TCP Tx" if self.rate_pps is None else "64 bytes, both ways"

    def measure(self, dut: Dut, conditions: Conditions) -> RingResult:
        """Runs the load while the tester records. Raises IrqlabError if the NIC is not one of the tester's PCI cards."""
        before, begin_ns = dut.counters(), int(dut.rpc.call("clock")["now_ns"])
        dut.rpc.call("rings", record=True)
        if self.rate_pps is None:
            IperfTrial(seconds=TCP_SECONDS).measure(dut, conditions)
            window = None
        else:
            window = self._forward(dut, conditions, self.rate_pps)
        rings = [[(int(at), int(fill)) for at, fill in ring] for ring in dut.rpc.call("rings", record=False)["rings"]]
        change = counters.difference(before, dut.counters())
        elapsed_ns = int(dut.rpc.call("clock")["now_ns"]) - begin_ns
        ring = max(rings, key=len)
        if window is None:
            end_ns = (ring[-1][0] if ring else 0) - TCP_END_NS
            window = (end_ns - TCP_NS, end_ns)
        dut.kernel_log.check()
        return RingResult(
            spec=self,
            ring=_ring_size(dut),
            window_ns=window[1] - window[0],
            at_fill_ns=spent(ring, window),
            fillings=fillings(ring, window, _full(_ring_size(dut))),
            shown=steps(ring, window[0], window[0] + SHOWN_NS),
            interrupts_per_s=sum(change.interrupts.values()) * 1e9 / elapsed_ns,
            kernel_log=list(dut.kernel_log.lines),
        )

    def _forward(self, dut: Dut, conditions: Conditions, rate_pps: float) -> tuple[int, int]:
        dut.play_hosts(conditions.line_rate_bps)
        size = {"kind": "fixed", "frame_bytes": 64}
        streams = [stream(p, 1 - p, {"kind": "constant", "rate_pps": rate_pps}, size) for p in (0, 1)]
        answer = Answer.of(dut.run_trial({"warmup_ns": WARMUP_NS, "duration_ns": FORWARD_NS, "drain_ns": DRAIN_NS}, streams))
        return answer.begin_ns, answer.begin_ns + FORWARD_NS


@dataclass(frozen=True)
class RingResult:
    """What the ring of the port that changed most often held in the window."""

    spec: RingTrial
    ring: int
    """The ring's size, in descriptors."""
    window_ns: int
    at_fill_ns: dict[str, int]
    """For how long, in ns, the NIC held so many descriptors."""
    fillings: int
    """How often it came to hold at least nine tenths of the ring."""
    shown: list[tuple[int, int]]
    """At the window's beginning: ns since then, and how many descriptors from then on."""
    interrupts_per_s: float
    """Of both NICs, over the whole test."""
    kernel_log: list[str]


RingTrial.result_type = RingResult


def _full(ring: int) -> int:
    return ring * 9 // 10


def _ring_size(dut: Dut) -> int:
    text = str(dut.attempt("ethtool", "-g", INTERFACES[0])["out"])
    found = re.findall(r"^TX:\s+(\d+)", text, re.MULTILINE)
    return int(found[-1]) if found else USUAL_RING


def spent(ring: Sequence[tuple[int, int]], window: tuple[int, int]) -> dict[str, int]:
    """For how long, in ns, the ring was at each fill within a window. Before its first change it was empty."""
    times: dict[int, int] = {}
    at_ns, fill = window[0], 0
    for next_ns, next_fill in [*ring, (window[1], 0)]:
        here_ns = min(max(next_ns, window[0]), window[1])
        times[fill] = times.get(fill, 0) + here_ns - at_ns
        at_ns, fill = here_ns, next_fill
    return {str(fill): ns for fill, ns in sorted(times.items()) if ns}


def fillings(ring: Sequence[tuple[int, int]], window: tuple[int, int], full: int) -> int:
    """How often the fill rose to `full` within a window."""
    count, before = 0, 0
    for at_ns, fill in ring:
        count += window[0] <= at_ns < window[1] and before < full <= fill
        before = fill
    return count


def steps(ring: Sequence[tuple[int, int]], begin_ns: int, end_ns: int) -> list[tuple[int, int]]:
    """The changes between two instants, in ns since the first, which begins with the fill at that instant."""
    before = [fill for at_ns, fill in ring if at_ns <= begin_ns]
    inside = [(at_ns - begin_ns, fill) for at_ns, fill in ring if begin_ns < at_ns < end_ns]
    return [(0, before[-1] if before else 0), *inside]
