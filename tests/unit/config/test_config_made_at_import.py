# SPDX-License-Identifier: GPL-2.0-or-later
"""What is made when a module is imported. mutmut switches mutants on later, so the functions are called again here."""

from __future__ import annotations

from irqlab.config import schemes
from irqlab.config.engine import MASK, TRANSFERS
from irqlab.config.schemes import Combination
from irqlab.methods import metrics


def test_schemes_can_be_combined_unless_nothing_masks_for_the_transmit_scheme() -> None:
    found = schemes._combinations(MASK)
    assert found == schemes.COMBINATIONS
    assert {Combination("napi", "off"), Combination("interrupt", "coalesce")} <= set(found)
    assert Combination("interrupt", "poll") not in found
    assert len(set(found)) == len(found)
    assert schemes._combinations(TRANSFERS) == schemes.USB_COMBINATIONS != found


def test_settings_are_the_annotated_fields() -> None:
    found = schemes._settings()
    assert found == schemes.SETTINGS
    assert {"weight": int, "cliff_pps": int}.items() <= {setting.field: setting.type for setting in found}.items()


def test_the_documentation_names_every_metric_and_its_trial() -> None:
    text = metrics._details()
    assert text == metrics.METHOD.details
    assert all(f"`{metric.name}`" in text for metric in metrics.METRICS)
    assert "from the search, `throughput_pps`; from a trial at 90 % of `base_pps`, `latency_p50_ns`, " in text
    assert "; from a trial at 2 times `base_pps`, `overload_forwarded_pps`, `overload_instructions_per_frame`. With two " in text
