# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutates what the tester computes with, and runs its tests on each mutant. Fails if fewer than 90 % are killed.

Arguments select mutants by a part of their name, such as traffic/latency.rs or Analysis::received; without any, all are tested.
MUTANTS_JOBS: how many at a time. cargo-mutants is needed: scripts/cargo install --locked cargo-mutants.

`cargo mutants --list` says what to mutate (.cargo/mutants.toml). cargo-mutants itself builds the tester for each mutant, which
takes ten seconds or more. Here one build has them all: the body of a function becomes a `match` on the number of the active
mutant, with one arm for each mutant of the function. Mutants that do not compile are left out. A test is run on a mutant only if
it calls the function. Mutants outside of functions, and in functions that return an `impl` type (arms would differ in type), have
a build each.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

from tools.mutants_listed import main as print_score

PACKAGE = "irqlab-tester"
OUT = Path("build/mutants-rust")
TREE = OUT / "tree"
VERDICTS = OUT / "verdicts"
FAST_S = 0.05
"""Of tests that run first."""
SWITCH = """// SPDX-License-Identifier: GPL-2.0-or-later
//! Which mutant is active.
use std::io::Write;
use std::sync::{Mutex, OnceLock};

type Calls = Mutex<(std::fs::File, Vec<bool>)>;
static STATE: OnceLock<(usize, Option<Calls>)> = OnceLock::new();

/// The number of the active mutant, 0 for none. Called by each function that has mutants, with its own number.
pub fn active(function: usize) -> usize {
    let (active, calls) = STATE.get_or_init(|| {
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
        let calls = std::env::var("MUTANTS_CALLS").ok().map(|path| {
            Mutex::new((std::fs::File::create(path).unwrap(), vec![false; number("MUTANTS_FUNCTIONS").unwrap()]))
        });
        (number("MUTANT").unwrap_or(0), calls)
    });
    if let Some(calls) = calls {
        let (file, called) = &mut *calls.lock().unwrap();
        if !std::mem::replace(&mut called[function], true) {
            writeln!(file, "{function}").unwrap();
        }
    }
    *active
}
"""
# What may contain braces that are none.
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^']+|[^\\'])'|[{}]""", re.DOTALL
)


@dataclass(frozen=True)
class Mutant:
    """One change of one place: `text` in place of the characters `start` to `end` of `file`."""

    number: int
    name: str
    file: str
    start: int
    end: int
    text: str
    function: tuple[int, int] | None  # where the function begins and ends, if the change is in one

    @property
    def place(self) -> str:
        """Which function it is in."""
        return f"{self.file}:{self.function[0]}" if self.function else self.file


@dataclass
class Test:
    """A test of the unmutated tester."""

    binary: Path
    name: str
    seconds: float = 0.0
    functions: set[int] = field(default_factory=set)


def offsets(source: str, span: dict[str, dict[str, int]]) -> tuple[int, int]:
    """Where a span of cargo-mutants, in lines and columns from 1, begins and ends."""
    starts = [0, *(found.end() for found in re.finditer("\n", source))]
    first, last = span["start"], span["end"]
    return starts[first["line"] - 1] + first["column"] - 1, starts[last["line"] - 1] + last["column"] - 1


def list_mutants() -> list[Mutant]:
    """What cargo-mutants would mutate."""
    command = ["scripts/cargo", "mutants", "--list", "--json", "--package", PACKAGE]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        print(f"irqlab: mutants cannot be listed: is cargo-mutants missing?\n{done.stderr.strip()}", file=sys.stderr)
        raise SystemExit(2)
    listed = json.loads(done.stdout)
    mutants = []
    for number, entry in enumerate(listed, start=1):
        source = Path(entry["file"]).read_text()
        function = entry["function"]
        switchable = function and "impl " not in (function["return_type"] or "")
        place = offsets(source, function["span"]) if switchable else None
        start, end = offsets(source, entry["span"])
        mutants.append(Mutant(number, entry["name"], entry["file"], start, end, entry["replacement"] or "", place))
    return mutants


def body(source: str, function: tuple[int, int]) -> tuple[int, int]:
    """Where the body of a function begins and ends, without its braces."""
    opened: list[int] = []
    for token in TOKEN.finditer(source):
        if token.group() == "{":
            opened.append(token.start())
        elif token.group() == "}":
            start = opened.pop()
            if token.end() == function[1]:
                return start + 1, token.start()
    raise SystemExit(f"irqlab: no function ends at character {function[1]}")


def changed(source: str, mutant: Mutant, start: int, end: int) -> str:
    """Characters `start` to `end` of the source with the mutant's change."""
    return source[start : mutant.start] + mutant.text + source[mutant.end : end]


def switched(source: str, mutants: Sequence[Mutant], numbers: dict[str, int]) -> tuple[str, dict[int, Mutant]]:
    """A source file with all these mutants in it, and which mutant each of its lines belongs to."""
    by_function = defaultdict(list)
    for mutant in mutants:
        if mutant.function:
            by_function[mutant.function].append(mutant)
    out, at, lines = "", 0, {}
    for function, inside in sorted(by_function.items()):
        start, end = body(source, function)
        number = numbers.setdefault(inside[0].place, len(numbers))
        out += source[at:start] + f"match crate::mutants::active({number}) {{"
        for mutant in inside:
            first = out.count("\n") + 2
            out += f"\n{mutant.number} => {{{changed(source, mutant, start, end)}\n}}"
            lines.update(dict.fromkeys(range(first, out.count("\n") + 2), mutant))
        out += f"\n_ => {{{source[start:end]}\n}}\n}}"
        at = end
    return out + source[at:], lines


def build() -> tuple[list[Path], list[tuple[str, list[int]]]]:
    """Builds the tests. Returns the binaries, and the errors: file and lines."""
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(OUT.absolute() / "target"),
        "CARGO_PROFILE_DEV_DEBUG": "0",
        "RUSTFLAGS": "-A warnings",
    }
    command = ["../../../scripts/cargo", "test", "--locked", "--package", PACKAGE, "--lib", "--tests", "--no-run"]
    done = subprocess.run([*command, "--message-format=json"], cwd=TREE, env=environment, capture_output=True, text=True)
    binaries, errors = [], []
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            binaries.append(Path(message["executable"]))
        if message["reason"] == "compiler-message" and message["message"]["level"] == "error":
            for span in message["message"]["spans"]:
                errors.append((span["file_name"], list(range(span["line_start"], span["line_end"] + 1))))
    if done.returncode and not errors:
        raise SystemExit(f"irqlab: the tests do not build:\n{done.stderr}")
    return binaries, errors if done.returncode else []


def copy_tree() -> None:
    """The workspace, without what git does not know."""
    shutil.rmtree(TREE, ignore_errors=True)
    members = tomllib.loads(Path("Cargo.toml").read_text())["workspace"]["members"]
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "Cargo.*", "docs/inside/protocol.md", *members],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    for file in files:
        (TREE / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, TREE / file)
    (TREE / "tester/src/mutants.rs").write_text(SWITCH)
    with (TREE / "tester/src/lib.rs").open("a") as lib:
        lib.write("#[doc(hidden)]\npub mod mutants;\n")


def build_all(mutants: Sequence[Mutant]) -> dict[str, Any]:
    """Makes one build with all mutants that compile.

    Returns the numbers of the functions, the numbers of the mutants that do not compile, and what survey() found of the tests.
    """
    numbers: dict[str, int] = {}
    unviable: set[Mutant] = set()
    while True:
        owners = {}
        for file in sorted({mutant.file for mutant in mutants}):
            here = [mutant for mutant in mutants if mutant.file == file and mutant not in unviable]
            text, owners[file] = switched(Path(file).read_text(), here, numbers)
            (TREE / file).write_text(text)
        binaries, errors = build()
        if not errors:
            break
        bad = {owners[file][line] for file, lines in errors for line in lines if line in owners.get(file, {})}
        if not bad:
            raise SystemExit(f"irqlab: errors outside of the mutants: {errors}")
        unviable |= bad
        print(f"{len(unviable)} mutants do not compile", flush=True)
    kept = [Path(shutil.copy2(binary, OUT.absolute() / stem(binary))) for binary in binaries]  # later builds overwrite them
    tests = [(str(test.binary), test.name, test.seconds, sorted(test.functions)) for test in survey(kept, len(numbers))]
    return {"functions": numbers, "unviable": sorted(mutant.number for mutant in unviable), "tests": tests}


def passed(binary: Path, tests: Sequence[str], cpu_s: float, **environment: str) -> bool | None:
    """Runs tests until one fails; None if they need more than `cpu_s` seconds of CPU time, or wait for ever."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 2))
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

    variables = {"PROPTEST_FAILURE_PERSISTENCE": "off", "PROPTEST_MAX_SHRINK_ITERS": "0", **environment}
    with subprocess.Popen(
        [binary, "--exact", "--test-threads=1", *tests],
        cwd=TREE / "tester",
        env={**os.environ, **variables},
        preexec_fn=limit,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
    ) as process:
        waited = Timer(60 + 10 * cpu_s, process.kill)
        waited.start()
        try:
            assert process.stdout
            for line in process.stdout:
                if line.endswith("... FAILED\n"):
                    process.kill()
                    return False
            process.wait()
        finally:
            waited.cancel()
    return None if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL) else process.returncode == 0


def cpu_s() -> float:
    """CPU time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def survey(binaries: Sequence[Path], functions: int) -> list[Test]:
    """All tests: how much CPU time each takes, and which functions it calls."""
    tests = []
    for binary in binaries:
        names = subprocess.run([binary, "--list", "--format=terse"], check=True, capture_output=True, text=True).stdout
        tests += [Test(binary, line.removesuffix(": test")) for line in names.splitlines() if line.endswith(": test")]
    calls = OUT.absolute() / "calls"
    for test in tests:
        calls.write_text("")
        began = cpu_s()
        if not passed(test.binary, [test.name], 60, MUTANTS_CALLS=str(calls), MUTANTS_FUNCTIONS=str(functions)):
            raise SystemExit(f"irqlab: {test.name} fails without a mutation")
        test.seconds = cpu_s() - began
        test.functions = {int(line) for line in calls.read_text().split()}
    return tests


def verdict(tests: Sequence[Test], number: int) -> str:
    """Runs the tests, fast ones first, until one notices."""
    fast = [test for test in tests if test.seconds < FAST_S]
    for group in (fast, [test for test in tests if test not in fast]):
        for binary in dict.fromkeys(test.binary for test in group):
            chosen = [test for test in group if test.binary == binary]
            limit_s = 5 + 5 * sum(test.seconds for test in chosen)
            well = passed(binary, [test.name for test in chosen], limit_s, MUTANT=str(number))
            if not well:
                return "timeout" if well is None else "caught"
    return "missed"


def main(parts: Sequence[str]) -> int:
    """Tests the mutants whose names have one of `parts` in them; returns the exit code."""
    OUT.mkdir(parents=True, exist_ok=True)
    jobs = int(os.environ.get("MUTANTS_JOBS") or os.cpu_count() or 1)
    mutants = [mutant for mutant in list_mutants() if not parts or any(part in mutant.name for part in parts)]
    print(f"{len(mutants)} mutants", flush=True)
    built = OUT / "built.json"
    known = json.loads(built.read_text()) if os.environ.get("MUTANTS_RESUME") == "1" and built.is_file() else {}
    if known.get("parts") != list(parts):
        copy_tree()
        VERDICTS.write_text("")
        known = {"parts": list(parts), **build_all([mutant for mutant in mutants if mutant.function])}
        built.write_text(json.dumps(known))
    tests = [Test(Path(binary), name, seconds, set(called)) for binary, name, seconds, called in known["tests"]]
    print(f"{len(tests)} tests; {sum(test.seconds for test in tests):.0f} s", flush=True)
    found = {mutant.name: "unviable" for mutant in mutants if mutant.number in known["unviable"]}
    for line in VERDICTS.read_text().splitlines():
        result, _, name = line.partition(" ")
        found[name] = result

    def judged(mutant: Mutant, result: str) -> None:
        found[mutant.name] = result
        with VERDICTS.open("a") as file:
            file.write(f"{result} {mutant.name}\n")
        print(f"{len(found)}/{len(mutants)} {result}: {mutant.name}", flush=True)

    def judge(mutant: Mutant) -> None:
        number = known["functions"][mutant.place]
        judged(mutant, verdict([test for test in tests if number in test.functions], mutant.number))

    left = [mutant for mutant in mutants if mutant.name not in found]
    Random(1).shuffle(left)  # so that what an interrupted run has tested is a sample
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(judge, [mutant for mutant in left if mutant.function]))

    for file in {mutant.file for mutant in mutants}:
        shutil.copy(file, TREE / file)
    for mutant in [mutant for mutant in left if not mutant.function]:
        source = Path(mutant.file).read_text()
        (TREE / mutant.file).write_text(changed(source, mutant, 0, len(source)))
        binaries, errors = build()
        again = {stem(binary): binary for binary in binaries}
        moved = [] if errors else [replace(test, binary=again[test.binary.name]) for test in tests]
        judged(mutant, "unviable" if errors else verdict(moved, 0))
        (TREE / mutant.file).write_text(source)

    chosen = {mutant.name: found[mutant.name] for mutant in mutants}
    survivors = OUT / "survivors"
    missed = sorted(name for name, result in chosen.items() if result == "missed")
    survivors.write_text("".join(re.sub(r"^([^:]+):\d+:\d+:", r"\1:", name) + "\n" for name in missed))  # without line and column
    killed = sum(result in ("caught", "timeout") for result in chosen.values())
    return print_score("Rust", killed, survivors, Path("tests/mutants/rust.txt"))


def stem(binary: Path) -> str:
    """A test binary's name without cargo's hash."""
    return binary.name.rpartition("-")[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
