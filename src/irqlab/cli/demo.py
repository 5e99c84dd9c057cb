# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab demo`: the main job, on drivers that every Debian kernel ships."""

from __future__ import annotations

from pathlib import Path

from irqlab.cli.measure import measure
from irqlab.cli.options import Request
from irqlab.errors import IrqlabError
from irqlab.methods import latency, loss, throughput
from irqlab.methods.stand import Plan, Stand
from irqlab.results import MethodResult
from irqlab.setup import qemu


def second_driver() -> str:
    """e1000 where QEMU's limit of 7,813 interrupts/s can be lifted; another driver where it cannot."""
    found = qemu.find()
    if "mitigation" in found.properties("e1000"):
        return "e1000"
    print(f"{found.version_text} limits e1000 to 7,813 interrupts/s and cannot lift that: taking e100 (i82557b) instead.")
    return "e100"


def _method(stand: Stand, plan: Plan) -> list[MethodResult]:
    found = throughput.run(stand, plan)
    return [found, loss.run(stand, plan, known=found), latency.run(stand, plan, known=found)]


def run_demo(mips: int, jobs: int, directory: Path) -> None:
    """Throughput, loss curve to 4x and latency of 64-byte frames for two in-tree drivers; tables, JSON and a report."""
    from irqlab.cli import finish

    request = Request.parse(["8139cp", second_driver()], mips=mips, jobs=jobs)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IrqlabError(f"cannot write to {directory}: {error.strerror}") from error
    outcome = measure(request, _method, "demo")
    json_file, report_file = directory / "demo.json", directory / "demo.html"
    finish(outcome, json_file, report_file)
    print(f"\nreport:  {report_file}\nresults: {json_file}")
