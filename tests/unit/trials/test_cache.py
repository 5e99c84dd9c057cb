# SPDX-License-Identifier: GPL-2.0-or-later
"""The trial cache without QEMU."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from irqlab.config.traffic import Load
from irqlab.errors import IrqlabError
from irqlab.trials import cache as trialcache
from irqlab.trials.forwarding import ForwardingTrial
from tests.unit.fakes import FakeBench

BED = {"machine": "m", "modules": ["a"], "dut": {"ring": None}, "wire_bps": 100_000_000}
SPEC = ForwardingTrial(loads=(Load(rate_pps=1000.0),))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("testbed", "spec", "addresses"),
    [
        (BED | {"machine": "other"}, SPEC, None),
        (BED | {"modules": ["b"]}, SPEC, None),
        (BED | {"dut": {"ring": 64}}, SPEC, None),
        (BED | {"wire_bps": 10_000_000}, SPEC, None),
        (BED, replace(SPEC, seed=2), None),
        (BED, replace(SPEC, loads=(Load(rate_pps=1000.5),)), None),
        (BED, replace(SPEC, duration_ns=1), None),
        (BED, SPEC, {"functions": [1]}),
    ],
)
def test_whatever_a_trial_depends_on_changes_its_key(testbed: dict, spec: ForwardingTrial, addresses: dict | None) -> None:
    assert trialcache.key_of(testbed, spec, addresses) != trialcache.key_of(BED, SPEC)


def test_equal_trials_have_equal_keys_wherever_their_capture_goes() -> None:
    again = ForwardingTrial(loads=(Load(rate_pps=1000.0),), capture="there.pcapng")
    assert trialcache.key_of(dict(reversed(BED.items())), again) == trialcache.key_of(BED, SPEC)


def test_a_kind_of_trial_and_its_code_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class OtherTrial(ForwardingTrial):
        __module__ = ForwardingTrial.__module__

    before = trialcache.key_of(BED, SPEC)
    assert trialcache.key_of(BED, OtherTrial(loads=SPEC.loads)) != before
    asked: list[str] = []
    monkeypatch.setattr(trialcache, "code_fingerprint", lambda module: asked.append(module) or "other code")
    assert trialcache.key_of(BED, SPEC) != before
    assert asked == ["irqlab.trials.forwarding"]


def test_a_result_comes_back_to_the_byte() -> None:
    fresh = FakeBench(lambda rate: rate).run(SPEC)
    trialcache.put("k", SPEC.store(fresh))
    kept = SPEC.restore(trialcache.get("k"))
    assert kept == fresh
    assert kept.spec is SPEC
    assert json.dumps(kept.to_json()) == json.dumps(fresh.to_json())


def test_usage_and_clear() -> None:
    assert trialcache.usage().entries == 0
    trialcache.put("k", {"a": 1.1})
    assert trialcache.get("k") == {"a": 1.1}
    assert trialcache.get("other") is None
    used = trialcache.usage()
    assert used.entries == 1
    assert used.size_bytes > 0
    assert trialcache.clear().entries == 1
    assert trialcache.get("k") is None


def test_a_damaged_cache_is_an_error_until_it_is_cleared(cache: Path) -> None:
    (cache / "trials").mkdir()
    (cache / "trials" / "cache.db").write_bytes(b"no database" * 1000)
    with pytest.raises(IrqlabError, match="irqlab cache clear"):
        trialcache.get("k")
    trialcache.clear()
    assert trialcache.get("k") is None
