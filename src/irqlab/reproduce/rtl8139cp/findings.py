# SPDX-License-Identifier: GPL-2.0-or-later
"""The article's claims, and what was measured of them; where they do not hold, why."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irqlab.reproduce import reference
from irqlab.reproduce.claims import DEFINITION, EXPECTED, PRINT, Claim, Test, Told, judged, not_tried
from irqlab.reproduce.rtl8139cp.configurations import ALONE, MEASURES
from irqlab.reproduce.rtl8139cp.measure import PAPER_NAMES, RATES, SIZES, PeriodRow, ReceiveRow, Tables
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
)
from irqlab.reproduce.rtl8139cp.trials import GENTLE_PPS
from irqlab.units import kpps

ARTICLE_GAIN = (15.0, 25.0)
"""In per cent, in the article's words."""
SIZE = 2.0
"""A gain of less than half, or of more than twice the article's, is of another size. Its own gains differ by as much from size to
size."""
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

LOW, HIGH = ARTICLE_GAIN
BEFORE, AFTER = (reference.by(PAPER_NAMES[name], "frame_bytes") for name in ("before", "after"))
"""The article's tables, by frame bytes."""
SHORTEST, LONGEST = SIZES[0], SIZES[-1]


# The rates.


def _said_gains() -> str:
    each = ((size, 100 * (float(AFTER[str(size)]["ipps"]) / float(BEFORE[str(size)]["ipps"]) - 1)) for size in SIZES)
    return ", ".join(f"{gain:+.1f} % ({size} bytes)" for size, gain in each)


def _receive(tables: Tables, configuration: str) -> tuple[ReceiveRow, ...]:
    """The shortest frames first."""
    return tables.receive.where(lambda r: r.configuration == configuration)


def _possible(tables: Tables) -> Told | None:
    rows = _receive(tables, "before")
    beyond = [r for r in rows if r.article_ipps is not None and r.article_ipps > r.wire_pps]
    if beyond:
        return False, (
            f"a 100 Mbit/s wire carries {beyond[0].wire_pps:,.0f} frames/s of {beyond[0].frame_bytes} bytes; the article's rates "
            f"are beyond the wire at {len(beyond)} of {len(rows)} sizes. Its ratios can be compared, its rates cannot."
        )
    return (True, f"the wire carries {rows[0].wire_pps:,.0f} frames/s of {rows[0].frame_bytes} bytes.") if rows else None


# The gain.


def _gains(tables: Tables) -> Told | None:
    """None where the wire, not a driver, is the limit."""
    rows = tables.capability.where(lambda r: not r.capped and r.article_percent is not None)
    if not rows:
        return None
    each = "; ".join(
        f"{row.frame_bytes} bytes {row.gain_percent:+.1f} % ({row.article_percent or 0.0:+.1f} %), against our driver with NAPI "
        f"{row.gain_over_own_napi_percent:+.1f} %"
        for row in rows
    )
    return all(_as_much(row.gain_percent, row.article_percent or 0.0) for row in rows), f"throughput (the article): {each}."


def _as_much(gain: float, said: float) -> bool:
    return gain * said > 0 and 1 / SIZE <= gain / said <= SIZE


# The whole range of periods: the headline.


def _ms(period_us: int | None) -> str:
    return f"{(period_us or 0) / 1000:g} ms"


def _ranged(chip: str, holds: Callable[[Sequence[ChipRow]], bool]) -> Test[Tables]:
    """Whether something holds of the timer's rows on a chip, with all periods and both refills, the one that gains most first."""

    def told(tables: Tables) -> Told | None:
        by = tables.chips.only(lambda r: (r.chip, r.configuration) == (chip, TIMER)).by(lambda r: r.refill)
        if not {DEFERRED, AT_ONCE} <= set(by):
            return None
        rows = sorted((row for rows in by.values() for row in rows), key=lambda row: -row.gain_percent)
        late, soon = (
            ", ".join(f"{_ms(row.period_us)} {row.gain_percent:+.1f} %" for row in by[refill]) for refill in (DEFERRED, AT_ONCE)
        )
        return holds(rows), (
            f"most with {_ms(rows[0].period_us)}, refilled {rows[0].refill}: {rows[0].gain_percent:+.1f} % against the kernel's "
            f"driver, {rows[0].gain_over_own_napi_percent:+.1f} % against our driver with NAPI. Against the kernel's driver, "
            f"refilled {DEFERRED}: {late}; refilled {AT_ONCE}: {soon}."
        )

    return told


def _rules(tables: Tables) -> Told | None:
    rows = tables.rules.where(lambda r: r.refill != DEFERRED)
    each = "; ".join(f"{_ms(row.period_us)}, {row.refill}: {row.gain_percent:+.1f} %" for row in rows)
    more = all(row.gain_percent > NOTABLE_PERCENT for row in rows)
    return (more, f"against refilling {DEFERRED}: {each}.") if rows else None


def _hardware(tables: Tables) -> Told | None:
    rows = [row for row in tables.hardware or () if row.configuration == TIMER]
    if not rows:
        return None
    each = "; ".join(
        f"{_ms(row.period_us)}, refilled {row.refill}: {row.gain_percent:+.1f} % ({row.gain_over_own_napi_percent:+.1f} %)"
        for row in rows
    )
    text = f"on {rows[0].hardware}, against the kernel's driver (against our driver with NAPI): {each}."
    return any(row.gain_percent > 0 for row in rows), text


def _cards(tables: Tables) -> Told | None:
    found = {row.card: row.gain_percent for row in tables.cards or () if row.configuration == TIMER}
    if not set(CARDS) <= set(found):
        return None
    each = " and ".join(f"{gain:+.1f} % on {card}" for card, gain in found.items())
    return found[CHECKING] < found[QEMUS], f"{each}."


# Where the first table is from.


def _own(tables: Tables) -> Told | None:
    """Whether the article's rates are its own, and not the HOWTO's."""
    rows = tables.provenance.rows
    same = [row for row in rows if row.article_ipps == row.howto_ipps]
    if not same:
        return (True, f"none of its {len(rows)} rates is in NAPI_HOWTO.txt.") if rows else None
    sizes = ", ".join(f"{row.howto_ipps:,.0f} packets/s of {row.frame_bytes} bytes" for row in same)
    second = sum((row.second_rxint == row.howto_rxint) + (row.second_done == row.howto_done) for row in rows)
    return False, (
        "the text quotes the kernel's NAPI_HOWTO.txt, whose table is of a gigabit NIC (e1000). This one has its columns, its "
        f"legend, and its {sizes}; and {second} counts of interrupts and polls in the article's second table are the HOWTO's."
    )


# Interrupts and polls.


def _rxints(name: str) -> list[int]:
    return [int(row["rxint"]) for row in reference.records(PAPER_NAMES[name])]


def _none_remain(tables: Tables) -> Told | None:
    rows = _receive(tables, "after")
    said = [row.article_rxint for row in rows if row.article_rxint]
    if not rows:
        return None
    text = f"it has {min(said, default=0):,.0f} to {max(said, default=0):,.0f} a run" if said else "it has none"
    return not said, f"{text}; here there are at most {max(r.rx_interrupts_per_run for r in rows):,}."


def _saves_when_busy(tables: Tables) -> Told | None:
    rows = _receive(tables, "before")
    if not rows:
        return None
    low, high = rows[0], rows[-1]
    short, long = (row.rx_interrupts_per_run / max(1, row.frames_per_run) for row in (low, high))
    return short < FEW and long > ONE, (
        f"a run of {low.frame_bytes}-byte frames takes {low.rx_interrupts_per_run:,} interrupts, one of {high.frame_bytes} "
        f"bytes {high.rx_interrupts_per_run:,}."
    )


def _runs(size: int, count: Callable[[ReceiveRow], int], holds: Callable[[int, int], bool]) -> Test[Tables]:
    """Whether something holds of what is counted in a run with the timer, and with NAPI."""

    def told(tables: Tables) -> Told | None:
        rows = tables.receive.only(lambda r: r.frame_bytes == size).keyed(lambda r: r.configuration, "before", "after")
        if not rows:
            return None
        timer, napi = count(rows["after"]), count(rows["before"])
        return holds(timer, napi), f"{timer:,} with the timer, {napi:,} with NAPI."

    return told


def _said(size: int, column: str) -> str:
    return f"{int(AFTER[str(size)][column]):,}, not {int(BEFORE[str(size)][column]):,}"


def _per_poll(tables: Tables) -> Told | None:
    keys = [(name, rate) for name in ("before", "after") for rate in RATES]
    by = tables.polls.keyed(lambda row: (row.configuration, row.rate), *keys)
    if not by:
        return None
    low, high = (f"at {RATES[rate]:,.0f} frames/s" for rate in ("low", "high"))
    napi, timer = ([by[name, rate].frames_per_poll or 0.0 for rate in ("low", "high")] for name in ("before", "after"))
    text = f"frames a poll: NAPI {napi[0]:.2f} {low} and {napi[1]:.2f} {high}; the timer {timer[0]:.2f} and {timer[1]:.2f}."
    return napi[0] < BUSY_FRAMES <= napi[1], text


# What the timer costs.


def _periods(tables: Tables) -> tuple[PeriodRow, tuple[PeriodRow, ...]] | None:
    """NAPI's row, and the timer's, the shortest period first."""
    by = tables.period.by(lambda r: r.configuration)
    return (by["before"][0], by["after"]) if {"before", "after"} <= set(by) else None


def _latency(found: tuple[PeriodRow, tuple[PeriodRow, ...]]) -> str:
    napi, timer = found
    told = "; ".join(
        f"{_ms(row.period_us)}: p50 {row.latency_p50_us or 0:,.0f} µs, {row.held_frames or 0:.1f} frames held"
        for row in (timer[0], timer[-1])
    )
    return (
        f"at {GENTLE_PPS:,.0f} frames/s {told}; NAPI: p50 {napi.latency_p50_us or 0:,.0f} µs, {napi.held_frames or 0:.2f} "
        "frames held."
    )


def _shortest_is_best(tables: Tables) -> Told | None:
    found = _periods(tables)
    if found is None:
        return None
    _, timer = found
    best = max(timer, key=lambda row: row.full_rate_forwarded_pps)
    bound = ", ".join(
        _ms(r.period_us) for r in timer if r.ring_limit_pps and r.full_rate_forwarded_pps > RING_LIMITED * r.ring_limit_pps
    )
    limit = f" With {bound} the ring is the limit: it holds one period's frames, and the chip drops the rest." if bound else ""
    text = f"most is forwarded with a period of {_ms(best.period_us)}: {best.full_rate_forwarded_pps:,.0f} frames/s.{limit}"
    return best is timer[0], text


# Which measure earns what.


def _measure(name: str) -> Claim[Tables]:
    def told(tables: Tables) -> Told | None:
        by = tables.ablation.keyed(lambda row: row.without, "all", name)
        if not by:
            return None
        earns = by[name].earns_percent or 0.0
        verb = "earns" if earns > NOTABLE_PERCENT else "costs" if earns < -NOTABLE_PERCENT else "makes next to no difference:"
        livelock = by[name].full_rate_forwarded_pps < LIVELOCK * by["all"].throughput_pps
        ends = " Without it the wire's full rate ends in receive livelock." if livelock else ""
        return earns > NOTABLE_PERCENT, f"it {verb} {abs(earns):.1f} % of throughput.{ends}"

    how = "by arithmetic: a ring of 64 holds what a period brings" if name == "period" else ""
    return Claim(
        "The article's measures",
        f"Measure {MEASURES[name]} makes receiving faster.",
        told,
        how or f"by more than {NOTABLE_PERCENT:g} % of throughput",
        DEFINITION if how else "",
    )


def _without_both(tables: Tables) -> Told | None:
    """Throughputs of short frames: with all measures, without the third, the fourth, and both of them; with our NAPI."""
    names = {
        "all": "all measures",
        "backlog": "without the backlog",
        "refill": "without deferral",
        "both": "without both",
    }
    by = tables.ablation.keyed(lambda row: row.without, *names)
    napi = tables.capability.where(lambda r: r.frame_bytes == SHORTEST)
    if not by or not napi:
        return None
    each = ", ".join(f"{text} {kpps(by[name].throughput_pps)}" for name, text in names.items())
    text = f"in kpps, 60-byte frames: {each}; our driver with NAPI {kpps(napi[0].napi_pps)}."
    return by["both"].throughput_pps >= (1 - NOTABLE_PERCENT / 100) * napi[0].napi_pps, text


def _cheaper(tables: Tables) -> Told | None:
    """Instructions a frame, by configuration and owner."""
    by = tables.profile.by(lambda r: r.configuration)
    sums = {name: {row.name: row.instructions_per_frame for row in rows if row.by == "owner"} for name, rows in by.items()}
    if not all(sums.get(name) for name in ("before", "after", "napi")):
        return None
    totals = {name: sum(of.values()) for name, of in sums.items()}
    timer, own = sums["after"], sums["napi"]
    differ = {name: timer.get(name, 0.0) - own.get(name, 0.0) for name in {**timer, **own}}
    most = ", ".join(f"{name} {differ[name]:+.0f}" for name in sorted(differ, key=lambda name: -abs(differ[name]))[:3])
    return totals["after"] < min(totals["before"], totals["napi"]), (
        f"at the wire's full rate a frame costs {totals['before']:,.0f} instructions with 8139cp, {totals['after']:,.0f} with "
        f"the timer and {totals['napi']:,.0f} with our driver's NAPI; between the last two: {most}. An instruction clock "
        "charges an interrupt its instructions and a register access one; on hardware both stall the processor besides, so what "
        "the timer saves weighs more there."
    )


CLAIMS: tuple[Claim[Tables], ...] = (
    *(
        Claim(
            "The article's words" if chip == ARTICLES else EXPECTED,
            f"With a suitable period the timer receives {LOW:g} to {HIGH:g} % more frames than NAPI; here: {chip}, "
            "60-byte frames, throughput without loss.",
            _ranged(chip, lambda rows: LOW <= rows[0].gain_percent <= HIGH),
            f"most with any period between {LOW:g} and {HIGH:g} %, in the article on MIPS and XScale" if chip == ARTICLES else "",
        )
        for chip in CHIPS
    ),
    *(
        Claim(
            EXPECTED,
            f"On the {chip} there is a period with which the timer receives more than our driver with NAPI, too.",
            _ranged(chip, lambda rows: any(row.gain_over_own_napi_percent > 0 for row in rows)),
        )
        for chip in CHIPS
    ),
    Claim(
        EXPECTED,
        "The timer receives more if the ring is refilled sooner than behind the receive softirq, by any rule.",
        _rules,
    ),
    Claim(EXPECTED, "On the article's machine, as it is stated, the timer receives more than NAPI.", _hardware),
    Claim(
        EXPECTED,
        "Over the kernel's driver the timer gains less on a card that checks received checksums: QEMU's model does not, so the "
        "kernel sums each of 8139cp's packets itself.",
        _cards,
    ),
    Claim(PRINT, "The first table was measured with 8139cp of Linux 2.6.6 on a Pentium III at 900 MHz.", _own),
    Claim(
        PRINT,
        f"Its driver receives {float(BEFORE[str(SHORTEST)]['ipps']):,.0f} frames/s of {SHORTEST} bytes on a 100 Mbit/s wire.",
        _possible,
    ),
    Claim(PRINT, "With receive interrupts off, as measure 1 has it, the second table has none.", _none_remain),
    Claim(
        "Both tables",
        f"The timer receives more than NAPI, by {_said_gains()}.",
        _gains,
        f"of the same sign, and between 1/{SIZE:g} and {SIZE:g} times as much, at each size at which the wire is not the limit",
    ),
    Claim(
        "First table",
        f"NAPI saves interrupts only when it is busy: from {_rxints('before')[0]:,} a run of the shortest frames to "
        f"{_rxints('before')[-1]:,}.",
        _saves_when_busy,
        f"fewer than {FEW:g} a frame, and more than {ONE:g}. By arithmetic: one at a time frames find the poll ended",
        DEFINITION,
    ),
    Claim(
        "Second table",
        f"Of a million frames of {SHORTEST} bytes the timer takes in more than NAPI: {_said(SHORTEST, 'tput')}.",
        _runs(SHORTEST, lambda row: row.frames_per_run, lambda timer, napi: timer > napi),
    ),
    Claim(
        "Second table",
        f"Of a million frames of {LONGEST} bytes it takes in fewer: {_said(LONGEST, 'tput')}.",
        _runs(LONGEST, lambda row: row.frames_per_run, lambda timer, napi: timer < (1 - NOTABLE_PERCENT / 100) * napi),
    ),
    Claim(
        "Second table",
        f"Fewer polls empty the ring in a run of {LONGEST}-byte frames: {_said(LONGEST, 'done')}.",
        _runs(LONGEST, lambda row: row.polls_done_per_run, lambda timer, napi: timer < napi),
        "by arithmetic: the time of a run divided by the period",
        DEFINITION,
    ),
    not_tried(
        "The article's last sentence",
        "If applications have network devices, or large buffers, to themselves, receiving improves by 100 to 150 %.",
        "it says neither how nor on what.",
    ),
    Claim(EXPECTED, "NAPI's polls find more than one frame only when it is busy.", _per_poll),
    Claim(
        EXPECTED,
        "Latency is the price: with every period of the timer a frame takes longer than with NAPI.",
        judged(
            _periods,
            lambda found: all((row.latency_p50_us or 0) > (found[0].latency_p50_us or 0) for row in found[1]),
            _latency,
        ),
    ),
    Claim(EXPECTED, "The shorter the timer's period, the more is received.", _shortest_is_best),
    *(_measure(name) for name in ALONE),
    Claim(
        EXPECTED,
        "Without the backlog and without deferral the timer receives as much as our driver with NAPI.",
        _without_both,
    ),
    Claim(EXPECTED, "A frame costs the processor less with the timer than with NAPI.", _cheaper),
)
