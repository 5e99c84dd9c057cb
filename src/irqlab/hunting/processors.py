# SPDX-License-Identifier: GPL-2.0-or-later
"""Races of two processors, deterministically: who runs when is chosen by a seed.

QEMU runs its processors in turn, on one instruction clock; the tester has a processor give way after chosen blocks of the
driver's code (docs/protocol.md, TRIAL). In every pair a few of these blocks are chosen at random, as in PCT (Burckhardt et al.
2010). What the pair does is a change of the interface while frames pass in both directions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace

from irqlab.config.addresses import INTERFACES
from irqlab.errors import IrqlabError
from irqlab.hunting.changes import MS, PROMISCUOUS, UP, Change, changes
from irqlab.hunting.findings import Finding, group
from irqlab.hunting.functions import functions
from irqlab.hunting.options import Options
from irqlab.hunting.pairs import Limits, Pair, pairs_of
from irqlab.hunting.search import SAID_LINES, Hunted
from irqlab.runner.runner import TrialRunner
from irqlab.trials.hunt import HuntTrial, Step
from irqlab.trials.testbed import Testbed

CPUS = 2
SWITCHES = 3
"""Blocks chosen in a pair, on average."""
PAIRS = 50
"""Seeds that a trial tries."""
FRAMES, EVERY_NS = 40, 20_000
CHECKED = "slub_debug=FZ"
"""The allocator notices objects that are freed twice, or written to after that (Documentation/mm/slub.rst)."""


def two(testbed: Testbed) -> Testbed:
    """The same DUT with two processors that run in turn. Raises IrqlabError."""
    config = replace(testbed.config, cpus=CPUS, in_turn=True, append=CHECKED)
    return Testbed.resolve(config)


def trials(testbed: Testbed, one: HuntTrial) -> Iterator[tuple[str, HuntTrial]]:
    """A trial of PAIRS pairs for each change, by its name, without chosen blocks."""
    known = functions(testbed)
    code = tuple(known.modules[module.name] for module in testbed.modules if module.name in known.modules)
    if not code:
        raise IrqlabError(f"--what processors: the driver {testbed.driver} is not a module")
    spread = tuple(_affinities(known.interrupts))
    flags = f"/sys/class/net/{INTERFACES[1]}/flags"
    promiscuous = Change("promisc", (Step(0, flags, PROMISCUOUS), Step(40 * MS, flags, UP)), 100 * MS, "late")
    switches = [change for kind in ("tx-scheme", "rx-scheme") for change in changes(testbed, kind, INTERFACES[1])]
    for change in [promiscuous, *switches]:
        steps = tuple(replace(step, at_ns=step.at_ns + FRAMES * EVERY_NS // 2) for step in change.steps)
        yield (
            change.name,
            replace(
                one,
                pairs=PAIRS,
                first_gap_ns=0,
                frames=FRAMES,
                frames_every_ns=EVERY_NS,
                other_port=True,
                first_frames=FRAMES,
                first_every_ns=EVERY_NS,
                period_ns=change.period_ns,
                tolerates="late",
                check=True,
                before=spread,
                steps=steps,
                preempt=code,
            ),
        )


def _affinities(interrupts: Mapping[str, int]) -> Iterator[Step]:
    """Each interface's interrupt goes to a processor of its own."""
    for number, interface in enumerate(INTERFACES):
        if interface in interrupts:
            yield Step(0, f"/proc/irq/{interrupts[interface]}/smp_affinity", str(1 << number))


def seeded(trial: HuntTrial, seed: int, passed: int) -> HuntTrial:
    """The trial with blocks chosen by a seed, of so many that are executed."""
    chosen = random.Random(seed).sample(range(passed), min(SWITCHES * trial.pairs, passed))
    return replace(trial, points=tuple(sorted(chosen)))


def hunt(runner: TrialRunner, name: str, trial: HuntTrial, options: Options) -> Hunted:
    """Tries seeds. `gap_ns` of a pair is its seed: of its trial, times PAIRS, and its number. Raises IrqlabError."""
    limits, passed = _alone(runner, trial, options)
    seeds = range(-(-options.seeds // PAIRS))
    tried = runner.attempts([seeded(trial, seed, passed) for seed in seeds], lambda _: f"processors, {name}")
    judged: list[Pair] = []
    findings: list[Finding] = []
    for seed, found in zip(seeds, tried, strict=True):
        first = seed * PAIRS
        if isinstance(found, IrqlabError):
            said = "\n".join(str(found).splitlines()[:SAID_LINES])
            findings.append(Finding(f"processors {name}", "other", "message", first, first, PAIRS, None, first, 0, said))
        else:
            judged += [replace(pair, gap_ns=first + pair.number) for pair in pairs_of(found, limits)]
    findings += [replace(one, lead=0) for one in group(f"processors {name}", "other", judged, 0)]
    return Hunted(limits, ((0, len(seeds) * PAIRS - 1),), 1, judged, findings)


def replay(runner: TrialRunner, trial: HuntTrial, options: Options) -> tuple[Limits, list[Pair]]:
    """One seed, as often as asked for."""
    assert options.at is not None
    limits, passed = _alone(runner, trial, options)
    seed, number = divmod(options.at, PAIRS)
    pairs = []
    for turn in range(options.repeat):
        found = runner.attempt(seeded(trial, seed, passed), cached=False)
        pair = Pair(options.at, None, "message") if isinstance(found, IrqlabError) else list(pairs_of(found, limits))[number]
        pairs.append(replace(pair, gap_ns=options.at))
        runner.progress(f"processors, {turn + 1} of {options.repeat}")
    return limits, pairs


def _alone(runner: TrialRunner, trial: HuntTrial, options: Options) -> tuple[Limits, int]:
    """The trial without chosen blocks: its limits, and how many blocks are executed. Raises IrqlabError."""
    found = runner.trial(trial)
    every = [*found.first.latencies_ns, *found.second.latencies_ns, *found.check.latencies_ns[1::2]]
    known = [one for one in every if one is not None]
    if len(known) < len(every):
        raise IrqlabError(
            f"processors: {len(every) - len(known)} of {len(every)} frames never came out even if no processor gives way"
        )
    return Limits(max(known), max(known) + round(options.bound * 1e3)), found.passed
