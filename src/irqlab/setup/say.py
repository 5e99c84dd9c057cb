# SPDX-License-Identifier: GPL-2.0-or-later
"""Says what takes long: downloads and builds."""

import os
import sys

QUIET = "IRQLAB_QUIET"
"""Variable of the environment: no progress is shown."""


def say(text: str) -> None:
    """Prints a line to stderr, unless QUIET."""
    if QUIET not in os.environ:
        print(f"  {text}", file=sys.stderr, flush=True)
