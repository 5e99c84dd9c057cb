# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutates what the tester computes with, and runs its tests on each mutant. Called by scripts/mutants-rust.

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
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from mutants_listed import main as print_score

PACKAGE = "irqlab-tester"
OUT = Path("build/mutants-rust")
TREE = OUT / "tree"
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


def list_mutants(parts: Sequence[str]) -> list[Mutant]:
    """What cargo-mutants would mutate, if its name has one of `parts` in it (all, if there are none)."""
    command = ["scripts/cargo", "mutants", "--list", "--json", "--package", PACKAGE]
    listed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    mutants = []
    for number, entry in enumerate(listed, start=1):
        if parts and not any(part in entry["name"] for part in parts):
            continue
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


def switched(source: str, mutants: Sequence[Mutant], numbers: dict[tuple[str, int], int]) -> tuple[str, dict[int, Mutant]]:
    """A source file with all these mutants in it, and which mutant each of its lines belongs to."""
    by_function = defaultdict(list)
    for mutant in mutants:
        if mutant.function:
            by_function[mutant.function].append(mutant)
    out, at, lines = "", 0, {}
    for function, inside in sorted(by_function.items()):
        start, end = body(source, function)
        number = numbers.setdefault((inside[0].file, function[0]), len(numbers))
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
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "Cargo.*", "docs/protocol.md", "tester", "guest"],
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


def build_all(mutants: Sequence[Mutant], numbers: dict[tuple[str, int], int]) -> tuple[list[Path], set[Mutant]]:
    """One build with all mutants that compile. Returns its tests, and those that do not compile."""
    unviable: set[Mutant] = set()
    while True:
        owners = {}
        for file in sorted({mutant.file for mutant in mutants}):
            here = [mutant for mutant in mutants if mutant.file == file and mutant not in unviable]
            text, owners[file] = switched(Path(file).read_text(), here, numbers)
            (TREE / file).write_text(text)
        binaries, errors = build()
        if not errors:
            return binaries, unviable
        bad = {owners[file][line] for file, lines in errors for line in lines if line in owners.get(file, {})}
        if not bad:
            raise SystemExit(f"irqlab: errors outside of the mutants: {errors}")
        unviable |= bad
        print(f"{len(unviable)} mutants do not compile", flush=True)


def run(binary: Path, tests: Sequence[str], cpu_s: float, **environment: str) -> subprocess.CompletedProcess[str] | None:
    """Runs tests; None if they need more than `cpu_s` seconds of CPU time, or wait for ever."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 2))
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

    try:
        done = subprocess.run(
            [binary, "--exact", "--test-threads=1", *tests],
            cwd=TREE / "tester",
            env={**os.environ, "PROPTEST_FAILURE_PERSISTENCE": "off", **environment},
            preexec_fn=limit,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60 + 10 * cpu_s,
        )
    except subprocess.TimeoutExpired:
        return None
    return None if done.returncode in (-24, -9) else done  # SIGXCPU, SIGKILL


def survey(binaries: Sequence[Path], functions: int) -> list[Test]:
    """All tests: how long each takes, and which functions it calls."""
    tests = []
    for binary in binaries:
        names = subprocess.run([binary, "--list", "--format=terse"], check=True, capture_output=True, text=True).stdout
        tests += [Test(binary, line.removesuffix(": test")) for line in names.splitlines() if line.endswith(": test")]
    calls = OUT.absolute() / "calls"
    for test in tests:
        calls.write_text("")
        began = time.monotonic()
        done = run(test.binary, [test.name], 60, MUTANTS_CALLS=str(calls), MUTANTS_FUNCTIONS=str(functions))
        if done is None or done.returncode:
            raise SystemExit(f"irqlab: {test.name} fails without a mutation:\n{done.stdout if done else 'timeout'}")
        test.seconds = time.monotonic() - began
        test.functions = {int(line) for line in calls.read_text().split()}
    return tests


def verdict(tests: Sequence[Test], number: int) -> str:
    """Runs the tests, fast ones first, until one notices."""
    tests = sorted(tests, key=lambda test: test.seconds)
    for binary in dict.fromkeys(test.binary for test in tests):
        chosen = [test for test in tests if test.binary == binary]
        done = run(binary, [test.name for test in chosen], 5 + 5 * sum(test.seconds for test in chosen), MUTANT=str(number))
        if done is None:
            return "timeout"
        if done.returncode:
            return "caught"
    return "missed"


def main(arguments: Sequence[str]) -> int:
    """Tests the mutants that the arguments select; returns the exit code."""
    OUT.mkdir(parents=True, exist_ok=True)
    jobs = int(os.environ.get("MUTANTS_JOBS") or os.cpu_count() or 1)
    mutants = list_mutants(arguments)
    print(f"{len(mutants)} mutants", flush=True)
    copy_tree()
    together = [mutant for mutant in mutants if mutant.function]
    numbers: dict[tuple[str, int], int] = {}
    binaries, unviable = build_all(together, numbers)
    tests = survey(binaries, len(numbers))
    print(f"{len(tests)} tests; {sum(test.seconds for test in tests):.0f} s", flush=True)
    found = dict.fromkeys(unviable, "unviable")

    def judge(mutant: Mutant) -> None:
        assert mutant.function
        function = numbers[mutant.file, mutant.function[0]]
        found[mutant] = verdict([test for test in tests if function in test.functions], mutant.number)
        print(f"{len(found)}/{len(mutants)} {found[mutant]}: {mutant.name}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(judge, [mutant for mutant in together if mutant not in unviable]))

    for file in {mutant.file for mutant in mutants}:
        shutil.copy2(file, TREE / file)
        (TREE / file).touch()
    for mutant in [mutant for mutant in mutants if not mutant.function]:
        source = Path(mutant.file).read_text()
        (TREE / mutant.file).write_text(changed(source, mutant, 0, len(source)))
        binaries, errors = build()
        everything = [
            Test(binary, test.name, test.seconds) for binary in binaries for test in tests if stem(binary) == stem(test.binary)
        ]
        found[mutant] = "unviable" if errors else verdict(everything, 0)
        print(f"{len(found)}/{len(mutants)} {found[mutant]}: {mutant.name}", flush=True)
        (TREE / mutant.file).write_text(source)

    for name in ("caught", "timeout", "missed", "unviable"):
        chosen = sorted(mutant.name for mutant in found if found[mutant] == name)
        (OUT / f"{name}.txt").write_text("".join(f"{line}\n" for line in chosen))
    survivors = OUT / "survivors"
    missed = (OUT / "missed.txt").read_text()
    survivors.write_text(re.sub(r"^([^:]+):\d+:\d+:", r"\1:", missed, flags=re.MULTILINE))  # without line and column
    killed = sum(result in ("caught", "timeout") for result in found.values())
    return print_score("Rust", killed, survivors, Path("tests/mutants/rust.txt"))


def stem(binary: Path) -> str:
    """A test binary's name without cargo's hash."""
    return binary.name.rpartition("-")[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
