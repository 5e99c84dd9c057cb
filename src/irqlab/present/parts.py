# SPDX-License-Identifier: GPL-2.0-or-later
"""The structure of a report: sections of groups, which consist of notices, legends, plots and tables."""

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
    """The key of its swatch."""
    text: str


@dataclass(frozen=True)
class Plot:
    """A plot with its heading."""

    title: str
    svg: Markup
    note: str = ""
    wide: bool = False
    """Use the full width of the page."""


@dataclass(frozen=True)
class Notice:
    """A highlighted conclusion; `kind` is good, warn or bad."""

    kind: str
    text: str
    items: Sequence[str] = ()
    commands: bool = False
    """The items are a script."""


@dataclass
class Group:
    """A group of items, usually of one frame size and direction."""

    heading: str = ""
    notices: list[Notice] = field(default_factory=list)
    legend: list[Legend] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    note: str = ""
    tables: list[Table] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """A section of the report."""

    id: str
    title: str
    short: str
    """Its title in the table of contents."""
    intro: str
    groups: list[Group]


@dataclass(frozen=True)
class Origin:
    """A result document, and how to reproduce it."""

    command: str
    complete: bool
    facts: list[tuple[str, str]]


@dataclass(frozen=True)
class Page:
    """The report."""

    title: str
    lead: str
    symbols: Markup
    """The swatches, referenced as `#key-KEY`."""
    verdicts: list[str]
    notices: list[Notice]
    summary: Table | None
    sections: list[Section]
    origins: list[Origin]
    duts: list[Table]
    answer: Sequence[str] = ()
    """What was found, before the picture; `verdicts` come after it."""
    picture: Group | None = None
    """Plots and legend at the top of the page."""
    lab: bool = True
    """Something was measured in the lab."""
    live: bool = False
    """Something was measured on real ports."""


class Numbers:
    """Makes plots with unique identifiers."""

    def __init__(self) -> None:
        self.last = 0

    def plot(self, title: str, svg: str, note: str = "", wide: bool = False) -> Plot:
        """A plot whose identifiers are unique on the page."""
        self.last += 1
        return Plot(title, Markup(svgs.numbered(svg, self.last)), note, wide)
