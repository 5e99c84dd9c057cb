# SPDX-License-Identifier: GPL-2.0-or-later
"""The DUT through its agent: commands, modules, the kernel log, the router; the agent is a few lines that remember."""

from __future__ import annotations

import base64
import contextlib
import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.config import addresses
from irqlab.config.testbed import DutConfig
from irqlab.dut.agent import ONLINE, PATIENCE_NS, TIMERS, DutError
from irqlab.dut.kernel_log import KernelProblemError
from irqlab.dut.router import PROBE_LIMIT_NS, LabDut
from irqlab.qemu.rpc import TesterError
from irqlab.qemu.watchdog import NoAnswerError

MS = 1_000_000
MARGIN_NS = 100_000
"""How much longer than a trial the agent sleeps (plugin/src/plugin.rs)."""


@dataclass
class FakeRpc:
    """A DUT in which files, programs and the log are what a test says; every probe takes 21 ms of virtual time."""

    files: dict[str, str] = field(default_factory=dict)
    programs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By the beginning of the command line; others succeed."""
    log: list[dict[str, Any]] = field(default_factory=list)
    passes: Callable[[int], bool] = lambda _: True
    """Whether frames pass in the n-th trial."""
    refused: tuple[str, ...] = ()
    """Paths that cannot be written, modules that do not load."""
    now_ns: int = 0
    end_ns: int = 0
    """Of the last trial."""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    trials: list[dict[str, Any]] = field(default_factory=list)

    def call(self, op: str, **arguments: Any) -> Any:
        self.calls.append((op, arguments))
        if op == "clock":
            return {"now_ns": self.now_ns}
        if op == "start":
            trial = arguments["trial"]
            self.trials.append(trial)
            length_ns = sum(trial[name] for name in ("warmup_ns", "duration_ns", "drain_ns"))
            self.end_ns = self.now_ns + length_ns
            return {"origin_ns": self.now_ns, "end_ns": self.end_ns}
        return {}

    def run(self, op: str, patience_ns: int, **arguments: Any) -> Any:
        """Of a trial: the agent sleeps until it has ended."""
        if op == "trial":
            self.end_ns = self.call("start", **arguments)["end_ns"]
        self.calls.append((op, {"patience_ns": patience_ns}))
        self.now_ns = max(self.now_ns, self.end_ns) + MARGIN_NS
        passed = int(self.passes(len(self.trials)))
        return {"streams": [{"received": passed}, {"received": passed}]}

    def guest(self, command: str, limit_ns: int | None = None, **arguments: Any) -> Any:
        self.calls.append((command, {"limit_ns": limit_ns, **arguments}))
        if command == "sleep":
            self.now_ns += arguments["ns"]
        if command == "kmsg":
            records, self.log = self.log, []
            return {"records": records}
        if command == "read":
            globbed = [name for path in arguments["paths"] for name in fnmatch.filter(self.files, path)]
            return {"files": {path: self.files.get(path) for path in [*arguments["paths"], *globbed]}}
        if command == "write":
            if arguments["path"] in self.refused:
                raise TesterError("write: Invalid argument (os error 22)")
            self.done.append(f"{arguments['path']}={arguments['text']}")
        if command == "insmod":
            if arguments["name"] in self.refused:
                raise TesterError("insmod: No such device")
            self.done.append(f"insmod {arguments['name']} {arguments['params']}".strip())
        if command == "exec":
            line = " ".join(arguments["argv"])
            self.done.append(line)
            found = next((answer for start, answer in self.programs.items() if line.startswith(start)), {})
            return {"code": 0, "out": "", "err": "", **found}
        return {}


def dut_with(functional: bool = False, **options: Any) -> tuple[LabDut, FakeRpc]:
    rpc = FakeRpc(**options)
    return LabDut(SimpleNamespace(rpc=rpc, config=SimpleNamespace(functional=functional))), rpc  # type: ignore[arg-type]


def record(text: str, level: int = 4) -> dict[str, Any]:
    return {"level": level, "time_us": 1, "text": text}


def test_a_command_s_output_or_its_error() -> None:
    dut, _ = dut_with(programs={"ip": {"out": "x\n"}, "false": {"code": 3, "err": " no \n"}, "quiet": {"code": 1, "out": "out"}})
    assert dut.run("ip", "link") == "x\n"
    assert dut.attempt("false")["code"] == 3
    with pytest.raises(DutError, match=r"`false now` failed \(3\): no$"):
        dut.run("false", "now")
    with pytest.raises(DutError, match=r"failed \(1\): out$"):
        dut.run("quiet")


@pytest.mark.parametrize(("cpus", "online"), [(1, "0\n"), (4, "0-3\n")])
def test_a_dut_has_the_processors_that_were_asked_for(cpus: int, online: str) -> None:
    dut, _ = dut_with(files={ONLINE: online})
    dut.check_processors(cpus)
    with pytest.raises(DutError, match=f"--cpus 2: the DUT's kernel has brought up processor {online.strip()} only"):
        dut.check_processors(2)


@pytest.mark.parametrize(
    ("processors", "refused"), [(("1", "1"), False), (("1", "0"), True), (("0",), True), (("1",), False), ((), False)]
)
def test_a_dut_whose_timers_expire_with_the_tick_is_refused(processors: tuple[str, ...], refused: bool) -> None:
    lines = [f"  .expires_next   : 7360 nsecs\n  .hres_active    : {active}\n  .nr_events      : 0\n" for active in processors]
    dut, _ = dut_with(files={TIMERS: "Timer List Version: v0.10\n" + "\n".join(lines)})
    with pytest.raises(DutError, match="timers expire with the tick") if refused else contextlib.nullcontext():
        dut.check_timers()


def test_a_sleep_has_its_time_and_some_patience() -> None:
    dut, rpc = dut_with()
    dut.sleep(5)
    dut.patience_ns = 7
    dut.sleep(6)
    assert rpc.calls == [("sleep", {"limit_ns": 5 + PATIENCE_NS, "ns": 5}), ("sleep", {"limit_ns": 13, "ns": 6})]


def test_sysctls_are_files() -> None:
    dut, rpc = dut_with(refused=("/proc/sys/net/core/no",))
    dut.sysctl("net.ipv4.ip_forward", "1")
    assert rpc.done == ["/proc/sys/net/ipv4/ip_forward=1"]
    with pytest.raises(DutError, match=r"sysctl net.core.no=3: write: Invalid argument"):
        dut.sysctl("net.core.no", "3")


def module(name: str) -> Any:
    return SimpleNamespace(name=name, data=name.encode())


def test_modules_load_in_order_and_the_last_has_the_parameters() -> None:
    dut, rpc = dut_with(log=[record("irqmod: hello", 6)])
    dut.load([module("mii"), module("8139cp")], "debug=1")
    assert rpc.done == ["insmod mii", "insmod 8139cp debug=1"]
    assert base64.b64decode(rpc.calls[1][1]["base64"]) == b"8139cp"
    assert dut.kernel_log.lines == ["irqmod: hello"]
    dut, _ = dut_with(refused=("8139cp",))
    with pytest.raises(DutError, match="cannot load the module 8139cp: insmod: No such device"):
        dut.load([module("8139cp")])
    dut, _ = dut_with(log=[record("WARNING: CPU: 0 PID: 1 at x.c:1")])
    with pytest.raises(KernelProblemError):
        dut.load([module("8139cp")])


def test_hosts_are_played_at_each_port() -> None:
    dut, rpc = dut_with()
    dut.play_hosts(100)
    ((op, arguments),) = rpc.calls
    assert op == "ports"
    assert arguments["ports"] == [
        {"mac": addresses.tester_mac(p), "ip": addresses.tester_ip(p), "prefix": 24, "wire_bps": 100} for p in (0, 1)
    ]


def test_a_trial_runs_to_the_end_of_its_drain() -> None:
    dut, rpc = dut_with()
    rpc.now_ns = 1000
    seen: list[int] = []

    def meanwhile(window_ns: int) -> None:
        seen.append(window_ns)
        dut.sleep(3)

    dut.run_trial({"warmup_ns": 10, "duration_ns": 20, "drain_ns": 5, "seed": 9}, [{"a": 1}], meanwhile)
    assert seen == [1010]
    (trial,) = rpc.trials
    assert (trial["id"], trial["seed"], trial["streams"], trial["late_ns"]) == (1, 9, [{"a": 1}], 2 * MS)
    assert rpc.now_ns == 1035 + MARGIN_NS
    assert [op for op, _ in rpc.calls] == ["start", "sleep", "finish"]
    assert rpc.calls[-1] == ("finish", {"patience_ns": dut.patience_ns})
    dut.trial_id = 65535
    dut.run_trial({"warmup_ns": 0, "duration_ns": 0, "drain_ns": 0}, [])
    assert rpc.trials[-1]["id"] == 0


def test_forwarding_is_three_probes_in_a_row() -> None:
    dut, rpc = dut_with(passes=lambda n: n not in (1, 3))
    took_ns = dut.wait_forwarding()
    assert len(rpc.trials) == 6
    assert took_ns == rpc.now_ns == 6 * (21 * MS + 100_000)
    assert [stream["count"] for stream in rpc.trials[0]["streams"]] == [1, 1]


def test_forwarding_has_a_limit() -> None:
    dut, rpc = dut_with(passes=lambda _: False)
    assert dut.wait_forwarding(200 * MS) is None
    assert 200 * MS < rpc.now_ns < 225 * MS


def test_forwarding_may_take_longer_if_the_host_is_the_clock() -> None:
    dut, rpc = dut_with(functional=True, passes=lambda _: False)
    assert dut.wait_forwarding(200 * MS) is None
    assert 2000 * MS < rpc.now_ns < 2250 * MS


INTERFACES_THERE = {f"/sys/class/net/{name}/address": "52:54" for name in ("eth0", "eth1")}


def test_a_router_is_configured_in_order() -> None:
    dut, rpc = dut_with(files={**INTERFACES_THERE, "/sys/class/net/eth0/x": "", "/sys/class/net/eth1/x": ""})
    config = DutConfig(ring=64, sysctls=(("net.core.netdev_budget", "64"),), attributes=(("x", "1"),))
    took_ns = dut.configure(config, "8139cp", "rtl8139")
    assert rpc.done == [
        "/proc/sys/net/ipv4/ip_forward=1", "/proc/sys/net/core/netdev_budget=64",
        "ethtool -G eth0 rx 64 tx 64", f"ip addr add {addresses.dut_ip(0)}/24 dev eth0", "/sys/class/net/eth0/x=1",
        "ethtool -G eth1 rx 64 tx 64", f"ip addr add {addresses.dut_ip(1)}/24 dev eth1", "/sys/class/net/eth1/x=1",
        "ip link set eth0 up", "ip link set eth1 up",
    ]  # fmt: skip
    assert took_ns == 3 * (21 * MS + 100_000)


def test_interfaces_that_the_kernel_found_in_the_other_order_exchange_their_names() -> None:
    files = {f"/sys/class/net/eth{n}/address": f"{addresses.dut_mac(1 - n)}\n" for n in range(2)}
    dut, rpc = dut_with(files=files)
    dut.configure(DutConfig(), "irqmod_lan78xx", "lan7800")
    assert [done for done in rpc.done if " name " in done] == [
        "ip link set eth0 name other", "ip link set eth1 name eth0", "ip link set other name eth1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "config", "said"),
    [
        ({"files": {}, "log": [record("x: no")]}, DutConfig(), r"did not bring up eth0, eth1 on the NIC rtl8139.*\n  x: no"),
        ({"files": {}}, DutConfig(), r"kernel log:\n  \(nothing\)"),
        ({"programs": {"ethtool -G": {"code": 1, "err": "too small"}}}, DutConfig(ring=7), "--ring 7: too small"),
        ({"refused": ("/sys/class/net/eth0/x",)}, DutConfig(attributes=(("x", "1"),)), "eth0: x=1: write: Invalid"),
        (
            {"passes": lambda _: False, "programs": {"ip -s link": {"out": "links\n"}}, "log": [record("carrier lost")]},
            DutConfig(),
            "no frames pass 15 virtual seconds after the links were set up\nlinks\ncarrier lost",
        ),
    ],
)  # fmt: skip
def test_what_keeps_a_router_from_forwarding(options: dict[str, Any], config: DutConfig, said: str) -> None:
    dut, rpc = dut_with(**{"files": dict(INTERFACES_THERE), **options})
    with pytest.raises(DutError, match=said):
        dut.configure(config, "8139cp", "rtl8139")
    assert rpc.now_ns < PROBE_LIMIT_NS + 30 * MS


def test_a_ring_that_is_so_already_is_no_error() -> None:
    dut, _ = dut_with(files=dict(INTERFACES_THERE), programs={"ethtool -G": {"code": 80, "err": "no change"}})
    assert dut.configure(DutConfig(ring=64), "8139cp", "rtl8139") > 0


def test_whereabouts_come_with_the_last_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    dut, _ = dut_with(log=[record(f"line {n}") for n in range(20)])
    dut.kernel_log.news()
    asked: list[int | None] = []

    def take(_machine: object, rsp: int | None) -> Any:
        asked.append(rsp)
        return SimpleNamespace(console=("console",), __str__=lambda: "")

    monkeypatch.setattr("irqlab.dut.router.backtrace.take", take)
    said = dut.whereabouts(NoAnswerError("no", 5)).splitlines()
    assert asked == [5]
    assert said[-13:] == ["last lines of the kernel log:", *(f"  line {n}" for n in range(9, 20)), "  console"]


def test_counters_are_read_from_files_and_programs() -> None:
    commands: Sequence[str] = ("tc -s qdisc show", "ethtool -S eth0", "ethtool -S eth1")
    dut, rpc = dut_with()
    dut.counters()
    assert set(commands) <= set(rpc.done)
