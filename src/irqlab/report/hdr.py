# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads HdrHistogram's V2 encoding, deflated and in base64, as the tester writes it.

The format is that of HdrHistogram's AbstractHistogram.encodeIntoCompressedByteBuffer (Java): big-endian headers, then the
counts as ZigZag LEB128, a negative one standing for so many zeros.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

_COMPRESSED = 0x1C849304
_PLAIN = 0x1C849303
_WORD_SIZE = 0xF0
"""Of the cookie: the nibble that held the word size before V2."""
_HEADER = struct.Struct(">iiiiqqd")
_MAX_BYTES = 1 << 24
"""No histogram of the tester comes near; a hostile file does not get far."""


class HdrError(ValueError):
    """Not a V2 histogram."""


@dataclass(frozen=True)
class Histogram:
    """What was recorded: (value, how often), by rising value. Values are the highest that share a bucket."""

    counts: tuple[tuple[int, int], ...]

    @property
    def total(self) -> int:
        """How many values were recorded."""
        return sum(count for _, count in self.counts)

    def value_at(self, quantile: float) -> int:
        """The value that the given share of the recorded values do not exceed; 0 for an empty histogram."""
        wanted = max(1, min(self.total, int(quantile * self.total + 0.5)))
        seen = 0
        for value, count in self.counts:
            seen += count
            if seen >= wanted:
                return value
        return 0


def decode(text: str) -> Histogram:
    """Decodes a histogram. Raises HdrError for anything else."""
    try:
        raw = base64.b64decode(text, validate=True)
        cookie, length = struct.unpack_from(">ii", raw)
        if cookie & ~_WORD_SIZE != _COMPRESSED:
            raise HdrError("the cookie is not that of a deflated V2 histogram")
        body = zlib.decompressobj().decompress(raw[8 : 8 + length], _MAX_BYTES)
        cookie, length, offset, digits, lowest, _, _ = _HEADER.unpack_from(body)
    except (ValueError, struct.error, zlib.error) as error:
        raise HdrError(f"not a histogram: {error}") from error
    if cookie & ~_WORD_SIZE != _PLAIN or not 0 <= digits <= 5 or offset or lowest < 1:
        raise HdrError("not a V2 histogram, or one with a shifted index")
    payload = body[_HEADER.size : _HEADER.size + length]
    if len(payload) != length:
        raise HdrError("the counts are cut short")
    sub_buckets = 1 << (2 * 10**digits - 1).bit_length()
    unit = lowest.bit_length() - 1
    return Histogram(tuple((_highest(index, sub_buckets, unit), count) for index, count in _counts(payload)))


def _highest(index: int, sub_buckets: int, unit: int) -> int:
    """The highest value counted at an index: the first bucket is whole, of the others the upper half is new."""
    half = sub_buckets // 2
    bucket = max(0, index // half - 1)
    sub = index if index < sub_buckets else index % half + half
    return ((sub + 1) << (bucket + unit)) - 1


def _counts(payload: bytes) -> Iterator[tuple[int, int]]:
    index = 0
    for word in _words(payload):
        if word < 0:
            index -= word
            continue
        if word:
            yield index, word
        index += 1
        if index > 1 << 20:
            raise HdrError("more counts than a histogram has")


def _words(payload: bytes) -> Iterator[int]:
    """ZigZag LEB128 of 64 bits, whose ninth byte carries eight."""
    value = shift = 0
    for byte in payload:
        last = shift == 56
        value |= (byte if last else byte & 0x7F) << shift
        if last or not byte & 0x80:
            yield (value >> 1) ^ -(value & 1)
            value = shift = 0
        else:
            shift += 7
    if shift:
        raise HdrError("the counts end within one")
