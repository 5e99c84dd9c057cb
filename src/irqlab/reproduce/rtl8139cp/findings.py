# SPDX-License-Identifier: GPL-2.0-or-later
"""The article's claims, and what was measured of them; where they do not hold, why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from irqlab.reproduce import reference
from irqlab.reproduce.claims import EXPECTED, Claim, Finding, findings_of
from irqlab.reproduce.rtl8139cp.configurations import ALONE, MEASURES
from irqlab.reproduce.rtl8139cp.measure import (
    PAPER_NAMES,
    RATES,
    SIZES,
    AblationRow,
    CapabilityRow,
    PeriodRow,
    PollRow,
    ProfileRow,
    ProvenanceRow,
    ReceiveRow,
    Tables,
)
from irqlab.reproduce.rtl8139cp.periods import (
    ARTICLES,
    AT_ONCE,
    CARDS,
    CHECKING,
    CHIPS,
    DEFERRED,
    QEMUS,
    TIMER,
    ChipRow,
    HardwareRow,
    RuleRow,
)
from irqlab.reproduce.rtl8139cp.trials import GENTLE_PPS
from irqlab.units import kpps

ARTICLE_GAIN = (15.0, 25.0)
"""In per cent, in the article's words."""
NOTABLE_PERCENT = 1.0
LIVELOCK = 0.02
"""Forwarding less than this share of the throughput is livelock."""
BUSY_FRAMES = 2.0
"""Frames a poll finds if it finds more than one."""
FEW = 0.01
"""Interrupts a frame that count as next to none."""
ONE = 0.9
"""Interrupts a frame that count as one."""
RING_LIMITED = 0.98
"""A ring that passes at least this share of what it can is the limit."""


def findings(tables: Tables) -> list[Finding]:
    """In the article's order."""
    return findings_of(CLAIMS, tables)


# The rates.

Receive = tuple[ReceiveRow, ...]


def _of(tables: Tables, configuration: str) -> Receive:
    return tables.receive.where(lambda r: r.configuration == configuration)


def _beyond(rows: Receive) -> Receive:
    return tuple(r for r in rows if r.article_ipps is not None and r.article_ipps > r.wire_pps)


def _impossible(rows: Receive) -> str:
    worst = _beyond(rows)[0]
    return (
        f"a 100 Mbit/s wire carries {worst.wire_pps:,.0f} frames/s of {worst.frame_bytes} bytes; the article's rates are beyond "
        f"the wire at {len(_beyond(rows))} of {len(rows)} sizes. Its ratios can be compared, its rates cannot."
    )


def _rates() -> Claim[Tables, Receive]:
    said = reference.records(PAPER_NAMES["before"])[0]
    return Claim(
        "First table",
        f"The unchanged driver receives {float(said['ipps']):,.0f} frames/s of {said['frame_bytes']} bytes on a 100 Mbit/s wire.",
        lambda tables: _of(tables, "before") or None,
        holds=lambda rows: not _beyond(rows),
        yes=lambda rows: f"the wire carries {rows[0].wire_pps:,.0f} frames/s of {rows[0].frame_bytes} bytes.",
        no=_impossible,
    )


# The gain.


def _gain(size: int) -> Claim[Tables, CapabilityRow]:
    low, high = ARTICLE_GAIN

    def evidence(tables: Tables) -> CapabilityRow | None:
        """None where the wire, not a driver, is the limit."""
        rows = tables.capability.where(lambda r: r.frame_bytes == size and not r.capped)
        return rows[0] if rows else None

    def told(row: CapabilityRow) -> str:
        held = "below" if row.gain_percent < low else "above" if row.gain_percent > high else "within"
        return (
            f"{row.gain_percent:+.1f} % against the kernel's 8139cp with NAPI, {held} the article's words (its own table: "
            f"{row.article_percent:+.1f} %); against our driver with NAPI {row.gain_over_own_napi_percent:+.1f} %."
        )

    return Claim(
        "The article's words",
        f"The timer receives {low:g} to {high:g} % more frames than NAPI; here: HZ 1000, throughput without loss, frames of "
        f"{size} bytes.",
        evidence,
        holds=lambda row: low <= row.gain_percent <= high,
        yes=told,
        no=told,
    )


# The whole range of periods: the headline.

Ranged = dict[str, tuple[ChipRow, ...]]
"""The timer's rows by refill, the shortest period first."""


def _ranged(chip: str) -> Callable[[Tables], Ranged | None]:
    def evidence(tables: Tables) -> Ranged | None:
        by = tables.chips.only(lambda r: (r.chip, r.configuration) == (chip, TIMER)).by(lambda r: r.refill)
        return by if {DEFERRED, AT_ONCE} <= set(by) else None

    return evidence


def _best(found: Ranged) -> ChipRow:
    return max((row for rows in found.values() for row in rows), key=lambda row: row.gain_percent)


def _each(rows: Sequence[ChipRow]) -> str:
    return ", ".join(f"{_ms_of(row.period_us)} {row.gain_percent:+.1f} %" for row in rows)


def _ms_of(period_us: int | None) -> str:
    return f"{(period_us or 0) / 1000:g} ms"


def _told_range(found: Ranged) -> str:
    best = _best(found)
    return (
        f"most with {_ms_of(best.period_us)}, refilled {best.refill}: {best.gain_percent:+.1f} % against the kernel's driver, "
        f"{best.gain_over_own_napi_percent:+.1f} % against our driver with NAPI. Against the kernel's driver, refilled "
        f"{DEFERRED}: {_each(found[DEFERRED])}; refilled {AT_ONCE}: {_each(found[AT_ONCE])}."
    )


def _range(chip: str) -> Claim[Tables, Ranged]:
    low, high = ARTICLE_GAIN
    source = "The article's words" if chip == ARTICLES else EXPECTED
    return Claim(
        source,
        f"With a suitable period the timer receives {low:g} to {high:g} % more frames than NAPI; here: {chip}, "
        "60-byte frames, throughput without loss.",
        _ranged(chip),
        holds=lambda found: low <= _best(found).gain_percent <= high,
        yes=_told_range,
        no=_told_range,
    )


def _wins(chip: str) -> Claim[Tables, Ranged]:
    return Claim(
        EXPECTED,
        f"On the {chip} there is a period with which the timer receives more than our driver with NAPI, too.",
        _ranged(chip),
        holds=lambda found: any(row.gain_over_own_napi_percent > 0 for rows in found.values() for row in rows),
        yes=_told_range,
        no=_told_range,
    )


def _rules(tables: Tables) -> tuple[RuleRow, ...] | None:
    return tables.rules.where(lambda r: r.refill != DEFERRED) or None


def _told_rules(rows: Sequence[RuleRow]) -> str:
    each = "; ".join(f"{_ms_of(row.period_us)}, {row.refill}: {row.gain_percent:+.1f} %" for row in rows)
    return f"against refilling {DEFERRED}: {each}."


_HARDWARE: Claim[Tables, tuple[HardwareRow, ...]] = Claim(
    EXPECTED,
    "On the article's machine, as it is stated, the timer receives more than NAPI.",
    lambda tables: tables.hardware.where(lambda r: r.configuration == TIMER) or None if tables.hardware else None,
    holds=lambda rows: any(row.gain_percent > 0 for row in rows),
    yes=lambda rows: _told_hardware(rows),
    no=lambda rows: _told_hardware(rows),
)


def _told_hardware(rows: Sequence[HardwareRow]) -> str:
    each = "; ".join(
        f"{_ms_of(row.period_us)}, refilled {row.refill}: {row.gain_percent:+.1f} % ({row.gain_over_own_napi_percent:+.1f} %)"
        for row in rows
    )
    return f"on {rows[0].hardware}, against the kernel's driver (against our driver with NAPI): {each}."


_Gains = dict[str, float]
"""What the timer gains over the kernel's driver, in per cent, by card."""


def _cards(tables: Tables) -> _Gains | None:
    found = {row.card: row.gain_percent for row in tables.cards or () if row.configuration == TIMER}
    return found if set(CARDS) <= set(found) else None


def _told_cards(found: _Gains) -> str:
    return f"{' and '.join(f'{gain:+.1f} % on {card}' for card, gain in found.items())}."


_CARDS: Claim[Tables, _Gains] = Claim(
    EXPECTED,
    "Over the kernel's driver the timer gains less on a card that checks received checksums: QEMU's model does not, so the "
    "kernel sums each of 8139cp's packets itself.",
    _cards,
    holds=lambda found: found[CHECKING] < found[QEMUS],
    yes=_told_cards,
    no=_told_cards,
)


# Where the first table is from.

Rows = tuple[ProvenanceRow, ...]


def _same(rows: Rows) -> Rows:
    """At which the article has the HOWTO's rate."""
    return tuple(row for row in rows if row.article_ipps == row.howto_ipps)


def _provenance(rows: Rows) -> str:
    sizes = ", ".join(f"{row.howto_ipps:,.0f} packets/s of {row.frame_bytes} bytes" for row in _same(rows))
    second = sum((row.second_rxint == row.howto_rxint) + (row.second_done == row.howto_done) for row in rows)
    return (
        "the text quotes the kernel's NAPI_HOWTO.txt, whose table is of a gigabit NIC (e1000). This one has its columns, its "
        f"legend, and its {sizes}; and {second} counts of interrupts and polls in the article's second table are the HOWTO's."
    )


_PROVENANCE: Claim[Tables, Rows] = Claim(
    "First table",
    "It was measured with 8139cp of Linux 2.6.6 on a Pentium III at 900 MHz.",
    lambda tables: tables.provenance.rows or None,
    holds=lambda rows: not _same(rows),
    yes=lambda rows: f"none of its {len(rows)} rates is in NAPI_HOWTO.txt.",
    no=_provenance,
)


# Interrupts and polls.


def _interrupts() -> tuple[Claim[Tables, Receive], Claim[Tables, Receive]]:
    before, after = ([int(row["rxint"]) for row in reference.records(PAPER_NAMES[name])] for name in ("before", "after"))

    def share(row: ReceiveRow) -> float:
        return row.rx_interrupts_per_run / max(1, row.frames_per_run)

    def told(rows: Receive) -> str:
        low, high = rows[0], rows[-1]
        return (
            f"a run of {low.frame_bytes}-byte frames takes {low.rx_interrupts_per_run:,} interrupts, one of {high.frame_bytes} "
            f"bytes {high.rx_interrupts_per_run:,}."
        )

    return (
        Claim(
            "Second table",
            f"With the timer receive interrupts remain: {min(after):,} to {max(after):,} a run.",
            lambda tables: _of(tables, "after") or None,
            holds=lambda rows: any(r.rx_interrupts_per_run for r in rows),
            yes=lambda rows: f"up to {max(r.rx_interrupts_per_run for r in rows):,} a run.",
            no=lambda rows: f"none at any of {len(rows)} sizes.",
        ),
        Claim(
            "First table",
            f"NAPI saves interrupts only when it is busy: from {before[0]:,} a run of the shortest frames to {before[-1]:,}.",
            lambda tables: _of(tables, "before") or None,
            holds=lambda rows: share(rows[0]) < FEW and share(rows[-1]) > ONE,
            yes=told,
            no=told,
        ),
    )


Pair = tuple[ReceiveRow, ReceiveRow]
"""With NAPI, and with the timer."""


def _pair(size: int) -> Callable[[Tables], Pair | None]:
    def evidence(tables: Tables) -> Pair | None:
        by = {row.configuration: row for row in tables.receive if row.frame_bytes == size}
        return (by["before"], by["after"]) if {"before", "after"} <= set(by) else None

    return evidence


def _second_table() -> tuple[Claim[Tables, Pair], ...]:
    """What the article's second table has beside its first."""
    before, after = (reference.by(PAPER_NAMES[name], "frame_bytes") for name in ("before", "after"))
    shortest, longest = SIZES[0], SIZES[-1]

    def said(size: int, column: str) -> str:
        return f"{int(after[str(size)][column]):,}, not {int(before[str(size)][column]):,}"

    def taken(found: Pair) -> str:
        return f"{found[1].frames_per_run:,} with the timer, {found[0].frames_per_run:,} with NAPI."

    def emptied(found: Pair) -> str:
        return f"{found[1].polls_done_per_run:,} with the timer, {found[0].polls_done_per_run:,} with NAPI."

    return (
        Claim(
            "Second table",
            f"Of a million frames of {shortest} bytes the timer takes in more than NAPI: {said(shortest, 'tput')}.",
            _pair(shortest),
            holds=lambda found: found[1].frames_per_run > found[0].frames_per_run,
            yes=taken,
            no=taken,
        ),
        Claim(
            "Second table",
            f"Of a million frames of {longest} bytes it takes in fewer: {said(longest, 'tput')}.",
            _pair(longest),
            holds=lambda found: found[1].frames_per_run < (1 - NOTABLE_PERCENT / 100) * found[0].frames_per_run,
            yes=taken,
            no=taken,
        ),
        Claim(
            "Second table",
            f"Fewer polls empty the ring in a run of {longest}-byte frames: {said(longest, 'done')}.",
            _pair(longest),
            holds=lambda found: found[1].polls_done_per_run < found[0].polls_done_per_run,
            yes=emptied,
            no=emptied,
        ),
    )


Polls = dict[tuple[str, str], PollRow]
"""By configuration and rate."""


def _found(by: Polls, name: str, rate: str) -> float:
    return by[name, rate].frames_per_poll or 0.0


def _per_poll(by: Polls) -> str:
    low, high = (f"at {RATES[rate]:,.0f} frames/s" for rate in ("low", "high"))
    napi, timer = ([_found(by, name, rate) for rate in ("low", "high")] for name in ("before", "after"))
    return f"frames a poll: NAPI {napi[0]:.2f} {low} and {napi[1]:.2f} {high}; the timer {timer[0]:.2f} and {timer[1]:.2f}."


# What the timer costs.


@dataclass(frozen=True)
class _Period:
    napi: PeriodRow
    timer: Sequence[PeriodRow]
    """The shortest period first."""


def _period(tables: Tables) -> _Period | None:
    by = tables.period.by(lambda r: r.configuration)
    return _Period(by["before"][0], by["after"]) if {"before", "after"} <= set(by) else None


def _ms(row: PeriodRow) -> str:
    return f"{(row.period_us or 0) / 1000:g} ms"


def _latency(found: _Period) -> str:
    told = "; ".join(
        f"{_ms(row)}: p50 {row.latency_p50_us or 0:,.0f} µs, {row.held_frames or 0:.1f} frames held"
        for row in (found.timer[0], found.timer[-1])
    )
    base = found.napi
    return (
        f"at {GENTLE_PPS:,.0f} frames/s {told}; NAPI: p50 {base.latency_p50_us or 0:,.0f} µs, {base.held_frames or 0:.2f} "
        "frames held."
    )


def _bound(found: _Period) -> list[PeriodRow]:
    """Periods with which the ring is the limit."""
    return [r for r in found.timer if r.ring_limit_pps and r.full_rate_forwarded_pps > RING_LIMITED * r.ring_limit_pps]


def _most(found: _Period) -> str:
    best = max(found.timer, key=lambda row: row.full_rate_forwarded_pps)
    bound = ", ".join(_ms(row) for row in _bound(found))
    limit = f" With {bound} the ring is the limit: it holds one period's frames, and the chip drops the rest." if bound else ""
    return f"most is forwarded with a period of {_ms(best)}: {best.full_rate_forwarded_pps:,.0f} frames/s.{limit}"


# Which measure earns what.

Ablated = tuple[AblationRow, AblationRow]
"""With all measures, and with one left out."""


def _ablated(tables: Tables, name: str) -> Ablated | None:
    by = {row.without: row for row in tables.ablation}
    return (by["all"], by[name]) if {"all", name} <= set(by) else None


def _earns(found: Ablated) -> str:
    whole, row = found
    earns = row.earns_percent or 0.0
    verb = "earns" if earns > NOTABLE_PERCENT else "costs" if earns < -NOTABLE_PERCENT else "makes next to no difference:"
    livelock = row.full_rate_forwarded_pps < LIVELOCK * whole.throughput_pps
    ends = " Without it the wire's full rate ends in receive livelock." if livelock else ""
    return f"it {verb} {abs(earns):.1f} % of throughput.{ends}"


def _measure(name: str) -> Claim[Tables, Ablated]:
    return Claim(
        "The article's measures",
        f"Measure {MEASURES[name]} makes receiving faster.",
        lambda tables: _ablated(tables, name),
        holds=lambda found: (found[1].earns_percent or 0.0) > NOTABLE_PERCENT,
        yes=_earns,
        no=_earns,
    )


@dataclass(frozen=True)
class _Both:
    """Throughputs of short frames: with all measures, without the third, the fourth, and both of them; with our NAPI."""

    whole: AblationRow
    backlog: AblationRow
    refill: AblationRow
    both: AblationRow
    napi_pps: float

    @property
    def told(self) -> str:
        each = ", ".join(
            f"{text} {kpps(row.throughput_pps)}"
            for text, row in (
                ("all measures", self.whole),
                ("without the backlog", self.backlog),
                ("without deferral", self.refill),
                ("without both", self.both),
            )
        )
        return f"in kpps, 60-byte frames: {each}; our driver with NAPI {kpps(self.napi_pps)}."


def _both(tables: Tables) -> _Both | None:
    by = {row.without: row for row in tables.ablation}
    napi = tables.capability.where(lambda r: r.frame_bytes == SIZES[0])
    if not napi or not {"all", "backlog", "refill", "both"} <= set(by):
        return None
    return _Both(by["all"], by["backlog"], by["refill"], by["both"], napi[0].napi_pps)


# Where the instructions go.

Owners = dict[str, dict[str, float]]
"""Instructions a frame, by configuration and owner."""


def _owners(tables: Tables) -> Owners | None:
    by = tables.profile.by(lambda r: r.configuration)
    sums = {name: _by_owner(rows) for name, rows in by.items()}
    return sums if all(sums.get(name) for name in ("before", "after", "napi")) else None


def _by_owner(rows: Sequence[ProfileRow]) -> dict[str, float]:
    return {row.name: row.instructions_per_frame for row in rows if row.by == "owner"}


def _costs(sums: Owners) -> str:
    totals = {name: sum(of.values()) for name, of in sums.items()}
    timer, own = sums["after"], sums["napi"]
    differ = {name: timer.get(name, 0.0) - own.get(name, 0.0) for name in {**timer, **own}}
    most = sorted(differ, key=lambda name: -abs(differ[name]))[:3]
    named = ", ".join(f"{name} {differ[name]:+.0f}" for name in most)
    return (
        f"at the wire's full rate a frame costs {totals['before']:,.0f} instructions with 8139cp, {totals['after']:,.0f} with "
        f"the timer and {totals['napi']:,.0f} with our driver's NAPI; between the last two: {named}. An instruction clock "
        "charges an interrupt its instructions and a register access one; on hardware both stall the processor besides, so what "
        "the timer saves weighs more there."
    )


CLAIMS: tuple[Claim[Tables, Any], ...] = (
    *(_range(chip) for chip in CHIPS),
    *(_wins(chip) for chip in CHIPS),
    Claim(
        EXPECTED,
        "The timer receives more if the ring is refilled sooner than behind the receive softirq, by any rule.",
        _rules,
        holds=lambda rows: all(row.gain_percent > NOTABLE_PERCENT for row in rows),
        yes=_told_rules,
        no=_told_rules,
    ),
    _HARDWARE,
    _CARDS,
    _PROVENANCE,
    _rates(),
    *(_gain(size) for size in SIZES),
    *_interrupts(),
    *_second_table(),
    Claim(
        EXPECTED,
        "NAPI's polls find more than one frame only when it is busy.",
        lambda tables: {(row.configuration, row.rate): row for row in tables.polls} or None,
        holds=lambda by: _found(by, "before", "low") < BUSY_FRAMES <= _found(by, "before", "high"),
        yes=_per_poll,
        no=_per_poll,
    ),
    Claim(
        EXPECTED,
        "Latency is the price: with every period of the timer a frame takes longer than with NAPI.",
        _period,
        holds=lambda found: all((r.latency_p50_us or 0) > (found.napi.latency_p50_us or 0) for r in found.timer),
        yes=_latency,
        no=_latency,
    ),
    Claim(
        EXPECTED,
        "The shorter the timer's period, the more is received.",
        _period,
        holds=lambda found: max(found.timer, key=lambda row: row.full_rate_forwarded_pps) is found.timer[0],
        yes=_most,
        no=_most,
    ),
    *(_measure(name) for name in ALONE),
    Claim(
        EXPECTED,
        "Without the backlog and without deferral the timer receives as much as our driver with NAPI.",
        _both,
        holds=lambda found: found.both.throughput_pps >= (1 - NOTABLE_PERCENT / 100) * found.napi_pps,
        yes=lambda found: found.told,
        no=lambda found: found.told,
    ),
    Claim(
        EXPECTED,
        "A frame costs the processor less with the timer than with NAPI.",
        _owners,
        holds=lambda sums: sum(sums["after"].values()) < min(sum(sums[name].values()) for name in ("before", "napi")),
        yes=_costs,
        no=_costs,
    ),
)
