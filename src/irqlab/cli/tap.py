# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab tap`: the drivers' tests inside the DUT."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab.config.testbed import TestbedConfig
from irqlab.robustness import tap
from irqlab.robustness.switching import COMBINATIONS, Combination
from irqlab.trials.testbed import Testbed


def run_tap(config: TestbedConfig, names: list[str], chosen: Sequence[Combination], long: bool) -> bool:
    """Runs tests one after the other and prints their TAP; whether all passed."""
    testbed = Testbed.resolve(config)
    good = True
    for script in tap.find(names):
        if script.long and not (long or names):
            print(f"# {script.name}: takes minutes: left out (--long)")
            continue
        for combination in chosen or COMBINATIONS if script.every_combination else (None,):
            print(f"# {script.name}: {testbed.driver}{f' {combination}' if combination else ''}", flush=True)
            report = tap.run(testbed, script, combination)
            print(report.text, end="")
            for failure in report.failures:
                print(f"# FAILED: {failure}")
            good = good and report.passed
    return good
