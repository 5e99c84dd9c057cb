# SPDX-License-Identifier: GPL-2.0-or-later
"""Two checklists beside each other: what one side fails and the other passes."""

from __future__ import annotations

from collections.abc import Sequence

from irqlab.check import catalogue, session
from irqlab.check.clock import Budget
from irqlab.check.row import FAIL, PASS
from irqlab.check.session import Checked
from irqlab.config.testbed import TestbedConfig
from irqlab.present.tables import Cell, Column, Table
from irqlab.runner.progress import ProgressDisplay
from irqlab.trials.testbed import Testbed


def checked(config: TestbedConfig, budget_s: float, jobs: int) -> Checked:
    """The checklist of a side. Raises IrqlabError."""
    testbed = Testbed.resolve(Testbed.on_card(config))
    found = Checked(testbed, budget_s)
    with ProgressDisplay() as display:
        return session.check(testbed, catalogue.chosen([], deep=False), Budget(budget_s, jobs), jobs, display, found)


def differing(before: Checked, after: Checked) -> list[str]:
    """The names of the rows that one side fails and the other passes."""
    both = [name for name in before.done if name in after.done]
    return [name for name in both if {_status(before, name), _status(after, name)} == {PASS, FAIL}]


def worse(before: Checked, after: Checked) -> list[str]:
    """The names of the rows that the second side fails, and the first passes."""
    return [name for name in differing(before, after) if _status(after, name) == FAIL]


def table(before: Checked, after: Checked, names: Sequence[str]) -> Table:
    """The rows that differ, with what was found."""
    columns = [Column("Row", number=False), *(Column(name, number=False, prose=True) for name in names)]
    marks = {FAIL: "bad", PASS: "good"}
    rows = [
        [
            Cell(before.done[name].row.title),
            *(Cell(_told(side, name), mark=marks[_status(side, name)]) for side in (before, after)),
        ]
        for name in differing(before, after)
    ]
    return Table("Checks that one side fails and the other passes", columns, rows)


def sentence(before: Checked, after: Checked, names: Sequence[str]) -> str:
    """What is worse, what is better, and how many checks were compared."""
    failed = worse(before, after)
    mended = [name for name in differing(before, after) if name not in failed]
    tried = sum({_status(one, name) for one in (before, after)} <= {PASS, FAIL} for name in before.done)
    parts = [f"{names[1]} fails what {names[0]} passes: {', '.join(failed)}"] if failed else []
    parts += [f"{names[1]} passes what {names[0]} fails: {', '.join(mended)}"] if mended else []
    return f"{'; '.join(parts) or 'No check differs'} ({tried} were tried on both sides)."


def _status(side: Checked, name: str) -> str:
    return side.done[name].outcome.status if name in side.done else ""


def _told(side: Checked, name: str) -> str:
    outcome = side.done[name].outcome
    return outcome.status if outcome.status == PASS else f"{outcome.status}: {outcome.said}"
