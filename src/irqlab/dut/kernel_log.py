# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the DUT's kernel log and detects problems in it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from irqlab.errors import IrqlabError
from irqlab.qemu.rpc import Rpc

INFO = 6
"""The level of informational messages (include/linux/kern_levels.h); lower is more severe."""
PROBLEM = re.compile(
    r"WARNING: CPU|BUG:|Oops|Call Trace|self-detected stall|detected stalls|soft lockup|hung_task|blocked for more than"
    r"|NETDEV WATCHDOG|general protection fault|refcount_t:|UBSAN|KASAN|nobody cared|swiotlb buffer is full"
    r"|page allocation failure"
)
"""Kernel log lines that make a run fail."""
EXPECTED = re.compile(r"^random: crng init done")
"""Messages above info that every kernel logs."""
SLOW_HOST = (
    r"^hrtimer: interrupt took \d+ ns|^clocksource: |^perf: interrupt took too long|^CE: \w+ increased min_delta_ns to \d+ nsec"
    r"|^workqueue: \S+ (\[\w+\] )?hogged CPU for >\d+us|^atkbd serio0: Spurious ACK|^serio serio\d: deferred probe pending"
)
"""Messages above info about time that the host took from a virtual processor; for runs without the instruction clock."""
QEMU_USB = (
    r"^xhci_hcd \S+ (ERROR Transfer event TRB DMA ptr not part of current TD |Looking for event-dma "
    r"|WARN Successful completion on short TX$|bad transfer trb length \d+ in event trb$)"
)
"""Messages above info about transfers that QEMU's xHCI loses when an endpoint is stopped (docs/findings.md)."""
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


class KernelLog:
    """Reads the log through the agent, each record once."""

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc
        self.lines: list[str] = []
        """All lines read so far."""
        self.messages: list[str] = []
        """Those above info, except those that every kernel logs."""

    def news(self) -> list[Record]:
        """Reads the records logged since the last call."""
        records = without_harmless([Record(int(r["level"]), str(r["text"])) for r in self._rpc.guest("kmsg")["records"]])
        self.lines += [record.text for record in records]
        self.messages += notable(records)
        return records

    def check(self) -> None:
        """Reads new records. Raises KernelProblemError if there is, or ever was, a problem."""
        self.news()
        first = next((n for n, line in enumerate(self.lines) if PROBLEM.search(line)), None)
        if first is not None:
            shown = self.lines[max(0, first - SHOWN_BEFORE) : first + SHOWN_AFTER]
            raise KernelProblemError("the DUT's kernel logged a problem:\n" + "\n".join(f"  {line}" for line in shown))


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


def notable(records: list[Record], expected: str = "") -> list[str]:
    """Messages above info, except those that every kernel logs or that match the regular expression `expected`."""
    return [
        r.text
        for r in records
        if r.level < INFO and not EXPECTED.search(r.text) and not (expected and re.search(expected, r.text))
    ]
