# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of --load, and what is offered."""

from __future__ import annotations

from pathlib import Path

import pytest

from irqlab.errors import IrqlabError
from irqlab.tuning.load import Offer, parse
from tests.unit.tuning.recordings import pcap


@pytest.mark.parametrize(
    ("text", "base", "rates", "held"),
    [
        ("40000", 0.0, [40_000], [36_000, 44_000]),
        ("40k", 0.0, [40_000], [36_000, 44_000]),
        ("40 kpps", 0.0, [40_000], [36_000, 44_000]),
        ("10k-60k", 0.0, [10_000, 35_000, 60_000], [22_500, 47_500]),
        ("10-60 kpps", 0.0, [10_000, 35_000, 60_000], [22_500, 47_500]),
        ("80%", 50_000.0, [40_000], [36_000, 44_000]),
        ("2x", 50_000.0, [100_000], [90_000, 110_000]),
        ("50%-150%", 10_000.0, [5_000, 10_000, 15_000], [7_500, 12_500]),
    ],
)
def test_rates(text: str, base: float, rates: list[float], held: list[float]) -> None:
    found = parse(text)
    assert found.offer(base, 1).rates_pps == pytest.approx(rates)
    assert found.held_back(base, 1).rates_pps == pytest.approx(held)


def test_words() -> None:
    assert parse("max").kind == "max"
    assert parse("tcp-rx").test == "tcp-rx"
    assert parse("10k-60k").words(0.0) == "10.0 to 60.0\u202fkpps"


@pytest.mark.parametrize("text", ["", "fast", "0", "-5", "60k-10k", "40 kbit", "10k-2x", "1e12", "200000%"])
def test_bad(text: str) -> None:
    with pytest.raises(IrqlabError, match="--load"):
        parse(text)


def test_each_load_for_itself_and_the_highest() -> None:
    offer = parse("10k-60k").held_back(0.0, 1)
    assert offer.each == [Offer((22_500.0,), seed=1), Offer((47_500.0,), seed=1)]
    assert Offer((1.0, 5.0, 2.0)).highest(2.0) == Offer((10.0,))


def test_a_recording_is_searched_in_sections_and_judged_between_them(tmp_path: Path) -> None:
    path = tmp_path / "A.PCAP"
    path.write_bytes(pcap([(place * 1_000, 60 + place) for place in range(600)]))
    found = parse(str(path))
    assert found.words(0.0) == "A.PCAP (1\u202f000\u202fkpps, 364 bytes on average)"
    offer, held = found.offer(0.0, 100_000), found.held_back(0.0, 100_000)
    assert [one.frame_bytes[0] for one in offer.recordings] == [64, 264, 464]
    assert [one.frame_bytes[0] for one in held.recordings] == [164, 364, 564]
    assert {len(one.gaps_ns) for one in (*offer.recordings, *held.recordings)} == {100}
    assert offer.rates_pps == pytest.approx([1e6] * 3)
    assert (offer.seed, held.seed) == (0, 1)
    assert offer.highest(0.25).rates_pps == pytest.approx([2.5e5])


def test_a_short_recording_is_repeated_and_judged_from_its_middle(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    path.write_bytes(pcap([(place * 1_000, 60 + place) for place in range(10)]))
    found = parse(str(path))
    (section,), (held,) = found.offer(0.0, 5_000).recordings, found.held_back(0.0, 5_000).recordings
    assert section.frame_bytes == (64, 65, 66, 67, 68)
    assert held.frame_bytes == (69, 70, 71, 72, 73)
    (whole,) = found.held_back(0.0, 1_000_000).recordings
    assert whole.frame_bytes == (69, 70, 71, 72, 73, 64, 65, 66, 67, 68)
