# SPDX-License-Identifier: GPL-2.0-or-later
"""What a DUT can set is found by setting it, and put back; settings that need each other are made in an order that works."""

from __future__ import annotations

from typing import Any

import pytest

from irqlab.config.change import Chosen
from irqlab.dut import changes, settable
from irqlab.dut.agent import DutError
from irqlab.qemu.rpc import TesterError

HOME = "/sys/class/net/eth0"


class Settable:
    """A DUT with files, and with ethtool's coalescing: rx-usecs takes 10 and more."""

    def __init__(self) -> None:
        self.files = {
            f"{HOME}/threaded": "0",
            f"{HOME}/irqmod/rx_scheme": "[napi] hybrid",
            f"{HOME}/irqmod/rx_limit": "256",
            f"{HOME}/irqmod/tx_scheme": "[poll] off",
            "/proc/sys/net/core/netdev_budget": "300",
        }
        self.usecs = 20
        self.asked: list[str] = []

    def read(self, *paths: str) -> dict[str, str | None]:
        return {path: self.files.get(path) for path in paths}

    def write(self, path: str, text: str) -> None:
        self.asked.append(f"{path} {text}")
        if path.endswith("rx_limit") or path not in self.files:
            raise TesterError(f"write {path}: Permission denied")
        if path.endswith("rx_scheme") and text == "interrupt" and "[poll]" in self.files[f"{HOME}/irqmod/tx_scheme"]:
            raise TesterError(f"write {path}: Invalid argument")
        words = [word.strip("[]") for word in self.files[path].split()]
        listed = " ".join(f"[{word}]" if word == text else word for word in {**dict.fromkeys(words), text: None})
        self.files[path] = listed if "[" in self.files[path] else text

    def sysctl(self, name: str, value: str) -> None:
        self.write("/proc/sys/" + name.replace(".", "/"), value)

    def attempt(self, *argv: str) -> dict[str, Any]:
        said = {"code": 0, "out": "", "err": ""}
        if argv[0] == "sh":
            return {**said, "out": "irqmod/rx_scheme\nirqmod/rx_limit\nirqmod/tx_scheme\nqueues/rx-0\n"}
        if argv[:2] == ("ethtool", "-c"):
            return {**said, "out": f"Adaptive RX: n/a  TX: n/a\nrx-usecs: {self.usecs}\nrx-frames: n/a\n"}
        if argv[:2] == ("ethtool", "-C"):
            value = int(argv[4])
            if value < 10:
                return {**said, "code": 1, "err": "netlink error: Invalid argument"}
            self.usecs = value
            return said
        return {**said, "code": 1, "err": "netlink error: Operation not supported"}


def test_values_are_those_that_are_taken_and_all_are_put_back() -> None:
    dut: Any = Settable()
    before, noted = dict(dut.files), list[Chosen]()
    found = {one.name: one for one in settable.find(dut, ("eth0",), 1, noted.append)}
    assert found["rx-usecs"].values[:2] == ("10", "15")
    assert found["rx-usecs"].now == "20"
    assert found["irqmod/rx_scheme"].values == ("napi", "hybrid")
    assert found["threaded"].values == ("0", "1")
    assert found["net.core.netdev_budget"].ordered
    assert "irqmod/rx_limit" not in found
    assert dut.files == before
    assert dut.usecs == 20
    assert Chosen("file", "threaded", "0") in noted
    assert not any(one.name == "irqmod/rx_limit" for one in noted)


def test_what_needs_another_setting_is_made_after_it() -> None:
    dut: Any = Settable()
    wanted = [Chosen("file", "irqmod/rx_scheme", "interrupt"), Chosen("file", "irqmod/tx_scheme", "off")]
    changes.apply(dut, wanted, ("eth0",), 1)
    assert "[interrupt]" in dut.files[f"{HOME}/irqmod/rx_scheme"]
    assert "[off]" in dut.files[f"{HOME}/irqmod/tx_scheme"]


def test_a_refusal_has_the_duts_words() -> None:
    with pytest.raises(DutError, match="ethtool -C rx-usecs 5: netlink error: Invalid argument"):
        changes.apply(Settable(), [Chosen("coalesce", "rx-usecs", "5")], ("eth0",), 1)  # type: ignore[arg-type]
    with pytest.raises(DutError, match="rx_limit: 1: Permission denied"):
        changes.apply(Settable(), [Chosen("file", "irqmod/rx_limit", "1")], ("eth0",), 1)  # type: ignore[arg-type]
