# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the papers anew; says what moved since the run that is kept in docs/papers, keeps the new one, writes the pages.

    python -m tools.papers                     # all papers, and how long they take
    python -m tools.papers spanos2008 ...      # these papers
    python -m tools.papers --times mogul1997   # how long `irqlab reproduce` takes, with --quick and without

A run that is kept has the paper's `kept_with` options, and takes trials from the cache. One that is timed has none, and no cache.
What fails does not keep the rest from being measured; the exit code then is 2. The reports are in build/papers.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import resource
import subprocess
import sys
import time
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from random import Random
from typing import Any

from irqlab import files
from irqlab.errors import IrqlabError
from irqlab.present.series import measured_style
from irqlab.report.picture import Panel
from irqlab.reproduce import PAPERS, find, members
from irqlab.reproduce.spanos2008 import differences
from irqlab.reproduce.table import tables_from
from tools import prose
from tools.kept import HOME, Kept, Took, claims, in_print, key_of, moved, not_the_papers, read, says, score, side_by_side
from tools.kept import times as times_table
from tools.pages import ROOT, Figures, git, read_rows, write_figures, write_rows
from tools.pictures import drawn_as

OUT, TIMES = ROOT / "build/papers", HOME / "times.csv"
KEEP, TIMED = "keep", ("quick", "full")
DRAWS = 50
"""Sets of tables that are drawn from the ranges of an ensemble's members."""
DOCUMENTS = ("docs/**/*.md", "docs/images", "docs/papers")
"""What is written; no change of it makes another revision."""


def tested_again(kept: Kept) -> Kept:
    """The same with the claims as they are today, tested on the tables that are kept; as it is if a table is missing.

    A finding of an ensemble that says what it said keeps its members. Others are tested on tables drawn from the members' ranges.
    """
    paper = find(kept.paper)
    kind = typing.get_type_hints(paper.measure)["return"]
    tables = tables_from(kind, kept.tables)
    if tables is None:
        return kept
    found = paper.findings(tables)
    if "--ensemble" in kept.content["command"]:
        before = {(key_of(one), says(one)): one.get("members") for one in kept.findings}
        measured = [before.get((key_of(one), says(one))) for one in (finding.to_json() for finding in found)]
        if not all(votes or one.agrees is None for one, votes in zip(found, measured, strict=True)):
            found = members.findings(paper.findings, tables, [tables_from(kind, drawn) for drawn in draws(kept.tables)])
            found = [replace(one, draws=one.members, members=None) for one in found]
        found = [replace(one, members=votes, draws=None) if votes else one for one, votes in zip(found, measured, strict=True)]
    findings = json.loads(json.dumps([one.to_json() for one in found]))
    return replace(kept, content=kept.content | {"findings": findings})


def draws(tables: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """DRAWS sets of CSV tables. Of a cell with a range (NAME_min, NAME_max) each has the least, the median or the greatest value.

    They know nothing of which figures belong together, so they differ more than the members did. The same for the same tables.
    """
    chosen = Random(0)
    for _ in range(DRAWS):
        yield {name: _drawn(text, chosen) for name, text in tables.items()}


def _drawn(text: str, chosen: Random) -> str:
    head, *rows = csv.reader(io.StringIO(text))
    ranged = [(head.index(name[:-4]), n) for n, name in enumerate(head) if name.endswith("_min") and name[:-4] in head]
    for row in rows:
        for cell, low in ranged:
            row[cell] = chosen.choice([row[cell], row[low] or row[cell], row[low + 1] or row[cell]])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([head, *rows])
    return out.getvalue()


def run(name: str, look: str, commit: str) -> Kept | None:
    """Runs a paper; None if it failed, which the command has explained. Keeps the time of a run that is timed."""
    out = OUT / (name if look == KEEP else f"{name}-{look}")
    for old in out.glob("*"):
        old.unlink()
    options = {KEEP: find(name).kept_with, "full": ("--no-cache",), "quick": ("--quick", "--no-cache")}[look]
    words = ["./irqlab", "reproduce", name, *options, "--out", str(out.relative_to(ROOT))]
    before, begin_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(words, cwd=ROOT, check=False)
    wall_s, after = time.monotonic() - begin_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        return None
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"took {wall_s:.0f} s, {cpu_s:.0f} s of CPU time", flush=True)
    if look != KEEP:
        keep_time(Took(name, look, round(wall_s), round(cpu_s), os.cpu_count() or 0, commit))
    document = json.loads((out / f"{name}.json").read_text())
    return Kept.of(document, {path.stem: path.read_text() for path in sorted(out.glob("*.csv"))}, commit)


def times() -> list[Took]:
    """How long runs took that are kept."""
    numbers = ("wall_s", "cpu_s", "processors")
    rows: list[dict[str, Any]] = [row | {name: int(row[name]) for name in numbers} for row in read_rows(TIMES)]
    return [Took(**row) for row in rows]


def keep_time(took: Took) -> None:
    """Replaces the time of that look at that paper."""
    every = {(one.paper, one.look): one for one in [*times(), took]}
    write_rows(TIMES, [field.name for field in fields(Took)], (asdict(every[key]) for key in sorted(every)))


def keep(one: Kept) -> None:
    """Replaces what is kept of the paper."""
    folder = HOME / one.paper
    for old in folder.glob("*"):
        old.unlink()
    files.write_atomically(folder / f"{one.paper}.json", (json.dumps(one.content, indent=1) + "\n").encode())
    for name, text in one.tables.items():
        files.write_atomically(folder / f"{name}.csv", text.encode())


def revision() -> str:
    """The commit, with -dirty if other files than those that are written have changed since."""
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *(f":(exclude){path}" for path in DOCUMENTS))
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("-dirty" if changed else "")


def measure(name: str, look: str, commit: str) -> bool:
    """Measures a paper, to keep what is found or how long it takes; whether it succeeded."""
    print(f"== {name}" if look == KEEP else f"== {name}, {look}, for its time", flush=True)
    before, after = read(name), run(name, look, commit)
    if after is None:
        return False
    if look == KEEP:
        lines = list(moved(before, after)) if before else ["nothing was kept before"]
        print("\n".join(f"moved: {line}" for line in lines) or "nothing moved", flush=True)
        keep(after)
    return True


def kept() -> list[Kept]:
    """What is kept of all papers, with the claims as they are today."""
    return [tested_again(one) for name in PAPERS if (one := read(name))]


def figures() -> Iterator[Figures]:
    """The claims of each paper; how many there are; how long a paper takes."""
    every = kept()
    yield Figures("papers", "python -m tools.papers", claims(every))
    reasons = {name: find(name).takes_long for name in PAPERS}
    yield Figures("times", "python -m tools.papers --times", times_table(times(), reasons))
    for one in every:
        with_costs = differences.WITH_COSTS if one.paper == "spanos2008" else {}
        yield Figures(one.paper, one.asked, side_by_side(one.findings, find(one.paper).because, with_costs))
        yield Figures(f"{one.paper}, score", one.asked, score(one))
        if printed := in_print(one.findings):
            yield Figures(f"{one.paper}, print", one.asked, printed)
        tables = tables_from(typing.get_type_hints(find(one.paper).measure)["return"], one.tables)
        for name, text in prose.PAPERS[one.paper](tables) if tables else ():
            yield Figures(f"{one.paper}, {name}", one.asked, text)
    hybrid = next(one for one in every if one.paper == "hybrid")
    yield Figures("hybrid, expected", hybrid.asked, not_the_papers(hybrid.findings))


def pictures() -> dict[Path, str]:
    """The plots that each paper's report begins with, as docs/images/PAPER-light.svg and -dark.svg."""
    drawn: dict[Path, str] = {}
    for one in kept():
        paper = find(one.paper)
        tables = tables_from(typing.get_type_hints(paper.measure)["return"], one.tables)
        group = paper.picture(tables) if tables else None
        if not group:
            continue
        legend = [(int(entry.key), entry.text) for entry in group.legend if entry.key.isdigit()]
        last = len(group.plots) - 1
        half = (len(legend) + 1) // 2 if last % 2 else 0
        below = {last - 1: legend[:half], last: legend[half:]}
        panels = [Panel(plot.title, str(plot.svg), below.get(n, ()), measured_style) for n, plot in enumerate(group.plots)]
        drawn |= drawn_as(one.paper, panels)
    return drawn


def outdated() -> list[str]:
    """Papers of which claims are kept that are not today's."""
    return [one.paper for one in kept() if one != read(one.paper)]


def write() -> None:
    """Writes what is kept with today's claims, the figures and the pictures. Raises IrqlabError."""
    for one in kept():
        if one.paper in outdated():
            keep(one)
    write_figures(figures())
    for path, text in pictures().items():
        files.write_atomically(path, text.encode())


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"of {', '.join(PAPERS)}; default: all")
    parser.add_argument("--times", action="store_true", help="only how long they take, on an otherwise idle machine")
    asked = parser.parse_args(arguments)
    for name in asked.papers:
        find(name)
    everything = not asked.papers
    names = asked.papers or PAPERS
    looks = TIMED if asked.times else (KEEP, *TIMED) if everything else (KEEP,)
    commit = revision()
    failed = [f"{name} ({look})" for look in looks for name in names if not measure(name, look, commit)]
    write()
    if failed:
        print(f"papers: failed: {', '.join(failed)}", file=sys.stderr)
    return 2 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except IrqlabError as error:
        print(f"papers: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
