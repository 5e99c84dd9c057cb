# SPDX-License-Identifier: GPL-2.0-or-later
"""A profiled trial. It starts where every trial starts and is the same to the instruction; only the host takes longer."""

from __future__ import annotations

from typing import Any

from irqlab.bed import Bed
from irqlab.errors import IrqlabError
from irqlab.methods import iperf, throughput
from irqlab.methods.stand import Plan, Stand
from irqlab.profile import devices, tree
from irqlab.profile.addresses import addresses
from irqlab.profile.symbols import Symbols
from irqlab.results import MethodResult
from irqlab.setup import paths

KALLSYMS = ("grep", "-i", " [tw] ", "/proc/kallsyms")
DEFAULT_LOAD = 2.0
"""Times the throughput: no idle time, and the driver at its limit."""


def symbols(bed: Bed) -> Symbols:
    """The functions of the DUT, driver included. Read from a DUT of its own, and kept beside its snapshot."""
    kept = bed.prepared.state.parent / "kallsyms"
    with paths.locked(f"symbols-{kept.parent.name}"):
        try:
            text = kept.read_text()
        except OSError:
            with bed.open() as dut:
                text = dut.run(*KALLSYMS) + "\0" + (dut.read("/proc/modules")["/proc/modules"] or "")
            paths.write_atomically(kept, text.encode())
    kallsyms, _, modules = text.partition("\0")
    return Symbols.parse(kallsyms, modules)


def run(stand: Stand, plan: Plan, load: float | None = None, rate_pps: float | None = None) -> MethodResult:
    """Profiles a trial at `rate_pps` frames/s in each direction, or at `load` times the throughput, which is searched first.

    Where nothing was forwarded, costs are those per frame offered. Raises IrqlabError.
    """
    result = stand.result("profile", plan)
    if rate_pps is None:
        load = DEFAULT_LOAD if load is None else load
        base = throughput.run(stand, plan)
        result.throughput_pps, result.throughput_mbps = base.throughput_pps, base.throughput_mbps
        result.at_wire_rate = base.at_wire_rate
        rate_pps = throughput.rate_per_direction(base) * load
    known = symbols(stand.bed)
    stand.progress(f"counting instructions at {rate_pps / 1e3:.1f} kpps")
    with stand.slots:
        trial, answer = stand.bed.profile(stand.over_wire_spec(plan, rate_pps), addresses(known))
    stand.done.append(trial)
    frames, per = trial.total("received_in_window"), "forwarded"
    if not frames:  # livelock: that is when one wants to know
        frames, per = trial.total("sent"), "offered"
    if not frames:
        raise IrqlabError(f"{stand.bed.label} was offered nothing at {rate_pps:.0f} frames/s; offer less")
    result.take_costs(trial)
    _fill(result, stand.bed, answer, known, trial.instructions - answer["instructions"])
    result.found |= {"load": load, "rate_pps": rate_pps, "frames": frames, "per": per}
    result.trials = [trial]
    return result


def run_iperf(stand: Stand, plan: Plan, test: iperf.Test) -> MethodResult:
    """Profiles the window of an iperf3 test. Costs are those per full-size frame of payload that arrived. Raises IrqlabError."""
    result = stand.result("profile", plan)
    known = symbols(stand.bed)
    stand.progress(f"counting instructions of {test.name}")
    with stand.slots, stand.bed.open(profile=True) as dut:
        dut.rpc.call("profile", addresses=addresses(known))
        point = iperf.measure(dut, test, stand.bed.nic.wire_bps)
        answer = dut.rpc.call("profile_result")
    frames = iperf.full_frames(point)
    if not frames:
        raise IrqlabError(f"{stand.bed.label}: no payload arrived in the window of {test.name}; give it more --mips")
    _fill(result, stand.bed, answer, known, point["instructions"] - answer["instructions"])
    rate_pps = frames * 1e9 / point["window_ns"]
    result.found |= {"load": None, "rate_pps": rate_pps, "frames": frames, "per": "received", "iperf": point}
    return result


def _fill(result: MethodResult, bed: Bed, answer: dict[str, Any], known: Symbols, residual: int) -> None:
    """What the tester counted, by function and owner."""
    driver = [module.name for module in bed.modules]
    section = tree.section(answer, known, driver)
    io = devices.accesses(answer, known, devices.Devices.of(bed), driver)
    result.points = section["points"]
    result.found = {
        "instructions": answer["instructions"],
        "residual": residual,
        "stacks_lost": answer["lost"],
        "interrupts": section["interrupts"],
        "softirqs": section["softirqs"],
        "by_owner": tree.totals(result.points, "owner"),
        "by_context": tree.totals(result.points, "context"),
        "stacks": section["stacks"],
        "nic_reads": devices.total(io, "reads"),
        "nic_writes": devices.total(io, "writes"),
        "io": io,
    }
