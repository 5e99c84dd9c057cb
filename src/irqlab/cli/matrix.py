# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab matrix`: a grid of drivers, schemes and frame sizes; resumable, optionally on several machines."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import UNSET

from irqlab import files
from irqlab.cli import options as opt
from irqlab.cli.output import check_directory, show_document
from irqlab.compare import matrix
from irqlab.errors import IrqlabError
from irqlab.methods.options import check_rate
from irqlab.report import write_html
from irqlab.results import document as results
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import Job, JobRunner, UserInterruptError, terminate_like_ctrl_c
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed

SchemesOption = Annotated[
    str | None,
    typer.Option("--schemes", help=f"Schemes for drivers built on irqmod: RX+TX or a variant, comma-separated; {matrix.COUNTS}."),
]
Profiled = Annotated[bool, typer.Option("--profile", help="Also count accesses to the NIC's registers (slower).")]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", help="A Dask scheduler, tcp://HOST:PORT: its workers run the trials.")
]
Out = Annotated[Path, typer.Option("--out", help="Output directory for matrix.csv, matrix.json and matrix.html.")]


@opt.asks(
    "driver",
    "nic",
    "kernel",
    "mips",
    "ring",
    "lsm",
    "sysctl",
    "size",
    "bidirectional",
    "duration",
    "warmup",
    *opt.COSTS,
    *opt.RUN,
)
def command(
    *,
    schemes: SchemesOption = None,
    profile: Profiled = False,
    scheduler: Scheduler = None,
    rate: opt.RateOption = None,
    request: opt.Request,
    out: Out = Path("results/matrix"),
) -> None:
    """Measures the grid; drivers are specified as for irqlab compare. Cached results are reused."""
    check_directory(out)
    check_rate(rate)
    grid = _Grid(request, profile, rate)
    try:
        with terminate_like_ctrl_c():
            testbeds = matrix.testbeds(
                [testbed.driver for testbed in request.testbeds], matrix.schemes(schemes), request.testbeds[0]
            )
            if scheduler is None:
                grid.measure(testbeds, request.jobs)
            else:
                cluster = _cluster()
                with cluster.Cluster(scheduler) as remote:
                    grid.measure([replace(testbed, elsewhere=remote) for testbed in testbeds], max(request.jobs, remote.threads))
    except KeyboardInterrupt:
        grid.write(out, complete=False)
        cached = request.testbeds[0].cached
        kept = "run the same command again to continue" if cached else "partial cells are lost (--no-cache)"
        raise UserInterruptError(f"interrupted; {len(grid.done)} of {grid.size} cells are in {out}; {kept}") from None
    grid.write(out, complete=True)
    _show(grid, out)


def _cluster() -> Any:
    """Imports the module that needs dask.distributed."""
    try:
        from irqlab.runner import cluster
    except ImportError:
        raise IrqlabError("--scheduler needs dask.distributed: pip install 'irqlab[cluster]'") from None
    return cluster


class _Grid:
    """The cells of the grid and their results so far."""

    def __init__(self, request: opt.Request, profiled: bool, rate_pps: float | None) -> None:
        self.rate_pps = rate_pps
        self.request = request
        self.profiled = profiled
        self.done: dict[tuple[int, int], list[MethodResult]] = {}
        self.size = 0
        self._on: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def measure(self, testbeds: Sequence[Testbed], jobs: int) -> None:
        """Measures every cell."""
        with JobRunner(jobs) as runner:
            described = {
                n: Job(testbed.label, testbed, lambda runner: runner.bench.describe()) for n, testbed in enumerate(testbeds)
            }
            self._on = list(runner.run("preparing", described).values())
            cells = {
                (n, m): Job(f"{testbed.label} {workload.size}", testbed, partial(self._one, place=(n, m)))
                for n, testbed in enumerate(testbeds)
                for m, workload in enumerate(self.request.workloads())
            }
            self.size = len(cells)
            runner.run("measuring", cells)

    def _one(self, runner: TrialRunner, place: tuple[int, int]) -> None:
        found = matrix.measure(runner, self.request.workloads()[place[1]], self.profiled, self.rate_pps)
        with self._lock:
            self.done[place] = found

    def rows(self) -> list[MethodResult]:
        """The results so far, in the order of the grid."""
        for (testbed, _), rows in self.done.items():
            for row in rows:
                row.dut = testbed if len(self._on) > 1 else UNSET
        return [row for place in sorted(self.done) for row in self.done[place]]

    def content(self, complete: bool) -> dict[str, Any]:
        """The result document."""
        return results.document(["irqlab", *sys.argv[1:]], self._on, self.rows(), complete)

    def write(self, out: Path, complete: bool) -> None:
        """Writes the files, unless nothing was measured."""
        if not self.done:
            return
        content = self.content(complete)
        results.write(out / "matrix.json", content)
        files.write_atomically(out / "matrix.csv", matrix.to_csv(content["measured"]["results"]).encode())
        write_html([content], out / "matrix.html")


def _show(grid: _Grid, out: Path) -> None:
    show_document(grid.content(complete=True), "throughput")
    print(f"{out}/matrix.html, matrix.csv, matrix.json")
