# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency histograms from the tester: HdrHistogram's V2 encoding, deflated, in base64."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass

from hdrh.codec import HdrCookieException, HdrLengthException
from hdrh.histogram import HdrHistogram

from irqlab.errors import IrqlabError

MAX_BYTES = 1 << 24
"""Size limit, far above any histogram of the tester, against malicious files."""
_COUNTS = struct.Struct(">ii")
"""The cookie, and the length of the deflated data."""
_WRONG = (HdrCookieException, HdrLengthException, ValueError, IndexError, ArithmeticError, struct.error, zlib.error)


class HistogramError(IrqlabError):
    """Not a V2 histogram."""


@dataclass(frozen=True)
class Histogram:
    """Recorded values: (value, count), in order of value. A value is the highest of its bucket."""

    counts: tuple[tuple[int, int], ...]

    @property
    def total(self) -> int:
        """Number of recorded values."""
        return sum(count for _, count in self.counts)


def decode(text: str) -> Histogram:
    """Decodes a histogram. Raises HistogramError for anything else."""
    try:
        raw = base64.b64decode(text, validate=True)
        inflater = zlib.decompressobj()
        inflater.decompress(raw[_COUNTS.size :], MAX_BYTES)
        if not inflater.eof:
            raise HistogramError("not a histogram: truncated, or too long")
        found = HdrHistogram.decode(text)
    except _WRONG as error:
        raise HistogramError(f"not a histogram: {error}") from error
    steps = found.get_recorded_iterator()
    return Histogram(tuple((int(step.value_iterated_to), int(step.count_at_value_iterated_to)) for step in steps))
