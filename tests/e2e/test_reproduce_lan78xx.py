# SPDX-License-Identifier: GPL-2.0-or-later
"""The lan78xx letter's first table, on one board, in a short form."""

from __future__ import annotations

from importlib import import_module

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.reproduce.lan78xx.configurations import DRIVERS
from irqlab.reproduce.lan78xx.findings import _letter
from irqlab.reproduce.session import Session

measure = import_module("irqlab.reproduce.lan78xx.measure")  # the package's attribute of that name is the function


def test_every_driver_receives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "TESTS", {"TCP Rx": measure.TESTS["TCP Rx"]})
    monkeypatch.setattr(measure, "SPEEDS", {"slow": measure.SPEEDS["slow"]})
    with Session(TestbedConfig("irqmod_lan78xx"), quick=True) as session:
        data = measure._iperf(session)
    rows = {row["driver"]: row for row in data.records()}
    assert set(rows) == set(DRIVERS)
    for row in rows.values():
        assert 100 < row["mbps"] < 950
        assert 0 <= row["idle_percent"] <= 100
        assert row["instructions_per_frame"] > 1000
    said = _letter(data, measure.letter())
    assert "Mbit/s" in said[0]
