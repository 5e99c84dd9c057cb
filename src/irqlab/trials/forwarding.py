# SPDX-License-Identifier: GPL-2.0-or-later
"""A forwarding trial: the load offered to the DUT as a router, and the result.

Terms are those of RFC 1242, 2285, 2544 and 3393.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from msgspec import to_builtins

from irqlab.config.addresses import stream
from irqlab.config.costs import Costs
from irqlab.config.traffic import Load
from irqlab.dut import costmodel, counters
from irqlab.dut.counters import Counters
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.trials.record import Answer, LiveTrial, MemoryCounts, Port, Processor, Stream
from irqlab.trials.trial import Conditions, Trial


@dataclass(frozen=True)
class ForwardingTrial(Trial["ForwardingResult"]):
    """The offered load of a trial, and what is recorded."""

    loads: tuple[Load, ...]
    bidirectional: bool = False
    duration_ns: int = 200_000_000
    warmup_ns: int = 50_000_000
    drain_ns: int = 100_000_000
    late_ns: int = 2_000_000
    """If a frame comes out later than this after the last one was sent, the DUT did not keep up."""
    bucket_ns: int = 0
    histogram: bool = False
    above_line_rate: bool = False
    """Allow offered loads above line rate."""
    seed: int = 1
    capture: str | None = None
    """pcapng file to write."""
    costs: Costs | None = None
    """Hardware costs to charge; None: leave the cost model alone."""
    count_events: bool = False
    """Count all events of the cost model, even those that cost nothing."""

    @property
    def cacheable(self) -> bool:
        """False if a capture file has to be written."""
        return self.capture is None

    def specification(self) -> dict[str, Any]:
        """All fields but the capture, which does not affect results."""
        fields = super().specification()
        del fields["capture"]
        return fields

    def without_memory(self, result: ForwardingResult) -> ForwardingResult:
        """The result as without a memory model."""
        return replace(result, memory=None)

    def measure_again(self, dut: Dut, conditions: Conditions) -> ForwardingResult:
        """As `measure`; the DUT's counters are read before, and the caller looks at the kernel's messages."""
        return self.measure(dut, conditions, fresh=False)

    def measure(self, dut: Dut, conditions: Conditions, fresh: bool = True) -> ForwardingResult:
        """Offers the loads and counts the frames that come out. `fresh`: the DUT was just restored, so its counters are known.

        Without it, the caller looks at the kernel's messages.
        """
        dut.play_hosts(0 if self.above_line_rate else conditions.line_rate_bps)
        if self.capture:
            dut.rpc.call("capture", path=str(Path(self.capture).absolute()))
        charged = self.costs is not None or self.count_events
        if charged:
            if not conditions.cost_model:
                raise IrqlabError("hardware costs need a testbed with a cost model (TestbedConfig.cost_model)")
            costmodel.charge(dut, self.costs or Costs(), self.count_events)
        counted = costmodel.events(dut) if charged else {}
        before = conditions.counters if fresh else dut.counters()
        directions = ((0, 1), (1, 0)) if self.bidirectional else ((0, 1),)
        streams, load_of = [], []
        for number, load in enumerate(self.loads):
            for source, sink in directions:
                one = stream(source, sink, load.arrivals_json(), load.size_json())
                one |= {"begin_ns": load.begin_ns, "end_ns": load.end_ns, "count": load.count}
                # The second direction starts half a period later, since two independent senders would not be in phase.
                one["phase_ns"] = int(0.5e9 / load.rate_pps) if source == 1 else 0
                streams.append(one)
                load_of.append(number)
        answer = dut.run_trial(
            {
                "seed": self.seed,
                "warmup_ns": self.warmup_ns,
                "duration_ns": self.duration_ns,
                "drain_ns": self.drain_ns,
                "late_ns": self.late_ns,
                "bucket_ns": self.bucket_ns,
                "histogram": self.histogram,
            },
            streams,
        )
        found = Answer.of(answer)
        after = dut.counters()
        if charged:
            counted = {name: number - counted[name] for name, number in costmodel.events(dut).items()}
        if self.capture:
            dut.rpc.call("capture", path=None)
        dut.kernel_log.check(messages=fresh)
        return ForwardingResult(
            spec=self,
            streams=[one.of_load(number) for one, number in zip(found.streams, load_of, strict=True)],
            ports=found.ports,
            instructions=found.instructions,
            idle_ns=found.idle_ns,
            counters=counters.difference(before, after),
            link_wait_ns=conditions.link_wait_ns,
            kernel_log=dut.kernel_log.lines,
            cost_events=counted if charged else None,
            memory=found.memory,
            live=found.live,
            processors=[Processor(instructions, idle_ns / found.window_ns) for instructions, idle_ns in found.processors],
        )


@dataclass(frozen=True)
class ForwardingResult:
    """Result of a trial, summed over its directions unless stated otherwise."""

    spec: ForwardingTrial
    streams: list[Stream]
    """One per direction and load."""
    ports: list[Port]
    instructions: int
    """Instructions executed by the DUT in the measurement window."""
    idle_ns: int | None
    """None: unknown, of a real machine without an agent."""
    counters: Counters
    link_wait_ns: int
    """Virtual time from setting the link up until frames passed."""
    kernel_log: list[str]
    cost_events: dict[str, int] | None = None
    """Events charged by the cost model over the whole trial, by term (irqlab.config.costs); None without a cost model."""
    memory: MemoryCounts | None = None
    """The memory model's counters in the measurement window; None without a memory model."""
    processors: list[Processor] = field(default_factory=list)
    """Each of several; empty: there is one."""
    live: LiveTrial | None = None
    """What the tester says about itself, on real ports (irqlab.live.judge); None in the lab, where it has no limits."""

    @property
    def offered_all(self) -> bool:
        """Whether the load was offered as asked for: on real ports the tester can be too slow."""
        return self.live is None or not self.live.unreached

    @property
    def idle_ratio(self) -> float | None:
        """Share of the window in which the DUT's processor had nothing to do, on average if it has several; None: unknown."""
        return None if self.idle_ns is None else self.idle_ns / self.spec.duration_ns

    def total(self, what: str, load: int | None = None) -> int:
        """The sum of a stream counter over all streams, or over those of one load."""
        chosen = self.streams if load is None else [stream for stream in self.streams if stream.load == load]
        return sum(getattr(stream, what) for stream in chosen)

    @property
    def window_s(self) -> float:
        """The measurement window in seconds."""
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
        """Share of the frames sent that were lost (RFC 2544, 26.3)."""
        sent = self.total("sent")
        return self.total("lost") / sent if sent else 0.0

    @property
    def kept_up(self) -> bool:
        """No frame came out later than late_ns after the last send."""
        return self.total("late") == 0

    @property
    def instructions_per_frame(self) -> float | None:
        """Instructions per frame forwarded in the window; None if no frame was, or on real ports."""
        frames = self.total("received_in_window")
        return self.instructions / frames if frames and self.live is None else None

    def fills_per_frame(self, cache: str) -> float | None:
        """Line fills of a cache (irqlab.config.memory.CACHES) per frame forwarded; None if there is no such cache."""
        fills = [found.misses for found in (self.memory.caches if self.memory else ()) if found.name == cache]
        frames = self.total("received_in_window")
        return sum(fills) / frames if fills and frames else None

    @property
    def frames_forwarded(self) -> int:
        """Frames forwarded in the whole trial, including warm-up, as the kernel's counters are."""
        return sum(port.received for port in self.ports)

    def interrupts_per_frame(self) -> float | None:
        """Device interrupts per frame forwarded, over the whole trial; None if no frame was, or if they are not known."""
        frames = self.frames_forwarded
        known = self.live is None or self.counters.interrupts
        return sum(self.counters.interrupts.values()) / frames if frames and known else None

    def caused_per_frame(self, cause: Literal["rx", "tx"]) -> float | None:
        """Interrupts with a receive or transmit cause per frame forwarded; None if the driver does not distinguish them.

        An interrupt may have both causes.
        """
        counted = [found for c in self.counters.driver.values() if (found := c.get(f"{cause}_interrupts")) is not None]
        frames = self.frames_forwarded
        return sum(counted) / frames if counted and frames else None

    def drops(self) -> dict[str, int]:
        """Frames lost over the whole trial, by location."""
        return {
            "nic": sum(port.refused for port in self.ports),
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
        """The trial as stored in `measured` (docs/use/results.md)."""
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
            **({"memory": to_builtins(self.memory)} if self.memory else {}),
            **({"processors": to_builtins(self.processors)} if self.processors else {}),
            **({"live": to_builtins(self.live)} if self.live else {}),
            "offered_pps": self.offered_pps,
            "forwarded_pps": self.forwarded_pps,
            "loss_ratio": self.loss_ratio,
            "kept_up": self.kept_up,
            "instructions": self.instructions,
            "instructions_per_frame": self.instructions_per_frame,
            "idle_ratio": self.idle_ratio,
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
            "streams": to_builtins(self.streams),
            "ports": to_builtins(self.ports),
            "kernel_log": self.kernel_log,
        }


ForwardingTrial.result_type = ForwardingResult
