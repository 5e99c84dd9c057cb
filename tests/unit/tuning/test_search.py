# SPDX-License-Identifier: GPL-2.0-or-later
"""The search, on a made-up DUT."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from irqlab.tuning.goal import Settings, Wanted, goals, limits
from irqlab.tuning.search import BATCH, Answer, Search, alike
from irqlab.tuning.space import Parameter, Space
from tests.unit.tuning.spaces import answer, figures, made


def search(goal: str = "p99", keep: str | None = None, trials: int = 30, asked: list[Settings] | None = None) -> Search:
    def evaluate(given: Sequence[Settings]) -> list[Answer]:
        assert 1 <= len(given) <= BATCH
        if asked is not None:
            asked.extend(given)
        return [answer(one) for one in given]

    found = Search(made(), Wanted(goals(goal), limits(keep)), evaluate, trials)
    found.run()
    return found


def test_it_finds_the_best_within_thirty_settings() -> None:
    found = search()
    assert found.tried[0].settings == {}
    assert len(found.tried) <= 30
    (best,) = found.best()
    assert best.settings == {"adaptive-rx": "off", "rx-usecs": "30"}


def test_no_setting_is_tried_twice_and_the_same_search_asks_the_same() -> None:
    first: list[Settings] = []
    again: list[Settings] = []
    search(asked=first)
    search(asked=again)
    assert first == again
    assert len({tuple(sorted(one.items())) for one in first}) == len(first)


def test_it_goes_on_where_it_ended() -> None:
    """What was asked before an interruption is asked again first, and in the same order: kept trials answer it."""
    whole: list[Settings] = []
    search(asked=whole)

    class StopError(Exception):
        pass

    part: list[Settings] = []

    def evaluate(given: Sequence[Settings]) -> list[Answer]:
        part.extend(given)
        if len(part) > 12:
            raise StopError
        return [answer(one) for one in given]

    interrupted = Search(made(), Wanted(goals("p99")), evaluate, 30)
    with pytest.raises(StopError):
        interrupted.run()
    assert part == whole[: len(part)]


def test_what_has_to_be_kept_is_kept() -> None:
    found = search("cpu", "p99 < 70 us")
    (best,) = found.best()
    assert best.figures is not None
    assert best.figures.p99_ns is not None
    assert best.figures.p99_ns <= 70_000
    assert best.settings == {"adaptive-rx": "off"} or int(best.settings["rx-usecs"]) in (20, 30)


def test_the_nearest_is_named_if_none_keeps_it() -> None:
    found = search("cpu", "p99 < 10 us")
    assert found.best() == []
    assert found.nearest().figures is not None


def test_groups_that_change_nothing_are_not_varied() -> None:
    found = search()
    assert {"ring-rx", "ring-tx"} <= found.idle
    late = [one.settings for one in found.tried[20:]]
    assert not any("ring-rx" in one or "ring-tx" in one for one in late)


def test_two_goals() -> None:
    found = search("p99,cpu")
    (best,) = found.best()
    assert best.figures is not None
    assert found.wanted.cost(best.figures, found.defaults) < 1


def test_a_refused_default_ends_the_search() -> None:
    found = Search(made(), Wanted(goals("p99")), lambda given: ["it does not boot" for _ in given], 30)
    found.run()
    assert len(found.tried) == 1


def test_time_that_is_up_ends_it() -> None:
    found = Search(made(), Wanted(goals("p99")), lambda given: [answer(one) for one in given], 30, over=lambda: True)
    found.run()
    assert len(found.tried) == 1


def test_alike() -> None:
    assert alike(figures(), figures(p99_ns=100_100))
    assert not alike(figures(), figures(p99_ns=110_000))
    assert not alike(figures(), figures(p99_ns=None))
    assert not alike(figures(), figures(loss=0.1))


def test_what_is_good_alone_is_tried_together() -> None:
    """Two schemes with many other choices, and settings around them that make things worse, by the share of their number."""
    receive = Parameter("irqmod/rx_scheme", "scheme", "rx", tuple("abcdefghijklmnopqrst"), "a", False)
    transmit = Parameter("irqmod/tx_scheme", "scheme", "tx", tuple("klmno"), "k", False)
    others = [Parameter(f"other{number}", "ring", f"{number}", tuple(map(str, range(10))), "5", True) for number in range(9)]

    def cost(given: Settings) -> Answer:
        parts = {"d": 0.6, "e": 0.55}.get(given.get(receive.name, "a"), 1.0), {"n": 0.95}.get(given.get(transmit.name, "k"), 1.0)
        worse = sum(abs(int(given.get(one.name, one.default)) - 5) for one in others)
        return figures(cpu=parts[0] * parts[1] * (1 + 0.02 * worse))

    space = Space((receive, transmit, *others), {})
    found = Search(space, Wanted(goals("cpu")), lambda given: [cost(one) for one in given], 30)
    found.run()
    assert found.best()[0].settings == {receive.name: "e", transmit.name: "n"}
