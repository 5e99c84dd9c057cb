# SPDX-License-Identifier: GPL-2.0-or-later
"""The grid: after an interruption completed trials are not repeated; on a cluster the results are equal to the byte."""

from __future__ import annotations

import csv
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import jsonschema
import pytest

from irqlab.methods import catalogue
from irqlab.setup import qemu
from tests.e2e.conftest import COMMAND, heed_interrupts
from tests.own_cache import own_cache

GRID = ("matrix", "--driver", "8139cp", "--driver", "irqmod_rtl8139cp", "--schemes", "napi+off", "--size", "1518")
SHORT = ("--duration", "0.02", "--warmup", "0.01", "--jobs", "1", "--out", "out")


class Place:
    """An environment with trials of its own, that counts the trials run in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        cache = own_cache(home, "trials", "cluster")
        self.log = home / "runs"
        self.log.touch()
        (home / "tmp").mkdir()
        wrapper = home / "qemu"
        restores = '*" -incoming "*'
        start = shlex.join(qemu.find().command)
        wrapper.write_text(f'#!/bin/sh\ncase " $* " in {restores}) echo run >>"$IRQLAB_TEST_RUNS" ;; esac\nexec {start} "$@"\n')
        wrapper.chmod(0o755)
        self.environment = {
            **os.environ,
            "IRQLAB_CACHE": str(cache),
            "IRQLAB_QEMU": str(wrapper),
            "IRQLAB_FRESH": "1",  # a QEMU for each trial, so that they can be counted
            "IRQLAB_TEST_RUNS": str(self.log),
            "TMPDIR": str(home / "tmp"),  # what is killed leaves its directories
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            [*COMMAND, *arguments], cwd=self.home, env=self.environment, text=True, preexec_fn=heed_interrupts, **pipes
        )

    def run(self, *arguments: str) -> str:
        process = self.start(*arguments)
        out, errors = process.communicate(timeout=1200)
        assert process.returncode == 0, errors
        return out

    def runs(self) -> int:
        """Trials begun since the last time."""
        count = len(self.log.read_text().splitlines())
        self.log.write_text("")
        return count

    def trials(self) -> int:
        """Trials that are kept."""
        return int(self.run("cache", "show").split(" trials")[0].split()[-1].replace(",", ""))

    def table(self) -> str:
        return (self.home / "out" / "matrix.csv").read_text()


def _until(condition: object, seconds: float = 600) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A grid measured without interruption."""
    place = Place(tmp_path_factory.mktemp("whole") / "here")
    place.run(*GRID, *SHORT)
    return place


def test_the_grid_is_a_table_a_document_and_a_page(whole: Place) -> None:
    rows = list(csv.DictReader(whole.table().splitlines()))
    assert [(r["driver"], r["rx_scheme"], r["frame_bytes"]) for r in rows] == [
        ("8139cp", "", "1518"),
        ("irqmod_rtl8139cp", "napi", "1518"),
    ]
    assert float(rows[1]["instructions_per_frame"]) < float(rows[0]["instructions_per_frame"])
    document = json.loads((whole.home / "out" / "matrix.json").read_text())
    jsonschema.validate(document, catalogue.schema())
    assert "Side by side" in (whole.home / "out" / "matrix.html").read_text()


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.long
def test_completed_trials_are_not_repeated(whole: Place, tmp_path: Path, sent: signal.Signals) -> None:
    place = Place(tmp_path / "here")
    process = place.start(*GRID, *SHORT)
    _until(lambda: len(place.log.read_text().splitlines()) >= 5)
    process.send_signal(sent)
    process.communicate(timeout=300)
    assert process.returncode == (130 if sent == signal.SIGINT else -signal.SIGKILL)
    before, begun = place.trials(), place.runs()
    assert begun - 2 <= before <= begun
    place.run(*GRID, *SHORT)
    assert place.runs() == place.trials() - before
    assert place.table() == whole.table()
    place.run(*GRID, *SHORT)
    assert place.runs() == 0


@contextmanager
def _process(place: Place, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    with (place.home / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", *command], env=place.environment, stdout=log, stderr=log)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()


@pytest.mark.long
def test_a_killed_worker_only_repeats_its_trial(whole: Place, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    here, first, second = (Place(tmp_path / name) for name in ("here", "first", "second"))
    file = here.home / "scheduler.json"
    scheduler = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file")
    worker = ("distributed.cli.dask_worker", "--no-nanny", "--no-dashboard", "--nthreads", "1", "--scheduler-file", str(file))
    with _process(here, *scheduler, str(file)):
        _until(file.is_file)
        address = json.loads(file.read_text())["address"]
        with _process(first, *worker) as killed, _process(second, *worker):
            _until(lambda: "Registered" in (second.home / "log").read_text() and "Registered" in (first.home / "log").read_text())
            process = here.start(*GRID, *SHORT, "--scheduler", address)
            _until(lambda: process.poll() is not None or len(first.log.read_text().splitlines()) >= 2)
            assert process.poll() is None, process.communicate()
            killed.kill()
            _, errors = process.communicate(timeout=1200)
            assert process.returncode == 0, errors
            assert here.table() == whole.table()
            made = here.trials()
            on_first, on_second = first.runs(), second.runs()
            assert on_second > 0
            assert made <= on_first + on_second <= made + 1  # the trial that was cut short, if one was
            assert here.runs() <= 2  # its own snapshots, at most: no trial
            kept = sorted(path.name for path in (second.home / "cache" / "cluster").iterdir())
            assert len(kept) == len(set(kept)) == 5  # two snapshots, kernel, image, tester
    shutil.rmtree(second.home / "cache" / "cluster")


def test_a_missing_scheduler_is_reported_at_once(tmp_path: Path) -> None:
    process = Place(tmp_path / "here").start(*GRID, *SHORT, "--scheduler", "nonsense")
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "no Dask scheduler answers" in errors
    assert "Traceback" not in errors
