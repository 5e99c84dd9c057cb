# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's tables, as data: what the template lays out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from irqlab import units
from irqlab.present.variants import Row

PLACES = {
    "nic": ("refused by the NIC", "it would not take the frame from the wire: no free receive descriptor; counted by the tester"),
    "nic_counted": (
        "missed by the NIC, as the driver counts",
        "rx_missed_errors, rx_fifo_errors and rx_over_errors of the interfaces; may count refused frames a second time",
    ),
    "rx_dropped": ("rx_dropped", "dropped on the receive side, counted by driver or kernel"),
    "backlog": ("backlog", "the per-CPU backlog of netif_rx() was full (netdev_max_backlog)"),
    "qdisc": ("qdisc", "the transmit queue was full"),
    "tx_dropped": ("tx_dropped", "dropped by the driver on the transmit side"),
}
"""Where frames get lost: heading and explanation of the keys of `drops`."""


@dataclass(frozen=True)
class Column:
    """A heading; `number` columns are aligned to the right."""

    text: str
    number: bool = True
    title: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell; `title` says more where there is more to say."""

    text: str
    title: str = ""
    mark: str = ""
    """good, warn or bad."""
    swatch: int | None = None
    """The variant whose line style stands before the text."""
    code: bool = False


@dataclass(frozen=True)
class Table:
    """A table; `folded` ones are shown on demand."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    folded: bool = False


_DRIVER = Column("Driver", number=False)
_FRAME = Column("Frame, bytes", title="FCS counted")
_DIRECTION = Column("Direction", number=False)


def _who(row: Row) -> Cell:
    return Cell(row.variant.label, swatch=row.variant.number)


def _frame(row: Row) -> list[Cell]:
    return [Cell(units.bytes_of(row.frame_bytes)), Cell(units.direction(row.bidirectional))]


def summary(rows: Sequence[Row], folded: bool = False) -> Table:
    """What each driver sustains, one line per frame size."""
    columns = (
        _DRIVER,
        Column("NIC", number=False, title="QEMU's model"),
        _FRAME,
        _DIRECTION,
        Column("kpps", title="throughput: the highest rate without loss, all directions together"),
        Column("Mbit/s per interface", title="preamble and inter-frame gap counted"),
        Column("Instructions per frame"),
        Column("Interrupts per frame"),
        *_causes(rows),
        Column("Limited by", number=False, title="what kept the throughput from being higher"),
    )
    lines = [
        [
            _who(row),
            Cell(row.data["nic"]),
            *_frame(row),
            Cell(units.kpps(row.data["total_throughput_pps"])),
            Cell(units.mbps(row.data["per_interface_throughput_mbps"])),
            Cell(units.whole(row.data["instructions_per_frame"])),
            Cell(units.per_frame(row.data["interrupts_per_frame"])),
            *_by_cause(row, rows),
            _limit(row.data["line_rate_limited"]),
        ]
        for row in rows
    ]
    caption = "Every frame size" if folded else "Throughput: the highest rate at which no frame is lost"
    return Table(caption, columns, lines, folded)


def _causes(rows: Sequence[Row]) -> list[Column]:
    """Columns for what only some drivers tell."""
    if all(row.data.get("rx_interrupts_per_frame") is None for row in rows):
        return []
    title = "as the driver counts; an interrupt may have both causes"
    return [Column("RX interrupts per frame", title=title), Column("TX interrupts per frame", title=title)]


def _by_cause(row: Row, rows: Sequence[Row]) -> list[Cell]:
    causes = ("rx", "tx") if _causes(rows) else ()
    return [Cell(units.per_frame(row.data.get(f"{cause}_interrupts_per_frame"))) for cause in causes]


def _limit(line_rate_limited: bool | None) -> Cell:
    if line_rate_limited is None:
        return Cell(units.NONE)
    return Cell("the wire", "the device could do more", mark="good") if line_rate_limited else Cell("the device")


def search(rows: Sequence[Row]) -> Table:
    """Every trial of the search for the throughput."""
    columns = (
        _DRIVER,
        _FRAME,
        _DIRECTION,
        Column("Offered per direction, kpps"),
        Column("Loss"),
        Column("Kept up", number=False),
        Column("Verdict", number=False),
    )
    lines = [
        [
            _who(row),
            *_frame(row),
            Cell(units.kpps(point["rate_pps"])),
            Cell(units.percent(point["loss_ratio"])),
            Cell(
                "yes" if point["kept_up"] else "no",
                "" if point["kept_up"] else "frames came out later than the limit after the last one was sent",
            ),
            Cell("passed", mark="good") if point["passed"] else Cell("failed"),
        ]
        for row in rows
        for point in row.data["samples"]
    ]
    return Table("Every trial of the search", columns, lines, folded=True)


def load_points(rows: Sequence[Row]) -> Table:
    """Every point of the loss curves."""
    columns = (
        _DRIVER,
        Column("Load", title="as a share of the throughput"),
        Column("Offered, kpps"),
        Column("Forwarded, kpps"),
        Column("Loss"),
        Column("Instructions per frame"),
        Column("Interrupts per frame"),
        Column("CPU idle"),
    )
    lines = [
        [
            _who(row),
            Cell(units.share(point["load"]), "more than the wire carries" if point.get("above_line_rate") else ""),
            Cell(units.kpps(point["offered_pps"])),
            Cell(units.kpps(point["forwarded_pps"])),
            Cell(units.percent(point["loss_ratio"])),
            Cell(units.whole(point["instructions_per_frame"])),
            Cell(units.per_frame(point["interrupts_per_frame"])),
            Cell(units.percent(point["idle_ratio"])),
        ]
        for row in rows
        for point in row.data["samples"]
    ]
    return Table("Every point", columns, lines, folded=True)


def drops(rows: Sequence[Row]) -> Table | None:
    """Where frames were lost at each driver's highest load; None where none were."""
    last = [(row, row.data["samples"][-1]) for row in rows if row.data["samples"]]
    places = list(dict.fromkeys([*PLACES, *(place for _, point in last for place in point["drops"])]))
    places = [place for place in places if any(point["drops"].get(place) for _, point in last)]
    if not places:
        return None
    columns = (
        _DRIVER,
        Column("Load"),
        Column("Offered, kpps"),
        *(Column(PLACES.get(place, (place, ""))[0], title=PLACES.get(place, ("", ""))[1]) for place in places),
    )
    lines = [
        [
            _who(row),
            Cell(units.share(point["load"])),
            Cell(units.kpps(point["offered_pps"])),
            *(Cell(units.whole(point["drops"].get(place, 0))) for place in places),
        ]
        for row, point in last
    ]
    return Table("Frames lost at the highest load, by place; the whole trial with its warm-up counts", columns, lines)


PERCENTILES = (("p50_ns", "p50"), ("p90_ns", "p90"), ("p99_ns", "p99"), ("p999_ns", "p99.9"), ("max_ns", "max"))
"""Keys of a latency record, and how they are called."""


def latency(rows: Sequence[Row]) -> Table:
    """Latencies and delay variation, one line per load and direction."""
    columns = (
        _DRIVER,
        Column("Load", title="as a share of the throughput"),
        Column("Offered per direction, kpps"),
        Column("Ports", number=False, title="into the device, out of it"),
        Column("min"),
        Column("mean"),
        *(Column(name) for _, name in PERCENTILES),
        Column("Mean delay variation", title="between consecutive frames (RFC 3393)"),
        Column("Loss"),
    )

    def value(record: dict[str, Any] | None, key: str) -> Cell:
        return Cell(units.duration(record.get(key)) if record and record["count"] else units.NONE)

    lines = [
        [
            _who(row),
            Cell(units.share(point["load"])),
            Cell(units.kpps(point["rate_pps"])),
            Cell(" → ".join(str(port) for port in point["direction"]) if point.get("direction") else units.NONE),
            value(point["latency"], "min_ns"),
            value(point["latency"], "mean_ns"),
            *(value(point["latency"], key) for key, _ in PERCENTILES),
            value(point.get("ipdv"), "mean_abs_ns"),
            Cell(units.percent(point["loss_ratio"])),
        ]
        for row in rows
        for point in row.data["samples"]
    ]
    return Table("Latency, last bit in to first bit out", columns, lines)


def burst(rows: Sequence[Row]) -> Table:
    """The longest burst that loses nothing."""
    columns = (
        _DRIVER,
        _FRAME,
        _DIRECTION,
        Column("Longest burst, frames"),
        Column("Longest tried, frames"),
        Column("", number=False),
    )
    lines = []
    for row in rows:
        longest, limit = row.data["summary"].get("longest_burst_frames"), row.data["summary"].get("limit_frames")
        unlimited = longest is not None and limit is not None and longest >= limit
        lines.append(
            [
                _who(row),
                *_frame(row),
                Cell(units.whole(longest)),
                Cell(units.whole(limit)),
                Cell("no limit found", mark="good") if unlimited else Cell(""),
            ]
        )
    return Table("The longest burst at the wire's rate that loses nothing", columns, lines)


def recovery(rows: Sequence[Row]) -> Table:
    """How long frames are lost after an overload."""
    columns = (
        _DRIVER,
        _FRAME,
        _DIRECTION,
        Column("Overload", title="as a share of the throughput"),
        Column("Overload per direction, kpps"),
        Column("Then, kpps"),
        Column("Recovery", title="from the reduction of the load to the departure of the last frame lost"),
        Column("Frames lost after the reduction"),
    )
    lines = [
        [
            _who(row),
            *_frame(row),
            Cell(units.share(point["overload"])),
            Cell(units.kpps(point["overload_pps"])),
            Cell(units.kpps(point["reduced_pps"])),
            Cell(units.duration(point["recovery_ns"]), mark="good" if point["recovery_ns"] == 0 else ""),
            Cell(units.whole(point["lost_after_reduction"])),
        ]
        for row in rows
        for point in row.data["samples"]
    ]
    return Table("After an overload", columns, lines)


def cost(rows: Sequence[Row]) -> Table:
    """Instructions and interrupts per frame for every size."""
    columns = (_DRIVER, _FRAME, _DIRECTION, Column("Instructions per frame"), Column("Interrupts per frame"))
    lines = [
        [
            _who(row),
            *_frame(row),
            Cell(units.whole(row.data["instructions_per_frame"])),
            Cell(units.per_frame(row.data["interrupts_per_frame"])),
        ]
        for row in rows
    ]
    return Table("Every frame size", columns, lines, folded=True)


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
