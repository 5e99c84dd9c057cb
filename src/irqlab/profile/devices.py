# SPDX-License-Identifier: GPL-2.0-or-later
"""Attributes accesses to devices, using the DUT's /proc/iomem."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irqlab.config.addresses import INTERFACES
from irqlab.files import write_atomically
from irqlab.profile.symbols import Symbol, Symbols
from irqlab.setup import paths
from irqlab.trials.testbed import Testbed

NIC_PORTS = "the NICs' ports"
"""I/O ports accessed by the driver or its callees; the tester does not report which port (docs/inside/protocol.md)."""
OTHER_PORTS = "other ports"
OF_NICS = (*INTERFACES, NIC_PORTS)
IOMEM = "/proc/iomem"
_PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")


@dataclass(frozen=True)
class Region:
    """Physical addresses from `begin` to `end`, both included."""

    begin: int
    end: int
    name: str


@dataclass(frozen=True)
class Devices:
    """The map of physical memory."""

    regions: Sequence[Region]

    @classmethod
    def parse(cls, iomem: str, interfaces: Mapping[str, str]) -> Devices:
        """Parses /proc/iomem; `interfaces` maps a PCI address to the network interface there."""
        found = []
        for line in iomem.splitlines():
            span, _, name = line.strip().partition(" : ")
            begin, _, end = span.partition("-")
            found.append(Region(int(begin, 16), int(end, 16), interfaces.get(name, name)))
        return cls(found)

    @classmethod
    def of(cls, testbed: Testbed) -> Devices:
        """The map of a testbed's DUT. Read from a separate DUT, and stored beside the snapshot."""
        kept = testbed.prepared.state.parent / "devices.json"
        uevents = {f"/sys/class/net/{interface}/device/uevent": interface for interface in INTERFACES}
        with paths.locked(f"devices-{kept.parent.name}"):
            try:
                files = json.loads(kept.read_text())
            except (OSError, json.JSONDecodeError):
                with testbed.open() as dut:
                    files = dut.read(IOMEM, *uevents)
                write_atomically(kept, json.dumps(files).encode())
        slots = {}
        for path, interface in uevents.items():
            if slot := re.search(r"^PCI_SLOT_NAME=(.*)$", files[path] or "", re.MULTILINE):
                slots[slot[1]] = interface
        return cls.parse(files[IOMEM] or "", slots)

    def at(self, address: int) -> tuple[str, int]:
        """The device at an address and the offset into its region: the interface, else the innermost region's name."""
        around = [region for region in self.regions if region.begin <= address <= region.end]
        ours = [region for region in around if region.name in INTERFACES]
        chosen = min(ours or [r for r in around if not _PCI.fullmatch(r.name)] or around, key=_size, default=None)
        return (chosen.name, address - chosen.begin) if chosen else ("unknown", address)


def _size(region: Region) -> int:
    return region.end - region.begin


def accesses(answer: Mapping[str, Any], symbols: Symbols, devices: Devices, driver: Collection[str]) -> list[dict[str, Any]]:
    """The tester's `io` (docs/inside/protocol.md) as `found.io` of a row, by function and register, most frequent first."""
    places: list[tuple[Symbol, str, bool]] = []
    for parent, address, context, _, _ in answer["nodes"]:
        symbol = symbols.at(address)
        below = symbol.module in driver or (parent >= 0 and places[parent][2])
        places.append((symbol, context, below))
    sums: dict[tuple[str, str | None, str, str, int | None], list[int]] = {}
    for place, space, address, reads, writes in answer["io"]:
        symbol, context, of_driver = places[place]
        if space == "port":
            device, register = NIC_PORTS if of_driver else OTHER_PORTS, None
        else:
            device, register = devices.at(address)
        total = sums.setdefault((symbol.name, symbol.module, context, device, register), [0, 0])
        total[0] += reads
        total[1] += writes
    names = ("function", "module", "context", "device", "register")
    rows = [{**dict(zip(names, key, strict=True)), "reads": r, "writes": w} for key, (r, w) in sums.items()]
    return sorted(rows, key=lambda row: (-row["reads"] - row["writes"], *(str(row[name]) for name in names)))


def total(rows: Sequence[Mapping[str, Any]], what: str) -> int:
    """`reads` or `writes` of the NICs' registers and ports."""
    return sum(int(row[what]) for row in rows if row["device"] in OF_NICS)
