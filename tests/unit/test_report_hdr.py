# SPDX-License-Identifier: GPL-2.0-or-later
import base64
import random
from pathlib import Path

import pytest

from irqlab.report import hdr

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
    found = hdr.decode(THREE_DIGITS)
    assert found.total == 20_001
    assert found.counts[:3] == ((0, 1), (20015, 106), (20031, 118))
    said = {0.5: 21519, 0.9: 22719, 0.99: 23007, 0.999: 72895, 0.9999: 1572863, 1.0: 1573887}
    assert {q: found.value_at(q) for q in said} == said


def test_reads_another_resolution():
    assert hdr.decode(TWO_DIGITS).counts == ((7, 2), (1003, 1), (123731967, 1))


def test_round_trip(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "data"))
    import make_samples

    random.seed(1)
    counts = {
        random.randrange(2 ** random.randrange(1, 36)): random.randrange(1, 2 ** random.randrange(1, 40)) for _ in range(500)
    }
    found = hdr.decode(make_samples.encode(counts))
    assert found.total == sum(counts.values())
    for value in counts:
        bucket = next(highest for highest, _ in found.counts if highest >= value)
        assert bucket - value <= value / 1000


def test_an_empty_histogram_has_no_values(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "data"))
    import make_samples

    found = hdr.decode(make_samples.encode({}))
    assert (found.total, found.value_at(0.5)) == (0, 0)


@pytest.mark.parametrize(
    "text",
    ["", "no base64!", "AAAA", base64.b64encode(b"\x1c\x84\x93\x14\0\0\0\x04abcd").decode(), THREE_DIGITS[:200] + "==", "é"],
)
def test_data_that_is_not_a_histogram_is_rejected(text):
    with pytest.raises(hdr.HdrError):
        hdr.decode(text)
