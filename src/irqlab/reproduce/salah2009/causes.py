# SPDX-License-Identifier: GPL-2.0-or-later
"""What the experiments say (--long): causes of differences to the paper, switched on and off, and its future work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from irqlab import units
from irqlab.reproduce.claims import EXPECTED, Claim
from irqlab.reproduce.salah2009 import experiments, rows
from irqlab.reproduce.salah2009.experiments import ConditionRow, ExperimentRow
from irqlab.reproduce.salah2009.points import EQUAL, NO_CPU, of_cliff
from irqlab.reproduce.salah2009.tables import Tables
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
        if tables.cliff_conditions is None:
            return None
        found = {row.condition: row for row in tables.cliff_conditions}
        return {name: found[name] for name in names} if set(names) <= set(found) else None

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


@dataclass(frozen=True)
class _Order:
    cells: Cells

    def of(self, setting: str, load: float) -> list[str]:
        """The schemes that receive anything worth counting, the best first; equals in the order of their names."""
        found = {scheme: row.application_pps for (one, scheme, at), row in self.cells.items() if (one, at) == (setting, load)}
        best = max(found.values())
        return sorted(found, key=lambda scheme: (-round(found[scheme] / best / (2 * EQUAL)), scheme))

    @property
    def loads(self) -> list[float]:
        return sorted({load for _, _, load in self.cells})

    @property
    def same(self) -> bool:
        return all(self.of(experiments.EVERY_PASS, load) == self.of(experiments.AFTER_64, load) for load in self.loads)

    @property
    def told(self) -> str:
        each = []
        for load in self.loads:
            of_load = [
                f"{scheme} {kpps(row.application_pps)} ({kpps(self.cells[experiments.AFTER_64, scheme, load].application_pps)})"
                for (setting, scheme, at), row in self.cells.items()
                if setting == experiments.EVERY_PASS and at == load
            ]
            each.append(f"at {load:g} times the cliff {', '.join(of_load)}")
        return f"kpps received in every pass (after 64 frames): {'; '.join(each)}."


def _order(tables: Tables) -> _Order | None:
    cells = _cells(experiments.REFILL, lambda r: (r.load_of_cliff or 0) >= FAR)(tables)
    return _Order(cells) if cells else None


# Low rates.


def _ends(cells: Cells, machine: str, scheme: str) -> tuple[ExperimentRow, ExperimentRow]:
    found = sorted((row for (one, other, _), row in cells.items() if (one, other) == (machine, scheme)), key=_offered)
    return found[0], found[-1]


def _offered(row: ExperimentRow) -> float:
    return row.offered_pps


def _humped(cells: Cells) -> bool:
    pairs = (_ends(cells, experiments.BOARD, scheme) for scheme in (rows.DE, rows.NAPI))
    return all((low.mean_ns or 0) > (1 + EQUAL) * (high.mean_ns or 0) for low, high in pairs)


def _told_low(cells: Cells) -> str:
    each = []
    for machine in (experiments.NO_MEMORY, experiments.BOARD):
        for scheme in (rows.DE, rows.NAPI):
            low, high = _ends(cells, machine, scheme)
            each.append(
                f"{machine}, {scheme}: {duration(low.mean_ns or 0)} at {units.grouped(low.offered_pps)} a second, "
                f"{duration(high.mean_ns or 0)} at {units.grouped(high.offered_pps)}"
            )
    return f"{'; '.join(each)}."


# Forwarding.

Routers = Sequence[tuple[ExperimentRow, ExperimentRow]]
"""Hybrid in a form, and NAPI, at a load."""


def _routers(tables: Tables) -> Routers | None:
    cells = _cells(experiments.FORWARDING)(tables)
    if cells is None:
        return None
    pairs = [
        (row, cells["", rows.NAPI, at])
        for (_, scheme, at), row in cells.items()
        if scheme in (rows.HYBRID, rows.PACED) and ("", rows.NAPI, at) in cells
    ]
    return pairs or None


def _behind(pairs: Routers) -> Routers:
    return [(mine, napi) for mine, napi in pairs if mine.application_pps < (1 - EQUAL) * napi.application_pps]


def _told_routers(pairs: Routers) -> str:
    each = (
        f"{mine.scheme} {kpps(mine.application_pps)} of {kpps(mine.offered_pps)} kpps, {percent(mine.cpu_available)} of the CPU "
        f"left ({rows.NAPI}: {kpps(napi.application_pps)}, {percent(napi.cpu_available)})"
        for mine, napi in pairs
    )
    return "; ".join(each)


CLAIMS: tuple[Claim[Tables, Any], ...] = (
    Claim(
        EXPECTED,
        f"With Poisson arrivals interrupts bend at {TURN:g} times the cliff, as in figure 7(e); with constant ones they do not.",
        _cells(experiments.POISSON, lambda r: r.load_of_cliff == TURN),
        holds=_turns,
        yes=_told_turns,
        no=_told_turns,
    ),
    Claim(
        EXPECTED,
        f"With Poisson arrivals NAPI leaves less of the CPU than {rows.DE}, as in figure 7(f); with constant ones as much.",
        _cells(experiments.POISSON, lambda r: r.load_of_cliff == TURN),
        holds=_dearer,
        yes=_told_left,
        no=_told_left,
    ),
    Claim(
        EXPECTED,
        f"The cliff's signs coincide (within {percent(AGREE)}) with Poisson arrivals.",
        _conditions(experiments.AS_PAPER, experiments.WITH_POISSON),
        holds=lambda found: _coincide(found[experiments.WITH_POISSON]),
        yes=_told_signs,
        no=_told_signs,
    ),
    Claim(
        EXPECTED,
        f"The closed form gives the cliff (within {percent(AGREE)}) where interrupts are dear.",
        _conditions(*experiments.CLIFF_CONDITIONS),
        holds=lambda found: abs(found[experiments.DEAR].closed_form_error) <= AGREE,
        yes=_told_closed,
        no=_told_closed,
    ),
    Claim(
        EXPECTED,
        f"Descriptors given back after 64 frames, as in the paper's driver, do not change the order of the schemes from {FAR:g} "
        "times the cliff on.",
        _order,
        holds=lambda found: found.same,
        yes=lambda found: found.told,
        no=lambda found: found.told,
    ),
    Claim(
        EXPECTED,
        f"With the memory of the paper's machine ({experiments.BOARD}) the round trip is longer at the lowest rate.",
        _cells(experiments.LOW_RATES),
        holds=_humped,
        yes=_told_low,
        no=_told_low,
    ),
    Claim(
        EXPECTED,
        "A router forwards with hybrid, in either form, at least what it forwards with NAPI.",
        _routers,
        holds=lambda pairs: not _behind(pairs),
        yes=lambda pairs: f"{_told_routers(pairs)}.",
        no=lambda pairs: f"less: {_told_routers(_behind(pairs))}.",
    ),
)
