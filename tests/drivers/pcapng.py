# SPDX-License-Identifier: GPL-2.0-or-later
"""When frames left the DUT: reads the captures that the tester writes (pcapng, nanoseconds, one interface per port)."""

from __future__ import annotations

import struct
from pathlib import Path

from irqlab.errors import IrqlabError

_SECTION, _PACKET = 0x0A0D0D0A, 6
_FLAGS = 2
_INBOUND = 1
"""epb_flags: transmitted by the DUT."""


def departures(path: Path, port: int) -> list[int]:
    """Virtual ns at which the DUT transmitted frames on a port, in order."""
    data = path.read_bytes()
    found: list[int] = []
    order = "<"
    at = 0
    while at + 12 <= len(data):
        kind = struct.unpack_from(f"{order}I", data, at)[0]
        if kind == _SECTION:
            order = "<" if data[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
        length = struct.unpack_from(f"{order}I", data, at + 4)[0]
        if length < 12 or at + length > len(data):
            raise IrqlabError(f"{path} is not a whole pcapng file")
        if kind == _PACKET:
            interface, high, low, captured = struct.unpack_from(f"{order}IIII", data, at + 8)
            if interface == port and _direction(data, at + 28 + (captured + 3) // 4 * 4, at + length - 4, order) == _INBOUND:
                found.append(high << 32 | low)
        at += length
    return found


def _direction(data: bytes, at: int, end: int, order: str) -> int:
    while at + 4 <= end:
        code, length = struct.unpack_from(f"{order}HH", data, at)
        if code == _FLAGS:
            return int(struct.unpack_from(f"{order}I", data, at + 4)[0]) & 3
        if code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return 0
