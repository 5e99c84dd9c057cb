# SPDX-License-Identifier: GPL-2.0-or-later
"""A profiled trial. It starts where every trial starts and is the same to the instruction; only the host takes longer."""

from __future__ import annotations

from typing import Any

from irqlab import files
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import throughput
from irqlab.profile import devices, tree
from irqlab.profile.addresses import addresses
from irqlab.profile.symbols import Symbols
from irqlab.results.document import MethodResult
from irqlab.runner.runner import TrialRunner
from irqlab.setup import paths
from irqlab.trials.iperf import IperfTrial
from irqlab.trials.testbed import Testbed

KALLSYMS = ("grep", "-i", " [tw] ", "/proc/kallsyms")
DEFAULT_LOAD = 2.0
"""Times the throughput: no idle time, and the driver at its limit."""


def symbols(testbed: Testbed) -> Symbols:
    """The functions of the DUT, driver included. Read from a DUT of its own, and kept beside its snapshot."""
    kept = testbed.prepared.state.parent / "kallsyms"
    with paths.locked(f"symbols-{kept.parent.name}"):
        try:
            text = kept.read_text()
        except OSError:
            with testbed.open() as dut:
                text = dut.run(*KALLSYMS) + "\0" + (dut.read("/proc/modules")["/proc/modules"] or "")
            files.write_atomically(kept, text.encode())
    kallsyms, _, modules = text.partition("\0")
    return Symbols.parse(kallsyms, modules)


def run(runner: TrialRunner, workload: Workload, load: float | None = None, rate_pps: float | None = None) -> MethodResult:
    """Profiles a trial at `rate_pps` frames/s in each direction, or at `load` times the throughput, which is searched first.

    Where nothing was forwarded, costs are those per frame offered. Raises IrqlabError.
    """
    result = runner.result("profile", workload)
    if rate_pps is None:
        load = DEFAULT_LOAD if load is None else load
        base = throughput.run(runner, workload)
        result.total_throughput_pps, result.per_interface_throughput_mbps = (
            base.total_throughput_pps,
            base.per_interface_throughput_mbps,
        )
        result.line_rate_limited = base.line_rate_limited
        rate_pps = throughput.rate_per_direction(base) * load
    known = symbols(runner.testbed)
    runner.progress(f"counting instructions at {rate_pps / 1e3:.1f} kpps")
    trial, answer = runner.profile(runner.overload_spec(workload, rate_pps), addresses(known))
    frames, per = trial.total("received_in_window"), "forwarded"
    if not frames:  # livelock: that is when one wants to know
        frames, per = trial.total("sent"), "offered"
    if not frames:
        raise IrqlabError(f"{runner.testbed.label} was offered nothing at {rate_pps:.0f} frames/s; offer less")
    result.copy_per_frame_metrics(trial)
    _fill(result, runner.testbed, answer, known, trial.instructions - answer["instructions"])
    result.summary |= {"load": load, "rate_pps": rate_pps, "frames": frames, "per": per}
    result.trials = [trial]
    return result


def run_iperf(runner: TrialRunner, workload: Workload, test: IperfTrial) -> MethodResult:
    """Profiles the window of an iperf3 test. Costs are those per full-size frame of payload that arrived. Raises IrqlabError."""
    result = runner.result("profile", workload)
    known = symbols(runner.testbed)
    runner.progress(f"counting instructions of {test.name}")
    found, answer = runner.profile(test, addresses(known))
    frames = found.full_frames
    if not frames:
        raise IrqlabError(f"{runner.testbed.label}: no payload arrived in the window of {test.name}; give it more --mips")
    _fill(result, runner.testbed, answer, known, found.instructions - answer["instructions"])
    rate_pps = frames * 1e9 / found.window_ns
    result.summary |= {"load": None, "rate_pps": rate_pps, "frames": frames, "per": "received", "iperf": test.store(found)}
    return result


def _fill(result: MethodResult, testbed: Testbed, answer: dict[str, Any], known: Symbols, residual: int) -> None:
    """What the tester counted, by function and owner."""
    driver = [module.name for module in testbed.modules]
    section = tree.section(answer, known, driver)
    io = devices.accesses(answer, known, devices.Devices.of(testbed), driver)
    result.samples = section["samples"]
    result.summary = {
        "instructions": answer["instructions"],
        "residual": residual,
        "stacks_lost": answer["lost"],
        "interrupts": section["interrupts"],
        "softirqs": section["softirqs"],
        "by_owner": tree.totals(result.samples, "owner"),
        "by_context": tree.totals(result.samples, "context"),
        "stacks": section["stacks"],
        "nic_reads": devices.total(io, "reads"),
        "nic_writes": devices.total(io, "writes"),
        "io": io,
    }
