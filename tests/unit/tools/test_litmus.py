# SPDX-License-Identifier: GPL-2.0-or-later
"""The litmus tests (drivers/irqmod/litmus), as far as they can be checked without herd7: tools.litmus does the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tools import litmus

LITMUS = ROOT / "drivers/irqmod/litmus"
ONLY_LOOM = "unmask_against_stop"


def named(name: str) -> Any:
    return next(test for test in litmus.tests() if test.name == name)


def test_each_has_a_model_and_a_row() -> None:
    names = {test.name for test in litmus.tests()}
    models = {path.stem for path in (ROOT / "tests/loom/src").glob("*.rs")} - {"lib", ONLY_LOOM}
    assert names == {model.replace("_", "-") for model in models}
    rows = [line.split("`")[1] for line in (LITMUS / "README.md").read_text().splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted(names)


def test_each_barrier_can_be_removed() -> None:
    for test in litmus.tests():
        weaker = dict(test.weaker())
        assert weaker, test.name
        assert test.text not in weaker.values()
        assert set(test.redundant) < set(weaker), test.name
    (release,) = (text for barrier, text in named("hybrid-owner").weaker() if barrier.startswith("P0"))
    assert "\tWRITE_ONCE(*next, 1);\n\tWRITE_ONCE(*polls, 1);\n" in release
    ((_, unlocked),) = named("timer-against-xmit").weaker()
    assert "lock(" not in unlocked


def test_a_comment_in_a_comment_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.litmus"
    path.write_text("C one\n\n(* SPDX-License-Identifier: GPL-2.0-only *)\n(*\n * READ_ONCE(*done)\n *)\n\n{}\n")
    with pytest.raises(SystemExit, match="takes for a comment"):
        litmus.Test.read(path)


def test_herd7s_results_are_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools = tmp_path / "linux/tools/memory-model"
    tools.mkdir(parents=True)
    (tools / "linux-kernel.cfg").touch()
    assert litmus.main([]) == 2
    assert litmus.main([str(tmp_path)]) == 2
    monkeypatch.setenv("PATH", str(tmp_path))
    capsys.readouterr()
    assert litmus.main([str(tmp_path / "linux")]) == 2
    assert "herd7 is not in PATH" in capsys.readouterr().err
    herd7 = tmp_path / "herd7"
    herd7.write_text("#!/bin/sh\necho Observation any Never 0 3\n")
    herd7.chmod(0o755)
    assert litmus.main([str(tmp_path / "linux")]) == 1
    said = capsys.readouterr().out
    assert "open-urb, as it is: Never\n" in said
    assert "open-urb, without P0: smp_mb(): Never, and not Sometimes\n" in said
    assert "ring-handover, without P0: smp_load_acquire(done): Never\n" in said
