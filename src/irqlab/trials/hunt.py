# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of events: something that finds the DUT idle, and an arrival a little later, at another instant in each pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from irqlab.config.addresses import stream
from irqlab.dut.agent import DutError, NotSupportedError, dut_error, failure
from irqlab.dut.router import Dut
from irqlab.errors import IrqlabError
from irqlab.qemu.rpc import TesterError
from irqlab.trials.record import Answer, Cued, Path, Probed, StreamAnswer
from irqlab.trials.trial import Conditions, Trial

WARMUP_PAIRS = 4
SWITCHING_WARMUP_PAIRS = 16
"""In them the tester finds out where QEMU keeps what it needs to choose between processors."""
SETTLE_NS = 1_000_000
"""From the start of the window to the first pair."""
SWITCHED_PATIENCE_NS = 10_000_000_000
"""How long the DUT may go without an answer after a trial with switches, which is hardly loaded."""
DRAIN_NS = 20_000_000
BURST_GAP_NS = 10
"""Between the frames of a second arrival that has several; the line's limit is lifted."""
CHECKS = 2
"""Frames at the end of a pair, CHECK_EVERY_NS apart. The last one has to arrive: the one before may wait for ARP."""
CHECK_EVERY_NS = 1_000_000
CHECK_ROOM_NS = 4_000_000
"""From the first of them to the next pair."""
NEVER = 1 << 40
"""A call that fails after so many does not fail."""


@dataclass(frozen=True)
class Step:
    """Something that the DUT's agent does in every pair: it writes a file, or runs a command."""

    at_ns: int
    """From the pair's beginning."""
    path: str = ""
    text: str = ""
    argv: tuple[str, ...] = ()
    may_fail: bool = False

    def do(self, dut: Dut) -> None:
        """Does it. Raises DutError if it fails, and may not."""
        if self.argv:
            done = dut.attempt(*self.argv)
            if done["code"] and not self.may_fail:
                raise failure(f"{' '.join(self.argv)}: {(done['err'] or done['out']).strip()}", done)
            return
        try:
            dut.write(self.path, self.text)
        except TesterError as error:
            if not self.may_fail:
                raise dut_error(f"{self.path}: {self.text}: {error}", error) from error


@dataclass(frozen=True)
class Failing:
    """A function whose calls fail: in pair n the n-th call after `at_ns`."""

    probe: int
    """Its index among the trial's probes."""
    value: int
    """What it returns then."""
    at_ns: int = 0
    first: int = 0
    """How many calls succeed in the first pair."""
    until_ns: int | None = None
    """Calls from then on do not fail; None: from the frames at the pair's end on, or in the next pair."""


@dataclass(frozen=True)
class Switches:
    """Where processors give way to each other."""

    code: tuple[tuple[int, int], ...]
    """The driver's: addresses, begin and end."""
    points: tuple[tuple[int, ...], ...] = ()
    """For each pair, before which instructions of the code, counted in the order of their execution."""


@dataclass(frozen=True)
class Cues:
    """In each pair the second event comes before an instruction of some code, counted in the pair in the order of execution."""

    code: tuple[tuple[int, int], ...]
    """Addresses, begin and end."""
    points: tuple[int | None, ...]
    """For each pair the number of the instruction; None, and if it is not reached: the second event comes at its own instant."""


@dataclass(frozen=True)
class HuntTrial(Trial["HuntResult"]):
    """Pairs, `period_ns` apart. In pair n the second arrival comes first_gap_ns + n step_ns after the first."""

    pairs: int
    first_gap_ns: int
    step_ns: int
    frames: int = 1
    """Of the second arrival; 0: the first frames come alone."""
    frames_every_ns: int = BURST_GAP_NS
    """Between its frames."""
    other_port: bool = False
    """The second arrival comes to the other port, and leaves through the first."""
    period_ns: int = 8_000_000
    frame_bytes: int = 64
    first_frames: int = 1
    """Of the first arrival; 0: there is none."""
    first_every_ns: int = BURST_GAP_NS
    """Between its frames."""
    interrupt: bool = False
    """The second event is an interrupt without a frame (protocol.md, `events`). With `frames` it follows the second arrival."""
    interrupt_after_ns: int = 0
    """How long after the second event's instant it comes."""
    interrupt_delay_ns: int = 0
    """How much later than usual the NICs interrupt."""
    write_delay_ns: int = 0
    """How long writes to registers take to the NICs."""
    check: bool = False
    """Frames are sent at the end of each pair: the last of them has to arrive."""
    tolerates: tuple[str, ...] = ()
    """What may happen to frames of the two arrivals, since something else happens: "lost", "late"."""
    before: tuple[Step, ...] = ()
    """Done once, before the trial."""
    steps: tuple[Step, ...] = ()
    failing: Failing | None = None
    probes: tuple[int, ...] = ()
    """Addresses of functions of the DUT whose entries are recorded."""
    transmits: bool = False
    """The first probe frees packets, the others hand packets to drivers; but for the one of `failing`."""

    switches: Switches | None = None
    """With several processors; the second arrival comes together with the first."""
    cues: Cues | None = None
    warmup_pairs: int | None = None
    """Pairs before the window, each with the first arrival: other positions in rings and allocators. None: as usual."""
    last_alone: bool = False
    """No frames are sent at the end of the last pair, and the DUT's halts are recorded: what comes out by itself, and when?"""

    @property
    def gaps_ns(self) -> tuple[int, ...]:
        """From each pair's first frame to its second arrival."""
        return tuple(self.first_gap_ns + n * self.step_ns for n in range(self.pairs))

    def measure(self, dut: Dut, _: Conditions) -> HuntResult:
        """Runs the pairs. Raises IrqlabError."""
        dut.play_hosts(0)  # arrivals at any instant: no line rate
        if self.switches:  # a DUT that hangs with two busy processors passes 120 virtual seconds in several minutes
            dut.patience_ns = min(dut.patience_ns, SWITCHED_PATIENCE_NS)
        for step in self.before:
            step.do(dut)
        streams = self._streams()
        last_ns = SETTLE_NS + self.first_gap_ns + self.pairs * (self.period_ns + self.step_ns)
        trial = {
            "warmup_ns": self._warmup_pairs() * self.period_ns,
            "duration_ns": last_ns,
            "drain_ns": DRAIN_NS,
            "halts": self.records_halts,
            "probes": list(self.probes),
            "events": list(self._events()),
            "interrupt_delay_ns": self.interrupt_delay_ns,
            "write_delay_ns": self.write_delay_ns,
            **({"preempt": self._preempt(self.switches)} if self.switches else {}),
            **({"cues": self._cues(self.cues, list(streams))} if self.cues else {}),
        }
        stepped: list[tuple[int, int]] = []
        meanwhile = (lambda begin_ns: stepped.extend(self._do_steps(dut, begin_ns))) if self.steps else None
        answer = Answer.of(dut.run_trial(trial, list(streams.values()), meanwhile))
        dut.kernel_log.check(messages=self.failing is None)  # a driver may say that a call has failed
        found = dict(zip(streams, map(_received, answer.streams), strict=True))
        return HuntResult(
            spec=self,
            first=found.get("first", Received()),
            second=found.get("second", Received()),
            check=found.get("check", Received()),
            halts=answer.halts,
            transmitted=_transmitted(self, answer.probes) if self.transmits else (),
            calls=_calls(self, answer.probes),
            failed=_failed(self, answer.probes),
            passed=answer.passed,
            switched=tuple((one.round, one.processor, one.address) for one in answer.switched),
            kernel_log=list(dut.kernel_log.lines),
            cued=answer.cued,
            paths=answer.paths,
            stepped=tuple(stepped),
        )

    @property
    def failing_until_ns(self) -> int:
        """Until when in a pair calls may fail."""
        if self.failing is None or self.failing.until_ns is None:
            return self.period_ns - (CHECK_ROOM_NS if self.check else 0)
        return self.failing.until_ns

    @property
    def is_alone(self) -> bool:
        """Whether there is no second event."""
        return not self.frames and not self.interrupt

    @property
    def records_halts(self) -> bool:
        """Whether the DUT's halts are recorded, for instance to choose instants by them. With USB there are 13,000 a second."""
        return self.last_alone or (self.is_alone and self.failing is None)

    def _streams(self) -> dict[str, dict[str, Any]]:
        streams = {}
        source, sink = (1, 0) if self.other_port else (0, 1)
        if self.first_frames:
            streams["first"] = self._stream(0, 1, self.first_frames, self.first_every_ns, self.period_ns, SETTLE_NS)
        if self.frames:
            every_ns = self.period_ns + self.step_ns
            streams["second"] = self._stream(
                source, sink, self.frames, self.frames_every_ns, every_ns, SETTLE_NS + self.first_gap_ns
            )
        if self.check:
            at_ns = SETTLE_NS + self.period_ns - CHECK_ROOM_NS
            checked = self._stream(0, 1, CHECKS, CHECK_EVERY_NS, self.period_ns, at_ns)
            streams["check"] = checked | {"count": (self.pairs - self.last_alone) * CHECKS}
        return {name: one for name, one in streams.items() if one["count"]}

    def _stream(self, source: int, sink: int, frames: int, gap_ns: int, every_ns: int, phase_ns: int) -> dict[str, Any]:
        on_ns = frames * gap_ns
        arrivals = {"kind": "bursts", "rate_pps": 1e9 / gap_ns, "on_ns": on_ns, "off_ns": every_ns - on_ns}
        one = stream(source, sink, arrivals, {"kind": "fixed", "frame_bytes": self.frame_bytes})
        return one | {"phase_ns": phase_ns, "count": self.pairs * frames, "each": True}

    def _warmup_pairs(self) -> int:
        if self.warmup_pairs is not None:
            return self.warmup_pairs
        if self.steps:
            return 0
        return SWITCHING_WARMUP_PAIRS if self.switches else WARMUP_PAIRS

    def _preempt(self, switches: Switches) -> dict[str, Any]:
        points = switches.points or ((),) * self.pairs
        return {"ranges": switches.code, "first_ns": SETTLE_NS, "every_ns": self.period_ns, "points": points}

    def _cues(self, cues: Cues, streams: list[str]) -> dict[str, Any]:
        return {
            "ranges": cues.code,
            "first_ns": SETTLE_NS,
            "every_ns": self.period_ns,
            "until_ns": self.first_gap_ns,
            "points": cues.points,
            "what": {"stream": streams.index("second")} if self.frames else {"event": 0},
        }

    def _events(self) -> list[dict[str, Any]]:
        every_ns, events = self.period_ns + self.step_ns, []
        if self.interrupt:
            what: dict[str, Any] = {"kind": "interrupt", "port": int(self.other_port)}
            first_ns = SETTLE_NS + self.first_gap_ns + self.interrupt_after_ns
            events.append({"do": what, "first_ns": first_ns, "every_ns": every_ns, "count": self.pairs})
        if self.failing is not None:
            one = self.failing
            # The first disarms a failure whose call did not come. It is listed first: events at one instant happen in this
            # order, so that the next pair's stays armed.
            for at_ns, after in ((self.failing_until_ns, NEVER), (one.at_ns, one.first)):
                what = {"kind": "fail", "function": one.probe, "after": after, "value": one.value}
                first_ns = SETTLE_NS + at_ns
                events.append({"do": what, "first_ns": first_ns, "every_ns": self.period_ns, "count": self.pairs})
        return events

    def _do_steps(self, dut: Dut, begin_ns: int) -> Iterator[tuple[int, int]]:
        """Does them; when each began and ended, in ns from the start of the window."""

        def now_ns() -> int:
            return int(dut.rpc.call("clock")["now_ns"]) - begin_ns

        for number in range(self.pairs):
            for step in self.steps:
                wait_ns = SETTLE_NS + number * self.period_ns + step.at_ns - now_ns()
                if wait_ns > 0:
                    dut.sleep(wait_ns)
                began_ns = now_ns()
                try:
                    step.do(dut)
                except IrqlabError as error:
                    kind = NotSupportedError if isinstance(error, NotSupportedError) else DutError
                    raise kind(f"pair {number}: {error}") from error
                yield began_ns, now_ns()


@dataclass(frozen=True)
class Received:
    """What became of one stream's frames."""

    latencies_ns: tuple[int | None, ...] = ()
    """In the order of departure; None: the frame never came out."""
    refused: int = 0
    """Frames for which the NIC had no room."""
    pcs: tuple[int, ...] = ()
    """Where the processor was when each frame departed: the address of its next instruction; 0: not known."""
    repeats: tuple[tuple[int, int], ...] = ()
    """Frames that came out once more: their places in the order of departure, and how old they were then, in ns."""


def _received(found: StreamAnswer) -> Received:
    return Received(found.latencies_ns, found.refused, found.pcs, found.repeats)


@dataclass(frozen=True)
class Transmitted:
    """A packet that the DUT's kernel gave to a driver."""

    at_ns: int
    """From the start of the window."""
    freed_ns: int | None
    """How much later it was freed; None: it was not."""


def _transmitted(trial: HuntTrial, entries: Sequence[Probed]) -> tuple[Transmitted, ...]:
    """Packets from when they are given to a driver until they are freed, found by their address."""
    held: dict[int, int] = {}
    found: list[Transmitted] = []
    for function, at_ns, packet, _ in entries:
        if trial.failing is not None and function == trial.failing.probe:
            continue
        if function:
            held[packet] = len(found)
            found.append(Transmitted(at_ns, None))
        elif packet in held:
            number = held.pop(packet)
            found[number] = replace(found[number], freed_ns=at_ns - found[number].at_ns)
    return tuple(found)


def _calls(trial: HuntTrial, entries: Sequence[Probed]) -> tuple[int, ...]:
    """How often the function that fails was called in each pair, while calls may fail."""
    if trial.failing is None:
        return ()
    calls, end_ns = [0] * trial.pairs, trial.failing_until_ns
    for function, at_ns, _, _ in entries:
        number, into_ns = divmod(at_ns - SETTLE_NS, trial.period_ns)
        if function == trial.failing.probe and 0 <= number < trial.pairs and trial.failing.at_ns <= into_ns < end_ns:
            calls[number] += 1
    return tuple(calls)


def _failed(trial: HuntTrial, entries: Sequence[Probed]) -> tuple[bool, ...]:
    """Whether a call failed in each pair."""
    if trial.failing is None:
        return ()
    pairs = {(at_ns - SETTLE_NS) // trial.period_ns for _, at_ns, _, failed in entries if failed}
    return tuple(number in pairs for number in range(trial.pairs))


@dataclass(frozen=True)
class HuntResult:
    """Result of the pairs."""

    spec: HuntTrial
    first: Received
    second: Received
    halts: tuple[tuple[int, int], ...]
    """When the processor halted and went on, in ns from the start of the window; with `records_halts`."""
    kernel_log: list[str]
    check: Received = field(default_factory=Received)
    transmitted: tuple[Transmitted, ...] = ()
    """In the order in which they were given to a driver."""
    calls: tuple[int, ...] = ()
    """With `failing`: how often the function was called in each pair."""
    failed: tuple[bool, ...] = ()
    """With `failing`: whether a call failed in each pair. There may be fewer calls than in the pairs without a failure."""
    passed: tuple[int, ...] = ()
    """With `switches`: how many instructions of the code were executed in each pair."""
    switched: tuple[tuple[int, int, int], ...] = ()
    """Where processors gave way: the pair, the processor, and the address of the instruction that it was about to execute."""
    cued: tuple[Cued, ...] = ()
    """With `cues`: for each pair."""
    paths: tuple[Path, ...] = ()
    """With `cues`: of the pairs without one, each way once."""

    def gap_ns(self, pair: int) -> int:
        """From a pair's first frame to its second event."""
        at_ns = self.cued[pair].at_ns if self.cued else None
        spec = self.spec
        return spec.first_gap_ns + pair * spec.step_ns if at_ns is None else at_ns - SETTLE_NS - pair * spec.period_ns

    stepped: tuple[tuple[int, int], ...] = ()
    """With `steps`: when each began and ended, in ns from the start of the window; those of the first pair, of the second, ..."""


HuntTrial.result_type = HuntResult
