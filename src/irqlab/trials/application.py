# SPDX-License-Identifier: GPL-2.0-or-later
"""A trial with a receiving application: the load is addressed to the DUT itself, where a process receives it.

The receiver corresponds to ITGRecv in Salah & Qahtan (2009): one process of normal priority with one UDP socket. A soaker at
idle priority uses all remaining CPU time. Both keep counters in memory that the tester reads exactly at the start and end of
the measurement window, so that even a starved DUT is measured correctly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from irqlab.config.addresses import INTERFACES, dut_ip, stream, tester_ip
from irqlab.config.costs import Costs
from irqlab.config.schemes import Schemes
from irqlab.config.traffic import Load
from irqlab.dut import costmodel, counters, napi, processors, schemes
from irqlab.dut.agent import DutError
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.qemu.rpc import TesterError
from irqlab.trials.record import Answer, Latency, LiveTrial
from irqlab.trials.trial import Conditions, Trial

INTERFACE = INTERFACES[0]
UDP_PORT = 9
RECEIVER_FILE = f"/run/udp-receive.{UDP_PORT}"
SCREEN_FILE = "/run/screen"
SOAKER_FILES = "/run/soak{}"
"""The soaker's file on each processor."""
ANY = "0.0.0.0"
"""The receiver's address if datagrams come to several interfaces."""
SOAKER_UNIT = 1000
"""Instructions per count of the soaker."""
WAIT_STEP_NS = 2_000_000
WAIT_STEPS = 500
KILL = 9
"""SIGKILL."""
SCREEN = "screen0"
"""The tun device of the process on the forwarding path."""
SCREEN_MODULE = "tun"
SCREEN_TABLE = "100"
"""The routing table for what arrives on port 0: everything goes to that device."""

Kind = Literal["udp", "ping", "forward", "screen"]


@dataclass(frozen=True)
class Tuning:
    """Settings made in the DUT before the applications start; None or empty: left unchanged."""

    schemes: Schemes = field(default_factory=Schemes)
    """Schemes of a driver built on irqmod."""
    budget: int | None = None
    """net.core.netdev_budget: maximum frames per run of the receive softirq."""
    ksoftirqd_nice: int | None = None
    """Priority of the kernel thread for softirqs; 19 in Linux 2.6.15, 0 today."""
    napi_threads: str | None = None
    """Poll in a kernel thread of normal priority: one of NAPI_THREADS."""
    defer_hard_irqs: int | None = None
    """napi_defer_hard_irqs: empty polls before the interrupt is unmasked again."""
    gro_flush_timeout_ns: int | None = None
    """Delay to the next poll while the interrupt stays masked."""
    irq_suspend_timeout_ns: int | None = None
    """IRQ suspension (Linux 6.13): how long interrupts stay masked after a poll by epoll found frames."""
    epoll: bool = False
    """The receiver waits in epoll_wait(), not in the receive call."""
    busy_poll_us: int | None = None
    """How long the receiver polls the device before it sleeps: SO_BUSY_POLL; with epoll, EPIOCSPARAMS (or, before Linux 6.9,
    net.core.busy_poll)."""
    busy_poll_budget: int | None = None
    """EPIOCSPARAMS: frames per poll by epoll_wait(); None: the kernel's 8."""
    prefer_busy_poll: bool = False
    """EPIOCSPARAMS: leave interrupts masked between polls by epoll_wait()."""
    screen_queue: int = 31
    """Packets that wait for the process on the forwarding path. Not 32: from there on tun frees its places 16 at a time
    (include/linux/ptr_ring.h), so that between 17 and 32 may wait."""

    @property
    def polls(self) -> bool:
        """Whether the receiver polls the device."""
        return self.busy_poll_us is not None or self.prefer_busy_poll


@dataclass(frozen=True)
class ApplicationTrial(Trial["ApplicationResult"]):
    """A load in one direction, to the DUT's own address on port 0 (or on several ports); echoes come back on the same port."""

    load: Load
    tuning: Tuning = field(default_factory=Tuning)
    kind: Kind = "udp"
    """`ping`: ICMP echo requests, answered by the kernel; `forward`: frames to the host on port 1; `screen`: the same, through a
    process (it needs a testbed with SCREEN_MODULE). None of these uses the receiver."""
    echo: bool = False
    """The receiver echoes every datagram."""
    interfaces: int = 1
    """Of the DUT, each with a NIC: they receive equal shares of the load, for one receiver (`udp` only)."""
    soaker_competes: bool = False
    """The soaker is a process of normal priority, not of idle priority."""
    duration_ns: int = 200_000_000
    warmup_ns: int = 50_000_000
    drain_ns: int = 50_000_000
    above_line_rate: bool = True
    """Allow rates above line rate."""
    seed: int = 1
    histogram: bool = False
    rate_after_ns: tuple[int, ...] = ()
    """Offsets into the window at which the driver's estimate of the rate is read (rx_rate_pps of hybrid)."""
    costs: Costs | None = None
    """Hardware costs to charge; None: leave the cost model alone."""
    more: tuple[Load, ...] = ()
    """Further phases of the load. Rates are those of all; the latency is that of the first."""

    def measure(self, dut: Dut, conditions: Conditions) -> ApplicationResult:
        """Starts the applications, offers the load, and accounts for every frame."""
        dut.play_hosts(0 if self.above_line_rate else conditions.line_rate_bps)
        if self.interfaces > 1 and self.kind != "udp":
            raise IrqlabError(f"a load for {self.interfaces} interfaces needs a receiver, and {self.kind} has none")
        if not dut.interfaces:
            raise IrqlabError("a trial with an application needs an agent that knows the interfaces: --dut and --dut-ports")
        _tune(conditions, dut, self)
        if self.costs is not None:
            if not conditions.cost_model:
                raise IrqlabError("hardware costs need a testbed with a cost model (TestbedConfig.cost_model)")
            costmodel.charge(dut, self.costs)
        with _applications(dut, self, conditions) as watched:
            before = _Reading.take(dut, self.kind == "screen")
            answer, estimates = _offer(dut, self, watched)
            after = _Reading.take(dut, self.kind == "screen")
        dut.kernel_log.check()
        loaded = dut.interfaces[: self.interfaces]
        return _result(conditions, self, loaded, answer, estimates, before, after, dut.kernel_log.lines)

    @property
    def forwards(self) -> bool:
        """Whether frames leave on the other port."""
        return self.kind in ("forward", "screen")

    @property
    def loaded_s(self) -> float:
        """Duration of the load in seconds: warm-up and window."""
        return (self.warmup_ns + self.duration_ns) / 1e9


@dataclass(frozen=True)
class Places:
    """Fate of all frames of the trial, including warm-up; the counts add up to `sent`."""

    sent: int
    nic: int
    """Refused by the NIC, or dropped on its ring, before they reached the kernel."""
    backlog: int
    """Dropped from the backlog (netif_rx)."""
    socket: int
    """Dropped because the socket's receive buffer was full (screen: the queue to the process)."""
    received: int
    """Received by the application (ping, forward: sent by the DUT)."""
    elsewhere: int
    """Lost, but not accounted for by any counter."""
    application: int
    """Of those received: not echoed although they should have been."""


@dataclass(frozen=True)
class ApplicationResult:
    """Result of a trial. The kernel's counters cover the duration of the load, all other values the window."""

    spec: ApplicationTrial
    offered_pps: float
    application_pps: float
    """Rate of datagrams received by the application in the window. Without a receiver: frames sent by the DUT."""
    returned_pps: float
    """Rate of frames that came back to the tester in the window."""
    loss_ratio: float
    """Share of all frames of the trial that the application did not receive."""
    places: Places
    nic_missed: int
    """Frames lost in the NIC that it counted itself (rx_missed_errors)."""
    latency: Latency | None
    """Round trip (forward: one-way latency), ns, as in docs/inside/protocol.md; None without echo."""
    interrupts_per_s: float
    """Interrupts of the receiving device (/proc/interrupts), over the duration of the load."""
    cpu_available: float
    """Share of the window's time in which the soaker ran."""
    ksoftirqd_wakeups_per_s: float
    ksoftirqd_share: float
    """Run time of ksoftirqd as a share of the duration of the load."""
    time_squeezes: int
    """Times the receive softirq ran out of budget or time."""
    switches: int | None
    """Number of times `hybrid` switched between DE and NAPI."""
    rate_estimates_pps: tuple[tuple[int, int], ...]
    """(ns after the start of the window, estimate)."""
    polled: int | None
    """Frames that the receiver took by polling the device (BusyPollRxPackets); None if it does not poll."""
    instructions_per_datagram: float | None
    """Instructions of the window that the soaker did not get, by received datagram; None if none was received."""
    instructions: int
    kernel_log: tuple[str, ...]
    live: LiveTrial | None = None
    """What the tester says about itself, on real ports (irqlab.live.judge); None in the lab."""

    @property
    def cpu_used(self) -> float:
        """Share of CPU time used by kernel and application."""
        return 1.0 - self.cpu_available


ApplicationTrial.result_type = ApplicationResult


def _tune(conditions: Conditions, dut: Dut, spec: ApplicationTrial) -> None:
    driver = conditions.driver
    tuning, loaded = spec.tuning, INTERFACES[: spec.interfaces]
    interfaces = dut.interfaces if spec.forwards else dut.interfaces[: spec.interfaces]
    if tuning.budget is not None:
        dut.sysctl("net.core.netdev_budget", str(tuning.budget))
    if tuning.ksoftirqd_nice is not None:
        for number in dut.ksoftirqds():
            dut.run("renice", str(tuning.ksoftirqd_nice), "-p", str(number))
    schemes.apply(dut, tuning.schemes, interfaces, driver)
    napi.apply(dut, tuning.schemes, interfaces, driver)
    if tuning.napi_threads is not None:
        for interface in loaded:
            napi.set_threads(dut, interface, tuning.napi_threads, driver)
        if tuning.napi_threads != "off":
            processors.place_napi(dut, conditions.placement, loaded)
    if tuning.irq_suspend_timeout_ns is not None:
        wanted = {
            "defer-hard-irqs": tuning.defer_hard_irqs,
            "gro-flush-timeout": tuning.gro_flush_timeout_ns,
            "irq-suspend-timeout": tuning.irq_suspend_timeout_ns,
        }
        for interface in loaded:
            napi.configure(dut, interface, {name: value for name, value in wanted.items() if value is not None}, driver)
        return
    for interface in loaded:
        for name, value in (
            ("napi_defer_hard_irqs", tuning.defer_hard_irqs),
            ("gro_flush_timeout", tuning.gro_flush_timeout_ns),
        ):
            if value is not None:
                try:
                    dut.write(f"/sys/class/net/{interface}/{name}", str(value))
                except TesterError as error:
                    raise DutError(f"the kernel rejected {name} {value} for {driver}: {error}") from error


@contextmanager
def _applications(dut: Dut, spec: ApplicationTrial, conditions: Conditions) -> Iterator[list[int]]:
    """Starts the applications; yields how the tester finds the counters of the soakers and the receiver (Dut.watch).

    Each of several processors has a soaker.
    """
    started: dict[str, int] = {}
    if spec.kind == "udp":
        receiver = processors.on(conditions.placement.application)
        receiver += ["irqlab-guest", "udp-receive", "--bind", dut_ip(0) if spec.interfaces == 1 else ANY, "--port", str(UDP_PORT)]
        receiver += ["--echo"] if spec.echo else []
        receiver += ["--epoll"] if spec.tuning.epoll else []
        receiver += ["--busy-poll", str(spec.tuning.busy_poll_us)] if spec.tuning.busy_poll_us is not None else []
        receiver += ["--busy-poll-budget", str(spec.tuning.busy_poll_budget)] if spec.tuning.busy_poll_budget is not None else []
        receiver += ["--prefer-busy-poll"] if spec.tuning.prefer_busy_poll else []
        started[RECEIVER_FILE] = dut.rpc.guest("spawn", argv=receiver)["pid"]
    if spec.kind == "screen":
        screen = ["irqlab-guest", "screen", "--interface", SCREEN, "--file", SCREEN_FILE]
        started[SCREEN_FILE] = dut.rpc.guest("spawn", argv=screen)["pid"]
    soakers = [SOAKER_FILES.format(number or "") for number in range(conditions.processors)]
    for number, file in enumerate(soakers):
        where = processors.on(number if len(soakers) > 1 else None)
        soaker_argv = [*where, "irqlab-guest", "soak", "--file", file, *(["--normal"] if spec.soaker_competes else [])]
        started[file] = dut.rpc.guest("spawn", argv=soaker_argv)["pid"]
    files = [*soakers, *(file for file in started if file not in soakers)]
    try:
        for file in files:
            _wait_for(dut, file, started[file])
        if spec.kind == "screen":
            _route_to_screen(dut, spec.tuning.screen_queue)
        watched = dut.watch(files)
        soaked = [one["kilo_instructions"] for one in watched[: len(soakers)]]
        yield [*soaked, watched[-1]["datagrams"]] if spec.kind == "udp" else soaked
    finally:
        dut.end(started)


def _route_to_screen(dut: Dut, queue: int) -> None:
    """What arrives on port 0 goes to the process; what it writes back is routed as usual."""
    dut.run("ip", "link", "set", SCREEN, "txqueuelen", str(queue), "up")
    dut.run("ip", "route", "add", "default", "dev", SCREEN, "table", SCREEN_TABLE)
    dut.run("ip", "rule", "add", "iif", INTERFACE, "to", f"{tester_ip(1)}/32", "lookup", SCREEN_TABLE)


def _wait_for(dut: Dut, file: str, pid: int) -> None:
    for _ in range(WAIT_STEPS):
        if dut.read(file)[file]:
            return
        dut.sleep(WAIT_STEP_NS)
    told = dut.rpc.guest("reap", pid=pid, signal=KILL)["err"].strip().removeprefix("irqlab-guest: ")
    raise DutError(f"the test application did not start: {told or f'{file} has not appeared'}")


def _stream(spec: ApplicationTrial, load: Load, port: int) -> dict[str, Any]:
    """The share of a load that one port gets; of several constant ones, frames come in turn."""
    share = replace(load, rate_pps=load.rate_pps / spec.interfaces)
    here = not spec.forwards
    one = stream(port, port if here else 1, share.arrivals_json(), share.size_json())
    one |= {"src_ip": tester_ip(port), "dst_ip": dut_ip(port) if here else tester_ip(1), "dst_port": UDP_PORT}
    one |= {"begin_ns": load.begin_ns, "end_ns": load.end_ns, "count": load.count}
    one |= {"protocol": "icmp" if spec.kind == "ping" else "udp"}
    return one | ({"phase_ns": round(port * 1e9 / load.rate_pps)} if port else {})


def _offer(dut: Dut, spec: ApplicationTrial, watched: list[int]) -> tuple[Answer, tuple[tuple[int, int], ...]]:
    """Offers the load; returns RESULT (docs/inside/protocol.md) and the driver's estimates of the rate."""
    loads = [(load, port) for load in (spec.load, *spec.more) for port in range(spec.interfaces)]
    streams = [_stream(spec, load, port) for load, port in loads]
    trial = {
        "seed": spec.seed,
        "warmup_ns": spec.warmup_ns,
        "duration_ns": spec.duration_ns,
        "drain_ns": spec.drain_ns,
        "histogram": spec.histogram,
        "watch": watched,
    }
    estimates: list[tuple[int, int]] = []

    def meanwhile(begin_ns: int) -> None:
        path = f"/sys/class/net/{dut.interfaces[0]}/irqmod/rx_rate_pps"
        for after_ns in spec.rate_after_ns:
            dut.sleep(max(0, begin_ns + after_ns - int(dut.rpc.call("clock")["now_ns"])))
            at_ns = int(dut.rpc.call("clock")["now_ns"]) - begin_ns
            estimates.append((at_ns, int(dut.read(path)[path] or 0)))

    answer = dut.run_trial(trial, streams, meanwhile if spec.rate_after_ns else None)
    return Answer.of(answer), tuple(estimates)


_SCREEN_DROPS = f"/sys/class/net/{SCREEN}/statistics/tx_dropped"
_SWITCHES = "/sys/class/net/{}/irqmod/rx_switches"


@dataclass(frozen=True)
class _Reading:
    """A reading of the kernel's counters."""

    counters: Any
    snmp: dict[str, dict[str, int]]
    receiver: dict[str, int]
    screen_drops: int
    polled: int
    wakeups: int
    run_ns: int
    switches: dict[str, int | None]
    """By interface: how often hybrid has changed between its forms; None: the driver has no hybrid."""

    @classmethod
    def take(cls, dut: Dut, screen: bool = False) -> _Reading:
        """`screen`: there is a process on the forwarding path."""
        files = dut.read("/proc/net/snmp", "/proc/net/netstat")
        threads = [(f"/proc/{number}/status", f"/proc/{number}/schedstat") for number in dut.ksoftirqds()]
        switches = {interface: _SWITCHES.format(interface) for interface in dut.interfaces}
        found = dut.read(*(file for pair in threads for file in pair), *switches.values())
        receiver = dut.attempt("irqlab-guest", "counters", RECEIVER_FILE)
        return cls(
            counters=dut.counters(),
            snmp=parse_snmp(files["/proc/net/snmp"] or ""),
            receiver=json.loads(receiver["out"]) if receiver["code"] == 0 else {},
            screen_drops=int(dut.read(_SCREEN_DROPS)[_SCREEN_DROPS] or 0) if screen else 0,
            polled=parse_snmp(files["/proc/net/netstat"] or "").get("TcpExt", {}).get("BusyPollRxPackets", 0),
            wakeups=sum(voluntary_switches(found[status] or "") for status, _ in threads),
            run_ns=sum(int((found[schedstat] or "0").split()[0]) for _, schedstat in threads),
            switches={name: None if (text := found[file]) is None else int(text) for name, file in switches.items()},
        )


def _switches(before: _Reading, after: _Reading, interface: str) -> int | None:
    """Of hybrid, between two readings; the total has 32 bits."""
    first, last = (reading.switches.get(interface) for reading in (before, after))
    return None if first is None or last is None else (last - first) % 2**32


def parse_snmp(text: str) -> dict[str, dict[str, int]]:
    """Counters of /proc/net/snmp or netstat by protocol; the files have pairs of lines, names and values."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return {
        names[0].rstrip(":"): {name: int(value) for name, value in zip(names[1:], values[1:], strict=True)}
        for names, values in zip(lines[::2], lines[1::2], strict=True)
    }


def voluntary_switches(status: str) -> int:
    """Voluntary context switches of a thread (/proc/PID/status); for a kernel thread, the number of wake-ups."""
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "voluntary_ctxt_switches":
            return int(value)
    return 0


def _result(
    conditions: Conditions,
    spec: ApplicationTrial,
    interfaces: Sequence[str],
    answer: Answer,
    estimates: tuple[tuple[int, int], ...],
    before: _Reading,
    after: _Reading,
    kernel_log: list[str],
) -> ApplicationResult:
    counted = counters.difference(before.counters, after.counters)
    window_s = spec.duration_ns / 1e9
    received = spec.kind == "udp"
    watched = [end - begin for begin, end in answer.watched]
    places = _places(spec, interfaces, answer, counted, before, after)
    came_back = answer.sum("received_in_window")
    switches = [_switches(before, after, interface) for interface in interfaces]
    datagrams = watched[-1] if received else came_back
    soaked_ratio, executed = _soaked(conditions, spec, answer, sum(watched[: conditions.processors]))
    return ApplicationResult(
        spec=spec,
        offered_pps=answer.sum("sent") / window_s,
        application_pps=datagrams / window_s,
        returned_pps=came_back / window_s,
        loss_ratio=1 - places.received / places.sent if places.sent else 0.0,
        places=places,
        nic_missed=sum(counted.interfaces[interface]["rx_missed_errors"] for interface in interfaces),
        latency=answer.streams[0].latency if spec.echo or not received else None,
        interrupts_per_s=sum(n for name, n in counted.interrupts.items() if any(interface in name for interface in interfaces))
        / spec.loaded_s,
        cpu_available=soaked_ratio,
        ksoftirqd_wakeups_per_s=(after.wakeups - before.wakeups) / spec.loaded_s,
        ksoftirqd_share=(after.run_ns - before.run_ns) / 1e9 / spec.loaded_s,
        time_squeezes=counted.time_squeezes,
        switches=None if None in switches else sum(filter(None, switches)),
        rate_estimates_pps=estimates,
        polled=after.polled - before.polled if spec.tuning.polls else None,
        instructions_per_datagram=executed / datagrams if datagrams and executed is not None else None,
        instructions=answer.instructions,
        kernel_log=tuple(kernel_log),
        live=answer.live,
    )


def _soaked(conditions: Conditions, spec: ApplicationTrial, answer: Answer, count: int) -> tuple[float, int | None]:
    """The soakers' share of the processors' time, and the instructions of all others; None: not known, on a real machine."""
    if (share := answer.soaked_ratio) is not None:
        return share, None
    soaked = count * SOAKER_UNIT
    if conditions.instruction_ns is not None:  # the soaker's few instructions stay in the caches
        return soaked * conditions.instruction_ns / spec.duration_ns / conditions.processors, answer.instructions - soaked
    executed = spec.duration_ns * conditions.mips // 1000 * conditions.processors
    return soaked / executed, executed - soaked


def _places(
    spec: ApplicationTrial, interfaces: Sequence[str], answer: Answer, counted: Any, before: _Reading, after: _Reading
) -> Places:
    def snmp(group: str, name: str) -> int:
        return after.snmp[group].get(name, 0) - before.snmp[group].get(name, 0)

    sent = sum(port.sent for port in answer.ports[: spec.interfaces])
    taken = sum(counted.interfaces[interface]["rx_packets"] for interface in interfaces)
    backlog = counted.backlog_drops
    if spec.kind != "udp":
        out = answer.ports[0 if spec.kind == "ping" else 1].received
        queue = after.screen_drops - before.screen_drops if spec.kind == "screen" else 0
        return Places(sent, sent - taken, backlog, queue, out, taken - backlog - queue - out, 0)
    received = after.receiver["datagrams"] - before.receiver["datagrams"]
    socket = snmp("Udp", "RcvbufErrors")
    unsent = received - (after.receiver["echoed"] - before.receiver["echoed"]) if spec.echo else 0
    return Places(sent, sent - taken, backlog, socket, received, taken - backlog - socket - received, unsent)
