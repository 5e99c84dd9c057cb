# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets and reads back the interrupt-handling schemes of our own drivers.

A driver built on irqmod has them in /sys/class/net/<interface>/irqmod/ and in ethtool -C; other drivers have no such directory
and no schemes. Both interfaces are set alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from irqlab.config import engine
from irqlab.config.schemes import SETTINGS, VARIANT_RING, VARIANT_TX_FRAMES, Schemes, Setting
from irqlab.dut.agent import Agent
from irqlab.dut.facts import Rings, rings_of
from irqlab.errors import IrqlabError
from irqlab.qemu.rpc import TesterError
from irqlab.setup import drivers
from irqlab.setup.modules import Module

_PREPARED = tuple(setting for setting in SETTINGS if not setting.place.napi)
"""The settings that do not need a NAPI in use."""


class SchemeError(IrqlabError):
    """A scheme or one of its settings was rejected; the message includes the DUT's error."""


def rings(dut: Agent, interface: str) -> Rings | None:
    """The ring sizes of an interface; None if its driver does not report them."""
    return rings_of(dut.attempt("ethtool", "-g", interface)["out"])


def no_schemes(driver: str, why: str) -> SchemeError:
    """The error if schemes are asked for, and the driver has none."""
    return SchemeError(
        f"the driver {driver} has no schemes to choose from ({why}): "
        "--rx, --tx, --variant and their settings are for drivers built on irqmod"
    )


def check(wanted: Schemes, modules: Sequence[Module], usb: bool) -> None:
    """Raises SchemeError for schemes that the driver, the last of the modules, cannot have, before anything boots.

    The driver decides on those that it may have: its engine may be of another revision than the declarations here.
    """
    if wanted.needs_engine and not any(module.name == drivers.ENGINE for module in modules):
        raise no_schemes(modules[-1].name, f"it does not use the module {drivers.ENGINE}")
    for direction, name in (("rx", wanted.rx), ("tx", wanted.tx)):
        known = [scheme.name for scheme in engine.schemes(direction, engine.TRANSFERS if usb else engine.MASK)]
        others = engine.MASK if usb else engine.TRANSFERS
        if any(scheme.name == name and others in scheme.needs for scheme in engine.all_schemes(direction)):
            kind, listed = ("USB" if usb else "PCI"), ",".join(known)
            raise SchemeError(f"--{direction} {name}: not with {kind} hardware, which has --{direction} {listed}")
        if name and name not in known and not any(f"{name}\0".encode() in module.data for module in modules):
            raise SchemeError(f"--{direction} {name}: allowed are {', '.join(known)}")


def apply(dut: Agent, wanted: Schemes, interfaces: Iterable[str], driver: str) -> list[str]:
    """Sets the schemes on every interface and verifies them; returns deviations from the request."""
    if not wanted.asked:
        return []
    notes: dict[str, None] = {}
    for interface in interfaces:
        if wanted.needs_engine and read(dut, interface) is None:
            raise no_schemes(driver, f"{interface} has no directory irqmod in /sys/class/net")
        settings = {**asdict(wanted), **_fitting(dut, wanted, interface, notes)}
        for setting in _PREPARED:
            if settings[setting.field] is not None:
                _set(dut, interface, setting, str(settings[setting.field]), driver)
        now = {**(read(dut, interface) or {} if wanted.needs_engine else {}), **_read_others(dut, wanted, interface)}
        for setting in _PREPARED:
            value = settings[setting.field]
            if value is not None and now.get(setting.field) != value:
                raise SchemeError(f"{setting.place.option} {value}: {interface} has {now.get(setting.field)} instead")
    return list(notes)


def _fitting(dut: Agent, wanted: Schemes, interface: str, notes: dict[str, None]) -> dict[str, int]:
    """Reduces a variant's packets per TX interrupt if the TX ring is too small for 128."""
    if wanted.tx != "coalesce" or wanted.variant is None or wanted.tx_frames is not None:
        return {}
    found, usual = rings(dut, interface), VARIANT_TX_FRAMES
    frames = min(usual, found.tx // 2) if found else usual
    if found and frames < usual:
        notes[f"{wanted.variant}: the TX ring holds {found.tx}, so one TX interrupt per {frames} packets, not {usual}"] = None
    return {"tx_frames": frames}


def variant_ring(dut: Agent, wanted: Schemes, interface: str) -> tuple[int | None, str]:
    """The ring size of a variant, limited to the chip's maximum, and the deviation from the request."""
    found = rings(dut, interface) if wanted.variant else None
    if found is None:
        return None, ""
    most = min(found.rx_max, found.tx_max)
    if most >= VARIANT_RING:
        return VARIANT_RING, ""
    return most, f"{wanted.variant}: rings of {most}, the chip's maximum, not {VARIANT_RING}"


def make_room(dut: Agent, wanted: Schemes, interface: str, ring: int) -> str:
    """Lowers tx-frames before the ring shrinks: irqmod_i8255x refused smaller rings until 0f0d3320. Returns the deviation."""
    now = read(dut, interface)
    if not now or not now["tx_frames"] or now["tx_frames"] <= ring // 2 or ring < 2:
        return ""
    frames = min(ring // 2, wanted.tx_frames or ring // 2)
    dut.attempt("ethtool", "-C", interface, "tx-frames", str(frames))
    return "" if wanted.tx_frames or wanted.variant else f"rings of {ring}: tx-frames lowered from {now['tx_frames']} to {frames}"


def read(dut: Agent, interface: str) -> dict[str, Any] | None:
    """The irqmod settings in force, by the fields of Schemes; None if the driver is not built on irqmod."""
    home = f"/sys/class/net/{interface}"
    engine = [setting for setting in SETTINGS if setting.place.of_engine]
    files = dut.read(*(f"{home}/{setting.place.file}" for setting in engine if setting.place.file))
    if files[f"{home}/irqmod/rx_scheme"] is None:
        return None
    coalesce = dict(re.findall(r"^([a-z-]+):\s+(\d+)", dut.attempt("ethtool", "-c", interface)["out"], re.MULTILINE))
    return {
        setting.field: _value(
            files[f"{home}/{setting.place.file}"] if setting.place.file else coalesce.get(setting.place.ethtool)
        )
        for setting in engine
    }


def _read_others(dut: Agent, wanted: Schemes, interface: str) -> dict[str, Any]:
    """The values in force of those requested settings that do not need irqmod."""
    asked = [setting for setting in _PREPARED if setting.field in wanted.others]
    paths = {setting.field: f"/sys/class/net/{interface}/{setting.place.file}" for setting in asked}
    files = dut.read(*paths.values()) if paths else {}
    return {field: _value(files[path]) for field, path in paths.items()}


def _value(text: str | None) -> str | int | None:
    """A setting's value: of a list of choices the one in brackets, else a number."""
    chosen = re.search(r"\[(\w+)\]", text or "")
    return chosen[1] if chosen else int(text) if text and text.strip().isdigit() else None


def _set(dut: Agent, interface: str, setting: Setting, value: str, driver: str) -> None:
    """Sets one setting. The error includes the kernel's message."""
    if setting.place.file:
        path = f"/sys/class/net/{interface}/{setting.place.file}"
        try:
            dut.write(path, value)
            return
        except TesterError as error:
            why = str(error).removeprefix(f"write {path}: ")
    else:
        done = dut.attempt("ethtool", "-C", interface, setting.place.ethtool, value)
        if done["code"] == 0 or "unmodified" in done["err"] + done["out"]:
            return
        why = (done["err"] or done["out"]).strip()
    said = "".join(f"\n  kernel: {record.text}" for record in dut.kernel_log.news())
    raise SchemeError(f"{setting.place.option} {value}: {driver} refuses it on {interface}: {why}{said}")
