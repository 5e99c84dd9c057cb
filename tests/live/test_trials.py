# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials on veth pairs: what a device does to frames is found as it was made, and what the host does to the tester is seen."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.live.bench import Bench

SECOND = {"rate_pps": 1000, "duration_ns": 500_000_000}
MS = 1_000_000


def test_a_router_forwards_everything_both_ways(router: Bench, kind: str) -> None:
    (found,) = router.trials([{**SECOND, "bidirectional": True, "size": 300}], kind=kind, bridge=False)
    for stream in found["streams"]:
        assert stream["intended"] == 500
        assert stream["received"] == stream["sent"]
        assert stream["sent"] == 500 or found["live"]["stalls"]  # the host may stop the tester, but then it says so
        assert stream["corrupted"] == stream["duplicated"] == stream["reordered"] == 0
        assert 0 < stream["latency"]["min_ns"] < 100 * MS
    assert found["live"]["time_stamps"] == ["kernel"]
    assert found["live"]["own_loss"] == 0
    assert [doubt for doubt in found["live"]["doubts"] if "the host stopped it" not in doubt] == []
    assert not found["live"]["doubts"] or found["live"]["stalls"]


def test_impairments_are_found_as_made(bench: Bench, kind: str) -> None:
    with bench.impaired(lose_every=10, duplicate_every=7, swap_every=25) as bridge:
        (found,) = bench.trials([SECOND], kind=kind)
        did = bench.did(bridge)
    (stream,) = found["streams"]
    warmup = 10  # frames of the warm-up meet the bridge, too
    assert did["lost"] - warmup / 10 - 1 <= stream["lost"] <= did["lost"] + 1  # a frame that is held at the end
    assert abs(stream["lost"] / stream["sent"] - 0.1) < 0.01
    assert did["duplicated"] - 2 <= stream["duplicated"] <= did["duplicated"]
    assert did["swapped"] - 2 <= stream["reordered"] <= did["swapped"]


def test_a_delay_is_found_as_configured(bench: Bench, kind: str) -> None:
    with bench.impaired(delay_ns=20 * MS):
        (found,) = bench.trials([SECOND], kind=kind)
    latency = found["streams"][0]["latency"]
    assert found["streams"][0]["lost"] == 0
    assert 20 * MS <= latency["min_ns"] < 25 * MS
    assert latency["p50_ns"] < 25 * MS or found["live"]["stalls"]  # the bridge is a program on the same host


def test_what_was_not_sent_is_not_lost(router: Bench) -> None:
    """A load that no host can send: it is unreached, and nothing is lost that the ports did not count."""
    (found,) = router.trials([{"rate_pps": 20_000_000, "duration_ns": 100 * MS}], bridge=False, sleep=False)
    (stream,) = found["streams"]
    assert stream["sent"] < stream["intended"]
    assert "the tester sent" in found["live"]["unreached"]
    assert stream["lost"] <= found["live"]["own_loss"]


def test_nothing_leaves_through_other_interfaces(router: Bench, kind: str) -> None:
    subprocess.run(
        ["ip", "link", "add", "other0", "netns", router.tester, "type", "veth", "peer", "name", "other1", "netns", router.device],
        check=True,
    )
    for namespace, name in ((router.tester, "other0"), (router.device, "other1")):
        router.quiet(namespace, name)
        subprocess.run(["ip", "-n", namespace, "link", "set", name, "up"], check=True)
    router.trials([{**SECOND, "bidirectional": True, "duration_ns": 100 * MS}], kind=kind, bridge=False)
    sent = router.run(router.tester, "cat", "/sys/class/net/other0/statistics/tx_packets")
    assert int(sent) == 0


def _stalled(bench: Bench, how: str, count: int) -> list[bool]:
    """Runs trials during each of which the tester is stopped for 20 ms, or its processors are used; whether each says so."""
    cpus = sorted(os.sched_getaffinity(0))[-2:]
    process = bench.start_trials([{"rate_pps": 1000, "duration_ns": 100 * MS}] * count, sleep=False)
    assert process.stdout is not None
    pid = json.loads(process.stdout.readline())["pid"]
    labelled = []
    for _ in range(count):
        hogs = []
        if how == "stop":
            time.sleep(0.05)
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.02)
            os.kill(pid, signal.SIGCONT)
        else:
            # In a session of its own, with the weight that the tester's has (autogroups, sched(7)).
            burn = "import os, sys, time; os.sched_setaffinity(0, {int(sys.argv[1])}); os.setpriority(0, 0, -20)\n"
            burn += "group = '/proc/self/autogroup'\nif os.path.exists(group): print(-20, file=open(group, 'w'))\n"
            burn += "end = time.monotonic() + 0.1\nwhile time.monotonic() < end: pass"
            hogs = [subprocess.Popen([sys.executable, "-S", "-c", burn, str(cpu)], start_new_session=True) for cpu in cpus]
        labelled.append(bool(json.loads(process.stdout.readline())["live"]["stalls"]))
        for hog in hogs:
            hog.wait()
    process.communicate()
    return labelled


@pytest.fixture
def loop(tmp_path: Path) -> Bench:
    """A tester whose ports lead to each other; not entered."""
    return Bench(tmp_path, loop=True)


@pytest.mark.parametrize("how", ["stop", "hog"])
def test_stalls_of_the_host_are_labelled(loop: Bench, bench: Bench, how: str) -> None:
    with loop:
        assert all(_stalled(loop, how, 3))


@pytest.mark.long
@pytest.mark.parametrize("how", ["stop", "hog"])
def test_stalls_are_labelled_every_time(loop: Bench, bench: Bench, how: str) -> None:
    with loop:
        assert sum(_stalled(loop, how, 100)) == 100
