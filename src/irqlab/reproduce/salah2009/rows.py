# SPDX-License-Identifier: GPL-2.0-or-later
"""What is compared: the paper's schemes, and those of today's kernel with the settings that are swept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from irqlab.config.schemes import Schemes
from irqlab.config.workload import Workload
from irqlab.methods import receiving
from irqlab.methods.budget import WEIGHT
from irqlab.reproduce.trial_rows import Asked
from irqlab.trials.application import Tuning

DEFAULT_BUDGET = 300
HYBRID_BUDGET = 2
PAPER_BUDGETS = (2, 6, 300)
BUDGETS = (2, 6, 24, 64, 300)
DE, NAPI, NAPI_2, HYBRID, ADAPTIVE = "DE", "NAPI (300)", "NAPI (2)", "hybrid", "adaptive"
PACED = "hybrid, paced"
EPSILON_PERMILLE = 150
"""The paper's."""
THREADED, DEFERRED, BUSY, DIM, POLL = "threaded NAPI", "deferred NAPI", "busy polling", "dim", "NAPI, poll"
TODAYS = (THREADED, DEFERRED, BUSY, DIM, POLL)
"""The schemes of today's kernel besides NAPI. DIM and POLL are measured with our drivers only: in-tree ones have no choice."""
SERIES = (DE, NAPI, NAPI_2, HYBRID, ADAPTIVE, *TODAYS)
"""Lines of the plots, in the order of their styles."""

DEFERRALS = ((1, 50), (2, 20), (2, 50), (2, 200), (10, 50))
"""(napi_defer_hard_irqs, gro_flush_timeout in µs)."""
BUSY_POLLS_US = (10, 50, 200)


@dataclass(frozen=True)
class Row:
    """A scheme with one setting."""

    scheme: str
    setting: str
    tuning: Tuning

    @property
    def name(self) -> str:
        """The scheme, with its setting if it has one."""
        return f"{self.scheme}, {self.setting}" if self.setting else self.scheme


def napi(budget: int) -> Row:
    """NAPI with a budget, and with the weight that makes it count."""
    schemes = Schemes(rx="napi", weight=min(budget, WEIGHT))
    return Row(f"NAPI ({budget})", "", Tuning(schemes=schemes, budget=budget))


def budget_alone(budget: int) -> Row:
    """NAPI with a budget and the default weight: what the sysctl does by itself today."""
    return Row(f"NAPI ({budget}, weight {WEIGHT})", "", Tuning(schemes=Schemes(rx="napi", weight=WEIGHT), budget=budget))


def de() -> Row:
    """Disable-enable."""
    return Row(DE, "", Tuning(schemes=Schemes(rx="de"), budget=DEFAULT_BUDGET))


def hybrid(cliff_pps: float, epsilon_permille: int = EPSILON_PERMILLE) -> Row:
    """The paper's: NAPI with a budget of 2 above the cliff."""
    schemes = Schemes(rx="hybrid", weight=HYBRID_BUDGET, cliff_pps=round(cliff_pps), epsilon_permille=epsilon_permille)
    return Row(HYBRID, "", Tuning(schemes=schemes, budget=HYBRID_BUDGET))


def paced(cliff_pps: float) -> Row:
    """Hybrid, improved: above the cliff RX stays masked, and a timer starts each poll."""
    schemes = Schemes(rx="hybrid", weight=WEIGHT, cliff_pps=round(cliff_pps), epsilon_permille=EPSILON_PERMILLE, above="paced")
    return Row(PACED, "", Tuning(schemes=schemes, budget=DEFAULT_BUDGET))


def adaptive() -> Row:
    """Ours; nothing is set."""
    return Row(ADAPTIVE, "", Tuning(schemes=Schemes(rx="adaptive"), budget=DEFAULT_BUDGET))


def of_paper(cliff_pps: float) -> list[Row]:
    """Figure 7's."""
    return [de(), napi(DEFAULT_BUDGET), napi(HYBRID_BUDGET), hybrid(cliff_pps)]


def competing(cliff_pps: float) -> list[Row]:
    """Figure 7's and ours."""
    return [*of_paper(cliff_pps), adaptive()]


def of_today(ours: bool) -> dict[str, list[Row]]:
    """What the kernel of today adds, every setting of it by scheme. `ours`: a driver on irqmod, told to use NAPI."""
    base = Schemes(rx="napi", weight=WEIGHT) if ours else Schemes()

    def tuning(**changes: int | str) -> Tuning:
        return Tuning(schemes=base, budget=DEFAULT_BUDGET, **changes)  # type: ignore[arg-type]

    found = {
        THREADED: [Row(THREADED, "", tuning(napi_threads="on"))],
        DEFERRED: [
            Row(DEFERRED, f"{polls} polls, {us} µs", tuning(defer_hard_irqs=polls, gro_flush_timeout_ns=us * 1000))
            for polls, us in DEFERRALS
        ],
        BUSY: [Row(BUSY, f"{us} µs", tuning(busy_poll_us=us)) for us in BUSY_POLLS_US],
    }
    if ours:
        dim = Tuning(schemes=Schemes(rx="dim"), budget=DEFAULT_BUDGET)
        poll = Tuning(schemes=replace(base, tx="poll"), budget=DEFAULT_BUDGET)
        return found | {DIM: [Row(DIM, "", dim)], POLL: [Row(POLL, "", poll)]}
    return {NAPI: [Row(NAPI, "", tuning())], **found}


def over_loads(
    chosen: Iterable[Row], loads: Sequence[float], cliff_pps: float, workload: Workload, echo: bool = False
) -> list[Asked]:
    """Every row at every load, a share of the cliff."""
    column = "load_of_echo_cliff" if echo else "load_of_cliff"
    return [
        (
            {"scheme": row.scheme, "setting": row.setting, column: load},
            receiving.spec_of(workload, load * cliff_pps, row.tuning, echo),
        )
        for row in chosen
        for load in loads
    ]
