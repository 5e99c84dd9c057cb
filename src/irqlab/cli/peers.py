# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab iperf` and `irqlab rrul`: TCP and UDP between the DUT and the tester's host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from irqlab.cli import options as opt
from irqlab.cli.output import check_outputs, complain, save
from irqlab.errors import IrqlabError
from irqlab.methods import iperf, rrul
from irqlab.present import peer_tables
from irqlab.present import terminal as tables
from irqlab.results import flent
from irqlab.runner.measure import Outcome, measure
from irqlab.trials.iperf import FOUR, IperfTrial
from irqlab.trials.rrul import RrulTrial
from irqlab.units import driver_of

Udp = Annotated[bool, typer.Option("--udp", help="UDP, not TCP.")]
RateBps = Annotated[int | None, typer.Option("--rate-bps", help="Payload of a stream; default: TCP no limit, UDP the wire's.")]
Reverse = Annotated[bool, typer.Option("--reverse", help="The server sends, as iperf3's -R. Default: the client does.")]
Serves = Annotated[bool, typer.Option("--dut-serves", help="The DUT is the server, the tester the client.")]
All = Annotated[bool, typer.Option("--all", help="TCP and UDP, received and sent by the DUT: four tests.")]
Seconds = Annotated[int, typer.Option("--duration", help="How long the flows run, in virtual seconds.")]
Parallel = Annotated[int, typer.Option("--parallel", help="Streams at once.")]
Window = Annotated[int, typer.Option("--window", help="TCP window of the tester's end, in bytes, each stream.")]
Soak = Annotated[bool, typer.Option("--soak", help="Also let a soaker take what is left of the CPU, and say how much that is.")]
Flows = Annotated[int, typer.Option("--flows", help="TCP flows in each direction.")]
Idle = Annotated[int, typer.Option("--idle", help="Virtual seconds with probes alone, before and after the flows.")]
FlentFile = Annotated[Path | None, typer.Option("--flent", help="Write flent's data file (.flent.gz); of the last driver.")]


_asks = opt.asks(*opt.DUT, "rx", "tx", "variant", "jobs", size=str(iperf.FRAME_BYTES))

Printer = Callable[[list[dict[str, Any]]], Table]


def _finish(outcome: Outcome, table: Printer, json_file: Path | None, report_file: Path | None) -> None:
    rows = [result.to_json() for result in outcome.results]
    if any(row["samples"] for row in rows):
        tables.show(table([row for row in rows if row["samples"]]), Console())
    save(outcome, json_file, report_file)
    if outcome.error is not None:
        raise typer.Exit(complain(outcome.error))


@_asks
def iperf_command(
    *,
    udp: Udp = False,
    rate_bps: RateBps = None,
    reverse: Reverse = False,
    dut_serves: Serves = False,
    four: All = False,
    seconds: Seconds = 2,
    parallel: Parallel = 1,
    window: Window = 1 << 18,
    soak: Soak = False,
    request: opt.Request,
    json_file: opt.JsonFile = None,
    report_file: opt.ReportFile = None,
) -> None:
    """Run iperf3 in the DUT against the tester's host: throughput, retransmits, loss, jitter, idle CPU (docs/iperf.md)."""
    check_outputs(json_file, report_file)
    if four and (udp or reverse):
        raise IrqlabError("--all: TCP and UDP in both directions; --udp and --reverse choose one of them")
    dut_sends = reverse if dut_serves else not reverse
    chosen = IperfTrial(udp, dut_sends, dut_serves, seconds, parallel, rate_bps, window, soak)
    tests = [replace(chosen, udp=t.udp, dut_sends=t.dut_sends) for t in FOUR] if four else [chosen]
    outcome = measure(
        request.testbeds,
        request.workloads(),
        request.jobs,
        lambda runner, workload: [iperf.run(runner, workload, tests)],
        "iperf",
    )
    _finish(outcome, peer_tables.iperf_table, json_file, report_file)


@_asks
def rrul_command(
    *,
    flows: Flows = 4,
    seconds: Seconds = 5,
    idle: Idle = 1,
    window: Window = 1 << 16,
    request: opt.Request,
    json_file: opt.JsonFile = None,
    report_file: opt.ReportFile = None,
    flent_file: FlentFile = None,
) -> None:
    """Latency under load: TCP flows up and down, UDP and ICMP probes beside them (flent's rrul_be; docs/iperf.md)."""
    check_outputs(json_file, report_file, flent_file)
    if flent_file is not None and not flent_file.name.endswith(flent.SUFFIX):
        raise IrqlabError(f"--flent {flent_file}: flent's files end in {flent.SUFFIX}")
    test = RrulTrial(flows=flows, seconds=seconds, idle_s=idle, window_bytes=window)
    outcome = measure(
        request.testbeds, request.workloads(), request.jobs, lambda runner, workload: [rrul.run(runner, workload, test)], "rrul"
    )
    rows = [result.to_json() for result in outcome.results if result.samples]
    if flent_file is not None and rows:
        flent.write(rows[-1], f"{driver_of(rows[-1])} {rows[-1]['mips']} MIPS", flent_file)
    _finish(outcome, peer_tables.rrul_table, json_file, report_file)
