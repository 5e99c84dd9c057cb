# SPDX-License-Identifier: GPL-2.0-or-later
"""The load of `irqlab tune`: a rate, a share, a range of them, the most without loss, or iperf3."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from irqlab import units
from irqlab.errors import IrqlabError

MAX_PPS = 1e8
MAX_SHARE = 100.0
MOST = "max"
IPERF = ("tcp-rx", "tcp-tx", "udp-rx", "udp-tx")
_NUMBER = r"(\d+(?:\.\d+)?)"
_UNIT = r"\s*(k|kpps|pps|x|%)?"
_ONE = re.compile(_NUMBER + _UNIT)
_RANGE = re.compile(_NUMBER + _UNIT + r"\s*-\s*" + _NUMBER + _UNIT)
_SCALES = {"k": 1e3, "kpps": 1e3, "pps": 1.0, "": 1.0, "x": 1.0, "%": 0.01}

Kind = Literal["rate", "share", "max", "iperf"]


@dataclass(frozen=True)
class LoadSpec:
    """A load in the user's words, and what it means."""

    kind: Kind
    low: float = 0.0
    high: float = 0.0
    """Frames/s of `rate`; multiples of the throughput or the cliff of `share`. The same as `low`: no range."""
    test: str = ""
    """Of `iperf`."""

    def rates(self, base_pps: float) -> list[float]:
        """The loads of `rate` and `share` in frames/s: of a range its ends and its middle. `base_pps`: what shares are of."""
        scale = base_pps if self.kind == "share" else 1.0
        if self.low == self.high:
            return [self.low * scale]
        return [self.low * scale, (self.low + self.high) / 2 * scale, self.high * scale]

    def held_back(self, base_pps: float) -> list[float]:
        """Loads that are not searched with: between those of a range; of one load a tenth less and a tenth more."""
        scale = base_pps if self.kind == "share" else 1.0
        if self.low == self.high:
            return [self.low * scale * 0.9, self.low * scale * 1.1]
        step = (self.high - self.low) / 4
        return [(self.low + step) * scale, (self.low + 3 * step) * scale]

    def words(self, base_pps: float) -> str:
        """For a sentence: 40 kpps, 10 to 60 kpps."""
        if self.kind == "iperf":
            return self.test.replace("-", " ").upper().replace("RX", "received").replace("TX", "sent")
        if self.kind == "max":
            return "the highest rate without loss"
        rates = [units.kpps(rate) for rate in self.rates(base_pps)]
        return f"{rates[0]}{units.NARROW}kpps" if len(rates) == 1 else f"{rates[0]} to {rates[-1]}{units.NARROW}kpps"


def parse(text: str) -> LoadSpec:
    """From the words of --load. Raises IrqlabError."""
    words = text.strip().lower()
    if words == MOST:
        return LoadSpec("max")
    if words in IPERF:
        return LoadSpec("iperf", test=words)
    if found := _ONE.fullmatch(words):
        low, unit = found[1], found[2] or ""
        return _of(text, unit, low, low)
    if found := _RANGE.fullmatch(words):
        low, first, high, last = found.groups()
        if first and last and (first in ("x", "%")) == (last in ("x", "%")):
            low = str(float(low) * _SCALES[first] / _SCALES[last])
        elif first:
            raise _bad(text)
        return _of(text, last or "", low, high)
    raise _bad(text)


def _of(text: str, unit: str, low: str, high: str) -> LoadSpec:
    first, last = float(low) * _SCALES[unit], float(high) * _SCALES[unit]
    share = unit in ("x", "%")
    if not 0 < first <= last <= (MAX_SHARE if share else MAX_PPS) or (not share and first < 1):
        raise _bad(text)
    return LoadSpec("share" if share else "rate", first, last)


def _bad(text: str) -> IrqlabError:
    return IrqlabError(
        f"--load {text}: must be a rate (40000, 40k, 40 kpps), a share of what the defaults manage (80%, 2x), a range of them "
        f"(10k-60k, 50%-150%), {MOST} (the highest rate without loss), or a test of iperf3 ({', '.join(IPERF)})"
    )
