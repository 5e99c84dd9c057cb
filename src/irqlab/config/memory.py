# SPDX-License-Identifier: GPL-2.0-or-later
"""The memory behind the DUT's processor: caches and RAM, from a data sheet (docs/memory-model.md)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from irqlab.errors import IrqlabError

CACHES = ("L1I", "L1D", "L2", "L3")
FIRST = CACHES[:2]
MIN_LINE_BYTES, MAX_LINE_BYTES = 16, 4096
MAX_BYTES = 1 << 30
MAX_LATENCY_NS = 100_000.0


@dataclass(frozen=True)
class Cache:
    """A set-associative cache that replaces the least recently used line."""

    name: str
    """One of CACHES."""
    bytes: int
    ways: int
    line_bytes: int
    latency_ns: float
    """How long the processor stalls for a line that comes from here; 0 at the first level."""
    source: str = ""
    """Where these figures are stated: manual and page."""

    def __post_init__(self) -> None:
        where = f"memory: {self.name}"
        line = self.line_bytes
        if line & (line - 1) or not MIN_LINE_BYTES <= line <= MAX_LINE_BYTES:
            raise IrqlabError(f"{where}: line_bytes is {line}; allowed are powers of two, {MIN_LINE_BYTES} to {MAX_LINE_BYTES}")
        if not 0 < self.bytes <= MAX_BYTES:
            raise IrqlabError(f"{where}: bytes is {self.bytes}; allowed are 1 to {MAX_BYTES}")
        sets, rest = divmod(self.bytes, self.ways * line) if self.ways > 0 else (0, 0)
        if rest or sets < 1 or sets & (sets - 1):
            raise IrqlabError(
                f"{where}: {self.bytes} bytes in {self.ways} ways of {line}-byte lines; the number of sets must be a power of two"
            )
        _check_latency(where, self.latency_ns)
        if self.name in FIRST and self.latency_ns:
            raise IrqlabError(f"{where}: latency_ns is {self.latency_ns:g}; a hit at the first level takes no time of its own: 0")


@dataclass(frozen=True)
class Memory:
    """Caches, the nearest first, and RAM."""

    hardware: str
    """The name of the hardware."""
    caches: tuple[Cache, ...]
    latency_ns: float
    """How long the processor stalls for a line that comes from RAM."""
    source: str = ""

    def __post_init__(self) -> None:
        names = tuple(cache.name for cache in self.caches)
        if names != CACHES[: len(names)] or len(names) < len(FIRST):
            raise IrqlabError(f"memory: caches are {', '.join(names) or 'none'}; allowed are L1I, L1D, then L2, then L3")
        _check_latency("memory: ram", self.latency_ns)

    @classmethod
    def parse(cls, hardware: str, content: Any) -> Memory:
        """The section `memory` of a hardware file. Raises IrqlabError: what was wrong, and what is allowed."""
        if not isinstance(content, dict) or not isinstance(content.get("caches"), list):
            raise IrqlabError("memory: caches is missing")
        caches = tuple(Cache(**_fields(f"memory: caches[{n}]", Cache, given)) for n, given in enumerate(content["caches"]))
        ram = content.get("ram")
        if not isinstance(ram, dict) or not _is_number(ram.get("latency_ns")):
            raise IrqlabError("memory: ram: latency_ns is missing")
        return cls(hardware, caches, float(ram["latency_ns"]), str(ram.get("source", "")))

    def to_json(self) -> dict[str, Any]:
        """The section `memory` of a hardware file."""
        return {
            "caches": [asdict(cache) for cache in self.caches],
            "ram": {"latency_ns": self.latency_ns, "source": self.source},
        }

    def arguments(self) -> str:
        """The tester's arguments (docs/protocol.md): everything that results depend on."""
        parts = []
        for cache in self.caches:
            shape = f"{cache.name.lower()}={cache.bytes}:{cache.ways}:{cache.line_bytes}"
            parts.append(shape if cache.name in FIRST else f"{shape}:{round(cache.latency_ns * 1e3)}")
        return ",".join([*parts, f"ram={round(self.latency_ns * 1e3)}"])


_TYPES = {"name": str, "source": str, "bytes": int, "ways": int, "line_bytes": int}


def _fields(where: str, kind: type, given: Any) -> dict[str, Any]:
    """The fields of a dataclass from JSON data."""
    names = list(kind.__dataclass_fields__)  # type: ignore[attr-defined]
    if not isinstance(given, dict) or not given.keys() <= set(names) or not set(names[:-1]) <= given.keys():
        raise IrqlabError(f"{where}: must have {', '.join(names)}")
    for name, value in given.items():
        right = isinstance(value, _TYPES[name]) and not isinstance(value, bool) if name in _TYPES else _is_number(value)
        if not right:
            raise IrqlabError(f"{where}: {name} is {value!r}")
    return given


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_latency(where: str, latency_ns: float) -> None:
    if not 0 <= latency_ns <= MAX_LATENCY_NS:  # and not NaN
        raise IrqlabError(f"{where}: latency_ns is {latency_ns:g}; allowed are 0 to {MAX_LATENCY_NS:.0f}")


_SKYLAKE = "Intel Skylake-SP: I. Cutress, The Intel Skylake-X Review, AnandTech, 2017, page 4"
COMMON = Memory(
    "common",
    (
        Cache("L1I", 32 << 10, 8, 64, 0.0, _SKYLAKE),
        Cache("L1D", 32 << 10, 8, 64, 0.0, _SKYLAKE),
        Cache("L2", 1 << 20, 16, 64, 0.0, _SKYLAKE),
    ),
    0.0,
    "none: nothing stalls",
)
"""Caches of a common processor that take no time, to count misses where no hardware is asked for."""
