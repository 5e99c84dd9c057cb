# SPDX-License-Identifier: GPL-2.0-or-later
"""A setting of a running DUT: where it is, and the value that it gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["coalesce", "ring", "channels", "file", "sysctl", "interrupts", "rps"]
"""`ethtool -C`, `-G`, `-L`; a file below /sys/class/net/INTERFACE; a sysctl; the processor of an interface's interrupts; the
processors that receive queues hand frames to."""
TOGETHER: tuple[Kind, ...] = ("channels", "ring", "coalesce")
"""Those that one command makes, in this order: a command for each kind."""
ETHTOOL: dict[Kind, str] = {"channels": "-L", "ring": "-G", "coalesce": "-C"}
"""Options of ethtool."""


@dataclass(frozen=True)
class Chosen:
    """A setting and its value, on every interface of the DUT that is under test."""

    kind: Kind
    name: str
    """As ethtool, sysfs or sysctl calls it; `interrupts`: the interface's place among the DUT's; `rps`: nothing."""
    value: str
    """As one writes it. `rps`, `interrupts`: processors, as in 0,2-3; `rps`: none if empty."""
