# SPDX-License-Identifier: GPL-2.0-or-later
"""A trial with an XDP program: xdp-bench drops frames in the driver, sends them back, or hands them to the other port."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from irqlab.config.addresses import INTERFACES, stream
from irqlab.dut import counters
from irqlab.dut.agent import DutError
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.setup import xdp
from irqlab.trials.record import Answer
from irqlab.trials.trial import Conditions, Trial

Action = Literal["drop", "tx", "redirect"]
ACTIONS: tuple[Action, ...] = ("drop", "tx", "redirect")
WARMUP_NS = 20_000_000
DRAIN_NS = 20_000_000
START_NS, START_STEPS = 100_000_000, 100
"""How long the program may take to be loaded, in steps of this many ns."""
SIGINT = 2


@dataclass(frozen=True)
class XdpTrial(Trial["XdpResult"]):
    """A load of `rate_pps` on port 0, of which the program does `action` with each frame."""

    action: Action
    rate_pps: float
    frame_bytes: int = 64
    duration_ns: int = 100_000_000

    def measure(self, dut: Dut, conditions: Conditions) -> XdpResult:
        """Loads the program, offers the load, counts what the driver says. Raises IrqlabError if the driver has no XDP."""
        dut.play_hosts(conditions.line_rate_bps)
        arrivals = {"kind": "constant", "rate_pps": self.rate_pps}
        load = stream(0, 1, arrivals, {"kind": "fixed", "frame_bytes": self.frame_bytes})
        with _program(dut, self.action):
            before = dut.counters()
            answer = Answer.of(
                dut.run_trial({"warmup_ns": WARMUP_NS, "duration_ns": self.duration_ns, "drain_ns": DRAIN_NS}, [load])
            )
            after = counters.difference(before, dut.counters())
        interface, counter = _COUNTED[self.action]
        handled = after.interfaces[INTERFACES[interface]][counter]
        loaded_ns = WARMUP_NS + self.duration_ns
        dut.kernel_log.check()
        return XdpResult(
            spec=self,
            offered_pps=self.rate_pps,
            handled_pps=handled * 1e9 / loaded_ns,
            arrived=sum(one.received for one in answer.streams),
            instructions=answer.instructions,
            interrupts_per_s=sum(after.interrupts.values()) * 1e9 / loaded_ns,
            kernel_log=dut.kernel_log.lines,
        )


_COUNTED: dict[Action, tuple[int, str]] = {"drop": (0, "rx_packets"), "tx": (0, "tx_packets"), "redirect": (1, "tx_packets")}
"""The interface and its counter that say how many frames the program has handled."""


@dataclass(frozen=True)
class XdpResult:
    """Result of a trial; rates are those of the whole load, warm-up included."""

    spec: XdpTrial
    offered_pps: float
    handled_pps: float
    """Dropped, sent back or handed on, as the driver counts them."""
    arrived: int
    """Frames that the tester got on the other port: with redirect, those handed on."""
    instructions: int
    """Of the DUT, in the window."""
    interrupts_per_s: float
    """Of both NICs."""
    kernel_log: list[str]

    @property
    def instructions_per_frame(self) -> float:
        """Of a frame that was handled; those of frames that the NIC dropped are none."""
        return self.instructions / max(1.0, self.handled_pps * self.spec.duration_ns / 1e9)


XdpTrial.result_type = XdpResult


@contextmanager
def _program(dut: Dut, action: Action) -> Iterator[None]:
    """xdp-bench runs, in the driver (not in the kernel's generic hook)."""
    release = dut.run("uname", "-r").strip()
    for path, content in xdp.files(release).items():
        dut.run("mkdir", "-p", xdp.PLACE)
        dut.rpc.guest("write", path=path, base64=base64.b64encode(content).decode(), mode=0o755)
    dut.attempt("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
    targets = INTERFACES[:2] if action == "redirect" else INTERFACES[:1]
    command = ("env", f"LD_LIBRARY_PATH={xdp.PLACE}", f"{xdp.PLACE}/{xdp.PROGRAM}", action, *targets)
    pid = dut.rpc.guest("spawn", argv=["sh", "-c", f"exec {' '.join(command)} >/tmp/xdp/said 2>&1"])["pid"]
    try:
        for _ in range(START_STEPS):
            dut.sleep(START_NS)
            if " xdp" in dut.run("ip", "link", "show", INTERFACES[0]):
                break
        else:
            raise IrqlabError(f"no XDP program: {_reason(dut)}")
        _wait_for_link(dut)
        yield
    finally:
        dut.rpc.guest("reap", pid=pid, signal=SIGINT)


def _wait_for_link(dut: Dut) -> None:
    """Drivers reset the NIC when a program comes. Raises IrqlabError if the link does not come back."""
    paths = [f"/sys/class/net/{interface}/carrier" for interface in INTERFACES[:2]]
    for _ in range(START_STEPS):
        dut.sleep(START_NS)
        if all((text or "").strip() == "1" for text in dut.read(*paths).values()):
            return
    raise IrqlabError("with an XDP program the link does not come up")


def _reason(dut: Dut) -> str:
    try:
        said = (dut.read("/tmp/xdp/said")["/tmp/xdp/said"] or "").strip()
    except DutError:
        said = ""
    lines = said.splitlines()
    failed = [line for line in lines if "fail" in line.lower()]
    return next((line.strip() for line in (*failed[:1], *lines)), "the driver does not say why")
