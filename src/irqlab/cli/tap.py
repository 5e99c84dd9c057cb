# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab tap`: runs driver tests inside the DUT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from irqlab import units
from irqlab.cli import options as opt
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import TestbedConfig
from irqlab.robustness import tap
from irqlab.robustness.overload import Overload
from irqlab.trials.testbed import Testbed


@opt.asks("driver", "nic", "kernel", "mips", "module_parameters", "rx", "tx")
def command(
    *,
    names: Annotated[list[str] | None, typer.Argument(help="Names of tests in drivers/tests; default: all quick ones.")] = None,
    request: opt.Request,
    long: Annotated[bool, typer.Option("--long", help="Include tests that take minutes.")] = False,
) -> None:
    """Runs the tests with each driver. Exit code 1: one failed."""
    asked = list(dict.fromkeys(testbed.dut.schemes for testbed in request.testbeds))
    plain = dict.fromkeys(replace(testbed, dut=replace(testbed.dut, schemes=Schemes())) for testbed in request.testbeds)
    passed = [run_tap(testbed, names or [], asked, long) for testbed in plain]
    if not all(passed):
        raise typer.Exit(1)


def run_tap(config: TestbedConfig, names: list[str], asked: Sequence[Schemes], long: bool) -> bool:
    """Runs tests one after the other; prints their TAP and a summary. Returns whether all passed. Raises IrqlabError."""
    testbed = Testbed.resolve(config)
    combinations = tap.combinations(testbed, asked)
    overload = Overload(testbed)
    reports: list[tap.Report] = []
    for script in tap.find(names):
        if script.long and not (long or names):
            print(f"# {script.name}: skipped: takes minutes (--long runs it)")
            continue
        if script.engine and not testbed.has_schemes:
            print(f"# {script.name}: skipped: {testbed.driver} is not built on irqmod")
            continue
        for combination in combinations if script.every_combination else (None,):
            print(f"# {script.name}: {testbed.driver}{f' {combination}' if combination else ''}", flush=True)
            report = tap.run(overload, script, combination)
            print(report.text, end="")
            for failure in report.failures:
                print(f"# FAILED: {failure}")
            reports.append(report)
    checks, skipped = sum(len(report.lines) for report in reports), sum(len(report.skipped) for report in reports)
    failures = sum(len(report.failures) for report in reports)
    print(f"# tests run: {len(reports)}, checks: {units.whole(checks)}, failures: {failures}, skipped: {skipped}")
    return all(report.passed for report in reports)
