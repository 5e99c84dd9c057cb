# SPDX-License-Identifier: GPL-2.0-or-later
"""How precise the paper is, and what its words mean, by its own figures. Every tolerance of its claims is from here."""

from __future__ import annotations

from collections.abc import Iterable

from irqlab.config import hardware
from irqlab.reproduce import reference
from irqlab.reproduce.spanos2008 import interrupts, throughput
from irqlab.reproduce.spanos2008.throughput import BASE

TX_128, OFF, NAPI, NAPI_128, FASTEST = "TX-128", "TX-OFF", "NAPI", "NAPI-TX-128", "NAPI-TX-OFF"
WITHOUT_NAPI = (BASE, TX_128, OFF)
WITH_NAPI = (NAPI, NAPI_128, FASTEST)
PAPER = throughput.paper_mbps()
"""Its table 1."""
MODEL = reference.by("spanos2008_table4_model", "driver")
"""Its table 4."""
BELOW_WIRE = {cell: mbps for cell, mbps in PAPER.items() if mbps < throughput.WIRE_MBPS}
BOARD = "mpc8250"
FITTED_SIZES = {int(cell["frame_bytes"]) for cell in hardware.load(BOARD).fitted["cells"] if cell.get("fitted", True)}
"""Frame bytes of the cells of table 1 that the board's costs were fitted to."""
COMPARABLE = (64, 128, 256, 512)
"""Frame bytes at which it compares drivers: with larger frames the wire limits some."""


def us_of(cell: tuple[int, str]) -> float:
    """What a frame takes by its table 1, in µs."""
    return 1e6 * throughput.mbps_of(1.0, cell[0]) / PAPER[cell]


def model_us(variant: str, frame_bytes: int) -> float:
    """The same by its table 4."""
    return float(MODEL[variant]["t_constant_us"]) + float(MODEL[variant]["k_us_per_byte"]) * frame_bytes


def mutual_us(us: dict[str, float]) -> float:
    """What both save a frame together beyond what NAPI and TX-OFF save by themselves. `us`: what a frame takes, by variant."""
    return us[NAPI] + us[OFF] - us[BASE] - us[FASTEST]


def _each(one: str, other: str) -> Iterable[float]:
    """A variant's throughput by another's, at every size at which both are below the wire's rate."""
    return [mbps / BELOW_WIRE[size, other] for (size, v), mbps in BELOW_WIRE.items() if v == one and (size, other) in BELOW_WIRE]


def _gain(size: int, variant: str) -> float:
    return PAPER[size, variant] / PAPER[size, BASE] - 1


def _kept(variant: str) -> float:
    """What of its throughput with 512-byte frames it forwards under table 3's load, which is more."""
    said, rate = interrupts.paper_counts(variant), PAPER[interrupts.FRAME_BYTES, variant] / throughput.WIRE_MBPS
    return said.transmitted_frames / said.offered_frames / rate


PRECISION = max(abs(model_us(v, size) / us_of((size, v)) - 1) for size, v in BELOW_WIRE)
"""How far its table 1 is from its own model, which it calls in total agreement."""
NEAR = f"within {100 * PRECISION:.1f} % (table 1 against table 4)"
MUTUAL_US = [mutual_us({v: us_of((size, v)) for v in (BASE, NAPI, OFF, FASTEST)}) for size in COMPARABLE]
SIMILAR = max(abs(ratio - 1) for ratio in _each(NAPI, OFF))
"""How far apart drivers are whose gains it calls similar."""
MUCH = min(_gain(size, v) / _gain(size, TX_128) for size, v in BELOW_WIRE if v in (NAPI, OFF) and (size, TX_128) in BELOW_WIRE)
"""How many times the gain of TX-128 it calls much better."""
SLIGHTLY = max(_each(NAPI_128, NAPI)) - 1
"""How much faster is slightly faster."""
GREATLY = min((us_of((size, TX_128)) - us_of((size, OFF))) / us_of((size, BASE)) for size in COMPARABLE)
"""What freeing outside of interrupts saves of ORIGINAL's time: by its table 5 TX-128 and TX-OFF differ in nothing else."""
FLAT = min(map(_kept, (NAPI, FASTEST)))
"""What a driver forwards under overload that retains its rate: the least of those in table 3, by table 1."""
STABLE = f"at least {100 * FLAT:.1f} % (NAPI in table 3 against table 1)"
FEW = 0.01
"""Interrupts a frame that are next to none. In its table 3: 0.000004 at the most."""
_COUNTED = [interrupts.paper_counts(variant) for variant in (BASE, OFF)]
ONE_EACH = max(1 - said.rx_interrupts / said.received_frames for said in _COUNTED)
"""How far from one a frame the receive interrupts of its table 3 are, where its table 5 has one."""
LOSES = 0.999
"""What is less than this share of the frames is not all of them."""
