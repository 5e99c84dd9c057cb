# SPDX-License-Identifier: GPL-2.0-or-later
"""The failure report of a machine that died, and its monitor, without QEMU."""

from __future__ import annotations

import socket
import subprocess
import threading
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.qemu import cancellation, machine
from irqlab.qemu.cancellation import CancelledError
from irqlab.qemu.failure import BreakpointError, MachineError, PanicError, failed
from irqlab.qemu.hmp import Hmp
from irqlab.qemu.machine import BOOTS, parameters_of
from irqlab.qemu.qmp import QmpError
from irqlab.setup import nics
from irqlab.setup.bootable import Kernel
from irqlab.setup.qemu import Qemu


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
    failure = failed("it died", tmp_path / "console.log", tmp_path / "qemu.log", code)
    assert str(failure).splitlines()[0].startswith(f"it died: {said}")
    assert isinstance(failure, PanicError) == ("panic" in console)


def test_a_breakpoint_that_is_gone_is_told_from_other_panics(tmp_path: Path) -> None:
    report = [
        "BUG: KCSAN: data-race in first",
        *(f" older {n}" for n in range(30)),
        "link up",
        "Oops: int3: 0000 [#1] SMP NOPTI",
        *(f" trace {n}" for n in range(60)),
        "Kernel panic - not syncing: Fatal",
    ]
    (tmp_path / "console.log").write_text("\n".join(report))
    failure = failed("it died", tmp_path / "console.log", tmp_path / "qemu.log", 0)
    assert isinstance(failure, BreakpointError)
    said = str(failure).splitlines()
    assert said[1].strip() == report[32], "the report's beginning"
    assert said[-1].strip() == report[-1]
    assert len(said) == 41
    (tmp_path / "console.log").write_text("Oops: general protection fault: 0000 [#1]\nKernel panic - not syncing: Fatal\n")
    assert not isinstance(failed("it died", tmp_path / "console.log", tmp_path / "qemu.log", 0), BreakpointError)


def test_a_panic_is_seen_before_a_long_call_trace(tmp_path: Path) -> None:
    console = [f"boot {n}" for n in range(100)] + ["Kernel panic - not syncing: bad"] + [f" trace {n}" for n in range(60)]
    (tmp_path / "console.log").write_text("\n".join(console))
    said = str(failed("it died", tmp_path / "console.log", tmp_path / "qemu.log", 0)).splitlines()
    assert said[0].startswith("it died: the DUT's kernel panicked")
    assert "  Kernel panic - not syncing: bad" in said
    assert "   trace 0" in said
    assert len(said) == 41


@pytest.mark.parametrize(
    ("configuration", "parameters"),
    [
        ("CONFIG_DAMON=y\nCONFIG_DAMON_STAT=y\nCONFIG_DAMON_STAT_ENABLED_DEFAULT=y\n", "damon_stat.enabled=0"),
        ("CONFIG_DAMON_STAT=y\n# CONFIG_DAMON_STAT_ENABLED_DEFAULT is not set\n", ""),
        ("# CONFIG_DAMON is not set\n", ""),
        ("CONFIG_HAVE_ARCH_KASAN=y\n# CONFIG_KASAN is not set\n", ""),
        ("CONFIG_KASAN=y\n", "acpi=noirq"),
    ],
)
def test_a_kernel_gets_the_parameters_that_it_needs(tmp_path: Path, configuration: str, parameters: str) -> None:
    (tmp_path / "config").write_text(configuration)
    kernel = Kernel("7.3.4", "linux-image-7.3.4", "7.3.4-1", tmp_path, tmp_path, tmp_path / "config", "")
    assert parameters_of(kernel) == parameters


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


@pytest.mark.parametrize(
    ("functional", "cpus", "kind", "boots"),
    [(True, 4, BreakpointError, BOOTS), (True, 1, BreakpointError, 1), (False, 1, PanicError, 1), (True, 4, PanicError, 1)],
)
def test_only_several_processors_that_run_a_stale_breakpoint_are_booted_again(
    monkeypatch: pytest.MonkeyPatch, functional: bool, cpus: int, kind: type[MachineError], boots: int
) -> None:
    booted: list[Any] = []

    def fail(*told: Any) -> Any:
        booted.append(told)
        raise kind("the DUT did not start: why; the console")

    monkeypatch.setattr(machine, "_start", fail)
    config: Any = SimpleNamespace(functional=functional, cpus=cpus)
    with pytest.raises(kind, match="why"):
        machine.start(config, profile=True)
    assert booted == [(config, None, True, False)] * boots


def test_the_second_boot_may_succeed(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[Any] = [BreakpointError("the DUT did not start"), "a machine"]

    def start(*_: Any) -> Any:
        end = ends.pop(0)
        if isinstance(end, Exception):
            raise end
        return end

    monkeypatch.setattr(machine, "_start", start)
    assert machine.start(SimpleNamespace(functional=True, cpus=2)) == "a machine"  # type: ignore[arg-type, comparison-overlap]


@pytest.mark.parametrize(
    ("nic", "functional", "expected"), [("lan7800", True, True), ("lan7800", False, False), ("rtl8139", True, False)]
)
def test_qemus_xhci_sends_no_msi_x_where_linux_would_lose_one(nic: str, functional: bool, expected: bool) -> None:
    config = machine.MachineConfig(
        Qemu(Path("qemu"), (7, 2, 22), ""),
        Kernel("6.1", "linux-image-6.1", "6.1-1", Path("vmlinux"), Path(), Path("config"), ""),
        *(Path("initrd"), "", next(one for one in nics.TABLE if one.model == nic)),
        tester=Path("tester.so"),
        functional=functional,
    )
    assert (machine.NO_MSI in config.append.split()) is expected


def test_ctrl_c_while_qemu_starts_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tester, initrd, vmlinux = (tmp_path / name for name in ("tester.so", "initrd", "vmlinux"))
    for file in (tester, initrd, vmlinux):
        file.touch()
    qemu = tmp_path / "qemu"
    qemu.write_text("#!/bin/sh\nexec sleep 60\n")
    qemu.chmod(0o755)
    config = machine.MachineConfig(
        Qemu(qemu, (7, 2, 22), ""),
        Kernel("6.1", "linux-image-6.1", "6.1-1", vmlinux, tmp_path, tmp_path / "config", ""),
        *(initrd, "", next(nic for nic in nics.TABLE if nic.model == "i82557b")),
        tester=tester,
    )
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def cancelled_before_it_is_noted(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        cancellation.current().cancel()
        return started[0]

    monkeypatch.setattr(machine.subprocess, "Popen", cancelled_before_it_is_noted)
    with cancellation.workers(1) as pool:
        first, second = pool.submit(machine.start, config), pool.submit(machine.start, config)
        for future in (first, second):
            with pytest.raises(CancelledError):
                future.result()
    (qemu_process,) = started
    assert qemu_process.poll() is not None


def test_a_qemu_that_is_used_is_killed_and_an_idle_one_is_not() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        scratch: Any = SimpleNamespace(close=lambda: None)
        nobody: Any = None
        used = machine.Machine(nobody, process, nobody, nobody, None, scratch, ExitStack())

        def work(release: bool) -> None:
            used.take()
            if release:
                used.release()
            cancellation.current().cancel()

        with cancellation.workers(1) as pool:
            pool.submit(work, True).result()
        assert process.poll() is None
        with cancellation.workers(1) as pool:
            pool.submit(work, False).result()
        assert process.wait(10) < 0
        used.close()
