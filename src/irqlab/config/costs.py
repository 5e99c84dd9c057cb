# SPDX-License-Identifier: GPL-2.0-or-later
"""Hardware costs: time that real hardware takes but that an instruction clock does not see (docs/use/costs.md)."""

from __future__ import annotations

from dataclasses import dataclass, fields

from irqlab.errors import IrqlabError

MAX_NS = 1_000_000.0
MAX_BYTE_NS = 1_000.0


@dataclass(frozen=True)
class Costs:
    """Virtual time charged per event, in ns; fractions down to 0.001."""

    irq: float = 0.0
    """Entry into a device's interrupt handler."""
    byte: float = 0.0
    """Each byte received, and each byte sent, without FCS."""
    netif_rx: float = 0.0
    """A frame passes through the backlog."""
    free: float = 0.0
    """A buffer is freed."""
    free_irq: float = 0.0
    """In addition to `free`, if freed by an interrupt handler (dev_kfree_skb_irq())."""
    softirq: float = 0.0
    """A run of NET_RX or NET_TX."""

    def __post_init__(self) -> None:
        for name, value in self.nonzero().items():
            most = MAX_BYTE_NS if name == "byte" else MAX_NS
            if not 0 <= value <= most:  # and not NaN
                raise IrqlabError(f"--cost {name}={value:g}: allowed are 0 to {most:.0f} ns")

    @classmethod
    def parse(cls, text: str, base: Costs | None = None) -> Costs:
        """Costs from "irq=1500,byte=16.5"; others are taken from `base`. Raises IrqlabError."""
        found = dict(base.nonzero()) if base else {}
        seen: set[str] = set()
        for part in text.split(","):
            name, equals, number = (word.strip() for word in part.partition("="))
            if name not in TERMS or not equals:
                raise IrqlabError(f"--cost {part.strip()!r}: must be NAME=NS,...; allowed names are {', '.join(TERMS)}")
            if name in seen:
                raise IrqlabError(f"--cost: {name} is given twice")
            seen.add(name)
            try:
                found[name] = float(number)
            except ValueError:
                raise IrqlabError(f"--cost {name}={number}: not a number of ns") from None
        return cls(**found)

    def nonzero(self) -> dict[str, float]:
        """The costs that are not 0, by name."""
        return {term: value for term in TERMS if (value := float(getattr(self, term))) != 0}

    def __bool__(self) -> bool:
        return bool(self.nonzero())

    def __str__(self) -> str:
        return ",".join(f"{name}={value:g}" for name, value in self.nonzero().items()) or "none"


TERMS = tuple(field.name for field in fields(Costs))
"""The names of all costs."""
