# SPDX-License-Identifier: GPL-2.0-or-later
"""Settings: whatever ethtool shows as changeable is changed under load and read back; bad values change nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from irqlab.check import load
from irqlab.check.row import Outcome, Row, Tally, Workplace, not_covered, not_supported
from irqlab.check.subject import Subject
from irqlab.config.addresses import INTERFACES, stream
from irqlab.dut.facts import Rings, coalescing_of, features_of, private_flags_of, rings_of
from irqlab.dut.router import Dut
from irqlab.hunting.changes import DOWN, UP

GROUP = "Settings"
ETH = INTERFACES[0]
LOAD_NS = 150_000_000
USECS = (250, 100, 1000)
FRAMES_PPS, EFFECT_NS = 20_000.0, 300_000_000
ROOM, FEW_PER_S = 1.25, 100.0
"""How many more interrupts than rx-usecs allows may come: the watchdogs and timers of drivers cause some."""
SOON_NS = 20_000_000
GAPS_NS = (0, 1_000_000, 3_000_000, 10_000_000, 30_000_000)
"""From a change to the next one: timers and work that the first one has started run during the second one."""
BEFORE_LINK_NS = (1_000_000, 4_000_000, 8_000_000, 12_000_000, 20_000_000, 50_000_000)
"""And so long before the link is back: then drivers work on it."""
LINK_STEP_NS, LINK_STEPS = 2_000_000, 1500
UNSWITCHED = frozenset({
    "ntuple-filters", "receive-hashing", "rx-fcs", "rx-all", "tx-nocache-copy", "hw-tc-offload", "loopback", "esp-hw-offload",
    "rx-gro-list", "rx-udp-gro-forwarding", "macsec-hw-offload", "l2-fwd-offload", "hsr-dup-offload",
})  # fmt: skip
"""Features that change what frames are received, or that a path of their own must use."""


def _under_load(dut: Dut, tally: Tally, what: str, argv: Sequence[str]) -> bool:
    """Runs a command under load; whether it succeeded. Afterwards frames have to pass."""
    done = _done_under_load(dut, argv)
    right = bool(done["code"] == 0)
    tally.expect(right, f"{what}: {' '.join(argv)}: {done['err'].strip()}")
    load.passes(dut, tally, f"after {what}")
    return right


def _done_under_load(dut: Dut, argv: Sequence[str]) -> dict[str, Any]:
    done: list[dict[str, Any]] = []
    load.during(dut, lambda: done.append(dut.attempt(*argv)), LOAD_NS)
    return done[0]


def _refused(dut: Dut, tally: Tally, show: Callable[[], object], argv: Sequence[str]) -> None:
    """A bad value gets an error and changes nothing."""
    before = show()
    done = dut.attempt(*argv)
    text = " ".join(argv)
    tally.expect(done["code"] != 0, f"{text} is accepted")
    old, new = str(before).splitlines(), str(show()).splitlines()
    changed = [f"{a.strip()} became {b.strip()}" for a, b in zip(old, new, strict=False) if a != b]
    tally.expect(old == new, f"{text} is refused, and changes something: {'; '.join(changed) or 'lines'}")


def _rings(place: Workplace) -> Outcome:
    tally = Tally()
    rings = place.subject.facts.rings
    assert rings is not None
    with place.dut() as dut:

        def show() -> Rings:
            return ask_rings(dut) or rings

        for side, now, most in (("rx", rings.rx, rings.rx_max), ("tx", rings.tx, rings.tx_max)):
            for size in (most, max(now // 2, 1), now):
                if getattr(show(), side) == size:
                    continue
                done = dut.attempt("ethtool", "-G", ETH, side, str(size))
                if done["code"] and size < now:
                    tally.notes.append(f"{side} {size} is refused")
                    continue
                tally.expect(done["code"] == 0, f"ethtool -G {side} {size}: {done['err'].strip()}")
                found = getattr(show(), side)
                tally.expect(found >= size or size > most, f"ethtool -G {side} {size}: it shows {found} then")
                load.passes(dut, tally, f"after {side} {size}")
            if getattr(show(), side) != now:
                dut.attempt("ethtool", "-G", ETH, side, str(now))
            _refused(dut, tally, show, ("ethtool", "-G", ETH, side, str(most + 1)))
        if place.subject.facts.rings != show():
            tally.notes.append(f"at the end it shows {show()}")
        _under_load(dut, tally, "other rings under load", ("ethtool", "-G", ETH, "rx", str(rings.rx_max)))
        dut.run("ip", "link", "set", ETH, "down")
        dut.run("ip", "link", "set", ETH, "up")
        tally.expect(show().rx == rings.rx_max, "the rings are other ones after down and up")
        load.passes(dut, tally, "with the largest ring, after down and up")
    return tally.outcome(f"{tally.looked} facts about ring sizes: changed, read back, kept, and what is too large is refused")


def ask_rings(dut: Dut) -> Rings | None:
    """The rings now."""
    return rings_of(dut.attempt("ethtool", "-g", ETH)["out"])


def _needs_rings(subject: Subject) -> Outcome | None:
    rings = subject.facts.rings
    if rings is None:
        return not_supported(subject.facts.refusal("-g"))
    if "-g" in subject.facts.refusals:
        return not_supported(subject.facts.refusal("-g"))
    return None


def _fixed_rings(subject: Subject) -> Outcome | None:
    found = _needs_rings(subject)
    rings = subject.facts.rings
    if found is None and rings is not None and (rings.rx, rings.tx) == (rings.rx_max, rings.tx_max):
        with subject.testbed.open() as dut:
            done = dut.attempt("ethtool", "-G", ETH, "rx", str(max(rings.rx // 2, 1)))
        if "not supported" in done["err"]:
            return not_supported(f"ethtool -G: {done['err'].strip().splitlines()[-1]}")
    return found


def _coalescing(place: Workplace) -> Outcome:
    """Each parameter is set to other values under load, and read back."""
    tally = Tally()
    facts = place.subject.facts
    with place.dut() as dut:
        changed: dict[str, int] = {}
        for name, value in facts.coalescing.items():
            for other in (value + 1, 2 * value or 8, value):
                if dut.attempt("ethtool", "-C", ETH, name, str(other))["code"] == 0:
                    found = ask_coalescing(dut).get(name)
                    tally.expect(found is not None, f"ethtool -C {name} {other}: it is not shown any more")
                    if found != other:
                        tally.notes.append(f"{name} {other} becomes {found}")
                    if other != value:
                        changed[name] = other
            if place.allowance.over:
                break
        if not changed:
            return not_supported(f"ethtool -C: none of {', '.join(facts.coalescing) or 'the parameters'} can be changed")
        for name, other in changed.items():
            value = facts.coalescing[name]
            _under_load(dut, tally, f"{name} {other}", ("ethtool", "-C", ETH, name, str(other)))
            dut.attempt("ethtool", "-C", ETH, name, str(value))
            before = ask_coalescing(dut)
            done = dut.attempt("ethtool", "-C", ETH, name, "4294967295")
            if done["code"]:
                tally.expect(ask_coalescing(dut) == before, f"ethtool -C {name} 4294967295 fails, and changes settings")
            else:
                tally.notes.append(f"{name} 4294967295 is accepted, and becomes {ask_coalescing(dut).get(name)}")
                dut.attempt("ethtool", "-C", ETH, name, str(value))
            load.passes(dut, tally, f"after {name} 4294967295")
    return tally.outcome(f"changed under load and read back: {', '.join(changed)}")


def _effect(place: Workplace) -> Outcome:
    """rx-usecs bounds the interrupts a second of an interface that only receives."""
    tally = Tally()
    facts = place.subject.facts
    if "rx-usecs" not in facts.coalescing:
        return not_supported("ethtool -c shows no rx-usecs")
    with place.dut() as dut:
        dut.attempt("ethtool", "-C", ETH, "adaptive-rx", "off")
        tried = []
        for usecs in USECS:
            done = dut.attempt("ethtool", "-C", ETH, "rx-usecs", str(usecs))
            if done["code"] or ask_coalescing(dut).get("rx-usecs") != usecs:
                tally.notes.append(f"rx-usecs {usecs} is not taken: {done['err'].strip()}")
                continue
            dut.wait_forwarding()
            per_s = _busiest(dut)
            tried.append(f"{usecs}: {per_s:,.0f}")
            what = f"rx-usecs {usecs}: {per_s:,.0f} interrupts a second, and one may come every {usecs} \u00b5s"
            tally.expect(per_s <= 1e6 / usecs * ROOM + FEW_PER_S, what)
            load.passes(dut, tally, f"with rx-usecs {usecs}")
    if not tried:
        return not_supported(f"ethtool -C rx-usecs: {tally.notes[-1]}")
    return tally.outcome(f"interrupts a second while {FRAMES_PPS:,.0f} frames a second arrive, by rx-usecs: {'; '.join(tried)}")


def _busiest(dut: Dut) -> float:
    """Interrupts a second of the interface's busiest vector while it receives more frames than it may have interrupts."""
    streams = [stream(0, 1, {"kind": "constant", "rate_pps": FRAMES_PPS}, {"kind": "fixed", "frame_bytes": 64})]
    before = _vectors(dut)
    dut.run_trial({"warmup_ns": 0, "duration_ns": EFFECT_NS, "drain_ns": 1_000_000}, streams)
    after = _vectors(dut)
    return max((after[number] - before.get(number, 0) for number in after), default=0) * 1e9 / EFFECT_NS


def _vectors(dut: Dut) -> dict[str, int]:
    """Interrupts so far of the interface's vectors, by number."""
    text = dut.read("/proc/interrupts")["/proc/interrupts"] or ""
    found = re.findall(rf"^ *(\d+): +(\d+) .*\b{ETH}\b", text, re.MULTILINE)
    return {number: int(count) for number, count in found}


def _needs_timers(subject: Subject) -> Outcome | None:
    if not subject.testbed.nic.is_own:
        return not_covered(f"{subject.testbed.nic.model}: {subject.testbed.nic.timing or 'its timers are not those of a card'}")
    if subject.is_usb:
        return not_covered("interrupts of USB NICs are the host controller's")
    return _needs_coalescing(subject)


def ask_coalescing(dut: Dut) -> dict[str, int]:
    """The parameters now."""
    return coalescing_of(dut.attempt("ethtool", "-c", ETH)["out"])


def _needs_coalescing(subject: Subject) -> Outcome | None:
    if "-c" in subject.facts.refusals:
        return not_supported(subject.facts.refusal("-c"))
    return None


def _features(place: Workplace) -> Outcome:
    """Each feature that is not fixed is switched under load, and back."""
    tally = Tally()
    names = [name for name, one in place.subject.facts.features.items() if not one.fixed and name not in UNSWITCHED]
    simple = [name for name in names if "-" in name and not name.startswith(("tx-checksumming", "scatter-gather", "tcp-seg"))]
    with place.dut() as dut:
        switched = []
        for name in simple:
            if place.allowance.over:
                break
            was = place.subject.facts.features[name].on
            for on in (not was, was):
                done = _done_under_load(dut, ("ethtool", "-K", ETH, name, "on" if on else "off"))
                now = features_of(dut.attempt("ethtool", "-k", ETH)["out"])
                if done["code"]:
                    tally.notes.append(f"{name} {'on' if on else 'off'}: {str(done['err']).strip()}")
                    break
                tally.expect(now[name].on == on, f"ethtool -K {name} {'on' if on else 'off'} succeeds, and it is {now[name].on}")
                load.passes(dut, tally, f"after {name} {'on' if on else 'off'}")
            switched.append(name)
    return tally.outcome(f"switched under load: {', '.join(switched)}")


def _channels(place: Workplace) -> Outcome:
    tally = Tally()
    with place.dut() as dut:
        for name, most in place.subject.facts.channels.items():
            word = {"RX": "rx", "TX": "tx", "Other": "other", "Combined": "combined"}.get(name, "combined")
            for count in (1, most):
                done = dut.attempt("ethtool", "-L", ETH, word, str(count))
                if not done["code"]:
                    load.passes(dut, tally, f"after {word} {count}")
            _refused(dut, tally, lambda: dut.attempt("ethtool", "-l", ETH)["out"], ("ethtool", "-L", ETH, word, str(most + 1)))
    return tally.outcome("numbers of channels: changed, and too many are refused")


def _needs_channels(subject: Subject) -> Outcome | None:
    most = {name: n for name, n in subject.facts.channels.items() if n}
    if not most:
        return not_supported(subject.facts.refusal("-l"))
    return None


def _pause(place: Workplace) -> Outcome:
    tally = Tally()
    with place.dut() as dut:
        settings: tuple[tuple[str, ...], ...] = (
            ("autoneg", "off", "rx", "on", "tx", "on"),
            ("autoneg", "off", "rx", "off", "tx", "off"),
            ("autoneg", "on"),
        )
        accepted = []
        for words in settings:
            done = dut.attempt("ethtool", "-A", ETH, *words)
            if done["code"]:
                tally.notes.append(f"ethtool -A {' '.join(words)}: {done['err'].strip()}")
                continue
            accepted.append(" ".join(words))
            shown = dict(re.findall(r"^(Autonegotiate|RX|TX):\s+(\w+)", dut.attempt("ethtool", "-a", ETH)["out"], re.MULTILINE))
            if words[1] == "off":
                wanted = {"Autonegotiate": "off", "RX": words[3], "TX": words[5]}
                tally.expect(
                    {name: shown.get(name) for name in wanted} == wanted, f"ethtool -A {' '.join(words)}: it shows {shown}"
                )
            load.passes(dut, tally, f"after pause {' '.join(words)}")
        if not accepted:
            return not_supported(f"ethtool -A: {tally.notes[0]}")
    return tally.outcome(f"pause frames: {'; '.join(accepted)}")


def _needs_pause(subject: Subject) -> Outcome | None:
    return None if subject.facts.pauses and "-a" not in subject.facts.refusals else not_supported(subject.facts.refusal("-a"))


def _speed(place: Workplace) -> Outcome:
    tally = Tally()
    link = place.subject.facts.link
    with place.dut() as dut:
        for speed in ("10", "100"):
            done = dut.attempt("ethtool", "-s", ETH, "speed", speed, "duplex", "full", "autoneg", "off")
            if done["code"]:
                tally.notes.append(f"{speed} Mbit/s: {done['err'].strip().splitlines()[-1]}")
                continue
            if not load.passes(dut, tally, f"after {speed} Mbit/s, not negotiated"):
                break
            shown = dut.attempt("ethtool", ETH)["out"]
            what = f"{speed} Mbit/s is set, and not shown"
            if place.testbed.nic.is_own:
                tally.expect(f"Speed: {speed}Mb/s" in shown, what)
            elif f"Speed: {speed}Mb/s" not in shown:
                tally.notes.append(f"{what}: QEMU's model may have one speed only")
        dut.attempt("ethtool", "-s", ETH, "autoneg", "on")
        load.passes(dut, tally, "after autonegotiation")
        done = dut.attempt("ethtool", "-r", ETH)
        if not done["code"]:
            load.passes(dut, tally, "after ethtool -r")

        def show() -> str:
            return load.NEGOTIATED.sub("", dut.attempt("ethtool", ETH)["out"])

        _refused(dut, tally, show, ("ethtool", "-s", ETH, "speed", "12345", "autoneg", "off"))
    return tally.outcome(f"speeds and negotiation: frames pass afterwards ({link.get('Speed', 'no speed')} at first)")


def _needs_speed(subject: Subject) -> Outcome | None:
    if "Speed" in subject.facts.link and subject.facts.link.get("Supports auto-negotiation", "Yes") == "Yes":
        return None
    return not_supported("ethtool: no speed, or no autonegotiation")


def _flags(place: Workplace) -> Outcome:
    tally = Tally()
    switched = []
    with place.dut() as dut:
        for name, was in place.subject.facts.private_flags.items():
            for on in (not was, was):
                done = _done_under_load(dut, ("ethtool", "--set-priv-flags", ETH, name, "on" if on else "off"))
                load.passes(dut, tally, f"after {name} {'on' if on else 'off'}")
                now = private_flags_of(dut.attempt("ethtool", "--show-priv-flags", ETH)["out"]).get(name)
                if done["code"]:
                    tally.notes.append(f"{name} {'on' if on else 'off'} is refused: {done['err'].strip()}")
                    tally.expect(now == was, f"{name} {'on' if on else 'off'} is refused, and changes it")
                    break
                tally.expect(now == on, f"{name} {'on' if on else 'off'} succeeds, and it is {now}")
                switched += [name] if on != was else []
    if not switched and not tally.wrong:
        return not_supported("; ".join(tally.notes))
    return tally.outcome(f"private flags switched under load: {', '.join(switched)}")


def _needs_flags(subject: Subject) -> Outcome | None:
    return None if subject.facts.private_flags else not_supported(subject.facts.refusal("--show-priv-flags"))


READERS = (
    *("-i", "-k", "-g", "-c", "-l", "-a", "-S", "-d", "-e", "-x", "-n", "-T", "-P", "-m"),
    *("--show-eee", "--show-fec", "--show-priv-flags"),
)


def _readers(place: Workplace) -> Outcome:
    """Everything that can be read is read, under load and while the interface is down."""
    tally = Tally()
    with place.dut() as dut:

        def read_all() -> None:
            for option in READERS:
                dut.attempt("sh", "-c", f"ethtool {option} {ETH} >/dev/null 2>&1")
                dut.attempt("sh", "-c", f"cat /sys/class/net/{ETH}/statistics/* >/dev/null")

        load.during(dut, read_all, 2 * LOAD_NS)
        load.passes(dut, tally, "after all settings and counters were read under load")
        dut.run("ip", "link", "set", ETH, "down")
        read_all()
        dut.run("ip", "link", "set", ETH, "up")
        load.passes(dut, tally, "after all settings and counters were read while the interface was down")
    return tally.outcome(f"{len(READERS)} options of ethtool read under load and while down: frames pass, nothing is logged")


def _soon(place: Workplace) -> Outcome:
    """A change, and soon after it the next one; frames have to pass."""
    tally, done = Tally(), 0
    with place.dut() as dut:
        changes = list(_pairs(dut, place.subject))
        for what, first, second in changes:
            first()
            link_ns = _until_link(dut)
            second()
            for gap_ns in (*GAPS_NS, *(link_ns - before_ns for before_ns in BEFORE_LINK_NS if link_ns > before_ns)):
                if place.allowance.over:
                    break
                first()
                dut.sleep(gap_ns)
                second()
                done += 1
                dut.sleep(SOON_NS)
                if not load.passes(dut, tally, f"{what}, {gap_ns / 1e6:g} ms apart"):
                    return tally.outcome("")
    said = ", ".join(what for what, _, _ in changes)
    return tally.outcome(f"{done} changes, each soon after another one ({said}): frames pass")


def _until_link(dut: Dut) -> int:
    """How long it takes until there is a carrier; 0: there is one already, or none comes."""
    began_ns = dut.rpc.call("clock")["now_ns"]
    file = f"/sys/class/net/{ETH}/carrier"
    for step in range(LINK_STEPS):
        if (dut.read(file)[file] or "").strip() == "1":
            return int(dut.rpc.call("clock")["now_ns"] - began_ns) if step else 0
        dut.sleep(LINK_STEP_NS)
    return 0


def _pairs(dut: Dut, subject: Subject) -> Iterator[tuple[str, Callable[[], object], Callable[[], object]]]:
    """Changes that set an interface up anew, and those that undo them."""
    home = f"/sys/class/net/{ETH}"
    yield "MTU", lambda: dut.write(f"{home}/mtu", "1400"), lambda: dut.write(f"{home}/mtu", "1500")
    yield "down and up", lambda: _down_up(dut), lambda: _down_up(dut)
    rings = subject.facts.rings
    if rings is not None and _needs_rings(subject) is None:
        argv = ("ethtool", "-G", ETH, "rx")
        other = max(rings.rx // 2, 1) if rings.rx == rings.rx_max else min(2 * rings.rx, rings.rx_max)
        yield "rings", lambda: dut.attempt(*argv, str(other)), lambda: dut.attempt(*argv, str(rings.rx))


def _down_up(dut: Dut) -> None:
    for flags in (DOWN, UP):
        dut.write(f"/sys/class/net/{ETH}/flags", flags)


ROWS = (
    Row("settings-soon", "A change soon after another one", GROUP, _soon, 0.5, risk=6),
    Row("settings-read", "Everything is read", GROUP, _readers, 0.5, risk=5),
    Row("settings-rings", "Ring sizes", GROUP, _rings, 0.7, needs=_fixed_rings),
    Row("settings-coalescing", "Coalescing", GROUP, _coalescing, 0.8, needs=_needs_coalescing),
    Row("settings-rx-usecs", "What rx-usecs does", GROUP, _effect, 0.4, needs=_needs_timers),
    Row("settings-features", "Offloads", GROUP, _features, 1.0),
    Row("settings-channels", "Numbers of channels", GROUP, _channels, 0.4, needs=_needs_channels),
    Row("settings-pause", "Pause frames", GROUP, _pause, 0.5, needs=_needs_pause),
    Row("settings-speed", "Speed and negotiation", GROUP, _speed, 0.5, needs=_needs_speed),
    Row("settings-flags", "Private flags", GROUP, _flags, 0.5, needs=_needs_flags),
)
