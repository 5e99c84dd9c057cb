# SPDX-License-Identifier: GPL-2.0-or-later
"""A tree for tests of what runs in one."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from irqlab.setup.roots import Root


class OnTheHost(Root):
    """A tree whose commands run on the host, without a namespace."""

    def run(
        self,
        *command: str,
        writable: Mapping[str, Path] | None = None,
        readable: Mapping[str, Path] | None = None,
        chdir: str = "/",
        environment: Mapping[str, str] | None = None,
        network: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **(environment or {})}
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=chdir, env=env)
