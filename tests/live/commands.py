# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs several `irqlab live` commands in one process, in the namespace it is started in.

``python -m tests.live.commands '[["restore", "p0", "p1"], {"IRQLAB_SSH": "/tmp/ssh"}, ["prepare", "p0", "p1"]]'`` prints exit
codes and output as JSON lines. An object sets the environment of the commands that follow, names a program to ``run`` first, or
says after how many seconds an agent hangs (``answer_s``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from typer.testing import CliRunner

from irqlab.cli.app import app
from irqlab.live import remote


def main(commands: list[list[str] | dict[str, Any]]) -> None:
    """Prints a line for each command."""
    for one in commands:
        if isinstance(one, dict):
            if "run" in one:
                subprocess.run(one["run"], check=True)
            elif "answer_s" in one:
                remote.ANSWER_S = one["answer_s"]
            else:
                os.environ.update(one)
            continue
        found = CliRunner().invoke(app, ["live", *one])
        print(json.dumps([found.exit_code, found.stdout, found.stderr or repr(found.exception or "")]), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
