# SPDX-License-Identifier: GPL-2.0-or-later
"""The failure report of a machine that died, and its monitor, without QEMU."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from irqlab.qemu.hmp import Hmp
from irqlab.qemu.machine import _failure_report
from irqlab.qemu.qmp import QmpError


@pytest.mark.parametrize(
    ("console", "code", "said"),
    [
        ("double fault: 0000 [#1]\nKernel panic - not syncing: Fatal exception\n", 0, "the DUT's kernel panicked"),
        ("", -11, "QEMU was killed by signal 11"),
        ("", None, "QEMU does not answer"),
        ("", 1, "QEMU ended with exit code 1"),
    ],
)
def test_the_cause_of_a_machines_end_is_reported(tmp_path: Path, console: str, code: int | None, said: str) -> None:
    (tmp_path / "console.log").write_text(console)
    assert _failure_report(tmp_path, code).splitlines()[0].startswith(said)


def _qemu(sock: socket.socket, answers: list[tuple[str, str]]) -> None:
    """Answers as the monitor does: the prompt, the command's echo letter by letter, what it prints, the prompt."""
    sock.sendall(b"QEMU 7.2.22 monitor - type 'help' for more information\r\n(qemu) ")
    lines = sock.makefile("r")
    for command, answer in answers:
        assert lines.readline() == command + "\n"
        echo = "".join(f"{command[: n + 1]}\x1b[K" for n in range(len(command)))
        sock.sendall(f"{echo}\r\n{answer}(qemu) ".encode())
    lines.close()
    sock.close()


def test_the_monitor_is_asked_until_the_machine_is_paused() -> None:
    here, there = socket.socketpair()
    status = [("info status", f"VM status: {text}\r\n") for text in ("paused (inmigrate)", "paused")]
    thread = threading.Thread(target=_qemu, args=(there, [*status, ("x /1 0", "0: 1\r\n")]), daemon=True)
    thread.start()
    monitor = Hmp(here)
    monitor.wait_status("paused")
    assert monitor.ask("x /1 0") == "0: 1\n"
    thread.join()
    with pytest.raises(QmpError, match="closed its monitor"):
        monitor.ask("info status")
