# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables from annotations."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

from irqlab import units
from irqlab.present.columns import Col, Nested, columns_of, from_csv, shown, to_csv


@dataclass(frozen=True)
class Inner:
    p50_ns: Annotated[int, Col("p50", "µs", units.duration)]
    p99_ns: Annotated[int, Col("p99", "µs", units.duration)]


@dataclass(frozen=True)
class Sample:
    name: Annotated[str, Col("Name")]
    offered_pps: Annotated[float, Col("Offered", "kpps", units.kpps)]
    hidden: int
    latency: Annotated[Inner | None, Nested("RTT ")]
    causes: Annotated[float | None, Col("Causes", optional=True)] = None


ROWS = [Sample("a", 55_500.0, 1, Inner(850, 12_300)), Sample("b", 8_130.0, 2, None)]


def test_annotated_fields_are_the_columns_in_their_order() -> None:
    found = columns_of(Sample)
    assert [c.name for c in found] == ["name", "offered_pps", "latency_p50_ns", "latency_p99_ns", "causes"]
    assert [c.col.heading for c in found] == ["Name", "Offered", "RTT p50", "RTT p99", "Causes"]
    assert [c.number for c in found] == [False, True, True, True, True]


def test_rows_and_their_json_look_the_same() -> None:
    for row in (ROWS[0], asdict(ROWS[0])):
        assert [units.plain(c.text(row)) for c in shown(Sample, ROWS)] == ["a", "55.5", "850 ns", "12.3 µs"]
    assert [c.text(ROWS[1]) for c in shown(Sample, ROWS)][2:] == [units.NONE] * 2


def test_an_optional_column_is_there_where_a_row_has_a_value() -> None:
    assert [c.name for c in shown(Sample, ROWS)][-1] == "latency_p99_ns"
    assert [c.name for c in shown(Sample, [*ROWS, Sample("c", 1.0, 3, None, 0.5)])][-1] == "causes"


def test_csv_holds_values_as_they_are() -> None:
    assert to_csv(Sample, ROWS).splitlines() == [
        "name,offered_pps,latency_p50_ns,latency_p99_ns,causes",
        "a,55500.0,850,12300,",
        "b,8130.0,,,",
    ]


@dataclass(frozen=True)
class Kept:
    name: Annotated[str, Col("Name")]
    count: Annotated[int | None, Col("Count")]
    capped: Annotated[bool, Col("Capped")]
    share: Annotated[float, Col("Share")]
    latency: Annotated[Inner | None, Nested("RTT ")]
    inside: Annotated[Inner, Nested(behind=True)]


def test_csv_is_read_as_it_was_written() -> None:
    rows = (Kept("a", 3, True, 0.1 + 0.2, Inner(1, 2), Inner(3, 4)), Kept("", None, False, 1e-9, None, Inner(5, 6)))
    assert from_csv(Kept, to_csv(Kept, rows)) == rows
    more = "name,count,capped,share,latency_p50_ns,latency_p99_ns,p50_ns_inside,p99_ns_inside,other\nb,,False,1,,,7,8,9\n"
    assert from_csv(Kept, more) == (Kept("b", None, False, 1.0, None, Inner(7, 8)),)
