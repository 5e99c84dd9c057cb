# SPDX-License-Identifier: GPL-2.0-or-later
"""Other modules are loaded first, so that the driver is at another address.

Module memory is taken from the lowest free addresses. The kernel's code pages (fs/nls) are modules of 8 to 150 KiB that
do nothing by themselves.
"""

from __future__ import annotations

from random import Random

from irqlab.errors import IrqlabError
from irqlab.perturb.perturbation import Perturbation
from irqlab.setup import modules
from irqlab.setup.bootable import Kernel
from irqlab.setup.modules import Module

FILLER = "nls_cp"
SHARE = 0.25
"""Of them that are loaded, on average."""


def _modules(kernel: Kernel, loaded: list[Module], random: Random) -> list[Module]:
    known = [name for name in modules.names(kernel) if name.startswith(FILLER)]
    if not known:
        raise IrqlabError(f"--perturb layout: kernel {kernel.release} has no modules {FILLER}* to load before the driver")
    drawn = sorted((random.random(), name) for name in known)
    chosen = [name for place, name in drawn if place < SHARE] or [drawn[0][1]]
    return list({module.name: module for module in [*modules.load_all(kernel, chosen), *loaded]}.values())


PERTURBATION = Perturbation(
    name="layout",
    help="the load address of the driver: other modules are loaded first, in another order",
    modules=_modules,
)
