# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of the documentation: links lead somewhere, and figures are what is kept."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests import ROOT
from tools import documents, figures
from tools.pages import Figures, pages, table, write_figures, wrong

LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)
NAMED = re.compile(r"(?<![\w/.-])(?:docs|drivers)/[\w./-]*\.(?:md|csv|json|svg|ipynb|patch|yml)\b")
MOST_LINES, MOST_LINES_README, MOST_LINES_PAPER = 5_000, 110, 250
OTHER = "0" * 64
"""The hash of another image."""
PAPERS = sorted(page for page in (ROOT / "docs/papers").glob("*.md"))


@cache
def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@cache
def anchors(page: Path) -> set[str]:
    """Of the headings, as GitHub makes them."""
    seen: Counter[str] = Counter()
    found = set()
    for line in re.findall(r"^#+ +(.*)", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S), re.M):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return found


def dangling(page: Path) -> Iterator[str]:
    for link in (url for pair in LINK.findall(CODE.sub("", page.read_text())) for url in pair if url):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = Path(os.path.normpath(page.parent / path)) if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_link_leads_somewhere(page: Path) -> None:
    assert list(dangling(page)) == []


def test_each_page_that_is_named_elsewhere_is_there() -> None:
    missing = {}
    for path in tracked():
        if path.suffix in (".svg", ".png") or path == Path(__file__):
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        if names := [name for name in NAMED.findall(text) if not (ROOT / name).exists() and not re.search("[A-Z]{3}", name)]:
            missing[path.relative_to(ROOT).as_posix()] = names
    assert missing == {}


def test_documents_are_short() -> None:
    lines = {page: len(page.read_text().splitlines()) for page in pages()}
    assert lines.pop(ROOT / "README.md") <= MOST_LINES_README
    assert sum(lines.values()) <= MOST_LINES
    assert [page.name for page in PAPERS if lines[page] > MOST_LINES_PAPER] == []


def site(root: Path, readme: str) -> Path:
    (root / "docs/use").mkdir(parents=True)
    (root / "README.md").write_text(readme)
    return root


SPEED = Figures("speed", "irqlab demo", "| a |\n| 1 |\n")
GAIN = Figures("gain", "irqlab demo", "1.8")


def test_figures_are_written_between_their_marks(tmp_path: Path) -> None:
    root = site(tmp_path, "It is <!-- figures gain: -->old<!-- end --> times.\n\n<!-- figures speed: -->\nold\n<!-- end -->\n")
    write_figures([SPEED, GAIN], root)
    assert (root / "README.md").read_text() == (
        "It is <!-- figures gain: irqlab demo -->1.8<!-- end --> times.\n\n"
        "<!-- figures speed: irqlab demo -->\n| a |\n| 1 |\n<!-- end -->\n"
    )
    assert list(wrong([SPEED, GAIN], root)) == []


def test_a_wrong_figure_is_named_with_file_and_line(tmp_path: Path) -> None:
    root = site(tmp_path, "One.\n\n<!-- figures speed: irqlab demo -->\n| a |\n| 2 |\n<!-- end -->\n")
    (root / "docs/use/page.md").write_text("So <!-- figures gain: irqlab demo -->1.9<!-- end -->.\n")
    assert list(wrong([SPEED, GAIN], root)) == [
        "README.md:5: of `irqlab demo`, speed:\n  in the text: | 2 |\n  as measured: | 1 |",
        "docs/use/page.md:1: of `irqlab demo`, gain:\n  in the text: <!-- figures gain: irqlab demo -->1.9<!-- end -->\n"
        "  as measured: <!-- figures gain: irqlab demo -->1.8<!-- end -->",
    ]


def test_what_is_not_kept_or_on_no_page_is_named(tmp_path: Path) -> None:
    root = site(tmp_path, "<!-- figures other: x -->\n1\n<!-- end -->\n")
    assert list(wrong([GAIN], root)) == ["README.md:1: no figures other are kept", "figures gain are on no page"]


def test_words_within_a_line_do_not_begin_it(tmp_path: Path) -> None:
    root = site(tmp_path, f"It is\n{GAIN.marked} times.\n")
    (line,) = wrong([GAIN], root)
    assert line.startswith("README.md:2: a line that begins with a comment")


def test_a_table_in_markdown() -> None:
    assert table(("a", "b"), [("x", "1")]) == "| a | b |\n| --- | ---: |\n| x | 1 |\n"


def test_a_new_demo_is_compared_with_the_one_that_is_kept(tmp_path: Path) -> None:
    """What `irqlab demo` writes is in a list of its own where it is kept."""
    kept = figures.documents.read(figures.documents.file_of("demo"))[0]
    path = tmp_path / "demo.json"
    same = json.dumps(kept)
    path.write_text(same)
    assert figures.main(["same", "demo", str(path)]) == 0
    pps = next(row for row in kept["measured"]["results"] if row["variant"] == "NAPI")["total_throughput_pps"]
    path.write_text(same.replace(f'"total_throughput_pps": {pps}', f'"total_throughput_pps": {pps + 100.0}'))
    assert figures.main(["same", "demo", str(path)]) == 1
    path.write_text(same.replace("version 7.2.", "version 8.2."))
    assert figures.main(["same", "demo", str(path)]) == 0


def test_unknown_words_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert figures.main(["nonsense"]) == 2
    assert "--check" in capsys.readouterr().err


def test_another_guest_image_may_move_figures_a_little(tmp_path: Path) -> None:
    """`.ci/run` compares the demo; where the image is the same, every digit counts."""
    (kept,) = documents.read(documents.file_of("demo"))

    def moved(pps: float, image: str | None) -> list[str]:
        new = copy.deepcopy(kept)
        new["measured"]["results"][0]["total_throughput_pps"] *= pps
        new["environment"]["duts"][0]["guest_image_sha256"] = image or kept["environment"]["duts"][0]["guest_image_sha256"]
        file = tmp_path / "new.json"
        file.write_text(json.dumps(new))
        return documents.moved("demo", file)

    assert moved(1.0, None) == moved(1.0, OTHER) == moved(1.015, OTHER) == []
    (said,) = moved(1.03, OTHER)
    assert "kept, with another guest image" in said
    assert moved(1.015, None) != []
