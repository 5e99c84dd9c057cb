# SPDX-License-Identifier: GPL-2.0-or-later
"""A grid of configurations and frame sizes, each cell measured alike (irqlab.methods.metrics)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from irqlab.compare import sides
from irqlab.config.schemes import COMBINATIONS, USB_COMBINATIONS, VARIANTS, Combination
from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import metrics as costs
from irqlab.methods import throughput
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed

NAMES = ("driver", "rx_scheme", "tx_scheme", "variant", "nic", "mips", "frame_bytes", "bidirectional")
"""CSV columns before the metrics: fields of a result row."""


ALL, OF_VARIANTS = "all", "variants"
"""Words that stand for several schemes."""
COUNTS = f"{ALL} ({len(COMBINATIONS)}; USB: {len(USB_COMBINATIONS)}); {OF_VARIANTS} ({len(VARIANTS)})"
"""Their number of schemes, for help texts."""


def schemes(text: str | None) -> list[str]:
    """The words of `--schemes`: a scheme as `irqlab.compare.sides` writes it, `all` or `variants`. Raises IrqlabError."""
    words = [word.strip() for word in text.split(",")] if text is not None else []
    if "" in words:
        raise IrqlabError(f"--schemes {text!r}: a name is missing")
    return words


def expand(words: Iterable[str], combinations: Iterable[Combination]) -> list[str]:
    """The schemes that the words stand for, with a driver that has these combinations, without duplicates."""
    several = {ALL: [f"{c.rx}+{c.tx}" for c in combinations], OF_VARIANTS: list(VARIANTS)}
    return list(dict.fromkeys(name for word in words for name in several.get(word, [word])))


def testbeds(drivers: Iterable[str], chosen: Sequence[str], common: TestbedConfig) -> list[Testbed]:
    """Every driver with every scheme; drivers without schemes once. Raises IrqlabError."""
    found: dict[TestbedConfig, Testbed] = {}
    for driver in drivers:
        plain = Testbed.resolve(_config(driver, common))
        names = expand(chosen, plain.nic.combinations) if plain.has_schemes else []
        for text in [f"{driver}+{name}" for name in names] or [driver]:
            config = _config(text, common)
            # The module is resolved once, so that all cells use the same file even if it changes meanwhile.
            found.setdefault(config, replace(plain, config=config))
    return list(found.values())


def _config(text: str, common: TestbedConfig) -> TestbedConfig:
    side = sides.parse(text, common)
    if side.testbed is None:
        raise IrqlabError(f"{text}: a matrix takes only drivers")
    return side.testbed


def measure(runner: TrialRunner, workload: Workload, profiled: bool, rate_pps: float | None = None) -> list[MethodResult]:
    """Measures a cell. `rate_pps`: the load of latencies in each direction, instead of one below the cell's throughput."""
    known = throughput.run(runner, workload)
    base_pps = None if rate_pps is None else costs.base_at(rate_pps)
    return [known, costs.run(runner, workload, known, base_pps, profiled=profiled)]


def to_csv(rows: Iterable[dict[str, Any]]) -> str:
    """The rows of method `metrics`, one line each (RFC 4180, line feeds); an empty field: not measurable."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*NAMES, *(metric.name for metric in costs.METRICS)])
    for row in rows:
        if row["method"] == "metrics" and row["complete"]:
            figures = row["summary"]["metrics"]
            writer.writerow([*(row[name] for name in NAMES), *(figures.get(metric.name) for metric in costs.METRICS)])
    return text.getvalue()
