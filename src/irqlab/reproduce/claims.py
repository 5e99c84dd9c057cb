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
PRINT = "The paper in print"
"""The same, for what a paper prints: no run changes it."""
UNDECIDED = "undecided"
"""The verdict on what the members of an ensemble differ on."""
IN_SAMPLE, DEFINITION, NOT_JUDGED, NOT_TRIED = "in sample", "by definition", "not judged", "not tried"
"""Verdicts that count for nothing: agreement with what was fitted to; agreement that could not fail; what was measured cannot
tell; nothing was measured."""
COUNTED = ("agrees", "differs", UNDECIDED)
"""Verdicts on a paper's claims that count."""
_VERDICTS = {AIM: ("met", "missed"), EXPECTED: ("confirmed", "refuted"), PRINT: ("consistent", "inconsistent")}


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
    """The paper's section, table or figure; AIM, EXPECTED or PRINT."""
    claim: str
    agrees: bool | None
    """None: what was measured cannot tell, or nothing was."""
    found: str
    """What was measured, in words; why nothing can be told."""
    counts_as: str = ""
    """How near counts as agreement, and where this follows from; empty: the claim says it."""
    instead: str = ""
    """The verdict if it does not differ, and counts for nothing; empty: agreement counts."""
    members: tuple[int, int] | None = None
    """Of an ensemble: with how many members it agrees, and of how many; None: there is no ensemble."""
    draws: tuple[int, int] | None = None
    """The same of tables drawn from the ranges of an ensemble's members, if these are kept and the members are not."""

    @property
    def undecided(self) -> bool:
        """Whether the members of an ensemble differ on it."""
        votes = self.members or self.draws
        return votes is not None and 0 < votes[0] < votes[1]

    @property
    def holds(self) -> bool:
        """Whether it agrees, with every member if there are several, and that counts."""
        return bool(self.agrees) and not self.undecided and not self.instead

    @property
    def verdict(self) -> str:
        """In a word."""
        yes, no = _VERDICTS.get(self.source, ("agrees", "differs"))
        if self.agrees is None:
            return self.instead or NOT_JUDGED
        return UNDECIDED if self.undecided else (self.instead or yes) if self.agrees else no

    @property
    def votes(self) -> str:
        """How many members agree, as text; empty: all do, or none."""
        if not self.undecided:
            return ""
        of = "members" if self.members else "tables drawn from the members' ranges"
        some, every = self.members or self.draws or (0, 0)
        return f" ({some} of {every} {of} agree)"

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
        return f"{self.verdict}: {self.source}: {self.claim} {self.told}{self.votes}"

    @property
    def told(self) -> str:
        """What was measured, and how near counts as agreement; why nothing can be told."""
        near = f" (Agreement: {self.counts_as}.)" if self.counts_as else ""
        return self.found if self.agrees is None else f"Measured: {self.found}{near}"

    def to_json(self) -> dict[str, Any]:
        """As it stands in `measured.findings` (docs/use/results.md)."""
        fields = {name: value for name, value in asdict(self).items() if value or name in ("agrees", "found")}
        return {**fields, "verdict": self.verdict}


Told = tuple[bool | None, str]
"""Whether a claim holds (None: this cannot be told, and why), and what was measured, as sentences."""
Test = Callable[[T], Told | None]
"""What tables tell of a claim; None: nothing."""


@dataclass(frozen=True)
class Claim(Generic[T_contra]):
    """A claim about a set of tables."""

    source: str
    text: str
    """The claim, as a sentence, with the paper's figures."""
    told: Test[T_contra]
    counts_as: str = ""
    """How near counts as agreement, and where this follows from."""
    instead: str = ""
    """DEFINITION, NOT_TRIED; empty: it is tested, and can fail."""

    def test(self, tables: T_contra) -> Finding | None:
        """The claim held against the tables; None if they have nothing about it."""
        told = self.told(tables)
        if told is None:
            return None
        holds = None if told[0] is None else bool(told[0])
        return Finding(self.source, self.text, holds, plain(told[1]), self.counts_as, self.instead)


def not_tried(source: str, text: str, why: str) -> Claim[object]:
    """A claim of the paper's that no run tests. `why`: a sentence."""
    return Claim(source, text, lambda _: (None, why), instead=NOT_TRIED)


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
