# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of what a result document says of the memory behind a DUT's processor (docs/use/memory-model.md)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType


class MemoryCache(Struct, frozen=True, forbid_unknown_fields=True):
    """A cache of the memory model."""

    name: Literal["L1I", "L1D", "L2", "L3"]
    bytes: Annotated[int, Meta(gt=0)]
    ways: Annotated[int, Meta(gt=0)]
    line_bytes: Annotated[int, Meta(gt=0)]
    latency_ns: Annotated[float, Meta(ge=0, description="Stall for a line that comes from here.")]
    source: str
    data_latency_ns: Annotated[Annotated[float, Meta(ge=0)] | UnsetType, Meta(description="For data, if it differs.")] = UNSET


class Ram(Struct, frozen=True, forbid_unknown_fields=True):
    """RAM in the memory model."""

    latency_ns: Annotated[float, Meta(ge=0, description="Stall for a line that comes from here.")]
    source: str
    data_latency_ns: Annotated[Annotated[float, Meta(ge=0)] | UnsetType, Meta(description="For data, if it differs.")] = UNSET


class Processor(Struct, frozen=True, forbid_unknown_fields=True):
    """How long an instruction takes if no cache misses: the product of the cycles and the factor, over the clock."""

    clock_mhz: Annotated[float, Meta(gt=0)]
    cycles_per_instruction: Annotated[float, Meta(gt=0)]
    instruction_factor: Annotated[float, Meta(gt=0, description="Instructions of its architecture for one of the DUT's.")]
    source: str


class RegisterRead(Struct, frozen=True, forbid_unknown_fields=True):
    """A read of a device's register."""

    latency_ns: Annotated[float, Meta(ge=0)]
    source: str


class Dma(Struct, frozen=True, forbid_unknown_fields=True):
    """What becomes of the lines that a NIC writes."""

    lines: Literal["invalidate", "last level"]
    source: str


class Tlb(Struct, frozen=True, forbid_unknown_fields=True):
    """A translation lookaside buffer."""

    name: Literal["ITLB", "DTLB", "TLB2"]
    entries: Annotated[int, Meta(gt=0)]
    ways: Annotated[int, Meta(gt=0)]
    large_entries: Annotated[int, Meta(ge=0, description="Of large pages; 0: they share the others.")]
    large_ways: Annotated[int, Meta(ge=0)]
    latency_ns: Annotated[float, Meta(ge=0, description="Stall for an entry that comes from here.")]
    source: str
    data_latency_ns: Annotated[Annotated[float, Meta(ge=0)] | UnsetType, Meta(description="For data, if it differs.")] = UNSET


class Translation(Struct, frozen=True, forbid_unknown_fields=True):
    """How addresses are translated."""

    tlbs: list[Tlb]
    large_page_bytes: Annotated[int, Meta(gt=0, description="The pages that the kernel maps itself with.")]
    walk_latency_ns: Annotated[float, Meta(ge=0, description="Stall if no TLB has an entry, besides reading the page table.")]
    tagged: Annotated[bool, Meta(description="Entries survive a switch to another process.")]
    source: str


class StoreBuffer(Struct, frozen=True, forbid_unknown_fields=True):
    """Stores wait for their lines while the processor goes on."""

    entries: Annotated[int, Meta(gt=0, description="Stores that can wait.")]
    fills: Annotated[int, Meta(gt=0, description="Lines that can be under way for them at a time.")]
    source: str


class Interrupt(Struct, frozen=True, forbid_unknown_fields=True):
    """What entering an interrupt and returning from it take beyond their instructions."""

    latency_ns: Annotated[float, Meta(ge=0)]
    source: str


class Memory(Struct, frozen=True, forbid_unknown_fields=True):
    """The memory behind the processor (docs/use/memory-model.md)."""

    hardware: str
    caches: list[MemoryCache]
    ram: Ram
    processor: Annotated[Processor | UnsetType, Meta(description="absent: an instruction takes 1 / MIPS.")] = UNSET
    register_read: Annotated[RegisterRead | UnsetType, Meta(description="absent: it takes no time of its own.")] = UNSET
    dma: Annotated[Dma | UnsetType, Meta(description="absent: lines stay as they are.")] = UNSET
    translation: Annotated[Translation | UnsetType, Meta(description="absent: it takes no time.")] = UNSET
    store_buffer: Annotated[StoreBuffer | UnsetType, Meta(description="absent: stores stall as loads do.")] = UNSET
    interrupt: Annotated[Interrupt | UnsetType, Meta(description="absent: an interrupt takes its instructions.")] = UNSET
