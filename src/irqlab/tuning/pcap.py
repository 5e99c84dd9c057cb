# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads when frames were recorded, and how long they were: pcap and pcapng, in either byte order.

https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/ and https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from irqlab.config.traffic import MAX_FRAME_BYTES, MIN_FRAME_BYTES, Recording
from irqlab.errors import IrqlabError

MOST_FRAMES = 1_000_000
"""What follows is not read."""
FCS_BYTES, TAG_BYTES = 4, 4
_ETHERNET = 1
_PCAP = {0xA1B2C3D4: 1_000, 0xA1B23C4D: 1}
"""Magic numbers, and the ns of a unit of the fraction."""
SECTION, _INTERFACE, _SIMPLE, PACKET = 0x0A0D0D0A, 1, 3, 6
_RESOLUTION = 9
"""if_tsresol."""

Frame = tuple[int, int]
"""When, in ns, and how long, without FCS."""


class Block(NamedTuple):
    """A block of a pcapng file."""

    kind: int
    at: int
    """Of its body."""
    end: int
    order: str


def read(path: Path) -> Recording:
    """What was recorded. Raises IrqlabError if the file cannot be read, or is no recording of Ethernet frames."""
    try:
        return _read(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise IrqlabError(f"--load {path}: {error.strerror}") from error
    except struct.error:
        raise IrqlabError(f"--load {path}: the file is damaged") from None


@lru_cache(maxsize=1)
def _read(path: Path, _changed_ns: int) -> Recording:
    with path.open("rb") as file:
        if path.stat().st_size < 24:
            raise _bad(path, "this is neither pcap nor pcapng")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = sorted(islice(_frames(path, data), MOST_FRAMES))
    if len(found) < 2 or found[0][0] == found[-1][0]:
        raise _bad(path, f"{len(found)} frames: at least two at different times are needed")
    longest = max(size for _, size in found) + FCS_BYTES
    if longest > MAX_FRAME_BYTES + TAG_BYTES:
        raise _bad(
            path,
            f"a frame of {longest} bytes with FCS: at most {MAX_FRAME_BYTES}. Offloads merge frames before they are recorded: "
            "record on another machine, or after `ethtool -K INTERFACE gro off lro off tso off gso off`",
        )
    gaps_ns = [after - before for (before, _), (after, _) in pairwise(found)]
    gaps_ns.append(sum(gaps_ns) // len(gaps_ns))
    sizes = [min(MAX_FRAME_BYTES, max(MIN_FRAME_BYTES, size + FCS_BYTES)) for _, size in found]
    return Recording(tuple(gaps_ns), tuple(sizes))


def _bad(path: Path, why: str) -> IrqlabError:
    return IrqlabError(f"--load {path}: {why}")


def _frames(path: Path, data: mmap.mmap) -> Iterator[Frame]:
    for order in ("<", ">"):
        (magic,) = struct.unpack_from(f"{order}I", data)
        if magic in _PCAP:
            return _of_pcap(path, data, order, _PCAP[magic])
    if magic == SECTION:
        return _of_pcapng(path, data)
    raise _bad(path, "this is neither pcap nor pcapng")


def _of_pcap(path: Path, data: mmap.mmap, order: str, unit_ns: int) -> Iterator[Frame]:
    _check_link(path, struct.unpack_from(f"{order}I", data, 20)[0] & 0xFFFF)
    header = struct.Struct(f"{order}IIII")
    at = 24
    while at + header.size <= len(data):  # a recording that was ended may lack a part of its last frame
        seconds, fraction, kept, whole = header.unpack_from(data, at)
        yield seconds * 1_000_000_000 + fraction * unit_ns, whole
        at += header.size + kept


def _of_pcapng(path: Path, data: mmap.mmap) -> Iterator[Frame]:
    units: list[tuple[int, int]] = []
    for one in blocks(data):
        if one.kind == SECTION:
            units = []
        elif one.kind == _INTERFACE:
            _check_link(path, struct.unpack_from(f"{one.order}H", data, one.at)[0])
            units.append(_unit(data, one))
        elif one.kind == _SIMPLE:
            raise _bad(path, "its frames have no times (simple packet blocks)")
        elif one.kind == PACKET:
            interface, high, low, _, whole = struct.unpack_from(f"{one.order}IIIII", data, one.at)
            if interface >= len(units):
                raise _bad(path, "the file is damaged")
            times, divisor = units[interface]
            yield (high << 32 | low) * times // divisor, whole


def blocks(data: bytes | mmap.mmap) -> Iterator[Block]:
    """The blocks of a pcapng file; a last one that is not whole is left out."""
    order, at = "<", 0
    while at + 12 <= len(data):
        (kind,) = struct.unpack_from(f"{order}I", data, at)
        if kind == SECTION:
            order = "<" if data[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
        (length,) = struct.unpack_from(f"{order}I", data, at + 4)
        if length < 12 or at + length > len(data):
            return
        yield Block(kind, at + 8, at + length - 4, order)
        at += length


def options(data: bytes | mmap.mmap, at: int, end: int, order: str) -> Iterator[tuple[int, bytes]]:
    """Codes and values of a block's options."""
    while at + 4 <= end:
        code, length = struct.unpack_from(f"{order}HH", data, at)
        if code == 0:
            return
        yield code, bytes(data[at + 4 : at + 4 + length])
        at += 4 + (length + 3) // 4 * 4


def _unit(data: mmap.mmap, one: Block) -> tuple[int, int]:
    """A unit of an interface's times in ns, as a fraction; without an option it is a microsecond."""
    for code, value in options(data, one.at + 8, one.end, one.order):
        if code == _RESOLUTION and value:
            return 10**9, 1 << (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
    return 1_000, 1


def _check_link(path: Path, link: int) -> None:
    if link != _ETHERNET:
        raise _bad(path, f"frames of link type {link}: must be Ethernet (1). Record one interface, not `any`")
