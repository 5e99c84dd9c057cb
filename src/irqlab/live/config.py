# SPDX-License-Identifier: GPL-2.0-or-later
"""What the user says about the ports and the device under test."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from irqlab.config.schemes import Schemes

Kind = Literal["af_packet", "af_xdp"]
KINDS: tuple[Kind, ...] = ("af_packet", "af_xdp")


@dataclass(frozen=True)
class LiveConfig:
    """Two ports of this host, and the device under test between them."""

    ports: tuple[str, str]
    kind: Kind = "af_packet"
    cpus: str = ""
    """Processors for sending and receiving, as `2,3`; empty: the last two."""
    sleep: bool = False
    """The tester's threads sleep when there is nothing to do."""
    bridge: bool = False
    """The device under test is a bridge or a cable: frames are addressed to the other port, not to a router."""
    dut: str | None = None
    """Where the agent runs: `user@board` (ssh) or `unix:PATH` (a socket with an agent behind it); None: there is no agent."""
    dut_ports: tuple[str, str] | None = None
    """The DUT's interfaces, for counters and schemes."""
    schemes: Schemes = field(default_factory=Schemes)
    """Schemes to set on the DUT's interfaces, through the agent."""
