# SPDX-License-Identifier: GPL-2.0-or-later
"""The program that perturbs the DUT's allocators (guest/src/bin/irqlab-churn.rs).

It is not in the guest image, since another image is another boot: it is written into the DUT before the snapshot of perturbed
trials is taken.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from random import Random

from irqlab.dut.router import Dut
from irqlab.setup.paths import built, guest_binary

PLACE = "/run/irqlab-churn"


@cache
def _program() -> bytes:
    return built(guest_binary().with_name("irqlab-churn")).read_bytes()


def sha256() -> str:
    """The program's hash."""
    return hashlib.sha256(_program()).hexdigest()


def install(dut: Dut) -> None:
    """Writes the program into the DUT."""
    dut.rpc.guest("write", path=PLACE, base64=base64.b64encode(_program()).decode(), mode=0o755)


def run(dut: Dut, what: str, random: Random) -> None:
    """Perturbs an allocator. What the program keeps allocated, it keeps until the end of the trial."""
    dut.run(PLACE, what, str(int(random.random() * 2**53)))
