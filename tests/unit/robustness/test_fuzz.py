# SPDX-License-Identifier: GPL-2.0-or-later
"""Fault injection: what a round is, and what is made of a kernel log and of the heap's traces."""

from __future__ import annotations

from collections import Counter, deque
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.robustness import fuzz, nicport
from irqlab.robustness.nicport import PCI_KINDS, USB_KINDS
from tests.unit.fakes import FakeBench


def test_a_round_is_decided_by_seed_and_number() -> None:
    assert fuzz.Round.of(1, 5) == fuzz.Round.of(1, 5)
    assert fuzz.Round.of(1, 5) != fuzz.Round.of(2, 5)
    rounds = [fuzz.Round.of(1, number) for number in range(200)]
    assert {r.what for r in rounds} == {"traffic", "requests", "plug"}
    assert {r.faults.only for r in rounds} == {None, *USB_KINDS}
    rounds = [fuzz.Round.of(1, number, pci=True) for number in range(200)]
    assert {r.what for r in rounds} == {"traffic", "bursts", "requests", "plug"}
    assert {r.faults.only for r in rounds} == {None, *PCI_KINDS}


def test_complaints_are_named_and_false_checksums_told_apart() -> None:
    log = [
        "eth0: Link is Up",
        "------------[ cut here ]------------",
        "WARNING: CPU: 0 PID: 17 at drivers/net/phy/phy.c:987 phy_state_machine+0x9b/0x250 [libphy]",
        "Call Trace:",
        "BUG kmalloc-64 (Tainted: G        W         ): Right Redzone overwritten",
    ]
    causes, evidence = fuzz.complaints(log)
    assert causes[0] == "WARNING: at drivers/net/phy/phy.c:987 phy_state_machine [libphy]"
    assert causes[1].startswith("BUG kmalloc-64")
    assert "Link is Up" in evidence
    assert fuzz.complaints(["eth0: Link is Up", "kevent 4 may have been dropped"]) == ([], "")
    causes, _ = fuzz.complaints(["eth0: hw csum failure", "Call Trace:"])
    assert [bool(fuzz.FALSE_CHECKSUM_OK.search(cause)) for cause in causes] == [True]
    assert fuzz.complaints(["Call Trace:"])[0] == ["a call trace"]


def test_objects_that_are_not_freed_are_told_by_who_allocated_them() -> None:
    before = fuzz.objects("  30 kmalloc-192 usb_alloc_urb+0x33/0x60\n  30 lan78xx_probe+0x1/0x2 [lan78xx]\n", "lan78xx")
    assert before == Counter({"kmalloc-192 usb_alloc_urb": 30, "lan78xx_probe()": 30})
    after = before + Counter({"kmalloc-192 usb_alloc_urb": fuzz.GROWTH + 1, "lan78xx_probe()": 1})
    assert fuzz.growth(before, after) == {"kmalloc-192 usb_alloc_urb": fuzz.GROWTH + 1}


def test_a_summary_counts_rounds_and_cases() -> None:
    outcomes = [fuzz.Outcome(fuzz.Round.of(1, n), dict.fromkeys(USB_KINDS, 2)) for n in range(3)]
    outcomes[1].causes = [fuzz.HUNG]
    outcomes[2].causes, outcomes[2].recovery = ["eth0: hw csum failure"], "plugged in again"
    found = fuzz.summary("x", 1, [fuzz.FuzzRun(0, outcomes, {"a b": 40})])
    assert (found["cases"], found["rounds"]) == (24, 3)
    assert [(entry["what"], entry["first"]) for entry in found["complaints"]] == [(fuzz.HUNG, 1)]
    assert len(found["false_checksum_ok"]) == 1
    assert found["recovery"] == {"by itself": 1, "plugged in again": 1}
    assert found["growth"] == {"a b": 40}
    assert found["stuck"] == []


def test_a_round_after_which_no_frames_pass_tells_the_interfaces_state() -> None:
    files = {"/sys/class/net/eth0/address": "00:11:22:33:44:55\n", "/sys/class/net/eth0/operstate": "up\n"}
    dut: Any = SimpleNamespace(
        read=lambda *paths: {path: files.get(path) for path in paths},
        attempt=lambda *_: {"code": 0, "out": " 11: 4711 IO-APIC eth0\n", "err": ""},
    )
    state = nicport.state(dut, 0)
    assert state.splitlines() == [
        "eth0: address 00:11:22:33:44:55, frames are sent to 52:54:00:00:00:01, operstate up, flags not readable,"
        " carrier not readable",
        " 11: 4711 IO-APIC eth0",
    ]
    outcome = fuzz.Outcome(fuzz.Round.of(1, 7), recovery="never", state=state)
    found = fuzz.summary("x", 1, [fuzz.FuzzRun(7, [outcome])])
    assert found["stuck"] == [{"round": 7, "recovery": "never", "state": state}]
    files.clear()
    assert nicport.state(dut, 0) == "eth0: there is no such interface"


def test_rounds_end_with_the_cases_and_are_kept_after_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    testbed = SimpleNamespace(prepared=None, nic=SimpleNamespace(pci_bus="33:32"))
    monkeypatch.setattr(fuzz, "checking", lambda _: testbed)
    runner: Any = SimpleNamespace(bench=FakeBench(lambda pps: pps, inside=testbed), progress=lambda _: None)
    asked: list[tuple[int, int, int]] = []

    def rounds(_testbed: Any, _seed: int, whole: fuzz.FuzzRun, count: int, cases: int, _trailing: bool) -> None:
        asked.append((whole.first, count, cases))
        whole.outcomes += [fuzz.Outcome(fuzz.Round.of(1, whole.first + n, pci=True), {"registers": 30}) for n in range(3)]
        if whole.first == 128:
            raise KeyboardInterrupt

    monkeypatch.setattr(fuzz, "run_rounds", rounds)
    assert sum(one.cases for one in fuzz.run(runner, 100)) == 180
    assert asked == [(0, fuzz.PCI_ROUNDS_OF_RUN, 100), (64, fuzz.PCI_ROUNDS_OF_RUN, 10)]
    found: list[fuzz.FuzzRun] = []
    with pytest.raises(KeyboardInterrupt):
        deque(map(found.append, fuzz.run(runner, 10_000)))
    assert [len(one.outcomes) for one in found] == [3, 3, 2], "the round under way is not counted"
