# SPDX-License-Identifier: GPL-2.0-or-later
"""Types of single values in results."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

Count = Annotated[int, Meta(ge=0)]
Rate = Annotated[float, Meta(ge=0)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
FrameBytes = Annotated[int, Meta(ge=64, le=1518, description="FCS counted.")] | Literal["imix"]
Counts = Annotated[dict[str, int], Meta(description="What the kernel or the tester counted, by name.")]
