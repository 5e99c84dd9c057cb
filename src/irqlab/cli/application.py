# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab application`, `cliff` and `budget`: a receiving application in the DUT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from irqlab import units
from irqlab.cli import options as opt
from irqlab.cli.output import check_outputs, save
from irqlab.config.schemes import Schemes
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import application, budget, cliff
from irqlab.methods.budget import GOALS
from irqlab.present import terminal as tables
from irqlab.results.document import MethodResult
from irqlab.runner.measure import Method, measure
from irqlab.runner.runner import TrialRunner
from irqlab.trials.application import INTERFACE, Tuning

Rates = Annotated[str | None, typer.Option("--rate", help="Offered loads in frames/s, comma-separated; default: --load.")]
Loads = Annotated[
    str | None,
    typer.Option(
        "--load", help="Offered loads as multiples of the cliff, which is searched first, e.g. 0.5,1,2x; default: 0.1 to 4."
    ),
]
GoalOption = Annotated[str, typer.Option("--goal", help=f"What the budget is to serve: {', '.join(GOALS)}.")]
NoEcho = Annotated[bool, typer.Option("--no-echo", help="Leave the round trip out.")]
MAX_LOAD, MAX_RATE_PPS = 100.0, 1e8
_DUT = ("driver", "nic", "kernel", "mips", "ring", "sysctl")
_TRIAL = ("size", "duration", "warmup", "arrivals", "seed")


def parse_numbers(option: str, text: str, most: float) -> list[float]:
    """Positive numbers, comma-separated, an x behind each allowed. Raises IrqlabError."""
    found = []
    for part in text.split(","):
        try:
            number = float(part.strip().removesuffix("x"))
        except ValueError:
            number = -1.0
        if not 0 < number <= most:
            raise IrqlabError(f"{option} {part.strip() or text}: allowed are numbers above 0 up to {most:g}, separated by commas")
        found.append(number)
    return sorted(set(found))


@opt.asks(
    *_DUT,
    *_TRIAL,
    *("rx", "tx", "weight", "cliff_pps", "epsilon_permille", "rate_window_ms", "rx_usecs"),
    *opt.RUN,
)
def application_command(
    *,
    load: Loads = None,
    rate: Rates = None,
    no_echo: NoEcho = False,
    request: opt.Request,
    json_file: opt.JsonFile = None,
) -> None:
    """What an application in the DUT receives, loses and sends back, over offered load. Raises IrqlabError."""
    if load is not None and rate is not None:
        raise IrqlabError("--load and --rate: give one of them")
    rates = parse_numbers("--rate", rate, MAX_RATE_PPS) if rate is not None else None
    shares = parse_numbers("--load", load, MAX_LOAD) if load is not None else list(application.SHARES)

    def method(runner: TrialRunner, workload: Workload) -> list[MethodResult]:
        offered = rates
        if offered is None:
            offered = [share * cliff.external(runner, workload, Tuning()).cliff_pps for share in shares]
        return [application.run(runner, workload, offered, echo=not no_echo)]

    _finish(request, method, "application", json_file, _show_application)


@opt.asks(*_DUT, *_TRIAL, "rx", *opt.RUN)
def cliff_command(*, request: opt.Request, json_file: opt.JsonFile = None) -> None:
    """Where the CPU is full: from outside by three signs, from inside by the paper's formula. Raises IrqlabError."""
    rx = request.testbeds[0].dut.schemes.rx
    _finish(
        request,
        lambda runner, workload: [cliff.run(runner, workload, _tuning(runner, rx, "de"))],
        "cliff",
        json_file,
        _show_cliff,
    )


@opt.asks(*("driver", "nic", "kernel", "mips", "ring"), *("size", "duration", "warmup"), *opt.RUN)
def budget_command(*, goal: GoalOption = "application", request: opt.Request, json_file: opt.JsonFile = None) -> None:
    """Which netdev_budget serves a goal, and the curve it was chosen from. Raises IrqlabError."""
    if goal not in GOALS:
        raise IrqlabError(f"--goal {goal}: allowed are {', '.join(GOALS)}")

    def method(runner: TrialRunner, workload: Workload) -> list[MethodResult]:
        return [budget.run(runner, workload, goal, _tuning(runner, None, "napi"))]

    _finish(request, method, "budget", json_file, _show_budget)


def _tuning(runner: TrialRunner, asked: str | None, usual: str) -> Tuning:
    """A scheme for drivers that have some, unless one was asked for."""
    ours = runner.testbed.scheme_names()["rx_scheme"] is not None
    return Tuning(schemes=Schemes(rx=usual)) if ours and asked is None else Tuning()


def _finish(request: opt.Request, method: Method, name: str, json_file: Any, show: Any) -> None:
    check_outputs(json_file)
    outcome = measure(request.testbeds, request.workloads(), request.jobs, method, name)
    for result in outcome.results:
        if result.complete:
            show(result, Console(highlight=False))
    save(outcome, json_file, None)
    if outcome.error is not None:
        raise outcome.error


def _table(result: MethodResult, what: str, headings: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    driver = units.driver_of(result.to_json())
    table = Table(title=f"{what}: {driver} on {result.nic}", title_justify="left", box=None, title_style="bold")
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*(units.plain(cell) for cell in row))
    tables.show(table, console)


def _show_application(result: MethodResult, console: Console) -> None:
    def latency(point: dict[str, Any], name: str) -> str:
        found = point["latency"]
        return units.duration(found[name]) if found and found["count"] else units.NONE

    rows = []
    for p in result.samples:
        sent = max(1, p["places"]["sent"])
        lost = [units.percent(p["places"][place] / sent) for place in ("nic", "backlog", "socket")]
        rows.append([
            units.kpps(p["offered_pps"]), units.kpps(p["application_pps"]), *lost, latency(p, "p50_ns"), latency(p, "p99_ns"),
            units.grouped(p["interrupts_per_s"]), units.percent(p["cpu_available"]), units.percent(p["ksoftirqd_share"]),
        ])  # fmt: skip
    headings = (
        "Offered\nkpps", "Received\nkpps", "Lost:\nNIC", "\nbacklog", "\nsocket", "Round trip\nmedian", "\np99", "Interrupts\n/s",
        "CPU left", "ksoftirqd",
    )  # fmt: skip
    _table(result, "A receiving application", headings, rows, console)


def _show_cliff(result: MethodResult, console: Console) -> None:
    found = result.summary
    rows = [
        [
            f"{sign}{' (chosen)' if sign == found['chosen'] else ''}",
            units.kpps(pps),
            units.NONE if pps is None else _ratio(pps, found),
        ]
        for sign, pps in found["signs_pps"].items()
    ]
    rows.append(["internal: r/2 (sqrt(1 + 4 mu/r) - 1)", units.kpps(found["internal_pps"]), _ratio(found["internal_pps"], found)])
    _table(result, "The cliff", ("Found by", "kpps", "to the chosen"), rows, console)
    print(
        f"1/r = {found['interrupt_ns']:.0f} ns an interrupt, 1/mu = {found['packet_ns']:.0f} ns a packet "
        f"({found['application_ns']:.0f} of them the application's), profiled at {found['profiled_pps'] / 1e3:.1f} kpps "
        f"with {found['interrupts_per_packet']:.2f} interrupts a packet"
    )
    if result.rx_scheme is not None:
        print("For a hybrid scheme, on the machine with the driver:")
        print(f"  {found['command']}")


def _ratio(pps: float, found: dict[str, Any]) -> str:
    return f"{pps / found['cliff_pps']:.2f}"


def _show_budget(result: MethodResult, console: Console) -> None:
    rows = [
        [str(p["budget"]), units.kpps(p["application_pps"]), units.duration(p["p99_ns"]), units.kpps(p["forwarded_pps"])]
        for p in result.samples
    ]
    headings = ("Budget", "Received\nkpps", "Round trip\np99", "Forwarded\nkpps")
    _table(result, "netdev_budget", headings, rows, console)
    best = result.summary["budget"]
    print(f"For {result.summary['goal']}: sysctl -w net.core.netdev_budget={best}")
    if result.rx_scheme is not None and best < budget.WEIGHT:
        print(f"  and, or a poll takes 64 frames all the same: echo {best} > /sys/class/net/{INTERFACE}/irqmod/rx_weight")
