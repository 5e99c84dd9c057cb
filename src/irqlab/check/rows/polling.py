# SPDX-License-Identifier: GPL-2.0-or-later
"""Polling by others: threads, sockets and netpoll."""

from __future__ import annotations

import json
from functools import partial

from irqlab.check import load, wire
from irqlab.check.row import Outcome, Row, Tally, Workplace, not_covered, not_supported
from irqlab.check.subject import Subject
from irqlab.config.addresses import INTERFACES, UDP_DISCARD, dut_ip, stream, tester_ip, tester_mac
from irqlab.dut.kernel_log import PROBLEM, SHOWN_AFTER
from irqlab.dut.router import Dut
from irqlab.qemu.rpc import TesterError

GROUP = "Polling by others"
ETH = INTERFACES[0]
SIGTERM = 15
MESSAGES = 40
OFTEN, DEFER_NS = 100, 50_000
"""How often a timer polls in vain until interrupts are unmasked, and how far apart."""
CALM_PPS = 4_000.0
FEW_PER_FRAME = 0.3
CONSOLE = "/sys/kernel/config/netconsole/check"
MESSAGE = "check: message"


def _threaded(place: Workplace) -> Outcome:
    """NAPI in a thread, switched under load."""
    tally = Tally()
    path = f"/sys/class/net/{ETH}/threaded"
    with place.dut() as dut:
        for value in ("1", "0", "1"):
            try:
                load.during(dut, partial(dut.write, path, value), 200_000_000)
            except TesterError as error:
                return not_supported(f"{path}: {error}")
            now = (dut.read(path)[path] or "").strip()
            tally.expect(now == value, f"{path}: {value} is written, and {now} is read")
            load.passes(dut, tally, f"after threaded {value}")
        dut.run("sh", "-c", f"ip link set {ETH} down; ip link set {ETH} up")
        load.passes(dut, tally, "after down and up with a thread")
    return tally.outcome("NAPI in a thread, switched three times under load: frames pass")


def _needs_threaded(subject: Subject) -> Outcome | None:
    return None if "threaded" in subject.facts.files else not_supported("there is no /sys/class/net/eth0/threaded (Linux 5.12)")


def _busy(place: Workplace) -> Outcome:
    """A socket polls the driver, and returns what it receives."""
    tally = Tally()
    with place.dut(silent=True) as dut:
        for busy in ([], ["--busy-poll", "200"]):
            before = _polled(dut.read("/proc/net/netstat")["/proc/net/netstat"] or "")
            argv = ["irqlab-guest", "udp-receive", "--port", str(UDP_DISCARD), *busy]
            pid = dut.rpc.guest("spawn", argv=argv)["pid"]
            dut.sleep(50_000_000)
            size = {"kind": "fixed", "frame_bytes": 128}
            to_dut = stream(0, 0, {"kind": "constant", "rate_pps": 4000.0}, size) | {"dst_ip": dut_ip(0)}
            across = [stream(p, 1 - p, {"kind": "constant", "rate_pps": 1000.0}, size) for p in (0, 1)]
            found = dut.run_trial({"warmup_ns": 0, "duration_ns": 200_000_000, "drain_ns": 50_000_000}, [to_dut, *across])
            done = dut.rpc.guest("reap", limit_ns=10_000_000_000, pid=pid, signal=SIGTERM)
            datagrams = json.loads(done["out"])["datagrams"]
            sent = found["streams"][0]["sent"] - found["streams"][0]["refused"]
            how = "busy polling" if busy else "without busy polling"
            tally.expect(datagrams == sent, f"{how}: {datagrams} of {sent} datagrams were received")
            lost = sum(one["lost"] for one in found["streams"][1:])
            tally.expect(lost == 0, f"{how}: {lost} forwarded frames were lost meanwhile")
            polled = _polled(dut.read("/proc/net/netstat")["/proc/net/netstat"] or "") - before
            load.passes(dut, tally, f"after {how}")
    if not polled:
        tally.notes.append("no frame was polled by the socket: the driver's frames carry no NAPI ID")
    return tally.outcome(f"a socket that polls the driver received all datagrams, {polled} of them by polling")


def _polled(text: str) -> int:
    names, values = (line.split() for line in text.splitlines() if line.startswith("TcpExt:"))
    return int(dict(zip(names, values, strict=True)).get("BusyPollRxPackets", 0))


def _netconsole(place: Workplace) -> Outcome:
    """Messages go out by netpoll (a poll with a budget of 0), while idle and under load; the ring may be full."""
    tally = Tally()
    with place.dut() as dut:
        wire.load(dut, place.testbed, "netconsole")
        dut.attempt("mount", "-t", "configfs", "none", "/sys/kernel/config")
        settings = {"dev_name": ETH, "local_ip": dut_ip(0), "remote_ip": tester_ip(0), "remote_mac": tester_mac(0)}
        lines = [f"mkdir {CONSOLE}", *(f"echo {value} >{CONSOLE}/{name}" for name, value in settings.items())]
        dut.run("sh", "-c", " && ".join([*lines, "dmesg -n 7"]))
        done = dut.attempt("sh", "-c", f"echo 1 >{CONSOLE}/enabled")
        if done["code"]:
            return not_supported(f"netconsole: {done['err'].strip()}: the driver cannot be polled")
        says = f"n=0; while [ $n -lt {MESSAGES} ]; do n=$((n+1)); echo '<6>{MESSAGE}' $n >/dev/kmsg; done"

        def say(_: int) -> None:
            dut.run("sh", "-c", says)

        idle = dut.run_trial({"warmup_ns": 0, "duration_ns": 300_000_000 * dut.slower, "drain_ns": 1000}, [], say)
        sent = idle["ports"][0]["host"]
        tally.expect(sent >= MESSAGES, f"of {MESSAGES} messages {sent} left")
        for _ in range(3):
            load.during(dut, lambda: dut.run("sh", "-c", says), 300_000_000)
        load.passes(dut, tally, "after messages by netconsole")
        dut.run("sh", "-c", f"echo 0 >{CONSOLE}/enabled; rmdir {CONSOLE}")
        logged = [line.text for line in dut.kernel_log.news() if MESSAGE not in line.text]
        problem = next((number for number, text in enumerate(logged) if PROBLEM.search(text)), len(logged))
        tally.expect(problem == len(logged), f"the kernel logs a problem: {''.join(logged[problem : problem + 1])}")
        tally.notes += logged[problem : problem + SHOWN_AFTER]
        dut.kernel_log.forget()
        load.passes(dut, tally, "after netconsole has ended")
    return tally.outcome(f"{4 * MESSAGES} messages by netconsole, idle and under load: those of the idle DUT left, frames pass")


def _deferred(place: Workplace) -> Outcome:
    """Interrupts that are put off by the kernel (napi_defer_hard_irqs, gro_flush_timeout).

    A timer polls instead. The driver is told by napi_complete_done(), and has to leave its interrupt masked.
    """
    tally = Tally()
    home = f"/sys/class/net/{ETH}"
    with place.dut() as dut:
        usual, _ = _interrupts_per_frame(dut)
        dut.run("sh", "-c", f"echo 2 >{home}/napi_defer_hard_irqs && echo 200000 >{home}/gro_flush_timeout")
        for _ in range(3):
            load.during(dut, lambda: None, 150_000_000)
            load.passes(dut, tally, "with interrupts put off for 200 µs")
        dut.run("sh", "-c", f"echo {OFTEN} >{home}/napi_defer_hard_irqs; echo {DEFER_NS} >{home}/gro_flush_timeout")
        put_off, lost = _interrupts_per_frame(dut)
        what = f"interrupts put off by the kernel: {put_off:.2f} interrupts a frame, {usual:.2f} otherwise"
        tally.expect(not lost, f"interrupts put off by the kernel: {lost} frames were lost")
        if usual > FEW_PER_FRAME and not place.subject.is_usb:
            tally.expect(put_off < FEW_PER_FRAME, f"{what}: the driver unmasks them although napi_complete_done() returns false")
        dut.run("sh", "-c", f"echo 0 >{home}/napi_defer_hard_irqs; echo 0 >{home}/gro_flush_timeout")
        load.passes(dut, tally, "with interrupts as before")
    return tally.outcome(f"{what}; frames pass")


def _interrupts_per_frame(dut: Dut) -> tuple[float, int]:
    """The first interface's, while frames arrive that are far apart; and how many frames were lost."""
    streams = [stream(0, 1, {"kind": "constant", "rate_pps": CALM_PPS}, {"kind": "fixed", "frame_bytes": 64})]
    before = dut.counters().interrupts
    found = dut.run_trial({"warmup_ns": 0, "duration_ns": 200_000_000, "drain_ns": 50_000_000}, streams)["streams"][0]
    after = dut.counters().interrupts
    mine = [after[name] - before.get(name, 0) for name in after if ETH in name]
    return sum(mine) / max(found["sent"], 1), found["lost"]


def _needs_deferred(subject: Subject) -> Outcome | None:
    return (
        None if "napi_defer_hard_irqs" in subject.facts.files else not_supported("there is no napi_defer_hard_irqs (Linux 5.10)")
    )


def _needs_clock(subject: Subject) -> Outcome | None:
    return not_covered("netpoll of USB NICs waits for the host controller: irqlab tap netconsole_usb") if subject.is_usb else None


ROWS = (
    Row("polling-threaded", "NAPI in a thread", GROUP, _threaded, 0.5, needs=_needs_threaded),
    Row("polling-busy", "A socket polls", GROUP, _busy, 0.5),
    Row("polling-netconsole", "netconsole", GROUP, _netconsole, 0.6, needs=_needs_clock, risk=6),
    Row("polling-deferred", "Interrupts put off", GROUP, _deferred, 0.4, needs=_needs_deferred),
)
