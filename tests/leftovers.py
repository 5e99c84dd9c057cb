# SPDX-License-Identifier: GPL-2.0-or-later
"""A pytest plugin: tests have a temporary directory of their own, and the run fails if they leave directories of the lab in it.

A test that kills a process, which then cannot remove its directory, gives it another TMPDIR.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from irqlab.qemu.pool import POOL

OURS = ("irqlab-*", "dask-*")
HOME = pytest.StashKey[Path]()
BEFORE = pytest.StashKey[str | None]()
LEFT = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):  # it has that of the process that started it
        return
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # where tmp_path is kept after the run
    config.stash[BEFORE] = os.environ.get("TMPDIR")
    config.stash[HOME] = Path(tempfile.mkdtemp(prefix="tests-of-irqlab-"))
    _use(str(config.stash[HOME]))


def _use(directory: str | None) -> None:
    if directory is None:
        del os.environ["TMPDIR"]
    else:
        os.environ["TMPDIR"] = directory
    tempfile.tempdir = None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    POOL.close()  # QEMUs that wait for further trials have a directory each
    home = session.config.stash.get(HOME, None)
    if home is None:
        return
    left = session.config.stash[LEFT] = sorted(path.name for pattern in OURS for path in home.glob(pattern))
    if left and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left := config.stash.get(LEFT, []):
        terminalreporter.section("left in the temporary directory", red=True)
        terminalreporter.line("\n".join(left))


def pytest_unconfigure(config: pytest.Config) -> None:
    if home := config.stash.get(HOME, None):
        _use(config.stash[BEFORE])
        shutil.rmtree(home, ignore_errors=True)
