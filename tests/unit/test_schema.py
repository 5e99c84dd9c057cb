# SPDX-License-Identifier: GPL-2.0-or-later
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from irqlab.methods import catalogue
from irqlab.results import schema

DATA = Path(__file__).parents[1] / "data"
SAMPLES = sorted(DATA.glob("sample_*.json"))
VALIDATOR = Draft202012Validator(schema.load())


def sample() -> dict[str, Any]:
    return catalogue.read(DATA / "sample_full.json")


def row(document: dict[str, Any], method: str) -> dict[str, Any]:
    return next(r for r in document["measured"]["results"] if r["method"] == method)


def test_the_schema_is_one():
    Draft202012Validator.check_schema(schema.load())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples_are_accepted_and_say_what_they_are(path):
    document = catalogue.read(path)
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []
    assert document["command"] == ["irqlab", "synthetic-sample"]


def test_samples_are_what_their_generator_writes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(DATA))
    import make_samples

    made = make_samples.samples()
    assert sorted(made) == [path.name for path in SAMPLES]
    for path in SAMPLES:
        assert json.loads(json.dumps(made[path.name])) == json.loads(path.read_text())


def test_every_method_is_in_the_samples():
    known = schema.load()["$defs"]["row"]["properties"]["method"]["enum"]
    # A report has no part for these; tests/e2e/test_application.py, test_compare.py and test_matrix.py check documents with them.
    unreported = {"application", "cliff", "budget", "costs"}
    assert {r["method"] for r in sample()["measured"]["results"]} == set(known) - unreported


Change = Callable[[dict[str, Any]], object]
MUTATIONS: dict[str, Change] = {
    "another schema": lambda d: d.update(schema="irqlab-result/2"),
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
    "another method's points": lambda d: row(d, "throughput").update(points=row(d, "loss")["samples"]),
    "a point with less": lambda d: row(d, "latency")["samples"][0].pop("latency"),
    "a point with more": lambda d: row(d, "burst")["samples"][0].update(luck=1),
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


@pytest.mark.parametrize("change", MUTATIONS.values(), ids=MUTATIONS.keys())
def test_mutations_are_rejected(change):
    document = copy.deepcopy(sample())
    change(document)
    assert list(VALIDATOR.iter_errors(document))


def test_additional_summary_fields_are_accepted():
    document = sample()
    row(document, "loss")["summary"]["knee_load"] = 1.02
    assert not list(VALIDATOR.iter_errors(document))
