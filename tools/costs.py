# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of docs/use/costs.md, from the file that `irqlab calibrate` wrote."""

from __future__ import annotations

from collections.abc import Iterator

from irqlab import units
from irqlab.config import hardware
from tools.pages import Figures, table


def share(value: float | None) -> str:
    """In per cent."""
    return units.NONE if value is None else f"{100 * value:.1f} %"


def figures() -> Iterator[Figures]:
    """What the costs of the MPC8250 are, and how well they predict."""
    board = hardware.load("mpc8250")
    fitted = board.fitted
    terms = [
        (f"`{name}`", f"{ns:,.1f}", f"{fitted['standard_errors_ns'][name]:,.1f}", share(fitted["left_out_error_without"][name]))
        for name, ns in board.costs.nonzero().items()
    ]
    terms.append(("(both charged)", "", "", share(fitted["left_out_error"])))
    without = "left-out error of the fitted cells without it"
    yield Figures("costs", fitted["command"], table(("cost", "ns", "standard error", without), terms))
    columns = ("prediction", "numbers fitted", "fitted cells", "other sizes", "variant left out")
    errors = ("fitted", "sizes", "variants")
    skill = [(one["name"], str(one["numbers"]), *(share(one[name]) for name in errors)) for one in fitted["skill"]]
    yield Figures("skill", fitted["command"], table(columns, skill))
