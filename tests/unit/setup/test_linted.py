# SPDX-License-Identifier: GPL-2.0-or-later
"""Complaints that are kept: what has not changed is not checked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from irqlab.setup import linted


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRQLAB_CACHE", str(tmp_path))
    return tmp_path / "linted"


def test_a_check_is_made_once_for_the_same_parts() -> None:
    made = []

    def check() -> list[str]:
        made.append(1)
        return ["a complaint"]

    for parts in (("a", b"b"), ("a", b"b"), ("ab", b""), ("a", b"b", "")):
        assert linted.complaints(parts, check) == ["a complaint"]
    assert len(made) == 3


def test_a_damaged_file_is_replaced(cache: Path) -> None:
    assert linted.complaints(["x"], list) == []
    (kept,) = cache.iterdir()
    kept.write_text("[")
    assert linted.complaints(["x"], lambda: ["again"]) == ["again"]
    assert linted.complaints(["x"], lambda: ["not asked"]) == ["again"]


def test_a_check_that_fails_is_not_kept(cache: Path) -> None:
    def fails() -> list[str]:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011
        linted.complaints(["x"], fails)
    assert not cache.exists()


def test_the_oldest_go(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linted, "KEEP", 3)
    for n in range(5):
        linted.complaints([str(n)], list)
    assert len(list(cache.iterdir())) == 3
