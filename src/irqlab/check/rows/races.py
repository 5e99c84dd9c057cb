# SPDX-License-Identifier: GPL-2.0-or-later
"""Races and failures: the hunts, with parameters for this driver (docs/use/hunting.md)."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from rich.console import Console

from irqlab.check.kinds import kind
from irqlab.check.row import (
    Outcome,
    Row,
    TimedRunner,
    Workplace,
    failed,
    not_covered,
    not_supported,
    options_of,
    passed,
)
from irqlab.check.subject import Subject
from irqlab.config.workload import Workload
from irqlab.dut.agent import NotSupportedError
from irqlab.hunting.cases import ALONE_PAIRS
from irqlab.hunting.options import CHANGE_KINDS, INTERRUPTS, MAX_AFTER_NS, PORTS, SAME, Options
from irqlab.hunting.search import NotAloneError
from irqlab.methods import catalogue
from irqlab.methods import hunt as hunting
from irqlab.present import terminal
from irqlab.qemu.cancellation import CancelledError, current
from irqlab.results import document
from irqlab.results.document import MethodResult
from irqlab.trials.hunt import HuntTrial
from irqlab.trials.testbed import Testbed

GROUP, FAILING = "Races", "Failures"
FEW, MANY = 4_000, 60_000
"""Instants of the first pass and of the second, which has the time that is left."""
FEW_AFTER, NEAR = 1_000, 4
"""Of each time between a frame and an interrupt. They are tried while the driver works on the frame before, and moderates: for as
many times what a frame takes."""
FEW_CALLS = 48
"""Of each function, in the first pass: those of a driver that fills its ring are alike."""
CHANGE_INSTANTS = (16, 64, 256)
"""Instants of each change, as long as there is time."""
APART = re.compile(r"; they are ([^;]+ instructions) apart, what lies between was not tried \(--instants\)")
"""What a hunt says of its step: too long for a table."""
ANY = "."
"""A regular expression that fits any message."""
BURSTS = (3, 17, 31)
"""Frames of a second arrival. They come faster than on a wire, and FIFOs of 2 KB hold 32 of 64 bytes."""
WRITE_DELAY_NS = 1_500
IRQ_DELAY_NS = 2_000
AFTER = (0.125, 0.375, 0.625, 0.875)
"""Of the time from a frame's arrival until it comes out. The card tells of it somewhere between, after its bus and moderation."""


def _passes(place: Workplace, said: str, passes: Sequence[tuple[Options, int]], testbed: Testbed | None = None) -> Outcome:
    """Runs hunts one after the other until one finds something, or no time is left."""
    testbed = testbed or place.testbed
    told: list[str] = []
    for number, (options, size) in enumerate(passes):
        if number and place.allowance.over:
            break
        allowance = place.allowance.part(len(passes) - number)
        try:
            outcome = hunted(testbed, TimedRunner(testbed, allowance, place.progress, place.allowance), options, size)
        except NotSupportedError as error:
            return not_supported(str(error))
        except CancelledError:
            if current().cancelled:
                raise
            return passed("; ".join(told), told) if told else not_covered("no time was left for it")
        except NotAloneError as error:
            return failed(f"{said}: {error}", replay=_command(testbed, options, size))
        if outcome.status != "pass":
            return outcome
        told.append(f"{options.ports} port: {outcome.said}" if len(options.chosen) == 1 else outcome.said)
    return passed("; ".join(told[-2:]), told)


def hunted(testbed: Testbed, runner: TimedRunner, options: Options, size: int = 64) -> Outcome:
    """One hunt. Raises IrqlabError."""
    result = hunting.run(runner, Workload(size=size), options)
    if not result.samples:
        return not_covered("nothing was tried: the driver has no such event")
    said, wrong, evidence = _told(testbed, result, options)
    if wrong:
        return failed(said, evidence, _command(testbed, options, size, said), kinds_of(result.samples))
    return passed(said)


def kinds_of(samples: Iterable[hunting.Sample]) -> list[str]:
    """Of all that was found: the second event, what happened, and what the kernel said."""
    found = (one for sample in samples for one in sample.findings)
    return list(dict.fromkeys(f"{one.kind}: {kind(one.said) if one.said else one.what}" for one in found))


def _told(testbed: Testbed, result: MethodResult, options: Options) -> tuple[str, bool, list[str]]:
    """What a hunt says: its answer, whether something was found, and its tables as lines."""
    content = document.document(["irqlab", "check"], [testbed.describe()], [result], complete=True)
    (row,) = catalogue.rows([content])
    method = hunting.METHOD
    text = io.StringIO()
    console = Console(file=text, width=150, highlight=False)
    for one in method.printed([row], options):
        if isinstance(one, str):
            text.write(f"{one}\n")
        else:
            terminal.show(terminal.rich_table(one), console)
    said = method.verdicts([row])[0].removeprefix(f"{row.variant.label}: ").rstrip(".")
    said = said.replace("this was interrupted, not everything was tried", "no time was left for the others")
    said = APART.sub(r", \1 apart", said)
    return said, method.failed([row]), [line for line in text.getvalue().splitlines() if line.strip()]


def _command(testbed: Testbed, options: Options, size: int, said: str = "") -> str:
    """The command of a finding: its replay if the answer names one, or else the hunt."""
    words = ["irqlab", "hunt", *options_of(testbed.config)]
    words += ["--size", str(size)] if size != 64 else []
    defaults = Options()
    for name in ("first", "first_gap", "burst", "irq_delay", "irq_after", "write_delay"):
        value = getattr(options, name)
        words += [f"--{name.replace('_', '-')}", f"{value:g}"] if value != getattr(defaults, name) else []
    _, found, how = said.partition("; replay: ")
    if found:
        return f"{shlex.join(words)} {how.partition(';')[0]}"
    words += ["--what", options.what, "--ports", options.ports]
    words += ["--instants", str(options.instants)] if options.instants else []
    return shlex.join(words)


def _both(options: Options, size: int = 64) -> Iterator[tuple[Options, int]]:
    """Few instants at each port, then many."""
    for instants in (FEW, MANY):
        for port in PORTS:
            yield replace(options, instants=instants, ports=port), size


def _plain(what: str, place: Workplace, **more: int) -> Outcome:
    passes = list(_both(Options(what=what, **more)))  # type: ignore[arg-type]
    return _passes(place, what, passes)


def _interrupts_after(place: Workplace) -> Outcome:
    """A frame at each instant, and soon after it an interrupt: with the cause of one that of the other may be taken."""
    runner = TimedRunner(place.testbed, place.allowance, place.progress)
    alone = runner.trial(HuntTrial(pairs=ALONE_PAIRS, first_gap_ns=0, step_ns=0, frames=0))
    takes_ns = max((one or 0 for one in alone.first.latencies_ns), default=0)
    after_ns = [min(round(part * takes_ns), MAX_AFTER_NS) for part in AFTER]
    near = Options(end=NEAR * takes_ns or None)  # a frame that alone is lost: the hunt says so
    passes = [(replace(near, irq_after=one, instants=instants), 64) for instants in (FEW_AFTER, FEW) for one in after_ns]
    return _passes(place, "an interrupt after each arrival", passes)


def _bursts(place: Workplace) -> Outcome:
    """Second arrivals that are no multiple of a batch, and longer ones."""
    return _passes(place, "bursts", [(Options(burst=burst, instants=1_500), 64) for burst in BURSTS])


def _overruns(place: Workplace) -> Outcome:
    return _passes(place, "overruns", [(Options(what="overruns", ports=SAME, instants=count), 64) for count in (40, 400)])


def _failures(what: str, place: Workplace) -> Outcome:
    return _passes(place, what, [(Options(what=what, instants=FEW_CALLS), 64), (Options(what=what), 64)])


def _change(what: str, place: Workplace) -> Outcome:
    passes = [(Options(what=what, ports=ports, instants=count), 64) for count in CHANGE_INSTANTS for ports in PORTS]
    config = place.testbed.config
    # A driver may say that it is set down or has lost its link. Warnings and the like are findings all the same.
    talking = replace(config, dut=replace(config.dut, may_log=(*config.dut.may_log, ANY)))
    return _passes(place, what, passes, Testbed.resolve(talking))


def _needs_card(subject: Subject) -> Outcome | None:
    if subject.is_pci_card:
        return None
    return not_covered(f"{subject.testbed.nic.model}: only the tester's own PCI cards can delay writes and interrupts")


def _needs_transmit(subject: Subject) -> Outcome | None:
    if subject.has_time:
        return None
    return not_covered(f"{subject.testbed.nic.model}: QEMU's models transmit at once, so nothing can happen meanwhile")


def _needs_change(what: str, subject: Subject) -> Outcome | None:
    if what in ("rx-scheme", "tx-scheme") and not subject.testbed.has_schemes:
        return not_supported(f"{subject.testbed.driver} has no schemes to choose from (/sys/class/net/eth0/irqmod)")
    if what == "ring" and subject.facts.rings is None:
        return not_supported(subject.facts.refusal("-g"))
    if what == "unbind" and subject.is_usb:
        return not_supported("it is a USB device: life-unbind")
    return None


TITLES = {
    "rx-scheme": "Another receive scheme", "tx-scheme": "Another transmit scheme", "down-up": "Down and up",
    "ring": "Other rings", "mtu": "Another MTU", "promisc": "Promiscuous mode", "negotiate": "The link is negotiated",
    "suspend": "Suspend", "unbind": "Unbind and bind",
}  # fmt: skip

ROWS = (
    Row("races-arrivals", "A frame at every instant", GROUP, partial(_plain, "arrivals"), 4.0, risk=10),
    Row("races-transmit", "A packet at every instant", GROUP, partial(_plain, "transmit"), 3.0, needs=_needs_transmit, risk=9),
    Row("races-interrupts", "An interrupt without a frame", GROUP, partial(_plain, INTERRUPTS), 1.5, needs=_needs_card, risk=7),
    Row("races-interrupts-after", "... soon after a frame", GROUP, _interrupts_after, 1.5, needs=_needs_card, risk=7),
    Row(
        "races-late-writes",
        "Writes arrive late",
        GROUP,
        partial(_plain, "arrivals", write_delay=WRITE_DELAY_NS),
        2.0,
        needs=_needs_card,
        risk=8,
    ),
    Row(
        "races-late-interrupts",
        "Interrupts arrive late",
        GROUP,
        partial(_plain, "arrivals", irq_delay=IRQ_DELAY_NS),
        1.5,
        needs=_needs_card,
        risk=7,
    ),
    Row("races-bursts", "Bursts at every instant", GROUP, _bursts, 1.5, risk=7),
    Row("races-overruns", "The ring overflows", GROUP, _overruns, 1.5, risk=8),
    *(
        Row(
            f"races-{what}",
            f"{TITLES[what]}, with frames",
            GROUP,
            partial(_change, what),
            1.2,
            needs=partial(_needs_change, what),
            risk=5,
        )
        for what in CHANGE_KINDS
    ),
    Row("failures-running", "Every allocation fails once", FAILING, partial(_failures, "failures"), 1.0, risk=6),
    Row("failures-up", "... while it is set up", FAILING, partial(_failures, "failures-up"), 1.0, risk=5),
)
