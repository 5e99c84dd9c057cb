# SPDX-License-Identifier: GPL-2.0-or-later
"""Defines a method: one declaration, from which its command, tables, report section, CSV, schema and documentation are generated.

A module of this package that defines `METHOD` is found automatically (irqlab.methods.catalogue).
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
from irqlab.methods import answers
from irqlab.present import ensemble, tables
from irqlab.present.columns import columns_of
from irqlab.present.parts import Group, Legend, Numbers, Plot, Section
from irqlab.present.rows import by_test, place_of
from irqlab.present.tables import Table
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.spread import Spread

DUT = (
    *("driver", "nic", "bus", "kernel", "kernel_arguments", "mips", "ring", "lsm", "sysctl", "attribute", "module_parameters"),
    "may_log",
)
"""Names of shared options (irqlab.cli.options) that select the DUT."""
SCHEMES = ("variant", *(setting.field for setting in SETTINGS))
"""Options that select interrupt-handling schemes."""
TRIAL = ("size", "bidirectional", "duration", "warmup", "arrivals", "seed", "loss_tolerance", "above_line_rate")
"""Options for the offered load."""
COSTS = ("cost", "hardware")
"""Options for hardware costs."""
RUN = ("jobs", "no_cache")
"""Options for how trials are run."""
ENSEMBLE = ("ensemble", "perturb")
"""Options for ensembles, which every method has."""
MEASURED_ON = ("driver", "rx_scheme", "tx_scheme", "variant", "nic", "mips", "frame_bytes", "bidirectional")
"""CSV columns before a method's own: fields of a result row."""
FORWARDING = (*DUT, *SCHEMES, *TRIAL, *COSTS, *RUN)
"""All options of a forwarding method."""


@dataclass(frozen=True)
class NoOptions:
    """Options of a method that has none of its own."""


@dataclass(frozen=True)
class NoSummary:
    """Summary of a method whose samples hold all results."""


@dataclass(frozen=True)
class Picture:
    """A plot for the top of a report, and its legend."""

    plot: Plot
    legend: Sequence[Legend] = ()


@dataclass(frozen=True)
class Lines:
    """A method's table, for the terminal, the report and CSV."""

    caption: str
    type: type
    """Type of a line: a dataclass whose annotations are the columns (irqlab.present.columns)."""
    of: Callable[[Row], Iterable[Any]] = lambda row: row.samples
    """The lines of a result row."""
    note: str = ""
    folded: bool = False
    """Collapsed in the report."""
    sized: bool = True
    """Rows have columns for frame size and direction. False: the method's columns identify them."""

    def table(self, rows: Sequence[Row]) -> Table:
        """The table for rows of this method; with ranges if they are ensembles."""
        return ensemble.of_table(rows, self._table)

    def _table(self, rows: Sequence[Row]) -> Table:
        lines = [(row, tuple(self.of(row)) if row.measured else ()) for row in rows]
        return tables.by_row(self.type, lines, self.caption, self.note, self.folded, self.sized)

    def csv(self, rows: Sequence[Row]) -> str:
        """The lines of rows of this method as CSV, each with its configuration (RFC 4180, but line feeds).

        With ensembles, numbers are medians, followed by columns for the lowest and the highest value.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        columns = columns_of(self.type)
        spread = [column for column in columns if {int, float} & set(column.types)] if ensemble.size(rows) else []
        ends = [f"{column.name}_{end}" for column in spread for end in ("min", "max")]
        writer.writerow([*MEASURED_ON, *(column.name for column in columns), *ends])
        for row in rows:
            if not row.data["complete"]:
                continue
            who = [row.data[name] for name in MEASURED_ON]
            lines = list(self.of(row))
            of_members = [list(self.of(one)) for one in row.members]
            alike = bool(of_members) and all(len(many) == len(lines) for many in of_members)
            for n, line in enumerate(lines):
                values = {column.name: column.value(line) for column in columns}
                ranges: list[float | None] = []
                for column in spread:
                    found = [column.value(many[n]) for many in of_members] if alike else []
                    whole = Spread.of(found) if found and None not in found else None
                    values[column.name] = whole.median if whole else values[column.name]
                    ranges += [whole.min, whole.max] if whole else [None, None]
                writer.writerow([*who, *values.values(), *ranges])
        return text.getvalue()


@dataclass(frozen=True)
class Method:
    """A method: what it runs, what it records, and how that is shown."""

    name: str
    place: int
    """Sort order in the help and in the report: lower numbers come first."""
    title: str
    """Title of its section in the report."""
    help: str
    """One sentence: what the command measures, and by which section of which RFC."""
    intro: str
    """Introduction of its section in the report."""
    sample: Any
    """Type of its samples: a frozen dataclass."""
    summary: Any
    """Type of its summary: a frozen dataclass."""
    lines: Lines
    run: Callable[[TrialRunner, Workload, Any], list[MethodResult]] | None
    """Measures one driver and frame size, with the method's own options. None: no command; only other commands use it."""
    panel: str = ""
    """Where the list of commands has it (irqlab.cli.commands); a literal (irqlab.methods.declared); empty: among measurements."""
    options: type = NoOptions
    """A frozen dataclass of options: fields are annotated with typer's options and hold the defaults. `__post_init__` raises
    IrqlabError for a bad value."""
    shared: tuple[str, ...] = FORWARDING
    """Shared options that it takes."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Values for shared options that it does not take."""
    on_card: bool = False
    """Whether it takes the tester's own card for a driver if no NIC is asked for."""
    sizes: Callable[[Any], tuple[FrameSize, ...] | None] = lambda _: None
    """Frame sizes implied by its options; None: those of --size."""
    outputs: Callable[[Any], Sequence[Path | None]] = lambda _: ()
    """Output files named by its options, to be written by `write`."""
    write: Callable[[Sequence[Row], Any], None] = lambda _, __: None
    """Writes the files of `outputs`."""
    tables: Callable[[Row, Any], Iterable[Table | str]] = lambda _, __: ()
    """Tables and text printed for each row besides `lines`."""
    print_lines: bool = True
    """Whether `lines` are printed on the terminal."""
    plots: Callable[[Sequence[Row], Numbers], Group] | None = None
    """Plots for rows with the same frame size and direction."""
    draws: Callable[[Sequence[Row], Numbers], list[Section]] | None = None
    """Sections of the report, in place of the default, which is `plots` and `lines` under each heading."""
    drawn: Callable[[Sequence[Row]], list[Row]] | None = None
    """Selects the rows for its sections from all complete rows of a report; None: the method's own."""
    short: str = ""
    """Title in the table of contents, if different."""
    picture: Callable[[Sequence[Row], Numbers], Picture] | None = None
    """The most important plot, for the top of the report; None: the first of `plots`."""
    lead: str = ""
    """What a report says below its title if all of it is this method's: a phrase; empty: `title`."""
    verdicts: Callable[[Sequence[Row]], list[str]] = lambda _: []
    """The answer, from the method's own complete rows: one sentence, or a few. The last lines on the terminal, the first of the
    report (irqlab.methods.answers)."""
    sure: Callable[[Sequence[Row]], str] = answers.sure
    """How sure the answer is, in a sentence; empty: it says so itself."""
    failed: Callable[[Sequence[Row]], bool] = lambda _: False
    """Whether the command ends with exit code 1, since the device under test did not pass."""
    details: str = ""
    """Text for docs/use/results.md besides the fields, in Markdown."""
    repeats: bool = True
    """It takes --ensemble, which repeats all of it; False: an option of its own stands for that."""
    first_table: Callable[[Sequence[Row]], Table | None] = lambda _: None
    """The table at the top of the report."""

    def pictured(self, rows: Sequence[Row], number: Numbers) -> Picture | None:
        """The plot for the top of the report: `picture`, or the first of `plots`."""
        return ensemble.drawn(rows, lambda same: self._pictured(same, number))[0]

    def _pictured(self, rows: Sequence[Row], number: Numbers) -> Picture | None:
        if self.picture is not None:
            return self.picture(rows, number)
        if self.plots is None:
            return None
        _, same = next(by_test(rows))
        group = self.plots(sorted(same, key=lambda row: row.variant.number), number)
        first = group.plots[0]
        return Picture(replace(first, title=f"{self.title}: {first.title}"), group.legend)

    def chosen(self, rows: Sequence[Row]) -> list[Row]:
        """Selects the rows for its sections from a report's complete rows."""
        return self.drawn(rows) if self.drawn else [row for row in rows if row.data["method"] == self.name]

    def sections(self, rows: Sequence[Row], number: Numbers) -> list[Section]:
        """The method's sections of the report; `rows` come from `chosen`. With bands and ranges if they are ensembles."""
        return ensemble.of_sections(rows, lambda same: self._sections(same, number))

    def _sections(self, rows: Sequence[Row], number: Numbers) -> list[Section]:
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
        """A section of this method with these groups."""
        return Section(self.name, self.title, self.short or self.title, self.intro, groups)

    def printed(self, rows: Sequence[Row], options: Any) -> Iterable[Table | str]:
        """What is printed on the terminal for the method's rows."""
        if self.print_lines and rows:
            yield self.lines.table(sorted(rows, key=lambda row: row.document))
        for row in rows:
            if row.measured:
                yield from ensemble.of_tables([row], lambda same: list(self.tables(same[0], options)))


def ordered(rows: Sequence[Row]) -> list[Row]:
    """Sorted by direction and frame size; drivers keep their order."""
    return sorted(rows, key=lambda row: (place_of(row), row.variant.number))
