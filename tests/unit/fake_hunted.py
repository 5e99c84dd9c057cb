# SPDX-License-Identifier: GPL-2.0-or-later
"""Benches to be hunted on, without QEMU.

Before the first trial a hunt needs a driver's modules, and a DUT with a kernel in its memory; then trials, which are a formula.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from irqlab.runner.runner import TrialRunner
from irqlab.setup.modules import Module
from irqlab.setup.nics import Nic
from irqlab.trials.hunt import HuntResult, HuntTrial
from tests.unit.fake_dut import FakeDut
from tests.unit.fake_kernel import U64, Ram, Types, static
from tests.unit.fakes import FakeBench

FREED_AT, LOW_XMIT, HIGH_XMIT, LOOPBACK_XMIT = (static(0x100 * n) for n in range(1, 5))
"""Addresses of functions."""
INIT_NET = static(0x8000)
NAME, OPERATIONS, LISTED, DEVICES, XMIT = 0x8, 0x18, 0x50, 0x90, 0x20
"""Offsets of members, as `types` has them."""
ALLOCATED, EXECUTED = 2, 6
"""Flags of sections: SHF_ALLOC; and SHF_EXECINSTR (elf(5))."""


def elf(*sections: tuple[str, int, bytes]) -> bytes:
    """An ELF file with these sections: name, flags, content."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name, _, _ in sections) + b".shstrtab\0"
    content, headers = b"", bytes(64)
    for name, flags, data in (*sections, (".shstrtab", 0, names)):
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        kind = 3 if name == ".shstrtab" else 1
        headers += struct.pack("<IIQQQQIIQQ", at, kind, flags, 0, 64 + len(content), len(data), 0, 0, 1, 0)
        content += data
    count = len(sections) + 2
    # ET_REL, x86-64
    head = struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, 64 + len(content), 0, 64, 0, 0, 64, count, count - 1)
    return b"\x7fELF\x02\x01\x01" + bytes(9) + head + content + headers


def module(name: str, data: bytes = b"") -> Module:
    return Module(name, Path(f"{name}.ko"), data, "", "", (), (), {})


def types(without: str = "") -> bytes:
    """The kernel's types; `without`: a member that is missing."""
    made = Types()
    for name, members in (
        ("net", {"dev_base_head": DEVICES}),
        ("net_device", {"name": NAME, "netdev_ops": OPERATIONS, "dev_list": LISTED}),
        ("net_device_ops", {"ndo_start_xmit": XMIT}),
    ):
        made.struct(name, 0x100, [(one, U64, offset) for one, offset in members.items() if one != without])
    return made.data()


class HuntedTestbed:
    """Has the interface of irqlab.trials.testbed.Testbed as far as a hunt needs it before the first trial."""

    def __init__(self, home: Path, *modules: Module, **running: Any) -> None:
        self.prepared = SimpleNamespace(
            state=home / "state", facts={"running": {"ring_rx": None, "ring_tx": None, "schemes": None} | running}
        )
        self.modules = list(modules) or [module("paper")]
        self.nic = Nic("x", 0, 0, 0, "x")
        self.vmlinux = home / "vmlinux"
        self.vmlinux.write_bytes(elf((".BTF", 0, types())))
        self.machine = SimpleNamespace(kernel=SimpleNamespace(vmlinux=self.vmlinux))
        self.opened = 0
        self.symbols = {"skb_release_head_state": FREED_AT, "init_net": INIT_NET}
        self.devices = {"lo": LOOPBACK_XMIT, "eth0": HIGH_XMIT, "eth1": LOW_XMIT}
        self.sections: dict[str, dict[str, int]] = {}
        self.dut = FakeDut({"run": self._kallsyms, "attempt": self._places, "read_memory": self._memory})

    @property
    def driver(self) -> str:
        return self.modules[-1].name

    @contextmanager
    def open(self, pooled: bool = False) -> Iterator[FakeDut]:
        self.opened += 1
        yield self.dut

    def _kallsyms(self, *_: str) -> str:
        return "".join(f"{address:016x} t {name}\n" for name, address in self.symbols.items())

    def _places(self, *_: str) -> dict[str, Any]:
        lines = [
            f"/sys/module/{name}/sections/{s}:{at:#018x}\n" for name, every in self.sections.items() for s, at in every.items()
        ]
        return {"out": "".join(lines)}

    def _memory(self, told: dict[str, Sequence[tuple[int, int]]]) -> dict[str, Any]:
        ram = Ram()
        at = {name: static(0x10000 * n) for n, name in enumerate(self.devices, 1)}
        entries = [INIT_NET + DEVICES, *(device + LISTED for device in at.values())]
        for entry, behind in zip(entries, [*entries[1:], entries[0]], strict=True):
            ram.words(entry, {0: behind})
        for name, device in at.items():
            ram.write(device + NAME, name.encode() + b"\0")
            ram.words(device, {OPERATIONS: device + 0x1000})
            ram.words(device + 0x1000, {XMIT: self.devices[name]})
        return {"memory": ram.read(told["ranges"])}


@dataclass
class Formula(FakeBench):
    """A DUT that answers each trial of a hunt from a formula, or fails: that raises an error."""

    answer: Callable[[HuntTrial], HuntResult] = field(kw_only=True)
    running: dict[str, Any] = field(default_factory=lambda: {"schemes": None})
    anew: list[HuntTrial] = field(default_factory=list)
    """Trials that must not come from the cache."""

    def __post_init__(self) -> None:
        self.prepared = SimpleNamespace(facts={"running": self.running})

    def run(self, trial: Any, cached: bool = True) -> Any:
        (self.specs if cached else self.anew).append(trial)
        return self.answer(trial)


def runner_of(
    answer: Callable[[HuntTrial], HuntResult], said: list[str] | None = None, **running: Any
) -> tuple[TrialRunner, Formula]:
    """A runner on a DUT that answers with a formula; `said` gets what is said about progress."""
    bench = Formula(lambda offered: offered, answer=answer, running={"schemes": None} | running)
    progress = (lambda _: None) if said is None else said.append
    return TrialRunner(bench, progress=progress), bench
