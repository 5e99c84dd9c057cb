# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab tune` on a bench without QEMU: the search, what is put back, the answer, its files and its page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irqlab.config.workload import Workload
from irqlab.dut.agent import DutError
from irqlab.errors import IrqlabError
from irqlab.methods import catalogue, tune, tune_views
from irqlab.methods.tune import METHOD, Options
from irqlab.present.parts import Numbers
from irqlab.report import html
from irqlab.results import document
from irqlab.results.document import MethodResult
from irqlab.trials.tuned import SurveyResult, SurveyTrial, TunedTrial
from irqlab.tuning.search import Tried
from tests.data.sample_documents import dut
from tests.unit.fakes import FakeBench, changed, latency, stand_on
from tests.unit.tuning import spaces
from tests.unit.tuning.recordings import pcap

BEST = {"adaptive-rx": "off", "rx-usecs": "30"}


class Tunable(FakeBench):
    """A bench whose DUT is that of tests.unit.tuning.spaces."""

    def __init__(self, rate: Callable[[float], float]) -> None:
        super().__init__(rate)
        self.offered: list[Any] = []

    near = False
    """At loads other than the one searched with, settings make it worse."""

    def run(self, trial: Any, cached: bool = True) -> Any:
        if isinstance(trial, SurveyTrial):
            return SurveyResult(trial, spaces.SETTABLE, spaces.ETH)
        if not isinstance(trial, TunedTrial):
            return super().run(trial, cached)
        names = {("ring", "rx"): "ring-rx", ("ring", "tx"): "ring-tx"}
        settings = {names.get((one.kind, one.name), one.name.rpartition("net.core.")[2]): one.value for one in trial.changes}
        answer = spaces.answer(settings)
        if isinstance(answer, str):
            raise DutError(answer)
        inner: Any = trial.trial
        self.offered.append(inner)
        found = self.forwarded(inner)
        worse = 3 if self.near and settings and inner.loads[0].rate_pps != 40_000 else 1
        times = latency(count=10, p50_ns=answer.p50_ns or 0, p99_ns=(answer.p99_ns or 0) * worse)
        streams = [changed(one, latency=times) for one in found.streams]
        return replace(found, streams=streams, idle_ns=round((1 - (answer.cpu or 0)) * inner.duration_ns))

    def with_member(self, member: Any) -> Any:
        return self


def measured(near: bool = False, **options: Any) -> MethodResult:
    bench = Tunable(lambda rate: rate)
    bench.near = near
    return tune.run(stand_on(bench), Workload(), Options(**{"load": "40k", **options}))


def rows(result: MethodResult) -> list[Any]:
    content = document.document(["irqlab", "tune"], [dut("formula", "paper")], [result], complete=True)
    return catalogue.rows([content])


def test_it_recommends_the_best_and_nothing_that_does_not_help() -> None:
    result = measured()
    assert result.summary.settings == BEST
    assert {"ring-rx", "ring-tx", "threaded", "netdev_budget"} <= set(result.summary.idle)
    assert {one.name for one in result.summary.decides} == set(BEST)
    assert len(result.summary.members) == 5
    assert result.summary.tried <= 30


def test_the_answer_comes_first_then_the_commands() -> None:
    found = rows(measured())
    said = " ".join(METHOD.verdicts(found)).replace("\u202f", " ")
    assert "forwarding 40.0 kpps: adaptive-rx off, rx-usecs 30 gives p99 60.0 µs instead of 110 µs (-45 %)" in said
    assert "No gain from: " in said
    printed = list(METHOD.tables(found[0], Options()))
    assert "  ethtool -C eth0 adaptive-rx off rx-usecs 30" in printed
    assert "  RxCoalesceSec=30us" in printed


def test_the_defaults_are_kept_if_nothing_is_better() -> None:
    found = rows(measured(goal="throughput"))
    (said,) = METHOD.verdicts(found)
    assert "keep the defaults" in said
    assert "no difference beyond chance" in said
    assert list(METHOD.tables(found[0], Options())) == []


def test_what_is_worse_near_the_load_is_not_recommended() -> None:
    (said,) = METHOD.verdicts(rows(measured(near=True)))
    assert "keep the defaults" in said
    assert "is better at this load only, not near it" in said


def test_what_no_setting_keeps_is_said() -> None:
    said = METHOD.verdicts(rows(measured(keep="p99 < 1 us")))
    assert "none of" in said[0]
    assert "keeps p99 < 1 us" in said[0]


def test_a_limit_that_the_defaults_miss() -> None:
    said = " ".join(METHOD.verdicts(rows(measured(goal="cpu", keep="p99 < 70 us"))))
    assert "The defaults do not keep p99 < 70 us." in said


def test_refused_settings_are_samples() -> None:
    result = measured(only="threaded,netdev_budget", trials=12)
    refused = [one for one in result.samples if one.refused]
    assert {one.refused for one in refused} == {"no such thing"}
    assert result.summary.refused == len([one for one in refused if one.place == "search"])


def test_an_interrupted_search_has_a_draft() -> None:
    bench = Tunable(lambda rate: rate)
    runner = stand_on(bench)
    told: list[str] = []

    def stop(text: str) -> None:
        told.append(text)
        if " of 30 settings" in text and len(told) > 3:
            raise KeyboardInterrupt

    runner.progress = stop
    with pytest.raises(KeyboardInterrupt):
        tune.run(runner, Workload(), Options(load="40k"))
    draft = runner.draft()
    assert draft is not None
    assert draft.samples
    draft.complete = False
    (row,) = rows(draft)
    assert not row.measured


def test_its_document_is_valid_and_has_a_page(tmp_path: Path) -> None:
    result = measured()
    content = document.document(["irqlab", "tune"], [dut("formula", "paper")], [result], complete=True)
    document.write(tmp_path / "tune.json", content)
    assert catalogue.read(tmp_path / "tune.json") == json.loads(json.dumps(content))
    group = METHOD.plots(rows(result), Numbers()) if METHOD.plots else None
    assert group is not None
    assert [plot.title for plot in group.plots] == ["p99 over CPU"]  # the throughput is the same everywhere
    page = html([content])
    assert "<pre>ethtool -C eth0 adaptive-rx off rx-usecs 30\nethtool -C eth1" in page
    assert "<summary>Settings on the front</summary>" in page
    assert all(f'id="{key}"' in page for key in re.findall(r'href="#(key-[^"]+)"', page))


def test_a_recording_is_played_and_judged_elsewhere_in_it(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([(place * 50_000, 60 + place // 100) for place in range(100_000)]))
    bench = Tunable(lambda rate: rate)
    result = tune.run(stand_on(bench), Workload(), Options(load=str(path)))
    assert result.summary.load == "a.pcap (20.0\u202fkpps, 564 bytes on average)"
    assert result.frame_bytes == 564
    assert [round(rate) for rate, _, _ in result.summary.held_back] == [20_000] * 3
    assert [round(rate) for rate, _, _ in result.summary.elsewhere] == [5_000, 40_000]
    (first, *_) = (one for one in result.samples if one.place == "whole")
    assert [round(rate) for rate in first.rates_pps] == [20_000] * 3
    played = {one.loads[0].recording.frame_bytes[0] for one in bench.offered if len(one.loads[0].recording.gaps_ns) == 4_000}
    assert played == {64, 230, 397, 564, 730, 897}  # at sixths of the recording


def test_a_recording_has_its_own_sizes(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([(0, 60), (1_000, 60)]))
    with pytest.raises(IrqlabError, match="no --size, no --arrivals"):
        tune.run(stand_on(Tunable(lambda rate: rate)), Workload(size=512), Options(load=str(path)))


def test_the_front_is_what_nothing_beats() -> None:
    figures = {"a": (1.0, 10, 0.5), "b": (1.0, 10, 0.5), "c": (1.0, 12, 0.6), "d": (1.0, 12, 0.4), "e": (2.0, 12, 0.6)}
    found = [
        Tried({name: "1"}, spaces.figures(passed=passed, p99_ns=p99_ns, cpu=cpu))
        for name, (passed, p99_ns, cpu) in figures.items()
    ]
    assert ["".join(one.settings) for one in tune_views.unbeaten(found)] == ["a", "d", "e"]


def test_files_are_written(tmp_path: Path) -> None:
    METHOD.write(rows(measured()), Options(write=tmp_path / "out"))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "tune.sh", "10-irqlab-eth0.link", "10-irqlab-eth1.link",
    }  # fmt: skip
    assert "ethtool -C eth1 adaptive-rx off rx-usecs 30" in (tmp_path / "out/tune.sh").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"goal": "speed"}, "--goal 'speed': allowed are"),
        ({"load": "fast"}, "--load fast: must be"),
        ({"load": "max", "application": "block"}, "takes a rate, a share or a range"),
        ({"load": "tcp-rx", "goal": "p99"}, "iperf3 has no latency"),
        ({"trials": 0}, "--trials 0: allowed are 1 to"),
        ({"ensemble": 0}, "--ensemble 0: allowed are 1 to"),
        ({"budget": "1 hour"}, "--budget 1 hour: must be a time"),
        ({"application": "threaded"}, "--application threaded: allowed are block"),
        ({"keep": "fast"}, "--keep 'fast'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(IrqlabError, match=message):
        Options(**options)
