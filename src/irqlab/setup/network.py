# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs that set up the host's real ports, in a tree of their own: ip, tc, ethtool."""

import os
import shlex
from pathlib import Path

from irqlab.files import write_atomically
from irqlab.setup import debs

PACKAGES = ("iproute2", "ethtool")
PROGRAMS = {"ip": "usr/bin/ip", "tc": "usr/sbin/tc", "ethtool": "usr/sbin/ethtool"}


def programs() -> Path:
    """A directory for PATH with these programs; their tree is fetched unless in the cache. Raises SetupError."""
    tree = debs.tree("network", PACKAGES, "bookworm", "fetching ip and ethtool (10 MB)")
    home = tree.directory / "programs"
    for name, path in PROGRAMS.items():
        if not (home / name).is_file():
            home.mkdir(exist_ok=True)
            write_atomically(home / name, f'#!/bin/sh\nexec {shlex.join(tree.outside(path))} "$@"\n'.encode())
            (home / name).chmod(0o755)
    return home


def environment() -> dict[str, str]:
    """The environment, with these programs first in PATH."""
    return {**os.environ, "PATH": f"{programs()}:{os.environ.get('PATH', '')}"}
