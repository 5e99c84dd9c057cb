# SPDX-License-Identifier: GPL-2.0-or-later
"""Traffic while something is done to the interfaces."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from irqlab.check import load
from irqlab.check.row import PASS, Tally
from irqlab.dut.router import Dut


@pytest.mark.parametrize("slower", [1, 10])
def test_a_dut_that_runs_as_fast_as_the_host_lets_it_has_as_much_more_time(slower: int) -> None:
    asked: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []

    def run_trial(trial: dict[str, Any], streams: list[dict[str, Any]]) -> dict[str, Any]:
        asked.append((trial, streams))
        return {"streams": [{"lost": 0}, {"lost": 0}]}

    dut = cast(Dut, SimpleNamespace(slower=slower, wait_forwarding=lambda: 0, run_trial=run_trial))
    tally = Tally()
    assert load.passes(dut, tally, "afterwards")
    assert tally.outcome("").status == PASS
    ((trial, streams),) = asked
    apart_ns = 1e9 / load.CALM_PPS * slower
    for one in streams:
        assert 1e9 / one["arrivals"]["rate_pps"] == pytest.approx(apart_ns)
        assert one["count"] * apart_ns < trial["duration_ns"], "all are sent"
    assert trial["drain_ns"] == load.SETTLE_NS * slower
