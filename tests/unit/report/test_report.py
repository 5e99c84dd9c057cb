# SPDX-License-Identifier: GPL-2.0-or-later
import copy
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import matplotlib as mpl
import pytest

from irqlab import report
from irqlab.errors import IrqlabError
from irqlab.methods import catalogue
from irqlab.present import plots, series
from irqlab.present.series import Line
from irqlab.report import view
from tests.data.samples import sample

SECTIONS = ("throughput", "loss", "latency", "cost", "burst", "recovery", "profile")
VOID = {"meta", "wbr", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Parses a page and reports unclosed elements; empty SVG elements are self-closing."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).replace("\u202f", " ").split())

    def ids(self) -> list[str]:
        return [a["id"] or "" for _, a in self.tags if "id" in a]


def only(*methods: str) -> dict[str, Any]:
    document = sample()
    document["measured"]["results"] = [r for r in document["measured"]["results"] if r["method"] in methods]
    return document


def row(document: dict[str, Any], method: str) -> dict[str, Any]:
    return next(r for r in document["measured"]["results"] if r["method"] == method)


def figures(text: str) -> dict[str, str]:
    """The plots by their caption; of several with the same one, the first."""
    found: dict[str, str] = {}
    for caption, content in re.findall(r"<figure>\s*<figcaption>(.*?)</figcaption>(.*?)</figure>", text, re.S):
        found.setdefault(caption.replace("\u202f", " "), content)
    return found


def gids(svg: str, kind: str) -> list[str]:
    return re.findall(rf'id="p\d+-({kind}-[\w-]+|{kind})"', svg)


@pytest.fixture(scope="module")
def full() -> str:
    return report.html([sample()])


def sections(text: str) -> set[str]:
    return {i for i in Page(text).ids() if i in SECTIONS}


@pytest.mark.parametrize("names", [("full",), ("throughput",), ("latency",), ("throughput", "patched", "full", "latency")])
def test_pages_are_well_formed(names):
    page = Page(report.html([sample(name) for name in names]))
    ids = page.ids()
    assert len(ids) == len(set(ids))
    links = {a[k] for _, a in page.tags for k in ("href", "clip-path") if a.get(k)}
    assert {link.removeprefix("url(").strip("#)") for link in links if link} <= set(ids)
    assert {"viewport", "color-scheme"} <= {a.get("name") for t, a in page.tags if t == "meta"}


class Scrolled(HTMLParser):
    """Counts tables and wide plots, and how many of them are in a container that scrolls."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wide, self.scrolled = 0, 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag in VOID:
            return
        if tag == "table" or (tag == "svg" and "wide" in self.open):
            self.wide += 1
            self.scrolled += self.open[-1] == "scroll"
        self.open.append(dict(attrs).get("class") or tag)

    def handle_endtag(self, tag):
        self.open.pop()


def test_what_may_be_wider_than_the_screen_scrolls(full):
    found = Scrolled(full)
    assert found.wide == found.scrolled == full.count("<table") + full.count('<figure class="wide">')
    assert '<figure class="wide">' in full
    assert full.count('class="hint') >= full.count('<figure class="wide">') + 1
    assert re.search(r"\.scroll \{[^}]*overflow-x: auto", full)


def test_everything_is_there(full):
    assert sections(full) == set(SECTIONS)
    text = Page(full).text
    for expected in (
        "55.3",
        "4 523",
        "irqlab synthetic-sample",
        "no caches",
        "0.0.0-synthetic",
        "Complete",
        "200 ms after 50.0 ms",
    ):
        assert expected in text


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        (("throughput",), {"throughput", "cost"}),
        (("loss",), {"throughput", "loss", "cost"}),
        (("latency",), {"throughput", "latency", "cost"}),
        (("burst",), {"burst"}),
        (("recovery",), {"throughput", "recovery", "cost"}),
        ((), set()),
    ],
)
def test_sections_are_there_exactly_when_their_data_is(methods, expected):
    text = report.html([only(*methods)])
    assert sections(text) == expected
    assert {"measured-on", "reproduce"} <= set(Page(text).ids())


def test_no_plot_is_empty(full):
    for caption, svg in figures(full).items():
        assert gids(svg, "series") or gids(svg, "bar") or gids(svg, "rank"), caption


def test_lines_and_bars_are_as_many_as_drivers(full):
    drawn = figures(full)
    by_size = drawn["By frame size"]
    assert len(gids(by_size, "series")) == 5
    assert gids(by_size, "wire") == ["wire-0"]
    forwarding = drawn["Forwarding rate"]
    assert (len(gids(forwarding, "series")), len(gids(forwarding, "ring")), len(gids(forwarding, "cross"))) == (5, 5, 1)
    assert gids(forwarding, "diagonal") == ["diagonal"]
    for caption in (
        "Loss",
        "Interrupts per frame forwarded",
        "CPU idle",
        "At 10 % of the throughput",
        "At 100 % of the throughput",
    ):
        assert len(gids(drawn[caption], "series")) == 5, caption
    assert len(gids(drawn["sample8139"], "rank")) == 5
    for caption in (
        "Interrupts per frame",
        "Instructions per frame",
        "Longest burst, frames",
        "After 4 \N{MULTIPLICATION SIGN} the throughput",
        "IMIX, both ways",
    ):
        assert len(gids(drawn[caption], "bar")) == 5, caption


def test_lines_differ_in_more_than_colour(full):
    looks = set()
    for group in re.findall(r'<g id="p\d+-series-\d">(.*?)</g>', figures(full)["Forwarding rate"]):
        dash = re.search(r"stroke-dasharray: ([\d., ]+)", group)
        marker = re.search(r'<defs><path d="([^"]+)"', group)
        assert marker
        looks.add((dash[1] if dash else "", marker[1]))
    assert len(looks) == 5


def test_colours_are_the_pages(full):
    for svg in figures(full).values():
        assert not re.search(r"#[0-9a-fA-F]{6}|#[0-9a-fA-F]{3}\b(?![\w-])", svg)
        assert "font-family" not in svg
    used = set(re.findall(r"var\(--([\w]+)\)", full)) - {"shade"}  # a share, which a cell sets
    light, dark = full.split("@media screen and (prefers-color-scheme: dark)", 1)
    for scheme in (light, dark.split("* {", 1)[0]):
        assert used <= set(re.findall(r"--(\w+):", scheme))


def test_receive_livelock_is_reported(full):
    page = Page(full)
    sentence = (
        "Receive livelock: sample8255x interrupt/interrupt forwards nothing from 3 {} its throughput on (148.1 kpps offered)"
    )
    assert sentence.format("\N{MULTIPLICATION SIGN}") in page.text
    assert ("div", {"class": "notice bad"}) in page.tags
    document = only("loss")
    document["measured"]["results"] = document["measured"]["results"][:1]  # this driver does not collapse
    text = Page(report.html([document])).text
    assert "no livelock up to" in text
    assert "Receive livelock:" not in text


def test_incomplete_documents_are_marked():
    assert "interrupted" not in report.html([sample()])
    text = Page(report.html([sample("throughput")])).text
    assert "The measurement was interrupted" in text
    assert "Not complete" in text
    assert "these tests were cut short: throughput of sample8139, 1518-byte frames, one way" in text


def test_the_wire_as_the_limit_is_marked(full):
    assert ("td", {"class": "t good"}) in Page(full).tags
    assert "the wire" in Page(full).text


HOSTILE = '<script>alert("1")</script> $x_1^{$ & --> ]]> \x1b[31m\u202e "quoted" \'single\' {{ 7*7 }} ' + "long" * 40


def test_names_with_markup_are_shown_as_text():
    document = sample()
    for r in document["measured"]["results"]:
        r["driver"] = HOSTILE if r["driver"] == "sample8139" else r["driver"]
        r["rx_scheme"] = "<b>" if r["rx_scheme"] else None
    for dut in document["environment"]["duts"]:
        dut["kernel_command_line"] = dut["modules"][-1]["vermagic"] = dut["qemu"] = HOSTILE
        dut["modules"][-1]["name"] = HOSTILE
        dut["dut"]["sysctls"] = {HOSTILE: HOSTILE}
    document["command"] = ["irqlab", HOSTILE, "$(reboot)"]
    text = report.html([document])
    page = Page(text)
    assert "<script" not in text
    assert "<b>" not in text
    assert not {"script", "b", "img", "iframe", "object"} & {tag for tag, _ in page.tags}
    assert "7*7" in page.text
    assert not {"\x1b", "\u202e"} & set(text)
    assert "'$(reboot)'" in page.text  # quoted for a shell


def test_the_page_loads_no_external_resources(full):
    assert "://" not in full
    page = Page(full)
    assert not {"script", "link", "img", "iframe", "image", "object", "embed", "base"} & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        assert "src" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    assert "@import" not in full
    assert set(re.findall(r"url\((.)", full)) == {"#"}


def test_the_same_input_gives_the_same_bytes(tmp_path, full, drawings):
    path = tmp_path / "sub" / "report.html"
    drawings.clear()
    with mpl.rc_context({"font.size": 30, "svg.hashsalt": None, "lines.linewidth": 9, "text.usetex": False}):
        report.write_html([sample()], path)
    assert path.read_bytes() == full.encode()
    assert list(path.parent.iterdir()) == [path]


def test_two_builds_of_a_driver_are_told_apart():
    text = Page(report.html([sample("throughput"), sample("patched")])).text
    assert "sample8139, module 622fc69 forwards most: 57.9 kpps" in text
    assert "4.8 % more than sample8139, module b2231f7 (55.3 kpps)" in text
    assert "What differs" in text


def test_two_modules_of_one_name_in_one_document_are_told_apart_by_path():
    document = sample("throughput")
    (dut,) = document["environment"]["duts"]
    results = document["measured"]["results"]
    for place, path in enumerate(("old/sample8139.ko", "new/sample8139.ko")):
        another = copy.deepcopy(dut)
        another["modules"][-1] |= {"path": path, "sha256": f"{place}" * 64}
        document["environment"]["duts"].append(another)
    document["environment"]["duts"].pop(0)
    document["measured"]["results"] = [{**row, "dut": place} for place in (0, 1) for row in results]
    rows = catalogue.rows([document])
    assert {row.variant.label for row in rows} == {"sample8139, old/sample8139.ko", "sample8139, new/sample8139.ko"}
    text = Page(report.html([document])).text
    assert "No difference between sample8139, old/sample8139.ko and sample8139, new/sample8139.ko" in text
    assert "more than" not in text


def test_a_document_given_twice_counts_once(full):
    again = report.html([sample(), sample()])
    assert figures(again) == figures(full)


def test_another_outcome_of_the_same_test_is_another_line():
    other = sample()
    row(other, "loss")["samples"][0]["offered_pps"] *= 1.5
    drawn = figures(report.html([sample(), other]))
    assert len(gids(drawn["Forwarding rate"], "series")) == 6


def test_rates_above_the_wire_show_the_wire():
    document = only("loss")
    for dut in document["environment"]["duts"]:
        dut["nic"]["line_rate_bps"] = 10_000_000
    for r in document["measured"]["results"]:
        r["samples"][-1]["above_line_rate"] = True
    drawn = figures(report.html([document]))
    assert gids(drawn["Forwarding rate"], "wire") == ["wire-rate"]


def test_latency_of_two_directions_draws_the_slower_and_lists_both():
    text = report.html([sample("latency")])
    assert len(gids(figures(text)["At 100 % of the throughput"], "series")) == 2
    page = Page(text).text
    assert "0 → 1" in page
    assert "1 → 0" in page
    assert "the slower one is plotted" in page


def test_results_without_frames_can_be_drawn():
    document = sample()
    for r in document["measured"]["results"]:
        r.update(
            total_throughput_pps=None,
            per_interface_throughput_mbps=None,
            line_rate_limited=None,
            instructions_per_frame=None,
            interrupts_per_frame=None,
        )
        for point in r["samples"]:
            point.update({k: None for k in ("instructions_per_frame", "interrupts_per_frame") if k in point})
            point.update({k: 0 for k in ("forwarded_pps", "recovery_ns") if k in point})
            if point.get("latency"):
                point["latency"] = dict.fromkeys(point["latency"], 0) | {"histogram": None}
        r["summary"].update({k: 0 for k in ("max_forwarded_pps", "plateau_ratio", "longest_burst_frames") if k in r["summary"]})
    assert sections(report.html([document])) == {"loss", "burst", "recovery", "profile"}


def test_documents_without_a_fitting_dut_are_drawn():
    document = sample()
    document["environment"]["duts"] = []
    assert sections(report.html([document])) == set(SECTIONS)


@pytest.mark.parametrize(
    ("spoil", "field"),
    [
        (lambda d: d.pop("measured"), "measured"),
        (lambda d: d["measured"]["results"][0].pop("driver"), "driver"),
        (lambda d: d.update(environment=3), "environment"),
    ],
)
def test_files_that_are_not_documents_are_rejected(spoil, field):
    document = copy.deepcopy(sample())
    spoil(document)
    with pytest.raises(IrqlabError, match=f"not a valid result document .*{field}"):
        report.html([document])


def test_a_document_is_validated_when_it_is_read(tmp_path):
    document = sample()
    document["measured"]["results"][3]["samples"][0]["loss_ratio"] = "much"
    path = tmp_path / "spoiled.json"
    path.write_text(json.dumps(document))
    with pytest.raises(IrqlabError, match=r"spoiled\.json: .*results\[3\]\.samples\[0\]\.loss_ratio"):
        catalogue.read(path)


def test_an_older_document_is_told_apart_from_something_else(tmp_path):
    path = tmp_path / "old.json"
    path.write_text(json.dumps({**sample(), "schema": "irqlab-result/1"}))
    with pytest.raises(IrqlabError, match=r"another version of irqlab .*irqlab-result/1.*measure again"):
        catalogue.read(path)
    path.write_text(json.dumps({**sample(), "schema": "weather/1"}))
    with pytest.raises(IrqlabError, match="is not a result file of irqlab"):
        catalogue.read(path)


def test_a_defect_of_a_view_shows_itself(monkeypatch):
    def broken(*_: Any) -> list[str]:
        raise KeyError("a defect")

    found = catalogue.methods()
    monkeypatch.setattr(catalogue, "methods", lambda: {**found, "loss": replace(found["loss"], verdicts=broken)})
    with pytest.raises(KeyError, match="a defect"):
        report.html([sample()])


@pytest.mark.parametrize("method", sorted({row["method"] for row in sample()["measured"]["results"]}))
def test_every_method_has_a_page_with_a_table(method):
    text = report.html([only(method)])
    assert method in Page(text).ids() or method == "metrics"
    assert text.count("<tbody>") >= 2  # of the method, and of what it was measured on
    if method != "metrics":
        assert figures(text) or 'class="wide"' in text


def test_an_empty_list_of_documents_is_rejected():
    with pytest.raises(IrqlabError, match="at least one"):
        report.html([])


def test_an_unwritable_path_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(IrqlabError, match="cannot write"):
        report.write_html([sample("throughput")], tmp_path / "file" / "report.html")


def test_many_drivers_fit():
    document = only("loss")
    base = document["measured"]["results"][0]
    document["measured"]["results"] = [{**base, "driver": f"driver{n}"} for n in range(45)]
    drawn = figures(report.html([document]))
    assert len(gids(drawn["Forwarding rate"], "series")) == 45


def test_spikes_at_zero_do_not_lie_on_the_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "svg", lambda figure, *_: figure)
    line = Line("series-0", "a", series.style(0), [(0.0, 0.0), (0.001, 9.0), (5.0, 0.0)])
    axes: Any = plots.over_time([line], "x", "y", "what").axes[0]  # type: ignore[attr-defined]
    assert axes.get_ylim()[0] < 0
    assert axes.get_xlim()[0] < 0
    assert min(axes.get_yticks()[1:]) >= 0


def test_many_duts_are_rows_of_what_differs_and_schemes_differ_by_name():
    document = sample()
    first = document["environment"]["duts"][0]
    found = []
    for rx in ("de", "napi", "timer"):
        dut = copy.deepcopy(first)
        dut["dut"]["schemes"] = {"variant": None, "rx": rx, "tx": "off", "weight": 64}
        found.append(dut)
    document["environment"]["duts"] = found
    differs, shared = view.duts([document])
    assert [column.text for column in differs.columns] == ["", "Receive scheme"]
    assert [row[1].text for row in differs.rows] == ["de", "napi", "timer"]
    assert ["Scheme settings", "weight=64"] in [[cell.text for cell in row] for row in shared.rows]
