# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of throughputs: the first table of a report, verdicts, and costs that are not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from irqlab.config.workload import Workload
from irqlab.methods import throughput, throughput_views
from irqlab.present.parts import Numbers
from irqlab.present.variants import Row
from tests.data.formulas import Formula, plateau, rows_of
from tests.data.make_views import drawn_as_text
from tests.unit.fakes import stand_on

WORKLOADS = [Workload(size=size, bidirectional=both) for both in (False, True) for size in (128, 64)]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Two drivers, two sizes, one way and both ways."""
    beds = [Formula(plateau(20_000.0), driver="a"), Formula(plateau(30_000.0), driver="b")]
    return rows_of([(bed, throughput.run(stand_on(bed), workload)) for bed in beds for workload in WORKLOADS])


def with_result(row: Row, **changed: Any) -> Row:
    return replace(row, result=msgspec.structs.replace(row.result, **changed))


@pytest.mark.parametrize(("most", "lines"), [(8, 8), (7, 4)])
def test_the_first_table_has_the_smallest_frames_if_there_are_many_rows(rows, monkeypatch, most, lines) -> None:
    monkeypatch.setattr(throughput_views, "MAX_SUMMARY", most)
    table = throughput_views.first_table(rows)
    assert table is not None
    assert (len(table.rows), table.caption.startswith("Throughput, 64-byte frames")) == (lines, lines == 4)
    assert throughput_views.first_table([]) is None


def test_a_verdict_compares_the_first_with_the_last(rows) -> None:
    first, last = [row for row in rows if row.frame_bytes == 64 and not row.bidirectional]
    none = with_result(first, total_throughput_pps=0.0)
    text = throughput_views._verdict([none, last]).replace("\u202f", " ")
    assert text == "b forwards most: 30.0 kpps without loss (64-byte frames, one way); against a (0 kpps)."
    assert throughput_views._verdict([with_result(first, instructions_per_frame=None)]).endswith(
        "(64-byte frames, one way); limited by the device."
    )


def costs(rows: list[Row]) -> list[list[str]]:
    """The titles of plots by group."""
    with drawn_as_text():
        sections = throughput.METHOD.sections(rows, Numbers())
    return [[plot.title for plot in group.plots] for section in sections if section.id == "cost" for group in section.groups]


def test_costs_that_are_not_known_are_not_drawn(rows) -> None:
    both = ["Interrupts per frame", "Instructions per frame"]
    assert costs(rows) == [both, both]
    silent = [with_result(row, interrupts_per_frame=None) for row in rows]
    assert costs(silent) == [both[1:]] * 2
    uncounted = [with_result(row, instructions_per_frame=None) for row in rows]
    assert costs(uncounted) == [both[:1]] * 2
    neither = [with_result(row, instructions_per_frame=None) for row in silent]
    assert costs(neither) == []
    assert [section.id for section in throughput.METHOD.sections(neither, Numbers())] == ["throughput"]
    assert costs([row for row in rows if row.bidirectional]) == [both]
    assert costs([neither[0], *(row for row in rows if row.bidirectional)]) == [both]


LIMITS = [(None, None, None), (True, False, "the wire"), (False, True, "the tester"), (False, None, "the device")]


@pytest.mark.parametrize(("wire", "tester", "by"), LIMITS)
def test_what_limits_a_throughput(rows, wire, tester, by) -> None:
    assert throughput_views._limit(with_result(rows[0], line_rate_limited=wire, tester_limited=tester)) == by


def test_fills_of_caches_are_costs_too(rows) -> None:
    row = with_result(rows[0], l1i_fills_per_frame=1.0, l1d_fills_per_frame=2.0, l2_fills_per_frame=3.0)
    (line,), (cost,) = throughput_views.Line.of(row), throughput_views.CostLine.of(row)
    for shown in (line, cost):
        assert (shown.l1i_fills_per_frame, shown.l1d_fills_per_frame, shown.l2_fills_per_frame) == (1.0, 2.0, 3.0)


def test_the_legend_is_of_the_lines_over_frame_size(rows) -> None:
    bed = Formula(plateau(20_000.0), driver="c")
    mixed = rows_of([(bed, throughput.run(stand_on(bed), Workload(size="imix")))])[0]
    mixed = replace(mixed, variant=replace(mixed.variant, number=7, label="c"))
    one_way = [row for row in rows if not row.bidirectional]
    assert [one.text for one in throughput_views._legend([*one_way, mixed])] == ["a", "b", "line rate at 100\u202fMbit/s"]
    assert throughput_views._legend([row for row in one_way if row.frame_bytes == 64]) == []
