# SPDX-License-Identifier: GPL-2.0-or-later
"""Parsing TAP, the requirements of a script, and the walk through all combinations of schemes."""

from __future__ import annotations

import struct
import subprocess
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path
from types import SimpleNamespace

import pytest

from irqlab.config import engine
from irqlab.config.engine import MASK, TRANSFERS, Scheme
from irqlab.config.schemes import COMBINATIONS
from irqlab.errors import IrqlabError
from irqlab.robustness import tap
from irqlab.setup import drivers, kernel_trees
from irqlab.setup.nics import Nic
from tests.drivers import pcapng
from tests.drivers.switches import flow, tour, walk


@pytest.mark.parametrize(
    ("text", "failures"),
    [
        ("ok 1 - a\n# note\nok 2 - b\n1..2\n", []),
        ("1..1\nok\n", []),
        ("ok 1 - a # SKIP no such thing\n1..1\n", []),
        ("not ok 1 - a # TODO later\n1..1\n", []),
        ("ok 1 - a\nnot ok 2 - b\n# why\n1..2\n", ["not ok 2 - b"]),
        ("ok 1 - a\n", ["no plan: the script ended early"]),
        ("ok 1 - a\n1..2\n", ["2 tests planned, 1 run"]),
        ("1..0\n", ["no test was run"]),
        ("ok 1\nok 3\n1..2\n", ["out of order: ok 3"]),
        ("okay then\n1..0 # SKIP\n", ["no test was run"]),
        ("Bail out! gone\n1..0\n", ["Bail out! gone", "no test was run"]),
        ("", ["no plan: the script ended early"]),
    ],
)
def test_tap_is_read_strictly(text: str, failures: list[str]) -> None:
    report = tap.parse(text)
    assert report.failures == failures
    assert report.passed == (not failures)


def test_a_skip_keeps_its_reason() -> None:
    assert tap.parse("ok 1 - tx_timeout # SKIP no parameter\n1..1\n").skipped == ["tx_timeout # SKIP no parameter"]


def test_a_script_that_skips_all_it_does_tests_nothing() -> None:
    assert tap.parse("ok 1 - a # SKIP no\nok 2 - b # SKIP no\n1..2\n").skipped_whole
    assert not tap.parse("ok 1 - a\nok 2 - b # SKIP no\n1..2\n").skipped_whole
    assert not tap.parse("").skipped_whole


def test_a_script_says_what_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "some.sh"
    path.write_text("#!/bin/sh\n# load: 2x\n# for: every combination\n# may log: a|b\n# may log: c\n# long\n\n# needs: wire\n")
    script = tap.Script.read(path)
    assert (script.name, script.loaded, script.every_combination, script.may_log) == ("some", True, True, "a|b|c")
    assert (script.long, script.wire, script.modules) == (True, False, False)


def test_scripts_are_found_and_are_shell() -> None:
    found = tap.scripts()
    assert {"interface", "bad_input", "load_unload", "updown", "rings", "tcp"} <= {script.name for script in found}
    assert "tap" not in {script.name for script in found}
    for script in found:
        subprocess.run(["sh", "-n", script.path], check=True)
    assert [script.name for script in tap.find(["tcp"])] == ["tcp"]
    with pytest.raises(IrqlabError, match=r"no test nonsense; allowed are .*tcp"):
        tap.find(["nonsense"])


@pytest.mark.parametrize(("usb_speed", "has", "others"), [("", MASK, TRANSFERS), ("super", TRANSFERS, MASK)])
def test_scripts_are_told_what_the_sources_declare(
    monkeypatch: pytest.MonkeyPatch, usb_speed: str, has: str, others: str
) -> None:
    schemes = {
        "rx": (
            Scheme("first", frozenset({has}), polls=True),
            Scheme("second", frozenset({others})),
            Scheme("third", option="ODD"),
        ),
        "tx": (Scheme("early", needs_masks=True), Scheme("late", frozenset({others}), limits=True)),
    }
    monkeypatch.setattr(engine, "all_schemes", schemes.get)
    bed = SimpleNamespace(
        nic=Nic("x", 0, 0, 0, "x", usb_speed=usb_speed),
        machine=SimpleNamespace(kernel=SimpleNamespace(has=lambda option: option != "ODD")),
    )
    expected = {"NAPI_RX": "first", "MASKED_TX": "early", "LIMITED_TX": "late", "REFUSED_RX": "second", "REFUSED_TX": "late"}
    assert tap._declared(bed) == expected  # type: ignore[arg-type]
    schemes["rx"] = tuple(replace(one, needs=frozenset({others}), polls=True) for one in schemes["rx"])
    found = tap._declared(bed)  # type: ignore[arg-type]
    assert found["NAPI_RX"] == "first second third"
    assert found["REFUSED_RX"] == "first second", "the third is not in this kernel's build"


def test_the_tour_enters_and_leaves_each_scheme() -> None:
    stops = tour(COMBINATIONS)
    steps = list(pairwise(stops))
    assert len(steps) == len({node.rx for node in COMBINATIONS})
    for direction in ("rx", "tx"):
        changes = [(getattr(a, direction), getattr(b, direction)) for a, b in steps]
        every = {getattr(node, direction) for node in COMBINATIONS}
        assert all(a != b for a, b in changes)
        assert {a for a, _ in changes} == {b for _, b in changes} == every


def test_the_walk_makes_every_switch_once() -> None:
    steps = list(pairwise(walk(COMBINATIONS)))
    assert len(steps) == len(COMBINATIONS) * (len(COMBINATIONS) - 1)
    assert sorted(steps, key=str) == sorted(permutations(COMBINATIONS, 2), key=str)


@pytest.mark.parametrize(
    ("moments", "expected"), [([], (None, 90)), ([12], (2, 88)), ([11, 60, 99], (1, 49)), ([40, 41, 100], (30, 59))]
)
def test_flow(moments: list[int], expected: tuple[int | None, int]) -> None:
    assert flow(moments, 10, 100) == expected


def test_departures_are_read_from_the_capture(tmp_path: Path) -> None:
    def block(order: str, kind: int, body: bytes) -> bytes:
        length = struct.pack(f"{order}I", 12 + len(body))
        return struct.pack(f"{order}I", kind) + length + body + length

    def packet(order: str, port: int, ns: int, flags: int, size: int = 61) -> bytes:
        fixed = struct.pack(f"{order}IIIII", port, ns >> 32, ns & 0xFFFFFFFF, size, size)
        options = struct.pack(f"{order}HH4sHHIHH", 1, 3, b"abc", 2, 4, flags, 0, 0)
        return block(order, 6, fixed + bytes(size + -size % 4) + options)

    path = tmp_path / "x.pcapng"
    for order in "<>":
        section = block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
        packets = [(1, 5, 1), (0, 6, 1), (1, 7, 2), (1, 1 << 33, 1)]
        path.write_bytes(section + block(order, 1, bytes(8)) + b"".join(packet(order, *p) for p in packets))
        assert pcapng.departures(path, 1) == [5, 1 << 33]
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(IrqlabError, match="not a whole pcapng"):
        pcapng.departures(path, 1)


OPTIONS = {
    "8139cp": "8139CP",
    "e100": "E100",
    "8021q": "VLAN_8021Q",
    "netconsole": "NETCONSOLE",
    "pktgen": "NET_PKTGEN",
    "usbmon": "USB_MON",
}
"""The kernel's modules that tests load, and their options."""


def test_kernels_built_from_source_have_the_modules_that_tests_load() -> None:
    loaded = {name for script in tap.scripts() for name in script.loads if not drivers.find(name)}
    assert loaded == set(OPTIONS)
    lines = (kernel_trees.FRAGMENTS / "dut.config").read_text().splitlines()
    assert [name for name, option in OPTIONS.items() if f"CONFIG_{option}=m" not in lines] == []
