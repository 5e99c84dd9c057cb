# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace of a kernel that hangs: from QEMU's GDB stub, which a thread plays, and a console."""

from __future__ import annotations

import socket
import struct
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from irqlab.qemu import backtrace, gdb
from irqlab.qemu.gdb import GdbError

CONSOLE = """\
[    5.100000] spins 0000:00:04.0 eth0: transmit timed out
[    6.857402] BUG: kernel NULL pointer dereference, address: 0000000000000000
[    6.857417] #PF: supervisor instruction fetch in kernel mode
[    6.857428] Oops: 0010 [#1] PREEMPT SMP NOPTI
[    6.857763] RIP: 0010:0x0
[    6.857471] Call Trace:
[    6.857480]  <IRQ>
[    6.857821]  spin_start_xmit+0x27/0x40 [spins]
[    6.858120]  dev_hard_start_xmit+0x60/0x1d0
[    6.858252]  ? spin_probe+0x110/0x110 [spins]
[    6.858371]  spin_transmit+0x7b/0x90 [spins]
[    6.858766]  </IRQ>
[    6.858773]  <TASK>
[    6.858818] RIP: 0010:native_safe_halt+0xb/0x10
[    6.858886] RSP: 0018:ffffffff82a03e98 EFLAGS: 00000246
[    6.859139]  cpu_startup_entry+0x26/0x30
[    6.859359]  </TASK>
[    6.859368] Modules linked in: spins(OE)
[    6.859471] Call Trace:
[    6.859480]  panic+0x118/0x2f4
[    6.859490] Kernel panic - not syncing: Fatal exception in interrupt
"""


def test_the_console_names_the_function_and_its_callers() -> None:
    found = backtrace.parse(CONSOLE)
    assert found.functions == (
        "spin_start_xmit+0x27/0x40 [spins]",
        "dev_hard_start_xmit+0x60/0x1d0",
        "spin_transmit+0x7b/0x90 [spins]",
        "cpu_startup_entry+0x26/0x30",
    )
    assert found.console == ("spins 0000:00:04.0 eth0: transmit timed out",)
    assert str(found).splitlines()[:2] == [
        "its kernel is in spin_start_xmit+0x27/0x40 [spins], called from:",
        "  dev_hard_start_xmit+0x60/0x1d0",
    ]


def test_a_console_without_a_trace_is_shown_as_it_is() -> None:
    found = backtrace.parse("\0\0[    1.0] one\n\ntwo\n")
    assert (found.functions, found.console) == ((), ("one", "two"))
    assert "could be obtained" in str(found)
    cut = CONSOLE.partition("[    6.858252]")[0].replace("dev_hard_start_xmit+0x60/0x1d0", "x")
    assert str(backtrace.parse(cut)) == "its kernel is in spin_start_xmit+0x27/0x40 [spins]"


@dataclass
class Stub:
    """QEMU's GDB stub for one connection after another: a stop is told of first, then requests are answered."""

    path: Path
    stack_pointers: list[int]
    """One for each connection."""
    refuse: bytes = b""
    """A request so answered with an error."""
    requests: list[str] = field(default_factory=list)

    def serve(self) -> None:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.path))
        listener.listen()
        threading.Thread(target=self._serve, args=(listener,), daemon=True).start()

    def _serve(self, listener: socket.socket) -> None:
        for rsp in self.stack_pointers:
            sock, _ = listener.accept()
            with sock, sock.makefile("rb") as stream:
                sock.sendall(b"$T02thread:01;#04")
                while (request := self._request(stream)) is not None:
                    self.requests.append(request)
                    registers = bytearray(600)
                    struct.pack_into("<Q", registers, 56, rsp)
                    struct.pack_into("<Q", registers, 128, 0x1234)
                    answer = registers.hex().encode() if request == "g" else b"OK"
                    if self.refuse and request.encode().startswith(self.refuse):
                        answer = b"E22"
                    sock.sendall(b"+$" + answer + b"#%02x" % (sum(answer) % 256))
        listener.close()

    @staticmethod
    def _request(stream: object) -> str | None:
        while (byte := stream.read(1)) != b"$":  # type: ignore[attr-defined]
            if not byte:
                return None
        text = b""
        while (byte := stream.read(1)) != b"#":  # type: ignore[attr-defined]
            text += byte
        assert int(stream.read(2), 16) == sum(text) % 256  # type: ignore[attr-defined]
        return text.decode()


def _machine(tmp_path: Path, stub: Stub, ends: bool = True) -> SimpleNamespace:
    asked: list[str] = []

    def ask(command: str) -> str:
        asked.append(command)
        if not stub.path.exists():
            stub.serve()
        return ""

    def wait(limit_s: float) -> int:
        if not ends:
            raise subprocess.TimeoutExpired("qemu", limit_s)
        (tmp_path / "console.log").write_text(CONSOLE)
        return 0

    return SimpleNamespace(monitor=SimpleNamespace(ask=ask), directory=tmp_path, process=SimpleNamespace(wait=wait), asked=asked)


def test_the_processor_is_made_to_call_null_from_its_loop(tmp_path: Path) -> None:
    rsp = 0xFFFF_C900_0000_3D60
    stub = Stub(tmp_path / "gdb", [rsp - 4096, rsp])  # at first in an interrupt
    machine = _machine(tmp_path, stub)
    found = backtrace.take(machine, rsp)  # type: ignore[arg-type]
    assert found.functions[0] == "spin_start_xmit+0x27/0x40 [spins]"
    assert machine.asked == [f"gdbserver unix:{tmp_path}/gdb,server=on,wait=off"] * 2
    assert [request[:1] for request in stub.requests] == ["g", "D", "g", "M", "G", "D"]
    assert stub.requests[3] == f"M{rsp - 8:x},8:{struct.pack('<Q', 0x1234).hex()}"
    written = bytes.fromhex(stub.requests[4][1:])
    assert struct.unpack_from("<Q", written, 56) == (rsp - 8,)
    assert struct.unpack_from("<Q", written, 128) == (0,)
    assert len(written) == 600


def test_without_a_known_loop_the_first_place_will_do(tmp_path: Path) -> None:
    stub = Stub(tmp_path / "gdb", [0x1000])
    assert backtrace.take(_machine(tmp_path, stub)).functions  # type: ignore[arg-type]
    assert len(stub.requests) == 4


@pytest.mark.parametrize("refuse", [b"M", b"G", b"D"])
def test_a_stub_that_refuses_leaves_what_the_console_says(tmp_path: Path, refuse: bytes) -> None:
    (tmp_path / "console.log").write_text("[ 1.0] last words\n")
    found = backtrace.take(_machine(tmp_path, Stub(tmp_path / "gdb", [0x1000], refuse)))  # type: ignore[arg-type]
    assert (found.functions, found.console) == ((), ("last words",))


def test_a_kernel_that_does_not_panic_is_not_waited_for(tmp_path: Path) -> None:
    found = backtrace.take(_machine(tmp_path, Stub(tmp_path / "gdb", [0x1000]), ends=False))  # type: ignore[arg-type]
    assert (found.functions, found.console) == ((), ())


def test_no_stub(tmp_path: Path) -> None:
    monitor = SimpleNamespace(ask=lambda _: "")
    with pytest.raises(GdbError, match="cannot be reached"), gdb.attached(monitor, tmp_path):  # type: ignore[arg-type]
        pass
