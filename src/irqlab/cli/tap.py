# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab tap`: runs driver tests inside the DUT."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab import units
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import TestbedConfig
from irqlab.robustness import tap
from irqlab.robustness.overload import Overload
from irqlab.trials.testbed import Testbed


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
