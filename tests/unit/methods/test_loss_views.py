# SPDX-License-Identifier: GPL-2.0-or-later
"""The loss curve at the limits of what counts as collapse, and what is shown of drivers at different line rates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import loss, throughput
from irqlab.present.parts import Numbers
from irqlab.present.variants import Row
from irqlab.results.document import MethodResult
from tests.data.formulas import Formula, plateau, rows_of
from tests.data.make_views import drawn_as_text
from tests.unit.fakes import stand_on

WORKLOAD = Workload(duration_ns=100_000_000)
KNOWN = throughput.run(stand_on(Formula(plateau(20_000.0))), WORKLOAD)


def test_loads_may_be_rates() -> None:
    found = loss.run(stand_on(Formula(plateau(20_000.0))), WORKLOAD, known=KNOWN, rates_pps=(5_000.0, 70_000.0))
    assert [sample.offered_pps for sample in found.samples] == pytest.approx([5_000, 70_000])
    with pytest.raises(IrqlabError, match="--rate 0: allowed are numbers"):
        loss.Options(rate="0")


def curve(forwards: Callable[[float], float], *shares: float) -> MethodResult:
    """Of a driver whose throughput was 20,000 frames/s a moment ago."""
    return loss.run(stand_on(Formula(forwards)), WORKLOAD, shares, KNOWN)


def rows(*tops: float) -> list[Row]:
    return rows_of(
        [
            (bed, loss.run(stand_on(bed), WORKLOAD, (1.0, 2.0)))
            for n, top in enumerate(tops)
            for bed in [Formula(plateau(top), driver=f"d{n}")]
        ]
    )


def test_only_beyond_the_throughput_a_driver_collapses() -> None:
    gone: Callable[[float], float] = lambda pps: pps if pps < 15_000 else 0.0  # noqa: E731
    assert curve(gone, 0.5, 1.0, 1.1, 4.0).summary.collapse_load == 1.1
    # Two hundredths of the highest rate are not a collapse yet.
    assert curve(lambda pps: 10_050.0 if pps < 15_000 else 200.0, 0.75, 2.0).summary == loss.Summary(10_000.0, 0.02, None)
    assert curve(lambda pps: 10_050.0 if pps < 15_000 else 190.0, 0.75, 2.0).summary == loss.Summary(10_000.0, 0.019, 2.0)


def test_a_driver_that_forwards_nothing_at_all_has_no_plateau() -> None:
    assert curve(lambda pps: 0.0, 1.0, 2.0).summary == loss.Summary(0.0, 0.0, None)


def with_result(row: Row, **changed: Any) -> Row:
    return replace(row, result=msgspec.structs.replace(row.result, **changed))


def with_rate(row: Row, bps: float | None) -> Row:
    return replace(row, variant=replace(row.variant, line_rate_bps=bps))


def legend(found: list[Row]) -> list[str]:
    with drawn_as_text():
        picture = loss.METHOD.pictured(found, Numbers())
    assert picture is not None
    return [one.key for one in picture.legend]


def test_line_rate_is_drawn_if_it_is_one_and_in_the_plot() -> None:
    first, second = rows(20_000.0, 30_000.0)
    highest = second.samples[-1].offered_pps
    for beyond, marked in ((0.9999, True), (1.0001, False)):
        bps = beyond * highest * 84 * 8
        same = [with_rate(first, bps), with_rate(second, bps)]
        assert loss._wire_kpps(same) == pytest.approx(beyond * highest / 1e3)
        assert ("wire" in legend(same)) == marked
    assert loss._wire_kpps([with_rate(first, 1e6), with_rate(second, 2e6)]) is None
    assert loss._wire_kpps([with_rate(first, None), with_rate(second, None)]) is None
    assert "wire" not in legend([with_rate(first, None), with_rate(second, None)])


@pytest.mark.parametrize(
    ("values", "usual", "top"),
    [
        ([], [], None),
        ([5.0], [], None),
        ([0.0], [0.0], None),
        ([1.0, 3.1], [1.0], 2.0),
        ([1.0, 3.0], [1.0], None),
        ([0.4, 2.0], [0.4], 0.8),
    ],
)
def test_an_axis_is_cut_where_livelock_would_dwarf_the_rest(values, usual, top) -> None:
    assert loss._top(values, usual) == top


def test_what_a_driver_did_not_lose_at_a_place_is_none() -> None:
    first, second = rows(20_000.0, 30_000.0)
    lost: list[Any] = [{"nic": 3}, {"qdisc": 4, "tx_dropped": 0}]
    changed = [
        replace(
            row, result=msgspec.structs.replace(row.result, samples=[*row.samples[:-1], replace(row.samples[-1], drops=drops)])
        )
        for row, drops in zip((first, second), lost, strict=True)
    ]
    (table,) = loss._drops(changed)
    assert [[cell.text for cell in line][3:] for line in table.rows] == [["3", "0"], ["0", "4"]]
    assert [column.text for column in table.columns][3:] == ["refused by the NIC", "qdisc"]


def test_a_driver_degrades_below_nine_tenths() -> None:
    (row,) = rows(20_000.0)

    def notices(ratio: float) -> list[str]:
        summary = loss.Summary(20_000.0, ratio, None)
        return [
            notice.kind for notice in loss._notices([replace(row, result=msgspec.structs.replace(row.result, summary=summary))])
        ]

    assert notices(loss.NEAR_COLLAPSE) == []
    assert notices(0.899) == ["warn"]
