# SPDX-License-Identifier: GPL-2.0-or-later
"""Power: suspend and resume, wake armed, runtime power management."""

from __future__ import annotations

from irqlab.check import load
from irqlab.check.row import Outcome, Row, Tally, Workplace, not_supported
from irqlab.check.subject import Subject
from irqlab.config.addresses import INTERFACES
from irqlab.dut.router import Dut

GROUP = "Power"
ETH = INTERFACES[0]
SUSPEND = "echo mem >/sys/power/state"
TEST = "echo devices >/sys/power/pm_test; echo 0 >/sys/module/suspend/parameters/pm_test_delay"
"""Only the drivers suspend and resume, so no wake-up source is needed."""
LOAD_NS = 200_000_000


def _suspend(place: Workplace) -> Outcome:
    tally = Tally()
    with place.dut() as dut:
        dut.run("sh", "-c", TEST)
        before = load.state(dut)
        for number in range(4):
            load.during(dut, lambda: dut.run("sh", "-c", SUSPEND), LOAD_NS + number * 7_000_000)
            if not load.passes(dut, tally, f"after suspend and resume under traffic, {number + 1}"):
                return tally.outcome("")
        dut.run("ip", "link", "set", ETH, "down")
        dut.run("sh", "-c", SUSPEND)
        dut.run("ip", "link", "set", ETH, "up")
        load.passes(dut, tally, "after suspend and resume while the interface was down")
        dut.run("ip", "link", "set", ETH, "promisc", "on")
        dut.run("sh", "-c", SUSPEND)
        load.passes(dut, tally, "after suspend and resume in promiscuous mode")
        dut.run("ip", "link", "set", ETH, "promisc", "off")
        load.same(tally, before, load.state(dut), "after suspend and resume")
    return tally.outcome("six times suspend and resume, four of them under traffic: frames pass, all is as before")


def _wake(place: Workplace) -> Outcome:
    tally = Tally()
    modes = place.subject.facts.link.get("Supports Wake-on", "")
    with place.dut() as dut:
        dut.run("sh", "-c", TEST)
        for mode in modes:
            if mode == "d":
                continue
            done = dut.attempt("ethtool", "-s", ETH, "wol", mode)
            if "not supported" in done["err"] and not _can_wake(dut):
                return not_supported("/sys/class/net/eth0/device/power/wakeup is empty: the device cannot wake this machine")
            tally.expect(done["code"] == 0, f"ethtool -s wol {mode} fails, and is supported: {done['err'].strip()}")
            shown = dut.attempt("ethtool", ETH)["out"]
            if done["code"] == 0:
                tally.expect(f"\tWake-on: {mode}" in shown, f"wol {mode} is set, and not shown")
            dut.run("sh", "-c", SUSPEND)
            if not load.passes(dut, tally, f"after suspend and resume with wol {mode}"):
                return tally.outcome("")
        dut.attempt("ethtool", "-s", ETH, "wol", "d")
        done = dut.attempt("ethtool", "-s", ETH, "wol", next(mode for mode in "fsabmpug" if mode not in modes))
        tally.expect(done["code"] != 0, "a mode of waking is accepted that is not supported")
    return tally.outcome(f"suspend and resume with each way of waking ({modes}): frames pass")


def _can_wake(dut: Dut) -> bool:
    path = f"/sys/class/net/{ETH}/device/power/wakeup"
    return bool((dut.read(path)[path] or "").strip())


def _needs_wake(subject: Subject) -> Outcome | None:
    modes = subject.facts.link.get("Supports Wake-on", "")
    if not modes or modes == "d":
        return not_supported(f"ethtool: Supports Wake-on: {modes or 'not said'}")
    return None


def _runtime(place: Workplace) -> Outcome:
    """The device may sleep while the interface is down."""
    tally = Tally()
    power = f"/sys/class/net/{ETH}/device{'/..' if place.subject.is_usb else ''}/power"
    with place.dut() as dut:
        delay = f"echo 0 >{power}/autosuspend_delay_ms 2>/dev/null"
        dut.run(
            "sh",
            "-c",
            f"p=$(readlink -f {power}); echo $p >/tmp/power; cd $p; echo auto >control; {delay.replace(power, '$p')}; true",
        )
        home = dut.run("cat", "/tmp/power").strip()
        states = []
        for _ in range(3):
            dut.run("ip", "link", "set", ETH, "down")
            dut.sleep(3_000_000_000)
            states.append((dut.read(f"{home}/runtime_status")[f"{home}/runtime_status"] or "?").strip())
            for option in ("-S", "-d", "-k", ""):
                dut.attempt("sh", "-c", f"ethtool {option} {ETH} >/dev/null 2>&1")
            dut.run("ip", "link", "set", ETH, "up")
            if not load.passes(dut, tally, f"after the device was {states[-1]} while the interface was down"):
                break
        load.during(dut, lambda: dut.run("sh", "-c", f"echo on >{home}/control"), LOAD_NS)
        load.passes(dut, tally, "after runtime power management was switched off")
    return tally.outcome(
        f"down with runtime power management allowed ({', '.join(dict.fromkeys(states))}): frames pass afterwards"
    )


def _needs_runtime(subject: Subject) -> Outcome | None:
    if "device/power/control" in subject.facts.files or subject.is_usb:
        return None
    return not_supported("there is no device/power/control")


ROWS = (
    Row("power-suspend", "Suspend and resume", GROUP, _suspend, 0.8, risk=6),
    Row("power-wake", "Wake armed", GROUP, _wake, 0.6, needs=_needs_wake),
    Row("power-runtime", "Runtime power management", GROUP, _runtime, 0.5, needs=_needs_runtime),
)
