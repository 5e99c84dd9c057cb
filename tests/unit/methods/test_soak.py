# SPDX-License-Identifier: GPL-2.0-or-later
"""A soak, on a DUT that is a formula and leaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from irqlab import report
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import catalogue, soak
from irqlab.methods.options import MAX_RATE_PPS
from irqlab.methods.soak import HOUR_NS, Options
from irqlab.results.document import MethodResult
from irqlab.trials.soak import Memory, Slice, SoakResult, SoakTrial
from tests.data.sample_documents import document, dut
from tests.unit.fakes import FakeBench, stand_on

MEMINFO = "MemTotal:         230000 kB\nMemFree:          190000 kB\nMemAvailable:     200000 kB\nSlab:              12000 kB\n"
SLABINFO = """\
slabinfo - version: 2.1
# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> <sharedfactor>
skbuff_fclone_cache     10     15    512   15    2 : tunables    0    0    0 : slabdata      1      1      0
skbuff_head_cache      100    112    256   16    1 : tunables    0    0    0 : slabdata      7      7      0
kmalloc-64             999    999     64   64    1 : tunables    0    0    0 : slabdata      1      1      0
"""
LEAK_BYTES = 4096
"""In each slice."""


@dataclass
class LeakyBench(FakeBench):
    """Loses a frame in the third slice, and a page in every one."""

    soaks: list[SoakTrial] = field(default_factory=list)

    def forwarded(self, spec: Any) -> Any:
        if not isinstance(spec, SoakTrial):
            return super().forwarded(spec)
        self.soaks.append(spec)
        one = super().forwarded(spec.slice)
        parts = []
        for n in range(spec.count):
            memory = Memory(200 * 2**20 - n * LEAK_BYTES, 12 * 2**20 + n * LEAK_BYTES, None)
            made = Slice.of(one, memory, (n + 1) * spec.slice.duration_ns)
            said = ("eth0: odd",) * (n == 1)
            parts.append(Slice(**{**vars(made), "lost": int(n == 2), "p99_ns": 1000 + n, "kernel_messages": said}))
        return SoakResult(spec, tuple(parts), [])


def soaked(options: Options) -> tuple[MethodResult, SoakTrial]:
    bench = LeakyBench(lambda offered: min(offered, 50_000.0))
    result = soak.run(stand_on(bench), Workload(), options)
    (trial,) = bench.soaks
    return result, trial


def test_loss_latency_and_leak_are_found() -> None:
    found, trial = soaked(Options(duration=10.0, interval=1.0))
    assert (trial.count, trial.slice.duration_ns) == (10, 10**9)
    assert trial.slice.loads[0].rate_pps == pytest.approx(45_000, rel=0.003)
    assert (found.summary.lost, found.summary.worst_p99_ns, found.summary.duration_ns) == (1, 1009, 10**10)
    assert found.summary.memory_drift_bytes_per_hour == pytest.approx(LEAK_BYTES * HOUR_NS / 10**9)
    assert found.summary.slab_drift_bytes_per_hour == pytest.approx(LEAK_BYTES * HOUR_NS / 10**9)
    assert [sample.lost for sample in found.samples] == [0, 0, 1, *[0] * 7]
    assert [sample.kernel_messages for sample in found.samples] == [[], ["eth0: odd"], *[[]] * 8]
    assert found.summary.kernel_messages == 1


def test_a_given_rate_needs_no_search() -> None:
    found, trial = soaked(Options(rate=1234.0))
    assert trial.slice.loads[0].rate_pps == found.summary.rate_pps == 1234.0
    assert (trial.count, found.summary.duration_ns) == (soak.SAMPLES, 60 * 10**9)
    assert found.total_throughput_pps is None


def test_a_burst_at_line_rate_comes_in_the_middle_of_each_interval() -> None:
    _, trial = soaked(Options(rate=10.0, duration=10.0, interval=2.0, burst=32))
    steady, burst = trial.slice.loads
    assert (steady.rate_pps, steady.count) == (10.0, None)
    assert (burst.begin_ns, burst.count, burst.size) == (10**9, 32, 64)
    assert burst.rate_pps == pytest.approx(10**8 / (84 * 8))


def test_its_document_is_valid_and_has_a_page() -> None:
    found, _ = soaked(Options(duration=10.0, interval=1.0))
    content = document([found], [dut(found.driver, found.nic)])
    (row,) = catalogue.rows([content])
    assert row.summary == found.summary
    page = report.html([content])
    for caption in ("Frames lost", "Latency, p99", "Memory available", "Over time"):
        assert caption in page
    assert catalogue.methods()["soak"].lines.csv([row]).count("\n") == 2


def test_memory_is_read_from_proc() -> None:
    assert Memory.parse(MEMINFO, SLABINFO) == Memory(200_000 * 1024, 12_000 * 1024, 10 * 512 + 100 * 256)
    assert Memory.parse(MEMINFO, None).skbs is None


def test_a_result_survives_the_cache() -> None:
    trial = SoakTrial(stand_on(FakeBench(lambda pps: pps)).spec(Workload(), 1000.0), 2)
    result = SoakResult(trial, (Slice(1, 2, 0, None, None, None, Memory(3, 4, None)),) * 2, ["a"])
    assert trial.restore(trial.store(result)) == result


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"load": 1.1}, "--load 1.1"),
        ({"load": 0.0}, "--load 0"),
        ({"load": 0.5, "rate": 5.0}, "--load and --rate.*give only one of them"),
        ({"rate": 0.9}, "--rate 0.9"),
        ({"rate": MAX_RATE_PPS + 1}, "--rate 1"),
        ({"duration": 0.0}, "--duration 0"),
        ({"duration": 1e6}, "--duration 1e\\+06"),
        ({"duration": 0.019}, "--duration 0.019"),
        ({"interval": 31.0}, "--interval 31"),
        ({"interval": 0.009}, "--interval 0.009"),
        ({"burst": -1}, "--burst -1"),
        ({"burst": soak.MAX_BURST_FRAMES + 1}, "--burst 10001: allowed are 0 to 10000"),
    ],
)
def test_nonsense_is_refused(options: dict[str, float], why: str) -> None:
    with pytest.raises(IrqlabError, match=why):
        Options(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"load": 1.0},
        {"rate": 1.0},
        {"rate": MAX_RATE_PPS},
        {"duration": 0.02},
        {"duration": 24 * 3600.0},
        {"interval": 30.0},
        {"interval": 0.01},
        {"burst": 0},
        {"burst": soak.MAX_BURST_FRAMES},
    ],
)
def test_the_limits_themselves_are_allowed(options: dict[str, float]) -> None:
    for name, value in options.items():
        assert getattr(Options(**options), name) == value


def test_a_sample_is_a_slice_with_its_memory() -> None:
    found = soak.Sample.of(Slice(1, 2, 3, 4, 5, 6, Memory(7, 8, 9), ("a", "b")))
    names = [name for name in Slice.__dataclass_fields__ if name not in ("memory", "kernel_messages")]
    assert [getattr(found, name) for name in names] == [1, 2, 3, 4, 5, 6]
    assert (found.memory_available_bytes, found.slab_bytes, found.skb_bytes) == (7, 8, 9)
    assert found.kernel_messages == ["a", "b"]


def test_a_soak_says_what_it_offered() -> None:
    found, trial = soaked(Options(rate=1000.0, duration=10.0, interval=1.0))
    assert found.method == "soak"
    assert trial.slice.drain_ns == soak.DRAIN_NS
    assert found.summary.sent == sum(sample.sent for sample in found.samples) == 10 * found.samples[0].sent > 0


def test_without_frames_there_is_no_worst_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = SoakResult(None, tuple(Slice(n, 0, 0, None, None, None, Memory(1, 1, None)) for n in range(2)), [])  # type: ignore[arg-type]
    runner = stand_on(FakeBench(lambda pps: pps))
    monkeypatch.setattr(runner, "trial", lambda _: silent)
    assert soak.run(runner, Workload(), Options(rate=1.0)).summary.worst_p99_ns is None


@dataclass
class InterruptedBench(LeakyBench):
    """Is interrupted after so many slices."""

    after: int = 0

    def forwarded(self, spec: Any) -> Any:
        if isinstance(spec, SoakTrial):
            spec.ended.extend(super().forwarded(spec).slices[: self.after])
            raise IrqlabError("interrupted")
        return super().forwarded(spec)


@pytest.mark.parametrize(("after", "kept"), [(0, None), (1, None), (4, 4)])
def test_what_an_interrupted_soak_has_measured_is_its_result(after: int, kept: int | None) -> None:
    runner = stand_on(InterruptedBench(lambda offered: min(offered, 50_000.0), after=after))
    with pytest.raises(IrqlabError):
        soak.run(runner, Workload(), Options(rate=1000.0, duration=10.0, interval=1.0))
    result = runner.draft()
    assert (None if result is None else len(result.samples)) == kept
    assert result is None or (result.summary.duration_ns, result.summary.lost) == (4 * 10**9, 1)


def test_what_has_ended_does_not_name_a_soak_in_the_cache() -> None:
    _, trial = soaked(Options(duration=10.0, interval=1.0))
    before = trial.specification()
    trial.ended.extend([None, None])  # type: ignore[list-item]
    assert trial.specification() == before == {"slice": trial.slice.specification(), "count": 10}
