# SPDX-License-Identifier: GPL-2.0-or-later
"""With --deep: kernels that watch the driver, a card that misbehaves, two processors, traffic for as long as there is time."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from functools import partial

from irqlab.check import catalogue, load
from irqlab.check.row import BROKEN, FAIL, PASS, Outcome, Row, Tally, Workplace, failed, not_covered, options_of, passed
from irqlab.check.rows.races import hunted
from irqlab.check.subject import Subject
from irqlab.config.testbed import DEFAULT_MIPS, TestbedConfig
from irqlab.hunting.options import Options
from irqlab.robustness import fuzz
from irqlab.robustness.fuzz import FuzzRun
from irqlab.setup import SetupError
from irqlab.trials.testbed import Testbed

GROUP = "Deep"
SEED = 1
ROUNDS = 8
"""Of faults in one DUT."""
SLICE_NS = 1_000_000_000
LEAK_KIB = 16
"""Memory that a slice of traffic may not cost for good, on average."""
LEAST_SLICES = 4
CPUS = 4
WATCHED = ("life-down-up", "life-unbind", "life-reload", "life-remove", "numbers-kept", "ring-timeout", "settings-read",
           "settings-rings", "settings-features", "polling-threaded", "polling-netconsole", "power-suspend")  # fmt: skip
"""Rows that stop and start the driver, or change it, under traffic: the kernel watches, and nothing is measured."""


STALLED = re.compile(r"detected stalls|self-detected stall|soft lockup")
"""Without the instruction clock a processor that the host does not run looks as if it hung. The kernel shows where it is."""


@dataclass(frozen=True)
class Build:
    """A kernel that watches drivers."""

    kernel: str
    debug: tuple[str, ...] = ()


KASAN = Build("6.12", ("dma", "faults", "kasan", "lockdep"))
KCSAN = Build("6.12", ("kcsan",))
RT = Build("6.12-rt")
"""Those of `make test-debug`; the first use builds the kernel, which takes an hour (not rt)."""


def _faults(place: Workplace) -> Outcome:
    """The card answers wrongly: registers, descriptors, transfers, interrupts without a cause."""
    checking = fuzz.checking(place.testbed)
    runs: list[FuzzRun] = []
    first = 0
    while not runs or not place.allowance.over:
        runs.append(fuzz.run_rounds(checking, SEED, FuzzRun(first), ROUNDS))
        first += ROUNDS
        place.progress(f"{sum(one.cases for one in runs):,} faults in {first} rounds")
    found = fuzz.summary(place.testbed.label, SEED, runs)
    said = f"{found['cases']:,} faults in {found['rounds']} rounds"
    never = [entry for entry in found["stuck"] if entry["recovery"] == "never"]
    wrong = [(f"{one['what']} (round {one['first']})", one["first"], one["evidence"]) for one in found["complaints"]]
    wrong += [(f"frames never pass again after round {one['round']}", one["round"], one["state"]) for one in never]
    if wrong:
        what, number, evidence = wrong[0]
        replay = ["irqlab", "fuzz", *options_of(place.testbed.config), "--first", str(number), "--cases", "1"]
        return failed(f"{what}; {said}", str(evidence).splitlines(), " ".join(replay))
    if found["growth"]:
        return failed(f"memory is not freed: {found['growth']}; {said}")
    return passed(f"{said}: the driver survives, and frames pass again")


def _needs_own(subject: Subject) -> Outcome | None:
    if subject.testbed.nic.is_own:
        return None
    return not_covered(f"{subject.testbed.nic.model}: only the tester's own NICs can misbehave")


def _processors(place: Workplace) -> Outcome:
    """One of two processors stops before each instruction of the driver, and the other one runs."""
    config: TestbedConfig = replace(place.testbed.config, nic=place.testbed.nic.model)
    testbed = Testbed.resolve(config)
    return hunted(testbed, place.runner(testbed), Options(what="processors", first=12, burst=12))


def _needs_pci(subject: Subject) -> Outcome | None:
    return not_covered("processors are stopped with PCI cards only") if subject.is_usb else None


def _watched(build: Build, place: Workplace) -> Outcome:
    """Rows of the checklist on a kernel that watches the driver, on several processors, without the instruction clock."""
    config = replace(place.testbed.config, nic=place.testbed.nic.model, kernel=build.kernel, debug=build.debug)
    try:
        testbed = Testbed.resolve(replace(config, functional=True, cpus=CPUS, mips=DEFAULT_MIPS))
    except SetupError as error:
        return not_covered(f"there is no such kernel for this driver: {error}")
    subject = Subject(testbed)
    told: list[str] = []
    for number, name in enumerate(WATCHED):
        row = next(row for row in catalogue.rows() if row.name == name)
        if row.needs(subject) is not None:
            continue
        if told and place.allowance.over:
            break
        allowance = place.allowance.part(len(WATCHED) - number)
        place.progress(f"{name} on {testbed.machine.kernel.release}")
        try:
            outcome = row.tried(Workplace(subject, allowance, place.progress))
        except BROKEN as error:
            first, *rest = str(error).splitlines()
            outcome = failed(first, rest)
        if stalled_elsewhere(outcome, testbed.driver):
            return not_covered(f"{name}: a processor stalled outside the driver, as on a busy host: {outcome.said}")
        if outcome.status == FAIL:
            options = shlex.join([*options_of(testbed.config), *(["--debug", ",".join(build.debug)] if build.debug else [])])
            return replace(outcome, said=f"{name}: {outcome.said}", replay=f"irqlab shell {options} --functional --cpus {CPUS}")
        told += [name] if outcome.status == PASS else []
    testbed.close()
    if not told:
        return not_covered(f"none of {', '.join(WATCHED)} could be tried")
    return passed(f"{', '.join(told)} pass on Linux {testbed.machine.kernel.release} with {CPUS} processors")


def stalled_elsewhere(outcome: Outcome, driver: str) -> bool:
    """Whether a row failed because a processor seemed to hang, with no function of the driver in what the kernel shows of it."""
    stalled = outcome.status == FAIL and STALLED.search(outcome.said)
    return bool(stalled) and not any(f"[{driver}]" in line for line in outcome.evidence)


def _soak(place: Workplace) -> Outcome:
    """Traffic until the time is over: nothing is lost, no memory is lost, nothing is logged."""
    tally = Tally()
    with place.dut() as dut:
        slices = 0
        first_kib = last_kib = 0
        while slices < LEAST_SLICES or not place.allowance.over:
            load.during(dut, lambda: None, SLICE_NS)
            slices += 1
            if not load.passes(dut, tally, f"after {slices} s of traffic"):
                break
            text = dut.read("/proc/meminfo")["/proc/meminfo"] or ""
            last_kib = int(text.partition("MemAvailable:")[2].split()[0])
            first_kib = first_kib if slices > LEAST_SLICES // 2 else last_kib
            dut.kernel_log.check()
            place.progress(f"{slices} s of traffic")
        lost = (first_kib - last_kib) / slices
        tally.expect(lost < LEAK_KIB, f"each second of traffic loses {lost:.1f} KiB of memory")
    return tally.outcome(f"{slices} s of traffic both ways: nothing was lost, no memory is missing, nothing was logged")


ROWS = (
    Row("deep-kasan", "KASAN, lockdep, DMA debugging", GROUP, partial(_watched, KASAN), 4.0, risk=3, deep=True),
    Row("deep-kcsan", "KCSAN", GROUP, partial(_watched, KCSAN), 4.0, risk=3, deep=True),
    Row("deep-rt", "PREEMPT_RT", GROUP, partial(_watched, RT), 3.0, risk=3, deep=True),
    Row("deep-faults", "The card misbehaves", GROUP, _faults, 4.0, needs=_needs_own, risk=3, deep=True),
    Row("deep-processors", "Two processors", GROUP, _processors, 4.0, needs=_needs_pci, risk=3, deep=True),
    Row("deep-soak", "Traffic for a long time", GROUP, _soak, 4.0, risk=2, deep=True),
)
