# SPDX-License-Identifier: GPL-2.0-or-later
"""`irqlab list`: what can be given to other commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from irqlab.check import catalogue as checks
from irqlab.config import engine, hardware
from irqlab.config.schemes import VARIANTS
from irqlab.setup import kernel, kernel_packages, qemu
from irqlab.setup import nics as models

Line = Sequence[str]
All = Annotated[bool, typer.Option("--all", help="Every kernel; default: the newest of each series.")]


class What(StrEnum):
    """What is listed."""

    DRIVERS = "drivers"
    NICS = "nics"
    SCHEMES = "schemes"
    HARDWARE = "hardware"
    KERNELS = "kernels"
    CHECKS = "checks"


def command(
    what: Annotated[What, typer.Argument(help="What can be given to --driver, --nic, --rx, --tx, --hardware, --kernel, --only.")],
    all_: All = False,
) -> None:
    """Prints a table."""
    if what is What.KERNELS:
        kernels(all_)
        return
    columns, lines = _LISTS[what]
    _show(columns, lines())


def kernels(all_: All = False) -> None:
    """Prints Debian's kernels that --kernel accepts, and which of them are downloaded."""
    offers = kernel_packages.offers()
    newest = {(offer.series, offer.is_rt): offer for offer in offers}
    chosen = kernel.present()
    lines = []
    for offer in offers:
        is_newest = newest[offer.series, offer.is_rt] is offer
        if not (is_newest or all_):
            continue
        there = kernel_packages.present(offer.release)
        state = "" if there is None else "default" if chosen and chosen.release == offer.release else "downloaded"
        lines.append((f"{offer.series}{'-rt' * offer.is_rt}" * is_newest, offer.release, offer.version, offer.suite, state))
    _show(("--kernel", "release", "version", "suite", ""), lines)


OURS = {"irqmod_i8255x": "e100", "irqmod_i82574": "e1000e", "irqmod_lan78xx": "lan78xx", "irqmod_rtl8139cp": "8139cp"}
"""Our drivers, and those of the kernel for the same chips."""


def _drivers() -> Iterable[Line]:
    theirs = sorted({nic.driver for nic in models.TABLE})
    for name, chip in (*OURS.items(), *((name, name) for name in theirs)):
        whose = "ours" if name in OURS else "the kernel's"
        yield name, whose, ", ".join(nic.model for nic in models.TABLE if nic.driver == chip)


def _nics() -> Iterable[Line]:
    have = {nic.model for nic in models.supported(qemu.find())}
    for nic in models.TABLE:
        whose = "irqlab" if nic.is_own else "QEMU" if nic.model in have else "QEMU, not this version"
        yield nic.model, nic.driver, f"{nic.line_rate_bps // 1_000_000} Mbit/s", whose, ", ".join(nic.possible_errata)


def _schemes() -> Iterable[Line]:
    for direction, option in (("rx", "--rx"), ("tx", "--tx")):
        for scheme in engine.all_schemes(direction):
            hardware = "USB" if engine.TRANSFERS in scheme.needs else "PCI" if engine.MASK in scheme.needs else "PCI, USB"
            moderated = ", a chip that moderates its interrupts" if engine.MODERATION in scheme.needs else ""
            yield option, scheme.name, hardware + moderated
    for name, (rx, tx) in VARIANTS.items():
        yield "--variant", name, f"PCI: --rx {rx} --tx {tx}"


def _hardware() -> Iterable[Line]:
    for name in hardware.names():
        found = hardware.load(name)
        yield name, f"{found.mips} MIPS", "memory" if found.memory else "costs"


def _checks() -> Iterable[Line]:
    for row in checks.rows():
        yield row.name, row.group, row.title


_LISTS: dict[What, tuple[Line, Callable[[], Iterable[Line]]]] = {
    What.DRIVERS: (("--driver", "whose", "NIC models"), _drivers),
    What.NICS: (("--nic", "driver", "line rate", "whose", "errata (--nic MODEL+ERRATUM)"), _nics),
    What.SCHEMES: (("option", "scheme", "for"), _schemes),
    What.CHECKS: (("--only", "group", "what"), _checks),
    What.HARDWARE: (("--hardware", "speed", "has"), _hardware),
}


def _show(columns: Line, lines: Iterable[Line]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column(columns[0], no_wrap=True)
    for column in columns[1:]:
        table.add_column(column, overflow="fold")
    for line in lines:
        table.add_row(*line)
    Console(highlight=False).print(table)
