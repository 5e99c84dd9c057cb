# SPDX-License-Identifier: GPL-2.0-or-later
"""Repeatedly replugs a USB NIC, or suspends the system, under traffic (docs/papers/lan78xx.md).

System suspend goes only as far as the drivers' suspend and resume callbacks (pm_test), so no wake-up source is needed. Runtime
suspend (USB autosuspend) happens while the interface is down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from irqlab.config.addresses import stream
from irqlab.dut import kernel_log
from irqlab.dut.router import Dut
from irqlab.robustness import nicport
from irqlab.runner.runner import TrialRunner
from irqlab.trials.testbed import Testbed

KINDS = ("plug", "suspend", "autosuspend")
RATE_PPS = 10_000.0
FRAME_BYTES = 594
TRAFFIC_NS = 100_000_000
ASLEEP_NS = 5_000_000_000
STEP_NS = 50_000_000


@dataclass
class Report:
    """Result of cycles of one kind."""

    kind: str
    cycles: int = 0
    failures: list[str] = field(default_factory=list)
    """Failures, with the number of the cycle."""
    log: list[str] = field(default_factory=list)
    """Unexpected kernel messages above info."""

    @property
    def problems(self) -> list[str]:
        """Warnings, oopses and stalls among them."""
        return [line for line in self.log if kernel_log.PROBLEM.search(line)]


def run(runner: TrialRunner, kind: str, cycles: int, port: int = 0) -> Report:
    """Runs cycles in one DUT. Raises IrqlabError if the NIC cannot be unplugged, or the DUT dies."""
    testbed = runner.bench.lab()
    nicport.require_hotplug(testbed)
    report = Report(kind)
    with runner.slots, testbed.open() as dut:
        dut.play_hosts(testbed.nic.line_rate_bps)
        _read_log(dut, Report(kind))
        for number in range(cycles):
            report.failures += [f"cycle {number + 1}: {failure}" for failure in _CYCLES[kind](dut, testbed, port, number)]
            report.cycles += 1
            _read_log(dut, report)
            runner.progress(f"{kind}: {number + 1} of {cycles}, {len(report.failures)} failures")
    return report


def _read_log(dut: Dut, report: Report) -> None:
    seen = len(dut.kernel_log.messages)
    dut.kernel_log.news()
    report.log += dut.kernel_log.messages[seen:]


def _under_traffic(dut: Dut, then: Callable[[], None]) -> None:
    """Sends frames both ways; calls `then` meanwhile."""
    arrivals, size = {"kind": "constant", "rate_pps": RATE_PPS}, {"kind": "fixed", "frame_bytes": FRAME_BYTES}
    streams = [stream(p, 1 - p, arrivals, size) for p in (0, 1)]
    dut.run_trial({"warmup_ns": 0, "duration_ns": TRAFFIC_NS, "drain_ns": 1_000_000}, streams, lambda _: then())


def _plug(dut: Dut, testbed: Testbed, port: int, number: int) -> Sequence[str]:
    after_ns = Random(number).randrange(1_000_000, TRAFFIC_NS)

    def pull() -> None:
        dut.sleep(after_ns)
        nicport.plug(dut, port, plugged=False)

    _under_traffic(dut, pull)
    dut.sleep(200_000_000)
    if nicport.is_there(dut, port):
        return [f"{nicport.interface(port)} is still there"]
    nicport.plug(dut, port, plugged=True)
    if not nicport.configure(dut, port, testbed):
        return [f"{nicport.interface(port)} does not come back"]
    return _forwards(dut)


def _suspend(dut: Dut, _testbed: Testbed, _port: int, number: int) -> Sequence[str]:
    after_ns = Random(number).randrange(1_000_000, TRAFFIC_NS // 2)
    dut.run("sh", "-c", "echo devices >/sys/power/pm_test; echo 0 >/sys/module/suspend/parameters/pm_test_delay")
    failures = []

    def sleep() -> None:
        dut.sleep(after_ns)
        done = dut.attempt("sh", "-c", "echo mem >/sys/power/state")
        if done["code"]:
            failures.append(f"no suspend: {(done['err'] or done['out']).strip()}")

    _under_traffic(dut, sleep)
    return [*failures, *_forwards(dut)]


def _autosuspend(dut: Dut, _testbed: Testbed, port: int, number: int) -> Sequence[str]:
    name = nicport.interface(port)
    power = f"$(readlink -f /sys/class/net/{name}/device/..)/power"
    if number == 0:
        dut.run("sh", "-c", f"echo 0 >{power}/autosuspend_delay_ms; echo auto >{power}/control")
    _under_traffic(dut, lambda: None)
    failures = []
    for up, wanted in (("down", "suspended"), ("up", "active")):
        dut.run("ip", "link", "set", name, up)
        for _step in range(ASLEEP_NS // STEP_NS):
            state = dut.run("sh", "-c", f"cat {power}/runtime_status").strip()
            if state == wanted:
                break
            dut.sleep(STEP_NS)
        else:
            failures.append(f"interface {up}: runtime power status is {state}, not {wanted}")
    return [*failures, *_forwards(dut)]


def _forwards(dut: Dut) -> list[str]:
    return [] if dut.wait_forwarding() is not None else ["no frames pass afterwards"]


_CYCLES: dict[str, Callable[[Dut, Testbed, int, int], Sequence[str]]] = {
    "plug": _plug,
    "suspend": _suspend,
    "autosuspend": _autosuspend,
}
