# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of all parts of a result document (docs/results.md), except the methods' samples and summaries.

A document is validated by converting it to these types; its JSON schema is generated from them (irqlab.results.document).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

SCHEMA = "irqlab-result/2"

Count = Annotated[int, Meta(ge=0)]
Rate = Annotated[float, Meta(ge=0)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
FrameBytes = Annotated[int, Meta(ge=64, le=1518, description="FCS counted.")] | Literal["imix"]
Counts = Annotated[dict[str, int], Meta(description="What the kernel or the tester counted, by name.")]


class Kernel(Struct, frozen=True, forbid_unknown_fields=True):
    """The DUT's kernel."""

    release: str
    package: str | None
    version: str | None
    sha256: Annotated[Sha256 | None, Meta(description="null: a real machine's.")]


class Nic(Struct, frozen=True, forbid_unknown_fields=True):
    """QEMU's NIC model."""

    model: str
    properties: list[str] | dict[str, str]
    line_rate_bps: Annotated[int, Meta(ge=0, description="0: no ceiling.")]
    timing: Annotated[str, Meta(description="What the model's timing is known to get wrong; may be empty.")] | UnsetType = UNSET
    bus: Annotated[str, Meta(description="Of the tester's own PCI cards: the clock in MHz, the width in bits.")] | UnsetType = (
        UNSET
    )
    errata: Annotated[list[str], Meta(description="Defects of the chip that these cards have.")] | UnsetType = UNSET


class Module(Struct, frozen=True, forbid_unknown_fields=True):
    """A kernel module that was loaded."""

    name: str
    sha256: Annotated[Sha256 | None, Meta(description="null: a real machine's.")]
    vermagic: str


class SchemesInForce(Struct, frozen=True, forbid_unknown_fields=True):
    """The interrupt-handling schemes, as the driver states them."""

    variant: str | None
    rx: str
    tx: str
    weight: int | None = None
    cliff_pps: int | None = None
    epsilon_permille: int | None = None
    rate_window_ms: int | None = None
    rx_usecs: int | None = None
    tx_usecs: int | None = None
    tx_frames: int | None = None
    timer_without: str | None = None
    timer_refill: str | None = None
    off_without: str | None = None
    above: str | None = None
    quota: int | None = None
    queue_high: int | None = None
    queue_low: int | None = None
    cpu_percent: int | None = None
    user_percent: int | None = None
    pause_usecs: int | None = None


class Configuration(Struct, frozen=True):
    """The configuration that affects results, as reported by the DUT's kernel; may have further fields."""

    lsm: str
    qdisc: str | None
    netdev_max_backlog: Count | None
    netdev_budget: Count | None
    dev_weight: Count | None
    spectre_v2: str
    clocksource: str
    ring_rx: Count | None
    ring_tx: Count | None
    offloads: list[str]
    schemes: Annotated[SchemesInForce | None, Meta(description="null: not a driver built on irqmod.")]
    notes: Annotated[list[str], Meta(description="Deviations from the requested configuration.")]
    sysctls: dict[str, str]
    module_parameters: str
    attributes: dict[str, str] | UnsetType = UNSET


class Guest(Struct, frozen=True, forbid_unknown_fields=True):
    """Contents of the guest image."""

    packages: Annotated[dict[str, str], Meta(description="The Debian packages its tools come from, with their versions.")]
    agent_sha256: Sha256


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
    """The memory behind the processor (docs/memory-model.md)."""

    hardware: str
    caches: list[MemoryCache]
    ram: Ram
    processor: Annotated[Processor | UnsetType, Meta(description="absent: an instruction takes 1 / MIPS.")] = UNSET
    register_read: Annotated[RegisterRead | UnsetType, Meta(description="absent: it takes no time of its own.")] = UNSET
    dma: Annotated[Dma | UnsetType, Meta(description="absent: lines stay as they are.")] = UNSET
    translation: Annotated[Translation | UnsetType, Meta(description="absent: it takes no time.")] = UNSET
    store_buffer: Annotated[StoreBuffer | UnsetType, Meta(description="absent: stores stall as loads do.")] = UNSET
    interrupt: Annotated[Interrupt | UnsetType, Meta(description="absent: an interrupt takes its instructions.")] = UNSET


class LivePort(Struct, frozen=True, forbid_unknown_fields=True):
    """A port of the tester on this host."""

    name: str
    driver: str
    line_rate_bps: Annotated[int, Meta(ge=0, description="0: unknown.")]
    opened: Annotated[
        dict[str, Any],
        Meta(description="Kind of socket; of AF_XDP mode and zero copy; of AF_PACKET the clock, and why it is not the NIC's."),
    ]


class Live(Struct, frozen=True, forbid_unknown_fields=True):
    """The tester on real ports (docs/live.md)."""

    ports: list[LivePort]
    cpus: Annotated[list[int] | None, Meta(description="For sending and receiving; null: not pinned.")]
    sleep: Annotated[bool, Meta(description="The tester's threads slept when there was nothing to do.")]
    bridge: Annotated[bool, Meta(description="Frames were addressed to the other port, not to a router.")]
    agent: Annotated[bool, Meta(description="Whether there was an agent on the device under test.")]
    calibration: Annotated[dict[str, Any] | None, Meta(description="The tester's own limits; null: not measured.")]


class Dut(Struct, frozen=True, forbid_unknown_fields=True):
    """A device under test: everything that results depend on."""

    kernel: Kernel
    qemu: Annotated[str, Meta(description="Empty: a real machine.")]
    qemu_sha256: Sha256 | None
    mips: Annotated[float, Meta(ge=0, description="0: a real machine.")]
    cpu: str
    memory_mib: Annotated[int, Meta(ge=0, description="0: unknown.")]
    kernel_command_line: str
    nic: Nic
    modules: Annotated[list[Module], Meta(min_length=1, description="In load order; the last is the driver under test.")]
    guest_image_sha256: Sha256 | None
    tester_sha256: Sha256
    dut: Configuration
    live: Annotated[Live | UnsetType, Meta(description="absent: in the lab.")] = UNSET
    guest: Guest | UnsetType = UNSET
    memory: Annotated[Memory | UnsetType, Meta(description="absent: no memory model.")] = UNSET


class Host(Struct, frozen=True):
    """The host. Results do not depend on it."""

    system: str
    release: str
    machine: str
    python: str


class Environment(Struct, frozen=True, forbid_unknown_fields=True):
    """The DUTs and the host."""

    irqlab: str
    compiler: str | None
    host: Host
    duts: Annotated[list[Dut], Meta(description="One per driver, in the order of the command.")]


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
    """The frames of one load in one direction (docs/protocol.md)."""

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
    """A port of the tester (docs/protocol.md)."""

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
    """The memory model's counters in the window (docs/protocol.md)."""

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
    """Which member of an ensemble a row is; the first also describes the ensemble (docs/measuring.md)."""

    member: Annotated[int, Meta(ge=0, description="0: nothing is perturbed.")]
    members: Annotated[int | UnsetType, Meta(description="How many there are; those after the first follow it.")] = UNSET
    seed: int | UnsetType = UNSET
    perturb: Annotated[list[str] | UnsetType, Meta(description="What members differ in.")] = UNSET
    figures: Annotated[
        dict[str, Spread] | UnsetType, Meta(description="Every figure of the row, by its path: samples.0.rate_pps.")
    ] = UNSET
    null: Annotated[
        dict[str, Spread] | UnsetType, Meta(description="compare: the same of as many further members of the first side.")
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
