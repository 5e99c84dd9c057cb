# SPDX-License-Identifier: GPL-2.0-or-later
"""Says what takes long: downloads and builds."""

import sys


def say(text: str) -> None:
    """Prints a line to stderr."""
    print(f"  {text}", file=sys.stderr, flush=True)
