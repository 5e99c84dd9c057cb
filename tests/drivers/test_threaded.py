# SPDX-License-Identifier: GPL-2.0-or-later
"""NAPI in a thread gives up the CPU just below the capacity, too, where each poll takes some frames and another one waits."""

from __future__ import annotations

import pytest

from irqlab.config.addresses import INTERFACES
from irqlab.config.schemes import NAPI_RX_SCHEMES, Combination
from irqlab.dut import kernel_log
from irqlab.dut.router import Dut
from irqlab.robustness.overload import Overload, choose, one_way

LASTS_NS = 300_000_000
SLEEPS_NS = 50_000_000
"""How long a task sleeps under this load."""
AT_MOST_NS = 100_000_000
"""When it has had the CPU again."""
NEAR = (0.7, 0.8, 0.9, 1.0)
"""Loads, as shares of the capacity."""
CLIFF_PPS = 1_000
"""Hybrid uses NAPI at all of them. Below its cliff it is disable-enable, which lets processes wait by design."""


def _slept_ns(dut: Dut, rate_pps: float) -> int:
    trial = {"warmup_ns": 0, "duration_ns": LASTS_NS, "drain_ns": 1000, "late_ns": 1000, "bucket_ns": 0}

    def now_ns() -> int:
        return int(dut.rpc.call("clock")["now_ns"])

    armed = dut.rpc.call("start", trial={"id": 60_000, "seed": 1, **trial, "histogram": False, "streams": [one_way(rate_pps)]})
    began_ns = now_ns()
    dut.sleep(SLEEPS_NS)
    slept_ns = now_ns() - began_ns
    dut.sleep(max(0, int(armed["end_ns"]) - now_ns()) + SLEEPS_NS)
    return slept_ns


@pytest.mark.long
@pytest.mark.parametrize("receive", NAPI_RX_SCHEMES)
def test_another_task_has_the_cpu(overload: Overload, receive: str) -> None:
    combination = Combination(receive, "off")
    capacity_pps = overload.capacity_pps(combination)
    with overload.testbed.open() as dut:
        dut.play_hosts(0)
        choose(dut, combination)
        for interface in INTERFACES:
            dut.write(f"/sys/class/net/{interface}/threaded", "1")
            dut.write(f"/sys/class/net/{interface}/irqmod/rx_cliff_pps", str(CLIFF_PPS))
        late = {share: ns for share in NEAR if (ns := _slept_ns(dut, share * capacity_pps)) > AT_MOST_NS}
        assert late == {}
        assert kernel_log.notable(dut.kernel_log.news()) == []
