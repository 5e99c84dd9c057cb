# SPDX-License-Identifier: GPL-2.0-or-later
"""A soak: the same load repeatedly on one running DUT, whose memory use is read between the slices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from irqlab.dut.router import Dut
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial
from irqlab.trials.trial import Conditions, Trial

MEMINFO, SLABINFO = "/proc/meminfo", "/proc/slabinfo"
SKB_CACHES = re.compile(r"^(skbuff_\w+) +(\d+) +\d+ +(\d+) ", re.MULTILINE)
"""Name, active objects, and object size in bytes (slabinfo(5))."""


@dataclass(frozen=True)
class SoakTrial(Trial["SoakResult"]):
    """Consecutive slices of the same load; the DUT is not restored between them."""

    slice: ForwardingTrial
    count: int
    ended: list[Slice] = field(default_factory=list, compare=False, repr=False)
    """Filled while it runs, for one that is interrupted."""

    def specification(self) -> dict[str, Any]:
        """What determines the result."""
        return {"slice": self.slice.specification(), "count": self.count}

    def measure(self, dut: Dut, conditions: Conditions) -> SoakResult:
        """Runs the slices. Raises IrqlabError."""
        begin_ns = _now_ns(dut)
        self.ended.clear()
        for _ in range(self.count):
            found = self.slice.measure_again(dut, conditions)
            messages = dut.kernel_log.messages[sum(len(one.kernel_messages) for one in self.ended) :]
            self.ended.append(Slice.of(found, Memory.of(dut), _now_ns(dut) - begin_ns, messages))
        return SoakResult(self, tuple(self.ended), list(dut.kernel_log.lines))


@dataclass(frozen=True)
class Memory:
    """The DUT's memory use, in bytes."""

    available: int
    """MemAvailable of /proc/meminfo: memory available to a new application."""
    slab: int
    """Slab of /proc/meminfo: the size of the kernel's slab caches."""
    skbs: int | None
    """Bytes of objects in use in the socket-buffer caches (/proc/slabinfo); None if it cannot be read."""

    @classmethod
    def of(cls, dut: Dut) -> Memory:
        """Reads the present state."""
        files = dut.read(MEMINFO, SLABINFO)
        return cls.parse(files[MEMINFO] or "", files[SLABINFO])

    @classmethod
    def parse(cls, meminfo: str, slabinfo: str | None) -> Memory:
        """Parses the two files of /proc."""
        kib = {name: int(value) for name, value in re.findall(r"^(\w+): +(\d+) kB$", meminfo, re.MULTILINE)}
        caches = SKB_CACHES.findall(slabinfo) if slabinfo is not None else None
        skbs = None if caches is None else sum(int(objects) * int(size) for _, objects, size in caches)
        return cls(1024 * kib["MemAvailable"], 1024 * kib["Slab"], skbs)


@dataclass(frozen=True)
class Slice:
    """Result of one slice; of two directions' latencies, the higher one."""

    end_ns: int
    """Virtual time since the start of the soak."""
    sent: int
    lost: int
    p50_ns: int | None
    """Latency; None if no frame came out."""
    p99_ns: int | None
    max_ns: int | None
    memory: Memory
    """Memory use after the slice."""
    kernel_messages: tuple[str, ...] = ()
    """The kernel's messages above info."""

    @classmethod
    def of(cls, found: ForwardingResult, memory: Memory, end_ns: int, messages: Sequence[str] = ()) -> Slice:
        """Makes a slice from its trial."""
        timed = [stream.latency for stream in found.streams if stream.latency.count]
        p50, p99, longest = (max((getattr(one, key) for one in timed), default=None) for key in ("p50_ns", "p99_ns", "max_ns"))
        return cls(end_ns, found.total("sent"), found.total("lost"), p50, p99, longest, memory, tuple(messages))


@dataclass(frozen=True)
class SoakResult:
    """Result of a soak."""

    spec: SoakTrial
    slices: tuple[Slice, ...]
    kernel_log: list[str]


SoakTrial.result_type = SoakResult


def _now_ns(dut: Dut) -> int:
    return int(dut.rpc.call("clock")["now_ns"])
