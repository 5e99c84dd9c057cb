# SPDX-License-Identifier: GPL-2.0-or-later
"""Drivers on several processors, on kernels that watch them: KASAN with lockdep and DMA debugging, KCSAN, PREEMPT_RT; and on one
that copies what a device reads and writes (``swiotlb=force``), where a missing synchronization loses data.

Nothing is measured here. Any message of the kernel fails a test. The kernel's own drivers are the comparison.
`DEBUG_BUILDS`, `DEBUG_DRIVERS`, `DEBUG_SCRIPTS`: comma-separated, to run only some. `DEBUG_CPUS`: the number of processors.
`DEBUG_LASTS`: for how many seconds `together` and `random` make changes.

Each test is one DUT, in which several scripts run in turn. What each build repeats is chosen by what it can find: stopping and
starting (`unbind`) with every receive scheme, under load; the other ways to stop and start with a third of them, so that the
three `SHARES` together run each of them with all. The transmit schemes are divided among these builds, so that the three run
`unbind` with every combination. With swiotlb two combinations suffice: what matters is when a driver returns a buffer to the
device. `together` and `random` change everything at once in each build. Scripts without load, which test settings and the loading
of modules, run where they can find something: under KASAN, and those that switch or reset also under PREEMPT_RT. What only a chip
has is tested on the tester's model of it, too: QEMU's have less.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest

from irqlab.config.schemes import COMBINATIONS, MODERATED_COMBINATIONS, USB_COMBINATIONS, Combination
from irqlab.config.testbed import TestbedConfig
from irqlab.robustness import tap
from irqlab.robustness.overload import Overload
from irqlab.trials.testbed import Testbed
from tests.chips import CARDS, OF_CHIPS

pytestmark = pytest.mark.debug

CPUS = int(os.environ.get("DEBUG_CPUS") or 4)
BUILDS: dict[str, dict[str, Any]] = {
    "kasan": {"kernel": "6.12", "debug": ("dma", "faults", "kasan", "lockdep")},
    "kcsan": {"kernel": "6.12", "debug": ("kcsan",)},
    "rt": {"kernel": "6.12-rt"},
    "swiotlb": {"kernel": "6.12", "kernel_arguments": "swiotlb=force"},
}
SHARES = ("kasan", "kcsan", "rt")
"""The builds among which the combinations of schemes are divided."""
OURS = ("irqmod_i8255x", "irqmod_i82574", "irqmod_rtl8139cp", "irqmod_lan78xx")
THEIRS = ("e100", "8139cp", "lan78xx")
ALWAYS = "unbind"
"""Runs with each receive scheme in each build."""
BOUNCED = (Combination("napi", "off"), Combination("timer", "coalesce"))
BOUNCED_USB = (Combination("napi", "interrupt"), Combination("timer", "interrupt"))
"""Run with swiotlb: `timer` returns buffers later, all others return them at once."""
IN_TURN = ("updown", "rings", "suspend", "no_memory")
"""Run with a third of the receive schemes in each build."""
OF_FRAMES = ("instruments", "live_address", "messages")
OF_A_PEER = ("jumbo", "rxvlan", "tso", "vlan")
"""Each changes the addresses of both interfaces, and therefore has a DUT of its own."""
ONCE = {
    "kasan": (
        ("together",),
        ("random",),
        ("interface", "threaded", "backstop", "bad_input", "standard", "gro", "bql", "napi_kept", "per_queue"),
        ("placement",),
        ("load_unload",),
        ("probe",),
        ("queues",),
        ("hotplug",),
        ("allocations",),
        ("last_burst", "memory_back", "modes", "refill_retry"),
        ("netconsole", "netconsole_usb"),
        ("tx_timeout",),
        ("usb",),
        ("autosuspend", "ltm", "usb_phy", "usb_restart"),
        ("timers", "timer_share"),
        OF_CHIPS,
        OF_FRAMES,
        *((name,) for name in OF_A_PEER),
    ),
    "kcsan": (("together",), ("random",), ("queues",), ("hotplug",), OF_CHIPS, OF_FRAMES),
    "rt": (
        ("together",),
        ("random",),
        ("interface", "threaded"),
        ("queues",),
        ("hotplug",),
        ("tx_timeout",),
        ("usb",),
        ("autosuspend", "ltm", "usb_phy"),
        ("timers", "timer_share"),
        OF_CHIPS,
        OF_FRAMES,
    ),
    "swiotlb": (("together",), ("random",), OF_CHIPS, OF_FRAMES, *((name,) for name in OF_A_PEER)),
}
"""Scripts that choose their schemes themselves, by build; those in one group share a DUT."""
OF_THEIRS = tuple(script.name for script in tap.scripts() if not script.engine and script.name not in OF_A_PEER)
OF_ALL_CHIPS = ("stale_wake",)
"""Scripts among `OF_CHIPS` that USB NICs pass, too."""
OF_ONE_CHIP = tuple(name for name in OF_CHIPS if name not in OF_ALL_CHIPS)
"""Those that skip themselves on some chips or models."""
OF_PCI = (
    *("backstop", "instruments", "interface", "load_unload", "messages", "netconsole", "probe", "queues", "rings", "tx_timeout"),
    *OF_ONE_CHIP,
)
"""Scripts for the schemes, rings, settings and chips of our PCI drivers, for sending with interrupts disabled, and for the device
without hardware."""
OF_OFFLOADS = ("jumbo", "rxvlan", "tso")
"""Scripts for offloads, and an MTU, that the 8255x does not have."""
OF_USB = ("autosuspend", "ltm", "netconsole_usb", "usb", "usb_phy", "usb_restart")
OF_THE_ENGINE = ("placement", "queues")
"""Scripts that use no chip; they run with irqmod_i8255x only."""
OF_THE_CLOCK = ("backlog", "busy_wire", "short_ring", "tcp")
"""Scripts that compare rates, or need a ring that is full: without the instruction clock the host decides."""
SILENT = {"lan78xx": "lan78xx of Linux 6.12.y receives nothing: docs/use/findings.md"}
"""Drivers of the kernel that do not work on the kernel of `BUILDS`; `OTHER_KERNELS` may have one on which they do."""
OTHER_KERNELS = {("rt", "lan78xx"): "7.3-rt"}


@dataclass(frozen=True)
class Case:
    """A DUT, and the scripts that run in it."""

    build: str
    driver: str
    scripts: tuple[str, ...]
    combination: Combination | None = None
    nic: str | None = None
    """None: the driver's usual model."""

    def __str__(self) -> str:
        words = (self.build, self.driver, self.nic, self.combination, "+".join(self.scripts))
        return "-".join(str(word) for word in words if word)

    @property
    def properties(self) -> dict[str, str]:
        """What conftest.py keeps with the result."""
        return {
            "case": str(self),
            "build": self.build,
            "driver": self.driver,
            "schemes": str(self.combination or ""),
            "scripts": " ".join(self.scripts),
        }


def _chosen(name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    asked = [word for word in os.environ.get(name, "").split(",") if word]
    return tuple(word for word in known if not asked or word in asked)


def combinations(driver: str) -> tuple[Combination, ...]:
    """Those that a driver of ours has."""
    if "lan78xx" in driver:
        return USB_COMBINATIONS
    return MODERATED_COMBINATIONS if driver == "irqmod_i82574" else COMBINATIONS


def covering(build: str, driver: str) -> list[list[Combination]]:
    """For each receive scheme a share of its combinations, at least one; the builds of `SHARES` together cover all of them."""
    receive: dict[str, list[Combination]] = {}
    for combination in combinations(driver):
        receive.setdefault(combination.rx, []).append(combination)
    shift = SHARES.index(build)
    return [every[(n + shift) % len(SHARES) :: len(SHARES)] or every[:1] for n, every in enumerate(receive.values())]


def _with_schemes(build: str, driver: str) -> list[tuple[tuple[str, ...], Combination]]:
    usb = "lan78xx" in driver
    in_turn = [(m, name) for m, name in enumerate(IN_TURN) if not (usb and name in OF_PCI)]
    if build not in SHARES:
        first, second = BOUNCED_USB if usb else BOUNCED
        return [((*(name for _, name in in_turn), ALWAYS), first), ((ALWAYS,), second)]
    shift = SHARES.index(build)
    found: list[tuple[tuple[str, ...], Combination]] = []
    for n, (first, *others) in enumerate(covering(build, driver)):
        turn = [name for m, name in in_turn if (n + m + shift) % len(SHARES) == 0]
        found += [((*turn, ALWAYS), first), *(((ALWAYS,), other) for other in others)]
    return found


def of_others(driver: str) -> tuple[str, ...]:
    """Scripts for drivers other than this one of ours."""
    if "lan78xx" in driver:
        return OF_PCI
    return (*OF_USB, *OF_OFFLOADS) if driver == "irqmod_i8255x" else (*OF_USB, *OF_THE_ENGINE)


def cases(build: str, driver: str) -> list[Case]:
    """The DUTs of a build and a driver, before the user's choice of scripts."""
    if driver in THEIRS:
        return [Case(build, driver, OF_THEIRS)]
    groups = [tuple(name for name in group if name not in of_others(driver)) for group in ONCE[build]]
    return [
        *(Case(build, driver, scripts, combination) for scripts, combination in _with_schemes(build, driver)),
        *(Case(build, driver, scripts) for scripts in groups if scripts),
        *(Case(build, driver, OF_CHIPS, nic=CARDS[driver]) for scripts in groups if scripts == OF_CHIPS),
    ]


def chosen() -> list[Case]:
    """What runs."""
    scripts = _chosen("DEBUG_SCRIPTS", tuple(script.name for script in tap.scripts()))
    every = [
        case
        for build in _chosen("DEBUG_BUILDS", tuple(BUILDS))
        for driver in _chosen("DEBUG_DRIVERS", (*OURS, *THEIRS))
        for case in cases(build, driver)
    ]
    picked = [replace(case, scripts=tuple(name for name in case.scripts if name in scripts)) for case in every]
    return [case for case in picked if case.scripts]


@cache
def overload_of(build: str, driver: str, nic: str | None) -> Overload:
    options = dict(BUILDS[build])
    if other := OTHER_KERNELS.get((build, driver)):
        options["kernel"] = other
    elif driver in SILENT:
        pytest.skip(SILENT[driver])
    return Overload(Testbed.resolve(TestbedConfig(driver, nic, cpus=CPUS, functional=True, **options)))


@pytest.mark.parametrize("case", chosen(), ids=str)
def test_a_watched_kernel_says_nothing(case: Case, record_property: Callable[[str, object], None]) -> None:
    for name, value in case.properties.items():
        record_property(name, value)
    reports = tap.run_in_turn(overload_of(case.build, case.driver, case.nic), tap.find(list(case.scripts)), case.combination)
    for name, report in reports.items():
        print(f"# {name}\n{report.text}")
    assert {name: report.failures for name, report in reports.items() if report.failures} == {}
    if case.driver in OURS:
        assert [name for name, report in reports.items() if report.skipped_whole and name not in OF_ONE_CHIP] == []
