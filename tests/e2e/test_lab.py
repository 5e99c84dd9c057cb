# SPDX-License-Identifier: GPL-2.0-or-later
"""The Python API beyond forwarding: any method, a hunt, a comparison."""

from __future__ import annotations

import pytest

from irqlab import Lab
from irqlab.errors import IrqlabError

SHORT = {"duration_ns": 20_000_000, "warmup_ns": 10_000_000}


def test_a_method_takes_its_own_options_and_those_of_the_load() -> None:
    lab = Lab("8139cp", cached=False)
    found = lab.hunt(ports="same", begin=9_000, end=9_200, traces=0)
    assert (found.method, found.summary.missed) == ("hunt", 0)
    assert 40 < found.summary.instants < 60
    (row,) = lab.measure("latency", size=512, **SHORT)
    assert (row.method, row.frame_bytes) == ("latency", 512)
    with pytest.raises(IrqlabError, match=r"method speed: allowed are .*throughput, loss"):
        lab.measure("speed")
    with pytest.raises(TypeError, match="unexpected keyword argument 'instants'"):
        lab.measure("latency", instants=5)


def test_hardware_sets_the_speed() -> None:
    lab = Lab("8139cp", hardware="mpc8250", cached=False)
    assert (lab.testbed.config.mips, lab.testbed.config.cost_model) == (250, True)
    assert lab.trial(rate_pps=1_000, **SHORT).spec.costs is not None


@pytest.mark.long
def test_a_driver_compared_with_itself_and_with_another() -> None:
    with Lab("8139cp") as lab, Lab("irqmod_rtl8139cp", rx="napi", tx="off") as other:
        assert {line.verdict for line in lab.compare(lab, **SHORT)} <= {"same", ""}
        found = {line.metric.name: line for line in lab.compare(other, fail_above=0.01, **SHORT)}
    assert found["instructions_per_frame"].verdict == "better"
    assert found["throughput_pps"].verdict == "better"
