# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures drivers on many kernels: throughput, and instructions per frame by owner and function.

Costs are measured at half the lowest throughput that the driver has on any of the kernels: the same load everywhere. The
processor must idle there (see SHARE): if it does not on one of the kernels, the load is halved for all
of them. A kernel or driver that cannot be measured is an entry that says why.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from irqlab.compare import sides
from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import FrameSize
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import profile, throughput
from irqlab.profile.kallsyms import symbols
from irqlab.profile.owners import bare_name
from irqlab.qemu.cancellation import CancelledError
from irqlab.results.document import MethodResult
from irqlab.runner.jobs import Job, JobRunner
from irqlab.runner.runner import TrialRunner
from irqlab.setup import kernel as kernels
from irqlab.setup import kernel_packages, nics
from irqlab.setup.bootable import Kernel
from irqlab.setup.qemu import Qemu
from irqlab.trials.testbed import Testbed

T = TypeVar("T")
SHARE = 0.5
"""Load at which costs are counted, as a share of the lowest throughput. NAPI fills the processor with smaller batches at a
higher load, so that instructions per frame are the same for a cheap driver and an expensive one."""
BUSY = 0.95
"""Share of the instructions that the processor can execute above which it does not idle enough."""
LOWEST_SHARE = SHARE / 8
"""The load is not reduced below this share of the throughput."""
Functions = dict[str, dict[str, float]]
"""Owner -> function -> instructions per frame."""


@dataclass
class Entry:
    """A driver on a kernel at a frame size. Figures are None, and `functions` is empty, if it could not be measured."""

    kernel: str
    """As on the command line."""
    driver: str
    """DRIVER[+OPTIONS], as on the command line."""
    frame_bytes: FrameSize
    nic: str | None = None
    throughput_pps: float | None = None
    """All directions together."""
    rate_pps: float | None = None
    """Load per direction at which costs were measured."""
    instructions_per_frame: float | None = None
    interrupts_per_frame: float | None = None
    functions: Functions = field(default_factory=dict)
    why: str = ""
    """Why it could not be measured."""

    @property
    def by_owner(self) -> dict[str, float]:
        """Owner -> instructions per frame."""
        return {owner: sum(functions.values()) for owner, functions in self.functions.items()}

    @property
    def by_function(self) -> dict[str, float]:
        """Function -> instructions per frame."""
        return {name: value for functions in self.functions.values() for name, value in functions.items()}

    def to_json(self) -> dict[str, Any]:
        """As stored."""
        return {**asdict(self), "by_owner": self.by_owner}


@dataclass
class History:
    """What was measured so far. Entries are in the order of drivers, then frame sizes, then kernels."""

    kernels: Sequence[str]
    found: dict[str, Kernel] = field(default_factory=dict)
    """The kernels that are there, by their names on the command line."""
    entries: list[Entry] = field(default_factory=list)
    duts: list[dict[str, Any]] = field(default_factory=list)
    """Descriptions of the testbeds that were measured."""

    def lines(self) -> list[list[Entry]]:
        """The entries of each driver and frame size, one per kernel."""
        lines: defaultdict[tuple[str, FrameSize], list[Entry]] = defaultdict(list)
        for entry in self.entries:
            lines[entry.driver, entry.frame_bytes].append(entry)
        return list(lines.values())


def default_kernels(offers: Iterable[kernel_packages.Offer]) -> list[str]:
    """The series of Debian's kernels, oldest first, without PREEMPT_RT: each stands for its newest kernel."""
    return list(dict.fromkeys(offer.series for offer in offers if not offer.is_rt))


def default_drivers(qemu: Qemu) -> list[str]:
    """The in-tree drivers that this QEMU or the tester has a NIC model for, and that can be measured."""
    return list(dict.fromkeys(nic.driver for nic in nics.supported(qemu) if nic.driver not in nic.refuses))


def names(option: str, text: str) -> list[str]:
    """A list separated by commas, without duplicates. Raises IrqlabError."""
    found = [name.strip() for name in text.split(",")]
    if "" in found:
        raise IrqlabError(f"{option} {text!r}: a name is missing")
    return list(dict.fromkeys(found))


def driver_of(text: str, common: TestbedConfig) -> TestbedConfig:
    """The testbed of DRIVER[+OPTIONS], on any kernel. Raises IrqlabError."""
    found = sides.parse(text, common).testbed
    if found is None or found.kernel is not None:
        raise IrqlabError(f"--drivers {text}: name drivers; kernels are named by --kernels")
    return found


def resolve(names_: Sequence[str], say: Callable[[str], None]) -> tuple[dict[str, Kernel], dict[str, str]]:
    """The kernels by name, downloaded or built, and why the others are not there."""
    found: dict[str, Kernel] = {}
    missing: dict[str, str] = {}
    for name in names_:
        try:
            found[name] = kernels.resolve(name)
        except IrqlabError as error:
            missing[name] = _why(error)
            say(f"{name}: {error}")
    return found, missing


def measure(
    history: History,
    missing: Mapping[str, str],
    drivers: Mapping[str, TestbedConfig],
    workloads: Sequence[Workload],
    jobs: int,
) -> None:
    """Measures every driver on every kernel with every workload, and adds the entries to `history` as they are complete.

    `missing`: kernels that are not there, and why. `jobs`: at most so many trials at a time.
    """
    with JobRunner(jobs) as runner:
        for text, config in drivers.items():
            why = dict(missing)
            testbeds: dict[str, Testbed] = {}
            for name, kernel in history.found.items():
                try:
                    testbeds[name] = Testbed.resolve(replace(config, kernel=kernel.package))
                except IrqlabError as error:
                    why[name] = _why(error)
            for workload in workloads:
                _measure(history, runner, text, testbeds, why, workload)
            for testbed in testbeds.values():
                testbed.close()


def _measure(
    history: History, runner: JobRunner, driver: str, testbeds: dict[str, Testbed], why: Mapping[str, str], workload: Workload
) -> None:
    """Adds the entries of a driver at a frame size."""
    entries = {name: Entry(name, driver, workload.size, why=why.get(name, "")) for name in history.kernels}
    found = _run(runner, "searching", driver, testbeds, lambda on: _search(on, workload))
    searched = _keep(entries, found)
    base_pps = min((throughput.rate_per_direction(row) for row, _ in searched.values()), default=0.0)
    for name, (row, dut) in searched.items():
        entries[name].nic, entries[name].throughput_pps = row.nic, row.total_throughput_pps
        if dut not in history.duts:
            history.duts.append(dut)
    left = {name: testbed for name, testbed in testbeds.items() if name in searched}
    share = SHARE
    while True:
        counts = _run(runner, "counting", driver, left, partial(_count, workload=workload, rate_pps=base_pps * share))
        rows = [row for row in counts.values() if isinstance(row, MethodResult)]
        if share <= LOWEST_SHARE or all(busy(row, workload) < BUSY for row in rows):
            break
        share /= 2
    for name, row in _keep(entries, counts).items():
        fill(entries[name], row)
    history.entries += entries.values()


def busy(row: MethodResult, workload: Workload) -> float:
    """The instructions executed in a profile's window, as a share of those that fit in."""
    return float(row.summary.instructions / (workload.duration_ns * row.mips / 1000))


def fill(entry: Entry, row: MethodResult) -> None:
    """Fills in what a profile says."""
    frames = row.summary.frames
    entry.rate_pps = row.summary.rate_pps
    entry.instructions_per_frame = row.summary.instructions / frames
    entry.interrupts_per_frame = row.summary.interrupts / frames
    sums: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for sample in row.samples:
        module = f" [{sample.module}]" if sample.module else ""
        sums[sample.owner][f"{bare_name(sample.function)}{module}"] += sample.instructions / frames
    entry.functions = {owner: dict(functions) for owner, functions in sums.items()}


def _keep(entries: dict[str, Entry], found: Mapping[str, T | IrqlabError]) -> dict[str, T]:
    """The results; entries of kernels that have none say why."""
    kept: dict[str, T] = {}
    for name, one in found.items():
        if isinstance(one, IrqlabError):
            entries[name].why = _why(one)
        else:
            kept[name] = one
    return kept


def _run(
    runner: JobRunner, what: str, driver: str, testbeds: Mapping[str, Testbed], work: Callable[[TrialRunner], T]
) -> dict[str, T | IrqlabError]:
    """Runs work on every kernel's testbed; an error ends only its own job."""

    def tolerant(on: TrialRunner) -> T | IrqlabError:
        try:
            return work(on)
        except CancelledError:
            raise
        except IrqlabError as error:
            return error

    return runner.run(what, {name: Job(f"{driver} on {name}", testbed, tolerant) for name, testbed in testbeds.items()})


def _search(on: TrialRunner, workload: Workload) -> tuple[MethodResult, dict[str, Any]]:
    with on.slots:  # a boot takes as much of the host as a trial
        dut = on.bench.describe()
    return throughput.run(on, workload), dut


def _count(on: TrialRunner, workload: Workload, rate_pps: float) -> MethodResult:
    with on.slots:
        symbols(on.bench.lab())
    return profile.run(on, workload, rate_pps=rate_pps)


def _why(error: IrqlabError) -> str:
    return str(error).partition("\n")[0]
