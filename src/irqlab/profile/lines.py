# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of memory used per frame, and misses of the caches: by function, and by object and field.

The tester counts by function and address (docs/inside/protocol.md, LINES); `examine` finds out what is at the addresses while
the DUT still has its memory, and adds up.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from irqlab.errors import IrqlabError
from irqlab.files import write_atomically
from irqlab.profile import bounces, dwarf
from irqlab.profile.btf import Btf, end_of_text, section
from irqlab.profile.guest_memory import GuestMemory
from irqlab.profile.kallsyms import of_types
from irqlab.profile.kernel_layout import VMEMMAP, Area, Known, Variable
from irqlab.profile.kernel_objects import Objects, Place
from irqlab.profile.symbols import Symbols
from irqlab.qemu.rpc import Rpc
from irqlab.setup import paths
from irqlab.setup.drivers import DEBUG
from irqlab.setup.modules import Module
from irqlab.trials.fingerprint import code_fingerprint
from irqlab.trials.initial import LineProfile
from irqlab.trials.testbed import Testbed

PAGE_DESCRIPTOR = 64
"""Bytes of a struct page (include/linux/mm_types.h)."""
DATA = "abdrvw"
"""Types of symbols in /proc/kallsyms."""
MOST_USERS = 8
"""Functions named for a field."""


@dataclass
class _Sum:
    loads: int = 0
    stores: int = 0
    lines: int = 0
    misses: list[int] = field(default_factory=list)
    users: Counter[str] = field(default_factory=Counter)
    addresses: set[int] = field(default_factory=set)

    def add(self, loads: int, stores: int, lines: int, misses: Sequence[int]) -> None:
        self.loads += loads
        self.stores += stores
        self.lines += lines
        self.misses = [a + b for a, b in zip(self.misses or [0] * len(misses), misses, strict=True)]


def asked(testbed: Testbed, symbols: Symbols) -> LineProfile:
    """What `Testbed.profile` needs to profile lines. The DUT's data symbols are read from a separate DUT, once."""
    known = known_of(testbed, symbols)
    pages = testbed.machine.memory_mib << 20 >> 12
    levels = [cache.name for cache in testbed.caches.caches]

    def done(answer: dict[str, Any], rpc: Rpc) -> dict[str, Any]:
        memory = GuestMemory(lambda ranges: rpc.call("read_memory", ranges=ranges)["memory"])
        used = {row[1] for row in answer["data"]} | {row[3] for row in answer.get("bounced", ())}
        objects = Objects(known, memory, used)
        return examine(answer, symbols, objects, levels)

    return LineProfile([(VMEMMAP[0], pages * PAGE_DESCRIPTOR)], done, code_fingerprint(__name__))


def examine(answer: Mapping[str, Any], symbols: Symbols, objects: Objects, levels: Sequence[str]) -> dict[str, Any]:
    """The tester's LINES by function, and by object and field; `levels`: the caches' names, L1I first."""
    users = [(symbols.at(address), context) for address, context, _, _ in answer["users"]]
    functions: dict[tuple[str, str | None, str], tuple[_Sum, _Sum, list[int]]] = {}
    keys = [(symbol.name, symbol.module, context) for symbol, context in users]
    for key, (_, _, code, data) in zip(keys, answer["users"], strict=True):
        used = functions.setdefault(key, (_Sum(), _Sum(), [0, 0]))[2]
        used[0] += code
        used[1] += data
    code_bytes, data_bytes = answer["line_bytes"]
    code_lines: dict[str, set[int]] = {}
    for user, address, uses, _, first, misses in answer["code"]:
        functions[keys[user]][0].add(uses, 0, first, misses)
        code_lines.setdefault(keys[user][1] or "", set()).add(address)
    fields: dict[tuple[str, str, int, str], _Sum] = {}
    places: dict[int, Place] = {}
    window: dict[str, set[int]] = {}
    for user, address, loads, stores, first, misses in answer["data"]:
        functions[keys[user]][1].add(loads, stores, first, misses)
        place = places.get(address) or places.setdefault(address, objects.at(address))
        group = place.offset // data_bytes if place.offset >= 0 else -1
        sums = fields.setdefault((place.kind, place.object, group, place.field), _Sum())
        sums.add(loads, stores, first, misses)
        sums.users[keys[user][0]] += loads + stores
        sums.addresses.add(address // data_bytes)
        window.setdefault(place.object, set()).add(address // data_bytes)
    empty = [0] * (len(levels) - 1)
    names = [symbol.name for symbol, _ in users]
    several = {"bounced": bounces.examine(answer["bounced"], names, objects, data_bytes)} if "bounced" in answer else {}
    return {
        **several,
        "levels": list(levels),
        "line_bytes": [code_bytes, data_bytes],
        "intervals": answer["intervals"],
        "functions": [
            {
                "function": name,
                "module": module,
                "context": context,
                "code_lines": used[0],
                "data_lines": used[1],
                "new_code_lines": code.lines,
                "new_data_lines": data.lines,
                "loads": data.loads,
                "stores": data.stores,
                "code_misses": code.misses or empty,
                "data_misses": data.misses or empty,
            }
            for (name, module, context), (code, data, used) in sorted(
                functions.items(), key=lambda item: (-item[1][0].lines - item[1][1].lines, *map(str, item[0]))
            )
        ],
        "fields": [
            {
                "kind": kind,
                "object": name,
                "line": group,
                "field": what,
                "loads": sums.loads,
                "stores": sums.stores,
                "lines": sums.lines,
                "misses": sums.misses,
                "window_lines": len(sums.addresses),
                "users": [user for user, _ in sorted(sums.users.items(), key=lambda item: (-item[1], item[0]))[:MOST_USERS]],
            }
            for (kind, name, group, what), sums in sorted(
                fields.items(), key=lambda item: (-item[1].lines, -item[1].loads - item[1].stores, item[0])
            )
        ],
        "objects": {name: len(lines) for name, lines in sorted(window.items())},
        "window_code_lines": {module or "the kernel": len(lines) for module, lines in sorted(code_lines.items())},
        "lacking": objects.lacking,
    }


def known_of(testbed: Testbed, symbols: Symbols) -> Known:
    """What is known about the DUT's kernel before a trial; its symbols are stored beside the snapshot."""
    kept = testbed.prepared.state.parent / "data-symbols.json"
    with paths.locked(f"data-symbols-{kept.parent.name}"):
        try:
            text, areas = json.loads(kept.read_text())
        except (OSError, json.JSONDecodeError):
            with testbed.open(pooled=True) as dut:
                text = of_types(dut, DATA)
                dut.sysctl("kernel.kptr_restrict", "1")  # with 0, addresses are hashed
                areas = dut.read("/proc/vmallocinfo")["/proc/vmallocinfo"] or ""
            write_atomically(kept, json.dumps([text, areas]).encode())
    elf = testbed.machine.kernel.vmlinux.read_bytes()
    kernel = section(elf)
    modules = {}
    for module in reversed(testbed.modules):
        if kernel is not None and (types := types_of(module, kernel)) is not None:
            modules[module.name] = types
    # In 7.3 much of the kernel's data has a function's type in /proc/kallsyms.
    others = [Variable(s.address, s.name, None) for s in symbols.of_kernel(end_of_text(elf))]
    return Known([*variables(text), *others], allocated(areas), kernel, modules, testbed.driver)


def types_of(module: Module, kernel: Btf) -> Btf | None:
    """A module's types, from its BTF, or from the debugging information that is kept of our own drivers.

    To read that takes seconds, so what was found is kept beside it.
    """
    if (found := section(module.data, kernel)) is not None:
        return found
    try:
        elf = module.path.with_suffix(DEBUG).read_bytes()
    except OSError:
        return None
    key = hashlib.sha256(b"".join((elf, kernel.digest, code_fingerprint(dwarf.__name__).encode()))).hexdigest()
    kept = module.path.with_suffix(f".{key[:16]}.btf")
    try:
        return Btf(kept.read_bytes(), kernel)
    except (OSError, ValueError, struct.error):
        data = dwarf.types(elf, kernel)
    if data is None:
        return None
    with suppress(IrqlabError):  # no room: read again the next time
        write_atomically(kept, data)
    return Btf(data, kernel)


def variables(kallsyms: str) -> list[Variable]:
    """The variables in /proc/kallsyms."""
    rows = (line.split() for line in kallsyms.splitlines())
    return [Variable(int(w[0], 16), w[2], w[3].strip("[]") if len(w) > 3 else None) for w in rows if len(w) >= 3]


def allocated(vmallocinfo: str) -> list[Area]:
    """The areas of /proc/vmallocinfo with the function that allocated them; none if their addresses are hidden."""
    found = []
    for line in vmallocinfo.splitlines():
        words = line.split()
        begin, _, end = words[0].partition("-") if len(words) > 2 else ("", "", "")
        if begin.startswith("0xffff") and end.startswith("0xffff"):
            module = next((word for word in words[3:] if word.startswith("[")), "")
            found.append(Area(int(begin, 16), int(end, 16), f"{words[2].partition('+')[0]} {module}".strip()))
    return found
