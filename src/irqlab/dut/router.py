# SPDX-License-Identifier: GPL-2.0-or-later
"""A DUT between the tester's ports; the lab's is a router: addresses set, links up, frames passing."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from irqlab.config.addresses import INTERFACES, PORTS, dut_ip, dut_mac, stream, tester_ip, tester_mac
from irqlab.config.change import Chosen
from irqlab.config.placement import Placement
from irqlab.config.testbed import DutConfig
from irqlab.dut import changes, counters, napi, processors, schemes
from irqlab.dut.agent import Agent, Calls, DutError
from irqlab.dut.counters import Counters
from irqlab.dut.kernel_log import KernelLog
from irqlab.qemu import backtrace
from irqlab.qemu.machine import Machine
from irqlab.qemu.rpc import TesterError
from irqlab.qemu.watchdog import NoAnswerError

KERNEL_THREADS = range(2, 128)
"""Range of process IDs searched for ksoftirqd."""
PROBE_STEP_NS = 20_000_000
PROBE_LIMIT_NS = 15_000_000_000
PROBES_IN_A_ROW = 3
INTERFACE_STEP_NS = 50_000_000
INTERFACE_LIMIT_NS = 5_000_000_000
LAST_LINES = 12
"""Lines of the kernel log shown if the DUT hangs."""
SLOW_HOST = 10
"""Factor by which the DUT may be slower without the instruction clock, when its time is the host's."""


class Dut(Agent, ABC):
    """A DUT between the tester's ports, in the lab or real: what trials ask of it."""

    def __init__(self, rpc: Calls, kernel_log: KernelLog) -> None:
        super().__init__(rpc, kernel_log)
        self.notes: list[str] = []
        """Deviations from the requested configuration."""
        self.trial_id = 0
        self.slower = 1
        """Factor by which its time may be that of a slow host."""
        self.adjust: Callable[[dict[str, Any]], dict[str, Any]] = lambda trial: trial
        """Applied to every trial before it starts (irqlab.perturb)."""

    @property
    @abstractmethod
    def interfaces(self) -> tuple[str, ...]:
        """The DUT's interfaces, in the order of the tester's ports."""

    @abstractmethod
    def ksoftirqds(self) -> list[int]:
        """The process IDs of the kernel threads for softirqs. Raises DutError."""

    @abstractmethod
    def watch(self, files: Sequence[str]) -> list[dict[str, int]]:
        """For each file of counters (guest/src/counters.rs) what a trial's `watch` needs, by the counter's name."""

    @abstractmethod
    def end(self, started: Mapping[str, int]) -> None:
        """Ends applications: the process IDs by their files of counters."""

    @abstractmethod
    def play_hosts(self, line_rate_bps: int) -> None:
        """Sets up the tester's hosts, one per port, with this line rate (0: unlimited)."""

    @abstractmethod
    def run_trial(
        self, trial: dict[str, Any], streams: list[dict[str, Any]], meanwhile: Callable[[int], None] | None = None
    ) -> dict[str, Any]:
        """Runs a trial to the end of its drain; returns RESULT (docs/inside/protocol.md).

        `meanwhile` is called while it runs, with the start of the window in virtual ns.
        """

    @abstractmethod
    def counters(self) -> Counters:
        """Reads the kernel's counters."""

    def note(self, usual: Chosen) -> None:
        """Called before a setting is changed first, with its own value. In the lab the DUT ends with the trial."""

    def tune(self, wanted: Sequence[Chosen], cpus: int) -> bool:
        """Makes settings; others have their own values. Returns whether any was changed. Raises DutError (irqlab.dut.changes)."""
        changes.apply(self, wanted, self.interfaces, cpus)
        return bool(wanted)

    def wait_forwarding(self, limit_ns: int = PROBE_LIMIT_NS) -> int | None:
        """Waits until several frames in a row pass both ways; returns the virtual ns it took, or None after `limit_ns`.

        Some NIC models receive nothing for seconds after being set up. This also resolves the neighbours' addresses. Without the
        instruction clock the limit is SLOW_HOST times as long.
        """
        began_ns = self.rpc.call("clock")["now_ns"]
        in_a_row = 0
        one = {"kind": "constant", "rate_pps": 1000.0}
        size = {"kind": "fixed", "frame_bytes": 64}
        while in_a_row < PROBES_IN_A_ROW:
            streams = [{**stream(p, 1 - p, one, size), "count": 1} for p in range(PORTS)]
            result = self.run_trial({"warmup_ns": 0, "duration_ns": 1_000_000, "drain_ns": PROBE_STEP_NS * self.slower}, streams)
            passed = all(s["received"] == 1 for s in result["streams"])
            in_a_row = in_a_row + 1 if passed else 0
            if self.rpc.call("clock")["now_ns"] - began_ns > limit_ns * self.slower:
                return None
        return int(self.rpc.call("clock")["now_ns"]) - int(began_ns)

    def set_attributes(self, config: DutConfig, interface: str) -> None:
        """Writes `config.attributes`. Raises DutError if a file does not exist or rejects its value."""
        for name, value in config.attributes:
            path = f"/sys/class/net/{interface}/{name}"
            for _ in range(INTERFACE_LIMIT_NS * self.slower // INTERFACE_STEP_NS):
                if self.read(path)[path] is not None:
                    break
                self.sleep(INTERFACE_STEP_NS)  # the driver adds them shortly after the interface
            try:
                self.write(path, value)
            except TesterError as error:
                raise DutError(f"{interface}: {name}={value}: {error}") from error

    def describe_interface(self, config: DutConfig, interface: str) -> dict[str, Any]:
        """The same, with what is an interface's own."""
        files = self.read(
            "/sys/kernel/security/lsm",
            "/proc/sys/net/core/default_qdisc",
            "/proc/sys/net/core/netdev_max_backlog",
            "/proc/sys/net/core/netdev_budget",
            "/proc/sys/net/core/dev_weight",
            "/sys/devices/system/cpu/vulnerabilities/spectre_v2",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        )
        qdisc = self.run("tc", "qdisc", "show", "dev", interface).split()
        ring, found = schemes.rings(self, interface), schemes.read(self, interface)
        offloads = self.attempt("ethtool", "-k", interface)["out"]
        return {
            "lsm": (files["/sys/kernel/security/lsm"] or "none").strip(),
            "qdisc": qdisc[1] if len(qdisc) > 1 else None,
            "netdev_max_backlog": int(files["/proc/sys/net/core/netdev_max_backlog"] or 0),
            "netdev_budget": int(files["/proc/sys/net/core/netdev_budget"] or 0),
            "dev_weight": int(files["/proc/sys/net/core/dev_weight"] or 0),
            "spectre_v2": (files["/sys/devices/system/cpu/vulnerabilities/spectre_v2"] or "").strip(),
            "clocksource": (files["/sys/devices/system/clocksource/clocksource0/current_clocksource"] or "").strip(),
            "ring_rx": ring.rx if ring else None,
            "ring_tx": ring.tx if ring else None,
            "offloads": sorted(re.findall(r"^(\S+): on", offloads, re.MULTILINE)),
            "schemes": None if found is None else {"variant": config.schemes.variant, **found},
            "notes": self.notes,
        }


class LabDut(Dut):
    """The lab's DUT, a router. `may_log`: see KernelLog."""

    def __init__(self, machine: Machine, may_log: Sequence[str] = ()) -> None:
        slow = machine.config.functional
        super().__init__(machine.rpc, KernelLog(machine.rpc, may_log, slow_host=slow))
        self.machine = machine
        self.slower = SLOW_HOST if slow else 1

    def whereabouts(self, hung: NoAnswerError) -> str:
        """Backtrace and last log lines of the kernel of a hung DUT. Ends the machine."""
        found = backtrace.take(self.machine, hung.rsp)
        last = [*self.kernel_log.lines, *found.console][-LAST_LINES:]
        return f"{found}\nlast lines of the kernel log:\n" + "\n".join(f"  {line}" for line in last or ["(none)"])

    @property
    def interfaces(self) -> tuple[str, ...]:
        """The DUT's interfaces, in the order of the tester's ports."""
        return INTERFACES

    def ksoftirqds(self) -> list[int]:
        """The process IDs of the kernel threads for softirqs. Raises DutError if none is found."""
        files = self.read(*(f"/proc/{number}/comm" for number in KERNEL_THREADS))
        found = [n for n in KERNEL_THREADS if (files[f"/proc/{n}/comm"] or "").startswith("ksoftirqd/")]
        if not found:
            raise DutError("the DUT has no ksoftirqd among its first processes")
        return found

    def watch(self, files: Sequence[str]) -> list[dict[str, int]]:
        """For each file of counters (guest/src/counters.rs) what a trial's `watch` needs, by the counter's name.

        In the lab these are physical addresses, which the tester reads at the start and at the end of the window.
        """
        return [json.loads(self.run("irqlab-guest", "counters", "--where", file)) for file in files]

    def end(self, started: Mapping[str, int]) -> None:
        """Ends applications: the process IDs by their files of counters. In the lab the DUT ends with the trial."""

    def play_hosts(self, line_rate_bps: int) -> None:
        """Sets up the tester's hosts, one per port, with this line rate (0: unlimited)."""
        self.rpc.call(
            "ports",
            ports=[{"mac": tester_mac(p), "ip": tester_ip(p), "prefix": 24, "wire_bps": line_rate_bps} for p in range(PORTS)],
        )

    def configure(self, config: DutConfig, driver: str, nic: str) -> int:
        """Makes the DUT a router and waits until frames pass both ways; returns the virtual ns since the links were set up."""
        if missing := self._wait_for_interfaces():
            self.kernel_log.check(messages=False)
            log = "\n".join(f"  {line}" for line in self.kernel_log.lines[-8:]) or "  (nothing)"
            raise DutError(f"the driver {driver} did not bring up {', '.join(missing)} on the NIC {nic}; kernel log:\n{log}")
        for name, value in (("net.ipv4.ip_forward", "1"), *config.sysctls):
            self.sysctl(name, value)
        for port, interface in enumerate(INTERFACES):
            ring = config.ring
            if ring is None:
                ring, note = schemes.variant_ring(self, config.schemes, interface)
                self.notes += [note] if note and note not in self.notes else []
            if ring is not None:
                note = schemes.make_room(self, config.schemes, interface, ring)
                self.notes += [note] if note and note not in self.notes else []
                self._set_ring(interface, ring)
            self.run("ip", "addr", "add", f"{dut_ip(port)}/24", "dev", interface)
            self.set_attributes(config, interface)
        self.notes += schemes.apply(self, config.schemes, INTERFACES, driver)
        for interface in INTERFACES:
            self.run("ip", "link", "set", interface, "up")
        napi.apply(self, config.schemes, INTERFACES, driver)
        waited_ns = self.wait_forwarding()
        if waited_ns is None:
            self.kernel_log.check(messages=False)
            links = self.run("ip", "-s", "link").strip()
            log = "\n".join(self.kernel_log.lines[-10:])
            limit_s = PROBE_LIMIT_NS * self.slower // 10**9
            raise DutError(f"no frames pass {limit_s} virtual seconds after the links were set up\n{links}\n{log}")
        return waited_ns

    def place(self, placement: Placement, cpus: int, threads: bool) -> dict[str, int]:
        """Places interrupts, queues and NAPI's `threads` on several processors; returns each interrupt's. Raises DutError."""
        placed = processors.place_interrupts(self, placement, INTERFACES, cpus)
        processors.place_queues(self, placement, INTERFACES)
        if threads:
            processors.place_napi(self, placement, INTERFACES)
        # An interrupt moves when it comes the next time.
        if self.wait_forwarding() is None:
            raise DutError("no frames pass after interrupts were moved to other processors")
        return placed

    def _wait_for_interfaces(self) -> list[str]:
        """USB devices appear some time after their driver is loaded; returns the interfaces still missing.

        On a slow host without the instruction clock the kernel may find the second device first: the names are then exchanged.
        """
        for _ in range(INTERFACE_LIMIT_NS * self.slower // INTERFACE_STEP_NS):
            found = self.read("/sys/class/net/*/address")
            missing = [i for i in INTERFACES if not found.get(f"/sys/class/net/{i}/address")]
            if not missing:
                break
            self.sleep(INTERFACE_STEP_NS)
        if (found.get(f"/sys/class/net/{INTERFACES[0]}/address") or "").strip() == dut_mac(1) and not missing:
            for old, new in ((INTERFACES[0], "other"), (INTERFACES[1], INTERFACES[0]), ("other", INTERFACES[1])):
                self.run("ip", "link", "set", old, "name", new)
        return missing

    def _set_ring(self, interface: str, ring: int) -> None:
        done = self.attempt("ethtool", "-G", interface, "rx", str(ring), "tx", str(ring))
        if done["code"] != 0 and "no change" not in done["err"] + done["out"]:
            now = self.attempt("ethtool", "-g", interface)["out"].strip()
            raise DutError(f"--ring {ring}: {(done['err'] or done['out']).strip()}\n{now}")

    def run_trial(
        self, trial: dict[str, Any], streams: list[dict[str, Any]], meanwhile: Callable[[int], None] | None = None
    ) -> dict[str, Any]:
        """Runs a trial to the end of its drain, with the agent asleep; returns RESULT (docs/inside/protocol.md).

        `meanwhile` is called while it runs, with the start of the window in virtual ns.
        """
        self.trial_id = (self.trial_id + 1) % 65536
        whole = {
            "id": self.trial_id,
            "seed": 1,
            "late_ns": 2_000_000,
            "bucket_ns": 0,
            "histogram": False,
            **trial,
            "streams": streams,
        }
        whole = self.adjust(whole)
        result: dict[str, Any]
        if meanwhile is None:
            result = self.machine.rpc.run("trial", trial=whole, patience_ns=self.patience_ns)
        else:
            armed = self.rpc.call("start", trial=whole)
            meanwhile(int(armed["origin_ns"]) + int(whole["warmup_ns"]))
            result = self.machine.rpc.run("finish", patience_ns=self.patience_ns)
        return result

    def counters(self) -> Counters:
        """Reads the kernel's counters."""
        files = self.read(*counters.PATHS)
        of_driver = {interface: self.attempt("ethtool", "-S", interface)["out"] for interface in INTERFACES}
        return counters.parse(files, self.run("tc", "-s", "qdisc", "show"), of_driver)

    def describe(self, config: DutConfig) -> dict[str, Any]:
        """The configuration that affects results, as reported by the running kernel."""
        return self.describe_interface(config, INTERFACES[0])
