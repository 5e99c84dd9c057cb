# SPDX-License-Identifier: GPL-2.0-or-later
"""Linux 6.12 with docs/patches/softirq-2.6.15.patch, which makes sysctls of two properties of the paper's softirqs (--long)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from irqlab.reproduce import patches
from irqlab.reproduce.session import Session
from irqlab.trials.testbed import Testbed

SERIES = "6.12"
PATCH = "docs/patches/softirq-2.6.15.patch"
NAME = f"{SERIES}, patched"
"""As the tables call this kernel."""
KCONFIG = Path(__file__).with_name("schedstats.config")
"""Without it ksoftirqd's run time reads as 0."""


def on_tree(session: Session, sysctls: tuple[tuple[str, str], ...] = ()) -> Testbed:
    """The session's, on this kernel; it is built first, if need be, which takes minutes."""
    dut = replace(session.config.dut, sysctls=sysctls)
    return session.testbed(kernel=patches.kernel(SERIES, PATCH), kconfig=(str(KCONFIG),), dut=dut)
