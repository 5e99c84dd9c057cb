# SPDX-License-Identifier: GPL-2.0-or-later
"""What a driver and its NIC say of themselves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.check.rows import races
from irqlab.dut import facts as interface

LINE = " 10:      45   XT-PIC      eth0\n"
MESSAGES = " 24:  1   PCI-MSI 65536-edge      eth0-rx-0\n 25:  1   PCI-MSI 65537-edge      eth0\n"


class Agent:
    """A DUT whose programs say nothing."""

    def __init__(self, interrupts: str) -> None:
        self.interrupts = interrupts

    def attempt(self, *_: str) -> dict[str, Any]:
        """A program."""
        return {"code": 0, "out": "", "err": ""}

    def read(self, *paths: str) -> dict[str, str]:
        """A file."""
        return dict.fromkeys(paths, self.interrupts)


@pytest.mark.parametrize(
    ("interrupts", "messages"), [(LINE, False), (MESSAGES, True), (LINE + MESSAGES.replace("eth0", "eth1"), False)]
)
def test_whether_interrupts_are_messages(interrupts: str, messages: bool) -> None:
    facts = interface.ask(Agent(interrupts), "eth0")  # type: ignore[arg-type]
    assert facts.messages == messages
    outcome = races._needs_line(SimpleNamespace(is_pci_card=True, facts=facts))  # type: ignore[arg-type]
    assert (outcome.status if outcome else "") == ("not supported" if messages else "")
