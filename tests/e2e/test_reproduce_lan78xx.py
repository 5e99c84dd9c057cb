# SPDX-License-Identifier: GPL-2.0-or-later
"""The lan78xx letter's first table, on one board, in a short form."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.reproduce.lan78xx import findings, measure
from irqlab.reproduce.lan78xx.configurations import DRIVERS, PAIRS
from irqlab.reproduce.session import Session
from irqlab.reproduce.table import Table


def received(monkeypatch: pytest.MonkeyPatch, drivers: Iterable[str]) -> Table[measure.IperfRow]:
    """TCP Rx with these drivers."""
    monkeypatch.setattr(measure, "TESTS", {"TCP Rx": measure.TESTS["TCP Rx"]})
    monkeypatch.setattr(measure, "SPEEDS", {"slow": measure.SPEEDS["slow"]})
    monkeypatch.setattr(measure, "SECONDS", measure.QUICK_SECONDS)
    monkeypatch.setattr(measure, "looked_at", lambda _: {name: DRIVERS[name] for name in drivers})
    with Session(TestbedConfig("irqmod_lan78xx")) as session:
        data = measure.iperf(session)
    assert [row.driver for row in data] == [*drivers]
    for row in data:
        assert 100 < row.mbps < 950
        assert 0 <= row.idle_percent <= 100
        assert row.instructions_per_frame is not None
        assert row.instructions_per_frame > 1000
    return data


@pytest.mark.long
def test_the_series_makes_our_driver_better(monkeypatch: pytest.MonkeyPatch) -> None:
    data = received(monkeypatch, PAIRS["ours"])
    standard, napi = data
    (ratio,) = measure.ratios(data, measure.letter())
    assert ratio.ratio == round(napi.mbps / standard.mbps, 4)
    assert findings.better(napi, standard) == 1, "as in the letter"


@pytest.mark.long
def test_every_driver_receives(monkeypatch: pytest.MonkeyPatch) -> None:
    data = received(monkeypatch, DRIVERS)
    rows = {row.driver: row for row in data}
    kernels, ours = measure.ratios(data, measure.letter())
    assert kernels.ratio == round(rows["in_tree"].mbps / rows["before"].mbps, 4)
    assert ours.ratio == round(rows["napi"].mbps / rows["standard"].mbps, 4)
    assert findings.better(rows["in_tree"], rows["before"]) == 1, "the series makes the kernel's driver better"
    assert findings.better(rows["napi"], rows["standard"]) == 1, "napi is better than standard, as in the letter"
