# SPDX-License-Identifier: GPL-2.0-or-later
"""Several processors on the instruction clock: what QEMU is told, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.errors import IrqlabError
from irqlab.qemu import machine
from irqlab.qemu.machine import MachineConfig
from irqlab.setup import nics
from irqlab.setup.bootable import Kernel
from irqlab.setup.qemu import Qemu


def _config(**more: Any) -> MachineConfig:
    given = {"nic": "e1000", **more}
    model = given.pop("nic")
    nic = next(one for one in nics.TABLE if one.model == model)
    kernel = Kernel("6.1", "linux-image-6.1", "6.1-1", Path("vmlinux"), Path(), Path("config"), "")
    return MachineConfig(Qemu(Path(__file__), (7, 2, 22), ""), kernel, Path("initrd"), "", nic, tester=Path(__file__), **given)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, 0),
        ({"cpus": 2}, 1_000),
        ({"cpus": 2, "quantum_ns": 250}, 250),
        ({"quantum_ns": 250}, 250),
        ({"cpus": 2, "functional": True}, 0),
    ],
)
def test_several_processors_run_in_rounds(config: dict[str, Any], expected: int) -> None:
    assert TestbedConfig("e1000", **config).round_ns == expected


def test_qemu_gets_the_processors_and_the_snapshot_is_of_the_quantum() -> None:
    one, two = _config(), _config(cpus=2, quantum_ns=1_000)
    assert ("-smp" in one.arguments(), "-smp" in two.arguments()) == (False, True)
    assert machine.RELIABLE_TSC in two.append
    assert machine.RELIABLE_TSC not in one.append
    keys = {config.key() for config in (one, two, replace(two, quantum_ns=2_000), replace(one, quantum_ns=1_000))}
    assert len(keys) == 4


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"cpus": 9, "quantum_ns": 1_000}, r"^--cpus 9: with the instruction clock up to 8"),
        ({"cpus": 2, "quantum_ns": 10}, r"^--quantum 0.01: allowed are 0.05 to 1000 us"),
        ({"quantum_ns": 1_000, "functional": True}, r"^--quantum: .* not with --functional"),
    ],
)
def test_what_does_not_work_is_refused(more: dict[str, Any], complaint: str) -> None:
    with pytest.raises(IrqlabError, match=complaint):
        _config(**more)
