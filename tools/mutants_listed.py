# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the score of a mutation test, and the survivors that are not listed. Fails below 90 %.

Arguments: a name for the output, the number of mutants killed, the file of survivors, and the list (tests/mutants/*.txt). A line
of the list is `COUNT NAME -- REASON`: that many mutants of that name may survive.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

LEAST_PERCENT = 90


def listed(path: Path) -> Counter[str]:
    """The number of mutants that may survive, by name."""
    found: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            entry, dashes, _ = line.partition(" -- ")
            count, _, name = entry.partition(" ")
            if not dashes or not count.isdigit():
                raise SystemExit(f"irqlab: {path}: {line!r} must be COUNT NAME -- REASON")
            found[name] += int(count)
    return found


def main(name: str, killed: int, survivors: Path, known: Path) -> int:
    """Prints the score; returns 1 if it is too low."""
    survived = Counter(survivors.read_text().splitlines())
    total = killed + survived.total()
    if not total:
        print(f"irqlab: {name}: no mutant was tested", file=sys.stderr)
        return 1
    percent = 100 * killed / total
    unlisted = survived - listed(known)
    print(f"{name}: {killed} of {total} mutants killed ({percent:.1f} %); {unlisted.total()} survivors are not in {known}")
    for entry, count in sorted(unlisted.items()):
        print(f"  {count} {entry}")
    return 0 if percent >= LEAST_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])))
