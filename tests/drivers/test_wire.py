# SPDX-License-Identifier: GPL-2.0-or-later
"""TAP scripts on NICs that take time to transmit: the tester's own models."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.robustness import tap
from irqlab.robustness.overload import Overload
from irqlab.trials.testbed import Testbed
from tests.chips import CARDS, OF_CHIPS

MIPS = 1000
"""Fast enough that the wire is the limit, not the CPU, with every scheme."""

SLOW = {("irqmod_i8255x", "registers"), ("irqmod_i82574", "stale_wake")}
"""Scripts that take long on this driver's card, and are quick on another's."""


@pytest.mark.parametrize(
    ("script", "driver", "nic"),
    [
        pytest.param("busy_wire", "irqmod_i8255x", "irqlab-82559", marks=pytest.mark.long),
        pytest.param("busy_wire", "irqmod_rtl8139cp", "irqlab-8139cp", marks=pytest.mark.long),
        ("short_ring", "irqmod_rtl8139cp", "irqlab-8139cp"),
        pytest.param("backlog", "irqmod_rtl8139cp", "irqlab-8139cp", marks=pytest.mark.long),
    ],
)
def test_a_ring_that_is_full(script: str, driver: str, nic: str) -> None:
    (found,) = tap.find([script])
    report = tap.run(Overload(Testbed.resolve(TestbedConfig(driver, nic=nic, mips=MIPS))), found)
    print(report.text)
    assert report.failures == []
    assert not report.skipped


def _run(script: str, driver: str, nic: str) -> None:
    (found,) = tap.find([script])
    report = tap.run(Overload(Testbed.resolve(TestbedConfig(driver, nic=nic))), found)
    print(report.text)
    assert report.failures == []
    if report.skipped_whole:
        pytest.skip(report.skipped[0])


def of_chips() -> Iterator[Any]:
    for driver, script in product(CARDS, OF_CHIPS):
        yield pytest.param(script, driver, id=f"{driver}-{script}", marks=[pytest.mark.long] if (driver, script) in SLOW else [])


@pytest.mark.parametrize(("script", "driver"), list(of_chips()))
def test_what_only_a_chip_has(script: str, driver: str) -> None:
    _run(script, driver, CARDS[driver])


@pytest.mark.parametrize("script", ["forced_link", "hw_counters", "microcode", "pause", "wake"])
@pytest.mark.parametrize("nic", ["irqlab-82558", "irqlab-82551"])
def test_where_revisions_differ(script: str, nic: str) -> None:
    _run(script, "irqmod_i8255x", nic)


def test_a_wrong_checksum() -> None:
    _run("probe", "irqmod_i8255x", CARDS["irqmod_i8255x"])


@pytest.mark.long
def test_commands_while_doorbells_are_refused() -> None:
    _run("commands", "irqmod_i8255x", "irqlab-82559+slow-scb")
