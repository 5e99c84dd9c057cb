# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of a machine that died, and its monitor, without QEMU."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from irqlab.hmp import Hmp
from irqlab.machine import _obituary
from irqlab.qmp import QmpError

PANIC = "double fault: 0000 [#1]\nRSP: 0018:ffffc90000003df8 EFLAGS: {flags}\nKernel panic - not syncing: Fatal exception\n"


@pytest.mark.parametrize(
    ("flags", "blamed"), [("0faa8282", "flags that no processor has"), ("00010246", "the DUT's kernel panicked")]
)
def test_flags_that_no_processor_has_are_not_the_drivers_fault(tmp_path: Path, flags: str, blamed: str) -> None:
    (tmp_path / "console.log").write_text(PANIC.format(flags=flags))
    assert blamed in _obituary(tmp_path, 0).splitlines()[0]


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
