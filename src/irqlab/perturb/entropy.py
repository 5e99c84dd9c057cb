# SPDX-License-Identifier: GPL-2.0-or-later
"""A boot with other entropy: other random numbers in the kernel, and with them hashes and the order of free slab objects.

The kernel mixes its command line into the entropy pool (drivers/char/random.c, random_init_early), and the DUT has no other
source that differs between boots. A word with a dot is taken for a module's parameter and not passed on.
"""

from __future__ import annotations

from random import Random

from irqlab.perturb.perturbation import Perturbation


def _command_line(random: Random) -> str:
    return f"irqlab.entropy={int(random.random() * 2**32):08x}"


PERTURBATION = Perturbation(
    name="entropy",
    help="the kernel's random numbers, from boot on",
    command_line=_command_line,
)
