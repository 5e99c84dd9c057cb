# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles, end to end: exact, repeatable, and of the same trial as without profiling."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from irqlab import Lab
from irqlab.methods import catalogue
from tests.e2e.conftest import Cli, Refused


def test_every_instruction_of_an_overload_is_accounted_for() -> None:
    lab = Lab("8139cp", cached=False)
    profile = lab.profile(rate_pps=110_000)
    (trial,) = profile.result.trials
    assert profile.residual == 0
    assert profile.result.summary.stacks_lost == 0
    assert profile.instructions_per_frame == pytest.approx(trial.instructions_per_frame)
    for sums in (
        profile.by_owner(),
        profile.by_context(),
        {f.name + f.context: f.instructions_per_frame for f in profile.by_function()},
    ):
        assert sum(sums.values()) == pytest.approx(profile.instructions_per_frame)
    assert sum(stack.instructions for stack in profile.stacks) == trial.instructions

    # The instrument does not show in what is measured.
    assert json.dumps(trial.to_json()) == json.dumps(lab.trial(110_000).to_json())

    functions = {(f.name, f.context): f for f in profile.by_function()}
    poll, handler = functions["cp_rx_poll", "softirq"], functions["cp_interrupt", "hardirq"]
    assert (poll.module, poll.owner, handler.owner) == ("8139cp", "driver", "driver")
    # One TX interrupt per packet, all packets are forwarded, and nothing else interrupts but the timer (250 Hz).
    assert handler.entries_per_frame == pytest.approx(1.0, abs=0.01)
    assert profile.result.summary.interrupts / profile.frames == pytest.approx(1.0, abs=0.02)
    assert functions["ip_forward", "softirq"].entries_per_frame == pytest.approx(1.0, abs=0.01)
    assert ("ip_forward", "hardirq") not in functions
    contexts = profile.by_context()
    assert 0.1 < contexts["hardirq"] / profile.instructions_per_frame < 0.3
    assert contexts["softirq"] / profile.instructions_per_frame > 0.7
    owners = profile.by_owner()
    assert next(iter(owners)) == "IP stack"
    assert owners["other"] / profile.instructions_per_frame < 0.02
    deepest = max(profile.stacks, key=lambda stack: len(stack.functions)).functions
    assert deepest.index("cp_rx_poll") < deepest.index(
        "ip_forward_finish" if "ip_forward_finish" in deepest else "ip_sublist_rcv"
    )


def test_idle_time_has_no_instructions_and_every_interrupt_is_counted() -> None:
    profile = Lab("8139cp", cached=False).profile(rate_pps=1_000)
    (trial,) = profile.result.trials
    assert profile.residual == 0
    assert trial.total("received_in_window") == profile.frames == 200
    assert profile.by_context()["idle"] > 0
    functions = {(f.name, f.context): f for f in profile.by_function()}
    # A frame that comes alone interrupts when it comes and when it has gone.
    assert functions["cp_interrupt", "hardirq"].entries_per_frame == pytest.approx(2.0, abs=0.02)


def test_the_command_repeats_to_the_byte_and_compares(cli: Cli, tmp_path: Path) -> None:
    arguments = ("profile", "--driver", "8139cp", "--rate", "80000", "--bidirectional", "--no-cache")
    measured = []
    for name in ("a.json", "b.json"):
        done = cli(*arguments, "--json", name, "--diff", "a.json") if measured else cli(*arguments, "--json", name)
        assert done.returncode == 0, done.stderr
        assert "residual 0" in done.stdout
        document = json.loads((tmp_path / name).read_text())
        jsonschema.validate(document, catalogue.schema())
        measured.append(json.dumps(document["measured"]))
    assert measured[0] == measured[1]
    assert "Change by owner" in done.stdout
    assert "+0.1" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--load", "2x", "--rate", "5000"), "give only one of them"),
        (("--load", "many"), "multiples of the throughput"),
        (("--top", "0"), "--top 0"),
        (("--diff", "missing.json"), "cannot read missing.json"),
    ],
)
def test_bad_input_is_rejected_at_once(refused: Refused, arguments: tuple[str, ...], said: str) -> None:
    assert said in refused("profile", "--driver", "8139cp", *arguments)


def test_the_duts_gro_merges_a_flow_of_the_testers(cli: Cli, tmp_path: Path) -> None:
    # As it would a real host's: PSH at the end of a write alone, packets counted. A packet that GRO has not merged comes to
    # tcp_v4_rcv() by itself.
    done = cli("profile", "--driver", "e1000", "--iperf", "tcp-rx", "--json", "a.json")
    assert done.returncode == 0, done.stderr
    assert "iperf3 TCP Rx" in done.stdout
    document = json.loads((tmp_path / "a.json").read_text())
    jsonschema.validate(document, catalogue.schema())
    (row,) = document["measured"]["results"]
    found = row["summary"]
    assert (found["residual"], found["per"], row["frame_bytes"]) == (0, "received", 1518)
    entries = sum(point["entries"] for point in row["samples"] if point["function"] == "tcp_v4_rcv")
    assert 0 < entries < 0.2 * found["frames"]
