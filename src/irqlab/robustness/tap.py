# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests that run inside the DUT: shell scripts in drivers/tests that print TAP (the Test Anything Protocol).

A script declares its requirements in comments at the top:

    # for: every combination     run once for each pair of schemes; they are already set, and are in $RX and $TX
                                 (otherwise both are "own")
    # load: 2x                   twice the pair's capacity is offered while it runs; that of the slowest pair, if the script
                                 chooses the schemes itself
    # load: 2x everywhere        the same in both directions and to the DUT itself; with the instruction clock, no load: its one
                                 processor would be so busy that no host answers
    # needs: engine              skipped with drivers that are not built on irqmod
    # needs: modules             the module files are in $MODULES
    # loads: MODULE              a module of the kernel, or one of ours, which is loaded with what it depends on
    # needs: wire                the tester connects the two interfaces, at line rate, instead of simulating hosts
    # may log: REGEX             kernel messages above info that are expected
    # long                       takes minutes
"""

from __future__ import annotations

import base64
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from irqlab.config import engine
from irqlab.config.addresses import tester_ip, tester_mac
from irqlab.config.schemes import COMBINATIONS, Combination, Schemes
from irqlab.dut import kernel_log
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.robustness.overload import Overload, choose
from irqlab.setup import drivers, modules
from irqlab.trials.testbed import Testbed

HOME = "/tmp/tests"
MODULES = "/tmp/modules"
LIMIT_NS = 1_800_000_000_000
STEP_NS = 1_000_000_000
"""Duration of load between checks whether the script has ended."""
OVERLOAD = 2.0
SLOWEST = (Combination("interrupt", "interrupt"), Combination("standard", "interrupt"))
"""The combination of least capacity, as measured, of PCI and of USB drivers."""
PATIENCE_S, SLOW_HOST_PATIENCE_S = 2, 20
"""Time in which something must happen that the DUT does at once. Without the instruction clock the DUT's time is the host's."""
CYCLES = 100
"""How often a driver is loaded and unloaded. Without the instruction clock, where all is slow: once for each combination."""
KCSAN = "/sys/kernel/debug/kcsan"
"""What switches the search for data races on and off."""
LASTS = "DEBUG_LASTS"
"""Variable of the environment: how long scripts make changes that run for a time, in seconds; else the time in the script."""
CALM_TRIES, SLOW_HOST_CALM_TRIES = 1, 5
"""How often the calm load is offered after the script, until nothing is lost."""


@dataclass(frozen=True)
class Script:
    """A test script and its requirements."""

    path: Path
    every_combination: bool
    loaded: bool
    everywhere: bool
    engine: bool
    modules: bool
    loads: tuple[str, ...]
    wire: bool
    may_log: str
    long: bool

    @property
    def name(self) -> str:
        """Without the suffix."""
        return self.path.stem

    @classmethod
    def read(cls, path: Path) -> Script:
        """Reads the comments at the top of a script."""
        head = re.match(r"(?:#.*\n)*", path.read_text())
        lines = [line.lstrip("# ").strip() for line in (head[0] if head else "").splitlines()]
        logs = [line.removeprefix("may log:").strip() for line in lines if line.startswith("may log:")]
        return cls(
            path=path,
            every_combination="for: every combination" in lines,
            loaded="load: 2x" in lines or "load: 2x everywhere" in lines,
            everywhere="load: 2x everywhere" in lines,
            engine="needs: engine" in lines,
            modules="needs: modules" in lines,
            loads=tuple(line.removeprefix("loads:").strip() for line in lines if line.startswith("loads:")),
            wire="needs: wire" in lines,
            may_log="|".join(logs),
            long="long" in lines,
        )


@dataclass
class Report:
    """A script's output, and other failures."""

    text: str
    lines: list[str] = field(default_factory=list)
    """ok and not ok."""
    failures: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing went wrong."""
        return not self.failures

    @property
    def skipped_whole(self) -> bool:
        """Whether nothing was tested."""
        return bool(self.skipped) and len(self.skipped) == len(self.lines)


def scripts() -> list[Script]:
    """The scripts of drivers/tests, without their shared library."""
    return [Script.read(path) for path in sorted((drivers.home() / "tests").glob("*.sh")) if path.name != "tap.sh"]


def parse(text: str) -> Report:
    """Parses TAP. A missing or wrong plan, and a test out of order, are failures."""
    report = Report(text)
    plan: int | None = None
    for line in text.splitlines():
        if match := re.match(r"1\.\.(\d+)", line):
            plan = int(match[1])
        elif match := re.match(r"(not )?ok\b\s*(\d*)\s*(?:- )?(.*)", line):
            report.lines.append(line)
            if match[2] and int(match[2]) != len(report.lines):
                report.failures.append(f"out of order: {line}")
            if re.search(r"# (SKIP|TODO)\b", line, re.IGNORECASE):
                report.skipped.append(match[3])
            elif match[1]:
                report.failures.append(line)
        elif line.startswith("Bail out!"):
            report.failures.append(line)
    if plan is None:
        report.failures.append("no plan: the script ended early")
    elif plan != len(report.lines):
        report.failures.append(f"{plan} tests planned, {len(report.lines)} run")
    if plan == 0:
        report.failures.append("no test was run")
    return report


def combinations(testbed: Testbed, asked: Sequence[Schemes] = ()) -> tuple[Combination | None, ...]:
    """The requested combinations that the testbed's driver supports; None is a driver without schemes.

    Raises IrqlabError if it supports none of those that are asked for.
    """
    if not testbed.has_schemes:
        if any(schemes != Schemes() for schemes in asked):
            raise IrqlabError(f"--rx, --tx: {testbed.driver} has no schemes")
        return (None,)
    have = testbed.nic.combinations
    chosen = tuple(c for c in have if not asked or any(s.rx in (None, c.rx) and s.tx in (None, c.tx) for s in asked))
    if not chosen:
        bus = "USB" if testbed.nic.usb_speed else "PCI"
        names = (", ".join(dict.fromkeys(getattr(c, field) for c in have)) for field in ("rx", "tx"))
        raise IrqlabError("--rx, --tx: {} is a {} driver, which has --rx {}; --tx {}".format(testbed.driver, bus, *names))
    return chosen


def run(overload: Overload, script: Script, combination: Combination | None = None) -> Report:
    """Runs a script in a fresh DUT. Raises IrqlabError if the DUT dies, or its kernel oopses unexpectedly.

    `overload`: the testbed, with the capacities measured so far.
    """
    with overload.testbed.open(pooled=True) as dut:
        dut.kernel_log.news()
        return _run_in(dut, overload, script, combination)


def run_in_turn(overload: Overload, scripts: Sequence[Script], combination: Combination | None = None) -> dict[str, Report]:
    """Runs scripts one after the other in one DUT, until one fails: the DUT is then in a state that no script expects.

    Returns the reports of those that ran, by name. Raises IrqlabError as `run` does.
    """
    reports: dict[str, Report] = {}
    with overload.testbed.open(pooled=True) as dut:
        dut.kernel_log.news()
        for script in scripts:
            reports[script.name] = _run_in(dut, overload, script, combination)
            if not reports[script.name].passed:
                break
    return reports


def _run_in(dut: Dut, overload: Overload, script: Script, combination: Combination | None) -> Report:
    testbed = overload.testbed
    functional = testbed.config.functional
    loaded = combination or next((one for one in combinations(testbed) if one in SLOWEST), None)
    offered = script.loaded and (functional or not script.everywhere)
    rate_pps = OVERLOAD * overload.capacity_pps(loaded) if offered else 0.0
    if races := testbed.machine.kernel.has("KCSAN"):
        dut.write(KCSAN, "on")
    _install(dut, testbed, script)
    if combination is not None:
        choose(dut, combination)
    dut.play_hosts(0 if rate_pps else testbed.nic.line_rate_bps)
    if script.wire:
        dut.rpc.call("wire", a=0, b=1, delay_ns=0, loss_ppm=0, seed=1)
    pid = dut.rpc.guest("spawn", argv=_command(testbed, script, combination, offered))["pid"]
    while rate_pps and _runs(dut, pid):
        rate_pps = overload.next_pps(rate_pps, overload.offer(dut, rate_pps, STEP_NS, script.everywhere), STEP_NS)
    done = dut.rpc.guest("reap", limit_ns=LIMIT_NS, pid=pid, signal=None)
    report = parse(done["out"])
    if done["code"]:
        report.failures.append(f"the script ended with {done['code']}: {done['err'].strip()}")
    if rate_pps:
        for _ in range(SLOW_HOST_CALM_TRIES if functional else CALM_TRIES):
            dut.sleep(STEP_NS)
            calm = overload.offer(dut, overload.calm_pps, STEP_NS)
            if not calm["lost"]:
                break
        if calm["lost"]:
            report.failures.append(
                f"afterwards, {calm['lost']} of {calm['sent']} frames were lost at {overload.calm_pps:.0f} frames/s"
            )
    if races:
        report.failures += _watched(dut)
    records = kernel_log.without_races_of_others(dut.kernel_log.news(), [module.name for module in testbed.modules])
    said = kernel_log.notable(records, [script.may_log] if script.may_log else [], functional)
    report.failures += [f"kernel: {line}" for line in said]
    return report


def _watched(dut: Dut) -> list[str]:
    """Switches KCSAN off. What is wrong with its own counters: a run in which it watched nothing shows nothing."""
    text = dut.read(KCSAN)[KCSAN] or ""
    dut.write(KCSAN, "off")
    watched = re.search(r"^setup_watchpoints: (\d+)", text, re.MULTILINE)
    return [] if watched and int(watched[1]) else [f"KCSAN watched nothing: {text.strip()}"]


def _install(dut: Dut, testbed: Testbed, script: Script) -> None:
    dut.run("mkdir", "-p", HOME, MODULES)
    for path in (script.path.parent / "tap.sh", script.path):
        dut.rpc.guest("write", path=f"{HOME}/{path.name}", text=path.read_text(), mode=0o755)
    for module in testbed.modules if script.modules else ():
        _write(dut, module)
    for module in _loaded(testbed, script):
        _write(dut, module)
        # Another script may have loaded it.
        dut.run("sh", "-c", f"[ -e /sys/module/{module.name.replace('-', '_')} ] || insmod {MODULES}/{module.name}.ko")


def _loaded(testbed: Testbed, script: Script) -> list[modules.Module]:
    ours = [name for name in script.loads if drivers.find(name)]
    found = modules.load_all(testbed.machine.kernel, [name for name in script.loads if name not in ours])
    return found + [module for name in ours for module in modules.load(testbed.machine.kernel, _beside(testbed, name))]


def _beside(testbed: Testbed, name: str) -> str:
    """A module of ours: the file beside the driver's, built with the same engine, or our own build."""
    driver = Path(testbed.config.driver)
    file = driver.with_name(f"{name}.ko")
    return str(file) if driver.suffix == ".ko" and file.is_file() else name


def _write(dut: Dut, module: modules.Module) -> None:
    dut.rpc.guest("write", path=f"{MODULES}/{module.name}.ko", base64=base64.b64encode(module.data).decode())


def _command(testbed: Testbed, script: Script, combination: Combination | None, offered: bool) -> list[str]:
    variables = {
        "DRIVER": testbed.driver, "ENGINE": drivers.ENGINE, "MODULES": MODULES,
        "IF0": "eth0", "IF1": "eth1", "PEER0": tester_ip(0), "PEER1": tester_ip(1), "MAC0": tester_mac(0),
        "TIMED": str(int(testbed.nic.is_own)), "LOADED": str(int(offered)),
        "PATIENCE": str(SLOW_HOST_PATIENCE_S if testbed.config.functional else PATIENCE_S),
        "COMBINATIONS": "\n".join(str(one) for one in testbed.nic.combinations),
        "CYCLES": str(len(COMBINATIONS) if testbed.config.functional else CYCLES),
        **_declared(testbed),
    }  # fmt: skip
    if lasts := os.environ.get(LASTS):
        variables["LASTS"] = lasts
    variables |= {"RX": combination.rx, "TX": combination.tx} if combination else {"RX": "own", "TX": "own"}
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    return ["sh", "-c", f"mkdir -p /tmp; {settings} exec sh {HOME}/{script.path.name} 2>&1"]


def _declared(testbed: Testbed) -> dict[str, str]:
    """What scripts must know of the schemes, as the sources declare them."""
    has = testbed.nic.capabilities
    rx, tx = (engine.all_schemes(direction) for direction in ("rx", "tx"))

    def refused(schemes: Sequence[engine.Scheme]) -> list[engine.Scheme]:
        """One that this kernel's build lacks is not refused, but unknown."""
        return [one for one in schemes if not one.needs <= has and (not one.option or testbed.machine.kernel.has(one.option))]

    chosen = {
        "NAPI_RX": [one for one in rx if one.polls],
        "MASKED_TX": [one for one in tx if one.needs_masks],
        "LIMITED_TX": [one for one in tx if one.limits],
        "REFUSED_RX": refused(rx),
        "REFUSED_TX": refused(tx),
    }
    return {name: " ".join(one.name for one in found) for name, found in chosen.items()}


def _runs(dut: Dut, pid: int) -> bool:
    """Whether a spawned process is still running. Once ended it is a zombie until reaped."""
    text = dut.read(f"/proc/{pid}/stat")[f"/proc/{pid}/stat"]
    return text is not None and text.rpartition(")")[2].split()[0] != "Z"


def find(names: list[str]) -> list[Script]:
    """Scripts by name; all, if none is named."""
    there = {script.name: script for script in scripts()}
    if unknown := [name for name in names if name not in there]:
        raise IrqlabError(f"no test {unknown[0]}; allowed are {', '.join(there)}")
    return [there[name] for name in names] if names else list(there.values())
