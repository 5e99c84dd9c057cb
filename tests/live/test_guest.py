# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU guest with our driver between two real ports: throughput, loss, and two schemes side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from irqlab.live.remote import Remote
from irqlab.methods import catalogue
from tests.live import guest
from tests.live.bench import IRQLAB, Bench

SHORT = [
    "--duration",
    "0.5",
    "--warmup",
    "0.1",
    "--repeat",
    "1",
    "--width",
    "0.1",
    "--line-rate",
    "10M",
    "--uncalibrated",
    "--sleep",
]


TRIES = 5


def _schemes(target: str) -> object:
    """The schemes in force."""
    remote = Remote(target)
    try:
        return remote.guest(
            "read", paths=[f"/sys/class/net/eth{n}/irqmod/{way}_scheme" for n in range(2) for way in ("rx", "tx")]
        )
    finally:
        remote.close()


def _until_verdict(bench: Bench, method: str, *options: str, env: dict[str, str]) -> tuple[int, str, str]:
    """Runs a command until there is a verdict; skips the test if there is none."""
    for _ in range(TRIES):
        code, out, errors = bench.irqlab(method, "p0", "p1", *options, env=env)
        if "no verdict" not in errors:
            return code, out, errors
    pytest.skip(f"the host is too busy: {errors.splitlines()[-1]}")


@pytest.mark.long
def test_two_schemes_of_a_guest(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with guest.running(bench, "irqmod_i8255x", "i82557b") as target:
        env = {"IRQLAB_CACHE": str(tmp_path / "cache")}
        agent = ["--dut", target, "--dut-ports", "eth0,eth1"]
        code, out, errors = bench.irqlab("prepare", "p0", "p1", *agent, "--no-governor", env=env)
        assert code == 0, errors
        assert "device: eth1: up" in out
        before = _schemes(target)
        files = []
        for rx, tx in (("interrupt", "interrupt"), ("napi", "off")):
            for method in ("throughput", "loss"):
                file = tmp_path / f"{rx}-{method}.json"
                options = [*agent, "--rx", rx, "--tx", tx, "--json", str(file)]
                code, out, errors = _until_verdict(bench, method, *SHORT, *options, env=env)
                assert code == 0, errors
                document = catalogue.read(file)
                row = document["measured"]["results"][0]
                assert (row["driver"], row["rx_scheme"], row["tx_scheme"]) == ("irqmod_i8255x", rx, tx)
                assert row["total_throughput_pps"] > 100
                assert row["interrupts_per_frame"] is not None
                assert document["environment"]["duts"][0]["dut"]["schemes"]["rx"] == rx
                files.append(file)
        out_dir = tmp_path / "matrix"
        both_schemes = [*agent, "--schemes", "interrupt+interrupt,napi+off"]
        for command in (["compare", "--json", str(tmp_path / "both.json")], ["matrix", "--out", str(out_dir)]):
            code, out, errors = _until_verdict(bench, command[0], *SHORT, *both_schemes, *command[1:], env=env)
            assert code == 0, errors
            assert "interrupt" in out
        rows = catalogue.read(tmp_path / "both.json")["measured"]["results"]
        assert [(row["method"], row["rx_scheme"]) for row in rows if row["method"] == "metrics"] == [
            ("metrics", "interrupt"),
            ("metrics", "napi"),
        ]
        assert len((out_dir / "matrix.csv").read_text().splitlines()) == 3
        assert _schemes(target) == before
        code, out, errors = bench.irqlab("restore", "p0", "p1", env=env)
        assert code == 0, errors
    both = bench.popen(str(IRQLAB), "compare", str(files[0]), str(files[2]))
    out, errors = both.communicate()
    assert both.returncode == 0, errors
    assert "Throughput, kpps" in out
