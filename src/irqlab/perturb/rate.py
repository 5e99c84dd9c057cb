# SPDX-License-Identifier: GPL-2.0-or-later
"""Arrivals a few ppm slower, as from a sender with another crystal; streams at another phase; other random arrivals and sizes."""

from __future__ import annotations

from random import Random
from typing import Any

from irqlab.config.traffic import stretched
from irqlab.dut.router import Dut
from irqlab.perturb.perturbation import Perturbation

SLOWER_BY = 10e-6
"""At most. Never faster: the tester refuses loads above line rate."""


def _begin(dut: Dut, random: Random) -> None:
    rate, seed, phases = 1 - random.random() * SLOWER_BY, 1 + int(random.random() * 2**31), [random.random() for _ in range(64)]

    def adjusted(trial: dict[str, Any]) -> dict[str, Any]:
        streams = [_adjusted(stream, rate, phases[n % 64]) for n, stream in enumerate(trial["streams"])]
        return {**trial, "seed": seed, "streams": streams}

    dut.adjust = adjusted


def _adjusted(stream: dict[str, Any], rate: float, phase: float) -> dict[str, Any]:
    """`phase` is a part of the time between two frames."""
    arrivals = dict(stream["arrivals"])
    if arrivals["kind"] == "recorded":
        arrivals["gaps_ns"] = stretched(arrivals["gaps_ns"], 1 / rate)
        later_ns = int(phase * sum(arrivals["gaps_ns"]) / len(arrivals["gaps_ns"]))
    else:
        arrivals["rate_pps"] *= rate
        later_ns = int(phase * 1e9 / arrivals["rate_pps"])
    return {**stream, "arrivals": arrivals, "phase_ns": stream.get("phase_ns", 0) + later_ns}


PERTURBATION = Perturbation(
    name="rate",
    help="the rate by up to 10 ppm, the streams' phases against each other, the seed of random arrivals and sizes",
    begin=_begin,
)
