# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures and pictures made from result documents that are kept in docs/results, one file of a list of documents for each name.

Trials and what else no figure needs are left out of what is kept.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from irqlab import files, units
from irqlab.errors import IrqlabError
from irqlab.methods import catalogue
from irqlab.present import terminal
from irqlab.present.tables import Table
from irqlab.profile.line_tables import object_lines
from irqlab.versions import history_report
from tools import pictures as drawing
from tools.pages import RESULTS, Figures, table

Document = dict[str, Any]
Texts = Callable[[Sequence[Document]], Iterator[tuple[str, str]]]
NOT_KEPT = ("--json", "--report", "--out", "--jobs")
"""Options that do not matter for what was measured; each has a value."""


def rows_of(contents: Sequence[Document], method: str) -> list[dict[str, Any]]:
    """The rows of a method."""
    return [row for content in contents for row in content["measured"]["results"] if row["method"] == method]


def conditions(content: Document) -> str:
    """Kernel, QEMU and speed."""
    dut = content["environment"]["duts"][0]
    return f"Linux {dut['kernel']['release'].removesuffix('-amd64')}, QEMU {dut['qemu'].split()[3]}, {dut['mips']} MIPS"


def printed(contents: Sequence[Document], name: str) -> str:
    """The first table of a method, as the terminal has it, as a block of code."""
    method = catalogue.methods()[name]
    found = [row for row in catalogue.rows(contents) if row.data["method"] == name]
    first = next(one for one in method.printed(found, method.options()) if not isinstance(one, str))
    return in_code(replace(first, caption="", note=""))


def in_code(shown: Table) -> str:
    """A table as the terminal has it, as a block of code."""
    out = io.StringIO()
    terminal.show(terminal.rich_table(shown), Console(file=out, width=terminal.PLAIN_WIDTH, highlight=False))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return "\n".join(["```", *(line for line in lines if line), "```"]) + "\n"


def demo(contents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Of README."""
    yield "demo", printed(contents, "throughput")
    yield "demo conditions", conditions(contents[0])
    pps = {row["variant"]: row["total_throughput_pps"] for row in rows_of(contents, "throughput") if row["variant"]}
    yield "demo gain", f"{pps['NAPI-TX-OFF'] / pps['ORIGINAL']:.1f}"


def kpps(value: float) -> str:
    """Frames/s in thousands."""
    return f"{value / 1e3:.1f}"


def memory(contents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Of docs/use/memory-model.md: the six variants on a small cache, and how much of the gain instructions show."""
    rows = sorted(rows_of(contents, "throughput"), key=lambda row: int(row["frame_bytes"]))
    first = {
        size: next(row for row in rows if row["frame_bytes"] == size) for size in dict.fromkeys(r["frame_bytes"] for r in rows)
    }
    lines = [
        (
            str(row["frame_bytes"]),
            row["variant"],
            kpps(row["total_throughput_pps"]),
            units.whole(row["instructions_per_frame"]),
            f"{row['l1i_fills_per_frame']:.0f} + {row['l1d_fills_per_frame']:.0f}",
            f"{row['total_throughput_pps'] / first[row['frame_bytes']]['total_throughput_pps']:.2f}",
            f"{first[row['frame_bytes']]['instructions_per_frame'] / row['instructions_per_frame']:.2f}",
        )
        for row in rows
    ]
    columns = ("bytes", "variant", "kpps", "instructions/frame", "fills/frame", "throughput, times ORIGINAL", "by instructions")
    yield "memory model", table(columns, lines, 2)
    yield "memory model conditions", conditions(contents[0])


def waiting(contents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Of docs/use/waiting.md: each scheme with each way to wait."""
    columns = (
        "way",
        "received at 20 / 40 / 80 kpps",
        "CPU left at 2 / 10 / 20, %",
        "round trip p99 at 2 / 10",
        "interrupts/s at 10 / 80",
    )
    lines = []
    for row in rows_of(contents, "application"):
        ways: dict[str, dict[float, dict[str, Any]]] = {}
        for sample in row["samples"]:
            ways.setdefault(sample["wait"], {})[round(sample["offered_pps"] / 1e3)] = sample
        for way, at in ways.items():
            name = f"`{row['rx_scheme']}`, {way}" if row["rx_scheme"] else way
            lines.append((name, *_waited(at)))
    yield "waiting", table(columns, lines)
    yield "waiting conditions", conditions(contents[0])


def _waited(at: dict[float, dict[str, Any]]) -> list[str]:
    """The cells of a way to wait, by the load in kpps."""
    return [
        " / ".join(f"{at[load]['application_pps'] / 1e3:.1f}" for load in (20, 40, 80)),
        " / ".join(f"{100 * at[load]['cpu_available']:.0f}" for load in (2, 10, 20)),
        " / ".join(units.duration(at[load]["latency"]["p99_ns"]) if at[load]["latency"] else units.NONE for load in (2, 10)),
        " / ".join(units.whole(at[load]["interrupts_per_s"]) for load in (10, 80)),
    ]


def ring(contents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Of docs/use/transmit-ring.md: while the DUT sends by TCP."""
    lines = []
    for row in rows_of(contents, "ring"):
        for sample in (sample for sample in row["samples"] if sample["name"] == RING_TEST):
            name = f"{row['driver'].removeprefix('irqmod_')} {row['tx_scheme'] or ''}".strip()
            cells = (f"{sample['mean']:.1f}", str(sample["most"]), f"{100 * sample['full_ratio']:.1f} %")
            lines.append((f"{name}, {sample['ring']}", *cells, units.whole(sample["interrupts_per_s"])))
    yield "ring", table(("driver, ring", "mean", "most", "full", "interrupts/s"), lines)
    yield "ring conditions", conditions(contents[0])


def without_hidden(row: dict[str, Any]) -> None:
    """Leaves out what is recorded over time."""
    row["samples"] = [sample | {"shown": []} for sample in row["samples"] if sample["name"] == RING_TEST]


def iperf(contents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Of docs/use/iperf.md: Mbit/s, idle time, instructions per byte."""
    lines, tests = [], [sample["name"] for sample in rows_of(contents, "iperf")[0]["samples"]]
    for row in rows_of(contents, "iperf"):
        name = row["driver"].removeprefix("irqmod_")
        name += f" {row['rx_scheme']}/{row['tx_scheme']}" if row["rx_scheme"] else ""
        lines.append((name, *map(_transferred, row["samples"])))
    yield "iperf", table(("", *tests), lines)
    yield "iperf conditions", conditions(contents[0])


def _transferred(sample: dict[str, Any]) -> str:
    mbps = sample["bps"] / 1e6
    lost = f" ({100 * sample['loss_ratio']:.0f} % lost)" if sample["loss_ratio"] else ""
    return f"{mbps:.1f}{lost}, {100 * sample['idle_ratio']:.1f} %, {sample['instructions_per_byte']:.3g}"


RING_TEST = "TCP Tx"
LARGEST = 10
"""Objects shown of a profile with --memory."""


def largest_objects(contents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Of docs/use/cache-lines.md: the objects with most lines."""
    (row,) = rows_of(contents, "profile")
    cells = [(one.object, f"{one.lines_per_frame:.1f}", f"{one.l1d_misses_per_frame:.1f}") for one in object_lines(row)[:LARGEST]]
    yield "lines", table(("object", "lines/frame", "L1D misses/frame"), cells)


def without_functions(row: dict[str, Any]) -> None:
    """Leaves out what a profile says of functions, and adds up the fields of each object that is shown."""
    row["samples"] = []
    row["summary"] |= {"stacks": [], "io": [], "by_owner": {}, "by_context": {}}
    memory = row["summary"]["memory"]
    whole: dict[str, dict[str, Any]] = {one.object: {} for one in object_lines(row)[:LARGEST]}
    for field in memory["fields"]:
        if (one := whole.get(field["object"])) is not None:
            sums = {name: field[name] + one.get(name, 0) for name in ("loads", "stores", "lines", "window_lines")}
            misses = [sum(both) for both in zip(field["misses"], one.get("misses", [0] * len(field["misses"])), strict=True)]
            one |= field | sums | {"misses": misses, "line": -1, "field": "", "users": []}
    memory |= {"functions": [], "fields": list(whole.values())}


def history(contents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Of docs/use/history.md: throughput, and instructions per frame, on each kernel."""
    for one, name in zip(history_report.tables(contents[0]), ("history", "history, instructions"), strict=False):
        yield name, in_code(one)


@dataclass(frozen=True)
class Source:
    """What is made from the documents of a name."""

    texts: Texts
    pictures: Callable[[Sequence[Document]], dict[Path, str]] = lambda contents: {}  # noqa: ARG005
    cut: Callable[[dict[str, Any]], None] = lambda row: None  # noqa: ARG005
    """Leaves out of a row what no figure needs."""
    read: Callable[[Path], Document] = catalogue.read


SOURCES: dict[str, Source] = {
    "demo": Source(demo, lambda contents: drawing.demo(contents[0])),
    "memory-model": Source(memory),
    "waiting": Source(waiting),
    "ring": Source(ring, cut=without_hidden),
    "iperf": Source(iperf),
    "history": Source(history, lambda contents: drawing.history(contents[0]), read=history_report.read),
    "lines": Source(largest_objects, cut=without_functions),
}


def file_of(name: str) -> Path:
    """Where the documents of a name are kept."""
    return RESULTS / f"{name}.json"


def reduced(content: Document, cut: Callable[[dict[str, Any]], None]) -> Document:
    """A document without packages of the guest, options that do not matter, and trials but those at a throughput."""
    words = content["command"]
    skipped = {at + offset for at, word in enumerate(words) if word in NOT_KEPT for offset in (0, 1)}
    content = content | {"command": [word for at, word in enumerate(words) if at not in skipped]}
    for row in content.get("measured", {}).get("results", []):
        best = row["total_throughput_pps"]
        row["trials"] = [one for one in row["trials"] if row["method"] == "throughput" and one["offered_pps"] == best]
        cut(row)
    for dut in content["environment"]["duts"]:
        if "guest" in dut:
            dut["guest"]["packages"] = {}
    return content


def read(path: Path) -> list[Document]:
    """What is kept in a file. Raises IrqlabError."""
    try:
        found: list[Document] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise IrqlabError(f"{path}: {error}") from error
    return found


def keep(name: str, paths: Sequence[Path]) -> None:
    """Replaces what is kept of a name by these documents. Raises IrqlabError."""
    if name not in SOURCES:
        raise IrqlabError(f"there are no documents {name}; there are {', '.join(SOURCES)}")
    contents = [reduced(SOURCES[name].read(path), SOURCES[name].cut) for path in paths]
    files.write_atomically(file_of(name), (json.dumps(contents, indent=1) + "\n").encode())


def made(name: str, contents: Sequence[Document]) -> list[Figures]:
    """The figures of a name. Words within a line name the first command only."""
    commands = [" ".join(content["command"]) for content in contents]
    return [
        Figures(one, "; ".join(commands) if text.endswith("\n") else commands[0], text)
        for one, text in SOURCES[name].texts(contents)
    ]


def figures() -> Iterator[Figures]:
    """Of all documents that are kept."""
    for name in SOURCES:
        if file_of(name).exists():
            yield from made(name, read(file_of(name)))


def pictures() -> dict[Path, str]:
    """Drawn from all documents that are kept."""
    drawn: dict[Path, str] = {}
    for name, source in SOURCES.items():
        if file_of(name).exists():
            drawn |= source.pictures(read(file_of(name)))
    return drawn


CIRCUMSTANCES = ("kernel", "qemu", "mips")
"""Of a DUT: where they and the guest image are the same, figures are."""
GUEST_RATIO = 0.02


def moved(name: str, path: Path) -> list[str]:
    """What differs between the figures of a document and those that are kept of a name. Raises IrqlabError.

    The error says so if the document is of another kernel, QEMU or speed, with which figures may differ. With another guest
    image, such as another Rust compiler makes, the timer tick meets frames elsewhere: then figures may differ by GUEST_RATIO.
    """
    kept, new = read(file_of(name)), [reduced(SOURCES[name].read(path), SOURCES[name].cut)]
    for theirs, ours in zip(*(one[0]["environment"]["duts"] for one in (kept, new)), strict=True):
        for what in CIRCUMSTANCES:
            if theirs[what] != ours[what]:
                raise OtherCircumstancesError(f"{what}: {ours[what]}; kept: {theirs[what]}")
    if len({one[0]["environment"]["duts"][0]["guest_image_sha256"] for one in (kept, new)}) > 1:
        return list(_far(kept, new))
    pairs = zip(made(name, kept), made(name, new), strict=True)
    return [
        f"{old.name}:\n  kept: {a}\n  measured: {b}"
        for old, now in pairs
        for a, b in zip(old.text.splitlines(), now.text.splitlines(), strict=True)
        if a != b
    ]


def _far(kept: Sequence[Document], new: Sequence[Document]) -> Iterator[str]:
    """Throughputs and costs that differ by more than another guest image explains."""
    for old, now in zip(kept, new, strict=True):
        for before, after in zip(old["measured"]["results"], now["measured"]["results"], strict=True):
            for figure in ("total_throughput_pps", "instructions_per_frame"):
                if before[figure] and abs(after[figure] / before[figure] - 1) > GUEST_RATIO:
                    who = " ".join(filter(None, (before["driver"], before["variant"])))
                    yield f"{who}, {figure}: {after[figure]}; kept, with another guest image: {before[figure]}"


class OtherCircumstancesError(IrqlabError):
    """Figures that cannot be compared."""
