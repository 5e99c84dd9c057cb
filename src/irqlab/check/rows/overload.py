# SPDX-License-Identifier: GPL-2.0-or-later
"""Overload: more frames than the DUT can forward."""

from __future__ import annotations

from irqlab.check import load
from irqlab.check.row import Outcome, Row, Tally, Workplace
from irqlab.config.addresses import INTERFACES, stream
from irqlab.dut.router import Dut

GROUP = "Overload"
SIZE = {"kind": "fixed", "frame_bytes": 64}
STEP_NS = 120_000_000
GENTLE_PPS = 10_000.0
FACTORS = (0.5, 1.0, 2.0, 4.0)
LEAST_SHARE = 0.1
"""Of the best rate that has to be forwarded under overload: less is a livelock."""
STORM_PER_FRAME = 4.0
"""Interrupts for each frame that comes, both interfaces together."""
IDLE_PER_S = 200.0
"""Interrupts of both interfaces together while nothing happens."""


def _offer(dut: Dut, rate_pps: float, both: bool = False) -> tuple[float, float, int]:
    """Offers a load; forwarded frames/s, interrupts/s, and frames sent."""
    before = dut.counters().interrupts
    streams = [stream(p, 1 - p, {"kind": "constant", "rate_pps": rate_pps}, SIZE) for p in ((0, 1) if both else (0,))]
    found = dut.run_trial({"warmup_ns": 0, "duration_ns": STEP_NS, "drain_ns": 50_000_000}, streams)
    after = dut.counters().interrupts
    interrupts = sum(after.values()) - sum(before.values())
    received = sum(one["received_in_window"] for one in found["streams"])
    return received * 1e9 / STEP_NS, interrupts * 1e9 / STEP_NS, sum(one["sent"] for one in found["streams"])


def _overload(place: Workplace) -> Outcome:
    tally = Tally()
    mips = place.testbed.machine.mips
    with place.dut(line_rate=False, silent=True) as dut:
        gentle = {"warmup_ns": 0, "duration_ns": STEP_NS, "drain_ns": 1_000_000}
        load_ = [stream(0, 1, {"kind": "constant", "rate_pps": GENTLE_PPS}, SIZE)]
        found = dut.run_trial(gentle, load_)
        received = max(found["streams"][0]["received"], 1)
        capacity_pps = mips * 1e6 / max(found["instructions"] / received, 1.0)
        rates: list[tuple[float, float]] = []
        for factor in FACTORS:
            for both in (False, True):
                rate_pps = factor * capacity_pps / (2 if both else 1)
                forwarded, interrupts, sent = _offer(dut, rate_pps, both)
                offered = sent * 1e9 / STEP_NS
                rates.append((offered, forwarded))
                what = f"{offered:,.0f} frames/s {'both ways' if both else 'one way'}"
                tally.expect(interrupts <= STORM_PER_FRAME * offered, f"{what}: {interrupts:,.0f} interrupts a second: a storm")
                tally.notes.append(f"{what}: {forwarded:,.0f} are forwarded, {interrupts:,.0f} interrupts a second")
                if not load.passes(dut, tally, f"after {what}"):
                    return tally.outcome("")
        best = max(forwarded for _, forwarded in rates)
        for offered, forwarded in rates:
            low = forwarded < LEAST_SHARE * min(best, offered)
            tally.expect(not low, f"livelock: of {offered:,.0f} frames/s {forwarded:,.0f} are forwarded, at best {best:,.0f}")
    return tally.outcome(
        f"loads up to {max(o for o, _ in rates):,.0f} frames/s: at best {best:,.0f} are forwarded, frames pass afterwards"
    )


def _idle(place: Workplace) -> Outcome:
    """Without frames there are no interrupts to speak of, before a load and after it."""
    tally = Tally()
    second = 1_000_000_000
    with place.dut() as dut:
        for when in ("before a load", "after a load", "after down and up"):
            if when == "after a load":
                _offer(dut, GENTLE_PPS, both=True)
            elif when == "after down and up":
                dut.run("sh", "-c", "; ".join(f"ip link set {i} {s}" for i in INTERFACES for s in ("down", "up")))
                dut.wait_forwarding()
            dut.sleep(second // 10)
            before = dut.counters().interrupts
            dut.sleep(second)
            after = dut.counters().interrupts
            count = sum(after.values()) - sum(before.values())
            if not place.subject.is_usb:  # of a USB NIC they are the host controller's
                tally.expect(count <= IDLE_PER_S, f"{when}: {count} interrupts in a second without frames")
            tally.notes.append(f"{when}: {count} interrupts in a second")
            load.passes(dut, tally, f"idle {when}")
    return tally.outcome("; ".join(tally.notes))


ROWS = (
    Row("overload-livelock", "More than it can forward", GROUP, _overload, 1.2, risk=6),
    Row("overload-idle", "Interrupts without frames", GROUP, _idle, 0.3),
)
