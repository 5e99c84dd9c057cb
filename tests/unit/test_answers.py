# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers: the last lines on the terminal, the first of a report; figures, their range, and what is no difference."""

from __future__ import annotations

import pytest

from irqlab import report
from irqlab.cli import output
from irqlab.methods import catalogue
from tests.unit.test_report import Page, only, sample


def test_the_answer_is_the_first_of_the_page() -> None:
    document = only("loss")
    page = report.html([document])
    first = catalogue.answers(catalogue.rows([document]))[0].replace("\u202f", " ")
    text = Page(page).text
    assert 0 < text.index(first) < text.index("Forwarded over offered load")
    assert text.index(first) < text.index("Throughput, kpps" if "Throughput, kpps" in text else "Measured on")


def test_the_answer_is_the_last_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    document = only("loss")
    output.show_document(document)
    said = capsys.readouterr().out.rstrip().splitlines()
    answers = [text.replace("\u202f", " ") for text in catalogue.answers(catalogue.rows([document]))]
    assert said[-len(answers) :] == answers


def test_the_subtitle_is_that_of_the_only_method() -> None:
    assert catalogue.methods()["hunt"].lead
    lead = Page(report.html([only("loss")])).text
    assert (catalogue.methods()["loss"].lead or catalogue.methods()["loss"].title) + "; measured by irqlab" in lead
    assert "forward, lose and cost" in Page(report.html([sample()])).text


def test_an_interrupted_row_has_no_answer() -> None:
    document = only("loss")
    assert catalogue.answers(catalogue.rows([document]))
    document["measured"]["results"] = [
        row | {"complete": False, "summary": None, "samples": []} for row in document["measured"]["results"]
    ]
    assert catalogue.answers(catalogue.rows([document])) == []
