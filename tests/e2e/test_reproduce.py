# SPDX-License-Identifier: GPL-2.0-or-later
"""Reproductions and the trial cache, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irqlab import Lab
from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.methods import profile as method
from irqlab.reproduce.session import Job, Session
from irqlab.reproduce.spanos2008 import interrupts, phases
from irqlab.reproduce.spanos2008.run import Run
from irqlab.runner.runner import TrialRunner
from irqlab.trials import cache as trialcache
from irqlab.trials.initial import InitialState
from tests.e2e.conftest import Cli, Refused
from tests.own_cache import own_cache

DRIVER = "irqmod_i8255x"
SHORT = {"duration_ns": 10_000_000, "warmup_ns": 2_000_000}


@pytest.fixture
def no_trials_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache as it is, but without trials."""
    monkeypatch.setenv("IRQLAB_CACHE", str(own_cache(tmp_path, "trials")))


@pytest.mark.usefixtures("no_trials_kept")
def test_a_trial_from_the_cache_is_the_one_that_was_run_to_the_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab(DRIVER, variant="ORIGINAL")
    fresh = json.dumps(lab.trial(20_000, **SHORT).to_json())
    assert trialcache.usage().entries == 1
    assert json.dumps(Lab(DRIVER, variant="ORIGINAL", cached=False).trial(20_000, **SHORT).to_json()) == fresh
    profiled = method.run(TrialRunner(lab.testbed), Workload(**SHORT), rate_pps=20_000.0).to_json()
    assert trialcache.usage().entries == 2

    def never(*_: object, **__: object) -> None:
        raise AssertionError("run again")

    monkeypatch.setattr(InitialState, "open", never)
    assert json.dumps(Lab(DRIVER, variant="ORIGINAL").trial(20_000, **SHORT).to_json()) == fresh
    again = method.run(TrialRunner(Lab(DRIVER, variant="ORIGINAL").testbed), Workload(**SHORT), rate_pps=20_000.0).to_json()
    assert json.dumps(again) == json.dumps(profiled)
    with pytest.raises(AssertionError, match="run again"):
        Lab(DRIVER, variant="ORIGINAL", cached=False).trial(20_000, **SHORT)


def test_phases_of_a_profile_add_up_and_tell_the_variants_apart() -> None:
    session = Session(TestbedConfig(DRIVER), jobs=2)
    run = Run(session)

    def work(runner: TrialRunner) -> dict[str, float]:
        result = method.run(runner, Workload(bidirectional=True, **SHORT), rate_pps=60_000.0)
        row = result.to_json()
        found = phases.by_phase(row)
        assert sum(found.values()) == result.summary.instructions
        return {phase: count / sum(found.values()) for phase, count in found.items()}

    jobs = {variant: Job(variant, run.testbed(variant), work) for variant in ("ORIGINAL", "NAPI-TX-OFF")}
    found = session.all("profiles", jobs)
    assert session.all("profiles", jobs) == found, "the same question has the same answer, from the cache too"
    for shares in found.values():
        assert shares[phases.REST] < 0.05
        assert all(shares[phase] > 0 for phase in (phases.RX, phases.COPY))
    assert found["ORIGINAL"][phases.CS_IN] > 0.1
    assert found["NAPI-TX-OFF"][phases.CS_IN] < 0.01
    assert found["NAPI-TX-OFF"][phases.TX] > 0.1


def test_every_frame_of_table_3_is_offered_and_accounted_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "VARIANTS", ("NAPI-TX-OFF",))
    monkeypatch.setattr(interrupts, "QUICK_FRAMES", 500)
    (row,) = interrupts.table3(interrupts.measure(Run(Session(TestbedConfig(DRIVER), quick=True))))
    assert row.offered_frames == row.received_frames == row.transmitted_frames == 1000
    assert row.tx_interrupts == 0
    assert row.rx_interrupts is not None
    assert 0 < row.rx_interrupts <= 1000


@pytest.mark.long
def test_the_quick_reproduction_leaves_report_json_and_csv(cli: Cli, tmp_path: Path) -> None:
    done = cli("reproduce", "spanos2008", "--quick", "--out", "out", timeout_s=1200)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "out" / "spanos2008.json").read_text())
    assert document["schema"] == "irqlab-reproduction/2"
    verdicts = {finding["verdict"] for finding in document["measured"]["findings"]}
    assert verdicts >= {"agrees", "differs", "confirmed"}
    # The aim needs the rate to 2 %. Trials of 60 ms find one that is up to 3 % too high.
    assert not verdicts & {"met", "missed"}
    table5 = document["measured"]["tables"]["table5_phases"]
    assert {row[table5["columns"].index("per_frame_us")] for row in table5["rows"]} == {None}
    for finding in document["measured"]["findings"]:
        measured = "" if finding["agrees"] is None else "Measured: "
        assert f"- {finding['verdict']}: {finding['source']}: {finding['claim']} {measured}{finding['found']}" in done.stdout
    for name in document["measured"]["tables"]:
        assert (
            (tmp_path / "out" / f"{name}.csv").read_text().startswith(",".join(document["measured"]["tables"][name]["columns"]))
        )
    assert "<svg" in (tmp_path / "out" / "spanos2008.html").read_text()
    again = cli("reproduce", "spanos2008", "--quick", "--out", "again", "--jobs", "1", timeout_s=1200)
    assert again.returncode == 0, again.stderr
    second = json.loads((tmp_path / "again" / "spanos2008.json").read_text())
    assert json.dumps(second["measured"]) == json.dumps(document["measured"])


def test_bad_input_gives_a_single_message(refused: Refused) -> None:
    for arguments, said in (
        (("reproduce", "nobody1999"), "spanos2008"),
        (("reproduce", "spanos2008", "--hardware", "x"), "hardware"),
        (("reproduce", "salah2009", "--hardware", "x"), "salah2009 does not use hardware costs"),
    ):
        assert said in refused(*arguments)
