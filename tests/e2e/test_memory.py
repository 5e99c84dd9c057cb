# SPDX-License-Identifier: GPL-2.0-or-later
"""The memory model in a DUT: without stalls it changes nothing; stalls are charged exactly, from cold caches, every time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irqlab.config import hardware
from irqlab.config.memory import Dma, Interrupt, Memory, Processor, RegisterRead, StoreBuffer, Tlb, Translation
from irqlab.config.schemes import Schemes
from irqlab.config.testbed import DutConfig, TestbedConfig
from irqlab.config.traffic import Load
from irqlab.trials.forwarding import ForwardingTrial
from irqlab.trials.testbed import Testbed
from tests.e2e.conftest import Cli, Refused

NS_PER_INSTRUCTION = 4
# The second level is so small that some pages have to be walked for.
TLBS = Translation((Tlb("ITLB", 32, 4, 2, 2), Tlb("DTLB", 64, 4, 8, 4), Tlb("TLB2", 32, 4)), 2 << 20)
TRIAL = ForwardingTrial(loads=(Load(60_000.0),), duration_ns=50_000_000, drain_ns=20_000_000, histogram=True)


def _board() -> Memory:
    """Caches and RAM alone."""
    found = hardware.load("mpc8250-memory").memory
    assert found is not None
    return replace(found, processor=None, translation=None)


def _measured(memory: Memory | None) -> dict[str, Any]:
    # Without TX interrupts, most of which come when the load has ended.
    dut = DutConfig(schemes=Schemes(rx="napi", tx="off"))
    bed = Testbed.resolve(TestbedConfig("irqmod_i8255x", dut=dut, memory=memory, cached=False))
    return bed.run(TRIAL).to_json()


def test_without_stalls_everything_is_as_without_the_model() -> None:
    plain, idle = _measured(None), _measured(replace(_board(), latency_ns=0.0))
    counted = idle.pop("memory")
    assert counted["stall_ps"] == 0
    assert all(cache["accesses"] > cache["misses"] > 0 for cache in counted["caches"])
    assert json.dumps(idle) == json.dumps(plain)


def test_a_processor_of_the_clocks_speed_and_devices_without_stalls_change_nothing() -> None:
    board = replace(
        _board(),
        latency_ns=0.0,
        processor=Processor(250, 1.0),
        register_read=RegisterRead(0.0),
        dma=Dma("invalidate"),
        translation=TLBS,
        store_buffer=StoreBuffer(4, 1),
        interrupt=Interrupt(0.0),
    )
    plain, idle = _measured(None), _measured(board)
    counted = idle.pop("memory")
    assert counted["stall_ps"] == 0 == sum(counted["stalls_ps"].values())
    assert all(tlb["accesses"] > tlb["misses"] > 0 for tlb in counted["tlbs"])
    assert json.dumps(idle) == json.dumps(plain)


def test_translation_stores_and_interrupts_stall_and_every_machine_begins_cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IRQLAB_FRESH", raising=False)
    buffered = replace(_board(), store_buffer=StoreBuffer(4, 1))
    board = replace(buffered, translation=replace(TLBS, walk_latency_ns=50.0), interrupt=Interrupt(1_000.0))
    first, rewound = _measured(board), _measured(board)
    assert json.dumps(first) == json.dumps(rewound)
    stalls = first["memory"]["stalls_ps"]
    assert all(stalls[kind] > 0 for kind in ("fetch", "load", "store", "translation", "interrupt"))
    entered, rest = divmod(stalls["interrupt"], 1_000_000)
    assert rest == 0
    assert 0 <= entered - sum(first["interrupts"].values()) <= 100, "those of the timer, and some at the window's edges"
    assert _measured(buffered)["memory"]["stalls_ps"]["store"] < _measured(_board())["memory"]["stalls_ps"]["store"]


@pytest.mark.parametrize("cycles", [0.3, 2.5])
def test_instructions_take_their_own_time(cycles: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IRQLAB_FRESH", raising=False)
    board = replace(_board(), latency_ns=0.0, processor=Processor(250, cycles))
    first, rewound = _measured(board), _measured(board)
    assert json.dumps(first) == json.dumps(rewound)
    busy_ns = first["instructions"] * NS_PER_INSTRUCTION * cycles
    # A block that falls on the window's edge is charged on one side of it.
    idle_ns = max(0, TRIAL.duration_ns - busy_ns)
    assert first["idle_ratio"] * TRIAL.duration_ns == pytest.approx(idle_ns, abs=500)
    assert first["memory"]["stall_ps"] <= 500_000


def test_what_a_nic_writes_and_registers_that_are_read_stall() -> None:
    board = _board()
    # Large enough for all buffers of the ring: what the NIC does not invalidate stays.
    large = replace(board.caches[1], bytes=1 << 20, ways=16)
    board = replace(board, latency_ns=10.0, caches=(board.caches[0], large))
    stays, goes = _measured(board), _measured(replace(board, dma=Dma("invalidate")))
    frames = [result["instructions"] / result["instructions_per_frame"] for result in (stays, goes)]
    data = [result["memory"]["caches"][1]["misses"] / n for result, n in zip((stays, goes), frames, strict=True)]
    assert data[1] > data[0] + 2, "at least the frame's line, and its descriptor's"
    read = _measured(replace(board, register_read=RegisterRead(1_000.0)))
    assert read["memory"]["stall_ps"] > stays["memory"]["stall_ps"]


def test_every_fill_is_charged_and_every_machine_begins_cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IRQLAB_FRESH", raising=False)
    board = _board()
    first, rewound = _measured(board), _measured(board)
    monkeypatch.setenv("IRQLAB_FRESH", "1")
    fresh = _measured(board)
    assert json.dumps(first) == json.dumps(rewound) == json.dumps(fresh)
    stall_ns = first["memory"]["stall_ps"] / 1e3
    fills = sum(cache["misses"] for cache in first["memory"]["caches"])
    # The fills of the block at the window's edge may be charged in part, or by the blocks after it.
    assert stall_ns == pytest.approx(fills * board.latency_ns, abs=8 * board.latency_ns)
    busy_ns = first["instructions"] * NS_PER_INSTRUCTION + stall_ns
    assert first["idle_ratio"] * TRIAL.duration_ns == pytest.approx(TRIAL.duration_ns - busy_ns, abs=1)


def test_a_second_level_shortens_stalls() -> None:
    board = _board()
    second = replace(board.caches[0], name="L2", bytes=262_144, ways=8, latency_ns=20.0)
    slow, fast = _measured(board), _measured(replace(board, caches=(*board.caches, second)))
    assert fast["forwarded_pps"] > slow["forwarded_pps"]
    names = [cache["name"] for cache in fast["memory"]["caches"]]
    assert names == ["L1I", "L1D", "L2"]
    first, data, behind = fast["memory"]["caches"]
    assert behind["accesses"] == first["misses"] + data["misses"]


def test_fills_on_the_command_line(cli: Cli, refused: Refused, tmp_path: Path) -> None:
    options = ["--driver", "irqmod_i8255x", "--duration", "0.02", "--warmup", "0.01", "--hardware", "mpc8250-memory"]
    done = cli("throughput", *options, "--json", "a.json")
    assert done.returncode == 0, done.stderr
    assert "L1I fills" in done.stdout
    assert "L2 fills" not in done.stdout
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["environment"]["duts"][0]["memory"]["hardware"] == "mpc8250-memory"
    row = content["measured"]["results"][0]
    assert row["l1i_fills_per_frame"] > 1
    assert "l2_fills_per_frame" not in row
    (tmp_path / "bad.json").write_text('{"schema": "irqlab-hardware/1", "mips": 250, "costs_ns": {}, "memory": {}}')
    wrong = refused("throughput", "--driver", "irqmod_i8255x", "--hardware", "./bad.json")
    assert "bad.json: memory: caches is missing" in wrong
