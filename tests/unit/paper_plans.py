# SPDX-License-Identifier: GPL-2.0-or-later
"""Every job of a reproduction, and the tables of its quick look with made-up answers, as text; and tests/data/plans.txt.

That file has a line for each part of a text, a set of jobs or a table: how many lines it has, and their hash.

    python -m tests.unit.paper_plans              # writes the file anew
    python -m tests.unit.paper_plans DIRECTORY    # writes the texts, to compare them with another commit's
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from zlib import crc32

from irqlab.config.costs import Costs
from irqlab.config.hardware import Hardware
from irqlab.config.testbed import DutConfig
from irqlab.config.traffic import Load
from irqlab.methods import cliff
from irqlab.methods.cliff import Internal
from irqlab.methods.receiving import spec_of
from irqlab.reproduce import patches
from irqlab.reproduce.hybrid import measure as hybrid
from irqlab.reproduce.hybrid import softirqs
from irqlab.reproduce.lan78xx import measure as lan78xx
from irqlab.reproduce.lan78xx.trials import Flows, Probe, Responsiveness, RoundTrip, Throughput
from irqlab.reproduce.mogul1997 import measure as mogul1997
from irqlab.reproduce.rtl8139cp import measure as rtl8139cp
from irqlab.reproduce.rtl8139cp.trials import GENTLE_PPS, Loaded
from irqlab.reproduce.salah2009 import experiments, overload
from irqlab.reproduce.salah2009 import measure as salah2009
from irqlab.reproduce.salah2009.overload import Shares
from irqlab.reproduce.spanos2008 import interrupts, phases
from irqlab.reproduce.spanos2008 import measure as spanos2008
from irqlab.reproduce.spanos2008.run import Run
from irqlab.reproduce.table import Table
from irqlab.results.document import MethodResult
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial
from tests.data.make_views import text_of
from tests.unit.fake_session import FakeSession
from tests.unit.fakes import LATENCY, FakeBench, changed

DATA = Path(__file__).parents[1] / "data"

PLANS = DATA / "plans.txt"


def some(least: float, most: float, *of: Any) -> float:
    """A made-up figure between two others that is the same for the same question, and another for another."""
    return least + (most - least) * (crc32(repr(of).encode()) % 9973) / 9973


def forwarded(*of: Any, slowest: float = 1000.0) -> ForwardingResult:
    """A made-up trial."""
    most = some(slowest, 90_000, *of)
    made = FakeBench(lambda pps: min(pps, most)).run(ForwardingTrial((Load(most * 1.1),), duration_ns=100_000_000))  # type: ignore[arg-type]
    (stream,) = made.streams
    latency = {
        **LATENCY,
        "mean_ns": some(1e5, 2e6, *of),
        "p50_ns": 1500,
        "p99_ns": round(some(2e3, 3e3, *of)),
        "max_ns": 3500,
    }
    return replace(made, streams=[changed(stream, latency=latency)], idle_ns=round(some(0, 1e8, *of)))


def found(*of: Any) -> MethodResult:
    """A made-up throughput."""
    pps = some(10_000, 90_000, *of)
    return MethodResult(
        "throughput", "d", "n", 64, False, 250, total_throughput_pps=pps, instructions_per_frame=some(3e3, 5e3, *of)
    )


# The jobs' answers.


def of_rtl8139cp(what: str, key: Any) -> Any:
    if what.startswith("throughput") or what in (
        "each measure alone: throughput",
        "the whole range of periods",
        "refill rules: throughput",
        "models of the chip",
    ):
        return found(what, text_of(key))
    if what in ("the timer's period", "each measure alone: latency and overload", "refill rules: latency and overload"):
        return Loaded.of(forwarded(what, (*key, GENTLE_PPS)), forwarded(what, (*key, None)))
    number = partial(some, 100, 1000, what, key)
    shares = {"driver": number("driver"), "IP stack": number("ip")}
    return rtl8139cp.Counted(
        1000, 900, number("pps"), number("polls"), 70.0, number("rx"), shares, {"softirq": 5.004}, 148_809.52
    )


def of_lan78xx(what: str, key: Any) -> Any:
    number = partial(some, 100, 1000, what, key)
    if what == "forwarding":
        return found(what, key)
    if what == "rrul":
        probes = [Probe(*(RoundTrip(number(n, when), number(n, when, "p99")) for when in "ab")) for n in range(4)]
        flows = (Flows(*(number(way, n) for n in range(4))) for way in ("up", "down"))
        return Responsiveness(number("up"), number("down"), number("idle"), *flows, *probes)
    return Throughput(number("mbps"), number("window"), number("loss"), number("idle"), round(number("n")), 3)


# What the jobs run on, where they are run.


class Salah:
    """Runs application trials by a formula (tests/unit/reproduce/salah2009/test_salah2009.py)."""

    def __init__(self, driver: str | None) -> None:
        from tests.unit.reproduce.salah2009.test_salah2009 import bench

        self.of = bench(driver, None) if driver else bench()


def salah_testbeds() -> Callable[..., Any]:
    """Our driver's testbed, or another's."""
    ours = Salah(None).of
    return lambda *_, driver=None, **__: Salah(driver).of if driver else ours


class Charged(FakeBench):
    """Forwards what a variant does, less with costs; counts interrupts."""

    def forwarded(self, spec: ForwardingTrial) -> ForwardingResult:
        made = super().forwarded(spec)
        counted = {"irq": 2 * made.frames_forwarded, "byte": 99 * made.frames_forwarded} if spec.costs else None
        return replace(
            made,
            cost_events=counted,
            counters=replace(made.counters, driver={"eth0": {"rx_interrupts": made.streams[0].sent}}),
        )


def spanos_testbed(schemes: Any, **changes: Any) -> Charged:
    most = some(20_000, 45_000, schemes.variant) * (0.8 if changes else 1)
    return Charged(lambda pps: min(pps, most) if pps < 3 * most else 10.0, lambda pps: pps > most)


def profiled(runner: Any, workload: Any, rate_pps: float) -> MethodResult:
    from tests.unit.reproduce.spanos2008.test_spanos2008 import _profiled

    return replace(_profiled(round(rate_pps)), frame_bytes=workload.size)


def of_hardware(runner: Any, row: Any, load: float, cliff_pps: float, workload: Any) -> Any:
    """In place of irqlab.reproduce.salah2009.overload.profile."""
    from tests.unit.reproduce.salah2009.test_salah2009 import measured

    shares = [some(0, 0.5, load, row.name, n) for n in range(4)]
    return measured(spec_of(workload, load * cliff_pps, row.tuning)), Shares(*shares)


# As text.


def tables_of(tables: Any) -> Iterator[str]:
    """Tables, and sets of tables, row by row."""
    for field in fields(tables):
        value = getattr(tables, field.name)
        if isinstance(value, Table):
            yield f"table {field.name}: {value.title}"
            yield from (f"  {text_of(row)}" for row in value)
        elif is_dataclass(value):
            yield from tables_of(value)
        elif value is not None:
            yield f"{field.name}: {text_of(value)}"


def given(value: Any) -> str:
    """An argument of a job. Results and sessions by their names alone."""
    if isinstance(value, MethodResult):
        return f"{value.method} of {value.frame_bytes} bytes, {text_of(value.total_throughput_pps)}/s"
    return "session" if isinstance(value, Run) else text_of(value)


def work_of(work: Any) -> str:
    """A job's function, and what it is given."""
    if not isinstance(work, partial):
        return str(work.__name__)
    return f"{work.func.__name__}({', '.join([*map(given, work.args), *(f'{k}={given(v)}' for k, v in work.keywords.items())])})"


def plan(measure: Callable[[Any], Any], session: Any) -> str:
    """What a paper's reproduction does and, of the quick look, what it states."""
    tables = measure(session)
    jobs = [
        f"{what} | {text_of(key)} | {job.label} | {text_of(testbed)} | {work_of(job.work)}"
        for what, key, job, testbed in session.jobs
    ]
    return "\n".join([*jobs, *(tables_of(tables) if session.quick else ())]) + "\n"


def rtl8139cp_plan(quick: bool) -> str:
    """8139cp's."""

    def testbeds(*_: Any, **__: Any) -> Any:
        return SimpleNamespace(describe=lambda: {"dut": {"ring_rx": 64}})

    board = Hardware("board", 500, Costs(irq=1000))
    return plan(rtl8139cp.measure, FakeSession(testbeds, answer=of_rtl8139cp, quick=quick, hardware=board))


def lan78xx_plan(quick: bool) -> str:
    """lan78xx's."""
    return plan(lan78xx.measure, FakeSession(lambda *_, **__: SimpleNamespace(), answer=of_lan78xx, quick=quick))


def salah2009_plan(quick: bool) -> str:
    """Salah & Qahtan's."""
    from tests.unit.reproduce.salah2009.test_salah2009 import _Dut

    config = SimpleNamespace(nic=None, dut=_Dut())
    inside = Internal(12_500.0, 7000.0, 40_000.0, 500.0, 1.0)
    built = patch.object(experiments, "patched_driver", lambda _: "/built/irqmod_i8255x.ko")
    with patch.object(cliff, "internal", lambda *_: inside), patch.object(overload, "profile", of_hardware), built:
        return plan(salah2009.measure, FakeSession(salah_testbeds(), quick=quick, config=config))


def hybrid_plan(quick: bool) -> str:
    """Improved hybrid's."""
    config = SimpleNamespace(kernel=None, dut=DutConfig())
    with patch.object(patches, "kernel", lambda *_: "tree:/linux"), patch.object(softirqs, "KCONFIG", "schedstats.config"):
        return plan(hybrid.measure, FakeSession(lambda *_, **__: Salah(None).of, quick=quick, config=config))


def spanos2008_plan(quick: bool) -> str:
    """Spanos et al.'s, with the costs of a board and without."""
    cells = [{"frame_bytes": 64, "variant": "NAPI"}]
    of_fit = {"cells": cells, "left_out_error": 0.05, "left_out_error_without": {"irq": 0.06}, "standard_errors_ns": {"irq": 7.0}}
    board = Hardware("board", 300, Costs(irq=1000, byte=10), of_fit)
    with patch.object(phases.method, "run", profiled), patch.object(interrupts, "QUICK_FRAMES", 1000):
        return plan(spanos2008.measure, FakeSession(spanos_testbed, quick=quick, hardware=board))


def mogul1997_plan(quick: bool) -> str:
    """Mogul & Ramakrishnan's."""
    from tests.unit.reproduce.mogul1997.test_mogul1997 import session

    return plan(mogul1997.measure, session(quick))


PAPERS = {
    "mogul1997": mogul1997_plan,
    "rtl8139cp": rtl8139cp_plan,
    "lan78xx": lan78xx_plan,
    "salah2009": salah2009_plan,
    "hybrid": hybrid_plan,
    "spanos2008": spanos2008_plan,
}
NAMES = tuple((paper, quick) for paper in PAPERS for quick in ((True,) if paper == "spanos2008" else (True, False)))
"""A paper, and whether it is the quick look."""


def name_of(paper: str, quick: bool) -> str:
    """What a plan is called."""
    return f"{paper}-quick" if quick else paper


def parts(text: str) -> dict[str, list[str]]:
    """The lines of a plan, by the set of jobs or the table that they are of."""
    found: dict[str, list[str]] = {}
    part = ""
    for line in text.splitlines():
        if line.startswith("table "):
            part = line.partition(":")[0]
        elif not line.startswith("  "):
            part = line.partition(" | ")[0]
        found.setdefault(part, []).append(line)
    return found


def recorded(paper: str, quick: bool) -> list[str]:
    """The lines of the file that are of a plan."""
    return [
        f"{name_of(paper, quick)}, {part}: {len(lines)} lines, {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()[:16]}"
        for part, lines in parts(PAPERS[paper](quick)).items()
    ]


def main(arguments: list[str]) -> int:
    """Returns the exit code."""
    if not arguments:
        PLANS.write_text("".join(f"{line}\n" for paper, quick in NAMES for line in recorded(paper, quick)))
        return 0
    home = Path(arguments[0])
    home.mkdir(parents=True, exist_ok=True)
    for paper, quick in NAMES:
        (home / f"{name_of(paper, quick)}.txt").write_text(PAPERS[paper](quick))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
