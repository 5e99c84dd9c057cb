# SPDX-License-Identifier: GPL-2.0-or-later
import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from irqlab.errors import IrqlabError
from irqlab.methods import catalogue
from tests.data import result_schema
from tests.data.samples import ALL_SAMPLES, KEPT, file, sample

VALIDATOR = Draft202012Validator(catalogue.schema())


def row(document: dict[str, Any], method: str) -> dict[str, Any]:
    return next(r for r in document["measured"]["results"] if r["method"] == method)


def test_the_schema_is_one():
    Draft202012Validator.check_schema(catalogue.schema())


@pytest.mark.parametrize("name", ALL_SAMPLES)
def test_samples_are_accepted_and_say_what_they_are(name, tmp_path):
    document = catalogue.read(file(tmp_path, name))
    assert document == sample(name)
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []
    assert document["command"] == ["irqlab", "synthetic-sample"]


def test_the_tester_is_checked_against_the_lab_s_types():
    """If a change of the types is wanted: .venv/bin/python -m tests.data.result_schema, and the tester's tests."""
    assert json.loads(result_schema.FILE.read_text()) == json.loads(json.dumps(result_schema.schema()))


def test_a_file_that_was_written_before_is_read_and_written_as_it_was(tmp_path):
    """If a change of the format is wanted: .venv/bin/python -m tests.data.samples; files of the version before are refused."""
    assert catalogue.read(KEPT) == sample("patched")
    assert file(tmp_path, "patched").read_text() == KEPT.read_text()


def test_the_first_methods_are_all_in_the_samples():
    """A later one brings documents of its own in its test."""
    assert {r["method"] for r in sample()["measured"]["results"]} >= {
        *("throughput", "loss", "latency", "burst", "recovery", "profile", "metrics"),
        *("application", "cliff", "budget", "iperf", "rrul"),
    }


Change = Callable[[dict[str, Any]], object]
MUTATIONS: dict[str, Change] = {
    "another schema": lambda d: d.update(schema="irqlab-result/1"),
    "no command": lambda d: d.pop("command"),
    "an empty command": lambda d: d.update(command=[]),
    "an unknown part": lambda d: d.update(notes="x"),
    "complete in words": lambda d: d.update(complete="yes"),
    "a host that is missing": lambda d: d["environment"].pop("host"),
    "a hash that is none": lambda d: d["environment"]["duts"][0]["kernel"].update(sha256="abc"),
    "no module": lambda d: d["environment"]["duts"][0].update(modules=[]),
    "a setting that is missing": lambda d: d["environment"]["duts"][0]["dut"].pop("qdisc"),
    "results that are no list": lambda d: d["measured"].update(results={}),
    "something else measured": lambda d: d["measured"].update(when="today"),
    "an unknown method": lambda d: row(d, "loss").update(method="guess"),
    "an unknown field of a row": lambda d: row(d, "loss").update(colour="red"),
    "a field of a row that is missing": lambda d: row(d, "loss").pop("rx_scheme"),
    "a frame too small": lambda d: row(d, "loss").update(frame_bytes=63),
    "a frame in words": lambda d: row(d, "loss").update(frame_bytes="64"),
    "a negative rate": lambda d: row(d, "throughput").update(total_throughput_pps=-1),
    "a rate in words": lambda d: row(d, "throughput").update(total_throughput_pps="55.5 kpps"),
    "another method's samples": lambda d: row(d, "throughput").update(samples=row(d, "burst")["samples"]),
    "a summary that is missing": lambda d: row(d, "throughput").update(summary=None),
    "a sample with less": lambda d: row(d, "latency")["samples"][0].pop("latency"),
    "a loss above 1": lambda d: row(d, "loss")["samples"][0].update(loss_ratio=1.5),
    "a finding that is missing": lambda d: row(d, "burst")["summary"].pop("limit_frames"),
    "a time with a fraction": lambda d: row(d, "recovery")["samples"][0].update(recovery_ns=1.5),
    "a histogram that is not base64": lambda d: row(d, "latency")["samples"][0]["latency"].update(histogram="<script>"),
    "a trial with more": lambda d: row(d, "throughput")["trials"][0].update(weather="fine"),
    "a trial's spec with less": lambda d: row(d, "throughput")["trials"][0]["spec"].pop("seed"),
    "a stream with less": lambda d: row(d, "throughput")["trials"][0]["streams"][0].pop("lost"),
    "a stream that lost less than nothing": lambda d: row(d, "throughput")["trials"][0]["streams"][0].update(lost=-1),
    "a port with more": lambda d: row(d, "throughput")["trials"][0]["ports"][0].update(colour="red"),
}


CODE_ONLY = {"a summary that is missing"}
"""What the types check in code, which a JSON schema does not tell."""


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutations_are_rejected(name):
    document = sample()
    MUTATIONS[name](document)
    with pytest.raises(IrqlabError, match="not a valid result document"):
        catalogue.documents().convert(document)
    assert name in CODE_ONLY or not VALIDATOR.is_valid(document)


def test_additional_summary_fields_are_accepted():
    document = sample()
    row(document, "loss")["summary"]["knee_load"] = 1.02
    row(document, "burst")["samples"][0]["luck"] = 1
    catalogue.documents().convert(document)
    assert VALIDATOR.is_valid(document)
