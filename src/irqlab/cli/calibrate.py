# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab calibrate`: hardware costs from a board's measured throughputs."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from irqlab.calibrate import cells, method, skill
from irqlab.cli import options as opt
from irqlab.cli.output import check_outputs
from irqlab.config import hardware
from irqlab.config.costs import TERMS
from irqlab.errors import IrqlabError
from irqlab.present import terminal as tables
from irqlab.trials.testbed import Testbed

TRUST_ERROR = 0.1
"""Above this left-out error, the costs cannot be used for predictions."""

_ALL = ",".join(TERMS)

TableFile = Annotated[
    Path | None,
    typer.Argument(help="CSV with the columns variant (may be missing), frame_bytes, throughput_pps or throughput_mbps."),
]
LiveFile = Annotated[Path | None, typer.Option("--live", help="A file of irqlab live throughput --json, in place of the table.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="The hardware file, for --hardware.")]
Fit = Annotated[
    str | None,
    typer.Option("--fit-sizes", help="Fit only to these frame sizes, comma-separated, and predict the others; default: all."),
]
Predict = Annotated[
    str | None,
    typer.Option(
        "--predict",
        help="Also predict these frame sizes and schemes (RX/TX, or a variant), which the board was not measured with.",
    ),
]
Terms = Annotated[str, typer.Option("--terms", help=f"Costs the fit may use: {', '.join(TERMS)}.")]
Rounds = Annotated[int, typer.Option("--rounds", help="Rounds of fitting; each measures with the costs of the previous one.")]


@opt.asks(*opt.DUT, *("bidirectional", "duration", "warmup"), *opt.RUN)
def command(
    *,
    table: TableFile = None,
    live: LiveFile = None,
    output: Output = Path("hardware.json"),
    fit_sizes: Fit = None,
    predict: Predict = None,
    terms: Terms = _ALL,
    rounds: Rounds = method.ROUNDS,
    request: opt.Request,
) -> None:
    """Fits the costs, reports how far to trust them, and writes the file. Raises IrqlabError."""
    check_outputs(output)
    allowed = _terms(terms)
    if len(request.testbeds) != 1:
        raise IrqlabError("--driver: a calibration takes exactly one driver")
    if not 1 <= rounds <= 10:
        raise IrqlabError(f"--rounds {rounds}: allowed are 1 to 10")
    testbed, bidirectional = request.testbeds[0], request.workload.bidirectional
    if live is not None and table is None:
        source, board_pps = live, cells.read_live(live, bidirectional)
    elif table is not None and live is None:
        source, board_pps = table, cells.read(table, bidirectional, Testbed.resolve(testbed).nic.line_rate_bps)
    else:
        raise IrqlabError("give either a table (CSV) or --live FILE")
    fit_to = list(board_pps)
    if fit_sizes is not None:
        sizes = _sizes(fit_sizes, {cell.frame_bytes for cell in board_pps})
        fit_to = [cell for cell in board_pps if cell.frame_bytes in sizes]
    said = Console(stderr=True, highlight=False, soft_wrap=True)
    board = cells.Board(testbed, request.workload, threading.Semaphore(request.jobs), said.print)
    found = method.run(board, board_pps, fit_to, allowed, rounds, cells.others(board_pps, predict))
    content = found.to_json() | {"source": source.name, "driver": testbed.driver, "bidirectional": bidirectional}
    hardware.Hardware(output.stem, testbed.mips, found.fit.costs, content).write(output)
    show(found)
    print(f"hardware: {output}")


def show(found: method.Calibration) -> None:
    """The cells, the costs, and how far to trust them."""
    console = Console(highlight=False)
    of_cells = Table("Cell", "", "Board kpps", "Lab kpps", "Ratio", "without costs", title="Cells")
    for bare, row in zip(found.bare.rows, found.charged.rows, strict=True):
        numbers = (f"{row.board_pps / 1e3:.1f}", f"{row.lab_pps / 1e3:.1f}", f"{row.ratio:.3f}", f"{bare.ratio:.3f}")
        of_cells.add_row(str(row.cell), "fitted" if row.fitted else "predicted", *numbers)
    tables.show(of_cells, console)
    of_costs = Table("Cost", "ns", "Standard error", "Left-out error without it", title="Costs")
    for name, value in found.fit.costs.nonzero().items():
        error = found.fit.standard_errors_ns.get(name, float("nan"))
        of_costs.add_row(name, f"{value:g}", f"{error:.3g}", f"{found.worth[name]:.1%}")
    tables.show(of_costs, console)
    heads = ("Prediction", "Numbers fitted", "Fitted cells", "Other sizes", "Variant left out, all cells")
    of_skill = Table(*heads, title="Mean error")
    for one in found.skills:
        errors = ("-" if error is None else f"{error:.1%}" for error in (one.fitted, one.sizes, one.variants))
        of_skill.add_row(one.name, str(one.numbers), *errors)
    tables.show(of_skill, console)
    if found.predictions:
        of_others = Table("Cell", "Lab kpps", title="Predictions")
        for cell, pps in found.predictions.items():
            of_others.add_row(str(cell), f"{pps / 1e3:.1f}")
        tables.show(of_others, console)
    print(verdict(found))


def verdict(found: method.Calibration) -> str:
    """A verdict on how far to trust the costs."""
    error, bare = found.fit.left_out_error, found.bare.fitted_error or 0.0
    fitted = sum(row.fitted for row in found.charged.rows)
    text = (
        f"{fitted} cells fitted, {len(found.fit.terms)} costs. Mean error {found.charged.fitted_error or 0.0:.1%} "
        f"(without costs {bare:.1%}); left-out error of these cells {error:.1%}.\n"
    )
    if not found.fit.terms:
        return text + "No cost improves the fit: the board is at least as fast as the simulated CPU; choose a higher --mips."
    if error > TRUST_ERROR:
        text += "Do not trust predictions made with these costs: the model does not capture what limits this board.\n"
    if claims := skill.claims(found.skills):
        return text + "\n".join(claims)
    if found.charged.predicted_error is None:
        return text + "No cells were left to predict: --fit-sizes fits the costs to some frame sizes and predicts the others."
    return text + "From one frame size nothing can be predicted without the lab, so there is nothing to judge its predictions by."


def _terms(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if bad := [name for name in names if name not in TERMS]:
        raise IrqlabError(f"--terms: {bad[0]!r} is not a cost; allowed are {', '.join(TERMS)}")
    return [term for term in TERMS if term in names]


def _sizes(text: str, there: set[int]) -> set[int]:
    try:
        sizes = {int(word) for word in text.split(",")}
    except ValueError:
        sizes = {-1}
    if not sizes <= there:
        raise IrqlabError(f"--fit-sizes {text}: the table has {', '.join(map(str, sorted(there)))} below line rate")
    return sizes
