# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures our drivers with all their schemes, at the commit BEFORE and at the present one, and keeps the figures in docs.

    python -m tools.speed before             # the drivers of the commit BEFORE; once
    python -m tools.speed after              # those of HEAD: what is not committed is not measured
    python -m tools.speed after rtl8139cp    # those whose name has the word; the names: .venv/bin/python -m tools.speed --list
    python -m tools.speed before --missing   # those of which no figures are kept
    python -m tools.speed --page             # measures nothing: writes the tables of docs/drivers-speed.md from what is kept

The rows of a configuration replace those kept of it before. Trials that are cached are not run again.
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
from tools.pages import DOCS, between, git, read_rows, write, write_rows

KEPT, PAGE = DOCS / "drivers-speed/speed.csv", DOCS / "drivers-speed.md"
BEFORE = "a0daf8b"
"""The last commit before the engine's schemes became one file each (8fb3cf0)."""
HALVES = ("before", "after")
CACHES = DOCS / "drivers-speed/caches.json"
"""As the MPC8250's, but a fill takes no time: the DUT executes the same as without them."""
SHARE = 0.9
"""The load at which costs are compared, as a share of the throughput before."""
AT_ONCE = 4
"""Configurations; each is kept when it is measured."""
THEIRS = {"irqmod_i8255x": "e100", "irqmod_rtl8139cp": "8139cp", "irqmod_lan78xx": "lan78xx"}
"""Our drivers, and the kernel's."""
KEEPING = threading.Lock()


@dataclass(frozen=True)
class Cell:
    """One configuration. `new`: the drivers before did not have it."""

    driver: str
    nic: str
    schemes: str
    """As for irqlab compare."""
    new: bool = False

    @property
    def name(self) -> str:
        """For the command line."""
        return f"{self.driver} {self.nic} {self.schemes}".strip()


# A choice of what is measured. The drivers before did not have the new ones.
OLD = ("de+off", "timer+off", "hybrid+off", "adaptive+off")
NEW = (
    "timer+off+timer-without=backlog",
    "hybrid+off+above=paced",
    "ifpoll+off",
    "polling+off",
    "shrink+off",
    "dim+off",
    "napi+poll",
)
PCI = {
    "irqmod_i8255x": ("i82557b", "irqlab-82559"),
    "irqmod_rtl8139cp": ("rtl8139", "irqlab-8139cp"),
}
"""QEMU's model and the tester's."""


def cells() -> Iterator[Cell]:
    """What is measured."""
    for driver, nics in PCI.items():
        for nic in nics:
            for schemes in (*VARIANTS, *OLD, *NEW):
                yield Cell(driver, nic, schemes, schemes in NEW)
            yield Cell(THEIRS[driver], nic, "")
    for schemes in ("standard", "napi", "hybrid", "timer"):
        yield Cell("irqmod_lan78xx", "lan7800", schemes)
    yield Cell(THEIRS["irqmod_lan78xx"], "lan7800", "")


@dataclass(frozen=True)
class Row:
    """What is kept of a configuration."""

    half: str
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
    equal_pps: float
    """The load at which costs are compared, per direction."""
    equal_instructions: float
    """Per frame, at this load, as the following."""
    equal_l1i_fills: float
    equal_l1d_fills: float

    @property
    def cell(self) -> tuple[str, str, str]:
        """Which configuration it is of."""
        return self.driver, self.nic, self.schemes

    @property
    def fills(self) -> float:
        """Of both caches, at the throughput."""
        return self.l1i_fills + self.l1d_fills

    @property
    def equal_fills(self) -> float:
        """The same at the equal load."""
        return self.equal_l1i_fills + self.equal_l1d_fills


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
    rows = [row for row in kept() if (row.cell, row.half) != (found.cell, found.half) and row.cell in order] + [found]
    rows.sort(key=lambda row: (HALVES.index(row.half), order[row.cell]))
    lines = [{key: f"{value:.6g}" if isinstance(value, float) else value for key, value in asdict(row).items()} for row in rows]
    write_rows(KEPT, [entry.name for entry in fields(Row)], lines)


def measure(runner: TrialRunner, half: str, commit: str, cell: Cell, before: Row | None) -> Row:
    """The throughput, without the caches; then a trial there, and one at the load of both halves, with them."""
    workload = Workload(bidirectional=True)
    guess = before.throughput_pps / 2 if before else None
    found: MethodResult = throughput.run(runner, replace(workload, expected_pps=guess))
    bed, caches = runner.bench.lab(), hardware.load(str(CACHES)).memory
    assert caches is not None
    watched = TrialRunner(
        replace(bed, config=replace(bed.config, memory=caches), machine=replace(bed.machine, memory=caches.arguments())),
        runner.slots,
    )
    rate = throughput.rate_per_direction(found)
    equal = before.equal_pps if before else SHARE * rate
    at, below = (watched.trial(watched.spec(workload, pps)) for pps in (rate, equal))
    same = next(trial for trial in found.trials if trial.spec.loads[0].rate_pps == rate)
    if (same.instructions, same.total("received")) != (at.instructions, at.total("received")):
        raise SystemExit(f"speed: {cell.name}: the caches changed the trial")
    return Row(
        half,
        commit,
        bed.machine.kernel.release,
        str(bed.describe()["qemu"]).split()[3],
        cell.driver,
        cell.nic,
        cell.schemes,
        float(found.total_throughput_pps or 0),
        *costs(at),
        equal,
        *costs(below),
    )


def costs(trial: ForwardingResult) -> tuple[float, float, float]:
    """Instructions and fills per frame."""
    found = (trial.instructions_per_frame, trial.fills_per_frame("L1I"), trial.fills_per_frame("L1D"))
    instructions, code, data = (value or 0.0 for value in found)
    return instructions, code, data


def run(half: str, chosen: list[Cell]) -> None:
    """Measures the cells, as many at a time as there are processors."""
    commit = git("rev-parse", "--short=7", BEFORE if half == "before" else "HEAD")
    if not commit:
        raise IrqlabError("git does not know the commit")
    known = {row.cell: row for row in kept() if row.half == "before"}
    jobs = {}
    for cell in chosen:
        ours = cell.driver in THEIRS
        named = f"git:{commit}:{cell.driver}" if ours else cell.driver
        side = sides.parse("+".join(filter(None, (named, cell.schemes))), TestbedConfig(named, cell.nic))
        assert side.testbed is not None
        testbed = Testbed.resolve(side.testbed)
        old = known.get((cell.driver, cell.nic, cell.schemes)) if half == "after" else None

        def work(runner: TrialRunner, cell: Cell = cell, old: Row | None = old) -> Row:
            found = measure(runner, half, commit, cell, old)
            with KEEPING:
                keep(found)
            return found

        jobs[cell] = Job(cell.name, testbed, work)
    names = list(jobs)
    with terminate_like_ctrl_c(), JobRunner(len(os.sched_getaffinity(0))) as runner:
        for first in range(0, len(names), AT_ONCE):
            runner.run("speed", {cell: jobs[cell] for cell in names[first : first + AT_ONCE]})


def change(before: float, after: float) -> str:
    """In per cent."""
    return f"{100 * (after / before - 1):+.1f} %" if before else ""


def table(rows: list[Row], driver: str) -> str:
    """A line for each NIC and scheme of a driver, in Markdown."""
    out = ["| NIC | schemes | throughput, kpps | | instructions | fills | at equal load: instructions | | fills | |"]
    out += ["|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    of = {(row.cell, row.half): row for row in rows}
    for cell in cells():
        if cell.driver not in (driver, THEIRS[driver]):
            continue
        key = (cell.driver, cell.nic, cell.schemes)
        old, new = (of.get((key, half)) for half in HALVES)
        if old is None and new is None:
            continue

        def pair(name: str, form: str = ".0f", scale: float = 1.0, old: Row | None = old, new: Row | None = new) -> str:
            values = (getattr(row, name) / scale for row in (old, new) if row)
            return ", ".join(format(value, form if abs(value) < 1000 else ",.0f") for value in values)

        def moved(name: str, old: Row | None = old, new: Row | None = new) -> str:
            return change(getattr(old, name), getattr(new, name)) if old and new else ""

        words = (
            (cell.schemes or cell.driver)
            .replace("+above=", ", ")
            .replace("+timer-without=backlog", ", in lists")
            .replace("+", "/", 1)
        )
        columns = (
            cell.nic,
            words,
            pair("throughput_pps", ".1f", 1e3),
            moved("throughput_pps"),
            pair("instructions"),
            pair("fills"),
            pair("equal_instructions"),
            moved("equal_instructions"),
            pair("equal_fills"),
            moved("equal_fills"),
        )
        out.append(f"| {' | '.join(columns)} |")
    return "\n".join(out) + "\n"


def write_page() -> None:
    """Replaces the tables in the page. Raises IrqlabError."""
    rows, text = kept(), PAGE.read_text()
    for driver in THEIRS:
        text = between(text, f"table {driver}", table(rows, driver))
    write(PAGE, text)


def main(words: list[str]) -> int:
    """Returns the exit code."""
    if words in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if words == ["--list"]:
        print(*(cell.name for cell in cells()), sep="\n")
        return 0
    if words == ["--page"]:
        write_page()
        return 0
    half, *names = words or [""]
    if half not in HALVES:
        print("speed: say before, after, --list or --page", file=sys.stderr)
        return 2
    # The kernel's drivers are the same in both halves; they are measured with the first.
    every = [cell for cell in cells() if (half == "after" if cell.new else half == "before" or cell.driver in THEIRS)]
    if names == ["--missing"]:
        have = {row.cell for row in kept() if row.half == half}
        chosen = [cell for cell in every if (cell.driver, cell.nic, cell.schemes) not in have]
    else:
        chosen = [cell for cell in every if not names or any(name in cell.name for name in names)]
    if not chosen:
        print("speed: no configuration's name has one of these words (see --list), or none is missing", file=sys.stderr)
        return 2
    run(half, chosen)
    write_page()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except IrqlabError as error:
        print(f"speed: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
