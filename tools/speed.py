# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures our drivers with all their schemes, and the kernel's, and keeps the figures of docs/drivers/speed.md.

    python -m tools.speed              # all, at HEAD: what is not committed is not measured
    python -m tools.speed rtl8139cp    # those whose name has the word; the names: .venv/bin/python -m tools.speed --list
    python -m tools.speed --missing    # those of which no figures are kept

The row of a configuration replaces the one that was kept of it. Trials that are cached are not run again.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from irqlab.compare import sides
from irqlab.config import hardware
from irqlab.config.schemes import VARIANTS
from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import throughput
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import Job, JobRunner, terminate_like_ctrl_c
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingResult
from irqlab.trials.testbed import Testbed
from tools.pages import RESULTS, Figures, git, read_rows, table, write_figures, write_rows

KEPT = RESULTS / "speed.csv"
CACHES = RESULTS / "speed-caches.json"
"""As the MPC8250's, but a fill takes no time: the DUT executes the same as without them."""
AT_ONCE = 4
"""Configurations; each is kept when it is measured."""
THEIRS = {"irqmod_i8255x": "e100", "irqmod_rtl8139cp": "8139cp", "irqmod_lan78xx": "lan78xx"}
"""Our drivers, and the kernel's."""
KEEPING = threading.Lock()


@dataclass(frozen=True)
class Cell:
    """One configuration."""

    driver: str
    nic: str
    schemes: str
    """As for irqlab compare."""

    @property
    def name(self) -> str:
        """For the command line."""
        return f"{self.driver} {self.nic} {self.schemes}".strip()


SCHEMES = (
    *VARIANTS,
    "de+off",
    "timer+off",
    "timer+off+timer-without=backlog",
    "hybrid+off",
    "hybrid+off+above=paced",
    "adaptive+off",
    "ifpoll+off",
    "polling+off",
    "shrink+off",
    "dim+off",
    "napi+poll",
)
"""A choice of what is measured."""
USB_SCHEMES = ("standard", "napi", "hybrid", "timer")
PCI = {
    "irqmod_i8255x": ("i82557b", "irqlab-82559"),
    "irqmod_rtl8139cp": ("rtl8139", "irqlab-8139cp"),
}
"""QEMU's model and the tester's."""


def cells() -> Iterator[Cell]:
    """What is measured."""
    for driver, nics in PCI.items():
        for nic in nics:
            for schemes in SCHEMES:
                yield Cell(driver, nic, schemes)
            yield Cell(THEIRS[driver], nic, "")
    for schemes in USB_SCHEMES:
        yield Cell("irqmod_lan78xx", "lan7800", schemes)
    yield Cell(THEIRS["irqmod_lan78xx"], "lan7800", "")


@dataclass(frozen=True)
class Row:
    """What is kept of a configuration."""

    commit: str
    kernel: str
    qemu: str
    driver: str
    nic: str
    schemes: str
    throughput_pps: float
    """Both directions together, 64-byte frames."""
    instructions: float
    """Per frame, at the throughput, as the following."""
    l1i_fills: float
    l1d_fills: float

    @property
    def cell(self) -> tuple[str, str, str]:
        """Which configuration it is of."""
        return self.driver, self.nic, self.schemes

    @property
    def figures(self) -> list[str]:
        """Throughput in kpps, instructions, fills of both caches."""
        return [f"{self.throughput_pps / 1e3:.1f}", f"{self.instructions:,.0f}", f"{self.l1i_fills + self.l1d_fills:.0f}"]


def kept() -> list[Row]:
    """All rows, as they are in the file."""
    text = {entry.name for entry in fields(Row) if entry.type == "str"}
    given: list[dict[str, Any]] = [
        {key: value if key in text else float(value) for key, value in line.items()} for line in read_rows(KEPT)
    ]
    return [Row(**one) for one in given]


def keep(found: Row) -> None:
    """Replaces the row of a configuration, in the order of the cells."""
    order = {(cell.driver, cell.nic, cell.schemes): number for number, cell in enumerate(cells())}
    rows = [row for row in kept() if row.cell != found.cell and row.cell in order] + [found]
    rows.sort(key=lambda row: order[row.cell])
    lines = [{key: f"{value:.6g}" if isinstance(value, float) else value for key, value in asdict(row).items()} for row in rows]
    write_rows(KEPT, [entry.name for entry in fields(Row)], lines)


def measure(runner: TrialRunner, commit: str, cell: Cell) -> Row:
    """The throughput, without the caches; then a trial there, with them."""
    workload = Workload(bidirectional=True)
    found: MethodResult = throughput.run(runner, workload)
    bed, caches = runner.bench.lab(), hardware.load(str(CACHES)).memory
    assert caches is not None
    watched = TrialRunner(
        replace(bed, config=replace(bed.config, memory=caches), machine=replace(bed.machine, memory=caches.arguments())),
        runner.slots,
    )
    rate = throughput.rate_per_direction(found)
    at = watched.trial(watched.spec(workload, rate))
    same = next(trial for trial in found.trials if trial.spec.loads[0].rate_pps == rate)
    if (same.instructions, same.total("received")) != (at.instructions, at.total("received")):
        raise SystemExit(f"speed: {cell.name}: the caches changed the trial")
    return Row(
        commit,
        bed.machine.kernel.release,
        str(bed.describe()["qemu"]).split()[3],
        cell.driver,
        cell.nic,
        cell.schemes,
        float(found.total_throughput_pps or 0),
        *costs(at),
    )


def costs(trial: ForwardingResult) -> tuple[float, float, float]:
    """Instructions and fills per frame."""
    found = (trial.instructions_per_frame, trial.fills_per_frame("L1I"), trial.fills_per_frame("L1D"))
    instructions, code, data = (value or 0.0 for value in found)
    return instructions, code, data


def run(chosen: list[Cell]) -> None:
    """Measures the cells, as many at a time as there are processors."""
    commit = git("rev-parse", "--short=7", "HEAD")
    if not commit:
        raise IrqlabError("git does not know the commit")
    jobs = {}
    for cell in chosen:
        named = f"git:{commit}:{cell.driver}" if cell.driver in THEIRS else cell.driver
        side = sides.parse("+".join(filter(None, (named, cell.schemes))), TestbedConfig(named, cell.nic))
        assert side.testbed is not None

        def work(runner: TrialRunner, cell: Cell = cell) -> Row:
            found = measure(runner, commit, cell)
            with KEEPING:
                keep(found)
            return found

        jobs[cell] = Job(cell.name, Testbed.resolve(side.testbed), work)
    names = list(jobs)
    with terminate_like_ctrl_c(), JobRunner(len(os.sched_getaffinity(0))) as runner:
        for first in range(0, len(names), AT_ONCE):
            runner.run("speed", {cell: jobs[cell] for cell in names[first : first + AT_ONCE]})


def words(schemes: str) -> str:
    """Schemes as in the tables."""
    for option, text in (("+above=", ", "), ("+timer-without=backlog", ", in lists")):
        schemes = schemes.replace(option, text)
    return schemes.replace("+", "/", 1)


def figures() -> Iterator[Figures]:
    """A line for each scheme: on the PCI chips, on QEMU's models; and over USB."""
    of = {row.cell: row.figures for row in kept()}
    none = [""] * 3
    heads = ("kpps", "instructions", "fills")
    lines = [
        [words(schemes), *(cell for driver, nics in PCI.items() for cell in of.get((driver, nics[0], schemes), none))]
        for schemes in SCHEMES
    ]
    lines.append(
        ["e100, 8139cp", *(cell for driver, nics in PCI.items() for cell in of.get((THEIRS[driver], nics[0], ""), none))]
    )
    columns = ("schemes", *(f"{chip}: {head}" for chip in ("8255x", "C+") for head in heads))
    yield Figures("speed", "python -m tools.speed", table(columns, lines))
    usb = "irqmod_lan78xx"
    lines = [[words(schemes), *of.get((usb, "lan7800", schemes), none)] for schemes in USB_SCHEMES]
    lines.append([THEIRS[usb], *of.get((THEIRS[usb], "lan7800", ""), none)])
    yield Figures("speed over USB", "python -m tools.speed", table(("scheme", *heads), lines))


def main(asked: list[str]) -> int:
    """Returns the exit code."""
    if asked in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if asked == ["--list"]:
        print(*(cell.name for cell in cells()), sep="\n")
        return 0
    have = {row.cell for row in kept()} if asked == ["--missing"] else set()
    chosen = [
        cell
        for cell in cells()
        if (cell.driver, cell.nic, cell.schemes) not in have and (not asked or have or any(word in cell.name for word in asked))
    ]
    if not chosen:
        print("speed: no configuration's name has one of these words (see --list), or none is missing", file=sys.stderr)
        return 2
    run(chosen)
    write_figures(figures())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except IrqlabError as error:
        print(f"speed: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
