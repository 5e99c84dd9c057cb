# SPDX-License-Identifier: GPL-2.0-or-later
"""What a method is: one declaration, of which its command, tables, page, CSV, schema and documentation are made.

A module of this package that defines `METHOD` is a method; nothing else has to know of it (irqlab.methods.catalogue).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from irqlab.config.schemes import SETTINGS
from irqlab.config.traffic import FrameSize
from irqlab.config.workload import Workload
from irqlab.present import tables
from irqlab.present.columns import columns_of
from irqlab.present.parts import Group, Legend, Numbers, Plot, Section
from irqlab.present.rows import by_test, place_of
from irqlab.present.tables import Table
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner

DUT = ("driver", "nic", "kernel", "mips", "ring", "lsm", "sysctl", "attribute", "module_parameters")
"""Names of shared options (irqlab.cli.options): what is measured,"""
SCHEMES = ("variant", *(setting.field for setting in SETTINGS))
"""with which interrupt-handling schemes,"""
TRIAL = ("size", "bidirectional", "duration", "warmup", "arrivals", "seed", "loss_tolerance", "above_line_rate")
"""what is offered,"""
COSTS = ("cost", "hardware")
"""what hardware costs,"""
RUN = ("jobs", "no_cache")
"""and how trials are run."""
MEASURED_ON = ("driver", "rx_scheme", "tx_scheme", "variant", "nic", "mips", "frame_bytes", "bidirectional")
"""The columns of CSV before a method's own: fields of a result row."""
FORWARDING = (*DUT, *SCHEMES, *TRIAL, *COSTS, *RUN)
"""All of them."""


@dataclass(frozen=True)
class NoOptions:
    """A method without options of its own."""


@dataclass(frozen=True)
class NoSummary:
    """A method whose samples say all that it found."""


@dataclass(frozen=True)
class Picture:
    """A plot for the top of a page, and its legend."""

    plot: Plot
    legend: Sequence[Legend] = ()


@dataclass(frozen=True)
class Lines:
    """A method's table: a terminal's, a page's, and CSV."""

    caption: str
    type: type
    """Of a line: a dataclass whose annotations are the columns (irqlab.present.columns)."""
    of: Callable[[Row], Iterable[Any]] = lambda row: row.samples
    """The lines of a result row."""
    note: str = ""
    folded: bool = False
    """On a page it is shown on demand."""
    sized: bool = True
    """Frame size and direction tell rows apart. False: the method has its own."""

    def table(self, rows: Sequence[Row]) -> Table:
        """The table of rows of this method."""
        lines = [(row, tuple(self.of(row)) if row.data["complete"] else ()) for row in rows]
        return tables.by_row(self.type, lines, self.caption, self.note, self.folded, self.sized)

    def csv(self, rows: Sequence[Row]) -> str:
        """The lines of rows of this method, under what each was measured on (RFC 4180, line feeds)."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        columns = columns_of(self.type)
        writer.writerow([*MEASURED_ON, *(column.name for column in columns)])
        for row in rows:
            who = [row.data[name] for name in MEASURED_ON]
            writer.writerows([*who, *(column.value(line) for column in columns)] for line in self.of(row) if row.data["complete"])
        return text.getvalue()


@dataclass(frozen=True)
class Method:
    """A method: what it runs, what it finds, and how that is shown."""

    name: str
    place: int
    """Where it stands among the others, in the help and on a page: lower numbers come first."""
    title: str
    """Of its section."""
    help: str
    """One sentence: what the command finds, and by which section of which RFC."""
    intro: str
    """What a page says before the figures."""
    sample: Any
    """The type of its samples: a frozen dataclass."""
    summary: Any
    """The type of its summary: a frozen dataclass."""
    lines: Lines
    run: Callable[[TrialRunner, Workload, Any], list[MethodResult]] | None
    """Measures one driver and frame size, with the method's own options. None: no command, other commands use it."""
    options: type = NoOptions
    """A frozen dataclass whose fields are annotated with typer's options and hold the defaults. Its `__post_init__` raises
    IrqlabError for a bad value."""
    shared: tuple[str, ...] = FORWARDING
    """The options that it shares with other methods."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Values of shared options that it does not have."""
    sizes: Callable[[Any], tuple[FrameSize, ...] | None] = lambda _: None
    """The frame sizes that its options imply; None: those of --size."""
    outputs: Callable[[Any], Sequence[Path | None]] = lambda _: ()
    """The files that its options name, to be written by `write`."""
    write: Callable[[Sequence[Row], Any], None] = lambda _, __: None
    """Writes those files."""
    tables: Callable[[Row, Any], Iterable[Table | str]] = lambda _, __: ()
    """What is printed for each row besides `lines`: tables, and text."""
    print_lines: bool = True
    """Whether a terminal gets `lines`, too."""
    plots: Callable[[Sequence[Row], Numbers], Group] | None = None
    """The plots of rows with the same frame size and direction."""
    draws: Callable[[Sequence[Row], Numbers], list[Section]] | None = None
    """The sections of a page, where `plots` and `lines` under each heading are not what is wanted."""
    drawn: Callable[[Sequence[Row]], list[Row]] | None = None
    """The rows that its sections are about, of all complete ones of a page; None: its own."""
    short: str = ""
    """The title in the list of contents, if it is another."""
    picture: Callable[[Sequence[Row], Numbers], Picture] | None = None
    """The plot that says most, for the top of a page; None: the first of `plots`."""
    verdicts: Callable[[Sequence[Row]], list[str]] = lambda _: []
    """What the rows say, in a sentence each."""
    details: str = ""
    """What docs/results.md says of the method besides its fields, in Markdown."""
    first_table: Callable[[Sequence[Row]], Table | None] = lambda _: None
    """The table at the top of a page."""

    def pictured(self, rows: Sequence[Row], number: Numbers) -> Picture | None:
        """The plot for the top of a page: `picture`, or the first of `plots`."""
        if self.picture is not None:
            return self.picture(rows, number)
        if self.plots is None:
            return None
        _, same = next(by_test(rows))
        group = self.plots(sorted(same, key=lambda row: row.variant.number), number)
        first = group.plots[0]
        return Picture(replace(first, title=f"{self.title}: {first.title}"), group.legend)

    def chosen(self, rows: Sequence[Row]) -> list[Row]:
        """Of a page's complete rows, those that its sections are about."""
        return self.drawn(rows) if self.drawn else [row for row in rows if row.data["method"] == self.name]

    def sections(self, rows: Sequence[Row], number: Numbers) -> list[Section]:
        """The method's sections of a page; `rows` as `chosen` gives them."""
        if self.draws is not None:
            return self.draws(rows, number)
        groups = []
        for heading, same in by_test(rows):
            same = sorted(same, key=lambda row: row.variant.number)
            group = self.plots(same, number) if self.plots else Group()
            group.heading = heading if self.lines.sized else ""
            table = self.lines.table(same)
            group.tables = [*group.tables, table] if table.folded else [table, *group.tables]
            groups.append(group)
        return [self.page_section(groups)] if groups else []

    def page_section(self, groups: list[Group]) -> Section:
        """A section of the method's with these groups."""
        return Section(self.name, self.title, self.short or self.title, self.intro, groups)

    def printed(self, rows: Sequence[Row], options: Any) -> Iterable[Table | str]:
        """What a terminal shows of the method's rows."""
        if self.print_lines and rows:
            yield self.lines.table(sorted(rows, key=lambda row: row.document))
        for row in rows:
            if row.data["complete"]:
                yield from self.tables(row, options)


def ordered(rows: Sequence[Row]) -> list[Row]:
    """By direction and frame size, then as the drivers were named."""
    return sorted(rows, key=lambda row: (place_of(row), row.variant.number))
