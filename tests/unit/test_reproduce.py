# SPDX-License-Identifier: GPL-2.0-or-later
"""Reproductions without QEMU: the framework, the fit, the collapse, the phases, the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irqlab.config.costs import Costs
from irqlab.config.hardware import Hardware
from irqlab.config.schemes import VARIANTS
from irqlab.errors import IrqlabError
from irqlab.reproduce import find, page, reference
from irqlab.reproduce.paper import Data, Tables
from irqlab.reproduce.spanos2008 import PAPER, curves, hardware, model, phases, throughput

FUNCTIONS = (Path(__file__).parents[1] / "data" / "spanos2008_functions.txt").read_text().splitlines()[1:]


def test_tables_come_back_from_json_and_are_csv() -> None:
    data = Data("t", ("a", "b_us"))
    data.add(a="x,y", b_us=1.5)
    data.add(a="z")
    assert Data.from_json(data.to_json()) == data
    assert data.to_csv() == 'a,b_us\n"x,y",1.5\nz,\n'
    with pytest.raises(KeyError):
        data.add(c=1)


def test_an_unknown_paper_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(IrqlabError, match="spanos2008"):
        find("nobody1999")


def test_reference_data_says_where_it_is_from() -> None:
    for name in ("table1_throughput", "table2_improvement", "table3_interrupts", "table4_model", "collapse"):
        assert "Spanos et al. 2008" in reference.source(f"spanos2008_{name}")
        assert reference.records(f"spanos2008_{name}")


def _table1(us: dict[str, float], k_us: float = 0.02, sizes: tuple[int, ...] = throughput.SIZES) -> Data:
    """Table 1 for variants with these costs in µs per frame and with k per byte."""
    paper = throughput.paper_mbps()
    data = Data("1", ("frame_bytes", "variant", "throughput_mbps", "paper_mbps", "ratio", "throughput_pps", "capped",
                      "paper_capped", "free_mbps", "us_per_frame"))  # fmt: skip
    for size in sizes:
        for variant, constant in us.items():
            free = throughput.mbps_of(1e6 / (constant + k_us * size), size)
            mbps = min(100.0, free)
            data.add(
                frame_bytes=size, variant=variant, throughput_mbps=mbps, paper_mbps=paper[size, variant],
                ratio=mbps / paper[size, variant], throughput_pps=2 * mbps * 1e6 / 8 / (size + 20),
                us_per_frame=constant + k_us * size, free_mbps=free, capped=free >= 100, paper_capped=paper[size, variant] >= 100,
            )  # fmt: skip
    return data


PAPER_US = {v: float(r["t_constant_us"]) for v, r in reference.by("spanos2008_table4_model", "driver").items()}


def test_table_2_is_the_papers_but_for_the_swapped_columns() -> None:
    computed = {(r["frame_bytes"], r["variant"]): r["paper_percent"] for r in throughput.table2(_table1(PAPER_US)).records()}
    printed_as = {"NAPI": "TX-OFF", "TX-OFF": "NAPI"}
    misprint = (128, "NAPI-TX-128")  # 28.14 / 20.96 is +34.26 %, printed is 32.46
    for row in reference.records("spanos2008_table2_improvement"):
        for variant in list(VARIANTS)[1:]:
            cell, said = (int(row["frame_bytes"]), variant), float(row[printed_as.get(variant, variant)])
            if cell != misprint:
                assert computed[cell] == pytest.approx(said, abs=0.5), cell


def test_the_order_is_compared_where_the_paper_is_below_the_wires_rate() -> None:
    assert throughput.order_differs(_table1({"ORIGINAL": 26, "TX-128": 25, "TX-OFF": 21, "NAPI": 20})) == [
        (256, "NAPI", "TX-OFF"),  # the paper's own order changes there
        (896, "NAPI", "TX-OFF"),
    ]
    swapped = _table1({"ORIGINAL": 25, "TX-128": 26}, sizes=(64,))
    assert throughput.order_differs(swapped) == [(64, "ORIGINAL", "TX-128")]
    beyond_our_wire = _table1({"ORIGINAL": 1, "TX-128": 2}, sizes=(512, 1518))  # at 1518 beyond the paper's, too
    assert throughput.order_differs(beyond_our_wire) == [(512, "ORIGINAL", "TX-128")]


def test_fit_of_a_line_is_that_line_and_its_errors_are_those_of_least_squares() -> None:
    exact = model.fit([(64, 20 + 0.02 * 64), (128, 20 + 0.02 * 128), (512, 20 + 0.02 * 512)])
    assert exact is not None
    assert (exact.t_constant_us, exact.k_us_per_byte, exact.r2) == pytest.approx((20, 0.02, 1))
    sizes, times = np.array([64, 128, 256, 512]), np.array([21.0, 22.5, 25.5, 30.0])
    noisy = model.fit(list(zip(sizes.tolist(), times.tolist(), strict=True)))
    assert noisy is not None
    design = np.column_stack([np.ones(4), sizes])
    found, (square,), *_ = np.linalg.lstsq(design, times, rcond=None)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * square / 2)
    assert (noisy.t_constant_us, noisy.k_us_per_byte) == pytest.approx(tuple(found))
    assert (noisy.t_constant_error_us, noisy.k_error_us_per_byte) == pytest.approx(tuple(errors))
    assert noisy.r2 == pytest.approx(1 - square / ((times - times.mean()) ** 2).sum())
    assert noisy.residuals_us == pytest.approx(tuple(times - design @ found))


def test_fit_says_no_more_than_it_can() -> None:
    assert model.fit([(64, 20.0)]) is None
    two = model.fit([(64, 20.0), (128, 21.0)])
    assert two is not None
    assert (two.r2, two.k_error_us_per_byte) == (None, None)


def test_sizes_at_the_wires_rate_are_fitted_without_its_ceiling() -> None:
    first = _table1(PAPER_US)
    fits = model.fits(first)
    assert fits["NAPI-TX-OFF"].sizes == throughput.SIZES
    assert fits["ORIGINAL"].us(0) == pytest.approx(25.8)
    last = model.figure6(fits, first).one(frame_bytes=1518, variant="ORIGINAL")
    assert last["model_capped_mbps"] == pytest.approx(100)
    assert last["model_mbps"] > 100
    assert last["fitted"]


def _livelock(cliff: float, most: float = 50.0) -> Any:
    return lambda offered: (offered, min(offered, most) if offered < cliff else 0.1)


def test_collapse_is_found_to_a_percent() -> None:
    forward = _livelock(133.0)
    found = curves.find_collapse([forward(x) for x in range(30, 301, 30)], forward)
    assert found.at_pps is not None
    assert found.above_pps is not None
    assert found.above_pps < 133.0 <= found.at_pps
    assert (found.at_pps - found.above_pps) / found.at_pps <= 0.01
    assert found.most_pps == 50.0


def test_what_stays_up_has_no_collapse_and_a_dip_is_none() -> None:
    flat = _livelock(1e9)
    assert curves.find_collapse([flat(x) for x in (30, 60, 300)], flat).at_pps is None
    dip = [(30.0, 30.0), (60.0, 0.0), (90.0, 40.0), (120.0, 0.0)]
    assert curves.find_collapse(dip, _livelock(100.0)).at_pps == pytest.approx(100, rel=0.02)


def test_a_collapse_at_every_load_but_none_is_found_from_below() -> None:
    forward = _livelock(10.0)
    found = curves.find_collapse([(6.0, 6.0), forward(30), forward(60)], forward)
    assert found.at_pps == pytest.approx(10, rel=0.01)


def test_every_function_has_at_most_one_phase() -> None:
    assert len(FUNCTIONS) > 200
    assert {name: found for name in FUNCTIONS if len(found := phases.phases_of(name)) > 1} == {}


@pytest.mark.parametrize("phase", phases.FUNCTIONS)
def test_every_phase_has_functions_that_were_met(phase: str) -> None:
    assert any(phases.phases_of(name) == (phase,) for name in FUNCTIONS)


def test_an_instruction_counts_for_the_innermost_function_that_has_a_phase() -> None:
    points = [{"function": name} for name in ("handle_softirqs", "ip_rcv", "_raw_spin_lock", "i8255x_xmit", "do_nothing")]
    stacks = [
        [-1, 0, 5, 1],  # handle_softirqs: rest
        [0, 1, 100, 1],  # ip_rcv
        [1, 2, 10, 1],  # a lock taken by it
        [1, 3, 50, 1],  # i8255x_xmit called by it
        [3, 2, 7, 1],  # a lock taken by that
        [-1, 4, 3, 1],  # nobody's
    ]
    found = phases.by_phase({"samples": points, "summary": {"stacks": stacks}})
    assert (found[phases.IP], found[phases.TX], found[phases.REST]) == (110, 57, 8)
    assert sum(found.values()) == 175


def test_formulas_are_printed_as_in_the_paper() -> None:
    assert phases.FORMULAS["ORIGINAL"].total == "2 (T_CS(in) + T_CS(out)) + T_RX + T_COPY + T_IP + T_TX + T_SKB"
    assert phases.FORMULAS["NAPI-TX-128"].total.startswith("1/128 (T_CS(in) + T_CS(out)) + ")
    assert phases.FORMULAS["NAPI"].total.startswith("(T_CS(in) + T_CS(out)) + ")
    assert phases.FORMULAS["NAPI-TX-OFF"].total.startswith("T_RX + ")


def _cell(size: int, fitted: bool, mbps: float, paper: float = 50.0) -> hardware.Cell:
    return hardware.Cell(size, "NAPI", fitted, paper, 80.0, mbps, {"irq": 1.0, "byte": 120.0}, 100.0)


def test_errors_of_predicted_cells_are_told_apart_and_a_term_taken_away() -> None:
    board = Hardware("b", 250, Costs(irq=1000, byte=10), {"left_out_error": 0.05, "left_out_error_without": {"irq": 0.06}})
    cells = [_cell(64, True, 50.0), _cell(128, False, 55.0), _cell(256, False, 40.0)]
    errors = hardware.errors(cells)
    assert errors.one(cells="fitted")["error_percent"] == 0
    assert errors.one(cells="predicted")["error_percent"] == pytest.approx(15)
    assert errors.one(cells="predicted")["raw_error_percent"] == pytest.approx(60)
    us = 8 * 148 / 2 / 55.0
    assert cells[1].without(board, "irq") == pytest.approx(8 * 148 / 2 / (us - 1))
    terms = hardware.terms(board, cells)
    assert terms.one(term="without irq")["left_out_error_percent"] == pytest.approx(6)
    assert terms.one(term="without byte")["left_out_error_percent"] is None


def _tables() -> Tables:
    """Results of a run, computed from the paper's own model: only the shapes matter."""
    first = _table1(PAPER_US)
    fits = model.fits(first)
    three = Data("3", ("variant", "offered_frames", "received_frames", "transmitted_frames", "rx_interrupts", "tx_interrupts",
                       "paper_offered_frames", "paper_received_frames", "paper_transmitted_frames", "paper_rx_interrupts",
                       "paper_tx_interrupts", "idle_ratio"))  # fmt: skip
    for row in reference.records("spanos2008_table3_interrupts"):
        counts = {name: int(value) for name, value in row.items() if name != "driver"}
        said = {f"paper_{name}": value for name, value in counts.items()}
        three.add(variant=row["driver"], offered_frames=2000, paper_offered_frames=2_000_000, idle_ratio=0.0, **counts, **said)
    curve = Data("5", ("frame_bytes", "variant", "offered_pps", "forwarded_pps", "loss_ratio", "idle_ratio"))
    collapse = Data("5", ("frame_bytes", "variant", "loss_free_pps", "paper_loss_free_pps", "max_forwarded_pps", "collapse_pps",
                          "paper_collapse_pps", "collapse_ratio", "paper_collapse_ratio", "plateau_ratio"))  # fmt: skip
    five = phases.table5({}, {})
    for variant in VARIANTS:
        curve.add(frame_bytes=64, variant=variant, offered_pps=1e5, forwarded_pps=5e4, loss_ratio=0.5, idle_ratio=0.0)
        down = 1.2e5 if variant == "ORIGINAL" else None
        collapse.add(frame_bytes=64, variant=variant, loss_free_pps=4e4, max_forwarded_pps=4e4, collapse_pps=down,
                     collapse_ratio=down and 3.0, paper_collapse_ratio=3.2, plateau_ratio=1.0)  # fmt: skip
        cost = 500.0 - 10 * list(VARIANTS).index(variant)
        counted = {name: cost for name in five.columns if name.endswith(("_instructions", "_us", "_share", "_frame", "_s"))}
        five.add(**{**counted, "frame_bytes": 64, "variant": variant, "sum_error_percent": 0.1, "paper_total": "T",
                    "rest_instructions": 1.0})  # fmt: skip
    return {
        "table1_throughput": first, "table2_improvement": throughput.table2(first), "table3_interrupts": three,
        "figure5_curves": curve, "figure5_collapse": collapse, "table4_model": model.table4(fits),
        "figure6_model": model.figure6(fits, first), "table5_phases": five,
    }  # fmt: skip


@pytest.mark.parametrize("charged", [False, True])
def test_findings_and_report_are_made_from_tables_alone(charged: bool) -> None:
    tables = _tables()
    if charged:
        cells = [_cell(64, True, 50.0), _cell(128, False, 55.0)]
        board = Hardware("b", 250, Costs(irq=1000))
        extra = {f"{name}_hardware": data for name, data in _tables().items()}
        tables |= extra | {
            "hardware_cells": hardware.table(cells), "hardware_errors": hardware.errors(cells),
            "hardware_terms": hardware.terms(board, cells),
        }  # fmt: skip
    said = PAPER.findings(tables)
    assert any("ORIGINAL collapses" in text and "120.0 kpps" in text for text in said)
    assert any("predicted cells" in text for text in said) == charged
    document = {
        "command": ["irqlab"], "complete": True,
        "environment": {"irqlab": "0", "host": {}, "duts": []},
        "measured": {"findings": said, "tables": {n: d.to_json() for n, d in tables.items()}, "results": []},
    }  # fmt: skip
    text = page.html(PAPER, document)
    assert text == page.html(PAPER, document)
    assert text.count("<svg viewBox") >= 6
    assert ("With the costs of hardware" in text) == charged


def test_a_different_order_is_named_and_explained() -> None:
    tables = _tables()
    tables["table1_throughput"] = _table1({**PAPER_US, "NAPI-TX-OFF": 40.0}, sizes=(64,))
    said = PAPER.findings(tables)
    assert any(text.startswith("At 64 bytes NAPI is not slower than NAPI-TX-OFF") for text in said)
