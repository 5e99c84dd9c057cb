# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tables say, in plain words made from the figures; where the article does not hold, why."""

from __future__ import annotations

from typing import Any

from irqlab.reproduce.paper import Data, Tables
from irqlab.reproduce.rtl8139cp.configurations import MEASURES

ARTICLE_GAIN = (15.0, 25.0)
"""In per cent, in the article's words."""
NOTABLE_PERCENT = 1.0


def findings(tables: Tables) -> list[str]:
    """One or two sentences each."""
    return [
        *_wire(tables["receive"]),
        *_gain(tables["capability"]),
        *_interrupts(tables["receive"]),
        *_polls(tables["polls"]),
        *_period(tables["period"]),
        *_ablation(tables["ablation"]),
        *_why(tables["profile"]),
    ]


def _wire(data: Data) -> list[str]:
    rows = [r for r in data.records(configuration="before") if r["article_ipps"] and r["article_ipps"] > r["wire_pps"]]
    if not rows:
        return []
    first = rows[0]
    return [
        f"The article's rates are not those of this chip: it receives {first['article_ipps']:,.0f} frames/s of "
        f"{first['frame_bytes']} "
        f"bytes, and a 100 Mbit/s wire carries {first['wire_pps']:,.0f}; {len(rows)} of the {_sizes(data)} sizes measured "
        f"here are "
        "beyond the wire. Its ratios can be compared, its rates cannot."
    ]


def _sizes(data: Data) -> int:
    return len({r["frame_bytes"] for r in data.records()})


def _gain(data: Data) -> list[str]:
    free = [r for r in data.records() if not r["capped"]]
    if not free:
        return ["The wire is the limit at every size: nothing can be said of the gain."]
    said = []
    for row in free:
        gain, own = row["gain_percent"], row["gain_over_own_napi_percent"]
        held = "within" if ARTICLE_GAIN[0] <= gain <= ARTICLE_GAIN[1] else "below" if gain < ARTICLE_GAIN[0] else "above"
        said.append(
            f"{row['frame_bytes']} bytes: the timer's throughput without loss is {gain:+.1f} % against the kernel's 8139cp "
            f"with NAPI, {held} the article's +15 to 25 % (its own table: {row['article_percent']:+.1f} %); against the same "
            f"driver with NAPI {own:+.1f} %."
        )
    capped = [str(r["frame_bytes"]) for r in data.records() if r["capped"]]
    if capped:
        said.append(f"At {', '.join(capped)} bytes the wire, not the driver, is the limit: no gain can be seen there.")
    return said


def _interrupts(data: Data) -> list[str]:
    timer = [r["rx_interrupts_per_run"] for r in data.records(configuration="after")]
    before = list(data.records(configuration="before"))
    said = []
    if not any(timer):
        said.append("The timer takes no receive interrupt at any size; the article still counts some, up to 822,394.")
    else:
        said.append(f"The timer still takes up to {max(timer):,} receive interrupts a run.")
    low, high = before[0], before[-1]
    said.append(
        f"With NAPI a run of {low['frame_bytes']}-byte frames takes {low['rx_interrupts_per_run']:,} interrupts, one of "
        f"{high['frame_bytes']} bytes {high['rx_interrupts_per_run']:,}, as the article says: NAPI saves interrupts only "
        f"when it is busy."
    )
    return said


def _polls(data: Data) -> list[str]:
    def frames(name: str, rate: str) -> float:
        return float(data.one(configuration=name, rate=rate)["frames_per_poll"] or 0.0)

    return [
        f"Frames per poll: NAPI {frames('before', 'low'):.2f} at 1,000 frames/s and {frames('before', 'high'):.2f} at "
        f"40,000; the timer "
        f"{frames('after', 'low'):.2f} and {frames('after', 'high'):.2f}: rate times period, whatever the load."
    ]


def _period(data: Data) -> list[str]:
    napi, rows = data.one(configuration="before"), list(data.records(configuration="after"))
    short, long = rows[0], rows[-1]

    def one(row: dict[str, Any]) -> str:
        return f"{row['period_us'] / 1000:g} ms: p50 {row['latency_p50_us']:,.0f} µs, {row['held_frames']:.1f} frames held"

    said = [
        f"Latency is the price: at 5,000 frames/s {one(short)}; {one(long)}; NAPI: p50 {napi['latency_p50_us']:,.0f} µs, "
        f"{napi['held_frames']:.2f} frames held."
    ]
    best = max(rows, key=lambda row: row["full_rate_forwarded_pps"])
    said.append(
        f"Most is forwarded with a period of {best['period_us'] / 1000:g} ms: {best['full_rate_forwarded_pps']:,.0f} frames/s."
    )
    bound = [r for r in rows if r["ring_limit_pps"] and r["full_rate_forwarded_pps"] > 0.98 * r["ring_limit_pps"]]
    if bound:
        which = ", ".join(f"{row['period_us'] / 1000:g} ms" for row in bound)
        said.append(f"With {which} the ring is the limit: 64 descriptors a period, and the rest is dropped by the chip.")
    return said


def _ablation(data: Data) -> list[str]:
    said = []
    rows = [r for r in data.records() if r["earns_percent"] is not None]
    for row in sorted(rows, key=lambda r: -r["earns_percent"]):
        earns = row["earns_percent"]
        verb = "earns" if earns > NOTABLE_PERCENT else "costs" if earns < -NOTABLE_PERCENT else "makes next to no difference:"
        said.append(f"Measure {MEASURES[row['without']]}: {verb} {abs(earns):.1f} % of throughput.")
    livelocked = [r for r in data.records() if r["full_rate_forwarded_pps"] < 0.02 * data.one(without="all")["throughput_pps"]]
    said += [f"Without '{MEASURES[row['without']]}' the wire's full rate ends in receive livelock." for row in livelocked]
    return said


def _why(data: Data) -> list[str]:
    sums: dict[str, dict[str, float]] = {}
    for row in data.records(by="owner"):
        sums.setdefault(row["configuration"], {})[row["name"]] = row["instructions_per_frame"]
    if any(name not in sums for name in ("before", "after", "napi")):
        return []
    totals = {name: sum(of.values()) for name, of in sums.items()}
    other = sums["napi"]
    differ = sorted(
        ((name, sums["after"].get(name, 0.0) - other.get(name, 0.0)) for name in {**sums["after"], **other}),
        key=lambda d: -abs(d[1]),
    )[:3]
    named = ", ".join(f"{name} {change:+.0f}" for name, change in differ)
    return [
        f"Why: at the wire's full rate a frame costs {totals['before']:,.0f} instructions with 8139cp, "
        f"{totals['after']:,.0f} with the "
        f"timer and {totals['napi']:,.0f} with the same driver's NAPI; between the last two: {named}.",
        "An instruction clock charges an interrupt its instructions and a register access one; on the article's PIII both "
        "stall the "
        "processor for hundreds of cycles more, so what the timer saves weighs more there.",
    ]
