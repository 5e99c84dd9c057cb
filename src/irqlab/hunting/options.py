# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of a hunt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from irqlab.errors import IrqlabError
from irqlab.hunting.instants import CHUNK_PAIRS
from irqlab.panels import RARE

SAME, OTHER = "same", "other"
PORTS = (SAME, OTHER)
ARRIVALS, TRANSMIT, INTERRUPTS, CHANGES = "arrivals", "transmit", "interrupts", "changes"
OVERRUNS, FAILURES, FAILURES_UP = "overruns", "failures", "failures-up"
PROCESSORS = "processors"
CHANGE_KINDS = ("rx-scheme", "tx-scheme", "down-up", "ring", "mtu", "promisc", "negotiate", "suspend", "unbind")
KINDS = (ARRIVALS, TRANSMIT, OVERRUNS, INTERRUPTS, FAILURES, FAILURES_UP, PROCESSORS, *CHANGE_KINDS)
MAX_BURST = 4_096
MAX_STEP = 10_000_000_000
"""With few instants the lab itself chooses long steps, and offers them for a replay: 10 s at 1000 MIPS."""
MAX_TRACES = 100
MAX_SWITCHES = 16
MAX_AFTER_NS = 1_000_000
MAX_PERIOD_NS = 10_000_000_000
CHANGE_INSTANTS = 1_000


@dataclass(frozen=True)
class Options:
    """Which instants are tried, and what counts as a miss."""

    what: Annotated[
        str,
        typer.Option(
            "--what",
            help=f"What happens at every instant, separated by commas: {', '.join(KINDS)}; or {CHANGES}: {CHANGE_KINDS[0]} "
            "and all kinds after it.",
        ),
    ] = ARRIVALS
    ports: Annotated[
        str,
        typer.Option(
            "--ports",
            help="The NIC where it happens: same (receives the first frame), other (transmits it), or same,other.",
        ),
    ] = ",".join(PORTS)
    first: Annotated[int, typer.Option("--first", help="Frames of the first arrival.")] = 1
    first_gap: Annotated[
        float, typer.Option("--first-gap", help="µs between the frames of the first arrival.", rich_help_panel=RARE)
    ] = 0.01
    burst: Annotated[int, typer.Option("--burst", help="Frames of the second arrival.")] = 1
    irq_delay: Annotated[
        int,
        typer.Option(
            "--irq-delay", help="Raise interrupts this many ns late (the tester's own PCI cards only).", rich_help_panel=RARE
        ),
    ] = 0
    irq_after: Annotated[
        int | None,
        typer.Option(
            "--irq-after",
            help="With arrivals: an interrupt without a frame comes this many ns after the second arrival begins "
            "(the tester's own PCI cards only).",
            rich_help_panel=RARE,
        ),
    ] = None
    write_delay: Annotated[
        int,
        typer.Option(
            "--write-delay",
            help="A write to a register reaches the NIC this many ns later, or before the next read from it "
            "(the tester's own PCI cards only).",
        ),
    ] = 0
    bound: Annotated[
        float,
        typer.Option(
            "--bound",
            help="A frame is late if it takes this many µs longer than one alone does (times --burst).",
            rich_help_panel=RARE,
        ),
    ] = 100.0
    step: Annotated[int, typer.Option("--step", help="Instructions from one instant to the next.", rich_help_panel=RARE)] = 1
    instants: Annotated[
        int | None,
        typer.Option(
            "--instants",
            help=f"Maximum number of instants; the step grows if necessary. Of calls that fail: the first ones. "
            f"Default: all; {CHANGE_INSTANTS} of each change.",
        ),
    ] = None
    switches: Annotated[
        int,
        typer.Option(
            "--switches",
            help="processors: switches to the other one in a pair, up to 16. 1: before each instruction in turn.",
            rich_help_panel=RARE,
        ),
    ] = 1
    hunt_seed: Annotated[
        int,
        typer.Option("--hunt-seed", help="processors, with several switches: the seed that chooses them.", rich_help_panel=RARE),
    ] = 1
    state: Annotated[
        int,
        typer.Option(
            "--state",
            help="Begin with other positions in rings and allocators: so many more frames pass before.",
            rich_help_panel=RARE,
        ),
    ] = 0
    begin: Annotated[
        int | None, typer.Option("--from", help="First instant, in ns after the first event.", rich_help_panel=RARE)
    ] = None
    end: Annotated[
        int | None, typer.Option("--until", help="Last instant, in ns after the first event.", rich_help_panel=RARE)
    ] = None
    at: Annotated[
        int | None,
        typer.Option(
            "--at",
            help="Replay one instant, in ns after the first event; of failures one call, of processors one schedule, "
            "by its number.",
        ),
    ] = None
    lead: Annotated[
        int,
        typer.Option("--lead", help="With --at: number of instants before it to replay first, 0 to 999.", rich_help_panel=RARE),
    ] = 0
    repeat: Annotated[
        int, typer.Option("--repeat", help="With --at: number of repetitions; none is cached.", rich_help_panel=RARE)
    ] = 1
    traces: Annotated[
        int, typer.Option("--traces", help="Number of findings for which to show what the driver executed.", rich_help_panel=RARE)
    ] = 1

    def __post_init__(self) -> None:
        for option, text, chosen, allowed in (
            ("--ports", self.ports, self.chosen, PORTS),
            ("--what", self.what, self.kinds, KINDS),
        ):
            if not chosen or any(name not in allowed for name in chosen):
                raise IrqlabError(f"{option} {text}: allowed are {', '.join(allowed)}")
        for option, value, least, most in (
            ("--first", self.first, 1, MAX_BURST),
            ("--burst", self.burst, 1, MAX_BURST),
            ("--irq-delay", self.irq_delay, 0, 1_000_000),
            ("--irq-after", self.irq_after or 0, 0, MAX_AFTER_NS),
            ("--write-delay", self.write_delay, 0, 1_000_000),
            ("--step", self.step, 1, MAX_STEP),
            ("--instants", 1 if self.instants is None else self.instants, 1, 10**7),
            ("--lead", self.lead, 0, CHUNK_PAIRS - 1),
            ("--repeat", self.repeat, 1, 10_000),
            ("--traces", self.traces, 0, MAX_TRACES),
            ("--state", self.state, 0, CHUNK_PAIRS),
            ("--switches", self.switches, 1, MAX_SWITCHES),
            ("--hunt-seed", self.hunt_seed, 0, (1 << 32) - 1),
        ):
            if not least <= value <= most:
                raise IrqlabError(f"{option} {value}: allowed are {least} to {most}")
        if self.irq_after is not None and self.kinds != (ARRIVALS,):
            raise IrqlabError(f"--irq-after: with --what {ARRIVALS} only")
        if not 0 <= self.bound <= 1e6:
            raise IrqlabError(f"--bound {self.bound:.10g}: allowed are 0 to 1000000 µs")
        if not 0.01 <= self.first_gap * self.first < 7_000 or self.first_gap < 0.01:
            raise IrqlabError(f"--first-gap {self.first_gap:.10g}: at least 0.01 µs, and all frames of --first within 7000 µs")
        for option, at_ns in (("--from", self.begin), ("--until", self.end), ("--at", self.at)):
            if at_ns is not None and not 0 <= at_ns < MAX_PERIOD_NS:
                raise IrqlabError(f"{option}: allowed are instants before the next pair, less than {MAX_PERIOD_NS} ns")
        if self.begin is not None and self.end is not None and self.begin > self.end:
            raise IrqlabError(f"--from {self.begin}: it is after --until {self.end}")
        if self.at is None and (self.repeat > 1 or self.lead):
            raise IrqlabError("--repeat, --lead: they need --at")
        if self.at is not None and (self.begin is not None or self.end is not None):
            raise IrqlabError("--at: it cannot be combined with --from and --until")

    @property
    def chosen(self) -> tuple[str, ...]:
        """The ports."""
        return _listed(self.ports)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What is tried."""
        every = [CHANGE_KINDS if name == CHANGES else (name,) for name in _listed(self.what)]
        return tuple(dict.fromkeys(name for names in every for name in names))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
