# SPDX-License-Identifier: GPL-2.0-or-later
"""Switches from one combination of schemes to another under overload, and the walk through all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from irqlab.config import engine
from irqlab.config.addresses import INTERFACES
from irqlab.config.schemes import Combination
from irqlab.dut import kernel_log
from irqlab.dut.router import Dut
from irqlab.robustness.overload import Overload, choose, one_way

from . import pcapng

WAIT_NS = 20_000_000
"""From the beginning of the load to the switch."""
LIGHTER = (0.9, 0.5)
"""Loads for a switch that cannot be commanded under overload, times what the scheme before it can take."""


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


def tour(nodes: Sequence[Combination]) -> list[Combination]:
    """A short walk, back to its first receive scheme, in which each scheme of a direction is entered and left at least once."""
    used: Counter[str] = Counter()
    stops: list[Combination] = []
    names = list(dict.fromkeys(node.rx for node in nodes))
    for name in [*names, names[0]]:
        before = stops[-1].tx if stops else None
        stops.append(min((node for node in nodes if node.rx == name and node.tx != before), key=lambda node: used[node.tx]))
        used[stops[-1].tx] += 1
    return stops


@dataclass(frozen=True)
class Switch:
    """A switch under load."""

    before: Combination
    after: Combination
    offered_pps: float
    took_ns: int
    """From the moment it was commanded until it was done, in the DUT's time; the command itself waits for the CPU."""
    flowing_after_ns: int | None
    """From then until the DUT transmitted a frame; None: none in the whole rest. From the command on if the process that gave
    it got no CPU until the load ended: since Linux 6.5, softirqs behind interrupts leave it none in an overload."""
    longest_gap_ns: int
    """After it, the longest time without one."""
    forwarded_pps: float
    """In the rest of the window."""
    kernel_log: tuple[str, ...]
    """Above info."""


def switch(overload: Overload, dut: Dut, before: Combination, after: Combination, load: float) -> Switch:
    """Switches under `load` times what the weaker of the two can take.

    Where `before` leaves user space no CPU at that load, the command comes only when the load has ended. `interrupt` does so
    since Linux 6.5, which no longer defers softirqs to ksoftirqd. The switch is then repeated at lighter loads, until the
    command comes while frames arrive.
    """
    rates = [load * min(overload.capacity_pps(before), overload.capacity_pps(after))]
    rates += [lighter * overload.capacity_pps(before) for lighter in LIGHTER]
    dut.kernel_log.news()
    for rate_pps in rates:
        done = _switch(overload, dut, before, after, rate_pps)
        if done is not None:
            return done
        choose(dut, before)
    raise AssertionError(f"{before}: user space gets no CPU at {rates[-1]:,.0f} frames/s, half of what the scheme can take")


def _switch(overload: Overload, dut: Dut, before: Combination, after: Combination, rate_pps: float) -> Switch | None:
    """None: the process that gives the command got no CPU until the load ended."""
    # A tasklet leaves user space a tick a second, and the switch is commanded from there.
    leaving_tasklet = any(one.name == before.rx and one.tasklet and not one.polls for one in engine.all_schemes("rx"))
    window_ns = WAIT_NS + (1_600_000_000 if leaving_tasklet else 300_000_000)
    capture = dut.machine.directory / "switch.pcapng"
    trial = {"warmup_ns": 0, "duration_ns": window_ns, "drain_ns": 1000, "late_ns": 1000, "bucket_ns": 0, "histogram": False}
    armed = dut.rpc.call("start", trial={"id": 60_000, "seed": 1, **trial, "streams": [one_way(rate_pps)]})
    dut.sleep(WAIT_NS)
    dut.rpc.call("capture", path=str(capture))
    began_ns = dut.rpc.call("clock")["now_ns"]
    loaded, other = INTERFACES
    choose(dut, after, first=loaded if leaving_tasklet else other)
    done_ns = int(dut.rpc.call("clock")["now_ns"])
    end_ns = int(armed["origin_ns"]) + window_ns
    commanded = began_ns < end_ns
    dut.sleep(max(0, int(armed["end_ns"]) - done_ns) + 100_000)
    dut.rpc.call("capture", path=None)
    since_ns = done_ns if done_ns < end_ns else began_ns
    out = [ns for ns in pcapng.departures(capture, port=1) if since_ns <= ns <= end_ns]
    capture.unlink()
    if not commanded:
        return None
    flowing, gap = flow(out, since_ns, end_ns)
    rest_s = max(0, end_ns - since_ns) / 1e9
    pps = len(out) / rest_s if rest_s else 0.0
    log = tuple(kernel_log.notable(dut.kernel_log.news()))
    return Switch(before, after, rate_pps, done_ns - began_ns, flowing, gap, pps, log)


def flow(moments: Sequence[int], begin_ns: int, end_ns: int) -> tuple[int | None, int]:
    """Time until the first of the moments (None: there is none), and the longest time between begin and end without one."""
    edges = [begin_ns, *moments, end_ns]
    gap = max((b - a for a, b in pairwise(edges)), default=0)
    return (moments[0] - begin_ns if moments else None), max(0, gap)
