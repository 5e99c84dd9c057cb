# SPDX-License-Identifier: GPL-2.0-or-later
"""Trials begin at another time: arrivals meet the DUT's timer tick at another phase (docs/use/measuring.md)."""

from __future__ import annotations

from random import Random

from irqlab.dut.router import Dut
from irqlab.perturb.perturbation import Perturbation

LONGEST_NS = 20_000_000
"""Several ticks of any HZ: 10 ms is the longest."""


def _begin(dut: Dut, random: Random) -> None:
    dut.sleep(1 + int(random.random() * LONGEST_NS))


PERTURBATION = Perturbation(
    name="phase",
    help="when trials begin, and so the phase of arrivals against the timer tick",
    begin=_begin,
)
