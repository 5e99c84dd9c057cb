# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs on which of the DUT's processors, and the words for it: processors are listed as in smp_affinity_list, 0,2-3."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from irqlab.errors import IrqlabError

_ONE = re.compile(r"(\d+)(?:-(\d+))?")
_INTERRUPT = re.compile(r"([^=\s]+?)(?:-(\d+))?=(\d+)")


@dataclass(frozen=True)
class Interrupts:
    """The processor of an interface's interrupts; `queue`: of one queue's (eth0-rx-1: 1), None: of all."""

    interface: str
    queue: int | None
    processor: int


@dataclass(frozen=True)
class Placement:
    """What is placed; the rest is left to the lab (interrupts: each interface's and queue's in turn) or to the kernel."""

    affinity: tuple[Interrupts, ...] = ()
    rps: tuple[int, ...] = ()
    """Processors that every receive queue hands frames to (rps_cpus)."""
    xps: tuple[tuple[int, ...], ...] = ()
    """Of each transmit queue, the processors that use it (xps_cpus)."""
    napi: tuple[int, ...] = ()
    """Of NAPI's kernel threads: the first one's, the second one's, ..., and again from the beginning."""
    application: int | None = None
    """Of the process in the DUT: the receiver, iperf3."""

    def check(self, processors: int) -> None:
        """Raises IrqlabError for a processor that the DUT does not have."""
        for option, given in self._all():
            if given >= processors:
                more = "no others: add --cpus" if processors == 1 else f"0 to {processors - 1} (--cpus {processors})"
                raise IrqlabError(f"{option}: processor {given}: the DUT has {'0 and ' if processors == 1 else ''}{more}")

    def _all(self) -> Iterator[tuple[str, int]]:
        yield from (("--affinity", one.processor) for one in self.affinity)
        yield from (("--rps", one) for one in self.rps)
        yield from (("--xps", one) for queue in self.xps for one in queue)
        yield from (("--napi-cpus", one) for one in self.napi)
        if self.application is not None:
            yield "--app-cpu", self.application

    def processor_of(self, interface: str, port: int, queue: int, ports: int, processors: int) -> int:
        """Where an interrupt goes. By default the interfaces' first queues come in turn, then their second ones, and so on."""
        asked = {(one.interface, one.queue): one.processor for one in self.affinity}
        whole = asked.get((interface, None), (port + queue * ports) % processors)
        return asked.get((interface, queue), whole)

    def to_json(self) -> dict[str, Any]:
        """What was asked for besides interrupts, for results."""
        found = {"rps": self.rps, "xps": self.xps, "napi": self.napi, "application": self.application}
        return {name: value for name, value in found.items() if value not in ((), None)}

    @classmethod
    def of(cls, affinity: str | None, rps: str | None, xps: str | None, napi: str | None, application: int | None) -> Placement:
        """From the words of the options. Raises IrqlabError."""
        if application is not None and application < 0:
            raise IrqlabError(f"--app-cpu {application}: allowed are 0 or more")
        return cls(
            tuple(_interrupts(part) for part in affinity.split(",")) if affinity is not None else (),
            processors("--rps", rps) if rps is not None else (),
            tuple(processors("--xps", part) for part in xps.split(":")) if xps is not None else (),
            processors("--napi-cpus", napi) if napi is not None else (),
            application,
        )


def _interrupts(text: str) -> Interrupts:
    found = _INTERRUPT.fullmatch(text.strip())
    if not found:
        raise IrqlabError(f"--affinity {text}: must be INTERFACE=PROCESSOR or INTERFACE-QUEUE=PROCESSOR, as in eth0=0,eth1=1")
    interface, queue, processor = found.groups()
    return Interrupts(interface, None if queue is None else int(queue), int(processor))


def processors(option: str, text: str) -> tuple[int, ...]:
    """A list of processors, such as 0,2-3. Raises IrqlabError."""
    found: list[int] = []
    for part in text.split(","):
        one = _ONE.fullmatch(part.strip())
        first, last = (int(one[1]), int(one[2] or one[1])) if one else (1, 0)
        if first > last or last >= 64:
            raise IrqlabError(f"{option} {text}: must be processors, as in 0,2-3")
        found += range(first, last + 1)
    return tuple(found)


def mask(chosen: tuple[int, ...]) -> str:
    """Processors as the kernel's and taskset's mask."""
    return f"{sum(1 << one for one in chosen):x}"
