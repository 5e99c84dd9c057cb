# SPDX-License-Identifier: GPL-2.0-or-later
"""GDB on the DUT: instants are those of an undisturbed trial, forwards and backwards; nothing is left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.config.traffic import Load
from irqlab.debug.debuggee import STEP, Debuggee, Goto, Motion, Pause, Run
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.testbed import Testbed
from tests.e2e.conftest import COMMAND, Cli, heed_interrupts, qemus_of

TRIAL = ForwardingTrial((Load(rate_pps=2_000.0),), duration_ns=4_000_000, warmup_ns=2_000_000, drain_ns=2_000_000)
RSP, RIP = 7, 16
Script = Generator[Motion, Pause, None]


def registers(debuggee: Debuggee) -> tuple[int, int]:
    content = debuggee.stub.registers()
    return tuple(struct.unpack_from("<Q", content, 8 * number)[0] for number in (RIP, RSP))  # type: ignore[return-value]


@pytest.mark.parametrize("driver", ["8139cp", pytest.param("e1000e", marks=pytest.mark.long)])
def test_an_instant_is_the_same_however_it_is_reached(driver: str) -> None:
    testbed = Testbed.resolve(TestbedConfig(driver=driver))
    undisturbed = testbed.run(TRIAL)
    debuggee = Debuggee(testbed, TRIAL)

    def script() -> Script:
        begin = yield Goto(0)
        pause = yield Goto(1_004_000)  # the second frame of the window has woken the DUT
        passed = [(pause.instructions, pause.now_ns, registers(debuggee))]
        for _ in range(40):
            pause = yield STEP
            passed.append((pause.instructions, pause.now_ns, registers(debuggee)))
        assert passed[-1][0] - passed[0][0] == 40
        debuggee.stub.breakpoint(passed[20][2][0], True)
        pause = yield Run(2_000_000)  # the same code, for the third frame
        debuggee.stub.breakpoint(passed[20][2][0], False)
        assert not pause.halted
        for count, now_ns, found in (passed[30], passed[3], passed[0]):
            pause = yield Goto(now_ns)
            assert (pause.instructions, pause.now_ns, registers(debuggee)) == (count, now_ns, found)
        end = yield Goto(TRIAL.duration_ns)
        assert end.instructions - begin.instructions == undisturbed.instructions
        again = yield Goto(0)
        assert (again.instructions, again.now_ns) == (begin.instructions, begin.now_ns)

    debuggee.run(script())


def batch(*commands: str) -> list[str]:
    return [word for command in commands for word in ("--eval-command", command)]


OURS = ("--driver", "irqmod_i8255x", "--rx", "napi", "--tx", "interrupt", "--names-only", "--rate", "1000")


def test_gdb_goes_forwards_and_backwards(cli: Cli) -> None:
    done = cli(
        "debug",
        *OURS,
        *("--at", "1000000"),
        *batch("break irqmod_poll", "continue", "when", "bt 1", "stepi 5", "when", "reverse-stepi", "when"),
        *batch("delete", "watch -location *(long *)($sp - 8)", "reverse-continue", "when", "delete", "goto 3000000"),
        *batch("break irqmod_poll", "reverse-continue", "reverse-continue", "when"),
    )
    assert done.returncode == 0, done.stderr
    at = [int(count) for count in re.findall(r"window, (\d+) instructions", done.stderr)]  # where GDB shows what a target says
    assert at[1:3] == [at[0] + 5, at[0] + 4], done.stderr
    assert at[3] < at[2], "what was written last"
    assert at[4] > at[2], "goto"
    assert at[5] == at[0], "the first of the two breakpoints before 3 ms"
    assert "irqmod_poll (napi=0x" in done.stdout, "the driver's own symbols"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--at", "nothing.json"), "nothing.json"),
        ((*OURS, "--at", "0", "--batch", "nothing.gdb"), "nothing.gdb: no such file"),
        (("--at", "0"), "--driver: name a kernel module"),
        ((*OURS, "--at", "0", "--rx", "napi,de"), "one driver with one scheme"),
        ((*OURS, "--at", "99000000000", *batch("when")), "the trial ends 300000000 ns after the start of its window"),
        ((*OURS, "--at", "0", *batch("no-such-command")), "gdb ended with exit code 1"),
    ],
)
def test_what_cannot_be_done_is_said(cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    done = cli("debug", *arguments)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_without_findings_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text(json.dumps({"schema": "irqlab-result/2", "measured": {"results": []}}))
    done = cli("debug", "--at", "empty.json")
    assert done.returncode == 2
    assert "irqlab:" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [*COMMAND, "debug", *OURS, "--at", "1000000", *batch("when", "shell sleep 600")]
    with (tmp_path / "out").open("wb") as out:
        running = subprocess.Popen(command, stdout=out, stderr=out, preexec_fn=heed_interrupts)
        try:
            deadline = time.monotonic() + 200
            while b"instructions since" not in (tmp_path / "out").read_bytes():
                assert time.monotonic() < deadline, (tmp_path / "out").read_text()
                assert running.poll() is None, (tmp_path / "out").read_text()
                time.sleep(0.1)
            (qemu,) = qemus_of(running.pid)
            running.send_signal(signal.SIGINT)
            assert running.wait(60) == 130
        finally:
            running.kill()
            running.wait()
    assert not Path(f"/proc/{qemu}").exists()
    sleeping = subprocess.run(["pgrep", "-f", "gdb.*irqlab-scratch-"], capture_output=True, text=True, check=False)
    assert str(os.getpid()) not in sleeping.stdout
