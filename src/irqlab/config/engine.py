# SPDX-License-Identifier: GPL-2.0-or-later
"""The schemes of our drivers, as the sources of the engine declare them.

A scheme is one file of drivers/irqmod (scheme.h). What the lab must know of it before a DUT runs is in its declaration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from irqlab.errors import IrqlabError
from irqlab.project import project_dir

SOURCES = project_dir() / "drivers" / "irqmod"
"""The engine's sources."""
INSTRUMENTS = "instruments"
"""Its folder with schemes that only the lab's builds have."""
MASK, TRANSFERS, MODERATION = "IRQMOD_CAP_MASK", "IRQMOD_CAP_TRANSFERS", "IRQMOD_CAP_MODERATION"
"""What hardware may have (irqmod.h): PCI drivers the first, some of them also the third, USB drivers the second."""


@dataclass(frozen=True)
class Scheme:
    """A receive or transmit scheme."""

    name: str
    needs: frozenset[str] = frozenset()
    """What the hardware must have."""
    masks: bool = False
    """Receive: RX is masked while frames are taken."""
    needs_masks: bool = False
    """Transmit: only with a receive scheme that masks."""
    polls: bool = False
    """Receive: in NAPI."""
    napi_id: bool = False
    """Receive: frames carry the NAPI's ID, with which a process can poll the device. It is not a member: the scheme calls
    irqmod_napi_start(), and does not change the delivery that this sets."""
    tasklet: bool = False
    """Receive: frames are taken in a tasklet, or may be."""
    limits: bool = False
    """Transmit: with byte queue limits."""
    option: str = ""
    """What the kernel must have been built with, without ``CONFIG_``; "": nothing."""


def declared(text: str, direction: str) -> Scheme:
    """The scheme that the source file `text` declares; `direction`: rx or tx. Raises IrqlabError if there is none."""
    found = re.search(rf"^IRQMOD_{direction.upper()}_SCHEME\((\w+)\) = {{\n(.*?)^}};", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise IrqlabError(f"no IRQMOD_{direction.upper()}_SCHEME() in a file of drivers/irqmod named {direction}_*.c")
    members = dict(re.findall(r"^\t+\.(\w+) = (.*),$", found[2], re.MULTILINE))
    option = re.search(r"^/\* Built if CONFIG_(\w+) \*/$", text, re.MULTILINE)
    return Scheme(
        found[1],
        frozenset(members.get("needs", "").split(" | ")) - {""},
        masks=members.get("masks") == "true",
        needs_masks=members.get("needs_masks") == "true",
        polls="poll" in members,
        napi_id="\n\tirqmod_napi_start(" in text and "\n\tqueue->deliver = " not in text,
        tasklet=members.get("tasklet") == "true",
        limits=members.get("limits") == "true",
        option=option[1] if option else "",
    )


@cache
def all_schemes(direction: str) -> tuple[Scheme, ...]:
    """The schemes of a direction (rx, tx), by name. Raises IrqlabError if the sources are not there."""
    files = [path for folder in (SOURCES, SOURCES / INSTRUMENTS) for path in folder.glob(f"{direction}_*.c")]
    if not files:
        raise IrqlabError(f"the drivers' sources are missing: {SOURCES} has no {direction}_*.c (make wheel, make setup)")
    return tuple(declared(path.read_text(), direction) for path in sorted(files, key=lambda path: path.name))


def schemes(direction: str, *has: str) -> tuple[Scheme, ...]:
    """The schemes of a direction (rx, tx) for hardware that `has` MASK, MASK and MODERATION, or TRANSFERS, by name."""
    return tuple(scheme for scheme in all_schemes(direction) if scheme.needs <= set(has))
