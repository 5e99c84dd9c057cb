# SPDX-License-Identifier: GPL-2.0-or-later
"""Several processors at the same virtual time: exact, twice as fast, and nothing else than without rounds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irqlab.config.addresses import INTERFACES, stream
from irqlab.config.placement import Placement
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.traffic import Load
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.testbed import Testbed
from tests.e2e.conftest import Cli, Refused

LIGHT = ForwardingTrial(loads=(Load(20_000.0),), bidirectional=True, duration_ns=20_000_000, drain_ns=20_000_000, histogram=True)
HEAVY = replace(LIGHT, loads=(Load(140_000.0),), histogram=False)
NS_PER_INSTRUCTION = 4
NOW = "grep -m1 'now at' /proc/timer_list"
LOOP = "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done"


def _bed(**more: Any) -> Testbed:
    return Testbed.resolve(TestbedConfig("e1000", cached=False, **more))


def _measured(trial: ForwardingTrial, **more: Any) -> dict[str, Any]:
    return _bed(**more).run(trial).to_json()


@pytest.mark.long
def test_one_processor_in_rounds_is_as_without() -> None:
    found = _measured(LIGHT, quantum_ns=1_000)
    instructions, idle = found["instructions"], found["idle_ratio"]
    assert found.pop("processors") == [{"instructions": instructions, "idle_ratio": idle}]
    assert json.dumps(found) == json.dumps(_measured(LIGHT))


def test_two_processors_are_exact_and_their_times_add_up() -> None:
    first = _measured(LIGHT, cpus=2)
    assert json.dumps(_measured(LIGHT, cpus=2)) == json.dumps(first)
    assert first["loss_ratio"] == 0
    both = first["processors"]
    assert sum(one["instructions"] for one in both) == first["instructions"]
    for one in both:
        busy = one["instructions"] * NS_PER_INSTRUCTION / LIGHT.duration_ns
        assert busy + one["idle_ratio"] == pytest.approx(1, abs=1e-4)


def test_the_timer_scheme_leaves_on_the_ring_what_another_processors_backlog_has_no_room_for() -> None:
    """Frames that RPS hands to processor 1, which cannot keep up, are not dropped there after they were taken."""
    placement = Placement.of("eth0=0,eth1=0", "1", None, None, None)
    dut = DutConfig(schemes=Schemes(rx="timer", tx="off"))
    bed = Testbed.resolve(TestbedConfig("irqmod_i8255x", cached=False, cpus=2, dut=dut, placement=placement))
    found = bed.run(ForwardingTrial(loads=(Load(120_000.0),), duration_ns=100_000_000, drain_ns=20_000_000))
    bed.close()
    assert found.total("received") < found.total("sent")
    assert found.counters.backlog_drops == 0


def test_a_machine_that_is_used_again_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    schemes = Schemes(rx="napi", tx="off")
    bed = Testbed.resolve(TestbedConfig("irqmod_i8255x", cached=False, cpus=2, dut=DutConfig(schemes=schemes)))
    first = bed.run(LIGHT).to_json()
    bed.run(HEAVY)
    again = bed.run(LIGHT).to_json()
    bed.close()
    monkeypatch.setenv("IRQLAB_FRESH", "1")
    fresh = bed.run(LIGHT).to_json()
    assert json.dumps(again) == json.dumps(first) == json.dumps(fresh)


@pytest.mark.long
def test_two_processors_forward_twice_as_much_with_any_quantum() -> None:
    one = _measured(HEAVY)["forwarded_pps"]
    two, coarse = (_measured(HEAVY, cpus=2, quantum_ns=quantum_ns)["forwarded_pps"] for quantum_ns in (1_000, 4_000))
    assert two == pytest.approx(2 * one, rel=0.05)
    assert coarse == pytest.approx(two, rel=0.01)


def test_two_busy_loops_take_the_time_of_one() -> None:
    bed = _bed(cpus=2)
    assert bed.describe()["processors"] == {"count": 2, "quantum_ns": 1_000, "interrupts": {"eth0": 0, "eth1": 1}}
    alone = f"taskset 1 sh -c '{LOOP}'"
    beside = f"taskset 1 sh -c '{LOOP}' & taskset 2 sh -c '{LOOP}'; wait"
    with bed.open() as dut:
        spent = []
        for what in (alone, beside):
            said = dut.run("sh", "-c", f"{NOW}; {what}; {NOW}")
            begin, end = (int(found) for found in re.findall(r"now at (\d+)", said))
            spent.append(end - begin)
        dut.kernel_log.check()
    assert spent[1] == pytest.approx(spent[0], rel=0.05)


def test_a_line_that_bounces_is_found_with_its_fields_and_its_writer(cli: Cli, tmp_path: Path) -> None:
    done = cli(
        "profile", "--driver", "e1000", "--cpus", "2", "--bidirectional", "--rate", "30000", "--memory", "--json", "p.json"
    )
    assert done.returncode == 0, done.stderr
    assert "lines per frame bounce between processors; most: " in " ".join(done.stdout.split())
    (row,) = json.loads((tmp_path / "p.json").read_text())["measured"]["results"]
    assert row["summary"]["residual"] == 0
    bounced = row["summary"]["memory"]["bounced"]
    # Either processor sends on the other one's NIC as well, where that one cleans up.
    sent = [one for one in bounced if one["object"].startswith("e1000_tx_ring")]
    writers = {one["writer"] for one in sent}
    assert {"e1000_xmit_frame", "e1000_clean"} <= writers
    assert sum(one["count"] for one in sent) > row["summary"]["frames"] / 2


def test_what_is_placed_is_where_it_was_placed(cli: Cli, tmp_path: Path) -> None:
    placed = ("--affinity", "eth0=1,eth1=1", "--rps", "0", "--napi-threads", "on", "--napi-cpus", "0")
    done = cli("throughput", "--driver", "e1000", "--cpus", "2", *placed, "--json", "t.json")
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "t.json").read_text())
    found = document["environment"]["duts"][0]["processors"]
    assert found == {"count": 2, "quantum_ns": 1_000, "interrupts": {"eth0": 1, "eth1": 1}, "rps": [0], "napi": [0]}
    trial = document["measured"]["results"][0]["trials"][0]
    interrupted, polling = trial["processors"][1], trial["processors"][0]
    assert interrupted["instructions"] < polling["instructions"] / 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("throughput", "--cpus", "9"), "--cpus 9: with the instruction clock up to 8"),
        (("throughput", "--cpus", "2", "--cost", "irq=1500"), "not with --cpus"),
        (("throughput", "--rps", "1"), "the DUT has 0 and no others: add --cpus"),
        (("hunt", "--cpus", "2"), "only --what processors is a hunt with several processors"),
        (("check", "--cpus", "2"), "a driver is checked on one processor"),
    ],
)
def test_what_does_not_work_yet_is_refused(refused: Refused, arguments: tuple[str, ...], complaint: str) -> None:
    assert complaint in refused(*arguments, "--driver", "e1000")


@pytest.mark.parametrize("processors", [1, 2])
def test_the_cliff_of_hybrid_is_that_of_a_processor(processors: int) -> None:
    """Two queues receive two thirds of the cliff each: too much for one processor that has both, and not for two."""
    cliff_pps, sources, share_pps = 30_000, 16, 2500.0
    dut_config = DutConfig(schemes=Schemes(rx="hybrid", tx="off", cliff_pps=cliff_pps))
    placement = Placement.of("eth0-0=0,eth0-1=1", None, None, None, None) if processors == 2 else Placement()
    bed = Testbed.resolve(
        TestbedConfig("irqmod_i82574", nic="irqlab-82574", cached=False, cpus=processors, dut=dut_config, placement=placement)
    )
    load = Load(share_pps)
    streams = [stream(0, 1, load.arrivals_json(), load.size_json()) | {"src_port": 49184 + n} for n in range(sources)]
    for n, one in enumerate(streams):
        one["src_ip"] = f"{one['src_ip'].rpartition('.')[0]}.{100 + n}"
    with bed.open() as dut:
        dut.play_hosts(0)
        dut.run_trial({"warmup_ns": 0, "duration_ns": 150_000_000, "drain_ns": 1_000_000}, streams)
        # At once: hybrid changes back when the load has ended.
        switches = dut.read(file := f"/sys/class/net/{INTERFACES[0]}/irqmod/rx_switches")[file]
        told = dut.run("ethtool", "-S", INTERFACES[0])
    received = [int(line.split(":")[1]) for line in told.splitlines() if re.match(r" *queue\d_rx_packets:", line)]
    whole = sources * share_pps * 0.15
    assert sum(received) >= whole
    assert all(0.2 * whole < one < 0.8 * whole for one in received)
    assert int(str(switches)) == (2 if processors == 1 else 0)
