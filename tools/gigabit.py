# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures irqmod_i82574 and e1000e on the tester's 82574L, and keeps the figures of docs/drivers/i82574.md.

    python -m tools.gigabit            # all
    python -m tools.gigabit schemes    # a set: --list says which there are

The rows of a set replace those that were kept of it. Trials that are cached are not run again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from irqlab import Lab
from irqlab.config.placement import Placement
from irqlab.config.schemes import MODERATED_RX_SCHEMES
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import receiving
from irqlab.reproduce import trial_rows
from irqlab.reproduce.salah2009 import rows
from irqlab.reproduce.session import Session
from irqlab.trials.forwarding import ForwardingResult
from tools.pages import RESULTS, Figures, Row, table
from tools.sets import Tool

KEPT = RESULTS / "gigabit.csv"
COLUMNS = ("set", "what", "options", "pps", "instructions", "p50_ns", "p99_ns", "p999_ns", "interrupts_per_s", "mbps", "idle")
OURS, THEIRS, NIC = "irqmod_i82574", "e1000e", "irqlab-82574"
SLOW = ("ifpoll", "polling", "shrink", "standard", "timer")
"""Instruments that need a minute and more each."""
HALF_PPS = 30_000.0
"""Half of what e1000e forwards on one processor: latencies are compared at this rate."""


def _row(kind: str, what: str, options: str, **figures: float | None) -> Row:
    return TOOL.row(set=kind, what=what, options=options, **figures)


def _latency(trial: ForwardingResult) -> dict[str, float | None]:
    latency = trial.streams[0].latency
    found: dict[str, float | None] = {"p50_ns": latency.p50_ns, "p99_ns": latency.p99_ns, "p999_ns": latency.p999_ns}
    return found | {
        "interrupts_per_s": sum(trial.counters.interrupts.values()) * 1e9 / (trial.spec.warmup_ns + trial.spec.duration_ns)
    }


def _forwarding(kind: str, what: str, driver: str, words: str, both: bool = False, **given: Any) -> Row:
    """The throughput, instructions per frame there, and latencies at HALF_PPS a direction."""
    options = f"--driver {driver} --nic {NIC} {words}{' --bidirectional' if both else ''}".strip()
    with Lab(driver, nic=NIC, **given) as lab:
        found = lab.throughput(bidirectional=both)
        pps = float(found.total_throughput_pps or 0)
        at = next(trial for trial in found.trials if trial.offered_pps == pps)
        trial = lab.trial(HALF_PPS, bidirectional=both, histogram=True)
        instructions = at.instructions / max(1, at.forwarded_pps * at.spec.duration_ns / 1e9)
        return _row(kind, what, options, pps=pps, instructions=instructions, **_latency(trial))


def schemes() -> Iterator[Row]:
    """Each receive scheme with the default transmit scheme, and the default with each transmit scheme; e1000e."""
    yield _forwarding("schemes", THEIRS, THEIRS, "")
    for rx in MODERATED_RX_SCHEMES:
        if rx not in SLOW:
            yield _forwarding("schemes", f"{rx}", OURS, f"--rx {rx}", rx=rx)
    for tx in ("off", "coalesce", "interrupt"):
        yield _forwarding("schemes", f"napi/{tx}", OURS, f"--rx napi --tx {tx}", rx="napi", tx=tx)


def processors() -> Iterator[Row]:
    """Both drivers, on one processor and on two, on two kernels."""
    for kernel in ("6.1", "7.3"):
        for cpus in (1, 2):
            for driver in (THEIRS, OURS):
                words = f"--kernel {kernel} --cpus {cpus}"
                what = f"{driver}, {kernel}, {cpus}"
                yield _forwarding("processors", what, driver, words, both=cpus > 1, kernel=kernel, cpus=cpus)


def xdp() -> Iterator[Row]:
    """What XDP programs handle at line rate, with ours and with igb."""
    for driver, nic in ((OURS, NIC), ("igb", None)):
        with Lab(driver, nic=nic) as lab:
            (found,) = lab.measure("xdp")
            for sample in found.samples:
                yield _row(
                    "xdp", f"{driver}, {sample.action}", f"--driver {driver}",
                    pps=sample.handled_pps, instructions=sample.instructions_per_frame, interrupts_per_s=sample.interrupts_per_s,
                )  # fmt: skip


def iperf() -> Iterator[Row]:
    """TCP and UDP, received and sent."""
    for driver in (THEIRS, OURS):
        with Lab(driver, nic=NIC) as lab:
            (found,) = lab.measure("iperf", four=True)
            for sample in found.samples:
                what, words = f"{driver}, {sample.name}", f"--driver {driver} --nic {NIC} --all"
                yield _row("iperf", what, words, mbps=sample.bps / 1e6, idle=sample.idle_ratio)


SALAH = TestbedConfig(OURS, nic=NIC, mips=1000)
"""Salah & Qahtan's cliff is at 100 kpps, and so is about this one."""
SALAH_CLIFF_PPS = 105_000.0
"""As `irqlab cliff --rx de` finds it."""
SALAH_KPPS = (10, 25, 40, 50, 55, 60, 65, 70, 80, 100, 120, 150, 200, 235, 300)
"""The paper's loads, and one beyond them."""
MODERATED_KPPS = (40, 50, 55, 60, 65, 70, 80, 100, 120)
SHOWN_KPPS = (50, 55, 60, 70, 100)
OVERLOADED_KPPS = tuple(kpps for kpps in SALAH_KPPS if kpps >= 100)
SALAH_PLAN = Workload(duration_ns=100_000_000, warmup_ns=40_000_000)
MODERATIONS = {
    "no moderation": "",
    "interval": "rx_interval_us=18",
    "delay": "rx_delay_us=18 rx_gather=6",
}
"""What the paper's NIC may do: 18 us from an interrupt to the next; 18 us, or 6 frames, from the first frame."""


def salah() -> Iterator[Row]:
    """Figures 7(a), (e) and (f) of Salah & Qahtan (2009), with a NIC that moderates and one that does not."""
    compared = [rows.de(), rows.napi(300), rows.napi(2), rows.hybrid(SALAH_CLIFF_PPS), rows.paced(SALAH_CLIFF_PPS)]
    with Session(SALAH, jobs=3) as session:
        batches = []
        for name, parameters in MODERATIONS.items():
            testbed = session.testbed(dut=DutConfig(module_parameters=parameters))
            for row in compared:
                brief = row.scheme in (rows.NAPI_2, rows.PACED)
                asked = [
                    (
                        {"what": f"{name}, {row.scheme}, {kpps}", "parameters": parameters},
                        receiving.spec_of(SALAH_PLAN, kpps * 1e3, row.tuning),
                    )
                    for kpps in (MODERATED_KPPS if parameters else OVERLOADED_KPPS if brief else SALAH_KPPS)
                ]
                if not (parameters and brief):
                    batches.append(trial_rows.Batch(f"{name}, {row.scheme}", testbed, asked))
        for columns, r in trial_rows.run(session, "Salah & Qahtan", batches):
            words = f"--driver {OURS} --nic {NIC} --mips 1000"
            words += f" --module-parameters '{columns['parameters']}'" if columns["parameters"] else ""
            yield _row("salah", columns["what"], words, pps=r.application_pps, interrupts_per_s=r.interrupts_per_s,
                       idle=r.cpu_available)  # fmt: skip


OUTLOOK = ((1, 1, None), (1, 2, None), (2, 1, None), (2, 1, 1), (2, 2, None), (4, 2, None), (4, 2, 3))
"""Processors; interfaces; the processor of the process, None: Linux chooses it."""
OUTLOOK_KPPS = (150, 200, 235, 300, 400)
"""Of all interfaces together."""
OUTLOOK_SHOWN_KPPS = (200, 235, 400)


def outlook() -> Iterator[Row]:
    """The paper's outlook: its schemes on several processors, with two NICs. One process receives in one socket."""
    compared = (rows.de(), rows.napi(300), rows.hybrid(SALAH_CLIFF_PPS))
    with Session(SALAH, jobs=2) as session:
        for where in OUTLOOK:
            cpus, interfaces, process = where
            testbed = session.testbed(cpus=cpus, placement=Placement(application=process))
            batches = []
            for row in compared:
                name = f"{_where(*where)}, {row.scheme}"
                asked = [
                    ({"what": f"{name}, {kpps}"}, receiving.spec_of(SALAH_PLAN, kpps * 1e3, row.tuning, interfaces=interfaces))
                    for kpps in OUTLOOK_KPPS
                ]
                batches.append(trial_rows.Batch(name, testbed, asked))
            words = f"--driver {OURS} --nic {NIC} --mips 1000 --cpus {cpus} --interfaces {interfaces}"
            words += "" if process is None else f" --app-cpu {process}"
            for columns, r in trial_rows.run(session, _where(*where), batches):
                yield _row("outlook", columns["what"], words, pps=r.application_pps, interrupts_per_s=r.interrupts_per_s,
                           idle=r.cpu_available)  # fmt: skip


def _where(cpus: int, interfaces: int, process: int | None) -> str:
    return f"{cpus}, {interfaces}, {'' if process is None else process}"


SETS: dict[str, Callable[[], Iterator[Row]]] = {
    "schemes": schemes,
    "processors": processors,
    "xdp": xdp,
    "iperf": iperf,
    "salah": salah,
    "outlook": outlook,
}


def _number(row: Row, name: str, per: float = 1.0, digits: int = 1) -> str:
    return f"{float(row[name]) / per:,.{digits}f}".replace(",", " ") if row[name] else ""


def figures() -> Iterator[Figures]:
    """A table for each set."""
    of: dict[str, list[Row]] = TOOL.rows()
    lines = [
        [
            row["what"], _number(row, "pps", 1e3), _number(row, "instructions", 1, 0), _number(row, "p50_ns", 1e3),
            _number(row, "p99_ns", 1e3), _number(row, "interrupts_per_s", 1, 0),
        ]
        for row in of["schemes"]
    ]  # fmt: skip
    heads = ("what", "kpps", "instructions/frame", "p50, µs", "p99", "interrupts/s")
    yield Figures("gigabit schemes", "python -m tools.gigabit schemes", table(heads, lines))
    for name, columns in (
        ("processors", {"kpps": ("pps", 1e3, 1), "instructions": ("instructions", 1, 0), "p99, µs": ("p99_ns", 1e3, 1)}),
        ("xdp", {"kpps": ("pps", 1e3, 1), "instructions": ("instructions", 1, 0)}),
        ("iperf", {"Mbit/s": ("mbps", 1, 1), "idle, %": ("idle", 0.01, 1)}),
    ):
        yield Figures(f"gigabit {name}", f"python -m tools.gigabit {name}", _beside(of[name], columns))
    if of["salah"]:
        yield from _salah(of["salah"])
    if of["outlook"]:
        yield _outlook(of["outlook"])


def _salah(kept: list[Row]) -> Iterator[Figures]:
    """What moderation does to DE, and what the application receives under each scheme in overload."""
    by = {tuple(row["what"].rsplit(", ", 1)): row for row in kept}
    heads = ["kpps", *(f"{head}: {name}" for head in ("interrupts/s", "CPU left, %") for name in MODERATIONS)]
    lines = [
        [
            str(kpps),
            *(_number(by[f"{name}, {rows.DE}", str(kpps)], "interrupts_per_s", 1, 0) for name in MODERATIONS),
            *(_number(by[f"{name}, {rows.DE}", str(kpps)], "idle", 0.01) for name in MODERATIONS),
        ]
        for kpps in SHOWN_KPPS
    ]
    yield Figures("gigabit moderation", "python -m tools.gigabit salah", table(heads, lines))
    schemes = (rows.DE, rows.NAPI, rows.NAPI_2, rows.HYBRID, rows.PACED)
    lines = [
        [str(kpps), *(_number(by[f"no moderation, {scheme}", str(kpps)], "pps", 1e3) for scheme in schemes)]
        for kpps in OVERLOADED_KPPS[3:]
    ]
    yield Figures("gigabit salah", "python -m tools.gigabit salah", table(("offered, kpps", *schemes), lines))


def _outlook(kept: list[Row]) -> Figures:
    """What the application receives, in kpps, by what is offered."""
    by = {row["what"]: row for row in kept}
    schemes = (rows.DE, rows.NAPI, rows.HYBRID)
    heads = ("processors", "NICs", "`--app-cpu`", *(f"{scheme} at {kpps}" for scheme in schemes for kpps in OUTLOOK_SHOWN_KPPS))
    lines = [
        [
            *(part or "-" for part in _where(*where).split(", ")),
            *(
                _number(by[f"{_where(*where)}, {scheme}, {kpps}"], "pps", 1e3)
                for scheme in schemes
                for kpps in OUTLOOK_SHOWN_KPPS
            ),
        ]
        for where in OUTLOOK
    ]
    return Figures("gigabit outlook", "python -m tools.gigabit outlook", table(heads, lines))


def _beside(rows: list[Row], columns: Mapping[str, tuple[str, float, int]]) -> str:
    """A line for each test, with the figures of each driver beside those of the other."""
    by: dict[str, dict[str, Row]] = {}
    for row in rows:
        driver, _, test = row["what"].partition(", ")
        by.setdefault(test, {})[driver] = row
    drivers = list(dict.fromkeys(driver for found in by.values() for driver in found))
    heads = ("", *(f"{driver}: {head}" for driver in drivers for head in columns))
    lines = [[test, *(_number(found[one], *how) for one in drivers for how in columns.values())] for test, found in by.items()]
    return table(heads, lines)


TOOL = Tool("gigabit", KEPT, COLUMNS, SETS, figures)

if __name__ == "__main__":
    try:
        sys.exit(TOOL.main(sys.argv[1:], __doc__))
    except IrqlabError as error:
        sys.exit(str(error))
