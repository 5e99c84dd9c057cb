# SPDX-License-Identifier: GPL-2.0-or-later
"""The DUT's processor and the memory behind it: caches, TLBs, RAM, devices, from a data sheet (docs/use/memory-model.md)."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass
from typing import Any, TypeVar

from irqlab.errors import IrqlabError

CACHES = ("L1I", "L1D", "L2", "L3")
FIRST = CACHES[:2]
MIN_LINE_BYTES, MAX_LINE_BYTES = 16, 4096
MAX_BYTES = 1 << 30
MAX_LATENCY_NS = 100_000.0
TLBS = ("ITLB", "DTLB", "TLB2")
MAX_TLB_ENTRIES = 65_536
MAX_STORES = 1024
SMALL_PAGE_BYTES, MAX_PAGE_BYTES = 4096, 1 << 40
MIN_INSTRUCTION_NS, MAX_INSTRUCTION_NS = 0.05, 100.0
DMA = {"invalidate": "invalidate", "last level": "last"}
"""What becomes of the lines that a NIC writes -> the tester's argument."""


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
    data_latency_ns: float | None = None
    """The stall for a line of data, if it differs from that for instructions: a processor may go on meanwhile."""

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
        _check_latency(where, self.latency_ns, self.data_latency_ns)
        if self.name in FIRST and (self.latency_ns or self.data_latency_ns):
            raise IrqlabError(f"{where}: latency_ns is {self.latency_ns:g}; a hit at the first level takes no time of its own: 0")


@dataclass(frozen=True)
class Processor:
    """How long an instruction takes if no cache misses."""

    clock_mhz: float
    cycles_per_instruction: float
    """Of the code of its own architecture."""
    instruction_factor: float = 1.0
    """How many instructions of its own architecture stand for one of the DUT's."""
    source: str = ""

    def __post_init__(self) -> None:
        least, most = MIN_INSTRUCTION_NS, MAX_INSTRUCTION_NS
        right = self.clock_mhz > 0 and least <= self.instruction_ns <= most  # short circuit: no division by 0
        if not right:  # also: NaN
            raise IrqlabError(
                f"memory: processor: {self.clock_mhz:g} MHz, {self.cycles_per_instruction:g} cycles, "
                f"factor {self.instruction_factor:g}; an instruction may take {least} to {most:g} ns"
            )

    @property
    def instruction_ns(self) -> float:
        """The time of one of the DUT's instructions."""
        return 1e3 / self.clock_mhz * self.cycles_per_instruction * self.instruction_factor


@dataclass(frozen=True)
class RegisterRead:
    """A read of a device's register; a write is posted and takes no time of its own."""

    latency_ns: float
    source: str = ""

    def __post_init__(self) -> None:
        _check_latency("memory: register_read", self.latency_ns)


@dataclass(frozen=True)
class Dma:
    """What becomes of the lines that a NIC writes."""

    lines: str
    """One of DMA."""
    source: str = ""

    def __post_init__(self) -> None:
        if self.lines not in DMA:
            raise IrqlabError(f"memory: dma: lines is {self.lines!r}; allowed are {', '.join(DMA)}")


@dataclass(frozen=True)
class Tlb:
    """A translation lookaside buffer that replaces the least recently used entry."""

    name: str
    """One of TLBS."""
    entries: int
    """Of pages of 4 KiB; of large pages as well if these have no entries of their own."""
    ways: int
    large_entries: int = 0
    """Of large pages."""
    large_ways: int = 0
    latency_ns: float = 0.0
    """How long the processor stalls for an entry that comes from here; 0 at the first level."""
    data_latency_ns: float | None = None
    """For an address of data, if that differs."""
    source: str = ""

    def __post_init__(self) -> None:
        where = f"memory: translation: {self.name}"
        large = ((self.large_entries, self.large_ways),) if self.large_entries or self.large_ways else ()
        for entries, ways in ((self.entries, self.ways), *large):
            sets, rest = divmod(entries, ways) if ways > 0 else (0, 0)
            if rest or sets < 1 or sets & (sets - 1) or entries > MAX_TLB_ENTRIES:
                raise IrqlabError(
                    f"{where}: {entries} entries in {ways} ways; the number of sets must be a power of two, "
                    f"and there are at most {MAX_TLB_ENTRIES} entries"
                )
        _check_latency(where, self.latency_ns, self.data_latency_ns)
        if self.name != TLBS[-1] and (self.latency_ns or self.data_latency_ns):
            raise IrqlabError(f"{where}: latency_ns is {self.latency_ns:g}; a hit at the first level takes no time of its own: 0")


@dataclass(frozen=True)
class Translation:
    """TLBs, and what it takes to read the page tables. The entry of the last table is read through the caches."""

    tlbs: tuple[Tlb, ...]
    large_page_bytes: int
    """The pages that the kernel maps itself with."""
    walk_latency_ns: float = 0.0
    """The stall if no TLB has an entry, besides reading the page table."""
    tagged: bool = False
    """Entries survive a switch to another process."""
    source: str = ""

    def __post_init__(self) -> None:
        where = "memory: translation"
        names = tuple(tlb.name for tlb in self.tlbs)
        if names not in (TLBS, TLBS[:-1]):
            raise IrqlabError(f"{where}: tlbs are {', '.join(names) or 'none'}; allowed are ITLB, DTLB, then TLB2")
        size = self.large_page_bytes
        if size & (size - 1) or not SMALL_PAGE_BYTES <= size <= MAX_PAGE_BYTES:
            raise IrqlabError(
                f"{where}: large_page_bytes is {size}; allowed are powers of two, {SMALL_PAGE_BYTES} to {MAX_PAGE_BYTES}"
            )
        _check_latency(where, self.walk_latency_ns)

    @classmethod
    def parse(cls, given: Any) -> Translation:
        """From JSON data. Raises IrqlabError."""
        where = "memory: translation"
        if not isinstance(given, dict) or not isinstance(given.get("tlbs"), list):
            raise IrqlabError(f"{where}: tlbs is missing")
        tlbs = tuple(_read(f"{where}: tlbs[{n}]", Tlb, tlb) for n, tlb in enumerate(given["tlbs"]))
        return _read(where, cls, {**given, "tlbs": tlbs})

    def to_json(self) -> dict[str, Any]:
        """As in a hardware file."""
        return {**asdict(self), "tlbs": [_without_none(asdict(tlb)) for tlb in self.tlbs]}

    def arguments(self) -> list[str]:
        """The tester's arguments."""
        parts = []
        for tlb in self.tlbs:
            shape = f"{tlb.name.lower()}={tlb.entries}:{tlb.ways}:{tlb.large_entries}:{tlb.large_ways}"
            parts.append(shape if tlb.name != TLBS[-1] else f"{shape}:{_both(tlb.latency_ns, tlb.data_latency_ns)}")
        walk = _both(self.walk_latency_ns, None)
        return [*parts, f"walk={walk}", f"large={self.large_page_bytes}", *(["tagged=1"] if self.tagged else [])]


@dataclass(frozen=True)
class StoreBuffer:
    """Stores wait for their lines while the processor goes on; it stalls when the buffer is full."""

    entries: int
    """Stores that can wait."""
    fills: int
    """Lines that can be under way for them at a time."""
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("entries", "fills"):
            if not 1 <= (value := getattr(self, name)) <= MAX_STORES:
                raise IrqlabError(f"memory: store_buffer: {name} is {value}; allowed are 1 to {MAX_STORES}")


@dataclass(frozen=True)
class Interrupt:
    """What entering an interrupt and returning from it take beyond their instructions."""

    latency_ns: float
    source: str = ""

    def __post_init__(self) -> None:
        _check_latency("memory: interrupt", self.latency_ns)


@dataclass(frozen=True)
class Memory:
    """A processor; caches, the nearest first, and RAM; devices."""

    hardware: str
    """The name of the hardware."""
    caches: tuple[Cache, ...]
    latency_ns: float
    """How long the processor stalls for a line that comes from RAM."""
    source: str = ""
    data_latency_ns: float | None = None
    """For a line of data, if that differs."""
    processor: Processor | None = None
    """None: an instruction takes 1 / MIPS."""
    register_read: RegisterRead | None = None
    """None: a read of a device's register takes no time of its own."""
    dma: Dma | None = None
    """None: lines that a NIC writes stay in the caches as they are."""
    translation: Translation | None = None
    """None: translating an address takes no time."""
    store_buffer: StoreBuffer | None = None
    """None: a store that misses stalls as a load does."""
    interrupt: Interrupt | None = None
    """None: an interrupt takes its instructions."""

    def __post_init__(self) -> None:
        names = tuple(cache.name for cache in self.caches)
        if names != CACHES[: len(names)] or len(names) < len(FIRST):
            raise IrqlabError(f"memory: caches are {', '.join(names) or 'none'}; allowed are L1I, L1D, then L2, then L3")
        _check_latency("memory: ram", self.latency_ns, self.data_latency_ns)
        if self.dma and DMA[self.dma.lines] == "last" and len(self.caches) == len(FIRST):
            raise IrqlabError("memory: dma: there is no last level behind the first; allowed is invalidate")

    @classmethod
    def parse(cls, hardware: str, content: Any) -> Memory:
        """The section `memory` of a hardware file, with the section `processor` in it. Raises IrqlabError."""
        if not isinstance(content, dict) or not isinstance(content.get("caches"), list):
            raise IrqlabError("memory: caches is missing")
        known = {"caches", "ram", "processor", "register_read", "dma", "translation", "store_buffer", "interrupt"}
        unknown = content.keys() - known
        if unknown:
            raise IrqlabError(f"memory: unknown: {', '.join(sorted(unknown))}")
        caches = tuple(_read(f"memory: caches[{n}]", Cache, given) for n, given in enumerate(content["caches"]))
        ram = content.get("ram")
        if not isinstance(ram, dict) or not _is_number(ram.get("latency_ns")):
            raise IrqlabError("memory: ram: latency_ns is missing")
        data = ram.get("data_latency_ns")
        if data is not None and not _is_number(data):
            raise IrqlabError(f"memory: ram: data_latency_ns is {data!r}")
        return cls(
            hardware,
            caches,
            float(ram["latency_ns"]),
            str(ram.get("source", "")),
            data,
            _read("memory: processor", Processor, content["processor"]) if "processor" in content else None,
            _read("memory: register_read", RegisterRead, content["register_read"]) if "register_read" in content else None,
            _read("memory: dma", Dma, content["dma"]) if "dma" in content else None,
            Translation.parse(content["translation"]) if "translation" in content else None,
            _read("memory: store_buffer", StoreBuffer, content["store_buffer"]) if "store_buffer" in content else None,
            _read("memory: interrupt", Interrupt, content["interrupt"]) if "interrupt" in content else None,
        )

    def to_json(self) -> dict[str, Any]:
        """The section `memory` of a hardware file, with the section `processor` in it."""
        parts = {
            "processor": self.processor,
            "register_read": self.register_read,
            "dma": self.dma,
            "store_buffer": self.store_buffer,
            "interrupt": self.interrupt,
        }
        return {
            "caches": [_without_none(asdict(cache)) for cache in self.caches],
            "ram": _without_none({"latency_ns": self.latency_ns, "data_latency_ns": self.data_latency_ns, "source": self.source}),
            **{name: asdict(part) for name, part in parts.items() if part},
            **({"translation": self.translation.to_json()} if self.translation else {}),
        }

    def instruction_ns(self, mips: int) -> float:
        """How long an instruction takes if no cache misses, on an instruction clock of so many MIPS."""
        return self.processor.instruction_ns if self.processor else 1e3 / mips

    def arguments(self) -> str:
        """The tester's arguments (docs/inside/protocol.md): everything that results depend on."""
        parts = []
        for cache in self.caches:
            shape = f"{cache.name.lower()}={cache.bytes}:{cache.ways}:{cache.line_bytes}"
            parts.append(shape if cache.name in FIRST else f"{shape}:{_stall(cache.latency_ns, cache.data_latency_ns)}")
        parts.append(f"ram={_stall(self.latency_ns, self.data_latency_ns)}")
        if self.processor:
            parts.append(f"instruction={round(self.processor.instruction_ns * 1e3)}")
        if self.register_read:
            parts.append(f"register={round(self.register_read.latency_ns * 1e3)}")
        if self.dma:
            parts.append(f"dma={DMA[self.dma.lines]}")
        if self.translation:
            parts += self.translation.arguments()
        if self.store_buffer:
            parts.append(f"stores={self.store_buffer.entries}:{self.store_buffer.fills}")
        if self.interrupt:
            parts.append(f"interrupt={round(self.interrupt.latency_ns * 1e3)}")
        return ",".join(parts)


def _stall(latency_ns: float, data_latency_ns: float | None) -> str:
    """In ps; the second number is that of data, if it differs."""
    times = [latency_ns] if data_latency_ns is None else [latency_ns, data_latency_ns]
    return ":".join(str(round(ns * 1e3)) for ns in times)


def _both(latency_ns: float, data_latency_ns: float | None) -> str:
    """In ps: that of instructions, that of data."""
    return _stall(latency_ns, latency_ns if data_latency_ns is None else data_latency_ns)


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


_TEXTS = ("name", "source", "lines")
_COUNTS = ("bytes", "ways", "line_bytes", "entries", "large_entries", "large_ways", "large_page_bytes", "fills")
_TYPES: dict[str, type] = {**dict.fromkeys(_TEXTS, str), **dict.fromkeys(_COUNTS, int), "tagged": bool, "tlbs": tuple}
T = TypeVar("T")


def _read(where: str, kind: type[T], given: Any) -> T:
    """A dataclass from JSON data."""
    fields = kind.__dataclass_fields__  # type: ignore[attr-defined]
    needed = {name for name, field in fields.items() if field.default is MISSING}
    if not isinstance(given, dict) or not given.keys() <= fields.keys() or not needed <= given.keys():
        raise IrqlabError(f"{where}: must have {', '.join(fields)}")
    for name, value in given.items():
        right = type(value) is _TYPES[name] if name in _TYPES else _is_number(value)
        if not right:
            kinds = {str: "a string", int: "a whole number", bool: "true or false", tuple: "a list"}
            raise IrqlabError(f"{where}: {name} is {value!r}; it must be {kinds.get(_TYPES.get(name, float), 'a number')}")
    return kind(**given)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_latency(where: str, latency_ns: float, data_latency_ns: float | None = None) -> None:
    for name, value in (("latency_ns", latency_ns), ("data_latency_ns", data_latency_ns)):
        if value is not None and not 0 <= value <= MAX_LATENCY_NS:  # and not NaN
            raise IrqlabError(f"{where}: {name} is {value:g}; allowed are 0 to {MAX_LATENCY_NS:.0f}")


_SKYLAKE = "Intel Skylake-SP: I. Cutress, The Intel Skylake-X Review, AnandTech, 2017, page 4"
COMMON = Memory(
    "common",
    (
        Cache("L1I", 32 << 10, 8, 64, 0.0, source=_SKYLAKE),
        Cache("L1D", 32 << 10, 8, 64, 0.0, source=_SKYLAKE),
        Cache("L2", 1 << 20, 16, 64, 0.0, source=_SKYLAKE),
    ),
    0.0,
    source="none: nothing stalls",
)
"""Caches of a common processor that take no time, to count misses where no hardware is asked for."""
