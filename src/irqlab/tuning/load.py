# SPDX-License-Identifier: GPL-2.0-or-later
"""The load of `irqlab tune`: a rate, a share, a range of them, a recording, the most without loss, or iperf3."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from irqlab import units
from irqlab.config.traffic import Recording
from irqlab.errors import IrqlabError
from irqlab.tuning import pcap

MAX_PPS = 1e8
MAX_SHARE = 100.0
MOST = "max"
IPERF = ("tcp-rx", "tcp-tx", "udp-rx", "udp-tx")
PCAP = (".pcap", ".pcapng", ".cap")
_NUMBER = r"(\d+(?:\.\d+)?)"
_UNIT = r"\s*(k|kpps|pps|x|%)?"
_ONE = re.compile(_NUMBER + _UNIT)
_RANGE = re.compile(_NUMBER + _UNIT + r"\s*-\s*" + _NUMBER + _UNIT)
_SCALES = {"k": 1e3, "kpps": 1e3, "pps": 1.0, "": 1.0, "x": 1.0, "%": 0.01}
_SECTIONS, _SECTIONS_HELD = (0.0, 1 / 3, 2 / 3), (1 / 6, 1 / 2, 5 / 6)
"""Where in a recording windows begin, as shares of its length; if it is not long enough for all of these, at its begin and in its
middle."""

Kind = Literal["rate", "share", "max", "iperf", "recorded"]


@dataclass(frozen=True)
class Offer:
    """Loads that are offered one after another."""

    rates_pps: tuple[float, ...] = ()
    """Frames/s in each direction; empty: the most without loss, or iperf3."""
    test: str = ""
    """Of iperf3."""
    recordings: tuple[Recording, ...] = ()
    """The frames of each load; empty: those of the workload."""
    short: bool = False
    seed: int = 0
    """Added to the workload's."""

    @classmethod
    def recorded(cls, recordings: Sequence[Recording], seed: int = 0) -> Offer:
        """Of recordings, at their own rates."""
        return cls(tuple(one.rate_pps for one in recordings), recordings=tuple(recordings), seed=seed)

    @property
    def each(self) -> list[Offer]:
        """Every load for itself."""
        return [
            replace(self, rates_pps=(rate_pps,), recordings=self.recordings[place : place + 1])
            for place, rate_pps in enumerate(self.rates_pps)
        ]

    def highest(self, times: float) -> Offer:
        """The highest load, at so many times its rate."""
        one = max(self.each, key=lambda one: one.rates_pps)
        if one.recordings:
            return self.recorded([one.recordings[0].slower(1 / times)])
        return replace(one, rates_pps=(one.rates_pps[0] * times,))


@dataclass(frozen=True)
class LoadSpec:
    """A load in the user's words, and what it means."""

    kind: Kind
    low: float = 0.0
    high: float = 0.0
    """Frames/s of `rate`; multiples of the throughput or the cliff of `share`. The same as `low`: no range."""
    test: str = ""
    """Of `iperf`."""
    path: Path = Path()
    """Of `recorded`."""

    def offer(self, base_pps: float, window_ns: int) -> Offer:
        """The loads to search with: of a range its ends and its middle. `base_pps`: what shares are of."""
        if self.kind == "recorded":
            return Offer.recorded(self._sections(_SECTIONS, window_ns))
        if self.kind in ("max", "iperf"):
            return Offer(test=self.test)
        scale = base_pps if self.kind == "share" else 1.0
        if self.low == self.high:
            return Offer((self.low * scale,))
        return Offer((self.low * scale, (self.low + self.high) / 2 * scale, self.high * scale))

    def held_back(self, base_pps: float, window_ns: int) -> Offer:
        """Loads that are not searched with: between those of a range; of one load a tenth less and a tenth more."""
        if self.kind == "recorded":
            return Offer.recorded(self._sections(_SECTIONS_HELD, window_ns), seed=1)
        if self.kind in ("max", "iperf"):
            return Offer()
        scale = base_pps if self.kind == "share" else 1.0
        if self.low == self.high:
            return Offer((self.low * scale * 0.9, self.low * scale * 1.1), seed=1)
        step = (self.high - self.low) / 4
        return Offer(((self.low + step) * scale, (self.low + 3 * step) * scale), seed=1)

    def _sections(self, shares: Sequence[float], window_ns: int) -> list[Recording]:
        whole = pcap.read(self.path)
        if whole.span_ns < (len(_SECTIONS) + len(_SECTIONS_HELD)) * window_ns:
            shares = (0.0,) if shares is _SECTIONS else (0.5,)
        return [whole.section(share, window_ns) for share in shares]

    def words(self, base_pps: float) -> str:
        """For a sentence: 40 kpps, 10 to 60 kpps."""
        if self.kind == "recorded":
            whole = pcap.read(self.path)
            return f"{self.path.name} ({units.kpps(whole.rate_pps)}{units.NARROW}kpps, {whole.mean_bytes:.0f} bytes on average)"
        if self.kind == "iperf":
            return self.test.replace("-", " ").upper().replace("RX", "received").replace("TX", "sent")
        if self.kind == "max":
            return "the highest rate without loss"
        rates = [units.kpps(rate) for rate in self.offer(base_pps, 0).rates_pps]
        return f"{rates[0]}{units.NARROW}kpps" if len(rates) == 1 else f"{rates[0]} to {rates[-1]}{units.NARROW}kpps"


def parse(text: str) -> LoadSpec:
    """From the words of --load. Raises IrqlabError."""
    words = text.strip().lower()
    if words == MOST:
        return LoadSpec("max")
    if words in IPERF:
        return LoadSpec("iperf", test=words)
    if words.endswith(PCAP):
        path = Path(text.strip())
        pcap.read(path)
        return LoadSpec("recorded", path=path)
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
        f"(10k-60k, 50%-150%), {MOST} (the highest rate without loss), a recording (a file that ends in {', '.join(PCAP)}), or a "
        f"test of iperf3 ({', '.join(IPERF)})"
    )
