# SPDX-License-Identifier: GPL-2.0-or-later
"""The slab allocator's caches, and the object at an address, from the allocator's own structures in the DUT's memory.

Sources: mm/slab.h, mm/slub.c, of Linux 6.1 to 7.3.
"""

from __future__ import annotations

from dataclasses import dataclass

from irqlab.profile.btf import Btf
from irqlab.profile.guest_memory import PAGE, GuestMemory
from irqlab.profile.kernel_layout import DIRECT_MAP, VMEMMAP, Known


@dataclass(frozen=True)
class Cache:
    """A slab cache."""

    address: int
    name: str
    size: int
    """Of an object with what separates it from the next one, in bytes."""
    order: int
    merged: bool = False
    """Other caches' objects are in it, too."""


class Slabs:
    """The slab caches of a DUT."""

    def __init__(self, known: Known, types: Btf, memory: GuestMemory, page_bytes: int) -> None:
        """`page_bytes`: the size of a struct page."""
        self._types, self._memory, self._page_bytes = types, memory, page_bytes
        self._found: dict[int, tuple[Cache, int] | None] = {}
        """By page."""
        self.caches: dict[int, Cache] = {}
        """By address."""
        self.lacking: list[str] = []
        """What could not be found out, in sentences."""
        self._find(known)

    def _find(self, known: Known) -> None:
        head = known.address("slab_caches")
        offsets = [self._types.offset("kmem_cache", name) for name in ("list", "name", "size", "oo", "refcount")]
        if head is None or None in offsets or self._types.offset("slab", "slab_cache") is None:
            self.lacking.append("Slab caches are not known: the kernel lacks slab_caches or struct slab.")
            return
        link, name, size, order, users = (offset or 0 for offset in offsets)
        for entry in self._memory.linked(head):
            at = entry - link
            text = self._memory.text(self._memory.u64(at + name))
            merged = self._memory.u32(at + users) > 1
            self.caches[at] = Cache(at, text, self._memory.u32(at + size), self._memory.u32(at + order) >> 16, merged)

    def descriptor(self, address: int) -> int:
        """The struct page of an address in the direct map."""
        return VMEMMAP[0] + (address - DIRECT_MAP[0]) // PAGE * self._page_bytes

    def at(self, address: int) -> tuple[Cache, int] | None:
        """The cache of an object in the direct map, and the object's start; None if no slab has this page."""
        page = address & -PAGE
        if page not in self._found:
            self._found[page] = self._slab_of(page)
        found = self._found[page]
        if found is None or not found[0].size:
            return None
        cache, start = found
        return cache, start + (address - start) // cache.size * cache.size

    def _slab_of(self, page: int) -> tuple[Cache, int] | None:
        """A slab of order n begins at a multiple of 2^n pages; its first page's descriptor names the cache."""
        offset = self._types.offset("slab", "slab_cache")
        if offset is None:
            return None
        for order in range(6):
            number = (page - DIRECT_MAP[0]) // PAGE >> order << order
            first = DIRECT_MAP[0] + number * PAGE
            cache = self.caches.get(self._memory.u64(self.descriptor(first) + offset))
            if cache is not None and cache.order >= order:
                return cache, first
        return None
