# SPDX-License-Identifier: GPL-2.0-or-later
"""Interrupt-handling schemes: their names, their settings, and what a user asks for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from irqlab.errors import IrqlabError

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
class Setting:
    """Where a setting lives: a file in irqmod/, or a parameter of ethtool -C."""

    field: str
    option: str
    file: str = ""
    ethtool: str = ""


SETTINGS = (
    Setting("weight", "--weight", file="rx_weight"),
    Setting("cliff_pps", "--cliff", file="rx_cliff_pps"),
    Setting("epsilon_permille", "--epsilon", file="rx_epsilon_permille"),
    Setting("rate_window_ms", "--rate-window", file="rx_rate_window_ms"),
    Setting("timer_without", "--timer-without", file="rx_timer_without"),
    Setting("rx_usecs", "--rx-usecs", ethtool="rx-usecs"),
    Setting("tx_usecs", "--tx-usecs", ethtool="tx-usecs"),
    Setting("tx_frames", "--tx-frames", ethtool="tx-frames"),
    Setting("rx", "--rx", file="rx_scheme"),
    Setting("tx", "--tx", file="tx_scheme"),
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
