# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab live`: the methods on real ports."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from irqlab.cli.methods import own_options
from irqlab.cli.options import JsonFile, ReportFile, sizes
from irqlab.cli.output import check_outputs, guarded, leave, save, show, show_answers
from irqlab.config.ensemble import MAX_MEMBERS, Ensemble
from irqlab.config.schemes import Schemes
from irqlab.config.traffic import Arrivals
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.live import calibration, prepare
from irqlab.live.calibration import Calibration
from irqlab.live.config import KINDS, LiveConfig
from irqlab.live.testbed import LiveTestbed, Settings
from irqlab.methods import catalogue, latency, throughput
from irqlab.methods.method import Method
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import UserInterruptError
from irqlab.runner.measure import Method as Work
from irqlab.runner.measure import Outcome, measure
from irqlab.runner.runner import TrialRunner
from irqlab.trials.bench import Bench

METHODS = ("throughput", "loss", "latency", "burst", "recovery", "application", "cliff", "tune")
_ONLY_LAB = ("busy_poll_us", "irq_suspend_timeout_ns", "ksoftirqd_nice", "ensemble")
"""Options of methods that change the device in ways that are not put back; --repeat stands for ensembles."""
WAITS = ("block", "epoll")
"""How an application on a real device may wait for frames: no settings of the device belong to these."""
RELATIVE_WIDTH = 0.005
TRIALS_PER_LOAD = 3
CALIBRATED_AT = 0.5
"""The latency of the tester alone is measured at this share of its highest rate."""
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}

app = typer.Typer(
    name="live",
    help="Measure a real machine with two Ethernet ports of this host (docs/use/live.md).",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Ports = Annotated[list[str], typer.Argument(metavar="PORT PORT", help="Two Ethernet interfaces of this host.")]
Kind = Annotated[str, typer.Option("--kind", help=f"How frames are sent and received: {', '.join(KINDS)}.")]
Cpus = Annotated[str, typer.Option("--cpus", help="Processors for sending and receiving, such as 2,3; default: the last two.")]
Sleep = Annotated[
    bool, typer.Option("--sleep", help="Let the tester sleep when there is nothing to do: for tests, with few processors.")
]
Size = Annotated[str, typer.Option("--size", help="Frame sizes in bytes, including FCS, comma-separated; or imix.")]
Duration = Annotated[float, typer.Option("--duration", help="Measurement window of a trial, in seconds (RFC 2544 asks for 60).")]
Warmup = Annotated[float, typer.Option("--warmup", help="Warm-up under load before the measurement window, in seconds.")]
Repeat = Annotated[int, typer.Option("--repeat", help="Number of times to measure everything; shows medians and ranges.")]
Width = Annotated[
    float,
    typer.Option("--width", help="End a search when passing and failing loads differ by at most this share, 0.001 to 0.5."),
]
LineRate = Annotated[
    str | None, typer.Option("--line-rate", help="Highest load, in bit/s: 100M, 1G; default: the speed that the ports report.")
]
Bidirectional = Annotated[bool, typer.Option("--bidirectional", help="Offer the load in both directions simultaneously.")]
Wait = Annotated[str, typer.Option("--wait", help=f"How the application waits for frames: {', '.join(WAITS)}.")]
Bridge = Annotated[
    bool, typer.Option("--bridge", help="The device under test is a bridge: frames are addressed to the other port.")
]
DutOption = Annotated[
    str | None,
    typer.Option(
        "--dut", metavar="USER@BOARD", help="Where the agent runs: through ssh, or unix:PATH for a socket with an agent."
    ),
]
DutPorts = Annotated[
    str | None, typer.Option("--dut-ports", help="The device's own interfaces, such as eth0,eth1, in the order of the ports.")
]


@dataclass(frozen=True)
class Common:
    """The values of the options that all methods take."""

    config: LiveConfig
    settings: Settings
    workloads: list[Workload]
    ensemble: Ensemble


@dataclass(frozen=True)
class Files:
    """The files that a command writes."""

    json_file: Path | None = None
    report_file: Path | None = None

    def save(self, outcome: Outcome) -> None:
        """Writes them, with the results so far."""
        save(outcome, self.json_file, self.report_file)

    def leave(self, outcome: Outcome, kept: bool = False) -> None:
        """Ends the command if there was an error. `kept`: other files have the results so far; there is no cache of trials."""
        if isinstance(outcome.error, UserInterruptError) and not (kept or self.json_file or self.report_file):
            outcome.error = UserInterruptError("interrupted; nothing was kept: --json FILE keeps the results so far")
        leave(outcome)


def _pair(names: list[str] | None, what: str) -> tuple[str, str]:
    if not names or len(names) != 2:
        raise IrqlabError(f"{what}: two interfaces are needed, such as eth1 eth2")
    if names[0] == names[1]:
        raise IrqlabError(f"{what}: both are {names[0]}; two different interfaces are needed")
    return names[0], names[1]


def rate(text: str | None) -> int | None:
    """Bits per second from 100M, 1G, 2.5G. Raises IrqlabError."""
    if text is None:
        return None
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].upper() in ("K", "M", "G") else (text, "")
    try:
        value = float(number) * _UNITS[unit]
    except ValueError:
        value = 0.0
    if not 1000 <= value <= 1e12:
        raise IrqlabError(f"--line-rate {text}: allowed are bits per second, such as 100M or 1G")
    return round(value)


def _config(
    ports: list[str], kind: str, cpus: str, sleep: bool, bridge: bool, dut: str | None, dut_ports: str | None
) -> LiveConfig:
    if kind not in KINDS:
        raise IrqlabError(f"--kind {kind}: allowed are {', '.join(KINDS)}")
    if dut_ports and not dut:
        raise IrqlabError("--dut-ports: the device's interfaces are reached through an agent: --dut user@board")
    return LiveConfig(
        ports=_pair(ports, "ports"),
        kind=next(known for known in KINDS if known == kind),
        cpus=cpus,
        sleep=sleep,
        bridge=bridge,
        dut=dut,
        dut_ports=_pair(dut_ports.split(","), "--dut-ports") if dut_ports else None,
    )


def _workload(duration: float, warmup: float, repeat: int, width: float) -> Workload:
    if not 0.001 <= width <= 0.5:
        raise IrqlabError(f"--width {width}: allowed are 0.001 to 0.5")
    if not 0.01 <= duration <= 3600:
        raise IrqlabError(f"--duration {duration}: allowed are 0.01 to 3600 seconds")
    if not 0 <= warmup <= 60:
        raise IrqlabError(f"--warmup {warmup}: allowed are 0 to 60 seconds")
    if not 1 <= repeat <= MAX_MEMBERS:
        raise IrqlabError(f"--repeat {repeat}: allowed are 1 to {MAX_MEMBERS}")
    return Workload(
        duration_ns=round(duration * 1e9),
        warmup_ns=round(warmup * 1e9),
        relative_width=width,
        trials_per_load=TRIALS_PER_LOAD,
    )


def measured(common: Common, benches: Sequence[Bench], work: Work, name: str) -> Outcome:
    """Runs a method on views of the one device, as often as asked for."""
    casts = [common.ensemble] * len(benches)
    cut_short = name if name in METHODS else throughput.METHOD.name
    return measure(benches, common.workloads, 1, work, name, cut_short, casts)


def open_testbed(common: Common) -> LiveTestbed:
    """Opens the ports; leaving the context closes them, whatever happens. Raises IrqlabError."""
    return LiveTestbed(common.config, common.settings, lambda text: print(text, file=sys.stderr, flush=True))


def add(name: str, text: str, own: Sequence[inspect.Parameter], go: Callable[[Common, Files, dict[str, Any]], None]) -> None:
    """Adds a command that measures: with the options that all of them take, and its own, which `go` gets by name."""

    def command(
        ports: Ports,
        kind: Kind = "af_packet",
        cpus: Cpus = "",
        sleep: Sleep = False,
        size: Size = "64",
        bidirectional: Bidirectional = False,
        duration: Duration = 1.0,
        warmup: Warmup = 0.2,
        repeat: Repeat = 3,
        width: Width = RELATIVE_WIDTH,
        arrivals: Annotated[str, typer.Option("--arrivals", help="Arrival process: constant, poisson or bursts.")] = "constant",
        loss_tolerance: Annotated[
            float, typer.Option("--loss-tolerance", help="Share of frames that may be lost at the throughput.")
        ] = 0.0,
        line_rate: LineRate = None,
        bridge: Bridge = False,
        dut: DutOption = None,
        dut_ports: DutPorts = None,
        rx: Annotated[str | None, typer.Option("--rx", help="Receive scheme of the device's driver, if it is ours.")] = None,
        tx: Annotated[str | None, typer.Option("--tx", help="Transmit scheme of the device's driver, if it is ours.")] = None,
        name: Annotated[str, typer.Option("--name", help="The device's name in tables; default: its driver.")] = "",
        calibration_file: Annotated[
            Path | None,
            typer.Option("--calibration", help="A file of irqlab live calibrate; default: the one kept for the ports."),
        ] = None,
        uncalibrated: Annotated[
            bool, typer.Option("--uncalibrated", help="Measure without knowing the tester's own limits.")
        ] = False,
        json_file: JsonFile = None,
        report_file: ReportFile = None,
        **own: Any,
    ) -> None:
        check_outputs(json_file, report_file)
        config = _config(ports, kind, cpus, sleep, bridge, dut, dut_ports)
        config = replace(config, schemes=Schemes(rx=rx, tx=tx))
        if arrivals not in ("constant", "poisson", "bursts"):
            raise IrqlabError(f"--arrivals {arrivals}: allowed are constant, poisson and bursts")
        if not 0 <= loss_tolerance < 1:
            raise IrqlabError(f"--loss-tolerance {loss_tolerance}: allowed are 0 up to, but not including, 1")
        base = replace(
            _workload(duration, warmup, repeat, width),
            bidirectional=bidirectional,
            arrivals=_arrivals(arrivals),
            loss_tolerance=loss_tolerance,
        )
        workloads = [replace(base, size=one) for one in sizes(size)]
        known = None if uncalibrated else calibration.read(config, calibration_file)
        prepare.check(config.ports)
        go(
            Common(config, Settings(name, rate(line_rate), known), workloads, Ensemble(repeat)),
            Files(json_file, report_file),
            own,
        )

    command.__name__ = name
    shared = [one for one in inspect.signature(command, eval_str=True).parameters.values() if one.name != "own"]
    command.__signature__ = inspect.Signature([*shared, *own])  # type: ignore[attr-defined]
    app.command(name, help=text)(guarded(command))


def _add(method: Method) -> None:
    run_method = method.run
    assert run_method is not None

    def go(common: Common, files: Files, own: dict[str, Any]) -> None:
        if not method.repeats:
            own, common = {**own, "ensemble": common.ensemble.members}, replace(common, ensemble=Ensemble())
        options = method.options(**own)
        if (wait := own.get("wait")) is not None and not set(wait.split(",")) <= set(WAITS):
            raise IrqlabError(f"--wait {wait}: on real ports allowed are {' and '.join(WAITS)}")
        with open_testbed(common) as testbed:
            outcome = measured(common, [testbed], lambda runner, workload: run_method(runner, workload, options), method.name)
        files.save(outcome)
        rows = catalogue.rows([outcome.document])
        show(method.printed(rows, options))
        tell(outcome)
        show_answers(rows)
        files.leave(outcome)

    own = [one for one in own_options(method) if one.name not in _ONLY_LAB]
    chosen = [one.replace(annotation=Wait) if one.name == "wait" else one for one in own]
    add(method.name, method.help, chosen, go)


def _arrivals(text: str) -> Arrivals:
    return "constant" if text == "constant" else "poisson" if text == "poisson" else "bursts"


def tell(outcome: Outcome) -> None:
    """Says what the host did to the tester during the measurement."""
    trials = [trial for result in outcome.results for trial in result.trials if trial.live is not None]
    stalled = [trial for trial in trials if trial.live and trial.live.stalls]
    if not trials:
        return
    worst = max(trial.live.lateness_p99_ns for trial in trials if trial.live)
    stamps = sorted({stamp for trial in trials if trial.live for stamp in trial.live.time_stamps})
    print(
        f"{len(trials)} trials; the host stopped the tester in {len(stalled)} of them; pacing error p99 at most "
        f"{worst / 1e3:.1f} µs; times of arrival: {', '.join(stamps)}"
    )
    if stalled and stalled[-1].live:
        print(f"  the last of these: {'; '.join(stalled[-1].live.stalls)}")


for _name in METHODS:
    _add(catalogue.methods()[_name])


@app.command("calibrate")
@guarded
def calibrate(
    ports: Ports,
    kind: Kind = "af_packet",
    cpus: Cpus = "",
    sleep: Sleep = False,
    size: Size = "64,1518",
    bidirectional: Bidirectional = False,
    duration: Duration = 1.0,
    warmup: Warmup = 0.2,
    width: Width = RELATIVE_WIDTH,
    line_rate: LineRate = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file; default: the place where the methods look for it.")
    ] = None,
) -> None:
    """Measure the tester itself, with a cable from one port to the other. Do this before anything else."""
    config = _config(ports, kind, cpus, sleep, True, None, None)
    workload = replace(_workload(duration, warmup, 1, width), bidirectional=bidirectional)
    workloads = [replace(workload, size=one) for one in sizes(size)]
    if any(one.size == "imix" for one in workloads):
        raise IrqlabError("--size imix: the tester's limits are measured with frames of one size")
    where = output or calibration.place(config)
    if output is not None:
        check_outputs(output)
    prepare.check(config.ports)

    def work(runner: TrialRunner, workload: Workload) -> list[MethodResult]:
        first = throughput.run(runner, workload)
        return [first, latency.run(runner, workload, (CALIBRATED_AT,), first)]

    common = Common(config, Settings("loop", rate(line_rate), None), workloads, Ensemble())
    with open_testbed(common) as testbed:
        outcome = measure([testbed], workloads, 1, work, "calibrate", "throughput", [Ensemble()])
        drivers = tuple(str(port["driver"]) for port in testbed.ports.interfaces)
    for name in ("throughput", "latency"):
        method = catalogue.methods()[name]
        show(method.printed([row for row in catalogue.rows([outcome.document]) if row.data["method"] == name], method.options()))
    tell(outcome)
    if isinstance(outcome.error, UserInterruptError):
        outcome.error = UserInterruptError("interrupted; nothing was kept")
    leave(outcome)
    rates = {r.frame_bytes: throughput.rate_per_direction(r) for r in outcome.results if r.method == "throughput"}
    timed = {r.frame_bytes: r.samples[0].latency for r in outcome.results if r.method == "latency"}
    calibration.keep(
        Calibration(
            ports=config.ports,
            kind=kind,
            drivers=drivers,
            rates_pps={int(size): pps for size, pps in rates.items()},
            latency_p50_ns={int(size): one.p50_ns for size, one in timed.items()},
            latency_p99_ns={int(size): one.p99_ns for size, one in timed.items()},
            bidirectional=bidirectional,
        ),
        where,
    )
    print(f"calibration: {where}")


@app.command("prepare")
@guarded
def prepare_command(
    ports: Ports,
    dut: DutOption = None,
    dut_ports: DutPorts = None,
    governor: Annotated[bool, typer.Option("--governor/--no-governor", help="Keep the processors at full speed.")] = True,
) -> None:
    """Set up ports and device: links, offloads, addresses, routes, ARP. Prints what it changes; restore undoes it."""
    pair = _pair(ports, "ports")
    theirs = _pair(dut_ports.split(","), "--dut-ports") if dut_ports else None
    if bool(dut) != bool(theirs):
        raise IrqlabError("--dut and --dut-ports belong together: --dut user@board --dut-ports eth0,eth1")
    prepare.prepare(pair, dut, theirs, governor, print)


@app.command("restore")
@guarded
def restore_command(ports: Ports) -> None:
    """Undo what prepare has changed."""
    prepare.restore(_pair(ports, "ports"), print)
