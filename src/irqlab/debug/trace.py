# SPDX-License-Identifier: GPL-2.0-or-later
"""What a driver executes in a part of a trial: its functions, its accesses to the NIC, and how its state changes.

The driver's code is executed one instruction at a time; the kernel's runs up to the driver's next instruction. Pauses take no
virtual time, so the trial goes as without them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from irqlab import units
from irqlab.config.values import Count
from irqlab.debug.debuggee import Debuggee, Goto, Pause, Run, Script
from irqlab.debug.state import State, state_of
from irqlab.debug.symbols import sections_of
from irqlab.errors import IrqlabError
from irqlab.present.columns import Col
from irqlab.profile.kallsyms import symbols
from irqlab.profile.listing import Instruction, Listing, of_module
from irqlab.profile.symbols import Symbols
from irqlab.setup import debug_symbols
from irqlab.trials.testbed import Testbed
from irqlab.trials.trial import Trial

MOST_INSTRUCTIONS = 20_000
"""Of the driver; a longer trace ends there."""
MOST_CHANGES = 12
"""Fields shown at a step."""
NAMES = ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", *(f"r{n}" for n in range(8, 16)), "rip")
"""The order of 64-bit registers in the stub (GDB's org.gnu.gdb.i386.core)."""
_LOW = {"al": "rax", "bl": "rbx", "cl": "rcx", "dl": "rdx", "sil": "rsi", "dil": "rdi", "bpl": "rbp"}
_MEMORY = re.compile(r"(?<![\w:])(-?0x[0-9a-f]+)?\(((?:%\w+)?(?:,%\w+(?:,\d)?)?)\)")
_PORT = re.compile(r"^(in|out)[bwl]? ")
_IO = re.compile(r"^io(read|write)(8|16|32)(be)?$")
_LOCKS = re.compile(r"_raw_(spin|read|write)_|__local_bh_|preempt_")
_ONLY_READS = ("cmp", "test", "bt ")


@dataclass(frozen=True)
class Event:
    """Something that happens to the DUT at a known instant."""

    at_ns: int
    """From the start of the window."""
    text: str


@dataclass(frozen=True)
class Step:
    """A step of a trace."""

    at_ns: Annotated[int, Col("at", format=lambda ns: f"{ns} ns", title="after the first event")]
    what: Annotated[str, Col("Step")]
    """event, enter, leave, call, read, write, interrupted, end."""
    text: Annotated[str, Col("Function")]
    depth: Count
    """How many functions of the driver are around it."""
    line: Annotated[str, Col("Source")]
    """file:line; empty: not known."""
    changed: Annotated[tuple[str, ...], Col("Changed since the step before", format=lambda many: "; ".join(many))]
    """Fields of the driver's objects: name, old and new value."""
    registers: Annotated[str, Col("NIC")]
    """Cause and mask registers, for models in which they can be read without effect."""


@dataclass
class _Frame:
    function: str
    back: int
    """Where it returns to."""


@dataclass
class _Wait:
    """The kernel executes something that was called by the driver, or interrupts it."""

    back: int
    read: str = ""
    """The NIC's register that a function of the kernel reads for the driver."""


@dataclass
class Tracer:
    """Traces part of a trial. Times are in ns from the start of the window; those of steps from `origin_ns`."""

    debuggee: Debuggee
    code: Listing
    symbols: Symbols
    state: State
    origin_ns: int
    end_ns: int
    events: list[Event]
    steps: list[Step] = field(default_factory=list)
    _frames: list[_Frame] = field(default_factory=list)
    _waits: list[_Wait] = field(default_factory=list)
    _points: set[int] = field(default_factory=set)
    _last: int = 0
    """The driver's instruction that was executed last."""

    def script(self) -> Script[list[Step]]:
        """Traces from the first event on."""
        pause = yield Goto(min(event.at_ns for event in self.events))
        entries = self.code.entries()
        for address in entries:
            self._point(address, True)
        self.state.changes(self.debuggee.stub.read)
        left = MOST_INSTRUCTIONS
        registers = self._registers()
        while pause.now_ns < self.end_ns and left:
            self._happened(pause, registers)
            here = self.code.at(registers["rip"])
            until_ns = min([event.at_ns for event in self.events] or [self.end_ns])
            if here is None:
                if self._waits:
                    self._point(self._waits[-1].back, True)
                pause = yield Run(until_ns)
                registers = self._registers()
                self._came(pause, registers, entries)
                continue
            left -= 1
            self._last = here.address
            before = registers
            pause = yield Run(until_ns, b"s")
            registers = self._registers()
            if registers != before:
                self._stepped(pause, here, before, registers)
        self._happened(pause, registers)
        if pause.idle_since_ns < pause.now_ns:
            self._add(pause.idle_since_ns, "end", "the processor idles from here on")
        elif not left:
            self._add(pause.now_ns, "end", f"the trace ends after {MOST_INSTRUCTIONS} instructions of the driver")
        return self.steps

    # What happened

    def _happened(self, pause: Pause, registers: dict[str, int]) -> None:
        """Adds the events up to a pause."""
        for event in [event for event in self.events if event.at_ns <= pause.now_ns]:
            self.events.remove(event)
            idles = pause.idle_since_ns < pause.now_ns
            where = "while the processor idles" if idles else self._between(registers["rip"])
            self._add(event.at_ns, "event", f"{event.text}, {where}", self._line(registers["rip"]))

    def _between(self, address: int) -> str:
        """What the processor executes next, and what the driver has executed before."""
        there, last = self.code.at(address), self.code.at(self._last)
        where = f"before {self._name(address)}{_text(there)}"
        return where if there is None or last is None else f"{where}, after {self._name(self._last)}{_text(last)}"

    def _came(self, pause: Pause, registers: dict[str, int], entries: dict[int, str]) -> None:
        """The kernel has run: to an event, to where the driver was left, or to the beginning of a function of the driver."""
        address = registers["rip"]
        if self._waits and address == self._waits[-1].back:
            wait = self._waits.pop()
            if address not in entries:
                self._point(address, False)
            if wait.read:
                self._add(pause.now_ns, "read", f"{wait.read} = {registers['rax'] & 0xFFFFFFFF:#x}", self._line(address))
        elif address in entries:
            self._entered(pause, registers)

    def _stepped(self, pause: Pause, here: Instruction, before: dict[str, int], now: dict[str, int]) -> None:
        """An instruction of the driver was executed."""
        self._accessed(pause, here, before, now)
        stack, address = now["rsp"], now["rip"]
        inside = self.code.at(address) is not None
        if address == here.next:
            return
        # A call through a register is shorter once the kernel has loaded the module.
        called = stack == before["rsp"] - 8 and here.address < (back := self._word(stack)) <= here.next
        if called and inside:
            self._entered(pause, now)
        elif called:
            self._called(pause, back, now)
        elif stack == before["rsp"] + 8 and address == self._word(before["rsp"]):
            self._left(pause, here)
        elif not inside:
            if stack == before["rsp"] and self._frames and self._word(stack) == self._frames[-1].back:
                self._called(pause, self._frames[-1].back, now)  # the last thing that the function does
                self._left(pause, here)
            else:
                self._add(pause.now_ns, "interrupted", f"{self._name(here.address)}, by {self._name(address)}", here.line)
                self._waits.append(_Wait(here.next if here.text.startswith("sti") else self._back(here, now)))
        elif (found := self.code.at(address)) is not None and found.function != here.function:
            if self._frames:
                self._add(pause.now_ns, "leave", self._frames.pop().function, here.line)
            self._entered(pause, now)

    def _back(self, here: Instruction, now: dict[str, int]) -> int:
        """Where an interrupt returns to: the processor has pushed it, perhaps below an error code."""
        known = [self._word(now["rsp"] + 8 * n) for n in range(3)]
        return next((address for address in known if self.code.at(address) is not None), here.next)

    def _entered(self, pause: Pause, registers: dict[str, int]) -> None:
        back = self._word(registers["rsp"])
        function = self._name(registers["rip"])
        caller = "" if self.code.at(back) is not None else f", called by {self._name(back)}"
        self._add(pause.now_ns, "enter", function + caller, self._line(registers["rip"]))
        self._frames.append(_Frame(function, back))

    def _left(self, pause: Pause, here: Instruction) -> None:
        if self._frames:
            function = self._frames.pop().function
            self._add(pause.now_ns, "leave", function, here.line)

    def _called(self, pause: Pause, back: int, now: dict[str, int]) -> None:
        """The driver has called a function of the kernel."""
        name = self.symbols.at(now["rip"]).name
        self._waits = [wait for wait in self._waits if wait.back != back]
        if match := _IO.match(name):
            reads = match[1] == "read"
            place = self._place(now["rdi"] if reads else now["rsi"])
            if not reads:
                self._add(pause.now_ns, "write", f"{place} = {now['rdi'] & 0xFFFFFFFF:#x}", self._line(back))
            if self.code.at(back) is not None:
                self._waits.append(_Wait(back, place if reads else ""))
            return
        if not _LOCKS.match(name):
            self._add(pause.now_ns, "call", name, self._line(back))
        if self.code.at(back) is not None:
            self._waits.append(_Wait(back))

    def _accessed(self, pause: Pause, here: Instruction, before: dict[str, int], now: dict[str, int]) -> None:
        """Adds an access to the NIC, if that was one."""
        if match := _PORT.match(here.text):
            reads = match[1] == "in"
            value = (now if reads else before)["rax"] & 0xFFFFFFFF
            text = f"port {before['rdx'] & 0xFFFF:#x} = {value:#x}"
            self._add(pause.now_ns, "read" if reads else "write", text, here.line)
            return
        operand = _MEMORY.search(here.text)
        if operand is None or here.text.startswith(("lea", "nop", "call", "jmp", "prefetch")):
            return
        address = _address(operand, before)
        place = self.state.register(address)
        if place is None:
            return
        source, _, target = here.text.partition(" ")[2].strip().rpartition(",")
        writes = target.endswith(")") and not here.text.startswith(_ONLY_READS)
        other = source if target.endswith(")") else target
        content = _value(other, before if writes else now)
        shown = f" = {content:#x}" if content is not None else ""
        self._add(pause.now_ns, "write" if writes else "read", place + shown, here.line)

    # Helpers

    def _add(self, at_ns: int, what: str, text: str, line: str = "") -> None:
        read = self.debuggee.stub.read
        changed = self.state.changes(read)
        more = (f"and {len(changed) - MOST_CHANGES} more",) if len(changed) > MOST_CHANGES else ()
        self.steps.append(
            Step(
                at_ns=at_ns - self.origin_ns,
                what=what,
                text=text,
                depth=len(self._frames),
                line=line,
                changed=(*changed[:MOST_CHANGES], *more),
                registers=self.state.registers(read),
            )
        )

    def _registers(self) -> dict[str, int]:
        return dict(zip(NAMES, struct.unpack_from("<17Q", self.debuggee.stub.registers()), strict=True))

    def _word(self, address: int) -> int:
        try:
            return int.from_bytes(self.debuggee.stub.read(address, 8), "little")
        except IrqlabError:
            return 0

    def _name(self, address: int) -> str:
        return named(self.code, self.symbols, address)

    def _line(self, address: int) -> str:
        one = self.code.at(address)
        return one.line if one is not None else ""

    def _place(self, address: int) -> str:
        # lib/iomap.c: ports are cookies from 0x10000 on.
        return self.state.register(address) or (f"port {address - 0x10000:#x}" if address < 0x40000 else f"{address:#x}")

    def _point(self, address: int, wanted: bool) -> None:
        if (address in self._points) != wanted:
            self.debuggee.stub.breakpoint(address, wanted)
            (self._points.add if wanted else self._points.discard)(address)


def _address(operand: re.Match[str], registers: dict[str, int]) -> int:
    """The address of a memory operand: displacement(base,index,scale)."""
    parts = [part.strip("%") for part in operand[2].split(",")]
    total = int(operand[1] or "0", 16) + registers.get(parts[0], 0)
    if len(parts) > 1:
        total += registers.get(parts[1], 0) * (int(parts[2]) if len(parts) > 2 else 1)
    return total & 0xFFFF_FFFF_FFFF_FFFF


def _value(operand: str, registers: dict[str, int]) -> int | None:
    """The value of an immediate or a register, in its width; None: it is neither."""
    if operand.startswith("$"):
        return int(operand[1:], 0) & 0xFFFF_FFFF_FFFF_FFFF
    name = operand.strip("%")
    if name in registers:
        return registers[name]
    for width, found in (
        (8, _LOW.get(name) or (name.removesuffix("b") if name.endswith("b") else None)),
        (32, f"r{name[1:]}" if name.startswith("e") else name.removesuffix("d") if name.endswith("d") else None),
        (16, f"r{name}" if len(name) == 2 else name.removesuffix("w") if name.endswith("w") else None),
    ):
        if found in registers:
            return registers[found] & ((1 << width) - 1)
    return None


def _text(one: Instruction | None) -> str:
    return f" ({' '.join(one.text.split())})" if one is not None and one.text else ""


def named(code: Listing, known: Symbols, address: int) -> str:
    """The driver's function at an address and the offset into it, or the kernel's function."""
    one = code.at(address)
    if one is None:
        return known.at(address).name
    entry = next((at for at, name in code.entries().items() if name == one.function), address)
    return one.function + (f"+{address - entry:#x}" if address > entry else "")


def listing(testbed: Testbed) -> Listing:
    """The code of the driver under test, and of our engine if it is built on that. Raises IrqlabError."""
    sections = sections_of(testbed)
    found: list[Instruction] = []
    for module in driver_modules(testbed):
        debug = debug_symbols.of_module(testbed.machine.kernel, module)
        found += of_module(module.data, sections.get(module.name, {}), debug)
    return Listing(sorted(found, key=lambda one: one.address))


def driver_modules(testbed: Testbed) -> list[Any]:
    """The modules that make up the driver: itself, and those whose names begin alike (irqmod for irqmod_i8255x)."""
    driver = testbed.modules[-1]
    return [module for module in testbed.modules if module is driver or module.name.split("_")[0] == driver.name.split("_")[0]]


def trace(testbed: Testbed, trial: Trial[Any], events: Sequence[Event], end_ns: int, origin_ns: int) -> list[Step]:
    """Traces a trial from the first event to `end_ns`, in ns from the start of its window. Raises IrqlabError.

    Steps have their times from `origin_ns`.
    """
    debuggee = Debuggee(testbed, trial)
    ordered = sorted(events, key=lambda event: event.at_ns)
    tracer = Tracer(debuggee, listing(testbed), symbols(testbed), state_of(testbed), origin_ns, end_ns, ordered)
    return debuggee.run(tracer.script())


def held_by(steps: Sequence[Step], from_ns: int, until_ns: int) -> str:
    """The driver's functions that ran in a part of a trace, each with its time, the longest first; times as those of steps.

    Those that ran for less than a tenth of it are left out. What the driver did not execute is the kernel's.
    """
    whole = max(until_ns - from_ns, 1)
    spent: dict[str, int] = {}
    running: tuple[str, int] | None = None
    for step in steps:
        if step.what == "enter" and step.depth == 0:
            running = (step.text.split(",")[0], step.at_ns)
        elif step.what == "leave" and step.depth == 0 and running is not None:
            name, began_ns = running
            spent[name] = spent.get(name, 0) + max(min(step.at_ns, until_ns) - max(began_ns, from_ns), 0)
            running = None
    spent["the kernel"] = whole - sum(spent.values())
    longest = sorted(((ns, name) for name, ns in spent.items() if ns * 10 >= whole), reverse=True)
    return ", ".join(f"{name} {units.duration(ns)}" for ns, name in longest)


def shown(steps: Sequence[Step], before: int, after: int, at_ns: int | None) -> list[str]:
    """Lines of text: the steps around the event at an instant, or around the last one; it is marked."""
    events = [n for n, step in enumerate(steps) if step.what == "event"]
    middle = next((n for n in events if steps[n].at_ns == at_ns), max(events, default=0))
    first = max(middle - before, 0)
    chosen = steps[first : middle + after + 1]
    lines, nic = [], ""
    for number, step in enumerate(chosen, first):
        mark = ">" if number == middle and step.what == "event" else " "
        text = f"{mark}{step.at_ns:>8} ns  {'  ' * step.depth}{step.what} {step.text}".rstrip()
        lines.append(units.plain(text + (f"  [{step.line}]" if step.line else "")))
        lines += [f"{'':14}{'  ' * step.depth}{change}" for change in step.changed]
        if step.registers and step.registers != nic:
            nic = step.registers
            lines.append(f"{'':14}{'  ' * step.depth}{nic}")
    rest = len(steps) - len(chosen)
    return [*lines, f"({rest} more steps are in the report and in the JSON file)"] if rest > 0 else lines
