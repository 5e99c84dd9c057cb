# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench`: how much real time the lab's virtual time costs on this host.

Nothing is taken from the cache of trials. The raw figure, without traffic, tells a slow host from a slow lab: compare times only
where it is the same.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from irqlab import Lab
from irqlab.config import hardware
from irqlab.config.memory import Memory, Processor
from irqlab.config.placement import Placement
from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import Load
from irqlab.errors import IrqlabError
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.testbed import Testbed

DRIVER = "8139cp"
MIPS = 250
WINDOW_NS = 8_000_000_000
SHORT_NS = 1_000_000
BUSY_NS = 4_000_000_000
BUSY_PPS = 140_000.0
"""More than two processors forward."""
IRQLAB = [sys.executable, "-m", "irqlab"]
LOOP = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"
LONG = (
    ("demo", "demo"),
    ("spanos2008 --quick", "reproduce", "spanos2008", "--quick"),
    ("salah2009 --quick", "reproduce", "salah2009", "--quick"),
    ("lan78xx --quick", "reproduce", "lan78xx", "--quick"),
    ("rtl8139cp --quick", "reproduce", "rtl8139cp", "--quick"),
)


def show(what: str, run: Callable[[], object]) -> None:
    """Prints the real time of `run` and the CPU time of the processes it started, in s."""
    before, begin_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run()
    real_s, after = time.monotonic() - begin_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    switches = after.ru_nvcsw - before.ru_nvcsw
    print(f"{what:44}{real_s:9.2f}{cpu_s:9.2f}{switches:11}", flush=True)


def command(*arguments: str) -> None:
    """Runs an irqlab command in a directory of its own. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([*IRQLAB, *arguments, "--no-cache"], cwd=directory, stdout=subprocess.DEVNULL, check=True)


def raw_mips() -> float:
    """Instructions that QEMU translates and executes per real second, in millions: a loop in the DUT, without traffic."""
    shell = subprocess.Popen([*IRQLAB, "shell", "--driver", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert shell.stdin is not None
    assert shell.stdout is not None

    def uptime_s(before: str) -> float:
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write(f"{before}; cat /proc/uptime\n")
        shell.stdin.flush()
        return float(shell.stdout.readline().split()[0])

    with shell:
        virtual_s, real_s = -uptime_s(":"), -time.monotonic()
        virtual_s += uptime_s(LOOP)
        real_s += time.monotonic()
    return virtual_s * MIPS / real_s


def without_stalls(memory: Memory) -> Memory:
    """The same parts, all of which take no time: so the same is executed."""
    caches = tuple(replace(cache, latency_ns=0.0, data_latency_ns=None) for cache in memory.caches)
    parts: dict[str, Any] = {
        "caches": caches,
        "latency_ns": 0.0,
        "data_latency_ns": None,
        "register_read": None,
        "processor": None,
    }
    if memory.translation:
        tlbs = tuple(replace(tlb, latency_ns=0.0, data_latency_ns=None) for tlb in memory.translation.tlbs)
        parts["translation"] = replace(memory.translation, tlbs=tlbs, walk_latency_ns=0.0)
    return replace(memory, **parts)


def children_cpu_s() -> float:
    """The CPU time of this process's children that live: the QEMUs that are kept for further trials."""
    ticks = 0
    for found in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = found.read_text().rpartition(")")[2].split()
            ticks += (int(fields[1]) == os.getpid()) * (int(fields[11]) + int(fields[12]))
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_model(repeat: int = 4) -> None:
    """Prints how much more CPU time a trial takes with memory models: e1000 at 250 kpps and 1000 MIPS, the best of some."""
    full = hardware.load("skylake-sp-ddio").memory
    assert full is not None
    full = without_stalls(full)
    caches = replace(full, translation=None, store_buffer=None)
    speed = Processor(1001, 1.0)  # nearly the clock's, so that the same is executed
    settings = {
        "without a memory model": None,
        "first-level caches": replace(caches, caches=caches.caches[:2], dma=None),
        "three levels, DMA": caches,
        "and instructions of another speed": replace(caches, processor=speed),
        "and TLBs and a store buffer": replace(full, processor=speed),
    }
    beds = {
        name: Testbed.resolve(TestbedConfig("e1000", mips=1000, memory=memory, cached=False)) for name, memory in settings.items()
    }
    trial = ForwardingTrial(loads=(Load(250_000.0),), duration_ns=50_000_000, drain_ns=10_000_000)
    best = dict.fromkeys(settings, math.inf)
    for number in range(repeat + 1):
        for name, bed in beds.items():
            before = children_cpu_s()
            bed.run(trial)
            if number:  # the first one starts QEMU
                best[name] = min(best[name], children_cpu_s() - before)
    plain = best["without a memory model"]
    print(f"{'e1000, 250 kpps, 50 ms at 1000 MIPS':44}{'CPU s':>9}{'times':>9}")
    for name, cpu_s in best.items():
        print(f"{name:44}{cpu_s:9.2f}{cpu_s / plain:9.2f}", flush=True)
    for bed in beds.values():
        bed.close()


def processors() -> None:
    """Shows trials with several processors, all busy: e1000 both ways, with RPS to those that have no NIC."""
    for cpus in (1, 2, 4):
        placement = Placement(rps=tuple(range(2, cpus)))
        bed = Testbed.resolve(TestbedConfig("e1000", mips=MIPS, cpus=cpus, placement=placement, cached=False))
        for window_ns in (SHORT_NS, BUSY_NS):  # the first one takes the snapshot, and starts QEMU
            trial = ForwardingTrial(loads=(Load(BUSY_PPS),), bidirectional=True, duration_ns=window_ns)
            if window_ns == BUSY_NS:
                show(f"e1000, 2 x {BUSY_PPS / 1e3:.0f} kpps, 4 s, {cpus} processors", partial(closed, bed, trial))
            else:
                closed(bed, trial)


def closed(bed: Testbed, trial: ForwardingTrial) -> None:
    """Runs a trial in a QEMU of its own."""
    bed.run(trial)
    bed.close()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="how much real time the lab's virtual time costs on this host")
    parser.add_argument("--all", action="store_true", help="the demo and the quick reproductions, too (many minutes)")
    parser.add_argument("--memory", action="store_true", help="what memory models cost, and nothing else (minutes)")
    asked = parser.parse_args()
    if asked.memory:
        memory_model()
        return
    everything = asked.all
    lab = Lab(DRIVER, mips=MIPS, cached=False)
    lab.trial(1_000, duration_ns=SHORT_NS)  # takes the snapshot, if there is none
    print(f"raw: {raw_mips():.0f} million instructions a second\n")
    print(f"{'':44}{'real s':>9}{'CPU s':>9}{'switches':>11}")
    for rate_pps in (10_000, 100_000):
        show(f"{DRIVER}, 64 bytes, {rate_pps // 1000} kpps, 8 s", partial(lab.trial, rate_pps, duration_ns=WINDOW_NS))
    show("a trial of 1 ms, five times", lambda: [lab.trial(1_000, duration_ns=SHORT_NS) for _ in range(5)])
    show("a search, 64 bytes", lab.throughput)
    processors()
    for name, *arguments in LONG if everything else ():
        show(name, partial(command, *arguments))
    print(f"\nraw: {raw_mips():.0f} million instructions a second")


if __name__ == "__main__":
    try:
        main()
    except IrqlabError as error:
        sys.exit(f"bench: {error}")
