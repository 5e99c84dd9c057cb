# SPDX-License-Identifier: GPL-2.0-or-later
"""The DUT as a QEMU machine: its command line, its process, its snapshots.

Virtual time is instructions x 2^shift ns (QEMU's -icount); idle time is skipped. Results do not depend on the host's clock.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shlex
import socket
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from irqlab import files
from irqlab.config.addresses import PORTS, dut_mac
from irqlab.config.testbed import SHIFT_OF_MIPS
from irqlab.errors import IrqlabError
from irqlab.files import Scratch
from irqlab.qemu import cancellation
from irqlab.qemu.failure import BreakpointError, MachineError, failed
from irqlab.qemu.hmp import Hmp
from irqlab.qemu.qmp import Qmp, QmpError
from irqlab.qemu.rpc import ConnectionLostError, Rpc, TesterError
from irqlab.qemu.watchdog import NoAnswerError, Watchdog, cpu_seconds
from irqlab.setup import paths
from irqlab.setup.bootable import Kernel
from irqlab.setup.nics import XHCI, Nic
from irqlab.setup.qemu import Qemu

KERNEL_COMMAND_LINE = (
    "console=ttyS0 quiet panic=-1 oops=panic nokaslr mitigations=off net.ifnames=0 ipv6.disable=1 "
    "random.trust_cpu=off cryptomgr.notests=1"
)
PARAMETERS_OF = (
    ("DAMON_STAT_ENABLED_DEFAULT", "damon_stat.enabled=0"),
    ("KASAN", "acpi=noirq"),
    ("KCSAN", "log_buf_len=16M kcsan.udelay_task=2000 kcsan.udelay_interrupt=500"),
)
"""(option of the kernel's configuration, parameter that it needs).

- From 6.17 on, DAMON samples memory accesses every 5 ms (mm/damon/stat.c): switched off.
- A PCI driver's probe evaluates ACPI's _PRT to find its interrupt. QEMU's _PRT is a loop that allocates thousands of objects.
  With KASAN, without the instruction clock and on a busy host it takes longer than the 30 s that ACPI's interpreter allows a
  loop, and the device gets no interrupt. Without ACPI, the kernel takes the interrupts from the BIOS's MP table, and it finds the
  other processors only if it can read that (CONFIG_X86_MPPARSE, setup/kconfig/kasan.config).
- KCSAN stalls an access for 80 us (20 in interrupts) and sees whether another processor makes the same one meanwhile. Virtual
  processors share the host's: in that time the other one may not run at all. Its reports on the kernel's own races must not
  overwrite those on the driver in the log.

Kernels without the option keep their command line.
"""
RELIABLE_TSC = "tsc=reliable"
"""Parameter of a DUT with several processors, or without the instruction clock. QEMU's time-stamp counters are one clock. Linux
compares it with the HPET and reads one after the other; if the host takes time from the processor in between, it declares the
counter unstable ("TSC found unstable after boot")."""
FUNCTIONAL_PARAMETERS = f"no_timer_check {RELIABLE_TSC} rcupdate.rcu_cpu_stall_timeout=120 watchdog_thresh=60 log_buf_len=4M"
"""Parameters of a DUT without the instruction clock. Its time is the host's: on a busy one the boot's check of the timer fails
("IO-APIC + timer doesn't work"), and RCU stalls and soft lockups are reported of processors that only had no time; not before
120 s with these. A test may make changes for an hour before its log is read."""
NO_MSI = "pci=nomsi"
"""Parameter of a DUT with USB NICs and without the instruction clock. QEMU's xHCI loses an MSI-X that becomes due while Linux has
disabled its interrupter, and never sends another (docs/use/findings.md). Its INTx is a level, and is not lost."""
NO_CX16 = "qemu64,-cx16"
"""The processors of a DUT without the instruction clock. QEMU 7.2 computes wrong flags in cmpxchg16b: if an interrupt follows at
once, the kernel panics (docs/use/findings.md). Linux does not use the instruction if the processor lacks it."""
CONSOLE = "console.log"
MAX_CPUS = 64
MAX_MEASURED_CPUS = 8
MIN_QUANTUM_NS, MAX_QUANTUM_NS = 50, 1_000_000
BOOTS = 3
"""How often what ends with a BreakpointError is tried."""
SNAPSHOT_SLEEP_NS = 20_000_000
SNAPSHOT_AFTER_NS = 5_000_000


@dataclass(frozen=True)
class MachineConfig:
    """Everything that determines how the DUT boots: equal configurations give identical machines."""

    qemu: Qemu
    kernel: Kernel
    initrd: Path
    initrd_sha256: str
    nic: Nic
    mips: int = 250
    cpus: int = 1
    functional: bool = False
    """No instruction clock: virtual time is the host's. Several processors are possible; nothing can be measured."""
    in_turn: bool = False
    """If functional: processors run one after the other, so that none meets a stale breakpoint (BreakpointError)."""
    quantum_ns: int = 0
    """Processors run at the same virtual time, in rounds of so many ns; 0: there are no rounds."""
    memory_mib: int = 256
    memory: str = ""
    """The tester's arguments for a memory model, in machines restored from a snapshot to be measured; empty: none."""
    lsm: str = ""
    extra_append: str = ""
    guest: Mapping[str, Any] = field(default_factory=dict)
    """Description of the image in results; it adds nothing to the image's hash."""
    tester: Path = field(default_factory=paths.tester_so)
    """The tester's plugin."""

    def __post_init__(self) -> None:
        if self.mips not in SHIFT_OF_MIPS:
            raise IrqlabError(f"--mips {self.mips}: the DUT runs at 125, 250, 500 or 1000 million instructions a second")
        if not 1 <= self.cpus <= MAX_CPUS:
            raise IrqlabError(f"--cpus {self.cpus}: allowed are 1 to {MAX_CPUS}")
        if self.cpus > MAX_MEASURED_CPUS and not self.functional:
            raise IrqlabError(f"--cpus {self.cpus}: with the instruction clock up to {MAX_MEASURED_CPUS}; more need --functional")
        self._check_rounds()
        if self.memory and self.functional:
            raise IrqlabError("--hardware: a memory model needs the instruction clock: not with --functional")

    def _check_rounds(self) -> None:
        """Raises IrqlabError for what does not work with rounds."""
        if not self.quantum_ns:
            return
        if self.functional:
            raise IrqlabError("--quantum: without the instruction clock there are no rounds: not with --functional")
        if not MIN_QUANTUM_NS <= self.quantum_ns <= MAX_QUANTUM_NS:
            allowed = f"{MIN_QUANTUM_NS / 1e3:g} to {MAX_QUANTUM_NS / 1e3:g} us"
            raise IrqlabError(f"--quantum {self.quantum_ns / 1e3:g}: allowed are {allowed}")

    @property
    def memory_bytes(self) -> int:
        """The DUT's memory, and the most that a snapshot of it takes but for the devices."""
        return self.memory_mib << 20

    @property
    def shift(self) -> int:
        """The -icount shift: one instruction takes 2^shift ns."""
        return SHIFT_OF_MIPS[self.mips]

    @property
    def append(self) -> str:
        """The DUT kernel's command line."""
        functional = FUNCTIONAL_PARAMETERS if self.functional else ""
        several = RELIABLE_TSC if self.cpus > 1 and not self.functional else ""
        usb = NO_MSI if self.functional and self.nic.usb_speed else ""
        words = (KERNEL_COMMAND_LINE, f"lsm={self.lsm}", functional, several, usb, self.extra_append)
        return " ".join(word for word in words if word)

    def arguments(self) -> list[str]:
        """QEMU's arguments, without the plugin, the monitor and the console."""
        arguments = [
            *("-M", "pc", "-nodefaults", "-no-user-config", "-vga", "none", "-display", "none", "-no-reboot"),
            *self._time(),
            *("-rtc", "clock=vm,base=2020-01-01", "-seed", "1"),
            # After a restore QEMU would announce the NICs with RARP frames, timed by the host's clock.
            *("-global", "migration.announce-rounds=0"),
            *("-m", str(self.memory_mib), "-kernel", str(self.kernel.vmlinux), "-initrd", str(self.initrd)),
            *("-append", self.append),
        ]
        if self.nic.usb_speed:
            arguments += ["-device", f"{XHCI},id=usb,addr={self.nic.slots[0]}"]
            for port in range(PORTS):
                serial = dut_mac(port).replace(":", "")
                arguments += ["-device", f"usb-lan7800,bus=usb.0,port={port + 1},serial={serial}"]
            return arguments
        if self.nic.pci_bus:
            for port in range(PORTS):
                arguments += ["-device", f"{self.nic.card},mac={dut_mac(port)},romfile=,addr={self.nic.slots[port]}"]
            return arguments
        for port in range(PORTS):
            properties = ",".join([self.nic.model, f"netdev=n{port}", f"mac={dut_mac(port)}", "romfile=", *self.nic.properties])
            arguments += ["-netdev", f"hubport,id=n{port},hubid={port}", "-device", f"{properties},addr={self.nic.slots[port]}"]
        return arguments

    def _time(self) -> list[str]:
        if self.functional:
            return ["-accel", f"tcg,thread={'single' if self.in_turn else 'multi'}", "-cpu", NO_CX16, "-smp", str(self.cpus)]
        several = ["-smp", str(self.cpus)] if self.cpus > 1 else []
        return ["-icount", f"shift={self.shift},sleep=off", *several]

    def key(self) -> str:
        """The snapshot's key: a hash of everything that the booted state depends on."""
        parts = {
            "arguments": [a for a in self.arguments() if a not in (str(self.initrd), str(self.kernel.vmlinux))],
            "kernel": self.kernel.sha256,
            "initrd": self.initrd_sha256,
            "qemu": self.qemu.sha256,
            "tester": sha256_of(self.tester),
            "usb_speed": self.nic.usb_speed,
            "pci_bus": self.nic.pci_bus,
            "errata": self.nic.errata,
            **({"quantum_ns": self.quantum_ns} if self.quantum_ns else {}),
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def parameters_of(kernel: Kernel) -> str:
    """The parameters of PARAMETERS_OF that a kernel needs; empty if none."""
    return " ".join(parameter for option, parameter in PARAMETERS_OF if kernel.has(option))


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass
class Machine:
    """A running QEMU with the tester in it. A context manager: leaving it ends the process."""

    config: MachineConfig
    process: subprocess.Popen[bytes]
    rpc: Rpc
    monitor: Hmp
    qmp: Qmp | None
    """None unless the machine was started with `to_save`."""
    scratch: Scratch
    _use: contextlib.ExitStack
    """While it is used: it is ended with the work of its user."""
    _closed: bool = field(default=False)

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def ended(self) -> bool:
        """Whether QEMU has ended, or was killed."""
        return self.process.poll() is not None

    def close(self) -> None:
        """Ends QEMU and removes its files."""
        if self._closed:
            return
        self._closed = True
        _end(self.process)  # first, so that a thread still reading from QEMU releases the socket
        self.release()
        for link in (self.rpc, self.monitor, self.qmp):
            if link is not None:
                with contextlib.suppress(OSError):
                    link.close()
        self.scratch.close()

    @property
    def directory(self) -> Path:
        """Its temporary files."""
        return self.scratch.path

    def take(self) -> None:
        """It is used: from now on it is ended with this thread's work. Raises CancelledError."""
        self._use.enter_context(cancellation.current().ending(self.process.kill))

    def release(self) -> None:
        """It is not used any more."""
        self._use.close()

    def rewind(self, snapshot: Path) -> None:
        """Starts to reset the machine to the state restored from `snapshot`; `rpc.rewound` waits for completion."""
        os.truncate(self.directory / CONSOLE, 0)
        self.rpc.rewind(str(snapshot.absolute()))

    def failure(self, what: str) -> MachineError:
        """The error: what happened, how QEMU ended, the last output of QEMU and the DUT's console."""
        try:
            code: int | None = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = None
        return failed(what, self.directory / CONSOLE, self.directory / "qemu.log", code)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()


def start(config: MachineConfig, snapshot: Path | None = None, profile: bool = False, to_save: bool = False) -> Machine:
    """Starts QEMU, from power-on or from a snapshot file; returns when the agent asks for work. Raises MachineError.

    `profile`: the tester can count instructions by function. This takes host time, but no virtual time.
    `to_save`: `save` will be called. Raises BreakpointError only if that happens in each of BOOTS boots.
    """
    for _ in range(BOOTS - 1 if config.functional and config.cpus > 1 else 0):
        try:
            return _start(config, snapshot, profile, to_save)
        except BreakpointError:
            pass
    return _start(config, snapshot, profile, to_save)


def _start(config: MachineConfig, snapshot: Path | None, profile: bool, to_save: bool) -> Machine:
    cancellation.current().check()
    tester = config.tester
    for needed in (tester, config.initrd, config.kernel.vmlinux, *((snapshot,) if snapshot else ())):
        if not needed.exists():
            raise MachineError(f"{needed} is missing: run make setup")
    scratch = Scratch()
    directory = scratch.path
    rpc_here, rpc_there = socket.socketpair()
    monitor_here, monitor_there = socket.socketpair()
    qmp_here, qmp_there = socket.socketpair() if to_save else (None, None)
    plugin = f"fd={rpc_there.fileno()},ports={PORTS},shift={config.shift}" + (",profile=1" if profile else "")
    plugin += ",functional=1" if config.functional else ""
    plugin += f",processors={config.cpus}" if config.cpus > 1 and not config.functional else ""
    plugin += f",quantum={config.quantum_ns}" if config.quantum_ns else ""
    plugin += f",lan7800={config.nic.usb_speed}" if config.nic.usb_speed else ""
    plugin += f",pci={config.nic.pci_bus}" if config.nic.pci_bus else ""
    plugin += f",errata={':'.join(config.nic.errata)}" if config.nic.errata else ""
    # Snapshots do not depend on it: they are taken without.
    plugin += f",{config.memory}" if config.memory and snapshot is not None and not to_save else ""
    command = [
        *config.qemu.command,
        *config.arguments(),
        *("-plugin", f"{str(tester).replace(',', ',,')},{plugin}"),
        *("-chardev", f"socket,id=monitor,fd={monitor_there.fileno()}"),
        *("-mon", "chardev=monitor,mode=readline"),
        *("-serial", f"file:{directory / CONSOLE}"),
    ]
    if qmp_there is not None:
        command += ["-chardev", f"socket,id=qmp,fd={qmp_there.fileno()}", "-mon", "chardev=qmp,mode=control"]
    inherited = [sock for sock in (rpc_there, monitor_there, qmp_there) if sock is not None]
    if snapshot is not None:
        command += ["-incoming", f"exec:cat < {shlex.quote(str(snapshot))}"]
    with (directory / "qemu.log").open("wb") as log:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[sock.fileno() for sock in inherited],
                start_new_session=True,  # Ctrl-C must reach only irqlab, which ends QEMU itself
            )
        except OSError as error:
            scratch.close()
            raise MachineError(f"cannot start {config.qemu.path}: {error.strerror}") from error
        finally:
            for sock in inherited:
                sock.close()
    use = contextlib.ExitStack()
    try:
        use.enter_context(cancellation.current().ending(process.kill))
        monitor = Hmp(monitor_here)
        qmp = Qmp(qmp_here) if qmp_here is not None else None
        if snapshot is not None:
            monitor.wait_status("paused")
            monitor.resume()
        rpc = Rpc(rpc_here, Watchdog(monitor, partial(cpu_seconds, process.pid)))
        rpc.greet()
    except (QmpError, ConnectionLostError, TesterError) as error:
        try:
            code: int | None = process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = None
        _end(process)
        use.close()
        failure = failed("the DUT did not start", directory / CONSOLE, directory / "qemu.log", code)
        scratch.close()
        raise failure from error
    except BaseException:
        _end(process)
        use.close()
        scratch.close()
        raise
    return Machine(config, process, rpc, monitor, qmp, scratch, use)


def save(machine: Machine, path: Path) -> None:
    """Saves the DUT's state at an exact virtual instant while it idles; the machine cannot be used afterwards.

    Snapshots taken independently are equal in everything that can be measured.
    """
    qmp = machine.qmp
    if qmp is None:
        raise MachineError("this machine was not started with to_save")
    machine.rpc.call("stop_at", after_ns=SNAPSHOT_AFTER_NS)
    restless = threading.Event()
    sleeper = threading.Thread(target=_sleep_into_the_stop, args=(machine, restless), daemon=True)
    sleeper.start()
    try:
        qmp.wait_event("STOP")
    except QmpError as error:
        if restless.is_set():
            looked_ms = (SNAPSHOT_SLEEP_NS - SNAPSHOT_AFTER_NS) // 1_000_000
            raise MachineError(
                f"cannot take a snapshot: in {looked_ms} ms of virtual time without traffic the DUT was never idle for 20 us; "
                "does the driver use a timer with a very short period?"
            ) from error
        raise
    try:
        qmp.save(f"cat > {shlex.quote(str(path))}")
    except QmpError:
        files.require_room(path.parent, machine.config.memory_bytes)
        raise


def _sleep_into_the_stop(machine: Machine, restless: threading.Event) -> None:
    """The agent sleeps while the machine is stopped, so its reply is never read. If it replies, the machine was not stopped."""
    with contextlib.suppress(ConnectionLostError, NoAnswerError, TesterError, ValueError, OSError):
        machine.rpc.guest("sleep", watched=False, ns=SNAPSHOT_SLEEP_NS)
        restless.set()
        _end(machine.process)


def describe(config: MachineConfig) -> dict[str, Any]:
    """Describes the machine in result documents."""
    return {
        "qemu": config.qemu.version_text,
        "qemu_sha256": config.qemu.sha256,
        "kernel": {
            "release": config.kernel.release,
            "package": config.kernel.package,
            "version": config.kernel.version,
            "sha256": config.kernel.sha256,
        },
        "guest_image_sha256": config.initrd_sha256,
        "guest": dict(config.guest),
        "tester_sha256": sha256_of(config.tester),
        "mips": config.mips,
        "cpu": f"{NO_CX16 if config.functional else 'qemu64'}, {config.cpus} core{'s' * (config.cpus > 1)}",
        "memory_mib": config.memory_mib,
        "kernel_command_line": config.append,
        "nic": {
            "model": config.nic.model,
            "properties": list(config.nic.properties),
            "line_rate_bps": config.nic.line_rate_bps,
            "timing": config.nic.timing,
            **({"bus": config.nic.pci_bus, "errata": list(config.nic.errata)} if config.nic.pci_bus else {}),
        },
    }
