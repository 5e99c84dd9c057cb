# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns the tester's calling-context tree into functions, owners, contexts and stacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irqlab.profile import addresses, owners
from irqlab.profile.symbols import Symbols

Row = Mapping[str, Any]

CONTEXT_NAMES = {"hardirq": "hard IRQ", "softirq": "softirq", "process": "process", "idle": "idle"}
"""Hard IRQ: from interrupt entry to return, without softirqs run on exit. Softirq: wherever it runs."""


def section(answer: Row, symbols: Symbols, driver: Collection[str]) -> dict[str, Any]:
    """The tester's answer to `profile_result` as `samples` and `stacks` of a result row (docs/use/results.md).

    `driver`: the names of the driver's module and of those it needs.
    """
    functions: dict[tuple[str, str | None, str], list[int]] = {}
    nodes: list[tuple[int, tuple[str, str | None, str], int, int]] = []
    interrupts = softirqs = 0
    for parent, address, context, instructions, entries in answer["nodes"]:
        symbol = symbols.at(address)
        key = (symbol.name, symbol.module, context)
        total = functions.setdefault(key, [0, 0])
        total[0] += instructions
        total[1] += entries
        nodes.append((parent, key, instructions, entries))
        if symbol.module is None and addresses.ENTERED_BY_PROCESSOR.fullmatch(symbol.name):
            interrupts += entries
        if context == "softirq" and symbol.module is None and addresses.SOFTIRQS.fullmatch(symbol.name):
            softirqs += entries
    order = sorted(functions, key=lambda key: (-functions[key][0], key[0], key[1] or "", key[2]))
    number = {key: n for n, key in enumerate(order)}
    points = [
        {
            "function": name,
            "module": module,
            "owner": owners.owner(name, module, driver),
            "context": context,
            "instructions": functions[name, module, context][0],
            "entries": functions[name, module, context][1],
        }
        for name, module, context in order
    ]
    return {
        "samples": points,
        "stacks": [[parent, number[key], instructions, entries] for parent, key, instructions, entries in nodes],
        "interrupts": interrupts,
        "softirqs": softirqs,
    }


def totals(samples: Sequence[Row], by: str) -> dict[str, int]:
    """Instructions by `owner`, `context`, ... of a profile's samples, largest first."""
    sums: Counter[str] = Counter()
    for sample in samples:
        sums[sample[by]] += sample["instructions"]
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


@dataclass(frozen=True)
class Stack:
    """A stack of functions, outermost first, and the instructions executed in the innermost one."""

    functions: tuple[str, ...]
    context: str
    instructions: int


def stacks(row: Row) -> Iterator[Stack]:
    """The stacks of a result row of method `profile`."""
    points = row["samples"]
    names: list[tuple[str, ...]] = []
    for parent, number, instructions, _ in row["summary"]["stacks"]:
        point = points[number]
        names.append((*(names[parent] if parent >= 0 else ()), point["function"]))
        if instructions:
            yield Stack(names[-1], point["context"], instructions)
