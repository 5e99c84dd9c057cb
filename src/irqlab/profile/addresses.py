# SPDX-License-Identifier: GPL-2.0-or-later
"""The Linux functions at which the context changes, for the tester's profiler (docs/inside/protocol.md, `profile`).

Sources: arch/x86/entry/entry_64.S, arch/x86/include/asm/idtentry.h, kernel/softirq.c, kernel/sched/idle.c of Linux 6.1 to 7.3.
"""

from __future__ import annotations

import re
from typing import Any

from irqlab.errors import IrqlabError
from irqlab.profile.symbols import Symbols

MARKS = {
    "vectors": r"irq_entries_start|spurious_entries_start",
    "interrupt": r"asm_common_interrupt|asm_spurious_interrupt|asm_sysvec_\w+",
    "exception": r"asm_exc_\w+",
    "softirq": r"__do_softirq|handle_softirqs",
    "idle": r"do_idle|cpu_startup_entry|schedule_idle",
    "switch": r"__switch_to_asm",
}
"""Mark of the protocol -> the names that have it."""

ENTERED_BY_PROCESSOR = re.compile(rf"{MARKS['vectors']}|asm_sysvec_\w+")
"""Each entry into one of these is one interrupt."""
SOFTIRQS = re.compile(r"__do_softirq|handle_softirqs")
"""Each entry is one run over the pending softirqs."""


def addresses(symbols: Symbols) -> dict[str, Any]:
    """The `addresses` of the protocol's `profile`. Raises IrqlabError if the kernel lacks a function."""
    marked = {mark: symbols.named(re.compile(names)) for mark, names in MARKS.items()}
    for mark, found in marked.items():
        if not found:
            raise IrqlabError(f"profile: the DUT's kernel has no function {MARKS[mark]}; irqlab knows Linux 6.1 to 7.3")
    inner = symbols.named(re.compile("handle_softirqs"))  # where there is one, __do_softirq does nothing but call it
    return {"functions": symbols.addresses, **marked, "softirq": inner or marked["softirq"]}
