# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings of an interface's NAPIs that change at run time: kernel threads, and per-NAPI settings over netlink (napi-set)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from irqlab.config.schemes import Schemes
from irqlab.dut.agent import Agent, DutError
from irqlab.qemu.rpc import TesterError

_IN_SYSFS = {"off": "0", "on": "1"}
"""Values of /sys/class/net/<interface>/threaded. Threads that poll continuously are not among them."""


def apply(dut: Agent, wanted: Schemes, interfaces: Iterable[str], driver: str) -> None:
    """Makes the settings that need a NAPI in use; the links are up. Raises DutError."""
    if wanted.napi_threads is not None:
        for interface in interfaces:
            set_threads(dut, interface, wanted.napi_threads, driver)


def set_threads(dut: Agent, interface: str, mode: str, driver: str) -> None:
    """Polls in a kernel thread of normal priority: `off`, `on`, or `busy-poll` (without interrupts). Raises DutError."""
    if mode not in _IN_SYSFS:
        configure(dut, interface, {"threaded": mode}, driver)
        return
    path, value = f"/sys/class/net/{interface}/threaded", _IN_SYSFS[mode]
    try:
        dut.write(path, value)
    except TesterError as error:
        raise DutError(f"the kernel rejected threaded {value} for {driver}: {error}") from error


def configure(dut: Agent, interface: str, settings: Mapping[str, int | str], driver: str) -> list[dict[str, Any]]:
    """Makes settings of every NAPI of the interface, by their names in the kernel's netdev.yaml; returns all settings in force.

    Raises DutError, which names the kernel that is needed if this one lacks a setting.
    """
    asked = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    done = dut.attempt("irqlab-guest", "napi", interface, *asked)
    if done["code"] != 0:
        raise DutError(f"{driver}: {done['err'].strip().removeprefix('irqlab-guest: ')}")
    found: list[dict[str, Any]] = json.loads(done["out"])
    for napi in found:
        for name, value in settings.items():
            if napi.get(name) != value:
                raise DutError(f"{driver}: NAPI {napi['id']} of {interface} has {name} {napi.get(name)} instead of {value}")
    return found
