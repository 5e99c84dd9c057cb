# SPDX-License-Identifier: GPL-2.0-or-later
"""Costs and hardware: parsing, invalid input, the fit on synthetic boards."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from irqlab.calibrate import fit, method
from irqlab.calibrate.cells import Cell, read
from irqlab.calibrate.fit import Sample
from irqlab.cli.options import Request
from irqlab.config import hardware
from irqlab.config.costs import TERMS, Costs
from irqlab.config.hardware import Hardware
from irqlab.config.traffic import Load
from irqlab.errors import IrqlabError
from irqlab.trials.forwarding import ForwardingTrial


def test_costs_are_parsed() -> None:
    costs = Costs.parse("irq=1500, byte=16.5")
    assert costs == Costs(irq=1500, byte=16.5)
    assert costs.nonzero() == {"irq": 1500, "byte": 16.5}
    assert str(costs) == "irq=1500,byte=16.5"
    assert Costs.parse("irq=0", costs) == Costs(byte=16.5)
    assert not Costs()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cache=3", "irq, byte, netif_rx, free, free_irq, softirq"),
        ("irq", "NAME=NS"),
        ("", "NAME=NS"),
        ("irq=fast", "not a number"),
        ("irq=nan", "allowed are 0 to"),
        ("irq=-1", "allowed are 0 to"),
        ("irq=2e6", "allowed are 0 to"),
        ("byte=1001", "allowed are 0 to 1000 ns"),
        ("irq=1,irq=2", "twice"),
    ],
)
def test_invalid_costs_are_rejected(text: str, said: str) -> None:
    with pytest.raises(IrqlabError, match=said):
        Costs.parse(text)


def test_a_request_without_costs_has_no_cost_model() -> None:
    plain = Request.of(driver=["e1000"])
    assert (plain.testbeds[0].cost_model, plain.workload.costs) == (False, None)
    costly = Request.of(driver=["e1000"], cost="irq=0")
    assert (costly.testbeds[0].cost_model, costly.workload.costs) == (True, Costs())


def test_hardware_is_written_and_read(tmp_path: Path) -> None:
    board = Hardware("board", 125, Costs(irq=1500), {"left_out_error": 0.05})
    board.write(tmp_path / "board.json")
    assert hardware.load(str(tmp_path / "board.json")) == board
    request = Request.of(driver=["e1000"], hardware=str(tmp_path / "board.json"), cost="byte=2")
    assert (request.testbeds[0].mips, request.workload.costs) == (125, Costs(irq=1500, byte=2))
    with pytest.raises(IrqlabError, match="implies 125"):
        Request.of(driver=["e1000"], mips=500, hardware=str(tmp_path / "board.json"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("{}", "not a hardware file"),
        ('{"schema": "irqlab-hardware/1", "mips": 3, "costs_ns": {}}', "allowed are 125, 250, 500, 1000"),
        ('{"schema": "irqlab-hardware/1", "mips": 250}', "costs_ns is missing"),
        ('{"schema": "irqlab-hardware/1", "mips": 250, "costs_ns": {"cache": 1}}', "names are"),
    ],
)
def test_invalid_hardware_files_are_rejected(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "board.json"
    file.write_text(content)
    with pytest.raises(IrqlabError, match=said):
        hardware.load(str(file))
    with pytest.raises(IrqlabError, match="mpc8250"):
        hardware.load("cray1")


def _board(costs: Costs, noise: float = 0.0, cells: int = 12) -> list[Sample]:
    """A board with these costs and a lab that charges different ones."""
    numbers = random.Random(1)
    charged = Costs(irq=500)
    samples = []
    for _ in range(cells):
        events = {term: numbers.uniform(0, 2) for term in TERMS} | {"byte": numbers.choice([120.0, 1016.0])}
        bare = numbers.uniform(9_000, 20_000)
        board = bare + sum(cost * events[term] for term, cost in costs.nonzero().items())
        lab = bare + sum(cost * events[term] for term, cost in charged.nonzero().items())
        samples.append(Sample(board * (1 + numbers.gauss(0, noise)), lab, events, charged))
    return samples


def test_the_fit_recovers_the_costs() -> None:
    true = Costs(irq=1500, byte=8.25, free_irq=7000)
    found = fit.select(_board(true))
    assert found.terms == ("irq", "byte", "free_irq")
    for name, value in true.nonzero().items():
        assert getattr(found.costs, name) == pytest.approx(value, rel=1e-3)
    assert found.left_out_error < 1e-6


def test_noise_increases_the_errors_and_adds_no_terms() -> None:
    true = Costs(irq=1500, byte=8.25)
    samples = _board(true, noise=0.02, cells=24)
    found = fit.select(samples)
    assert set(found.terms) >= {"byte"}
    assert len(found.terms) <= 3
    assert 0.01 < found.left_out_error < 0.04
    assert abs(found.costs.byte - 8.25) < 4 * found.standard_errors_ns["byte"]
    assert fit.worth(samples, found)["byte"] > found.left_out_error


def test_the_left_out_error_is_that_of_fits_without_each_cell() -> None:
    samples = _board(Costs(irq=1500, byte=8.25), noise=0.05)
    whole = fit.solve(samples, ("irq", "byte"))
    assert whole is not None
    errors = []
    for n, sample in enumerate(samples):
        rest = fit.solve(samples[:n] + samples[n + 1 :], ("irq", "byte"))
        assert rest is not None
        errors.append(abs(sample.error(rest.costs)))
    assert whole.left_out_error == pytest.approx(sum(errors) / len(errors), rel=1e-3)


def test_with_several_variants_whole_variants_are_left_out() -> None:
    """Cells of one variant err together: a term that only one variant needs earns nothing elsewhere."""
    samples = [replace(s, group=f"variant {n // 3}") for n, s in enumerate(_board(Costs(irq=1500, byte=8.25)))]
    odd = [replace(s, board_ns=s.board_ns + 3_000) if s.group == "variant 0" else s for s in samples]
    assert [len(group) for group in fit.clusters(odd)] == [3, 3, 3, 3]
    whole = fit.solve(odd, ("irq", "byte"))
    assert whole is not None
    errors = []
    for group in fit.clusters(odd):
        rest = fit.least_squares([s for n, s in enumerate(odd) if n not in group], ("irq", "byte"))
        assert rest is not None
        errors += [abs(odd[n].error(Costs(irq=float(rest[0]), byte=float(rest[1])))) for n in group]
    assert whole.left_out_error == pytest.approx(sum(errors) / len(errors), rel=1e-3)
    assert whole.standard_errors_ns["irq"] > 0
    only = [replace(s, events=s.events | {"softirq": float(s.group == "variant 0")}) for s in odd]
    assert fit.solve(only, ("irq", "byte", "softirq")) is None


def test_a_board_faster_than_the_lab_gets_no_negative_costs() -> None:
    samples = [Sample(s.bare_ns() * 0.8, s.lab_ns, s.events, s.costs) for s in _board(Costs())]
    assert fit.select(samples).costs == Costs()


def test_too_few_cells_are_rejected() -> None:
    with pytest.raises(IrqlabError, match="too few"):
        fit.select(_board(Costs(irq=1), cells=2))


CSV = "# a board\nvariant,frame_bytes,throughput_mbps\nNAPI,64,16.8\nNAPI,1518,100\n"


def test_cells_at_line_rate_are_ignored(tmp_path: Path) -> None:
    file = tmp_path / "board.csv"
    file.write_text(CSV)
    assert read(file, True, 1e8) == {Cell("NAPI", 64): pytest.approx(50_000)}
    assert read(file, False, 1e8) == {Cell("NAPI", 64): pytest.approx(25_000)}
    file.write_text("frame_bytes,NAPI,ORIGINAL\n64,16.8,8.4\n")
    assert read(file, True, 1e8) == {Cell("NAPI", 64): pytest.approx(50_000), Cell("ORIGINAL", 64): pytest.approx(25_000)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("variant,frame_bytes,throughput_mbps\nNAPI,64,fast\n", "row 1: numbers are needed in"),
        ("variant,frame_bytes,throughput_mbps\nNAPI,63,1\n", "64 to 1518"),
        ("variant,frame_bytes,throughput_mbps\nNAPI,64,1\nNAPI,64,2\n", "duplicate"),
        ("variant,frame_bytes,throughput_mbps\nNAPI,64,100\n", "costs cannot be fitted"),
        ("", "costs cannot be fitted"),
    ],
)
def test_invalid_tables_are_rejected(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "board.csv"
    file.write_text(text)
    with pytest.raises(IrqlabError, match=said):
        read(file, True, 1e8)


def test_predicted_cells_are_judged_separately() -> None:
    cells = [Cell("NAPI", size) for size in (64, 128, 512)]
    found = method.judge(dict.fromkeys(cells, 100.0), dict(zip(cells, (110.0, 80.0, 90.0), strict=True)), [cells[0], cells[2]])
    assert [row.fitted for row in found.rows] == [True, False, True]
    assert found.fitted_error == pytest.approx(0.1)
    assert found.predicted_error == pytest.approx(0.2)


def test_trials_without_costs_do_not_mention_costs() -> None:
    spec = ForwardingTrial(loads=(Load(1000.0),))
    assert spec.costs is None
    assert not spec.count_events


def test_costs_of_nothing_are_none_and_a_second_equals_sign_is_no_number() -> None:
    assert str(Costs()) == "none"
    with pytest.raises(IrqlabError, match="--cost irq=1=2: not a number of ns"):
        Costs.parse("irq=1=2")
