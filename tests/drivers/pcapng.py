# SPDX-License-Identifier: GPL-2.0-or-later
"""When frames came and left: reads the captures that the tester writes (pcapng, nanoseconds, one interface per port)."""

from __future__ import annotations

import struct
from pathlib import Path

from irqlab.errors import IrqlabError
from irqlab.tuning.pcap import PACKET, blocks, options

_FLAGS = 2
_INBOUND, _OUTBOUND = 1, 2
"""epb_flags: transmitted by the DUT, by the tester."""


def departures(path: Path, port: int) -> list[int]:
    """Virtual ns at which the DUT transmitted frames on a port, in order."""
    return [at_ns for at_ns, _ in _frames(path, port, _INBOUND)]


def arrivals(path: Path, port: int) -> list[tuple[int, int]]:
    """Frames that the tester transmitted on a port, in order: virtual ns, and bytes without FCS."""
    return _frames(path, port, _OUTBOUND)


def _frames(path: Path, port: int, direction: int) -> list[tuple[int, int]]:
    data = path.read_bytes()
    found: list[tuple[int, int]] = []
    end = 0
    for one in blocks(data):
        end = one.end + 4
        if one.kind != PACKET:
            continue
        interface, high, low, captured, whole = struct.unpack_from(f"{one.order}IIIII", data, one.at)
        flags = dict(options(data, one.at + 20 + (captured + 3) // 4 * 4, one.end, one.order)).get(_FLAGS)
        if interface == port and flags and struct.unpack(f"{one.order}I", flags)[0] & 3 == direction:
            found.append((high << 32 | low, whole))
    if end != len(data):
        raise IrqlabError(f"{path} is not a whole pcapng file")
    return found
