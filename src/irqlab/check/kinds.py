# SPDX-License-Identifier: GPL-2.0-or-later
"""The kind of a fault: what the kernel reports, or the symptom, without what differs from one time to the next."""

from __future__ import annotations

import re

REPORTS = re.compile(
    r"WARNING: CPU: .* at (?P<warning>\S+) (?P<at>\w+)\+0x|(?P<bug>(?:kernel )?BUG:? (?:at \S+!|[^\n]*?)(?=, address|\n|$))"
    r"|(?P<other>general protection fault|NETDEV WATCHDOG|divide error|int3|invalid opcode)"
)
RIP = re.compile(r"RIP: [0-9a-f]+:(\w+)(?:\.\w+)*\+0x")
NUMBERS = re.compile(r"\b0x[0-9a-f]+|\b[0-9a-f]{16}\b|\d[\d\u202f.,]*")
DETAILS = re.compile(r"; its kernel is in .*|; replay: .*|, at # of .*")


def kind(text: str) -> str:
    """Of a text about what went wrong. The same fault has the same kind, wherever its code and data are."""
    report = REPORTS.search(text)
    if report is None and (died := RIP.search(text)) is not None:
        return f"the kernel died in {died[1]}()"
    if report is None:
        return DETAILS.sub("", NUMBERS.sub("#", text.splitlines()[0] if text else ""))
    if report["warning"]:
        return f"WARNING at {report['warning'].partition(':')[0]} {report['at']}()"
    place = RIP.search(text, report.start())
    return NUMBERS.sub("#", report["bug"] or report["other"]) + (f" in {place[1]}()" if place else "")
