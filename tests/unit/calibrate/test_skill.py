# SPDX-License-Identifier: GPL-2.0-or-later
"""Predictions with and without a lab, on boards that are formulas."""

from __future__ import annotations

import pytest

from irqlab.calibrate import skill
from irqlab.calibrate.cells import Cell
from irqlab.calibrate.fit import Sample
from irqlab.config.costs import TERMS, Costs

SIZES = (64, 128, 512, 1024)
FITTED_SIZES = (64, 512)
BARE_NS = {"A": 20_000.0, "B": 17_000.0, "C": 12_000.0, "D": 9_000.0}
FREED = {"A": 1.0, "B": 1.0, "C": 0.0, "D": 0.0}


def judged(bend: float = 0.0, terms: tuple[str, ...] = ("byte", "free_irq")) -> dict[str, skill.Skill]:
    """A board with 10 ns a byte and 5 us a deferred free. `bend`: a cost of large frames that the lab knows, and no line has."""
    board_pps, samples = {}, {}
    for variant, bare_ns in BARE_NS.items():
        for size in SIZES:
            cell = Cell(variant, size)
            lab_ns = bare_ns + bend * (size > 100)
            events = dict.fromkeys(TERMS, 0.0) | {"byte": 2.0 * (size - 4), "free_irq": FREED[variant]}
            board_ns = lab_ns + 10 * events["byte"] + 5_000 * events["free_irq"]
            board_pps[cell] = 1e9 / board_ns
            samples[cell] = Sample(board_ns, lab_ns, events, Costs(), variant)
    fitted = [cell for cell in board_pps if cell.frame_bytes in FITTED_SIZES]
    return {one.name: one for one in skill.judge(board_pps, fitted, samples, terms)}


def test_lines_need_no_lab_where_times_are_lines() -> None:
    found = judged()
    line = found["a line for each variant"]
    assert (line.fitted, line.sizes) == (pytest.approx(0, abs=1e-9), pytest.approx(0, abs=1e-9))
    assert line.variants is None
    assert line.numbers == 8
    lab = found["lab with the costs"]
    assert (lab.fitted, lab.sizes, lab.variants) == tuple(pytest.approx(0, abs=1e-6) for _ in range(3))
    assert (found["lab without costs"].sizes or 0) > 0.2


def test_a_common_slope_is_enough_where_there_is_one() -> None:
    found = judged()["a constant for each variant, one slope"]
    assert found.sizes == pytest.approx(0, abs=1e-6)
    assert found.numbers == 5


def test_what_only_the_lab_knows_makes_it_better_than_lines() -> None:
    found = judged(bend=8_000)
    assert (found["lab with the costs"].sizes or 0) < 0.001 < 0.05 < (found["a line for each variant"].sizes or 0)
    assert skill.claims(list(found.values()))[0].startswith("The lab predicts other frame sizes: error 0.0%; without a lab ")


def test_a_variant_that_is_like_no_other_is_not_the_mean_of_the_others() -> None:
    found = judged()
    mean = found["mean of the other variants"]
    assert (mean.variants or 0) > 0.2
    # Variant A: the others' times at 64 bytes are 23.2, 13.2 and 10.2 us, its own 26.2.
    given = {Cell(v, 64): ns for v, ns in (("B", 23_200.0), ("C", 13_200.0), ("D", 10_200.0), ("A", 1.0))}
    assert skill.mean_of_others(given, Cell("A", 64)) == pytest.approx(46_600 / 3)
    assert skill.mean_of_others(given, Cell("A", 512)) is None


def test_the_claim_is_made_only_where_the_lab_is_better() -> None:
    said = skill.claims(list(judged(terms=("byte",)).values()))
    assert said[0].startswith("The lab has no skill for other frame sizes")
    assert "(a line for each variant)" in said[0] or "(a constant for each variant, one slope)" in said[0]
    assert said[1].startswith("The lab predicts a variant that was not fitted")


def test_nothing_to_predict_is_no_claim() -> None:
    cell = Cell("A", 64)
    sample = Sample(20_000.0, 20_000.0, dict.fromkeys(TERMS, 0.0), Costs(), "A")
    found = skill.judge({cell: 50_000.0}, [cell], {cell: sample}, ())
    assert [one.sizes for one in found] == [None] * 5
    assert skill.claims(found) == []
