# SPDX-License-Identifier: GPL-2.0-or-later
"""A device under test between two real ports.

With an agent it has counters, schemes and a kernel log. Without one, nothing is known but what the ports see.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irqlab.config import engine
from irqlab.config.addresses import PORTS, dut_ip, tester_ip
from irqlab.config.change import ETHTOOL, TOGETHER, Chosen
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import DutConfig
from irqlab.dut import changes, counters, napi, schemes
from irqlab.dut.agent import DutError
from irqlab.dut.counters import Counters
from irqlab.dut.kernel_log import GuestCalls, KernelLog, Record
from irqlab.dut.router import PROBE_LIMIT_NS, Dut
from irqlab.live import judge, prepare
from irqlab.live.config import LiveConfig
from irqlab.live.ports import LiveError, Ports
from irqlab.live.prepare import Undo
from irqlab.live.remote import Remote
from irqlab.qemu.rpc import TesterError

EARLY_NS = 50_000_000
"""The last reading is requested at most this long before the end of the window: after the load it would lower the rate."""
CARRIER_STEPS, CARRIER_STEP_S = 3, 0.05
"""A carrier counts as back if it is seen so often."""
REFERENCE_NS = 200_000_000
"""How long the soakers run without load."""
_TX_THAT_NEED_MASKS = tuple(scheme.name for scheme in engine.schemes("tx", engine.MASK) if scheme.needs_masks)
KERNEL_THREADS = range(2, 1000)
"""Range of process IDs searched for ksoftirqd."""
KILL = 9


@dataclass(frozen=True)
class Reading:
    """Counters of running applications."""

    at_ns: int
    """By the device's own clock."""
    files: dict[str, dict[str, int]]

    def rates(self, later: Reading, file: str) -> dict[str, float]:
        """What each counter of a file gained a second until a later reading."""
        seconds = (later.at_ns - self.at_ns) / 1e9
        return {name: (count - self.files[file][name]) / seconds for name, count in later.files[file].items()}


class LogFromNow(KernelLog):
    """The log of a real machine: what was logged before the measurement is not its fault. `known`: it can be read."""

    def __init__(self, rpc: GuestCalls, known: bool) -> None:
        super().__init__(rpc)
        self._known = known
        if known:
            super().forget()

    def news(self) -> list[Record]:
        """The records since the last call; none without an agent."""
        return super().news() if self._known else []

    def check(self, messages: bool = False) -> None:
        """As without `messages`: a real machine has more devices, whose messages have nothing to do with the driver."""
        del messages
        super().check(messages=False)


class LiveDut(Dut):
    """The device under test. `rpc` is the tester on the ports; commands for the agent go to `remote`."""

    _schemes_noted = False

    def __init__(self, config: LiveConfig, ports: Ports, remote: Remote | None) -> None:
        calls = _Calls(ports, remote)
        super().__init__(calls, LogFromNow(calls, remote is not None))
        self.config = config
        self.ports = ports
        self.remote = remote
        self.adjust = self._addressed
        self._macs = [str(interface["mac"]) for interface in ports.interfaces]
        self._next_hops: list[str] = []
        self._ksoftirqds: list[int] = []
        self._watched: list[str] = []
        """Files of counters: the soaker's first."""
        self._unloaded: dict[str, float] = {}
        """Turns a second of the soaker of each processor without load."""
        self._journal = prepare.Journal(config.ports)
        self._schemes: Schemes | None = None
        """Those that were set last; None: none, or not for certain."""
        self._prepared: int | None = None
        """Entries of the journal that are not ours; None: it was not opened."""
        self._usual: dict[tuple[str, str], Chosen] = {}
        """Settings with the values that they had, by kind and name."""
        self._changed: set[tuple[str, str]] = set()

    @property
    def interfaces(self) -> tuple[str, ...]:
        """The DUT's interfaces, if the agent can be asked about them."""
        return self.config.dut_ports or () if self.remote is not None else ()

    def ksoftirqds(self) -> list[int]:
        """The process IDs of all kernel threads for softirqs. Raises DutError if none is found."""
        if not self._ksoftirqds:
            files = self.read(*(f"/proc/{number}/comm" for number in KERNEL_THREADS))
            names = {number: files[f"/proc/{number}/comm"] or "" for number in KERNEL_THREADS}
            self._ksoftirqds = [number for number, name in names.items() if name.startswith("ksoftirqd/")]
        if not self._ksoftirqds:
            raise DutError(f"the device has no ksoftirqd among its first {KERNEL_THREADS.stop} processes")
        return self._ksoftirqds

    def watch(self, files: Sequence[str]) -> list[dict[str, int]]:
        """The agent reads the files at the start and at the end of the window. Measures how far soakers get without load."""
        self._watched = list(files)
        first = self._reading()
        self.sleep(REFERENCE_NS)
        self._unloaded = first.rates(self._reading(), files[0])
        return [dict.fromkeys(("kilo_instructions", "datagrams"), 0)] * len(files)

    def _reading(self) -> Reading:
        found = json.loads(self.run("irqlab-guest", "watch", *self._watched))
        return Reading(found.pop("at_ns"), found)

    def end(self, started: Mapping[str, int]) -> None:
        """Ends applications and removes their files of counters, as far as the device still answers."""
        self._watched = []
        for file, pid in started.items():
            with suppress(LiveError, TesterError):
                self.rpc.guest("reap", pid=pid, signal=KILL)
            with suppress(LiveError, TesterError):
                self.attempt("rm", "-f", file)

    def play_hosts(self, line_rate_bps: int) -> None:
        """Sets up the tester's hosts. A real line keeps its rate by itself."""
        del line_rate_bps
        hosts = [{"mac": self._macs[p], "ip": tester_ip(p), "prefix": 24, "wire_bps": 0} for p in range(PORTS)]
        self.rpc.call("ports", ports=hosts)

    def find(self) -> None:
        """Finds the DUT's Ethernet addresses with ARP, or notes that it is a bridge. Raises LiveError."""
        self.play_hosts(0)
        if self.config.bridge:
            self._next_hops = list(reversed(self._macs))
            return
        found = []
        for port in range(PORTS):
            answer = self.rpc.call("resolve", port=port, mac=self._macs[port], ip=tester_ip(port), to=dut_ip(port))
            if answer["mac"] is None:
                raise LiveError(
                    f"nobody answers for {dut_ip(port)} on port {self.config.ports[port]}: the device under test needs this "
                    "address there (`irqlab live prepare --dut` sets it; docs/use/live.md says how by hand); a bridge or a cable "
                    "needs --bridge"
                )
            found.append(str(answer["mac"]))
        self._next_hops = found

    def _addressed(self, trial: dict[str, Any]) -> dict[str, Any]:
        """The trial with the DUT's own addresses."""
        streams = [{**stream, "dst_mac": self._next_hops[int(stream["from"])]} for stream in trial["streams"]]
        return {**trial, "streams": streams}

    def run_trial(
        self, trial: dict[str, Any], streams: list[dict[str, Any]], meanwhile: Callable[[int], None] | None = None
    ) -> dict[str, Any]:
        """Runs a trial to the end of its drain; returns RESULT with what the tester says about itself as `live`."""
        self.trial_id = (self.trial_id + 1) % 65536
        whole = {"id": self.trial_id, "seed": 1, "late_ns": 2_000_000, "bucket_ns": 0, "histogram": False, **trial}
        watches = bool(whole.pop("watch", []))
        whole = self.adjust({**whole, "streams": streams})
        before, carrier = self._ticks(), self._carrier_changes()
        window_ns = int(whole["duration_ns"])
        readings = []
        result: dict[str, Any]
        if watches or meanwhile is not None:
            armed = self.rpc.call("start", trial=whole)
            begin_ns = int(armed["origin_ns"]) + int(whole["warmup_ns"])
            for at_ns in (begin_ns, begin_ns + window_ns - min(EARLY_NS, window_ns // 10)) if watches else ():
                time.sleep(max(0, at_ns - time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)) / 1e9)
                readings.append(self._reading())
            if meanwhile is not None:
                meanwhile(begin_ns)
            result = self.rpc.call("finish", patience_ns=0)
        else:
            result = self.rpc.call("trial", trial=whole, patience_ns=0)
        for name, old, new in zip(self.config.ports, carrier, self._carrier_changes(), strict=True):
            if old != new:
                raise LiveError(
                    f"port {name} lost its carrier during a trial: the device under test rebooted or reset its link, or a cable "
                    "is loose; run it again when both links are up"
                )
        idle = _idle(before, self._ticks())
        report = result["live"]
        for port, interface in zip(report["ports"], self.ports.interfaces, strict=True):
            port["driver"] = interface["driver"]
        return {
            **result,
            "idle_ns": None if idle is None else round(idle * window_ns),
            "live": judge.judged(result["streams"], report),
            **(self._read(readings[0], readings[1], window_ns) if readings else {}),
        }

    def _read(self, first: Reading, second: Reading, window_ns: int) -> dict[str, Any]:
        """What a trial with `watch` adds to RESULT: the receiver's counter, and what was left of the processor with the least."""
        soaker, *others = self._watched
        loaded = first.rates(second, soaker)
        counted = [round(first.rates(second, file)["datagrams"] * window_ns / 1e9) for file in others]
        # A processor that others keep busy without load says nothing.
        left = min((loaded[cpu] / idle for cpu, idle in self._unloaded.items() if idle), default=0.0)
        return {"watched": [[0, number] for number in (0, *counted)], "soaked_ratio": min(1.0, left)}

    def _carrier_changes(self) -> list[str]:
        """How often each port's carrier came or went; empty if the kernel does not say."""
        files = (Path(f"/sys/class/net/{name}/carrier_changes") for name in self.config.ports)
        return [file.read_text() if file.exists() else "" for file in files]

    def counters(self) -> Counters:
        """The DUT's counters; empty without an agent."""
        if self.remote is None:
            return Counters()
        read = self.read(*counters.paths(self.interfaces))
        of_driver = {interface: self._said("ethtool", "-S", interface) for interface in self.interfaces}
        return counters.parse(read, self._said("tc", "-s", "qdisc", "show"), of_driver, self.interfaces)

    def _ticks(self) -> dict[str, int]:
        if self.remote is None:
            return {}
        return counters.parse_stat(self.read("/proc/stat")["/proc/stat"] or "")

    def _said(self, *argv: str) -> str:
        """What a command of the DUT printed; empty if it does not have it."""
        try:
            return str(self.attempt(*argv)["out"])
        except TesterError:
            return ""

    def set_schemes(self, wanted: Schemes) -> None:
        """Sets schemes, unless they are in force. Raises LiveError without an agent, SchemeError if the driver refuses them."""
        if not wanted.asked or wanted == self._schemes:
            return
        if self.remote is None or not self.interfaces:
            raise LiveError("--rx, --tx and their settings need an agent: --dut user@board and --dut-ports eth0,eth1")
        driver = self.driver() or "the driver"
        if self._schemes is None:
            self._note_schemes()
        self._schemes = None
        if wanted.tx not in (None, *_TX_THAT_NEED_MASKS):  # else the old one may not go with the new receive scheme
            schemes.apply(self, Schemes(tx=wanted.tx), self.interfaces, driver)
        self.notes = schemes.apply(self, wanted, self.interfaces, driver)
        napi.apply(self, wanted, self.interfaces, driver)
        self._schemes = wanted

    def _note_schemes(self) -> None:
        """Notes the schemes in force in the journal, once."""
        if self._schemes_noted:
            return
        self._schemes_noted = True
        self._open_journal()
        for interface in self.interfaces:
            if found := schemes.read(self, interface):
                self._journal.note(_scheme_undo(interface, found["rx"], found["tx"]))

    def _open_journal(self) -> None:
        """Raises LiveError if the ports are prepared for another device."""
        journal = self._journal
        if self._prepared is not None:
            return
        if journal.load() and journal.dut not in (None, self.config.dut):
            raise LiveError(
                f"--dut {self.config.dut}: the ports are prepared for --dut {journal.dut}; "
                f"`irqlab live restore {' '.join(self.config.ports)}` first"
            )
        journal.dut = self.config.dut
        self._prepared = len(journal.undo)

    def note(self, usual: Chosen) -> None:
        """Notes in the journal how a setting gets its own value back."""
        if (usual.kind, usual.name) in self._usual:
            return
        self._open_journal()
        for undo in _undo(usual, self.interfaces):
            self._journal.note(undo)
        self._usual[usual.kind, usual.name] = usual

    def tune(self, wanted: Sequence[Chosen], cpus: int) -> bool:
        """Makes settings, and puts those back that an earlier call has made. Raises DutError."""
        asked: set[tuple[str, str]] = {(one.kind, one.name) for one in wanted}
        back = [self._usual[key] for key in sorted(self._changed - asked)]
        self._changed |= asked
        changes.apply(self, [*back, *wanted], self.interfaces, cpus)
        self._changed = asked
        return bool(back or wanted)

    def wait_forwarding(self, limit_ns: int = PROBE_LIMIT_NS) -> int | None:
        """As in the lab, after both ports have their carriers again: a setting may reset the device's NIC."""
        files = [Path(f"/sys/class/net/{name}/carrier") for name in self.config.ports]
        end_ns, steady = time.monotonic_ns() + limit_ns, 0
        while steady < CARRIER_STEPS and time.monotonic_ns() < end_ns:
            with suppress(OSError):
                steady = steady + 1 if all(file.read_text().strip() == "1" for file in files) else 0
            time.sleep(CARRIER_STEP_S)
        return super().wait_forwarding(limit_ns)

    def put_back(self) -> str:
        """Sets everything as it was before `set_schemes` and `tune`. Returns what could not be done, and how to do it.

        If the agent is gone or hangs, another one is tried. After a crash `irqlab live restore` does it.
        """
        if self._prepared is None or len(self._journal.undo) <= self._prepared:
            return ""
        agent = self.remote if self.remote is not None and self.remote.broken is None else None
        prepare.undo(self._journal, lambda _: None, self._prepared, agent)
        left = self._journal.undo[self._prepared :]
        if not left:
            return ""
        ports = " ".join(self.config.ports)
        return f"not put back on the device: {', '.join(one.what for one in left)}; `irqlab live restore {ports}` does it"

    def driver(self) -> str | None:
        """The driver of the DUT's first interface."""
        if not self.interfaces:
            return None
        found = re.search(r"^driver:\s*(\S+)", self._said("ethtool", "-i", self.interfaces[0]), re.MULTILINE)
        return found[1] if found else None

    def describe(self, config: DutConfig) -> dict[str, Any]:
        """The configuration that affects results, as the DUT's kernel says it. Raises DutError without an agent."""
        if self.remote is None or not self.interfaces:
            raise DutError("nothing is known about the device under test without an agent")
        return self.describe_interface(config, self.interfaces[0])


class _Calls:
    """The tester's commands and the agent's in one object, as in the lab."""

    def __init__(self, ports: Ports, remote: Remote | None) -> None:
        self._ports = ports
        self._remote = remote

    def call(self, op: str, **arguments: Any) -> Any:
        """A command for the tester."""
        return self._ports.call(op, **arguments)

    def guest(self, command: str, limit_ns: int | None = None, watched: bool = True, **arguments: Any) -> Any:
        """A command for the agent. Raises LiveError if there is none."""
        if self._remote is None:
            raise LiveError("this needs an agent on the device under test: --dut user@board")
        if argv := arguments.get("argv"):  # the agent's own program is in no directory of PATH
            arguments["argv"] = ["/proc/self/exe" if argv[0] == "irqlab-guest" else argv[0], *argv[1:]]
        return self._remote.guest(command, limit_ns, watched, **arguments)


def _undo(usual: Chosen, interfaces: Sequence[str]) -> list[Undo]:
    """How a setting gets a value back: on every interface, or once."""
    what = f"{usual.name} {usual.value}"
    if usual.kind == "sysctl":
        return [Undo("dut", what, path="/proc/sys/" + usual.name.replace(".", "/"), text=usual.value)]
    if usual.kind == "file":
        return [
            Undo("dut", f"{interface}: {what}", path=f"/sys/class/net/{interface}/{usual.name}", text=usual.value)
            for interface in interfaces
        ]
    if usual.kind not in TOGETHER:
        raise DutError(f"{what}: not changed on a real device, since it is not known how to put it back")
    return [Undo("dut", f"{interface}: {what}", ("sh", "-c", _quietly(usual, interface))) for interface in interfaces]


def _quietly(usual: Chosen, interface: str) -> str:
    """A command of ethtool that does not fail if the value is in force already."""
    known = "|".join(f'*"{text}"*' for text in changes.UNCHANGED)
    command = f"ethtool {ETHTOOL[usual.kind]} {interface} {usual.name} {usual.value}"
    return f'said=$({command} 2>&1) || case "$said" in {known}) ;; *) echo "$said" >&2; exit 1;; esac'


def _scheme_undo(interface: str, rx: str, tx: str) -> Undo:
    """Sets the schemes of an interface, in the order that is possible: `poll` needs a receive scheme that masks RX."""
    home = f"/sys/class/net/{interface}/irqmod"
    first, then = f"echo {rx} > {home}/rx_scheme", f"echo {tx} > {home}/tx_scheme"
    return Undo("dut", f"{interface}: {rx}/{tx}", ("sh", "-c", f"{first} && {then} || {{ {then} && {first}; }}"))


def _idle(before: dict[str, int], after: dict[str, int]) -> float | None:
    """The share of the DUT's ticks that were idle; None: not known, or too few."""
    ticks = {name: after[name] - before.get(name, 0) for name in after}
    total = sum(ticks.values())
    return (ticks["idle"] + ticks.get("iowait", 0)) / total if total > 0 and "idle" in ticks else None
