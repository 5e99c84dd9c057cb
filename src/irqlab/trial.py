# SPDX-License-Identifier: GPL-2.0-or-later
"""A trial: what is offered, for how long, and what came of it.

A trial is a pure function of kernel, module, configuration and streams: it starts from a restored snapshot, and virtual
time stands still whenever the lab thinks. Terms are those of RFC 1242, 2285, 2544 and 3393.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from irqlab.costs import Costs
from irqlab.errors import IrqlabError

MIN_FRAME_BYTES = 64
MAX_FRAME_BYTES = 1518
WIRE_OVERHEAD_BYTES = 20
"""Preamble, start-of-frame delimiter and inter-frame gap (IEEE 802.3, 4.2.7.1)."""

IMIX = ((64, 7), (594, 4), (1518, 1))
"""Simple IMIX: (frame bytes, weight)."""

Arrivals = Literal["constant", "poisson", "bursts"]
FrameSize = int | Literal["imix"]


def wire_rate_pps(frame_bytes: float, wire_bps: float) -> float:
    """The highest frame rate a wire carries, in frames/s; frame sizes count the FCS (RFC 2544, section 20)."""
    return wire_bps / ((frame_bytes + WIRE_OVERHEAD_BYTES) * 8)


def mean_frame_bytes(size: FrameSize) -> float:
    """The mean size of a stream's frames in bytes, FCS counted."""
    if size == "imix":
        return sum(s * w for s, w in IMIX) / sum(w for _, w in IMIX)
    return float(size)


def parse_size(text: str) -> FrameSize:
    """A frame size from the command line: 64 to 1518, or imix."""
    if text.strip().lower() == "imix":
        return "imix"
    try:
        size = int(text)
    except ValueError:
        size = -1
    if not MIN_FRAME_BYTES <= size <= MAX_FRAME_BYTES:
        raise IrqlabError(
            f"frame size {text.strip()!r}: allowed are {MIN_FRAME_BYTES} to {MAX_FRAME_BYTES} bytes (FCS counted), and imix"
        )
    return size


@dataclass(frozen=True)
class Load:
    """One stream in each tested direction, or one phase of it."""

    rate_pps: float
    """Frames per second in each direction."""
    size: FrameSize = 64
    arrivals: Arrivals = "constant"
    on_ns: int = 1_000_000
    off_ns: int = 1_000_000
    """For `bursts`: rate_pps is sent for on_ns, nothing for off_ns."""
    begin_ns: int = 0
    end_ns: int | None = None
    """Offsets into the measured window."""
    count: int | None = None
    """At most that many measured frames."""

    def arrivals_json(self) -> dict[str, Any]:
        """The `arrivals` object of docs/protocol.md."""
        if self.arrivals == "bursts":
            return {"kind": "bursts", "rate_pps": self.rate_pps, "on_ns": self.on_ns, "off_ns": self.off_ns}
        return {"kind": self.arrivals, "rate_pps": self.rate_pps}

    def size_json(self) -> dict[str, Any]:
        """The `size` object of docs/protocol.md."""
        if self.size == "imix":
            return {"kind": "imix", "mix": [list(entry) for entry in IMIX]}
        return {"kind": "fixed", "frame_bytes": self.size}


@dataclass(frozen=True)
class TrialSpec:
    """What a trial offers the DUT, and what is recorded."""

    loads: tuple[Load, ...]
    bidirectional: bool = False
    duration_ns: int = 200_000_000
    warmup_ns: int = 50_000_000
    drain_ns: int = 100_000_000
    late_ns: int = 2_000_000
    """A frame that comes out later than this after the last send means that the DUT did not keep up."""
    bucket_ns: int = 0
    histogram: bool = False
    over_wire: bool = False
    """Offer more than the wire carries."""
    seed: int = 1
    capture: str | None = None
    """pcapng file to write."""
    costs: Costs | None = None
    """Hardware costs charged; None: none, as they are."""
    count_events: bool = False
    """Count every event the cost model knows, those that cost nothing too."""


@dataclass(frozen=True)
class Counters:
    """What the DUT counted over the whole trial: warm-up, window and drain."""

    interrupts: dict[str, int] = field(default_factory=dict)
    """Device interrupts by interface (/proc/interrupts)."""
    softirqs: dict[str, int] = field(default_factory=dict)
    cpu_ticks: dict[str, int] = field(default_factory=dict)
    """Timer-tick samples by state (/proc/stat, 10 ms units)."""
    interfaces: dict[str, dict[str, int]] = field(default_factory=dict)
    backlog_drops: int = 0
    time_squeezes: int = 0
    qdisc_drops: int = 0
    driver: dict[str, dict[str, int]] = field(default_factory=dict)
    """What the driver itself counts, by interface (ethtool -S)."""


@dataclass(frozen=True)
class TrialResult:
    """What a trial measured, summed over its directions unless it says otherwise."""

    spec: TrialSpec
    streams: list[dict[str, Any]]
    """One RESULT stream of docs/protocol.md per direction and load."""
    ports: list[dict[str, Any]]
    instructions: int
    """Executed by the DUT in the measured window."""
    idle_ns: int
    counters: Counters
    link_wait_ns: int
    """Virtual time from `up` until frames passed."""
    kernel_log: list[str]
    cost_events: dict[str, int] | None = None
    """What the cost model charged for, by term (irqlab.costs), over the whole trial; None without it."""

    def total(self, what: str, load: int | None = None) -> int:
        """The sum of a stream counter over all streams, or over those of one load."""
        chosen = self.streams if load is None else [s for s in self.streams if s["load"] == load]
        return sum(int(stream[what]) for stream in chosen)

    @property
    def window_s(self) -> float:
        """The measured window in seconds."""
        return self.spec.duration_ns / 1e9

    @property
    def offered_pps(self) -> float:
        """Frames per second sent, all directions together (RFC 2285: offered load)."""
        return self.total("sent") / self.window_s

    @property
    def forwarded_pps(self) -> float:
        """Frames per second that came out in the window, all directions together (RFC 2285: forwarding rate)."""
        return self.total("received_in_window") / self.window_s

    @property
    def loss_ratio(self) -> float:
        """Lost share of the frames sent (RFC 2544, 26.3)."""
        sent = self.total("sent")
        return self.total("lost") / sent if sent else 0.0

    @property
    def kept_up(self) -> bool:
        """No frame came out later than late_ns after the last send."""
        return self.total("late") == 0

    @property
    def instructions_per_frame(self) -> float | None:
        """Instructions executed in the window per frame forwarded in it; None if none was."""
        frames = self.total("received_in_window")
        return self.instructions / frames if frames else None

    @property
    def frames_forwarded(self) -> int:
        """Frames that came out during the whole trial, warm-up included: what the counters are divided by."""
        return sum(int(port["received"]) for port in self.ports)

    def interrupts_per_frame(self) -> float | None:
        """Device interrupts per frame forwarded, over the whole trial; None if none was."""
        frames = self.frames_forwarded
        return sum(self.counters.interrupts.values()) / frames if frames else None

    def caused_per_frame(self, cause: Literal["rx", "tx"]) -> float | None:
        """Interrupts with a receive or transmit cause per frame forwarded, where the driver tells them apart; else None.

        An interrupt may have both causes.
        """
        counted = [found for c in self.counters.driver.values() if (found := c.get(f"{cause}_interrupts")) is not None]
        frames = self.frames_forwarded
        return sum(counted) / frames if counted and frames else None

    def drops(self) -> dict[str, int]:
        """Where frames were lost, over the whole trial; `elsewhere` is what no counter accounts for."""
        return {
            "nic": sum(int(port["refused"]) for port in self.ports),
            "nic_counted": sum(
                i.get(k, 0)
                for i in self.counters.interfaces.values()
                for k in ("rx_missed_errors", "rx_fifo_errors", "rx_over_errors")
            ),
            "rx_dropped": sum(i.get("rx_dropped", 0) for i in self.counters.interfaces.values()),
            "backlog": self.counters.backlog_drops,
            "qdisc": self.counters.qdisc_drops,
            "tx_dropped": sum(i.get("tx_dropped", 0) for i in self.counters.interfaces.values()),
        }

    def to_json(self) -> dict[str, Any]:
        """The trial as it stands in `measured` (docs/results.md)."""
        spec = asdict(self.spec)
        for name in ("capture", "costs", "count_events"):
            spec.pop(name)
        charged = {}
        if self.spec.costs is not None:
            spec["costs"] = self.spec.costs.nonzero()
            charged = {"cost_events": self.cost_events}
        return {
            "spec": spec,
            **charged,
            "offered_pps": self.offered_pps,
            "forwarded_pps": self.forwarded_pps,
            "loss_ratio": self.loss_ratio,
            "kept_up": self.kept_up,
            "instructions": self.instructions,
            "instructions_per_frame": self.instructions_per_frame,
            "idle_ratio": self.idle_ns / self.spec.duration_ns,
            "interrupts": self.counters.interrupts,
            "interrupts_per_frame": self.interrupts_per_frame(),
            "rx_interrupts_per_frame": self.caused_per_frame("rx"),
            "tx_interrupts_per_frame": self.caused_per_frame("tx"),
            "softirqs": self.counters.softirqs,
            "cpu_ticks": self.counters.cpu_ticks,
            "drops": self.drops(),
            "time_squeezes": self.counters.time_squeezes,
            "interfaces": self.counters.interfaces,
            "driver_counters": {
                name: {counter: value for counter, value in counted.items() if value}
                for name, counted in self.counters.driver.items()
            },
            "link_wait_ns": self.link_wait_ns,
            "streams": self.streams,
            "ports": self.ports,
            "kernel_log": self.kernel_log,
        }
