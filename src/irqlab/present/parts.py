# SPDX-License-Identifier: GPL-2.0-or-later
"""What a page is made of: sections of groups, groups of notices, legends, plots and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from irqlab.present import svg as svgs
from irqlab.present.tables import Table


@dataclass(frozen=True)
class Legend:
    """One entry of a legend."""

    key: str
    """Of the swatch."""
    text: str


@dataclass(frozen=True)
class Plot:
    """A plot with its heading."""

    title: str
    svg: Markup
    note: str = ""
    wide: bool = False
    """As wide as the page."""


@dataclass(frozen=True)
class Notice:
    """A finding to be seen at once; `kind` is good, warn or bad."""

    kind: str
    text: str
    items: Sequence[str] = ()


@dataclass
class Group:
    """What belongs together: one frame size and direction, mostly."""

    heading: str = ""
    notices: list[Notice] = field(default_factory=list)
    legend: list[Legend] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    note: str = ""
    tables: list[Table] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    id: str
    title: str
    short: str
    """For the list of contents."""
    intro: str
    groups: list[Group]


@dataclass(frozen=True)
class Origin:
    """A document: how to get it again."""

    command: str
    complete: bool
    facts: list[tuple[str, str]]


@dataclass(frozen=True)
class Page:
    """The report."""

    title: str
    lead: str
    symbols: Markup
    """The swatches, to be referred to as `#key-KEY`."""
    verdicts: list[str]
    notices: list[Notice]
    summary: Table | None
    sections: list[Section]
    origins: list[Origin]
    duts: list[Table]
    picture: Group | None = None
    """What the page shows first, before it says anything in words: plots with their legend."""


class Numbers:
    """Hands out plots with identifiers of their own."""

    def __init__(self) -> None:
        self.last = 0

    def plot(self, title: str, svg: str, note: str = "", wide: bool = False) -> Plot:
        """A plot whose identifiers no other plot on the page has."""
        self.last += 1
        return Plot(title, Markup(svgs.numbered(svg, self.last)), note, wide)
