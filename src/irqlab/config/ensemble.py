# SPDX-License-Identifier: GPL-2.0-or-later
"""Ensembles: the same measurement repeated by members that differ only in what should not matter."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from irqlab.errors import IrqlabError

VARIANTS = 4
"""How many boots and driver loads the members share: each has a snapshot of about 100 MB. Member k has number k % VARIANTS."""
MAX_MEMBERS = 100


@dataclass(frozen=True)
class Member:
    """A member: what is perturbed in its trials, and by which random numbers. Member 0 is not perturbed at all."""

    number: int
    seed: int = 1
    perturb: tuple[str, ...] = ()
    """Names of perturbations (irqlab.perturb)."""

    @property
    def variant(self) -> int:
        """Which boot and driver load it has; 0: not perturbed."""
        return self.number % VARIANTS

    def cheap(self, name: str) -> Random:
        """The random numbers of a perturbation that is made anew for every trial."""
        return Random(f"{name} {self.seed} {self.number}")

    def shared(self, name: str) -> Random:
        """The random numbers of a perturbation that is part of a snapshot: the same for every seed."""
        return Random(f"{name} {self.variant}")


@dataclass(frozen=True)
class Ensemble:
    """How many members there are, and what is perturbed. Raises IrqlabError for a number out of range."""

    members: int = 1
    """1: results as without an ensemble."""
    perturb: tuple[str, ...] = ()
    """Names of perturbations (irqlab.perturb)."""
    seed: int = 1
    variants: int = VARIANTS
    """How many of the boots and driver loads are used."""

    def __post_init__(self) -> None:
        if not 1 <= self.members <= MAX_MEMBERS:
            raise IrqlabError(f"--ensemble {self.members}: allowed are 1 (no ensemble) to {MAX_MEMBERS}")

    @property
    def single(self) -> bool:
        """Whether nothing is perturbed."""
        return self.members == 1

    def cast(self) -> tuple[Member | None, ...]:
        """The members; None: not perturbed."""
        if self.single:
            return (None,)
        return tuple(Member(self.number(place), self.seed, self.perturb) for place in range(self.members))

    def number(self, place: int) -> int:
        """The number of the member in this place."""
        return place // self.variants * VARIANTS + place % self.variants
