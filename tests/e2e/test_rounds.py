# SPDX-License-Identifier: GPL-2.0-or-later
"""Processors in rounds (plugin/src/parallel.rs) under a program of some hundred instructions, on every release of QEMU."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from irqlab.setup import paths, qemu

PROGRAM = Path(__file__).parent / "programs" / "processors.S"
LOOP_NS = 8_000_012
"""2,000,000 instructions of the loop, and those between the two looks at the clock."""
ENDED = 1
"""Exit code of QEMU's isa-debug-exit."""

Run = Callable[[str, int, int], list[int]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs it in a release of QEMU with so many processors and rounds of so many ns (0: none); returns what it prints."""
    directory = tmp_path_factory.mktemp("bios")
    subprocess.run(["gcc", "-m32", "-c", "-o", directory / "bios.o", PROGRAM], check=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", directory / "bios.o", directory / "bios.bin"], check=True)

    def found(release: str, processors: int, quantum_ns: int) -> list[int]:
        here, there = socket.socketpair()
        plugin = f"{paths.tester_so()},fd={there.fileno()},ports=0,shift=2,processors={processors}"
        plugin += f",quantum={quantum_ns}" if quantum_ns else ""
        words = [
            *qemu.find(release).command,
            *("-M", "pc", "-nodefaults", "-no-user-config", "-vga", "none", "-display", "none", "-rtc", "clock=vm"),
            *("-icount", "shift=2,sleep=off", "-smp", str(processors), "-plugin", plugin, "-bios", str(directory / "bios.bin")),
            *("-chardev", "stdio,id=out", "-device", "isa-debugcon,iobase=0xe9,chardev=out"),
            *("-device", "isa-debug-exit,iobase=0xf4"),
        ]
        with here, there:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                pass_fds=[there.fileno()],
                check=False,
            )
        assert done.returncode & ENDED, done.stderr
        return [int(word, 16) for word in done.stdout.split()]

    return found


@pytest.mark.parametrize("release", qemu.RELEASES)
def test_one_processor_in_rounds_is_as_without(run: Run, release: str) -> None:
    without = run(release, 1, 0)
    assert without[0] == LOOP_NS
    assert [run(release, 1, quantum_ns) for quantum_ns in (250, 1_000)] == [without] * 2


@pytest.mark.parametrize("release", qemu.RELEASES)
@pytest.mark.parametrize("processors", [2, 8])
def test_processors_execute_in_the_same_time_and_always_alike(run: Run, release: str, processors: int) -> None:
    first = run(release, processors, 1_000)
    alone, beside, its, round_trips, ten_ticks, beside_halts, twenty_ticks, _ = first
    assert (alone, beside, its, beside_halts) == (LOOP_NS,) * 4
    assert [ten_ticks, twenty_ticks] == pytest.approx([10_000_000, 20_000_000], rel=0.001)
    # A processor that waits for another one sees what it wrote when its own quantum is over.
    assert round_trips == pytest.approx(1_000 * 1_000, rel=0.01)
    assert run(release, processors, 1_000) == first


def test_all_releases_agree(run: Run) -> None:
    assert len({tuple(run(release, 2, 250)) for release in qemu.RELEASES}) == 1
