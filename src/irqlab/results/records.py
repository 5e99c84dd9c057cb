# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of what was measured, in a result document (docs/use/results.md): trials, and members of an ensemble.

Rows are in irqlab.results.document; where they were measured is in irqlab.results.environment.

A document is validated by converting it to these types; its JSON schema is generated from them (irqlab.results.document).
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from irqlab.config.values import Count, Counts, FrameBytes, Rate, Ratio
from irqlab.spread import Spread
from irqlab.trials.record import LiveTrial, MemoryCounts, Port, Processor, Stream

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
    processors: Annotated[list[Processor], Meta(min_length=1, description="absent: there is one.")] | UnsetType = UNSET
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


class EnsembleRow(Struct, frozen=True, forbid_unknown_fields=True):
    """Which member of an ensemble a row is; the first also describes the ensemble (docs/use/measuring.md)."""

    member: Annotated[int, Meta(ge=0, description="0: nothing is perturbed.")]
    members: Annotated[int | UnsetType, Meta(description="How many there are; those after the first follow it.")] = UNSET
    seed: int | UnsetType = UNSET
    perturb: Annotated[list[str] | UnsetType, Meta(description="What members differ in.")] = UNSET
    figures: Annotated[
        dict[str, Spread] | UnsetType, Meta(description="Every figure of the row, by its path: samples.0.rate_pps.")
    ] = UNSET
