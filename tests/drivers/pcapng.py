# SPDX-License-Identifier: GPL-2.0-or-later
"""When frames left the DUT: reads the captures that the tester writes (pcapng, nanoseconds, one interface per port)."""

from __future__ import annotations

import struct
from pathlib import Path

from irqlab.tuning.pcap import PACKET, blocks, options

_FLAGS = 2
_INBOUND = 1
"""epb_flags: transmitted by the DUT."""


def departures(path: Path, port: int) -> list[int]:
    """Virtual ns at which the DUT transmitted frames on a port, in order."""
    data = path.read_bytes()
    found: list[int] = []
    for one in blocks(data):
        if one.kind != PACKET:
            continue
        interface, high, low, captured = struct.unpack_from(f"{one.order}IIII", data, one.at)
        flags = dict(options(data, one.at + 20 + (captured + 3) // 4 * 4, one.end, one.order)).get(_FLAGS)
        if interface == port and flags and struct.unpack(f"{one.order}I", flags)[0] & 3 == _INBOUND:
            found.append(high << 32 | low)
    return found
