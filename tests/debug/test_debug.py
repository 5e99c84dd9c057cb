# SPDX-License-Identifier: GPL-2.0-or-later
"""Drivers on several processors, on kernels that watch them: KASAN with lockdep and DMA debugging, KCSAN, PREEMPT_RT.

Nothing is measured here. Any message of the kernel fails a test. The kernel's own drivers are the comparison.
`DEBUG_BUILDS`, `DEBUG_DRIVERS`, `DEBUG_SCRIPTS`: comma-separated, to run only some. `DEBUG_CPUS`: the number of processors.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import pytest

from irqlab.config.schemes import COMBINATIONS, USB_COMBINATIONS, Combination
from irqlab.config.testbed import TestbedConfig
from irqlab.robustness import tap
from irqlab.robustness.overload import Overload
from irqlab.trials.testbed import Testbed

pytestmark = pytest.mark.debug

CPUS = int(os.environ.get("DEBUG_CPUS") or 4)
BUILDS: dict[str, dict[str, Any]] = {
    "kasan": {"kernel": "6.12", "debug": ("dma", "faults", "kasan", "lockdep")},
    "kcsan": {"kernel": "6.12", "debug": ("kcsan",)},
    "rt": {"kernel": "6.12-rt"},
}
OURS = ("irqmod_i8255x", "irqmod_rtl8139cp", "irqmod_lan78xx")
THEIRS = ("e100", "8139cp", "lan78xx")
OF_OURS = ("backstop", "bad_input", "interface", "load_unload", "no_memory", "rings", "tcp", "together", "tx_timeout", "usb")
"""Scripts that test what only drivers built on irqmod have."""
OF_PCI = ("backstop", "bad_input", "interface", "load_unload", "rings", "tcp", "tx_timeout")
"""Scripts for the schemes, rings and settings of our PCI drivers."""
OF_THE_CLOCK = ("tcp",)
"""Scripts that compare rates, which means nothing without the instruction clock."""
SILENT = {"lan78xx": "lan78xx of Linux 6.12.y receives nothing: docs/findings.md"}
"""Drivers of the kernel that do not work on the kernel of `BUILDS`; `OTHER_KERNELS` may have one on which they do."""
OTHER_KERNELS = {("rt", "lan78xx"): "7.3-rt"}


def _chosen(name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    asked = [word for word in os.environ.get(name, "").split(",") if word]
    return tuple(word for word in known if not asked or word in asked)


def covering(usb: bool) -> tuple[Combination, ...]:
    """As many combinations as there are receive schemes, with each transmit scheme in some of them."""
    every = USB_COMBINATIONS if usb else COMBINATIONS
    receive, transmit = (tuple(dict.fromkeys(names)) for names in zip(*((c.rx, c.tx) for c in every), strict=True))
    return tuple(Combination(rx, transmit[n % len(transmit)]) for n, rx in enumerate(receive))


@cache
def overload_of(build: str, driver: str) -> Overload:
    options = dict(BUILDS[build])
    if other := OTHER_KERNELS.get((build, driver)):
        options["kernel"] = other
    elif driver in SILENT:
        pytest.skip(SILENT[driver])
    return Overload(Testbed.resolve(TestbedConfig(driver, cpus=CPUS, functional=True, **options)))


def cases() -> list[tuple[str, str, str, Combination | None]]:
    """Build, driver, script, combination."""
    found = []
    scripts = {script.name: script for script in tap.scripts()}
    for build in _chosen("DEBUG_BUILDS", tuple(BUILDS)):
        for driver in _chosen("DEBUG_DRIVERS", (*OURS, *THEIRS)):
            for name in _chosen("DEBUG_SCRIPTS", tuple(scripts)):
                ours = driver in OURS
                usb = "lan78xx" in driver
                if name in OF_THE_CLOCK or name in (OF_PCI if usb else ("usb",)) or (name in OF_OURS and not ours):
                    continue
                several = covering(usb) if ours and scripts[name].every_combination else (None,)
                found += [(build, driver, name, combination) for combination in several]
    return found


def test_the_selection_covers_each_scheme() -> None:
    for usb, every in ((False, COMBINATIONS), (True, USB_COMBINATIONS)):
        assert {c.rx for c in covering(usb)} == {c.rx for c in every}
        assert {c.tx for c in covering(usb)} == {c.tx for c in every}


@pytest.mark.parametrize(("build", "driver", "name", "combination"), cases(), ids=lambda value: str(value) if value else "any")
def test_a_watched_kernel_says_nothing(build: str, driver: str, name: str, combination: Combination | None) -> None:
    (script,) = tap.find([name])
    report = tap.run(overload_of(build, driver), script, combination)
    print(report.text)
    assert report.failures == []
