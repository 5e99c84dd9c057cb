# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of what was measured, in a result document (docs/use/results.md): trials, and rows without their samples and summaries.

Where it was measured is in irqlab.results.environment.

A document is validated by converting it to these types; its JSON schema is generated from them (irqlab.results.document).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from irqlab.config.values import Count, Counts, FrameBytes, Rate, Ratio
from irqlab.trials.record import LiveTrial, MemoryCounts, Port, Stream

SCHEMA = "irqlab-result/2"


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
