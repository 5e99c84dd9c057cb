# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU guest as the device under test: Debian's kernel, plain TCG without an instruction clock, NICs that are tap devices.

The tester's ports are the tap devices. The agent takes its commands from the guest's second serial port.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from irqlab.config.addresses import dut_mac
from irqlab.live.remote import Remote
from irqlab.qemu.machine import KERNEL_COMMAND_LINE
from irqlab.setup import cpio, guestimage, kernel, modules, qemu
from tests.live.bench import Bench

BOOT_S = 180


def taps(bench: Bench) -> None:
    """Replaces the tester's veth ports by tap devices."""
    for n in range(2):
        subprocess.run(["ip", "-n", bench.tester, "link", "del", f"p{n}"], check=True)
        bench.run(bench.tester, "ip", "tuntap", "add", f"p{n}", "mode", "tap")
        bench.quiet(bench.tester, f"p{n}")
        bench.run(bench.tester, "ip", "link", "set", f"p{n}", "up")


@contextmanager
def running(bench: Bench, driver: str, nic: str) -> Iterator[str]:
    """Context manager: the guest with the driver loaded; the target for --dut."""
    taps(bench)
    dut_kernel = kernel.resolve()
    image = guestimage.build(dut_kernel.release)
    socket = bench.home / "agent"
    command = ["ip", "netns", "exec", bench.tester, str(qemu.find().path), "-M", "pc", "-nodefaults", "-no-user-config"]
    command += ["-vga", "none", "-display", "none", "-no-reboot", "-accel", "tcg", "-m", "256"]
    loaded = modules.load(dut_kernel, driver)
    initrd = bench.home / "initrd"  # the kernel unpacks both archives; a serial port is too slow for modules
    archive = cpio.pack({f"{module.name}.ko": cpio.file(module.data) for module in loaded})
    initrd.write_bytes(image.path.read_bytes() + archive)
    command += ["-kernel", str(dut_kernel.vmlinux), "-initrd", str(initrd)]
    command += ["-append", f"{KERNEL_COMMAND_LINE} irqlab.agent=/dev/ttyS1"]
    command += ["-serial", f"file:{bench.home / 'console'}", "-serial", f"unix:{socket},server=on,wait=off"]
    for n in range(2):
        command += ["-netdev", f"tap,id=n{n},ifname=p{n},script=no,downscript=no"]
        command += ["-device", f"{nic},netdev=n{n},mac={dut_mac(n)},romfile="]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        _wait(socket, process)
        remote = Remote(f"unix:{socket}")
        for module in loaded:
            done = remote.guest("exec", argv=["insmod", f"/{module.name}.ko"], stdin=None)
            assert done["code"] == 0, done
        remote.close()
        yield f"unix:{socket}"
    finally:
        process.kill()
        process.wait()


def _wait(socket: Path, process: subprocess.Popen[bytes]) -> None:
    """Until the agent answers."""
    end = time.monotonic() + BOOT_S
    console = socket.parent / "console"
    while not socket.exists():
        assert process.poll() is None, process.stdout.read() if process.stdout else ""
        time.sleep(0.1)
    while time.monotonic() < end:
        try:
            Remote(f"unix:{socket}", answer_s=5.0).close()
            return
        except Exception:
            assert process.poll() is None, console.read_text(errors="replace")
    raise AssertionError(f"no agent:\n{console.read_text(errors='replace')}")
