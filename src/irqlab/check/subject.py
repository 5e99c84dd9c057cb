# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver under test with what it can do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from irqlab.config.addresses import INTERFACES
from irqlab.dut.facts import Facts, ask
from irqlab.trials.testbed import Testbed


@dataclass
class Subject:
    """The driver under test with what it can do."""

    testbed: Testbed

    @cached_property
    def facts(self) -> Facts:
        """Of the first interface. Raises IrqlabError if the DUT cannot be prepared."""
        with self.testbed.open() as dut:
            return ask(dut, INTERFACES[0])

    @property
    def has_time(self) -> bool:
        """Whether the NIC takes time to transmit, so that its ring can be full: the tester's own PCI cards and USB NICs."""
        return self.testbed.nic.is_own

    @property
    def is_pci_card(self) -> bool:
        """One of the tester's own PCI cards, whose interrupts and register writes can be delayed."""
        return bool(self.testbed.nic.pci_bus)

    @property
    def is_usb(self) -> bool:
        """Whether the NIC is on USB."""
        return bool(self.testbed.nic.usb_speed)
