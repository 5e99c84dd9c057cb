# SPDX-License-Identifier: GPL-2.0-or-later
"""What drivers cost on many kernels, as tables, a page and JSON."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from irqlab import files, units
from irqlab.errors import IrqlabError
from irqlab.present import plots, series, swatches
from irqlab.present import svg as svgs
from irqlab.present.parts import Group, Legend, Notice, Numbers, Page, Plot, Section
from irqlab.present.tables import Cell, Column, Table
from irqlab.profile.owners import OTHER, OWNERS
from irqlab.profile.tables import NOTABLE, figure
from irqlab.report import render, view
from irqlab.results.document import host
from irqlab.setup.bootable import Kernel
from irqlab.versions.history import SHARE, Entry, History

SCHEMA = "irqlab-history/1"
TOP = 20
"""Functions shown of each driver."""
MAX_OWNERS = 7
"""Owners drawn and in tables; the rest is in `other`."""
LOAD = (
    f"{SHARE * 100:g} % of the lowest throughput that a driver has on any of the kernels, less where the processor did not idle"
)

Value = Callable[[Entry], float | None]


def throughput(entry: Entry) -> float | None:
    """Throughput in frames/s."""
    return entry.throughput_pps


def cost(entry: Entry) -> float | None:
    """Instructions per frame."""
    return entry.instructions_per_frame


@dataclass(frozen=True)
class Report:
    """The result of `irqlab history`."""

    history: History
    command: list[str]
    complete: bool = True

    def to_json(self) -> dict[str, Any]:
        """The document."""
        return {
            "schema": SCHEMA,
            "command": self.command,
            "complete": self.complete,
            "environment": {**host(), "duts": self.history.duts},
            "load": SHARE,
            "kernels": [_described(name, self.history.found.get(name)) for name in self.history.kernels],
            "entries": [entry.to_json() for entry in self.history.entries],
        }

    def write(self, out: Path) -> None:
        """Writes history.json and history.html."""
        content = self.to_json()
        files.write_atomically(out / "history.json", (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())
        files.write_atomically(out / "history.html", render(page(content)).encode())


def read(path: Path) -> dict[str, Any]:
    """A document that `irqlab history` wrote. Raises IrqlabError."""
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise IrqlabError(f"{path}: {error}") from error
    if content.get("schema") != SCHEMA:
        raise IrqlabError(f"{path} was not written by irqlab history")
    return content


def lines_of(content: Mapping[str, Any]) -> list[list[Entry]]:
    """The entries of each driver and frame size in a document, one per kernel."""
    kept = [Entry(**{key: value for key, value in entry.items() if key != "by_owner"}) for entry in content["entries"]]
    return History(_kernels(content), entries=kept).lines()


def tables(content: Mapping[str, Any]) -> list[Table]:
    """Drivers by kernels: throughput, instructions per frame; and the latter by owner."""
    lines = lines_of(content)
    if not lines:
        return []
    names = _kernels(content)
    return [
        grid(lines, names, throughput, "Throughput, kpps", units.kpps),
        grid(lines, names, cost, "Instructions per frame, at the same load on all kernels", units.whole, loads=True),
        by_owner(lines),
    ]


def grid(
    lines: Sequence[Sequence[Entry]],
    names: Sequence[str],
    value: Value,
    caption: str,
    text: Callable[[float], str],
    loads: bool = False,
) -> Table:
    """A row per driver and frame size, a column per kernel, and the change from the first to the last kernel.

    `loads`: with a column for the load at which costs were measured.
    """
    columns = [Column("Driver", number=False), *([Column("Frame")] if _sized(lines) else []), *(Column(name) for name in names)]
    rows = []
    for line in lines:
        cells = [Cell(text(found)) if (found := value(entry)) is not None else Cell(units.NONE, entry.why) for entry in line]
        known = [found for entry in line if (found := value(entry)) is not None]
        cells.append(Cell(change(known[0], known[-1]) if known else units.NONE))
        if loads:
            cells.append(Cell(units.kpps(next((entry.rate_pps for entry in line if entry.rate_pps), None))))
        rows.append([*_who(line[0], lines), *cells])
    return Table(caption, [*columns, Column("Change"), *([Column("Load", unit="kpps")] if loads else [])], rows)


def by_owner(lines: Sequence[Sequence[Entry]]) -> Table:
    """A row per driver and kernel: throughput, and instructions per frame by owner; or why there is none."""
    shown = owners([entry for line in lines for entry in line])
    columns = [
        Column("Driver", number=False), *([Column("Frame")] if _sized(lines) else []), Column("Kernel", number=False),
        Column("Throughput", unit="kpps"), Column("Instructions", unit="/frame"), Column("Change"),
        *(Column(owner.capitalize() if owner[0].islower() else owner) for owner in shown),
    ]  # fmt: skip
    failed = any(entry.why for line in lines for entry in line)
    rows: list[list[Cell]] = []
    breaks = set()
    for line in lines:
        first = next((entry for entry in line if entry.instructions_per_frame is not None), None)
        for entry in line:
            cells = [*_who(entry, lines), Cell(entry.kernel), Cell(units.kpps(entry.throughput_pps))]
            if entry.instructions_per_frame is None or first is None or first.instructions_per_frame is None:
                cells += [Cell(units.NONE)] * (len(shown) + 2)
            else:
                cells.append(Cell(units.whole(entry.instructions_per_frame)))
                cells.append(Cell(change(first.instructions_per_frame, entry.instructions_per_frame)))
                parts = condensed(entry, shown)
                cells += [Cell(units.whole(parts[owner])) for owner in shown]
            rows.append([*cells, *([Cell(entry.why, mark="warn")] if failed else [])])
        breaks.add(len(rows) - 1)
    if failed:
        columns.append(Column("Not measured", number=False))
    return Table("Instructions per frame by owner", columns, rows, breaks=frozenset(breaks - {len(rows) - 1}))


def functions(before: Entry, after: Entry, top: int = TOP) -> Table:
    """The functions whose instructions per frame changed the most between two kernels."""
    old, new = before.by_function, after.by_function
    owner = {name: who for entry in (before, after) for who, found in entry.functions.items() for name in found}
    changes = sorted(((new.get(n, 0.0) - old.get(n, 0.0), n) for n in owner), key=lambda pair: (-abs(pair[0]), pair[1]))
    shown = [(by, name) for by, name in changes[:top] if abs(by) >= NOTABLE]
    rows = [
        [Cell(name), Cell(owner[name]), Cell(figure(old.get(name, 0.0))), Cell(figure(new.get(name, 0.0))), Cell(f"{by:+.1f}")]
        for by, name in shown
    ]
    rest = sum(by for by, _ in changes) - sum(by for by, _ in shown)
    rows.append([Cell(f"{len(changes) - len(shown)} more"), Cell(""), Cell(""), Cell(""), Cell(f"{rest:+.1f}")])
    columns = (
        Column("Function", number=False), Column("Owner", number=False),
        Column(before.kernel), Column(after.kernel), Column("Change"),
    )  # fmt: skip
    return Table(f"Functions that changed from {before.kernel} to {after.kernel}", columns, rows, folded=True)


def owners(entries: Sequence[Entry]) -> list[str]:
    """The owners with the most instructions, in their usual order; `other` is the last."""
    sums = {owner: sum(entry.by_owner.get(owner, 0.0) for entry in entries) for owner in OWNERS if owner != OTHER}
    largest = sorted(sums, key=lambda owner: -sums[owner])[:MAX_OWNERS]
    return [*(owner for owner in OWNERS if owner in largest and sums[owner]), OTHER]


def condensed(entry: Entry, shown: Sequence[str]) -> dict[str, float]:
    """Instructions per frame of the owners `shown`; the last one has what the others do not."""
    found = entry.by_owner
    parts = {owner: found.get(owner, 0.0) for owner in shown[:-1]}
    return {**parts, shown[-1]: sum(found.values()) - sum(parts.values())}


def change(before: float, after: float) -> str:
    """A difference in per cent."""
    share = after / before - 1 if before else 0.0
    return "0" if share == 0 else f"{share:+.1%}".replace("%", f"{units.NARROW}%")


def picture(lines: Sequence[Sequence[Entry]], names: Sequence[str], value: Value, what: str) -> str:
    """A value over kernels, a line per driver, in per cent of each driver's first kernel."""
    drawn = []
    for number, line in enumerate(lines):
        base = next((found for entry in line if (found := value(entry)) is not None), None)
        points = [(n, None if (found := value(e)) is None or not base else 100 * found / base) for n, e in enumerate(line)]
        drawn.append(series.Line(f"series-{number}", _name(line[0], lines), series.style(number), points))
    return plots.over_names(drawn, names, "Linux", f"% of {names[0]}", what, from_zero=False)


def owners_plot(line: Sequence[Entry], names: Sequence[str]) -> str:
    """Instructions per frame over kernels, a line per owner."""
    shown = owners(line)
    drawn = [
        series.Line(
            f"series-{number}", owner, series.style(number),
            [(n, condensed(entry, shown)[owner] if entry.functions else None) for n, entry in enumerate(line)],
        )
        for number, owner in enumerate(shown)
    ]  # fmt: skip
    return plots.over_names(drawn, names, "Linux", "instructions per frame", f"Instructions per frame by owner, {line[0].driver}")


def page(content: Mapping[str, Any]) -> Page:
    """The report."""
    number = Numbers()
    lines, names = lines_of(content), _kernels(content)
    grids = tables(content)
    groups = [_group(line, names, number, lines) for line in lines if any(entry.functions for entry in line)]
    styles = max([len(lines), MAX_OWNERS + 1])
    symbols = Markup("\n".join(svgs.symbol(swatches.swatch(series.style(n)), f"key-{n}") for n in range(styles)))
    legend = [Legend(f"{n}", _name(line[0], lines)) for n, line in enumerate(lines)]
    pictures = [
        number.plot("Throughput over kernels", picture(lines, names, throughput, "Throughput over kernels")),
        number.plot("Instructions per frame over kernels", picture(lines, names, cost, "Instructions per frame over kernels")),
    ]
    document = {**content, "measured": {"results": []}}
    intro = f"Measured at {LOAD}. Who a function belongs to: src/irqlab/profile/owners.py."
    return Page(
        title=f"irqlab history: {len({line[0].driver for line in lines})} drivers on {len(names)} kernels",
        lead="What network drivers of Linux forward, and what a frame costs, from version to version.",
        symbols=symbols,
        verdicts=[],
        notices=_notices(content, lines),
        summary=None,
        sections=[
            Section("grids", "Drivers and kernels", "Drivers and kernels", "", [Group(tables=grids[:2])]),
            Section("owners", "Where the instructions go", "Owners", intro, groups),
            Section("all", "All figures", "All figures", "", [Group(tables=grids[2:])]),
        ],
        origins=[view.origin(document)],
        duts=[_kernel_table(content)],
        picture=Group(plots=pictures, legend=legend),
    )


def _group(line: Sequence[Entry], names: Sequence[str], number: Numbers, lines: Sequence[Sequence[Entry]]) -> Group:
    measured = [entry for entry in line if entry.functions]
    legend = [Legend(f"{n}", owner) for n, owner in enumerate(owners(line))]
    drawn: list[Plot] = [number.plot("Instructions per frame by owner", owners_plot(line, names))]
    load = f"{units.kpps(measured[0].rate_pps)} kpps offered, on {measured[0].nic}"
    pairs = list(itertools.pairwise(measured))
    if len(measured) > 2:
        pairs.append((measured[0], measured[-1]))
    changed = [functions(before, after) for before, after in pairs]
    return Group(_name(line[0], lines), legend=legend, plots=drawn, note=load, tables=changed)


def _notices(content: Mapping[str, Any], lines: Sequence[Sequence[Entry]]) -> list[Notice]:
    found = [] if content["complete"] else [Notice("warn", "The measurement was interrupted; the rest is missing.")]
    why = [f"{_name(entry, lines)} on {entry.kernel}: {entry.why}" for line in lines for entry in line if entry.why]
    return [*found, Notice("warn", "Not measured:", why)] if why else found


def _kernel_table(content: Mapping[str, Any]) -> Table:
    columns = [Column(text, number=False) for text in ("--kernel", "Release", "Version", "SHA-256 of vmlinux")]
    keys = ("name", "release", "version", "sha256")
    return Table("Kernels", columns, [[Cell(kernel[key] or units.NONE) for key in keys] for kernel in content["kernels"]])


def _described(name: str, kernel: Kernel | None) -> dict[str, Any]:
    keys = ("release", "package", "version", "sha256")
    return {"name": name, **{key: getattr(kernel, key, None) for key in keys}}


def _kernels(content: Mapping[str, Any]) -> list[str]:
    return [kernel["name"] for kernel in content["kernels"]]


def _sized(lines: Sequence[Sequence[Entry]]) -> bool:
    return len({line[0].frame_bytes for line in lines}) > 1


def _who(entry: Entry, lines: Sequence[Sequence[Entry]]) -> list[Cell]:
    return [Cell(entry.driver), *([Cell(units.bytes_of(entry.frame_bytes))] if _sized(lines) else [])]


def _name(entry: Entry, lines: Sequence[Sequence[Entry]]) -> str:
    return f"{entry.driver}, {units.bytes_of(entry.frame_bytes)}" if _sized(lines) else entry.driver
