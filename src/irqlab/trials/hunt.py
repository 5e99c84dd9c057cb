# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of arrivals: a frame that finds the DUT idle, and a second arrival a little later, at another instant in each pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from irqlab.config.addresses import stream
from irqlab.dut.router import Dut
from irqlab.trials.trial import Conditions, Trial

WARMUP_PAIRS = 4
SETTLE_NS = 1_000_000
"""From the start of the window to the first pair."""
DRAIN_NS = 20_000_000
BURST_GAP_NS = 10
"""Between the frames of a second arrival that has several; the line's limit is lifted."""


@dataclass(frozen=True)
class HuntTrial(Trial["HuntResult"]):
    """Pairs, `period_ns` apart. In pair n the second arrival comes first_gap_ns + n step_ns after the first."""

    pairs: int
    first_gap_ns: int
    step_ns: int
    frames: int = 1
    """Of the second arrival; 0: the first frames come alone."""
    other_port: bool = False
    """The second arrival comes to the other port, and leaves through the first."""
    period_ns: int = 8_000_000
    frame_bytes: int = 64

    @property
    def gaps_ns(self) -> tuple[int, ...]:
        """From each pair's first frame to its second arrival."""
        return tuple(self.first_gap_ns + n * self.step_ns for n in range(self.pairs))

    def measure(self, dut: Dut, _: Conditions) -> HuntResult:
        """Runs the pairs. Raises IrqlabError."""
        dut.play_hosts(0)  # arrivals at any instant: no line rate
        streams = [self._stream(0, 1, 1, self.period_ns, SETTLE_NS)]
        if self.frames:
            source, sink = (1, 0) if self.other_port else (0, 1)
            phase_ns = SETTLE_NS + self.first_gap_ns
            streams.append(self._stream(source, sink, self.frames, self.period_ns + self.step_ns, phase_ns))
        last_ns = SETTLE_NS + self.first_gap_ns + self.pairs * (self.period_ns + self.step_ns)
        trial = {
            "warmup_ns": WARMUP_PAIRS * self.period_ns,
            "duration_ns": last_ns,
            "drain_ns": DRAIN_NS,
            "halts": not self.frames,
        }
        result = dut.run_trial(trial, streams)
        dut.kernel_log.check()
        return HuntResult(
            spec=self,
            first=_received(result["streams"][0]),
            second=_received(result["streams"][1]) if self.frames else Received(),
            halts=tuple((int(a), int(b)) for a, b in result.get("halts") or ()),
            kernel_log=list(dut.kernel_log.lines),
        )

    def _stream(self, source: int, sink: int, frames: int, every_ns: int, phase_ns: int) -> dict[str, Any]:
        on_ns = frames * BURST_GAP_NS
        arrivals = {"kind": "bursts", "rate_pps": 1e9 / BURST_GAP_NS, "on_ns": on_ns, "off_ns": every_ns - on_ns}
        one = stream(source, sink, arrivals, {"kind": "fixed", "frame_bytes": self.frame_bytes})
        return one | {"phase_ns": phase_ns, "count": self.pairs * frames, "each": True}


@dataclass(frozen=True)
class Received:
    """What became of one stream's frames."""

    latencies_ns: tuple[int | None, ...] = ()
    """In the order of departure; None: the frame never came out."""
    refused: int = 0
    """Frames for which the NIC had no room."""
    reordered: int = 0
    duplicated: int = 0
    pcs: tuple[int, ...] = ()
    """Where the processor was when each frame departed: the address of its next instruction; 0: not known."""


def _received(found: dict[str, Any]) -> Received:
    return Received(tuple(found["latencies_ns"]), found["refused"], found["reordered"], found["duplicated"], tuple(found["pcs"]))


@dataclass(frozen=True)
class HuntResult:
    """Result of the pairs."""

    spec: HuntTrial
    first: Received
    second: Received
    halts: tuple[tuple[int, int], ...]
    """When the processor halted and went on, in ns from the start of the window; recorded if the first frames come alone."""
    kernel_log: list[str]


HuntTrial.result_type = HuntResult
