# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the DUT's kernel log and detects problems in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from irqlab.errors import IrqlabError

INFO = 6
"""The level of informational messages (include/linux/kern_levels.h); lower is more severe."""
PROBLEM = re.compile(
    r"WARNING: CPU|BUG:|Oops|Call Trace|self-detected stall|detected stalls|soft lockup|hung_task|blocked for more than"
    r"|NETDEV WATCHDOG|general protection fault|refcount_t:|UBSAN|KASAN|nobody cared|swiotlb buffer is full"
    r"|page allocation failure|NOHZ tick-stop error|Runtime PM usage count underflow|exceeding its budget|Detected \w+ Unit Hang"
)
"""Kernel log lines that make a run fail at any level, and whatever is done to the driver."""


@dataclass(frozen=True)
class Harmless:
    """A message above info that says nothing against the driver."""

    pattern: str
    reason: str
    slow_host: bool = False
    """Only without the instruction clock, when the host takes time from a virtual processor."""


HARMLESS = (
    Harmless(r"^random: crng (init done|reseeded)", "the kernel has enough entropy; again after a suspend"),
    Harmless(r"^[\w-]+: loading out-of-tree module taints kernel\.$", "the user's own module, or one of ours"),
    Harmless(r"^[\w-]+: module verification failed: signature and/or required key missing", "it is not signed"),
    Harmless(
        r"firmware: failed to load \S+ \(-2\)$|Direct firmware load for \S+ failed with error -2$"
        r"|^firmware_class: See https://wiki\.debian\.org/Firmware|CPUSaver disabled\. Needs ",
        "the DUT has no firmware, which is in Debian's non-free; a driver that needs it does not come up",
    ),
    Harmless(r"^[\w-]+: module license '.*' taints kernel\.$", "it is not free"),
    Harmless(r"^Disabling lock debugging due to kernel taint$", "the same"),
    Harmless(r"^[\w-]+: module is from the staging directory, the quality is unknown", "in-tree, in drivers/staging"),
    Harmless(
        r"^(\(elapsed \d+\.\d{3} seconds\) )?done\.$", "the end of a line about a suspend, if another message came in between"
    ),
    Harmless(r"xHC error in resume, USBSTS 0x401, Reinit|root hub lost power or was reset", "QEMU resets its xHCI in a suspend"),
    Harmless(
        r"lan78xx .*kevent \d+ may have been dropped$",
        "the kernel's lan78xx: its work was already queued, and sees the event's bit, which is set before",
    ),
    Harmless(r"^hrtimer: interrupt took \d+ ns", "several timers expired together, or the handler was not run for a time"),
    Harmless(r"^clocksource: Long readout interval", "in overload the kernel does not come to read a clock"),
    Harmless(r"^clocksource: ", "a clock was not read for a time", True),
    Harmless(r"^perf: interrupt took too long", "the handler was not run for a time", True),
    Harmless(r"^CE: \w+ increased min_delta_ns to \d+ nsec", "a timer was programmed too late", True),
    Harmless(r"^workqueue: \S+ (\[\w+\] )?hogged CPU for >\d+us", "the work was not run for a time", True),
    Harmless(r"^atkbd serio0: Spurious ACK|^serio serio\d: deferred probe pending", "QEMU's keyboard answered late", True),
    Harmless(
        r"^xhci_hcd \S+ (ERROR Transfer event TRB DMA ptr not part of current TD |Looking for event-dma "
        r"|WARN Successful completion on short TX$|bad transfer trb length \d+ in event trb$)",
        "QEMU's xHCI loses transfers when an endpoint is stopped (docs/use/findings.md); a measurement must not lose one",
        True,
    ),
)
"""All other messages above info are problems, from the driver's load on."""
RULE = re.compile("={60,}$")
"""The first and the last line of a report of KASAN or KCSAN."""
CUT, END = "[ cut here ]", "[ end trace "
"""In the first and the last line of a warning's report."""
HARMLESS_WARNING = "cacheline tracking EEXIST, overlapping mappings aren't supported"
"""DMA debugging's warning, once, when two small buffers in one cache line are mapped at the same time. The USB core allocates
such buffers for control transfers: two devices suffice. On x86 caches are coherent, and nothing is wrong."""
MAPPED_AT = "DMA-API: Mapped at:"
"""Followed by functions, each behind a space."""
SHOWN_BEFORE, SHOWN_AFTER = 5, 40
"""Lines shown around the first problem."""


class KernelProblemError(IrqlabError):
    """The DUT's kernel logged a warning, an oops or a stall; the message shows it."""


@dataclass(frozen=True)
class Record:
    """A record of the log."""

    level: int
    text: str


class GuestCalls(Protocol):
    """What reaches an agent."""

    def guest(self, command: str, limit_ns: int | None = None, watched: bool = True, **arguments: Any) -> Any:
        """Sends a command to the agent; returns its answer."""


class KernelLog:
    """Reads the log through the agent, each record once.

    `may_log`: regular expressions of further messages that are harmless. `slow_host`: there is no instruction clock.
    """

    def __init__(self, rpc: GuestCalls, may_log: Sequence[str] = (), slow_host: bool = False) -> None:
        self._rpc = rpc
        self._may_log = tuple(may_log)
        self._slow_host = slow_host
        self._problem: int | None = None
        """The first line that is a problem, whatever is done to the driver."""
        self._message: int | None = None
        """The first line that is a message above info, and not harmless."""
        self.lines: list[str] = []
        """All lines read so far."""
        self.messages: list[str] = []
        """Those above info, except harmless ones."""

    def news(self) -> list[Record]:
        """Reads the records logged since the last call."""
        records = without_harmless([Record(int(r["level"]), str(r["text"])) for r in self._rpc.guest("kmsg")["records"]])
        for record in records:
            if self._problem is None and PROBLEM.search(record.text):
                self._problem = len(self.lines)
            if notable([record], self._may_log, self._slow_host):
                self._message = len(self.lines) if self._message is None else self._message
                self.messages.append(record.text)
            self.lines.append(record.text)
        return records

    def forget(self) -> None:
        """Reads what there is, which is nobody's fault."""
        self.news()
        self._problem = self._message = None
        self.lines.clear()
        self.messages.clear()

    def check(self, messages: bool = True) -> None:
        """Reads new records. Raises KernelProblemError if there is, or ever was, a problem.

        Without `messages`, only what is in PROBLEM is one: the kernel boots, say, or calls are made to fail.
        """
        self.news()
        found = [first for first in (self._problem, self._message if messages else None) if first is not None]
        if found:
            first = min(found)
            shown = self.lines[max(0, first - SHOWN_BEFORE) : first + SHOWN_AFTER]
            raise KernelProblemError(
                f"the DUT's kernel logged a problem: {self.lines[first].strip()}\n" + "\n".join(f"  {line}" for line in shown)
            )


def without_harmless(records: list[Record]) -> list[Record]:
    """The records without the reports of HARMLESS_WARNING. Behind a report, DMA debugging may say where the buffer was mapped."""
    found: list[Record] = []
    inside = ended = mapped = False
    for record in records:
        mapped = (ended and record.text == MAPPED_AT) or (mapped and record.text.startswith(" "))
        ended = inside and END in record.text
        if mapped:
            continue
        if HARMLESS_WARNING in record.text and found and CUT in found[-1].text:
            found.pop()
            inside = True
        if not inside:
            found.append(record)
        inside = inside and not ended
    return found


def without_races_of_others(records: list[Record], modules: Collection[str]) -> list[Record]:
    """The records without KCSAN's reports on races in which no function of `modules` takes part: the kernel has many."""
    found: list[Record] = []
    report: list[Record] = []
    for record in records:
        if not report and not RULE.match(record.text):
            found.append(record)
            continue
        report.append(record)
        if len(report) == 2 and not record.text.startswith("BUG: KCSAN"):
            found += report
            report = []
        elif len(report) > 2 and RULE.match(record.text):
            if any(f"[{module}]" in line.text for line in report for module in modules):
                found += report
            report = []
    return found + report


def notable(records: Iterable[Record], may_log: Sequence[str] = (), slow_host: bool = False) -> list[str]:
    """Messages above info, except those of HARMLESS and those that match a regular expression of `may_log`."""
    harmless = [one.pattern for one in HARMLESS if slow_host or not one.slow_host] + list(may_log)
    return [r.text for r in records if r.level < INFO and not any(re.search(pattern, r.text) for pattern in harmless)]
