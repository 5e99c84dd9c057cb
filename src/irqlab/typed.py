# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON data as objects of a type."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_FIRST = threading.RLock()


def typed(content: Any, kind: type[T]) -> T:
    """`content`, of dicts and lists, as a `kind`. Raises msgspec.ValidationError.

    One thread at a time: msgspec learns a type at its first use, and crashes if another thread uses it meanwhile (0.22).
    """
    with _FIRST:
        return msgspec.convert(content, kind)
