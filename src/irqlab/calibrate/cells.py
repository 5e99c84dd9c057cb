# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a board's throughputs as cells of a table, and measures the same cells in the DUT."""

from __future__ import annotations

import csv
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from irqlab.config.costs import Costs
from irqlab.config.schemes import VARIANTS, combine
from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import MAX_FRAME_BYTES, MIN_FRAME_BYTES, WIRE_OVERHEAD_BYTES, wire_rate_pps
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import catalogue, throughput
from irqlab.qemu.cancellation import workers
from irqlab.results.ensemble import collapse
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult
from irqlab.trials.testbed import Testbed

WIDTH = 0.004
"""Relative distance of the highest passing and the lowest failing rate; the throughput is taken as the middle."""
FIRST_STEP = 0.02
GENTLE_PPS = 5_000.0
AT_WIRE = 0.995
"""From this share of line rate on, a cell is limited by line rate, not by the board."""
COLUMNS = ("frame_bytes", "throughput_pps or throughput_mbps")


@dataclass(frozen=True, order=True)
class Cell:
    """A variant (or "RX/TX" schemes, or "" for the driver's own) and a frame size."""

    variant: str
    frame_bytes: int

    def __str__(self) -> str:
        return f"{self.variant} {self.frame_bytes}".strip()


@dataclass(frozen=True)
class Measured:
    """A cell measured with some costs."""

    cell: Cell
    costs: Costs
    throughput_pps: float
    """All directions together, without the line-rate limit."""
    events: dict[str, float] = field(hash=False)
    """Events per frame forwarded, by cost."""

    @property
    def frame_ns(self) -> float:
        """Time per frame."""
        return 1e9 / self.throughput_pps


def read(path: Path, bidirectional: bool, line_rate_bps: float) -> dict[Cell, float]:
    """A board's throughputs in frames/s, all directions together, from a CSV with a header line and `#` comments.

    Columns: variant (may be missing), frame_bytes (FCS counted), and throughput_pps (all directions together) or throughput_mbps
    (per interface, including preamble and gap). Or a row per frame size: frame_bytes, and a column of Mbit/s per variant. Cells
    at line rate are left out. Raises IrqlabError.
    """
    try:
        lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as error:
        raise IrqlabError(f"{path}: {getattr(error, 'strerror', None) or 'not a text file'}") from error
    rows = _long(list(csv.DictReader(lines)))
    found: dict[Cell, float] = {}
    directions = 2 if bidirectional else 1
    for number, row in enumerate(rows, 1):
        try:
            size = int(row.get("frame_bytes") or "")
            if row.get("throughput_pps"):
                pps = float(row["throughput_pps"])
            else:
                pps = float(row.get("throughput_mbps") or "") * 1e6 / 8 / (size + WIRE_OVERHEAD_BYTES) * directions
        except ValueError:
            raise IrqlabError(f"{path}, row {number}: numbers are needed in the columns {', '.join(COLUMNS)}") from None
        if not MIN_FRAME_BYTES <= size <= MAX_FRAME_BYTES or not (math.isfinite(pps) and pps > 0):
            raise IrqlabError(
                f"{path}, row {number}: allowed are {MIN_FRAME_BYTES} to {MAX_FRAME_BYTES} bytes and a throughput above 0"
            )
        cell = Cell((row.get("variant") or "").strip(), size)
        if cell in found:
            raise IrqlabError(f"{path}, row {number}: duplicate cell {cell}")
        if pps < AT_WIRE * directions * wire_rate_pps(size, line_rate_bps):
            found[cell] = pps
    if not found:
        raise IrqlabError(f"{path} has no throughput below line rate, so costs cannot be fitted")
    return found


def read_live(path: Path, bidirectional: bool) -> dict[Cell, float]:
    """A board's throughputs in frames/s, all directions together, from a file of `irqlab live throughput --json`.

    Repetitions count by their median. Cells at line rate, or limited by the tester, are left out. Raises IrqlabError.
    """
    content, _ = collapse(catalogue.read(path))
    found: dict[Cell, float] = {}
    for row in content["measured"]["results"]:
        if row["method"] != throughput.METHOD.name or not row["complete"] or row["bidirectional"] != bidirectional:
            continue
        if row["frame_bytes"] == "imix" or row["line_rate_limited"] or row.get("tester_limited"):
            continue
        schemes = f"{row['rx_scheme']}/{row['tx_scheme']}" if row["rx_scheme"] and row["tx_scheme"] else ""
        cell = Cell(row["variant"] or schemes, int(row["frame_bytes"]))
        if cell in found:
            raise IrqlabError(f"{path}: two throughputs of {str(cell) or 'the same cell'}: give a file of one device")
        found[cell] = float(row["total_throughput_pps"])
    if not found:
        way = "both directions" if bidirectional else "one direction"
        raise IrqlabError(
            f"{path} has no throughput in {way} that the device limits, so costs cannot be fitted: irqlab live throughput --json"
        )
    return found


def others(known: Iterable[Cell], text: str | None) -> list[Cell]:
    """The cells of `--predict`: its frame sizes and schemes, also combined with those that are known. Raises IrqlabError."""
    if text is None:
        return []
    there = set(known)
    words = [word.strip() for word in text.split(",")]
    sizes = {int(word) for word in words if word.isdecimal()}
    schemes = {word for word in words if not word.isdecimal()}
    if "" in schemes or not all(MIN_FRAME_BYTES <= size <= MAX_FRAME_BYTES for size in sizes):
        raise IrqlabError(
            f"--predict {text}: allowed are sizes of {MIN_FRAME_BYTES} to {MAX_FRAME_BYTES} bytes, and schemes such as napi/off"
        )
    every = {
        Cell(variant, size)
        for variant in schemes | {cell.variant for cell in there}
        for size in sizes | {cell.frame_bytes for cell in there}
    }
    return sorted(every - there)


def _long(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Converts a table with a column per variant to a row per cell."""
    if not rows or any(name in rows[0] for name in ("variant", "throughput_pps", "throughput_mbps")):
        return rows
    return [
        {"variant": name, "frame_bytes": row.get("frame_bytes") or "", "throughput_mbps": mbps or ""}
        for row in rows
        for name, mbps in row.items()
        if name != "frame_bytes"
    ]


class Board:
    """Measures cells; the testbed of each variant is made on first use."""

    def __init__(
        self,
        base: TestbedConfig,
        workload: Workload,
        slots: threading.Semaphore,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.base = base
        self.workload = workload
        self.slots = slots
        self.progress = progress
        self._testbeds: dict[str, Testbed] = {}
        self._lock = threading.Lock()

    def testbed(self, variant: str) -> Testbed:
        """The testbed of a variant. Raises IrqlabError if there is no such variant."""
        with self._lock:
            if variant not in self._testbeds:
                if not variant:
                    chosen = combine(None, None, None)
                elif variant in VARIANTS:
                    chosen = combine([variant], None, None)
                else:
                    rx, slash, tx = variant.partition("/")
                    if not slash:
                        raise IrqlabError(f"variant {variant!r}: allowed are {', '.join(VARIANTS)}, and RX/TX such as napi/off")
                    chosen = combine(None, rx, tx)
                config = replace(self.base, dut=replace(self.base.dut, schemes=chosen[0]), cost_model=True)
                self._testbeds[variant] = Testbed.resolve(config)
            return self._testbeds[variant]

    def check(self, cells: Iterable[Cell]) -> None:
        """Raises IrqlabError if a cell cannot be measured."""
        for cell in cells:
            self.testbed(cell.variant)

    def measure(self, cells: Sequence[Cell], costs: Costs, guesses_pps: dict[Cell, float] | None = None) -> list[Measured]:
        """Measures the cells with these costs, in parallel; returns them in order. Good guesses save time."""
        guesses = guesses_pps or {}
        with workers(len(cells)) as pool:
            return list(pool.map(lambda cell: self._cell(cell, costs, guesses.get(cell)), cells))

    def _cell(self, cell: Cell, costs: Costs, guess_pps: float | None) -> Measured:
        """Where costs are charged, all events are counted on the way. Without, counting would not be free: a trial of its own."""
        runner = TrialRunner(self.testbed(cell.variant), self.slots)
        workload = replace(self.workload, size=cell.frame_bytes, costs=costs or None, above_line_rate=True)
        directions = 2 if workload.bidirectional else 1

        def trial(pps: float, count: bool = bool(costs)) -> ForwardingResult:
            return runner.trial(replace(runner.spec(workload, pps / directions), count_events=count))

        if guess_pps is None:
            gentle = trial(GENTLE_PPS)
            guess_pps = runner.bench.config.mips * 1e6 / (gentle.instructions_per_frame or 1e4)
        found, low_pps, high_pps = near(trial, guess_pps)
        if not costs:
            found = trial(low_pps * 0.9, True)
        self.progress(f"{cell}: {low_pps / 1e3:.1f} kpps at {costs}")
        events = {name: number / found.frames_forwarded for name, number in (found.cost_events or {}).items()}
        return Measured(cell, costs, (low_pps + high_pps) / 2, events)


def near(trial: Callable[[float], ForwardingResult], guess_pps: float) -> tuple[ForwardingResult, float, float]:
    """Searches the throughput from a guess; returns the best passing trial, its rate, and the lowest failing rate (frames/s)."""
    passed: tuple[float, ForwardingResult] | None = None
    failed: float | None = None
    rate_pps, step = guess_pps, FIRST_STEP
    while passed is None or failed is None or (failed - passed[0]) / failed > WIDTH:
        result = trial(rate_pps)
        if throughput.passed(result):
            passed = (rate_pps, result)
        else:
            failed = rate_pps
        if passed and failed:
            rate_pps = math.sqrt(passed[0] * failed)
            continue
        rate_pps = rate_pps * (1 + step) if passed else rate_pps / (1 + step)
        step *= 2
        if rate_pps < throughput.MIN_RATE_PPS:
            raise IrqlabError(f"frames are lost even at {rate_pps:.0f} frames/s: the costs are too high")
    return passed[1], passed[0], failed
