# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab live tune`: settings of the device are tried, and put back."""

from __future__ import annotations

import signal
from pathlib import Path

from irqlab.methods import catalogue
from tests.live.bench import IRQLAB, Bench

AGENT = ("--dut", "user@board", "--dut-ports", "d0,d1")
OPTIONS = ("--sleep", "--warmup", "0.02", "--line-rate", "1M", "--uncalibrated", "--load", "300", "--only", "gro_flush_timeout")
SHORT = (*OPTIONS, "--duration", "0.2", "--repeat", "1")
WATCHED = ("gro_flush_timeout", "napi_defer_hard_irqs", "threaded")


def _settings(router: Bench) -> str:
    files = [f"/sys/class/net/{name}/{file}" for name in ("d0", "d1") for file in WATCHED]
    return router.run(router.device, "cat", *files)


def _journals(router: Bench) -> list[Path]:
    return list((router.home / "cache/live").glob("prepared-*.json"))


def test_settings_are_tried_and_put_back(router: Bench) -> None:
    before, result = _settings(router), router.home / "result.json"
    options = ["--goal", "p50", "--trials", "3", "--json", str(result)]
    code, out, errors = router.irqlab("tune", "p0", "p1", *SHORT, *AGENT, *options, env=router.ssh())
    assert code == 0, errors
    (row,) = catalogue.read(result)["measured"]["results"]
    assert row["method"] == "tune"
    assert row["summary"]["tried"] == 3
    assert row["summary"]["interfaces"] == ["d0", "d1"]
    assert {value for sample in row["samples"] for value in sample["settings"]} == {"gro_flush_timeout"}
    assert "forwarding 0.30 kpps" in out or "forwarding 0.300 kpps" in out
    assert _settings(router) == before
    assert _journals(router) == []


def test_ctrl_c_puts_back(router: Bench) -> None:
    before = _settings(router)
    options = [*OPTIONS, "--duration", "1", "--repeat", "3", *AGENT, "--goal", "p50", "--trials", "40"]
    process = router.popen(str(IRQLAB), "live", "tune", "p0", "p1", *options, env=router.ssh())
    assert process.stderr is not None
    for line in process.stderr:
        if "1 of 40 settings" in line:  # the next trials have other values
            break
    while _settings(router) == before:
        pass
    process.send_signal(signal.SIGINT)
    errors = process.stderr.read()
    process.wait()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert _settings(router) == before
    assert _journals(router) == []


def test_without_an_agent_it_says_what_is_missing(router: Bench) -> None:
    code, _, errors = router.irqlab("tune", "p0", "p1", *SHORT)
    assert code == 2
    assert "only with an agent: --dut user@board --dut-ports eth0,eth1" in errors
