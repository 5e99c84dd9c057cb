# SPDX-License-Identifier: GPL-2.0-or-later
"""What lies at an address of the DUT's kernel: which object, and which of its fields.

The kernel's own structures say it, as they were when the window closed: the slab allocator's, of every page; the list of network
interfaces; the tasks' stacks. The types come from BTF. What these do not name (an object of `kmalloc`, a page) is named by the
pointer that leads to it from an interface. Sources: include/linux/netdevice.h, include/linux/skbuff.h, of Linux 6.1 to 7.3.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from irqlab.profile.btf import STRUCT, UNION, Btf
from irqlab.profile.guest_memory import PAGE, GuestMemory
from irqlab.profile.kernel_layout import CPU_ENTRY, DIRECT_MAP, IMAGE, KERNEL, VMALLOC, VMEMMAP, Area, Known, within
from irqlab.profile.slabs import Cache, Slabs

CACHES = {
    "skbuff_head_cache": "sk_buff",
    "skbuff_cache": "sk_buff",
    "skbuff_fclone_cache": "sk_buff_fclones",
    "ip_dst_cache": "rtable",
    "net_namespace": "net",
    "UDP": "udp_sock",
    "TCP": "tcp_sock",
    "RAW": "raw_sock",
    "PING": "inet_sock",
    "UNIX": "unix_sock",
    "sock_inode_cache": "socket_alloc",
    "filp": "file",
    "ip_fib_trie": "tnode",
    "ip_fib_alias": "fib_alias",
}
"""Slab cache -> the type of its objects, where the names differ."""
STATICS = {
    "init_net": "net",
    "arp_tbl": "neigh_table",
    "init_task": "task_struct",
    "contig_page_data": "pglist_data",
    "fq_codel_qdisc_ops": "Qdisc_ops",
}
"""Variables -> their type: BTF has those per processor only."""
SELF = "(itself)"
SIGNATURES = (
    ("neighbour", ("tbl",), "arp_tbl"),
    ("rtable", ("dst", "ops"), "ipv4_dst_ops"),
    ("irq_desc", ("irq_data", "common"), SELF),
)
"""Types whose objects are known by a member that points to a variable, or to the object itself: caches of `kmalloc`, and caches
that the allocator has merged, hold objects of several types."""
LINKS = {"list_head", "hlist_head", "hlist_node", "rb_node", "rb_root", "llist_node", "callback_head", "module", "device_driver"}
"""Types that are part of others, or that pointers are not followed through."""
FRAGMENTS = 8 * PAGE
"""Bytes that packets' buffers are cut out of (PAGE_FRAG_CACHE_MAX_SIZE, include/linux/mm_types_task.h)."""
MOST_PAGES = 16
"""How far a ring may reach beyond its first page."""
MOST_FOLLOWED = 20_000
"""Pointers followed."""
DEEPEST = 5
"""How many pointers away from an interface."""

UNTYPED = "private data"
UNNAMED = "(unnamed)"


@dataclass(frozen=True)
class Place:
    """What is at an address."""

    kind: str
    """sk_buff, packet data, net_device, ring, ..."""
    object: str
    """The same with its owner: which interface's, which cache."""
    field: str
    """The field, or what is known instead of it."""
    offset: int
    """Of the address, from the object's start; -1: not known."""


@dataclass(frozen=True)
class _Typed:
    """An object that a pointer led to."""

    type: int
    """0: not known."""
    types: Btf | None
    kind: str
    name: str


class Objects:
    """The objects in a DUT's memory. `touched`: the addresses that will be asked for."""

    def __init__(self, known: Known, memory: GuestMemory, touched: Collection[int]) -> None:
        self._known, self._memory, self._types = known, memory, known.types
        self._touched_pages = {address & -PAGE for address in touched}
        self._typed: dict[int, _Typed] = {}
        """By address: objects of kmalloc, pages, memory per processor."""
        self._starts: list[int] = []
        self._packets: list[tuple[int, int]] = []
        """Start of each packet's buffer, and of the skb_shared_info in it."""
        self._blocks: set[int] = set()
        """Blocks of pages that have such buffers."""
        self._stacks: list[Area] = []
        self.lacking: list[str] = []
        """What could not be found out, in sentences."""
        if self._types is None:
            self.lacking.append(
                "This kernel has no BTF (CONFIG_DEBUG_INFO_BTF): only kinds of memory and variables are told apart, not objects."
            )
            return
        self._percpu = self._base_of_cpu()
        self._signatures = self._find_signatures()
        self._signed: dict[int, str | None] = {}
        self._page_bytes = self._types.size(self._types.struct("page") or 0) or 64
        self._slabs = Slabs(known, self._types, memory, self._page_bytes)
        memory.fetch(self._slabs.descriptor(page) for page in self._touched_pages if within(page, DIRECT_MAP))
        self.lacking += self._slabs.lacking
        self._find_stacks()
        self._find_packets()
        self._follow(self._roots())

    # What the kernel says of itself

    def _base_of_cpu(self) -> tuple[int, int, int]:
        """What is added to the address of a variable per processor, where processor 0's memory begins, and its bytes."""
        offsets = self._known.address("__per_cpu_offset")
        begin, size = self._known.address("pcpu_base_addr"), self._known.address("pcpu_unit_size")
        if offsets is None or begin is None or size is None:
            self.lacking.append("Memory per processor is not told apart: the kernel's symbols lack __per_cpu_offset.")
            return 0, 0, 0
        return self._memory.u64(offsets), self._memory.u64(begin), self._memory.u32(size)

    def _find_signatures(self) -> list[tuple[str, int, int | None]]:
        """Of SIGNATURES: the type, the member's offset, and what it points to (None: itself)."""
        assert self._types is not None
        found = []
        for name, path, to in SIGNATURES:
            number, offset = self._types.struct(name), 0
            for step in path:
                member = self._types.member(number, step) if number is not None else None
                offset, number = (offset + member[0], member[1]) if member else (0, None)
            address = None if to == SELF else self._known.address(to)
            if number is not None and (to == SELF or address is not None):
                found.append((name, offset, address))
        return found

    def _signature(self, start: int, size: int) -> str | None:
        """The type of an object by its content."""
        if start not in self._signed:
            fits = (
                name
                for name, offset, to in self._signatures
                if offset + 8 <= size and self._memory.u64(start + offset) == (start if to is None else to)
            )
            self._signed[start] = next(fits, None)
        return self._signed[start]

    def _offset(self, struct: str, *names: str) -> int | None:
        return self._types.offset(struct, *names) if self._types else None

    def _find_stacks(self) -> None:
        init, tasks, stack = (
            self._known.address("init_task"),
            self._offset("task_struct", "tasks"),
            self._offset("task_struct", "stack"),
        )
        comm = self._offset("task_struct", "comm")
        if init is None or tasks is None or stack is None or comm is None:
            return
        size = 4 * PAGE  # THREAD_SIZE, and IRQ_STACK_SIZE (arch/x86/include/asm/page_64_types.h)
        for task in (init, *(entry - tasks for entry in self._memory.linked(init + tasks))):
            begin = self._memory.u64(task + stack)
            self._stacks.append(Area(begin, begin + size, f"stack of {self._memory.text(task + comm, 16)}"))
        top = self._known.address("hardirq_stack_ptr")
        inner = 0
        if top is None and (hot := self._known.address("pcpu_hot")) is not None:
            top, inner = hot, self._offset("pcpu_hot", "hardirq_stack_ptr") or 0
        if top is not None:
            end = self._memory.u64(top + self._percpu[0] + inner) & -PAGE
            end += PAGE  # the pointer leaves room at the top
            self._stacks.append(Area(end - size, end, "stack of interrupts"))

    # Types

    def _roots(self) -> Iterable[tuple[int, _Typed, str]]:
        """Where pointers are followed from: address, type, owner."""
        types = self._types
        assert types is not None
        for name, kind in STATICS.items():
            address, number = self._known.address(name), types.struct(kind)
            if address is not None and number is not None:
                yield address, _Typed(number, types, kind, name), ""
        for address, interface in self._interfaces():
            number = types.struct("net_device") or 0
            yield address, _Typed(number, types, "net_device", f"net_device {interface}"), interface
            private = address + self._private_offset()
            typed = self._private(address, private, interface)
            yield private, typed, interface
        for cache in self._slabs.caches.values():
            number = types.struct("kmem_cache") or 0
            yield cache.address, _Typed(number, types, "kmem_cache", f"kmem_cache {cache.name}"), f"cache {cache.name}"

    def _interfaces(self) -> list[tuple[int, str]]:
        types, init_net = self._types, self._known.address("init_net")
        head, link, name = (
            self._offset("net", "dev_base_head"),
            self._offset("net_device", "dev_list"),
            self._offset("net_device", "name"),
        )
        if types is None or init_net is None or head is None or link is None or name is None:
            return []
        found = [entry - link for entry in self._memory.linked(init_net + head)]
        return [(address, self._memory.text(address + name, 16)) for address in found]

    def private(self) -> Iterable[tuple[str, int, int, Btf, int]]:
        """The driver's own structs, one for each interface: interface, address, bytes, and the type; those that are known."""
        for device, interface in self._interfaces() if self._types is not None else ():
            address = device + self._private_offset()
            typed = self._private(device, address, interface)
            if typed.types is not None:
                yield interface, address, typed.types.size(typed.type), typed.types, typed.type

    def _private_offset(self) -> int:
        """Where netdev_priv() begins: a member from 6.10 on, before that the next multiple of 32."""
        types = self._types
        assert types is not None
        return self._offset("net_device", "priv") or -(-types.size(types.struct("net_device") or 0) // 32) * 32

    def _private(self, device: int, private: int, interface: str) -> _Typed:
        """The driver's part: of the structs of its module (or of those it needs), one that fits and points to the device."""
        names = [self._known.driver, *(name for name in self._known.module_types if name != self._known.driver)]
        found = self._slabs.at(device)
        room = found[1] + found[0].size - private if found else 1 << 16
        fitting: list[tuple[int, str, int, Btf]] = []
        for module in names:
            types = self._known.module_types.get(module)
            for name, number in types.own_structs().items() if types else ():
                size = types.size(number) if types else 0
                if (
                    types
                    and 64 <= size <= room
                    and types.kind(number) == STRUCT
                    and self._points_to(types, number, private, device)
                ):
                    fitting.append((size, name, number, types))
            if fitting:
                break
        if not fitting:
            return _Typed(0, None, UNTYPED, f"private data {interface}")
        size, name, number, found_types = max(fitting)
        return _Typed(number, found_types, name, f"{name} {interface}")

    def _points_to(self, types: Btf, number: int, at: int, device: int) -> bool:
        """Whether a struct at an address would have all its pointers to net_device point to this one (and has any)."""
        values = [
            self._memory.u64(at + offset)
            for offset, path, target in types.pointers(number)
            if "[]" not in path and types.name(target) == "net_device"
        ]
        return device in values and all(value in (device, 0) for value in values)

    def _follow(self, roots: Iterable[tuple[int, _Typed, str]]) -> None:
        """Names what the roots' pointers lead to, the nearest first, if it was touched and nothing else names it."""
        todo = deque((address, typed, owner, 0) for address, typed, owner in roots)
        for address, typed, *_ in todo:
            self._typed[address] = typed
        left = MOST_FOLLOWED
        while todo and left:
            address, typed, owner, depth = todo.popleft()
            if depth >= DEEPEST:
                continue
            room = self._room(address)
            if typed.types is not None:
                pointers = typed.types.pointers(typed.type, limit=256)
            elif typed.kind == UNTYPED:
                pointers = ((at, f"+{at}", 0) for at in range(0, min(room, 2 * PAGE), 8))
            else:
                continue
            for offset, path, target in pointers:
                left -= 1
                if offset >= room:
                    break
                value = self._here(self._memory.u64(address + offset))
                if value is None or value in self._typed:
                    continue
                is_struct = typed.types is not None and typed.types.kind(target) in (STRUCT, UNION)
                known = self._slabs.at(value) if within(value, DIRECT_MAP) else None
                if known is not None and (self._named(known[0]) or known[1] != value):
                    continue
                last = path.replace("[]", "") if depth == 0 else f"{typed.kind}.{path.replace('[]', '')}"
                of = typed.types.name(target) or path if typed.types is not None and is_struct else path
                if of in LINKS:
                    continue
                if known is None and not is_struct and value & -FRAGMENTS in self._blocks:
                    continue  # a driver's next buffer for a packet
                if known is None and within(value, DIRECT_MAP) and not self._is_per_cpu(value):  # a page: a ring
                    number = target if is_struct else 0
                    new = _Typed(number, typed.types if is_struct else None, "page of a driver", f"{last} {owner}".strip())
                elif is_struct:
                    new = _Typed(target, typed.types, of, f"{of} {owner}".strip())
                elif typed.kind == UNTYPED:
                    new = _Typed(0, None, UNTYPED, f"private data {owner}: {last}")
                else:
                    new = _Typed(0, None, last, f"{last} {owner}".strip())
                self._typed[value] = new
                if is_struct or new.kind == UNTYPED:
                    todo.append((value, new, owner, depth + 1))
        self._starts = sorted(self._typed)

    def _room(self, address: int) -> int:
        """Bytes from an address to the end of its object, so that nothing behind an object is taken for its last array."""
        found = self._slabs.at(address) if within(address, DIRECT_MAP) else None
        return found[1] + found[0].size - address if found else 1 << 20

    def _is_per_cpu(self, address: int) -> bool:
        _, begin, size = self._percpu
        return begin <= address < begin + size

    def _here(self, pointer: int) -> int | None:
        """Where a pointer leads, if that is memory that needs a name: the direct map, vmalloc, or memory per processor."""
        if within(pointer, DIRECT_MAP) or within(pointer, VMALLOC):
            return pointer
        moved = (pointer + self._percpu[0]) & 0xFFFF_FFFF_FFFF_FFFF
        statics = self._known.address("__per_cpu_end")
        return moved if statics is not None and statics <= pointer and self._is_per_cpu(moved) else None

    def _named(self, cache: Cache) -> bool:
        """Whether a cache's name says the type of its objects."""
        assert self._types is not None
        return not cache.merged and self._types.struct(CACHES.get(cache.name, cache.name)) is not None

    # Packets

    def _find_packets(self) -> None:
        """The buffers that all sk_buffs in the touched slabs point to, free ones too: a free object keeps most of its content."""
        assert self._types is not None
        head, end = self._offset("sk_buff", "head"), self._offset("sk_buff", "end")
        if head is None or end is None:
            return
        buffers: set[tuple[int, int]] = set()
        for page in self._touched_pages:
            slab = self._slabs.at(page) if within(page, DIRECT_MAP) else None
            if slab is None or CACHES.get(slab[0].name) != "sk_buff":
                continue
            size = slab[0].size
            for at in range(slab[1] if slab[1] >= page else slab[1] + size, page + PAGE - size + 1, size):
                buffer, length = self._memory.u64(at + head), self._memory.u32(at + end)
                if within(buffer, DIRECT_MAP) and 0 < length <= 16 * PAGE:
                    buffers.add((buffer, buffer + length))
        self._packets = sorted(buffers)
        self._blocks = {buffer & -FRAGMENTS for buffer, _ in buffers}

    def _packet(self, address: int) -> Place | None:
        at = bisect_right(self._packets, (address, 1 << 64)) - 1
        types = self._types
        if at < 0 or types is None:
            return None
        begin, end = self._packets[at]
        number = types.struct("skb_shared_info") or 0
        if address < end:
            return Place("packet data", "packet data", "", address - begin)
        if address < end + types.size(number):
            path = types.path(number, address - end, deep=False)
            return Place("skb_shared_info", "skb_shared_info", path, address - end)
        return None

    # Answers

    def at(self, address: int) -> Place:
        """What is at an address."""
        if address < KERNEL:
            return Place("user space", "user space", "", -1)
        if within(address, IMAGE):
            return self._variable(address)
        if within(address, CPU_ENTRY):
            return Place("processor's tables", "processor's tables (IDT, TSS)", "", -1)
        if within(address, VMEMMAP):
            return self._in_struct("page", "struct page", address, self._page_bytes if self._types else 64)
        for area in self._stacks:
            if area.begin <= address < area.end:
                return Place("stack", area.name, "", area.end - address - 1)
        if self._types is not None and self._is_per_cpu(address):
            return self._per_cpu(address)
        if within(address, DIRECT_MAP) and self._types is not None:
            return self._direct(address)
        if within(address, VMALLOC):
            if (typed := self._pointed(address)) is not None:
                return typed
            known = next((a for a in self._known.areas if a.begin <= address < a.end), None)
            if known is not None:
                return Place("vmalloc", f"vmalloc: {known.name}", "", address - known.begin)
            return Place("vmalloc", "vmalloc", "", -1)
        return Place("other memory", "other memory", "", -1)

    def _variable(self, address: int) -> Place:
        found = self._known.variable(address)
        if found is None or found.address < IMAGE[0]:
            return Place("static data", "static data of the kernel", UNNAMED, -1)
        owner = found.module or "the kernel"
        name = found.name
        typed = self._typed.get(found.address)
        path = ""
        if typed is not None and typed.types is not None:
            path = typed.types.path(typed.type, address - found.address)
        return Place("static data", f"static data of {owner}", f"{name}.{path}" if path else name, address - found.address)

    def _in_struct(self, struct: str, name: str, address: int, size: int) -> Place:
        offset = address % size if size & (size - 1) == 0 else 0
        path = ""
        if self._types is not None and (number := self._types.struct(struct)) is not None:
            path = self._types.path(number, offset)
        return Place(struct, name, path, offset)

    def _per_cpu(self, address: int) -> Place:
        assert self._types is not None
        if (typed := self._pointed(address, per_cpu=True)) is not None:
            return typed
        static = address - self._percpu[0] & 0xFFFF_FFFF_FFFF_FFFF
        found, end = self._known.variable(static), self._known.address("__per_cpu_end")
        if found is None or (end is not None and static >= end):
            return Place("per-CPU data", "per-CPU data", "(allocated)", -1)
        offset = static - found.address
        number = self._types.variables.get(found.name)
        path = self._types.path(number, offset) if number is not None else ""
        joined = f"{found.name}{'' if path.startswith('[') else '.'}{path}" if path else found.name
        return Place("per-CPU data", "per-CPU data", joined, offset)

    def _pointed(self, address: int, per_cpu: bool = False) -> Place | None:
        """The object that a pointer led to and that begins last before an address, if it reaches that far."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        start = self._starts[at]
        typed = self._typed[start]
        offset = address - start
        size = typed.types.size(typed.type) if typed.types is not None else PAGE if not per_cpu else 8
        if offset >= size:
            return None
        path = typed.types.path(typed.type, offset) if typed.types is not None else ""
        return Place(typed.kind, typed.name, path, offset)

    def _direct(self, address: int) -> Place:
        if (packet := self._packet(address)) is not None:
            return packet
        types = self._types
        assert types is not None
        if (found := self._slabs.at(address)) is not None:
            cache, start = found
            offset = address - start
            struct = self._signature(start, cache.size) or (CACHES.get(cache.name, cache.name) if self._named(cache) else "")
            if struct and (number := types.struct(struct)) is not None:
                name = struct
                typed = self._typed.get(start)
                if typed is not None:
                    name = typed.name
                return Place(struct, name, types.path(number, offset), offset)
            return self._kmalloc(cache, start, address)
        # A ring may be next to pages of packets, which are cut out of larger blocks.
        packets = address & -FRAGMENTS in self._blocks
        if (place := self._pointed_page(address, 0 if packets else MOST_PAGES)) is not None:
            return place
        if packets:
            return Place("packet data", "packet data", "of an earlier frame", -1)
        return Place("page", "page", "", -1)

    def _kmalloc(self, cache: Cache, start: int, address: int) -> Place:
        """An object without a type of its own: the last named thing in it that begins before the address."""
        at = bisect_right(self._starts, address) - 1
        inner = self._starts[at] if at >= 0 and self._starts[at] >= start else None
        if inner is None:
            return Place(cache.name, cache.name, f"+{address - start & -8}", address - start)
        typed = self._typed[inner]
        offset = address - inner
        if typed.types is None:
            return Place(typed.kind, typed.name, f"+{offset & -8}", offset)
        if offset >= typed.types.size(typed.type):
            return Place(typed.kind, typed.name, f"behind it, +{offset & -8}", offset)
        return Place(typed.kind, typed.name, typed.types.path(typed.type, offset), offset)

    def _pointed_page(self, address: int, most: int) -> Place | None:
        """A page that a pointer led to, such as a ring: over at most so many pages that no slab has."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        start = self._starts[at]
        pages = range(start & -PAGE, address & -PAGE, PAGE)
        if len(pages) > most or any(self._slabs.at(page) for page in pages):
            return None
        typed = self._typed[start]
        size = typed.types.size(typed.type) if typed.types is not None else 0
        path = typed.types.path(typed.type, (address - start) % size) if typed.types is not None and size else ""
        return Place(typed.kind, typed.name, path, address - start)
