# SPDX-License-Identifier: GPL-2.0-or-later
"""What is kept of a full run of a paper (docs/papers), what moved since, and its claims as tables.

Of the document that `irqlab reproduce` writes, the findings and where they come from are kept, and the CSV files.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from irqlab.reproduce.claims import AIM, COUNTED, EXPECTED, NOT_JUDGED, PRINT, WITH_COSTS, Because
from tools.pages import DOCS, table

SAME = 0.01
"""A figure has moved if it differs by more, relatively."""
QUICK_S, FULL_S = 60, 300
"""What a quick look and a full run may take without a reason."""
HOME = DOCS / "papers"


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

    @property
    def asked(self) -> str:
        """The command, without where it wrote its results."""
        words: list[str] = self.content["command"]
        return " ".join(words[: words.index("--out")] if "--out" in words else words)


def read(paper: str) -> Kept | None:
    """What is kept of a paper; None: nothing."""
    folder = HOME / paper
    file = folder / f"{paper}.json"
    if not file.exists():
        return None
    return Kept(paper, json.loads(file.read_text()), {path.stem: path.read_text() for path in sorted(folder.glob("*.csv"))})


def moved(before: Kept, after: Kept) -> Iterator[str]:
    """What differs between two runs, a line each: verdicts, claims, and of each table how many cells, and the largest change."""
    old, new = ({key_of(one): one for one in kept.findings} for kept in (before, after))
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


Key = tuple[str, str, bool]


def key_of(finding: Mapping[str, Any]) -> Key:
    """What tells a finding from the others: source and claim, and whether it was tested with costs."""
    return finding["source"], finding["claim"], finding["found"].startswith(WITH_COSTS)


def says(finding: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a finding says: whether it agrees, how near counts, and its figures."""
    return finding["agrees"], finding.get("counts_as", ""), *re.findall(r"\d[\d.,]*", finding["found"])


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


ABOUT = {
    "spanos2008": "six ways to handle the interrupts of a router's Fast Ethernet driver",
    "salah2009": "what a receiving application gets under overload: disable-enable, NAPI, hybrid",
    "hybrid": "the same paper's scheme improved, and what in its environment made it win",
    "rtl8139cp": "polling from a timer in place of receive interrupts",
    "lan78xx": "NAPI, and five other changes, in a USB driver",
    "mogul1997": "receive livelock, and how to end it",
}


def _once(kept: Kept) -> list[str]:
    """The verdicts on the paper's claims. What was tested once more, with costs, is not among them."""
    own = [one for one in kept.findings if one["source"] not in NOT_THE_PAPERS]
    return [one["verdict"] for one in own if not one["found"].startswith(WITH_COSTS)]


def claims(papers: Sequence[Kept]) -> str:
    """How many claims of each paper agree, in Markdown."""
    lines = []
    for kept in papers:
        once = _once(kept)
        counts = [once.count(verdict) for verdict in COUNTED]
        words = kept.content["command"]
        several = words[words.index("--ensemble") + 1] if "--ensemble" in words else "1"
        name = f"[{kept.paper}]({kept.paper}.md)"
        figures = (*counts, len(once) - sum(counts), several)
        lines.append((name, ABOUT.get(kept.paper, ""), *map(str, figures), ", ".join(kept.content["kernels"])))
    return table(("paper", "about", "agree", "differ", "undecided", "do not count", "members", "measured with"), lines, 2)


def score(kept: Kept) -> str:
    """The same of one paper, as a sentence."""
    once = _once(kept)
    agree, differ, undecided = (once.count(verdict) for verdict in COUNTED)
    others = {verdict: once.count(verdict) for verdict in dict.fromkeys(once) if verdict not in COUNTED}
    rest = ", ".join(f"{count} {verdict}" for verdict, count in others.items())
    open_ = f", {undecided} {'is' if undecided == 1 else 'are'} undecided" if undecided else ""
    return f"{agree} agree, {differ} differ{open_}{f' (not counted: {rest})' if rest else ''}"


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


def times(every: Sequence[Took], reasons: Mapping[str, str]) -> str:
    """How long each paper takes, and of CPU time, in Markdown. `reasons`: by paper, why it takes long."""
    found = {(one.paper, one.look): one for one in every}
    lines = []
    for paper, reason in reasons.items():
        looks = [(found.get((paper, look)), enough_s) for look, enough_s in (("quick", QUICK_S), ("full", FULL_S))]
        told = [f"{_time(one.wall_s)} ({_time(one.cpu_s)})" if one else "" for one, _ in looks]
        if any(told):
            lines.append((paper, *told, reason if any(one and one.wall_s > enough_s for one, enough_s in looks) else ""))
    return table(("paper", "quick", "full", "why it takes long"), lines)


def _time(seconds: int) -> str:
    return f"{seconds} s" if seconds < 100 else f"{seconds // 60} min {seconds % 60} s"


NOT_EXPLAINED = "not explained"
NOT_THE_PAPERS = (AIM, EXPECTED, PRINT)


def side_by_side(
    findings: Sequence[Mapping[str, Any]], because: Mapping[str, Because], with_costs: Mapping[str, Because] | None = None
) -> str:
    """Claims, in Markdown: what the paper says, what was found, what counts, the verdict. Those not the paper's are left out.

    `because`: by the beginning of a claim. A reason for another verdict than the run's is left out; a difference without a reason
    is said to be not explained. Claims that were tested once more, with costs, have those verdicts in a column of their own, with
    the reasons in `with_costs`, and what was found if nothing could be judged without.
    """
    own = [one for one in findings if one["source"] not in NOT_THE_PAPERS]
    charged = {_claim(one): one for one in own if one["found"].startswith(WITH_COSTS)}
    lines = []
    for one in own:
        if one["found"].startswith(WITH_COSTS):
            continue
        cells = [one["source"], one["claim"], one["found"], one.get("counts_as", ""), _verdict(one, because)]
        if charged:
            again = charged.get(_claim(one))
            found = f": {again['found'].removeprefix(WITH_COSTS)}" if again and one["verdict"] == NOT_JUDGED else ""
            cells.append(_verdict(again, with_costs or {}, found) if again else "")
        lines.append([_in_cell(cell) for cell in cells])
    columns = ["where", "what it says", "what we found", "agreement", "verdict"] + ["with costs"] * bool(charged)
    return table(columns, lines, len(columns))


def _verdict(finding: Mapping[str, Any], because: Mapping[str, Because], found: str = "") -> str:
    """With how many members agree if they differ, and its reason. `found`: in place of a reason."""
    reasons = (reason for begin, reason in because.items() if finding["claim"].startswith(begin))
    reason = next((reason.text for reason in reasons if reason.verdict == finding["verdict"]), "")
    if not reason and finding["verdict"] == "differs":
        reason = NOT_EXPLAINED
    members, draws = finding.get("members"), finding.get("draws")
    some, every = members or draws or (0, 0)
    votes = f" ({some} of {every}{'' if members else ' draws'})" if 0 < some < every else ""
    verdict = f"{_bold(finding['verdict'])}{votes}{found}"
    return f"{verdict.rstrip('.')}: {reason}" if reason else verdict


def not_the_papers(findings: Sequence[Mapping[str, Any]]) -> str:
    """What this project aimed at or expected, and what was found, in Markdown."""
    own = [one for one in findings if one["source"] in (AIM, EXPECTED) and not one["found"].startswith(WITH_COSTS)]
    lines = [[_in_cell(one[name]) for name in ("claim", "found")] + [_verdict(one, {})] for one in own]
    return table(("aimed at or expected", "what we found", "verdict"), lines, 3)


def in_print(findings: Sequence[Mapping[str, Any]]) -> str:
    """What a paper prints that does not fit together, as a list in Markdown; nothing if it does."""
    return "".join(f"- {one['claim']} But {one['found']}\n" for one in findings if one["source"] == PRINT and not one["agrees"])


def _claim(finding: Mapping[str, Any]) -> tuple[str, str]:
    return finding["source"], finding["claim"]


def _bold(verdict: str) -> str:
    """A verdict that is not what one hopes for stands out."""
    return f"**{verdict}**" if verdict in ("differs", "undecided", "missed", "refuted", "inconsistent") else verdict


def _in_cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")
