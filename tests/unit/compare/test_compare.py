# SPDX-License-Identifier: GPL-2.0-or-later
"""Sides, verdicts, exports: without QEMU."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from irqlab import units
from irqlab.cli import compare
from irqlab.cli.report import command
from irqlab.compare import export, loads, matrix, sides, tables, verdict
from irqlab.config.schemes import COMBINATIONS, USB_COMBINATIONS, Schemes
from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods.metrics import METRICS
from irqlab.present.tables import Column, Table
from irqlab.report import comparison, render
from tests.data.samples import sample

COMMON = TestbedConfig("?")
FIGURES = {metric.name: 20_000.0 for metric in METRICS}
BASE = 50_000.0


def row(driver: str = "8139cp", base_pps: float = BASE, points: list[dict[str, Any]] | None = None, **changed: Any) -> Any:
    profile = {"frames": 10} if points is not None else None
    return {
        "method": "metrics", "complete": True, "driver": driver, "rx_scheme": None, "tx_scheme": None, "variant": None,
        "nic": "rtl8139", "mips": 250, "frame_bytes": 64, "bidirectional": False, "samples": points or [],
        "summary": {
            "base_pps": base_pps, "cost_pps": base_pps / 5, "below_pps": base_pps * 0.9, "overload_pps": base_pps * 2,
            "idle_ratio": 0.6, "timed": 60_000, "metrics": {**FIGURES, **changed}, "profile": profile,
        },
    }  # fmt: skip


def side(*members: dict[str, float], **more: Any) -> list[Any]:
    """The rows of an ensemble: `members` are the figures of each that are not those of FIGURES."""
    rows = [{**row(**more, **figures), "ensemble": {"member": number}} for number, figures in enumerate(members)]
    rows[0]["ensemble"] |= {"members": len(rows), "seed": 1, "perturb": ["phase"]}
    return rows


def document(*rows: Any) -> dict[str, Any]:
    return {"measured": {"results": list(rows)}}


def compared(before: list[Any], after: list[Any], fail_above: float | None = None) -> dict[str, verdict.Line]:
    """The lines of two sides by metric."""
    rows = (verdict.measured(document(*one))[0] for one in (before, after))
    return {line.metric.name: line for line in verdict.lines(*rows, fail_above)}


@pytest.mark.parametrize(
    ("text", "driver", "schemes"),
    [
        ("8139cp", "8139cp", {}),
        ("irqmod_rtl8139cp+napi+off", "irqmod_rtl8139cp", {"rx": "napi", "tx": "off"}),
        ("irqmod_i8255x+interrupt+interrupt", "irqmod_i8255x", {"rx": "interrupt", "tx": "interrupt"}),
        ("irqmod_i8255x+coalesce", "irqmod_i8255x", {"tx": "coalesce"}),
        ("irqmod_i8255x+tx=interrupt", "irqmod_i8255x", {"tx": "interrupt"}),
        ("irqmod_i8255x+NAPI-TX-OFF", "irqmod_i8255x", {"variant": "NAPI-TX-OFF", "rx": "napi", "tx": "off", "weight": 32}),
        ("./a.ko+timer+rx-usecs=250", "./a.ko", {"rx": "timer", "rx_usecs": 250}),
        ("./a+b,c.ko", "./a+b,c.ko", {}),
        ("./a+b/c+d.ko+napi+off", "./a+b/c+d.ko", {"rx": "napi", "tx": "off"}),
    ],
)
def test_a_driver_and_its_options(text: str, driver: str, schemes: dict[str, Any]) -> None:
    testbed = sides.parse(text, COMMON).testbed
    assert testbed is not None
    assert testbed.driver == driver
    assert {name: value for name, value in vars(testbed.dut.schemes).items() if value is not None} == schemes


def test_options_of_the_bed_and_kernels() -> None:
    testbed = sides.parse("8139cp+ring=32+kernel=6.12.0+nic=rtl8139", COMMON).testbed
    assert testbed is not None
    assert (testbed.dut.ring, testbed.kernel, testbed.nic) == (32, "6.12.0", "rtl8139")
    testbed = sides.parse("8139cp+kernel=6.12.107+deb12-amd64+ring=32", COMMON).testbed  # a release has a plus of its own
    assert testbed is not None
    assert (testbed.dut.ring, testbed.kernel) == (32, "6.12.107+deb12-amd64")
    testbed = sides.parse("linux-image-6.12.0", COMMON, "8139cp+ring=32").testbed
    assert testbed is not None
    assert (testbed.driver, testbed.kernel, testbed.dut.ring) == ("8139cp", "linux-image-6.12.0", 32)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must start with a driver"),
        ("8139cp+fractal", "options are"),
        ("8139cp+rx=", "options are"),
        ("8139cp+ring=many", "must be a number"),
        ("8139cp+napi+rx=de", "given twice"),
        ("irqmod_i8255x+napi+napi", "options are"),
        ("irqmod_i8255x+variant=all", "one receive and one transmit scheme"),
        ("linux-image-6.12.0", "--driver"),
        ("nowhere.json", "cannot read"),
    ],
)
def test_invalid_sides_are_reported(text: str, said: str) -> None:
    with pytest.raises(IrqlabError, match=said):
        sides.parse(text, COMMON)


@pytest.mark.parametrize("text", ["irqmod_lan78xx+standard", "irqmod_lan78xx+rx=standard"])
def test_schemes_of_usb_are_known(text: str) -> None:
    side = sides.parse(text, COMMON).testbed
    assert side is not None
    assert side.dut.schemes == Schemes(rx="standard")


def test_equal_figures_have_the_verdict_same() -> None:
    lines = verdict.lines(row(), row(), fail_above=0.0)
    assert len(lines) == len(METRICS)
    assert {(line.change, line.verdict) for line in lines} == {(0.0, "same")}


def test_worse_means_less_throughput_or_higher_cost() -> None:
    after = row(throughput_pps=19_600.0, instructions_per_frame=19_600.0, interrupts_per_frame=20_100.0, latency_p50_ns=20_200.0)
    found = {line.metric.name: line for line in verdict.lines(row(), after, fail_above=0.01)}
    assert found["throughput_pps"].verdict == "FAILED"
    assert found["throughput_pps"].worse_by == pytest.approx(0.02)
    assert found["instructions_per_frame"].verdict == "better"
    assert found["interrupts_per_frame"].verdict == "worse"
    assert found["latency_p50_ns"].verdict == "worse"  # by what is allowed, not more
    judged = verdict.lines(row(), after, 0.01, ("latency_p50_ns",))
    assert not any(line.failed for line in judged)


def test_an_increase_from_zero_is_infinite() -> None:
    (line,) = [n for n in verdict.lines(row(interrupts_per_frame=0.0), row(), 5.0) if n.metric.name == "interrupts_per_frame"]
    assert line.change == math.inf
    assert line.failed


def test_functions_that_gained_are_named() -> None:
    def point(name: str, instructions: int) -> dict[str, Any]:
        return {"function": name, "instructions": instructions}

    before = row(points=[point("rx", 100), point("tx", 50)])
    after = row(points=[point("rx", 100), point("tx", 60), point("loop", 1000)])
    assert [(c.name, c.change) for c in verdict.functions(before, after)] == [("loop", 100.0), ("tx", 1.0)]
    assert verdict.functions(before, before) == []


def test_only_results_of_equal_workloads_are_compared() -> None:
    assert len(verdict.pairs([row()], [row()])) == 1
    with pytest.raises(IrqlabError, match="different loads"):
        verdict.pairs([row(base_pps=40_000.0)], [row()])
    both = [row(), row(base_pps=40_000.0)]
    assert verdict.pairs(both, both[1:]) == [(both[1], both[1])]
    assert verdict.pairs(both, both) == [(both[0], both[0])]


@pytest.mark.parametrize("text", ["-1%", "many", "2000"])
def test_bad_thresholds(text: str) -> None:
    with pytest.raises(IrqlabError, match="per cent"):
        verdict.parse_threshold(text)


def test_thresholds_and_names() -> None:
    assert verdict.parse_threshold("1%") == 0.01
    assert verdict.parse_threshold("0.5") == 0.005
    assert verdict.parse_judged("throughput_pps, latency_p99_ns") == ("throughput_pps", "latency_p99_ns")
    with pytest.raises(IrqlabError, match="throughput_pps"):
        verdict.parse_judged("speed")
    with pytest.raises(IrqlabError, match="--fail-on latency_max_ns: allowed are throughput_pps"):
        verdict.parse_judged("latency_max_ns")


def test_exports() -> None:
    found = list(export.cases([document(row(), row("e<1000>", throughput_pps=19_600.0))], 0.01))
    suite = ElementTree.fromstring(export.junit(found).partition("\n")[2]).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == (str(len(METRICS)), "1")
    assert "worse by 2.00%" in str([f.get("message") for f in suite.iter("failure")])
    assert "**FAILED**" in export.markdown(found)
    said = (
        "FAILED: e\\<1000\\> against 8139cp: worse by more than allowed: throughput -2.00 % (one run of each: noise is not known)"
    )
    assert f"{said}; allowed: 1 %." in export.markdown(found)
    assert suite.findtext("system-out", "").startswith("FAILED: e<1000> against 8139cp")
    assert "e\\<1000\\>" in export.markdown(found)
    assert len(export.comma_separated(found).splitlines()) == len(METRICS) + 1
    alone = list(export.cases([document(row(), row("e100", base_pps=20_000.0))], 0.01))
    assert [one.name for one in alone] == ["8139cp", "e100"]
    with pytest.raises(IrqlabError, match="give --method or --format"):
        command([Path("results.json")], "junit", "loss")
    with pytest.raises(IrqlabError, match="nothing to export"):
        list(export.cases([document({**row(), "method": "loss"})]))


def test_two_files_are_exported_as_they_are_compared() -> None:
    """Each has the loads for a slower side, too; only the highest that both have counts."""
    files = [
        document(row(), row(base_pps=40_000.0)),
        document(row("new"), row("new", base_pps=40_000.0, throughput_pps=18_000.0)),
    ]
    (one,) = export.cases(files, 0.01)
    ((before, after),) = verdict.pairs(*map(verdict.measured, files))
    assert (one.before, one.after) == (before, after)
    assert one.answer == "Passed: new against 8139cp: no figure differs; allowed: 1 %."


def test_schemes_of_a_matrix_depend_on_the_bus() -> None:
    pci, usb = matrix.expand(["all"], COMBINATIONS), matrix.expand(["all"], USB_COMBINATIONS)
    assert len(pci) == len(COMBINATIONS)
    assert "adaptive+off" in pci
    assert usb == ["hybrid+interrupt", "napi+interrupt", "standard+interrupt", "timer+interrupt"]
    assert f"all ({len(COMBINATIONS)}; USB: 4); variants (6)" in matrix.COUNTS
    for name in (*pci, *usb):
        sides.parse(f"irqmod_x+{name}", COMMON)


def test_matrix_schemes_and_csv() -> None:
    assert len(matrix.expand(matrix.schemes("variants,napi+off, variants"), COMBINATIONS)) == 7
    assert matrix.schemes(None) == []
    with pytest.raises(IrqlabError, match="missing"):
        matrix.schemes("napi+off,,")
    lines = matrix.to_csv([row(), {**row(), "complete": False}]).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("8139cp,,,,rtl8139,250,64,False,20000.0")


def test_an_unknown_revision_is_reported(tmp_path: Path) -> None:
    for text in ("git:HEAD", "git::8139cp", "git:--output=x:irqmod_i8255x"):
        with pytest.raises(IrqlabError, match="git:REVISION:DRIVER"):
            sides.parse(text, COMMON)
    with pytest.raises(IrqlabError, match="git has no no-such-revision"):
        sides.parse("git:no-such-revision:irqmod_i8255x", COMMON)


def test_a_metric_of_one_side_alone_is_listed_and_one_of_neither_is_not() -> None:
    old, new = row(nic_reads_per_frame=None, latency_p50_ns=None), row(nic_reads_per_frame=None, latency_p99_ns=None)
    names = [line.metric.name for line in verdict.lines(old, new)]
    assert "nic_reads_per_frame" not in names
    assert {"latency_p50_ns", "latency_p99_ns"} < set(names)
    assert len(names) == len(METRICS) - 1


def test_rows_are_paired_by_size_and_direction() -> None:
    before, after = [row(), row() | {"frame_bytes": 128}], [row("new") | {"frame_bytes": 128}]
    assert verdict.pairs(before, after) == [(before[1], after[0])]


def test_functions_need_a_profile_of_both_sides() -> None:
    profiled, plain = row(points=[]), row()
    assert verdict.functions(profiled, plain) == verdict.functions(plain, profiled) == []


def test_thresholds_and_names_are_read() -> None:
    assert [verdict.parse_threshold(text) for text in (None, "0", "1000%", " 0.5%")] == [None, 0, 10, 0.005]
    for bad in ("-0.1", "1000.1", "much"):
        with pytest.raises(IrqlabError, match=f"--fail-above {bad}: allowed are 0 to 1000"):
            verdict.parse_threshold(bad)
    assert verdict.parse_judged(None) == ()
    assert verdict.parse_judged("throughput_pps, latency_p50_ns") == ("throughput_pps", "latency_p50_ns")


def test_objects_of_which_more_lines_are_used_are_named() -> None:
    def lined(lines: int) -> dict[str, Any]:
        one = {"kind": "sk_buff", "object": "sk_buff", "line": 0, "field": "len", "loads": 1, "stores": 0, "misses": [0, 0]}
        memory = {"levels": ["L1I", "L1D", "L2"], "objects": {"sk_buff": 1}, "fields": [{**one, "lines": lines}]}
        found = row(points=[{"function": "f", "instructions": 10}])
        return {**found, "summary": {**found["summary"], "profile": {"frames": 10, "memory": memory}}}

    def found(before: Any, after: Any) -> list[list[str]]:
        *_, table = tables.of_pair(before, after, verdict.lines(before, after), ("a", "b"))
        return [[cell.text for cell in line] for line in table.rows]

    assert found(lined(20), lined(35))[0] == ["sk_buff", "2.00", "3.50", "+1.50"]
    assert found(lined(20), lined(20)) == [["none", "", "", "0"]]
    assert len(list(tables.of_pair(row(), lined(20), [], ("a", "b")))) == 1


def points(**instructions: float) -> list[dict[str, Any]]:
    """A profile of ten frames."""
    return [{"function": name, "instructions": value * 10} for name, value in instructions.items()]


def profiled(*members: dict[str, float]) -> list[Any]:
    """An ensemble with these instructions per frame by function."""
    rows = side(*({"instructions_per_frame": sum(one.values())} for one in members), points=[])
    for one, counted in zip(rows, members, strict=True):
        one["samples"] = points(**counted)
    return rows


def test_cost_is_what_functions_gained_beyond_what_members_differ_by() -> None:
    """The idle loop differs between members by more than the change: it does not count, nor does it hide the change."""
    idle = (300.0, 450.0, 300.0, 450.0, 420.0, 450.0)
    before = profiled(*({"xmit": 141.0, "stack": 6959.0, "idle": one} for one in idle))
    after = profiled(*({"xmit": 143.0, "stack": 6959.0, "idle": one} for one in reversed(idle)))
    line = compared(before, after, 0.01)["instructions_per_frame"]
    assert (line.verdict, verdict.change_text(line)) == ("worse", "+0.03\u202f%")
    assert line.before is not None
    assert line.after == line.before + 2
    rows = [verdict.measured(document(*one))[0] for one in (before, after)]
    assert [(one.name, one.change) for one in verdict.functions(*rows)] == [("xmit", 2.0)]
    assert compared(before, before)["instructions_per_frame"].verdict == "same"
    assert compared(before, after, 0.0002)["instructions_per_frame"].verdict == "FAILED"


def test_less_than_an_instruction_per_frame_is_no_difference() -> None:
    before, after = (profiled(*[{"xmit": cost, "stack": 7000.0}] * 6) for cost in (141.0, 141.9))
    assert compared(before, after, 0.0)["instructions_per_frame"].verdict == "no difference"


def test_a_figure_of_some_members_only_is_not_judged() -> None:
    old, new = (side(*({"throughput_pps": pps - n * 100.0} for n in range(6))) for pps in (50_000.0, 40_000.0))
    for rows, lines in ((old, 100.0), (new, 200.0)):
        rows[0]["summary"]["metrics"]["code_lines_per_frame"] = lines
        for one in rows[1:]:
            one["summary"]["metrics"].pop("code_lines_per_frame", None)
    found = compared(old, new, 0.01)
    line = found["throughput_pps"]
    assert (line.before, line.after, line.verdict) == (49_700.0, 39_700.0, "FAILED")
    assert found["code_lines_per_frame"].verdict == "not judged"


def test_one_run_of_each_differs_beyond_the_floor_and_says_that_noise_is_not_known() -> None:
    def said(pps: float) -> tuple[str, str]:
        before, after = row(throughput_pps=50_000.0), row(throughput_pps=pps)
        lines = verdict.lines(before, after, 0.0)
        line = next(line for line in lines if line.metric.name == "throughput_pps")
        return line.verdict, verdict.answer([(after, [line])], ("a", "b"))

    assert said(49_901.0)[0] == "no difference"
    text, sentence = said(49_800.0)
    assert text == "FAILED"
    assert "one run of each: noise is not known" in sentence


def test_a_percentile_with_few_frames_beyond_it_is_only_shown() -> None:
    before = side(*({"latency_p99_ns": 70_000.0, "latency_p999_ns": 80_000.0, "latency_max_ns": 90_000.0} for _ in range(6)))
    after = side(*({"latency_p99_ns": 79_000.0, "latency_p999_ns": 99_000.0, "latency_max_ns": 199_000.0} for _ in range(6)))
    for rows in (before, after):
        for one in rows:
            one["summary"]["timed"] = 9_000
    found = compared(before, after, 0.01)
    assert [found[f"latency_{name}_ns"].verdict for name in ("p99", "p999", "max")] == ["FAILED", "not judged", "not judged"]
    for one in after:
        one["summary"]["timed"] = 4_900
    assert not any(line.failed for line in compared(before, after, 0.01).values())


def test_the_answer_is_one_sentence() -> None:
    def said(after: list[Any], fail_above: float | None = None) -> str:
        rows = [verdict.measured(document(*one))[0] for one in (before, after)]
        return units.plain(verdict.answer([(rows[1], verdict.lines(*rows, fail_above))], ("old.ko", "new.ko")))

    before = side(*[{"throughput_pps": 50_000.0}] * 6)
    slow = side(*[{"throughput_pps": 47_500.0, "latency_p50_ns": 18_000.0}] * 6)
    once = "(all 6 members of a side beyond all of the other)"
    assert said(before) == "new.ko against old.ko: no figure differs."
    assert said(before, 0.01) == "Passed: new.ko against old.ko: no figure differs; allowed: 1 %."
    assert said(slow) == f"new.ko against old.ko: worse: throughput -5.00 %; better: latency, p50 -10.00 % {once}."
    assert said(slow, 0.01) == (
        "FAILED: new.ko against old.ko: worse by more than allowed: throughput -5.00 %; better: latency, p50 -10.00 % "
        f"{once}; allowed: 1 %."
    )
    reads = side(*[{"throughput_pps": 50_000.0, "nic_reads_per_frame": 20_020.0}] * 6)
    assert said(reads) == f"new.ko against old.ko: worse: NIC register reads per frame +20.00 (+0.10 %) {once}."
    near = side(*({"throughput_pps": 50_001.0 + n} for n in range(6)))
    assert said(near, 0.0) == "Passed: new.ko against old.ko: no difference beyond noise; allowed: 0 %."


@pytest.mark.parametrize(
    ("idle", "said"),
    [(0.7, "(CPU idle for 70 %)"), (0.04, "CPU idle for 4 %: busy, so instructions"), (None, "(idle time not known)")],
)
def test_the_table_says_at_which_loads_and_whether_the_processor_idles(idle: float | None, said: str) -> None:
    after = row()
    after["summary"]["idle_ratio"] = idle
    before = {**row(), "summary": {**row()["summary"], "idle_ratio": idle}}
    found = units.plain(tables.heading(before, after))
    assert found.startswith("64-byte frames, one way; costs at 10.0 kpps (")
    assert said in found
    assert "latency at 45.0, overload 100.0; the same for both sides" in found


def test_a_report_shows_the_loads_that_were_compared() -> None:
    file = document(row(), row(base_pps=40_000.0), {**row(), "method": "throughput"})
    left = compare._at_loads(file, [(row(base_pps=40_000.0), row(base_pps=40_000.0))])["measured"]["results"]
    assert [(one["method"], one["summary"]["base_pps"]) for one in left] == [("metrics", 40_000.0), ("throughput", BASE)]


def test_the_other_side_of_a_file_is_offered_one_of_its_loads() -> None:
    kept = [row(), row(base_pps=40_000.0)]
    assert [loads.known_base(kept, Workload(), base) for base in (63_000.0, 50_000.0, 40_000.0)] == [50_000.0, 50_000.0, 40_000.0]
    with pytest.raises(IrqlabError, match="measure both sides in one command"):
        loads.known_base(kept, Workload(), 31_500.0)
    with pytest.raises(IrqlabError, match="no result for frame size 512"):
        loads.known_base(kept, Workload(size=512), 50_000.0)


def test_a_report_begins_with_the_answer_and_tells_two_modules_of_a_name_apart() -> None:
    content = sample()
    mine = [one for one in content["measured"]["results"] if one["method"] == "metrics" and one["frame_bytes"] == 64]
    content["measured"]["results"] = [{**one, "driver": "my8139", "rx_scheme": None, "tx_scheme": None} for one in mine[:1] * 2]
    figures = Table("Figures", [Column("Figure")], [])
    functions = Table("Functions that gained", [Column("Function")], [])
    page = comparison.page([content], ("a/my8139.ko", "b/my8139.ko"), "FAILED: it is slower.", True, [figures, functions])
    text = render(page)
    places = [text.index(what) for what in ("FAILED: it is slower.", "Figures", "Functions that gained", "Side by side</h2>")]
    assert places == sorted(places)
    assert {"a/<wbr>my8139.ko", "b/<wbr>my8139.ko"} <= set(re.findall(r"[ab]/<wbr>my8139\.ko", text)) or "b/my8139.ko" in text
    assert page.sections[0].groups[0].tables == [functions]
