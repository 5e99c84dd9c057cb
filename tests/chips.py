# SPDX-License-Identifier: GPL-2.0-or-later
"""What only a chip has, and the scripts of drivers/tests for it."""

from __future__ import annotations

OF_CHIPS = (
    "commands",
    "eeprom",
    "forced_link",
    "hw_counters",
    "identify",
    "microcode",
    "noqueue",
    "one_queue",
    "pause",
    "pci_error",
    "pci_reset",
    "registers",
    "rx_fcs",
    "selftest",
    "stale_wake",
    "wake",
    "no_answer",
)
"""Scripts for what our PCI drivers' chips have."""
CARDS = {"irqmod_i8255x": "irqlab-82559", "irqmod_i82574": "irqlab-82574", "irqmod_rtl8139cp": "irqlab-8139cp"}
"""The tester's models of these chips."""
