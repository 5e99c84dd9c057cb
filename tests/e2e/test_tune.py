# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab tune` on real DUTs: what can be set is found, settings act, and the same command gives the same."""

from __future__ import annotations

import threading

from irqlab.config.change import Chosen
from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import Load
from irqlab.config.workload import Workload
from irqlab.methods import tune
from irqlab.runner.runner import TrialRunner
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.testbed import Testbed
from irqlab.trials.tuned import SurveyTrial, TunedTrial

SHORT = Workload(duration_ns=50_000_000)


def runner(driver: str, **config: object) -> TrialRunner:
    return TrialRunner(Testbed.resolve(TestbedConfig(driver, **config)), threading.Semaphore(2))  # type: ignore[arg-type]


def test_what_a_driver_and_the_kernel_can_set_is_found() -> None:
    found = {(one.kind, one.name): one for one in runner("e1000e").trial(SurveyTrial()).settable}
    assert {"0", "3", "10", "100"} <= set(found["coalesce", "rx-usecs"].values)
    assert "5" not in found["coalesce", "rx-usecs"].values  # e1000e refuses it
    assert found["ring", "rx"].values[-1] == "4096"
    assert found["file", "threaded"].values == ("0", "1")
    assert found["sysctl", "net.core.netdev_budget"].now == "300"
    schemes = {one.name: one for one in runner("irqmod_i8255x").trial(SurveyTrial()).settable}
    assert {"napi", "hybrid", "interrupt"} <= set(schemes["irqmod/rx_scheme"].values)


def test_a_setting_acts() -> None:
    bed = runner("e1000e").bench
    offered = ForwardingTrial((Load(20_000.0),), duration_ns=50_000_000, histogram=True)
    usual, slow = (bed.run(TunedTrial(offered, made)) for made in ((), (Chosen("coalesce", "rx-usecs", "1000"),)))
    assert slow.interrupts_per_frame() < usual.interrupts_per_frame()
    assert slow.streams[0].latency.p99_ns > usual.streams[0].latency.p99_ns


def test_it_recommends_and_repeats() -> None:
    options = tune.Options(load="20k", goal="cpu", trials=6, ensemble=2, only="rx-usecs")
    first, again = (tune.run(runner("e1000e"), SHORT, options) for _ in range(2))
    assert first.to_json() == again.to_json()
    assert set(first.summary.settings) == {"rx-usecs"}
    assert min(first.summary.gains) > 0
