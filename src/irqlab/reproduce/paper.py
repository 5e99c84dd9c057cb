# SPDX-License-Identifier: GPL-2.0-or-later
"""What a paper is to irqlab."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from irqlab.present.parts import Group, Section
from irqlab.reproduce.claims import Because, Claim, Finding, findings_of
from irqlab.reproduce.session import Session

T = TypeVar("T")


@dataclass(frozen=True)
class Paper(Generic[T]):
    """A paper that can be measured again. T is the set of its tables (irqlab.reproduce.table)."""

    name: str
    source: str
    """Authors, title, where it was published."""
    driver: str
    """What is measured unless --driver says otherwise."""
    measure: Callable[[Session], T]
    """Measures. Deterministic."""
    picture: Callable[[T], Group]
    """What the report shows first: measured beside published."""
    sections: Callable[[T], Sequence[Section]]
    """The rest of the report."""
    claims: Sequence[Claim[T]]
    """In the paper's order; then what else was found."""
    tested_besides: Callable[[T], list[Finding]] = lambda _: []
    """What is found besides by testing claims on other tables than the paper's set."""
    lead: str = ""
    """The report's first sentence."""
    with_hardware: bool = False
    """Whether it is measured with the costs of hardware, too, if asked (--hardware)."""
    with_memory: bool = False
    """Whether that hardware may have memory in place of costs that were fitted."""
    with_long: bool = False
    """Whether it has trials that take minutes, which are made only if asked (--long)."""
    kept_with: Sequence[str] = ()
    """Further options of `irqlab reproduce` for the run that is kept (tools.papers)."""
    because: Mapping[str, Because] = field(default_factory=dict)
    """By the beginning of a claim: why what was measured differs, for the paper's document."""
    takes_long: str = ""
    """Why a full run takes more than five minutes, or the quick look more than one."""
    series: Sequence[str] = ()
    """Names of the plots' lines, in the order of their styles: the report's legend."""

    def findings(self, tables: T) -> list[Finding]:
        """The paper's claims held against the tables."""
        return findings_of(self.claims, tables) + self.tested_besides(tables)
