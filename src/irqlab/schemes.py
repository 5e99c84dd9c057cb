# SPDX-License-Identifier: GPL-2.0-or-later
"""The interrupt-handling schemes of our own drivers: which are asked for, how the DUT is told, and what it then says.

A driver on irqmod shows them in /sys/class/net/<interface>/irqmod/ and through ethtool -C; another has no such directory, and
no scheme can be set there. Both interfaces get the same.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from irqlab.errors import IrqlabError
from irqlab.rpc import TesterError

if TYPE_CHECKING:
    from irqlab.dut import Dut

VARIANTS = {
    "ORIGINAL": ("interrupt", "interrupt"),
    "TX-128": ("interrupt", "coalesce"),
    "TX-OFF": ("interrupt", "off"),
    "NAPI": ("napi", "interrupt"),
    "NAPI-TX-128": ("napi", "coalesce"),
    "NAPI-TX-OFF": ("napi", "off"),
}
"""The first paper's six: receive and transmit scheme."""
VARIANT_WEIGHT = 32
VARIANT_RING = 256
VARIANT_TX_FRAMES = 128


class SchemeError(IrqlabError):
    """A scheme or one of its settings cannot be had; the message holds what the DUT said."""


@dataclass(frozen=True)
class Schemes:
    """What is asked for; None: as the driver has it."""

    variant: str | None = None
    rx: str | None = None
    tx: str | None = None
    weight: int | None = None
    tx_frames: int | None = None
    tx_usecs: int | None = None
    rx_usecs: int | None = None
    cliff_pps: int | None = None
    epsilon_permille: int | None = None
    rate_window_ms: int | None = None
    timer_without: str | None = None
    """What `timer` leaves out: nothing, irq_off, top_half, backlog or refill."""

    @property
    def asked(self) -> bool:
        """Whether anything is asked for."""
        return any(getattr(self, entry.name) is not None for entry in fields(self))


@dataclass(frozen=True)
class _Setting:
    """Where a setting lives: a file in irqmod/, or a parameter of ethtool -C."""

    field: str
    option: str
    file: str = ""
    ethtool: str = ""


_SETTINGS = (
    _Setting("weight", "--weight", file="rx_weight"),
    _Setting("cliff_pps", "--cliff", file="rx_cliff_pps"),
    _Setting("epsilon_permille", "--epsilon", file="rx_epsilon_permille"),
    _Setting("rate_window_ms", "--rate-window", file="rx_rate_window_ms"),
    _Setting("timer_without", "--timer-without", file="rx_timer_without"),
    _Setting("rx_usecs", "--rx-usecs", ethtool="rx-usecs"),
    _Setting("tx_usecs", "--tx-usecs", ethtool="tx-usecs"),
    _Setting("tx_frames", "--tx-frames", ethtool="tx-frames"),
    _Setting("rx", "--rx", file="rx_scheme"),
    _Setting("tx", "--tx", file="tx_scheme"),
)
"""In the order in which they are set: the schemes last, so that they start with their settings."""


def combine(
    variant: Iterable[str] | str | None = None, rx: str | None = None, tx: str | None = None, **settings: int | None
) -> tuple[Schemes, ...]:
    """What the options ask for: every variant, or the product of the schemes; names are separated by commas."""
    given: dict[str, Any] = {key: value for key, value in settings.items() if value is not None}
    variants = _names([variant] if isinstance(variant, str) else list(variant or ()), "--variant")
    if not variants:
        receive: list[str | None] = [*_names([rx] if rx is not None else [], "--rx")] or [None]
        transmit: list[str | None] = [*_names([tx] if tx is not None else [], "--tx")] or [None]
        return tuple(replace(Schemes(rx=r, tx=t), **given) for r, t in itertools.product(receive, transmit))
    if rx is not None or tx is not None:
        raise IrqlabError("--variant says which schemes to use: it cannot be combined with --rx and --tx")
    found: dict[str, Schemes] = {}
    for text in variants:
        for name in VARIANTS if text.lower() == "all" else [text.upper()]:
            if name not in VARIANTS:
                raise IrqlabError(f"--variant {text}: there are {', '.join(VARIANTS)}, and all")
            found[name] = replace(_variant(name), **given)
    return tuple(found.values())


def _variant(name: str) -> Schemes:
    rx, tx = VARIANTS[name]
    return Schemes(variant=name, rx=rx, tx=tx, weight=VARIANT_WEIGHT)


def _names(texts: list[str], option: str) -> list[str]:
    names = [name.strip() for text in texts for name in text.split(",")]
    if "" in names:
        raise IrqlabError(f"{option} {','.join(texts)!r}: a name is missing")
    return list(dict.fromkeys(names))


@dataclass(frozen=True)
class Rings:
    """Ring sizes of an interface (ethtool -g)."""

    rx: int
    tx: int
    rx_max: int
    tx_max: int


def rings(dut: Dut, interface: str) -> Rings | None:
    """The ring sizes of an interface; None if its driver does not tell."""
    text = dut.attempt("ethtool", "-g", interface)["out"]
    most, _, current = text.partition("Current hardware settings")
    found = [dict(re.findall(r"^(RX|TX):\s+(\d+)$", part, re.MULTILINE)) for part in (most, current)]
    if any(key not in part for part in found for key in ("RX", "TX")):
        return None
    (rx_max, tx_max), (rx, tx) = ((int(part["RX"]), int(part["TX"])) for part in found)
    return Rings(rx, tx, rx_max, tx_max)


def apply(dut: Dut, wanted: Schemes, interfaces: Iterable[str], driver: str) -> list[str]:
    """Sets what is asked for on every interface and makes sure of it; returns what has to be said about it."""
    if not wanted.asked:
        return []
    notes: dict[str, None] = {}
    for interface in interfaces:
        if read(dut, interface) is None:
            raise SchemeError(
                f"the driver {driver} has no scheme that can be set ({interface} has no directory irqmod in /sys/class/net): "
                "--rx, --tx, --variant and their settings are for drivers built on irqmod"
            )
        settings = {**asdict(wanted), **_fitting(dut, wanted, interface, notes)}
        for setting in _SETTINGS:
            if settings[setting.field] is not None:
                _set(dut, interface, setting, str(settings[setting.field]), driver)
        now = read(dut, interface) or {}
        for setting in _SETTINGS:
            value = settings[setting.field]
            if value is not None and now.get(setting.field) != value:
                raise SchemeError(f"{setting.option} {value}: {interface} took it and has {now.get(setting.field)} instead")
    return list(notes)


def _fitting(dut: Dut, wanted: Schemes, interface: str, notes: dict[str, None]) -> dict[str, int]:
    """A variant's N for a TX ring too small for 128."""
    if wanted.tx != "coalesce" or wanted.variant is None or wanted.tx_frames is not None:
        return {}
    found, usual = rings(dut, interface), VARIANT_TX_FRAMES
    frames = min(usual, found.tx // 2) if found else usual
    if found and frames < usual:
        notes[f"{wanted.variant}: the TX ring holds {found.tx}, so one TX interrupt per {frames} packets, not {usual}"] = None
    return {"tx_frames": frames}


def variant_ring(dut: Dut, wanted: Schemes, interface: str) -> tuple[int | None, str]:
    """The ring size a variant asks for, as far as the chip goes, and what has to be said about it."""
    found = rings(dut, interface) if wanted.variant else None
    if found is None:
        return None, ""
    most = min(found.rx_max, found.tx_max)
    if most >= VARIANT_RING:
        return VARIANT_RING, ""
    return most, f"{wanted.variant}: rings of {most}, the chip's maximum, not {VARIANT_RING}"


def make_room(dut: Dut, wanted: Schemes, interface: str, ring: int) -> str:
    """Lowers tx-frames before a ring shrinks: drivers refuse a ring smaller than twice that. Returns what has to be said."""
    now = read(dut, interface)
    if not now or not now["tx_frames"] or now["tx_frames"] <= ring // 2 or ring < 2:
        return ""
    frames = min(ring // 2, wanted.tx_frames or ring // 2)
    dut.attempt("ethtool", "-C", interface, "tx-frames", str(frames))
    return "" if wanted.tx_frames or wanted.variant else f"rings of {ring}: tx-frames lowered from {now['tx_frames']} to {frames}"


def read(dut: Dut, interface: str) -> dict[str, Any] | None:
    """What is in force on an interface, by the fields of Schemes; None if its driver is not built on irqmod."""
    home = f"/sys/class/net/{interface}/irqmod"
    files = dut.read(*(f"{home}/{setting.file}" for setting in _SETTINGS if setting.file))
    if files[f"{home}/rx_scheme"] is None:
        return None
    coalesce = dict(re.findall(r"^([a-z-]+):\s+(\d+)", dut.attempt("ethtool", "-c", interface)["out"], re.MULTILINE))
    found: dict[str, Any] = {}
    for setting in _SETTINGS:
        text = files[f"{home}/{setting.file}"] if setting.file else coalesce.get(setting.ethtool)
        chosen = re.search(r"\[(\w+)\]", text or "")
        found[setting.field] = chosen[1] if chosen else int(text) if text and text.strip().isdigit() else None
    return found


def _set(dut: Dut, interface: str, setting: _Setting, value: str, driver: str) -> None:
    """One setting. What the kernel says against it is in the error."""
    seen = len(dut.kernel_log)
    if setting.file:
        path = f"/sys/class/net/{interface}/irqmod/{setting.file}"
        try:
            dut.write(path, value)
            return
        except TesterError as error:
            why = str(error).removeprefix(f"write {path}: ")
    else:
        done = dut.attempt("ethtool", "-C", interface, setting.ethtool, value)
        if done["code"] == 0 or "unmodified" in done["err"] + done["out"]:
            return
        why = (done["err"] or done["out"]).strip()
    dut.take_kernel_log()
    said = "".join(f"\n  kernel: {line}" for line in dut.kernel_log[seen:])
    raise SchemeError(f"{setting.option} {value}: {driver} refuses it on {interface}: {why}{said}")
