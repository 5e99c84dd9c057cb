# SPDX-License-Identifier: GPL-2.0-or-later
"""Failures give one message and exit code 2 (130 for Ctrl-C), leave no process behind, and keep completed results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import COMMAND, BadModules, Cli, Refused, heed_interrupts, qemus_of


def _said(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--driver", "./nowhere.ko"], "No such file"),
        (["--driver", "no_such_driver"], "has no module no_such_driver"),
        (["--driver", "8139cp", "--nic", "e1000"], "8139cp does not support e1000"),
        (["--driver", "8139cp", "--nic", "nonsense"], "nonsense"),
        (["--driver", "8139too"], "8139cp"),
        (["--driver", "dummy"], "supports none of QEMU's NIC models"),
        (["--driver", "8139cp", "--size", "63"], "64 to 1518"),
        (["--driver", "8139cp", "--mips", "300"], "125, 250, 500 or 1000"),
        (["--driver", "8139cp", "--duration", "0"], "0.001 to 3600"),
        (["--driver", "8139cp", "--arrivals", "fractal"], "constant, poisson and bursts"),
        (["--driver", "8139cp", "--kernel", "9.9.9-none"], "9.9.9-none"),
        (["--driver", "8139cp", "--json", "nowhere/a.json"], "nowhere/a.json"),
        (["--driver", "8139cp", "--sysctl", "net.core.nonsense=1"], "net.core.nonsense"),
        (["--driver", "8139cp", "--sysctl", "nonsense"], "NAME=VALUE"),
        (["--driver", "8139cp", "--attribute", "irqmod_usb/rx_pool=0"], "irqmod_usb/rx_pool=0"),
        (["--driver", "8139cp", "--ring", "7"], "--ring 7"),
        (["--driver", "8139cp", "--rx", "napi"], "the driver 8139cp has no scheme"),
        (["--driver", "irqmod_i8255x", "--rx", "fractal"], "--rx fractal: allowed are"),
        (["--driver", "irqmod_i8255x", "--tx-frames", "500"], "tx-frames: 1 to"),
        (["--driver", "8139cp", "--variant", "BEST"], "NAPI-TX-OFF, and all"),
        (["--driver", "8139cp", "--variant", "all", "--tx", "off"], "cannot be combined"),
        (["--driver", "8139cp", "--loss-tolerance", "1"], "0 up to, but not including, 1"),
        (["--nonsense"], "nonsense"),
        (
            ["--driver", "8139cp", "--module-parameters", "foo=1"],
            "8139cp has no parameter foo; allowed are debug, multicast_filter_limit",
        ),
        (["--driver", "8139cp", "--seed", "99999999999999999999"], "allowed are 0 to 18446744073709551615"),
        (["--driver", "ngen"], "no module ngen (did you mean sungem or geneve?)"),
        ([], "driver"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input(refused: Refused, arguments: list[str], expected: str) -> None:
    assert expected in refused("throughput", *arguments)


def test_bad_result_file(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    assert "not a result file of irqlab" in refused("report", "x.json")
    assert "cannot read" in refused("report", "y.json")


def test_a_file_that_is_not_a_module(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "text.ko").write_text("not a module")
    assert "text.ko" in refused("throughput", "--driver", "./text.ko")


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("REFUSES", "not to my taste"),
        ("PANICS", "kernel panicked"),
        ("WARNS", "kernel logged a problem"),
        ("DOES_NOTHING", "did not bring up eth0"),
        ("COMPLAINS", "kernel logged a problem: bad: a fuse is blown"),
        ("COMPLAINS_LATER", "kernel logged a problem: 8139cp 0000:00:05.0 eth1: Runtime PM usage is odd"),
    ],
)
def test_a_module_that_misbehaves(cli: Cli, bad_modules: BadModules, what: str, expected: str) -> None:
    module = bad_modules.build(what)
    assert expected in _said(cli("throughput", "--driver", str(module)))


def test_a_message_that_the_user_expects_is_no_problem(cli: Cli, bad_modules: BadModules) -> None:
    module = bad_modules.build("COMPLAINS_LATER")
    done = cli("throughput", "--driver", str(module), "--duration", "0.02", "--may-log", "usage is odd$")
    assert done.returncode == 0, done.stderr


def test_a_soak_in_which_the_kernel_complains_keeps_its_results_and_fails(
    cli: Cli, bad_modules: BadModules, tmp_path: Path
) -> None:
    module = bad_modules.build("COMPLAINS_LATER")
    done = cli("soak", "--driver", str(module), "--rate", "5000", "--duration", "1", "--interval", "0.25", "--json", "soak.json")
    assert done.returncode == 1, done.stderr
    assert "the kernel logged: 8139cp 0000:00:05.0 eth1: Runtime PM usage is odd" in " ".join(done.stdout.split())
    (row,) = json.loads((tmp_path / "soak.json").read_text())["measured"]["results"]
    assert [len(sample["kernel_messages"]) for sample in row["samples"]].count(1) == 1


def test_no_qemu(cli: Cli) -> None:
    assert "no-such-qemu" in _said(cli("throughput", "--driver", "8139cp", IRQLAB_QEMU="no-such-qemu"))


def _start(tmp_path: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        preexec_fn=heed_interrupts,
    )


def _wait_for(process: subprocess.Popen[str], text: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    pytest.fail(f"{text!r} never came")


def _qemu_of(process: subprocess.Popen[str]) -> int:
    for _ in range(1000):
        found = qemus_of(process.pid)
        if found:
            return found[0]
        time.sleep(0.01)
    pytest.fail("no QEMU was started")


def _gone(pids: list[int]) -> bool:
    for _ in range(300):
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.01)
    return False


def test_qemu_that_dies(tmp_path: Path) -> None:
    process = _start(tmp_path, "throughput", "--no-cache", "--driver", "8139cp", "--duration", "20", "--jobs", "1")
    _wait_for(process, "250 MIPS")
    time.sleep(1)
    os.kill(_qemu_of(process), signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "QEMU was killed by signal 9" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_its_results(tmp_path: Path, sent: signal.Signals) -> None:
    process = _start(
        tmp_path, "loss", "--no-cache", "--driver", "8139cp", "--duration", "0.5", "--json", "kept.json", "--jobs", "2"
    )
    _wait_for(process, "offered")
    _qemu_of(process)
    qemus = qemus_of(process.pid)
    process.send_signal(sent)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert _gone(qemus)
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert kept["complete"] is False
    (row,) = kept["measured"]["results"]
    assert (row["complete"], bool(row["samples"])) == (False, True)
    row = kept["measured"]["results"][0]
    assert row["complete"] is False
    assert len(row["trials"]) >= 1


def test_an_interrupted_fuzz_does_not_end_its_session_first(tmp_path: Path) -> None:
    process = _start(tmp_path, "fuzz", "--driver", "irqmod_lan78xx", "--jobs", "2", "--json", "kept.json")
    while len(qemus := qemus_of(process.pid)) < 2:  # both sessions run: each takes a minute
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130, errors
    assert "interrupted after 0" in errors
    assert _gone(qemus)
    assert json.loads((tmp_path / "kept.json").read_text())["rounds"] == 0


def test_a_lab_that_is_killed_leaves_no_qemu(tmp_path: Path) -> None:
    command = ("throughput", "--no-cache", "--driver", "8139cp", "--duration", "20", "--jobs", "1")
    process = _start(tmp_path, *command, TMPDIR=str(tmp_path))
    _wait_for(process, "250 MIPS")
    qemu = _qemu_of(process)
    process.kill()
    process.communicate(timeout=60)
    assert _gone([qemu])
