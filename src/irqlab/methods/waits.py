# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways to wait for frames: what the application does, and what NAPI does meanwhile (--wait of `irqlab application`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irqlab.config.schemes import BUSY_POLL_RX_SCHEMES, NAPI_RX_SCHEMES, Schemes
from irqlab.errors import IrqlabError
from irqlab.methods.receiving import BLOCK
from irqlab.trials.application import Tuning

BUSY_POLL_US = 50
"""Recommended for a few sockets (Documentation/admin-guide/sysctl/net.rst, busy_poll)."""
SUSPEND_BUDGET = 64
"""As many frames as NAPI takes per poll."""
SUSPEND_DEFER_HARD_IRQS = 100
SUSPEND_GRO_FLUSH_TIMEOUT_NS = 50_000
SUSPEND_TIMEOUT_NS = 20_000_000
"""Those of the kernel's own test (tools/testing/selftests/net/busy_poll_test.sh). A gro-flush-timeout of 20 µs, as in the
proposal's measurements, is too short for a CPU of 250 MIPS (docs/use/waiting.md)."""


@dataclass(frozen=True)
class Wait:
    """A way to wait."""

    help: str
    tuning: Mapping[str, Any] = field(default_factory=dict)
    """Fields of Tuning."""
    rx: tuple[str, ...] | None = None
    """The receive schemes of our drivers with which it can be used; None: all."""


WAITS = {
    BLOCK: Wait("the receive call blocks"),
    "busy-read": Wait(
        "as block, but first the call polls the device (SO_BUSY_POLL)", {"busy_poll_us": BUSY_POLL_US}, BUSY_POLL_RX_SCHEMES
    ),
    "epoll": Wait("in epoll_wait(), then receives what is there", {"epoll": True}),
    "epoll-busy": Wait(
        "as epoll, but first epoll_wait() polls the device (EPIOCSPARAMS)",
        {"epoll": True, "busy_poll_us": BUSY_POLL_US},
        BUSY_POLL_RX_SCHEMES,
    ),
    "suspend": Wait(
        "as epoll-busy, with interrupts suspended as long as a poll finds frames (Linux 6.13)",
        {
            "epoll": True,
            "busy_poll_us": 0,
            "busy_poll_budget": SUSPEND_BUDGET,
            "prefer_busy_poll": True,
            "defer_hard_irqs": SUSPEND_DEFER_HARD_IRQS,
            "gro_flush_timeout_ns": SUSPEND_GRO_FLUSH_TIMEOUT_NS,
            "irq_suspend_timeout_ns": SUSPEND_TIMEOUT_NS,
        },
        BUSY_POLL_RX_SCHEMES,
    ),
    "threaded": Wait("as block; NAPI polls in a kernel thread", {"napi_threads": "on"}, NAPI_RX_SCHEMES),
    "threaded-busy": Wait(
        "as block; NAPI polls continuously in a kernel thread (Linux 6.19)", {"napi_threads": "busy-poll"}, NAPI_RX_SCHEMES
    ),
}
"""By name."""


def chosen(text: str) -> list[str]:
    """Names, comma-separated. Raises IrqlabError."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in WAITS:
            raise IrqlabError(f"--wait {name!r}: allowed are {', '.join(WAITS)}")
    return names


def possible(names: Iterable[str], rx: str | None) -> list[str]:
    """Those that can be used with a receive scheme. `rx`: None for a driver without schemes."""
    return [name for name in names if rx is None or (schemes := WAITS[name].rx) is None or rx in schemes]


def needed(names: Iterable[str]) -> str:
    """The receive schemes that ways to wait need."""
    return "; ".join(f"{name} needs --rx {','.join(WAITS[name].rx or ())}" for name in names)


def tuning_of(name: str, given: Schemes, **changes: int | None) -> Tuning:
    """The settings of a way to wait.

    `given`: the DUT's settings, which go before those of the way. `changes`: fields of Tuning that replace those that the way
    sets; None: unchanged.
    """
    usual = WAITS[name].tuning
    asked = {key: getattr(given, key, None) for key in usual} | {key: value for key, value in changes.items() if key in usual}
    return Tuning(**{**usual, **{key: value for key, value in asked.items() if value is not None}})


def without_effect(names: Sequence[str], **changes: int | None) -> list[str]:
    """Those fields of Tuning that are given, but that none of the ways sets."""
    return [key for key, value in changes.items() if value is not None and not any(key in WAITS[name].tuning for name in names)]
