# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures what is compared with published figures in docs/use/validity.md, and compares.

    python -m tools.validity predict [SET ...]     # to docs/results/validity/predictions.json
    python -m tools.validity predict c [SET ...]   # the machines' predictions only; so with a and b
    python -m tools.validity compare               # all cells, beside the published figures
    python -m tools.validity experiment [a|c ...]  # IRQ suspension without some differences

What was predicted, published and tried is in docs/results/validity. A prediction knows no published result.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from irqlab import files
from irqlab.calibrate.cells import near
from irqlab.config import hardware
from irqlab.config.costs import Costs
from irqlab.config.memory import Memory
from irqlab.config.schemes import combine
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.traffic import Arrivals, Load
from irqlab.methods import waits
from irqlab.trials.application import ApplicationResult, ApplicationTrial
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial
from irqlab.trials.iperf import IperfTrial
from irqlab.trials.testbed import Testbed
from tools.pages import RESULTS, ROOT, Figures, table

FOLDER = RESULTS / "validity"
PREDICTIONS = FOLDER / "predictions.json"
PUBLISHED = FOLDER / "published.json"
EXPERIMENTED = FOLDER / "experiments.json"
MS = 1_000_000
LETTERS = ("a", "b", "c")
wanted = list(LETTERS)
"""Which predictions are measured."""

VARIANTS = ("ORIGINAL", "TX-128", "TX-OFF", "NAPI", "NAPI-TX-128", "NAPI-TX-OFF")
SINGLE = (("../../../../../module/irqmod/parameters/single_frames", "Y"),)
"""Frames are delivered one by one."""


class Machine:
    """What is predicted with: a speed, costs, a memory model."""

    def __init__(self, mips: int, name: str | None = None, without: tuple[str, ...] = ()) -> None:
        board = hardware.load(name) if name else None
        self.mips = board.mips if board else mips
        self.costs: Costs | None = board.costs if board and board.costs else None
        memory: Memory | None = board.memory if board else None
        left_out: dict[str, Any] = dict.fromkeys(without)
        self.memory = replace(memory, **left_out) if memory else None
        self.name = name or f"{mips} MIPS"

    @cache  # noqa: B019
    def testbed(
        self,
        driver: str,
        kernel: str | None = None,
        scheme: str = "",
        attributes: Any = (),
        nic: str | None = None,
        settings: Any = (),
        parameters: str = "",
        cpus: int = 1,
    ) -> Testbed:
        """A testbed; `scheme`: a variant of Spanos', or RX/TX; `settings`: of Schemes; `parameters`: the driver's."""
        rx, slash, tx = scheme.partition("/")
        chosen = combine(None, rx, tx) if slash else combine([scheme] if scheme else None, None, None)
        dut = DutConfig(schemes=replace(chosen[0], **dict(settings)), attributes=attributes, module_parameters=parameters)
        cost_model = self.costs is not None
        return Testbed.resolve(
            TestbedConfig(driver, nic, kernel, mips=self.mips, dut=dut, memory=self.memory, cost_model=cost_model, cpus=cpus)
        )

    def forward(
        self, bed: Testbed, pps: float, size: int = 64, both: bool = True, window_ns: int = 100 * MS, warmup_ns: int = 50 * MS
    ) -> ForwardingResult:
        """A trial at an offered load, all directions together."""
        return bed.run(
            ForwardingTrial(
                loads=(Load(pps / (2 if both else 1), size),),
                bidirectional=both,
                duration_ns=window_ns,
                warmup_ns=warmup_ns,
                above_line_rate=True,
                costs=self.costs,
            )
        )

    def throughput(self, trial: Callable[[float], ForwardingResult], guess: float) -> tuple[float, ForwardingResult]:
        """The throughput in frames/s, and the trial just below it."""
        found, low, high = near(trial, guess)
        return (low + high) / 2, found


def plain(mips: int = 250) -> Machine:
    """(a): instructions alone."""
    return Machine(mips)


def of(name: str, *without: str) -> Machine:
    """(b), (c): hardware; `without`: fields of Memory that are left out."""
    return Machine(0, name, without)


def _wanted(*machines: tuple[str, Machine]) -> Iterator[tuple[str, Machine]]:
    return (pair for pair in machines if pair[0][0] in wanted)


# (a) and (b) of Spanos' table 1 are in src/irqlab/data/hardware/mpc8250.json, measured by irqlab calibrate.
TABLE1 = {64: VARIANTS, 512: VARIANTS, 256: VARIANTS, 128: VARIANTS, 896: VARIANTS[:5], 1024: VARIANTS[:3]}
"""The cells below line rate in the paper."""


def spanos_table1() -> Iterator[tuple[str, Any]]:
    """(c) throughput without the line-rate limit, both directions, frames/s."""
    machine = of("mpc8250-memory")
    guesses = dict(zip(VARIANTS, (10e3, 12e3, 11e3, 26e3, 43e3, 50e3), strict=True))  # where the search begins
    for size, variants in TABLE1.items() if "c" in wanted else ():
        for variant in variants:
            trial = partial(machine.forward, machine.testbed("irqmod_i8255x", scheme=variant), size=size)
            pps, _ = machine.throughput(trial, guesses[variant])
            guesses[variant] = pps
            yield f"c {variant} {size}", {"pps": round(pps)}


THREE = {"a": lambda: plain(), "b": lambda: of("mpc8250"), "c": lambda: of("mpc8250-memory")}


def spanos_table3() -> Iterator[tuple[str, Any]]:
    """Shares and interrupts at 2 x 23.5 kpps of 512 bytes, the wire's rate at 100 Mbit/s."""
    offered = 2 * 100e6 / 8 / (512 + 20)
    for letter in wanted:
        machine = THREE[letter]()
        for variant in ("ORIGINAL", "TX-OFF", "NAPI", "NAPI-TX-OFF"):
            bed = machine.testbed("irqmod_i8255x", scheme=variant)
            found = machine.forward(bed, offered, 512, window_ns=200 * MS)
            yield f"{letter} {variant}", {"transmitted": round(found.forwarded_pps / offered, 4)}


def spanos_figure5() -> Iterator[tuple[str, Any]]:
    """ORIGINAL, 64 bytes: throughput, and from where on it forwards less than 2 %: found to 1 %, as in the paper's page."""
    for letter in wanted:
        machine = THREE[letter]()
        trial = partial(machine.forward, machine.testbed("irqmod_i8255x", scheme="ORIGINAL"), window_ns=200 * MS)
        best, _ = machine.throughput(trial, {"a": 51e3, "b": 35e3, "c": 10e3}[letter])
        low, high, collapsed = best, 8 * best, False
        while (high - low) / high > 0.01:
            rate = (low * high) ** 0.5
            if trial(rate).forwarded_pps < 0.02 * best:
                high, collapsed = rate, True
            else:
                low = rate
        yield letter, {"pps": round(best), "ratio": round(high / best, 3) if collapsed else None}  # None: not up to 8


def napi_howto() -> Iterator[tuple[str, Any]]:
    """e1000, one direction, at the rates of the table; its sizes are without FCS."""
    for letter, machine in _wanted(("a", plain(1000)), ("c", of("pentium3"))):
        bed = machine.testbed("e1000")
        for size, pps in ((60, 890000), (128, 758150), (256, 445632), (512, 232666), (1024, 119061), (1440, 85193)):
            found = machine.forward(bed, pps, size + 4, False, 50 * MS, 10 * MS)
            yield (
                f"{letter} {size}",
                {
                    "forwarded_pps": round(found.forwarded_pps),
                    "out_of_a_million": round(1e6 * found.forwarded_pps / pps),
                    "interrupts_of_a_million": round(1e6 * (found.interrupts_per_frame() or 0) * found.forwarded_pps / pps),
                },
            )


def lists() -> Iterator[tuple[str, Any]]:
    """i8255x, napi/off, one direction: throughput with frames delivered one by one, and as lists."""
    machines = (("a", plain(1000)), ("c ivybridge", of("ivybridge", "register_read")), ("c cortex-a7", of("cortex-a7")))
    for letter, machine in _wanted(*machines):
        guess = {"a": 300e3, "c ivybridge": 900e3, "c cortex-a7": 100e3}[letter]
        for name, attributes in (("single", SINGLE), ("list", ())):
            bed = machine.testbed("irqmod_i8255x", scheme="napi/off", attributes=attributes)
            trial = lambda pps, machine=machine, bed=bed: machine.forward(bed, pps, 64, False, 20 * MS, 10 * MS)  # noqa: E731
            pps, found = machine.throughput(trial, guess)
            guess = pps
            counted = {name: found.fills_per_frame(name) for name in ("L1I", "L1D")}
            fills = {name: round(value, 1) for name, value in counted.items() if value is not None}
            yield f"{letter} {name}", {"pps": round(pps), "instructions": round(found.instructions_per_frame or 0), **fills}


SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Offered loads, of what the server can do at most with `base`; 1.0 is the load of 1,000K, which base did not reach."""


def irq_suspension(
    arrivals: Arrivals = "constant", driver: str = "irqmod_i8255x", scheme: str = "napi/off", nic: str | None = None
) -> Iterator[tuple[str, Any]]:
    """Linux 7.3, our i8255x driver with NAPI: a server that echoes datagrams, base (epoll) against suspension."""
    # The NIC of the published measurement signals with MSI-X and events in memory: its handler reads no register.
    for letter, machine in _wanted(("a", plain(1000)), ("c", of("skylake-sp-ddio", "register_read"))):
        bed = machine.testbed(driver, "7.3", scheme, nic=nic)
        ways = {
            "base": waits.tuning_of("epoll", bed.config.dut.schemes),
            "suspend20": replace(waits.tuning_of("suspend", bed.config.dut.schemes), gro_flush_timeout_ns=20_000),
        }

        def trial(pps: float, way: str, bed: Testbed = bed, ways: Any = ways) -> ApplicationResult:
            load = Load(pps, arrivals=arrivals)
            spec = ApplicationTrial(load, ways[way], echo=True, duration_ns=20 * MS, warmup_ns=20 * MS, drain_ns=10 * MS)
            return bed.run(spec)

        low, high = 20e3, {"a": 200e3, "c": 1e6}[letter]
        while high / low > 1.04:
            pps = (low * high) ** 0.5
            if trial(pps, "base").application_pps > 0.99 * pps:
                low = pps
            else:
                high = pps
        yield f"{letter} base, at most", {"pps": round(low)}
        for share in SHARES:
            for way in ways:
                found = trial(share * low * 1.03, way)
                used_ns = found.cpu_used / found.application_pps * 1e9 if found.application_pps else None
                yield (
                    f"{letter} {share} {way}",
                    {
                        "offered_pps": round(share * low * 1.03),
                        "received_pps": round(found.application_pps),
                        "instructions": found.instructions_per_datagram and round(found.instructions_per_datagram),
                        "used_ns": used_ns and round(used_ns, 1),
                        "p99_ns": found.latency and found.latency.p99_ns,
                        "interrupts_per_s": round(found.interrupts_per_s),
                    },
                )


def pi3() -> Iterator[tuple[str, Any]]:
    """The kernel's lan78xx on USB 2.0: iperf3 receives TCP."""
    for letter, machine in _wanted(("a", plain(1000)), ("c", of("bcm2837"))):
        found = machine.testbed("lan78xx", nic="lan7800").run(IperfTrial(dut_sends=False, dut_serves=True, seconds=1))
        yield f"{letter} TCP Rx", {"mbps": round(found.window_bps / 1e6, 1), "idle": round(found.idle_ratio, 3)}


IPERF = {
    "TCP Tx": IperfTrial(seconds=1),
    "TCP Rx": IperfTrial(seconds=1, dut_sends=False),
    "UDP Tx": IperfTrial(seconds=1, udp=True),
    "UDP Rx": IperfTrial(seconds=1, udp=True, dut_sends=False),
}
COALESCED = (("defer_hard_irqs", 1), ("gro_flush_timeout_ns", 20_000))
"""What netdev_sw_irq_coalesce_default_on() sets."""
RAVB = {"plain": (), "coalesced": COALESCED, "threaded": (*COALESCED, ("napi_threads", "on"))}
"""The states of a series, each with what came before it."""
RAVB_STEPS = {
    "coalescing, UDP Rx": ("coalesced", "plain", "UDP Rx"),
    **{f"threaded NAPI, {test}": ("threaded", "coalesced", test) for test in IPERF},
}
"""Its figures: after, before, test."""


def _iperf(bed: Testbed, test: str) -> dict[str, Any]:
    found = bed.run(IPERF[test])
    return {
        "mbps": round(found.bps / 1e6, 1),
        "idle": round(found.idle_ratio, 3),
        "interrupts": sum(found.interrupts.values()),
    }


def ravb() -> Iterator[tuple[str, Any]]:
    """e1000e on a card that interrupts for each frame, one processor: software's coalescing of interrupts, then threaded NAPI."""
    for letter, machine in _wanted(("a", plain(1000)), ("c", of("bcm2837"))):
        for state, test in dict.fromkeys((state, test) for *pair, test in RAVB_STEPS.values() for state in pair):
            bed = machine.testbed("e1000e", nic="irqlab-82574", settings=RAVB[state], parameters="InterruptThrottleRate=0,0")
            yield f"{letter} {state} {test}", _iperf(bed, test)


def axienet() -> Iterator[tuple[str, Any]]:
    """Our i82574 driver on four processors sends TCP: what was sent is freed by the interrupt handler, then by NAPI's poll."""
    for letter, machine in _wanted(("a", plain(1000)), ("c", of("bcm2837"))):
        for tx in ("interrupt", "poll"):
            yield (
                f"{letter} {tx}",
                _iperf(machine.testbed("irqmod_i82574", scheme=f"napi/{tx}", nic="irqlab-82574", cpus=4), "TCP Tx"),
            )


def odroid() -> Iterator[tuple[str, Any]]:
    """Our i82574 driver: ten pings a second, and a received frame waits for so many us."""
    for letter, machine in _wanted(("a", plain(1000)), ("c", of("bcm2837"))):
        for delay_us in (393, 50):
            bed = machine.testbed(
                "irqmod_i82574", scheme="napi/off", nic="irqlab-82574", parameters=f"rx_delay_us={delay_us} rx_gather=63"
            )
            found = bed.run(ApplicationTrial(Load(10.0), kind="ping", duration_ns=1000 * MS))
            yield f"{letter} {delay_us}", {"mean_ns": found.latency and round(found.latency.mean_ns)}


def threaded() -> Iterator[tuple[str, Any]]:
    """e1000 on four processors, a server that echoes datagrams: at 80 % of what it does with NAPI in softirq, random arrivals."""
    for letter, machine in _wanted(("a", plain(1000)), ("c", of("skylake-sp-ddio", "register_read"))):
        bed = machine.testbed("e1000", cpus=4)
        ways = {name: waits.tuning_of(name, bed.config.dut.schemes) for name in ("block", "threaded")}

        def trial(pps: float, way: str, window_ns: int, bed: Testbed = bed, ways: Any = ways) -> ApplicationResult:
            load = Load(pps, arrivals="poisson")
            return bed.run(
                ApplicationTrial(load, ways[way], echo=True, duration_ns=window_ns, warmup_ns=20 * MS, drain_ns=10 * MS)
            )

        low, high = 10e3, 1e6
        while high / low > 1.1:
            pps = (low * high) ** 0.5
            if trial(pps, "block", 20 * MS).application_pps > 0.99 * pps:
                low = pps
            else:
                high = pps
        for way in ways:
            latency = trial(0.8 * low, way, 100 * MS).latency
            figures = {name: latency and getattr(latency, f"{name}_ns") for name in ("p50", "p99", "p999")}
            yield f"{letter} {way}", {"offered_pps": round(0.8 * low), **figures}


SETS: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
    "irq suspension": irq_suspension,
    "lists": lists,
    "NAPI_HOWTO": napi_howto,
    "Spanos, table 3": spanos_table3,
    "Spanos, figure 5": spanos_figure5,
    "Pi 3B+": pi3,
    "Spanos, table 1": spanos_table1,
    "ravb": ravb,
    "axienet": axienet,
    "Odroid C2": odroid,
    "threaded NAPI": threaded,
}

EXPERIMENTS: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
    "random arrivals": lambda: irq_suspension("poisson"),
    "a NIC that moderates interrupts": lambda: irq_suspension("constant", "e1000e", "", "irqlab-82574"),
    "both": lambda: irq_suspension("poisson", "e1000e", "", "irqlab-82574"),
}
"""IRQ suspension with a difference between the lab and the published measurement taken away. Made after the comparison."""


def predict(names: list[str]) -> None:
    """Measures sets. What was measured is kept after each cell; trials come from the cache if nothing has changed."""
    _measure({name: SETS[name] for name in names or SETS}, PREDICTIONS)


def _measure(sets: dict[str, Callable[[], Iterator[tuple[str, Any]]]], path: Path) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    FOLDER.mkdir(exist_ok=True)
    for name, cells in sets.items():
        began = time.monotonic()
        for cell, value in cells():
            kept.setdefault(name, {})[cell] = value
            print(f"{name}: {cell}: {value}", flush=True)
            files.write_atomically(path, (json.dumps(kept, indent=1) + "\n").encode())
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    return kept


COLUMNS = ("a", "b", "c")
HEADING = "| | published | (a) | (b) | (c) |"
Row = tuple[str, str, dict[str, str]]
"""A cell's name, the published figure, and the predictions by letter."""


def _error(lab: float, published: float) -> float:
    return lab / published - 1


def _percent(value: float) -> str:
    return f"{100 * value:+.0f} %"


NEAR = 2.0
"""Counts that are so many times off are right."""


class Judged:
    """The errors of a set, and the signs and orders that it has right."""

    def __init__(self, name: str, figure: str) -> None:
        self.name, self.figure = name, figure
        self.rows: list[Row] = []
        self.errors: dict[str, list[float]] = {}
        self.right: dict[str, list[bool]] = {}
        self.factors: dict[str, list[float]] = {}

    def row(self, cell: str, published: float, lab: Mapping[str, float | None], show: Callable[[float], str]) -> None:
        """A cell: the published figure, and those of the lab by letter."""
        texts = {}
        for letter, value in lab.items():
            if value is None:
                texts[letter] = "none"
            else:
                error = _error(value, published)
                self.errors.setdefault(letter, []).append(abs(error))
                texts[letter] = f"{show(value)} ({_percent(error)})"
        self.rows.append((cell, show(published), texts))

    def factor(self, cell: str, published: float, lab: Mapping[str, float]) -> None:
        """A cell of counts over several orders of magnitude: how many times they are off; within NEAR times is right."""
        texts = {}
        for letter, value in lab.items():
            off = max(value, published) / max(1.0, min(value, published))
            self.factors.setdefault(letter, []).append(off)
            self.sign(letter, off <= NEAR)
            texts[letter] = f"{value:,.0f} ({off:.1f} times off)"
        self.rows.append((cell, f"{published:,.0f}", texts))

    def sign(self, letter: str, right: bool) -> None:
        """A sign or an order."""
        self.right.setdefault(letter, []).append(right)

    def summary(self) -> list[str]:
        """A line of the first table."""
        cells = []
        for letter in COLUMNS:
            errors, right = self.errors.get(letter), self.right.get(letter)
            error = f"{100 * sum(errors) / len(errors):.0f} %" if errors else "-"
            if letter in self.factors:
                error = f"up to {max(self.factors[letter]):,.0f} times off"
            cells.append(error + (f"; {sum(right)} of {len(right)}" if right else ""))
        return [self.name, self.figure, str(len(self.rows)), *cells]

    def table(self) -> list[str]:
        """All cells."""
        lines = [f"### {self.name}: {self.figure}", "", HEADING, "|---|---:|---:|---:|---:|"]
        lines += [
            f"| {cell} | {published} | " + " | ".join(of.get(letter, "-") for letter in COLUMNS) + " |"
            for cell, published, of in self.rows
        ]
        return [*lines, ""]


def _pairs(judged: Judged, letter: str, published: list[float], lab: list[float], margin: float = 0.02) -> None:
    """Whether the lab has the order of each pair that the published figures tell apart."""
    for i in range(len(published)):
        for j in range(i):
            if abs(published[i] / published[j] - 1) > margin:
                judged.sign(letter, (published[i] > published[j]) == (lab[i] > lab[j]))


def _table1(cells: dict[str, Any]) -> list[Judged]:
    fitted = json.loads((ROOT / "src/irqlab/data/hardware/mpc8250.json").read_text())["fitted"]
    boards = {(cell["variant"], cell["frame_bytes"]): cell for cell in fitted["cells"]}
    found = Judged("Spanos, table 1", "throughput, kpps")
    for size, variants in TABLE1.items():
        rows = [
            (boards[variant, size], cells[f"c {variant} {size}"]["pps"])
            for variant in variants
            if (variant, size) in boards and f"c {variant} {size}" in cells
        ]
        for board, c in rows:
            lab = {"a": board["lab_pps_without_costs"] / 1e3, "b": board["lab_pps"] / 1e3, "c": c / 1e3}
            found.row(f"{board['variant']}, {size}", board["board_pps"] / 1e3, lab, lambda kpps: f"{kpps:.1f}")
        published = [board["board_pps"] for board, _ in rows]
        _pairs(found, "a", published, [board["lab_pps_without_costs"] for board, _ in rows])
        _pairs(found, "b", published, [board["lab_pps"] for board, _ in rows])
        _pairs(found, "c", published, [c for _, c in rows])
    return [found]


def _table3(cells: dict[str, Any]) -> list[Judged]:
    published = {"ORIGINAL": 523_778, "TX-OFF": 540_419, "NAPI": 1_272_263, "NAPI-TX-OFF": 1_889_990}
    found = Judged("Spanos, table 3", "frames forwarded of those offered, %")
    for variant, frames in published.items():
        lab = {letter: 100 * cells[f"{letter} {variant}"]["transmitted"] for letter in "abc"}
        found.row(variant, 100 * frames / 2e6, lab, lambda share: f"{share:.1f}")
    for letter in "abc":
        _pairs(found, letter, list(published.values()), [cells[f"{letter} {v}"]["transmitted"] for v in published], 0.05)
    return [found]


def _figure5(cells: dict[str, Any]) -> list[Judged]:
    found = Judged("Spanos, figure 5", "ORIGINAL: load of collapse / throughput")
    found.row("64 bytes", 120 / 37, {letter: cells[letter]["ratio"] for letter in "abc"}, lambda ratio: f"{ratio:.2f}")
    for letter in "abc":
        found.sign(letter, cells[letter]["ratio"] is not None)
    return [found]


def _howto(cells: dict[str, Any], published: dict[str, Any]) -> list[Judged]:
    out = Judged("NAPI_HOWTO, e1000", "frames forwarded of a million")
    interrupts = Judged("NAPI_HOWTO, e1000", f"interrupts of a million, within {NEAR:g} times")
    for size, (forwarded, rx) in published.items():
        lab = {letter: cells[f"{letter} {size}"] for letter in "ac"}
        out.row(f"{size} bytes", forwarded, {x: one["out_of_a_million"] for x, one in lab.items()}, lambda n: f"{n:,.0f}")
        interrupts.factor(f"{size} bytes", rx, {x: one["interrupts_of_a_million"] for x, one in lab.items()})
    return [out, interrupts]


def _lists(cells: dict[str, Any], published: dict[str, Any]) -> list[Judged]:
    found = Judged("Frames as lists", "throughput with lists / without")

    def gain(letter: str) -> float:
        pps, without = (float(cells[f"{letter} {how}"]["pps"]) for how in ("list", "single"))
        return pps / without

    for name, (ratio, machine) in published.items():
        lab = {"a": gain("a"), "c": gain(f"c {machine}")}
        found.row(f"{name} ({machine})", ratio, lab, lambda ratio: f"{ratio:.3f}")
        for letter, value in lab.items():
            found.sign(letter, (ratio > 1) == (value > 1))
    return [found]


def _suspension(cells: dict[str, Any], published: dict[str, Any]) -> list[Judged]:
    cycles = Judged("IRQ suspension", "cycles a query, suspension / base")
    instructions = Judged("IRQ suspension", "instructions a query, suspension / base")
    for share, load in zip(SHARES, published["instructions"], strict=True):
        for judged, field in ((instructions, "instructions"), (cycles, "used_ns")):
            ratio = published[field][load]
            lab = {x: cells[f"{x} {share} suspend20"][field] / cells[f"{x} {share} base"][field] for x in "ac"}
            judged.row(load, ratio, lab, lambda ratio: f"{ratio:.2f}")
            for letter, value in lab.items():
                judged.sign(letter, (ratio > 1) == (value > 1))
    return [cycles, instructions]


def _pi3(cells: dict[str, Any], published: dict[str, Any]) -> list[Judged]:
    found = Judged("Pi 3B+, lan78xx", "TCP received, Mbit/s")
    found.row("MTU 1500", published["mbps"], {x: cells[f"{x} TCP Rx"]["mbps"] for x in "ac"}, lambda mbps: f"{mbps:.0f}")
    return [found]


LEVEL = 0.01
"""A change by less is none."""


def _way(ratio: float) -> int:
    """Whether something grows (1), falls (-1) or stays (0)."""
    return 0 if abs(ratio - 1) < LEVEL else 1 if ratio > 1 else -1


def _change(judged: Judged, cell: str, published: float, lab: Mapping[str, float], same: bool = True) -> None:
    """A cell that is a ratio: its sign and, if it is of the same quantity and load, its error."""
    if same:
        judged.row(cell, published, lab, lambda ratio: f"{ratio:.2f}")
    else:
        judged.rows.append((cell, f"{published:.2f}", {letter: f"{value:.2f}" for letter, value in lab.items()}))
    for letter, value in lab.items():
        judged.sign(letter, _way(published) == _way(value))


def _letters(cells: dict[str, Any], *names: str) -> list[str]:
    """The predictions that all of these cells were measured for."""
    return [letter for letter in LETTERS if all(f"{letter} {name}" in cells for name in names)]


def _ravb(cells: dict[str, Any], published: dict[str, Any]) -> list[Judged]:
    found = Judged("ravb", "Mbit/s, after / before")
    for cell, (after, before, test) in RAVB_STEPS.items():
        old, new = published[cell]
        there = _letters(cells, f"{after} {test}", f"{before} {test}")
        lab = {x: cells[f"{x} {after} {test}"]["mbps"] / cells[f"{x} {before} {test}"]["mbps"] for x in there}
        _change(found, cell, new / old, lab)
    return [found]


def _axienet(cells: dict[str, Any], published: dict[str, Any]) -> list[Judged]:
    found = Judged("axienet", "TCP sent, with NAPI for completions / without")
    figures: dict[str, Callable[[Any], float]] = {"Mbit/s": lambda one: one["mbps"], "CPU time": lambda one: 1 - one["idle"]}
    for cell, figure in figures.items():
        old, new = published[cell]
        there = _letters(cells, "poll", "interrupt")
        lab = {x: figure(cells[f"{x} poll"]) / figure(cells[f"{x} interrupt"]) for x in there}
        _change(found, cell, new / old, lab, cell == "Mbit/s")  # theirs is the time of interrupts alone
    return [found]


def _odroid(cells: dict[str, Any], published: dict[str, Any]) -> list[Judged]:
    found = Judged("Odroid C2", "round trip, us")
    there = _letters(cells, *published)
    for delay, us in published.items():
        found.row(f"rx-usecs {delay}", us, {x: cells[f"{x} {delay}"]["mean_ns"] / 1e3 for x in there}, lambda us: f"{us:.0f}")
    for letter in there:
        _pairs(found, letter, list(published.values()), [cells[f"{letter} {delay}"]["mean_ns"] for delay in published])
    return [found]


def _threaded(cells: dict[str, Any], published: dict[str, Any]) -> list[Judged]:
    found = Judged("threaded NAPI", "latency, in a thread / in softirq")
    there = _letters(cells, "threaded", "block")
    for name, (old, new) in published.items():
        lab = {x: cells[f"{x} threaded"][name] / cells[f"{x} block"][name] for x in there}
        _change(found, name, new / old, lab, False)
    return [found]


def _judged(cells: dict[str, Any], published: dict[str, Any]) -> dict[str, list[Judged]]:
    own = {"Spanos, table 1": _table1, "Spanos, table 3": _table3, "Spanos, figure 5": _figure5}
    others = {
        "NAPI_HOWTO": _howto, "lists": _lists, "irq suspension": _suspension, "Pi 3B+": _pi3, "ravb": _ravb, "axienet": _axienet,
        "Odroid C2": _odroid, "threaded NAPI": _threaded,
    }  # fmt: skip
    return {
        name: own[name](cells[name]) if name in own else others[name](cells[name], published[name]["figures"])
        for name in SETS
        if name in cells
    }


def _experiments(cells: dict[str, Any]) -> list[str]:
    """The table of the experiments: suspension / base, instructions and cycles a query."""
    lines = []
    for field, figure in (("instructions", "instructions"), ("used_ns", "cycles")):
        lines += [f"{figure.capitalize()} a query, suspension / base:", ""]
        lines += ["| | " + " | ".join(f"{share:g}" for share in SHARES) + " |", "|---|" + "---:|" * len(SHARES)]
        for name, found in cells.items():
            for letter in "ac":
                ratios = [_ratio(found, f"{letter} {share}", field) for share in SHARES]
                if any(ratios):
                    lines.append(f"| {name}, ({letter}) | " + " | ".join(f"{r:.2f}" if r else "-" for r in ratios) + " |")
        lines.append("")
    return lines


def _ratio(cells: dict[str, Any], prefix: str, field: str) -> float | None:
    base, suspended = (cells.get(f"{prefix} {way}", {}).get(field) for way in ("base", "suspend20"))
    return suspended / base if base and suspended else None


def _compared() -> list[Judged]:
    """All sets, from what is kept."""
    judged = _judged(json.loads(PREDICTIONS.read_text()), json.loads(PUBLISHED.read_text()))
    return [one for found in judged.values() for one in found]


def figures() -> Iterator[Figures]:
    """The summary: how far each set is off."""
    columns = ("set", "figure", "cells", "(a) instructions", "(b) fitted costs", "(c) machine")
    yield Figures("validity", "python -m tools.validity predict", table(columns, [one.summary() for one in _compared()], 2))


def compare() -> None:
    """Prints all cells."""
    print("\n".join(line for one in _compared() for line in one.table()))
    if EXPERIMENTED.exists():
        measured, tried = (json.loads(path.read_text()) for path in (PREDICTIONS, EXPERIMENTED))
        print("\n".join(_experiments({"as predicted": measured["irq suspension"], **tried})))


if __name__ == "__main__":
    command, *rest = sys.argv[1:] or ["help"]
    if command in ("predict", "experiment"):
        wanted = [word for word in rest if word in LETTERS] or wanted
        rest = [word for word in rest if word not in LETTERS]
    if command == "predict" and not set(rest) - set(SETS):
        predict(rest)
    elif command == "experiment" and not set(rest) - set(EXPERIMENTS):
        _measure({name: EXPERIMENTS[name] for name in rest or EXPERIMENTS}, EXPERIMENTED)
    elif command == "compare" and not rest:
        compare()
    else:
        print(__doc__, "\nSets:", ", ".join(SETS), "\nExperiments:", ", ".join(EXPERIMENTS))
        sys.exit(0 if command in ("help", "-h", "--help") else 2)
