# SPDX-License-Identifier: GPL-2.0-or-later
"""What is shown of a profile: lines of memory, another profile to compare with, and how many functions."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from irqlab.methods import catalogue, profile
from irqlab.present.parts import Numbers
from irqlab.present.variants import Row
from irqlab.profile import line_map, line_tables
from irqlab.profile import tables as printed
from irqlab.profile.flamegraph import svg as flames
from tests.data.make_views import table_lines
from tests.data.samples import file, sample


def function(name: str, n: int) -> dict[str, Any]:
    return {
        "function": name, "module": None, "context": "softirq", "code_lines": 60 * n, "data_lines": 50 * n,
        "new_code_lines": 40 * n, "new_data_lines": 30 * n, "loads": 20 * n, "stores": 10 * n, "code_misses": [9 * n, 2 * n],
        "data_misses": [8 * n, n],
    }  # fmt: skip


def used(field: str, line: int, n: int) -> dict[str, Any]:
    return {
        "kind": "sk_buff", "object": "sk_buff", "line": line, "field": field, "loads": 7 * n, "stores": 5 * n, "lines": 3 * n,
        "misses": [2 * n, n], "window_lines": n, "users": ["f"],
    }  # fmt: skip


MEMORY = {
    "hardware": "a board", "levels": ["L1I", "L1D", "L2"], "line_bytes": [32, 64], "intervals": 100,
    "functions": [function("f", 9000), function("g", 5000)], "fields": [used("len", 0, 8000), used("head", 1, 4000)],
    "objects": {"sk_buff": 3}, "window_code_lines": {"the kernel": 5}, "lacking": ["No names of stacks."],
}  # fmt: skip


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    whole = sample()
    kept = [row for row in whole["measured"]["results"] if row["method"] == "profile"]
    return {**whole, "measured": {"results": kept}}


@pytest.fixture
def rows(content) -> Iterator[list[Row]]:
    """Of two drivers; the first with lines of memory."""
    changed = copy.deepcopy(content)
    changed["measured"]["results"][0]["summary"]["memory"] = MEMORY
    return catalogue.rows([changed])


def texts(shown: Any) -> list[list[str]]:
    return [list(table_lines(one)) if not isinstance(one, str) else [one] for one in shown]


def test_the_terminal_shows_so_many_functions_and_the_lines_of_memory(rows) -> None:
    first, second = rows
    plain = profile.METHOD.tables(second, profile.Options(top=3))
    assert texts(plain) == texts(
        [printed.functions_table(second.data, 3), *printed.totals_tables(second.data), printed.summary(second.data)]
    )
    assert texts(profile.METHOD.tables(first, profile.Options(top=1, memory=True)))[4:] == texts(
        [
            line_tables.caches_table(first.data),
            line_tables.functions_table(first.data, 1),
            line_tables.objects_table(first.data),
            line_tables.parts_table(first.data, 1),
            line_tables.summary(first.data),
        ]
    )


def test_the_terminal_shows_the_difference_to_another_profile(rows, content, tmp_path) -> None:
    first, second = rows
    options = profile.Options(top=2, diff=file(tmp_path))
    before = content["measured"]["results"][1]
    shown = texts(profile.METHOD.tables(second, options))
    assert shown[4:] == texts([f"\nBefore: {printed.title(before)}", *printed.diff_tables(before, second.data, 2)])
    assert shown[5:] != texts(printed.diff_tables(content["measured"]["results"][0], second.data, 2))
    other = profile.METHOD.tables(Row(second.variant, 0, {**second.data, "frame_bytes": 512}, second.result), options)
    assert texts(other)[4:] == [["--diff: the file has no profile of this frame size and direction."]]
    assert texts(profile.METHOD.tables(first, options))[9][0].startswith("\nBefore: Profile of sample8139 ")


def test_a_report_shows_the_lines_of_memory_too(rows) -> None:
    ((first, second),) = [section.groups for section in profile.METHOD.sections(rows, Numbers())]
    one, other = rows
    assert [plot.svg for plot in first.plots] == [
        flames(one.data, f"Flame graph, {one.variant.label}"), line_map.svg(one.data, f"Lines of data, {one.variant.label}"),
    ]  # fmt: skip
    assert [(plot.title, plot.wide) for plot in first.plots] == [("Flame graph", True), ("Lines of data", True)]
    functions = printed.functions_table(one.data, profile.TOP, "Functions", folded=True)
    assert texts(first.tables) == texts(
        [
            *printed.totals_tables(one.data), functions, line_tables.caches_table(one.data), line_tables.objects_table(one.data),
            line_tables.parts_table(one.data, profile.TOP, folded=True),
            line_tables.functions_table(one.data, profile.TOP, folded=True),
        ]
    )  # fmt: skip
    assert first.note == f"{printed.title(one.data)}. {printed.summary(one.data)} {line_tables.summary(one.data)}"
    assert second.note == f"{printed.title(other.data)}. {printed.summary(other.data)}"
    assert len(second.plots) == 1
    assert len(second.tables) == len(first.tables) - 4
    assert profile.METHOD.sections([], Numbers()) == []


@pytest.mark.parametrize(("most", "caption"), [(7, "The 7 most expensive of 8 functions"), (8, "Functions")])
def test_a_report_shows_the_most_expensive_functions(rows, monkeypatch, most, caption) -> None:
    monkeypatch.setattr(profile, "TOP", most)
    (section,) = profile.METHOD.sections(rows, Numbers())
    shown = section.groups[1].tables[-1]
    assert texts([shown]) == texts([printed.functions_table(rows[1].data, most, caption, folded=True)])
    assert shown.caption == caption
    lines = section.groups[0].tables[-2:]
    assert [table.folded for table in lines] == [True, True]


def test_a_report_shows_the_lines_that_are_used_most(rows, monkeypatch) -> None:
    monkeypatch.setattr(profile, "TOP", 1)
    (section,) = profile.METHOD.sections(rows, Numbers())
    assert [len(table.rows) for table in section.groups[0].tables[-2:]] == [1, 1]
