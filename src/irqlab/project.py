# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the project's files are: in the checkout, or, of those that a wheel has, in the package."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
PARTS = "_project"
"""Directory of the wheel with parts of the checkout (hatch_build.py)."""


def project_dir() -> Path:
    """The checkout that this package was installed from (``pip install -e``), or what a wheel has of it, laid out alike."""
    return _PACKAGE / PARTS if is_wheel() else _PACKAGE.parents[1]


def is_wheel() -> bool:
    """Whether this package was installed from a wheel."""
    return (_PACKAGE / PARTS).is_dir()
