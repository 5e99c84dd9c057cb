# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the litmus tests of the drivers with herd7, as they are and with each barrier or lock removed.

    python -m tools.litmus LINUX

LINUX is a kernel source tree, whose memory model is used (LINUX/tools/memory-model). herd7, of herdtools7, must be in PATH.
A test must give the result that it states. Without any one of its barriers it must give `Sometimes`, except for those that it
lists as `Still Never without`. A release then becomes WRITE_ONCE(), an acquire READ_ONCE(), and an atomic operation relaxed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "drivers/irqmod/litmus"
WEAKER = {
    r"smp_store_release\((\w+), ": r"WRITE_ONCE(*\1, ",
    r"smp_load_acquire\((\w+)\)": r"READ_ONCE(*\1)",
    r"atomic_dec_return\(": "atomic_dec_return_relaxed(",
    r"xchg\(": "xchg_relaxed(",
    r"smp_mb(__before_atomic)?\(\);": "",
}
LOCK = {r"spin_trylock\(\w+\)": "1", r"\t+spin_(un)?lock\(\w+\);\n": ""}
OBSERVED = re.compile(r"^Observation \S+ (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Test:
    """A litmus test: its comment and its code."""

    name: str
    comment: str
    code: str

    @classmethod
    def read(cls, path: Path) -> Test:
        """Of a file. SystemExit if a comment is in a comment, which herd7 rejects."""
        head, _, code = path.read_text().rpartition("*)\n")
        comment = head.removeprefix(f"C {path.stem}\n").replace("(* SPDX-License-Identifier: GPL-2.0-only *)", "")
        if comment.count("(*") != 1:
            raise SystemExit(f"irqlab: {path}: the comment has another `(*` in it, which herd7 takes for a comment")
        return cls(path.stem, comment, code)

    @property
    def result(self) -> str:
        """What it states."""
        found = re.search(r"^ \* Result: (\w+)$", self.comment, re.MULTILINE)
        if not found:
            raise SystemExit(f"irqlab: {self.name}: there is no line `Result:`")
        return found[1]

    @property
    def redundant(self) -> tuple[str, ...]:
        """The barriers of which it states that this result does not need them."""
        found = re.search(r"^ \* Still Never without: (.*)$", self.comment, re.MULTILINE)
        return tuple(found[1].split(", ")) if found else ()

    @property
    def text(self) -> str:
        """What herd7 reads."""
        return f"C {self.name}\n{self.code}"

    def weaker(self) -> Iterator[tuple[str, str]]:
        """Each barrier, `PROCESS: BARRIER`, and the test without it; the lock counts as one."""
        for pattern, instead in WEAKER.items():
            for found in re.finditer(pattern, self.code):
                before, after = self.code[: found.start()], self.code[found.end() :]
                process = re.findall(r"^P\d", before, re.MULTILINE)[-1]
                barrier = re.sub(r"[^\w(]*$", "", found[0]) + ")"
                yield f"{process}: {barrier}", f"C {self.name}\n{before}{found.expand(instead)}{after}"
        unlocked = self.text
        for pattern, instead in LOCK.items():
            unlocked = re.sub(pattern, instead, unlocked)
        if unlocked != self.text:
            yield "the lock", unlocked


def tests() -> list[Test]:
    """All of them."""
    return [Test.read(path) for path in sorted(TESTS.glob("*.litmus"))]


def observed(model: Path, text: str) -> str:
    """Never, Sometimes or Always, by herd7."""
    with tempfile.NamedTemporaryFile("w", suffix=".litmus") as file:
        file.write(text)
        file.flush()
        done = subprocess.run(
            ["herd7", "-conf", "linux-kernel.cfg", file.name], cwd=model, capture_output=True, text=True, check=False
        )
    found = OBSERVED.search(done.stdout)
    if not found:
        raise SystemExit(f"irqlab: herd7 gives no result:\n{done.stdout}{done.stderr}")
    return found[1]


def main(arguments: list[str]) -> int:
    """Returns 1 if a result differs, 2 if the tests cannot be run."""
    model = Path(arguments[0]).resolve() / "tools/memory-model" if len(arguments) == 1 else None
    if model is None or not (model / "linux-kernel.cfg").exists():
        print("irqlab: give one kernel source tree, which has tools/memory-model/linux-kernel.cfg", file=sys.stderr)
        return 2
    if not shutil.which("herd7"):
        print("irqlab: herd7 is not in PATH; drivers/irqmod/litmus/README.md says how to build it", file=sys.stderr)
        return 2
    differ = 0
    for test in tests():
        expected = {"as it is": (test.text, test.result)}
        for barrier, text in test.weaker():
            expected[f"without {barrier}"] = (text, test.result if barrier in test.redundant else "Sometimes")
        for what, (text, result) in expected.items():
            found = observed(model, text)
            print(f"{test.name}, {what}: {found}" + ("" if found == result else f", and not {result}"))
            differ += found != result
    return int(differ > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
