# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways to wait for frames: their names, their settings, and the schemes that they can be used with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from irqlab.config.schemes import Schemes, combine
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.workload import Workload
from irqlab.dut import napi
from irqlab.dut.agent import DutError
from irqlab.errors import IrqlabError
from irqlab.methods import application, waits
from irqlab.methods.waits import WAITS
from irqlab.present.parts import Numbers
from irqlab.present.variants import Row, Variant
from irqlab.qemu.rpc import TesterError
from irqlab.trials.application import Tuning
from irqlab.trials.testbed import Testbed
from tests.unit.fake_dut import FakeDut
from tests.unit.fakes import FakeBench, stand_on
from tests.unit.methods.test_application import formula


def test_names_are_listed_once_in_their_order() -> None:
    assert waits.chosen("suspend, block,suspend") == ["suspend", "block"]
    for bad in ("", "block,", "sleep"):
        with pytest.raises(IrqlabError, match=r"--wait .*: allowed are block, busy-read, epoll, epoll-busy, suspend, threaded"):
            waits.chosen(bad)


def test_settings_of_a_way() -> None:
    assert waits.tuning_of("block", Schemes(rx="napi", defer_hard_irqs=2)) == Tuning()
    assert waits.tuning_of("threaded-busy", Schemes()) == Tuning(napi_threads="busy-poll")
    assert waits.tuning_of("epoll-busy", Schemes(), busy_poll_us=None, irq_suspend_timeout_ns=9) == Tuning(
        epoll=True, busy_poll_us=50
    )
    usual = Tuning(
        epoll=True, busy_poll_us=0, busy_poll_budget=64, prefer_busy_poll=True, defer_hard_irqs=100,
        gro_flush_timeout_ns=50_000, irq_suspend_timeout_ns=20_000_000,
    )  # fmt: skip
    assert waits.tuning_of("suspend", Schemes()) == usual
    own = waits.tuning_of("suspend", Schemes(defer_hard_irqs=0, gro_flush_timeout_ns=7), irq_suspend_timeout_ns=9, busy_poll_us=3)
    assert (own.defer_hard_irqs, own.gro_flush_timeout_ns, own.irq_suspend_timeout_ns, own.busy_poll_us) == (0, 7, 9, 3)


def test_ways_that_need_napi() -> None:
    assert waits.possible(WAITS, None) == list(WAITS), "a driver without schemes"
    assert waits.possible(WAITS, "napi") == waits.possible(WAITS, "dim") == list(WAITS), "frames carry the NAPI's ID"
    for rx in ("hybrid", "polling", "ifpoll"):
        assert waits.possible(WAITS, rx) == ["block", "epoll", "threaded", "threaded-busy"], "they carry none"
    assert waits.possible(WAITS, "de") == ["block", "epoll"]


def test_options_without_effect_are_rejected() -> None:
    application.Options(wait="block,suspend", irq_suspend_timeout_ns=5, busy_poll_us=1)
    with pytest.raises(IrqlabError, match="--irq-suspend-timeout: no way to wait of --wait epoll-busy uses it"):
        application.Options(wait="epoll-busy", irq_suspend_timeout_ns=5)
    with pytest.raises(IrqlabError, match="--busy-poll-usecs: no way"):
        application.Options(busy_poll_us=5)


def measured(rx: str | None, **options: Any) -> tuple[FakeBench, Any]:
    bed = FakeBench(
        lambda pps: pps,
        config=TestbedConfig("d", dut=DutConfig(schemes=Schemes(gro_flush_timeout_ns=70_000))),
        names={"rx_scheme": rx, "tx_scheme": None, "variant": None},
        answer=formula,
    )
    (found,) = application.METHOD.run(stand_on(bed), Workload(), application.Options(**options))  # type: ignore[misc]
    return bed, found


def test_every_way_is_offered_the_same_loads() -> None:
    bed, found = measured("napi", wait="block,suspend", rate="1000,3000", no_echo=True)
    assert [(s.wait, s.offered_pps) for s in found.samples] == [
        ("block", 1000), ("block", 3000), ("suspend", 1000), ("suspend", 3000),
    ]  # fmt: skip
    assert [s.polled_ratio for s in found.samples] == [None, None, 0.25, 0.25]
    assert [s.instructions_per_datagram for s in found.samples] == [5000.0] * 4
    assert {trial.tuning.gro_flush_timeout_ns for trial in bed.specs} == {None, 70_000}, "of the way, or the DUT's own"
    assert found.summary.impossible == []


def test_ways_that_a_scheme_cannot_have_are_said() -> None:
    _, found = measured("de", wait="block,epoll,suspend", rate="1000", no_echo=True)
    assert {s.wait for s in found.samples} == {"block", "epoll"}
    assert found.summary.impossible == ["suspend"]
    row = SimpleNamespace(variant=SimpleNamespace(label="x de"), summary=found.summary)
    assert list(application._told(row, None)) == ["x de: not measured: suspend needs --rx aim,dim,howto,itr,napi"]  # type: ignore[arg-type]
    with pytest.raises(IrqlabError, match=r"--wait suspend: not with --rx de \(suspend needs --rx aim,dim,howto,itr,napi\)"):
        measured("de", wait="suspend", rate="1000")


class Result(msgspec.Struct):
    samples: list[Any]
    summary: Any = None


def test_every_way_is_a_line_of_the_plots() -> None:
    _, found = measured("napi", wait="block,suspend", rate="1000,3000")
    data: dict[str, Any] = {"frame_bytes": 64, "bidirectional": False}
    rows = [Row(Variant(number, label, None), 0, data, Result(found.samples)) for number, label in enumerate(("first", "second"))]
    split = application._by_wait(rows)
    assert [(row.variant.number, row.variant.label) for row in split] == [
        (0, "first, block"), (2, "first, suspend"), (1, "second, block"), (3, "second, suspend"),
    ]  # fmt: skip
    assert [len(row.samples) for row in split] == [2, 2, 2, 2]
    alone = [Row(Variant(4, "one", None), 0, data, Result(found.samples[:2]))]
    assert application._by_wait(alone)[0].variant == alone[0].variant
    group = application._plots(rows, Numbers())
    assert len(group.legend) == 5


# NAPI in threads.


def test_threads_need_a_scheme_that_uses_napi() -> None:
    with pytest.raises(IrqlabError, match="--napi-threads fast: allowed are off, on, busy-poll"):
        combine(napi_threads="fast")  # type: ignore[arg-type]
    with pytest.raises(IrqlabError, match="--napi-threads on: --rx interrupt does not use NAPI"):
        combine("ORIGINAL", napi_threads="on")  # type: ignore[arg-type]
    assert not Schemes(napi_threads="on").needs_engine
    assert Schemes(rx="hybrid", napi_threads="on").others == {"napi_threads": "on"}
    assert Schemes(rx="de", napi_threads="off").asked


def test_threads_are_set_in_sysfs_or_over_netlink() -> None:
    dut = FakeDut({"attempt": {"code": 0, "out": '[{"id": 5, "threaded": "busy-poll"}]'}})
    for mode in ("off", "on", "busy-poll"):
        napi.apply(dut, Schemes(napi_threads=mode), ("eth0", "eth1"), "d")  # type: ignore[arg-type]
    napi.apply(dut, Schemes(), ("eth0",), "d")  # type: ignore[arg-type]
    both = [f"/sys/class/net/eth{n}/threaded" for n in (0, 1)]
    assert dut.of("write") == [(path, value) for value in ("0", "1") for path in both]
    expected = [("irqlab-guest", "napi", f"eth{n}", "--set", "threaded=busy-poll") for n in (0, 1)]
    assert dut.of("attempt") == expected


def test_a_driver_without_napi_has_no_threads() -> None:
    def refuse(*_: str) -> None:
        raise TesterError("Operation not supported")

    with pytest.raises(DutError, match="the kernel rejected threaded 1 for ne2k_pci: Operation not supported"):
        napi.set_threads(FakeDut({"write": refuse}), "eth0", "on", "ne2k_pci")  # type: ignore[arg-type]


def test_threads_are_part_of_a_snapshots_key() -> None:
    def parts(schemes: Schemes) -> Any:
        bed = SimpleNamespace(
            config=TestbedConfig("d", dut=DutConfig(schemes=schemes)),
            modules=[],
            nic=SimpleNamespace(line_rate_bps=1),
            _machine_key="",
            _prepared_with=dict,
        )
        return Testbed.parts.func(bed)  # type: ignore[arg-type]

    assert parts(Schemes()) != parts(Schemes(napi_threads="on")) != parts(Schemes(napi_threads="busy-poll"))
