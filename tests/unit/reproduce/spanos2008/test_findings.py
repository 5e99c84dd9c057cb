# SPDX-License-Identifier: GPL-2.0-or-later
"""Claims of spanos2008 on data that must fail them, each of which an easier test would let pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from irqlab.reproduce import find
from irqlab.reproduce.claims import Finding
from irqlab.reproduce.spanos2008 import model, precision
from irqlab.reproduce.spanos2008.measure import Tables
from irqlab.reproduce.table import Table
from tests.unit.paper_tables import PAPER_US, idle, spanos, throughput_table


def finding(tables: Tables, begin: str, again: bool = False) -> Finding:
    """That of the claim that begins so; `again`: with costs."""
    return next(one for one in find("spanos2008").findings(tables) if one.claim.startswith(begin) and one.again == again)


def changed(table: Table[Any], **by_variant: Any) -> Table[Any]:
    """With other values of some variants' rows: a dict of columns for each."""
    rows = (replace(row, **by_variant.get(row.variant.replace("-", "_"), {})) for row in table)
    return replace(table, rows=tuple(rows))


HOLDS = spanos(True, charged=False)


def test_precision_is_the_papers_own() -> None:
    assert precision.us_of((64, "ORIGINAL")) == pytest.approx(27.14, abs=0.01)
    assert pytest.approx(0.0493, abs=1e-4) == precision.PRECISION
    assert (min(precision.MUTUAL_US), max(precision.MUTUAL_US)) == pytest.approx((3.33, 4.52), abs=0.01)
    assert pytest.approx(0.636 / 0.6954, abs=1e-3) == precision.FLAT
    assert {64, 512} == precision.FITTED_SIZES


def test_48_per_cent_is_of_table_3() -> None:
    begin = "Under that load NAPI-TX-OFF forwards more than 48"
    told = finding(HOLDS, begin)
    assert (told.agrees, told.found) == (True, "48.6 % more.")
    for frames in (1_272_263 * 1.392, 1_272_263 * 1.55):  # too little; "more", but not of this size
        table3 = changed(HOLDS.table3_interrupts, NAPI_TX_OFF={"transmitted_frames": round(frames)})
        assert finding(replace(HOLDS, table3_interrupts=table3), begin).agrees is False


def test_what_is_said_of_overload_is_not_judged_without_it() -> None:
    tables = idle(HOLDS)
    for begin in ("Under that load", "Drivers without NAPI receive all", "With NAPI all received"):
        told = finding(tables, begin)
        assert (told.verdict, told.found.split(":")[0]) == ("not judged", "not overloaded here")
    assert finding(tables, "Frames of 512 bytes").verdict == "differs"


def test_the_formulas_have_the_same_times_for_all_variants() -> None:
    """Each variant's own times would add up to 1/rate in any case."""
    begin = "The formulas, in which"
    assert finding(HOLDS, begin).agrees
    rows = []
    for row in HOLDS.table5_phases:
        faster = 10.0 if "NAPI" in row.variant else 0.0
        ip = replace(row.us, ip=row.us.ip - faster / 250), replace(row.instructions, ip=row.instructions.ip - 10 * faster)
        us = (row.per_frame_us or 0.0) - 10 * faster / 250
        rows.append(replace(row, us=ip[0], instructions=ip[1], per_frame_us=us, paper_total_us=us))
    told = finding(replace(HOLDS, table5_phases=replace(HOLDS.table5_phases, rows=tuple(rows))), begin)
    assert told.agrees is False
    assert "NAPI-TX-OFF +2" in told.found


def test_both_together_are_compared_in_time() -> None:
    """In per cent savings that just add up exceed the sum: 1 / (1 - a - b) > 1 / (1 - a) + 1 / (1 - b) - 1."""
    begin = "NAPI-TX-OFF saves more than NAPI and TX-OFF together"
    assert finding(HOLDS, begin).agrees
    added = {**PAPER_US, "NAPI-TX-OFF": PAPER_US["NAPI"] + PAPER_US["TX-OFF"] - PAPER_US["ORIGINAL"]}
    first = throughput_table(added)
    gains = {row.variant: row.throughput_mbps for row in first if row.frame_bytes == 64}
    base = gains["ORIGINAL"]
    assert gains["NAPI-TX-OFF"] / base - 1 > gains["NAPI"] / base - 1 + gains["TX-OFF"] / base - 1
    assert finding(replace(HOLDS, table1_throughput=first), begin).agrees is False


def test_a_gain_is_as_near_as_the_paper_is_precise() -> None:
    begin = "With 64-byte frames NAPI-TX-OFF forwards 2.09 times"
    assert finding(HOLDS, begin).agrees
    slower = throughput_table({**PAPER_US, "NAPI-TX-OFF": PAPER_US["NAPI-TX-OFF"] + 2.2})  # 1.81 times
    told = finding(replace(HOLDS, table1_throughput=slower), begin)
    assert (told.agrees, told.found) == (False, "1.81 times.")
    assert "4.9 %" in told.counts_as


def test_a_collapse_at_another_load_is_another_collapse() -> None:
    rows = [
        replace(row, collapse_pps=164_600.0, loss_free_pps=49_900.0, collapse_ratio=3.3) if row.collapse_pps else row
        for row in HOLDS.figure5_collapse
    ]
    tables = replace(HOLDS, figure5_collapse=replace(HOLDS.figure5_collapse, rows=tuple(rows)))
    assert finding(tables, "With 64-byte frames ORIGINAL collapses at 120").agrees is False
    assert finding(tables, "That is 3.24 times").agrees


def test_a_plateau_keeps_what_the_papers_keeps() -> None:
    begin = "NAPI, NAPI-TX-128 and NAPI-TX-OFF retain"
    for kept, agrees in ((0.92, True), (0.91, False)):
        table = changed(HOLDS.figure5_collapse, NAPI={"plateau_ratio": kept})
        assert finding(replace(HOLDS, figure5_collapse=table), begin).agrees is agrees


def test_a_line_has_to_tell_more_than_a_level() -> None:
    """Times that hardly depend on the size are within 4.9 % of any line."""
    begin = "The time a frame takes is linear"
    assert finding(HOLDS, begin).agrees
    rows = [replace(row, us_per_frame=20.0 + 0.3 * (row.frame_bytes % 256 > 0)) for row in HOLDS.table1_throughput]
    assert model.fit([(64, 20.3), (512, 20.0)]) is not None
    told = finding(replace(HOLDS, table1_throughput=replace(HOLDS.table1_throughput, rows=tuple(rows))), begin)
    assert told.agrees is False


def test_agreement_with_what_costs_were_fitted_to_is_in_sample() -> None:
    tables = spanos(True)
    for begin in (
        "With 64-byte frames the order",
        "With 512-byte frames the order",
        "A byte takes",
        "With 64-byte frames the highest",
    ):
        told = finding(tables, begin, again=True)
        assert (told.verdict, told.holds) == ("in sample", False)
    assert finding(tables, "With 256-byte frames the order", again=True).verdict == "agrees"


def test_with_costs_words_about_table_1_are_tested_where_they_were_not_fitted() -> None:
    tables = spanos(True)
    assert tables.hardware is not None
    wrong = [
        replace(row, free_mbps=0.1) if row.frame_bytes in (64, 512) and row.variant != "ORIGINAL" else row
        for row in tables.hardware.table1_throughput
    ]
    first = replace(tables.hardware.table1_throughput, rows=tuple(wrong))
    told = finding(
        replace(tables, hardware=replace(tables.hardware, table1_throughput=first)), "All modified drivers", again=True
    )
    assert told.verdict == "agrees"
    assert "128 to 1024 bytes" in told.found
