# SPDX-License-Identifier: GPL-2.0-or-later
"""The 8139cp article's reproduction, end to end, at small scale."""

from __future__ import annotations

import importlib

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.reproduce import find
from irqlab.reproduce.session import Session

measure = importlib.import_module("irqlab.reproduce.rtl8139cp.measure")  # the package has a function of that name


def test_a_timer_polls_at_its_period_and_takes_no_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "RATES", {"high": 20_000.0})
    rows = {row.configuration: row for row in measure.polls(Session(TestbedConfig(find("rtl8139cp").driver), jobs=2)).rows}
    napi, timer = rows["before"], rows["after"]
    assert timer.rx_interrupts_per_frame == 0
    assert timer.frames_per_poll == pytest.approx(20, rel=0.02)  # 20,000 frames/s, a poll a millisecond
    assert napi.rx_interrupts_per_frame == pytest.approx(1, rel=0.02)
    assert napi.frames_per_poll == pytest.approx(1, rel=0.02)
    assert napi.received_pps == pytest.approx(20_000, rel=0.01)
