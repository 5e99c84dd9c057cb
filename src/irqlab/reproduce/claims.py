# SPDX-License-Identifier: GPL-2.0-or-later
"""What a paper claims, held against what was measured.

A claim knows where the paper makes it and how to test it on the tables. The words of the answer take their figures from the
tables, so that no sentence can differ from what was measured. What this project aims at or expects is tested in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

from irqlab.units import plain

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
E = TypeVar("E")

AIM = "Aim of this project"
EXPECTED = "Expected here"
"""Stand in place of the paper's section, for claims that are not the paper's."""
WITH_COSTS = "with the costs of hardware, "
"""What was found begins so if a claim was tested once more, with costs."""
UNDECIDED = "undecided"
"""The verdict on what the members of an ensemble differ on."""
_VERDICTS = {AIM: ("met", "missed"), EXPECTED: ("confirmed", "refuted")}


@dataclass(frozen=True)
class Because:
    """What a paper's document adds to a claim's verdict."""

    verdict: str
    """The one that it explains."""
    text: str
    """Markdown: an experiment that turns the difference on and off, with a link to it; or that there is none."""


@dataclass(frozen=True)
class Finding:
    """A claim that was tested."""

    source: str
    """The paper's section, table or figure; AIM or EXPECTED."""
    claim: str
    agrees: bool
    found: str
    """What was measured, in words."""
    members: tuple[int, int] | None = None
    """Of an ensemble: with how many members it agrees, and of how many; None: there is no ensemble."""

    @property
    def undecided(self) -> bool:
        """Whether the members of an ensemble differ on it."""
        return self.members is not None and 0 < self.members[0] < self.members[1]

    @property
    def holds(self) -> bool:
        """Whether it agrees, with every member if there are several."""
        return self.agrees and not self.undecided

    @property
    def verdict(self) -> str:
        """In a word."""
        yes, no = _VERDICTS.get(self.source, ("agrees", "differs"))
        return UNDECIDED if self.undecided else yes if self.agrees else no

    @property
    def votes(self) -> str:
        """How many members agree, as text; empty: all do, or none."""
        return f" ({self.members[0]} of {self.members[1]} members agree)" if self.undecided and self.members else ""

    @property
    def of_paper(self) -> bool:
        """Whether the claim is the paper's."""
        return self.source not in _VERDICTS

    @property
    def again(self) -> bool:
        """Whether it was tested once more, with costs."""
        return self.found.startswith(WITH_COSTS)

    @property
    def line(self) -> str:
        """The finding as one line of text."""
        return f"{self.verdict}: {self.source}: {self.claim} Measured: {self.found}{self.votes}"

    def to_json(self) -> dict[str, Any]:
        """As it stands in `measured.findings` (docs/use/results.md)."""
        fields = {name: value for name, value in asdict(self).items() if value is not None}
        return {**fields, "verdict": self.verdict}


Told = tuple[bool, str]
"""Whether a claim holds, and what was measured, as sentences."""
Test = Callable[[T], Told | None]
"""What tables tell of a claim; None: nothing."""


@dataclass(frozen=True)
class Claim(Generic[T_contra]):
    """A claim about a set of tables."""

    source: str
    text: str
    """The claim, as a sentence, with the paper's figures."""
    told: Test[T_contra]

    def test(self, tables: T_contra) -> Finding | None:
        """The claim held against the tables; None if they cannot tell."""
        told = self.told(tables)
        return None if told is None else Finding(self.source, self.text, bool(told[0]), plain(told[1]))


def judged(
    evidence: Callable[[T], E | None], holds: Callable[[E], bool], yes: Callable[[E], str], no: Callable[[E], str] | None = None
) -> Test[T]:
    """What tables tell of a claim, from the evidence taken from them (None: they cannot tell). `no`: None: the words of `yes`."""

    def told(tables: T) -> Told | None:
        found = evidence(tables)
        if found is None:
            return None
        held = holds(found)
        return held, (yes if held or no is None else no)(found)

    return told


def findings_of(claims: Iterable[Claim[T]], tables: T) -> list[Finding]:
    """The claims that these tables can tell of, in their order."""
    return [finding for claim in claims if (finding := claim.test(tables)) is not None]
