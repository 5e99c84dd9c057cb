# SPDX-License-Identifier: GPL-2.0-or-later
"""Hardware costs: what real hardware charges for and an instruction clock does not (docs/cost-model.md)."""

from __future__ import annotations

from dataclasses import dataclass, fields

from irqlab.errors import IrqlabError

MAX_NS = 1_000_000.0
MAX_BYTE_NS = 1_000.0


@dataclass(frozen=True)
class Costs:
    """Virtual time charged per event, in ns; fractions down to 0.001."""

    irq: float = 0.0
    """A device's interrupt handler is entered."""
    byte: float = 0.0
    """A byte received, and again a byte sent; the FCS is not counted."""
    netif_rx: float = 0.0
    """A frame takes the way over the backlog."""
    free: float = 0.0
    """A buffer is freed."""
    free_irq: float = 0.0
    """On top of `free`, if an interrupt handler freed it (dev_kfree_skb_irq())."""
    softirq: float = 0.0
    """A pass of NET_RX or NET_TX."""

    def __post_init__(self) -> None:
        for name, value in self.nonzero().items():
            most = MAX_BYTE_NS if name == "byte" else MAX_NS
            if not 0 <= value <= most:  # and not NaN
                raise IrqlabError(f"--cost {name}={value:g}: allowed are 0 to {most:.0f} ns")

    @classmethod
    def parse(cls, text: str, base: Costs | None = None) -> Costs:
        """Costs from "irq=1500,byte=16.5"; what is not named is as in `base`. Raises IrqlabError."""
        found = dict(base.nonzero()) if base else {}
        seen: set[str] = set()
        for part in text.split(","):
            name, equals, number = (word.strip() for word in part.partition("="))
            if name not in TERMS or not equals:
                raise IrqlabError(f"--cost {part.strip()!r}: it takes NAME=NS, comma-separated; names are {', '.join(TERMS)}")
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
"""The names there are."""
