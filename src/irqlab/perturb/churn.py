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

TICKS_NS = 20_000_000
"""A multiple of the tick's period with HZ of 100, 250 or 1000."""
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
    """Perturbs an allocator. What the program keeps allocated, it keeps until the end of the trial.

    It takes whole ticks, within 0.1 ms, so that the phase of what follows stays the same.
    """
    before_ns = dut.rpc.call("clock")["now_ns"]
    dut.run(PLACE, what, str(int(random.random() * 2**53)))
    dut.sleep(TICKS_NS - (dut.rpc.call("clock")["now_ns"] - before_ns) % TICKS_NS)
