# SPDX-License-Identifier: GPL-2.0-or-later
"""Offered traffic: frame sizes, arrivals, loads. Terms are those of RFC 1242, 2285 and 2544."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any, Literal, get_args

from irqlab.errors import IrqlabError

MIN_FRAME_BYTES = 64
MAX_FRAME_BYTES = 1518
WIRE_OVERHEAD_BYTES = 20
"""Preamble, start-of-frame delimiter and inter-frame gap (IEEE 802.3, 4.2.7.1)."""

IMIX = ((64, 7), (594, 4), (1518, 1))
"""Simple IMIX: (frame bytes, weight)."""

MAX_RECORDED = 100_000
"""Frames of a recording that the tester takes."""

Arrivals = Literal["constant", "poisson", "bursts"]
ARRIVALS: tuple[Arrivals, ...] = get_args(Arrivals)
FrameSize = int | Literal["imix"]


def wire_rate_pps(frame_bytes: float, line_rate_bps: float) -> float:
    """The highest frame rate at a line rate, in frames/s; frame sizes include the FCS (RFC 2544, section 20)."""
    return line_rate_bps / ((frame_bytes + WIRE_OVERHEAD_BYTES) * 8)


def mean_frame_bytes(size: FrameSize) -> float:
    """The mean size of a stream's frames in bytes, including FCS."""
    if size == "imix":
        return sum(s * w for s, w in IMIX) / sum(w for _, w in IMIX)
    return float(size)


def parse_size(text: str) -> FrameSize:
    """A frame size from the command line: 64 to 1518, or imix."""
    if text.strip().lower() == "imix":
        return "imix"
    try:
        return check_size(int(text))
    except ValueError:
        raise _bad_size(text.strip()) from None


def check_size(size: FrameSize) -> FrameSize:
    """A frame size that is allowed. Raises IrqlabError for others."""
    if size != "imix" and not (isinstance(size, int) and MIN_FRAME_BYTES <= size <= MAX_FRAME_BYTES):
        raise _bad_size(size)
    return size


def _bad_size(size: object) -> IrqlabError:
    return IrqlabError(
        f"frame size {str(size)!r}: allowed are {MIN_FRAME_BYTES} to {MAX_FRAME_BYTES} bytes (including FCS), and imix"
    )


@dataclass(frozen=True)
class Load:
    """One stream per tested direction, or one phase of it."""

    rate_pps: float
    """Frames per second in each direction."""
    size: FrameSize = 64
    arrivals: Arrivals | Literal["recorded"] = "constant"
    on_ns: int = 1_000_000
    off_ns: int = 1_000_000
    """For `bursts`: rate_pps is sent for on_ns, nothing for off_ns."""
    begin_ns: int = 0
    end_ns: int | None = None
    """Offsets into the measured window."""
    count: int | None = None
    """Maximum number of measured frames."""

    def arrivals_json(self) -> dict[str, Any]:
        """The `arrivals` object of docs/inside/protocol.md."""
        if self.arrivals == "bursts":
            return {"kind": "bursts", "rate_pps": self.rate_pps, "on_ns": self.on_ns, "off_ns": self.off_ns}
        return {"kind": self.arrivals, "rate_pps": self.rate_pps}

    def size_json(self) -> dict[str, Any]:
        """The `size` object of docs/inside/protocol.md."""
        if self.size == "imix":
            return {"kind": "imix", "mix": [list(entry) for entry in IMIX]}
        return {"kind": "fixed", "frame_bytes": self.size}


@dataclass(frozen=True)
class Recording:
    """Frames as they were recorded."""

    gaps_ns: tuple[int, ...]
    """From each frame to the next one; from the last one to the first."""
    frame_bytes: tuple[int, ...]
    """With FCS."""

    @property
    def span_ns(self) -> int:
        """How long it takes."""
        return sum(self.gaps_ns)

    @property
    def rate_pps(self) -> float:
        """The mean rate."""
        return len(self.gaps_ns) * 1e9 / self.span_ns

    @property
    def mean_bytes(self) -> float:
        """The mean size, with FCS."""
        return sum(self.frame_bytes) / len(self.frame_bytes)

    def section(self, share: float, length_ns: int) -> Recording:
        """A part of this length, or the whole if it is shorter, that begins after a share of the time.

        It begins with a frame and goes on at the begin of the recording. It has at most MAX_RECORDED frames.
        """
        offsets_ns = [0, *accumulate(self.gaps_ns)]
        first = bisect_left(offsets_ns, share * offsets_ns.pop()) % len(offsets_ns)
        gaps_ns = [*self.gaps_ns[first:], *self.gaps_ns[:first]]
        sizes = [*self.frame_bytes[first:], *self.frame_bytes[:first]]
        frames = min(bisect_left(list(accumulate(gaps_ns)), length_ns) + 1, MAX_RECORDED)
        return Recording(tuple(gaps_ns[:frames]), tuple(sizes[:frames]))

    def slower(self, times: float) -> Recording:
        """The same frames, in so many times the time."""
        return Recording(stretched(self.gaps_ns, times), self.frame_bytes)


def stretched(gaps_ns: Sequence[int], times: float) -> tuple[int, ...]:
    """Distances that are longer by a factor, without accumulating errors of rounding."""
    offsets_ns = [0, *(round(at_ns * times) for at_ns in accumulate(gaps_ns))]
    return tuple(after - before for before, after in pairwise(offsets_ns))


@dataclass(frozen=True)
class RecordedLoad(Load):
    """A recording, again and again. `rate_pps` is its mean rate."""

    recording: Recording = field(kw_only=True)
    arrivals: Arrivals | Literal["recorded"] = "recorded"

    @classmethod
    def of(cls, recording: Recording) -> RecordedLoad:
        """At its own rate."""
        return cls(recording.rate_pps, recording=recording)

    def arrivals_json(self) -> dict[str, Any]:
        """As of Load."""
        return {"kind": "recorded", "gaps_ns": list(self.recording.gaps_ns)}

    def size_json(self) -> dict[str, Any]:
        """As of Load."""
        return {"kind": "recorded", "frame_bytes": list(self.recording.frame_bytes)}
