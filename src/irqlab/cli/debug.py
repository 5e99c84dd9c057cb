# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab debug`: GDB on the DUT at an instant of a trial, forwards and backwards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from irqlab.cli import options as opt
from irqlab.debug import session, symbols
from irqlab.debug.evidence import testbed_of
from irqlab.debug.session import Batch
from irqlab.errors import IrqlabError
from irqlab.methods import catalogue
from irqlab.methods.options import MAX_RATE_PPS, pps
from irqlab.runner.runner import TrialRunner
from irqlab.setup import SetupError
from irqlab.setup.say import say
from irqlab.trials.hunt import HuntTrial
from irqlab.trials.testbed import Testbed
from irqlab.trials.trial import Trial
from irqlab.typed import typed

DEFAULT_RATE_PPS = 1_000.0

At = Annotated[
    str,
    typer.Option(
        "--at",
        help="The instant: ns after the start of the trial's window (negative: in the warm-up), or a file of irqlab hunt --json.",
    ),
]
Number = Annotated[int, typer.Option("--finding", help="Which of the file's findings, counted from 1.")]
Rate = Annotated[float, typer.Option("--rate", parser=pps, help="Offered load of the trial in frames/s per direction.")]
BatchFiles = Annotated[
    list[Path] | None,
    typer.Option("--batch", "-x", help="Execute the GDB commands in this file, and end; repeatable."),
]
Commands = Annotated[list[str] | None, typer.Option("--eval-command", help="Execute this GDB command, and end; repeatable.")]
Names = Annotated[
    bool,
    typer.Option("--names-only", help="Do not download the kernel's debugging information; its functions have names only."),
]
Sources = Annotated[list[Path] | None, typer.Option("--source", help="Also look for sources in this directory; repeatable.")]


UNKNOWN = "?"
"""The driver, if it is not given: a file names it."""


@opt.asks(*opt.DUT, *opt.SCHEMES, *opt.TRIAL, optional={"driver": [UNKNOWN]})
def command(
    *,
    at: At,
    finding: Number = 1,
    rate: Rate = DEFAULT_RATE_PPS,
    request: opt.Request,
    batch: BatchFiles = None,
    eval_command: Commands = None,
    names_only: Names = False,
    source: Sources = None,
) -> None:
    """Run GDB on the DUT at an instant of a trial: forwards, and backwards to any earlier instant."""
    what = Batch(tuple(batch or ()), tuple(eval_command or ()))
    for path in what.files:
        if not path.is_file():
            raise IrqlabError(f"--batch {path}: no such file")
    if at.removeprefix("-").isdigit():
        testbed, trial, at_ns = _trial(request, rate, int(at))
    else:
        testbed, trial, at_ns = _found(Path(at), finding, request)
    try:
        known = symbols.files(testbed, not names_only, source or ())
    except SetupError as error:
        say(f"without the kernel's debugging information: {error}")
        known = symbols.files(testbed, False, source or ())
    session.run(testbed, trial, at_ns, known, what)


def _trial(request: opt.Request, rate: float, at_ns: int) -> tuple[Testbed, Trial[Any], int]:
    """The trial that the usual options describe."""
    if len(request.testbeds) > 1 or len(request.sizes) > 1:
        raise IrqlabError("debug: give one driver with one scheme, and one frame size")
    if request.testbeds[0].driver == UNKNOWN:
        raise IrqlabError("--driver: name a kernel module (8139cp, e1000, ...) or the path of a .ko")
    if not 0 < rate <= MAX_RATE_PPS:
        raise IrqlabError(f"--rate {rate:g}: allowed are rates up to {MAX_RATE_PPS:.0f} frames/s")
    (workload,) = request.workloads()
    testbed = Testbed.resolve(request.testbeds[0])
    return testbed, TrialRunner(testbed).overload_spec(workload, rate), at_ns


def _found(file: Path, number: int, request: opt.Request) -> tuple[Testbed, Trial[Any], int]:
    """The trial of a finding of `irqlab hunt`, and its instant."""
    if request.testbeds[0].driver != UNKNOWN:
        raise IrqlabError(f"--driver: not allowed with --at {file}, which names the driver")
    document = catalogue.read(file)
    rows = [row for row in document["measured"]["results"] if row["method"] == "hunt" and row["complete"]]
    found = [(row["summary"]["testbed"], one) for row in rows for sample in row["samples"] for one in sample["findings"]]
    allowed = [number for number, (_, one) in enumerate(found, 1) if one.get("replay") is not None]
    if not allowed:
        raise IrqlabError(f"{file} has no finding that can be replayed")
    if number not in allowed:
        raise IrqlabError(f"--finding {number}: allowed are {', '.join(map(str, allowed))}, which can be replayed")
    config, finding = found[number - 1]
    testbed = testbed_of(config)
    known = {(one["name"], one["sha256"]) for dut in document["environment"]["duts"] for one in dut["modules"]}
    if changed := [module.name for module in testbed.modules if (module.name, module.sha256) not in known]:
        raise IrqlabError(f"{', '.join(changed)}: another build than the one that {file} was measured with")
    replay, arrival_ns = finding["replay"], finding.get("arrival_ns")
    at_ns = replay["second_ns"] if arrival_ns is None else replay["first_ns"] + arrival_ns
    return testbed, typed(replay["trial"], HuntTrial), at_ns
