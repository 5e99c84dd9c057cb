# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tester counts in a trial, from its answer to the result document (docs/inside/protocol.md, RESULT).

The order of the fields is that in documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from irqlab.config.values import Count, Rate, Ratio
from irqlab.typed import typed


class Latency(Struct, frozen=True, forbid_unknown_fields=True):
    """Latencies of a stream, in ns."""

    count: Count
    min_ns: Count
    mean_ns: Rate
    p50_ns: Count
    p90_ns: Count
    p99_ns: Count
    p999_ns: Count
    max_ns: Count
    histogram: Annotated[str, Meta(pattern="^[A-Za-z0-9+/]+=*$", description="HdrHistogram V2, deflated, base64.")] | None


class Ipdv(Struct, frozen=True, forbid_unknown_fields=True):
    """Delay variation between consecutive frames (RFC 3393), in ns."""

    count: Count
    mean_abs_ns: Rate
    max_abs_ns: Count


class Counted(Struct, frozen=True, forbid_unknown_fields=True):
    """What is counted of a stream's frames."""

    from_: Count = msgspec.field(name="from")
    to: Count
    intended: Count
    sent: Count
    refused: Count
    received: Count
    lost: Count
    reordered: Count
    duplicated: Count
    corrupted: Count
    late: Count
    received_in_window: Count
    last_received_after_ns: Count
    first_lost_sent_ns: Count | None
    last_lost_sent_ns: Count | None
    latency: Latency
    ipdv: Ipdv
    series: list[tuple[Count, Count]] | None


class Stream(Counted, frozen=True, forbid_unknown_fields=True):
    """The frames of one load in one direction (docs/inside/protocol.md)."""

    load: Annotated[int, Meta(ge=0, description="Index into spec.loads.")]


class Port(Struct, frozen=True, forbid_unknown_fields=True):
    """A port of the tester (docs/inside/protocol.md)."""

    sent: Count
    refused: Count
    received: Count
    stray: Count
    host: Count
    corrupted: Count


class CacheCounts(Struct, frozen=True, forbid_unknown_fields=True):
    """A cache's counters."""

    name: str
    accesses: Annotated[int, Meta(ge=0, description="How often a line was used.")]
    misses: Annotated[int, Meta(ge=0, description="Line fills.")]


class Stalls(Struct, frozen=True, forbid_unknown_fields=True):
    """What the processor waited for, in ps."""

    fetch: Annotated[int, Meta(ge=0, description="Lines of instructions.")]
    load: Annotated[int, Meta(ge=0, description="Lines of data that were read.")]
    store: Annotated[int, Meta(ge=0, description="Lines that were written; with a store buffer: that it was full.")]
    translation: Annotated[int, Meta(ge=0, description="Translating addresses.")]
    register: Annotated[int, Meta(ge=0, description="Reads of devices' registers.")]
    interrupt: Annotated[int, Meta(ge=0, description="Entering interrupts and returning.")]


class TlbCounts(Struct, frozen=True, forbid_unknown_fields=True):
    """A TLB's counters."""

    name: str
    accesses: Annotated[int, Meta(ge=0, description="How often an entry was used that is not the last one used.")]
    misses: Annotated[int, Meta(ge=0)]


class MemoryCounts(Struct, frozen=True, forbid_unknown_fields=True):
    """The memory model's counters in the window (docs/inside/protocol.md)."""

    stall_ps: Annotated[int, Meta(ge=0, description="Time that the processor waited for memory, registers and interrupts.")]
    stalls_ps: Stalls
    caches: list[CacheCounts]
    tlbs: Annotated[list[TlbCounts] | UnsetType, Meta(description="absent: no TLBs.")] = UNSET


class LiveThread(Struct, frozen=True, forbid_unknown_fields=True):
    """What the host did to a thread of the tester in a trial."""

    involuntary_switches: Count
    longest_gap_ns: Annotated[int, Meta(ge=0, description="Between two looks at the clock.")]
    stalled_ns: Count
    stalls: Annotated[int, Meta(ge=0, description="Gaps of more than 1 ms.")]
    steal_ticks: Annotated[int, Meta(ge=0, description="Of 10 ms, that other machines had of its processor.")]
    waited_for_cpu_ns: Annotated[int, Meta(ge=0, description="Ready to run, but without its processor.")]


class LiveTrial(Struct, frozen=True, forbid_unknown_fields=True):
    """What the tester says about itself in a trial on real ports."""

    unreached: Annotated[str, Meta(description="How much of the load was not offered; empty: it was.")]
    doubts: Annotated[list[str], Meta(description="Why losses say nothing about the device under test; empty: they do.")]
    stalls: Annotated[list[str], Meta(description="What the host did to the tester; empty: nothing.")]
    own_loss: Annotated[int, Meta(ge=0, description="Frames that the tester's own ports may have lost.")]
    time_stamps: Annotated[list[str], Meta(description="Where times of arrival come from: hardware (the NIC), kernel, program.")]
    lateness_p50_ns: Annotated[int, Meta(ge=0, description="How late frames left the tester's schedule.")]
    lateness_p99_ns: Count
    lateness_max_ns: Count
    handover_p99_ns: Annotated[int, Meta(ge=0, description="From a frame's time stamp until the kernel had it and its batch.")]
    handover_max_ns: Count
    sending: LiveThread
    receiving: LiveThread


# What only the lab reads.


@dataclass(frozen=True)
class Cued:
    """What was executed of the code in a pair, before its cue or before the second event came by itself."""

    executed: int
    """Instructions."""
    path: int
    """A hash of these instructions in the order of their execution, and of the next one if there was a cue."""
    place: int
    """The same of the last 64 of them."""
    at_ns: int | None
    """When the cue came, in ns from the start of the window; None: the instruction was not reached."""
    booked_ns: int
    """So much earlier the instruction would have been reached without the cue."""
    address: int
    """Of the instruction that was next; 0: there was no cue."""


@dataclass(frozen=True)
class Path:
    """A way through the code that a pair without a cue took."""

    path: int
    """Its hash."""
    steps: tuple[tuple[int, int], ...]
    """For each instruction its address, and the `place` of a cue before it."""


class Switched(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a processor gave way."""

    round: Count
    processor: Count
    address: Count


Probed = tuple[Count, int, Count, bool]
"""A call of a probe: the function's index, ns from the start of the window, the first argument, whether it was made to fail."""


class StreamAnswer(Counted, frozen=True, forbid_unknown_fields=True):
    """A stream, with what is asked for of each of its frames."""

    latencies_ns: tuple[int | None, ...] = ()
    pcs: tuple[int, ...] = ()
    repeats: tuple[tuple[int, int], ...] = ()

    def of_load(self, number: int) -> Stream:
        """As it stands in a result."""
        return Stream(**{name: getattr(self, name) for name in Counted.__struct_fields__}, load=number)


class Processor(Struct, frozen=True, forbid_unknown_fields=True):
    """One of several processors, in the measurement window."""

    instructions: Count
    idle_ratio: Ratio


class Answer(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tester's answer to a trial: RESULT."""

    id: Count
    begin_ns: Count
    window_ns: Count
    instructions: Count
    idle_ns: Count | None
    """None: unknown, of a real machine without an agent."""
    streams: tuple[StreamAnswer, ...]
    ports: list[Port]
    watched: tuple[tuple[int, int], ...]
    processors: tuple[tuple[Count, Count], ...] = ()
    """Of each that runs at the same virtual time as others: instructions in the window, and idle time in it in ns."""
    memory: MemoryCounts | None = None
    halts: tuple[tuple[int, int], ...] = ()
    probes: tuple[Probed, ...] = ()
    cued: tuple[Cued, ...] = ()
    paths: tuple[Path, ...] = ()
    passed: tuple[int, ...] = ()
    switched: tuple[Switched, ...] = ()
    live: LiveTrial | None = None
    """None: in the lab."""
    soaked_ratio: float | None = None
    """The soaker's share of a real machine's processor; None: in the lab, or not watched."""

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Answer:
        """Of its JSON. Raises msgspec.ValidationError, which is a mistake of the tester."""
        return typed(answer, cls)

    @property
    def idle_ratio(self) -> float:
        """The part of the window in which the DUT of the lab idled."""
        assert self.idle_ns is not None
        return self.idle_ns / self.window_ns

    def sum(self, count: str) -> int:
        """A count of all streams together."""
        return sum(getattr(stream, count) for stream in self.streams)
