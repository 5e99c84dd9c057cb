# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab live compare` and `irqlab live matrix`: several schemes of one device, trial by trial."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from irqlab import files
from irqlab.cli import compare as of_lab
from irqlab.cli.live import Common, Files, add, app, measured, open_testbed, tell
from irqlab.cli.output import check_directory, show_document
from irqlab.compare import loads, matrix, sides, verdict
from irqlab.config.schemes import COMBINATIONS, Schemes
from irqlab.config.testbed import TestbedConfig
from irqlab.errors import IrqlabError
from irqlab.live.ports import LiveError
from irqlab.report import write_html
from irqlab.results import document
from irqlab.results.ensemble import collapse

__all__ = ["app"]

_KNOWN = {f"{one.rx}+{one.tx}": Schemes(rx=one.rx, tx=one.tx) for one in COMBINATIONS}
_WORDS = f"RX+TX, such as interrupt+interrupt,napi+off; {matrix.ALL}: all {len(_KNOWN)}"
SchemesOption = Annotated[str | None, typer.Option("--schemes", help=f"Schemes of the device's driver, if it is ours: {_WORDS}.")]
Out = Annotated[Path, typer.Option("--out", help="Output directory for matrix.csv, matrix.json and matrix.html.")]


def chosen(text: str | None, common: Common) -> dict[str, Schemes]:
    """The schemes of `--schemes` by name. Raises IrqlabError."""
    names = matrix.expand(matrix.schemes(text), COMBINATIONS)
    if not names:
        raise IrqlabError(f"--schemes is missing: {_WORDS}")
    for name in names:
        if name not in _KNOWN:
            raise IrqlabError(f"--schemes {name}: allowed are {', '.join(_KNOWN)}, and {matrix.ALL}")
    if common.config.schemes.asked:
        raise IrqlabError("--rx and --tx: this command takes --schemes")
    if common.config.dut is None or common.config.dut_ports is None:
        raise LiveError("--schemes needs an agent: --dut user@board --dut-ports eth0,eth1")
    return {name: _KNOWN[name] for name in names}


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _compare(common: Common, given: Files, own: dict[str, Any]) -> None:
    threshold = verdict.parse_threshold(own["fail_above"])
    schemes = chosen(own["schemes"], common)
    if len(schemes) != 2:
        raise IrqlabError(f"--schemes {own['schemes']}: compare takes two; irqlab live matrix takes more")
    with open_testbed(common) as testbed:
        views = [testbed.with_schemes(one) for one in schemes.values()]
        found_by = loads.method(2, [workload.size for workload in common.workloads], profiled=False)
        outcome = measured(common, views, found_by, "compare")
    given.save(outcome)
    tell(outcome)
    given.leave(outcome)
    named = [sides.Side(name, TestbedConfig(driver=testbed.driver)) for name in schemes]
    of_lab.judge(outcome.document, named, threshold)


def _matrix(common: Common, given: Files, own: dict[str, Any]) -> None:
    out: Path = own["out"]
    schemes = chosen(own["schemes"], common)
    check_directory(out)
    with open_testbed(common) as testbed:
        views = [testbed.with_schemes(one) for one in schemes.values()]
        outcome = measured(common, views, lambda runner, workload: matrix.measure(runner, workload, False), "matrix")
    given.save(outcome)
    if outcome.results:
        content = outcome.document
        medians, _ = collapse(content)
        document.write(out / "matrix.json", content)
        files.write_atomically(out / "matrix.csv", matrix.to_csv(medians["measured"]["results"]).encode())
        write_html([content], out / "matrix.html")
        show_document(content, "throughput")
    tell(outcome)
    given.leave(outcome, kept=bool(outcome.results))
    print(f"{out}/matrix.html, matrix.csv, matrix.json")


add(
    "compare",
    "Compare two schemes of the device: the same trials on both, in turn, and a verdict on each metric.",
    [_option("schemes", SchemesOption, None), _option("fail_above", of_lab.FailAbove, None)],
    _compare,
)
add(
    "matrix",
    "Measure a grid of schemes and frame sizes: one table, CSV, JSON, heat maps.",
    [_option("schemes", SchemesOption, None), _option("out", Out, Path("results/live-matrix"))],
    _matrix,
)
