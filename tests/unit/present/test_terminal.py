# SPDX-License-Identifier: GPL-2.0-or-later
import io
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from irqlab import units
from irqlab.methods import catalogue
from irqlab.present import tables, terminal
from irqlab.present.tables import Cell, Column
from irqlab.present.variants import Row
from tests.data.samples import sample

SAMPLES = {row["method"] for row in sample()["measured"]["results"]}
METHODS = [name for name, method in catalogue.methods().items() if name in SAMPLES and method.print_lines and method.run]


def content(method: str, name: str = "full") -> dict[str, Any]:
    document = sample(name)
    document["measured"]["results"] = [r for r in document["measured"]["results"] if r["method"] == method]
    return document


def rows(method: str, name: str = "full", **changed: Any) -> list[Row]:
    document = content(method, name)
    for row in document["measured"]["results"]:
        row |= changed
    return catalogue.rows([document])


def table_of(method: str, found: list[Row]) -> Table:
    return terminal.rich_table(catalogue.methods()[method].lines.table(found))


def shown(table: Table, width: int | None = None) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=width is not None, color_system=None, highlight=False)
    terminal.show(table, console)
    return out.getvalue()


@pytest.mark.parametrize("method", METHODS)
def test_a_file_gets_whole_lines_of_plain_text(method):
    text = shown(table_of(method, rows(method)))
    assert "\x1b" not in text
    assert "…" not in text
    assert "8255x interrupt/interrupt" in text
    assert units.NARROW not in text


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("width", [None, 40, 80])
def test_no_line_ends_with_blanks(method, width):
    assert not [line for line in shown(table_of(method, rows(method)), width).splitlines() if line != line.rstrip()]


@pytest.mark.parametrize("width", [None, 80])
def test_a_long_sentence_is_wrapped_and_takes_no_room_from_the_others(width):
    columns = [Column("Row", False), Column("Result", False), Column("What was found", False, prose=True)]
    cells = [Cell("A frame at every instant"), Cell("not supported"), Cell("a word " * 100)]
    lines = shown(terminal.rich_table(tables.Table("Races", columns, [cells])), width).splitlines()
    assert any("A frame at every instant  not supported  a word" in line for line in lines)
    assert max(map(len, lines)) <= (width or terminal.PROSE_WIDTH)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("width", [40, 80])
def test_a_narrow_terminal_loses_no_digit(method, width):
    def words(text: str) -> list[str]:
        return sorted(w for line in text.splitlines() for w in line.split() if any(c.isdigit() for c in w) and "sample" not in w)

    table = table_of(method, rows(method))
    body = [line for line in shown(table, width).splitlines() if "frames," not in line]
    whole = [line for line in shown(table).splitlines() if "frames," not in line]
    assert words("\n".join(body)) == words("\n".join(whole))


def test_throughput_says_what_limits():
    text = shown(table_of("throughput", rows("throughput")))
    line = next(line for line in text.splitlines() if "1518" in line)
    said = f"sample8139 1518 both ways rtl8139 16.3 100.0 4 886 0.73 {units.NONE} {units.NONE} the wire"
    assert line.split() == said.split()
    assert "IMIX" in text


def test_loss_marks_the_livelock():
    text = shown(table_of("loss", rows("loss")))
    assert text.count("livelock") == 3
    assert text.startswith("Loss, 64-byte frames, both ways")


def test_latency_names_the_ports_only_where_there_are_two_directions():
    assert "Ports" not in shown(table_of("latency", rows("latency")))
    text = shown(table_of("latency", rows("latency", "latency")))
    assert "0 → 1" in text
    assert "1 → 0" in text


def test_burst_without_a_limit_says_so():
    assert shown(table_of("burst", rows("burst"))).count("no limit found") == 1


@pytest.mark.parametrize("method", METHODS)
def test_tables_without_rows_are_shown(method):
    assert shown(table_of(method, []))


@pytest.mark.parametrize("method", METHODS)
def test_names_with_markup_or_escape_sequences_are_shown_as_text(method):
    text = shown(table_of(method, rows(method, driver="[red]x[/nonsense]\x1b]0;title\x07")))
    assert "[red]x[/nonsense]?]0;title?" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("method", METHODS)
def test_incomplete_results_are_marked(method):
    assert "cut short" in shown(table_of(method, rows(method, complete=False, samples=[], summary=None)[:1]))


def test_missing_values_are_dashes():
    made = rows(
        "throughput",
        total_throughput_pps=None,
        per_interface_throughput_mbps=None,
        instructions_per_frame=None,
        interrupts_per_frame=None,
        line_rate_limited=None,
    )
    assert shown(table_of("throughput", made[:1])).count(units.NONE) == 5


@pytest.mark.parametrize(
    ("write", "value", "expected"),
    [
        (units.kpps, 55_500, "55.5"),
        (units.kpps, 8_127.4, "8.13"),
        (units.kpps, 148_809.5, "148.8"),
        (units.kpps, 99_960, "100.0"),
        (units.kpps, 1_488_095, "1 488"),
        (units.kpps, 0, "0"),
        (units.kpps, None, units.NONE),
        (units.mbps, 37.14, "37.1"),
        (units.whole, 4430.2, "4 430"),
        (units.whole, 1234567, "1 234 567"),
        (units.per_frame, 1.034, "1.03"),
        (units.per_frame, 0.9951, "0.995"),
        (units.per_frame, 0.0123, "0.012"),
        (units.per_frame, 0.0, "0"),
        (units.per_frame, 41.23, "41.2"),
        (units.percent, 0.0, "0 %"),
        (units.percent, 1.0, "100 %"),
        (units.percent, 1e-6, "<0.01 %"),
        (units.percent, 0.99999, ">99.9 %"),
        (units.percent, 0.0012, "0.12 %"),
        (units.percent, 0.1234, "12.3 %"),
        (units.duration, 0, "0"),
        (units.duration, 1, "1 ns"),
        (units.duration, 850, "850 ns"),
        (units.duration, 62.25, "62.2 ns"),
        (units.duration, 999.7, "1.00 µs"),
        (units.duration, 12_345, "12.3 µs"),
        (units.duration, 999_960, "1.00 ms"),
        (units.duration, 1_250_000, "1.25 ms"),
        (units.duration, 2_000_000_000, "2.00 s"),
        (units.duration, 75_000_000_000, "75.0 s"),
        (units.share, 0.25, "25 %"),
        (units.share, 1.1, "110 %"),
        (units.share, 4.0, "4 \N{MULTIPLICATION SIGN}"),
        (units.bit_rate, 100e6, "100 Mbit/s"),
        (units.bit_rate, 1e9, "1 Gbit/s"),
    ],
)
def test_numbers_have_a_sensible_number_of_digits(write, value, expected):
    assert units.plain(write(value)) == expected
