# SPDX-License-Identifier: GPL-2.0-or-later
import base64
import random
import struct
import zlib

import pytest

from irqlab.results import histogram
from tests.data.samples import encode

# Written by the Rust crate hdrhistogram 7.5, which the tester uses: new_with_bounds(1, 10_000_000_000, 3) with 20,001 values,
# and an auto-resizing one of two digits with 7, 7, 1000 and 123456789. What it said of them stands below.
THREE_DIGITS = (
    "HISTFAAAAUN4nDWQwUrDUBBFc5+PUJ6hCO7Ef3HnD+jCz3HRvQv3foBIqSKllCC1lBBCqBJCkVJCKKUUKVLERRcinqQayLx5M/eemeS4dX3oebr3ds/e3ylec76/8E42"
    "u4J5Psu11lZTfehdqb4UEd+UqNRcubpa0k+ICeeEOFKmEHWCbqAx2hn1CYSSLKWSkZVkuWJiCDevY4g21iOuas4rvBTaSIU+a1pGt2TSTLc1ryK16Y+1qpkTPCG3WD1u"
    "W/YrIFeMkjPSEG+JY61L0693WKJYMzHUA1nlH8OdQ4uY2OcsUHUhzNAOyH70rQ3dlhlqQTVG3SVLmfe/0xRvwbek6DJc1fYr3an6kxHaDp52vetKT6hvoCSwOszp0UuY"
    "cPFy5Pu+MU0XHATWdw3b8BvGOncQGEvH0Wi6JkVnrW+DwF6dIjG/7ZqjQg=="
)
TWO_DIGITS = "HISTFAAAADt4nAEwAM//HISTEwAAAAgAAAAAAAAAAgAAAAAAAAABAAAAAAf///8/8AAAAAAAAA0E4wcC3yECjkgHhA=="


def test_reads_what_the_tester_writes():
    found = histogram.decode(THREE_DIGITS)
    assert found.total == 20_001
    assert found.counts[:3] == ((0, 1), (20015, 106), (20031, 118))
    assert found.counts[-1] == (1573887, 1)


def test_reads_another_resolution():
    assert histogram.decode(TWO_DIGITS).counts == ((7, 2), (1003, 1), (123731967, 1))


def test_round_trip():
    random.seed(1)
    counts = {
        random.randrange(2 ** random.randrange(1, 33)): random.randrange(1, 2 ** random.randrange(1, 40)) for _ in range(500)
    }
    found = histogram.decode(encode(counts))
    assert found.total == sum(counts.values())
    for value in counts:
        bucket = next(highest for highest, _ in found.counts if highest >= value)
        assert bucket - value <= value / 1000


def test_an_empty_histogram_has_no_values():
    found = histogram.decode(encode({}))
    assert (found.total, found.counts) == (0, ())


def test_a_bomb_is_refused():
    body = zlib.compress(bytes(2 * histogram.MAX_BYTES))
    text = base64.b64encode(struct.pack(">ii", 0x1C849314, len(body)) + body).decode()
    with pytest.raises(histogram.HistogramError, match="too long"):
        histogram.decode(text)


@pytest.mark.parametrize(
    "text",
    ["", "no base64!", "AAAA", base64.b64encode(b"\x1c\x84\x93\x14\0\0\0\x04abcd").decode(), THREE_DIGITS[:200] + "==", "é"],
)
def test_data_that_is_not_a_histogram_is_rejected(text):
    with pytest.raises(histogram.HistogramError):
        histogram.decode(text)
