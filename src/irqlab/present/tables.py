# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables as data: what a terminal and a page lay out (irqlab.present.terminal, the report's template)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from irqlab import units
from irqlab.present.columns import shown
from irqlab.present.variants import Row


@dataclass(frozen=True)
class Column:
    """A heading; `number` columns are aligned to the right."""

    text: str
    number: bool = True
    title: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell; `title` says more where there is more to say."""

    text: str
    title: str = ""
    mark: str = ""
    """good, warn, bad or strong."""
    swatch: int | None = None
    """The variant whose line style stands before the text."""
    code: bool = False
    shade: float | None = None
    """How dark the cell is, from 0 to 1: a table of these is a heat map."""


@dataclass(frozen=True)
class Table:
    """A table; `folded` ones are shown on demand."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    folded: bool = False
    note: str = ""
    """What has to be known to read it."""
    breaks: frozenset[int] = frozenset()
    """Rows after which there is a gap."""


def of_lines(line_type: type, lines: Sequence[Any], caption: str, note: str = "", folded: bool = False) -> Table:
    """A table with a row for each of `lines`: instances of a dataclass that declares the columns (irqlab.present.columns)."""
    columns = shown(line_type, lines)
    headings = [Column(c.col.heading, c.number, c.col.title, c.col.unit) for c in columns]
    rows = [[Cell(c.text(line), mark=c.mark(line)) for c in columns] for line in lines]
    return Table(caption, headings, rows, folded, note)


def by_row(
    line_type: type, lines: Sequence[tuple[Row, Sequence[Any]]], caption: str, note: str = "", folded: bool = False
) -> Table:
    """As `of_lines`, each line under the driver, frame size and direction of its result row.

    A frame size and direction that all have in common stand in the caption. A row that was cut short has a line that says so.
    """
    offered = {(units.bytes_of(row.frame_bytes), units.direction(row.bidirectional)) for row, _ in lines}
    common = len(offered) == 1
    if common:
        ((size, direction),) = offered
        caption += f", {size} frames, {direction}" if size == "IMIX" else f", {size}-byte frames, {direction}"
    inner = of_lines(line_type, [line for _, many in lines for line in many], caption)
    cells = iter(inner.rows)
    rows: list[list[Cell]] = []
    breaks = set()
    for row, many in lines:
        who = [Cell(row.variant.label, swatch=row.variant.number)]
        if not common:
            who += [Cell(units.bytes_of(row.frame_bytes)), Cell(units.direction(row.bidirectional))]
        added = [[*who, *next(cells)] for _ in many]
        if not row.data["complete"]:
            blank = [Cell("")] * (len(inner.columns) - 1)
            added.append([*who, Cell("cut short", "the measurement was interrupted", "warn"), *blank])
        rows += added
        if len(added) > 1:
            breaks.add(len(rows) - 1)
    test = [] if common else [Column("Frame", title="FCS counted", unit="bytes"), Column("Direction", number=False)]
    headings = [Column("Driver", number=False), *test, *inner.columns]
    return Table(caption, headings, rows, folded, note, frozenset(breaks - {len(rows) - 1}))


_DUT_SETTINGS = {
    "lsm": "Security modules",
    "qdisc": "qdisc",
    "netdev_max_backlog": "netdev_max_backlog",
    "netdev_budget": "netdev_budget",
    "dev_weight": "dev_weight",
    "spectre_v2": "spectre_v2",
    "clocksource": "Clock source",
    "ring_rx": "RX ring",
    "ring_tx": "TX ring",
    "offloads": "Offloads on",
    "sysctls": "sysctls set",
    "module_parameters": "Module parameters",
}


def duts(named: Sequence[tuple[str, dict[str, Any]]]) -> list[Table]:
    """What was measured on: first what all (name, DUT) share, then what sets them apart."""
    described = [(name, _describe(dut)) for name, dut in named]
    keys = list(dict.fromkeys(key for _, facts in described for key in facts))
    shared: list[tuple[str, list[Cell]]] = []
    apart: list[tuple[str, list[Cell]]] = []
    for key in keys:
        cells = [facts.get(key, Cell(units.NONE)) for _, facts in described]
        (shared if all(cell == cells[0] for cell in cells) else apart).append((key, cells))
    tables = []
    if apart:
        columns = (Column("", number=False), *(Column(name, number=False) for name, _ in described))
        tables.append(Table("What differs", columns, [[Cell(key), *cells] for key, cells in apart]))
    if shared:
        caption = "The same for all" if len(described) > 1 else described[0][0]
        columns = (Column("", number=False), Column("", number=False))
        tables.append(Table(caption, columns, [[Cell(key), cells[0]] for key, cells in shared]))
    return tables


def _describe(dut: dict[str, Any]) -> dict[str, Cell]:
    kernel, nic = dut["kernel"], dut["nic"]
    package = " ".join(str(kernel[k]) for k in ("package", "version") if kernel.get(k))
    wire = f"wire of {units.bit_rate(nic['line_rate_bps'])}" if nic["line_rate_bps"] else "no limit of the wire"
    facts = {
        "Kernel": Cell(str(kernel["release"])),
        "Kernel package": Cell(package or units.NONE),
        "Kernel image": _hash(kernel["sha256"]),
        "QEMU": Cell(str(dut["qemu"])),
        "CPU": Cell(f"{dut['cpu']}, {dut['mips']:g}{units.NARROW}million instructions a second"),
        "Memory": Cell(f"{dut['memory_mib']}{units.NARROW}MiB"),
        "NIC": Cell(f"{nic['model']}, {wire}"),
        "NIC properties": Cell(_listed(nic["properties"])),
    }
    for module in dut["modules"]:
        last = module is dut["modules"][-1]
        known = _hash(module["sha256"])
        more = f"{known.title}\nvermagic {module['vermagic']}"
        text = f"{module['name']} {known.text}" if last else known.text
        facts["Driver module" if last else f"Module {module['name']}"] = Cell(text, more, code=True)
    for key, value in dut["dut"].items():
        facts[_DUT_SETTINGS.get(key, key)] = Cell(_listed(value))
    facts["Kernel command line"] = Cell(str(dut["kernel_command_line"]), code=True)
    facts["Guest image"] = _hash(dut["guest_image_sha256"])
    facts["Tester"] = _hash(dut["tester_sha256"])
    return facts


def _hash(sha256: str) -> Cell:
    return Cell(sha256[:12], f"sha256 {sha256}", code=True)


def _listed(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(str(v) for v in value) or "none"
    return units.NONE if value is None else str(value) or "none"
