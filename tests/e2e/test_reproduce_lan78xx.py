# SPDX-License-Identifier: GPL-2.0-or-later
"""The lan78xx letter's first table, on one board, in a short form."""

from __future__ import annotations

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.reproduce.lan78xx import findings, measure
from irqlab.reproduce.lan78xx.configurations import DRIVERS
from irqlab.reproduce.session import Session


def test_every_driver_receives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "TESTS", {"TCP Rx": measure.TESTS["TCP Rx"]})
    monkeypatch.setattr(measure, "SPEEDS", {"slow": measure.SPEEDS["slow"]})
    monkeypatch.setattr(measure, "SECONDS", measure.QUICK_SECONDS)
    with Session(TestbedConfig("irqmod_lan78xx")) as session:
        data = measure.iperf(session)
    rows = {row.driver: row for row in data}
    assert set(rows) == set(DRIVERS)
    for row in rows.values():
        assert 100 < row.mbps < 950
        assert 0 <= row.idle_percent <= 100
        assert row.instructions_per_frame is not None
        assert row.instructions_per_frame > 1000
    kernels, ours = measure.ratios(data, measure.letter())
    assert kernels.ratio == round(rows["in_tree"].mbps / rows["before"].mbps, 4)
    assert ours.ratio == round(rows["napi"].mbps / rows["standard"].mbps, 4)
    assert findings.better(rows["in_tree"], rows["before"]) == 1, "the series makes the kernel's driver better"
    assert findings.better(rows["napi"], rows["standard"]) == 1, "napi is better than standard, as in the letter"
