# SPDX-License-Identifier: GPL-2.0-or-later
"""A testbed on real ports: runs the same trials as the lab's, one at a time, and never from the cache."""

from __future__ import annotations

import copy
import hashlib
import math
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from irqlab.config.ensemble import Member
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.traffic import FrameSize, mean_frame_bytes, wire_rate_pps
from irqlab.dut.counters import Counters
from irqlab.errors import IrqlabError
from irqlab.live.calibration import Calibration
from irqlab.live.config import LiveConfig
from irqlab.live.dut import LiveDut
from irqlab.live.ports import LiveError, Ports, binary
from irqlab.live.remote import Remote
from irqlab.qemu import cancellation
from irqlab.setup.nics import Nic
from irqlab.trials.application import ApplicationResult, ApplicationTrial, Tuning
from irqlab.trials.forwarding import ForwardingResult, ForwardingTrial
from irqlab.trials.initial import LineProfile
from irqlab.trials.testbed import Testbed
from irqlab.trials.trial import Conditions, Trial
from irqlab.trials.tuned import SurveyTrial, TunedTrial
from irqlab.units import driver_of

R = TypeVar("R")

TRIES = 5
"""A trial whose losses can be the tester's own is repeated; after so many there is no verdict."""
UNKNOWN = "unknown"


class NoVerdictError(LiveError):
    """The tester's own limits could explain what was measured."""


@dataclass(frozen=True)
class Settings:
    """How results are labelled, and what the tester's limits are."""

    name: str
    """What the device under test is called; empty: the driver's name, if an agent knows it."""
    line_rate_bps: int | None
    """None: what the interfaces say."""
    calibration: Calibration | None
    """None: not known."""


def what_helps(config: LiveConfig) -> str:
    """What to try if the losses can always be the tester's own."""
    help_it = "give the tester idle processors (--cpus)"
    if not config.sleep:
        help_it += ", or, if there are none, let it sleep (--sleep)"
    if config.kind != "af_xdp":
        help_it += ", try --kind af_xdp"
    return help_it + ", or offer less (--line-rate)"


class LiveTestbed:
    """Two ports and the device under test between them: a Bench. A context manager: leaving it closes them."""

    def __init__(self, config: LiveConfig, settings: Settings, say: Callable[[str], None] = lambda _: None) -> None:
        """Opens the ports, connects to the agent, and finds the device under test. Raises IrqlabError."""
        self.live = config
        self.settings = settings
        self._say = say
        self._lock = threading.Lock()
        self.config = TestbedConfig(driver=settings.name or "dut", mips=0, cached=False, dut=DutConfig(schemes=config.schemes))
        self._remote: Remote | None = None
        self._found: LiveDut | None = None
        self.ports = Ports(config)
        try:
            self._remote = Remote(config.dut) if config.dut else None
            self.dut = self._found = LiveDut(config, self.ports, self._remote)
            rate = settings.line_rate_bps if settings.line_rate_bps is not None else self._line_rate_bps()
            self.nic = Nic(model="real ports", vendor=0, device=0, line_rate_bps=rate, driver="")
            self.dut.set_schemes(config.schemes)
            self._driver = settings.name or self.dut.driver() or "dut"
            self.dut.find()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> LiveTestbed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the ports, puts the device's schemes back, and ends the agent."""
        self.ports.close()
        if self._remote is not None:
            if self._found is not None and (left := self._found.put_back()):
                self._say(f"  {left}")
            self._remote.close()

    def cancel(self) -> None:
        """Ends what a trial waits for. The agent is needed to put things back."""
        self.ports.cancel()
        if self._remote is not None:
            self._remote.hurry()

    def _line_rate_bps(self) -> int:
        rates = [int(interface["line_rate_bps"]) for interface in self.ports.interfaces]
        if 0 in rates:
            name = self.live.ports[rates.index(0)]
            raise LiveError(f"port {name} does not say how fast its line is: --line-rate 1G")
        return min(rates)

    @property
    def driver(self) -> str:
        """What the device under test is called."""
        return self._driver

    @property
    def label(self) -> str:
        """The device under test with its schemes."""
        return driver_of({"driver": self.driver, **self.scheme_names()})

    @property
    def where(self) -> str:
        """The ports."""
        ports = self.ports.interfaces
        return f"{ports[0]['name']} and {ports[1]['name']} ({self.live.kind})"

    def scheme_names(self) -> dict[str, str | None]:
        """The schemes that were asked for."""
        asked = self.live.schemes
        return {"rx_scheme": asked.rx, "tx_scheme": asked.tx, "variant": asked.variant}

    def with_member(self, member: Member | None) -> LiveTestbed:
        """The same: repetitions differ by what nobody controls."""
        same = copy.copy(self)
        same.config = replace(self.config, member=member)
        return same

    def with_schemes(self, schemes: Schemes) -> LiveTestbed:
        """A view of the device with other schemes, set before each of its trials. Only the original testbed is to be closed."""
        same = copy.copy(self)
        same.live = replace(self.live, schemes=schemes)
        same.config = replace(self.config, dut=DutConfig(schemes=schemes))
        return same

    def most_pps(self, size: FrameSize, bidirectional: bool) -> float:
        """The highest rate of one direction that is worth a trial: line rate, or the tester's own limit."""
        wire_pps = wire_rate_pps(mean_frame_bytes(size), self.nic.line_rate_bps)
        return min(wire_pps, self.ceiling_pps(size, bidirectional))

    def ceiling_pps(self, size: FrameSize, bidirectional: bool) -> float:
        """The tester's own limit, by its calibration; infinite if it is not known."""
        known = self.settings.calibration
        return known.rate_pps(size, bidirectional) if known else math.inf

    def run(self, trial: Trial[R], cached: bool = True) -> R:
        """Runs a trial. Raises NoVerdictError if its losses can be the tester's own again and again."""
        del cached  # it never is
        rate_pps, doubts = self._checked_pps(trial), ""
        with self._lock, cancellation.current().ending(self.cancel):
            self.dut.set_schemes(self.live.schemes)
            for _ in range(TRIES):
                found = self._measure(trial)
                live = found.live if isinstance(found, (ForwardingResult, ApplicationResult)) else None
                doubts = "; ".join(live.doubts) if live else ""
                if not doubts:
                    return found
                self._say(f"  repeated: {doubts}")
        raise NoVerdictError(
            f"no verdict at {rate_pps:.0f} frames/s: {doubts}, in each of {TRIES} trials: {what_helps(self.live)}"
        )

    def profile(self, trial: Trial[R], addresses: dict[str, Any], lines: LineProfile | None = None) -> tuple[R, dict[str, Any]]:
        """Raises LiveError: a real machine's instructions are not counted."""
        del trial, addresses, lines
        raise LiveError("instructions cannot be counted on real ports")

    def lab(self) -> Testbed:
        """Raises LiveError: a real machine is not the lab's."""
        raise LiveError("this is possible only in the lab, not on real ports")

    def _measure(self, trial: Trial[R]) -> R:
        return trial.measure_again(self.dut, self.conditions)

    def _checked_pps(self, trial: Trial[Any]) -> float:
        """The load of a trial that is possible. Raises LiveError."""
        if isinstance(trial, TunedTrial):
            return self._checked_pps(trial.trial)
        if isinstance(trial, SurveyTrial):
            return 0.0
        if isinstance(trial, ApplicationTrial):
            self._check(trial)
            return trial.load.rate_pps
        if isinstance(trial, ForwardingTrial):
            return trial.loads[0].rate_pps
        raise LiveError(f"{type(trial).__name__} is not possible on real ports")

    def _check(self, trial: ApplicationTrial) -> None:
        """Whether a trial with an application is possible: it may not leave the device changed. Raises LiveError."""
        if self._remote is None or not self.dut.interfaces:
            raise LiveError(
                "the application runs on the device under test, so it needs an agent: --dut user@board --dut-ports eth0,eth1"
            )
        if self.live.bridge:
            raise LiveError("--bridge: the application needs a device with an address, as a router has")
        if trial.interfaces > 1:
            raise LiveError("--interfaces: on real ports the load of an application goes to one interface")
        if trial.kind != "udp" or replace(trial.tuning, epoll=False) != Tuning():
            raise LiveError("on real ports the application waits in `block` or `epoll`, and nothing else of the device is set")

    @property
    def conditions(self) -> Conditions:
        """The facts about this testbed that trials may use."""
        return Conditions(
            driver=self.driver,
            mips=0,
            line_rate_bps=self.nic.line_rate_bps,
            link_wait_ns=0,
            counters=Counters(),  # of no restored DUT: `measure_again` reads them before every trial
        )

    def describe(self) -> dict[str, Any]:
        """Describes this testbed in result documents. Addresses and names of machines are left out."""
        known = self.settings.calibration
        return {
            "kernel": {"release": UNKNOWN, "package": None, "version": None, "sha256": None},
            "qemu": "",
            "qemu_sha256": None,
            "mips": 0,
            "cpu": UNKNOWN,
            "memory_mib": 0,
            "kernel_command_line": "",
            "nic": {"model": self.nic.model, "properties": [], "line_rate_bps": self.nic.line_rate_bps},
            "modules": [{"name": self.driver, "sha256": None, "vermagic": ""}],
            "guest_image_sha256": None,
            "tester_sha256": hashlib.sha256(binary().read_bytes()).hexdigest(),
            "dut": self._configuration(),
            **self._machine(),
            "live": {
                "ports": [
                    {name: port[name] for name in ("name", "driver", "line_rate_bps", "opened")} for port in self.ports.interfaces
                ],
                "cpus": self.ports.hello["cpus"],
                "sleep": self.live.sleep,
                "bridge": self.live.bridge,
                "agent": self._remote is not None,
                "calibration": known.to_json() if known else None,
            },
        }

    def _configuration(self) -> dict[str, Any]:
        base: dict[str, Any] = {
            "lsm": UNKNOWN,
            "qdisc": None,
            "netdev_max_backlog": None,
            "netdev_budget": None,
            "dev_weight": None,
            "spectre_v2": UNKNOWN,
            "clocksource": UNKNOWN,
            "ring_rx": None,
            "ring_tx": None,
            "offloads": [],
            "schemes": None,
            "notes": [],
        }
        if self._remote is not None and self.dut.interfaces:
            with self._lock, suppress(IrqlabError):
                self.dut.set_schemes(self.live.schemes)
                base = self.dut.describe(self.config.dut)
        others = self.live.schemes.others
        return {**base, "sysctls": {}, "module_parameters": "", **({"settings": others} if others else {})}

    def _machine(self) -> dict[str, Any]:
        """What the agent says about its machine."""
        if self._remote is None:
            return {}
        read = self.dut.read("/proc/sys/kernel/osrelease", "/proc/cpuinfo", "/proc/cmdline", "/proc/meminfo")
        release = (read["/proc/sys/kernel/osrelease"] or UNKNOWN).strip()
        model = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", read["/proc/cpuinfo"] or "", re.MULTILINE)
        memory = re.search(r"^MemTotal:\s*(\d+)", read["/proc/meminfo"] or "", re.MULTILINE)
        return {
            "kernel": {"release": release, "package": None, "version": None, "sha256": None},
            "cpu": model[1].strip() if model else UNKNOWN,
            "memory_mib": int(memory[1]) // 1024 if memory else 0,
            "kernel_command_line": (read["/proc/cmdline"] or "").strip(),
        }
