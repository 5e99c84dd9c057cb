# SPDX-License-Identifier: GPL-2.0-or-later
"""Capacities under overload, and which combinations of schemes `irqlab tap` runs, without QEMU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.cli import tap as command
from irqlab.config.schemes import COMBINATIONS, USB_COMBINATIONS, Combination, Schemes
from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import wire_rate_pps
from irqlab.errors import IrqlabError
from irqlab.robustness import overload, tap
from irqlab.robustness.overload import FRAME_BYTES, GENTLE_PPS, Overload
from irqlab.setup.nics import Nic
from irqlab.trials.testbed import Testbed

LINE_BPS = 100_000_000
NAPI = Combination("napi", "off")


class Trial:
    """A driver that forwards `most_pps`, or less under more load, at `cost` instructions a frame."""

    most_pps, under_line_rate_pps, cost = 50_000.0, 50_000.0, 10_000.0
    offered: list[float] = []  # noqa: RUF012

    def __init__(self, loads: tuple[Any, ...]) -> None:
        self.rate_pps = loads[0].rate_pps

    def measure_again(self, dut: Any, conditions: Any) -> Any:
        self.offered.append(self.rate_pps)
        at_line_rate = self.rate_pps == wire_rate_pps(FRAME_BYTES, LINE_BPS)
        most = self.under_line_rate_pps if at_line_rate else self.most_pps
        return SimpleNamespace(forwarded_pps=min(self.rate_pps, most), instructions_per_frame=self.cost)


@pytest.fixture(autouse=True)
def trials(monkeypatch: pytest.MonkeyPatch) -> type[Trial]:
    monkeypatch.setattr(overload, "ForwardingTrial", Trial)
    monkeypatch.setattr(overload, "choose", lambda dut, combination: None)
    monkeypatch.setattr(Trial, "offered", [])
    return Trial


def bed(usb_speed: str = "", functional: bool = False, has_schemes: bool = True) -> Any:
    return SimpleNamespace(
        config=SimpleNamespace(functional=functional),
        driver="irqmod_x" if has_schemes else "e100",
        has_schemes=has_schemes,
        nic=Nic("x", 0, 0, LINE_BPS, "x", usb_speed=usb_speed),
        machine=SimpleNamespace(mips=250),
        conditions=None,
        run=lambda trial: trial.measure(None, None),
    )


def test_a_capacity_is_measured_once(trials: type[Trial]) -> None:
    one = Overload(bed())
    assert one.capacity_pps(NAPI) == one.capacity_pps(NAPI) == 50_000.0
    assert trials.offered == [wire_rate_pps(FRAME_BYTES, LINE_BPS), GENTLE_PPS]
    one.capacity_pps(Combination("napi", "interrupt"))
    assert len(trials.offered) == 4


def test_without_the_instruction_clock_nothing_is_measured(trials: type[Trial]) -> None:
    one = Overload(bed(functional=True))
    assert one.capacity_pps(NAPI) == overload.UNMEASURED_PPS
    assert one.calm_pps < one.capacity_pps(NAPI)
    assert trials.offered == []


@pytest.mark.parametrize(("received", "pps"), [(0, 100.0), (40, 100.0), (600, 1200.0), (3900, 4000.0)])
def test_without_the_instruction_clock_the_load_follows_what_is_forwarded(received: int, pps: float) -> None:
    assert Overload(bed(functional=True)).next_pps(4000.0, {"received": received}, 1_000_000_000) == pps
    assert Overload(bed(functional=True)).next_pps(4000.0, {"received": received // 2}, 500_000_000) == pps
    assert Overload(bed()).next_pps(4000.0, {"received": received}, 1_000_000_000) == 4000.0


def test_a_driver_that_collapses_is_measured_by_its_cost(trials: type[Trial], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "under_line_rate_pps", 0.0)
    assert Overload(bed()).capacity_pps(NAPI) == 31_250.0  # 250 MIPS / 10,000, busier by a quarter
    assert trials.offered[-1] == 31_250.0
    monkeypatch.setattr(trials, "most_pps", 20_000.0)
    assert Overload(bed()).capacity_pps(NAPI) == 25_000.0


def test_no_testbed_has_another_s_capacity(trials: type[Trial], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each testbed is dropped before the next is made, as `irqlab tap` does with several drivers: an id() comes again."""
    found = []
    for most in (10_000.0, 20_000.0, 30_000.0, 40_000.0):
        monkeypatch.setattr(trials, "under_line_rate_pps", most)
        monkeypatch.setattr(trials, "cost", 1e9)
        found.append(Overload(bed()).capacity_pps(NAPI))
    assert found == [10_000.0, 20_000.0, 30_000.0, 40_000.0]


def test_the_bus_decides_which_combinations_there_are() -> None:
    assert tap.combinations(bed()) == COMBINATIONS
    assert {str(c) for c in COMBINATIONS} >= {"napi/poll", "dim/off"}
    assert tap.combinations(bed("high")) == USB_COMBINATIONS
    assert {c.tx for c in USB_COMBINATIONS} == {"interrupt"}


def test_what_is_asked_for_is_run_as_far_as_the_bus_has_it() -> None:
    assert tap.combinations(bed("high"), [Schemes(rx="napi")]) == (Combination("napi", "interrupt"),)
    assert {c.tx for c in tap.combinations(bed(), [Schemes(rx="napi")])} == {c.tx for c in COMBINATIONS}
    assert tap.combinations(bed(), [Schemes(rx="de", tx="off"), Schemes(rx="napi", tx="off")]) == (
        Combination("de", "off"), Combination("napi", "off"),
    )  # fmt: skip


@pytest.mark.parametrize("asked", [Schemes(rx="de"), Schemes(rx="napi", tx="coalesce")])
def test_what_the_bus_has_not_is_an_error(asked: Schemes) -> None:
    with pytest.raises(IrqlabError, match="USB driver, which has --rx hybrid, napi, standard, timer; --tx interrupt"):
        tap.combinations(bed("high"), [asked])


def test_tap_runs_a_usb_driver_with_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, Combination | None]] = []

    def run(loaded: Overload, script: tap.Script, combination: Combination | None) -> tap.Report:
        ran.append((script.name, combination))
        return tap.Report("1..1\nok 1\n")

    monkeypatch.setattr(command.Testbed, "resolve", lambda config: bed("high"))
    monkeypatch.setattr(tap, "run", run)
    assert command.run_tap(TestbedConfig("irqmod_x"), ["updown", "tcp"], [Schemes(rx="napi")], long=False)
    assert ran == [("updown", Combination("napi", "interrupt")), ("tcp", None)]


@pytest.mark.parametrize(("failures", "summary"), [([], "failures: 0, skipped: 2"), (["not ok 1"], "failures: 2, skipped: 2")])
def test_tap_ends_with_a_summary(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failures: list[str], summary: str
) -> None:
    def run(loaded: Overload, script: tap.Script, combination: Combination | None) -> tap.Report:
        return tap.Report("", lines=["1", "2"], failures=failures, skipped=["2"])

    monkeypatch.setattr(command.Testbed, "resolve", lambda config: bed("high"))
    monkeypatch.setattr(tap, "run", run)
    assert command.run_tap(TestbedConfig("irqmod_x"), ["updown", "tcp"], [Schemes(rx="napi")], long=False) is not bool(failures)
    assert capsys.readouterr().out.splitlines()[-1] == f"# tests run: 2, checks: 4, {summary}"


def test_tap_runs_a_driver_without_schemes_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ran: list[tuple[str, Combination | None]] = []

    def run(loaded: Overload, script: tap.Script, combination: Combination | None) -> tap.Report:
        ran.append((script.name, combination))
        return tap.Report("1..1\nok 1\n")

    monkeypatch.setattr(command.Testbed, "resolve", lambda config: bed(has_schemes=False))
    monkeypatch.setattr(tap, "run", run)
    assert command.run_tap(TestbedConfig("e100"), ["unbind", "interface"], [Schemes()], long=False)
    assert ran == [("unbind", None)]
    assert "# interface: skipped: e100 is not built on irqmod" in capsys.readouterr().out
    with pytest.raises(IrqlabError, match="e100 has no schemes"):
        tap.combinations(bed(has_schemes=False), [Schemes(rx="napi")])


def test_a_driver_without_schemes_has_a_capacity(trials: type[Trial]) -> None:
    assert Overload(bed(has_schemes=False)).capacity_pps(None) == 50_000.0
    assert len(trials.offered) == 2


def test_a_driver_has_schemes_if_the_engine_is_loaded_with_it() -> None:
    def built_on(*names: str) -> Testbed:
        loaded: Any = [SimpleNamespace(name=name) for name in names]
        return Testbed(TestbedConfig(names[-1]), machine=Any, modules=loaded, nic=Any)  # type: ignore[arg-type]

    assert built_on("mii", "irqmod", "irqmod_x").has_schemes
    assert not built_on("mii", "e100").has_schemes
