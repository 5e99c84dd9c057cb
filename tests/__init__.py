# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""Of the repository."""
