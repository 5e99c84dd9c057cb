# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of --load."""

from __future__ import annotations

import pytest

from irqlab.errors import IrqlabError
from irqlab.tuning.load import parse


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
    assert found.rates(base) == pytest.approx(rates)
    assert found.held_back(base) == pytest.approx(held)


def test_words() -> None:
    assert parse("max").kind == "max"
    assert parse("tcp-rx").test == "tcp-rx"
    assert parse("10k-60k").words(0.0) == "10.0 to 60.0\u202fkpps"


@pytest.mark.parametrize("text", ["", "fast", "0", "-5", "60k-10k", "40 kbit", "10k-2x", "1e12", "200000%"])
def test_bad(text: str) -> None:
    with pytest.raises(IrqlabError, match="--load"):
        parse(text)
