# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of what was measured, in a result document (docs/use/results.md): trials, and rows without their samples and summaries.

Where it was measured is in irqlab.results.environment.

A document is validated by converting it to these types; its JSON schema is generated from them (irqlab.results.document).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from irqlab.results.values import Count, Counts, FrameBytes, Rate, Ratio

SCHEMA = "irqlab-result/2"


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


class OfferedLoad(Struct, frozen=True, forbid_unknown_fields=True):
    """A load of a trial."""

    rate_pps: Annotated[float, Meta(gt=0)]
    size: FrameBytes
    arrivals: Literal["constant", "poisson", "bursts"]
    on_ns: Count
    off_ns: Count
    begin_ns: Count
    end_ns: Count | None
    count: Count | None


class Spec(Struct, frozen=True, forbid_unknown_fields=True):
    """The specification of a trial."""

    loads: Annotated[list[OfferedLoad], Meta(min_length=1)]
    bidirectional: bool
    duration_ns: Annotated[int, Meta(gt=0)]
    warmup_ns: Count
    drain_ns: Count
    late_ns: Count
    bucket_ns: Count
    histogram: bool
    above_line_rate: bool
    seed: int
    costs: Annotated[dict[str, Rate], Meta(description="Hardware costs charged, in ns; absent: no cost model.")] | UnsetType = (
        UNSET
    )


class Stream(Struct, frozen=True, forbid_unknown_fields=True):
    """The frames of one load in one direction (docs/inside/protocol.md)."""

    from_: Count = msgspec.field(name="from")
    to: Count
    load: Annotated[int, Meta(ge=0, description="Index into spec.loads.")]
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
    waited_for_cpu_ns: Annotated[int, Meta(ge=0, description="Ready to run, but without its processor.")]
    steal_ticks: Annotated[int, Meta(ge=0, description="Of 10 ms, that other machines had of its processor.")]
    longest_gap_ns: Annotated[int, Meta(ge=0, description="Between two looks at the clock.")]
    stalls: Annotated[int, Meta(ge=0, description="Gaps of more than 1 ms.")]
    stalled_ns: Count


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


class TrialRecord(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A forwarding trial."""

    spec: Spec
    cost_events: Annotated[Counts, Meta(description="Events charged, by cost; absent: no cost model.")] | UnsetType = UNSET
    memory: MemoryCounts | UnsetType = UNSET
    live: Annotated[LiveTrial | UnsetType, Meta(description="absent: in the lab.")] = UNSET
    offered_pps: Rate
    forwarded_pps: Rate
    loss_ratio: Ratio
    kept_up: bool
    instructions: Count
    instructions_per_frame: Rate | None
    idle_ratio: Annotated[Ratio | None, Meta(description="null: unknown, of a real machine without an agent.")]
    interrupts: Counts
    interrupts_per_frame: Rate | None
    rx_interrupts_per_frame: Rate | None
    tx_interrupts_per_frame: Rate | None
    softirqs: Counts
    cpu_ticks: Counts
    drops: Counts
    time_squeezes: int
    interfaces: dict[str, Counts]
    driver_counters: Annotated[
        dict[str, Counts], Meta(description="The driver's own counters, by interface (ethtool -S), without those that are 0.")
    ]
    link_wait_ns: Count
    streams: list[Stream]
    ports: list[Port]
    kernel_log: list[str]


class Spread(Struct, frozen=True, forbid_unknown_fields=True):
    """A figure of the members of an ensemble."""

    median: Annotated[float, Meta(description="Of an even number the lower one of the two in the middle.")]
    min: float
    max: float


class EnsembleRow(Struct, frozen=True, forbid_unknown_fields=True):
    """Which member of an ensemble a row is; the first also describes the ensemble (docs/use/measuring.md)."""

    member: Annotated[int, Meta(ge=0, description="0: nothing is perturbed.")]
    members: Annotated[int | UnsetType, Meta(description="How many there are; those after the first follow it.")] = UNSET
    seed: int | UnsetType = UNSET
    perturb: Annotated[list[str] | UnsetType, Meta(description="What members differ in.")] = UNSET
    figures: Annotated[
        dict[str, Spread] | UnsetType, Meta(description="Every figure of the row, by its path: samples.0.rate_pps.")
    ] = UNSET


class ResultRow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="method"):
    """Results of one method for one driver and frame size. `samples` and `summary` are the method's own."""

    driver: str
    nic: str
    frame_bytes: FrameBytes
    bidirectional: Annotated[bool, Meta(description="Both directions at once.")]
    mips: Annotated[float, Meta(ge=0, description="0: a real machine.")]
    complete: Annotated[bool, Meta(description="false: interrupted; `trials` holds the finished ones.")]
    rx_scheme: str | None
    tx_scheme: str | None
    variant: Annotated[str | None, Meta(description="The first paper's name for the schemes, if requested by it.")]
    total_throughput_pps: Rate | None
    per_interface_throughput_mbps: Rate | None
    instructions_per_frame: Rate | None
    interrupts_per_frame: Rate | None
    rx_interrupts_per_frame: Rate | None
    tx_interrupts_per_frame: Rate | None
    l1i_fills_per_frame: Annotated[Rate | None, Meta(description="Line fills; absent: no memory model.")] = None
    l1d_fills_per_frame: Rate | None = None
    l2_fills_per_frame: Annotated[Rate | None, Meta(description="absent: no second level.")] = None
    line_rate_limited: bool | None
    tester_limited: Annotated[bool | None, Meta(description="The tester limits the throughput; absent: in the lab.")] = None
    dut: Annotated[Count | UnsetType, Meta(description="Index of its DUT in `environment.duts`; absent: there is only one.")] = (
        UNSET
    )
    ensemble: Annotated[EnsembleRow | UnsetType, Meta(description="absent: no ensemble.")] = UNSET
    samples: list[Any]
    summary: Any
    trials: list[TrialRecord]

    def __post_init__(self) -> None:
        if self.complete and self.summary is None:
            raise ValueError("`summary` is null, though the method was not interrupted")


def row_type(method: str, sample: Any, summary: Any) -> type[ResultRow]:
    """The type of a method's rows, with its types of samples and summary."""
    return msgspec.defstruct(  # type: ignore[return-value]
        f"{method.capitalize()}Row",
        [("samples", list[sample]), ("summary", summary | None)],
        bases=(ResultRow,),
        namespace={"__doc__": f"A row of method {method}."},
        module=__name__,
        frozen=True,
        forbid_unknown_fields=True,
        kw_only=True,
        tag_field="method",
        tag=method,
    )
