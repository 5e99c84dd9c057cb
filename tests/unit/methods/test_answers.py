# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers: the last lines on the terminal, the first of a report; figures, their range, and what is no difference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from irqlab import report, units
from irqlab.cli import output
from irqlab.config.workload import Workload
from irqlab.methods import answers, application, catalogue, throughput, throughput_views
from irqlab.present.columns import columns_of
from irqlab.present.variants import Row
from irqlab.trials.record import Processor
from tests.data.formulas import Formula, plateau, rows_of
from tests.unit.fakes import stand_on
from tests.unit.report.test_report import Page, only, sample


def forwarding(*tops: float) -> list[Row]:
    """Throughputs of drivers a, b, ..."""
    beds = [Formula(plateau(top), driver="abcdefgh"[n]) for n, top in enumerate(tops)]
    return rows_of([(bed, throughput.run(stand_on(bed), Workload())) for bed in beds])


def total(row: Row) -> float:
    return float(row.result.total_throughput_pps)


def at(row: Row, pps: float) -> Row:
    """A row with another throughput."""
    return replace(row, result=msgspec.structs.replace(row.result, total_throughput_pps=pps))


def of_members(row: Row, *pps: float) -> Row:
    """An ensemble of these throughputs."""
    return replace(row, members=tuple(at(row, one) for one in pps))


def test_the_answer_is_the_first_of_the_page() -> None:
    document = only("loss")
    page = report.html([document])
    first = catalogue.answers(catalogue.rows([document]))[0].replace("\u202f", " ")
    text = Page(page).text
    assert 0 < text.index(first) < text.index("Forwarded over offered load")
    assert text.index(first) < text.index("Throughput, kpps" if "Throughput, kpps" in text else "Measured on")


def test_the_answer_is_the_last_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    document = only("loss")
    output.show_document(document)
    said = capsys.readouterr().out.rstrip().splitlines()
    answers = [text.replace("\u202f", " ") for text in catalogue.answers(catalogue.rows([document]))]
    assert said[-len(answers) :] == answers


def test_the_subtitle_is_that_of_the_only_method() -> None:
    assert catalogue.methods()["hunt"].lead
    lead = Page(report.html([only("loss")])).text
    assert (catalogue.methods()["loss"].lead or catalogue.methods()["loss"].title) + "; measured by irqlab" in lead
    assert "forward, lose and cost" in Page(report.html([sample()])).text


def test_an_interrupted_row_has_no_answer() -> None:
    document = only("loss")
    assert catalogue.answers(catalogue.rows([document]))
    document["measured"]["results"] = [
        row | {"complete": False, "summary": None, "samples": []} for row in document["measured"]["results"]
    ]
    assert catalogue.answers(catalogue.rows([document])) == []


def test_what_the_search_cannot_tell_apart_is_no_difference() -> None:
    first, other = forwarding(50_000.0, 50_000.0)
    assert first.summary.relative_width == 0.002
    (said,) = throughput_views.verdicts([first, at(other, total(first) * 1.0019)])
    assert "No difference between" in said
    assert "more than" not in said
    (said,) = throughput_views.verdicts([first, at(other, total(first) * 1.0021)])
    assert said.startswith("b forwards most")
    (said,) = throughput_views.verdicts(forwarding(50_000.0, 40_000.0, 50_000.0))
    assert "a and c forward most, without a difference" in said
    assert f"25.1{units.NARROW}% more than b" in said


def test_ensembles_that_overlap_are_no_difference() -> None:
    first, other = forwarding(50_000.0, 51_000.0)
    (said,) = throughput_views.verdicts([of_members(first, 49e3, 50e3, 51e3), of_members(other, 50.5e3, 51e3, 52e3)])
    assert "No difference" in said
    assert f"51.0{units.NARROW}kpps (50.5{units.NARROW}kpps to 52.0{units.NARROW}kpps)" in said
    (said,) = throughput_views.verdicts([of_members(first, 49e3, 50e3, 50.4e3), of_members(other, 50.5e3, 51e3, 52e3)])
    assert said.startswith("b forwards most")


@pytest.mark.parametrize(("idle", "by"), [(0.0, "the DUT's CPU"), (0.2, "the device"), (None, "the device")])
def test_the_cpu_limits_only_if_it_is_busy(idle: float | None, by: str) -> None:
    row = next(row for row in catalogue.rows([sample("patched")]) if row.data["method"] == "throughput")
    trials = [msgspec.structs.replace(trial, idle_ratio=idle, offered_pps=total(row)) for trial in row.result.trials]
    row = replace(row, result=msgspec.structs.replace(row.result, trials=trials))
    assert throughput_views.Line.of(row)[0].limit == by
    assert f"limited by {by}" in throughput_views.verdicts([row])[0]


def test_one_busy_processor_of_two_is_the_limit() -> None:
    row = next(row for row in catalogue.rows([sample("patched")]) if row.data["method"] == "throughput")
    both = [Processor(1000, 0.6), Processor(5000, 0.0)]
    trials = [
        msgspec.structs.replace(trial, idle_ratio=0.3, offered_pps=total(row), processors=both) for trial in row.result.trials
    ]
    row = replace(row, result=msgspec.structs.replace(row.result, trials=trials))
    assert throughput_views.Line.of(row)[0].limit == "the DUT's CPU"


def test_of_many_rows_only_the_ends_are_told() -> None:
    rows = forwarding(*(10_000.0 * n for n in range(1, 6)))
    said = answers.by_row(rows, lambda row: f"{total(row):.0f}", "Rate", total, units.kpps)
    assert said == ["Rate (64-byte frames, one way): from 9.99 (a) to 50.0 (e)."]
    assert len(answers.by_row(rows[:4], lambda row: "x", "Rate", total, units.kpps)) == 4


def test_the_range_of_an_ensemble_is_told() -> None:
    (row,) = forwarding(50_000.0)
    assert answers.spread(row, total, units.whole) == units.whole(total(row))
    three = of_members(row, 1000.0, 3000.0, 2000.0)
    assert answers.spread(three, total, units.kpps) == "2.00 (1.00 to 3.00)"
    assert answers.spread(of_members(row, 1000.0, 1000.1), total, units.kpps) == "1.00"
    assert "not of every member" in answers.spread(three, lambda one: None if total(one) > 2500 else 1.0, units.kpps)
    assert answers.sure([three]).startswith("Medians of 3 members")
    assert answers.sure([row]).startswith("Exact for this phase")


def test_the_round_trip_says_that_it_comes_from_another_trial() -> None:
    headings: dict[str, Any] = {column.name: column.col for column in columns_of(application.Line)}
    assert all("echo trial" in headings[name].unit for name in ("p50_ns", "p99_ns"))
    assert "from another trial" in application.METHOD.lines.note
