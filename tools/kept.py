# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of a full run of a paper (docs/papers), what moved since, and the claims as a page (docs/papers/README.md).

Of the document that `irqlab reproduce` writes, the findings and where they come from are kept, and the CSV files.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeVar

from irqlab.present import columns
from irqlab.reproduce.claims import AIM, EXPECTED, WITH_COSTS, Because
from irqlab.reproduce.table import Table
from tools.pages import DOCS, Row, between

SAME = 0.01
"""A figure has moved if it differs by more, relatively."""
QUICK_S, FULL_S = 60, 300
"""What a quick look and a full run may take without a reason."""
_VERBS = {"agrees": "agree", "differs": "differ"}
HOME = DOCS / "papers"
R = TypeVar("R")


@dataclass(frozen=True)
class Kept:
    """What is kept of a run."""

    paper: str
    content: dict[str, Any]
    """As in docs/papers/PAPER/PAPER.json."""
    tables: Mapping[str, str]
    """CSV, by the name of the table."""

    @classmethod
    def of(cls, document: Mapping[str, Any], tables: Mapping[str, str], commit: str) -> Kept:
        """Of a document of `irqlab reproduce` (docs/use/results.md), and the commit of irqlab that wrote it."""
        duts = document["environment"]["duts"]
        content = {
            "paper": document["paper"],
            "command": document["command"],
            "commit": commit,
            "kernels": sorted({dut["kernel"]["release"] for dut in duts}),
            "qemu": sorted({dut["qemu"] for dut in duts}),
            "findings": document["measured"]["findings"],
        }
        return cls(document["paper"]["name"], content, dict(tables))

    @property
    def findings(self) -> list[dict[str, Any]]:
        """In the order of the paper's claims."""
        found: list[dict[str, Any]] = self.content.get("findings", [])
        return found

    def __call__(self, name: str) -> list[Row]:
        """The rows of a table; none: it is not kept."""
        return list(csv.DictReader(io.StringIO(self.tables.get(name, ""))))

    def table(self, name: str, row: type[R]) -> Table[R] | None:
        """A table as it was measured; None: it is not kept."""
        return Table("", row, columns.from_csv(row, self.tables[name])) if name in self.tables else None


def read(paper: str) -> Kept | None:
    """What is kept of a paper; None: nothing."""
    folder = HOME / paper
    file = folder / f"{paper}.json"
    if not file.exists():
        return None
    return Kept(paper, json.loads(file.read_text()), {path.stem: path.read_text() for path in sorted(folder.glob("*.csv"))})


def moved(before: Kept, after: Kept) -> Iterator[str]:
    """What differs between two runs, a line each: verdicts, claims, and of each table how many cells, and the largest change."""
    old, new = ({_key(one): one for one in kept.findings} for kept in (before, after))
    for key in old.keys() - new.keys():
        yield f"{key[0]}: no longer tested: {key[1]}"
    for key, one in new.items():
        if key not in old:
            yield f"{key[0]}: new ({one['verdict']}): {key[1]}"
        elif old[key]["verdict"] != one["verdict"]:
            yield f"{key[0]}: {old[key]['verdict']} -> {one['verdict']}: {key[1]}"
    for name in sorted(before.tables.keys() | after.tables.keys()):
        if name not in before.tables or name not in after.tables:
            yield f"{name}.csv: {'new' if name in after.tables else 'gone'}"
        else:
            yield from (f"{name}.csv: {what}" for what in _cells(before.tables[name], after.tables[name]))


def _key(finding: Mapping[str, Any]) -> tuple[str, str, bool]:
    """What tells a finding from the others: source and claim, and whether it was tested with costs."""
    return finding["source"], finding["claim"], finding["found"].startswith(WITH_COSTS)


def _cells(before: str, after: str) -> Iterator[str]:
    """What differs between two CSV files."""
    old, new = (list(csv.reader(io.StringIO(text))) for text in (before, after))
    if old[:1] != new[:1] or len(old) != len(new):
        yield f"other columns or rows: {len(old)} lines -> {len(new)}"
        return
    changed = [
        (_change(a, b), f"{head}: {a or 'nothing'} -> {b or 'nothing'}")
        for row, other in zip(old[1:], new[1:], strict=True)
        for head, a, b in zip_longest(old[0], row, other, fillvalue="")
        if _change(a, b) > SAME
    ]
    if changed:
        figures = sum(len(row) for row in old[1:])
        yield f"{len(changed)} of {figures} cells; the most: {max(changed)[1]}"


def _change(before: str, after: str) -> float:
    """The relative difference of two cells; of texts 0 or infinity."""
    if before == after:
        return 0.0
    try:
        a, b = float(before), float(after)
    except ValueError:
        return float("inf")
    return abs(b - a) / (max(abs(a), abs(b)) or 1)


def claims(papers: Sequence[Kept]) -> str:
    """All claims of the papers and their verdicts, in Markdown: a table of the papers, then one of claims for each.

    What was tested once more, with costs, is not counted twice.
    """
    lines = ["| paper | claims | agree | differ | undecided | measured with |", "|---|---:|---:|---:|---:|---|"]
    for kept in papers:
        once = [one for one in kept.findings if not one["found"].startswith(WITH_COSTS)]
        of_paper = [one for one in once if one["verdict"] in _VERBS or one["verdict"] == "undecided"]
        agree = sum(one["verdict"] == "agrees" for one in of_paper)
        differ = sum(one["verdict"] == "differs" for one in of_paper)
        counts = (len(of_paper), agree, differ, len(of_paper) - agree - differ)
        kernels = ", ".join(kept.content["kernels"])
        lines.append(f"| [{kept.paper}](#{kept.paper}) | {' | '.join(map(str, counts))} | {kernels} |")
    for kept in papers:
        command = " ".join(kept.content["command"])
        lines += ["", f"### {kept.paper}", "", f"`{command}` at {kept.content['commit']}.", ""]
        lines += ["| source | claim | verdict | measured |", "|---|---|---|---|"]
        for one in kept.findings:
            cells = (one["source"], one["claim"], one["verdict"], one["found"])
            lines.append("| " + " | ".join(map(_in_cell, cells)) + " |")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Took:
    """How long a run took that found no trial in the cache."""

    paper: str
    look: str
    """full or quick."""
    wall_s: int
    cpu_s: int
    """Of all processes together."""
    processors: int
    """Of the machine."""
    commit: str


def with_times(page: str, times: Sequence[Took], reasons: Mapping[str, str]) -> str:
    """A page with its table of times replaced. Raises IrqlabError if it lacks a mark.

    `reasons`: by paper, why it takes long.
    """
    found = {(one.paper, one.look): one for one in times}
    lines = [
        "| paper | look | time | CPU time | processors | measured at | why it takes long |",
        "|---|---|---:|---:|---:|---|---|",
    ]
    for paper in reasons:
        for look, enough_s in (("quick", QUICK_S), ("full", FULL_S)):
            one = found.get((paper, look))
            if one is None:
                lines.append(f"| {paper} | {look} | not measured | | | | |")
                continue
            why = reasons[paper] if one.wall_s > enough_s else ""
            lines.append(
                f"| {paper} | {look} | {_time(one.wall_s)} | {_time(one.cpu_s)} | {one.processors} | {one.commit} | {why} |"
            )
    return between(page, "times", "\n".join(lines) + "\n", end="end of times")


def _time(seconds: int) -> str:
    return f"{seconds} s" if seconds < 100 else f"{seconds // 60} min {seconds % 60} s"


NOT_EXPLAINED = "not explained"


def side_by_side(findings: Sequence[Mapping[str, Any]], because: Mapping[str, Because]) -> str:
    """The claims that are the paper's, in Markdown: what it says, what was found, and the verdict.

    `because`: by the beginning of a claim. A reason for another verdict than the run's is left out; a difference without a reason
    is said to be not explained.
    """
    lines = ["| where | what it says | what we found | verdict |", "|---|---|---|---|"]
    for one in findings:
        if one["source"] in (AIM, EXPECTED):
            continue
        reasons = (reason for begin, reason in because.items() if one["claim"].startswith(begin))
        reason = next((reason.text for reason in reasons if reason.verdict == one["verdict"]), "")
        if not reason and one["verdict"] == "differs":
            reason = NOT_EXPLAINED
        verdict = f"**{one['verdict']}**" if one["verdict"] != "agrees" else one["verdict"]
        cells = (one["source"], one["claim"], one["found"], f"{verdict}: {reason}" if reason else verdict)
        lines.append("| " + " | ".join(_in_cell(cell) for cell in cells) + " |")
    return "\n".join(lines)


def _in_cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def with_claims(page: str, papers: Sequence[Kept]) -> str:
    """A page with its claims replaced. Raises IrqlabError if it lacks a mark."""
    return between(page, "claims", claims(papers), end="end of claims")
