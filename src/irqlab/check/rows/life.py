# SPDX-License-Identifier: GPL-2.0-or-later
"""Life: load, probe, up, down, unbind, unload, many times and under traffic."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from functools import partial

from irqlab.check import load
from irqlab.check.row import Outcome, Row, Tally, Workplace, not_supported, passed
from irqlab.check.subject import Subject
from irqlab.config.addresses import INTERFACES, dut_ip
from irqlab.dut.agent import DutError
from irqlab.dut.router import Dut
from irqlab.setup import modules

GROUP = "Life"
CYCLES = 40
LEAST_CYCLES = 12
READ_EVERY = 4
"""Memory is read after so many cycles."""
LEAK_KIB = 4
"""Memory that a cycle may not cost for good, on average."""
WATCHDOG = "NETDEV WATCHDOG"
TOLD_NS = 6_000_000_000
"""Within this time a driver that is told of a reset has its link up again."""
APPEARS_NS, STEP_NS = 10_000_000_000, 100_000_000
MEMORY = "/proc/meminfo"


def _up(place: Workplace) -> Outcome:
    facts = place.subject.facts
    info = ", ".join(f"{name} {facts.info[name]}" for name in ("driver", "version", "firmware-version") if facts.info.get(name))
    return passed(
        f"both interfaces come up and forward, and the kernel logs nothing above info ({info or 'ethtool -i says nothing'})"
    )


def free_kib(dut: Dut) -> int:
    """Free memory, without caches."""
    dut.run("sh", "-c", "sync; echo 3 >/proc/sys/vm/drop_caches")
    text = dut.read(MEMORY)[MEMORY] or ""
    return int(re.findall(r"^MemFree: *(\d+) kB", text, re.MULTILINE)[0])


def leak_kib(readings: Sequence[tuple[int, int]]) -> float:
    """Memory in KiB that each cycle loses for good: (cycle, free KiB), in order. The less of both halves: caches grow once."""
    if len(readings) < 3:
        return 0.0
    middle = len(readings) // 2
    halves = ((readings[0], readings[middle]), (readings[middle], readings[-1]))
    return min((first - last) / (end - begin) for (begin, first), (end, last) in halves)


def _cycles(place: Workplace, dut: Dut, tally: Tally, what: str, script: str) -> int:
    """Runs a shell script again and again, and compares memory after the first times. Returns how often."""
    readings: list[tuple[int, int]] = []
    number = 0
    while number < CYCLES and not (number >= LEAST_CYCLES and place.allowance.over):
        number += 1
        done = dut.attempt("sh", "-c", script)
        if not tally.expect(done["code"] == 0, f"{what}, {number}: {(done['err'] or done['out']).strip()}"):
            return number
        if number % READ_EVERY == 0:
            readings.append((number, free_kib(dut)))
    if place.testbed.config.cpus > 1:  # each keeps some memory for itself
        return number
    lost = leak_kib(readings)
    tally.expect(lost < LEAK_KIB, f"each {what} loses {lost:.1f} KiB of memory (free after each {READ_EVERY}: {readings})")
    return number


def _down_up(place: Workplace) -> Outcome:
    tally = Tally()
    with place.dut() as dut:
        before = load.state(dut)
        for number in range(4):
            for interface in INTERFACES:
                load.during(
                    dut,
                    partial(dut.run, "sh", "-c", f"ip link set {interface} down; ip link set {interface} up"),
                    200_000_000 + number * 10_000_000,
                )
            if not load.passes(dut, tally, f"down and up under traffic, {number + 1}"):
                return tally.outcome("")
        down_up = "; ".join(f"ip link set {interface} {state}" for interface in INTERFACES for state in ("down", "up"))
        count = _cycles(place, dut, tally, "down and up", down_up)
        load.passes(dut, tally, f"after {count} times down and up")
        load.same(tally, before, load.state(dut), "after down and up")
    return tally.outcome(
        f"{count} times down and up, and 8 times under traffic: frames pass, no memory is lost, all is as before"
    )


def bus(dut: Dut, interface: str) -> tuple[str, str]:
    """The name of the device on its bus, and the directory of its driver there."""
    device = dut.run("readlink", "-f", f"/sys/class/net/{interface}/device").strip()
    driver = dut.run("readlink", "-f", f"/sys/class/net/{interface}/device/driver").strip()
    return device.rpartition("/")[2], driver


def configure(dut: Dut, interface: str) -> None:
    """Waits for an interface, and gives it its address."""
    for _ in range(APPEARS_NS // STEP_NS):
        if dut.read(f"/sys/class/net/{interface}/address")[f"/sys/class/net/{interface}/address"]:
            break
        dut.sleep(STEP_NS)
    else:
        raise DutError(f"{interface} does not come back")
    dut.run("ip", "addr", "replace", f"{dut_ip(INTERFACES.index(interface))}/24", "dev", interface)
    dut.run("ip", "link", "set", interface, "up")


def _unbind(place: Workplace) -> Outcome:
    tally = Tally()
    with place.dut() as dut:
        before = load.state(dut)
        for interface in reversed(INTERFACES):
            device, driver = bus(dut, interface)
            load.during(dut, partial(dut.run, "sh", "-c", f"echo {device} >{driver}/unbind"), 150_000_000)
            tally.expect(not _exists(dut, interface), f"{interface} is still there after unbind")
            dut.run("sh", "-c", f"echo {device} >{driver}/bind")
            configure(dut, interface)
            load.passes(dut, tally, f"{interface} was unbound under traffic, and bound")
        device, driver = bus(dut, INTERFACES[1])
        script = f"echo {device} >{driver}/unbind && echo {device} >{driver}/bind && sleep 0.1 && ip link set {INTERFACES[1]} up"
        count = _cycles(place, dut, tally, "unbind and bind", script)
        configure(dut, INTERFACES[1])
        load.passes(dut, tally, f"after {count} times unbind and bind")
        load.same(tally, before, load.state(dut), "after unbind and bind")
    return tally.outcome(f"{count} times unbind and bind, twice under traffic: frames pass, no memory is lost, all is as before")


def _exists(dut: Dut, interface: str) -> bool:
    return dut.read(f"/sys/class/net/{interface}/address")[f"/sys/class/net/{interface}/address"] is not None


def _reload(place: Workplace) -> Outcome:
    tally = Tally()
    module = place.testbed.modules[-1]
    parameters = place.testbed.config.dut.module_parameters
    with place.dut() as dut:
        before = load.state(dut)
        load.during(dut, lambda: dut.run("rmmod", module.name), 150_000_000)
        tally.expect(not _exists(dut, INTERFACES[0]), "an interface is still there after rmmod")
        path = f"/tmp/{module.name}.ko"
        dut.rpc.guest("write", path=path, base64=base64.b64encode(module.data).decode())
        up = "; ".join(f"ip link set {interface} up" for interface in INTERFACES)
        script = f"insmod {path} {parameters} && sleep 0.2 && {up} && sleep 0.05 && rmmod {module.name}"
        count = _cycles(place, dut, tally, "load, up and unload", script)
        dut.run("insmod", path, *parameters.split())
        for interface in INTERFACES:
            configure(dut, interface)
        load.passes(dut, tally, f"after {count} times load and unload")
        load.same(tally, before, load.state(dut), "after load and unload")
    return tally.outcome(
        f"{count} times load, up and unload, once under traffic: frames pass, no memory is lost, all is as before"
    )


def _reset(place: Workplace) -> Outcome:
    """A reset that the driver may not be told of: then frames have to pass when the interface was set down and up."""
    tally = Tally()
    interface = INTERFACES[0]
    reset = f"/sys/class/net/{interface}/device/reset"
    with place.dut() as dut:
        before = load.state(dut)
        told = True
        for number in range(3):
            load.during(dut, lambda: dut.run("sh", "-c", f"echo 1 >{reset}"), 200_000_000)
            waited_ns = dut.wait_forwarding(TOLD_NS)
            if any(WATCHDOG in record.text for record in dut.kernel_log.news()):  # or the watchdog tells it
                told = False
                dut.kernel_log.forget()
            if waited_ns is None:
                told = False
                dut.run("sh", "-c", f"ip link set {interface} down; ip link set {interface} up")
                dut.kernel_log.forget()
            if not load.passes(dut, tally, f"the PCI function was reset under traffic, {number + 1}"):
                return tally.outcome("")
        dut.run("ip", "link", "set", interface, "down")
        dut.run("sh", "-c", f"echo 1 >{reset}")
        dut.run("ip", "link", "set", interface, "up")
        load.passes(dut, tally, "the PCI function was reset while the interface was down")
        load.same(tally, before, load.state(dut), "after a reset")
    how = (
        "by itself"
        if told
        else "after the watchdog, or down and up: the driver is not told of a reset (reset_prepare, reset_done)"
    )
    return tally.outcome(f"reset three times under traffic and once while down: frames pass {how}, all is as before")


def _needs_reset(subject: Subject) -> Outcome | None:
    if "device/reset" in subject.facts.files:
        return None
    return not_supported("there is no /sys/class/net/eth0/device/reset: the function cannot be reset by itself")


def _remove(place: Workplace) -> Outcome:
    """The device is removed from the bus, and found again."""
    tally = Tally()
    interface = INTERFACES[1]
    with place.dut() as dut:
        device, _ = bus(dut, interface)
        for number in range(3):
            load.during(dut, lambda: dut.run("sh", "-c", f"echo 1 >/sys/bus/pci/devices/{device}/remove"), 150_000_000)
            tally.expect(not _exists(dut, interface), f"{interface} is still there after it was removed")
            dut.run("sh", "-c", "echo 1 >/sys/bus/pci/rescan")
            configure(dut, interface)
            if not load.passes(dut, tally, f"the device was removed from the bus and found again, {number + 1}"):
                break
    return tally.outcome("removed from the bus and found again three times under traffic: frames pass")


ERRORS = "irqlab_pci_error"
"""A module of ours, which takes a driver through the steps of PCI error recovery (drivers/pci_error)."""


def _pci_error(place: Workplace) -> Outcome:
    """A fatal PCI error under traffic, while down, and twice; the driver recovers the function."""
    tally = Tally()
    interface = INTERFACES[0]
    with place.dut() as dut:
        dut.load(modules.load(place.testbed.machine.kernel, ERRORS))
        device, _ = bus(dut, interface)

        def step(name: str) -> str:
            done = dut.attempt("sh", "-c", f"echo {device} >/sys/module/{ERRORS}/parameters/{name}")
            return str(done["err"]).strip() if done["code"] else ""

        before = load.state(dut)
        said: list[str] = []
        for number, state in enumerate(("up", "up", "down")):
            dut.run("ip", "link", "set", interface, state)
            load.during(dut, lambda: said.append(step("freeze")), 150_000_000)
            if "not supported" in said[-1]:
                return not_supported("the driver has no pci_error_handlers with error_detected, slot_reset and resume")
            tally.expect(not said[-1], f"error_detected() does not ask for a reset: {said[-1]}")
            if number == 1:  # the administrator sets it down meanwhile
                dut.attempt("ip", "link", "set", interface, "down")
            wrong = step("recover")
            if not tally.expect(not wrong, f"the driver does not recover after a reset: {wrong}"):
                return tally.outcome("")
            dut.run("ip", "link", "set", interface, "up")
            if not load.passes(dut, tally, f"after a fatal PCI error while {state}, {number + 1}"):
                return tally.outcome("")
        load.same(tally, before, load.state(dut), "after PCI errors")
    return tally.outcome(
        "three fatal PCI errors, under traffic, set down meanwhile, and while down: the driver recovers, frames pass"
    )


def _needs_pci(subject: Subject) -> Outcome | None:
    return not_supported("it is a USB device") if subject.is_usb else None


ROWS = (
    Row("life-up", "Comes up", GROUP, _up, 0.1, risk=10),
    Row("life-down-up", "Down and up", GROUP, _down_up, 1.0, risk=6),
    Row("life-unbind", "Unbind and bind", GROUP, _unbind, 1.0, risk=5),
    Row("life-reload", "Load and unload", GROUP, _reload, 1.0, risk=5),
    Row("life-reset", "Reset of the PCI function", GROUP, _reset, 0.7, needs=_needs_reset),
    Row("life-pci-error", "PCI error recovery", GROUP, _pci_error, 0.5, needs=_needs_reset),
    Row("life-remove", "Removed from the bus", GROUP, _remove, 0.5, needs=_needs_pci),
)
