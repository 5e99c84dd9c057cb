# SPDX-License-Identifier: GPL-2.0-or-later
"""Hunts races in our drivers with all their schemes, and in the kernel's, and keeps the results in docs/results/hunts.csv.

    python -m tools.hunts                    # all hunts (about half an hour)
    python -m tools.hunts e100 arrivals ...  # those whose name has one of the words
    python -m tools.hunts --rest             # those of which nothing is kept

Each hunt is one `irqlab hunt`. Its rows replace those kept of it before, so an interrupted run keeps what it has. Trials that
are cached are not run again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from irqlab import units
from irqlab.config.schemes import RX_SCHEMES, TX_SCHEMES, USB_RX_SCHEMES
from tools.pages import RESULTS, ROOT, Figures, git, read_rows, write_figures, write_rows

KEPT = RESULTS / "hunts.csv"

OURS = {"irqmod_i8255x": ("i82557b", "irqlab-82559"), "irqmod_rtl8139cp": ("rtl8139", "irqlab-8139cp")}
KERNELS = {
    "e100": ("i82557b", "irqlab-82559"),
    "8139cp": ("rtl8139", "irqlab-8139cp"),
    "e1000e": ("e1000e", "irqlab-82574"),
    "e1000": ("e1000",),
    "tulip": ("tulip",),
    "pcnet32": ("pcnet",),
}
MODERATED = ("--bound", "300")
"""Of e1000e, which lets its NIC wait up to 250 us from one interrupt to the next."""
MESSAGES = ("e1000e",)
"""Their interrupts are messages (MSI-X), which no other device raises."""
SLOW = ("timer", "ifpoll")
"""Receive schemes that run a timer all the time, so that a frame is followed by many more instructions. This and the next
are a choice of how they are hunted: the sources do not declare it, and a new scheme is hunted as one that is in neither."""
PAUSING = ("shrink",)
"""Receive schemes that keep RX masked after a pass: a second frame waits longer than one that comes alone."""
PERIOD = ("--bound", "1000")
"""Of both: a frame may come just after the timer, also if those that came alone did not."""
OWN = "irqlab-"
"""Models of the tester: the only ones in which sending takes time, whose interrupts can be raised or delayed, and which take
writes late."""


@dataclass(frozen=True)
class Hunt:
    """One command."""

    driver: str
    nic: str
    what: str
    rx: tuple[str, ...] = ()
    tx: tuple[str, ...] = ()
    more: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For the command line of this script."""
        schemes = "/".join(",".join(side) for side in (self.rx, self.tx) if side)
        return " ".join(word for word in (self.driver, self.nic, self.what, schemes, *self.more) if word)

    def command(self, out: Path) -> list[str]:
        """Its words; the document goes to `out`."""
        schemes = [word for side in ("rx", "tx") if getattr(self, side) for word in (f"--{side}", ",".join(getattr(self, side)))]
        words = ["hunt", "--driver", self.driver, "--nic", self.nic, "--what", self.what, *schemes, *self.more]
        return ["./irqlab", *words, "--traces", "0", "--json", str(out)]


def hunts() -> Iterator[Hunt]:
    """What is hunted."""
    fast, some = tuple(scheme for scheme in RX_SCHEMES if scheme not in SLOW + PAUSING), ("--instants", "5000")
    for driver, nics in (*KERNELS.items(), ("lan78xx", ("lan7800",))):
        moderated = MODERATED if driver == "e1000e" else ()
        for nic in nics:
            own = nic.startswith(OWN)
            line = ",interrupts" if driver not in MESSAGES else ""
            yield Hunt(driver, nic, f"transmit{line}" if own else "arrivals", more=(*moderated, *(some if own else ())))
    for driver, nics in OURS.items():
        for nic, what in zip(nics, ("arrivals", "transmit"), strict=True):
            yield Hunt(driver, nic, what, fast, ("off",), some)
            yield Hunt(driver, nic, what, SLOW + PAUSING, ("off",), (*some, *PERIOD))
            yield Hunt(driver, nic, what, ("napi",), tuple(scheme for scheme in TX_SCHEMES if scheme != "off"), some)
    yield Hunt("irqmod_lan78xx", "lan7800", "arrivals", USB_RX_SCHEMES, (), some)


@dataclass(frozen=True)
class Row:
    """One kind of event at one port, as it is kept."""

    hunt: str
    commit: str
    kernel: str
    qemu: str
    driver: str
    nic: str
    rx: str
    tx: str
    kind: str
    port: str
    instants: int
    step_ns: int | None
    missed: int
    alone_ns: int
    bound_ns: int
    worst_ns: int | None
    freed_ns: int | None
    places: int | None
    tried_places: int | None
    held: int | None
    found: str
    """What happened, and how many findings of each."""


COLUMNS = tuple(field.name for field in fields(Row))


def run(hunt: Hunt, commit: str) -> list[Row] | None:
    """Runs the command; None if it could not be done, which it has explained."""
    with tempfile.TemporaryDirectory(prefix="hunts-") as folder:
        out = Path(folder) / "hunt.json"
        done = subprocess.run(hunt.command(out), cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        if done.returncode not in (0, 1) or not out.exists():
            return None
        return list(rows(hunt, commit, json.loads(out.read_text())))


def rows(hunt: Hunt, commit: str, document: dict[str, Any]) -> Iterator[Row]:
    """Of a document of `irqlab hunt` (docs/use/results.md)."""
    dut = document["environment"]["duts"][0]
    for result in document["measured"]["results"]:
        for sample in result["samples"]:
            what = [finding["what"] for finding in sample["findings"]]
            yield Row(
                hunt=hunt.name,
                commit=commit,
                kernel=dut["kernel"]["release"],
                qemu=dut["qemu"].split()[3],
                driver=result["driver"],
                nic=result["nic"],
                rx=result["rx_scheme"] or "",
                tx=result["tx_scheme"] or "",
                found="; ".join(f"{one} {what.count(one)}" for one in dict.fromkeys(what)),
                **{name: sample[name] for name in COLUMNS if name in sample},
            )


def kept() -> list[dict[str, str]]:
    """All rows, as they are in the file."""
    return read_rows(KEPT)


def keep(hunt: Hunt, found: Iterable[Row]) -> None:
    """Replaces the rows of a hunt, in the order of the hunts."""
    order = {one.name: number for number, one in enumerate(hunts())}
    lines = [row for row in kept() if row["hunt"] != hunt.name and row["hunt"] in order]
    lines += [{name: "" if getattr(row, name) is None else str(getattr(row, name)) for name in COLUMNS} for row in found]
    lines.sort(key=lambda row: order[row["hunt"]])
    write_rows(KEPT, COLUMNS, lines)


def table(lines: list[dict[str, str]]) -> str:
    """A line for each driver, NIC and kind of event, in Markdown."""
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in lines:
        groups.setdefault((row["driver"], row["nic"], row["kind"]), []).append(row)
    out = [
        "| driver | NIC | `--what` | schemes | instants | places tried | missed | held | longest (alone) | freed after | found |"
    ]
    out += ["|---|---|---|---:|---:|---:|---:|---:|---:|---:|---|"]
    for (driver, nic, kind), members in groups.items():
        schemes = {(row["rx"], row["tx"]) for row in members if row["rx"]}
        worst = max((row for row in members if row["worst_ns"]), key=lambda row: int(row["worst_ns"]), default=None)
        freed = [int(row["freed_ns"]) for row in members if row["freed_ns"]]
        places, tried, held = (sum(int(row[name] or 0) for row in members) for name in ("places", "tried_places", "held"))
        what: dict[str, int] = {}
        for row in members:
            for one in filter(None, row["found"].split("; ")):
                name, number = one.rsplit(" ", 1)
                what[name] = what.get(name, 0) + int(number)
        cells = (
            f"`{driver}`",
            nic,
            kind,
            str(len(schemes) or ""),
            units.whole(sum(int(row["instants"]) for row in members)),
            f"{units.whole(tried)} of {units.whole(places)}" if places else "",
            units.whole(sum(int(row["missed"]) for row in members)),
            units.whole(held) if held else "",
            f"{units.duration(int(worst['worst_ns']))} ({units.duration(int(worst['alone_ns']))})" if worst else "",
            units.duration(max(freed)) if freed else "",
            ", ".join(f"{name} {number}" for name, number in what.items()),
        )
        out.append(f"| {' | '.join(cell.strip() for cell in cells)} |")
    return "\n".join(out) + "\n"


def figures() -> Iterator[Figures]:
    """The table of docs/use/hunting.md."""
    yield Figures("hunts", "python -m tools.hunts", table(kept()))


def main(words: list[str]) -> int:
    """Returns the exit code."""
    done = {row["hunt"] for row in kept()} if words == ["--rest"] else set()
    chosen = [hunt for hunt in hunts() if hunt.name not in done and (not words or done or any(w in hunt.name for w in words))]
    if not chosen:
        print(
            "hunts: no hunt's name has one of these words. The hunts:",
            *(hunt.name for hunt in hunts()),
            sep="\n  ",
            file=sys.stderr,
        )
        return 2
    commit = git("rev-parse", "--short", "HEAD")
    failed = []
    for number, hunt in enumerate(chosen, 1):
        print(f"== {number} of {len(chosen)}: {hunt.name}", flush=True)
        found = run(hunt, commit)
        if found is None:
            failed.append(hunt.name)
            continue
        print(f"   {sum(row.instants for row in found)} instants, {sum(row.missed for row in found)} missed", flush=True)
        keep(hunt, found)
    write_figures(figures())
    for name in failed:
        print(f"hunts: failed: {name}", file=sys.stderr)
    return 2 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
