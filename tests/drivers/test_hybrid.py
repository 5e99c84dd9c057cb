# SPDX-License-Identifier: GPL-2.0-or-later
"""Hybrid, with RX masked above the cliff: the ring goes from disable-enable to the timer and back, under load."""

from __future__ import annotations

from irqlab.config.addresses import INTERFACES
from irqlab.config.schemes import Combination
from irqlab.dut import kernel_log
from irqlab.dut.router import Dut
from irqlab.robustness.overload import Overload, choose, one_way

HYBRID = Combination("hybrid", "off")
CLIFF_PPS = 20_000
OVERLOAD_PPS = 120_000.0
FEW_PPS = 200.0
STEP_NS = 60_000_000
"""More than seven windows of hybrid's estimate."""
EMPTIED_NS = 20_000_000
"""A full ring and the backlog are forwarded by then: a frame that comes before may find the ring full."""


def set_both(dut: Dut, file: str, value: str) -> None:
    for interface in INTERFACES:
        dut.write(f"/sys/class/net/{interface}/irqmod/{file}", value)


def test_paced_hybrid_loses_no_frame_after_an_overload(overload: Overload) -> None:
    """Twice: the first frames after an overload are the timer's, those of the second visit come from the other form."""
    with overload.testbed.open() as dut:
        dut.play_hosts(0)
        set_both(dut, "rx_cliff_pps", str(CLIFF_PPS))
        choose(dut, HYBRID)
        dut.kernel_log.news()
        for above in ("paced", "napi", "paced"):
            set_both(dut, "rx_above", above)
            busy = overload.offer(dut, OVERLOAD_PPS, STEP_NS)
            assert busy["received"] > CLIFF_PPS * STEP_NS / 1e9, "above the cliff it forwards at least what is its cliff"
            dut.sleep(EMPTIED_NS)
            few = overload.offer(dut, FEW_PPS, 10 * STEP_NS)
            assert few["received"] == few["sent"] > 0
        assert kernel_log.notable(dut.kernel_log.news()) == []


def test_another_window_is_no_other_load(overload: Overload) -> None:
    """At a load below the cliff, whose frames in a long window are as many as those of a short window above the cliff."""
    with overload.testbed.open() as dut:
        dut.play_hosts(0)
        set_both(dut, "rx_cliff_pps", str(CLIFF_PPS))
        choose(dut, HYBRID)
        for window_ms in ("16", "4", "16"):
            set_both(dut, "rx_rate_window_ms", window_ms)
            trial = {"warmup_ns": 0, "duration_ns": 4 * STEP_NS, "drain_ns": EMPTIED_NS, "late_ns": 1000, "bucket_ns": 0}
            armed = dut.rpc.call(
                "start", trial={"id": 60_000, "seed": 1, **trial, "histogram": False, "streams": [one_way(0.7 * CLIFF_PPS)]}
            )
            dut.sleep(3 * STEP_NS)
            set_both(dut, "rx_rate_window_ms", "8")
            dut.sleep(max(0, int(armed["end_ns"]) - int(dut.rpc.call("clock")["now_ns"])) + EMPTIED_NS)
        switches = dut.read(*(f"/sys/class/net/{interface}/irqmod/rx_switches" for interface in INTERFACES))
        assert [text and text.strip() for text in switches.values()] == ["0", "0"]


def test_the_form_changes_under_overload(overload: Overload) -> None:
    with overload.testbed.open() as dut:
        dut.play_hosts(0)
        set_both(dut, "rx_cliff_pps", str(CLIFF_PPS))
        choose(dut, HYBRID)
        dut.kernel_log.news()
        forms = ("paced", "napi") * 4
        trial = {"warmup_ns": 0, "duration_ns": (len(forms) + 1) * STEP_NS, "drain_ns": 1000, "late_ns": 1000, "bucket_ns": 0}
        armed = dut.rpc.call(
            "start", trial={"id": 60_000, "seed": 1, **trial, "histogram": False, "streams": [one_way(OVERLOAD_PPS)]}
        )
        for form in forms:
            set_both(dut, "rx_above", form)
            dut.sleep(STEP_NS // 2)
        dut.sleep(max(0, int(armed["end_ns"]) - int(dut.rpc.call("clock")["now_ns"])) + EMPTIED_NS)
        few = overload.offer(dut, FEW_PPS, 10 * STEP_NS)
        assert few["received"] == few["sent"] > 0
        assert kernel_log.notable(dut.kernel_log.news()) == []
