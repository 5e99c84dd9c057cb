# SPDX-License-Identifier: GPL-2.0-or-later
"""What is varied, what goes together, and what is tried first."""

from __future__ import annotations

import pytest

from irqlab.config.change import Chosen
from irqlab.dut.settable import Settable, choices
from irqlab.errors import IrqlabError
from irqlab.tuning import space
from tests.unit.tuning.spaces import ETH, SETTABLE, made


def test_every_setting_has_the_word_that_users_know() -> None:
    names = {one.name for one in made().parameters}
    assert names == {
        "adaptive-rx", "rx-usecs", "ring-rx", "ring-tx", "threaded", "napi_defer_hard_irqs", "gro_flush_timeout", "netdev_budget",
    }  # fmt: skip


def test_what_has_no_effect_is_not_a_setting() -> None:
    found = made()
    assert found.canonical({"rx-usecs": "20"}) == {}  # adaptive-rx is on
    assert found.canonical({"adaptive-rx": "off", "rx-usecs": "20"}) == {"adaptive-rx": "off", "rx-usecs": "20"}
    assert found.canonical({"napi_defer_hard_irqs": "10"}) == {}
    both = {"napi_defer_hard_irqs": "10", "gro_flush_timeout": "50000"}
    assert found.canonical(both) == both
    assert found.canonical({"ring-rx": "256"}) == {}


def test_settings_of_our_schemes_go_with_their_scheme() -> None:
    schemes = (
        Settable("file", "irqmod/rx_scheme", "napi", ("napi", "hybrid", "polling"), False),
        Settable("file", "irqmod/rx_quota", "10", ("5", "10", "20"), True),
        Settable("file", "irqmod/rx_timer_without", "nothing", ("nothing", "retry"), False),
    )
    found = space.chosen(space.parameters(schemes, ETH), None, None, None)
    assert [one.name for one in found.parameters] == ["irqmod/rx_scheme", "irqmod/rx_quota"]
    assert found.canonical({"irqmod/rx_quota": "5"}) == {}
    assert found.canonical({"irqmod/rx_quota": "5", "irqmod/rx_scheme": "polling"}) != {}


def test_only_without_and_fixed() -> None:
    assert {one.name for one in made(only="ring-*").parameters} == {"ring-rx", "ring-tx"}
    assert "threaded" not in {one.name for one in made(without="threaded,ring-*").parameters}
    held = made(fixed="adaptive-rx=off,rx-usecs=33")
    assert held.fixed == {"adaptive-rx": "off", "rx-usecs": "33"}
    assert held.changes({"ring-rx": "64"}) == (
        Chosen("coalesce", "adaptive-rx", "off"), Chosen("coalesce", "rx-usecs", "33"), Chosen("ring", "rx", "64"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"only": "nonsense"}, "--only nonsense: the DUT has adaptive-rx, "),
        ({"without": "x*"}, r"--without x\*: the DUT has"),
        ({"fixed": "ring-rx"}, "--fixed ring-rx: must be SETTING=VALUE"),
        ({"fixed": "threaded=2"}, "--fixed threaded=2: allowed are 0, 1"),
        ({"only": "ring-rx", "without": "ring-rx"}, "nothing is left to vary"),
    ],
)
def test_bad_words(options: dict[str, str], message: str) -> None:
    with pytest.raises(IrqlabError, match=message):
        made(**options)


def test_known_settings_come_first_and_once() -> None:
    known = list(made().known())
    assert {"adaptive-rx": "off", "rx-usecs": "20"} in known
    assert {"threaded": "1"} in known
    assert {"gro_flush_timeout": "50000", "napi_defer_hard_irqs": "10"} in known
    assert {} not in known
    assert len({tuple(sorted(one.items())) for one in known}) == len(known)


def test_an_application_adds_how_it_waits() -> None:
    found = space.parameters(SETTABLE, ETH, ("block", "busy-read", "suspend"), cpus=2)
    names = [one.name for one in found]
    assert {"wait", "busy-poll-usecs", "irq-suspend-timeout", "app-cpu"} <= set(names)
    whole = space.chosen(found, None, None, None)
    assert whole.canonical({"busy-poll-usecs": "10"}) == {}
    assert whole.canonical({"wait": "busy-read", "busy-poll-usecs": "10"}) == {"wait": "busy-read", "busy-poll-usecs": "10"}
    assert whole.changes({"wait": "suspend", "threaded": "1"}) == (Chosen("file", "threaded", "1"),)


@pytest.mark.parametrize(
    ("text", "name", "now", "tried"),
    [
        ("napi [hybrid] de", "x/rx_scheme", "hybrid", ["napi", "hybrid", "de"]),
        ("7\n", "x/rx_weight", "7", ["0", "1", "2", "4", "7"]),
        ("40", "x/user_percent", "40", ["5", "10", "20", "30", "40"]),
        ("00:11", "x/address", None, []),
        ("", "x/empty", None, []),
    ],
)
def test_what_a_file_offers(text: str, name: str, now: str | None, tried: list[str]) -> None:
    found, values = choices(text, name)
    assert found == now
    assert values[: len(tried)] == tried
