# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab stress`: a NIC that malfunctions, or is repeatedly unplugged or suspended."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from irqlab import files
from irqlab.cli import options as opt
from irqlab.cli.output import check_outputs
from irqlab.errors import IrqlabError
from irqlab.robustness import fuzz, hotplug, nicport
from irqlab.runner.jobs import UserInterruptError, terminate_like_ctrl_c
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed

Cases = Annotated[int, typer.Option("--cases", help="Minimum number of injected faults.")]
FuzzSeed = Annotated[int, typer.Option("--seed", help="Seed for choosing faults.")]
First = Annotated[int, typer.Option("--first", help="Start with this round, in a fresh DUT, to reproduce it.")]
NoTrailingFragments = Annotated[
    bool,
    typer.Option(
        "--no-trailing-fragments",
        help="lan7800: never end a transfer with the start of another frame; that hangs the in-tree driver.",
    ),
]
Kind = Annotated[list[str] | None, typer.Option("--kind", help=f"{', '.join(hotplug.KINDS)}; repeatable; default: all.")]
FAULTS = "faults"
KINDS = (FAULTS, *hotplug.KINDS)
Kinds = Annotated[
    list[str] | None,
    typer.Argument(
        help=f"{FAULTS}: the NIC's responses are corrupted at random; {', '.join(hotplug.KINDS)}: under traffic; default: all."
    ),
]
Count = Annotated[int, typer.Option("--count", help="Number of cycles of each kind.")]
SCHEMA = "irqlab-fuzz/1"


def _testbed(request: opt.Request) -> Testbed:
    if len(request.testbeds) > 1:
        raise IrqlabError("--driver, --rx: give one driver with one scheme")
    return Testbed.resolve(request.testbeds[0])


@opt.asks("driver", "nic", "bus", "kernel", "mips", "rx", "jobs")
def command(
    *,
    kinds: Kinds = None,
    request: opt.Request,
    cases: Cases = 100_000,
    count: Count = 100,
    seed: FuzzSeed = 1,
    first: First = 0,
    no_trailing_fragments: NoTrailingFragments = False,
    json_file: opt.JsonFile = None,
) -> None:
    """Runs each kind. Exit code 1: the driver failed."""
    chosen = list(dict.fromkeys(kinds or KINDS))
    if wrong := [name for name in chosen if name not in KINDS]:
        raise IrqlabError(f"stress {wrong[0]}: allowed are {', '.join(KINDS)}")
    good = True
    if FAULTS in chosen:
        good = _faults(request, cases, seed, first, no_trailing_fragments, json_file)
    elif json_file is not None:
        raise IrqlabError(f"--json: only {FAULTS} has results to write")
    if cycles := [name for name in chosen if name != FAULTS]:
        good = _cycles(request, cycles, count) and good
    if not good:
        raise typer.Exit(1)


@opt.asks("driver", "nic", "bus", "kernel", "mips", "rx", "jobs")
def fuzz_command(
    *,
    request: opt.Request,
    cases: Cases = 100_000,
    seed: FuzzSeed = 1,
    first: First = 0,
    no_trailing_fragments: NoTrailingFragments = False,
    json_file: opt.JsonFile = None,
) -> None:
    """As `stress faults`."""
    if not _faults(request, cases, seed, first, no_trailing_fragments, json_file):
        raise typer.Exit(1)


@opt.asks("driver", "nic", "kernel", "mips", "rx")
def cycles_command(*, request: opt.Request, kind: Kind = None, count: Count = 100) -> None:
    """As `stress plug suspend autosuspend`."""
    if wrong := [name for name in kind or () if name not in hotplug.KINDS]:
        raise IrqlabError(f"--kind {wrong[0]}: allowed are {', '.join(hotplug.KINDS)}")
    if not _cycles(request, kind or hotplug.KINDS, count):
        raise typer.Exit(1)


def _faults(request: opt.Request, cases: int, seed: int, first: int, no_trailing_fragments: bool, json_file: Path | None) -> bool:
    """Injects random faults into the NIC's responses. Returns whether the driver coped."""
    check_outputs(json_file, None)
    for name, value, least in (("--cases", cases, 1), ("--first", first, 0)):
        if not least <= value <= 10**9:
            raise IrqlabError(f"{name} {value}: allowed are {least} to {10**9}")
    testbed = _testbed(request)
    nicport.require_faults(testbed)
    runner = TrialRunner(testbed, progress=lambda text: print(text, file=sys.stderr, flush=True))
    runs: list[fuzz.FuzzRun] = []
    stopped = False
    try:
        with terminate_like_ctrl_c():
            for one in fuzz.run(runner, cases, seed, first, request.jobs, trailing_fragments=not no_trailing_fragments):
                runs.append(one)
    except KeyboardInterrupt:
        stopped = True
    found = fuzz.summary(testbed.label, seed, runs)
    _print(found)
    if json_file is not None:
        files.write_atomically(json_file, (json.dumps({"schema": SCHEMA, **found}, indent=1) + "\n").encode())
    if stopped:
        raise UserInterruptError(f"interrupted after {found['cases']:,} of {cases:,} cases")
    return not (found["complaints"] or found["growth"])


def _print(found: dict[str, Any]) -> None:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in found["cases_by_kind"].items())
    print(f"{found['driver']}: {found['cases']:,} cases ({kinds}) in {found['rounds']} rounds, seed {found['seed']}")
    for recovery, rounds in found["recovery"].items():
        print(f"recovery: {recovery}, {rounds} rounds")
    for entry in found["stuck"]:
        if entry["recovery"] == "never":
            print(f"round {entry['round']}: frames never passed again; {entry['state'].splitlines()[0]}")
    for entry in (*found["complaints"], *found["false_checksum_ok"]):
        print(f"{entry['what']}: {entry['rounds']} rounds, first {entry['first']}")
    for entry in found["complaints"]:
        print(f"\n--- round {entry['first']}: {entry['what']}\n{entry['evidence']}")
    for name, count in found["growth"].items():
        print(f"not freed: {name}: {count}")


def _cycles(request: opt.Request, kinds: Sequence[str], count: int) -> bool:
    """Runs cycles of each kind. Returns whether the driver coped."""
    if not 1 <= count <= 100_000:
        raise IrqlabError(f"--count {count}: allowed are 1 to 100000")
    testbed = _testbed(request)
    nicport.require_hotplug(testbed)
    good = True
    for name in kinds:
        report = hotplug.run(TrialRunner(testbed, progress=lambda text: print(text, file=sys.stderr, flush=True)), name, count)
        print(
            f"{testbed.label}: {name}: {report.cycles} cycles, {len(report.failures)} failures, {len(report.log)} kernel messages"
        )
        for line in [*report.failures[:10], *dict.fromkeys(report.log[:100])]:
            print(f"  {line}")
        good = good and not report.failures and not report.problems
    return good
