# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes settings in a running DUT, in an order that works, and says what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from irqlab.config.change import ETHTOOL, TOGETHER, Chosen
from irqlab.config.placement import Interrupts, Placement
from irqlab.config.placement import processors as parsed
from irqlab.dut import processors
from irqlab.dut.agent import Agent, DutError
from irqlab.qemu.rpc import TesterError

UNCHANGED = ("no change", "unmodified")
"""What ethtool says if a value is in force already."""
Step = Callable[[], None]


def apply(dut: Agent, changes: Sequence[Chosen], interfaces: Sequence[str], cpus: int) -> None:
    """Makes the settings on every interface. Raises DutError with the DUT's words if it refuses one.

    A setting may need another one first (a scheme that goes with another), so one that is refused is tried again after the rest.
    """
    left = list(_steps(dut, changes, interfaces, cpus))
    while left:
        refused: list[tuple[Step, DutError]] = []
        for step in left:
            try:
                step()
            except DutError as error:
                refused.append((step, error))
        if len(refused) == len(left):
            raise refused[0][1]
        left = [step for step, _ in refused]


def _steps(dut: Agent, changes: Sequence[Chosen], interfaces: Sequence[str], cpus: int) -> Iterator[Step]:
    for kind in TOGETHER:
        words = [word for one in changes if one.kind == kind for word in (one.name, one.value)]
        if words:
            yield from (partial(ethtool, dut, ETHTOOL[kind], interface, words) for interface in interfaces)
    for one in changes:
        if one.kind == "file":
            yield from (partial(write, dut, f"/sys/class/net/{interface}/{one.name}", one.value) for interface in interfaces)
        elif one.kind == "sysctl":
            yield partial(dut.sysctl, one.name, one.value)
        elif one.kind == "rps":
            yield from (partial(_rps, dut, interface, one.value) for interface in interfaces)
    if moved := [one for one in changes if one.kind == "interrupts"]:
        where = tuple(Interrupts(interfaces[int(one.name)], None, int(one.value)) for one in moved)
        wanted = [one.interface for one in where]

        def place() -> None:
            processors.place_interrupts(dut, Placement(affinity=where), wanted, cpus)

        yield place


def ethtool(dut: Agent, option: str, interface: str, words: Iterable[str]) -> None:
    """Runs `ethtool OPTION INTERFACE WORDS`. Raises DutError with its words."""
    done = dut.attempt("ethtool", option, interface, *words)
    said = done["err"] + done["out"]
    if done["code"] != 0 and not any(text in said for text in UNCHANGED):
        raise DutError(f"ethtool {option} {' '.join(words)}: {said.strip().splitlines()[-1] if said.strip() else 'it fails'}")


def write(dut: Agent, path: str, value: str) -> None:
    """Writes a file. Raises DutError with the kernel's words."""
    try:
        dut.write(path, value)
    except TesterError as error:
        raise DutError(f"{path}: {value}: {str(error).removeprefix(f'write {path}: ')}") from error


def _rps(dut: Agent, interface: str, value: str) -> None:
    if value:
        processors.place_queues(dut, Placement(rps=parsed("--rps", value)), [interface])
        return
    for path in dut.read(f"/sys/class/net/{interface}/queues/*/rps_cpus"):
        if "/rx-" in path:
            write(dut, path, "0")
