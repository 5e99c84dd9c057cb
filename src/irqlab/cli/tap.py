# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab tap`: runs driver tests inside the DUT."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab.config.schemes import Schemes
from irqlab.config.testbed import TestbedConfig
from irqlab.robustness import tap
from irqlab.robustness.overload import Overload
from irqlab.trials.testbed import Testbed


def run_tap(config: TestbedConfig, names: list[str], asked: Sequence[Schemes], long: bool) -> bool:
    """Runs tests one after the other and prints their TAP; returns whether all passed. Raises IrqlabError."""
    testbed = Testbed.resolve(config)
    combinations = tap.combinations(testbed, asked)
    overload = Overload(testbed)
    good = True
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
            good = good and report.passed
    return good
