# SPDX-License-Identifier: GPL-2.0-or-later
"""Every claim of every paper, on tables in which it holds and on tables in which it does not."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from irqlab.reproduce import PAPERS, find
from irqlab.reproduce.claims import (
    AIM,
    EXPECTED,
    IN_SAMPLE,
    NOT_TRIED,
    PRINT,
    Because,
    Claim,
    Finding,
    findings_of,
    judged,
    not_tried,
)
from irqlab.reproduce.spanos2008 import because, differences
from irqlab.reproduce.spanos2008.findings import HARDWARE_CLAIMS
from tests import ROOT
from tests.unit.paper_tables import MADE_UP, idle, spanos

TESTED = [
    (paper, claim)
    for paper in PAPERS
    for claim in (
        *import_module(f"irqlab.reproduce.{paper}.findings").CLAIMS,
        *((*HARDWARE_CLAIMS, *because.CLAIMS) if paper == "spanos2008" else ()),
    )
]
EVERY = [(paper, claim) for paper, claim in TESTED if claim.instead != NOT_TRIED]


def _id(value: object) -> str:
    return f"{value.source}, {value.text}"[:70] if isinstance(value, Claim) else str(value)


def _tables(paper: str, claim: Claim[Any], agrees: bool) -> Any:
    """With those of overload one cannot say that there is none."""
    tables = MADE_UP[paper](agrees)
    return idle(tables) if claim.text.startswith("Frames of 512 bytes at 100 Mbit/s") and not agrees else tables


@pytest.mark.parametrize(("paper", "claim"), EVERY, ids=_id)
def test_a_claim_holds_or_does_not_and_says_so_in_other_figures(paper: str, claim: Claim[Any]) -> None:
    yes, no = (claim.test(_tables(paper, claim, agrees)) for agrees in (True, False))
    assert yes is not None
    assert no is not None
    assert (yes.agrees, no.agrees) == (True, False)
    assert re.findall(r"\d+", yes.found) != re.findall(r"\d+", no.found), "the words do not depend on the figures"
    assert (yes.claim, yes.source) == (no.claim, no.source), "what the paper says does not depend on what was measured"


@pytest.mark.parametrize(("paper", "claim"), EVERY, ids=_id)
def test_a_claim_is_made_of_sentences(paper: str, claim: Claim[Any]) -> None:
    assert claim.text[0].isupper() or claim.text[0] == "("
    assert claim.text.endswith(".")
    for agrees in (True, False):
        finding = claim.test(MADE_UP[paper](agrees))
        assert finding is not None
        assert finding.found.endswith(".")
        assert "None" not in finding.line
        assert "nan" not in finding.line.split()


REASONS = [
    (paper, begin, reason)
    for paper in PAPERS
    for begin, reason in (*find(paper).because.items(), *(differences.WITH_COSTS.items() if paper == "spanos2008" else ()))
]


@pytest.mark.parametrize(("paper", "begin", "reason"), REASONS, ids=str)
def test_a_reason_is_for_a_claim_of_the_papers(paper: str, begin: str, reason: Because) -> None:
    assert any(claim.text.startswith(begin) and claim.source not in (AIM, EXPECTED) for of, claim in EVERY if of == paper)
    assert reason.verdict in ("agrees", "differs")


@pytest.mark.parametrize("paper", [name for name in PAPERS if find(name).because and name != "hybrid"])
def test_a_link_of_a_reason_is_to_a_heading_of_the_document(paper: str) -> None:
    text = (ROOT / "docs/papers" / f"{paper}.md").read_text()
    headings = {
        re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in re.findall(r"^#+ .*", text, re.M)
    }
    links = {link for of, _, reason in REASONS if of == paper for link in re.findall(r"\(#(.*?)\)", reason.text)}
    assert links
    assert links <= headings


def test_a_finding_says_whose_claim_it_is() -> None:
    words = {
        (source, agrees): Finding(source, "C.", agrees, "f.").verdict
        for source in ("Table 1", AIM, EXPECTED, PRINT)
        for agrees in (True, False)
    }
    assert words == {
        ("Table 1", True): "agrees", ("Table 1", False): "differs", (AIM, True): "met", (AIM, False): "missed",
        (EXPECTED, True): "confirmed", (EXPECTED, False): "refuted",
        (PRINT, True): "consistent", (PRINT, False): "inconsistent",
    }  # fmt: skip
    finding = Finding("Table 1", "C.", False, "f.")
    assert finding.line == "differs: Table 1: C. Measured: f."
    assert finding.to_json() == {"source": "Table 1", "claim": "C.", "agrees": False, "found": "f.", "verdict": "differs"}
    assert finding.of_paper
    assert not replace(finding, source=AIM).of_paper


def test_claims_of_which_the_tables_say_nothing_are_left_out() -> None:
    tells = Claim[int]("s", "Tells.", judged(lambda n: n, lambda n: n > 1, lambda n: f"{n}.", lambda n: f"not {n}."))
    silent = Claim[int]("s", "Silent.", judged(lambda _: None, lambda n: n > 1, str))
    assert [finding.found for finding in findings_of((silent, tells), 2)] == ["2."]
    assert [finding.found for finding in findings_of((tells,), 1)] == ["not 1."]


def test_runs_with_the_costs_of_hardware_are_told_apart() -> None:
    alone, both = (find("spanos2008").findings(spanos(True, charged)) for charged in (False, True))
    tried = [finding for finding in alone if finding.agrees is not None]
    again = len(tried) - len(because.CLAIMS)
    assert len(both) == len(alone) + again + len(HARDWARE_CLAIMS)
    told = [finding.found.startswith("with the costs of hardware, ") for finding in both]
    assert told == [False] * len(alone) + [True] * again + [False] * len(HARDWARE_CLAIMS)


def test_what_cannot_be_told_and_what_is_fitted_to_count_for_nothing() -> None:
    finding = Finding("Table 1", "C.", None, "f.")
    assert (finding.verdict, finding.holds, finding.line) == ("not judged", False, "not judged: Table 1: C. f.")
    untried = not_tried("Table 1", "C.", "it takes a board.").test(None)
    assert untried is not None
    assert (untried.verdict, untried.agrees, untried.found) == ("not tried", None, "it takes a board.")
    fitted = replace(finding, agrees=True, instead=IN_SAMPLE, counts_as="within 5 %")
    assert (fitted.verdict, fitted.holds) == ("in sample", False)
    assert fitted.line == "in sample: Table 1: C. Measured: f. (Agreement: within 5 %.)"
    assert replace(fitted, agrees=False).verdict == "differs"
    drawn = replace(finding, agrees=True, draws=(20, 50))
    assert (drawn.verdict, drawn.votes) == ("undecided", " (20 of 50 tables drawn from the members' ranges agree)")


@pytest.mark.parametrize("paper", PAPERS)
def test_a_reason_is_for_a_claim_that_there_is(paper: str) -> None:
    claims = [claim.text for name, claim in EVERY if name == paper]
    for begin, reason in find(paper).because.items():
        assert any(text.startswith(begin) for text in claims), begin
        assert reason.text
