# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tables say, in plain words made from the figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from irqlab.config.schemes import VARIANTS
from irqlab.reproduce.paper import Data, Tables
from irqlab.reproduce.spanos2008 import curves, hardware, phases, throughput
from irqlab.reproduce.spanos2008.measure import WITH_COSTS

R2_WANTED = 0.99
SUM_WANTED_PERCENT = 2.0
CLOSE = 0.02
"""A plateau this near to the maximum is flat."""


def findings(tables: Tables) -> list[str]:
    """One or two sentences each: on the instruction clock alone, then with the costs of hardware."""
    runs = [""] + ([WITH_COSTS] if f"table1_throughput{WITH_COSTS}" in tables else [])
    found = []
    for run in runs:
        said = [text for part in _PARTS for text in part(lambda name, run=run: tables[name + run])]  # type: ignore[misc]
        found += [f"With the costs of hardware: {text}" for text in said] if run else said
    return found + list(_hardware(tables))


Of = Callable[[str], Data]


def _order(of: Of) -> Iterator[str]:
    first = of("table1_throughput")
    differs = throughput.order_differs(first)
    wrong = {size for size, _, _ in differs}
    right = [s for s in dict.fromkeys(r["frame_bytes"] for r in first.records(paper_capped=False)) if s not in wrong]
    if right:
        yield f"The order of the six variants is the paper's at {', '.join(map(str, right))} bytes."
    for size, slow, fast in differs:
        yield f"At {size} bytes {slow} is not slower than {fast}, as it is in the paper.{_why(of('table5_phases'), slow, fast)}"
    lifted = dict.fromkeys(r["frame_bytes"] for r in first.records(capped=True, paper_capped=False))
    if lifted:
        sizes = ", ".join(map(str, lifted))
        yield f"At {sizes} bytes the wire is the limit here where it was not in the paper: compared without its ceiling."


def _why(profile: Data, slow: str, fast: str) -> str:
    """Where one variant spends more than another, from the profile of the smallest frames."""
    one, other = profile.one(variant=slow), profile.one(variant=fast)
    more = {p: other[f"{p}_instructions"] - one[f"{p}_instructions"] for p in (*phases.PHASES, phases.REST)}
    dear = sorted((p for p in more if more[p] > 0), key=lambda p: -more[p])[:2]
    if not dear:
        return ""
    parts = " and ".join(f"{more[p]:.0f} instructions more in {phases.NAMES[p]}" for p in dear)
    return f" The profile at {one['frame_bytes']} bytes: {fast} executes {parts}."


def _gain(of: Of) -> Iterator[str]:
    first = of("table1_throughput")
    size = next(first.records())["frame_bytes"]
    ours = throughput.ratios(first, size)
    base = first.one(frame_bytes=size, variant="ORIGINAL")["paper_mbps"]
    theirs = {r["variant"]: r["paper_mbps"] / base for r in first.records(frame_bytes=size)}
    yield (
        f"At {size} bytes the variants forward "
        + ", ".join(f"{ours[v]:.2f} ({v})" for v in VARIANTS)
        + " times what ORIGINAL does; in the paper "
        + ", ".join(f"{theirs[v]:.2f}" for v in VARIANTS)
        + "."
    )


def _savings(of: Of) -> Iterator[str]:
    profile = of("table5_phases")
    slow, fast = profile.one(variant="ORIGINAL"), profile.one(variant="NAPI-TX-OFF")
    saved = {p: slow[f"{p}_instructions"] - fast[f"{p}_instructions"] for p in (*phases.PHASES, phases.REST)}
    total = slow["sum_instructions"] - fast["sum_instructions"]
    switches = saved.pop(phases.CS_IN) + saved.pop(phases.CS_OUT)
    others = ", ".join(f"{100 * saved[p] / total:.0f} % {phases.NAMES[p]}" for p in sorted(saved, key=lambda p: -saved[p])[:3])
    yield (
        f"Of the {total:.0f} instructions a frame that NAPI-TX-OFF saves against ORIGINAL, {100 * switches / total:.0f} % are "
        f"entering and leaving interrupts, {others}."
    )
    worst = max(profile.records(), key=lambda r: abs(r["sum_error_percent"]))
    off = abs(worst["sum_error_percent"])
    missed = "" if off <= SUM_WANTED_PERCENT else f", missed by {worst['variant']}"
    share = max(r["rest_instructions"] / r["sum_instructions"] for r in profile.records())
    yield (
        f"What is executed per frame adds up to 1/rate within {off:.2f} % (wanted: {SUM_WANTED_PERCENT:g} %{missed}); the phases "
        f"leave out at most {100 * share:.1f} % of it."
    )


def _livelock(of: Of) -> Iterator[str]:
    for row in of("figure5_collapse").records():
        who, size = row["variant"], row["frame_bytes"]
        if row["collapse_pps"] is not None:
            paper = f"; in the paper {row['paper_collapse_ratio']:.1f} times" if row["paper_collapse_ratio"] else ""
            yield (
                f"{who} collapses with {size}-byte frames at {row['collapse_pps'] / 1e3:.1f} kpps offered, "
                f"{row['collapse_ratio']:.2f} times its loss-free rate{paper}: from there on it forwards less than "
                f"{100 * curves.COLLAPSED:g} % of its maximum."
            )
        elif who == "NAPI-TX-OFF":
            share = row["plateau_ratio"]
            flat = "as much as ever" if share > 1 - CLOSE else f"{100 * share:.1f} % of its maximum"
            yield f"{who} forwards {flat} with {size}-byte frames at the wire's rate ({100 * share:.1f} %)."
    missing = [
        f"{r['variant']} ({r['frame_bytes']} bytes)"
        for r in of("figure5_collapse").records(variant="ORIGINAL", collapse_pps=None)
    ]
    if missing:
        yield f"Up to the wire's rate these do not collapse: {', '.join(missing)}."


def _model(of: Of) -> Iterator[str]:
    fitted = [r for r in of("table4_model").records() if r["r2"] is not None]
    if not fitted:
        return
    k = [r["k_us_per_byte"] for r in fitted]
    low = min(r["r2"] for r in fitted)
    bad = [f"{r['variant']} ({r['r2']:.4f})" for r in fitted if r["r2"] < R2_WANTED]
    text = (
        f"The linear model fits with R² of {low:.4f} at least and k from {min(k):.5f} to {max(k):.5f} µs/byte (the paper: 0.02)."
    )
    if bad:
        off = max(r["max_residual_us"] / r["t_constant_us"] for r in fitted)
        text += f" Below {R2_WANTED}: {', '.join(bad)} (largest residual: {100 * off:.2f} % of T)."
    yield text


def _table3(of: Of) -> Iterator[str]:
    rows = list(of("table3_interrupts").records())
    lost = [r for r in rows if r["transmitted_frames"] < r["offered_frames"]]
    if not lost:
        yield (
            "At 100 Mbit/s of 512-byte frames no variant is overloaded here, as all were in the paper: every frame is forwarded "
            f"(CPU idle {100 * min(r['idle_ratio'] for r in rows):.0f} to {100 * max(r['idle_ratio'] for r in rows):.0f} %)."
        )
        return
    yield (
        "At 100 Mbit/s of 512-byte frames, forwarded of what was offered: "
        + ", ".join(
            f"{r['variant']} {100 * r['transmitted_frames'] / r['offered_frames']:.1f} % "
            f"(paper {100 * r['paper_transmitted_frames'] / r['paper_offered_frames']:.1f} %)"
            for r in rows
        )
        + "."
    )


_PARTS = (_order, _gain, _livelock, _table3, _savings, _model)


def _hardware(tables: Tables) -> Iterator[str]:
    if "hardware_errors" not in tables:
        return
    errors, terms = tables["hardware_errors"], tables["hardware_terms"]
    row = errors.one(cells="predicted")
    count = sum(1 for r in terms.records() if r["cost_ns"] is not None)
    if row["error_percent"] is None:
        yield "Costs of hardware: no cell of table 1 was predicted; all were fitted."
        return
    verdict = "within" if row["error_percent"] <= hardware.TARGET_PERCENT else "over"
    yield (
        f"With {count} cost term{'s' if count != 1 else ''} the {row['count']} predicted cells of table 1 are off by "
        f"{row['error_percent']:.1f} % on average ({verdict} the {hardware.TARGET_PERCENT:g} % wanted); with instructions alone "
        f"by {row['raw_error_percent']:.1f} %."
    )
    full = terms.one(term="(all charged)")["predicted_error_percent"]
    idle = [r["term"] for r in terms.records() if r["cost_ns"] is not None and (r["predicted_error_percent"] or 0) < full]
    if idle:
        yield f"Predicted cells would be nearer {' or '.join(idle)}: such a term does not pay its way there."
