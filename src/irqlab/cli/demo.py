# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab demo`: compares the first paper's six variants, on irqmod_i8255x, with in-tree drivers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from irqlab import units
from irqlab.cli import options as opt
from irqlab.cli.output import check_directory, finish
from irqlab.config.schemes import combine
from irqlab.config.workload import Workload
from irqlab.methods import loss, throughput
from irqlab.results.document import MethodResult
from irqlab.runner.measure import measure
from irqlab.runner.runner import TrialRunner

DRIVER = "irqmod_i8255x"
REFERENCES = ("e100", "8139cp")
CURVES = (None, "ORIGINAL", "NAPI-TX-OFF")
"""Variants whose livelock curve is measured; None: the reference drivers."""


def _method(runner: TrialRunner, workload: Workload) -> list[MethodResult]:
    found = throughput.run(runner, workload)
    if found.variant not in CURVES:
        return [found]
    return [found, loss.run(runner, workload, known=found)]


def _gains(results: Sequence[MethodResult]) -> list[str]:
    """How our best variant compares with each reference driver of the same run."""
    measured = [r for r in results if r.method == "throughput" and r.total_throughput_pps]
    ours = max((r for r in measured if r.variant), key=lambda r: r.total_throughput_pps or 0, default=None)
    if ours is None:
        return []
    name = units.driver_of(ours.to_json())
    return [
        f"{name} forwards {(ours.total_throughput_pps or 0) / (r.total_throughput_pps or 1):.2f} times as many frames "
        f"as the kernel's {r.driver}."
        for r in measured
        if r.variant is None
    ]


@opt.asks("mips", *opt.RUN, driver=["?"])
def command(
    *,
    request: opt.Request,
    out: Annotated[Path, typer.Option("--out", help="Directory for the report and the JSON.")] = Path("results/demo"),
) -> None:
    """Measures 64-byte throughput for all variants and the loss curve up to 4x for some; writes tables, JSON and a report."""
    testbed = request.testbeds[0]
    ours = tuple(replace(testbed, driver=DRIVER, dut=replace(testbed.dut, schemes=schemes)) for schemes in combine("all"))
    references = tuple(replace(testbed, driver=driver) for driver in REFERENCES)
    request = replace(request, testbeds=ours + references)
    check_directory(out)
    outcome = measure(request.testbeds, request.workloads(), request.jobs, _method, "demo", throughput.METHOD.name)
    json_file, report_file = out / "demo.json", out / "demo.html"
    finish(outcome, json_file, report_file)
    print("\n".join(["", *_gains(outcome.results), f"\nreport:  {report_file}", f"results: {json_file}"]))
