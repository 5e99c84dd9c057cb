# SPDX-License-Identifier: GPL-2.0-or-later
"""Ensembles without QEMU: members, perturbations, spreads, how they are shown, and verdicts."""

from __future__ import annotations

import copy
import csv
import io
import struct
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from elftools.elf.elffile import ELFFile

from irqlab.cli.options import Request
from irqlab.compare import export, verdict
from irqlab.config.ensemble import VARIANTS, Ensemble, Member
from irqlab.config.testbed import TestbedConfig
from irqlab.config.workload import Workload
from irqlab.errors import IrqlabError
from irqlab.methods import catalogue
from irqlab.methods.metrics import METRICS
from irqlab.perturb import align, churn, rate
from irqlab.perturb import catalogue as perturb
from irqlab.present import plots, series, tape, terminal
from irqlab.present.series import Bar, Line, style
from irqlab.report import view
from irqlab.results.ensemble import collapse, spreads
from irqlab.runner.measure import measure
from irqlab.runner.runner import TrialRunner
from irqlab.spread import Spread
from irqlab.trials import testbed as testbeds
from irqlab.trials.testbed import Testbed
from tests.data.samples import sample
from tests.unit.fake_dut import FakeDut
from tests.unit.fakes import FakeBench


def test_one_member_is_not_perturbed() -> None:
    assert Ensemble().cast() == (None,)
    assert Request.of(driver=["e100"]).ensemble.single


def test_members_are_numbered() -> None:
    cast = Ensemble(3, ("phase",), 7).cast()
    assert [(member.number, member.seed, member.perturb) for member in cast if member] == [(n, 7, ("phase",)) for n in range(3)]
    assert [member.number for member in Ensemble(5, ("phase",), variants=2).cast() if member] == [0, 1, 4, 5, 8]


def test_random_numbers_are_those_of_seed_and_number() -> None:
    assert Member(1, 1).cheap("slab").random() == Member(1, 1).cheap("slab").random()
    others = (Member(2, 1).cheap("slab"), Member(1, 2).cheap("slab"), Member(1, 1).cheap("phase"))
    assert len({random.random() for random in (Member(1, 1).cheap("slab"), *others)}) == 4
    # What is in a snapshot has few variants, and the same for every seed.
    assert Member(1, 1).shared("layout").random() == Member(1 + VARIANTS, 5).shared("layout").random()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ensemble": 0}, "--ensemble 0: allowed are 1"),
        ({"ensemble": 101}, "to 100"),
        ({"ensemble": 5, "perturb": "phase,moon"}, "--perturb moon: allowed are align, entropy, layout"),
        ({"perturb": "phase"}, "such as --ensemble 5"),
    ],
)
def test_bad_ensembles_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(IrqlabError, match=said):
        Request.of(driver=["e100"], **given)


def test_all_is_perturbed_by_default() -> None:
    assert Request.of(driver=["e100"], ensemble=5, seed=3).ensemble == Ensemble(5, tuple(perturb.perturbations()), 3)
    assert Request.of(driver=["e100"], ensemble=5, perturb="slab,phase").ensemble.perturb == ("phase", "slab")


def test_member_0_is_not_perturbed() -> None:
    names = tuple(perturb.perturbations())
    for member in (None, Member(0, 1, names)):
        assert perturb.command_line(member) == ""
        assert perturb.modules(member, None, [1]) == [1]  # type: ignore[arg-type,list-item]
        assert (perturb.begins(member), perturb.prepared_with(member)) == ({}, {})


def test_what_is_in_a_snapshot_and_what_is_not() -> None:
    assert perturb.command_line(Member(1, 1, ("entropy",))).startswith("irqlab.entropy=")
    assert perturb.command_line(Member(VARIANTS, 1, ("entropy",))) == ""
    assert perturb.begins(Member(VARIANTS, 1, ("entropy", "phase"))) == {"phase": "irqlab.perturb.phase"}
    assert perturb.begins(Member(1, 1, ("entropy", "layout", "align"))) == {}


def test_a_trial_of_another_member_has_another_key(tmp_path: Path) -> None:
    def bed(member: Member | None) -> Any:
        config = TestbedConfig("e100", member=member)
        return testbeds.Testbed(config, SimpleNamespace(), [], SimpleNamespace())._begins()  # type: ignore[arg-type]

    phase = ("phase",)
    found = [bed(one) for one in (None, Member(0, 1, phase), Member(1, 1, phase), Member(2, 1, phase), Member(1, 2, phase))]
    assert found[0] == found[1] == {}
    assert len({str(one) for one in found}) == 4


def test_rates_are_a_few_ppm_lower_and_streams_have_other_phases() -> None:
    dut = FakeDut()
    perturb.begin(Member(1, 1, ("rate",)), dut)  # type: ignore[arg-type]
    stream = {"arrivals": {"kind": "constant", "rate_pps": 1e5}, "phase_ns": 5_000}
    trial = dut.adjust({"seed": 1, "streams": [dict(stream), {**stream, "phase_ns": 0}]})  # type: ignore[attr-defined]
    assert trial["seed"] != 1
    rates = {one["arrivals"]["rate_pps"] for one in trial["streams"]}
    assert len(rates) == 1
    assert 1 - rate.SLOWER_BY <= rates.pop() / 1e5 < 1
    phases = [one["phase_ns"] for one in trial["streams"]]
    assert 5_000 <= phases[0] < 15_001
    assert 0 <= phases[1] < 10_001


def test_a_recording_takes_a_few_ppm_longer() -> None:
    dut = FakeDut()
    perturb.begin(Member(1, 1, ("rate",)), dut)  # type: ignore[arg-type]
    gaps_ns = [1_000] * 100_000
    trial = dut.adjust({"seed": 1, "streams": [{"arrivals": {"kind": "recorded", "gaps_ns": gaps_ns}}]})  # type: ignore[attr-defined]
    (stream,) = trial["streams"]
    assert 1 < sum(stream["arrivals"]["gaps_ns"]) / 1e8 <= 1 + 1.01 * rate.SLOWER_BY
    assert set(stream["arrivals"]["gaps_ns"]) == {1_000, 1_001}
    assert 0 <= stream["phase_ns"] < 1_001


def test_allocators_are_churned_for_whole_ticks() -> None:
    clock = iter((1_000, 3_000_500))
    dut = FakeDut()
    dut.rpc = SimpleNamespace(call=lambda _: {"now_ns": next(clock)})  # type: ignore[attr-defined]
    perturb.begin(Member(1, 1, ("slab",)), dut)  # type: ignore[arg-type]
    ((words,),) = (dut.of("run"),)
    assert words[:2] == (churn.PLACE, "slab")
    assert dut.of("sleep") == [churn.TICKS_NS - 2_999_500]


def module() -> bytes:
    """A relocatable object with code, a symbol in it, and a relocation of it."""
    names = b"\0.text\0.rela.text\0.symtab\0.strtab\0"
    code = bytes(range(32))
    symbols = bytes(24) + struct.pack("<IBBHQQ", 0, 3, 0, 1, 0, 0) + struct.pack("<IBBHQQ", 1, 2, 0, 1, 16, 16)
    relocation = struct.pack("<QQq", 4, (1 << 32) | 2, -4)
    parts = [code, relocation, symbols, names]
    offsets = [64 + sum(len(part) for part in parts[:n]) for n in range(len(parts) + 1)]
    kinds = [(1, 1, 6, 0, 0, 0), (7, 4, 64, 3, 1, 24), (18, 2, 0, 4, 1, 24), (26, 3, 0, 0, 0, 0)]
    table = bytes(64)
    for (name, kind, flags, link, info, entry), offset, part in zip(kinds, offsets, parts, strict=False):
        table += struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, offset, len(part), link, info, 16, entry)
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, offsets[-1], 0, 64, 0, 0, 64, 5, 4)
    return head + b"".join(parts) + table


def test_code_is_shifted_with_its_symbols_and_relocations() -> None:
    elf = ELFFile(io.BytesIO(align.shifted(module(), 48)))
    text = elf.get_section_by_name(".text")
    assert text is not None
    assert text.data() == align.NOP * 48 + bytes(range(32))
    symbols = [symbol["st_value"] for symbol in elf.get_section_by_name(".symtab").iter_symbols()]  # type: ignore[union-attr]
    assert symbols == [0, 48, 64]
    (relocation,) = elf.get_section_by_name(".rela.text").iter_relocations()  # type: ignore[union-attr]
    assert relocation["r_offset"] == 52
    with pytest.raises(IrqlabError, match="no code"):
        align.shifted(module().replace(b".text\0", b".data\0"), 16)


ROW = {"method": "m", "frame_bytes": 64, "complete": True, "rate": 10.0, "none": None, "yes": True, "trials": [{"x": 1}]}


def test_spreads_are_those_of_numbers_that_all_members_have() -> None:
    rows = [
        {**ROW, "rate": value, "samples": [{"name": "a", "n": int(value)}] * (1 + (value > 11)), "deep": {"p": value}}
        for value in (10.0, 12.0, 11.0, 14.0)
    ]
    found = spreads(rows)
    assert found == {
        "rate": Spread(11.0, 10.0, 14.0),
        "deep.p": Spread(11.0, 10.0, 14.0),
    }
    alike = spreads(rows[1:2] + rows[3:])
    assert alike["samples.1.n"] == Spread(12, 12, 14)


def test_records_with_other_names_have_no_spread() -> None:
    rows = [{"samples": [{"function": name, "n": 1}]} for name in ("a", "b")]
    assert spreads(rows) == {}


def ensemble_document(factors: tuple[float, ...] = (1.0, 1.01, 0.98)) -> dict[str, Any]:
    """The sample, where each row is an ensemble whose members' figures differ by these factors."""
    content = sample()
    rows = []
    for row in content["measured"]["results"]:
        members = [scaled(row, factor) for factor in factors]
        for number, one in enumerate(members):
            one["ensemble"] = {"member": number}
        figures = msgspec.to_builtins(spreads(members))
        members[0]["ensemble"] |= {"members": len(factors), "seed": 1, "perturb": ["phase"], "figures": figures}
        rows += members
    content["measured"]["results"] = rows
    return content


def scaled(row: dict[str, Any], factor: float) -> dict[str, Any]:
    made = copy.deepcopy(row)
    for name in ("total_throughput_pps", "instructions_per_frame"):
        made[name] = None if made[name] is None else made[name] * factor
    for point in made["samples"]:
        for name, value in point.items():
            if isinstance(value, float) and name.endswith("pps"):
                point[name] = value * factor
    return made


def test_a_document_is_shown_by_its_medians() -> None:
    content = ensemble_document()
    whole = sample()
    shown, members = collapse(content)
    assert len(shown["measured"]["results"]) == len(whole["measured"]["results"])
    assert {len(many) for many in members} == {3}
    rows = catalogue.rows([content])
    assert [row.data["total_throughput_pps"] for row in rows] == [
        row["total_throughput_pps"] for row in whole["measured"]["results"]
    ]
    assert {len(row.members) for row in rows} == {3}
    assert all(row.members[1].data["ensemble"] == {"member": 1} for row in rows)


def test_rows_without_an_ensemble_are_as_they_were() -> None:
    content = sample()
    assert collapse(content)[0] is content


def test_tables_have_ranges_and_csv_has_columns_for_them() -> None:
    rows = catalogue.rows_by_method(catalogue.rows([ensemble_document()]))["throughput"]
    lines = catalogue.methods()["throughput"].lines
    table = lines.table(rows)
    place = [column.text for column in table.columns].index("Throughput")
    cell = table.rows[0][place]
    assert cell.low
    assert cell.range == f"{cell.low}\u2013{cell.high}"
    assert "range of the members" in table.note
    assert terminal.rich_table(table).row_count == len(rows)
    text = list(csv.DictReader(io.StringIO(lines.csv(rows))))
    first = text[0]
    pps = float(first["total_throughput_pps"])
    assert float(first["total_throughput_pps_min"]) == pytest.approx(0.98 * pps)
    assert float(first["total_throughput_pps_max"]) == pytest.approx(1.01 * pps)


def test_a_report_has_ranges_and_bands_everywhere() -> None:
    page = view.build([ensemble_document()])
    assert page.summary is not None
    assert any(cell.low for row in page.summary.rows for cell in row)
    svg = "".join(str(plot.svg) for section in page.sections for group in section.groups for plot in group.plots)
    assert "band-" in svg
    assert page.picture is not None
    assert "band-" in "".join(str(plot.svg) for plot in page.picture.plots)
    plain = view.build([sample()])
    assert [section.id for section in page.sections] == [section.id for section in plain.sections]


def test_lines_and_bars_are_laid_over_each_other() -> None:
    tapes = []
    for value in (1.0, 3.0, 2.0):
        with tape.recording() as noted:
            line = Line("series-0", "a", style(0), [(1.0, value), (2.0, value if value < 3 else None)])
            assert plots.forwarding([line], None) == ""
            assert plots.bars([Bar("bar-0", "a", style(0), value, f"{value:g}")], "what") == ""
        tapes.append(noted)
    with tape.over(tapes):
        given = tape.played("forwarding", tapes[0][0][1])
        (merged,) = series.spread(tapes[0][0][1][0], [arguments[0] for arguments in given])
        bars = plots.bars([Bar("bar-0", "a", style(0), 1.0, "1")], "what")
    assert [y for _, y in merged.points] == [2.0, 1.0]
    assert merged.band[0] == (1.0, 3.0)
    assert merged.band[1] != merged.band[1] or merged.band[1][0] != merged.band[1][0]  # a gap in one is a gap
    assert "a: 2" in bars
    assert "band-bar-0" in bars


def test_all_members_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(config: TestbedConfig) -> FakeBench:
        number = config.member.number if config.member else 0
        return FakeBench(lambda pps: min(pps, 10_000.0 + 100 * number), config=config)

    monkeypatch.setattr(Testbed, "resolve", resolve)

    def one(runner: TrialRunner, workload: Workload) -> list[Any]:
        found = runner.result("burst", workload)
        found.total_throughput_pps = runner.trial(runner.spec(workload, 50_000.0)).forwarded_pps
        found.summary = {}
        return [found]

    cast = Ensemble(3, ("phase",))
    outcome = measure([TestbedConfig("formula")], [Workload()], 1, one, "x", "x", [cast])
    assert outcome.error is None
    assert [row.ensemble.member for row in outcome.results if row.ensemble] == [0, 1, 2]
    first = outcome.results[0].to_json()["ensemble"]
    pps = [row.total_throughput_pps for row in outcome.results]
    assert first["members"] == 3
    assert first["figures"]["total_throughput_pps"] == {"median": pps[1], "min": pps[0], "max": pps[2]}
    alone = measure([TestbedConfig("formula")], [Workload()], 1, one, "x", "x")
    assert "ensemble" not in alone.results[0].to_json()


def compared(before: list[float], after: list[float], name: str = "throughput_pps") -> verdict.Line:
    """A metric of two ensembles."""

    def row(values: list[float]) -> dict[str, Any]:
        summary = {"base_pps": 1.0, "timed": 60_000, "profile": None}
        row = {"frame_bytes": 64, "bidirectional": False, "samples": []}
        rows = [{**row, "summary": {**summary, "metrics": {name: value}}} for value in values]
        return {**rows[0], "of_members": rows}

    (line,) = verdict.lines(row(before), row(after), fail_above=0.0)
    return line


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        ("throughput_pps", [10100.0, 10101.0, 10102.0], [10000.0, 10001.0, 10002.0], "FAILED"),
        ("throughput_pps", [10000.0, 10001.0, 10002.0], [10200.0, 10201.0, 10202.0], "better"),
        # Some members are within the range of the others.
        ("throughput_pps", [10200.0, 10201.0, 10000.0], [10000.0, 10001.0, 10002.0], "no difference"),
        ("throughput_pps", [10200.0, 10201.0, 10202.0], [10000.0, 10001.0, 10200.0], "no difference"),
        # Beyond, but by less than 0.2 %, or by less than the floor.
        ("throughput_pps", [100118.0, 100119.0, 100120.0], [100000.0, 100001.0, 100002.0], "no difference"),
        ("throughput_pps", [1050.0, 1050.0, 1050.0], [1000.0, 1000.0, 1000.0], "no difference"),
        # What is counted at the low load has no noise of a search.
        ("nic_reads_per_frame", [6.0, 6.0, 6.0], [6.02, 6.02, 6.02], "FAILED"),
        ("throughput_pps", [1000.0, 1000.0, 1000.0], [1000.0, 1000.0, 1000.0], "same"),
    ],
)
def test_a_difference_is_one_beyond_the_members_own(name: str, before: list[float], after: list[float], said: str) -> None:
    assert compared(before, after, name).verdict == said


def test_exports_have_the_ranges() -> None:
    row = {"driver": "a", "frame_bytes": 64, "bidirectional": False}
    case = export.Case(row, {**row, "driver": "b"}, [compared([1000.0, 1001.0, 1002.0], [1010.0, 1011.0, 1014.0])])
    (line,) = csv.DictReader(io.StringIO(export.comma_separated([case])))
    assert (line["comparison"], line["before_min"], line["after_max"]) == ("a to b", "1000.0", "1014.0")
    assert "| Noise |" in export.markdown([case])
    assert "0.40" in export.markdown([case])


def test_ensembles_of_two_sizes_are_not_compared() -> None:
    base = {"summary": {"base_pps": 1.0}, "frame_bytes": 64, "bidirectional": False}
    with pytest.raises(IrqlabError, match="ensembles of 1 and 5 members"):
        verdict.pairs([base], [{**base, "of_members": [base] * 5}])


def test_every_metric_has_a_floor() -> None:
    assert all(metric.floor > 0 for metric in METRICS)


def test_every_perturbation_says_what_differs_and_does_something() -> None:
    for name, one in perturb.perturbations().items():
        assert one.name == name
        assert one.help
        assert one.command_line or one.modules or one.begin
    assert Random("slab 1 1").random() == Member(1, 1).cheap("slab").random()
