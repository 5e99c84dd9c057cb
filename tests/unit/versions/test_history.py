# SPDX-License-Identifier: GPL-2.0-or-later
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import profile
from irqlab.qemu.cancellation import CancelledError
from irqlab.results.document import MethodResult
from irqlab.setup.kernel_packages import Offer
from irqlab.versions import history, history_report
from irqlab.versions.history import Entry, History
from irqlab.versions.history_report import Report

KERNELS = ["6.1", "6.12", "7.3"]


def row(throughput_pps: float) -> MethodResult:
    found = MethodResult("throughput", "e100", "i82557b", 64, bidirectional=False, mips=250)
    found.total_throughput_pps = throughput_pps
    found.summary = SimpleNamespace(rate_pps_per_direction=throughput_pps)
    return found


def profiled(rate_pps: float, *samples: tuple[str, str | None, str, int]) -> MethodResult:
    """A profile of ten frames; samples: function, module, owner, instructions."""
    found = MethodResult("profile", "e100", "i82557b", 64, bidirectional=False, mips=250)
    found.samples = [profile.Sample(name, module, owner, "softirq", count, 1) for name, module, owner, count in samples]
    total = sum(count for *_, count in samples)
    found.summary = SimpleNamespace(frames=10, rate_pps=rate_pps, instructions=total, interrupts=5)
    return found


def entry(kernel: str, driver: str, throughput_pps: float, functions: dict[str, dict[str, float]], size: int = 64) -> Entry:
    total = sum(sum(found.values()) for found in functions.values())
    return Entry(kernel, driver, size, "i82557b", throughput_pps, 20e3, total, 1.0, functions)


@pytest.fixture
def made() -> History:
    """e100 on three kernels, 8139cp on two: the third lacks it."""
    found: Any = SimpleNamespace(release="6.1.0-1-amd64", package="linux-image-6.1.0-1-amd64", version="6.1-1", sha256="00")
    before = {"driver": {"poll [e100]": 700.0}, "primitives": {"lock": 100.0, "unlock": 50.0}}
    after = {"driver": {"poll [e100]": 700.0}, "primitives": {"lock": 140.0, "unlock": 50.0}, "other": {"new": 0.01}}
    entries = [entry(kernel, "e100", 50e3, before if kernel == "6.1" else after) for kernel in KERNELS]
    entries += [entry(kernel, "8139cp", 40e3, before) for kernel in KERNELS[:2]]
    entries.append(Entry("7.3", "8139cp", 64, why="no module 8139cp"))
    return History(KERNELS, {"6.1": found}, entries)


def test_the_newest_kernel_of_each_series_and_no_realtime_ones() -> None:
    offers = [
        Offer(release, "1", "trixie") for release in ("6.1.0-1-amd64", "6.1.0-1-rt-amd64", "6.1.0-2-amd64", "7.3.4+deb13-amd64")
    ]
    assert history.default_kernels(offers) == ["6.1", "7.3"]


def test_drivers_that_can_be_measured() -> None:
    qemu: Any = SimpleNamespace(devices=lambda: {"i82557b", "i82551", "rtl8139", "virtio-net-pci"})
    assert history.default_drivers(qemu) == ["8139cp", "e100", "e1000e"], "the last one on a model of the tester's own"


def test_lists_on_the_command_line() -> None:
    assert history.names("--kernels", "6.1, 7.3,6.1") == ["6.1", "7.3"]
    with pytest.raises(IrqlabError, match=r"--kernels .6\.1,.: a name is missing"):
        history.names("--kernels", "6.1,")
    assert history.driver_of("irqmod_i8255x+napi+off", TestbedConfig("")).dut.schemes.rx == "napi"
    with pytest.raises(IrqlabError, match="kernels are named by --kernels"):
        history.driver_of("e100+kernel=6.12", TestbedConfig(""))


def test_functions_are_summed_over_contexts_and_compilers_suffixes() -> None:
    one = Entry("6.1", "e100", 64)
    found = profiled(
        20e3, ("poll", "e100", "driver", 100), ("lock.isra.0", None, "primitives", 30), ("lock", None, "primitives", 10)
    )
    history.fill(one, found)
    assert one.functions == {"driver": {"poll [e100]": 10.0}, "primitives": {"lock": 4.0}}
    assert one.by_owner == {"driver": 10.0, "primitives": 4.0}
    assert one.instructions_per_frame == 14.0
    assert one.interrupts_per_frame == 0.5


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Testbeds that are kernels' names; throughput of each kernel, or an error. Returns what was counted."""
    rates: dict[str, Any] = {"6.1": 60e3, "6.12": 50e3, "7.3": 58e3}
    seen: dict[str, Any] = {"rates": rates, "counted": {}, "busy_above": {}}

    def resolve(config: TestbedConfig) -> Any:
        if config.driver == "nonesuch":
            raise IrqlabError("no module nonesuch\nat all")
        return SimpleNamespace(kernel=config.kernel, close=lambda: None)

    def search(on: Any, _: Workload) -> tuple[MethodResult, dict[str, Any]]:
        found = rates[on.bench.kernel]
        if isinstance(found, Exception):
            raise found
        return row(found), {"kernel": on.bench.kernel}

    def count(on: Any, workload: Workload, rate_pps: float) -> MethodResult:
        seen["counted"][on.bench.kernel] = rate_pps
        full = seen["busy_above"].get(on.bench.kernel, 1e9) < rate_pps
        return profiled(rate_pps, ("poll", "e100", "driver", 50_000_000 if full else 100))

    monkeypatch.setattr(history.Testbed, "resolve", resolve)
    monkeypatch.setattr(history, "_search", search)
    monkeypatch.setattr(history, "_count", count)
    return seen


def measured(drivers: tuple[str, ...] = ("e100",), **missing: str) -> History:
    found: dict[str, Any] = {name: SimpleNamespace(package=name) for name in KERNELS if name not in missing.values()}
    made = History(KERNELS, found)
    why = dict.fromkeys(missing.values(), "cannot be fetched")
    history.measure(made, why, {name: replace(TestbedConfig(""), driver=name) for name in drivers}, [Workload()], 2)
    return made


def test_all_kernels_get_half_the_lowest_throughput(bench: dict[str, Any]) -> None:
    made = measured()
    assert bench["counted"] == dict.fromkeys(KERNELS, 25e3)
    assert [one.throughput_pps for one in made.entries] == [60e3, 50e3, 58e3]
    assert [one.kernel for one in made.entries] == KERNELS
    assert [dut["kernel"] for dut in made.duts] == KERNELS


def test_if_a_processor_does_not_idle_all_kernels_get_half_the_load(bench: dict[str, Any]) -> None:
    bench["busy_above"]["7.3"] = 10e3
    made = measured()
    assert bench["counted"] == dict.fromkeys(KERNELS, 6250.0)
    assert [one.rate_pps for one in made.entries] == [6250.0] * 3
    bench["busy_above"]["7.3"] = 0.0
    assert measured().entries[0].rate_pps == 50e3 * history.LOWEST_SHARE


def test_what_cannot_be_measured_says_why_and_the_rest_goes_on(bench: dict[str, Any]) -> None:
    bench["rates"]["6.12"] = IrqlabError("the DUT's kernel panicked\nwith a trace")
    made = measured(("nonesuch", "e100"), absent="7.3")
    assert [(one.driver, one.kernel, one.why) for one in made.entries] == [
        ("nonesuch", "6.1", "no module nonesuch"),
        ("nonesuch", "6.12", "no module nonesuch"),
        ("nonesuch", "7.3", "cannot be fetched"),
        ("e100", "6.1", ""),
        ("e100", "6.12", "the DUT's kernel panicked"),
        ("e100", "7.3", "cannot be fetched"),
    ]
    assert bench["counted"] == {"6.1": 30e3}
    assert made.entries[3].instructions_per_frame == 10.0


def test_ctrl_c_is_no_reason(bench: dict[str, Any]) -> None:
    bench["rates"]["6.12"] = CancelledError("interrupted")
    with pytest.raises(IrqlabError, match="interrupted"):
        measured()


def test_the_tables(made: History) -> None:
    content = Report(made, ["irqlab", "history"]).to_json()
    speeds, costs, owners = history_report.tables(content)
    assert [column.text for column in speeds.columns] == ["Driver", *KERNELS, "Change"]
    assert [[cell.text for cell in line] for line in costs.rows] == [
        ["e100", "850", "890", "890", "+4.7\u202f%", "20.0"],
        ["8139cp", "850", "850", "\u2013", "0", "20.0"],
    ]
    assert costs.rows[1][3].title == "no module 8139cp"
    assert [column.text for column in owners.columns][-4:] == ["Driver", "Primitives", "Other", "Not measured"]
    assert [cell.text for cell in owners.rows[1]] == ["e100", "6.12", "50.0", "890", "+4.7\u202f%", "700", "190", "0", ""]
    assert owners.rows[-1][-1].text == "no module 8139cp"
    assert owners.breaks == {2}


def test_functions_that_changed(made: History) -> None:
    found = history_report.functions(made.entries[0], made.entries[1])
    assert [[cell.text for cell in line] for line in found.rows] == [
        ["lock", "primitives", "100.0", "140.0", "+40.0"],
        ["3 more", "", "", "", "+0.0"],
    ]


def test_owners_beyond_the_largest_are_other() -> None:
    many = {owner: {owner: 100.0 - n} for n, owner in enumerate(history_report.OWNERS)}
    one = entry("6.1", "e100", 50e3, many)
    shown = history_report.owners([one])
    assert len(shown) == history_report.MAX_OWNERS + 1
    assert shown[-1] == "other"
    assert sum(history_report.condensed(one, shown).values()) == pytest.approx(one.instructions_per_frame)


def test_the_files(made: History, tmp_path: Path) -> None:
    report = Report(made, ["irqlab", "history"], complete=False)
    report.write(tmp_path)
    content = history_report.read(tmp_path / "history.json")
    assert content == json.loads(json.dumps(report.to_json()))
    assert [one for line in history_report.lines_of(content) for one in line] == made.entries
    assert content["entries"][0]["by_owner"] == {"driver": 700.0, "primitives": 150.0}
    page = (tmp_path / "history.html").read_text()
    for text in ("2 drivers on 3 kernels", "interrupted", "8139cp on 7.3: no module 8139cp", "6.1.0-1-amd64"):
        assert text in page
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(IrqlabError, match="was not written by irqlab history"):
        history_report.read(tmp_path / "other.json")


def test_several_frame_sizes_have_a_column(made: History) -> None:
    made.entries += [replace(one, frame_bytes=512) for one in made.entries]
    content = Report(made, ["irqlab", "history"]).to_json()
    assert [column.text for column in history_report.tables(content)[0].columns][:2] == ["Driver", "Frame"]
    assert [line[0].frame_bytes for line in history_report.lines_of(content)] == [64, 64, 512, 512]
