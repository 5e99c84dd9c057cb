# SPDX-License-Identifier: GPL-2.0-or-later
"""The 8139cp article: its data, its measures, and what is said of figures."""

from __future__ import annotations

import re

from irqlab.reproduce import find, reference
from irqlab.reproduce.paper import Data
from irqlab.reproduce.rtl8139cp.configurations import MEASURES, NAMES
from irqlab.reproduce.rtl8139cp.findings import _ablation, _gain, _why, _wire
from irqlab.reproduce.rtl8139cp.measure import PAPER_NAMES, SIZES
from irqlab.setup import drivers


def test_the_articles_tables_are_there() -> None:
    assert find("rtl8139cp").driver == "irqmod_rtl8139cp"
    for name in PAPER_NAMES.values():
        assert tuple(int(row["frame_bytes"]) for row in reference.records(name)) == SIZES
        assert "8139cp" in reference.source(name) or "same source" in reference.source(name)


def test_every_measure_that_is_left_out_is_one_the_driver_knows() -> None:
    text = (drivers.home() / "irqmod/rx_timer.c").read_text()
    known = re.findall(r'\[IRQMOD_WITHOUT_\w+\] = "(\w+)"', text)
    assert known[0] == "nothing"
    assert set(MEASURES) - {"all", "period"} == set(known[1:])


def _capability(gain: float, capped: bool = False) -> Data:
    names = ("frame_bytes", "gain_percent", "gain_over_own_napi_percent", "article_percent", "capped")
    return Data("", names, [[60, gain, -1.0, 13.0, capped]])


def test_a_gain_is_held_against_the_articles() -> None:
    assert "within the article's" in _gain(_capability(20.0))[0]
    assert "below the article's" in _gain(_capability(5.0))[0]
    assert "above the article's" in _gain(_capability(40.0))[0]
    assert "wire is the limit" in _gain(_capability(0.0, capped=True))[0]


def test_rates_beyond_the_wire_are_said_to_be() -> None:
    names = ("configuration", "frame_bytes", "article_ipps", "wire_pps")
    rows: list[list[str | int | float | bool | None]] = [["before", 60, 490_000.0, 148_809.5], ["before", 1440, 100.0, 8_000.0]]
    (said,) = _wire(Data("", names, rows))
    assert "490,000 frames/s of 60 bytes" in said
    assert "1 of the 2 sizes" in said
    assert _wire(Data("", names, rows[1:])) == []


def test_measures_are_told_by_what_they_earn() -> None:
    names = ("without", "earns_percent", "full_rate_forwarded_pps", "throughput_pps")
    rows: list[list[str | int | float | bool | None]] = [
        ["all", None, 50_000.0, 50_000.0], ["irq_off", 30.0, 10.0, 38_000.0], ["backlog", -12.0, 56_000.0, 56_000.0],
        ["refill", 0.2, 50_000.0, 49_900.0],
    ]  # fmt: skip
    said = _ablation(Data("", names, rows))
    assert said[0].endswith("earns 30.0 % of throughput.")
    assert "next to no difference" in said[1]
    assert said[2].endswith("costs 12.0 % of throughput.")
    assert "livelock" in said[3]


def test_what_costs_what_is_said_with_the_owners_that_differ() -> None:
    assert set(NAMES) == {"before", "after", "napi"}
    rows: list[list[str | int | float | bool | None]] = []
    for name, stack in (("before", 4000.0), ("after", 3500.0), ("napi", 3000.0)):
        rows += [[name, "owner", "IP stack", stack], [name, "owner", "driver", 100.0], [name, "context", "softirq", 1.0]]
    said = _why(Data("", ("configuration", "by", "name", "instructions_per_frame"), rows))
    assert "IP stack +500" in said[0]
    assert "4,100 instructions with 8139cp" in said[0]
