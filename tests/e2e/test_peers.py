# SPDX-License-Identifier: GPL-2.0-or-later
"""Unmodified iperf3 in the DUT against the tester's host, and rrul."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from irqlab.methods import catalogue
from irqlab.results import flent
from irqlab.trials.rrul import FLOWS, PROBES
from tests.e2e.conftest import Cli, Refused


def test_iperf3_is_plausible_valid_and_repeatable(cli: Cli, tmp_path: Path) -> None:
    measured = []
    for name in ("a.json", "b.json"):
        done = cli("iperf", "--driver", "8139cp", "--duration", "1", "--json", name)
        assert done.returncode == 0, done.stderr
        assert "TCP Tx" in done.stdout
        document = json.loads((tmp_path / name).read_text())
        jsonschema.validate(document, catalogue.schema())
        measured.append(json.dumps(document["measured"]))
    assert measured[0] == measured[1]
    (row,) = json.loads(measured[0])["results"]
    (point,) = row["samples"]
    # 1,460 of 1,538 bytes of a wire of 100 Mbit/s
    assert 60e6 < point["window_bps"] < 95e6
    assert point["dut"]["bytes"] >= point["tester"]["bytes"]
    assert 0 < point["idle_ratio"] < 1


@pytest.mark.parametrize("driver", ["irqmod_i8255x", "irqmod_rtl8139cp", "irqmod_lan78xx"])
def test_iperf3_runs_on_our_drivers(cli: Cli, tmp_path: Path, driver: str) -> None:
    # Its first messages are of 4 bytes: packets that are shorter than a frame may be, in two pieces.
    done = cli("iperf", "--driver", driver, "--duration", "1", "--json", "a.json")
    assert done.returncode == 0, done.stderr
    (point,) = json.loads((tmp_path / "a.json").read_text())["measured"]["results"][0]["samples"]
    assert 80e6 < point["bps"] < 425e6
    assert point["retransmits"] == 0


def test_a_window_holds_no_more_than_the_wire_carries(cli: Cli, tmp_path: Path) -> None:
    fast = ("--driver", "lan78xx", "--nic", "lan7800-superspeed", "--mips", "1000")
    done = cli("iperf", *fast, "--duration", "1", "--json", "a.json")
    assert done.returncode == 0, done.stderr
    (point,) = json.loads((tmp_path / "a.json").read_text())["measured"]["results"][0]["samples"]
    # 1,460 of 1,538 bytes, and at most a frame that was under way when the window began
    wire_bps = 1e9 * 1460 / 1538
    assert 0.98 * wire_bps < point["window_bps"] < wire_bps + 8e9 * 1460 / point["window_ns"]
    assert point["bps"] < wire_bps
    # What iperf3 wrote to its socket is more: some of it was never sent.
    assert point["dut"]["bytes"] > point["tester"]["bytes"]


@pytest.mark.long
@pytest.mark.parametrize("dut_serves", [False, True])
def test_both_protocols_roles_and_directions(cli: Cli, tmp_path: Path, dut_serves: bool) -> None:
    role = ["--dut-serves"] if dut_serves else []
    done = cli("iperf", "--driver", "e100", "--all", "--duration", "1", "--parallel", "2", *role, "--json", "a.json")
    assert done.returncode == 0, done.stderr
    points = json.loads((tmp_path / "a.json").read_text())["measured"]["results"][0]["samples"]
    assert [point["name"] for point in points] == ["TCP Rx", "TCP Tx", "UDP Rx", "UDP Tx"]
    for point in points:
        assert 80e6 < point["bps"] < 97e6, point
    for point in points[2:]:
        assert point["loss_ratio"] < 0.01


@pytest.mark.long
def test_latency_rises_under_load(cli: Cli, tmp_path: Path) -> None:
    done = cli("rrul", "--driver", "e100", "--duration", "2", "--json", "a.json", "--flent", "a.flent.gz", "--report", "a.html")
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "a.json").read_text())
    jsonschema.validate(document, catalogue.schema())
    (row,) = document["measured"]["results"]
    assert len([point for point in row["samples"] if "flow" in point]) == 8
    assert list(row["summary"]["latency"]) == ["icmp", "udp_ef", "udp_bk", "udp_be"]
    for latency in row["summary"]["latency"].values():
        base, load = latency["base"], latency["load"]
        assert base["lost"] == 0
        assert base["max_ns"] < 2_000_000 < load["p50_ns"]
        assert base["p50_ns"] <= load["off_wire"]["p50_ns"] < load["p50_ns"]
    assert flent.document(row, "x")["results"]["TCP upload sum"]


@pytest.mark.parametrize("test", ["rrul", "rrul_be"])
def test_marks_are_seen_on_the_wire(cli: Cli, tmp_path: Path, test: str) -> None:
    done = cli("rrul", "--driver", "e100", "--test", test, "--duration", "2", "--json", "a.json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "a.json").read_text())["measured"]["results"]
    heard = row["summary"]["received_by_dscp"]
    for direction in ("up", "down"):  # of a flow down these are the acknowledgements
        for name, dscp in FLOWS[test].items():
            of_flow = heard[f"{direction} {name}"]
            assert set(of_flow) == {"0", str(dscp)}
            assert of_flow[str(dscp)] > 100
            if dscp:
                assert of_flow["0"] <= 50, "SYN, cookie, and answers once the socket was closed"
    for kind, dscp in {"icmp": 0, **PROBES[test]}.items():
        assert list(heard[kind]) == [str(dscp)]
        assert heard[kind][str(dscp)] > 300


def test_bad_input_is_rejected(refused: Refused) -> None:
    for arguments, why in (
        (("iperf", "--driver", "e100", "--duration", "0"), "--duration 0: allowed are 1 to 3600"),
        (("iperf", "--driver", "e100", "--all", "--udp"), "--all"),
        (("rrul", "--driver", "e100", "--flent", "x.json"), "the file name must end in .flent.gz"),
    ):
        assert why in refused(*arguments)
