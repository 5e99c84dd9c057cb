# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab tap`: the drivers' tests inside the DUT."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab import tap
from irqlab.bed import Bed, BedConfig
from irqlab.overload import COMBINATIONS, Combination


def run_tap(config: BedConfig, names: list[str], chosen: Sequence[Combination], long: bool) -> bool:
    """Runs tests one after the other and prints their TAP; whether all passed."""
    bed = Bed.resolve(config)
    good = True
    for script in tap.find(names):
        if script.long and not (long or names):
            print(f"# {script.name}: takes minutes: left out (--long)")
            continue
        for combination in chosen or COMBINATIONS if script.every_combination else (None,):
            print(f"# {script.name}: {bed.driver}{f' {combination}' if combination else ''}", flush=True)
            report = tap.run(bed, script, combination)
            print(report.text, end="")
            for failure in report.failures:
                print(f"# FAILED: {failure}")
            good = good and report.passed
    return good
