# SPDX-License-Identifier: GPL-2.0-or-later
"""The Python API refuses what the command line refuses, before anything boots."""

from __future__ import annotations

from typing import Any

import pytest

from irqlab.config.engine import MASK, MODERATION, TRANSFERS
from irqlab.config.ensemble import Ensemble
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import DutConfig
from irqlab.config.workload import Workload
from irqlab.dut import schemes
from irqlab.dut.schemes import SchemeError
from irqlab.errors import IrqlabError
from irqlab.lab import Lab
from irqlab.setup.modules import Module


@pytest.mark.parametrize(
    ("made", "fields", "message"),
    [
        (Workload, {"size": 63}, "frame size '63': allowed are 64 to 1518 bytes"),
        (Workload, {"size": "big"}, "frame size 'big'"),
        (Workload, {"duration_ns": 0}, "--duration 0: allowed are 0.001 to 3600 seconds"),
        (Workload, {"duration_ns": 10**18}, "--duration 1000000000"),
        (Workload, {"warmup_ns": -1}, "--warmup -1e-09: allowed are 0 to 60 seconds"),
        (Workload, {"arrivals": "fractal"}, "--arrivals fractal: allowed are constant, poisson and bursts"),
        (Workload, {"loss_tolerance": 1.0}, "--loss-tolerance 1.0: allowed are 0 up to, but not including, 1"),
        (Workload, {"seed": 1 << 64}, "--seed 18446744073709551616: allowed are 0 to 18446744073709551615"),
        (DutConfig, {"ring": 0}, "--ring 0: allowed are 1 to 65536"),
        (DutConfig, {"may_log": ("[",)}, r"--may-log \[: not a regular expression"),
        (Ensemble, {"members": 101}, "--ensemble 101: allowed are 1 .* to 100"),
        (Schemes, {"weight": "x"}, "--weight 'x': must be a number"),
        (Schemes, {"rx": 5}, "--rx 5: must be a name"),
        (Lab, {"driver": "8139cp", "jobs": 0}, "jobs 0: allowed are 1 or more"),
        (Lab, {"driver": "8139cp", "variant": "BEST"}, "--variant BEST: allowed are"),
    ],
    ids=str,
)
def test_a_bad_value_is_refused(made: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(IrqlabError, match=message):
        made(**fields)


def module(name: str, data: bytes = b"") -> Module:
    return Module(name, None, data, "", "", (), (), {})  # type: ignore[arg-type]


OURS = [module("irqmod", b"x\0older\0"), module("irqmod_i8255x")]


@pytest.mark.parametrize(
    ("wanted", "has", "message"),
    [
        (Schemes(rx="foo"), {MASK}, "^--rx foo: allowed are .*napi"),
        (Schemes(tx="foo"), {MASK}, "^--tx foo: allowed are .*coalesce"),
        (Schemes(tx="older", rx="old"), {MASK}, "^--rx old: allowed are"),
        (Schemes(rx="disable-enable"), {TRANSFERS}, "^--rx disable-enable: allowed are"),
        (Schemes(rx="itr"), {MASK}, "^--rx itr: not with this PCI hardware, which has .*napi"),
        (Schemes(rx="itr"), {TRANSFERS}, "^--rx itr: not with USB hardware"),
    ],
)
def test_a_scheme_that_nobody_has_is_refused(wanted: Schemes, has: set[str], message: str) -> None:
    with pytest.raises(SchemeError, match=message):
        schemes.check(wanted, OURS, has)


def test_schemes_of_another_revision_are_left_to_the_driver() -> None:
    schemes.check(Schemes(rx="older", tx="off"), OURS, {MASK})
    schemes.check(Schemes(rx="itr"), OURS, {MASK, MODERATION})
    schemes.check(Schemes(), [module("8139cp")], {MASK})
    schemes.check(Schemes(napi_threads="on"), [module("8139cp")], {MASK})


def test_a_driver_without_schemes_says_so() -> None:
    with pytest.raises(SchemeError, match=r"the driver 8139cp has no schemes to choose from .*it does not use the module irqmod"):
        schemes.check(Schemes(rx="foo"), [module("mii"), module("8139cp")], {MASK})
