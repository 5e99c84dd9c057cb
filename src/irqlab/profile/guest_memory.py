# SPDX-License-Identifier: GPL-2.0-or-later
"""The DUT's memory at virtual addresses, through the tester's `read_memory` (docs/inside/protocol.md)."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterable, Iterator

PAGE = 4096
WHOLE = (1 << 64) - 1
"""Addresses are numbers of 64 bits: sums wrap around."""
AT_ONCE = 256
"""Pages read by one command."""

Read = Callable[[list[tuple[int, int]]], list[str | None]]
"""Addresses and bytes -> the contents in base64; None: not mapped."""


class GuestMemory:
    """Reads whole pages, each once."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._pages: dict[int, bytes | None] = {}

    def fetch(self, addresses: Iterable[int]) -> None:
        """Reads the pages of these addresses with few commands."""
        missing = sorted({address & WHOLE & -PAGE for address in addresses} - self._pages.keys())
        for n in range(0, len(missing), AT_ONCE):
            pages = missing[n : n + AT_ONCE]
            for page, found in zip(pages, self._read([(page, PAGE) for page in pages]), strict=True):
                self._pages[page] = base64.b64decode(found) if found is not None else None

    def bytes(self, address: int, count: int) -> bytes | None:
        """Some bytes; None if not all are mapped."""
        found, address = b"", address & WHOLE
        while count > 0:
            page = address & -PAGE
            if page not in self._pages:
                self.fetch([page])
            content = self._pages[page]
            if content is None:
                return None
            part = content[address - page : address - page + count]
            found += part
            address = (address + len(part)) & WHOLE
            count -= len(part)
        return found

    def u64(self, address: int) -> int:
        """A 64-bit number; 0 if it is not mapped."""
        found = self.bytes(address, 8)
        return int(struct.unpack("<Q", found)[0]) if found else 0

    def u32(self, address: int) -> int:
        """A 32-bit number; 0 if it is not mapped."""
        found = self.bytes(address, 4)
        return int(struct.unpack("<I", found)[0]) if found else 0

    def text(self, address: int, most: int = 64) -> str:
        """A string that ends with a NUL; empty if it is not mapped."""
        room = min(most, PAGE - address % PAGE)
        found = self.bytes(address, room) or b""
        if b"\0" not in found and room < most:
            found += self.bytes(address + room, most - room) or b""
        return found.partition(b"\0")[0].decode(errors="replace")

    def linked(self, head: int, most: int = 4096) -> Iterator[int]:
        """The entries of a list (struct list_head), without its head."""
        at = self.u64(head)
        while at and at != head and most:
            yield at
            at, most = self.u64(at), most - 1
