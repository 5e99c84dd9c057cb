# SPDX-License-Identifier: GPL-2.0-or-later
"""A board's throughputs as cells, from CSV and from the results of irqlab live."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from irqlab.calibrate import cells, method
from irqlab.calibrate.cells import Board, Cell, Measured, read, read_live
from irqlab.config.costs import Costs
from irqlab.errors import IrqlabError
from tests.data.samples import sample

FAST_ETHERNET_BPS = 1e8
WIRE_64_PPS = 1e8 / 8 / 84
"""Frames of 64 bytes that the wire carries, with preamble and gap."""


def cells_of(tmp_path: Path, text: str, bidirectional: bool = False) -> dict[Cell, float]:
    file = tmp_path / "board.csv"
    file.write_text(text)
    return read(file, bidirectional, FAST_ETHERNET_BPS)


def test_a_row_per_cell(tmp_path: Path) -> None:
    found = cells_of(tmp_path, "# a board\nvariant,frame_bytes,throughput_pps\n\nnapi/off , 64,50000\nde/off,1518,0.5\n,64,7\n")
    assert found == {Cell("napi/off", 64): 50_000.0, Cell("de/off", 1518): 0.5, Cell("", 64): 7.0}
    assert [str(cell) for cell in found] == ["napi/off 64", "de/off 1518", "64"]


def test_without_a_variant_a_cell_is_the_driver_s_own(tmp_path: Path) -> None:
    assert cells_of(tmp_path, "frame_bytes,throughput_pps\n64,1000\n") == {Cell("", 64): 1000.0}


@pytest.mark.parametrize(("bidirectional", "pps"), [(False, 20e6 / 8 / 84), (True, 40e6 / 8 / 84)])
def test_mbits_count_per_interface_with_preamble_and_gap(tmp_path: Path, bidirectional: bool, pps: float) -> None:
    found = cells_of(tmp_path, "variant,frame_bytes,throughput_mbps\nA,64,20\n", bidirectional)
    assert found == {Cell("A", 64): pytest.approx(pps)}


def test_a_column_per_variant(tmp_path: Path) -> None:
    found = cells_of(tmp_path, "frame_bytes,A,B\n64,20,10\n128,40,30\n")
    assert list(found) == [Cell("A", 64), Cell("B", 64), Cell("A", 128), Cell("B", 128)]
    assert list(found.values()) == pytest.approx([20e6 / 672, 10e6 / 672, 40e6 / 1184, 30e6 / 1184])


@pytest.mark.parametrize("bidirectional", [False, True])
def test_cells_at_line_rate_are_left_out(tmp_path: Path, bidirectional: bool) -> None:
    wire = WIRE_64_PPS * (2 if bidirectional else 1)
    text = f"variant,frame_bytes,throughput_pps\nA,64,{0.994 * wire}\nB,64,{0.996 * wire}\n"
    assert list(cells_of(tmp_path, text, bidirectional)) == [Cell("A", 64)]


COLUMNS = "row 2: numbers are needed in the columns frame_bytes, throughput_pps or throughput_mbps$"
ALLOWED = "row 2: allowed are 64 to 1518 bytes and a throughput above 0$"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("B,,5", COLUMNS),
        ("B,64,", COLUMNS),
        ("B,64,many", COLUMNS),
        ("B,63,5", ALLOWED),
        ("B,1519,5", ALLOWED),
        ("B,64,0", ALLOWED),
        ("B,64,-1", ALLOWED),
        ("B,64,inf", ALLOWED),
        ("A,64,5", "row 2: duplicate cell A 64$"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(IrqlabError, match=message):
        cells_of(tmp_path, f"variant,frame_bytes,throughput_pps\nA,64,5\n{row}\n")


def test_a_table_with_an_empty_cell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IrqlabError, match=COLUMNS):
        cells_of(tmp_path, "frame_bytes,A,B\n64,20,\n")
    with pytest.raises(IrqlabError, match="row 1: numbers are needed in"):
        cells_of(tmp_path, "frame_bytes,A\n,20\n")


def test_a_file_without_cells_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IrqlabError, match="no throughput below line rate"):
        cells_of(tmp_path, "variant,frame_bytes,throughput_pps\n")
    with pytest.raises(IrqlabError, match=r"No such file or directory$"):
        read(tmp_path / "missing.csv", False, FAST_ETHERNET_BPS)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(IrqlabError, match=r"not a text file$"):
        read(tmp_path / "binary", False, FAST_ETHERNET_BPS)


def live(monkeypatch: pytest.MonkeyPatch, *changes: dict[str, Any], bidirectional: bool = False) -> dict[Cell, float]:
    """The cells of throughputs that differ from a plain one in these fields."""
    plain = {
        "method": "throughput", "complete": True, "bidirectional": False, "frame_bytes": "64", "line_rate_limited": False,
        "tester_limited": False, "rx_scheme": None, "tx_scheme": None, "variant": None, "total_throughput_pps": 1000,
    }  # fmt: skip
    document = {"measured": {"results": [plain | change for change in changes]}}
    monkeypatch.setattr(cells.catalogue, "read", lambda path: (document, path))
    monkeypatch.setattr(cells, "collapse", lambda read: read)
    return read_live(Path("live.json"), bidirectional)


def test_what_the_device_limits_is_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    found = live(
        monkeypatch,
        {},
        {"frame_bytes": "128", "total_throughput_pps": 900},
        {"rx_scheme": "napi", "tx_scheme": "off", "total_throughput_pps": 800},
        {"rx_scheme": "napi", "tx_scheme": "off", "variant": "NAPI-TX-OFF", "total_throughput_pps": 700},
        {"rx_scheme": "de", "frame_bytes": "256", "total_throughput_pps": 600},
    )
    assert found == {
        Cell("", 64): 1000.0,
        Cell("", 128): 900.0,
        Cell("napi/off", 64): 800.0,
        Cell("NAPI-TX-OFF", 64): 700.0,
        Cell("", 256): 600.0,
    }


@pytest.mark.parametrize(
    "other",
    [
        {"method": "loss"},
        {"complete": False},
        {"bidirectional": True},
        {"frame_bytes": "imix"},
        {"line_rate_limited": True},
        {"tester_limited": True},
    ],
)
def test_what_limits_something_else_is_left_out(monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]) -> None:
    assert live(monkeypatch, other | {"total_throughput_pps": 5}, {}) == {Cell("", 64): 1000.0}
    with pytest.raises(IrqlabError, match="no throughput in one direction that the device limits"):
        live(monkeypatch, other)


def test_both_directions_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert live(monkeypatch, {}, {"bidirectional": True, "total_throughput_pps": 3}, bidirectional=True) == {Cell("", 64): 3.0}
    with pytest.raises(IrqlabError, match="no throughput in both directions"):
        live(monkeypatch, {}, bidirectional=True)


def test_two_devices_in_one_file_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IrqlabError, match="two throughputs of 64: give a file of one device"):
        live(monkeypatch, {}, {})


def test_a_file_of_irqlab_live_is_read(tmp_path: Path) -> None:
    document = sample("throughput")
    row = next(row for row in document["measured"]["results"] if row["method"] == "throughput")
    row["line_rate_limited"] = False
    document["measured"]["results"] = [row]
    file = tmp_path / "live.json"
    file.write_text(json.dumps(document))
    ((cell, pps),) = read_live(file, row["bidirectional"]).items()
    assert (cell.frame_bytes, pps) == (int(row["frame_bytes"]), row["total_throughput_pps"])


def test_what_the_board_was_not_measured_with_is_predicted() -> None:
    known = [Cell("napi/off", 64), Cell("napi/off", 512)]
    assert cells.others(known, None) == []
    assert cells.others(known, "64") == []
    assert cells.others(known, "128") == [Cell("napi/off", 128)]
    assert cells.others(known, "ORIGINAL") == [Cell("ORIGINAL", 64), Cell("ORIGINAL", 512)]
    assert cells.others(known, "128, ORIGINAL") == [
        Cell("ORIGINAL", 64), Cell("ORIGINAL", 128), Cell("ORIGINAL", 512), Cell("napi/off", 128),
    ]  # fmt: skip
    for text in ("63", "1519", "64,,128", ""):
        with pytest.raises(IrqlabError, match=r"--predict .*: allowed are sizes of 64 to 1518 bytes, and schemes"):
            cells.others(known, text)


class Formula(Board):
    """A DUT whose frames take 10 µs, 5 ns a byte, and what `irq` costs."""

    def __init__(self) -> None:
        self.measured: list[tuple[Cell, Costs]] = []

    def check(self, cells: Iterable[Cell]) -> None:
        self.checked = list(cells)

    def measure(self, cells: Sequence[Cell], costs: Costs, guesses_pps: dict[Cell, float] | None = None) -> list[Measured]:
        self.measured += [(cell, costs) for cell in cells]
        return [
            Measured(cell, costs, 1e9 / (10_000 + 5 * cell.frame_bytes + costs.irq * interrupts), {"irq": interrupts})
            for cell in cells
            for interrupts in [1.0 if cell.variant == "A" else 0.25]
        ]


def test_predictions_are_measured_with_the_fitted_costs() -> None:
    board = Formula()
    known = {Cell(variant, size): 1e9 / (10_000 + 5 * size + 3_000 * (1.0 if variant == "A" else 0.25))
             for variant in ("A", "B") for size in (64, 512)}  # fmt: skip
    found = method.run(board, known, list(known), ["irq"], unknown=[Cell("A", 1518)])
    assert Cell("A", 1518) in board.checked
    assert found.fit.costs.irq == pytest.approx(3_000, rel=0.01)
    assert found.predictions == {Cell("A", 1518): pytest.approx(1e9 / (10_000 + 5 * 1518 + 3_000), rel=0.01)}
    (kept,) = found.to_json()["predicted"]
    assert (kept["variant"], kept["frame_bytes"]) == ("A", 1518)
    assert method.run(Formula(), known, list(known), ["irq"]).predictions == {}
