# SPDX-License-Identifier: GPL-2.0-or-later
"""Fault injection: tests a driver with a NIC that misbehaves (docs/papers/lan78xx.md, docs/inside/rtl8139-model.md).

A case is one fault. Of a USB NIC: a corrupted bulk IN transfer, control reply or interrupt status, or a refused bulk OUT. Of a
PCI card: a register that reads wrong, a descriptor that is written wrong or not at all, or an interrupt without a cause.

Cases are grouped into rounds, each determined by a seed and its number, and rounds into runs, each in a fresh DUT whose kernel
checks its heap (slub_debug). Faults are injected at port 0; the NIC at port 1 works correctly.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from irqlab.config.addresses import stream
from irqlab.dut import kernel_log
from irqlab.dut.router import Dut, LabDut
from irqlab.qemu.cancellation import workers
from irqlab.qemu.failure import MachineError
from irqlab.qemu.watchdog import NoAnswerError
from irqlab.robustness import nicport
from irqlab.robustness.nicport import FaultPlan
from irqlab.runner.runner import TrialRunner
from irqlab.setup import modules
from irqlab.trials.testbed import Testbed

CHECKED_HEAP = "slub_debug=FZPU;-,Acpi-*"
"""Every object has red zones, is poisoned when freed, and records its allocator; but for those of ACPI's interpreter. It
allocates thousands for _PRT, which each probe of a PCI driver evaluates: with checks a probe takes a minute of real time."""
ROUNDS_OF_RUN = 16
PCI_ROUNDS_OF_RUN = 64
"""They are shorter."""
PORT = 0
BACK_PPS = 300.0
MIX = {"kind": "imix", "mix": [[64, 7], [594, 4], [1518, 1]]}
RECOVERY_NS = 10_000_000_000
PROBLEM = re.compile(
    rf"{kernel_log.PROBLEM.pattern}|^BUG \S+ |Redzone|Poison overwritten|Object already free|scheduling while atomic"
)
"""Kernel log lines that always mean a driver defect."""
BURSTS = 20
"""Of a round with faults in a PCI card's descriptors. A driver that waits for one that is not written waits until its transmit
timeout, and may take an interrupt every few microseconds meanwhile. After a burst the interface goes down and up, so the next
one finds it at work."""
BURST_NS = 50_000_000
LINK_NS = 2_500_000_000
"""What the link takes to come up, and the driver to see it, in ns."""
PATIENCE_NS = 5_000_000_000
COMMAND_NS = 15_000_000_000
"""Virtual time, in ns, within which the agent must answer."""
QUIET_NS = 5_000_000_000
GROWTH = 32
"""Number of objects of a cache, allocated by one function, that a run may leave behind."""
PURGES = "nls_cp437"
"""A module of Debian's kernels that does nothing by itself. Loading it has the kernel purge mappings."""
DIED, HUNG = "the kernel died", "the DUT no longer answers"
STUCK = re.compile(r"NETDEV WATCHDOG")
"""Of a PCI card's descriptor that was not written: the driver has to get over it, which the round's recovery tells."""
FALSE_CHECKSUM_OK = re.compile(r"hw csum failure")
"""Logged by the network stack if a NIC reports a wrong checksum as correct; once per boot, not the driver's fault."""

_PLACE = re.compile(r"CPU: \d+ PID: \d+ |[+]0x[0-9a-f]+/0x[0-9a-f]+|^[a-z0-9]+: (?=hw csum)|\[#\d+\].*")
_SAME = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,16}\b|-?\d+")


@dataclass(frozen=True)
class Round:
    """The actions of a round; a pure function of seed and number."""

    number: int
    faults: FaultPlan
    what: str
    """traffic: frames both ways; bursts: the same, in short bursts; requests: also ethtool and ip commands; plug: the NIC is
    replugged, with faults from its first response on."""
    rate_pps: float

    @classmethod
    def of(cls, seed: int, number: int, trailing_fragments: bool = True, pci: bool = False) -> Round:
        """The round with this number."""
        random = Random(f"{seed}/{number}")
        if pci:
            what = ("traffic", "bursts", "bursts", "requests", "traffic", "bursts", "bursts", "plug")[number % 8]
            faults = cls._pci_faults(random, what)
            rates_pps = (10_000.0, 20_000.0) if what == "bursts" else (1_000.0, 3_000.0, 3_000.0, 10_000.0, 20_000.0)
            return cls(number, faults, what, random.choice(rates_pps))
        what = ("traffic", "traffic", "traffic", "requests", "traffic", "traffic", "traffic", "plug")[number % 8]
        if what == "traffic":
            only = random.choice((None, *["transfers"] * 5, "statuses", "refusals"))
            permille = random.choice((300, 900, 900)) if only else random.choice((10, 100, 300))
        else:
            only = random.choice((None, "replies", "replies"))
            permille = random.choice((10, 50, 200)) if what == "requests" else random.choice((3, 10, 40, 150))
        rate_pps = random.choice((1_000.0, 3_000.0, 3_000.0, 3_000.0, 3_000.0, 20_000.0))
        return cls(number, FaultPlan(random.getrandbits(48), permille, only, trailing_fragments), what, rate_pps)

    @staticmethod
    def _pci_faults(random: Random, what: str) -> FaultPlan:
        if what == "bursts":
            only, permille = random.choice((None, *["descriptors"] * 3)), random.choice((30, 100, 300, 900))
        elif what == "traffic":
            only = random.choice(("descriptors", "registers", "registers", "interrupts"))
            permille = random.choice((1, 3) if only == "descriptors" else (3, 10, 100, 300))
        else:
            only = random.choice((None, "registers", "registers"))
            permille = random.choice((10, 50, 200) if what == "requests" else (3, 10, 40, 150))
        return FaultPlan(random.getrandbits(48), permille, only, trailing_fragments=False)


@dataclass
class Outcome:
    """Result of a round."""

    round: Round
    cases: dict[str, int] = field(default_factory=dict)
    """Faults, by kind."""
    causes: list[str] = field(default_factory=list)
    """Problems, one line each: warnings, heap corruption, a dead kernel or a hung DUT."""
    recovery: str = "by itself"
    """How traffic recovers once faults stop: by itself; plugged in again; never."""
    state: str = ""
    """What the DUT showed of the interface when frames did not pass: `nicport.state`; if never, after it was plugged in again."""
    log: list[str] = field(default_factory=list)
    """Kernel messages above info."""
    evidence: str = ""
    """Kernel log excerpt for the causes."""

    @property
    def gone(self) -> bool:
        """Whether the DUT did not survive the round."""
        return bool(self.causes) and self.causes[-1] in (DIED, HUNG)


@dataclass
class FuzzRun:
    """Rounds in one DUT."""

    first: int
    outcomes: list[Outcome] = field(default_factory=list)
    growth: dict[str, int] = field(default_factory=dict)
    """Increase in heap objects, by cache and by the driver's function() that allocated them."""

    @property
    def cases(self) -> int:
        """Number of faults injected."""
        return sum(sum(outcome.cases.values()) for outcome in self.outcomes)


def checking(testbed: Testbed) -> Testbed:
    """The same testbed with heap checks enabled in the kernel."""
    append = f"{testbed.machine.extra_append} {CHECKED_HEAP}".strip()
    return Testbed(testbed.config, replace(testbed.machine, extra_append=append), testbed.modules, testbed.nic)


def run(
    runner: TrialRunner, cases: int, seed: int = 1, first: int = 0, jobs: int = 1, trailing_fragments: bool = True
) -> Iterator[FuzzRun]:
    """Runs rounds from `first` on until `cases` faults were injected. Raises IrqlabError if the DUT cannot be prepared.

    After Ctrl-C, the rounds that were finished are returned before KeyboardInterrupt is raised.
    """
    testbed = checking(runner.bench.lab())
    _ = testbed.prepared
    done = 0
    rounds = PCI_ROUNDS_OF_RUN if testbed.nic.pci_bus else ROUNDS_OF_RUN
    with workers(jobs) as pool:
        while done < cases:
            runs = [FuzzRun(start) for start in range(first, first + jobs * rounds, rounds)]
            first += jobs * rounds
            try:
                left = cases - done
                list(pool.map(lambda one, left=left: run_rounds(testbed, seed, one, rounds, left, trailing_fragments), runs))
            except KeyboardInterrupt:
                yield from [FuzzRun(one.first, one.outcomes[:-1]) for one in runs]
                raise
            for found in runs:
                if done < cases:
                    done += found.cases
                    complaints = sum(len(outcome.causes) for outcome in found.outcomes)
                    runner.progress(f"{done:,} of {cases:,} cases; rounds {found.first} on: {complaints} complaints")
                    yield found


def run_rounds(
    testbed: Testbed,
    seed: int,
    whole: FuzzRun,
    rounds: int = ROUNDS_OF_RUN,
    cases: int = 10**9,
    trailing_fragments: bool = True,
) -> FuzzRun:
    """Runs rounds from `whole.first` on in one DUT, or in a new one after each that kills it; `growth` is measured in the last.

    Stops early once there were this many `cases`. Returns `whole`.
    """
    number, end = whole.first, whole.first + rounds
    while number < end and whole.cases < cases:
        try:
            with testbed.open() as dut:
                dut.patience_ns = PATIENCE_NS
                dut.machine.rpc.agent_limit_ns = COMMAND_NS
                dut.play_hosts(testbed.nic.line_rate_bps)
                nicport.replug(dut, PORT, testbed)
                _traffic(dut, Round(0, FaultPlan(0, 0), "traffic", 8_000.0), 300_000_000)  # fills caches that hold on to objects
                before = allocated(dut, testbed)
                while number < end and whole.cases < cases:
                    outcome = Outcome(Round.of(seed, number, trailing_fragments, pci=bool(testbed.nic.pci_bus)))
                    whole.outcomes.append(outcome)
                    number += 1
                    _play(dut, testbed, outcome)
                    if outcome.gone:
                        break
                else:
                    whole.growth = growth(before, allocated(dut, testbed))
        except MachineError as error:  # it died in the last round
            if not whole.outcomes:
                raise
            whole.outcomes[-1].causes.append(DIED)
            whole.outcomes[-1].evidence = str(error)
    return whole


def _play(dut: LabDut, testbed: Testbed, outcome: Outcome) -> None:
    """Runs one round. Raises MachineError if the DUT dies."""
    chosen = outcome.round
    try:
        if chosen.what == "bursts":
            found = _bursts(dut, chosen)
        else:
            nicport.inject_faults(dut, PORT, chosen.faults)
            _ACTS[chosen.what](dut, testbed, chosen)
            found = nicport.inject_faults(dut, PORT, None)
        outcome.cases = {kind: found[kind] for kind in nicport.kinds(testbed)}
        if dut.wait_forwarding(RECOVERY_NS) is None:
            outcome.state = nicport.state(dut, PORT)
            outcome.recovery = "plugged in again"
            if not nicport.replug(dut, PORT, testbed):
                outcome.recovery, outcome.state = "never", nicport.state(dut, PORT)
        _read_log(dut, outcome, pci=bool(testbed.nic.pci_bus))
    except NoAnswerError as error:
        outcome.causes.append(HUNG)  # the tester accepts no more commands, so the round's cases cannot be counted
        outcome.evidence = f"{error}; {dut.whereabouts(error)}"


def _read_log(dut: Dut, outcome: Outcome, pci: bool) -> None:
    records = dut.kernel_log.news()
    outcome.log = kernel_log.notable(records)
    outcome.causes, outcome.evidence = complaints([record.text for record in records if not (pci and STUCK.search(record.text))])


def complaints(texts: Sequence[str]) -> tuple[list[str], str]:
    """The distinct problems in a kernel log, without addresses, and the lines around the first."""
    bad = [n for n, text in enumerate(texts) if PROBLEM.search(text)]
    named = [n for n in bad if not re.search(r"Call Trace|cut here", texts[n])] + [
        n for n, text in enumerate(texts) if FALSE_CHECKSUM_OK.search(text)
    ]
    causes = dict.fromkeys(_PLACE.sub("", texts[n]).strip() for n in sorted(named))
    if bad and not causes:
        causes = {"a call trace": None}
    return list(causes), "\n".join(texts[max(0, bad[0] - 4) : bad[0] + 45]) if bad else ""


def _traffic(dut: Dut, chosen: Round, duration_ns: int, meanwhile: Any = None) -> None:
    """Sends frames both ways; if faults affect transmission, most go to the port with faults."""
    rates_pps = [chosen.rate_pps, BACK_PPS]
    if chosen.faults.only == "refusals":
        rates_pps.reverse()
    streams = [stream(p, 1 - p, {"kind": "constant", "rate_pps": rate}, MIX) for p, rate in enumerate(rates_pps)]
    trial = {"warmup_ns": 0, "duration_ns": duration_ns, "drain_ns": 1_000_000, "seed": chosen.number % 1000}
    dut.run_trial(trial, streams, meanwhile)


def _act_traffic(dut: Dut, testbed: Testbed, chosen: Round) -> None:
    long = testbed.nic.pci_bus or chosen.faults.only == "transfers"
    _traffic(dut, chosen, 3_000_000_000 if long else 1_000_000_000)


def _bursts(dut: Dut, chosen: Round) -> dict[str, int]:
    """Bursts of frames with faults; between them the interface is taken down and up, without. Returns the faults by kind."""
    name = nicport.interface(PORT)
    found: Counter[str] = Counter()
    for burst in range(BURSTS):
        nicport.inject_faults(dut, PORT, replace(chosen.faults, seed=chosen.faults.seed + burst))
        _traffic(dut, chosen, BURST_NS)
        found.update(nicport.inject_faults(dut, PORT, None))
        dut.attempt("sh", "-c", f"ip link set {name} down; ip link set {name} up")
        dut.sleep(LINK_NS)
    return found


def _act_requests(dut: Dut, _: Testbed, chosen: Round) -> None:
    name = nicport.interface(PORT)
    random = Random(chosen.faults.seed)
    asked = [
        f"ethtool -S {name}", f"ethtool -d {name}", f"ethtool {name}", f"ethtool -a {name}", f"ethtool -e {name} length 64",
        f"ethtool --show-eee {name}", f"ethtool -K {name} rx off", f"ethtool -K {name} rx on", f"ethtool -s {name} wol g",
        f"ip link set {name} mtu 4000", f"ip link set {name} mtu 1500", f"ip link set {name} promisc on",
        f"ip link set {name} promisc off", f"ip link set {name} allmulticast on", f"ethtool -r {name}",
        f"ip link set {name} down; ip link set {name} up", f"ethtool -s {name} wol d",
    ]  # fmt: skip

    def ask(_: int) -> None:
        for command in random.choices(asked, k=12):
            dut.attempt("sh", "-c", command)

    _traffic(dut, chosen, 300_000_000, ask)
    ask(0)


def _act_plug(dut: Dut, testbed: Testbed, chosen: Round) -> None:
    random = Random(chosen.faults.seed)
    for _ in range(3):

        def pull(_: int) -> None:
            dut.sleep(random.randrange(1, 60) * 1_000_000)
            nicport.plug(dut, PORT, plugged=False)

        _traffic(dut, chosen, 80_000_000, pull)
        dut.sleep(300_000_000)
        nicport.put_back(dut, PORT, testbed)
        dut.sleep(random.choice((5, 50, 400, 3000)) * 1_000_000)
        nicport.configure(dut, PORT, testbed)


_ACTS = {"traffic": _act_traffic, "requests": _act_requests, "plug": _act_plug}


def allocated(dut: Dut, testbed: Testbed) -> Counter[str]:
    """Counts heap objects while the driver has no NIC at port 0 and there is no traffic, by cache and allocating function."""
    nicport.take_from_driver(dut, PORT, testbed)
    dut.sleep(QUIET_NS)
    dut.run("sh", "-c", "echo 3 >/proc/sys/vm/drop_caches")
    dut.sleep(QUIET_NS)
    _purge(dut, testbed)
    found = objects(dut.run("awk", _COUNT.replace("DRIVER", testbed.driver), *_traces(dut)), testbed.driver)
    nicport.give_to_driver(dut, PORT, testbed)
    nicport.configure(dut, PORT, testbed)
    dut.wait_forwarding(RECOVERY_NS)
    return found


def _purge(dut: Dut, testbed: Testbed) -> None:
    """Has the kernel free what it keeps of mappings that have ended: it does so when it protects a module's memory.

    Without this, each unbind of a PCI driver leaves an object, that of the registers' mapping (mm/vmalloc.c, vm_unmap_aliases).
    """
    dut_kernel = testbed.machine.kernel
    loaded = modules.load_all(dut_kernel, [PURGES] if PURGES in modules.names(dut_kernel) else [])
    for module in loaded:
        dut.rpc.guest("insmod", name=module.name, base64=b64encode(module.data).decode(), params="")
    for module in reversed(loaded):
        dut.run("rmmod", module.name)


def _traces(dut: Dut) -> list[str]:
    return dut.run("sh", "-c", "ls /sys/kernel/debug/slab/*/alloc_traces").split()


_COUNT = """/^ +[0-9]+ [^ ]+[+]0x/ { count = $1; split(FILENAME, path, "/"); all[path[6] " " $2] += count; mine = 1 }
/[[](irqmod|DRIVER)[]]/ { if (mine) all[$0] += count; mine = 0 }
END { for (key in all) print all[key], key }"""
"""awk: sums up the heap's allocation traces by cache and allocating function, and by the driver's function in the trace."""


def objects(counts: str, driver: str) -> Counter[str]:
    """Parses the output of _COUNT, without offsets: `cache function`, and `function()` for those of the driver or of irqmod."""
    counted: Counter[str] = Counter()
    for line in counts.splitlines():
        number, _, key = line.strip().partition(" ")
        names = [word.partition("+")[0] for word in key.split() if not word.startswith("[")]
        mine = re.search(rf"\[({driver}|irqmod)\]", key) and len(names) == 1
        counted[f"{names[0]}()" if mine else " ".join(names)] += int(number)
    return counted


def growth(before: Counter[str], after: Counter[str]) -> dict[str, int]:
    """What there is more of, by more than GROWTH."""
    more = {name: after[name] - before[name] for name in sorted(after)}
    return {name: count for name, count in more.items() if count > GROWTH and "debugfs" not in name}


def causes(runs: Sequence[FuzzRun]) -> dict[str, list[Outcome]]:
    """Rounds with problems, by cause; the first of each is the one to reproduce."""
    found: dict[str, list[Outcome]] = {}
    for outcome in (outcome for run in runs for outcome in run.outcomes):
        for cause in outcome.causes:
            found.setdefault(cause, []).append(outcome)
    return found


def recoveries(runs: Sequence[FuzzRun]) -> dict[str, int]:
    """Number of rounds by kind of recovery, without those that the DUT did not survive."""
    return dict(Counter(o.recovery for run in runs for o in run.outcomes if not o.gone))


def messages(runs: Sequence[FuzzRun]) -> list[tuple[str, int]]:
    """Kernel messages above info, with numbers removed, most frequent first."""
    texts = Counter(_SAME.sub("N", line) for run in runs for outcome in run.outcomes for line in outcome.log)
    return sorted(texts.items(), key=lambda entry: (-entry[1], entry[0]))


def summary(driver: str, seed: int, runs: Sequence[FuzzRun]) -> dict[str, Any]:
    """Summary as JSON.

    `false_checksum_ok`: reports about the NIC, not a fault of the driver. `stuck`: rounds after which no frames passed by
    themselves, with what the DUT showed of the interface then.
    """
    outcomes = [outcome for one in runs for outcome in one.outcomes]
    entries = [
        {"what": cause, "rounds": len(shown), "first": shown[0].round.number, "evidence": shown[0].evidence}
        for cause, shown in causes(runs).items()
    ]
    kinds = dict.fromkeys(kind for outcome in outcomes for kind in outcome.cases)
    growth: Counter[str] = Counter()
    for one in runs:
        growth.update(one.growth)
    return {
        "driver": driver,
        "seed": seed,
        "cases": sum(one.cases for one in runs),
        "cases_by_kind": {kind: sum(outcome.cases.get(kind, 0) for outcome in outcomes) for kind in kinds},
        "rounds": len(outcomes),
        "recovery": recoveries(runs),
        "complaints": [entry for entry in entries if not FALSE_CHECKSUM_OK.search(str(entry["what"]))],
        "false_checksum_ok": [entry for entry in entries if FALSE_CHECKSUM_OK.search(str(entry["what"]))],
        "stuck": [
            {"round": outcome.round.number, "recovery": outcome.recovery, "state": outcome.state}
            for outcome in outcomes
            if outcome.state and not outcome.gone
        ],
        "growth": dict(sorted(growth.items())),
        "messages": [{"text": text, "count": count} for text, count in messages(runs)[:40]],
    }
