# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of what a result document says of where it was measured: the DUTs, each with all that results depend on, and the host."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from irqlab.config.values import Count, Sha256
from irqlab.results.memory import Memory


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
    path: Annotated[str | UnsetType, Meta(description="As given; absent: given by name.")] = UNSET


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
    above_weight: int | None = None
    de_without: str | None = None
    rate_usecs: int | None = None


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
    """The tester on real ports (docs/use/live.md)."""

    ports: list[LivePort]
    cpus: Annotated[list[int] | None, Meta(description="For sending and receiving; null: not pinned.")]
    sleep: Annotated[bool, Meta(description="The tester's threads slept when there was nothing to do.")]
    bridge: Annotated[bool, Meta(description="Frames were addressed to the other port, not to a router.")]
    agent: Annotated[bool, Meta(description="Whether there was an agent on the device under test.")]
    calibration: Annotated[dict[str, Any] | None, Meta(description="The tester's own limits; null: not measured.")]


class Processors(Struct, frozen=True, forbid_unknown_fields=True):
    """Several processors that run at the same virtual time (docs/use/processors.md)."""

    count: Annotated[int, Meta(ge=1)]
    quantum_ns: Annotated[int, Meta(ge=1, description="How far their times are apart at most.")]
    interrupts: Annotated[dict[str, int], Meta(description="The processor that handles each of the NICs' interrupts.")]
    rps: Annotated[tuple[int, ...], Meta(description="Those that receive queues hand frames to.")] = ()
    xps: Annotated[tuple[tuple[int, ...], ...], Meta(description="Those that use a transmit queue, by queue.")] = ()
    napi: Annotated[tuple[int, ...], Meta(description="Those of NAPI's kernel threads, in turn.")] = ()
    application: Annotated[int | None, Meta(description="That of the process in the DUT; null: any.")] = None


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
    processors: Annotated[Processors | UnsetType, Meta(description="absent: one.")] = UNSET


class Host(Struct, frozen=True):
    """The host. Results do not depend on it."""

    system: str
    release: str
    machine: str
    python: str


class Environment(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The DUTs and the host."""

    irqlab: str
    compiler: Annotated[str | None, Meta(description="The host's; only in older files.")] = None
    host: Host
    duts: Annotated[list[Dut], Meta(description="One per driver, in the order of the command.")]
