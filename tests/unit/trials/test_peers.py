# SPDX-License-Identifier: GPL-2.0-or-later
import gzip
import json
import subprocess
import sys
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest

from irqlab.dut.agent import DutError
from irqlab.errors import IrqlabError
from irqlab.methods import catalogue
from irqlab.results import flent
from irqlab.trials import iperf, peers, rrul
from tests.data.samples import sample


def rows(method: str) -> list[dict[str, Any]]:
    return [row for row in sample()["measured"]["results"] if row["method"] == method]


def test_percentiles_are_values_that_occurred():
    found = peers.round_trips(range(1000, 0, -1))
    assert (found.count, found.min_ns, found.max_ns, found.mean_ns) == (1000, 1, 1000, 500.5)
    assert [getattr(found, name) for name, _ in peers.SHARES] == [500, 900, 990, 999]
    assert peers.round_trips([7]).p999_ns == 7
    assert peers.round_trips([]).count == 0


def test_latency_leaves_out_what_the_wire_took_and_counts_what_has_no_answer():
    probes = [(500, 40, 0), (10**9, 900, 800), (2 * 10**9, 1000, 700), (2 * 10**9 + 1, None, None), (4 * 10**9, 1, 0)]
    found = rrul.both(probes, 10**9, seconds=2)
    assert (found["base"].count, found["base"].p50_ns) == (1, 40)
    load = found["load"]  # from half a second after the beginning
    assert (load.count, load.p50_ns, load.off_wire.p50_ns, load.lost) == (1, 1000, 300, 1)


def test_the_wires_payload():
    assert peers.wire_payload_bps(100_000_000) == 95_640_686


def stream(**more: Any) -> dict[str, Any]:
    usual = {"sends": False, "seconds": 2.0, "bytes": 1000, "retransmits": None, "datagrams": 0, "lost": 0, "jitter_ns": 5}
    return {**usual, **more}


def test_the_testers_account():
    streams = [stream(datagrams=10, lost=1), stream(datagrams=20, lost=2, jitter_ns=9)]
    test = {"done": True, "error": None, "udp": True, "streams": streams}
    wanted = {"bytes": 2000, "bps": 8000.0, "retransmits": None, "datagrams": 30, "lost": 3, "jitter_ns": 9}
    assert asdict(peers.tester_count(test)) == wanted
    with pytest.raises(DutError, match="the client went away"):
        peers.tester_count({**test, "done": False, "error": "the client went away"})


def test_the_duts_account():
    sender = {"sender": {"bytes": 1000, "seconds": 2.0, "retransmits": 3}, "receiver": {"bytes": 900, "seconds": 2.0}}
    report = {"end": {"streams": [sender, sender]}}
    sent = peers.dut_count(report, udp=False, sends=True)
    assert (sent.bytes, sent.bps, sent.retransmits, sent.lost) == (2000, 8000.0, 6, None)
    assert peers.dut_count(report, udp=False, sends=False).bytes == 1800


def test_the_duts_account_of_datagrams_received_is_not_the_senders():
    # iperf3 3.12 in a DUT that was starved: it read 369 datagrams, and knows of 115,361 by the last one's number.
    sent = {"bytes": 245_770_488, "seconds": 2.056, "packets": 169_731, "lost_packets": 114_992, "jitter_ms": 0.25}
    received = {"bytes": 534_312, "seconds": 2.0, "packets": 115_361, "lost_packets": 114_992, "jitter_ms": 0.25}
    found = peers.dut_count({"end": {"streams": [{"udp": sent}], "sum_received": received}}, udp=True, sends=False)
    assert (found.bytes, found.bps, found.jitter_ns) == (534_312, 4 * 534_312, 250_000)
    assert (found.datagrams, found.lost) == (115_361, 114_992)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [({"seconds": 0}, "--duration 0"), ({"parallel": 129}, "--parallel 129"), ({"rate_bps": -1}, "--rate-bps -1")],
)
def test_invalid_tests_are_rejected(wrong, why):
    with pytest.raises(IrqlabError, match=f"{why}: allowed are"):
        iperf.IperfTrial(**wrong)


def test_invalid_rrul_loads_are_rejected():
    with pytest.raises(IrqlabError, match="--idle 0: allowed are 1 to 600"):
        rrul.RrulTrial(idle_s=0)


def test_flows_take_the_classes_in_turn():
    assert rrul.RrulTrial().classes == {"BE": 1, "BK": 1, "CS5": 1, "EF": 1}
    assert rrul.RrulTrial(flows=6).classes == {"BE": 2, "BK": 2, "CS5": 1, "EF": 1}
    assert rrul.RrulTrial("rrul_be", flows=2).classes == {"BE": 1, "BE2": 1}
    streams = [{"bytes": n, "seconds": 8.0, "retransmits": None, "series": []} for n in range(6)]
    tests = [{"streams": [streams[0], streams[4]]}, {"streams": [streams[1], streams[5]]}, {"streams": [streams[2]]}]
    flows = rrul.RrulTrial(flows=6)._flows("up", [*tests, {"streams": [streams[3]]}])
    assert [(flow.number, flow.bps) for flow in flows] == [(n, float(n)) for n in range(6)]
    assert [flow.traffic_class for flow in flows] == ["BE", "BK", "CS5", "EF", "BE", "BK"]


def test_packets_are_counted_by_their_marks():
    heard = [{"received_by_dscp": {"46": 7, "0": 1}}, {"received_by_dscp": {"8": 2, "46": 3}}]
    assert list(rrul._heard(heard).items()) == [("0", 1), ("8", 2), ("46", 10)]
    assert rrul._heard([]) == {}


def test_iperf3_marks_only_if_asked():
    assert "--dscp" not in peers.client_options(1, 1)
    assert peers.client_options(1, 1, dscp=46, reverse=True)[-3:] == ["--dscp", "46", "--reverse"]


def test_the_account_of_several_tests():
    sent = [peers.Account(10, 80.0, 2, None, None, None), peers.Account(5, 40.0, 1, None, None, None)]
    assert peers.together(sent) == peers.Account(15, 120.0, 3, None, None, None)
    assert peers.together([peers.Account(1, 8.0, None, None, None, None)]).retransmits is None


def test_the_four_tests_have_the_letters_names():
    assert [test.name for test in iperf.FOUR] == ["TCP Rx", "TCP Tx", "UDP Rx", "UDP Tx"]


def test_tables_have_a_line_per_test_and_probe():
    found = catalogue.rows_by_method(catalogue.rows([sample()]))
    lines = {name: len(catalogue.methods()[name].lines.table(found[name]).rows) for name in ("iperf", "rrul")}
    assert lines == {"iperf": 8, "rrul": 8}


def test_the_same_row_gives_the_same_file(tmp_path):
    row = rows("rrul")[0]
    for name in ("a", "b"):
        flent.write(row, "sample", tmp_path / f"{name}.flent.gz")
    assert (tmp_path / "a.flent.gz").read_bytes() == (tmp_path / "b.flent.gz").read_bytes()
    document = json.loads(gzip.decompress((tmp_path / "a.flent.gz").read_bytes()))
    length = len(document["x_values"])
    assert length == 40
    assert all(len(series) == length for series in document["results"].values())
    assert document["results"]["TCP upload sum"][20] == pytest.approx(4 * 20.0)
    assert document["results"]["TCP upload BE"][5] is None
    assert document["metadata"]["NAME"] == "rrul"
    assert {"TCP download EF", "Ping (ms) UDP EF", "Ping (ms) UDP BK", "Ping (ms) UDP BE"} <= document["results"].keys()


def test_more_flows_than_classes_are_numbered():
    row = rows("rrul")[0]
    flow = next(point for point in row["samples"] if point.get("flow") == "up")
    more = {**row, "samples": [*row["samples"], {**flow, "number": 4}, {**flow, "number": 8}]}
    found = flent.document(more, "sample")["results"]
    assert {"TCP upload BE", "TCP upload BE::2", "TCP upload BE::3"} <= found.keys()
    assert found["TCP upload sum"][20] == pytest.approx(6 * 20.0)


def test_the_file_name_must_have_flents_suffix(tmp_path):
    with pytest.raises(IrqlabError, match=r"end in \.flent\.gz"):
        flent.write(rows("rrul")[0], "sample", tmp_path / "a.json")


def test_flent_opens_and_plots_it(tmp_path):
    resultset = pytest.importorskip("flent.resultset", reason="flent is not installed")
    path = tmp_path / "sample.flent.gz"
    row = rows("rrul")[0]
    flent.write(row, "sample", path)
    loaded = resultset.load(str(path))
    assert loaded.meta("NAME") == "rrul"
    ours = flent.document(row, "sample")
    assert list(loaded.x_values) == ours["x_values"]
    assert set(loaded.series_names) == set(ours["results"])
    for plot in ("all_scaled", "ping_cdf", "totals"):
        picture = tmp_path / f"{plot}.png"
        command = [str(Path(sys.executable).with_name("flent")), "-i", str(path), "-p", plot, "-f", "plot", "-o", str(picture)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "ERROR" not in done.stderr, done.stderr
        assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_windows_payload_is_that_of_its_buckets():
    series = [[1] * 4 + [10] * 4 + [100] * 3, [0] * 5 + [1000]]
    app = {"streams": [{"series": one} for one in series]}
    assert iperf._bytes(app, iperf.IperfTrial(seconds=1)) == 1040  # 0.4 to 0.8 s
    with pytest.raises(IrqlabError, match=r"no payload within 0\.4 s"):
        iperf._bytes({"streams": [{"series": [0] * 4 + [10]}]}, iperf.IperfTrial(seconds=1))


@pytest.mark.parametrize(("per_byte", "soaked", "frames"), [(2.0, None, 10), (1.0, 0.5, 10), (None, None, 0)])
def test_full_size_frames_of_a_window(per_byte: float | None, soaked: float | None, frames: int):
    empty = dict.fromkeys(field.name for field in fields(iperf.IperfResult))
    measured = {"name": "TCP Rx", "instructions": 29_200, "instructions_per_byte": per_byte, "soaked_ratio": soaked}
    assert iperf.IperfResult(**(empty | measured)).full_frames == frames


def test_the_testers_account_of_tcp_has_retransmits_only_if_it_sends():
    streams = [stream(sends=True, retransmits=2, seconds=4.0), stream(sends=False, retransmits=3)]
    test = {"done": True, "error": None, "udp": False, "streams": streams}
    sent = {"bytes": 2000, "bps": 4000.0, "retransmits": 5, "datagrams": None, "lost": None, "jitter_ns": None}
    assert asdict(peers.tester_count(test)) == sent
    received = peers.tester_count({**test, "streams": [stream()]})
    assert (received.retransmits, received.datagrams, received.lost, received.jitter_ns) == (None, None, None, None)
    datagrams = peers.tester_count({**test, "udp": True, "streams": [stream(sends=True, datagrams=4)]})
    assert (datagrams.retransmits, datagrams.datagrams, datagrams.lost, datagrams.jitter_ns) == (None, 4, None, None)


def test_a_test_without_time_has_no_rate():
    nothing = {"done": True, "error": None, "udp": False, "streams": [stream(seconds=0.0)]}
    assert peers.tester_count(nothing).bps == 0.0
    report = {"end": {"streams": [{"receiver": {"bytes": 0, "seconds": 0.0}}]}}
    assert peers.dut_count(report, udp=False, sends=False).bps == 0.0
    with pytest.raises(DutError, match="it did not end"):
        peers.tester_count({**nothing, "done": False})
