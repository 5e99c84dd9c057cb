# SPDX-License-Identifier: GPL-2.0-or-later
"""A hostile device: what a driver makes of a USB NIC whose answers are damaged (docs/lan78xx.md).

A case is one answer that is not what it would have been: a bulk IN transfer, a reply to a control request, an interrupt status,
or a bulk OUT that is refused. Cases come in rounds, a round's number decides all of it; rounds come in sessions, each in a DUT of
its own whose kernel checks its heap (slub_debug). Port 0 is hostile, port 1 behaves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from irqlab.bed import Bed
from irqlab.dut import KERNEL_PROBLEM, Dut, stream
from irqlab.machine import MachineError
from irqlab.methods import usbport
from irqlab.methods.stand import Stand
from irqlab.overload import INFO, ORDINARY
from irqlab.rpc import TesterError

CHECKED_HEAP = "slub_debug=FZPU"
"""Every object has red zones, is poisoned when freed, and remembers who allocated it."""
SESSION_ROUNDS = 16
PORT = 0
KINDS = ("transfers", "replies", "statuses", "refusals")
MIX = {"kind": "imix", "mix": [[64, 7], [594, 4], [1518, 1]]}
RECOVERY_NS = 10_000_000_000
PROBLEM = re.compile(
    rf"{KERNEL_PROBLEM.pattern}|^BUG \S+ |Redzone|Poison overwritten|Object already free|scheduling while atomic"
)
"""Kernel log lines that are never a device's fault."""
QUIET_NS = 5_000_000_000
GROWTH = 32
"""Objects of a cache, by one function, that may be more at the end of a session than at its beginning."""
DUT_GONE = ("oops", "hang")

_SAME = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,16}\b|-?\d+")


@dataclass(frozen=True)
class Round:
    """What happens in a round; a pure function of seed and number."""

    number: int
    seed: int
    permille: int
    only: str | None
    what: str
    """traffic: frames both ways; requests: user space asks and sets things under them; plug: unplugged and plugged in, hostile
    from its first answer on."""
    rate_pps: float

    @classmethod
    def of(cls, seed: int, number: int) -> Round:
        """The round of that number."""
        random = Random(f"{seed}/{number}")
        what = ("traffic", "traffic", "traffic", "requests", "traffic", "traffic", "traffic", "plug")[number % 8]
        if what == "traffic":
            only = random.choice((None, "transfers", "transfers", "transfers", "transfers", "statuses", "refusals"))
            permille = random.choice((100, 300, 900)) if only else random.choice((10, 100, 300))
        else:
            only = random.choice((None, "replies", "replies"))
            permille = random.choice((10, 50, 200)) if what == "requests" else random.choice((3, 10, 40, 150))
        rate_pps = random.choice((2_000.0, 6_000.0, 6_000.0, 12_000.0, 40_000.0))
        return cls(number, random.getrandbits(48), permille, only, what, rate_pps)


@dataclass
class Outcome:
    """What a round showed."""

    round: Round
    cases: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    verdict: str = "clean"
    """clean; stuck: no frames until it is plugged in again; lost: not even then; warning: the kernel warned; oops: it died; hang:
    it no longer answers."""
    log: list[str] = field(default_factory=list)
    """Kernel messages above info."""
    evidence: str = ""
    """What the kernel said of a warning, an oops or a hang."""


@dataclass
class Session:
    """Rounds in one DUT."""

    first: int
    outcomes: list[Outcome] = field(default_factory=list)
    growth: dict[str, int] = field(default_factory=dict)
    """Objects more than at the beginning, by cache and by the driver's function() that allocated them."""

    @property
    def cases(self) -> int:
        """Answers damaged."""
        return sum(sum(outcome.cases.values()) for outcome in self.outcomes)


def checking(bed: Bed) -> Bed:
    """The same bed with a kernel that checks its heap."""
    return Bed(bed.config, replace(bed.machine, extra_append=CHECKED_HEAP), bed.modules, bed.nic)


def run(stand: Stand, cases: int, seed: int = 1, first: int = 0, jobs: int = 1) -> list[Session]:
    """Sessions from round `first` on until there are so many cases. Raises IrqlabError if the DUT cannot be prepared at all."""
    bed = checking(stand.bed)
    _ = bed.prepared
    sessions: list[Session] = []
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        while (done := sum(s.cases for s in sessions)) < cases:
            starts = [first + SESSION_ROUNDS * (len(sessions) + n) for n in range(jobs)]
            for found in pool.map(lambda start: session(bed, seed, start), starts):
                if done < cases:
                    sessions.append(found)
                    done += found.cases
                    stand.progress(f"{done:,} of {cases:,} cases; {verdicts(sessions)}")
    return sessions


def session(bed: Bed, seed: int, first: int, rounds: int = SESSION_ROUNDS) -> Session:
    """Rounds in one DUT, or in as many as they kill; the last one's growth."""
    whole = Session(first)
    number = first
    while number < first + rounds:
        try:
            with bed.open() as dut:
                dut.play_hosts(bed.nic.wire_bps)
                usbport.again(dut, PORT, bed)
                _traffic(dut, Round(0, 0, 0, None, "traffic", 8_000.0), 300_000_000)  # fills what keeps objects for later
                before = _objects(dut, bed)
                while number < first + rounds:
                    outcome = Outcome(Round.of(seed, number))
                    whole.outcomes.append(outcome)
                    number += 1
                    _play(dut, bed, outcome)
                    if outcome.verdict in DUT_GONE:
                        break
                else:
                    whole.growth = _more(before, _objects(dut, bed))
        except MachineError as error:  # it died in the round that came last
            if not whole.outcomes:
                raise
            whole.outcomes[-1].verdict, whole.outcomes[-1].evidence = "oops", str(error)
    return whole


def _play(dut: Dut, bed: Bed, outcome: Outcome) -> None:
    """One round. Raises MachineError if it is the DUT's last."""
    chosen = outcome.round
    console = dut.machine.directory / "console.log"
    try:
        dut.rpc.call("hostile", port=PORT, seed=chosen.seed, permille=chosen.permille, only=chosen.only)
        _ACTS[chosen.what](dut, bed, chosen)
        found = dut.rpc.call("hostile", port=PORT, seed=None, permille=0)
        outcome.cases = {kind: found["kinds"][kind] for kind in KINDS}
        if not usbport.passes(dut, RECOVERY_NS):
            outcome.verdict = "stuck"
            if not usbport.again(dut, PORT, bed):
                outcome.verdict = "lost"
        _read_log(dut, outcome)
    except TesterError as error:
        if "no answer within" not in str(error):
            raise
        outcome.verdict, outcome.evidence = "hang", f"{error}\n{_tail(console)}"


def _read_log(dut: Dut, outcome: Outcome) -> None:
    records = dut.rpc.guest("kmsg")["records"]
    outcome.log = [str(r["text"]) for r in records if r["level"] < INFO and not re.search(ORDINARY, r["text"])]
    texts = [str(r["text"]) for r in records]
    bad = [n for n, text in enumerate(texts) if PROBLEM.search(text)]
    if bad:
        outcome.verdict = "warning"
        outcome.evidence = "\n".join(texts[max(0, bad[0] - 3) : bad[0] + 45])


def _traffic(dut: Dut, chosen: Round, duration_ns: int, meanwhile: Any = None) -> None:
    arrivals = {"kind": "constant", "rate_pps": chosen.rate_pps}
    streams = [stream(0, 1, arrivals, MIX), stream(1, 0, arrivals, MIX)]
    trial = {"warmup_ns": 0, "duration_ns": duration_ns, "drain_ns": 1_000_000, "seed": chosen.number % 1000}
    dut.run_trial(trial, streams, meanwhile)


def _act_traffic(dut: Dut, _: Bed, chosen: Round) -> None:
    _traffic(dut, chosen, 1_000_000_000)


def _act_requests(dut: Dut, _: Bed, chosen: Round) -> None:
    name = usbport.interface(PORT)
    random = Random(chosen.seed)
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


def _act_plug(dut: Dut, bed: Bed, chosen: Round) -> None:
    random = Random(chosen.seed)
    for _ in range(3):

        def pull(_: int) -> None:
            dut.sleep(random.randrange(1, 60) * 1_000_000)
            dut.rpc.call("plug", port=PORT, plugged=False)

        _traffic(dut, chosen, 80_000_000, pull)
        dut.sleep(300_000_000)
        dut.rpc.call("plug", port=PORT, plugged=True)
        dut.sleep(random.choice((5, 50, 400, 3000)) * 1_000_000)
        usbport.configure(dut, PORT, bed)


_ACTS = {"traffic": _act_traffic, "requests": _act_requests, "plug": _act_plug}


def _tail(console: Path) -> str:
    return "\n".join(console.read_text(errors="replace").splitlines()[-40:])


def _objects(dut: Dut, bed: Bed) -> Counter[str]:
    """Objects in the kernel's heap while port 0 is unplugged and nothing moves, by cache and by who allocated them."""
    dut.rpc.call("plug", port=PORT, plugged=False)
    dut.sleep(QUIET_NS)
    dut.run("sh", "-c", "echo 3 >/proc/sys/vm/drop_caches")
    dut.sleep(QUIET_NS)
    found = objects(dut.run("awk", _COUNT.replace("DRIVER", bed.driver), *_traces(dut)), bed.driver)
    dut.rpc.call("plug", port=PORT, plugged=True)
    usbport.configure(dut, PORT, bed)
    usbport.passes(dut, RECOVERY_NS)
    return found


def _traces(dut: Dut) -> list[str]:
    return dut.run("sh", "-c", "ls /sys/kernel/debug/slab/*/alloc_traces").split()


_COUNT = """/^ +[0-9]+ [^ ]+[+]0x/ { count = $1; split(FILENAME, path, "/"); all[path[6] " " $2] += count; mine = 1 }
/[[](irqmod|DRIVER)[]]/ { if (mine) all[$0] += count; mine = 0 }
END { for (key in all) print all[key], key }"""
"""Of the heap's traces of allocations: objects by cache and allocating function, and by the driver's function that had a part."""


def objects(counts: str, driver: str) -> Counter[str]:
    """What _COUNT printed, functions without offsets: `cache function`, and `function()` for those of the driver or of irqmod."""
    counted: Counter[str] = Counter()
    for line in counts.splitlines():
        number, _, key = line.strip().partition(" ")
        names = [word.partition("+")[0] for word in key.split() if not word.startswith("[")]
        mine = re.search(rf"\[({driver}|irqmod)\]", key) and len(names) == 1
        counted[f"{names[0]}()" if mine else " ".join(names)] += int(number)
    return counted


def _more(before: Counter[str], after: Counter[str]) -> dict[str, int]:
    more = {name: after[name] - before[name] for name in sorted(after)}
    return {name: count for name, count in more.items() if count > GROWTH and "debugfs" not in name}


def verdicts(sessions: Sequence[Session]) -> dict[str, int]:
    """Rounds by verdict."""
    return dict(Counter(outcome.verdict for session in sessions for outcome in session.outcomes))


def messages(sessions: Sequence[Session]) -> list[tuple[str, int]]:
    """Kernel messages above info, numbers left out, the most frequent first."""
    texts = Counter(_SAME.sub("N", line) for s in sessions for outcome in s.outcomes for line in outcome.log)
    return sorted(texts.items(), key=lambda entry: (-entry[1], entry[0]))
