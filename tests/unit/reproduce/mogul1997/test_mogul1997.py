# SPDX-License-Identifier: GPL-2.0-or-later
"""mogul1997 on a router that is a formula: what is measured, what the paper's marks say, and the claims' words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.config.testbed import DutConfig
from irqlab.errors import IrqlabError
from irqlab.methods import throughput
from irqlab.present import series
from irqlab.reproduce import find
from irqlab.reproduce.claims import Finding
from irqlab.reproduce.mogul1997 import causes, configurations, curves, measure, published, report
from irqlab.reproduce.mogul1997.configurations import (
    NO_FEEDBACK,
    NO_QUOTA,
    PLAN,
    QUICK_PLAN,
    UNMODIFIED,
    quota_name,
    spec_of,
)
from irqlab.results.document import MethodResult
from irqlab.trials.application import ApplicationResult, ApplicationTrial
from tests.unit.fake_session import FakeSession
from tests.unit.fakes import latency
from tests.unit.methods.test_application import formula
from tests.unit.paper_tables import mogul

UNIT_PPS = 40_000.0


@dataclass
class Router:
    """Forwards up to a rate, by the formula, half of it with a process on the path."""

    driver: str = "irqmod_rtl8139cp"
    scheme: str | None = "napi"
    specs: list[ApplicationTrial] = field(default_factory=list)

    def scheme_names(self) -> dict[str, str | None]:
        return {"rx_scheme": self.scheme}

    def run(self, spec: ApplicationTrial) -> ApplicationResult:
        self.specs.append(spec)
        made = formula(spec)
        most = UNIT_PPS / (2 if spec.kind == "screen" else 1)
        out = min(made.offered_pps, most)
        places = replace(made.places, sent=1000, nic=100, backlog=50, socket=200, received=640, elsewhere=10, application=0)
        timed = latency(count=9, p50_ns=50) if out == made.offered_pps else latency(count=0)
        return replace(made, returned_pps=out, places=places, latency=timed, interrupts_per_s=123.0, ksoftirqd_share=0.25)


def session(quick: bool, scheme: str | None = "napi") -> FakeSession:
    """A session on that router; its loss-free rate is known."""
    found = MethodResult("throughput", "d", "n", 64, False, 250, total_throughput_pps=UNIT_PPS)

    class Session(FakeSession):
        def all(self, what: str, jobs: Any) -> dict[Any, Any]:
            self.answer = (lambda *_: found) if what == "the loss-free rate" else None
            return super().all(what, jobs)

    beds = {"irqmod_rtl8139cp": Router(scheme=scheme), causes.STOPPING: Router(causes.STOPPING)}
    return Session(
        lambda *_, driver="irqmod_rtl8139cp", **__: beds[driver], quick=quick, config=SimpleNamespace(nic=None, dut=DutConfig())
    )


def test_every_load_is_a_multiple_of_what_the_unmodified_kernel_forwards_without_loss() -> None:
    of = session(quick=False)
    tables = measure.measure(of)  # type: ignore[arg-type]
    rows = tables.forwarding.where(lambda row: row.configuration == UNMODIFIED and not row.screend)
    assert [row.offered_pps for row in rows] == pytest.approx([load * UNIT_PPS for load in measure.LOADS[False]])
    assert max(row.output_to_peak for row in rows) == 1.0
    slower = tables.curves.one(lambda row: row.configuration == UNMODIFIED and row.screend)
    assert (slower.peak, slower.overload_to_peak) == (0.5, 1.0)
    asked = dict.fromkeys(what for what, _ in of.asked)
    assert list(asked) == ["the loss-free rate", "figures 6-1 to 6-6", "figure 7-1", "causes"]
    assert all(changes.get("modules") == ("tun",) for _, changes in of.made)
    (search,) = [job for what, _, job, _ in of.jobs if what == "the loss-free rate"]
    assert search.work.func is throughput.run


def test_marks_say_where_frames_are_lost() -> None:
    row = measure.measure(session(quick=True)).forwarding.rows[-1]  # type: ignore[arg-type]
    assert (row.lost_nic, row.lost_input_queue, row.lost_screen_queue, row.lost_output_queue) == (0.1, 0.05, 0.2, 0.01)
    assert (row.interrupts_per_s, row.ksoftirqd_share, row.p50_ns) == (123.0, 0.25, None)


def test_a_driver_without_schemes_is_refused() -> None:
    with pytest.raises(IrqlabError, match="try irqmod_rtl8139cp"):
        measure.measure(session(quick=True, scheme=None))  # type: ignore[arg-type]


def test_trials_are_of_a_router_with_a_process_on_its_path_or_without() -> None:
    tuning = configurations.polling(10, 24)
    spec = spec_of(1000.04, tuning, True, quick=True, competes=True, arrivals="poisson")
    assert (spec.kind, spec.soaker_competes, spec.duration_ns) == ("screen", True, QUICK_PLAN.duration_ns)
    assert (spec.load.rate_pps, spec.load.arrivals, spec.tuning) == (1000.0, "poisson", tuning)
    plain = spec_of(1000, tuning, False, quick=False)
    assert (plain.kind, plain.soaker_competes, plain.duration_ns, plain.load.arrivals) == (
        "forward", False, PLAN.duration_ns, "constant",
    )  # fmt: skip


def test_configurations_are_the_papers_and_todays() -> None:
    every = configurations.all_configurations()
    assert {one.name for one in every} == set(configurations.SERIES)
    by = {(one.screend, one.name): one.tuning for one in every}
    assert by[True, quota_name(20)].schemes.queue_high == 24
    assert by[False, quota_name(20)].schemes.queue_high == 0
    assert (by[True, NO_FEEDBACK].schemes.quota, by[True, NO_FEEDBACK].schemes.queue_high) == (10, 0)
    assert by[False, NO_QUOTA].schemes.quota == 0
    assert by[False, UNMODIFIED].ksoftirqd_nice == -20
    assert by[False, configurations.NAPI].ksoftirqd_nice is None


def test_the_papers_marks_agree_with_its_text() -> None:
    assert published.peak_pps() == pytest.approx(published.text("peak_without_screend"), rel=0.002)
    assert published.of_peak("ethernet_maximum") == pytest.approx(3.17, abs=0.01)
    assert len(published.curve(False, UNMODIFIED)) == 27
    assert published.curve(False, configurations.NAPI) == ()
    assert (published.peak(()), published.lossless(()), published.overload(())) == (None, None, None)
    points = ((0.5, 0.5), (1.0, 0.99), (1.5, 1.2), (1.8, 1.8), (2.0, 0.4), (3.0, 0.2))
    assert published.lossless(points) == 1.0
    assert published.overload(points) == pytest.approx(0.3)
    assert published.peak(points) == 1.8
    assert [len(published.cpu_curve(limit)) for limit in configurations.LIMITS] == [12, 12, 12, 12]


def test_each_experiment_turns_one_cause_on_and_off() -> None:
    tables = measure.measure(session(quick=True))  # type: ignore[arg-type]
    settings = {cause: {row.setting for row in rows} for cause, rows in tables.causes.by(lambda row: row.cause).items()}
    assert all(len(found) == 2 for found in settings.values())
    assert settings[causes.CHIP] == {"irqmod_rtl8139cp", "irqmod_i8255x"}


def test_a_figure_is_drawn_twice_with_the_same_scale() -> None:
    group = report.picture(mogul(True))
    titles = ("Figure 6-3", "Figure 6-4, with screend")
    assert [plot.title for plot in group.plots] == [f"{title}: {what}" for title in titles for what in ("measured", "the paper")]


def test_every_line_has_a_look_of_its_own() -> None:
    looks = [series.measured_style(number) for number in range(len(configurations.SERIES))]
    assert len(set(looks)) == len(looks)


def test_words_name_the_cause_that_was_examined() -> None:
    found = {finding.claim: finding.found for finding in find("mogul1997").findings(mogul(False))}
    quotas = next(text for claim, text in found.items() if "smaller quotas" in claim)
    assert "With rings of 16: quota 5 0.50, quota 10 0.60" in quotas
    assert "more frames than the transmit ring holds" in quotas
    peaks = next(text for claim, text in found.items() if "the peak is much improved" in claim)
    assert "Arrivals, poisson: 0.30 and 0.20" in peaks


# Claims on data that must fail them.


def _finding(words: str, **tables: Any) -> Finding:
    made = replace(mogul(True), **tables)
    return next(finding for finding in find("mogul1997").findings(made) if words in finding.claim)


def _curves(screend: bool, **changes: dict[str, Any]) -> Any:
    """Curves with other figures, by configuration."""
    table = mogul(True).curves
    rows = (
        replace(row, **changes.get(row.configuration.replace(" ", "_"), {})) if row.screend == screend else row for row in table
    )
    return replace(table, rows=tuple(rows))


def test_slightly_more_is_no_more_than_in_the_paper() -> None:
    assert pytest.approx(1.17, abs=0.01) == curves.MORE_LOSSLESS
    words = "slightly improves the MLFRR"
    assert _finding(words, curves=_curves(False, unmodified={"lossless": 1.0}, quota_5={"lossless": 1.4})).agrees
    far = _finding(words, curves=_curves(False, unmodified={"lossless": 1.0}, quota_5={"lossless": 1.8}))
    assert far.agrees is False, "the next load of the unmodified kernel is 1.4"
    assert not _finding(words, curves=_curves(False, unmodified={"lossless": 1.0}, quota_5={"lossless": 1.0})).agrees


def test_about_five_per_cent_are_neither_none_nor_ten() -> None:
    assert pytest.approx(7.9, abs=0.05) == curves.FIGURE_COST
    for peak, agrees in ((0.376, True), (0.394, False), (0.36, False)):
        found = _finding("by about 5 %", curves=_curves(True, quota_5={"peak": peak}))
        assert found.agrees is agrees


def test_below_the_maximum_is_not_beyond_it() -> None:
    """Loads: 2.1 and 3.3 times the peak, and the maximum is 3.2 times."""

    def livelock(below: float, beyond: float) -> Finding:
        table = mogul(True).forwarding
        outputs = {2.1: below * 50_000, 3.3: beyond * 50_000}
        rows = (
            replace(row, output_pps=outputs.get(row.offered_to_peak, row.output_pps))
            if row.configuration == UNMODIFIED and not row.screend
            else row
            for row in table
        )
        return _finding("It would probably livelock", forwarding=replace(table, rows=tuple(rows)))

    assert livelock(0.05, 0.01).agrees
    assert livelock(0.3, 0.2).agrees is False
    between = livelock(0.3, 0.05)
    assert between.agrees is None
    assert "it begins between the loads on both sides of the maximum" in between.found


def test_what_the_processor_leaves_without_load_is_not_more_either() -> None:
    for left, agrees in ((94.4, True), (90.0, False), (99.7, False)):
        rows = [replace(row, cpu_percent=left) if row.offered_pps == 0 else row for row in mogul(True).cpu]
        assert _finding("Even without load", cpu=replace(mogul(True).cpu, rows=tuple(rows))).agrees is agrees


def test_stable_is_as_stable_as_the_papers_curves() -> None:
    assert pytest.approx(0.964, abs=1e-3) == curves.STABLE
    assert pytest.approx(1.4, abs=0.05) == curves.STABLE_PERCENT
