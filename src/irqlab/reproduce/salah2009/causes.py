# SPDX-License-Identifier: GPL-2.0-or-later
"""What the experiments say (--long): causes of differences to the paper, switched on and off, and its future work."""

from __future__ import annotations

from collections.abc import Callable

from irqlab import units
from irqlab.reproduce.claims import EXPECTED, Claim, Told, judged
from irqlab.reproduce.salah2009 import experiments, rows
from irqlab.reproduce.salah2009.experiments import ConditionRow, ExperimentRow
from irqlab.reproduce.salah2009.measure import Tables
from irqlab.reproduce.salah2009.points import EQUAL, NO_CPU, of_cliff
from irqlab.units import duration, kpps, percent

AGREE = 0.15
"""How close the cliff's signs, and the closed form, are to be."""
FAR = 3.0
"""Of the cliff: beyond the dip, at whose edge small changes have large effects."""

Cells = dict[tuple[str, str, float], ExperimentRow]
"""By setting, scheme and load (or rate)."""


def _cells(experiment: str, wanted: Callable[[ExperimentRow], bool] = lambda _: True) -> Callable[[Tables], Cells | None]:
    def evidence(tables: Tables) -> Cells | None:
        if tables.experiments is None:
            return None
        found = tables.experiments.where(lambda r: r.experiment == experiment and wanted(r))
        return {(r.setting, r.scheme, r.load_of_cliff or r.offered_pps): r for r in found} or None

    return evidence


# Poisson arrivals.

TURN = of_cliff("interrupt_rate_turns_at")
BOTH = ("constant", "poisson")


def _turns(cells: Cells) -> bool:
    def share(arrivals: str, scheme: str) -> float:
        row = cells[arrivals, scheme, TURN]
        return row.interrupts_per_s / row.offered_pps

    schemes = {scheme for _, scheme, _ in cells}
    return all(share("constant", one) >= 1 - EQUAL > share("poisson", one) for one in schemes)


def _told_turns(cells: Cells) -> str:
    each = (f"{arrivals}: {scheme} {row.interrupts_per_s / row.offered_pps:.2f}" for (arrivals, scheme, _), row in cells.items())
    return f"interrupts a frame at {TURN:g} times the cliff: {', '.join(each)}."


def _dearer(cells: Cells) -> bool:
    left = {(arrivals, scheme): row.cpu_available for (arrivals, scheme, _), row in cells.items()}
    apart = {one: left[one, rows.DE] - left[one, rows.NAPI] for one in BOTH}
    return apart["poisson"] > NO_CPU >= abs(apart["constant"])


def _told_left(cells: Cells) -> str:
    each = (f"{arrivals}: {scheme} {percent(row.cpu_available)}" for (arrivals, scheme, _), row in cells.items())
    return f"left of the CPU at {TURN:g} times the cliff: {', '.join(each)}."


# The cliff.

Conditions = dict[str, ConditionRow]


def _conditions(*names: str) -> Callable[[Tables], Conditions | None]:
    def evidence(tables: Tables) -> Conditions | None:
        found = tables.cliff_conditions.keyed(lambda row: row.condition, *names) if tables.cliff_conditions else {}
        return {name: found[name] for name in names} if found else None

    return evidence


def _coincide(row: ConditionRow) -> bool:
    signs = (row.cpu_pps, row.throughput_pps, row.loss_pps)
    return all(pps is not None and row.cpu_pps and abs(pps / row.cpu_pps - 1) <= AGREE for pps in signs)


def _told_signs(found: Conditions) -> str:
    def told(row: ConditionRow) -> str:
        signs = (("cpu", row.cpu_pps), ("throughput", row.throughput_pps), ("loss", row.loss_pps))
        return ", ".join(f"{name} {kpps(pps)}" for name, pps in signs)

    return f"in kpps, {'; '.join(f'{name}: {told(row)}' for name, row in found.items())}."


def _told_closed(found: Conditions) -> str:
    each = (
        f"{name}: {kpps(row.closed_form_pps)} kpps, {100 * row.closed_form_error:+.1f} % (an interrupt is "
        f"{percent(row.interrupt_share)} of a packet's time)"
        for name, row in found.items()
    )
    return f"{'; '.join(each)}."


# Their driver's refill.


def _same_order(tables: Tables) -> Told | None:
    """Whether the schemes are in the same order; those that are level in the order of their names."""
    cells = _cells(experiments.REFILL, lambda r: (r.load_of_cliff or 0) >= FAR)(tables)
    if cells is None:
        return None
    pps = {key: row.application_pps for key, row in cells.items()}
    same, each = True, []
    for load in sorted({load for _, _, load in pps}):
        orders = []
        for setting in (experiments.EVERY_PASS, experiments.AFTER_64):
            found = {scheme: one for (of, scheme, at), one in pps.items() if (of, at) == (setting, load)}
            steps = {scheme: -round(one / max(found.values()) / (2 * EQUAL)) for scheme, one in found.items()}
            orders.append(sorted(found, key=lambda scheme, steps=steps: (steps[scheme], scheme)))  # type: ignore[misc]
        same = same and orders[0] == orders[1]
        of_load = [
            f"{scheme} {kpps(one)} ({kpps(pps[experiments.AFTER_64, scheme, load])})"
            for (setting, scheme, at), one in pps.items()
            if setting == experiments.EVERY_PASS and at == load
        ]
        each.append(f"at {load:g} times the cliff {', '.join(of_load)}")
    return same, f"kpps received in every pass (after 64 frames): {'; '.join(each)}."


# Low rates.


def _longer_at_low(tables: Tables) -> Told | None:
    """Round trips at the lowest rate and at the highest; whether they are longer at the lowest on the paper's machine."""
    cells = _cells(experiments.LOW_RATES)(tables)
    if cells is None:
        return None
    longer, each = True, []
    for machine in (experiments.NO_MEMORY, experiments.BOARD):
        for scheme in (rows.DE, rows.NAPI):
            found = [row for (one, other, _), row in cells.items() if (one, other) == (machine, scheme)]
            (low, low_pps), *_, (high, high_pps) = sorted(((r.mean_ns or 0, r.offered_pps) for r in found), key=lambda p: p[1])
            longer = longer and (machine != experiments.BOARD or low > (1 + EQUAL) * high)
            each.append(
                f"{machine}, {scheme}: {duration(low)} at {units.grouped(low_pps)} a second, "
                f"{duration(high)} at {units.grouped(high_pps)}"
            )
    return longer, f"{'; '.join(each)}."


# Forwarding.


def _routers(tables: Tables) -> Told | None:
    """Hybrid in each form, and NAPI, at each load."""
    cells = _cells(experiments.FORWARDING)(tables) or {}
    pairs = [
        (row, cells["", rows.NAPI, at])
        for (_, scheme, at), row in cells.items()
        if scheme in (rows.HYBRID, rows.PACED) and ("", rows.NAPI, at) in cells
    ]
    behind = [(mine, napi) for mine, napi in pairs if mine.application_pps < (1 - EQUAL) * napi.application_pps]
    each = (
        f"{mine.scheme} {kpps(mine.application_pps)} of {kpps(mine.offered_pps)} kpps, {percent(mine.cpu_available)} of the CPU "
        f"left ({rows.NAPI}: {kpps(napi.application_pps)}, {percent(napi.cpu_available)})"
        for mine, napi in behind or pairs
    )
    return (not behind, f"{'less: ' if behind else ''}{'; '.join(each)}.") if pairs else None


CLAIMS: tuple[Claim[Tables], ...] = (
    Claim(
        EXPECTED,
        f"With Poisson arrivals interrupts bend at {TURN:g} times the cliff, as in figure 7(e); with constant ones they do not.",
        judged(_cells(experiments.POISSON, lambda r: r.load_of_cliff == TURN), _turns, _told_turns),
    ),
    Claim(
        EXPECTED,
        f"With Poisson arrivals NAPI leaves less of the CPU than {rows.DE}, as in figure 7(f); with constant ones as much.",
        judged(_cells(experiments.POISSON, lambda r: r.load_of_cliff == TURN), _dearer, _told_left),
    ),
    Claim(
        EXPECTED,
        f"The cliff's signs coincide (within {percent(AGREE)}) with Poisson arrivals.",
        judged(
            _conditions(experiments.AS_PAPER, experiments.WITH_POISSON),
            lambda found: _coincide(found[experiments.WITH_POISSON]),
            _told_signs,
        ),
    ),
    Claim(
        EXPECTED,
        f"The closed form gives the cliff (within {percent(AGREE)}) where interrupts are dear.",
        judged(
            _conditions(*experiments.CLIFF_CONDITIONS),
            lambda found: abs(found[experiments.DEAR].closed_form_error) <= AGREE,
            _told_closed,
        ),
    ),
    Claim(
        EXPECTED,
        f"Descriptors given back after 64 frames, as in the paper's driver, do not change the order of the schemes from {FAR:g} "
        "times the cliff on.",
        _same_order,
    ),
    Claim(
        EXPECTED,
        f"With the memory of the paper's machine ({experiments.BOARD}) the round trip is longer at the lowest rate.",
        _longer_at_low,
    ),
    Claim(EXPECTED, "A router forwards with hybrid, in either form, at least what it forwards with NAPI.", _routers),
)
