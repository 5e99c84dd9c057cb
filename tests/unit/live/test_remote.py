# SPDX-License-Identifier: GPL-2.0-or-later
"""The connection to an agent: whatever hangs or dies, there is one message, in time."""

from __future__ import annotations

import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from irqlab.errors import IrqlabError
from irqlab.live import remote
from irqlab.live.remote import Remote

HANGS_S = 0.5
LONG_S = 10.0
SSH = """#!{python} -S
import json, sys, time
hangs, answers = sys.argv[0].rpartition("/")[2].split("-")
words = {{"uname": "x86_64", "mktemp": "{home}/agent", "cat": ""}}
command = sys.argv[2].split()
if command[0] == hangs:
    time.sleep(1000)
if command[0] in words:
    sys.stdin.read()
    print(words[command[0]])
    sys.exit()
for _ in range(int(answers)):
    paths = json.loads(sys.stdin.readline())["read"]["paths"]
    print(json.dumps({{"ok": {{"files": dict.fromkeys(paths)}}}}), flush=True)
if hangs == "agent":
    time.sleep(1000)
"""


def _ssh(home: Path, monkeypatch: pytest.MonkeyPatch, hangs: str, answers: int = 1) -> None:
    """In place of ssh: a program that hangs in a command, or whose agent gives so many answers and then hangs or ends."""
    program = home / f"{hangs}-{answers}"
    program.write_text(SSH.format(python=sys.executable, home=home))
    program.chmod(0o755)
    monkeypatch.setenv("IRQLAB_SSH", str(program))
    monkeypatch.setattr(remote, "agent_for", lambda machine: program)


@pytest.mark.parametrize("command", ["uname", "mktemp", "cat"])
def test_an_ssh_that_hangs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    _ssh(tmp_path, monkeypatch, command)
    began_s = time.monotonic()
    with pytest.raises(IrqlabError, match=r"--dut user@board: no answer within 0.5 s.*`ssh user@board true`"):
        Remote("user@board", HANGS_S)
    assert time.monotonic() - began_s < LONG_S


@pytest.mark.parametrize(("answers", "asked"), [(0, 0), (2, 1)])
def test_an_agent_that_hangs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: int, asked: int) -> None:
    _ssh(tmp_path, monkeypatch, "agent", answers)
    began_s = time.monotonic()
    with pytest.raises(IrqlabError, match=r"no answer within 0.5 s"):
        _ask(Remote("user@board", HANGS_S), asked + 1)
    assert time.monotonic() - began_s < LONG_S


def _ask(there: Remote, times: int) -> None:
    try:
        for _ in range(times):
            assert there.guest("read", paths=["/nowhere"]) == {"files": {"/nowhere": None}}
    finally:
        began_s = time.monotonic()
        with pytest.raises(IrqlabError):
            there.guest("read", paths=["/nowhere"])  # once it is known, nobody waits again
        there.close()
        assert time.monotonic() - began_s < HANGS_S


def test_an_agent_that_ends_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _ssh(tmp_path, monkeypatch, "nothing", 2)
    with pytest.raises(IrqlabError, match=r"the agent is gone.*rebooted.*`ssh user@board true`"):
        _ask(Remote("user@board"), 2)


def test_ctrl_c_shortens_the_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _ssh(tmp_path, monkeypatch, "agent", 1)
    monkeypatch.setattr(remote, "_HURRY_S", 0.2)
    there = Remote("user@board", LONG_S)
    threading.Timer(0.2, there.hurry).start()
    began_s = time.monotonic()
    with pytest.raises(IrqlabError, match=r"no answer within 0.2 s"):
        there.guest("read", paths=["/nowhere"])
    there.close()
    assert time.monotonic() - began_s < LONG_S


def test_a_socket_without_an_agent(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "agent"))
        listening.listen()
        with pytest.raises(IrqlabError, match=r"no answer within 0.5 s"):
            Remote(f"unix:{tmp_path}/agent", HANGS_S)


def test_the_agent_for_a_board_is_that_of_its_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "board_binary", lambda machine: tmp_path / machine)
    for machine in ("aarch64", "armv7l"):
        with pytest.raises(IrqlabError, match=f"run `scripts/agents {machine}` in"):
            remote.agent_for(machine)
        (tmp_path / machine).touch()
        assert remote.agent_for(machine) == tmp_path / machine
    with pytest.raises(IrqlabError, match="no agent for mips; there is one for x86_64, aarch64, armv7l"):
        remote.agent_for("mips")
