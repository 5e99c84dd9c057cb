# SPDX-License-Identifier: GPL-2.0-or-later
"""Real faults of the kernel's drivers: builds drivers in which a fix is undone, and checks whether `irqlab check` finds them.

    python -m tools.corpus --list                       # the faults and controls of tests/corpus
    python -m tools.corpus --build all                  # build/corpus/NAME/MODULE.ko of each; or a name, or several
    python -m tools.corpus --check all --budget 5m      # check each, and the unchanged drivers; an interrupted run goes on
    python -m tools.corpus --check all --again          # also those whose result is kept
    python -m tools.corpus --check all --expected       # of faults only the rows that are expected to find them
    python -m tools.corpus --table                      # print what is kept

Each file of tests/corpus declares one fault as edits of Debian's linux-source-6.1, so no code of the kernel is kept here. An edit
names a function and a short text in it. It is an error if the text does not occur there exactly as often as expected, and if the
driver then builds with a warning.

A fault counts as found if a row of the checklist fails that does not fail with the unchanged driver, the kernel's own, or finds
another kind of fault: rows that go on after a finding tell all kinds. With --expected the
rows that are expected to find a fault have the time that they have of the whole checklist's budget.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from irqlab import units
from irqlab.check import catalogue
from irqlab.errors import IrqlabError
from irqlab.setup import drivers, kernel, kernel_sources
from irqlab.setup.nics import TABLE
from tools.pages import RESULTS, ROOT, git, read_rows, write_rows

FAULTS, BUILT, KEPT = ROOT / "tests/corpus", ROOT / "build/corpus", RESULTS / "corpus.csv"
SERIES = "6.1"
KINDS = (
    "lost wake-up",
    "stop and wake",
    "DMA and memory",
    "statistics",
    "filters and addresses",
    "changes under traffic",
    "suspend",
    "budget and netpoll",
    "offloads",
    "performance",
)
CONTROL = "control"
"""The kind of an edit that is no fault: nothing may be found."""
GROUPS = ("life", "frames", "numbers", "ring", "races", "failures", "settings", "overload", "polling", "power")
"""How the names of rows of the checklist begin."""
BUDGET = "5m"
BETWEEN = " ~ "
"""Kinds of what a row found."""
SAID = 60
"""Characters of what a row says that are compared."""
OTHERWISE = ", otherwise than without it"
UNCHANGED = "unchanged"
"""The suffix of a driver's name: without edits, on one NIC."""


@dataclass(frozen=True)
class Driver:
    """A driver of the kernel: a directory below drivers/net, and the files that it is built of; headers are added."""

    directory: str
    files: tuple[str, ...]


DRIVERS: Mapping[str, Driver] = {
    "8139cp": Driver("ethernet/realtek", ("8139cp.c",)),
    "e100": Driver("ethernet/intel", ("e100.c",)),
    "e1000": Driver("ethernet/intel/e1000", ("*.c",)),
    "e1000e": Driver("ethernet/intel/e1000e", ("*.c",)),
    "lan78xx": Driver("usb", ("lan78xx.c",)),
    "pcnet32": Driver("ethernet/amd", ("pcnet32.c",)),
    "tulip": Driver(
        "ethernet/dec/tulip",
        ("eeprom.c", "interrupt.c", "media.c", "timer.c", "tulip_core.c", "21142.c", "pnic.c", "pnic2.c"),
    ),
    "vmxnet3": Driver("vmxnet3", ("*.c",)),
}


@dataclass(frozen=True)
class Edit:
    """A change of one function.

    ``find`` is replaced by ``put``: each of its ``times`` occurrences, or only the ``nth``. With ``until``, everything from it to
    the next ``until``, inclusive. With ``before`` or ``after`` it is moved to that text, which occurs once. What is deleted takes
    its line with it.
    """

    function: str
    find: str
    file: str = ""
    """Default: the driver's only file."""
    until: str = ""
    put: str = ""
    times: int = 1
    nth: int = 0
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Fault:
    """A file of tests/corpus."""

    name: str
    driver: str
    kind: str
    commit: str
    """Of the fix, 12 digits; empty: its subject is known, and the commit is not."""
    commit_seen: bool
    """Whether commit and subject were read together in a public list of commits; otherwise they are from memory."""
    subject: str
    nic: str
    row: str
    """The group of rows that is expected to find it; of a control, empty."""
    cause: str
    edits: tuple[Edit, ...] = field(repr=False)

    @property
    def is_control(self) -> bool:
        """Whether nothing may be found."""
        return self.kind == CONTROL


class CorpusError(IrqlabError):
    """A declaration is wrong, or does not fit the source."""


def load(directory: Path = FAULTS) -> list[Fault]:
    """All declarations, by name. Raises CorpusError."""
    return [_fault(path) for path in sorted(directory.glob("*.toml"))]


def unchanged(faults: Iterable[Fault]) -> list[Fault]:
    """The kernel's own drivers on the NICs that the faults are tried on."""
    pairs = dict.fromkeys((fault.driver, fault.nic) for fault in faults)
    return [
        Fault(f"{driver}-{nic}-{UNCHANGED}", driver, UNCHANGED, "", False, "", nic, "", "No edit.", ()) for driver, nic in pairs
    ]


def sources(fault: Fault, tree: Path) -> dict[str, str]:
    """The driver's files with the fault, by name. `tree`: the kernel's source. Raises CorpusError."""
    driver = DRIVERS[fault.driver]
    directory = tree / "drivers/net" / driver.directory
    paths = [path for pattern in driver.files for path in sorted(directory.glob(pattern))]
    if not paths:
        raise CorpusError(f"{directory} has no {driver.files[0]}")
    texts = {path.name: path.read_text() for path in paths}
    for header in _headers(directory, texts.values()):
        texts[header.name] = header.read_text()
    for edit in fault.edits:
        file = edit.file or paths[0].name
        if file not in texts:
            raise CorpusError(f"{fault.name}: {fault.driver} has no file {file}")
        texts[file] = edited(texts[file], edit, f"{fault.name}: {file}")
    return texts


def edited(text: str, edit: Edit, what: str) -> str:
    """A file's text with an edit. `what`: for messages. Raises CorpusError."""
    begin, end = _function(text, edit.function, what)
    body = text[begin:end]
    spans = _spans(body, edit, f"{what}: {edit.function}()")
    if edit.before or edit.after:
        ((start, stop),) = spans
        body = _moved(body, start, stop, edit, f"{what}: {edit.function}()")
    else:
        for start, stop in reversed(spans):
            body = body[:start] + edit.put + body[stop:] if edit.put else _without(body, start, stop)
    return text[:begin] + body + text[end:]


def build(fault: Fault) -> Path:
    """The module of a fault; built unless the one in build/corpus is of the same source.

    Raises IrqlabError, also if the compiler warns.
    """
    target, texts = kernel.resolve(), sources(fault, kernel_sources.debian(SERIES).path)
    texts["Kbuild"] = _kbuild(fault.driver, texts)
    module = BUILT / fault.name / f"{fault.driver}.ko"
    key = hashlib.sha256("\0".join((target.release, target.version, *texts, *texts.values())).encode()).hexdigest()
    if module.is_file() and (BUILT / fault.name / "key").is_file() and (BUILT / fault.name / "key").read_text() == key:
        return module
    made = drivers.build_files(target, {name: text.encode() for name, text in texts.items()})
    module.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(made / module.name, module)
    shutil.rmtree(made)  # the cache keeps few builds: those of the lab stay
    (BUILT / fault.name / "key").write_text(key)
    return module


@dataclass(frozen=True)
class Kept:
    """What `irqlab check` said of a module."""

    name: str
    commit: str
    """Of this repository."""
    budget: str
    only: str
    """How the names of the rows begin that were tried; empty: all were."""
    failed: str = ""
    """The names of the rows that failed, in the order in which they were run."""
    after_s: str = ""
    """For each, host seconds from the beginning of the first row to its end."""
    said: str = ""
    """What each of them says, in few words and without numbers, separated by bars."""
    kinds: str = ""
    """The kinds of what each of them found, separated by tildes, and by bars between rows."""
    not_covered: str = ""
    """The names of the rows that were not tried."""
    error: str = ""
    """Why there is no checklist."""


def check(fault: Fault, driver: str, budget: str, only: str = "") -> Kept:
    """Runs `irqlab check` on a driver. `only`: how the names of the rows begin that are tried; empty: all are."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "check.json"
        command = ["./irqlab", "check", "--driver", driver, "--nic", fault.nic, "--json", str(out)]
        command += ["--only", only, "--budget", f"{part_s(budget, only):.0f}s"] if only else ["--budget", budget]
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
        if done.returncode not in (0, 1) or not out.is_file():
            return Kept(fault.name, _commit(), budget, only, error=f"exit code {done.returncode}")
        return kept_of(fault.name, budget, json.loads(out.read_text()), only)


def part_s(budget: str, only: str) -> float:
    """The part of a budget, in seconds, that rows have whose names begin so."""
    rows = [row for row in catalogue.rows() if not row.deep]
    share = sum(row.share for row in rows if row.name.startswith(only)) / sum(row.share for row in rows)
    return max(units.LEAST_S, units.host_seconds(budget, "--budget") * share)


def kept_of(name: str, budget: str, document: Mapping[str, Any], only: str = "") -> Kept:
    """What is kept of a checklist's document."""
    failed, after_s, said, kinds, passed_s = [], [], [], [], 0.0
    for row in document["rows"]:
        passed_s += row["seconds"]
        if row["status"] == "fail":
            failed.append(row["name"])
            after_s.append(f"{row['ended_s'] or passed_s:.0f}")
            said.append(re.sub(r"0x[0-9a-f]+|\d[\d\u202f.,]*|\|", "#", row["said"])[:SAID])
            kinds.append(BETWEEN.join(sorted({kind.replace("|", "/") for kind in row["kinds"]})))
    not_covered = [row["name"] for row in document["rows"] if row["status"] == "not covered"]
    return Kept(
        name,
        _commit(),
        budget,
        only,
        " ".join(failed),
        " ".join(after_s),
        "|".join(said),
        "|".join(kinds),
        " ".join(not_covered),
    )


def found(fault: Fault, kept: Mapping[str, Kept]) -> list[tuple[str, int, bool]]:
    """The rows that find something that they do not find without the fault, and after how many seconds.

    Then whether a row fails without it, too, tells no new kind, and only says something else.
    Raises CorpusError if there is no result.
    """
    if (mine := kept.get(fault.name)) is None or mine.error:
        raise CorpusError(mine.error if mine is not None else "not checked")
    without = kept.get(unchanged([fault])[0].name)
    if without is None or without.error:
        raise CorpusError("the unchanged driver was not checked")
    also = _told(without)
    times = zip(mine.failed.split(), mine.after_s.split(), strict=True)
    rows = [(row, int(s), _told(mine)[row], also.get(row)) for row, s in times]
    return [
        (row, s, theirs is not None and not kinds - theirs[1])
        for row, s, (said, kinds), theirs in rows
        if theirs is None or kinds - theirs[1] or (said != theirs[0] and not kinds)
    ]


def _told(kept: Kept) -> dict[str, tuple[str, set[str]]]:
    """What each row that failed says, and the kinds of what it found."""
    rows = kept.failed.split()
    said, kinds = kept.said.split("|"), kept.kinds.split("|")
    kinds += [""] * (len(rows) - len(kinds))
    return {row: (text, {one for one in many.split(BETWEEN) if one}) for row, text, many in zip(rows, said, kinds, strict=False)}


def table(faults: Sequence[Fault], kept: Mapping[str, Kept]) -> list[str]:
    """Lines of a table: which fault was found by which rows, after how long; and how many."""
    lines, count = [f"{'fault':32} {'kind':22} {'rows':10} found by"], 0
    otherwise = 0
    for fault in faults:
        try:
            rows = found(fault, kept)
            said = ", ".join(f"{row} ({seconds} s{OTHERWISE if other else ''})" for row, seconds, other in rows) or "nothing"
            if also := set(kept[fault.name].failed.split()) - {row for row, _, _ in rows}:
                said += f"; as without it: {', '.join(sorted(also))}"
            count += any(not other for _, _, other in rows) and not fault.is_control
            otherwise += bool(rows) and all(other for _, _, other in rows) and not fault.is_control
        except CorpusError as error:
            said = f"({error})"
        tried = (kept[fault.name].only or "all") if fault.name in kept else "-"
        lines.append(f"{fault.name:32} {fault.kind:22} {tried:10} {said}")
    whole = sum(not fault.is_control for fault in faults)
    lines.append(
        f"{count} of {whole} faults found; {otherwise} more by a row that fails without them, too, and says something else"
    )
    for driver in unchanged(faults):
        mine = kept.get(driver.name)
        said = f"({mine.error})" if mine and mine.error else (mine.failed or "nothing") if mine else "(not checked)"
        lines.append(f"{driver.name:32} {UNCHANGED:22} {'-':10} {said}")
    return lines


def _fault(path: Path) -> Fault:
    try:
        content = tomllib.loads(path.read_text())
        edits = tuple(Edit(**edit) for edit in content.pop("edit"))
        fault = Fault(path.stem, edits=edits, **content)
    except (tomllib.TOMLDecodeError, TypeError, KeyError) as error:
        raise CorpusError(f"{path}: {error}") from error
    wrong = [
        f"{key} = {value!r}; allowed are {', '.join(allowed)}"
        for key, value, allowed in (
            ("driver", fault.driver, tuple(DRIVERS)),
            ("kind", fault.kind, (*KINDS, CONTROL)),
            ("row", fault.row, ("",) if fault.is_control else GROUPS),
            ("nic", fault.nic, tuple(nic.model for nic in TABLE if nic.driver == fault.driver)),
        )
        if value not in allowed
    ]
    if wrong:
        raise CorpusError(f"{path}: {wrong[0]}")
    return fault


def _headers(directory: Path, texts: Iterable[str]) -> list[Path]:
    """The headers of a directory that some files include, and those that these include."""
    known: dict[str, Path] = {}
    waiting = list(texts)
    while waiting:
        for name in re.findall(r'^#include "([^"/]+)"', waiting.pop(), re.MULTILINE):
            if name not in known and (path := directory / name).is_file():
                known[name] = path
                waiting.append(path.read_text())
    return list(known.values())


def _kbuild(driver: str, names: Iterable[str]) -> str:
    objects = [f"{name[:-2]}.o" for name in names if name.endswith(".c")]
    parts = f"{driver}-y := {' '.join(objects)}\n" if objects != [f"{driver}.o"] else ""
    return f"obj-m := {driver}.o\n{parts}ccflags-y := -Werror -I$(src)\n"


def _function(text: str, name: str, what: str) -> tuple[int, int]:
    """Where the definition of a function begins and ends."""
    matches = list(re.finditer(rf"^[a-z][\w \t\n*]*\b{name}\s*\([^;{{}}]*\)\s*\{{", text, re.MULTILINE))
    if len(matches) != 1:
        raise CorpusError(f"{what} has {len(matches)} definitions of {name}()")
    end = text.find("\n}\n", matches[0].end())
    return matches[0].start(), end + 3


def _spans(body: str, edit: Edit, what: str) -> list[tuple[int, int]]:
    """Where in a function's text an edit applies."""
    starts = [match.start() for match in re.finditer(re.escape(edit.find), body)]
    expected = edit.times if not edit.nth else max(edit.times, edit.nth)
    if len(starts) != expected:
        raise CorpusError(f"{what} has {edit.find!r} {len(starts)} times, not {expected}")
    chosen = [starts[edit.nth - 1]] if edit.nth else starts
    spans = []
    for start in chosen:
        stop = start + len(edit.find)
        if edit.until:
            at = body.find(edit.until, stop)
            if at < 0:
                raise CorpusError(f"{what} has no {edit.until!r} after {edit.find!r}")
            stop = at + len(edit.until)
        spans.append((start, stop))
    return spans


def _without(body: str, start: int, stop: int) -> str:
    """A text without a part, and without the line that is left empty."""
    line, end = body.rfind("\n", 0, start) + 1, body.find("\n", stop)
    if not body[line:start].strip() and not body[stop:end].strip():
        return body[:line] + body[end + 1 :]
    return body[:start] + body[stop:]


def _moved(body: str, start: int, stop: int, edit: Edit, what: str) -> str:
    """A text in which a part stands before or behind another, on a line of its own."""
    part, anchor = body[start:stop], edit.before or edit.after
    rest = _without(body, start, stop)
    if rest.count(anchor) != 1:
        raise CorpusError(f"{what} has {anchor!r} {rest.count(anchor)} times, not once")
    at = rest.find(anchor)
    line = rest.rfind("\n", 0, at) + 1
    indent = rest[line:at]
    if edit.before:
        return f"{rest[:at]}{part}\n{indent}{rest[at:]}"
    end = rest.find("\n", at)
    return f"{rest[:end]}\n{indent}{part}{rest[end:]}"


def _commit() -> str:
    return git("describe", "--always", "--dirty", "--exclude=*")


def _kept() -> dict[str, Kept]:
    return {row["name"]: Kept(**row) for row in read_rows(KEPT)}


def _keep(kept: Mapping[str, Kept]) -> None:
    columns = [column.name for column in fields(Kept)]
    write_rows(KEPT, columns, [vars(kept[name]) for name in sorted(kept)])


def _chosen(faults: Sequence[Fault], names: Sequence[str]) -> list[Fault]:
    if names == ["all"]:
        return list(faults)
    known = {fault.name: fault for fault in (*faults, *unchanged(faults))}
    if unknown := [name for name in names if name not in known]:
        raise CorpusError(f"there is no {unknown[0]} in the corpus; allowed are all, {', '.join(known)}")
    return [known[name] for name in names]


def _listed(faults: Sequence[Fault]) -> list[str]:
    lines = [
        f"{fault.name:32} {fault.kind:22} {fault.nic:14} {fault.row or '-':9} {fault.commit or '-':12} {fault.subject}"
        for fault in faults
    ]
    controls = sum(fault.is_control for fault in faults)
    return [*lines, f"{len(faults) - controls} faults, {controls} controls"]


def _check_all(chosen: Sequence[Fault], budget: str, again: bool, expected: bool) -> None:
    """Checks faults, and the unchanged drivers that they need; what is kept of the same budget is not checked again."""
    kept = _kept()
    wanted = list({fault.name: fault for fault in (*unchanged(chosen), *chosen)}.values())
    waiting = [one for one in wanted if again or one.name not in kept or kept[one.name].error or kept[one.name].budget != budget]
    for number, one in enumerate(waiting, 1):
        print(f"{number} of {len(waiting)}: {one.name}", file=sys.stderr)
        driver = one.driver if one.kind == UNCHANGED else str(build(one))
        kept[one.name] = check(one, driver, budget, one.row if expected else "")
        _keep(kept)
    print("\n".join(table(chosen, kept)))


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="tools.corpus", description="Real faults of the kernel's drivers.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true", help="print what there is")
    what.add_argument("--build", nargs="+", metavar="NAME", help="build modules; all: each")
    what.add_argument("--check", nargs="+", metavar="NAME", help="run `irqlab check` on them; all: each")
    what.add_argument("--table", action="store_true", help="print what is kept of the checks")
    parser.add_argument("--budget", default=BUDGET, help=f"of each check (default: {BUDGET})")
    parser.add_argument("--again", action="store_true", help="also check what is kept")
    parser.add_argument("--expected", action="store_true", help="of faults only the rows that are expected to find them")
    given = parser.parse_args(arguments)
    faults = load()
    if given.list:
        print("\n".join(_listed(faults)))
    elif given.table:
        print("\n".join(table(faults, _kept())))
    elif given.build:
        for fault in _chosen(faults, given.build):
            print(build(fault), flush=True)
    else:
        _check_all(_chosen(faults, given.check), given.budget, given.again, given.expected)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except IrqlabError as error:
        print(f"irqlab: {error}", file=sys.stderr)
        sys.exit(2)
