# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures with several processors, and keeps the figures of docs/use/processors.md.

    python -m tools.processors           # all
    python -m tools.processors quanta    # a set: --list says which there are

The rows of a set replace those that were kept of it. Trials that are cached are not run again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from irqlab import Lab
from irqlab.config.placement import Placement
from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import Load
from irqlab.errors import IrqlabError
from irqlab.methods import waits
from irqlab.trials.application import ApplicationTrial
from irqlab.trials.forwarding import ForwardingResult
from irqlab.trials.testbed import Testbed
from tools.pages import RESULTS, Figures, Row, table
from tools.sets import Tool

KEPT = RESULTS / "processors.csv"
COLUMNS = ("set", "what", "options", "qemu", "pps", "instructions", "p50_ns", "p99_ns", "p999_ns", "cpu_left", "interrupts_per_s")
DRIVER = "e1000"
QUANTA_US = (0.25, 1, 4, 16, 64)
LOAD = 0.8
"""Latencies are taken at this share of the throughput with a quantum of 1 us."""
RELEASES = ("7.2", "10.0")
WAIT_PPS = (10_000.0, 40_000.0)


def _row(kind: str, what: str, options: str, lab: Lab, **figures: Any) -> Row:
    qemu = str(lab.testbed.describe()["qemu"]).split()[3]
    return TOOL.row(set=kind, what=what, options=options, qemu=qemu, **figures)


def _latency(trial: ForwardingResult) -> dict[str, int | None]:
    latency = trial.streams[0].latency
    return {"p50_ns": latency.p50_ns, "p99_ns": latency.p99_ns, "p999_ns": latency.p999_ns} if latency else {}


def _throughput(lab: Lab, **workload: Any) -> tuple[float, float]:
    """Frames/s, all directions together, and instructions per frame there."""
    found = lab.throughput(**workload)
    pps = float(found.total_throughput_pps or 0)
    at = next(trial for trial in found.trials if trial.offered_pps == pps)
    return pps, at.instructions / max(1, at.forwarded_pps * at.spec.duration_ns / 1e9)


def quanta() -> Iterator[Row]:
    """Throughput, latencies at the same load, and instructions with each quantum."""
    rate_pps = 0.0
    for quantum_us in (1, *(one for one in QUANTA_US if one != 1)):
        options = f"--driver {DRIVER} --bidirectional --cpus 2 --quantum {quantum_us:g}"
        with Lab(DRIVER, cpus=2, quantum_ns=round(quantum_us * 1000)) as lab:
            pps, instructions = _throughput(lab, bidirectional=True)
            rate_pps = rate_pps or LOAD * pps / 2
            trial = lab.trial(rate_pps, bidirectional=True, histogram=True)
            yield _row("quanta", f"{quantum_us:g}", options, lab, pps=pps, instructions=instructions, **_latency(trial))


def releases() -> Iterator[Row]:
    """One processor and two, with three quanta, on both releases of QEMU."""
    ours = {"irqmod_i8255x": {"rx": "napi", "tx": "off", "nic": "i82557b"}, DRIVER: {}}
    for driver, schemes in ours.items():
        for release in RELEASES:
            for cpus, quantum_us in ((1, None), (2, 1), (2, 4), (2, 16)):
                words = " ".join(f"--{name} {value}" for name, value in schemes.items())
                options = f"--driver {driver} {words} --qemu {release} --cpus {cpus}" + (
                    f" --quantum {quantum_us}" if quantum_us else ""
                )
                quantum_ns = quantum_us * 1000 if quantum_us else None
                given: dict[str, Any] = schemes
                with Lab(driver, qemu=release, cpus=cpus, quantum_ns=quantum_ns, **given) as lab:
                    pps, instructions = _throughput(lab, bidirectional=True)
                    what = f"{driver}: {cpus}" + (f", {quantum_us} us" if quantum_us else "")
                    yield _row("releases", what, options, lab, pps=pps, instructions=instructions)


def _placed(affinity: str | None = None, rps: str | None = None, napi: str | None = None) -> Placement:
    return Placement.of(affinity, rps, None, napi, None)


FORWARDING: tuple[tuple[str, str, int, Placement, dict[str, Any], bool], ...] = (
    ("both ways, one processor", "", 1, _placed(), {}, True),
    ("both interrupts on one of 2", "--cpus 2 --affinity eth0=0,eth1=0", 2, _placed("eth0=0,eth1=0"), {}, True),
    ("each on its own of 2", "--cpus 2", 2, _placed(), {}, True),
    ("and RPS to both", "--cpus 2 --rps 0-1", 2, _placed(rps="0-1"), {}, True),
    ("each on its own of 4, RPS to the others", "--cpus 4 --rps 2-3", 4, _placed(rps="2-3"), {}, True),
    (
        "threaded NAPI, threads on the other 2",
        "--cpus 4 --napi-threads on --napi-cpus 2,3",
        4,
        _placed(napi="2,3"),
        {"napi_threads": "on"},
        True,
    ),
    ("one way, one processor", "", 1, _placed(), {}, False),
    ("one way, 2", "--cpus 2", 2, _placed(), {}, False),
    ("one way, RPS to the other", "--cpus 2 --rps 1", 2, _placed(rps="1"), {}, False),
    (
        "one way, threads on the others of 4",
        "--cpus 4 --napi-threads on --napi-cpus 2,3",
        4,
        _placed(napi="2,3"),
        {"napi_threads": "on"},
        False,
    ),
)


def forwarding() -> Iterator[Row]:
    """Throughput by what is placed where, and latencies at 80 % of it."""
    for what, words, cpus, placement, schemes, both in FORWARDING:
        options = f"--driver {DRIVER}{' --bidirectional' if both else ''} {words}".strip()
        with Lab(DRIVER, cpus=cpus, placement=placement, **schemes) as lab:
            pps, instructions = _throughput(lab, bidirectional=both)
            trial = lab.trial(LOAD * pps / (2 if both else 1), bidirectional=both, histogram=True)
            yield _row("forwarding", what, options, lab, pps=pps, instructions=instructions, **_latency(trial))


def waiting() -> Iterator[Row]:
    """An application by how it waits, on the interrupt's processor and on the other one."""
    for wait in waits.WAITS:
        for where in (0, 1):
            options = f"--driver {DRIVER} --kernel 7.3 --cpus 2 --app-cpu {where} --wait {wait}"
            placement = Placement(application=where)
            with Lab(DRIVER, kernel="7.3", cpus=2, placement=placement) as lab:
                (found,) = lab.application(wait=wait, rate=",".join(f"{rate:.0f}" for rate in WAIT_PPS))
                for sample in found.samples:
                    latency = sample.latency
                    echoed = {"p50_ns": latency.p50_ns, "p99_ns": latency.p99_ns, "p999_ns": latency.p999_ns} if latency else {}
                    yield _row(
                        "waiting",
                        f"{wait}, {'the other' if where else 'the same'}, {sample.offered_pps / 1e3:.0f}",
                        options,
                        lab,
                        pps=sample.application_pps,
                        instructions=sample.instructions_per_datagram,
                        cpu_left=sample.cpu_available,
                        interrupts_per_s=sample.interrupts_per_s,
                        **echoed,
                    )


def preemption() -> Iterator[Row]:
    """The round trip of an application on the other processor, by how the kernel preempts."""
    for preempt in ("lazy", "full"):
        arguments = f"preempt={preempt}"
        where = Placement(application=1)
        bed = Testbed.resolve(TestbedConfig(DRIVER, kernel="7.3", cpus=2, kernel_arguments=arguments, placement=where))
        found = bed.run(ApplicationTrial(Load(WAIT_PPS[0]), echo=True, histogram=True))
        bed.close()
        qemu = str(bed.describe()["qemu"]).split()[3]
        assert found.latency is not None
        latency = {"p50_ns": str(found.latency.p50_ns), "p99_ns": str(found.latency.p99_ns)}
        row = {"set": "preemption", "what": preempt, "options": arguments, "qemu": qemu, "pps": f"{found.returned_pps:.6g}"}
        yield {name: (row | latency).get(name, "") for name in COLUMNS}


SETS: dict[str, Callable[[], Iterator[Row]]] = {
    "quanta": quanta,
    "releases": releases,
    "forwarding": forwarding,
    "waiting": waiting,
    "preemption": preemption,
}


def _kpps(row: Row) -> str:
    return f"{float(row['pps']) / 1e3:.1f}"


def _us(row: Row, name: str) -> str:
    return f"{float(row[name]) / 1e3:.1f}" if row[name] else ""


def _whole(row: Row, name: str) -> str:
    return f"{float(row[name]):,.0f}".replace(",", " ") if row[name] else ""


def figures() -> Iterator[Figures]:
    """A table for each set."""
    of: dict[str, list[Row]] = TOOL.rows()
    latencies = ("p50_ns", "p99_ns", "p999_ns")

    def command(name: str) -> str:
        return f"python -m tools.processors {name}"

    lines = [
        [row["what"], _kpps(row), *(_us(row, name) for name in latencies), _whole(row, "instructions")] for row in of["quanta"]
    ]
    lines.sort(key=lambda line: float(line[0]))
    columns = ("quantum, us", "kpps", "p50, us", "p99", "p99.9", "instructions/frame")
    yield Figures("processors quanta", command("quanta"), table(columns, lines, texts=0))
    lines = [
        [row["what"], f"`{row['options']}`", _kpps(row), _us(row, "p50_ns"), _us(row, "p99_ns"), _whole(row, "instructions")]
        for row in of["forwarding"]
    ]
    columns = ("what", "`irqlab throughput`", "kpps", "p50, us", "p99", "instructions/frame")
    yield Figures("processors forwarding", command("forwarding"), table(columns, lines, texts=2))
    by_mode = {row["what"]: row for row in of["preemption"]}
    text = " and ".join(
        f"{_us(by_mode[mode], 'p50_ns')} µs with `preempt={mode}`" for mode in ("lazy", "full") if mode in by_mode
    )
    yield Figures("processors preemption", command("preemption"), text)
    yield Figures("processors waiting", command("waiting"), _waiting(of["waiting"]))


def _waiting(rows: list[Row]) -> str:
    """A line for each way to wait: on the same processor and on the other one, at each load."""
    found: dict[str, dict[tuple[str, str], Row]] = {}
    for row in rows:
        wait, where, load = row["what"].split(", ")
        found.setdefault(wait, {})[where, load] = row
    loads = [f"{rate / 1e3:.0f}" for rate in WAIT_PPS]
    lines = []
    for wait, by in found.items():
        line = [f"`{wait}`"]
        for where in ("the same", "the other"):
            cells = [by[where, load] for load in loads]
            line.append(" / ".join(_kpps(cell) for cell in cells))
            line.append(" / ".join(_us(cell, "p99_ns") for cell in cells))
            line.append(" / ".join(f"{float(cell['cpu_left']) * 100:.0f}" for cell in cells))
        lines.append(line)
    heads = ("received", "p99, us", "CPU left, %")
    columns = ("way", *(f"{where}: {head}" for where in ("same", "other") for head in heads))
    return table(columns, lines)


TOOL = Tool("processors", KEPT, COLUMNS, SETS, figures)

if __name__ == "__main__":
    try:
        sys.exit(TOOL.main(sys.argv[1:], __doc__))
    except IrqlabError as error:
        sys.exit(str(error))
