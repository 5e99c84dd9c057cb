# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes recordings: pcap and pcapng."""

from __future__ import annotations

import struct
from collections.abc import Sequence

ETHERNET = 1


def pcap(frames: Sequence[tuple[int, int]], order: str = "<", unit_ns: int = 1, link: int = ETHERNET) -> bytes:
    """Frames (ns, bytes without FCS), of which four bytes are kept."""
    magic = {1: 0xA1B23C4D, 1_000: 0xA1B2C3D4}[unit_ns]
    found = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65_535, link)]
    for at_ns, size in frames:
        seconds, rest_ns = divmod(at_ns, 10**9)
        found.append(struct.pack(f"{order}IIII4x", seconds, rest_ns // unit_ns, 4, size))
    return b"".join(found)


def pcapng(frames: Sequence[tuple[int, int]], order: str = "<", resolution: int | None = 9, link: int = ETHERNET) -> bytes:
    """The same; `resolution`: if_tsresol."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack(f"{order}II", kind, len(body) + 12) + body + struct.pack(f"{order}I", len(body) + 12)

    option = b"" if resolution is None else struct.pack(f"{order}HHB3xHH", 9, 1, resolution, 0, 0)
    per_s = 10**6 if resolution is None else 1 << (resolution & 0x7F) if resolution & 0x80 else 10**resolution
    found = block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
    found += block(5, b"statistics!!") + block(1, struct.pack(f"{order}HHI", link, 0, 0) + option)
    for at_ns, size in frames:
        at = at_ns * per_s // 10**9
        found += block(6, struct.pack(f"{order}IIIII4x", 0, at >> 32, at & 0xFFFFFFFF, 4, size))
    return found
