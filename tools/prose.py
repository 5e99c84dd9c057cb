# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures in the prose of docs/papers, by paper and name, from the tables that are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from irqlab.reproduce.hybrid import conditions
from irqlab.reproduce.hybrid.measure import Tables as HybridTables
from irqlab.reproduce.lan78xx import configurations as lan
from irqlab.reproduce.lan78xx.measure import IperfRow, of_own
from irqlab.reproduce.lan78xx.measure import Tables as LanTables
from irqlab.reproduce.mogul1997 import causes as mogul_causes
from irqlab.reproduce.mogul1997.configurations import FEEDBACK_QUOTA, NAPI, SHRINK, UNMODIFIED, quota_name
from irqlab.reproduce.mogul1997.measure import Tables as MogulTables
from irqlab.reproduce.rtl8139cp import periods
from irqlab.reproduce.rtl8139cp.measure import Tables as RtlTables
from irqlab.reproduce.salah2009 import comparisons, experiments, rows
from irqlab.reproduce.salah2009.measure import Tables as SalahTables
from irqlab.reproduce.salah2009.points import curve_of
from irqlab.reproduce.spanos2008 import causes, hardware, precision
from irqlab.reproduce.spanos2008.measure import Tables as SpanosTables
from irqlab.reproduce.spanos2008.precision import FASTEST, OFF
from irqlab.reproduce.spanos2008.throughput import BASE

Texts = Iterator[tuple[str, str]]

NOT_YET = "(not measured yet)"


def span(values: Iterable[float], digits: int = 0) -> str:
    """The least and the most."""
    every = list(values)
    least, most = (f"{choose(every):.{digits}f}" for choose in (min, max))
    return least if least == most else f"{least} to {most}"


def spanos2008(tables: SpanosTables) -> Texts:
    """Of docs/papers/spanos2008.md."""
    by = tables.table1_throughput.by(lambda r: r.frame_bytes)
    us = {size: {r.variant: r.us_per_frame for r in by[size]} for size in precision.COMPARABLE}
    yield "mutual", span((precision.mutual_us(of) for of in us.values()), 1)
    added = us[64][precision.NAPI] + us[64][OFF] - us[64][BASE]
    yield "added", f"{100 * (us[64][BASE] / added - 1):.0f}"
    yield "sum", f"{100 * (us[64][BASE] / us[64][precision.NAPI] + us[64][BASE] / us[64][OFF] - 2):.0f}"
    yield "both", f"{100 * (us[64][BASE] / us[64][FASTEST] - 1):.0f}"
    ip = {r.variant: r.instructions.ip for r in tables.table5_phases}
    yield "ip", f"{100 * (1 - ip[precision.NAPI] / ip[BASE]):.0f}"
    below = tables.table1_throughput.where(lambda r: not r.paper_capped)
    yield "fast", f"{max(r.free_mbps / r.paper_mbps for r in below):.1f}"
    collapse = tables.figure5_collapse.one(lambda r: (r.frame_bytes, r.variant) == (64, BASE))
    yield "collapse", f"{collapse.collapse_ratio or 0.0:.1f}"
    errors = {r.cells: r for r in tables.hardware_errors or ()}
    yield "predicted", f"{errors[hardware.PREDICTED].error_percent or 0.0:.1f}"
    found = {
        (r.setting, r.frame_bytes, r.variant): r.throughput_pps for r in tables.causes_throughput or () if r.cause == causes.LISTS
    }
    for name, setting in (("lists", causes.NONE), ("single", causes.SINGLE)):
        leads = (found[setting, size, precision.NAPI] / found[causes.NONE, size, OFF] - 1 for size in causes.LIST_SIZES[1:])
        yield name, span(100 * lead for lead in leads)
    filled = tables.fills_fits.rows[-1] if tables.fills_fits else None
    yield "filled", f"{filled.mutual_least_us:.1f} to {filled.mutual_most_us:.1f} µs" if filled else NOT_YET
    memory = {(r.setting, r.variant): 1e6 / r.throughput_pps for r in tables.causes_throughput or () if r.cause == causes.MEMORY}
    setting = [*causes.MEMORIES][-1]
    pairs = ((precision.TX_128, OFF), (precision.NAPI_128, FASTEST)) if memory else ()
    shares = [100 * (memory[setting, slow] - memory[setting, fast]) / memory[setting, BASE] for slow, fast in pairs]
    yield "batches", " and ".join(f"{share:.1f} %" for share in shares) or NOT_YET
    yield "long", span((100 * r.lost_frames / r.sent_frames for r in tables.long_trials or ()), 1)
    fastest = {r.frame_bytes: r.free_mbps for r in tables.table1_throughput if r.variant == FASTEST}
    yield "today", f"{max(100 * abs(r.free_mbps / fastest[r.frame_bytes] - 1) for r in tables.today or ()):.1f}"


def salah2009(tables: SalahTables) -> Texts:
    """Of docs/papers/salah2009.md."""
    most = comparisons.END
    kept = []
    for scheme in (rows.DE, rows.NAPI, rows.HYBRID):
        curve = [r for r in curve_of(tables, scheme) if r.load_of_cliff <= most]
        kept.append(100 * curve[-1].application_pps / max(r.application_pps for r in curve))
    yield "kept", span(kept)
    closed = {r.condition: -100 * r.closed_form_error for r in tables.cliff_conditions or ()}
    yield "closed", span(error for name, error in closed.items() if name != experiments.DEAR)
    bent = [
        r.interrupts_per_s / r.offered_pps
        for r in tables.experiments or ()
        if (r.experiment, r.setting, r.load_of_cliff) == (experiments.POISSON, "poisson", 0.5)
    ]
    yield "bent", span(bent, 2)


def hybrid(tables: HybridTables) -> Texts:
    """Of docs/papers/salah2009.md, from the run of hybrid."""
    old = {
        (r.scheme, r.load_of_cliff): r.application_pps
        for r in tables.softirqs or ()
        if r.condition == conditions.OLD_SOFTIRQS.name
    }
    for name, scheme in (("hybrid", rows.HYBRID), ("de", rows.DE), ("napi", rows.NAPI)):
        yield name, " and ".join(f"{old[scheme, load] / 1e3:.1f}" for load in conditions.OVERLOADS)


def rtl8139cp(tables: RtlTables) -> Texts:
    """Of docs/papers/rtl8139cp.md."""
    timers = tables.chips.where(lambda r: (r.chip, r.configuration) == (periods.ARTICLES, periods.TIMER))
    best = max(timers, key=lambda r: r.gain_percent)
    yield "best", f"{best.gain_percent:.1f}"
    yield "behind", f"{-best.gain_over_own_napi_percent:.0f}"
    slow = [r.gain_percent for r in tables.rules if r.period_us == 1000 and r.refill != periods.DEFERRED]
    yield "refilled", span(slow)
    board = [r for r in tables.hardware or () if r.configuration == periods.TIMER]
    yield "pentium3", f"{max(r.gain_percent for r in board):.0f}"


def lan78xx(tables: LanTables) -> Texts:
    """Of docs/papers/lan78xx.md."""

    def busy(test: str, cells: Iterable[IperfRow]) -> Iterator[float]:
        for before, after in changed(test, cells):
            yield (100 - after.idle_percent) / after.mbps / ((100 - before.idle_percent) / before.mbps)

    def changed(test: str, cells: Iterable[IperfRow]) -> Iterator[tuple[IperfRow, IperfRow]]:
        every = list(cells)
        for board in lan.SPEEDS if every else ():
            by = {r.driver: r for r in every if (r.test, r.board) == (test, board)}
            before, after = (by[name] for name in lan.PAIRS["kernel"])
            yield before, after

    def ratio(test: str) -> str:
        ratios = [after.mbps / before.mbps for before, after in changed(test, of_own(tables))]
        return span(ratios, 2) if ratios else NOT_YET

    of_four = [*busy("TCP Rx", of_own(tables))]
    yield "busy of four", span(of_four, 2) if of_four else NOT_YET
    yield "received of four", ratio(lan.UDP_RX)
    yield "sent of four", ratio(lan.UDP_TX)
    theirs = {r.board: r.mbps for r in tables.iperf if (r.test, r.driver) == (lan.UDP_TX, "in_tree")}
    queued = [r.mbps / theirs[r.board] for r in tables.sending or () if r.driver in lan.SERIES]
    yield "queued", f"{span((100 * share for share in queued), 0)} %" if queued else NOT_YET
    yield "busy", span(busy("TCP Rx", tables.iperf), 2)
    sent = {(r.condition, r.driver): r.mbps for r in tables.causes or () if (r.test, r.board) == (lan.UDP_TX, "slow")}
    name = f"{lan.NO_RATE}, {lan.MODERATED}"
    yield "moderated", f"{sent[name, 'in_tree'] / sent[name, 'before']:.2f}"


def mogul1997(tables: MogulTables) -> Texts:
    """Of docs/papers/mogul1997.md."""
    curves = {(r.screend, r.configuration): r for r in tables.curves}
    yield "unmodified", f"{100 * curves[False, UNMODIFIED].overload_to_peak:.0f}"
    fed = quota_name(FEEDBACK_QUOTA)
    yield "feedback", f"{100 * (curves[True, fed].peak / curves[True, UNMODIFIED].peak - 1):.0f}"
    yield "napi", f"{100 * curves[True, NAPI].overload_to_peak:.0f}"
    yield "shrinking", f"{100 * curves[False, SHRINK].overload_to_peak:.0f}"
    rings = {
        r.setting: r.output_to_peak for r in tables.causes if (r.cause, r.configuration) == (mogul_causes.RING, quota_name(20))
    }
    for ring in mogul_causes.RINGS:
        yield f"ring {ring}", f"{rings[mogul_causes.ring_setting(ring)]:.2f}"


PAPERS: dict[str, Callable[[Any], Texts]] = {
    "spanos2008": spanos2008,
    "salah2009": salah2009,
    "hybrid": hybrid,
    "rtl8139cp": rtl8139cp,
    "lan78xx": lan78xx,
    "mogul1997": mogul1997,
}
