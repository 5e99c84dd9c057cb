# SPDX-License-Identifier: GPL-2.0-or-later
"""Hardware with a memory model: the file, what is wrong with one, the tester's arguments, fills per frame."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irqlab.cli.options import Request
from irqlab.config import hardware
from irqlab.config.costs import Costs
from irqlab.config.memory import Cache, Memory, Processor
from irqlab.errors import IrqlabError
from irqlab.trials.forwarding import ForwardingResult
from tests.unit.fakes import memory, stream

L1 = {"bytes": 16384, "ways": 4, "line_bytes": 32, "latency_ns": 0}
L2 = {"name": "L2", "bytes": 262144, "ways": 8, "line_bytes": 64, "latency_ns": 20.5, "source": "manual, page 1"}
SECTION: dict[str, Any] = {
    "caches": [{"name": "L1I", **L1}, {"name": "L1D", **L1}, L2],
    "ram": {"latency_ns": 136.4, "source": "manual, page 2"},
}
TRANSLATION: dict[str, Any] = {
    "tlbs": [
        {"name": "ITLB", "entries": 32, "ways": 4, "large_entries": 2, "large_ways": 2},
        {"name": "DTLB", "entries": 64, "ways": 64},
        {"name": "TLB2", "entries": 512, "ways": 4, "latency_ns": 2.3, "data_latency_ns": 0, "source": "manual, page 8"},
    ],
    "large_page_bytes": 4 << 20,
    "walk_latency_ns": 5,
    "tagged": True,
    "source": "manual, page 9",
}


def _file(tmp_path: Path, memory: Any, costs: dict[str, float] | None = None) -> str:
    content = {"schema": hardware.SCHEMA, "name": "board", "mips": 250, "costs_ns": costs or {}, "memory": memory}
    (tmp_path / "board.json").write_text(json.dumps(content))
    return str(tmp_path / "board.json")


def _with_tlb(**fields: Any) -> dict[str, Any]:
    return {"translation": {**TRANSLATION, "tlbs": [{"name": "ITLB", **fields}, *TRANSLATION["tlbs"][1:]]}}


def test_a_memory_is_read_and_written(tmp_path: Path) -> None:
    board = hardware.load(_file(tmp_path, SECTION))
    assert board.memory is not None
    assert board.memory.caches[2] == Cache("L2", 262144, 8, 64, 20.5, "manual, page 1")
    assert board.memory.arguments() == "l1i=16384:4:32,l1d=16384:4:32,l2=262144:8:64:20500,ram=136400"
    board.write(tmp_path / "again.json")
    assert hardware.load(str(tmp_path / "again.json")) == board


def test_a_processor_and_devices_are_read_and_written(tmp_path: Path) -> None:
    section = {
        **SECTION,
        "caches": [*SECTION["caches"][:2], {**L2, "data_latency_ns": 0}],
        "ram": {**SECTION["ram"], "data_latency_ns": 100},
        "processor": {"clock_mhz": 3200, "cycles_per_instruction": 0.5, "instruction_factor": 1.2, "source": "manual, page 3"},
        "register_read": {"latency_ns": 875, "source": "manual, page 4"},
        "dma": {"lines": "last level", "source": "manual, page 5"},
        "translation": TRANSLATION,
        "store_buffer": {"entries": 12, "fills": 4, "source": "manual, page 6"},
        "interrupt": {"latency_ns": 0.9, "source": "manual, page 7"},
    }
    board = hardware.load(_file(tmp_path, section))
    assert board.memory is not None
    assert board.memory.processor == Processor(3200, 0.5, 1.2, "manual, page 3")
    assert board.memory.instruction_ns(250) == pytest.approx(0.1875)
    assert Memory.parse("board", SECTION).instruction_ns(250) == 4
    assert board.memory.arguments() == (
        "l1i=16384:4:32,l1d=16384:4:32,l2=262144:8:64:20500:0,ram=136400:100000,instruction=188,register=875000,dma=last,"
        "itlb=32:4:2:2,dtlb=64:64:0:0,tlb2=512:4:0:0:2300:0,walk=5000:5000,large=4194304,tagged=1,stores=12:4,interrupt=900"
    )
    assert board.memory.translation is not None
    assert [tlb.name for tlb in board.memory.translation.tlbs] == ["ITLB", "DTLB", "TLB2"]
    board.write(tmp_path / "again.json")
    assert hardware.load(str(tmp_path / "again.json")) == board


def test_a_request_for_memory_alone_has_no_cost_model(tmp_path: Path) -> None:
    asked = Request.of(driver=["e1000"], hardware=_file(tmp_path, SECTION))
    assert (asked.testbeds[0].cost_model, asked.workload.costs) == (False, None)
    assert asked.testbeds[0].memory == Memory.parse("board", SECTION)
    both = Request.of(driver=["e1000"], hardware=_file(tmp_path, SECTION, {"irq": 5}))
    assert (both.testbeds[0].cost_model, both.workload.costs) == (True, Costs(irq=5))
    assert Request.of(driver=["e1000"], hardware="mpc8250").testbeds[0].memory is None


@pytest.mark.parametrize("name", [name for name in hardware.names() if hardware.load(name).memory])
def test_every_figure_of_the_included_hardware_has_its_source(name: str) -> None:
    memory = hardware.load(name).memory
    assert memory is not None
    assert memory.hardware == name
    parts = (memory, *memory.caches, memory.processor, memory.register_read, memory.dma, memory.store_buffer, memory.interrupt)
    parts += (memory.translation, *(memory.translation.tlbs if memory.translation else ()))
    assert all(len(part.source) > 6 for part in parts if part)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ([], "caches is missing"),
        ({"caches": []}, "caches are none; allowed are L1I, L1D"),
        ({"caches": [SECTION["caches"][0], L2]}, "caches are L1I, L2; allowed are"),
        ({"ram": {}}, "ram: latency_ns is missing"),
        ({"ram": {"latency_ns": -1}}, "ram: latency_ns is -1; allowed are 0 to"),
        ({"caches": [{"name": "L1I", "bytes": 1}]}, r"caches\[0\]: must have name, bytes, ways, line_bytes, latency_ns, source"),
        ({"caches": [{"name": "L1I", **L1, "ways": "4"}]}, r"caches\[0\]: ways is '4'"),
        ({"caches": [{"name": "L1I", **L1, "ways": True}]}, r"caches\[0\]: ways is True"),
        ({"caches": [{"name": "L1I", **L1, "latency_ns": "1"}]}, r"caches\[0\]: latency_ns is '1'"),
        ({"caches": [{"name": "L1I", **L1, "ways": 3}]}, "L1I: 16384 bytes in 3 ways of 32-byte lines"),
        ({"caches": [{"name": "L1I", **L1, "ways": 0}]}, "number of sets must be a power of two"),
        ({"caches": [{"name": "L1I", **L1, "bytes": 3 * 4096}]}, "number of sets must be a power of two"),
        ({"caches": [{"name": "L1I", **L1, "bytes": 1 << 40}]}, "bytes is 1099511627776; allowed are 1 to"),
        ({"caches": [{"name": "L1I", **L1, "line_bytes": 48}]}, "line_bytes is 48; allowed are powers of two, 16 to 4096"),
        ({"caches": [{"name": "L1I", **L1, "line_bytes": 8}]}, "line_bytes is 8"),
        ({"caches": [{"name": "L1I", **L1, "latency_ns": 2}]}, "L1I: latency_ns is 2; a hit at the first level"),
        ({"caches": [*SECTION["caches"][:2], {**L2, "data_latency_ns": -1}]}, "L2: data_latency_ns is -1; allowed are 0 to"),
        ({"ram": {**SECTION["ram"], "data_latency_ns": "1"}}, "ram: data_latency_ns is '1'"),
        ({"tlb": {}}, "unknown: tlb"),
        ({"translation": []}, "translation: tlbs is missing"),
        ({"translation": {**TRANSLATION, "tlbs": TRANSLATION["tlbs"][1:]}}, "tlbs are DTLB, TLB2; allowed are ITLB, DTLB, then"),
        ({"translation": {**TRANSLATION, "large_page_bytes": 3000}}, "large_page_bytes is 3000; allowed are powers of two, 4096"),
        ({"translation": {**TRANSLATION, "tagged": 1}}, "translation: tagged is 1"),
        ({"translation": {**TRANSLATION, "walk_latency_ns": -1}}, "translation: latency_ns is -1"),
        ({"translation": {"tlbs": TRANSLATION["tlbs"]}}, "translation: must have tlbs, large_page_bytes"),
        (_with_tlb(entries=48, ways=5), "ITLB: 48 entries in 5 ways; the number of sets must be a power of two"),
        (_with_tlb(entries=0, ways=0), "ITLB: 0 entries in 0 ways"),
        (_with_tlb(entries=32, ways=4, large_entries=3, large_ways=1), "ITLB: 3 entries in 1 ways"),
        (_with_tlb(entries=1 << 20, ways=4), "at most 65536 entries"),
        (_with_tlb(entries=32, ways=4, latency_ns=1), "ITLB: latency_ns is 1; a hit at the first level"),
        (_with_tlb(entries=32.0, ways=4), r"tlbs\[0\]: entries is 32.0"),
        ({"store_buffer": {"entries": 0, "fills": 1}}, "store_buffer: entries is 0; allowed are 1 to 1024"),
        ({"store_buffer": {"entries": 4, "fills": 5000}}, "store_buffer: fills is 5000"),
        ({"interrupt": {"latency_ns": -5}}, "interrupt: latency_ns is -5"),
        ({"processor": {"clock_mhz": 100}}, "processor: must have clock_mhz, cycles_per_instruction, instruction_factor, source"),
        (
            {"processor": {"clock_mhz": 0, "cycles_per_instruction": 1}},
            "processor: 0 MHz, 1 cycles, factor 1; an instruction may",
        ),
        ({"processor": {"clock_mhz": 1e6, "cycles_per_instruction": 1}}, "an instruction may take 0.05 to 100 ns"),
        ({"register_read": {"latency_ns": -5}}, "register_read: latency_ns is -5"),
        ({"dma": {"lines": "all"}}, "dma: lines is 'all'; allowed are invalidate, last level"),
        (
            {"caches": SECTION["caches"][:2], "dma": {"lines": "last level"}},
            "dma: there is no last level behind the first; allowed is invalidate",
        ),
    ],
)
def test_wrong_sections_are_rejected(tmp_path: Path, change: Any, said: str) -> None:
    section = {**SECTION, **change} if isinstance(change, dict) else change
    with pytest.raises(IrqlabError, match=said) as raised:
        hardware.load(_file(tmp_path, section))
    assert "board.json: memory" in str(raised.value)


def test_fills_are_per_frame_forwarded_in_the_window() -> None:
    one = stream({"received_in_window": 20})
    result = ForwardingResult(None, [one], [], 0, 0, None, 0, [], memory=memory(L1I=30))  # type: ignore[arg-type]
    assert (result.fills_per_frame("L1I"), result.fills_per_frame("L2")) == (1.5, None)
    assert replace(result, memory=None).fills_per_frame("L1I") is None
    assert replace(result, streams=[]).fills_per_frame("L1I") is None
