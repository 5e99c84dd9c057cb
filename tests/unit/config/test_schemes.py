# SPDX-License-Identifier: GPL-2.0-or-later
"""Schemes: parsing the options and configuring a DUT; the fake DUT consists of files and an ethtool with state."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from irqlab import units
from irqlab.cli.options import Request
from irqlab.config import engine
from irqlab.config import schemes as choices
from irqlab.config.schemes import COMBINATIONS, RX_SCHEMES, SETTINGS, Combination, Schemes, combine
from irqlab.dut import schemes
from irqlab.dut.kernel_log import Record
from irqlab.errors import IrqlabError
from irqlab.qemu import rpc
from irqlab.results.environment import SchemesInForce
from irqlab.setup import drivers

RX = ("interrupt", "de", "napi", "hybrid", "timer", "adaptive")
TX = ("interrupt", "coalesce", "off")


class FakeDut:
    """Interfaces of a driver built on irqmod (or not), with rings of at most `most`."""

    def __init__(self, most: int = 1024, ring: int = 256, on_irqmod: bool = True) -> None:
        self.most, self.ring, self.on_irqmod = most, ring, on_irqmod
        self.kernel_log = self
        self.said: list[str] = []
        self.done: list[str] = []
        self.choice = {"rx_scheme": "napi", "tx_scheme": "interrupt"}
        self.numbers = {"rx_weight": 64, "rx_cliff_pps": 20_000, "rx_epsilon_permille": 150, "rx_rate_window_ms": 8}
        self.coalesce = {"rx-usecs": 100, "tx-usecs": 1000, "tx-frames": 64}
        self.deaf: tuple[str, ...] = ()

    def read(self, *paths: str) -> dict[str, str | None]:
        return {path: self._file(path.rpartition("/")[2]) for path in paths}

    def _file(self, name: str) -> str | None:
        if not self.on_irqmod:
            return None
        if name in self.choice:
            known = RX if name == "rx_scheme" else TX
            return " ".join(f"[{n}]" if n == self.choice[name] else n for n in known) + "\n"
        return f"{self.numbers[name]}\n" if name in self.numbers else None  # an older driver has not all of them

    def write(self, path: str, text: str) -> None:
        interface, name = path.split("/")[4], path.rpartition("/")[2]
        self.done.append(f"{interface} {name}={text}")
        if name in self.deaf:
            return
        if name in self.choice and text in (RX if name == "rx_scheme" else TX):
            self.choice[name] = text
        elif name in self.numbers and int(text) > 0:
            self.numbers[name] = int(text)
        else:
            self.said.append(f"{interface}: {name}: something else")
            raise rpc.TesterError(f"write {path}: Invalid argument (os error 22)")

    def attempt(self, *argv: str) -> dict[str, Any]:
        if argv[1] == "-g":
            now = f"Current hardware settings:\nRX:\t\t{self.ring}\nRX Mini:\tn/a\nTX:\t\t{self.ring}\n"
            return {"code": 0, "out": f"Ring parameters:\nRX:\t\t{self.most}\nTX:\t\t{self.most}\n{now}", "err": ""}
        if argv[1] == "-c":
            return {"code": 0, "out": "".join(f"{k}:\t{v}\n" for k, v in self.coalesce.items()) + "rx-frames:\tn/a\n", "err": ""}
        self.done.append(f"{argv[2]} {argv[3]}={argv[4]}")
        if argv[3] == "tx-frames" and int(argv[4]) > self.ring // 2:
            return {"code": 1, "out": "", "err": "netlink error: tx-frames: 1 to half the TX ring\n"}
        self.coalesce[argv[3]] = int(argv[4])
        return {"code": 0, "out": "", "err": ""}

    def news(self) -> list[Record]:
        said, self.said = self.said, []
        return [Record(6, text) for text in said]


def apply(dut: FakeDut, wanted: Schemes) -> list[str]:
    return schemes.apply(dut, wanted, ("eth0", "eth1"), "irqmod_paper")  # type: ignore[arg-type]


def test_without_options_nothing_is_configured() -> None:
    dut = FakeDut(on_irqmod=False)
    assert combine() == (Schemes(),)
    assert apply(dut, Schemes()) == []
    assert dut.done == []


def test_every_combination() -> None:
    found = combine(rx="napi, de", tx="off,coalesce", weight=16)
    assert [(s.rx, s.tx, s.weight) for s in found] == [
        ("napi", "off", 16), ("napi", "coalesce", 16), ("de", "off", 16), ("de", "coalesce", 16),
    ]  # fmt: skip
    assert combine(tx="off") == (Schemes(tx="off"),)


def test_all_are_those_of_pci_drivers() -> None:
    assert combine(rx="all") == tuple(Schemes(rx=name) for name in RX_SCHEMES)
    assert combine(rx="napi,all", tx="off")[0] == Schemes(rx="napi", tx="off")
    assert {Combination(str(one.rx), str(one.tx)) for one in combine(rx="all", tx="all")} == set(COMBINATIONS)


def test_of_several_those_that_do_not_go_together_are_left_out() -> None:
    assert combine(rx="interrupt,napi", tx="poll,off") == tuple(
        Schemes(rx=rx, tx=tx) for rx, tx in (("interrupt", "off"), ("napi", "poll"), ("napi", "off"))
    )


def test_schemes_of_which_none_go_together_are_refused() -> None:
    with pytest.raises(
        IrqlabError, match=r"--tx poll: only with a receive scheme that masks RX \(.*napi.*\), not with --rx interrupt"
    ):
        combine(rx="interrupt", tx="poll")


def test_which_schemes_go_together() -> None:
    """The transmit scheme poll needs a receive scheme that masks interrupts."""
    found = choices._combinations(engine.MASK)
    assert found == choices.COMBINATIONS
    every = {(scheme.rx, scheme.tx) for scheme in found}
    files = {path.stem[3:]: path.read_text() for path in (drivers.home() / "irqmod").rglob("rx_*.c")}
    without = {rx for rx in choices.RX_SCHEMES if ".masks = true" not in files[rx]}
    assert {"interrupt", "timer"} <= without
    assert every == {(rx, tx) for rx in choices.RX_SCHEMES for tx in choices.TX_SCHEMES} - {(rx, "poll") for rx in without}
    assert [str(one) for one in found[:2]] == ["adaptive/coalesce", "adaptive/interrupt"]
    usb = choices._combinations(engine.TRANSFERS)
    assert usb == choices.USB_COMBINATIONS
    assert [(one.rx, one.tx) for one in usb] == [(rx, tx) for rx in choices.USB_RX_SCHEMES for tx in ("interrupt",)]


def test_every_field_with_a_place_is_a_setting() -> None:
    found = choices._settings()
    assert found == SETTINGS
    assert {one.field: one.type for one in found if one.type is str} == dict.fromkeys(
        ("above", "timer_without", "timer_refill", "de_without", "off_without", "napi_threads", "rx", "tx"), str
    )
    assert {one.type for one in found} == {int, str}
    assert [one.field for one in found][-2:] == ["rx", "tx"], "schemes start with their settings"
    assert {one.field: one.place.option for one in found}["weight"] == "--weight"
    assert "variant" not in {one.field for one in found}


def test_the_papers_six() -> None:
    six = combine("all")
    assert [s.variant for s in six] == ["ORIGINAL", "TX-128", "TX-OFF", "NAPI", "NAPI-TX-128", "NAPI-TX-OFF"]
    assert {s.weight for s in six} == {32}
    assert combine(["napi-tx-off,ORIGINAL", "napi-tx-off"], weight=16) == (
        Schemes(variant="NAPI-TX-OFF", rx="napi", tx="off", weight=16),
        Schemes(variant="ORIGINAL", rx="interrupt", tx="interrupt", weight=16),
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variant": "TX-64"}, "--variant TX-64: allowed are ORIGINAL, .*and all"),
        ({"variant": "all", "rx": "napi"}, "cannot be combined"),
        ({"rx": "napi,"}, "--rx 'napi,': a name is missing"),
        ({"tx": ""}, "--tx '': a name is missing"),
    ],
)
def test_invalid_schemes_are_rejected(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(IrqlabError, match=message):
        combine(**arguments)  # type: ignore[arg-type]


def test_every_driver_with_every_scheme() -> None:
    request = Request.of(driver=["a", "b"], rx="napi,de")
    assert [(testbed.driver, testbed.dut.schemes.rx) for testbed in request.testbeds] == [
        ("a", "napi"),
        ("a", "de"),
        ("b", "napi"),
        ("b", "de"),
    ]


def test_settings_come_before_schemes_on_both_interfaces() -> None:
    dut = FakeDut()
    assert apply(dut, Schemes(rx="hybrid", tx="off", weight=32, cliff_pps=30_000, rx_usecs=200, tx_usecs=500)) == []
    one = ["rx_weight=32", "rx_cliff_pps=30000", "rx-usecs=200", "tx-usecs=500", "rx_scheme=hybrid", "tx_scheme=off"]
    assert dut.done == [f"{interface} {what}" for interface in ("eth0", "eth1") for what in one]
    assert schemes.read(dut, "eth0") == {  # type: ignore[arg-type]
        "rx": "hybrid", "tx": "off", "weight": 32, "cliff_pps": 30_000, "epsilon_permille": 150, "rate_window_ms": 8,
        "quota": None, "queue_high": None, "queue_low": None, "cpu_percent": None, "user_percent": None, "pause_usecs": None,
        "above": None, "above_weight": None, "de_without": None, "rate_usecs": None,
        "timer_without": None, "timer_refill": None, "off_without": None,
        "rx_usecs": 200, "tx_usecs": 500, "tx_frames": 64,
    }  # fmt: skip
    assert set(schemes.read(dut, "eth0") or {}) == {s.field for s in SETTINGS if s.place.of_engine}  # type: ignore[arg-type]


def test_a_variant_takes_the_papers_n_and_half_of_a_small_ring() -> None:
    (wanted,) = combine("TX-128")
    dut = FakeDut()
    assert apply(dut, wanted) == []
    assert dut.coalesce["tx-frames"] == 128
    small = FakeDut(most=64, ring=64)
    assert apply(small, wanted) == ["TX-128: the TX ring holds 64, so one TX interrupt per 32 packets, not 128"]
    assert small.coalesce["tx-frames"] == 32
    (own,) = combine("TX-128", tx_frames=16)
    assert apply(small, own) == []
    assert small.coalesce["tx-frames"] == 16


def test_a_variants_rings() -> None:
    (wanted,) = combine("NAPI")
    assert schemes.variant_ring(FakeDut(), wanted, "eth0") == (256, "")  # type: ignore[arg-type]
    assert schemes.variant_ring(FakeDut(), Schemes(rx="napi"), "eth0") == (None, "")  # type: ignore[arg-type]
    ring, note = schemes.variant_ring(FakeDut(most=64, ring=64), wanted, "eth0")  # type: ignore[arg-type]
    assert (ring, note) == (64, "NAPI: rings of 64, the chip's maximum, not 256")


def test_a_driver_without_schemes_is_named() -> None:
    with pytest.raises(IrqlabError, match="the driver irqmod_paper has no schemes to choose from"):
        apply(FakeDut(on_irqmod=False), Schemes(rx="napi"))


def test_settings_rejected_by_the_kernel_are_reported_with_its_reason() -> None:
    with pytest.raises(IrqlabError) as error:
        apply(FakeDut(), Schemes(rx="fractal"))
    assert str(error.value) == (
        "--rx fractal: irqmod_paper refuses it on eth0: Invalid argument (os error 22)\n  kernel: eth0: rx_scheme: something else"
    )
    with pytest.raises(IrqlabError, match="--tx-frames 200: irqmod_paper refuses it on eth0: netlink error: tx-frames: 1 to"):
        apply(FakeDut(), Schemes(tx_frames=200))


def test_settings_silently_ignored_by_the_kernel_are_detected() -> None:
    dut = FakeDut()
    dut.deaf = ("tx_scheme",)
    with pytest.raises(IrqlabError, match="--tx off: eth0 has interrupt instead"):
        apply(dut, Schemes(tx="off"))


def test_labels() -> None:
    row = {"driver": "irqmod_i8255x", "rx_scheme": "napi", "tx_scheme": "off", "variant": None}
    assert units.driver_of(row) == "i8255x napi/off"
    assert units.driver_of({**row, "variant": "NAPI-TX-OFF"}) == "i8255x NAPI-TX-OFF"
    assert units.driver_of({"driver": "e100", "rx_scheme": None, "tx_scheme": None}) == "e100"


def test_settings_of_any_driver_need_no_irqmod() -> None:
    class Plain(FakeDut):
        def __init__(self) -> None:
            super().__init__(on_irqmod=False)
            self.files = {"napi_defer_hard_irqs": "0", "gro_flush_timeout": "0"}

        def _file(self, name: str) -> str | None:
            return self.files.get(name)

        def write(self, path: str, text: str) -> None:
            self.done.append(path)
            self.files[path.rpartition("/")[2]] = "0" if path.rpartition("/")[2] in self.deaf else text

    dut = Plain()
    assert apply(dut, Schemes(defer_hard_irqs=2, gro_flush_timeout_ns=20_000)) == []
    assert dut.files == {"napi_defer_hard_irqs": "2", "gro_flush_timeout": "20000"}
    assert dut.done[0] == "/sys/class/net/eth0/napi_defer_hard_irqs"
    dut.deaf = ("gro_flush_timeout",)
    with pytest.raises(IrqlabError, match="--gro-flush-timeout 30000: eth0 has 0"):
        apply(dut, Schemes(gro_flush_timeout_ns=30_000))
    with pytest.raises(IrqlabError, match="built on irqmod"):
        apply(dut, Schemes(weight=3))


def test_a_result_can_state_every_setting() -> None:
    """What a driver states is checked when a result is written: a setting that is missing there fails every command."""
    stated = {entry.name for entry in msgspec.structs.fields(SchemesInForce)}
    assert stated == {"variant", *(setting.field for setting in SETTINGS if setting.place.of_engine)}
