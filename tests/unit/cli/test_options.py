# SPDX-License-Identifier: GPL-2.0-or-later
"""Options, frame sizes, rates."""

from __future__ import annotations

import pytest

from irqlab.cli.options import Request
from irqlab.config.traffic import IMIX, Load, mean_frame_bytes, parse_size, wire_rate_pps
from irqlab.errors import IrqlabError


def test_sizes() -> None:
    assert [parse_size(text) for text in ("64", " 1518", "IMIX")] == [64, 1518, "imix"]
    for bad in ("63", "1519", "", "big", "64.5"):
        with pytest.raises(IrqlabError, match="64 to 1518"):
            parse_size(bad)


def test_wire_rates_are_rfc_2544s() -> None:
    # RFC 2544 appendix B's well-known rates for 100 Mbit/s Ethernet.
    rates = {64: 148809, 128: 84459, 256: 45289, 512: 23496, 1024: 11973, 1280: 9615, 1518: 8127}
    assert {size: int(wire_rate_pps(size, 100e6)) for size in rates} == rates


def test_imix_mean() -> None:
    assert mean_frame_bytes("imix") == pytest.approx((7 * 64 + 4 * 594 + 1518) / 12)
    assert Load(rate_pps=1, size="imix").size_json()["mix"] == [list(e) for e in IMIX]


def test_every_driver_and_size() -> None:
    request = Request.of(driver=["a", "b"], size="64,imix", jobs=3)
    assert [testbed.driver for testbed in request.testbeds] == ["a", "b"]
    assert [workload.size for workload in request.workloads()] == [64, "imix"]
    assert request.jobs == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"driver": []}, "--driver"),
        ({"duration": 0.0}, "0.001 to 3600"),
        ({"duration": float("nan")}, "0.001 to 3600"),
        ({"duration": float("inf")}, "0.001 to 3600"),
        ({"seed": 10**19 * 2}, "--seed 20000000000000000000: allowed are 0 to 18446744073709551615"),
        ({"seed": -1}, "--seed -1: allowed are 0 to"),
        ({"may_log": ["("]}, r"--may-log \(: not a regular expression"),
        ({"warmup": -1.0}, "0 to 60"),
        ({"arrivals": "x"}, "constant"),
        ({"loss_tolerance": 1.0}, "not including"),
        ({"ring": 0}, "1 to 65536"),
        ({"jobs": -1}, r"--jobs -1: allowed are 0 \(the number of cores\) or more"),
        ({"sysctl": ["a"]}, "NAME=VALUE"),
        ({"sysctl": ["=1"]}, "NAME=VALUE"),
        ({"attribute": ["mtu"]}, "FILE=VALUE"),
        ({"attribute": ["../eth1/mtu=1"]}, "FILE=VALUE"),
        ({"size": "64,"}, "64 to 1518"),
    ],
)
def test_bad_options_say_what_is_allowed(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(IrqlabError, match=message):
        Request.of(**{"driver": ["x"], **arguments})  # type: ignore[arg-type]
